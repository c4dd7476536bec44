#include "device/cuda/plugin/ops/ops.h"

/* Forward and backward alike; four elements share one block of random numbers. Backward the
   gradient of the activation before it is fused. */
static cornu_status enqueue(const gpu_op *r)
{
    const gpu_slope slope = gpu_slope_of(r);
    dropout_params p = {.clock = cuda_clock_of(r),
                        .x = (const float *)r->in[0],
                        .y = (float *)slope.out,
                        .count = GPU_OUT(r, 0)->count,
                        .per_sample = GPU_OUT(r, 0)->count / r->plan->batch,
                        .rate = r->op->a.dropout.rate,
                        .stream = r->op->a.dropout.stream,
                        .x_or_y = (const float *)slope.x_or_y,
                        .activation = (int32_t)slope.act.kind,
                        .alpha = slope.act.alpha};
    return cuda_launch(r->g, CUDA_dropout, cuda_element_grid(p.count), &p);
}

static const gpu_kernel fused = {
    .name = "philox", .group = GROUP_ACTIVATION_BACKWARD, .enqueue = enqueue};
static const gpu_kernel alone = {.name = "philox", .enqueue = enqueue};
const gpu_kernel *const cuda_dropout[] = {&fused, &alone, NULL};
