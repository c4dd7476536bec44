/* Microkernels of RESAMPLE: sums of weighted rows. */
#ifndef DEVICE_CPU_ELEMENTWISE_RESAMPLE_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_RESAMPLE_KERNELS_H

#include "device/resample.h"

typedef struct resample_kernels {
    /* y[line][count] = start + the sum of weight x[term's line][count] over the line's terms, for
       lines `begin` to end - 1 of the table; y: of line `begin`. */
    void (*sums)(const resample_table *t, int64_t begin, int64_t end, const float *x, float *y,
                 int64_t count);
} resample_kernels;

#endif
