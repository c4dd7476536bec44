/* The products of dense.h, for 17 to 32 rows of a batch, by matrix tiles (AMX). They multiply
   numbers of 16 bits (bfloat16, 8 bits of significand) and add in 32. A float is the sum of three
   such parts, exactly:

     x = x1 + x2 + x3,  x1 = x cut to 8 bits, x2 = x - x1 cut to 8 bits, x3 = x - x1 - x2

   and of the nine products of two floats' parts the six largest are added:

     x w = x1 w1 + x1 w2 + x2 w1 + x1 w3 + x2 w2 + x3 w1 + at most 2^-21 |x w|

   (G. Henry, P. Tang, A. Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For
   Higher-Precision Computations, 2019). What is left out has either sign, since x and dy are
   rounded to 8 bits, and only W is cut. A sum is within 1e-6 of that of its products' magnitudes
   (found: 4e-7, most of it the rounding of six times as many additions). A tile multiplies 16 times
   as fast as AVX-512, so six of them take 0.375 of its time. Differences from floats: an infinity,
   and what rounding to 8 bits makes one, becomes NaN; parts below 2^-126 count as 0.

   Pixels need no parts. Where x are bytes times a scale, their unit, 8 bits hold the bytes: three
   products are all. Sums are multiplied by the unit at the end, dy before.

   Operands are tiles of 1 KB, 16 rows of 16 pairs of numbers; the pairs go along the depth of the
   product. W is cut into parts between the multiplications, x and dy once a step (lay_...).

     forward   sum[32][48] += x W          32 of the depth at a time, 6 tiles of sums
     dx'       dx'[16 of depth][32] += W dy'
     dW        dW[16 of depth][48] = x' dy, whose update goes beside the next one's multiplications

   Measured on 2 cores with AMX and 2 MB of second-level cache each, a step over that with AVX-512:
   cifar10-mlp 0.65, cifar100-mlp 0.82; with pixels as bytes 0.86 and 0.87 of that. Where all is in
   the first-level cache the tiles never wait; here they run at 0.4 to 0.6 of their rate. Other
   batches, when those two were at 0.76 and 0.96: 28 0.84 and 1.00, 24 0.93 and 1.05, 20 1.05,
   17 1.18; batches of 50 and 100, in an earlier version: 1.05 to 1.4. */
#include "device/cpu/amx.h"
#include "device/cpu/bf16x3.h"
#include "device/cpu/dense/dense_kernels.h"
#include "device/cpu/vec_transpose.h"

/* STEP is also the most rows of a batch. */
enum {
    PANEL_BYTES = DENSE_PANEL * 4,
    PANEL_TILES = DENSE_PANEL / SIDE,
    LANE_TILES = DENSE_LANES / SIDE,
    STEP_FLOATS = PARTS * PANEL_TILES * TILE /* of a panel, cut */
};

extern const dense_kernels cpu_dense_avx512;

/* Into the first-level cache. */
#define VEC_PREFETCH_NEAR(p) __builtin_prefetch((p), 0, 3)

/* ---- parts -------------------------------------------------------------------------------- */

/* Pairs of bytes, the first 16 at a and b, or as many as are left; 8 bits hold them. */
VEC_INLINE vec pair_bytes(const uint8_t *a, int64_t a_left, const uint8_t *b, int64_t b_left)
{
    const uint32_t all = (1u << SIDE) - 1;
    const uint32_t a_mask = a_left >= SIDE ? all : a_left > 0 ? (1u << a_left) - 1 : 0;
    const uint32_t b_mask = b_left >= SIDE ? all : b_left > 0 ? (1u << b_left) - 1 : 0;
    __m128i left = _mm_maskz_loadu_epi8((__mmask16)a_mask, a);
    __m128i right = _mm_maskz_loadu_epi8((__mmask16)b_mask, b);
    bits low = (bits)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(left));
    bits high = (bits)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(right));
    return (vec)(low >> 16 | high);
}

/* The first `count` floats at p, of which more may be there; less than 1: zeros. */
VEC_INLINE vec load_up_to(const float *p, int64_t count)
{
    if (count >= VEC_FLOATS)
        return vec_load(p);
    return count > 0 ? vec_load_first(p, count) : (vec){0};
}

/* Multiply's x: [steps of depth][2 tiles of rows][parts] */
static int64_t x_floats(int64_t rows, int64_t depth)
{
    (void)rows;
    return blocks(depth, STEP) * 2 * PARTS * TILE;
}

