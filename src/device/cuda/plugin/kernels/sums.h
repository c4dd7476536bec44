/* Sums over rows, and of squares. A block of SUM_THREADS threads stands on a tile of `width`
   columns (a power of two up to 32) and goes down its part of the rows; the threads of a column are
   added as a tree, the parts in their order. */
#ifndef DEVICE_CUDA_KERNELS_SUMS_H
#define DEVICE_CUDA_KERNELS_SUMS_H

#include "device/cuda/plugin/kernels/kernels.h"

#define SUM_THREADS 256

/* How rows and columns are cut; blocks: x tiles of columns, y parts of rows. */
typedef struct sum_tiles {
    int64_t rows, columns;
    int64_t part_rows; /* of one block */
    int32_t width;
} sum_tiles;

/* parts[blockIdx.y][column], or, where there is one part only, `sums` themselves */
typedef struct column_sums_params {
    sum_tiles t;
    const float *x; /* [rows][columns] */
    double *parts;  /* [parts][columns] */
    float *sums;    /* [columns]; NULL: parts are written */
} column_sums_params;

/* t.rows parts become one: as floats (sums), or, where sums is NULL, as doubles. */
typedef struct column_sums_finish_params {
    sum_tiles t;
    const double *parts;
    float *sums;
    double *totals;
} column_sums_finish_params;

/* *sum: of squares of x, by one block: for a lone SQUARE_SUM; those before updates are in update.h.
 */
#define SQUARE_THREADS 1024
typedef struct square_sum_params {
    const float *x;
    int64_t count;
    float *sum;
} square_sum_params;

#endif
