/* Matrix products by cornu's kernels, also for convolutions: C[m][n] = sum over k of A[m][k]
   B[k][n], in tiles of C with one block each. Few tiles are also divided into slices of k
   (split-K), whose partial sums reduce_slices adds in order. The blocking depends only on the
   sizes. */
#ifndef DEVICE_CUDA_KERNELS_PRODUCT_H
#define DEVICE_CUDA_KERNELS_PRODUCT_H

#include <stdint.h>

#define PRODUCT_THREADS 256
#define PRODUCT_DEPTH 16 /* elements along k that a block has in shared memory at once */

/* Rows and columns of a tile, 16 elements of C a thread. A tile of fewer elements than the block's
   threads can hold is computed in shares of k, which the block adds at the end. */
typedef enum product_tile {
    PRODUCT_64X64,
    PRODUCT_128X32,
    PRODUCT_32X128,
    PRODUCT_32X32
} product_tile;

/* Rounding of the factors: none, to 10 or to 7 bits of fraction. */
typedef enum product_rounding { ROUND_NOTHING, ROUND_TF32, ROUND_BF16 } product_rounding;

/* Blocks: x counts groups, each of tiles_m tiles along m; y tiles along n; z slices of k. */
typedef struct product_blocking {
    int64_t m, n, k; /* sizes of one group */
    int64_t tiles_m;
    int64_t slice_depth; /* depth of a slice of k: a multiple of PRODUCT_DEPTH */
    int64_t stride;      /* from one row of C to the next */
    int64_t group_step;  /* from one group's C to the next */
    int64_t slice_step;  /* from one slice's C to the next */
    int32_t tile;        /* product_tile */
    int32_t rounding;    /* product_rounding */
    float *c;            /* the result, or the slices' partial sums */
    const float *bias;   /* per column of C, counted over the groups; NULL: none */
    float slope;         /* below 0: 1 linear, 0 relu, else leaky_relu; slices: 1 */
    int32_t padding;
} product_blocking;

/* C = A B, A B' and A' B of plain matrices, each row-major. */
typedef struct product_params {
    product_blocking blocking;
    const float *a, *b;
    int64_t a_stride, b_stride; /* from one row in memory to the next */
} product_params;
typedef product_params product_nn_params, product_nt_params, product_tn_params;

/* y[i] = act(sum of partials[s][i] over s + bias[i % columns]); bias NULL: none; act by its slope.
   reduce_many_slices adds each sum by REDUCE_SHARES threads, REDUCE_LANES sums a block. */
#define REDUCE_LANES 32
#define REDUCE_SHARES (PRODUCT_THREADS / REDUCE_LANES)
typedef struct reduce_slices_params {
    const float *partials, *bias;
    float *y;
    int64_t count, columns;
    int32_t partial_count;
    float slope;
} reduce_slices_params;
typedef reduce_slices_params reduce_many_slices_params;

/* One convolution: x [batch][height][width][channels], y [batch][out_height][out_width][filters]
   (or their gradients), w [filters][kernel height][kernel width][group_channels]. */
typedef struct conv_params {
    product_blocking blocking;
    const float *a, *b; /* forward: x, w; backward data: dy, w; backward weights: dy, x */
    int32_t height, width, channels, out_height, out_width, filters;
    int32_t kernel[2], stride[2], dilation[2], before[2];
    int32_t group_channels, group_filters;
} conv_params;
typedef conv_params conv_forward_params, conv_backward_data_params,
    conv_backward_data_strided_params, conv_backward_weights_params;

/* The same of one array in bfloat16. */
typedef struct widen_bf16_params {
    const uint16_t *x;
    const float *bias;
    float *y;
    int64_t count, columns;
    float slope;
    int32_t padding;
} widen_bf16_params;

/* y = each of `matrices` matrices x [rows][columns], transposed: [columns][rows] */
#define TRANSPOSE_TILE 32
#define TRANSPOSE_THREADS 256
#define TRANSPOSE_BLOCKS 4096
typedef struct transpose_params {
    const float *x;
    float *y;
    int64_t matrices, rows, columns;
} transpose_params;

#endif
