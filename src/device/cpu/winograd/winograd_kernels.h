/* The transforms of Winograd's F(m x m, r x r), m = 4 and r = 3 (winograd_3x3_kernels.c) or r = 5
   (winograd_5x5_kernels.c): m x m outputs of an r x r convolution by size x size multiplications,
   one at each transform-domain position, size = m + r - 1 (Lavin and Gray, "Fast algorithms for
   convolutional neural networks", 2016).

     forward   x tile, size x size --B' x B--> v   [position][tile][in]
               w, r x r            --G w G'--> u   [position][in][out]
               v u, a product a position, --A' (v u) A--> y tile, m x m
     dw        dy tile, m x m      --A dy A'-> z   [position][tile][out]
               v' z, a product a position, --G' (v' z) G--> dw, r x r
     dx        as a forward pass of dy with the weights rotated by 180 degrees; or, where dw needs z
   anyway, as the transposed forward pass: z u', a product per position, and the sum of all tiles' B
   (z u') B', which overlap by r - 1 pixels

      0   1   2   3   4   5        Positions are numbered size * i + j, here with size 6. Rows of
      6   7   8   9  10  11        them come in pairs that share their arithmetic: the first and the
     12  13  14  15  16  17        last are pair 0, the second and third pair 1, and so on.
     ...

   Channels are rounded up to whole vectors; the padding is 0. */
#ifndef DEVICE_CPU_WINOGRAD_WINOGRAD_KERNELS_H
#define DEVICE_CPU_WINOGRAD_WINOGRAD_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum { WINOGRAD_STEP = 4 }; /* m */

/* Only one pair of rows of positions may be computed, or all. Omitted rows take no memory: the
   computed rows are numbered from 0. */
enum { WINOGRAD_ALL = -1 };

static inline int winograd_pair_of(int row, int size)
{
    return row == size - 1 ? 0 : (row + 1) / 2;
}

/* A batch of images [n][height][width][channels] as tiles: of m x m pixels for output, or of size x
   size pixels, m apart, for input; the first input tile begins `before` pixels outside of the
   image. */
typedef struct winograd_image {
    int64_t height, width, channels, before[2];
    int64_t tiles[2];   /* rows and columns of tiles in an image */
    const float *zeros; /* [width][channels], for input */
} winograd_image;

/* The gradient of y, [n][height][width][channels]. With `codes` it is the gradient through a 2x2
   max-pool: dy and codes are [n][height / 2][width / 2][channels], each dy goes to the pixel of its
   code (pool/pool_kernels.h), and all other gradients are 0. */
typedef struct winograd_gradient {
    const float *dy;
    const uint8_t *codes;
} winograd_gradient;

/* The output y, with the bias (NULL: none) and, with `relu`, at least 0. With `pooled`, the maxima
   over 2x2 windows and, unless NULL, their codes are also written, and y only if it is not NULL. */
typedef struct winograd_output {
    const float *bias;
    bool relu;
    float *y, *pooled;
    uint8_t *codes;
} winograd_output;

/* Matrices: that of position p is at data + p * stride; rows are `row` floats apart. */
typedef struct winograd_positions {
    float *data;
    int64_t stride, row;
} winograd_positions;

typedef struct winograd_kernels {
    int vector; /* channels are rounded up to a multiple of this */
    int size;   /* m + r - 1 */
    /* v[tile][channel] = B' x B for tiles begin to end - 1 of the batch, the first in row 0. */
    void (*input)(const winograd_image *g, int pair, const float *x, int64_t begin, int64_t end,
                  const winograd_positions *v);
    /* z[tile][channel] = A dy A'; sums[channel] += dy (of all pairs, or with pair 0), where sums is
       not NULL. */
    void (*gradient)(const winograd_image *g, int pair, const winograd_gradient *dy, int64_t begin,
                     int64_t end, const winograd_positions *z, float *sums);
    /* y = A' m A + bias */
    void (*output)(const winograd_image *g, const winograd_positions *m, int64_t begin, int64_t end,
                   const winograd_output *to);
    /* dx = the sum of B m B', whose first pixels are those of input's tiles. The tiles of an image
       must come in order, in any number of calls. */
    void (*input_gradient)(const winograd_image *g, const winograd_positions *m, int64_t begin,
                           int64_t end, float *dx);
    /* u[in][out] = G w G' of w [r][r][in][out]: rows begin to end - 1. */
    void (*weights)(const float *w, int64_t in, int64_t out, int64_t begin, int64_t end,
                    const winograd_positions *u);
    /* The same as u[out][in]; with `rotated` of w rotated by 180 degrees. */
    void (*transposed_weights)(const float *w, int64_t in, int64_t out, bool rotated, int64_t begin,
                               int64_t end, const winograd_positions *u);
    /* dw[r][r][in][out] = G' (sum of `count` partial sums) G: rows begin to end - 1 of `in`.
       Partial sums are partial_stride floats apart and added in their order. */
    void (*weights_gradient)(const winograd_positions *partials, int64_t count,
                             int64_t partial_stride, int64_t in, int64_t out, int64_t begin,
                             int64_t end, float *dw);
} winograd_kernels;

#endif
