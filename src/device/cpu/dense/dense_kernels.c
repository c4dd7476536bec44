/* Microkernels of dense layers by vectors:
     fprop   sum[rows][48] += x W                 tiles of ROWS rows of x by 3 vectors of W
     dgrad   dx'[depth][32] += W dy'              tiles of DGRAD_ROWS rows of W by 2 vectors of dy'
     wgrad   dW[depth][48] = x' dy, then update   tiles of ROWS rows of W by 3 vectors of dy
   A tile stays in registers over the whole depth (rows, for dW); a panel of 48 columns is one tile
   wide with AVX-512, two with AVX2, four with 128 bits. dx is summed transposed, so that W is read
   along its rows: a vector holds rows of the batch. dW goes from registers through 1.5 KB of cache
   to the optimizer's rule, so that w and its slots are read and written once.

   Meanwhile the next blocks are prefetched into the second-level cache, spread over the
   multiplications.

   Fraction of a register-only FMA probe, AVX-512 on Cascade Lake, one thread, batch 32, in the
   second-level cache: fprop 0.93, dgrad 0.93, wgrad + sgd 0.85.
   Tried without gain: copies of x for the forward pass, blocks of 48 to 384 rows, updating inside
   the multiplication loop (loads wait for stores 4096 bytes apart), a square root by Newton. */
#include "device/cpu/dense/dense_kernels.h"
#include "device/cpu/vec.h"

/* ---- operands ---------------------------------------------------------------------------- */

/* x for wgrad, dy in panels for wgrad and transposed for dgrad; fprop reads x in place. */

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

/* ---- sizes of tiles ---------------------------------------------------------------------- */

#define VECS 3
#define COLUMNS (VECS * VEC_FLOATS)
#if VEC_COUNT == 32
#define ROWS 8
#define DGRAD_ROWS 12
#else
#define ROWS 4
#define DGRAD_ROWS 6
#endif
#define DGRAD_VECS 2

/* ---- tiles of fprop and wgrad ------------------------------------------------------------- */

/* c[row][column] = sum over k of a(row, k) b[k][column], or c + factor * sum */
typedef struct tile {
    const float *a;
    int64_t a_row,
        a_step; /* from one row to the next, from one k to the next: one of the two is 1 */
    const float *b;
    int64_t b_step;
    float *c;
    int64_t c_row, depth;
    int64_t last; /* columns of the last vector, if it is masked */
    bool add;
    float factor;                /* fprop: taken as 1 */
    const float *prefetch[VECS]; /* step k prefetches the memory at k * prefetch_step of each; */
    int64_t prefetch_step;       /* in wgrad also for c */
} tile;

typedef void tile_function(const tile *t);

/* The width of a whole panel is a constant, so that the addresses need no arithmetic, which would
   delay the next tile. */
VEC_INLINE void tile_store(vec sum[ROWS][VECS], int rows, int vecs, bool masked, bool add,
                           bool transposed, const tile *t)
{
    const int64_t c_row = !masked && COLUMNS == DENSE_PANEL ? DENSE_PANEL : t->c_row,
                  last = t->last;
    const vec factor = vec_all(t->factor);
    float *c = t->c;
    UNROLL(8)
    for (int r = 0; r < rows; r++, c += c_row) {
        UNROLL(3)
        for (int v = 0; v < vecs; v++) {
            float *to = c + v * VEC_FLOATS;
            bool masks = masked && v == vecs - 1;
            if (add) {
                vec before = masks ? vec_load_first(to, last) : vec_load(to);
                sum[r][v] = transposed ? sum[r][v] * factor + before : sum[r][v] + before;
            }
            if (masks)
                vec_store_first(to, sum[r][v], last);
            else
                vec_store(to, sum[r][v]);
        }
    }
}

VEC_INLINE void tile_run(int rows, int vecs, bool masked, int streams, bool transposed,
                         const tile *t)
{
    vec sum[ROWS][VECS];
    const int64_t a_row = transposed ? 1 : t->a_row, a_step = transposed ? t->a_step : 1;
    const float *a = t->a, *b = t->b;
    int64_t line = 0;
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(3)
        for (int v = 0; v < vecs; v++)
            sum[r][v] = (vec){0};
    }
    for (int64_t k = 0; k < t->depth; k++) {
        vec right[VECS];
        UNROLL(3)
        for (int v = 0; v < vecs; v++)
            right[v] = masked && v == vecs - 1 ? vec_load_first(b + v * VEC_FLOATS, t->last)
                                               : vec_load(b + v * VEC_FLOATS);
        UNROLL(3)
        for (int s = 0; s < streams; s++)
            VEC_PREFETCH(t->prefetch[s] + line);
        if (transposed)
            VEC_PREFETCH_WRITE_L1(t->c + line);
        UNROLL(8)
        for (int r = 0; r < rows; r++) {
            vec left = vec_all(a[r * a_row]);
            UNROLL(3)
            for (int v = 0; v < vecs; v++)
                sum[r][v] += left * right[v];
        }
        a += a_step;
        b += t->b_step;
        line += t->prefetch_step;
    }
    if (t->add)
        tile_store(sum, rows, vecs, masked, true, transposed, t);
    else
        tile_store(sum, rows, vecs, masked, false, transposed, t);
}

