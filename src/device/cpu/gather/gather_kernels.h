/* Conversion of uint8 inputs to floats, and random transforms of images. */
#ifndef DEVICE_CPU_GATHER_GATHER_KERNELS_H
#define DEVICE_CPU_GATHER_GATHER_KERNELS_H

#include "device/rules/random_transform.h"
#include <stdint.h>

/* A number of channel c becomes x * factor[c] + shift[c]. */
typedef struct channel_scales {
    int64_t channels; /* 1 to AUGMENT_CHANNELS_MOST; 1: the same for all numbers */
    float factor[AUGMENT_CHANNELS_MOST], shift[AUGMENT_CHANNELS_MOST];
} channel_scales;

/* One row of a transformed image: its pixel j has the source coordinates start + c * step, c =
   first + j * direction. */
typedef struct gather_row {
    const uint8_t *image;            /* [height][width][channels] */
    int64_t height, width, channels; /* channels: 1 to AUGMENT_CHANNELS_MOST */
    double start[2], step[2];        /* row, column */
    double first, direction;
    fill_mode fill;
    float cval;
    bool brightens; /* by `brightness`, before `scales`; cval must fit a byte */
    float brightness;
    const channel_scales *scales;
    float *x; /* [width][channels], written */
} gather_row;

typedef struct gather_kernels {
    /* Convert bytes and scale them. */
    void (*convert)(const uint8_t *from, float *x, int64_t count, const channel_scales *scales);
    /* Bilinear interpolation between four pixels. */
    void (*interpolate)(const gather_row *r);
    /* Channel shift and brightness of a whole image, in place. */
    void (*transform_values)(const random_transform *transform, float *x, int64_t count);
    /* Scale, subtract the mean and, with `deviation`, divide by deviation + 1e-6; in place. */
    void (*standardize)(float scale, bool deviation, float *x, int64_t count);
    /* Scale in place. */
    void (*scale)(const channel_scales *scales, float *x, int64_t count);
} gather_kernels;

#endif
