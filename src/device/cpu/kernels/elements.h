/* Operations that go element by element. Arrays may be the same, but not overlap otherwise. */
#ifndef DEVICE_CPU_KERNELS_ELEMENTS_H
#define DEVICE_CPU_KERNELS_ELEMENTS_H

#include <stdint.h>

/* y = act(x); alpha: leaky_relu's slope below 0, elu's limit, else unused. */
typedef void element_forward(const float *x, float *y, int64_t count, float alpha);
/* dx = dy act'(..), from the activation's output, for gelu from its input. */
typedef void element_backward(const float *from, const float *dy, float *dx, int64_t count,
                              float alpha);

typedef struct element_kernels {
    element_forward *relu, *leaky_relu, *elu, *gelu, *sigmoid, *tanh;
    element_backward *relu_back, *leaky_relu_back, *elu_back, *gelu_back, *sigmoid_back, *tanh_back;
    /* y = x * scale + offset */
    void (*scale)(const float *x, float *y, int64_t count, float scale, float offset);
    /* sum += x */
    void (*add)(const float *x, float *sum, int64_t count);
    /* of x * x, in doubles */
    double (*square_sum)(const float *x, int64_t count);
} element_kernels;

#endif
