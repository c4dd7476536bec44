/* Definitions for the kernels of matrix products, also for convolutions: C[m][n] = sum over k of
   A[m][k] B[k][n], in tiles of C with one work-group each, which copies GEMM_K of k at a time to
   local memory. A work-item computes ITEM_M rows of ITEM_N columns, in registers. If there are few
   tiles, k is divided into slices (split-K), whose partial sums reduce_slices adds in order: either
   for all tiles, or for those of the last round of work-groups, which would occupy few compute
   units. The blocking depends only on the sizes and the device.

   gemm_body.h has the body; gemm_shapes.h makes kernels of it for these shapes of tiles:

     square  GEMM_M x GEMM_N            these three have the same number of work-items
     wide    GEMM_M / 2 x 2 GEMM_N      for batches of 32
     tall    2 GEMM_M x GEMM_N / 2      for 32 filters
     narrow  GEMM_M x GEMM_N / 2        half the work-items; not on CPUs
     flat    GEMM_M / 2 x GEMM_N        half the work-items; not on CPUs
     small   GEMM_M / 2 x GEMM_N / 2    half the work-items, of ITEM_M / 2 rows (in sliced-K a
                                        quarter, of ITEM_M); not on CPUs */
#ifndef DEVICE_OPENCL_GEMM_H
#define DEVICE_OPENCL_GEMM_H

#include "device/opencl/plugin/kernels/activation.h"
#include "device/opencl/plugin/kernels/common.h"

#define JOIN_NOW(a, b) a##b
#define JOIN(a, b) JOIN_NOW(a, b)

/* A work-item's columns of a row, which are computed at once. 8 columns are two pieces of 4,
   half a tile apart: neighbours then read neighbouring numbers, which are in different banks of
   local memory. */
typedef JOIN(float, ITEM_N) columns;
#if ITEM_N == 8
#define PIECE 4
#else
#define PIECE ITEM_N
#endif
/* Neighbouring numbers that are copied at once. Casts to it are of places that are a multiple of
   its size from a tensor's or tile's begin. */
typedef JOIN(float, PIECE) piece;

/* X(i) for the rows of a work-item. Named variables, as arrays may end up in memory. */
#define ROWS_2(X) X(0) X(1)
#define ROWS_4(X) ROWS_2(X) X(2) X(3)
#define ROWS_8(X) ROWS_4(X) X(4) X(5) X(6) X(7)
#define ROWS_16(X) ROWS_8(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define ROWS(X) JOIN(ROWS_, ITEM_ROWS)(X)
#if ITEM_M == 16
#define HALF_ITEM_M 8
#elif ITEM_M == 8
#define HALF_ITEM_M 4
#else
#define HALF_ITEM_M 2
#endif

/* Loops over one work-item's columns: short ones are unrolled, so that arrays stay in registers. */
#if ITEM_N > 8
#define EACH_COLUMN _Pragma("nounroll")
#else
#define EACH_COLUMN _Pragma("unroll")
#endif

#define TILE_ALIGNED __attribute__((aligned(64)))

/* Copy the first `count` of PIECE numbers, and 0 for the rest. `count` may be negative, or
   larger; with `whole` it is ignored, and `from` is aligned. */
static inline void copy_columns(local float *to, global const float *from, int count, bool whole)
{
    if (whole)
        *(local piece *)to = *(global const piece *)from;
    else if (count >= PIECE)
        *(local piece *)to = JOIN(vload, PIECE)(0, from);
    else
        for (int j = 0; j < PIECE; j++)
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
        below = 0; /* also for -infinity */
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

static inline void put_piece(global float *to, piece value, int count, bool aligned)
{
    if (count >= PIECE && aligned) {
        *(global piece *)to = value;
    } else {
        float all[PIECE];
        JOIN(vstore, PIECE)(value, 0, all);
        EACH_COLUMN
        for (int j = 0; j < PIECE; j++)
            if (j < count)
                to[j] = all[j];
    }
}

#endif
