/* Pooling by windows of any size, `count` channels of one tap or a row of 2x2 windows at a time. No
   two arrays may overlap. */
#ifndef DEVICE_CPU_POOL_POOL_WINDOW_KERNELS_H
#define DEVICE_CPU_POOL_POOL_WINDOW_KERNELS_H

#include <stdint.h>

typedef struct pool_window_kernels {
    /* y = max(x, y); a NaN gives NaN, so that the error is visible. */
    void (*max_range)(const float *x, float *y, int64_t count);
    /* One output row of the most common case, 2x2 windows inside the image whose left columns are
       `step` floats apart: one pass in place of four. */
    void (*max_row_2x2)(const float *top, const float *bottom, float *y, int64_t windows,
                        int64_t step, int64_t channels);
    /* y += x */
    void (*add_range)(const float *x, float *y, int64_t count);
    /* y += x * scale */
    void (*add_scaled_range)(const float *x, float scale, float *y, int64_t count);
    /* y *= scale */
    void (*scale_range)(float *y, float scale, int64_t count);
    /* Move left[i] to dx[i] where x[i] is the maximum y[i]; left keeps the others. */
    void (*give_range)(const float *x, const float *y, float *left, float *dx, int64_t count);
    /* A row of non-overlapping 2x2 windows: every gradient is written once, none is read. */
    void (*give_row_2x2)(const float *top, const float *bottom, const float *y, const float *dy,
                         float *dtop, float *dbottom, int64_t windows, int64_t channels);
} pool_window_kernels;

#endif
