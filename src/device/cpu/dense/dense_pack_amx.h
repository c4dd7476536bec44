/* Operands of the dense layers' AMX kernels (dense_kernels_amx.c): floats split into three terms of
   bfloat16 (bf16x3.h), or uint8 inputs as one, in AMX tiles of 1 KB, 16 rows of 16 pairs of
   numbers. The pairs are along the depth of the product: a step of 32 of the depth has pairs (k, k
   + 16).

     x for fprop    [steps of depth][2 AMX tiles of rows][terms]
     x for wgrad    [AMX tiles of depth][terms]
     dy for dgrad   [steps of width][terms][LANE_AMX_TILES]
     dy for wgrad   [terms][PANEL_AMX_TILES] */
#ifndef DEVICE_CPU_DENSE_DENSE_PACK_AMX_H
#define DEVICE_CPU_DENSE_DENSE_PACK_AMX_H

#include "device/cpu/bf16x3.h"
#include "device/cpu/dense/dense_kernels.h"
#include "device/cpu/vec.h"

/* AMX_DEPTH is also the maximum number of rows of a batch. */
enum {
    PANEL_BYTES = DENSE_PANEL * 4,
    PANEL_AMX_TILES = DENSE_PANEL / AMX_SIDE,
    LANE_AMX_TILES = DENSE_LANES / AMX_SIDE,
    SPLIT_PANEL_FLOATS = TERMS * PANEL_AMX_TILES * AMX_TILE /* of AMX_DEPTH rows */
};

/* Prefetch into the first-level cache. */
#define VEC_PREFETCH_L1(p) __builtin_prefetch((p), 0, 3)

/* Pairs of bytes, the first 16 at a and at b, or as many as are left; 8 bits hold each exactly. */
VEC_INLINE vec pair_bytes(const uint8_t *a, int64_t a_left, const uint8_t *b, int64_t b_left)
{
    const uint32_t all = (1u << AMX_SIDE) - 1;
    const uint32_t a_mask = a_left >= AMX_SIDE ? all : a_left > 0 ? (1u << a_left) - 1 : 0;
    const uint32_t b_mask = b_left >= AMX_SIDE ? all : b_left > 0 ? (1u << b_left) - 1 : 0;
    __m128i left = _mm_maskz_loadu_epi8((__mmask16)a_mask, a);
    __m128i right = _mm_maskz_loadu_epi8((__mmask16)b_mask, b);
    bits low = (bits)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(left));
    bits high = (bits)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(right));
    return (vec)(low >> 16 | high);
}

/* The first `count` floats at p, which may have more; zeros for a count below 1. */
VEC_INLINE vec load_up_to(const float *p, int64_t count)
{
    if (count >= VEC_FLOATS)
        return vec_load(p);
    return count > 0 ? vec_load_first(p, count) : (vec){0};
}

/* ---- x for fprop -------------------------------------------------------------------------- */

static int64_t x_floats(int64_t rows, int64_t depth)
{
    (void)rows;
    return blocks(depth, AMX_DEPTH) * 2 * TERMS * AMX_TILE;
}

static void pack_x(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to)
{
    for (int64_t k = 0; k < depth; k += AMX_DEPTH, to += 2 * TERMS * AMX_TILE)
        for (int64_t i = 0; i < AMX_DEPTH; i++) {
            const float *from = x + i * stride + k;
            int64_t left = i < rows ? depth - k : 0;
            /* Rows are far apart: the hardware does not prefetch the next ones. */
            VEC_PREFETCH_L1(from + 2 * AMX_DEPTH);
            VEC_PREFETCH_L1(from + 2 * AMX_DEPTH + AMX_SIDE);
            split(load_up_to(from, left), load_up_to(from + AMX_SIDE, left - AMX_SIDE),
                  to + i / AMX_SIDE * TERMS * AMX_TILE + i % AMX_SIDE * AMX_SIDE, AMX_TILE, true);
        }
}

/* Row i of bytes from column k on; for i past the last row any row, of which nothing is read. */
VEC_INLINE const uint8_t *row_of(const dense_u8 *x, int64_t i, int64_t rows, int64_t k)
{
    return x->from + x->index[i < rows ? i : 0] * x->columns + k;
}

static void pack_u8(const dense_u8 *x, int64_t rows, int64_t k, int64_t depth, float *to)
{
    for (int64_t i = 0; i < AMX_DEPTH; i++) {
        const uint8_t *from = row_of(x, i, rows, k);
        for (int64_t n = 0; n < depth; n += AMX_DEPTH) {
            const int64_t left = i < rows ? depth - n : 0;
            vec_store(to + n / AMX_DEPTH * 2 * AMX_TILE + i * AMX_SIDE,
                      pair_bytes(from + n, left, from + n + AMX_SIDE, left - AMX_SIDE));
        }
    }
}

