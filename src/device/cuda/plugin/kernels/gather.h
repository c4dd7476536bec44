/* Samples into the network's input: scaled, changed at random where asked for, and their targets.
   Blocks: x counts pieces of a sample, and one for its target where there is one; y counts samples.
 */
#ifndef DEVICE_CUDA_KERNELS_GATHER_H
#define DEVICE_CUDA_KERNELS_GATHER_H

#include "device/cuda/plugin/kernels/kernels.h"

#define GATHER_THREADS 256
#define GATHER_PIECE 2048  /* elements of a sample that a block takes */
#define GATHER_PIXELS 1024 /* pixels that a block takes, about, where samples are changed */

typedef struct gather_params {
    gpu_clock clock;
    float *x;                           /* [batch][count] */
    float *t;                           /* [batch][target_count], or NULL */
    int64_t batch, count, target_count; /* of one sample */
    int64_t columns;                    /* of the target: classes, or 1 */
} gather_params;

/* ImageDataGenerator's ranges (struct augmentation). */
typedef struct gather_augmented_params {
    gather_params gather;
    float rotation_range, shear_range, zoom_range, width_shift_range, height_shift_range;
    int32_t horizontal_flip, vertical_flip;
} gather_augmented_params;

#endif
