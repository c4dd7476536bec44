/* Operands of the dense layers' vector kernels (dense_kernels.c): x for wgrad, dy in panels for
   wgrad and transposed for dgrad. fprop reads x in place. */
#ifndef DEVICE_CPU_DENSE_DENSE_PACK_H
#define DEVICE_CPU_DENSE_DENSE_PACK_H

#include "device/cpu/dense/dense_kernels.h"
#include "device/cpu/vec.h"

#define LINE 16 /* floats in a cache line */
/* Prefetch into the first-level cache, for writing. */
#define VEC_PREFETCH_WRITE_L1(p) __builtin_prefetch((p), 1, 3)

/* A stride for which rows of x do not fall into the same cache set; a tile may read past the last
   row. */
static int64_t wgrad_stride(int64_t depth)
{
    return (depth + LINE - 1) / LINE * LINE + LINE;
}

static int64_t wgrad_x_floats(int64_t rows, int64_t depth)
{
    return rows * wgrad_stride(depth);
}

/* Rows of x are far apart: the hardware does not prefetch the next ones. */
static void pack_wgrad_x(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to)
{
    enum { PREFETCH_ROWS = 4 };
    for (int64_t i = 0; i < rows; i++) {
        const float *prefetch =
            x + (i + PREFETCH_ROWS < rows ? i + PREFETCH_ROWS : rows - 1) * stride;
        for (int64_t k = 0; k < depth; k += LINE)
            __builtin_prefetch(prefetch + k, 0, 3);
        memcpy(to + i * wgrad_stride(depth), x + i * stride, (size_t)depth * sizeof *to);
    }
}

static int64_t panel_floats(int64_t rows)
{
    return rows * DENSE_PANEL;
}

static void pack_dy(const float *dy, int64_t stride, int64_t rows, int64_t width, float factor,
                    float *panel, float sums[DENSE_PANEL])
{
    for (int64_t n = 0; n < DENSE_PANEL; n += VEC_FLOATS) {
        int64_t left = width - n < VEC_FLOATS ? width - n : VEC_FLOATS;
        vec sum = {0};
        for (int64_t r = 0; r < rows; r++) {
            vec v = left == VEC_FLOATS ? vec_load(dy + r * stride + n)
                    : left > 0         ? vec_load_first(dy + r * stride + n, left)
                                       : (vec){0};
            vec_store(panel + r * DENSE_PANEL + n, v * vec_all(factor));
            sum += v;
        }
        vec_store(sums + n, sum);
    }
}

__attribute__((noinline)) static void transpose_square(const float *from, int64_t from_stride,
                                                       float *to, int64_t to_stride)
{
    vec v[VEC_FLOATS];
    UNROLL(16)
    for (int i = 0; i < VEC_FLOATS; i++, from += from_stride)
        v[i] = vec_load(from);
    vec_transpose(v);
    UNROLL(16)
    for (int i = 0; i < VEC_FLOATS; i++, to += to_stride)
        vec_store(to, v[i]);
}

/* Prefetch the lines of `to` that columns `column`... of `from` are transposed into, from row `row`
   of `from` on. */
VEC_INLINE void prefetch_target(float *to, int64_t to_stride, int64_t column, int64_t columns,
                                int64_t row)
{
    for (int64_t c = column; c < column + VEC_FLOATS && c < columns; c++)
        VEC_PREFETCH_WRITE_L1(to + c * to_stride + row);
}

static void transpose(const float *from, int64_t from_stride, int64_t rows, int64_t columns,
                      float *to, int64_t to_stride)
{
    for (int64_t r = 0; r < rows; r += LINE)
        prefetch_target(to, to_stride, 0, columns, r);
    for (int64_t c = 0; c < columns; c += VEC_FLOATS)
        for (int64_t r = 0; r < rows; r += VEC_FLOATS) {
            const float *corner = from + r * from_stride + c;
            float *target = to + c * to_stride + r;
            if (r % LINE == 0)
                prefetch_target(to, to_stride, c + VEC_FLOATS, columns, r);
            if (rows - r >= VEC_FLOATS && columns - c >= VEC_FLOATS) {
                transpose_square(corner, from_stride, target, to_stride);
                continue;
            }
            for (int64_t i = 0; i < VEC_FLOATS && r + i < rows; i++)
                for (int64_t k = 0; k < VEC_FLOATS && c + k < columns; k++)
                    target[k * to_stride + i] = corner[i * from_stride + k];
        }
}

static void pack_lanes(const float *dy, int64_t stride, int64_t rows, int64_t width, int64_t lanes,
                       float *to)
{
    if (rows < lanes)
        memset(to, 0, (size_t)(width * lanes) * sizeof *to);
    transpose(dy, stride, rows, width, to, lanes);
}

#endif