/* One function for each number of rows and each width: `masked` where the last vector may be
   narrower. */
#define TILES(name, rows, streams, transposed)            \
    static void name##_full(const tile *t)                \
    {                                                     \
        tile_run(rows, 3, false, streams, transposed, t); \
    }                                                     \
    static void name##_masked_1(const tile *t)            \
    {                                                     \
        tile_run(rows, 1, true, streams, transposed, t);  \
    }                                                     \
    static void name##_masked_2(const tile *t)            \
    {                                                     \
        tile_run(rows, 2, true, streams, transposed, t);  \
    }                                                     \
    static void name##_masked_3(const tile *t)            \
    {                                                     \
        tile_run(rows, 3, true, streams, transposed, t);  \
    }
#define TILE_ROW(name)                                                 \
    {                                                                  \
        name##_full, name##_masked_1, name##_masked_2, name##_masked_3 \
    }

TILES(fprop_1, 1, 1, false)
TILES(fprop_2, 2, 1, false)
TILES(fprop_3, 3, 1, false)
TILES(fprop_4, 4, 1, false)
#if ROWS == 8
TILES(fprop_5, 5, 1, false)
TILES(fprop_6, 6, 1, false)
TILES(fprop_7, 7, 1, false)
TILES(fprop_8, 8, 1, false)
#endif
TILES(wgrad_1, ROWS, 1, true)
TILES(wgrad_3, ROWS, 3, true)

static tile_function *const fprop_tiles[ROWS][VECS + 1] = {
    TILE_ROW(fprop_1), TILE_ROW(fprop_2), TILE_ROW(fprop_3), TILE_ROW(fprop_4),
#if ROWS == 8
    TILE_ROW(fprop_5), TILE_ROW(fprop_6), TILE_ROW(fprop_7), TILE_ROW(fprop_8),
#endif
};
static tile_function *const wgrad_tiles[2][VECS + 1] = {TILE_ROW(wgrad_1), TILE_ROW(wgrad_3)};

/* Index in a row of functions for `columns` columns; *last is the number of columns in its last
   vector. */
static int tile_width(int64_t columns, int64_t *last)
{
    if (columns >= COLUMNS)
        return 0;
    int vecs = (int)((columns + VEC_FLOATS - 1) / VEC_FLOATS);
    *last = columns - (vecs - 1) * VEC_FLOATS;
    return vecs;
}

/* Floats per step, to prefetch `floats` in `steps` steps. Even spacing matters: a core can have few
   cache misses in flight, and its immediate loads wait for them. */
VEC_INLINE int64_t prefetch_distance(int64_t floats, int64_t steps)
{
    uint32_t each = ((uint32_t)floats + (uint32_t)steps - 1) / (uint32_t)steps;
    return each < LINE ? each : LINE;
}

/* Rows are divided into tiles that differ by at most one: 33 are 7 7 7 6 6, not 8 8 8 8 1. Each
   tile prefetches an equal amount of the next block. */
static void fprop(const dense_fprop *p)
{
    /* 32 bits: a 64-bit division takes as long as ten steps of a tile. */
    uint32_t all = (uint32_t)p->rows, tiles = (all + ROWS - 1) / ROWS;
    uint32_t least = all % ROWS == 0 ? ROWS : all / tiles, more = all - least * tiles;
    const int64_t prefetch_step = prefetch_distance(p->width, tiles);
    tile t = {.a = p->x,
              .a_row = p->x_stride,
              .a_step = 1,
              .b_step = p->width,
              .c_row = DENSE_PANEL,
              .depth = p->depth,
              .add = p->add};
    float *sum = p->sum;
    for (uint32_t i = 0; i < tiles; i++) {
        uint32_t rows = least + (i < more);
        t.prefetch[0] = p->prefetch + i * p->depth * prefetch_step;
        t.prefetch_step = i * prefetch_step < p->width ? prefetch_step : 0;
        for (int64_t n = 0; n < p->width; n += COLUMNS) {
            t.b = p->w + n;
            t.c = sum + n;
            fprop_tiles[rows - 1][tile_width(p->width - n, &t.last)](&t);
            t.prefetch_step = 0;
        }
        t.a += rows * p->x_stride;
        sum += rows * DENSE_PANEL;
    }
}

