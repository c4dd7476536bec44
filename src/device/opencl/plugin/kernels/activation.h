/* Activations in 32-bit floats, by the rules of device/rules. OpenCL C has all functions that those
   ask for (tanh, erfc, expm1). */
#ifndef DEVICE_OPENCL_ACTIVATION_H
#define DEVICE_OPENCL_ACTIVATION_H

#include "device/opencl/plugin/kernels/rules.h"
#include "model/kinds.h"

#include "device/rules/activations.h"

/* NaN for an activation that goes by rows, which no kernel asks for. */
static inline float activate(int kind, float alpha, float x)
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
static inline float activate_back(int kind, float alpha, float x_or_y, float dy)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule##_back(x_or_y, dy, alpha);
#include "model/activations.def"
    }
    return NAN;
}

static inline float4 activate4(int kind, float alpha, float4 x)
{
    return (float4)(activate(kind, alpha, x.x), activate(kind, alpha, x.y),
                    activate(kind, alpha, x.z), activate(kind, alpha, x.w));
}

static inline float4 activate_back4(int kind, float alpha, float4 x_or_y, float4 dy)
{
    return (float4)(activate_back(kind, alpha, x_or_y.x, dy.x),
                    activate_back(kind, alpha, x_or_y.y, dy.y),
                    activate_back(kind, alpha, x_or_y.z, dy.z),
                    activate_back(kind, alpha, x_or_y.w, dy.w));
}

#endif
