/* Samples of bytes to floats. */
#ifndef DEVICE_CPU_KERNELS_GATHER_H
#define DEVICE_CPU_KERNELS_GATHER_H

#include <stdint.h>

enum { GATHER_CHANNELS_MOST = 4 };

/* One row of a changed image: element j of the row comes from the place (row + j * row_step,
   column + j * column_step) of the image, cut to its border. */
typedef struct gather_row {
    const uint8_t *image;            /* [height][width][channels] */
    int64_t room;                    /* bytes that may be read from `image` on */
    int64_t height, width, channels; /* channels: 1 to GATHER_CHANNELS_MOST */
    double row, column, row_step, column_step;
    float scale;
    float *x; /* [width][channels], written */
} gather_row;

typedef struct gather_kernels {
    /* x[i] = from[i] * scale */
    void (*convert)(const uint8_t *from, float *x, int64_t count, float scale);
    /* Between four pixels by bilinear interpolation. */
    void (*interpolate)(const gather_row *r);
} gather_kernels;

#endif
