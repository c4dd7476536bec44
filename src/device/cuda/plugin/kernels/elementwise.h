/* Operations on single elements or single rows. */
#ifndef DEVICE_CUDA_KERNELS_ELEMENTWISE_H
#define DEVICE_CUDA_KERNELS_ELEMENTWISE_H

#include "device/cuda/plugin/kernels/kernels.h"
#include "model/kinds.h"

#define ELEMENT_THREADS 256

typedef struct activation_forward_params {
    const float *x;
    float *y; /* may be x */
    int64_t count;
    int32_t kind; /* not of rows */
    float alpha;
} activation_forward_params;

typedef struct activation_backward_params {
    const float *x_or_y, *dy;
    float *dx; /* may be dy */
    int64_t count;
    int32_t kind; /* not of rows */
    float alpha;
} activation_backward_params;

/* y[r][c] = act(x[r][c] + bias[c]) */
typedef struct bias_activation_params {
    const float *x, *bias; /* bias [columns] */
    float *y;              /* may be x */
    int64_t count, columns;
    int32_t kind; /* not of rows */
    float alpha;
} bias_activation_params;

/* Rows of n elements, each by `lanes` threads side by side (a power of two up to 32). */
typedef struct row_activation_params {
    const float *x_or_y, *dy; /* y and dy of the backward pass */
    float *result;            /* y or dx */
    int64_t rows, n;
    int32_t lanes, kind;
} row_activation_params;
typedef row_activation_params row_activation_forward_params;
typedef row_activation_params row_activation_backward_params;

/* y = x scale + offset */
typedef struct scale_params {
    const float *x;
    float *y;
    int64_t count;
    float scale, offset;
} scale_params;

/* y = a + b */
typedef struct add_params {
    const float *a, *b;
    float *y; /* may be a or b */
    int64_t count;
} add_params;

/* Four elements of one Philox block at a time. The backward pass also applies the derivative of
   an activation before the dropout. */
typedef struct dropout_params {
    cuda_clock clock;
    const float *x;
    float *y;
    int64_t count, per_sample;
    float rate;
    uint32_t stream;
    const float *x_or_y; /* input of the activation's derivative; NULL: no activation */
    int32_t activation;  /* activation_kind */
    float alpha;
} dropout_params;

/* PAD copies the inner image into the outer and clears the rest; CROP copies the inner image out of
   the outer. Channels are taken in `packs` of `pack` floats, 4 or 1. */
typedef struct pad_params {
    const float *from;
    float *to;
    int64_t batch, outer_h, outer_w, inner_h, inner_w, packs;
    int64_t top, left;
    int32_t pack;
} pad_params;
typedef pad_params crop_params;

/* Runs of a slice and of the whole that contains it (device/slices.h); sizes in packs of `pack`
   floats, 4 or 1, of which `packs` are copied or, by spread, written. */
typedef struct slice_params {
    const float *from;
    float *to;
    int64_t packs, runs, floats, outer, first, step;
    int32_t pack;
} slice_params;
typedef slice_params insert_params;
typedef slice_params spread_params; /* with zeros between the runs */

/* y[i] = bfloat16 of x[i], to nearest even */
typedef struct cast_bf16_params {
    const float *x;
    uint16_t *y;
    int64_t count;
} cast_bf16_params;

#endif
