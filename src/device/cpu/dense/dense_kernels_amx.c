/* fprop, dgrad and wgrad of dense layers (dense_kernels.h) for 17 to 32 rows of a batch, by AMX,
   whose tiles multiply numbers of 16 bits (bfloat16, 8 bits of significand) and add in 32. A float
   is the sum of three such terms, exactly:

     x = x1 + x2 + x3,  x1 = x truncated to 8 bits, x2 = x - x1 truncated to 8 bits, x3 = x - x1 -
   x2

   and of the nine products of two floats' terms the six largest are added:

     x w = x1 w1 + x1 w2 + x2 w1 + x1 w3 + x2 w2 + x3 w1 + at most 2^-21 |x w|

   (G. Henry, P. Tang, A. Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For
   Higher-Precision Computations, 2019). The omitted products have either sign, since x and dy are
   rounded to 8 bits, and only W is truncated. A sum's error is at most 1e-6 of the sum of its
   products' magnitudes (measured: 4e-7, mostly the rounding of six times as many additions). AMX
   multiplies 16 times as fast as AVX-512, so six products take 0.375 of its time. Differences from
   floats: an infinity becomes NaN, and so does a number that becomes infinite by rounding to 8
   bits; terms below 2^-126 count as 0.

   uint8 inputs need one term, since 8 bits hold them, and so only three products. Sums are
   multiplied by the inputs' scale at the end, dy before.

   W is split into its terms between the multiplications, a row at a time; x and dy are packed once
   (below). AMX tiles 6 and 7 hold operands, or 3 to 5 the terms of one of them, the
   others sums:

     fprop   sum[32][48] += x W             32 of the depth at a time, 6 AMX tiles of sums
     dgrad   dx'[16 of depth][32] += W dy'  2 AMX tiles of sums
     wgrad   dW[16 of depth][48] = x' dy    3 AMX tiles of sums; their epilogue, the update, is
   interleaved with the next tiles' multiplications

   Measured on 2 cores with AMX and 2 MB of second-level cache each, a step's time divided by that
   with AVX-512: cifar10-mlp 0.65, cifar100-mlp 0.82; with uint8 inputs 0.86 and 0.87 of that. With
   all data in the first-level cache the multiplications never wait; here they run at 0.4 to 0.6 of
   their peak. Other batches, when those two were at 0.76 and 0.96: 28 0.84 and 1.00, 24 0.93 and
   1.05, 20 1.05, 17 1.18; batches of 50 and 100, in an earlier version: 1.05 to 1.4. */
#include "device/cpu/bf16x3.h"
#include "device/cpu/dense/dense_kernels.h"
#include "device/cpu/isa.h"
#include "device/cpu/vec.h"

/* ---- operands ---------------------------------------------------------------------------- */

/* Floats are split into three terms of bfloat16 (bf16x3.h), or uint8 inputs are one, in AMX tiles
   of 1 KB, 16 rows of 16 pairs of numbers. The pairs are along the depth of the product: a step of
   32 of the depth has pairs (k, k + 16).

     x for fprop    [steps of depth][2 AMX tiles of rows][terms]
     x for wgrad    [AMX tiles of depth][terms]
     dy for dgrad   [steps of width][terms][LANE_AMX_TILES]
     dy for wgrad   [terms][PANEL_AMX_TILES] */

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

extern const dense_kernels cpu_dense_avx512;

/* ---- state of the AMX tiles --------------------------------------------------------------- */

static void begin(void)
{
    _tile_loadconfig(&amx_tiles_whole);
}

static void end(void)
{
    _tile_release();
}

/* ---- fprop -------------------------------------------------------------------------------- */

/* Row i of one step's AMX tiles [TERMS][PANEL_AMX_TILES]: rows i and i + 16 of W from row k on.
   `whole`: both rows exist, and the panel is a whole one. */
VEC_INLINE void split_pair(const dense_fprop *p, int64_t k, int64_t i, bool whole, float *to)
{
    const int64_t width = whole ? DENSE_PANEL : p->width, below = AMX_SIDE * width;
    const int64_t at = (k + i) * width, left = p->depth - k - i;
    const float *w = p->w + at, *prefetch = p->prefetch + at;
    to += i * AMX_SIDE;
    UNROLL(3)
    for (int n = 0; n < PANEL_AMX_TILES; n++) {
        const int64_t columns = width - n * AMX_SIDE;
        if (columns <= 0)
            break;
        VEC_PREFETCH(prefetch + n * AMX_SIDE);
        VEC_PREFETCH(prefetch + below + n * AMX_SIDE);
        split(load_up_to(w + n * AMX_SIDE, whole || left > 0 ? columns : 0),
              load_up_to(w + below + n * AMX_SIDE, whole || left > AMX_SIDE ? columns : 0),
              to + n * AMX_TILE, PANEL_AMX_TILES * AMX_TILE, false);
    }
}

