#include "device/reference/reference.h"
#include "device/update_rules.h"

cornu_status reference_square_sum(const op_run *r)
{
    int64_t count = OP_IN(r->plan, r->op, 0)->count;
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)r->in[0][i] * (double)r->in[0][i];
    r->out[0][r->op->a.norm.slot] = (float)sum;
    return CORNU_OK;
}

cornu_status reference_update(const op_run *r)
{
    const optimizer *o = &r->op->a.update.optimizer;
    const float *sums = r->in[5];
    double norm_squared = 0;
    int place = r->op->a.update.norm_slot;
    if (sums && place >= 0)
        norm_squared = (double)sums[place];
    for (int i = 0; sums && place < 0 && i < r->op->a.update.norm_count; i++)
        norm_squared += (double)sums[i];
    update_factors f =
        update_factors_of(o, r->input->learning_rate, r->input->iteration, norm_squared);
    float *slots[OPTIMIZER_SLOTS_MAX] = {r->out[1], r->out[2], r->out[3]};
    update_rules[o->id](&f, r->out[0], r->in[1], slots, 0, OP_IN(r->plan, r->op, 0)->count);
    return CORNU_OK;
}
