/* Transforms of one dimension, and strips of tiles with the positions of their pixels, for
   winograd_tiles.h. */
#include "device/cpu/vec.h"
#include "device/cpu/winograd/winograd_kernels.h"

/* ---- one dimension ----------------------------------------------------------------------- */

/* Winograd's transforms of one dimension, from the interpolation points 0, POINT_A, -POINT_A, ...,
   infinity, which the file that includes winograd_tiles.h has defined beside TAPS (r). Row i of a
   transform belongs to point i, in the order 0, A, -A, B, -B, ..., infinity. */
#define STEP WINOGRAD_STEP
#define SIZE (STEP + TAPS - 1)
#define PAIRS (SIZE / 2) /* pairs of rows: 0 and infinity, A and -A, ... share arithmetic */
#define A2 (POINT_A * POINT_A)
#define B2 (POINT_B * POINT_B)
#define F(x) ((float)(x))
#define POWERS(p)                                                           \
    {                                                                       \
        1, F(p), F((p) * (p)), F((p) * (p) * (p)), F((p) * (p) * (p) * (p)) \
    }

/* For each pair: the coefficients of (x - A^2) (x - B^2) ... without its own point; 1 / the product
   of its point's differences to the others (infinity's is 1); and its point's powers. */
#ifdef POINT_C
#define C2 (POINT_C * POINT_C)
static const float products[PAIRS][PAIRS] = {
    {F(-A2 * B2 * C2), F(A2 *B2 + A2 * C2 + B2 * C2), F(-(A2 + B2 + C2)), 1},
    {F(B2 * C2), F(-(B2 + C2)), 1},
    {F(A2 * C2), F(-(A2 + C2)), 1},
    {F(A2 * B2), F(-(A2 + B2)), 1}};
static const float scales[PAIRS] = {F(-1 / (A2 * B2 * C2)), F(1 / (2 * A2 * (A2 - B2) * (A2 - C2))),
                                    F(1 / (2 * B2 * (B2 - A2) * (B2 - C2))),
                                    F(1 / (2 * C2 * (C2 - A2) * (C2 - B2)))};
static const float powers[PAIRS][5] = {{0}, POWERS(POINT_A), POWERS(POINT_B), POWERS(POINT_C)};
_Static_assert(SIZE == 8, "three pairs of points and two points make 8 rows");
#else
static const float products[PAIRS][PAIRS] = {
    {F(A2 * B2), F(-(A2 + B2)), 1}, {F(-B2), 1}, {F(-A2), 1}};
static const float scales[PAIRS] = {F(1 / (A2 * B2)), F(1 / (2 * A2 * (A2 - B2))),
                                    F(1 / (2 * B2 * (B2 - A2)))};
static const float powers[PAIRS][5] = {{0}, POWERS(POINT_A), POWERS(POINT_B)};
_Static_assert(SIZE == 6, "two pairs of points and two points make 6 rows");
#endif

/* The index of a row of a pair; `which` is 0 or 1. */
VEC_INLINE int row_of(int pair, int which)
{
    return pair == 0 ? which * (SIZE - 1) : 2 * pair - 1 + which;
}

/* The two elements of t = B' d of a pair. */
VEC_INLINE void transform_input_pair(int pair, const vec d[SIZE], vec t[2])
{
    const float *c = products[pair];
    const int top = pair == 0 ? PAIRS - 1 : PAIRS - 2, even_at = pair == 0 ? 0 : 2;
    vec even = d[even_at + 2 * top], odd = d[1 + 2 * top];
    UNROLL(4)
    for (int i = top - 1; i >= 0; i--) {
        even += c[i] * d[even_at + 2 * i];
        odd += c[i] * d[1 + 2 * i];
    }
    if (pair == 0) {
        t[0] = even;
        t[1] = odd;
    } else {
        t[0] = even + powers[pair][1] * odd;
        t[1] = even - powers[pair][1] * odd;
    }
}

/* t = B' d */
VEC_INLINE void transform_input(const vec d[SIZE], vec t[SIZE])
{
    UNROLL(4)
    for (int pair = 0; pair < PAIRS; pair++) {
        vec two[2];
        transform_input_pair(pair, d, two);
        t[row_of(pair, 0)] = two[0];
        t[row_of(pair, 1)] = two[1];
    }
}

/* d = B t */
VEC_INLINE void transform_input_back(const vec t[SIZE], vec d[SIZE])
{
    UNROLL(4)
    for (int i = 0; i < PAIRS; i++) {
        d[2 * i] = products[0][i] * t[0];
        d[2 * i + 1] = products[0][i] * t[SIZE - 1];
    }
    UNROLL(4)
    for (int pair = 1; pair < PAIRS; pair++) {
        vec even = t[2 * pair - 1] + t[2 * pair];
        vec odd = powers[pair][1] * (t[2 * pair - 1] - t[2 * pair]);
        UNROLL(4)
        for (int i = 0; i < PAIRS - 1; i++) {
            d[2 * i + 2] += products[pair][i] * even;
            d[2 * i + 1] += products[pair][i] * odd;
        }
    }
}

/* The two elements of z = A d of a pair, for `count` numbers: the values of the polynomial with
   these coefficients at its points. */
