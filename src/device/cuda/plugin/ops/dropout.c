#include "device/cuda/plugin/ops/ops.h"

/* Forward and backward alike; four elements share one block of random numbers. Backward it takes
   the activation before it along. */
static int span(const plan *p, const op *o)
{
    return gpu_slope_behind(p, o, NO_TENSOR) ? 2 : 1;
}

static cornu_status enqueue(const gpu_op *r)
{
    dropout_params p = {.clock = gpu_clock_of(r),
                        .x = (const float *)r->in[0],
                        .y = (float *)r->out[0],
                        .count = GPU_OUT(r, 0)->count,
                        .rate = r->op->a.dropout.rate,
                        .stream = r->op->a.dropout.stream};
    const op *slope = gpu_slope_behind(r->plan, r->op, NO_TENSOR);
    if (slope) {
        p.y = (float *)r->tensors[slope->out[0]];
        p.activated = (const float *)r->tensors[slope->in[0]];
        p.activation = (int32_t)slope->a.act.kind;
        p.alpha = slope->a.act.alpha;
    }
    return gpu_launch(r->g, GPU_dropout, gpu_element_grid(p.count), &p);
}

static const gpu_kernel dropout = {.name = "philox", .enqueue = enqueue, .span = span};
const gpu_kernel *const gpu_dropout[] = {&dropout, NULL};
