/* The minimum cost of each operation of a plan. */
#include "step/builder.h"

/* Dimension i, negative from the end. */
static double dimension(const tensor *t, int i)
{
    return (double)t->shape.dim[i < 0 ? t->shape.rank + i : i];
}

/* FLOPs of MATRIX_UPDATE's products. */
static double matrix_products(const op *o)
{
    const double rows = (double)o->a.update.extents[1], columns = (double)o->a.update.extents[2];
    const double least = rows < columns ? rows : columns, most = rows < columns ? columns : rows;
    return (double)o->a.update.optimizer.ns_steps * least * least * (4 * most + 2 * least);
}

/* One function per row of ops.def, from its FLOPs column. */
#define E(tensor_) ((double)(tensor_)->count)
#define D(tensor_, i) dimension(tensor_, i)
#define IN(i) (&p->tensors[o->in[i]])
#define OUT(i) (&p->tensors[o->out[i]])
#define A (o->a)
#define OP(id, name, inputs, outputs, flops_, tolerance)    \
    static double flops_of_##id(const plan *p, const op *o) \
    {                                                       \
        (void)p;                                            \
        (void)o;                                            \
        return flops_;                                      \
    }
#include "step/ops.def"
#undef A
#undef OUT
#undef IN
#undef D
#undef E

typedef double flops_function(const plan *p, const op *o);
static flops_function *const flops_functions[OP_COUNT] = {
#define OP(id, name, inputs, outputs, flops, tolerance) [OP_##id] = flops_of_##id,
#include "step/ops.def"
};

/* Bytes of a tensor that the operation moves: an UPDATE may be of a slice of its variable,
   and SLICE and INSERT of a slice of the larger tensor. */
static double bytes_of_tensor(const plan *p, const op *o, tensor_ref t)
{
    int64_t count = p->tensors[t].count;
    if (o->kind == OP_SLICE)
        return (double)p->tensors[o->out[0]].count * sizeof(float);
    if (o->kind == OP_INSERT && !insert_spreads(o))
        return t == o->in[1] ? 0 : (double)p->tensors[o->in[0]].count * sizeof(float);
    if (o->kind == OP_UPDATE && count == p->tensors[o->out[0]].count)
        count -= o->a.update.before + o->a.update.after;
    return (double)count * sizeof(float);
}

/* Inputs and outputs once; a tensor changed in place is read and written. */
static double bytes_of(const plan *p, const op *o)
{
    double bytes = 0;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (o->in[i] != NO_TENSOR)
            bytes += bytes_of_tensor(p, o, o->in[i]);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (o->out[i] != NO_TENSOR)
            bytes += bytes_of_tensor(p, o, o->out[i]);
    return bytes;
}

void plan_cost(plan *p)
{
    p->flops = 0;
    p->bytes = 0;
    for (int i = 0; i < p->op_count; i++) {
        op *o = &p->ops[i];
        o->flops = flops_functions[o->kind](p, o);
        o->bytes = bytes_of(p, o);
        p->flops += o->flops;
        p->bytes += o->bytes;
    }
}

/* Does one of the operations first..end-1 read (or write) the tensor? */
static bool touches(const plan *p, int first, int end, tensor_ref t, bool writes)
{
    for (int i = first; i < end; i++) {
        const op *o = &p->ops[i];
        for (int k = 0; k < (writes ? OP_OUTPUTS_MAX : OP_INPUTS_MAX); k++)
            if ((writes ? o->out[k] : o->in[k]) == t)
                return true;
    }
    return false;
}

bool plan_group_internal(const plan *p, const op_group *g, tensor_ref t)
{
    const int end = g->first + g->count;
    if (t == NO_TENSOR || p->tensors[t].role != TENSOR_BUFFER || p->tensors[t].first < g->first ||
        p->tensors[t].last >= end)
        return false;
    return touches(p, g->first, end - 1, t, true) && touches(p, g->first + 1, end, t, false);
}

void plan_group_cost(const plan *p, const op *begin, const op_group *g, double *flops,
                     double *bytes)
{
    int first = (int)(begin - p->ops), end = first + (g ? g->count : 1);
    *flops = *bytes = 0;
    for (int i = first; i < end; i++) {
        const op *o = &p->ops[i];
        *flops += o->flops;
        for (int k = 0; k < OP_INPUTS_MAX; k++) {
            tensor_ref t = o->in[k];
            if (t != NO_TENSOR && !touches(p, first, i, t, false) && !touches(p, first, i, t, true))
                *bytes += bytes_of_tensor(p, o, t);
        }
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (o->out[k] != NO_TENSOR && !(g && plan_group_internal(p, g, o->out[k])))
                *bytes += bytes_of_tensor(p, o, o->out[k]);
    }
}
