/* Microkernel of convolutions with few filters, whose shape is a first_shape. */
#ifndef DEVICE_CPU_CONV_CONV_LAST_KERNELS_H
#define DEVICE_CPU_CONV_CONV_LAST_KERNELS_H

#include "device/cpu/conv/conv_first_kernels.h"

enum { LAST_FILTERS_MOST = 4 };

typedef struct last_forward {
    const first_shape *s;
    const float *packed; /* weights from `pack_weights` */
    const float *bias;   /* [filters] or NULL */
    const float *band;   /* packed by conv_first_gradient_kernels' `pack_band` */
    int64_t rows;        /* output rows of the band */
    float *y;            /* [rows][out[1]][filters] */
} last_forward;

typedef struct conv_last_kernels {
    /* Floats of the packed weights. */
    int64_t (*packed_floats)(const first_shape *s);
    /* w [kh][kw][channels][filters] */
    void (*pack_weights)(const first_shape *s, const float *w, float *packed);
    void (*forward)(const last_forward *f);
} conv_last_kernels;

#endif
