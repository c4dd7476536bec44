/* Microkernels of RESAMPLE: sums of weighted rows, and pixels between others. */
#ifndef DEVICE_CPU_ELEMENTWISE_RESAMPLE_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_RESAMPLE_KERNELS_H

#include "device/resample.h"

/* A pixel of so many channels is a vector of four floats. */
enum { RESAMPLE_PIXEL = 4 };

/* A row of pixels that come from any rows and columns of an image of at most RESAMPLE_PIXEL
   channels. Column j's coordinates are (across[j] + along) + shift, of rows [0] and columns [1]:
   the products with the map's numbers are ready, as the compiler could fuse them with the sums,
   and a half would be rounded to another pixel than elsewhere. */
typedef struct resample_line {
    const float *image; /* [height][width][channels] */
    int64_t height, width, channels;
    const float *across[2]; /* [count], readable in whole vectors from each multiple of 64 on */
    float along[2], shift[2];
    const resampling *how;
    float *y; /* [count][channels] */
    int64_t count;
} resample_line;

typedef struct resample_kernels {
    /* y[line][count] = start + the sum of weight x[term's line][count] over the line's terms, for
       lines `begin` to end - 1 of the table; y: of line `begin`. */
    void (*sums)(const resample_table *t, int64_t begin, int64_t end, const float *x, float *y,
                 int64_t count);
    /* The same of lines 0 to count - 1 with at most RESAMPLE_PIXEL elements. Three floats after x
       are readable. */
    void (*pixel_sums)(const resample_table *t, int64_t count, const float *x, float *y,
                       int64_t channels);
    void (*pixels)(const resample_line *line);
} resample_kernels;

#endif
