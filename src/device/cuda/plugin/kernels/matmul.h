/* MATMUL: y = a b of pairs of matrices (device/matmul.h). A block computes a tile of y. */
#ifndef DEVICE_CUDA_KERNELS_MATMUL_H
#define DEVICE_CUDA_KERNELS_MATMUL_H

#include <stdint.h>

#define MATMUL_SIDE 16 /* rows and columns of a tile, an element a thread */

typedef struct matmul_params {
    const float *a, *b;
    float *y;
    int64_t tiles, rows, depth, columns;
    int64_t a_row, a_depth, b_depth, b_column;
} matmul_params;

#endif
