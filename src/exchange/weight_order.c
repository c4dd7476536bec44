#include "exchange/weight_order.h"

/* The index, with channels first, of element i of a flattened image (height, width, channels). */
static int64_t flat_index(const int64_t flat[3], int64_t i)
{
    int64_t c = i % flat[2], pixel = i / flat[2];
    return c * flat[0] * flat[1] + pixel;
}

static int64_t kernel_index(const shape *s, int64_t i)
{
    const int64_t *d = s->dim;
    int64_t out = i % d[3], in = i / d[3] % d[2], pixel = i / d[3] / d[2];
    return (out * d[2] + in) * d[0] * d[1] + pixel;
}

int64_t weight_order_index(const weight_order *o, const shape *s, int64_t i)
{
    if (o->form == WEIGHT_KERNEL)
        return kernel_index(s, i);
    int64_t columns = s->rank == 2 ? s->dim[1] : 1, row = i / columns, column = i % columns;
    if (o->flat[2] > 0)
        row = flat_index(o->flat, row);
    return o->form == WEIGHT_TRANSPOSED ? column * s->dim[0] + row : row * columns + column;
}