VEC_INLINE void split_row(const dense_fprop *p, int64_t k, int64_t i, float *to)
{
    if (p->width == DENSE_PANEL && p->depth - k - i > AMX_SIDE)
        split_pair(p, k, i, true, to);
    else
        split_pair(p, k, i, false, to);
}

/* AMX tiles c0 and c1 += two of x by one of W; after each, one row of the next operand is split
   (two where x has one term). */
#define MULTIPLY_AMX_TILES(n, c0, c1)                                               \
    if ((n) < amx_tiles) {                                                          \
        AMX_LOAD(7, b + (right * PANEL_AMX_TILES + (n)) * AMX_TILE, AMX_ROW_BYTES); \
        for (int left = 0; left < x_terms && left + right < TERMS; left++) {        \
            AMX_LOAD(6, a + left * AMX_TILE, AMX_ROW_BYTES);                        \
            _tile_dpbf16ps(c0, 6, 7);                                               \
            if (x_terms == 1 && next && row < AMX_SIDE)                             \
                split_row(p, k + AMX_DEPTH, row++, next);                           \
            AMX_LOAD(6, a + (x_terms + left) * AMX_TILE, AMX_ROW_BYTES);            \
            _tile_dpbf16ps(c1, 6, 7);                                               \
            if (next && row < AMX_SIDE)                                             \
                split_row(p, k + AMX_DEPTH, row++, next);                           \
        }                                                                           \
    }

/* A step: a and b are its x and W; the next W is split into `next`, unless that is NULL. */
VEC_INLINE void multiply_step(const dense_fprop *p, int x_terms, int64_t k, int amx_tiles,
                              const float *a, const float *b, float *next)
{
    int64_t row = 0;
    UNROLL(3)
    for (int right = 0; right < TERMS; right++) {
        MULTIPLY_AMX_TILES(0, 0, 3)
        MULTIPLY_AMX_TILES(1, 1, 4)
        MULTIPLY_AMX_TILES(2, 2, 5)
    }
    for (; next && row < AMX_SIDE; row++)
        split_row(p, k + AMX_DEPTH, row, next);
}

/* AMX tiles 0 to 2 are rows 0 to 15 of sum, 3 to 5 the 16 rows at `low`. */
#define SUM_AMX_TILES(action, sum, low)               \
    do {                                              \
        action(0, (sum), PANEL_BYTES);                \
        action(1, (sum) + AMX_SIDE, PANEL_BYTES);     \
        action(2, (sum) + 2 * AMX_SIDE, PANEL_BYTES); \
        action(3, (low), PANEL_BYTES);                \
        action(4, (low) + AMX_SIDE, PANEL_BYTES);     \
        action(5, (low) + 2 * AMX_SIDE, PANEL_BYTES); \
    } while (0)

VEC_INLINE void multiply_terms(const dense_fprop *p, int x_terms)
{
    float split_w[2][SPLIT_PANEL_FLOATS] __attribute__((aligned(64)));
    float rest[AMX_SIDE * DENSE_PANEL] __attribute__((aligned(64)));
    const int amx_tiles = (int)blocks(p->width, AMX_SIDE);
    const size_t low_bytes = (size_t)(p->rows - AMX_SIDE) * PANEL_BYTES;
    float *low_sum = p->sum + AMX_SIDE * DENSE_PANEL, *low = p->rows < AMX_DEPTH ? rest : low_sum;
    const float *a = p->x;
    for (int64_t i = 0; i < AMX_SIDE; i++)
        split_row(p, 0, i, split_w[0]);
    if (p->add) {
        if (low == rest)
            memcpy(low, low_sum, low_bytes);
        SUM_AMX_TILES(AMX_LOAD, p->sum, low);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        _tile_zero(4);
        _tile_zero(5);
    }
    for (int64_t k = 0; k < p->depth; k += AMX_DEPTH, a += 2 * x_terms * AMX_TILE) {
        const int64_t step = k / AMX_DEPTH;
        float *next = k + AMX_DEPTH < p->depth ? split_w[(step + 1) % 2] : NULL;
        multiply_step(p, x_terms, k, amx_tiles, a, split_w[step % 2], next);
    }
    SUM_AMX_TILES(AMX_STORE, p->sum, low);
    if (low == rest)
        memcpy(low_sum, low, low_bytes);
}

static void fprop(const dense_fprop *p)
{
    if (p->scale != 0)
        multiply_terms(p, 1);
    else
        multiply_terms(p, TERMS);
}

static void epilogue(const dense_epilogue *f)
{
    cpu_dense_avx512.epilogue(f);
}

/* ---- dgrad -------------------------------------------------------------------------------- */

