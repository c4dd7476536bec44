/* Max pooling by 2x2 windows that lie side by side, a row of windows at a time. */
#ifndef DEVICE_CPU_KERNELS_POOL_H
#define DEVICE_CPU_KERNELS_POOL_H

#include <stdint.h>

/* A row of windows over channels-last images: `top` and `bottom` [2 * windows][channels] are the
   two rows that the windows cover, the others [windows][channels]. */
typedef struct pool_row {
    const float *top, *bottom;
    const float *y, *dy;   /* backward: the maxima and their gradients */
    float *dtop, *dbottom; /* backward: written */
    float *out;            /* forward: the maxima, written */
    int64_t windows, channels;
    float slope; /* backward: dy is multiplied by this where y > 0 does not hold */
} pool_row;

typedef struct pool_kernels {
    /* A NaN in a window gives NaN. */
    void (*forward)(const pool_row *r);
    /* dy goes to the first of (top left, top right, bottom left, bottom right) that equals y. */
    void (*backward)(const pool_row *r);
} pool_kernels;

#endif
