/* Normalization over the last dimension: of columns over a batch, and of each row. */
#ifndef DEVICE_CUDA_PLUGIN_KERNELS_NORMS_H
#define DEVICE_CUDA_PLUGIN_KERNELS_NORMS_H

#include "device/cuda/plugin/kernels/sums.h"

/* ---- batch normalization ----------------------------------------------------------------- */

/* Batch normalisation over the last dimension, with the blocking of sums.h. Forward and
   backward are two launches each: sums over ranges of the rows, and the result. */

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
    float *mean, *inverse, *moving_mean, *moving_variance; /* moving ones: may be NULL */
    sum2 share;                                            /* 1 / rows */
    float momentum, epsilon;
} batch_norm_forward_params;

typedef struct batch_norm_inference_params {
    sum_strips t;
    const float *x, *gamma, *beta, *moving_mean; /* gamma, beta, moving_mean: may be NULL */
    const float *moving_variance;
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

/* ---- layer normalization ----------------------------------------------------------------- */

/* Layer normalisation over the last dimension: rows by themselves, each by `lanes` threads side by
   side (a power of two up to NORM_THREADS). gamma's and beta's gradients are two more launches,
   with the blocking of sums.h. */

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
