/* What each operation of a plan costs at least. */
#include "step/build.h"

/* Dimension i, negative from the end. */
static double dimension(const tensor *t, int i)
{
    return (double)t->shape.dim[i < 0 ? t->shape.rank + i : i];
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
#undef OP
#undef A
#undef OUT
#undef IN
#undef D
#undef E

typedef double flops_function(const plan *p, const op *o);
static flops_function *const flops_functions[OP_COUNT] = {
#define OP(id, name, inputs, outputs, flops, tolerance) [OP_##id] = flops_of_##id,
#include "step/ops.def"
#undef OP
};

/* Inputs and outputs once; what is changed in place is read and written. */
static double bytes_of(const plan *p, const op *o)
{
    double elements = 0;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (o->in[i] != NO_TENSOR)
            elements += (double)p->tensors[o->in[i]].count;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (o->out[i] != NO_TENSOR)
            elements += (double)p->tensors[o->out[i]].count;
    return elements * sizeof(float);
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