/* Row i of AMX tiles [steps of width][TERMS]: columns j and j + 16 of row k + i of W */
VEC_INLINE void split_columns(const dense_dgrad *d, int64_t k, int64_t i, float *to)
{
    const int64_t at = (k + i) * d->width;
    to += i * AMX_SIDE;
    for (int64_t n = 0; n < d->width; n += AMX_DEPTH, to += TERMS * AMX_TILE) {
        int64_t left = k + i < d->depth ? d->width - n : 0;
        VEC_PREFETCH(d->prefetch + at + n);
        VEC_PREFETCH(d->prefetch + at + n + AMX_SIDE);
        split(load_up_to(d->w + at + n, left),
              load_up_to(d->w + at + n + AMX_SIDE, left - AMX_SIDE), to, AMX_TILE, false);
    }
}

/* An AMX tile of sums += one of a, whose terms are in AMX tiles 3 to 5, times b's term `right`. */
#define TERMS_BY_AMX_TILE(sum, b)        \
    do {                                 \
        AMX_LOAD(7, (b), AMX_ROW_BYTES); \
        _tile_dpbf16ps(sum, 3, 7);       \
        if (a_terms > 1 && right < 2)    \
            _tile_dpbf16ps(sum, 4, 7);   \
        if (a_terms > 1 && right < 1)    \
            _tile_dpbf16ps(sum, 5, 7);   \
    } while (0)

VEC_INLINE void load_terms(const float *a, int a_terms)
{
    AMX_LOAD(3, a, AMX_ROW_BYTES);
    if (a_terms == 1)
        return;
    AMX_LOAD(4, a + AMX_TILE, AMX_ROW_BYTES);
    AMX_LOAD(5, a + 2 * AMX_TILE, AMX_ROW_BYTES);
}

static void dgrad(const dense_dgrad *d)
{
    enum {
        WIDTH_STEPS = (DENSE_PANEL + AMX_DEPTH - 1) / AMX_DEPTH,
        SPLITS = 3 /* between two AMX tiles of b */
    };
    const int a_terms = TERMS;
    float split_w[2][WIDTH_STEPS * TERMS * AMX_TILE] __attribute__((aligned(64)));
    float rest[AMX_SIDE * DENSE_LANES] __attribute__((aligned(64)));
    for (int64_t i = 0; i < AMX_SIDE; i++)
        split_columns(d, 0, i, split_w[0]);
    for (int64_t k = 0; k < d->depth; k += AMX_SIDE) {
        const int64_t left = d->depth - k;
        const float *a = split_w[k / AMX_SIDE % 2], *b = d->dy;
        float *next = left > AMX_SIDE ? split_w[(k / AMX_SIDE + 1) % 2] : NULL;
        float *dx = d->dx + k * DENSE_LANES, *to = left < AMX_SIDE ? rest : dx;
        int64_t row = 0;
        if (left < AMX_SIDE && d->add)
            memcpy(rest, dx, (size_t)(left * DENSE_LANES) * sizeof *dx);
        if (d->add) {
            AMX_LOAD(0, to, DENSE_LANES * 4);
            AMX_LOAD(1, to + AMX_SIDE, DENSE_LANES * 4);
        } else {
            _tile_zero(0);
            _tile_zero(1);
        }
        for (int64_t n = 0; n < d->width; n += AMX_DEPTH, a += TERMS * AMX_TILE) {
            load_terms(a, a_terms);
            for (int right = 0; right < TERMS; right++, b += LANE_AMX_TILES * AMX_TILE) {
                TERMS_BY_AMX_TILE(0, b);
                TERMS_BY_AMX_TILE(1, b + AMX_TILE);
                for (int i = 0; next && i < SPLITS && row < AMX_SIDE; i++)
                    split_columns(d, k + AMX_SIDE, row++, next);
            }
        }
        for (; next && row < AMX_SIDE; row++)
            split_columns(d, k + AMX_SIDE, row, next);
        AMX_STORE(0, to, DENSE_LANES * 4);
        AMX_STORE(1, to + AMX_SIDE, DENSE_LANES * 4);
        if (left < AMX_SIDE)
            memcpy(dx, rest, (size_t)(left * DENSE_LANES) * sizeof *dx);
    }
}

/* ---- wgrad -------------------------------------------------------------------------------- */

/* Without an optimizer rule: w -= rate g, or dw = or += g. */
static void apply_plain(const dense_wgrad *d, int64_t at, const float *g, int64_t count)
{
    float *to = (d->dw ? d->dw : d->w) + at;
    const vec factor = vec_all(d->dw ? 1 : -d->rate);
    for (int64_t i = 0; i < count; i += VEC_FLOATS) {
        int64_t left = count - i < VEC_FLOATS ? count - i : VEC_FLOATS;
        vec v = vec_load(g + i);
        if (!d->dw || d->add)
            v = v * factor + vec_load_first(to + i, left);
        vec_store_first(to + i, v, left);
    }
}

