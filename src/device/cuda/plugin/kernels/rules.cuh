/* Primitives for the elementwise rules of device/rules on CUDA. */
#ifndef DEVICE_CUDA_RULES_CUH
#define DEVICE_CUDA_RULES_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/elementwise.h"

typedef float rule_real;
#define rule_all(a) ((float)(a))
#define rule_product(a, b) times(a, b)
#define rule_quotient(a, b) ((a) / (b))
#define rule_sqrt(a) sqrtf(a)
#define rule_select(mask, a, b) ((mask) ? (a) : (b))
#define rule_abs(a) fabsf(a)
#define rule_tanh(a) tanhf(a)
#define rule_erfc(a) erfcf(a)
#define rule_exp(a) expf(a)
#define rule_exp_negative(a) expf(a)
#define rule_exp_coarse(a) expf(a)
#define rule_expm1_negative(a) expm1f(a)

/* ---- activations ------------------------------------------------------------------------- */

/* Activations in 32-bit floats, by the rules of device/rules. */
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
