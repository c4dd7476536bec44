/* The transforms of Winograd's F(m x m, r x r): m x m outputs of an r x r correlation from (m + r -
   1)^2 multiplications instead of m m r r (Lavin and Gray, "Fast algorithms for convolutional
   neural networks", 2016), from the interpolation points 0, A, -A, B, -B, ... and infinity:
     y = A' [(G w G') . (B' x B)] A,   dw = G' [(B' x B) . (A dy A')] G
   The including file defines TAPS (r), POINT_A, POINT_B and, where m + r is 9 and not 7, POINT_C,
   and exports the kernels. */
#include "device/cpu/vec.h"
#include "device/cpu/winograd/winograd_gradients.h"

/* ---- input ------------------------------------------------------------------------------ */

/* A strip's pixels, and the place of its positions. */
typedef struct strip_input {
    strip_pixels pixels;
    int64_t inside, outside; /* columns `inside` to `outside` - 1 are in the image */
    int64_t tiles, vectors;  /* of channels, one after the other */
    float *to;               /* position 0 of the first tile */
    int64_t row, stride;
} strip_input;

/* The contribution of a column of the strip, `at` floats on, to a pair's rows of positions. */
VEC_INLINE void input_column(int pair, const strip_input *s, int64_t at, int64_t left, bool whole,
                             vec t[2])
{
    vec d[SIZE];
    UNROLL(8)
    for (int i = 0; i < SIZE; i++)
        d[i] = load_channels(s->pixels.rows[i] + at, left, whole);
    transform_input_pair(pair, d, t);
}

/* One vector of channels for the positions of a pair's rows. SIZE columns stay in registers; each
   tile loads STEP new ones. */
VEC_INLINE void input_vector(int pair, bool alone, const strip_input *s, int64_t first, float *to,
                             int64_t left, bool whole)
{
    vec column[SIZE][2];
#define INPUT_COLUMN(q, at) \
    input_column(pair, s, first + (q)*s->pixels.step, left, whole, column[at])
    UNROLL(4)
    for (int j = STEP; j < SIZE; j++) {
        column[j][0] = column[j][1] = (vec){0};
        if (j - STEP >= s->inside && j - STEP < s->outside)
            INPUT_COLUMN(j - STEP, j);
    }
    for (int64_t k = 0; k < s->tiles; k++, to += s->row) {
        const int64_t q = STEP * k;
        UNROLL(4)
        for (int j = 0; j < SIZE - STEP; j++)
            for (int i = 0; i < 2; i++)
                column[j][i] = column[STEP + j][i];
        if (q + SIZE - STEP >= s->inside && q + SIZE <= s->outside) {
            UNROLL(4)
            for (int j = SIZE - STEP; j < SIZE; j++)
                INPUT_COLUMN(q + j, j);
        } else {
            for (int j = SIZE - STEP; j < SIZE; j++) {
                column[j][0] = column[j][1] = (vec){0};
                if (q + j >= s->inside && q + j < s->outside)
                    INPUT_COLUMN(q + j, j);
            }
        }
        UNROLL(2)
        for (int i = 0; i < 2; i++) {
            vec d[SIZE], t[SIZE];
            UNROLL(8)
            for (int j = 0; j < SIZE; j++)
                d[j] = column[j][i];
            transform_input(d, t);
            UNROLL(8)
            for (int j = 0; j < SIZE; j++)
                vec_store(to + (SIZE * rank_of(pair, i, alone) + j) * s->stride, t[j]);
        }
    }
#undef INPUT_COLUMN
}

VEC_INLINE void input_pair(int pair, bool alone, const strip_input *s, int64_t left, bool whole)
{
    for (int64_t c = 0; c < s->vectors * VEC_FLOATS; c += VEC_FLOATS)
        input_vector(pair, alone, s, s->pixels.first + c, s->to + c, left, whole);
}

