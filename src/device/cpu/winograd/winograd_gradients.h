/* The gradients' transforms for winograd_tiles.h: the transform of dy, for dw and dx, and the
   transforms back to dx and dw. */
#include "device/cpu/pool/pool_codes.h"
#include "device/cpu/winograd/winograd_strips.h"

/* ---- gradient of y ---------------------------------------------------------------------- */

/* A pair's rows of positions of one tile. */
VEC_INLINE void gradient_pair(int pair, bool alone, vec d[STEP][STEP], float *to, int64_t stride)
{
    vec across[2][STEP];
    UNROLL(4)
    for (int j = 0; j < STEP; j++) {
        vec column[STEP], t[2];
        UNROLL(4)
        for (int i = 0; i < STEP; i++)
            column[i] = d[i][j];
        evaluate_pair(pair, column, STEP, t);
        across[0][j] = t[0];
        across[1][j] = t[1];
    }
    UNROLL(2)
    for (int i = 0; i < 2; i++) {
        vec t[SIZE];
        evaluate(across[i], STEP, t);
        UNROLL(8)
        for (int j = 0; j < SIZE; j++)
            vec_store(to + (SIZE * rank_of(pair, i, alone) + j) * stride, t[j]);
    }
}

/* The start of a tile: its first pixel, or window. */
typedef struct tile_pixels {
    const float *dy;
    const uint8_t *codes;
    int64_t row, column;   /* elements from row to row, from column to column */
    int64_t rows, columns; /* in the image */
    int64_t left;          /* channels */
} tile_pixels;

/* The whole tile is in the image. Returns the sum of its pixels. */
VEC_INLINE vec load_tile(const tile_pixels *p, vec d[STEP][STEP])
{
    vec sum = {0};
    UNROLL(4)
    for (int i = 0; i < STEP; i++) {
        UNROLL(4)
        for (int j = 0; j < STEP; j++) {
            d[i][j] = vec_load(p->dy + i * p->row + j * p->column);
            sum += d[i][j];
        }
    }
    return sum;
}

/* Pass a window's gradient back to its pixels, at d and its neighbours. Returns their sum. */
VEC_INLINE vec give_back(vec v, vec_mask code, vec *d)
{
    d[0] = (vec)((code == 0) & (vec_mask)v);
    d[1] = (vec)((code == 1) & (vec_mask)v);
    d[STEP] = (vec)((code == 2) & (vec_mask)v);
    d[STEP + 1] = (vec)((code == 3) & (vec_mask)v);
    return (vec)((code < POOL_NOWHERE) & (vec_mask)v);
}

VEC_INLINE vec load_windows(const tile_pixels *p, vec d[STEP][STEP])
{
    vec sum = {0};
    UNROLL(2)
    for (int i = 0; i < STEP; i += 2) {
        UNROLL(2)
        for (int j = 0; j < STEP; j += 2) {
            const int64_t at = i / 2 * p->row + j / 2 * p->column;
            sum += give_back(vec_load(p->dy + at), pool_load_codes(p->codes + at), &d[i][j]);
        }
    }
    return sum;
}

/* The same at the edge of the image, or for the last channels. */
__attribute__((noinline)) static vec load_edge(bool pool, const tile_pixels *p, vec d[STEP][STEP])
{
    const bool whole = p->left >= VEC_FLOATS;
    const int window = pool ? 2 : 1;
    vec sum = {0};
    memset(d, 0, STEP * STEP * sizeof(vec));
    for (int i = 0; i < STEP / window && i < p->rows; i++)
        for (int j = 0; j < STEP / window && j < p->columns; j++) {
            const int64_t at = i * p->row + j * p->column;
            vec v = load_channels(p->dy + at, p->left, whole), *to = &d[window * i][window * j];
            if (pool)
                v = give_back(v,
                              whole ? pool_load_codes(p->codes + at)
                                    : pool_load_first_codes(p->codes + at, p->left),
                              to);
            else
                *to = v;
            sum += v;
        }
    return sum;
}

/* One vector of channels of a tile; returns the sum of its pixels. */
VEC_INLINE vec gradient_tile(int wanted, bool pool, const tile_pixels *p, float *to, int64_t stride)
{
    const int step = pool ? STEP / 2 : STEP;
    vec d[STEP][STEP], sum;
    if (p->left >= VEC_FLOATS && p->rows >= step && p->columns >= step) {
        sum = pool ? load_windows(p, d) : load_tile(p, d);
    } else {
        vec edge[STEP][STEP];
        sum = load_edge(pool, p, edge);
        memcpy(d, edge, sizeof d);
    }
    UNROLL(4)
    for (int pair = 0; pair < PAIRS; pair++)
        if (wanted == WINOGRAD_ALL || wanted == pair)
            gradient_pair(pair, wanted != WINOGRAD_ALL, d, to, stride);
    return sum;
}

