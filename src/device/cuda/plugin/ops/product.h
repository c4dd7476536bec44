/* Matrix products by own kernels (kernels/product.h), as dense layers and convolutions use them. */
#ifndef DEVICE_CUDA_PLUGIN_PRODUCT_H
#define DEVICE_CUDA_PLUGIN_PRODUCT_H

#include "device/cuda/plugin/kernels/product.h"
#include "device/cuda/plugin/ops/ops.h"

/* Tiles that the kernels of plain matrices have: 1 << product_tile, or-ed. */
#define PRODUCT_MATRIX_TILES (1u << PRODUCT_64X64 | 1u << PRODUCT_128X32 | 1u << PRODUCT_32X128)

/* How a product runs. */
typedef struct product {
    product_blocking blocking;
    int64_t tiles_n, groups, slices;
    int64_t count, columns; /* elements of the whole result, and of a row (as counted for bias) */
    size_t scratch_bytes;   /* scratch memory for the slices' partial sums */
} product;

/* Choose the blocking of `groups` products of [m][k] and [k][n]. A row of C has `stride` elements;
   the next group's C begins `group_step` after the one before. CORNU_UNSUPPORTED where a grid would
   be too large. */
cornu_status product_choose(const gpu *g, int64_t m, int64_t n, int64_t k, int64_t groups,
                            unsigned tiles, int64_t stride, int64_t group_step, product *out);
/* `params` are the kernel's parameters, which begin with the blocking; this call fills in the
   blocking, the caller the rest. bias: 0 for none. One launch, one more for slices, and one more
   for an activation that the epilogue cannot do. */
cornu_status product_enqueue(gpu *g, cuda_function kernel, const product *q,
                             product_blocking *params, gpu_address scratch, gpu_address bias,
                             gpu_address c, activation act);
/* The slope of a piecewise linear activation: linear, relu, leaky_relu. False for others. */
bool product_slope(activation act, float *slope);

static inline const float *device_floats(gpu_address p)
{
    return (const float *)(uintptr_t)p;
}

/* Scratch memory is handed out in multiples of this many bytes. */
#define SCRATCH_GRAIN 256
static inline size_t scratch_round(size_t bytes)
{
    return (bytes + SCRATCH_GRAIN - 1) / SCRATCH_GRAIN * SCRATCH_GRAIN;
}

/* Libraries' kernels; dense.c and conv.c list them first. */
extern const gpu_kernel cuda_cublaslt_forward, cuda_cublaslt_backward_data,
    cuda_cublaslt_backward_weights; /* cublaslt.c */
extern const gpu_kernel cuda_cudnn_forward, cuda_cudnn_backward_data,
    cuda_cudnn_backward_weights; /* cudnn.c */
extern const gpu_kernel cuda_cudnn_winograd_forward, cuda_cudnn_winograd_backward_data,
    cuda_cudnn_winograd_backward_weights;

#endif
