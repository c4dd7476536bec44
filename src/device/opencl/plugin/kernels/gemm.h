/* What matrix products are made of, also those that convolutions are: C[m][n] = sum over k of
   A[m][k] B[k][n], in tiles of C, one a work-group, which brings GEMM_K of k at a time into local
   memory. A work-item computes ITEM_M rows of ITEM_N neighbouring columns, in registers. Where
   tiles are few, k is divided into slices (split-K), whose partial sums reduce_slices adds in their
   order. The blocking follows from the sizes alone.

   The body is gemm_body.h; gemm_shapes.h makes kernels of three shapes of tiles of it:

     square  GEMM_M x GEMM_N          all of as many work-items
     wide    GEMM_M / 2 x 2 GEMM_N    for batches of 32
     tall    2 GEMM_M x GEMM_N / 2    for 32 filters */
#ifndef DEVICE_OPENCL_GEMM_H
#define DEVICE_OPENCL_GEMM_H

#include "device/opencl/plugin/kernels/activation.h"
#include "device/opencl/plugin/kernels/common.h"

#define JOIN_NOW(a, b) a##b
#define JOIN(a, b) JOIN_NOW(a, b)

/* ITEM_N columns of a row: what is computed, and copied, at once. Casts to it are of places that
   are a multiple of its size from a tensor's or tile's begin. */
typedef JOIN(float, ITEM_N) columns;

/* X(i) for the rows of a work-item. Named variables, as arrays may end up in memory. */
#define ROWS_2(X) X(0) X(1)
#define ROWS_4(X) ROWS_2(X) X(2) X(3)
#define ROWS_8(X) ROWS_4(X) X(4) X(5) X(6) X(7)
#define ROWS_16(X) ROWS_8(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define ROWS(X) JOIN(ROWS_, ITEM_M)(X)

/* Loops over one work-item's columns: short ones are unrolled, so that arrays stay in registers. */
#if ITEM_N > 8
#define EACH_COLUMN _Pragma("nounroll")
#else
#define EACH_COLUMN _Pragma("unroll")
#endif

#define TILE_ALIGNED __attribute__((aligned(64)))

/* The first `count` of ITEM_N numbers, 0 for those behind. `count` may be negative, or more; with
   `whole` it is not looked at, and `from` is aligned. */
static inline void copy_columns(local float *to, global const float *from, int count, bool whole)
{
    if (whole)
        *(local columns *)to = *(global const columns *)from;
    else if (count >= ITEM_N)
        *(local columns *)to = JOIN(vload, ITEM_N)(0, from);
    else
        for (int j = 0; j < ITEM_N; j++)
            to[j] = j < count ? from[j] : 0.0f;
}

/* The same of four numbers. */
static inline float4 read4(global const float *from, int count, bool whole)
{
    if (whole)
        return *(global const float4 *)from;
    if (count >= 4)
        return vload4(0, from);
    return (float4)(count > 0 ? from[0] : 0.0f, count > 1 ? from[1] : 0.0f,
                    count > 2 ? from[2] : 0.0f, 0.0f);
}

/* Linear, relu and leaky_relu (bends()) by their slope below 0. NaN stays NaN. */
static inline columns bend(columns x, float slope)
{
    columns below = slope * x;
    if (slope == 0)
        below = 0; /* of -infinity, too */
    return x < 0 ? below : x;
}

/* Their slopes; of the others 1. */
static inline float slope_of(int act, float alpha)
{
    return act == ACTIVATION_RELU ? 0.0f : act == ACTIVATION_LEAKY_RELU ? alpha : 1.0f;
}

static inline bool bends(int act)
{
    return act == ACTIVATION_LINEAR || act == ACTIVATION_RELU || act == ACTIVATION_LEAKY_RELU;
}

static inline void put_columns(global float *to, columns value, int count, bool aligned)
{
    if (count >= ITEM_N && aligned) {
        *(global columns *)to = value;
    } else {
        float all[ITEM_N];
        JOIN(vstore, ITEM_N)(value, 0, all);
        EACH_COLUMN
        for (int j = 0; j < ITEM_N; j++)
            if (j < count)
                to[j] = all[j];
    }
}

#endif