/* One vector of channels of a strip. */
VEC_INLINE void gradient_strip(int wanted, bool pool, tile_pixels p, int64_t tiles, float *to,
                               const winograd_positions *z, float *sums)
{
    const bool whole = p.left >= VEC_FLOATS;
    const int step = pool ? STEP / 2 : STEP;
    vec sum = {0};
    for (int64_t k = 0; k < tiles; k++, to += z->row) {
        sum += gradient_tile(wanted, pool, &p, to, z->stride);
        p.dy += step * p.column;
        p.codes = pool ? p.codes + step * p.column : NULL;
        p.columns -= step;
    }
    if (sums && wanted <= 0)
        store_channels(sums, load_channels(sums, p.left, whole) + sum, p.left, whole);
}

VEC_INLINE void gradient_rows(int wanted, bool pool, const winograd_image *g,
                              const winograd_gradient *dy, int64_t begin, int64_t end,
                              const winograd_positions *z, float *sums)
{
    const int window = pool ? 2 : 1, step = STEP / window;
    const int64_t height = g->height / window, width = g->width / window;
    for (int64_t tile = begin; tile < end;) {
        strip s = strip_at(g, tile, end);
        const int64_t at = ((s.image * height + step * s.row) * width + step * s.column);
        for (int64_t c = 0; c < g->channels; c += VEC_FLOATS)
            gradient_strip(wanted, pool,
                           (tile_pixels){.dy = dy->dy + at * g->channels + c,
                                         .codes = pool ? dy->codes + at * g->channels + c : NULL,
                                         .row = width * g->channels,
                                         .column = g->channels,
                                         .rows = height - step * s.row,
                                         .columns = width - step * s.column,
                                         .left = g->channels - c},
                           s.tiles, z->data + (tile - begin) * z->row + c, z,
                           sums ? sums + c : NULL);
        tile += s.tiles;
    }
}

/* Separate functions: see the input's. */
#define GRADIENT_ROWS(name, wanted)                                                       \
    __attribute__((noinline)) static void gradient_##name(                                \
        const winograd_image *g, const winograd_gradient *dy, int64_t begin, int64_t end, \
        const winograd_positions *z, float *sums)                                         \
    {                                                                                     \
        if (dy->codes)                                                                    \
            gradient_rows(wanted, true, g, dy, begin, end, z, sums);                      \
        else                                                                              \
            gradient_rows(wanted, false, g, dy, begin, end, z, sums);                     \
    }
GRADIENT_ROWS(all, WINOGRAD_ALL)
GRADIENT_ROWS(0, 0)
GRADIENT_ROWS(1, 1)
GRADIENT_ROWS(2, 2)
#ifdef POINT_C
GRADIENT_ROWS(3, 3)
#endif

static void gradient(const winograd_image *g, int pair, const winograd_gradient *dy, int64_t begin,
                     int64_t end, const winograd_positions *z, float *sums)
{
    typedef void rows_function(const winograd_image *g, const winograd_gradient *dy, int64_t begin,
                               int64_t end, const winograd_positions *z, float *sums);
    static rows_function *const pairs[PAIRS] = {gradient_0, gradient_1, gradient_2,
#ifdef POINT_C
                                                gradient_3
#endif
    };
    (pair == WINOGRAD_ALL ? gradient_all : pairs[pair])(g, dy, begin, end, z, sums);
}

/* ---- gradient of x ---------------------------------------------------------------------- */

enum { OVERLAP = SIZE - STEP };

/* A vector of channels of a strip of tiles: the position of its first pixel. */
typedef struct strip_gradient {
    float *to;
    int64_t row, column; /* floats from row to row, from column to column */
    /* Tile rows top to bottom - 1 are in the image, and strip columns `inside` to `outside` - 1. */
    int64_t top, bottom, inside, outside;
    bool add;     /* the first OVERLAP rows contain sums from the tiles above */
    int64_t left; /* channels */
} strip_gradient;

/* `count` pixels of row i, from `column` of the strip on, become d or, with `add`, d is added to
   them. `whole`: all channels; `inside`: all columns. */
VEC_INLINE void put_row(const strip_gradient *s, int i, int64_t column, int count, bool whole,
                        bool inside, bool add, const vec *d)
{
    if (i < s->top || i >= s->bottom)
        return;
    float *to = s->to + i * s->row + column * s->column;
    UNROLL(4)
    for (int j = 0; j < count; j++, to += s->column)
        if (inside || (column + j >= s->inside && column + j < s->outside))
            store_channels(to, add ? d[j] + load_channels(to, s->left, whole) : d[j], s->left,
                           whole);
}

VEC_INLINE void put_columns(const strip_gradient *s, int i, int64_t column, int count, bool whole,
                            bool inside, const vec *d)
{
    if (i < OVERLAP && s->add)
        put_row(s, i, column, count, whole, inside, true, d);
    else
        put_row(s, i, column, count, whole, inside, false, d);
}

/* The rows of the tile at `column`; the columns that the next tile also contributes to stay in
   `over`. */
