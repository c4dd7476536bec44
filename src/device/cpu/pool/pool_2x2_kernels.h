/* Max pooling by 2x2 windows that lie side by side, a row of windows at a time. */
#ifndef DEVICE_CPU_POOL_POOL_2X2_KERNELS_H
#define DEVICE_CPU_POOL_POOL_2X2_KERNELS_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* What a pool fused with the convolution before it remembers of a window and channel, its code: the
   position 0 to 3 of the largest element, row by row, or that no gradient goes back. */
enum { POOL_NOWHERE = 4 };

/* The least maximum that has a gradient: behind a relu the least number above 0, as denormal ones
   count as 0. */
static inline float pool_lowest(bool relu)
{
    return relu ? FLT_MIN : -INFINITY;
}

/* A row of windows over channels-last images: `top` and `bottom` [2 * windows][channels] are the
   two rows of the windows, the others [windows][channels]. */
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
    /* The codes [windows][channels] of what lies in top, bottom and y; slope 0: behind a relu. */
    void (*find_codes)(const pool_row *r, uint8_t *codes);
} pool_kernels;

#endif
