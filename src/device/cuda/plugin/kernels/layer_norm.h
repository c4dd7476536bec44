/* Layer normalisation over the last dimension: rows by themselves, each by `lanes` threads side by
   side (a power of two up to NORM_THREADS). gamma's and beta's gradients are two more launches,
   with the blocking of sums.h. */
#ifndef DEVICE_CUDA_KERNELS_LAYER_NORM_H
#define DEVICE_CUDA_KERNELS_LAYER_NORM_H

#include "device/cuda/plugin/kernels/sums.h"

#define NORM_THREADS 256

typedef struct layer_norm_forward_params {
    const float *x, *gamma, *beta; /* gamma, beta: may be NULL */
    float *y, *mean, *inverse;     /* mean, inverse [rows]: NULL where not wanted */
    int64_t rows, n;
    int32_t lanes;
    float epsilon;
    sum2 share; /* 1 / n */
} layer_norm_forward_params;

typedef struct layer_norm_backward_params {
    const float *x, *dy, *gamma, *mean, *inverse;
    float *dx;
    int64_t rows, n;
    int32_t lanes;
    sum2 share; /* 1 / n */
} layer_norm_backward_params;

/* partials[i][0][column]: sum of dy; [i][1][column]: of dy (x - mean) inverse, with each row's own.
 */
typedef struct layer_norm_sums_params {
    sum_strips t;
    const float *x, *dy, *mean, *inverse;
    sum2 *partials; /* [gridDim.y][2][columns] */
} layer_norm_sums_params;

typedef struct layer_norm_gradients_params {
    sum_strips t; /* one range; rows: partial sums */
    const sum2 *partials;
    float *dgamma, *dbeta; /* NULL where not wanted */
} layer_norm_gradients_params;

#endif
