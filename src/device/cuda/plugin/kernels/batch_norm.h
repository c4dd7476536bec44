/* Batch normalisation over the last dimension, with the blocking of sums.h. Forward and
   backward are two launches each: sums over ranges of the rows, and the result. */
#ifndef DEVICE_CUDA_KERNELS_BATCH_NORM_H
#define DEVICE_CUDA_KERNELS_BATCH_NORM_H

#include "device/cuda/plugin/kernels/sums.h"

/* partials[i][0][column]: sum of x - x[0][column]; [i][1][column]: of its squares. Counted from
   the first row, so that a large mean does not swallow the variance; the squares are exact, so that
   an odd first row does not either. */
typedef struct batch_norm_sums_params {
    sum_strips t;
    const float *x;
    sum2 *partials; /* [gridDim.y][2][columns] */
} batch_norm_sums_params;

typedef struct batch_norm_forward_params {
    sum_strips t;
    const float *x, *gamma, *beta; /* gamma, beta: may be NULL */
    float *y;
    const sum2 *partials;
    int64_t partial_count;
    float *mean, *inverse, *moving_mean, *moving_variance;
    sum2 share; /* 1 / rows */
    float momentum, epsilon;
} batch_norm_forward_params;

typedef struct batch_norm_inference_params {
    sum_strips t;
    const float *x, *gamma, *beta, *moving_mean, *moving_variance;
    float *y;
    float epsilon;
} batch_norm_inference_params;

/* partials[i][0][column]: sum of dy; [i][1][column]: of dy (x - mean) inverse. */
typedef struct batch_norm_backward_sums_params {
    sum_strips t;
    const float *x, *dy, *mean, *inverse;
    sum2 *partials; /* [gridDim.y][2][columns] */
} batch_norm_backward_sums_params;

typedef struct batch_norm_backward_params {
    sum_strips t;
    const float *x, *dy, *gamma, *mean, *inverse;
    float *dx, *dgamma, *dbeta; /* dgamma, dbeta: NULL where not wanted */
    const sum2 *partials;
    int64_t partial_count;
    sum2 share; /* 1 / rows */
} batch_norm_backward_params;

#endif