VEC_INLINE void evaluate_pair(int pair, const vec *d, int count, vec z[2])
{
    if (pair == 0) {
        z[0] = d[0];
        z[1] = d[count - 1];
        return;
    }
    vec even = d[0], odd = powers[pair][1] * d[1];
    UNROLL(5)
    for (int i = 2; i < count; i++)
        if (i % 2 == 0)
            even += powers[pair][i] * d[i];
        else
            odd += powers[pair][i] * d[i];
    z[0] = even + odd;
    z[1] = even - odd;
}

/* z = A d */
VEC_INLINE void evaluate(const vec *d, int count, vec z[SIZE])
{
    UNROLL(4)
    for (int pair = 0; pair < PAIRS; pair++) {
        vec two[2];
        evaluate_pair(pair, d, count, two);
        z[row_of(pair, 0)] = two[0];
        z[row_of(pair, 1)] = two[1];
    }
}

/* y = A' m */
VEC_INLINE void evaluate_back(const vec m[SIZE], int count, vec *y)
{
    y[0] = m[0];
    UNROLL(4)
    for (int pair = 1; pair < PAIRS; pair++) {
        vec sum = m[2 * pair - 1] + m[2 * pair], difference = m[2 * pair - 1] - m[2 * pair];
        y[0] += sum;
        UNROLL(5)
        for (int i = 1; i < count; i++) {
            vec term = powers[pair][i] * (i % 2 ? difference : sum);
            y[i] = pair == 1 ? term : y[i] + term;
        }
    }
    y[count - 1] += m[SIZE - 1];
}

VEC_INLINE void scale_all(vec u[SIZE])
{
    u[0] *= scales[0];
    UNROLL(4)
    for (int pair = 1; pair < PAIRS; pair++) {
        u[2 * pair - 1] *= scales[pair];
        u[2 * pair] *= scales[pair];
    }
}

/* u = G w */
VEC_INLINE void transform_weights(const vec w[TAPS], vec u[SIZE])
{
    evaluate(w, TAPS, u);
    scale_all(u);
}

/* w = G' u */
VEC_INLINE void transform_weights_gradient(const vec u[SIZE], vec w[TAPS])
{
    vec scaled[SIZE];
    UNROLL(8)
    for (int i = 0; i < SIZE; i++)
        scaled[i] = u[i];
    scale_all(scaled);
    evaluate_back(scaled, TAPS, w);
}

/* ---- strips ------------------------------------------------------------------------------ */

/* Adjacent tiles that are transformed together: the columns that they share are transformed once,
   and the strip stays in the first-level cache. */
enum { LINE_FLOATS = 16, STRIP_TILES = 8 };

/* ---- strips of tiles -------------------------------------------------------------------- */

/* Up to STRIP_TILES adjacent tiles. */
typedef struct strip {
    int64_t image, row, column, tiles; /* of the first tile */
} strip;

VEC_INLINE strip strip_at(const winograd_image *g, int64_t tile, int64_t end)
{
    strip s = {.column = tile % g->tiles[1]};
    int64_t row = tile / g->tiles[1];
    s.image = row / g->tiles[0];
    s.row = row % g->tiles[0];
    s.tiles = g->tiles[1] - s.column;
    s.tiles = s.tiles < STRIP_TILES ? s.tiles : STRIP_TILES;
    s.tiles = s.tiles < end - tile ? s.tiles : end - tile;
    return s;
}

/* Among `columns` columns from `first` on, *begin to *end - 1 are inside. */
VEC_INLINE void columns_inside(const winograd_image *g, int64_t first, int64_t columns,
                               int64_t *begin, int64_t *end)
{
    *begin = first < 0 ? -first : 0;
    *end = g->width - first < columns ? g->width - first : columns;
    *begin = *begin < columns ? *begin : columns;
    *end = *end > *begin ? *end : *begin;
}

/* `whole`: VEC_FLOATS or more channels are left. */
VEC_INLINE vec load_channels(const float *p, int64_t left, bool whole)
{
    return whole ? vec_load(p) : vec_load_first(p, left);
}

VEC_INLINE void store_channels(float *p, vec v, int64_t left, bool whole)
{
    if (whole)
        vec_store(p, v);
    else
        vec_store_first(p, v, left);
}

/* A strip's rows of pixels. */
typedef struct strip_pixels {
    const float *rows[SIZE];
    int64_t first, step; /* floats to the strip's first column, from column to column */
} strip_pixels;

/* Rows outside of the image are zeros. */
VEC_INLINE strip_pixels strip_load(const winograd_image *g, const float *x, const strip *s)
{
    strip_pixels p = {.first = (STEP * s->column - g->before[1]) * g->channels,
                      .step = g->channels};
    for (int i = 0; i < SIZE; i++) {
        const int64_t y = STEP * s->row - g->before[0] + i;
        p.rows[i] = y >= 0 && y < g->height
                        ? x + (s->image * g->height + y) * g->width * g->channels
                        : g->zeros;
    }
    return p;
}

/* The rank of a pair's row among the computed rows: among all, or among its two (`alone`). */
VEC_INLINE int rank_of(int pair, int which, bool alone)
{
    return alone ? which : row_of(pair, which);
}

/* Prefetch a square of pixels for writing. */
VEC_INLINE void prefetch_tile(const float *y, int64_t row, int64_t column, int size)
{
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            VEC_PREFETCH_WRITE(y + i * row + j * column);
}