/* Separate functions: inlined into one another, they take the compiler minutes. */
typedef void pair_function(const strip_input *s, bool alone, int64_t left);
#define INPUT_PAIR(pair)                                                                 \
    __attribute__((noinline)) static void input_##pair(const strip_input *s, bool alone, \
                                                       int64_t left)                     \
    {                                                                                    \
        if (left < VEC_FLOATS)                                                           \
            input_pair(pair, alone, s, left, false);                                     \
        else if (alone)                                                                  \
            input_pair(pair, true, s, VEC_FLOATS, true);                                 \
        else                                                                             \
            input_pair(pair, false, s, VEC_FLOATS, true);                                \
    }
INPUT_PAIR(0)
INPUT_PAIR(1)
INPUT_PAIR(2)
#ifdef POINT_C
INPUT_PAIR(3)
#endif

static void input(const winograd_image *g, int pair, const float *x, int64_t begin, int64_t end,
                  const winograd_positions *v)
{
    static pair_function *const pairs[PAIRS] = {input_0, input_1, input_2,
#ifdef POINT_C
                                                input_3
#endif
    };
    const bool all = pair == WINOGRAD_ALL;
    strip_input in = {.row = v->row, .stride = v->stride};
    for (int64_t tile = begin; tile < end; tile += in.tiles) {
        strip s = strip_at(g, tile, end);
        const int64_t columns = STEP * s.tiles + TAPS - 1;
        in.tiles = s.tiles;
        in.pixels = strip_load(g, x, &s);
        in.to = v->data + (tile - begin) * v->row;
        columns_inside(g, STEP * s.column - g->before[1], columns, &in.inside, &in.outside);
        for (int64_t left = g->channels; left > 0; left -= in.vectors * VEC_FLOATS) {
            in.vectors = left < VEC_FLOATS ? 1 : left / VEC_FLOATS;
            for (int i = all ? 0 : pair; i < (all ? PAIRS : pair + 1); i++)
                pairs[i](&in, !all, left);
            in.pixels.first += in.vectors * VEC_FLOATS;
            in.to += in.vectors * VEC_FLOATS;
        }
    }
}

/* ---- output ----------------------------------------------------------------------------- */

/* A row of positions, transformed along it. */
VEC_INLINE void output_row(const float *m, int64_t stride, vec to[STEP])
{
    vec t[SIZE];
    UNROLL(8)
    for (int j = 0; j < SIZE; j++)
        t[j] = vec_load(m + j * stride);
    evaluate_back(t, STEP, to);
}

/* d = A' m A + bias for one vector of channels of a tile, row by row of positions, so that only the
   sums of d have to stay in registers. */
VEC_INLINE void output_tile(const float *m, int64_t stride, vec bias, vec d[STEP][STEP])
{
    UNROLL(4)
    for (int i = 1; i < STEP; i++) {
        UNROLL(4)
        for (int j = 0; j < STEP; j++)
            d[i][j] = (vec){0};
    }
    output_row(m, stride, d[0]);
    m += SIZE * stride;
    UNROLL(1)
    for (int pair = 1; pair < PAIRS; pair++) {
        const float *of_pair = powers[pair];
        vec plus[STEP], minus[STEP];
        output_row(m, stride, plus);
        output_row(m + SIZE * stride, stride, minus);
        m += 2 * SIZE * stride;
        UNROLL(4)
        for (int j = 0; j < STEP; j++) {
            vec even = plus[j] + minus[j], odd = plus[j] - minus[j];
            d[0][j] += even;
            UNROLL(4)
            for (int i = 1; i < STEP; i++)
                d[i][j] += of_pair[i] * (i % 2 ? odd : even);
        }
    }
    vec last[STEP];
    output_row(m, stride, last);
    UNROLL(4)
    for (int i = 0; i < STEP; i++) {
        UNROLL(4)
        for (int j = 0; j < STEP; j++) {
            d[i][j] += bias;
            if (i == STEP - 1)
                d[i][j] += last[j];
        }
    }
}

/* The place of a tile's output: its first pixel or window, and its channels. */
typedef struct tile_output {
    float *to;
    int64_t row, column; /* floats from row to row, from column to column */
    int64_t left;        /* channels */
    vec least;           /* 0 with a relu, else -infinity */
} tile_output;

