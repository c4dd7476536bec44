/* Sums over rows, and of squares. A block of SUM_THREADS threads has a strip of `width`
   columns (a power of two up to 32) and goes down its range of the rows; the threads of a column
   are added as a tree, the blocks' partial sums in their order. */
#ifndef DEVICE_CUDA_KERNELS_SUMS_H
#define DEVICE_CUDA_KERNELS_SUMS_H

#include "device/cuda/plugin/kernels/kernels.h"

#define SUM_THREADS 256

/* The blocking of rows and columns; blocks: x strips of columns, y ranges of rows. */
typedef struct sum_strips {
    int64_t rows, columns;
    int64_t block_rows; /* rows per block */
    int32_t width;
} sum_strips;

/* partials[blockIdx.y][column], or `sums` directly if there is only one partial sum */
typedef struct column_sums_params {
    sum_strips t;
    const float *x; /* [rows][columns] */
    sum2 *partials; /* [gridDim.y][columns] */
    float *sums;    /* [columns]; NULL: partials are written */
} column_sums_params;

/* t.rows partial sums become one: as floats (sums), or, where sums is NULL, as they are. */
typedef struct column_sums_reduce_params {
    sum_strips t;
    const sum2 *partials;
    float *sums;
    sum2 *totals;
} column_sums_reduce_params;

/* *sum: of squares of x, by one block: for a lone SQUARE_SUM; those before updates are in update.h.
 */
#define SQUARE_THREADS 1024
typedef struct square_sum_params {
    const float *x;
    const float *w; /* NULL, or the weight whose penalty's slopes are part of x */
    float penalty_l1, penalty_l2;
    int64_t count;
    float *sum;
} square_sum_params;

/* PENALTY: l1 |w| + l2 w^2, summed by blocks of SUM_THREADS, each a piece of w; then one block adds
   the partial sums to the step's loss. */
typedef struct penalty_params {
    const float *w;
    int64_t count, piece;
    float l1, l2;
    sum2 *partials; /* [gridDim.x] */
} penalty_params;
typedef struct penalty_reduce_params {
    const sum2 *partials;
    int64_t count, batch;
    cuda_results *results;
} penalty_reduce_params;

/* CONSTRAIN: a thread has a norm; w is [outer][along][inner], and norms are over the middle. */
typedef struct constrain_params {
    float *w;
    int64_t norms, along, inner;
    int64_t rows, columns; /* of a convolution's kernel, which is stored by output channel:
                              [columns] [rows]; else columns is 1 */
    int32_t non_neg;
    float least, most, rate;
} constrain_params;

#endif