/* v[i]: column i of from[rows][columns], of which at most 16 by 16 are read */
VEC_INLINE void load_transposed(const float *from, int64_t stride, int64_t rows, int64_t columns,
                                vec v[AMX_SIDE])
{
    UNROLL(16)
    for (int i = 0; i < AMX_SIDE; i++) {
        v[i] = i < rows ? load_up_to(from + i * stride, columns) : (vec){0};
        VEC_PREFETCH_L1(from + i * stride + AMX_DEPTH);
    }
    vec_transpose(v);
}

/* An AMX tile of columns: its row i is the pairs of columns i of a and b. */
static void pack_transposed(vec a[AMX_SIDE], vec b[AMX_SIDE], float *to, int64_t slice_stride)
{
    for (int i = 0; i < AMX_SIDE; i++)
        split(a[i], b[i], to + i * AMX_SIDE, slice_stride, true);
}

/* ---- x for wgrad -------------------------------------------------------------------------- */

static int64_t wgrad_x_floats(int64_t rows, int64_t depth)
{
    (void)rows;
    return blocks(depth, AMX_SIDE) * TERMS * AMX_TILE;
}

static void pack_wgrad_x(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to)
{
    for (int64_t k = 0; k < depth; k += AMX_SIDE, to += TERMS * AMX_TILE) {
        vec a[AMX_SIDE], b[AMX_SIDE];
        load_transposed(x + k, stride, rows, depth - k, a);
        load_transposed(x + AMX_SIDE * stride + k, stride, rows - AMX_SIDE, depth - k, b);
        pack_transposed(a, b, to, AMX_TILE);
    }
}

static void pack_wgrad_u8(const dense_u8 *x, int64_t rows, int64_t k, int64_t depth, float *to)
{
    for (int64_t n = 0; n < depth; n += AMX_SIDE, to += AMX_TILE) {
        vec v[AMX_SIDE];
        UNROLL(16)
        for (int i = 0; i < AMX_SIDE; i++)
            v[i] = pair_bytes(row_of(x, i, rows, k + n), i < rows ? depth - n : 0,
                              row_of(x, i + AMX_SIDE, rows, k + n),
                              i + AMX_SIDE < rows ? depth - n : 0);
        vec_transpose(v);
        UNROLL(16)
        for (int i = 0; i < AMX_SIDE; i++)
            vec_store(to + i * AMX_SIDE, v[i]);
    }
}

/* ---- dy ----------------------------------------------------------------------------------- */

static int64_t panel_floats(int64_t rows)
{
    (void)rows;
    return SPLIT_PANEL_FLOATS;
}

static void pack_dy(const float *dy, int64_t stride, int64_t rows, int64_t width, float factor,
                    float *panel, float sums[DENSE_PANEL])
{
    for (int64_t n = 0; n < DENSE_PANEL; n += AMX_SIDE) {
        vec sum = {0};
        for (int64_t i = 0; i < AMX_SIDE; i++) {
            const float *from = dy + i * stride + n;
            vec a = load_up_to(from, i < rows ? width - n : 0);
            vec b = load_up_to(from + AMX_SIDE * stride, i + AMX_SIDE < rows ? width - n : 0);
            sum += a;
            sum += b;
            split(a * vec_all(factor), b * vec_all(factor),
                  panel + n / AMX_SIDE * AMX_TILE + i * AMX_SIDE, PANEL_AMX_TILES * AMX_TILE, true);
        }
        vec_store(sums + n, sum);
    }
}

enum {
    LANES_FLOATS = (DENSE_PANEL + AMX_DEPTH - 1) / AMX_DEPTH * TERMS * LANE_AMX_TILES * AMX_TILE
};

static void pack_lanes(const float *dy, int64_t stride, int64_t rows, int64_t width, int64_t lanes,
                       float *to)
{
    (void)lanes;
    for (int64_t n = 0; n < width; n += AMX_DEPTH, to += TERMS * LANE_AMX_TILES * AMX_TILE)
        for (int64_t m = 0; m < LANE_AMX_TILES; m++) {
            const float *from = dy + m * AMX_SIDE * stride + n;
            vec a[AMX_SIDE], b[AMX_SIDE];
            load_transposed(from, stride, rows - m * AMX_SIDE, width - n, a);
            load_transposed(from + AMX_SIDE, stride, rows - m * AMX_SIDE, width - n - AMX_SIDE, b);
            pack_transposed(a, b, to + m * AMX_TILE, LANE_AMX_TILES * AMX_TILE);
        }
}

#endif
