/* C = A B and C += A' B for matrices in cache. A tile of C, R rows by V vectors, stays in registers
   over the whole depth: 6 x 4 vectors where there are 32 registers (24 sums, 4 of B, 1 to 3 of A),
   6 x 2 where there are 16; narrower panels take more rows. Rows that are left over take tiles of a
   third or two thirds of R, then single rows.
   Measured on Cascade Lake, as a share of register-only FMA: A B in first-level cache 0.95 for
   depth and columns of 64, 0.8 for 32; with everything in the second level 0.9 and 0.78; A' B of
   depth 32 added to C 0.85 and 0.71. */
#include "device/cpu/kernels/small_gemm.h"
#include "device/cpu/kernels/vec.h"

enum { LINE_FLOATS = 16 };

#if VEC_COUNT == 32
#define PANEL_VECS 4
#else
#define PANEL_VECS 2
#endif

/* A line to fetch with each k. */
typedef struct fetch {
    const float *line;
    int64_t step; /* to the next one; 0: nothing is left */
} fetch;

/* As many lines as a tile of this depth fetches; without any, `idle` again and again. */
VEC_INLINE fetch take(small_gemm_lines *l, int64_t depth, const float *idle)
{
    if (l->count <= 0)
        return (fetch){idle, 0};
    fetch f = {l->from, LINE_FLOATS};
    l->from += depth * LINE_FLOATS;
    l->count -= depth;
    return f;
}

/* Element (row, k) of A is at a[row * a_row + k * a_step]: one of the two is the constant 1. */
VEC_INLINE void tile(int rows, int vecs, const float *a, int64_t a_row, int64_t a_step,
                     const float *b, fetch next, fetch soon, float *c, int64_t c_stride,
                     int64_t depth, bool add)
{
    vec sum[12][4];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) {
            sum[r][v] = (vec){0};
            if (add) /* it is added to at the end, so that the products need not wait for it */
                __builtin_prefetch(c + r * c_stride + v * VEC_FLOATS, 1, 3);
        }
    for (int64_t k = 0; k < depth; k++) {
        vec right[4];
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++)
            right[v] = vec_load(b + v * VEC_FLOATS);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            vec left = vec_all(a[r * a_row]);
#pragma GCC unroll 4
            for (int v = 0; v < vecs; v++)
                sum[r][v] += left * right[v];
        }
        __builtin_prefetch(next.line, 0, 3);
        __builtin_prefetch(soon.line, 0, 2);
        next.line += next.step;
        soon.line += soon.step;
        a += a_step;
        b += vecs * VEC_FLOATS;
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) {
            float *to = c + r * c_stride + v * VEC_FLOATS;
            vec_store(to, add ? vec_load(to) + sum[r][v] : sum[r][v]);
        }
}

/* All rows against one panel of `vecs` vectors. */
VEC_INLINE void panel_rows(int most, int vecs, small_gemm *g, const float *b, float *c,
                           bool transposed, bool add)
{
    int64_t row = 0, a_row = transposed ? 1 : g->a_stride, a_step = transposed ? g->a_stride : 1;
#define ROWS(height)                                                         \
    for (; g->rows - row >= (height); row += (height)) {                     \
        fetch next = take(&g->next[g->next[0].count <= 0], g->depth, b);     \
        fetch soon = take(&g->soon[g->soon[0].count <= 0], g->depth, b);     \
        tile(height, vecs, g->a + row * a_row, a_row, a_step, b, next, soon, \
             c + row * g->c_stride, g->c_stride, g->depth, add);             \
    }
    ROWS(most)
    ROWS(most * 2 / 3)
    ROWS(most / 3)
    ROWS(1)
#undef ROWS
}

VEC_INLINE void all_panels(const small_gemm *product, bool transposed, bool add)
{
    small_gemm rest = *product, *g = &rest; /* with the lines that are not yet fetched */
    const float *b = g->b;
    for (int64_t n = 0; n < g->columns; n += PANEL_VECS * VEC_FLOATS) {
        float *c = g->c + n;
        switch ((g->columns - n) / VEC_FLOATS) {
        case 1:
            panel_rows(12, 1, g, b, c, transposed, add);
            break;
#if PANEL_VECS == 4
        case 2:
            panel_rows(12, 2, g, b, c, transposed, add);
            break;
        case 3:
            panel_rows(6, 3, g, b, c, transposed, add);
            break;
#endif
        default:
            panel_rows(6, PANEL_VECS, g, b, c, transposed, add);
        }
        b += g->b_panel;
    }
}

static void multiply(const small_gemm *g)
{
    all_panels(g, false, false);
}

static void multiply_transposed(const small_gemm *g, bool add)
{
    if (add)
        all_panels(g, true, true);
    else
        all_panels(g, true, false);
}

const small_gemm_kernels ISA(cpu_small_gemm) = {PANEL_VECS * VEC_FLOATS, multiply,
                                                multiply_transposed};