static void pack_x(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to)
{
    for (int64_t k = 0; k < depth; k += STEP, to += 2 * PARTS * TILE)
        for (int64_t i = 0; i < STEP; i++) {
            const float *from = x + i * stride + k;
            int64_t left = i < rows ? depth - k : 0;
            /* Rows lie far apart: nobody but us sees the next ones coming. */
            VEC_PREFETCH_NEAR(from + 2 * STEP);
            VEC_PREFETCH_NEAR(from + 2 * STEP + SIDE);
            split(load_up_to(from, left), load_up_to(from + SIDE, left - SIDE),
                  to + i / SIDE * PARTS * TILE + i % SIDE * SIDE, TILE, true);
        }
}

/* Row i of bytes from column k on; any row where there is none, of which nothing is read. */
VEC_INLINE const uint8_t *row_of(const dense_u8 *x, int64_t i, int64_t rows, int64_t k)
{
    return x->from + x->index[i < rows ? i : 0] * x->columns + k;
}

/* [steps of depth][2 tiles of rows] */
static void pack_u8(const dense_u8 *x, int64_t rows, int64_t k, int64_t depth, float *to)
{
    for (int64_t i = 0; i < STEP; i++) {
        const uint8_t *from = row_of(x, i, rows, k);
        for (int64_t n = 0; n < depth; n += STEP) {
            const int64_t left = i < rows ? depth - n : 0;
            vec_store(to + n / STEP * 2 * TILE + i * SIDE,
                      pair_bytes(from + n, left, from + n + SIDE, left - SIDE));
        }
    }
}

/* v[i]: column i of from[rows][columns], of which only 16 by 16 count */
VEC_INLINE void load_transposed(const float *from, int64_t stride, int64_t rows, int64_t columns,
                                vec v[SIDE])
{
#pragma GCC unroll 16
    for (int i = 0; i < SIDE; i++) {
        v[i] = i < rows ? load_up_to(from + i * stride, columns) : (vec){0};
        VEC_PREFETCH_NEAR(from + i * stride + STEP);
    }
    vec_transpose(v);
}

/* A tile of columns: pairs of a's and b's columns i are its row i. */
static void lay_transposed(vec a[SIDE], vec b[SIDE], float *to, int64_t slice_stride)
{
    for (int i = 0; i < SIDE; i++)
        split(a[i], b[i], to + i * SIDE, slice_stride, true);
}

/* Gradient's x: [tiles of depth][parts] */
static int64_t wgrad_x_floats(int64_t rows, int64_t depth)
{
    (void)rows;
    return blocks(depth, SIDE) * PARTS * TILE;
}

static void pack_wgrad_x(const float *x, int64_t stride, int64_t rows, int64_t depth, float *to)
{
    for (int64_t k = 0; k < depth; k += SIDE, to += PARTS * TILE) {
        vec a[SIDE], b[SIDE];
        load_transposed(x + k, stride, rows, depth - k, a);
        load_transposed(x + SIDE * stride + k, stride, rows - SIDE, depth - k, b);
        lay_transposed(a, b, to, TILE);
    }
}

/* [tiles of depth] */
static void pack_wgrad_u8(const dense_u8 *x, int64_t rows, int64_t k, int64_t depth, float *to)
{
    for (int64_t n = 0; n < depth; n += SIDE, to += TILE) {
        vec v[SIDE];
#pragma GCC unroll 16
        for (int i = 0; i < SIDE; i++)
            v[i] = pair_bytes(row_of(x, i, rows, k + n), i < rows ? depth - n : 0,
                              row_of(x, i + SIDE, rows, k + n), i + SIDE < rows ? depth - n : 0);
        vec_transpose(v);
#pragma GCC unroll 16
        for (int i = 0; i < SIDE; i++)
            vec_store(to + i * SIDE, v[i]);
    }
}

/* Gradient's dy: [PARTS][PANEL_TILES] */
static int64_t panel_floats(int64_t rows)
{
    (void)rows;
    return STEP_FLOATS;
}

static void pack_dy(const float *dy, int64_t stride, int64_t rows, int64_t width, float factor,
                    float *panel, float sums[DENSE_PANEL])
{
    for (int64_t n = 0; n < DENSE_PANEL; n += SIDE) {
        vec sum = {0};
        for (int64_t i = 0; i < SIDE; i++) {
            const float *from = dy + i * stride + n;
            vec a = load_up_to(from, i < rows ? width - n : 0);
            vec b = load_up_to(from + SIDE * stride, i + SIDE < rows ? width - n : 0);
            sum += a;
            sum += b;
            split(a * vec_all(factor), b * vec_all(factor), panel + n / SIDE * TILE + i * SIDE,
                  PANEL_TILES * TILE, true);
        }
        vec_store(sums + n, sum);
    }
}

