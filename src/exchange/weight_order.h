/* The layouts of weights in other programs, whose images are channels first. For ONNX's
   constants and PyTorch's tensors. */
#ifndef EXCHANGE_WEIGHT_ORDER_H
#define EXCHANGE_WEIGHT_ORDER_H

#include "model/shape.h"

typedef enum weight_form {
    WEIGHT_SAME,       /* cornu's order */
    WEIGHT_TRANSPOSED, /* [units][inputs] */
    WEIGHT_KERNEL      /* [out][in][height][width] */
} weight_form;

typedef struct weight_order {
    weight_form form;
    /* Height, width, channels of the image that the first dimension was before it was flattened; 0:
       it was none. */
    int64_t flat[3];
} weight_order;

/* The index in that order of element `i` of a weight with cornu's shape `s`. */
int64_t weight_order_index(const weight_order *o, const shape *s, int64_t i);

#endif
