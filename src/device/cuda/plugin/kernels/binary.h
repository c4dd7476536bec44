/* Operations of two tensors, element by element. */
#ifndef DEVICE_CUDA_KERNELS_BINARY_H
#define DEVICE_CUDA_KERNELS_BINARY_H

#include "device/cuda/plugin/kernels/elementwise.h"

/* Dimensions, the innermost last, and how many elements each tensor moves for each
   (device/broadcast.h). */
#define BINARY_DIMENSIONS 5
typedef struct binary_steps {
    int64_t a[BINARY_DIMENSIONS], b[BINARY_DIMENSIONS], y[BINARY_DIMENSIONS];
} binary_steps;

typedef struct binary_forward_params {
    const float *a, *b;
    float *y;
    int64_t count;
    int64_t size[BINARY_DIMENSIONS];
    binary_steps steps;
    int32_t kind; /* binary_kind */
} binary_forward_params;

/* Each of `count` elements of dx, which are in the dimensions `kept`, is a sum of `terms`, which
   are in `repeated`. */
typedef struct binary_backward_params {
    const float *a, *b, *dy;
    float *dx;
    int64_t count, terms;
    int64_t kept[BINARY_DIMENSIONS], repeated[BINARY_DIMENSIONS];
    binary_steps steps;
    int32_t kind, of; /* of: 0: a, 1: b */
} binary_backward_params;
/* a block for each element */
typedef binary_backward_params binary_backward_sums_params;

#endif
