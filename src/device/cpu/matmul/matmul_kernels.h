/* Microkernels of MATMUL. */
#ifndef DEVICE_CPU_MATMUL_MATMUL_KERNELS_H
#define DEVICE_CPU_MATMUL_MATMUL_KERNELS_H

#include <stdint.h>

typedef struct matmul_kernels {
    /* sum of a[i] b[i] */
    float (*dot)(const float *a, const float *b, int64_t count);
} matmul_kernels;

#endif