/* Data's dy: [steps of width][PARTS][LANE_TILES] */
enum { LANES_FLOATS = (DENSE_PANEL + STEP - 1) / STEP * PARTS * LANE_TILES * TILE };

static void pack_lanes(const float *dy, int64_t stride, int64_t rows, int64_t width, int64_t lanes,
                       float *to)
{
    (void)lanes;
    for (int64_t n = 0; n < width; n += STEP, to += PARTS * LANE_TILES * TILE)
        for (int64_t m = 0; m < LANE_TILES; m++) {
            const float *from = dy + m * SIDE * stride + n;
            vec a[SIDE], b[SIDE];
            load_transposed(from, stride, rows - m * SIDE, width - n, a);
            load_transposed(from + SIDE, stride, rows - m * SIDE, width - n - SIDE, b);
            lay_transposed(a, b, to + m * TILE, LANE_TILES * TILE);
        }
}

/* ---- tiles -------------------------------------------------------------------------------- */

static void begin(void)
{
    _tile_loadconfig(&amx_tiles_whole);
}

static void end(void)
{
    _tile_release();
}

/* ---- forward ------------------------------------------------------------------------------ */

/* Row i of one step's tiles [PARTS][PANEL_TILES]: rows i and i + 16 of W from row k on. `whole`:
   both are there, of a whole panel. */
VEC_INLINE void cut_pair(const dense_fprop *p, int64_t k, int64_t i, bool whole, float *to)
{
    const int64_t width = whole ? DENSE_PANEL : p->width, below = SIDE * width;
    const int64_t at = (k + i) * width, left = p->depth - k - i;
    const float *w = p->w + at, *prefetch = p->prefetch + at;
    to += i * SIDE;
#pragma GCC unroll 3
    for (int n = 0; n < PANEL_TILES; n++) {
        const int64_t columns = width - n * SIDE;
        if (columns <= 0)
            break;
        VEC_PREFETCH(prefetch + n * SIDE);
        VEC_PREFETCH(prefetch + below + n * SIDE);
        split(load_up_to(w + n * SIDE, whole || left > 0 ? columns : 0),
              load_up_to(w + below + n * SIDE, whole || left > SIDE ? columns : 0), to + n * TILE,
              PANEL_TILES * TILE, false);
    }
}

VEC_INLINE void cut_rows(const dense_fprop *p, int64_t k, int64_t i, float *to)
{
    if (p->width == DENSE_PANEL && p->depth - k - i > SIDE)
        cut_pair(p, k, i, true, to);
    else
        cut_pair(p, k, i, false, to);
}

/* Tiles c0 and c1 += two tiles of x by one of W; after each a row of what comes next is cut, where
   x has one part two. */
#define MULTIPLY_TILES(n, c0, c1)                                            \
    if ((n) < tiles) {                                                       \
        TILE_LOAD(7, b + (right * PANEL_TILES + (n)) * TILE, ROW_BYTES);     \
        for (int left = 0; left < x_parts && left + right < PARTS; left++) { \
            TILE_LOAD(6, a + left * TILE, ROW_BYTES);                        \
            _tile_dpbf16ps(c0, 6, 7);                                        \
            if (x_parts == 1 && next && cut < SIDE)                          \
                cut_rows(p, k + STEP, cut++, next);                          \
            TILE_LOAD(6, a + (x_parts + left) * TILE, ROW_BYTES);            \
            _tile_dpbf16ps(c1, 6, 7);                                        \
            if (next && cut < SIDE)                                          \
                cut_rows(p, k + STEP, cut++, next);                          \
        }                                                                    \
    }

/* A step: a and b are its x and W; W's next one is cut into `next`, unless that is NULL. */
VEC_INLINE void multiply_step(const dense_fprop *p, int x_parts, int64_t k, int tiles,
                              const float *a, const float *b, float *next)
{
    int64_t cut = 0;
#pragma GCC unroll 3
    for (int right = 0; right < PARTS; right++) {
        MULTIPLY_TILES(0, 0, 3)
        MULTIPLY_TILES(1, 1, 4)
        MULTIPLY_TILES(2, 2, 5)
    }
    for (; next && cut < SIDE; cut++)
        cut_rows(p, k + STEP, cut, next);
}

