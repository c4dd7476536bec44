/* Max pooling by non-overlapping 2x2 windows, a row of windows at a time. */
#ifndef DEVICE_CPU_POOL_POOL_2X2_KERNELS_H
#define DEVICE_CPU_POOL_POOL_2X2_KERNELS_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* The code of a window and channel, which a pool fused with the convolution before it leaves: the
   position 0 to 3 of the maximum, row by row, or POOL_NOWHERE if no gradient goes back. */
enum { POOL_NOWHERE = 4 };

/* The smallest maximum that has a gradient: after a relu the smallest number above 0, as denormals
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
    float slope; /* backward: factor of dy where y > 0 does not hold */
} pool_row;

typedef struct pool_kernels {
    /* A NaN in a window gives NaN. */
    void (*forward)(const pool_row *r);
    /* dy goes to the first of (top left, top right, bottom left, bottom right) that equals y. */
    void (*backward)(const pool_row *r);
    /* The codes [windows][channels] from top, bottom and y; slope 0: after a relu. */
    void (*find_codes)(const pool_row *r, uint8_t *codes);
} pool_kernels;

#endif
