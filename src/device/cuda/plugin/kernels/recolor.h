/* RECOLOR: pixels' channels by random numbers (device/rules/recoloring.h). */
#ifndef DEVICE_CUDA_KERNELS_RECOLOR_H
#define DEVICE_CUDA_KERNELS_RECOLOR_H

#include "device/cuda/plugin/kernels/kernels.h"
#include "model/drawing.h"

#define RECOLOR_THREADS 256

/* A thread has pixels. */
typedef struct recolor_params {
    const float *x, *drawn, *dy;
    float *y; /* dx */
    int64_t pixels, channels, pixels_of_sample, numbers;
    recoloring how;
} recolor_params;
typedef recolor_params recolor_forward_params, recolor_backward_params;

#endif
