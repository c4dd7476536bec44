/* The gradient of the weights and bias of a convolution of an image with few channels.

   Work goes by bands as in conv_first_kernels.h, packed here as [input row][column][channel] with
   zeros where the padding is; with a pool, four neighbours that one window can choose from stand
   together. */
#ifndef DEVICE_CPU_CONV_CONV_FIRST_GRADIENT_KERNELS_H
#define DEVICE_CPU_CONV_CONV_FIRST_GRADIENT_KERNELS_H

#include "device/cpu/conv/conv_first_kernels.h"

/* Floats of a row of the packed band. */
static inline int64_t first_gradient_row(const first_shape *s)
{
    return ((s->out[1] - 1) * s->stride[1] + s->kernel[1]) * s->channels;
}

/* Floats of a band of at most `rows` output rows; with a pool, of as many rows of windows. */
static inline int64_t first_gradient_floats(const first_shape *s, int64_t rows)
{
    return first_band_rows(s, rows) * first_gradient_row(s);
}

static inline int64_t first_pool_gradient_floats(const first_shape *s, int64_t rows)
{
    return (2 * rows + s->kernel[0] - 2) * 4 * first_gradient_row(s);
}

typedef struct first_gradient {
    const first_shape *s;
    const float *band;
    int64_t rows;         /* output rows of the band; with codes: rows of windows */
    const float *dy;      /* the band's gradient; with codes: of the pool's output */
    const float *y;       /* dy counts where this, the output, is above 0; NULL: everywhere */
    const uint8_t *codes; /* where in each window its dy goes (pool_2x2_kernels.h) */
    float *sums;          /* added to: [taps + 1][filters], of the weights and then of the bias */
} first_gradient;

typedef struct conv_first_gradient_kernels {
    /* The band of output rows row..row+rows-1 of sample x. */
    void (*pack_band)(const first_shape *s, const float *x, int64_t row, int64_t rows, float *band);
    void (*add)(const first_gradient *g);
    /* The same for `rows` rows of windows from the `row`th on, stride 1. */
    void (*pack_pool_band)(const first_shape *s, const float *x, int64_t row, int64_t rows,
                           float *band);
    void (*add_pool)(const first_gradient *g);
    int pool_products; /* multiply-adds of add_pool a window and tap: 1, or 4 without shuffles */
} conv_first_gradient_kernels;

#endif
