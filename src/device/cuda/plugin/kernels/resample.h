/* DRAW and RESAMPLE: random numbers of samples, and images whose pixels come from where a map of
   pixels says (device/rules/resampling.h). */
#ifndef DEVICE_CUDA_KERNELS_RESAMPLE_H
#define DEVICE_CUDA_KERNELS_RESAMPLE_H

#include "device/cuda/plugin/kernels/kernels.h"
#include "model/drawing.h"

#define RESAMPLE_THREADS 256

/* A thread has a sample, or blocks of DRAW_TOGETHER normal numbers. */
typedef struct draw_params {
    cuda_clock clock;
    float *y;
    int64_t batch, numbers;
    drawing how;
    uint32_t stream;
} draw_params;
typedef draw_params draw_normals_params;

/* Forward a thread has pixels of y; backward the channels of a sample's dx, whose sums are so
   always in one order. */
typedef struct resample_params {
    const float *x, *map; /* backward: dy, map */
    float *y;             /* dx */
    int64_t batch, height, width, out_height, out_width, channels;
    int64_t map_step; /* floats from a sample's map to the next one's: 0 where all have one */
    resampling how;
} resample_params;
typedef resample_params resample_forward_params, resample_backward_params;

#endif
