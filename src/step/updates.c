/* The end of a training step: one UPDATE per trained variable. Without clipping by norm it stands
   right behind the last use of its variable and gradient, which keeps both in cache and frees the
   gradient's memory early; a norm needs whole gradients first. */
#include "step/builder.h"

static bool clips_by_norm(const optimizer *o)
{
    return o->clipnorm > 0 || o->global_clipnorm > 0;
}

/* `sums`: the square sums, or NO_TENSOR; `slot`: this variable's in them. */
static cornu_status add_update(step_builder *b, int number, tensor_ref sums, int slot, int count)
{
    const cornu_model *m = b->plan->model;
    op o = op_new(OP_UPDATE);
    o.in[0] = o.out[0] = number;
    o.in[1] = b->notes[number].gradient;
    for (int i = m->weight_count; i < m->variable_count; i++) {
        const variable *v = &m->variables[i];
        if (!v->is_slot || v->of != number)
            continue;
        if (v->slot < 0 || v->slot >= OPTIMIZER_SLOTS_MAX)
            return status_fail(CORNU_INTERNAL, "%s: found slot %d; expected 0 to %d", v->name,
                               v->slot, OPTIMIZER_SLOTS_MAX - 1);
        o.in[2 + v->slot] = o.out[1 + v->slot] = i;
    }
    o.in[5] = sums;
    o.a.update.optimizer = m->optimizer;
    o.a.update.norm_slot = m->optimizer.clipnorm > 0 ? slot : -1;
    o.a.update.norm_count = count;
    return builder_add(b, &o, m->variables[number].name);
}

cornu_status build_updates(step_builder *b, const op *f)
{
    const cornu_model *m = b->plan->model;
    if (b->plan->scope == SCOPE_GRADIENTS || clips_by_norm(&m->optimizer))
        return CORNU_OK;
    for (int i = 1; i < OP_INPUTS_MAX; i++) {
        tensor_ref w = f->in[i];
        if (w != NO_TENSOR && w < m->weight_count && b->notes[w].gradient != NO_TENSOR)
            TRY(add_update(b, w, NO_TENSOR, 0, 0));
    }
    return CORNU_OK;
}

cornu_status build_clipped_updates(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    if (b->plan->scope == SCOPE_GRADIENTS || !clips_by_norm(&m->optimizer))
        return CORNU_OK;
    shape s = {.rank = 1};
    for (int i = 0; i < m->weight_count; i++)
        s.dim[0] += b->notes[i].gradient != NO_TENSOR;
    if (s.dim[0] == 0)
        return CORNU_OK;
    tensor_ref sums;
    int slot = 0, count = (int)s.dim[0];
    TRY(builder_buffer(b, &s, &sums, "square sums"));
    for (int i = 0; i < m->weight_count; i++) {
        if (b->notes[i].gradient == NO_TENSOR)
            continue;
        op o = op_new(OP_SQUARE_SUM);
        o.in[0] = b->notes[i].gradient;
        o.out[0] = sums;
        o.a.norm.slot = slot++;
        TRY(builder_add(b, &o, m->variables[i].name));
    }
    slot = 0;
    for (int i = 0; i < m->weight_count; i++)
        if (b->notes[i].gradient != NO_TENSOR)
            TRY(add_update(b, i, sums, slot++, count));
    return CORNU_OK;
}

cornu_status build_only_updates(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count; i++) {
        tensor_ref gradient;
        if (b->notes[i].needs_gradient)
            TRY(builder_gradient(b, i, &gradient));
    }
    for (int i = 0; i < m->weight_count && !clips_by_norm(&m->optimizer); i++)
        if (b->notes[i].gradient != NO_TENSOR)
            TRY(add_update(b, i, NO_TENSOR, 0, 0));
    return build_clipped_updates(b);
}
