#include "parallel/shard_factors.h"
#include "base/memory.h"
#include "parallel/shard_layout.h"
#include <stdlib.h>

/* The variable whose gradient this is. */
static int variable_of(const plan *p, tensor_ref gradient)
{
    for (int i = 0; i < p->model->weight_count; i++)
        if (p->gradients[i] == gradient)
            return i;
    return -1;
}

/* The inputs of the first layer may not exist as floats (kernels for uint8 inputs), and factors
   of a layer with several rows per sample are too large. */
static bool is_worth(const plan *p, const op *o, const shard_factors *f)
{
    int64_t rows, in, units, shards = f->plan.shards;
    if (o->kind != OP_DENSE_BACKWARD_WEIGHTS || o->out[0] == NO_TENSOR ||
        plan_root(p, o->in[0]) == p->input)
        return false;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &in);
    tensor_matrix(&p->tensors[o->in[1]], &rows, &units);
    return rows == p->batch && shard_factors_fewer(shards * rows * (in + units), in * units);
}

static cornu_status find(shard_factors *f, const plan *p)
{
    TRY(memory_new((size_t)p->model->weight_count, sizeof *f->list, "factors", &f->list));
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        int number = variable_of(p, o->out[0]);
        if (!is_worth(p, o, f) || number < 0)
            continue;
        dense_factors *d = &f->list[f->plan.count++];
        *d = (dense_factors){.variable = number, .x = f->plan.floats};
        d->dy = d->x + shard_layout_align(p->tensors[o->in[0]].count);
        f->plan.floats = d->dy + shard_layout_align(p->tensors[o->in[1]].count);
    }
    f->plan.list = f->list;
    return CORNU_OK;
}

static cornu_status begin(shard_factors *f, const cornu_model *m, int64_t shards, int64_t rows)
{
    plan *p;
    *f = (shard_factors){.plan.shards = shards, .rows = rows};
    if (optimizer_clips_by_norm(&m->optimizer)) /* norms need gradients */
        return CORNU_OK;
    const plan_options options = {.mode = PLAN_TRAIN, .scope = SCOPE_GRADIENTS, .batch = rows};
    TRY(plan_build(m, &options, &p));
    cornu_status status = find(f, p);
    plan_free(p);
    return status;
}

cornu_status shard_factors_find(shard_factors *f, const cornu_model *m, int64_t batch,
                                int64_t shards)
{
    int64_t rows = (batch + shards - 1) / shards;
    if (f->rows == 0)
        return begin(f, m, shards, rows);
    if (rows <= f->rows)
        return CORNU_OK;
    return status_fail(CORNU_INTERNAL, "shards: found %jd samples of a shard; expected at most %jd",
                       (intmax_t)rows, (intmax_t)f->rows);
}

void shard_factors_free(shard_factors *f)
{
    free(f->list);
    *f = (shard_factors){.rows = 0};
}

int64_t shard_factors_floats(const shard_factors *f)
{
    return f->plan.shards * f->plan.floats;
}

cornu_status shard_factors_place(const shard_factors *f, device *d, const plan *p, prepared *in,
                                 int64_t i)
{
    float *values = f->values + i * f->plan.floats;
    for (int k = 0; k < f->plan.count; k++) {
        const kept_factors *kept = &p->kept[k];
        TRY(d->ops->place(d, in, kept->x, values + f->list[k].x));
        TRY(d->ops->place(d, in, kept->dy, values + f->list[k].dy));
    }
    return CORNU_OK;
}

cornu_status shard_factors_place_all(const shard_factors *f, device *d, const plan *p, prepared *in)
{
    if (f->plan.count == 0)
        return CORNU_OK;
    return d->ops->place(d, in, p->factors, f->values);
}

int shard_factors_made(const shard_factors *f, const plan *gradients)
{
    int made = 0;
    for (int k = 0; k < f->plan.count; k++) {
        int x = plan_operations_to(gradients, gradients->kept[k].x),
            dy = plan_operations_to(gradients, gradients->kept[k].dy);
        made = x > made ? x : made;
        made = dy > made ? dy : made;
    }
    return made;
}
