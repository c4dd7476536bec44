/* TALLY: what counts in tables of metrics, by the rules of device/rules/tallies.h. A block counts a
   slice of the rows or elements for TALLY_THREADS buckets, each thread for one. */
#ifndef DEVICE_CUDA_KERNELS_TALLY_H
#define DEVICE_CUDA_KERNELS_TALLY_H

#include "device/cuda/plugin/kernels/kernels.h"

#define TALLY_THREADS 256

typedef struct tally_params {
    const float *output, *target; /* [rows][n], [rows][targets] */
    const float *weight;          /* [rows / rows_per_sample], or NULL */
    const float *limits;          /* [limit_count] */
    int64_t n, targets, rows_per_sample, limit_count;
    int64_t per_row, count, slice, slices; /* gpu_tally */
    int64_t buckets, k, column;
    int32_t kind, planes, by_column, whole_weights;
    float reals[3];
    sum2 *table;    /* [planes][buckets] of the results */
    sum2 *partials; /* [slices][planes][buckets]; NULL: of one slice */
} tally_params;

typedef struct tally_reduce_params {
    const sum2 *partials;
    sum2 *table;
    int64_t slices, numbers;
} tally_reduce_params;

#endif
