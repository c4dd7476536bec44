/* Activations in 32-bit floats, by the rules of device/rules. */
#ifndef DEVICE_CUDA_ACTIVATION_CUH
#define DEVICE_CUDA_ACTIVATION_CUH

#include "device/cuda/plugin/kernels/elementwise.h"
#include "device/cuda/plugin/kernels/rules.cuh"

#include "device/rules/activations.h"

/* NaN for an activation over rows, which no kernel requests. */
static __device__ inline float activate(int kind, float alpha, float x)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule(x, alpha);
#include "model/activations.def"
    }
    return NAN;
}

/* dx, from the output, or from the input where the derivative needs that. */
static __device__ inline float activate_back(int kind, float alpha, float x_or_y, float dy)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule##_back(x_or_y, dy, alpha);
#include "model/activations.def"
    }
    return NAN;
}

#endif