/* Rows k to k + rows - 1 of dW, to be stored or passed to the optimizer; `next` is the first that
   is not yet done. */
typedef struct wgrad_epilogue {
    const dense_wgrad *d;
    int64_t k, next, rows;
    const float *g; /* [16][DENSE_PANEL] */
} wgrad_epilogue;

/* Rows of whole panels are consecutive. */
VEC_INLINE void apply_rows(wgrad_epilogue *u, int64_t most)
{
    const dense_wgrad *d = u->d;
    const bool whole = d->width == DENSE_PANEL;
    const int64_t end = u->rows - u->next < most ? u->rows : u->next + most;
    while (u->next < end) {
        const int64_t rows = whole ? end - u->next : 1, at = (u->k + u->next) * d->width;
        const float *g = u->g + u->next * DENSE_PANEL;
        u->next += rows;
        if (!d->update) {
            apply_plain(d, at, g, rows * d->width);
            continue;
        }
        float *slot[DENSE_SLOTS];
        for (int i = 0; i < DENSE_SLOTS; i++)
            slot[i] = d->slot[i] ? d->slot[i] + at : NULL;
        d->update(d->constants, g, d->w + at, slot, rows * d->width);
    }
}

/* g[16][DENSE_PANEL] of rows k... of W. Meanwhile the epilogue of the previous 16 rows runs, a
   little at a time: all at once, its stores delayed the loads of AMX tiles. `prefetch` is ignored:
   the hardware prefetches the optimizer's slots in time, and explicit prefetching took longer. */
VEC_INLINE void wgrad_tile(const dense_wgrad *d, int a_terms, int64_t k, wgrad_epilogue *before,
                           float *g)
{
    enum { ROWS = 2 /* between two AMX tiles of b */ };
    const int amx_tiles = (int)blocks(d->width, AMX_SIDE);
    const float *a = d->x + k / AMX_SIDE * a_terms * AMX_TILE, *b = d->dy;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    load_terms(a, a_terms);
    for (int right = 0; right < TERMS; right++, b += PANEL_AMX_TILES * AMX_TILE) {
        TERMS_BY_AMX_TILE(0, b);
        apply_rows(before, ROWS);
        if (amx_tiles > 1)
            TERMS_BY_AMX_TILE(1, b + AMX_TILE);
        apply_rows(before, ROWS);
        if (amx_tiles > 2)
            TERMS_BY_AMX_TILE(2, b + 2 * AMX_TILE);
        apply_rows(before, ROWS);
    }
    AMX_STORE(0, g, PANEL_BYTES);
    AMX_STORE(1, g + AMX_SIDE, PANEL_BYTES);
    AMX_STORE(2, g + 2 * AMX_SIDE, PANEL_BYTES);
}

static void wgrad(const dense_wgrad *d)
{
    float g[2][AMX_SIDE * DENSE_PANEL] __attribute__((aligned(64)));
    wgrad_epilogue before = {.d = d};
    for (int64_t k = 0; k < d->depth; k += AMX_SIDE) {
        float *here = g[k / AMX_SIDE % 2];
        if (d->scale != 0)
            wgrad_tile(d, 1, k, &before, here);
        else
            wgrad_tile(d, TERMS, k, &before, here);
        before.k = k;
        before.next = 0;
        before.rows = d->depth - k < AMX_SIDE ? d->depth - k : AMX_SIDE;
        before.g = here;
    }
    apply_rows(&before, AMX_SIDE);
}

static void transpose(const float *from, int64_t from_stride, int64_t rows, int64_t columns,
                      float *to, int64_t to_stride)
{
    cpu_dense_avx512.transpose(from, from_stride, rows, columns, to, to_stride);
}

const dense_kernels ISA(cpu_dense) = {.fprop = fprop,
                                      .epilogue = epilogue,
                                      .dgrad = dgrad,
                                      .wgrad = wgrad,
                                      .x_floats = x_floats,
                                      .pack_x = pack_x,
                                      .wgrad_x_floats = wgrad_x_floats,
                                      .pack_wgrad_x = pack_wgrad_x,
                                      .pack_u8 = pack_u8,
                                      .pack_wgrad_u8 = pack_wgrad_u8,
                                      .panel_floats = panel_floats,
                                      .pack_dy = pack_dy,
                                      .lanes_floats = LANES_FLOATS,
                                      .pack_lanes = pack_lanes,
                                      .transpose = transpose,
                                      .begin = begin,
                                      .end = end,
                                      .forward_depth = 768,
                                      .backward_depth = 192,
                                      .grain = AMX_SIDE,
                                      .coarse_grain = AMX_DEPTH};
