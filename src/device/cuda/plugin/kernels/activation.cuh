/* Activations, as device/reference/activation.c has them, in 32-bit floats; softmax by groups of
   lanes. */
#ifndef DEVICE_CUDA_ACTIVATION_CUH
#define DEVICE_CUDA_ACTIVATION_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/elementwise.h"

static __device__ inline float sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/* 0.5 (1 + erf(x / sqrt 2)), without cancellation far below 0 */
static __device__ inline float normal_share(float x)
{
    return 0.5f * erfcf(x * -0.70710678f);
}

static __device__ inline float activate(int kind, float alpha, float x)
{
    switch (kind) {
    case GPU_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case GPU_ACTIVATION_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case GPU_ACTIVATION_ELU:
        return x < 0 ? alpha * expm1f(x) : x;
    case GPU_ACTIVATION_GELU:
        return x * normal_share(x);
    case GPU_ACTIVATION_SIGMOID:
        return sigmoid(x);
    case GPU_ACTIVATION_TANH:
        return tanhf(x);
    default:
        return x;
    }
}

/* The derivative, from the output (from the input for gelu). */
static __device__ inline float slope(int kind, float alpha, float v)
{
    switch (kind) {
    case GPU_ACTIVATION_RELU:
        return v > 0 ? 1 : 0;
    case GPU_ACTIVATION_LEAKY_RELU:
        return v > 0 ? 1 : alpha;
    case GPU_ACTIVATION_ELU:
        return v < 0 ? v + alpha : 1;
    case GPU_ACTIVATION_GELU:
        return normal_share(v) + v * 0.39894228f * expf(-0.5f * v * v);
    case GPU_ACTIVATION_SIGMOID:
        return v * (1 - v);
    case GPU_ACTIVATION_TANH:
        return 1 - v * v;
    default:
        return 1;
    }
}

/* A row's largest element, and the sum of exp(x - largest). */
typedef struct softmax_sums {
    float largest;
    double sum, inverse;
} softmax_sums;

/* Every thread of the block must call it; n = 0 for groups without a row. The exponentials are
   32-bit: that of the largest is exactly 1, the others are right to 1e-7 of it. */
static __device__ inline softmax_sums softmax_sums_of(const float *x, int64_t n, int lane,
                                                      int lanes)
{
    softmax_sums s;
    s.largest = -INFINITY;
    s.sum = 0;
    for (int64_t i = lane; i < n; i += lanes)
        s.largest = fmaxf(s.largest, x[i]);
    s.largest = lanes_largest(s.largest, lanes);
    for (int64_t i = lane; i < n; i += lanes)
        s.sum += (double)expf(x[i] - s.largest);
    s.sum = lanes_sum(s.sum, lanes);
    s.inverse = 1 / s.sum;
    return s;
}

static __device__ inline double softmax_at(const softmax_sums *s, float x)
{
    return (double)expf(x - s->largest) * s->inverse;
}

#endif