/* `rows` times `columns` pixels are in the image. */
VEC_INLINE void store_tile(const tile_output *o, vec d[STEP][STEP], int64_t rows, int64_t columns,
                           bool whole)
{
    UNROLL(4)
    for (int i = 0; i < STEP; i++) {
        UNROLL(4)
        for (int j = 0; j < STEP; j++)
            if (i < rows && j < columns)
                store_channels(o->to + i * o->row + j * o->column,
                               vec_select(d[i][j] < o->least, o->least, d[i][j]), o->left, whole);
    }
}

/* Maxima of the windows whose pixels are all in the image. codes: at the same offset as `to`, or
   NULL. */
VEC_INLINE void store_windows(const tile_output *o, vec d[STEP][STEP], int64_t rows,
                              int64_t columns, bool whole, vec low, uint8_t *codes)
{
    UNROLL(2)
    for (int i = 0; i < STEP / 2; i++) {
        UNROLL(2)
        for (int j = 0; j < STEP / 2; j++) {
            if (2 * i + 1 >= rows || 2 * j + 1 >= columns)
                continue;
            const int64_t at = i * o->row + j * o->column;
            vec_mask code;
            vec most = pool_largest(d[2 * i][2 * j], d[2 * i][2 * j + 1], d[2 * i + 1][2 * j],
                                    d[2 * i + 1][2 * j + 1], low, &code);
            store_channels(o->to + at, vec_max(o->least, most), o->left, whole);
            if (codes && whole)
                pool_store_codes(codes + at, code);
            else if (codes)
                pool_store_first_codes(codes + at, code, o->left);
        }
    }
}

/* A strip's tiles. `pool`: into o->pooled, and also into o->y unless it is NULL. */
VEC_INLINE void output_strip(bool pool, const winograd_image *g, const strip *s,
                             const winograd_positions *m, const float *from,
                             const winograd_output *o)
{
    const int64_t channels = g->channels, width = g->width / 2, rows = g->height - STEP * s->row;
    const vec low = vec_all(pool_lowest(o->relu)), least = vec_all(o->relu ? 0 : -INFINITY);
    int64_t y_at =
        ((s->image * g->height + STEP * s->row) * g->width + STEP * s->column) * channels;
    int64_t pooled_at =
        ((s->image * (g->height / 2) + STEP / 2 * s->row) * width + STEP / 2 * s->column) *
        channels;
    for (int64_t k = 0; k < s->tiles; k++, from += m->row) {
        const int64_t columns = g->width - STEP * (s->column + k);
        for (int64_t c = 0; c < channels; c += VEC_FLOATS) {
            const int64_t left = channels - c;
            const bool whole = left >= VEC_FLOATS, inside = rows >= STEP && columns >= STEP;
            tile_output y = {NULL, g->width * channels, channels, left, least};
            tile_output windows = {NULL, width * channels, channels, left, least};
            if (o->y)
                y.to = o->y + y_at + c;
            if (pool)
                windows.to = o->pooled + pooled_at + c;
            if (c % LINE_FLOATS == 0 && pool)
                prefetch_tile(windows.to + STEP / 2 * windows.row, windows.row, channels, STEP / 2);
            else if (c % LINE_FLOATS == 0)
                prefetch_tile(y.to + STEP * y.row, y.row, channels, STEP);
            vec d[STEP][STEP];
            output_tile(from + c, m->stride,
                        o->bias ? load_channels(o->bias + c, left, whole) : (vec){0}, d);
            uint8_t *codes = o->codes ? o->codes + pooled_at + c : NULL;
            if (pool && whole && inside)
                store_windows(&windows, d, STEP, STEP, true, low, codes);
            else if (pool)
                store_windows(&windows, d, rows, columns, whole, low, codes);
            if (pool && !o->y)
                continue;
            if (whole && inside)
                store_tile(&y, d, STEP, STEP, true);
            else
                store_tile(&y, d, rows, columns, whole);
        }
        y_at += STEP * channels;
        pooled_at += STEP / 2 * channels;
    }
}

