/* Elementwise operations. Arrays may be the same, but must not overlap otherwise. */
#ifndef DEVICE_CPU_ELEMENTWISE_ELEMENTWISE_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_ELEMENTWISE_KERNELS_H

#include <stdint.h>

/* y = act(x); alpha: the activation's parameter (device/rules/activations.h) */
typedef void element_forward(const float *x, float *y, int64_t count, float alpha);
/* dx = dy act'(..), from the activation's output, or its input where the derivative needs that. */
typedef void element_backward(const float *from, const float *dy, float *dx, int64_t count,
                              float alpha);

typedef struct element_kernels {
    /* [activation_kind]; NULL where a whole row is needed */
    element_forward *const *activate;
    element_backward *const *activate_back;
    /* y = x * scale + offset */
    void (*scale)(const float *x, float *y, int64_t count, float scale, float offset);
    /* sum += x */
    void (*add)(const float *x, float *sum, int64_t count);
    /* sum of x * x, in doubles */
    double (*square_sum)(const float *x, int64_t count);
} element_kernels;

#endif
