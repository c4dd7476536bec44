/* Gathers samples into the network's input, scaled and randomly transformed if requested, and
   their targets. Blocks: x counts pieces of a sample, plus one for its target if it has one; y
   counts samples. */
#ifndef DEVICE_CUDA_KERNELS_GATHER_H
#define DEVICE_CUDA_KERNELS_GATHER_H

#include "device/cuda/plugin/kernels/kernels.h"
#include "step/augment.h"

#define GATHER_THREADS 256
#define GATHER_PIECE 2048 /* elements of a sample that a block takes */
#define GATHER_PIXELS \
    1024 /* pixels that a block takes, about, where each is transformed by itself */

typedef struct gather_params {
    cuda_clock clock;
    float *x;                           /* [batch][count] */
    float *t;                           /* [batch][target_count], or NULL */
    float *weight;                      /* [batch], or NULL; with t */
    int64_t batch, count, target_count; /* count, target_count: numbers per sample */
    int64_t columns;                    /* columns of the target: classes, or 1 */
} gather_params;

/* For randomly transformed or standardized samples. cornu_gather_augmented: each pixel is
   independent. cornu_gather_whole has one block per sample: for pixels that depend on the
   others. */
typedef struct gather_augmented_params {
    gather_params gather;
    augmentation augment;
    standardization standardize;
    int32_t augments, padding; /* augments: 0 where `augment` asks for nothing */
} gather_augmented_params;
typedef gather_augmented_params gather_augmented_params, gather_whole_params;

#endif
