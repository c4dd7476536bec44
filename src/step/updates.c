/* The end of a training step: one UPDATE per trained variable. Without clipping by norm it follows
   immediately after the last use of its variable and gradient, which keeps both in cache and frees
   the gradient's memory early. A norm needs whole gradients first. */
#include "step/builder.h"

/* The norms by which a step's updates clip. */
typedef struct norms {
    tensor_ref sums; /* sums of squares, one per variable with a gradient; or NO_TENSOR */
    int count;
} norms;

/* Make the operation that updates a variable; the caller sets its input 1, the gradient. */
static cornu_status update_of(const step_builder *b, int number, op *out)
{
    const cornu_model *m = b->plan->model;
    op o = op_new(OP_UPDATE);
    o.in[0] = o.out[0] = number;
    for (int i = m->weight_count; i < m->variable_count; i++) {
        const variable *v = &m->variables[i];
        if (!v->is_slot || v->of != number)
            continue;
        if (v->slot < 0 || v->slot >= OPTIMIZER_SLOTS_MAX)
            return status_fail(CORNU_INTERNAL, "%s: found slot %d; expected 0 to %d", v->name,
                               v->slot, OPTIMIZER_SLOTS_MAX - 1);
        o.in[2 + v->slot] = o.out[1 + v->slot] = i;
    }
    o.a.update.optimizer = m->optimizer;
    o.a.update.norm_slot = -1;
    *out = o;
    return CORNU_OK;
}

static cornu_status add_update(step_builder *b, int number, const norms *n)
{
    const cornu_model *m = b->plan->model;
    int slot = 0;
    op o;
    for (int i = 0; i < number; i++)
        slot += b->notes[i].gradient != NO_TENSOR;
    TRY(update_of(b, number, &o));
    o.in[1] = b->notes[number].gradient;
    o.in[5] = n->sums;
    o.a.update.norm_slot = m->optimizer.clipnorm > 0 ? slot : -1;
    o.a.update.norm_count = n->count;
    return builder_add(b, &o, m->variables[number].name);
}

static cornu_status add_all(step_builder *b, const norms *n)
{
    for (int i = 0; i < b->plan->model->weight_count; i++)
        if (b->notes[i].gradient != NO_TENSOR)
            TRY(add_update(b, i, n));
    return CORNU_OK;
}

static const norms no_norms = {.sums = NO_TENSOR};

cornu_status build_updates(step_builder *b, const op *f)
{
    const cornu_model *m = b->plan->model;
    if (b->plan->scope == SCOPE_GRADIENTS || optimizer_clips_by_norm(&m->optimizer))
        return CORNU_OK;
    for (int i = 1; i < OP_INPUTS_MAX; i++) {
        tensor_ref w = f->in[i];
        if (w != NO_TENSOR && w < m->weight_count && b->notes[w].gradient != NO_TENSOR)
            TRY(add_update(b, w, &no_norms));
    }
    return CORNU_OK;
}

cornu_status build_clipped_updates(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    if (b->plan->scope == SCOPE_GRADIENTS || !optimizer_clips_by_norm(&m->optimizer))
        return CORNU_OK;
    shape s = {.rank = 1};
    for (int i = 0; i < m->weight_count; i++)
        s.dim[0] += b->notes[i].gradient != NO_TENSOR;
    if (s.dim[0] == 0)
        return CORNU_OK;
    norms n = {.count = (int)s.dim[0]};
    int slot = 0;
    TRY(builder_buffer(b, &s, &n.sums, "square sums"));
    for (int i = 0; i < m->weight_count; i++) {
        if (b->notes[i].gradient == NO_TENSOR)
            continue;
        op o = op_new(OP_SQUARE_SUM);
        o.in[0] = b->notes[i].gradient;
        o.out[0] = n.sums;
        o.a.norm.slot = slot++;
        TRY(builder_add(b, &o, m->variables[i].name));
    }
    return add_all(b, &n);
}

cornu_status build_only_updates(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count; i++) {
        tensor_ref gradient;
        if (b->notes[i].needs_gradient)
            TRY(builder_gradient(b, i, &gradient));
    }
    return optimizer_clips_by_norm(&m->optimizer) ? build_clipped_updates(b)
                                                  : add_all(b, &no_norms);
}
