/* Activations in 32-bit floats, by the rules of device/rules. OpenCL C has all functions that those
   ask for (tanh, erfc, expm1). Those that are operations of their own (ACTIVATION_ALONE,
   ELEMENT_FUNCTION) are left out: they would cost every kernel code and registers, and are applied
   by elementwise.cl alone. */
#ifndef DEVICE_OPENCL_ACTIVATION_H
#define DEVICE_OPENCL_ACTIVATION_H

#include "device/opencl/plugin/kernels/common.h"
#include "model/kinds.h"

#include "device/rules/activations.h"

/* NaN for an activation over rows, which no kernel requests. */
static inline float activate(int kind, float alpha, float x)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule(x, alpha);
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    }
    return NAN;
}

/* dx, from the output, or from the input where the derivative needs that. */
static inline float activate_back(int kind, float alpha, float x_or_y, float dy)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule##_back(x_or_y, dy, alpha);
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    }
    return NAN;
}

/* The same of four: one branch for all. As calls these would cost their kernels a stack, and
   with AMD's compiler 130 registers. */
#define INLINED static inline __attribute__((always_inline))

INLINED float4 activate4(int kind, float alpha, float4 x)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...)                               \
    case ACTIVATION_##id:                                                         \
        return (float4)(activate_##rule(x.x, alpha), activate_##rule(x.y, alpha), \
                        activate_##rule(x.z, alpha), activate_##rule(x.w, alpha));
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    }
    return (float4)(NAN);
}

INLINED float4 activate_back4(int kind, float alpha, float4 x_or_y, float4 dy)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...)                    \
    case ACTIVATION_##id:                                              \
        return (float4)(activate_##rule##_back(x_or_y.x, dy.x, alpha), \
                        activate_##rule##_back(x_or_y.y, dy.y, alpha), \
                        activate_##rule##_back(x_or_y.z, dy.z, alpha), \
                        activate_##rule##_back(x_or_y.w, dy.w, alpha));
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    }
    return (float4)(NAN);
}

#undef INLINED

#endif