/* Tiles 0 to 2 are rows 0 to 15 of sum, 3 to 5 the 16 at `low`. */
#define SUM_TILES(action, sum, low)               \
    do {                                          \
        action(0, (sum), PANEL_BYTES);            \
        action(1, (sum) + SIDE, PANEL_BYTES);     \
        action(2, (sum) + 2 * SIDE, PANEL_BYTES); \
        action(3, (low), PANEL_BYTES);            \
        action(4, (low) + SIDE, PANEL_BYTES);     \
        action(5, (low) + 2 * SIDE, PANEL_BYTES); \
    } while (0)

VEC_INLINE void multiply_parts(const dense_fprop *p, int x_parts)
{
    float parts[2][STEP_FLOATS] __attribute__((aligned(64)));
    float rest[SIDE * DENSE_PANEL] __attribute__((aligned(64)));
    const int tiles = (int)blocks(p->width, SIDE);
    const size_t low_bytes = (size_t)(p->rows - SIDE) * PANEL_BYTES;
    float *low_sum = p->sum + SIDE * DENSE_PANEL, *low = p->rows < STEP ? rest : low_sum;
    const float *a = p->x;
    for (int64_t i = 0; i < SIDE; i++)
        cut_rows(p, 0, i, parts[0]);
    if (p->add) {
        if (low == rest)
            memcpy(low, low_sum, low_bytes);
        SUM_TILES(TILE_LOAD, p->sum, low);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        _tile_zero(4);
        _tile_zero(5);
    }
    for (int64_t k = 0; k < p->depth; k += STEP, a += 2 * x_parts * TILE) {
        const int64_t step = k / STEP;
        float *next = k + STEP < p->depth ? parts[(step + 1) % 2] : NULL;
        multiply_step(p, x_parts, k, tiles, a, parts[step % 2], next);
    }
    SUM_TILES(TILE_STORE, p->sum, low);
    if (low == rest)
        memcpy(low_sum, low, low_bytes);
}

static void fprop(const dense_fprop *p)
{
    if (p->unit != 0)
        multiply_parts(p, 1);
    else
        multiply_parts(p, PARTS);
}

static void epilogue(const dense_epilogue *f)
{
    cpu_dense_avx512.epilogue(f);
}

/* ---- backward: dx ------------------------------------------------------------------------- */

/* Row i of tiles [steps of width][PARTS]: columns j and j + 16 of row k + i of W */
VEC_INLINE void cut_columns(const dense_dgrad *d, int64_t k, int64_t i, float *to)
{
    const int64_t at = (k + i) * d->width;
    to += i * SIDE;
    for (int64_t n = 0; n < d->width; n += STEP, to += PARTS * TILE) {
        int64_t left = k + i < d->depth ? d->width - n : 0;
        VEC_PREFETCH(d->prefetch + at + n);
        VEC_PREFETCH(d->prefetch + at + n + SIDE);
        split(load_up_to(d->w + at + n, left), load_up_to(d->w + at + n + SIDE, left - SIDE), to,
              TILE, false);
    }
}

/* A tile of sums += one of a, its parts in tiles 3 to 5, times part `right` of one of b. */
#define PARTS_BY_TILE(sum, b)          \
    do {                               \
        TILE_LOAD(7, (b), ROW_BYTES);  \
        _tile_dpbf16ps(sum, 3, 7);     \
        if (a_parts > 1 && right < 2)  \
            _tile_dpbf16ps(sum, 4, 7); \
        if (a_parts > 1 && right < 1)  \
            _tile_dpbf16ps(sum, 5, 7); \
    } while (0)

VEC_INLINE void load_parts(const float *a, int a_parts)
{
    TILE_LOAD(3, a, ROW_BYTES);
    if (a_parts == 1)
        return;
    TILE_LOAD(4, a + TILE, ROW_BYTES);
    TILE_LOAD(5, a + 2 * TILE, ROW_BYTES);
}

