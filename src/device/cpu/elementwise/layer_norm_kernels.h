/* Layer normalization, one row [count] at a time. gamma and beta: NULL where there is none. */
#ifndef DEVICE_CPU_ELEMENTWISE_LAYER_NORM_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_LAYER_NORM_KERNELS_H

#include <stdint.h>

typedef struct layer_norm_kernels {
    double (*sum)(const float *x, int64_t count);
    /* Sum of (x - mean)^2. */
    double (*squares)(const float *x, double mean, int64_t count);
    /* y = (x - mean) inverse gamma + beta */
    void (*normalize)(const float *x, double mean, float inverse, const float *gamma,
                      const float *beta, float *y, int64_t count);
    /* sums[0]: of g = dy gamma, sums[1]: of g (x - mean) */
    void (*gradient_sums)(const float *x, const float *dy, const float *gamma, float mean,
                          int64_t count, double sums[2]);
    /* dx = inverse (dy gamma - shift - (x - mean) slope) */
    void (*gradient)(const float *x, const float *dy, const float *gamma, float mean, float inverse,
                     float shift, float slope, float *dx, int64_t count);
    /* dbeta += dy, dgamma += dy (x - mean) inverse */
    void (*add_columns)(const float *x, const float *dy, float mean, float inverse, double *dgamma,
                        double *dbeta, int64_t count);
} layer_norm_kernels;

#endif
