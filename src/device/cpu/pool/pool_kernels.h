/* Microkernels of pooling: by 2x2 windows, and by windows of any size. */
#ifndef DEVICE_CPU_POOL_POOL_KERNELS_H
#define DEVICE_CPU_POOL_POOL_KERNELS_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- 2x2 --------------------------------------------------------------------------------- */

/* Max pooling by non-overlapping 2x2 windows, a row of windows at a time. */

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

/* ---- windows of any size ----------------------------------------------------------------- */

/* Pooling by windows of any size, `count` channels of one tap or a row of 2x2 windows at a time. No
   two arrays may overlap. */

typedef struct pool_window_kernels {
    /* y = max(y, x of each of `taps` taps, `step` floats from one to the next); a NaN gives NaN, so
       that the error is visible. */
    void (*max_taps)(const float *x, int64_t step, int64_t taps, float *y, int64_t count);
    /* One output row of the most common case, 2x2 windows inside the image whose left columns are
       `step` floats apart: one pass in place of four. */
    void (*max_row_2x2)(const float *top, const float *bottom, float *y, int64_t windows,
                        int64_t step, int64_t channels);
    /* y += x of each of such taps, one after the other */
    void (*add_taps)(const float *x, int64_t step, int64_t taps, float *y, int64_t count);
    /* y += x * scale */
    void (*add_scaled_range)(const float *x, float scale, float *y, int64_t count);
    /* y *= scale */
    void (*scale_range)(float *y, float scale, int64_t count);
    /* Move left[i] to dx[i] where x[i] is the maximum y[i]; left keeps the others. */
    void (*give_range)(const float *x, const float *y, float *left, float *dx, int64_t count);
    /* at[i] = the number of the first tap whose element i is y[i], -1 where there is none; of
       `taps` taps, `step` floats from one to the next, where at[i] is already set from taps after
       them. */
    void (*find_taps)(const float *x, int64_t step, int64_t first, int64_t taps, const float *y,
                      float *at, int64_t count);
    /* A row of non-overlapping 2x2 windows: every gradient is written once, none is read. */
    void (*give_row_2x2)(const float *top, const float *bottom, const float *y, const float *dy,
                         float *dtop, float *dbottom, int64_t windows, int64_t channels);
} pool_window_kernels;

#endif
