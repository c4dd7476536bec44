/* Batch normalization, one row [count] of channels at a time. */
#ifndef DEVICE_CPU_ELEMENTWISE_BATCH_NORM_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_BATCH_NORM_KERNELS_H

#include <stdint.h>

typedef struct batch_norm_kernels {
    /* sum += x */
    void (*add_row)(const float *x, double *sum, int64_t count);
    /* sum += (x - mean)^2 */
    void (*add_squares)(const float *x, const float *mean, double *sum, int64_t count);
    /* sum += dy, product += dy (x - mean) */
    void (*add_gradients)(const float *x, const float *dy, const float *mean, double *sum,
                          double *product, int64_t count);
    /* y = (x - mean) scale + shift */
    void (*normalize_row)(const float *x, const float *mean, const float *scale, const float *shift,
                          float *y, int64_t count);
    /* dx = dy scale - shift - (x - mean) slope */
    void (*gradient_row)(const float *x, const float *dy, const float *mean, const float *scale,
                         const float *shift, const float *slope, float *dx, int64_t count);
} batch_norm_kernels;

#endif
