#include "device/slices.h"

slice_runs slice_runs_of(const plan *p, const op *o)
{
    const tensor *x = &p->tensors[o->in[0]], *y = &p->tensors[o->out[0]];
    const tensor *slice = o->kind == OP_SLICE ? y : x, *whole = o->kind == OP_SLICE ? x : y;
    const int axis = o->a.slice.axis;
    const int64_t n = slice->shape.dim[axis];
    int64_t inner = 1;
    for (int d = axis + 1; d < slice->shape.rank; d++)
        inner *= slice->shape.dim[d];
    slice_runs s = {.count = slice->count / inner,
                    .runs = n,
                    .floats = inner,
                    .outer = whole->shape.dim[axis] * inner,
                    .first = o->a.slice.begin * inner,
                    .step = o->a.slice.step * inner};
    if (o->a.slice.step == 1 || n == 1) {
        s.count /= n;
        s.runs = 1;
        s.floats *= n;
        s.step = s.floats;
    }
    return s;
}
