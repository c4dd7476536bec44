/* Microkernels of MATMUL. */
#ifndef DEVICE_CPU_DENSE_MATMUL_KERNELS_H
#define DEVICE_CPU_DENSE_MATMUL_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum { MATMUL_PANEL = 32 }; /* columns of b that are packed: a multiple of every vector */

/* y[rows][columns] = a panel, or added to the content of y; columns <= MATMUL_PANEL. Rows of a are
   a_row floats apart, indices of the sum a_depth. */
typedef struct matmul_block {
    const float *a, *panel; /* panel: [depth][MATMUL_PANEL] */
    float *y;
    int64_t a_row, a_depth, y_row;
    int64_t rows, depth, columns;
    bool add;
} matmul_block;

typedef struct matmul_kernels {
    void (*multiply)(const matmul_block *m);
    /* panel[depth][MATMUL_PANEL] of b, whose columns after the last become 0 */
    void (*pack)(const float *b, int64_t b_depth, int64_t b_column, int64_t depth, int64_t columns,
                 float *panel);
    /* sum of a[i] b[i] */
    float (*dot)(const float *a, const float *b, int64_t count);
} matmul_kernels;

#endif
