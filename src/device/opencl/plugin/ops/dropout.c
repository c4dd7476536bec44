#include "device/opencl/plugin/ops/ops.h"

/* Forward and backward alike. Backward the gradient of the activation before it is fused. */
static cornu_status enqueue(const gpu_op *r)
{
    const gpu_slope slope = gpu_slope_of(r);
    int64_t count = GPU_OUT(r, 0)->count;
    float rate = r->op->a.dropout.rate;
    return OPENCL_LAUNCH(r->g, OPENCL_dropout, opencl_element_grid(count), A_ADDRESS(r->in[0]),
                         A_ADDRESS(slope.out), A_ADDRESS(slope.x_or_y), A_LONG(count),
                         A_FLOAT(rate), A_FLOAT(1 / (1 - rate)), A_INT(r->op->a.dropout.stream),
                         A_INT(slope.act.kind), A_FLOAT(slope.act.alpha),
                         A_LONG(count / r->plan->batch), A_STEP(STEP_SEED), A_STEP(STEP_ITERATION),
                         A_STEP(STEP_FIRST));
}

static const gpu_kernel fused = {
    .name = "philox", .group = GROUP_ACTIVATION_BACKWARD, .enqueue = enqueue};
static const gpu_kernel alone = {.name = "philox", .enqueue = enqueue};
const gpu_kernel *const opencl_dropout[] = {&fused, &alone, NULL};