static void dgrad(const dense_dgrad *d)
{
    enum { WIDTH_STEPS = (DENSE_PANEL + STEP - 1) / STEP, CUTS = 3 /* between two tiles */ };
    const int a_parts = PARTS;
    float parts[2][WIDTH_STEPS * PARTS * TILE] __attribute__((aligned(64)));
    float rest[SIDE * DENSE_LANES] __attribute__((aligned(64)));
    for (int64_t i = 0; i < SIDE; i++)
        cut_columns(d, 0, i, parts[0]);
    for (int64_t k = 0; k < d->depth; k += SIDE) {
        const int64_t left = d->depth - k;
        const float *a = parts[k / SIDE % 2], *b = d->dy;
        float *next = left > SIDE ? parts[(k / SIDE + 1) % 2] : NULL;
        float *dx = d->dx + k * DENSE_LANES, *to = left < SIDE ? rest : dx;
        int64_t cut = 0;
        if (left < SIDE && d->add)
            memcpy(rest, dx, (size_t)(left * DENSE_LANES) * sizeof *dx);
        if (d->add) {
            TILE_LOAD(0, to, DENSE_LANES * 4);
            TILE_LOAD(1, to + SIDE, DENSE_LANES * 4);
        } else {
            _tile_zero(0);
            _tile_zero(1);
        }
        for (int64_t n = 0; n < d->width; n += STEP, a += PARTS * TILE) {
            load_parts(a, a_parts);
            for (int right = 0; right < PARTS; right++, b += LANE_TILES * TILE) {
                PARTS_BY_TILE(0, b);
                PARTS_BY_TILE(1, b + TILE);
                for (int i = 0; next && i < CUTS && cut < SIDE; i++)
                    cut_columns(d, k + SIDE, cut++, next);
            }
        }
        for (; next && cut < SIDE; cut++)
            cut_columns(d, k + SIDE, cut, next);
        TILE_STORE(0, to, DENSE_LANES * 4);
        TILE_STORE(1, to + SIDE, DENSE_LANES * 4);
        if (left < SIDE)
            memcpy(dx, rest, (size_t)(left * DENSE_LANES) * sizeof *dx);
    }
}

/* ---- backward: dW ------------------------------------------------------------------------- */

/* Where there is no rule: w -= rate g, or dw = or += g. */
static void use_plainly(const dense_wgrad *d, int64_t at, const float *g, int64_t count)
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

/* A tile's rows of the gradient, of which `next` is the first that is not used yet. */
typedef struct user {
    const dense_wgrad *d;
    int64_t k, next, rows;
    const float *g; /* [16][DENSE_PANEL] */
} user;

/* Rows of whole panels lie one behind the other. */
VEC_INLINE void use_some(user *u, int64_t most)
{
    const dense_wgrad *d = u->d;
    const bool whole = d->width == DENSE_PANEL;
    const int64_t end = u->rows - u->next < most ? u->rows : u->next + most;
    while (u->next < end) {
        const int64_t rows = whole ? end - u->next : 1, at = (u->k + u->next) * d->width;
        const float *g = u->g + u->next * DENSE_PANEL;
        u->next += rows;
        if (!d->update) {
            use_plainly(d, at, g, rows * d->width);
            continue;
        }
        float *slot[DENSE_SLOTS];
        for (int i = 0; i < DENSE_SLOTS; i++)
            slot[i] = d->slot[i] ? d->slot[i] + at : NULL;
        d->update(d->constants, g, d->w + at, slot, rows * d->width);
    }
}

/* g[16][DENSE_PANEL] of rows k... of W. Meanwhile the tile before is used, a little at a time: all
   at once, its stores held up the loads of tiles. What `prefetch` has is left to the hardware's
   prefetching, which brings the optimizer's slots in time; asking for it took longer. */
VEC_INLINE void gradient_tile(const dense_wgrad *d, int a_parts, int64_t k, user *before, float *g)
{
    enum { ROWS = 2 /* between two tiles of b */ };
    const int tiles = (int)blocks(d->width, SIDE);
    const float *a = d->x + k / SIDE * a_parts * TILE, *b = d->dy;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    load_parts(a, a_parts);
    for (int right = 0; right < PARTS; right++, b += PANEL_TILES * TILE) {
        PARTS_BY_TILE(0, b);
        use_some(before, ROWS);
        if (tiles > 1)
            PARTS_BY_TILE(1, b + TILE);
        use_some(before, ROWS);
        if (tiles > 2)
            PARTS_BY_TILE(2, b + 2 * TILE);
        use_some(before, ROWS);
    }
    TILE_STORE(0, g, PANEL_BYTES);
    TILE_STORE(1, g + SIDE, PANEL_BYTES);
    TILE_STORE(2, g + 2 * SIDE, PANEL_BYTES);
}

static void wgrad(const dense_wgrad *d)
{
    float g[2][SIDE * DENSE_PANEL] __attribute__((aligned(64)));
    user before = {.d = d};
    for (int64_t k = 0; k < d->depth; k += SIDE) {
        float *here = g[k / SIDE % 2];
        if (d->unit != 0)
            gradient_tile(d, 1, k, &before, here);
        else
            gradient_tile(d, PARTS, k, &before, here);
        before.k = k;
        before.next = 0;
        before.rows = d->depth - k < SIDE ? d->depth - k : SIDE;
        before.g = here;
    }
    use_some(&before, SIDE);
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
                                      .grain = SIDE,
                                      .coarse_grain = STEP};
