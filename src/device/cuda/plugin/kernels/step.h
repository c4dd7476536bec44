/* The end of a step, and probes of what a device can do. */
#ifndef DEVICE_CUDA_KERNELS_STEP_H
#define DEVICE_CUDA_KERNELS_STEP_H

#include "device/cuda/plugin/kernels/kernels.h"

/* One thread: adds 1 to *position, and updates the counts in the results. */
typedef struct end_step_params {
    int64_t *position;
    cuda_results *results;
    int64_t batch;
    int32_t has_loss; /* last_loss is this step's: see whether it is finite */
} end_step_params;

/* Nothing: what a launch costs. */
typedef struct empty_params {
    int32_t unused;
} empty_params;

/* Multiply-adds in registers: 2 * PROBE_CHAINS * PROBE_UNROLL * rounds FLOPs a thread. */
#define PROBE_CHAINS 8
#define PROBE_UNROLL 8
typedef struct probe_fma_params {
    float *out; /* [1], written only if the sum is `never` */
    int64_t rounds;
    float scale, offset, never;
} probe_fma_params;

/* x[i] = x[i] scale in place: moves 8 bytes per element. count: a multiple of 4. To read data
   from the last-level cache, use several launches in a row. */
typedef struct probe_copy_params {
    float *x;
    int64_t count;
    float scale;
} probe_copy_params;

#endif
