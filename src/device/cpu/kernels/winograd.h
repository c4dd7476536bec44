/* Winograd's F(m x m, r x r) for m = 4 and r = 3 (winograd.c) or r = 5 (winograd_5x5.c): the
   transforms around its size x size matrix products, size = m + r - 1.

   Places are numbered size * i + j. An array of places holds that of place p at data + p * stride.
   Channels are rounded up to whole vectors; what is added is 0. */
#ifndef DEVICE_CPU_KERNELS_WINOGRAD_H
#define DEVICE_CPU_KERNELS_WINOGRAD_H

#include <stdbool.h>
#include <stdint.h>

enum { WINOGRAD_STEP = 4 }; /* m */

/* Rows of places come in pairs that share their arithmetic: 0 and the last are pair 0, 1 and 2 pair
   1, and so on. One alone may be made, or all. Those left out take no memory: the rows made are
   numbered from 0. */
enum { WINOGRAD_ALL = -1 };

static inline int winograd_pair_of(int row, int size)
{
    return row == size - 1 ? 0 : (row + 1) / 2;
}

/* A batch of images [n][height][width][channels] cut into tiles of m x m pixels for output, or of
   size x size pixels, m apart, for input: the first begins `before` pixels outside of the image. */
typedef struct winograd_image {
    int64_t height, width, channels, before[2];
    int64_t tiles[2];   /* rows and columns of tiles in an image */
    const float *zeros; /* [width][channels], for input */
} winograd_image;

/* [n][height][width][channels]. With `codes`, what a 2x2 max-pool gives back: x and codes are
   [n][height / 2][width / 2][channels], each x goes where its code (pool.h) says, all else is 0. */
typedef struct winograd_pixels {
    const float *x;
    const uint8_t *codes;
} winograd_pixels;

/* Where y goes, with the bias (NULL: none) and, with `relu`, at least 0. With `pooled`, also its
   maxima over 2x2 windows go there and their codes where those are wanted (else NULL), and y only
   where it is. */
typedef struct winograd_output {
    const float *bias;
    bool relu;
    float *y, *pooled;
    uint8_t *codes;
} winograd_output;

/* Matrices, one a place. Rows are `row` floats apart. With `panel`, columns stand in panels of that
   many, `panel_stride` floats apart, and rows within one are as far apart as it is wide: the last
   one is narrower where the columns end. */
typedef struct winograd_places {
    float *data;
    int64_t stride, row, panel, panel_stride;
} winograd_places;

typedef struct winograd_kernels {
    int vector; /* channels are rounded up to a multiple of this */
    int size;   /* m + r - 1 */
    /* v[tile][channel] = B' x B for tiles begin to end - 1 of the batch, the first in row 0. */
    void (*input)(const winograd_image *g, int pair, const winograd_pixels *x, int64_t begin,
                  int64_t end, const winograd_places *v);
    /* z[tile][channel], in panels, = A dy A'; sums[channel] += dy, where sums is not NULL. */
    void (*gradient)(const winograd_image *g, int pair, const winograd_pixels *dy, int64_t begin,
                     int64_t end, const winograd_places *z, float *sums);
    /* y = A' m A + bias */
    void (*output)(const winograd_image *g, const winograd_places *m, int64_t begin, int64_t end,
                   const winograd_output *to);
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
