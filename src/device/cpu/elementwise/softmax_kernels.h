/* Softmax and the cross-entropies on top of it, row by row. */
#ifndef DEVICE_CPU_ELEMENTWISE_SOFTMAX_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_SOFTMAX_KERNELS_H

#include <stdint.h>

/* Rows of logits x[rows][n]. target[rows][n], or class numbers `classes`[rows] in its place.
   gradient[rows][n] (NULL: not needed) = (softmax(x) - target) * scale. */
typedef struct cross_entropy_rows {
    const float *x, *target, *classes;
    float *gradient;
    int64_t rows, n;
    float scale;
} cross_entropy_rows;

typedef struct softmax_kernels {
    /* y[rows][n] = softmax of each row of x; x and y may be the same. */
    void (*forward)(const float *x, float *y, int64_t rows, int64_t n);
    /* The sum of the rows' losses, sum(target (log(sum(exp(x))) - x)). A class number outside
       0..n-1 makes loss and gradient NaN. */
    double (*cross_entropy)(const cross_entropy_rows *c);
} softmax_kernels;

#endif
