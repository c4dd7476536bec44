/* Operations that move or scale elements. */
#include "device/reference/reference.h"
#include <string.h>

cornu_status reference_scale(const op_run *r)
{
    int64_t count = OP_OUT(r->plan, r->op, 0)->count;
    float scale = r->op->a.scale.scale, offset = r->op->a.scale.offset;
    for (int64_t i = 0; i < count; i++)
        r->out[0][i] = r->in[0][i] * scale + offset;
    return CORNU_OK;
}

/* The row of the larger image that contains row `row` of sample n of the smaller one, as an
   index. */
static int64_t large_row(const shape *large, const int64_t before[2], int64_t n, int64_t row)
{
    return ((n * large->dim[1] + row + before[0]) * large->dim[2] + before[1]) * large->dim[3];
}

cornu_status reference_pad(const op_run *r)
{
    const tensor *x = OP_IN(r->plan, r->op, 0), *y = OP_OUT(r->plan, r->op, 0);
    int64_t line = x->shape.dim[2] * x->shape.dim[3];
    memset(r->out[0], 0, (size_t)y->count * sizeof(float));
    for (int64_t n = 0; n < x->shape.dim[0]; n++)
        for (int64_t row = 0; row < x->shape.dim[1]; row++)
            memcpy(r->out[0] + large_row(&y->shape, r->op->a.pad.before, n, row),
                   r->in[0] + (n * x->shape.dim[1] + row) * line, (size_t)line * sizeof(float));
    return CORNU_OK;
}

cornu_status reference_crop(const op_run *r)
{
    const tensor *dy = OP_IN(r->plan, r->op, 0), *dx = OP_OUT(r->plan, r->op, 0);
    int64_t line = dx->shape.dim[2] * dx->shape.dim[3];
    for (int64_t n = 0; n < dx->shape.dim[0]; n++)
        for (int64_t row = 0; row < dx->shape.dim[1]; row++)
            memcpy(r->out[0] + (n * dx->shape.dim[1] + row) * line,
                   r->in[0] + large_row(&dy->shape, r->op->a.pad.before, n, row),
                   (size_t)line * sizeof(float));
    return CORNU_OK;
}
