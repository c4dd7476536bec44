/* The layouts of weights in other programs, whose images are channels first. For ONNX's
   constants and PyTorch's tensors. */
#ifndef EXCHANGE_WEIGHT_ORDER_H
#define EXCHANGE_WEIGHT_ORDER_H

#include "model/shape.h"

typedef enum weight_form {
    WEIGHT_SAME,       /* cornu's order */
    WEIGHT_TRANSPOSED, /* [units][inputs] */
    WEIGHT_KERNEL,     /* [out][in][height][width] */
    WEIGHT_GATES /* of a recurrent layer: [gates][units][inputs], cornu's [inputs][gates][units] */
} weight_form;

enum { WEIGHT_GATES_MOST = 8 };

typedef struct weight_order {
    weight_form form;
    /* Height, width, channels of the image that the first dimension was before it was flattened; 0:
       it was none. */
    int64_t flat[3];
    /* WEIGHT_GATES: the number at which the weight begins, and the place of each of cornu's gates
     */
    int64_t begin, inputs, units;
    int gate_count, gates[WEIGHT_GATES_MOST];
} weight_order;

/* The index, with channels first, of element i of a flattened image (height, width, channels). */
static inline int64_t flat_index(const int64_t flat[3], int64_t i)
{
    int64_t c = i % flat[2], pixel = i / flat[2];
    return c * flat[0] * flat[1] + pixel;
}

static inline int64_t kernel_index(const shape *s, int64_t i)
{
    const int64_t *d = s->dim;
    int64_t out = i % d[3], in = i / d[3] % d[2], pixel = i / d[3] / d[2];
    return (out * d[2] + in) * d[0] * d[1] + pixel;
}

static inline int64_t gates_index(const weight_order *o, int64_t i)
{
    const int64_t unit = i % o->units, gate = i / o->units % o->gate_count;
    const int64_t input = i / o->units / o->gate_count;
    return o->begin + (o->gates[gate] * o->units + unit) * o->inputs + input;
}

/* The index in that order of element `i` of a weight with cornu's shape `s`. */
static inline int64_t weight_order_index(const weight_order *o, const shape *s, int64_t i)
{
    if (o->form == WEIGHT_KERNEL)
        return kernel_index(s, i);
    if (o->form == WEIGHT_GATES)
        return gates_index(o, i);
    int64_t columns = s->rank == 2 ? s->dim[1] : 1, row = i / columns, column = i % columns;
    if (o->flat[2] > 0)
        row = flat_index(o->flat, row);
    return o->form == WEIGHT_TRANSPOSED ? column * s->dim[0] + row : row * columns + column;
}

#endif
