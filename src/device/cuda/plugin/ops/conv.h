/* Sizes of a convolution's operation. */
#ifndef DEVICE_CUDA_PLUGIN_CONV_H
#define DEVICE_CUDA_PLUGIN_CONV_H

#include "step/plan.h"

/* Its tensors by role, gradients stand for their tensors; b: NULL where absent. */
typedef struct conv_roles {
    const tensor *x, *w, *b, *y;
} conv_roles;
conv_roles conv_roles_of(const plan *p, const op *o);

#endif
