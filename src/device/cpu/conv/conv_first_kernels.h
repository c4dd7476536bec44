/* Microkernels of the convolution of an image with few channels: its shape, the forward pass, and
   the gradient of weights and bias. */
#ifndef DEVICE_CPU_CONV_CONV_FIRST_KERNELS_H
#define DEVICE_CPU_CONV_CONV_FIRST_KERNELS_H

#include "device/cpu/isa.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- forward ----------------------------------------------------------------------------- */

/* The shape of convolutions of an image with few channels, and their forward pass.

   Work is done in bands: some output rows of one sample. A band's input is packed with zeros for
   the padding, so that the loops over taps need no edge cases. */

/* [0]: height, [1]: width */
typedef struct first_shape {
    int64_t in[2], channels;
    int64_t out[2], filters;
    int64_t kernel[2], stride[2], before[2];
} first_shape;

/* Floats of a band's packed input for the forward pass, for at most `rows` output rows: planes
   [input row][channel][column modulo stride][column / stride]. */
static inline int64_t first_plane(const first_shape *s)
{
    return s->out[1] + (s->kernel[1] - 1) / s->stride[1];
}

static inline int64_t first_band_rows(const first_shape *s, int64_t rows)
{
    return (rows - 1) * s->stride[0] + s->kernel[0];
}

static inline int64_t first_band_row(const first_shape *s)
{
    return s->channels * s->stride[1] * first_plane(s);
}

static inline int64_t first_band_floats(const first_shape *s, int64_t rows)
{
    return first_band_rows(s, rows) * first_band_row(s);
}

static inline int64_t first_taps(const first_shape *s)
{
    return s->kernel[0] * s->kernel[1] * s->channels;
}

typedef struct first_forward {
    const first_shape *s;
    const int32_t *offset; /* [taps] from `offsets` */
    const float *packed;   /* weights and bias from `pack_weights` */
    const float *band;
    int64_t rows; /* output rows of the band; with a pool: rows of the pool's output */
    bool relu;
    float *y; /* the band's output; with a pool: NULL where it is not needed */
    /* with a pool: */
    float *pooled;
    uint8_t *codes; /* shape as pooled; NULL where not needed */
} first_forward;

typedef struct conv_first_kernels {
    /* Floats of the packed weights. */
    int64_t (*packed_floats)(const first_shape *s);
    /* w [kh][kw][channels][filters], bias [filters] or NULL */
    void (*pack_weights)(const first_shape *s, const float *w, const float *bias, float *packed);
    /* The offset of each tap's value in a band, relative to tap 0's. */
    void (*offsets)(const first_shape *s, int32_t *offset);
    /* Pack the band of output rows row..row+rows-1 of sample x. */
    void (*pack_band)(const first_shape *s, const float *x, int64_t row, int64_t rows, float *band);
    /* y = x * W + b, or the maximum of that and 0 */
    void (*forward)(const first_forward *f);
    /* The same, with its maxima over non-overlapping 2x2 windows. */
    void (*forward_pool)(const first_forward *f);
} conv_first_kernels;

/* ---- gradient ---------------------------------------------------------------------------- */

/* The gradient of the weights and bias of a convolution of an image with few channels.

   Work is done in bands as in the forward pass, packed here as [input row][column][channel]
   with zeros for the padding; with a pool, the four neighbours that one window chooses from are
   adjacent. */

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
    const uint8_t *codes; /* the pixel of each window that gets its dy (pool/pool_kernels.h) */
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
