/* The gradient of the weights and bias of a convolution of an image with few channels.

   Work is done in bands as in conv_first_kernels.h, packed here as [input row][column][channel]
   with zeros for the padding; with a pool, the four neighbours that one window chooses from are
   adjacent. */
#ifndef DEVICE_CPU_CONV_CONV_FIRST_GRADIENT_KERNELS_H
#define DEVICE_CPU_CONV_CONV_FIRST_GRADIENT_KERNELS_H

#include "device/cpu/conv/conv_first_kernels.h"

/* Floats per row of the packed band. */
static inline int64_t first_gradient_row(const first_shape *s)
{
    return ((s->out[1] - 1) * s->stride[1] + s->kernel[1]) * s->channels;
}

/* Floats of a band of at most `rows` output rows; with a pool, of at most `rows` rows of
   windows. */
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
    const float *dy;      /* the band's gradient; with codes: the pool output's gradient */
    const float *y;       /* dy counts where the output y is above 0; NULL: everywhere */
    const uint8_t *codes; /* the pixel of each window that gets its dy (pool_2x2_kernels.h) */
    float *sums;          /* accumulated: [taps + 1][filters], for the weights and then the bias */
} first_gradient;

typedef struct conv_first_gradient_kernels {
    /* Pack the band of output rows row..row+rows-1 of sample x. */
    void (*pack_band)(const first_shape *s, const float *x, int64_t row, int64_t rows, float *band);
    void (*add)(const first_gradient *g);
    /* The same for `rows` rows of windows from window row `row` on, stride 1. */
    void (*pack_pool_band)(const first_shape *s, const float *x, int64_t row, int64_t rows,
                           float *band);
    void (*add_pool)(const first_gradient *g);
    int pool_products; /* multiply-adds of add_pool per window and tap: 1, or 4 without shuffles */
} conv_first_gradient_kernels;

#endif