/* ---- epilogue: y = act(sum + bias) -------------------------------------------------------- */

VEC_INLINE vec rectify(vec v)
{
    return vec_select(v < 0, (vec){0}, v); /* a NaN stays */
}

static void epilogue(const dense_epilogue *f)
{
    for (int64_t r = 0; r < f->rows; r++) {
        const float *slice = f->slices + r * DENSE_PANEL;
        float *y = f->y + r * f->y_stride;
        for (int64_t n = 0; n < f->width; n += VEC_FLOATS) {
            int64_t left = f->width - n < VEC_FLOATS ? f->width - n : VEC_FLOATS;
            vec sum = vec_load(slice + n);
            for (int64_t k = 1; k < f->slice_count; k++)
                sum += vec_load(slice + k * f->slice_stride + n);
            sum *= vec_all(f->factor);
            if (f->bias)
                sum += vec_load_first(f->bias + n, left);
            vec_store_first(y + n, f->relu ? rectify(sum) : sum, left);
        }
    }
}

/* ---- dgrad -------------------------------------------------------------------------------- */

VEC_INLINE void dgrad_store(vec sum[DGRAD_ROWS][DGRAD_VECS], int rows, int vecs, int64_t lanes,
                            bool add, float *dx)
{
    UNROLL(12)
    for (int r = 0; r < rows; r++) {
        UNROLL(2)
        for (int v = 0; v < vecs; v++) {
            float *to = dx + r * lanes + v * VEC_FLOATS;
            vec_store(to, add ? vec_load(to) + sum[r][v] : sum[r][v]);
        }
    }
}

/* `rows` rows of W from k on, `vecs` of the vectors of `lanes` lanes. Its steps prefetch the same
   rows of the next block, if rows is DGRAD_ROWS. */
VEC_INLINE void dgrad_tile(int rows, int vecs, int64_t lanes, int64_t width, const dense_dgrad *d,
                           int64_t k, int64_t lane, const float *prefetch)
{
    vec sum[DGRAD_ROWS][DGRAD_VECS];
    float *dx = d->dx + k * lanes + lane;
    UNROLL(12)
    for (int r = 0; r < rows; r++) {
        UNROLL(2)
        for (int v = 0; v < vecs; v++)
            sum[r][v] = (vec){0};
    }
    const float *w = d->w + k * width, *dy = d->dy + lane;
    for (int64_t n = 0; n < width; n++) {
        vec right[DGRAD_VECS];
        UNROLL(2)
        for (int v = 0; v < vecs; v++)
            right[v] = vec_load(dy + v * VEC_FLOATS);
        VEC_PREFETCH(prefetch);
        UNROLL(12)
        for (int r = 0; r < rows; r++) {
            vec left = vec_all(w[r * width]);
            UNROLL(2)
            for (int v = 0; v < vecs; v++)
                sum[r][v] += left * right[v];
        }
        w++;
        dy += lanes;
        prefetch += DGRAD_ROWS;
    }
    if (d->add)
        dgrad_store(sum, rows, vecs, lanes, true, dx);
    else
        dgrad_store(sum, rows, vecs, lanes, false, dx);
}

VEC_INLINE void dgrad_rows(int vecs, int64_t lanes, int64_t width, const dense_dgrad *d,
                           int64_t lane, const float *prefetch)
{
    int64_t k = 0;
    for (; d->depth - k >= DGRAD_ROWS; k += DGRAD_ROWS)
        dgrad_tile(DGRAD_ROWS, vecs, lanes, width, d, k, lane, prefetch + k * width);
    for (; d->depth - k >= 4; k += 4)
        dgrad_tile(4, vecs, lanes, width, d, k, lane, prefetch + k * width);
    for (; k < d->depth; k++)
        dgrad_tile(1, vecs, lanes, width, d, k, lane, prefetch + k * width);
}

/* Lanes and the width of almost all panels are constants, so that the addresses need no
   registers. */
