/* UPDATE: one launch per variable. */
#include "device/opencl/plugin/ops/ops.h"
#include "device/optimizer_step.h"

_Static_assert(OPTIMIZER_SLOTS_MAX == 3, "kernels/update.cl has parameters for these");

static opencl_function function_of(optimizer_id id)
{
    static const opencl_function functions[OPTIMIZER_COUNT] = {
#define OPTIMIZER(id, ...) [OPTIMIZER_##id] = OPENCL_update_##id,
#include "model/optimizers.def"
    };
    return functions[id];
}

static cornu_status enqueue(const gpu_op *r)
{
    const optimizer *how = &r->op->a.update.optimizer;
    /* but for what the step itself gives: learning_rate, alpha, and the norm's gradient_scale */
    const optimizer_constants c = optimizer_step(r->op, 0, 0, 0);
    int own = r->op->a.update.norm_slot;
    int64_t count = GPU_IN(r, 0)->count;
    return OPENCL_LAUNCH(r->g, function_of(how->id), opencl_element_grid(count),
                         A_ADDRESS(r->out[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->out[1]),
                         A_ADDRESS(r->out[2]), A_ADDRESS(r->out[3]), A_ADDRESS(r->in[5]),
                         A_LONG(count), A_INT(c.form), A_INT(own < 0 ? 0 : own),
                         A_INT(own < 0 ? r->op->a.update.norm_count : 1),
                         A_FLOAT((float)(how->clipnorm > 0 ? how->clipnorm : how->global_clipnorm)),
                         A_FLOAT(c.clip_value), A_FLOAT(c.weight_decay), A_FLOAT(c.momentum),
                         A_FLOAT(c.rho), A_FLOAT(c.epsilon), A_FLOAT(c.rate_1), A_FLOAT(c.rate_2),
                         A_STEP(STEP_LEARNING_RATE), A_STEP(STEP_ADAM_ALPHA));
}

static const gpu_kernel update = {.name = "update", .enqueue = enqueue};
const gpu_kernel *const opencl_update[] = {&update, NULL};
