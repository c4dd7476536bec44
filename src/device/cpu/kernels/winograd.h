/* Winograd's F(m x m, r x r) with m + r = 7, for r = 3 (winograd.c) and r = 5 (winograd_5x5.c): the
   transforms around its 36 matrix products.

   Places are numbered 6 i + j. An array of 36 places holds that of place p at data + p * stride.
   Channels are rounded up to whole vectors; what is added is 0. */
#ifndef DEVICE_CPU_KERNELS_WINOGRAD_H
#define DEVICE_CPU_KERNELS_WINOGRAD_H

#include <stdbool.h>
#include <stdint.h>

enum { WINOGRAD_PLACES = 36 };

/* Which rows i of places to make, as bits: all, or a third whose rows share their arithmetic. Those
   left out take no memory: the rows made are numbered from 0. */
typedef enum winograd_rows {
    WINOGRAD_ALL = 0x3f,
    WINOGRAD_ENDS = 0x21,
    WINOGRAD_A = 0x06,
    WINOGRAD_B = 0x18
} winograd_rows;

/* A batch of images [n][height][width][channels] cut into tiles of m x m pixels for output, or of
   6 x 6 pixels, m apart, for input: the first begins `before` pixels outside of the image. */
typedef struct winograd_image {
    int64_t height, width, channels, before[2];
    int64_t tiles[2];   /* rows and columns of tiles in an image */
    const float *zeros; /* [width][channels], for input */
} winograd_image;

/* Matrices of 36 places. Rows are `row` floats apart. With `panel`, columns stand in panels of that
   many, `panel_stride` floats apart, and rows within one are as far apart as it is wide: the last
   one is narrower where the columns end. */
typedef struct winograd_places {
    float *data;
    int64_t stride, row, panel, panel_stride;
} winograd_places;

typedef struct winograd_kernels {
    int vector; /* channels are rounded up to a multiple of this */
    int step;   /* m */
    /* v[tile][channel] = B' x B for tiles begin to end - 1 of the batch, the first in row 0. */
    void (*input)(const winograd_image *g, winograd_rows rows, const float *x, int64_t begin,
                  int64_t end, const winograd_places *v);
    /* z[tile][channel], in panels, = A dy A'; sums[channel] += dy, where sums is not NULL. */
    void (*gradient)(const winograd_image *g, winograd_rows rows, const float *dy, int64_t begin,
                     int64_t end, const winograd_places *z, float *sums);
    /* y = A' m A + bias, with `relu` at least 0; bias may be NULL. */
    void (*output)(const winograd_image *g, const winograd_places *m, int64_t begin, int64_t end,
                   const float *bias, bool relu, float *y);
    /* u[in][out], in panels, = G w G' of w [r][r][in][out]: rows begin to end - 1. */
    void (*weights)(const float *w, int64_t in, int64_t out, int64_t begin, int64_t end,
                    const winograd_places *u);
    /* u[out][in], in panels, of w turned by 180 degrees: rows begin to end - 1. */
    void (*turned_weights)(const float *w, int64_t in, int64_t out, int64_t begin, int64_t end,
                           const winograd_places *u);
    /* dw[r][r][in][out] = G' (sum of the parts) G: rows begin to end - 1 of `in`. Parts are
       part_stride floats apart and added in their order. */
    void (*weights_gradient)(const winograd_places *parts, int64_t count, int64_t part_stride,
                             int64_t in, int64_t out, int64_t begin, int64_t end, float *dw);
} winograd_kernels;

#endif
