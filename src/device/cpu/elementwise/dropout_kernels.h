/* Dropout, with a mask that is drawn again from a counter. */
#ifndef DEVICE_CPU_ELEMENTWISE_DROPOUT_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_DROPOUT_KERNELS_H

#include <stdint.h>

/* y[i] = x[i] * scale where word i % 4 of philox(key; first + i / 4, iteration) in base/philox.h is
   at least `least`, else 0; i in 0..count-1; x and y may be the same. */
typedef struct dropout_range {
    const float *x;
    float *y;
    int64_t count;
    uint64_t key, first, iteration;
    uint32_t least;
    float scale;
} dropout_range;

typedef struct dropout_kernels {
    void (*drop)(const dropout_range *d);
} dropout_kernels;

#endif