static void output(const winograd_image *g, const winograd_positions *m, int64_t begin, int64_t end,
                   const winograd_output *o)
{
    for (int64_t tile = begin; tile < end;) {
        strip s = strip_at(g, tile, end);
        const float *from = m->data + (tile - begin) * m->row;
        if (o->pooled)
            output_strip(true, g, &s, m, from, o);
        else
            output_strip(false, g, &s, m, from, o);
        tile += s.tiles;
    }
}

/* ---- weights ---------------------------------------------------------------------------- */

/* G w G' of w[TAPS i + j] */
VEC_INLINE void store_weights(const vec w[TAPS * TAPS], float *u, int64_t stride)
{
    vec down[SIZE][TAPS];
    UNROLL(5)
    for (int j = 0; j < TAPS; j++) {
        vec t[TAPS], d[SIZE];
        UNROLL(5)
        for (int i = 0; i < TAPS; i++)
            t[i] = w[TAPS * i + j];
        transform_weights(t, d);
        UNROLL(8)
        for (int i = 0; i < SIZE; i++)
            down[i][j] = d[i];
    }
    UNROLL(8)
    for (int i = 0; i < SIZE; i++) {
        vec d[SIZE];
        transform_weights(down[i], d);
        UNROLL(8)
        for (int j = 0; j < SIZE; j++)
            vec_store(u + (SIZE * i + j) * stride, d[j]);
    }
}

static void weights(const float *w, int64_t in, int64_t out, int64_t begin, int64_t end,
                    const winograd_positions *u)
{
    for (int64_t n = 0; n < out; n += VEC_FLOATS)
        for (int64_t k = begin; k < end; k++) {
            vec t[TAPS * TAPS];
            UNROLL(25)
            for (int i = 0; i < TAPS * TAPS; i++)
                t[i] = load_channels(w + (i * in + k) * out + n, out - n, out - n >= VEC_FLOATS);
            store_weights(t, u->data + k * u->row + n, u->stride);
        }
}

/* A tap of `rows` input channels and `columns` output channels, each up to VEC_FLOATS: to[column]
   is a vector of input channels. */
__attribute__((noinline)) static void transpose_tap(const float *w, int64_t stride, int64_t rows,
                                                    int64_t columns, vec to[VEC_FLOATS])
{
    vec v[VEC_FLOATS];
    UNROLL(16)
    for (int i = 0; i < VEC_FLOATS; i++)
        v[i] = i < rows ? load_channels(w + i * stride, columns, columns >= VEC_FLOATS) : (vec){0};
    vec_transpose(v);
    UNROLL(16)
    for (int i = 0; i < VEC_FLOATS; i++)
        to[i] = v[i];
}

static void transposed_weights(const float *w, int64_t in, int64_t out, bool rotated, int64_t begin,
                               int64_t end, const winograd_positions *u)
{
    vec taps[TAPS * TAPS][VEC_FLOATS];
    for (int64_t k = 0; k < in; k += VEC_FLOATS) {
        const int64_t rows = in - k < VEC_FLOATS ? in - k : VEC_FLOATS;
        for (int64_t n = begin; n < end; n++) {
            const int64_t column = (n - begin) % VEC_FLOATS;
            for (int i = 0; column == 0 && i < TAPS * TAPS; i++)
                transpose_tap(w + (i * in + k) * out + n, out, rows, end - n,
                              taps[rotated ? TAPS * TAPS - 1 - i : i]);
            vec t[TAPS * TAPS];
            UNROLL(25)
            for (int i = 0; i < TAPS * TAPS; i++)
                t[i] = taps[i][column];
            store_weights(t, u->data + n * u->row + k, u->stride);
        }
    }
}

/* The exports of the including file. */
#define WINOGRAD_KERNELS                                                               \
    {                                                                                  \
        .vector = VEC_FLOATS, .size = SIZE, .input = input, .gradient = gradient,      \
        .output = output, .input_gradient = input_gradient, .weights = weights,        \
        .transposed_weights = transposed_weights, .weights_gradient = weights_gradient \
    }
