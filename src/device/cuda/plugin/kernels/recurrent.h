/* Recurrent layers (device/recurrent.h). */
#ifndef DEVICE_CUDA_PLUGIN_KERNELS_RECURRENT_H
#define DEVICE_CUDA_PLUGIN_KERNELS_RECURRENT_H

#include <stdint.h>

#define RECURRENT_THREADS 256

#define RECURRENT_SIZES                                                 \
    int64_t batch, steps, n; /* n: units */                             \
    int32_t cell, gates, kept, products, from_last, to_last, act, gate; \
    float act_alpha, gate_alpha

typedef struct recurrent_forward_params {
    const float *z, *u, *bias; /* bias: may be NULL */
    const float *h0, *c0;      /* [batch][n]; NULL: 0 */
    float *h, *saved, *last;   /* last: c after the last step, [batch][n], or NULL */
    RECURRENT_SIZES;
} recurrent_forward_params;

typedef struct recurrent_backward_params {
    const float *u, *h, *saved, *dh; /* dh: NULL: 0 */
    const float *h0, *c0, *dc;       /* [batch][n]; NULL: 0; dc: of c after the last step */
    float *dz, *dr, *left; /* dr, left: NULL where not wanted; left: what u is multiplied by */
    float *dh0, *dc0;      /* [batch][n]; NULL where not wanted */
    float *carries;        /* [batch][2][n] */
    RECURRENT_SIZES;
} recurrent_backward_params;

#endif
