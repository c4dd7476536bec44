/* Microkernels of elementwise operations, dropout, normalization, and softmax with the cross-
   entropies on top of it. */
#ifndef DEVICE_CPU_ELEMENTWISE_ELEMENTWISE_KERNELS_H
#define DEVICE_CPU_ELEMENTWISE_ELEMENTWISE_KERNELS_H

#include <stdint.h>

/* ---- elements ---------------------------------------------------------------------------- */

/* Elementwise operations. Arrays may be the same, but must not overlap otherwise. */

/* y = act(x); alpha: the activation's parameter (device/rules/activations.h) */
typedef void element_forward(const float *x, float *y, int64_t count, float alpha);
/* dx = dy act'(..), from the activation's output, or its input where the derivative needs that. */
typedef void element_backward(const float *from, const float *dy, float *dx, int64_t count,
                              float alpha);

/* y = f(a, b) by a row of model/binaries.def; a step of 0: one number for all elements, else 1 */
typedef void element_binary(const float *a, int64_t a_step, const float *b, int64_t b_step,
                            float *y, int64_t count);
/* The gradient of a or of b, one term an element. */
typedef void element_binary_back(const float *a, int64_t a_step, const float *b, int64_t b_step,
                                 const float *dy, float *dx, int64_t count);

typedef struct element_kernels {
    /* [activation_kind]; NULL where a whole row is needed */
    element_forward *const *activate;
    element_backward *const *activate_back;
    element_binary *const *binary;                /* [binary_kind] */
    element_binary_back *const (*binary_back)[2]; /* [binary_kind][of a, of b] */
    /* y = x * scale + offset */
    void (*scale)(const float *x, float *y, int64_t count, float scale, float offset);
    /* sum += x */
    void (*add)(const float *x, float *sum, int64_t count);
    /* sum of x * x, in doubles */
    double (*square_sum)(const float *x, int64_t count);
} element_kernels;

/* ---- dropout --------------------------------------------------------------------- */

/* Dropout, with a mask that is drawn again from a counter. */

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

/* ---- batch norm ------------------------------------------------------------------ */

/* Batch normalization of a block of rows, [rows][channels]; all other arrays are [channels]. */

typedef struct batch_norm_block {
    const float *x, *dy;
    const float *mean, *scale, *shift, *slope;
    float *out;           /* not x or dy */
    double *sum, *second; /* sums over rows; the block's terms are added */
    int64_t rows, channels;
} batch_norm_block;

typedef struct batch_norm_kernels {
    /* sum += x */
    void (*add)(const batch_norm_block *b);
    /* sum += x - mean, second += (x - mean)^2 */
    void (*add_moments)(const batch_norm_block *b);
    /* sum += dy, second += dy (x - mean) */
    void (*add_gradients)(const batch_norm_block *b);
    /* out = (x - mean) scale + shift */
    void (*normalize)(const batch_norm_block *b);
    /* out = dy scale - shift - (x - mean) slope */
    void (*gradient)(const batch_norm_block *b);
} batch_norm_kernels;

/* ---- layer norm ------------------------------------------------------------------ */

/* Layer normalization, one row [count] at a time. gamma and beta: NULL where there is none. */

typedef struct layer_norm_kernels {
    double (*sum)(const float *x, int64_t count);
    /* Sum of (x - mean)^2. */
    double (*squares)(const float *x, double mean, int64_t count);
    /* y = (x - mean) inverse gamma + beta */
    void (*normalize)(const float *x, double mean, float inverse, const float *gamma,
                      const float *beta, float *y, int64_t count);
    /* sums[0]: of g = dy gamma, sums[1]: of g (x - mean) */
    void (*gradient_sums)(const float *x, const float *dy, const float *gamma, float mean,
                          int64_t count, double sums[2]);
    /* dx = inverse (dy gamma - shift - (x - mean) slope) */
    void (*gradient)(const float *x, const float *dy, const float *gamma, float mean, float inverse,
                     float shift, float slope, float *dx, int64_t count);
    /* dbeta += dy, dgamma += dy (x - mean) inverse */
    void (*add_columns)(const float *x, const float *dy, float mean, float inverse, double *dgamma,
                        double *dbeta, int64_t count);
} layer_norm_kernels;

/* ---- softmax --------------------------------------------------------------------- */

/* Softmax and the cross-entropies on top of it, row by row. */

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
    /* dx[rows][n] = y (dy - sum(dy y)) of each row; dy and dx may be the same. */
    void (*backward)(const float *y, const float *dy, float *dx, int64_t rows, int64_t n);
    /* The sum of the rows' losses, sum(target (log(sum(exp(x))) - x)). A class number outside
       0..n-1 makes loss and gradient NaN. */
    double (*cross_entropy)(const cross_entropy_rows *c);
} softmax_kernels;

#endif
