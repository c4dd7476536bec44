#include "device/cuda/plugin/ops/ops.h"

/* Forward and backward alike; four elements share one block of random numbers. Backward the
   gradient of the activation before it is fused. */
static cornu_status enqueue(const gpu_op *r)
{
    dropout_params p = {.clock = cuda_clock_of(r),
                        .x = (const float *)r->in[0],
                        .y = (float *)r->out[0],
                        .count = GPU_OUT(r, 0)->count,
                        .per_sample = GPU_OUT(r, 0)->count / r->plan->batch,
                        .rate = r->op->a.dropout.rate,
                        .stream = r->op->a.dropout.stream};
    const op *slope = group_op(r->plan, r->group, ROLE_ACTIVATION);
    if (slope) {
        p.y = (float *)r->tensors[slope->out[0]];
        p.x_or_y = (const float *)r->tensors[slope->in[0]];
        p.activation = (int32_t)slope->a.act.kind;
        p.alpha = slope->a.act.alpha;
    }
    return cuda_launch(r->g, CUDA_dropout, cuda_element_grid(p.count), &p);
}

static const gpu_kernel fused = {
    .name = "philox", .group = GROUP_ACTIVATION_BACKWARD, .enqueue = enqueue};
static const gpu_kernel alone = {.name = "philox", .enqueue = enqueue};
const gpu_kernel *const cuda_dropout[] = {&fused, &alone, NULL};
