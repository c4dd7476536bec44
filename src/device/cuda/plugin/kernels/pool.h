/* Pooling over NHWC. Channels are taken in packs of `pack` floats, 4 or 1. */
#ifndef DEVICE_CUDA_KERNELS_POOL_H
#define DEVICE_CUDA_KERNELS_POOL_H

#include "device/cuda/plugin/kernels/elementwise.h"

#define POOL_THREADS 256

/* Sums of a few sides are 32-bit numbers: accelerator/ops.h, GPU_SIDE_MOST. */
typedef struct pool_shape {
    int64_t batch;
    int32_t in_h, in_w, out_h, out_w;
    int32_t packs; /* channels / pack */
    int32_t kernel[2], stride[2], dilation[2], before[2];
} pool_shape;

typedef struct max_pool_forward_params {
    pool_shape s;
    const float *x;
    float *y;
    int32_t pack;
} max_pool_forward_params;
typedef max_pool_forward_params average_pool_forward_params;

/* If x is the output of an activation, its backward pass may be fused: dx is then the gradient
   of the activation's input. */
typedef struct max_pool_backward_params {
    pool_shape s;
    const float *x, *y, *dy;
    float *dx;
    int32_t pack;
    int32_t activation; /* activation_kind; LINEAR: none */
    float alpha;
} max_pool_backward_params;
/* Windows that do not overlap (kernel <= stride, no dilation): a thread writes all of one. */
typedef max_pool_backward_params max_pool_backward_apart_params;

typedef struct average_pool_backward_params {
    pool_shape s;
    const float *dy;
    float *dx;
    int32_t pack;
} average_pool_backward_params;

#endif
