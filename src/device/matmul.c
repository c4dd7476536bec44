#include "device/matmul.h"

matmul_shape matmul_shape_of(const plan *p, const op *o)
{
    const tensor *a = &p->tensors[o->in[0]], *y = &p->tensors[o->out[0]];
    const int last = y->shape.rank - 1;
    const bool ta = o->a.matmul.transposed[0], tb = o->a.matmul.transposed[1];
    matmul_shape s = {.rows = y->shape.dim[last - 1],
                      .depth = a->shape.dim[ta ? last - 1 : last],
                      .columns = y->shape.dim[last]};
    s.count = y->count / s.rows / s.columns;
    s.a_row = ta ? 1 : s.depth;
    s.a_depth = ta ? s.rows : 1;
    s.b_depth = tb ? 1 : s.columns;
    s.b_column = tb ? s.depth : 1;
    return s;
}
