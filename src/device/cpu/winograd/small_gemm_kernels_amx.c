/* small_gemm_amx: C = A B for a batch of matrices in cache, by AMX on floats split into three terms
   of bfloat16, of whose products the six largest are added (dense_kernels_amx.c has the bound). B
   is split once, by pack_b, and rounded; A is split strip by strip, up to 32 rows by 64 of the
   depth, while the previous strip is multiplied: little by little, because loads of AMX tiles seem
   to wait for the stores of the split terms.

     C[32][32] = sum over steps of 32 of the depth, 4 AMX tiles of sums, 24 multiplications a step

   Measured, everything in the second-level cache, one thread, time divided by that of AVX-512: 64 x
   64 by 64 x 64 0.56 to 0.62, 64 x 32 by 32 x 64 0.55 to 0.60, 64 x 32 by 32 x 32 0.68 to 0.70, 64
   x 128 by 128 x 128 0.79 to 0.87. The core's clock is 13 % slower with AMX than with AVX-512, also
   for code in between. A' B by AMX, which has to transpose A, takes 0.85 to 1.4, so it does not
   exist. */
#include "device/cpu/bf16x3.h"
#include "device/cpu/isa.h"
#include "device/cpu/winograd/small_gemm_kernels.h"

enum {
    SPLIT_TILE = TERMS * AMX_TILE, /* all terms of an AMX tile */
    DEPTH = 64,                    /* of a strip */
    STEPS = DEPTH / AMX_DEPTH,
    PANEL = 2, /* AMX tiles of columns, each 16 wide */
    LINE_FLOATS = 16
};

/* ---- B ------------------------------------------------------------------------------------ */

/* [panels][steps][TERMS][AMX tiles of the panel]; pairs are rows k and k + 16 of a step. */
static int64_t floats(int64_t depth, int64_t columns)
{
    return blocks(depth, AMX_DEPTH) * blocks(columns, AMX_SIDE) * SPLIT_TILE;
}

/* AMX tiles of the panel that begins with AMX tile n. */
static int64_t panel_amx_tiles(int64_t amx_tiles, int64_t n)
{
    return amx_tiles - n < PANEL ? 1 : PANEL;
}

static void pack_b(const float *b, int64_t stride, int64_t first, int64_t depth, int64_t columns,
                   float *to)
{
    enum { ROWS = SMALL_GEMM_PACKED_ROWS / 2 };
    const int64_t amx_tiles = blocks(columns, AMX_SIDE);
    for (int64_t n = 0; n < amx_tiles; n += PANEL) {
        const int64_t wide = panel_amx_tiles(amx_tiles, n);
        float *step = to + (n * blocks(depth, AMX_DEPTH) + first / AMX_DEPTH * wide) * SPLIT_TILE;
        for (int64_t t = 0; t < wide; t++)
            for (int64_t i = 0; i < ROWS; i++) {
                const float *from = b + i * stride + (n + t) * AMX_SIDE;
                split(vec_load(from), vec_load(from + ROWS * stride),
                      step + t * AMX_TILE + (first % AMX_DEPTH + i) * AMX_SIDE, wide * AMX_TILE,
                      true);
            }
    }
}

/* ---- A ------------------------------------------------------------------------------------ */

/* Some rows and some of the depth of one product. */
typedef struct strip {
    const float *a, *b;
    float *c;
    int64_t rows, depth, first; /* first step of the depth */
} strip;

static strip strip_of(const small_gemm_batch *s, int64_t i)
{
    const small_gemm *g = &s->first;
    const int64_t depths = blocks(g->depth, DEPTH), strips = blocks(g->rows, AMX_DEPTH);
    const int64_t k = i % depths * DEPTH, row = i / depths % strips * AMX_DEPTH;
    const int64_t product = i / depths / strips;
    return (strip){.a = g->a + product * s->a_step + row * g->a_stride + k,
                   .b = g->b + product * s->b_step,
                   .c = g->c + product * s->c_step + row * g->c_stride,
                   .rows = g->rows - row < AMX_DEPTH ? g->rows - row : AMX_DEPTH,
                   .depth = g->depth - k < DEPTH ? g->depth - k : DEPTH,
                   .first = k / AMX_DEPTH};
}

/* Work in slots between multiplications: the next strip is split, lines are prefetched. */
typedef struct interleaved {
    strip of;
    int64_t stride;
    float *to; /* [AMX tiles of rows][steps][TERMS] */
    int64_t row, rows, rows_per_slot;
    const float *prefetch_l2;
    int64_t lines, lines_per_slot;
} interleaved;

VEC_INLINE void split_row(const interleaved *t, int64_t i)
{
    const float *a = t->of.a + i * t->stride;
    float *to = t->to + i / AMX_SIDE * blocks(t->of.depth, AMX_DEPTH) * SPLIT_TILE +
                i % AMX_SIDE * AMX_SIDE;
    int64_t left = t->of.depth;
    for (; left > AMX_SIDE; left -= AMX_DEPTH, a += AMX_DEPTH, to += SPLIT_TILE)
        split(vec_load(a), vec_load(a + AMX_SIDE), to, AMX_TILE, false);
    if (left > 0)
        split(vec_load(a), (vec){0}, to, AMX_TILE, false);
}

