/* Products of dense layers on blocks that fit the caches. W stands in panels (host/panels.h): a
   block of it is [depth][width], width <= DENSE_PANEL, its rows one behind the other. */
#ifndef DEVICE_CPU_KERNELS_DENSE_H
#define DEVICE_CPU_KERNELS_DENSE_H

#include "device/cpu/kernels/update.h"

enum {
    DENSE_PANEL = 48, /* three AVX-512 vectors */
    DENSE_TILE = 8,   /* most rows of W whose gradient is summed at once */
    DENSE_LANES = 32, /* two AVX-512 vectors */
    DENSE_SLOTS = 3   /* of an optimizer, at most */
};

/* sum[rows][DENSE_PANEL] = x[rows][depth] W[depth][width], or added to what sum holds. */
typedef struct dense_product {
    const float *x;
    int64_t x_stride, rows, depth, width;
    const float *w;
    float *sum;
    bool add;
    const float *ahead; /* comes into the cache meanwhile: the block [depth][width] to be next */
} dense_product;

/* y[rows][width] = act(part 0 + part 1 + ... + bias); parts are [rows][DENSE_PANEL], part_stride
   floats apart. */
typedef struct dense_finish {
    const float *parts, *bias; /* bias NULL: none */
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
    const float *dy;
    int64_t lanes;
    float *dx;
    bool add;
    const float *ahead; /* the block of W to be next */
} dense_data;

/* dW[depth][width] = x' dy: kept in dw, or handed to the optimizer at once and never stored. */
typedef struct dense_gradient {
    int64_t rows, depth, width;
    const float *x; /* [rows][depth rounded up to DENSE_TILE] */
    int64_t x_stride;
    const float *dy; /* [rows][DENSE_PANEL] */
    float *dw;       /* NULL: update w */
    bool add;        /* to what dw holds */
    float *w;
    float rate; /* w -= rate dW, where there is no other rule */
    update_range *update;
    const update_constants *constants;
    float *slot[DENSE_SLOTS];            /* NULL where the optimizer has none */
    const float *ahead[DENSE_SLOTS + 1]; /* blocks of w or slots to be next; NULL behind the last */
} dense_gradient;

typedef struct dense_kernels {
    void (*multiply)(const dense_product *p);
    void (*finish)(const dense_finish *f);
    void (*data)(const dense_data *d);
    void (*gradient)(const dense_gradient *g);
    /* panel[rows][DENSE_PANEL] = dy[rows][width], and the sums of its columns */
    void (*pack)(const float *dy, int64_t stride, int64_t rows, int64_t width, float *panel,
                 float sums[DENSE_PANEL]);
    /* to[columns][rows] = from[rows][columns] */
    void (*transpose)(const float *from, int64_t from_stride, int64_t rows, int64_t columns,
                      float *to, int64_t to_stride);
} dense_kernels;

#endif