VEC_INLINE void add_tile(const strip_gradient *s, const float *m, int64_t stride, int64_t column,
                         bool whole, bool inside, vec over[SIZE][OVERLAP])
{
    vec down[SIZE][SIZE];
    UNROLL(8)
    for (int j = 0; j < SIZE; j++) {
        vec t[SIZE], d[SIZE];
        UNROLL(8)
        for (int i = 0; i < SIZE; i++)
            t[i] = vec_load(m + (SIZE * i + j) * stride);
        transform_input_back(t, d);
        UNROLL(8)
        for (int i = 0; i < SIZE; i++)
            down[i][j] = d[i];
    }
    UNROLL(8)
    for (int i = 0; i < SIZE; i++) {
        vec d[SIZE];
        transform_input_back(down[i], d);
        UNROLL(4)
        for (int j = 0; j < OVERLAP; j++) {
            d[j] += over[i][j];
            over[i][j] = d[STEP + j];
        }
        put_columns(s, i, column, STEP, whole, inside, d);
    }
}

/* A row of tiles continues in another strip: load the sums of the last strip's overlapping columns,
   except rows that will be added to anyway. */
VEC_INLINE void take_over(const strip_gradient *s, bool whole, vec over[SIZE][OVERLAP])
{
    for (int64_t i = s->add ? OVERLAP : s->top; i < s->bottom; i++)
        for (int64_t j = 0; j < OVERLAP && j < s->outside; j++)
            over[i][j] = load_channels(s->to + i * s->row + j * s->column, s->left, whole);
}

static void add_strip(const winograd_positions *m, const float *from, strip_gradient s,
                      int64_t tiles, bool continued)
{
    const bool whole = s.left >= VEC_FLOATS;
    vec over[SIZE][OVERLAP] = {{{0}}};
    int64_t column = 0;
    if (continued)
        take_over(&s, whole, over);
    for (int64_t k = 0; k < tiles; k++, column += STEP, from += m->row) {
        prefetch_tile(s.to + STEP * s.row + column * s.column, s.row, s.column, STEP);
        if (!whole)
            add_tile(&s, from, m->stride, column, false, false, over);
        else if (column >= s.inside && column + STEP <= s.outside)
            add_tile(&s, from, m->stride, column, true, true, over);
        else
            add_tile(&s, from, m->stride, column, true, false, over);
    }
    UNROLL(8)
    for (int i = 0; i < SIZE; i++)
        put_columns(&s, i, column, OVERLAP, whole, false, over[i]);
}

static void input_gradient(const winograd_image *g, const winograd_positions *m, int64_t begin,
                           int64_t end, float *dx)
{
    for (int64_t tile = begin; tile < end;) {
        strip s = strip_at(g, tile, end);
        const int64_t y = STEP * s.row - g->before[0], x = STEP * s.column - g->before[1];
        strip_gradient to = {.row = g->width * g->channels,
                             .column = g->channels,
                             .top = y < 0 ? -y : 0,
                             .bottom = g->height - y < SIZE ? g->height - y : SIZE,
                             .inside = -x,
                             .outside = g->width - x,
                             .add = s.row > 0};
        for (int64_t c = 0; c < g->channels; c += VEC_FLOATS) {
            const float *from = m->data + (tile - begin) * m->row + c;
            to.to = dx + ((s.image * g->height + y) * g->width + x) * g->channels + c;
            to.left = g->channels - c;
            add_strip(m, from, to, s.tiles, s.column > 0);
        }
        tile += s.tiles;
    }
}

/* ---- gradient of w ---------------------------------------------------------------------- */

static void weights_gradient(const winograd_positions *partials, int64_t count,
                             int64_t partial_stride, int64_t in, int64_t out, int64_t begin,
                             int64_t end, float *dw)
{
    for (int64_t k = begin; k < end; k++)
        for (int64_t n = 0; n < out; n += VEC_FLOATS) {
            const float *from = partials->data + k * partials->row + n;
            vec down[TAPS][SIZE];
            for (int j = 0; j < SIZE; j++) {
                vec t[SIZE], d[TAPS];
                for (int i = 0; i < SIZE; i++) {
                    const float *at = from + (SIZE * i + j) * partials->stride;
                    t[i] = vec_load(at);
                    __builtin_prefetch(at + 2 * LINE_FLOATS, 0, 3);
                    for (int64_t p = 1; p < count; p++) {
                        t[i] += vec_load(at + p * partial_stride);
                        __builtin_prefetch(at + p * partial_stride + 2 * LINE_FLOATS, 0, 3);
                    }
                }
                transform_weights_gradient(t, d);
                for (int i = 0; i < TAPS; i++)
                    down[i][j] = d[i];
            }
            for (int i = 0; i < TAPS; i++) {
                vec d[TAPS];
                transform_weights_gradient(down[i], d);
                for (int j = 0; j < TAPS; j++)
                    store_channels(dw + ((TAPS * i + j) * in + k) * out + n, d[j], out - n,
                                   out - n >= VEC_FLOATS);
            }
        }
}
