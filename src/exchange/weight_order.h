/* How other programs keep weights: their images lie channels first. For ONNX's constants and
   PyTorch's tensors. */
#ifndef EXCHANGE_WEIGHT_ORDER_H
#define EXCHANGE_WEIGHT_ORDER_H

#include "model/shape.h"

typedef enum weight_form {
    WEIGHT_SAME,       /* as cornu has it */
    WEIGHT_TRANSPOSED, /* [units][inputs] */
    WEIGHT_KERNEL      /* [out][in][height][width] */
} weight_form;

typedef struct weight_order {
    weight_form form;
    /* Height, width, channels of the image that the first dimension was before it was flattened; 0:
       it was none. */
    int64_t flat[3];
} weight_order;

/* Where element `i` of a weight of cornu's shape `s` stands in that order. */
int64_t weight_order_index(const weight_order *o, const shape *s, int64_t i);

#endif