#define HALF_VECS (DENSE_LANES / 2 < DGRAD_VECS * VEC_FLOATS ? 1 : DGRAD_VECS)
#define DGRAD_ROWS_FUNCTION(name, vecs, lanes, width)                           \
    static void name(const dense_dgrad *d, int64_t lane, const float *prefetch) \
    {                                                                           \
        dgrad_rows(vecs, lanes, width, d, lane, prefetch);                      \
    }
DGRAD_ROWS_FUNCTION(dgrad_full, DGRAD_VECS, DENSE_LANES, DENSE_PANEL)
DGRAD_ROWS_FUNCTION(dgrad_narrow, DGRAD_VECS, DENSE_LANES, d->width)
DGRAD_ROWS_FUNCTION(dgrad_half_full, HALF_VECS, DENSE_LANES / 2, DENSE_PANEL)
DGRAD_ROWS_FUNCTION(dgrad_half_narrow, HALF_VECS, DENSE_LANES / 2, d->width)

static void dgrad(const dense_dgrad *d)
{
    bool full = d->width == DENSE_PANEL;
    const float *prefetch = d->prefetch;
    for (int64_t lane = 0; lane < d->lanes; lane += DGRAD_VECS * VEC_FLOATS) {
        if (d->lanes == DENSE_LANES)
            (full ? dgrad_full : dgrad_narrow)(d, lane, prefetch);
        else
            (full ? dgrad_half_full : dgrad_half_narrow)(d, lane, prefetch);
        prefetch = d->w;
    }
}

/* ---- wgrad -------------------------------------------------------------------------------- */

/* c[ROWS][width] = or += factor x' dy for the rows k... of W */
static void wgrad_rows(const dense_wgrad *d, int64_t k, tile *t, bool many, float *c)
{
    t->a = d->x + k;
    t->c_row = d->width;
    const int64_t prefetch_step = t->prefetch_step;
    for (int64_t n = 0; n < d->width; n += COLUMNS) {
        t->b = d->dy + n;
        t->c = c + n;
        wgrad_tiles[many][tile_width(d->width - n, &t->last)](t);
        t->prefetch_step = 0;
    }
    t->prefetch_step = prefetch_step;
}

/* For fewer rows than a tile's: add `count` elements of the gradient. */
static void add_rest(const tile *t, const float *g, float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = t->add ? to[i] + t->factor * g[i] : g[i];
}

static void update_rows(const dense_wgrad *d, int64_t at, const float *g, int64_t count)
{
    float *slot[DENSE_SLOTS];
    for (int i = 0; i < DENSE_SLOTS; i++)
        slot[i] = d->slot[i] ? d->slot[i] + at : NULL;
    d->update(d->constants, g, d->w + at, slot, count);
}

static void wgrad(const dense_wgrad *d)
{
    float g[ROWS * DENSE_PANEL] __attribute__((aligned(64)));
    float *target = d->dw ? d->dw : d->w;
    bool add = d->dw ? d->add : true;
    int streams = 0;
    while (streams < VECS && d->prefetch[streams])
        streams++;
    tile t = {
        .a_row = 1, .a_step = wgrad_stride(d->depth), .b_step = DENSE_PANEL, .depth = d->rows};
    t.prefetch_step = streams > 0 ? prefetch_distance(ROWS * d->width, d->rows) : 0;
    t.factor = d->dw ? 1 : -d->rate;
    for (int64_t k = 0; k < d->depth; k += ROWS) {
        int64_t rows = d->depth - k < ROWS ? d->depth - k : ROWS, at = k * d->width;
        bool direct = !d->update && rows == ROWS;
        for (int s = 0; s < VECS; s++)
            t.prefetch[s] = s < streams ? d->prefetch[s] + at : d->dy;
        t.add = direct && add;
        wgrad_rows(d, k, &t, streams > 1, direct ? target + at : g);
        t.add = add;
        if (d->update)
            update_rows(d, at, g, rows * d->width);
        else if (!direct)
            add_rest(&t, g, target + at, rows * d->width);
    }
}

const dense_kernels ISA(cpu_dense) = {.fprop = fprop,
                                      .epilogue = epilogue,
                                      .dgrad = dgrad,
                                      .wgrad = wgrad,
                                      .wgrad_x_floats = wgrad_x_floats,
                                      .pack_wgrad_x = pack_wgrad_x,
                                      .panel_floats = panel_floats,
                                      .pack_dy = pack_dy,
                                      .lanes_floats = DENSE_PANEL * DENSE_LANES,
                                      .pack_lanes = pack_lanes,
                                      .transpose = transpose,
                                      .forward_depth = 128,
                                      .backward_depth = 96,
                                      .grain = 8,
                                      .coarse_grain = 24};
