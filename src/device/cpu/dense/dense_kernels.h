/* Microkernels of dense layers, on blocks that fit the caches: fprop y = x W, dgrad dx = dy W',
   wgrad dW = x' dy. W is packed in panels (host/host.h): a block of it is [depth][width], width
   <= DENSE_PANEL, with consecutive rows.

               width            `prefetch` is the address of the next block of this kind: the
            +---------+         microkernel prefetches it while it computes.
      depth |  block  |
            +---------+  in
            |         |
            |  panel  |
            +---------+
             48 columns */
#ifndef DEVICE_CPU_DENSE_DENSE_KERNELS_H
#define DEVICE_CPU_DENSE_DENSE_KERNELS_H

#include "device/cpu/elementwise/update_kernels.h"
#include <stdbool.h>

/* uint8 inputs with a scale, of which x consists: row i is scale * from[index[i] * columns...].
   Products with them leave out `scale` until the end; scale 0: x are arbitrary floats. */
typedef struct dense_u8 {
    float scale;
    const uint8_t *from;
    const int64_t *index;
    int64_t columns;
} dense_u8;

enum {
    DENSE_PANEL = 48, /* three AVX-512 vectors */
    DENSE_LANES = 32, /* two AVX-512 vectors */
    DENSE_SLOTS = 3   /* maximum of any optimizer */
};

/* sum[rows][DENSE_PANEL] = x[rows][depth] W[depth][width], or added to the content of sum. */
typedef struct dense_fprop {
    const float *x; /* packed by pack_x, or by pack_u8 if there is a scale; without pack_x its rows
                       are x_stride apart */
    float scale;
    int64_t x_stride, rows, depth, width;
    const float *w;
    float *sum;
    bool add;
    const float *prefetch; /* the next block [depth][width] */
} dense_fprop;

/* y[rows][width] = act((slice 0 + slice 1 + ...) factor + bias): partial sums of K-slices, each
   [rows][DENSE_PANEL], slice_stride floats apart. */
typedef struct dense_epilogue {
    const float *slices, *bias; /* bias NULL: none */
    float factor;               /* the inputs' scale, or 1 */
    int64_t slice_count, slice_stride, rows, width;
    bool relu; /* false: act is the identity */
    float *y;
    int64_t y_stride;
} dense_epilogue;

/* dx'[depth][lanes] = W[depth][width] dy'[width][lanes], or added to the content of dx. Lanes are
   rows of the batch: DENSE_LANES, or half as many where no more are left. */
typedef struct dense_dgrad {
    const float *w;
    int64_t depth, width;
    const float *dy; /* packed by pack_lanes */
    int64_t lanes;
    float *dx;
    bool add;
    const float *prefetch; /* the next block of W */
} dense_dgrad;

/* dW[depth][width] = x' dy: stored in dw, or passed to the optimizer at once and never stored. */
typedef struct dense_wgrad {
    int64_t rows, depth, width;
    const float *x, *dy; /* packed by pack_wgrad_x, or by pack_wgrad_u8 if there is a scale (dy is
                            then multiplied by it), and by pack_dy */
    float scale;
    float *dw; /* NULL: update w */
    bool add;  /* add to the content of dw */
    float *w;
    float rate; /* w -= rate dW, if there is no other rule */
    update_range *update;
    const optimizer_constants *constants;
    float *slot[DENSE_SLOTS]; /* NULL where the optimizer has none */
    const float
        *prefetch[DENSE_SLOTS + 1]; /* the next blocks of dw, w or slots; NULL after the last */
} dense_wgrad;

typedef struct dense_kernels {
    void (*fprop)(const dense_fprop *p);
    void (*epilogue)(const dense_epilogue *f);
    void (*dgrad)(const dense_dgrad *d);
    void (*wgrad)(const dense_wgrad *g);
    /* Packed forms of x and dy for the products, from rows `stride` apart, and their sizes in
       floats. x[rows][depth] for fprop: NULL where it reads x itself. */
    int64_t (*x_floats)(int64_t rows, int64_t depth);
    void (*pack_x)(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to);
    /* x[rows][depth] for wgrad */
    int64_t (*wgrad_x_floats)(int64_t rows, int64_t depth);
    void (*pack_wgrad_x)(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to);
    /* The same for columns k to k + depth - 1 of uint8 inputs; NULL: the kernels take floats
       only. */
    void (*pack_u8)(const dense_u8 *x, int64_t rows, int64_t k, int64_t depth, float *to);
    void (*pack_wgrad_u8)(const dense_u8 *x, int64_t rows, int64_t k, int64_t depth, float *to);
    /* A panel dy[rows][width], times `factor`, for wgrad, and the sums of its columns, without
       `factor`. */
    int64_t (*panel_floats)(int64_t rows);
    void (*pack_dy)(const float *dy, int64_t stride, int64_t rows, int64_t width, float factor,
                    float *panel, float sums[DENSE_PANEL]);
    /* A panel dy[rows][width] for dgrad: up to `lanes` rows */
    int64_t lanes_floats;
    void (*pack_lanes)(const float *dy, int64_t stride, int64_t rows, int64_t width, int64_t lanes,
                       float *to);
    /* to[columns][rows] = from[rows][columns] */
    void (*transpose)(const float *from, int64_t from_stride, int64_t rows, int64_t columns,
                      float *to, int64_t to_stride);
    /* Each thread calls begin before fprop, dgrad or wgrad, and end after the last; NULL: not
       needed. */
    void (*begin)(void), (*end)(void);
    /* Rows of a block of W in the forward pass (dense_forward_depth), and the maximum in the
       backward pass. There they are a multiple of `grain`, the rows of a tile of wgrad, or, if
       there are many blocks, of coarse_grain, which is also a multiple of those of dgrad. */
    int64_t forward_depth, backward_depth, grain, coarse_grain;
} dense_kernels;

#endif
