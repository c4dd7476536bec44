/* Declarations shared by the host and cornu's kernels. Every kernel has one struct parameter,
   NAME_params, passed by value, and is called cornu_NAME; kernels.def lists them. Included by C
   and by CUDA C++.

   Tensors are 32-bit floats, NHWC; the layout of a convolution's kernel on the device is
   [out][kh][kw][in / groups]. No kernel uses floating-point atomics: the order of each sum
   depends only on the sizes, so the same inputs give the same bits. */
#ifndef DEVICE_CUDA_KERNELS_H
#define DEVICE_CUDA_KERNELS_H

#include "device/rules/optimizer_constants.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values that change from one step to the next. Steps are queued: entry [*position %
   CUDA_QUEUE] belongs to the running step; the launch of the loss, or else the step's last
   kernel, adds 1 to *position. */
#define CUDA_QUEUE 64
typedef struct cuda_step {
    const void *x, *y;     /* address of the samples: the resident data set, or the staged batch */
    const float *weight;   /* weights of the samples; NULL: 1 each */
    const int64_t *index;  /* [batch] rows of x and y */
    const int64_t *sample; /* [batch] the samples' own numbers: key of augmentation */
    uint64_t seed;
    int64_t iteration, epoch;
    int64_t first; /* the first sample's place in the whole batch, of which this may be a shard */
    float learning_rate;
    optimizer_factors factors;
    /* The form of the samples, which may change between steps while the graph stays the same. */
    float x_scale;    /* the network sees x * x_scale */
    int32_t x_bytes;  /* 1: x holds bytes (uint8_t), 0: floats */
    int32_t y_labels; /* 1: y holds class numbers (int32_t), 0: floats */
    int32_t padding;
    int64_t height, width, channels; /* size of its images (x_shape); only read for augmentation */
} cuda_step;

/* Sums since the last reset: step_results as the device keeps it. */
typedef struct cuda_results {
    int64_t samples;
    double loss;
    double metrics[64];
    double last_loss;
    int32_t not_finite, padding;
} cuda_results;

/* A number of twice a float's digits: x + y (device/rules/sum2.h). A GeForce has one unit for
   doubles for 32 for floats; hot kernels use these. */
typedef struct __attribute__((aligned(8))) sum2 {
    float x, y;
} sum2;

/* First member of the params of kernels that need to know which step runs. */
typedef struct cuda_clock {
    const cuda_step *steps; /* [CUDA_QUEUE] */
    const int64_t *position;
    int64_t back; /* 1 for a kernel that runs after the one that counts the step; else 0 */
} cuda_clock;

#ifdef __cplusplus
}
#endif

/* ---- the end of a step, and probes ------------------------------------------------------- */

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
