/* Microkernels of convolutions of any window: products whose rows lie at addresses of their own. */
#ifndef DEVICE_CPU_CONV_INDIRECT_KERNELS_H
#define DEVICE_CPU_CONV_INDIRECT_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* to[row][columns] = the sum over taps and depth of from[tap][row][at + k] panel[tap][k][columns],
   or added to the content of `to`. */
typedef struct indirect_product {
    const float *const *from; /* [taps][from_stride]: the address of each row for each tap */
    int64_t from_stride, at;
    int64_t ahead; /* floats from a row to one of the next tile, which is prefetched; 0: none is */
    const float *outside; /* the address of a row of zeros */
    const int32_t *tap;   /* [taps]: which of the panel's */
    int64_t taps, depth, rows;
    const float *panel; /* [...][depth][width], tap_stride floats from tap to tap */
    int64_t tap_stride, width;
    float *const *to; /* [rows] */
    int64_t to_at, columns;
    bool add;
    const float *bias; /* [columns], added at the end; NULL: none */
    bool relu;         /* at the end */
} indirect_product;

/* dw[depth][columns] = the sum over the rows of from[row][at + k] dy[row][columns], or added to the
   content of dw. */
typedef struct indirect_gradient {
    const float *const *from; /* [rows] */
    int64_t at, rows, depth;
    /* What is prefetched: floats from one row of `from` to the next, if they follow one another,
       and from a row to that of the next block. */
    int64_t from_stride, from_ahead, dy_ahead;
    const float *dy; /* [rows][dy_stride], of which `width` can be read */
    int64_t dy_stride, width;
    float *dw; /* [depth][dw_stride] */
    int64_t dw_stride, columns;
    bool add;
} indirect_gradient;

typedef struct indirect_kernels {
    int64_t vector;     /* floats of a vector: a panel's width is a multiple */
    int64_t panel_most; /* floats of the widest panel */
    void (*product)(const indirect_product *p);
    void (*gradient)(const indirect_gradient *g);
    /* to[rows][width] = from[rows][columns], or, transposed, from[columns][rows]; 0 after them, up
       to a whole vector */
    void (*pack)(const float *from, int64_t stride, bool transposed, int64_t rows, int64_t columns,
                 int64_t width, float *to);
    /* sums[columns] += the rows of from[rows][stride] */
    void (*add_rows)(const float *from, int64_t stride, int64_t rows, int64_t columns, float *sums);
    /* The sum of a[i] b[i]. */
    float (*dot)(const float *a, const float *b, int64_t count);
} indirect_kernels;

#endif
