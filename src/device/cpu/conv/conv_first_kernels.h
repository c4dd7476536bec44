/* What the convolutions of an image with few channels have in common, and their forward pass.

   Work goes by bands: some output rows of one sample. Of a band's input a packed copy is made, with
   zeros where the padding is, so that the loops over taps know no edges. */
#ifndef DEVICE_CPU_CONV_CONV_FIRST_KERNELS_H
#define DEVICE_CPU_CONV_CONV_FIRST_KERNELS_H

#include "device/cpu/isa.h"
#include <stdbool.h>
#include <stdint.h>

/* [0]: height, [1]: width */
typedef struct first_shape {
    int64_t in[2], channels;
    int64_t out[2], filters;
    int64_t kernel[2], stride[2], before[2];
} first_shape;

/* Floats of a band's packed input for the forward pass, at most `rows` output rows: planes
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
    const int32_t *offset; /* [taps] as `offsets` gives them */
    const float *packed;   /* weights and bias as `pack_weights` gives them */
    const float *band;
    int64_t rows; /* output rows of the band; of pool: rows of the pool's output */
    bool relu;
    float *y; /* the band's output; pool: NULL where it is not wanted */
    /* pool: */
    float *pooled;
    uint8_t *codes; /* like pooled; NULL where they are not wanted */
} first_forward;

typedef struct conv_first_kernels {
    /* Floats of the packed weights. */
    int64_t (*packed_floats)(const first_shape *s);
    /* w [kh][kw][channels][filters], bias [filters] or NULL */
    void (*pack_weights)(const first_shape *s, const float *w, const float *bias, float *packed);
    /* Where each tap's value lies in a band, from that of tap 0 on. */
    void (*offsets)(const first_shape *s, int32_t *offset);
    /* The band of output rows row..row+rows-1 of sample x. */
    void (*pack_band)(const first_shape *s, const float *x, int64_t row, int64_t rows, float *band);
    /* y = x * W + b, or the larger of that and 0 */
    void (*forward)(const first_forward *f);
    /* The same, and its maxima over 2x2 windows side by side. */
    void (*forward_pool)(const first_forward *f);
} conv_first_kernels;

#endif
