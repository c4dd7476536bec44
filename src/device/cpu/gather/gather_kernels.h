/* Samples of bytes to floats, and images changed at random. */
#ifndef DEVICE_CPU_GATHER_GATHER_KERNELS_H
#define DEVICE_CPU_GATHER_GATHER_KERNELS_H

#include "device/random_transform.h"

/* What a number of channel c becomes: x * factor[c] + shift[c]. */
typedef struct gather_finish {
    int64_t channels; /* 1 to AUGMENT_CHANNELS_MOST; 1: all numbers alike */
    float factor[AUGMENT_CHANNELS_MOST], shift[AUGMENT_CHANNELS_MOST];
} gather_finish;

/* One row of a changed image: element j of the row comes from the place
   (row + c * row_step, column + c * column_step) of the image, c = first + j * way. */
typedef struct gather_row {
    const uint8_t *image;            /* [height][width][channels] */
    int64_t height, width, channels; /* channels: 1 to AUGMENT_CHANNELS_MOST */
    double row, column, row_step, column_step, first, way;
    fill_mode fill;
    float cval;
    bool brightens; /* by `brightness`, before `finish`; cval must be a byte's */
    float brightness;
    const gather_finish *finish;
    float *x; /* [width][channels], written */
} gather_row;

typedef struct gather_kernels {
    /* Finish bytes. */
    void (*convert)(const uint8_t *from, float *x, int64_t count, const gather_finish *finish);
    /* Between four pixels by bilinear interpolation. */
    void (*interpolate)(const gather_row *r);
    /* Channel shift and brightness of a whole image, in place. */
    void (*transform_values)(const random_transform *change, float *x, int64_t count);
    /* Scaled, then less its mean and, with `deviation`, over its deviation + 1e-6; in place. */
    void (*standardize)(float scale, bool deviation, float *x, int64_t count);
    /* In place. */
    void (*finish)(const gather_finish *finish, float *x, int64_t count);
} gather_kernels;

#endif
