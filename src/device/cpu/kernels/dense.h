/* Products of dense layers on blocks that fit the caches. W stands in panels (host/panels.h): a
   block of it is [depth][width], width <= DENSE_PANEL, its rows one behind the other. */
#ifndef DEVICE_CPU_KERNELS_DENSE_H
#define DEVICE_CPU_KERNELS_DENSE_H

#include "device/cpu/kernels/update.h"
#include <stdbool.h>

/* Samples of bytes that x is, but for its unit: row i is unit * from[index[i] * columns...].
   Products on them take `unit`; 0: x are any floats, and there are no samples. */
typedef struct dense_bytes {
    float unit;
    const uint8_t *from;
    const int64_t *index;
    int64_t columns;
} dense_bytes;

enum {
    DENSE_PANEL = 48, /* three AVX-512 vectors */
    DENSE_LANES = 32, /* two AVX-512 vectors */
    DENSE_SLOTS = 3   /* of an optimizer, at most */
};

/* sum[rows][DENSE_PANEL] = x[rows][depth] W[depth][width], or added to what sum holds. */
typedef struct dense_product {
    const float *x; /* as lay_x has made it, with a unit lay_bytes; rows x_stride apart where there
                       is no lay_x */
    float unit;
    int64_t x_stride, rows, depth, width;
    const float *w;
    float *sum;
    bool add;
    const float *ahead; /* comes into the cache meanwhile: the block [depth][width] to be next */
} dense_product;

/* y[rows][width] = act((part 0 + part 1 + ...) factor + bias); parts are [rows][DENSE_PANEL],
   part_stride floats apart. */
typedef struct dense_finish {
    const float *parts, *bias; /* bias NULL: none */
    float factor;              /* the unit, or 1 */
    int64_t part_count, part_stride, rows, width;
    bool relu; /* else act is the identity */
    float *y;
    int64_t y_stride;
} dense_finish;

/* dx'[depth][lanes] = W[depth][width] dy'[width][lanes], or added to what dx holds. Lanes are rows
   of the batch: DENSE_LANES, or half as many where no more are left. */
typedef struct dense_data {
    const float *w;
    int64_t depth, width;
    const float *dy; /* as lay_lanes has made it */
    int64_t lanes;
    float *dx;
    bool add;
    const float *ahead; /* the block of W to be next */
} dense_data;

/* dW[depth][width] = x' dy: kept in dw, or handed to the optimizer at once and never stored. */
typedef struct dense_gradient {
    int64_t rows, depth, width;
    const float *x, *dy; /* as lay_gradient_x, with a unit lay_gradient_bytes, and pack have made
                            them; then dy is dy unit */
    float unit;
    float *dw; /* NULL: update w */
    bool add;  /* to what dw holds */
    float *w;
    float rate; /* w -= rate dW, where there is no other rule */
    update_range *update;
    const optimizer_constants *constants;
    float *slot[DENSE_SLOTS];            /* NULL where the optimizer has none */
    const float *ahead[DENSE_SLOTS + 1]; /* blocks of w or slots to be next; NULL behind the last */
} dense_gradient;

typedef struct dense_kernels {
    void (*multiply)(const dense_product *p);
    void (*finish)(const dense_finish *f);
    void (*data)(const dense_data *d);
    void (*gradient)(const dense_gradient *g);
    /* What the products read in place of x and dy, whose rows are `stride` apart, and its floats.
       x[rows][depth] for multiply: NULL where it reads x itself. */
    int64_t (*x_floats)(int64_t rows, int64_t depth);
    void (*lay_x)(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to);
    /* x[rows][depth] for gradient */
    int64_t (*gradient_x_floats)(int64_t rows, int64_t depth);
    void (*lay_gradient_x)(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to);
    /* The same for columns k to k + depth - 1 of bytes; NULL: knows no units. */
    void (*lay_bytes)(const dense_bytes *x, int64_t rows, int64_t k, int64_t depth, float *to);
    void (*lay_gradient_bytes)(const dense_bytes *x, int64_t rows, int64_t k, int64_t depth,
                               float *to);
    /* A panel dy[rows][width], times `factor`, for gradient, and the sums of its columns, without
     */
    int64_t (*panel_floats)(int64_t rows);
    void (*pack)(const float *dy, int64_t stride, int64_t rows, int64_t width, float factor,
                 float *panel, float sums[DENSE_PANEL]);
    /* A panel dy[rows][width] for data: up to `lanes` rows */
    int64_t lanes_floats;
    void (*lay_lanes)(const float *dy, int64_t stride, int64_t rows, int64_t width, int64_t lanes,
                      float *to);
    /* to[columns][rows] = from[rows][columns] */
    void (*transpose)(const float *from, int64_t from_stride, int64_t rows, int64_t columns,
                      float *to, int64_t to_stride);
    /* Each thread calls begin before multiply, data or gradient, and end after the last; NULL: no
       need to. */
    void (*begin)(void), (*end)(void);
    /* Rows of a block of W in the forward pass (dense_forward_depth), and at most in the backward
       pass, where they are a multiple of `grain`, or of coarse_grain if there are many blocks: rows
       of the tiles of dW and of both products. */
    int64_t forward_depth, backward_depth, grain, coarse_grain;
} dense_kernels;

#endif