VEC_INLINE void run_slot(interleaved *t)
{
    const int64_t end = t->rows - t->row < t->rows_per_slot ? t->rows : t->row + t->rows_per_slot;
    for (; t->row < end; t->row++)
        split_row(t, t->row);
    for (int64_t i = 0; i < t->lines_per_slot; i++, t->prefetch_l2 += LINE_FLOATS)
        __builtin_prefetch(t->prefetch_l2, 0, 2);
}

/* ---- C ------------------------------------------------------------------------------------ */

/* A block of C: `tall` by `wide` AMX tiles. */
typedef struct c_block {
    const float *a, *b; /* rows 16 to 31 are a_tile further */
    int64_t a_tile, steps;
    float *c;
    int64_t stride;
    bool add;
} c_block;

#define SUM_AMX_TILES(action, c, stride)                                 \
    do {                                                                 \
        action(0, (c), (stride)*4);                                      \
        if (wide > 1)                                                    \
            action(1, (c) + AMX_SIDE, (stride)*4);                       \
        if (tall > 1)                                                    \
            action(2, (c) + AMX_SIDE * (stride), (stride)*4);            \
        if (tall > 1 && wide > 1)                                        \
            action(3, (c) + AMX_SIDE * (stride) + AMX_SIDE, (stride)*4); \
    } while (0)

VEC_INLINE void multiply_c_block(int tall, int wide, const c_block *s, interleaved *t)
{
    const float *a = s->a, *b = s->b;
    if (s->add) {
        SUM_AMX_TILES(AMX_LOAD, s->c, s->stride);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t k = 0; k < s->steps; k++, a += SPLIT_TILE) {
        UNROLL(3)
        for (int right = 0; right < TERMS; right++, b += wide * AMX_TILE) {
            AMX_LOAD(6, b, AMX_ROW_BYTES);
            if (wide > 1)
                AMX_LOAD(7, b + AMX_TILE, AMX_ROW_BYTES);
            UNROLL(3)
            for (int left = 0; left + right < TERMS; left++) {
                AMX_LOAD(4, a + left * AMX_TILE, AMX_ROW_BYTES);
                _tile_dpbf16ps(0, 4, 6);
                if (wide > 1)
                    _tile_dpbf16ps(1, 4, 7);
                if (tall > 1) {
                    AMX_LOAD(5, a + s->a_tile + left * AMX_TILE, AMX_ROW_BYTES);
                    _tile_dpbf16ps(2, 5, 6);
                    if (wide > 1)
                        _tile_dpbf16ps(3, 5, 7);
                }
                run_slot(t);
            }
        }
    }
    SUM_AMX_TILES(AMX_STORE, s->c, s->stride);
}

/* All columns of a strip, which has been split into `a`. */
static void multiply_strip(const small_gemm *g, const strip *now, const float *a, interleaved *t)
{
    const int64_t amx_tiles = blocks(g->columns, AMX_SIDE), steps = blocks(now->depth, AMX_DEPTH);
    for (int64_t n = 0; n < amx_tiles; n += PANEL) {
        const int64_t wide = panel_amx_tiles(amx_tiles, n);
        const c_block s = {.a = a,
                           .b = now->b +
                                (n * blocks(g->depth, AMX_DEPTH) + now->first * wide) * SPLIT_TILE,
                           .a_tile = steps * SPLIT_TILE,
                           .steps = steps,
                           .c = now->c + n * AMX_SIDE,
                           .stride = g->c_stride,
                           .add = now->first > 0};
        if (now->rows > AMX_SIDE && wide > 1)
            multiply_c_block(2, 2, &s, t);
        else if (now->rows > AMX_SIDE)
            multiply_c_block(2, 1, &s, t);
        else if (wide > 1)
            multiply_c_block(1, 2, &s, t);
        else
            multiply_c_block(1, 1, &s, t);
    }
}

static void multiply(const small_gemm_batch *s)
{
    enum { SLOTS = TERMS * (TERMS + 1) / 2 }; /* in a step of a c_block */
    float split_a[2][2 * STEPS * SPLIT_TILE] __attribute__((aligned(64)));
    const small_gemm *g = &s->first;
    const int64_t panels = blocks(g->columns, PANEL * AMX_SIDE);
    const int64_t count = s->count * blocks(g->rows, AMX_DEPTH) * blocks(g->depth, DEPTH);
    strip now = strip_of(s, 0);
    interleaved t = {.of = now,
                     .stride = g->a_stride,
                     .to = split_a[0],
                     .rows = now.rows,
                     .rows_per_slot = now.rows,
                     .prefetch_l2 = g->prefetch_l2[0].from,
                     .lines = g->prefetch_l2[0].count};
    _tile_loadconfig(&amx_tiles_whole);
    run_slot(&t);
    for (int64_t i = 0; i < count; i++, now = t.of) {
        const int64_t slots = panels * blocks(now.depth, AMX_DEPTH) * SLOTS;
        t.row = t.rows = 0;
        if (i + 1 < count) {
            t.of = strip_of(s, i + 1);
            t.to = split_a[(i + 1) % 2];
            t.rows = t.of.rows;
            t.rows_per_slot = blocks(t.rows, slots);
        }
        t.lines_per_slot = blocks(t.lines, slots * (count - i));
        t.lines -= t.lines_per_slot * slots;
        multiply_strip(g, &now, split_a[i % 2], &t);
        t.lines_per_slot = 0;
        t.rows_per_slot = t.rows;
        run_slot(&t); /* the remaining slots */
    }
    _tile_release();
}

const small_gemm_amx ISA(cpu_small_gemm) = {
    .floats = floats, .pack_b = pack_b, .multiply = multiply};
