/* Gradient of the weights and bias of a convolution of an image with few channels, alone, with the
   relu after it, or with relu and 2x2 max-pool after it.

   A register tile is some taps by one or two vectors of filters; it stays in registers over some
   rows of pixels, and each pixel costs a broadcast per tap and one multiply-add per tap and vector.
   With a pool three of four gradients are 0. So the tile passes over windows, not pixels: each lane
   selects one of the four values at its tap in the window by its code, which is one shuffle and one
   multiply-add in place of four.

   Measured, one thread of a loaded Cascade Lake core, as a fraction of the FMA probe: from the
   first-level cache 0.95; 100x32x32x3, 32 filters 3x3 0.47. With a pool, in FLOPs of the definition
   (2.0 would be the peak): from the first-level cache 1.5; 32x150x150x3, 3x3 valid 0.8; 50x28x28x1,
   5x5 1.17. */
#include "device/cpu/conv/conv_first_kernels.h"
#include "device/cpu/pool/pool_codes.h"

enum { BLOCK = 2 * VEC_FLOATS };

/* Taps of a tile with two vectors: each needs two accumulators, besides gradients, codes and loaded
   values; and pixels per tile pass: their gradients stay in the first-level cache. */
#if VEC_COUNT >= 32
enum { TAPS_MOST = 9 };
#else
enum { TAPS_MOST = 5 };
#endif
enum { GRADIENT_FLOATS = 4096 };
/* Prefetch distance, in floats, of the first tile that passes over gradients. */
enum { PREFETCH_FLOATS = 1024 };

/* Does the instruction set have a variable shuffle within four lanes? */
#if defined(__AVX2__)
#define PICKS 1
#else
#define PICKS 0
#endif

/* ---- packing ---------------------------------------------------------------------------- */

/* The columns of a packed row that come from the image, as elements [*begin, *end). */
VEC_INLINE void inside_of(const first_shape *s, int64_t *begin, int64_t *end)
{
    int64_t width = first_gradient_row(s), last = (s->before[1] + s->in[1]) * s->channels;
    *begin = s->before[1] * s->channels;
    *begin = *begin < width ? *begin : width;
    *end = last < width ? last : width;
    *end = *end > *begin ? *end : *begin;
}

static void pack_band(const first_shape *s, const float *x, int64_t row, int64_t rows, float *band)
{
    int64_t width = first_gradient_row(s), first = row * s->stride[0] - s->before[0], begin, end;
    inside_of(s, &begin, &end);
    for (int64_t i = first; i < first + first_band_rows(s, rows); i++, band += width) {
        const bool inside = i >= 0 && i < s->in[0] && end > begin;
        const int64_t left = inside ? begin : width, right = inside ? width - end : 0;
        for (int64_t k = 0; k < left; k++)
            band[k] = 0;
        for (int64_t k = 0; k < right; k++)
            band[end + k] = 0;
        if (inside)
            memcpy(band + begin, x + i * s->in[1] * s->channels,
                   (size_t)(end - begin) * sizeof *band);
    }
}

/* fours[k] = top[k], top[k + step], bottom[k], bottom[k + step] */
VEC_INLINE void interleave(const float *restrict top, const float *restrict bottom, int64_t step,
                           int64_t count, float *restrict fours)
{
    for (int64_t k = 0; k < count; k++) {
        fours[4 * k] = top[k];
        fours[4 * k + 1] = top[k + step];
        fours[4 * k + 2] = bottom[k];
        fours[4 * k + 3] = bottom[k + step];
    }
}

/* First the plain band of the output rows under the windows, then one row of fours for each pair of
   consecutive rows. */
static void pack_pool_band(const first_shape *s, const float *x, int64_t row, int64_t rows,
                           float *band)
{
    int64_t width = first_gradient_row(s);
    float *fours = band + first_gradient_floats(s, 2 * rows);
    pack_band(s, x, 2 * row, 2 * rows, band);
    for (int64_t i = 0; i < first_band_rows(s, 2 * rows) - 1; i++)
        interleave(band + i * width, band + (i + 1) * width, s->channels, width - s->channels,
                   fours + i * 4 * width);
}

/* ---- tiles ------------------------------------------------------------------------------ */

/* Some rows of pixels, or of windows where there are codes, and a block of filters. */
typedef struct gradient_operands {
    const float *x;                /* the band at its first pixel */
    int64_t pixel, x_row, tap_row; /* floats to the next pixel, row of pixels, row of taps */
    const float *dy, *y;
    const uint8_t *codes;
    int64_t d_pixel, d_row; /* elements of dy, y and codes to the next pixel and row */
    int64_t rows, columns;
    int vectors;
    int64_t rest;              /* number of filters from the block's first on */
    float *sums, *bias;        /* bias: NULL where another tile adds it */
    int64_t filters, sums_row; /* in sums: to the next tap, to the next row of taps */
} gradient_operands;

/* A window's gradient for its four values: with shuffles one vector, 0 where no gradient goes back;
   without shuffles one vector per value. */
typedef struct window_gradient {
#if PICKS
    vec d;
    vec_mask code;
#else
    vec d[4];
#endif
} window_gradient;

VEC_INLINE window_gradient load_window(const float *dy, const uint8_t *codes)
{
    window_gradient w;
    vec d = vec_load(dy);
    vec_mask code = pool_load_codes(codes);
#if PICKS
    w.d = (vec)((code < POOL_NOWHERE) & (vec_mask)d);
    w.code = code;
#else
    for (int q = 0; q < 4; q++)
        w.d[q] = (vec)((code == q) & (vec_mask)d);
#endif
    return w;
}

VEC_INLINE vec window_sum(const window_gradient *w)
{
#if PICKS
    return w->d;
#else
    return w->d[0] + w->d[1] + w->d[2] + w->d[3];
#endif
}

/* sum + the gradient times the value of `fours` that each lane's code selects */
VEC_INLINE vec add_window(vec sum, const float *fours, const window_gradient *w)
{
#if defined(__AVX512F__)
    __m512 values = _mm512_broadcast_f32x4(_mm_loadu_ps(fours));
    return sum + (vec)_mm512_permutevar_ps(values, (__m512i)w->code) * w->d;
#elif PICKS
    __m256 values = _mm256_broadcast_ps((const __m128 *)(const void *)fours);
    return sum + (vec)_mm256_permutevar_ps(values, (__m256i)w->code) * w->d;
#else
    for (int q = 0; q < 4; q++)
        sum += vec_all(fours[q]) * w->d[q];
    return sum;
#endif
}

enum { SUMS_MOST = 10 };
typedef vec gradient_sums[SUMS_MOST][2];

/* sums[k] += values[k] for `count` taps, `step` floats apart. */
static __attribute__((noinline)) void add_taps(const vec *values, int count, int vectors,
                                               int64_t step, int64_t rest, float *sums)
{
    for (int k = 0; k < count; k++, sums += step)
        for (int v = 0; v < vectors; v++) {
            float *sum = sums + v * VEC_FLOATS;
            int64_t left = rest - v * VEC_FLOATS;
            if (left >= VEC_FLOATS)
                vec_store(sum, vec_load(sum) + *values++);
            else
                vec_store_first(sum, vec_load_first(sum, left) + *values++, left);
        }
}

/* Through a copy: a variable whose address is passed on would not stay in registers before. */
VEC_INLINE void add_sums(int taps, int lines, int vectors, const gradient_operands *g,
                         gradient_sums acc, const vec bias[2])
{
    vec copy[2 * SUMS_MOST];
    UNROLL(10)
    for (int i = 0; i < lines * taps; i++) {
        UNROLL(2)
        for (int v = 0; v < vectors; v++)
            copy[i * vectors + v] = acc[i][v];
    }
    UNROLL(3)
    for (int i = 0; i < lines; i++)
        add_taps(copy + i * taps * vectors, taps, vectors, g->filters, g->rest,
                 g->sums + i * g->sums_row);
    if (!g->bias)
        return;
    UNROLL(2)
    for (int v = 0; v < vectors; v++)
        copy[v] = bias[v];
    add_taps(copy, 1, vectors, 0, g->rest, g->bias);
}

VEC_INLINE void prefetch_l1(int vectors, const float *from)
{
    UNROLL(2)
    for (int v = 0; v < vectors; v++)
        __builtin_prefetch(from + PREFETCH_FLOATS + v * VEC_FLOATS, 0, 3);
}

/* `taps` adjacent taps in each of `lines` rows of the kernel, and `vectors` vectors of filters. */
VEC_INLINE void pixel_tile(int taps, int lines, int vectors, const gradient_operands *g)
{
    gradient_sums acc = {0};
    vec bias[2] = {0};
    for (int64_t row = 0; row < g->rows; row++) {
        const float *x = g->x + row * g->x_row, *dy = g->dy + row * g->d_row;
        const float *y = g->y ? g->y + row * g->d_row : NULL;
        for (int64_t p = 0; p < g->columns; p++, x += g->pixel, dy += g->d_pixel) {
            vec d[2];
            UNROLL(2)
            for (int v = 0; v < vectors; v++)
                d[v] = vec_load(dy + v * VEC_FLOATS);
            if (y) {
                if (g->bias)
                    prefetch_l1(vectors, y);
                UNROLL(2)
                for (int v = 0; v < vectors; v++)
                    d[v] = (vec)((vec_load(y + v * VEC_FLOATS) > 0) & (vec_mask)d[v]);
                y += g->d_pixel;
            }
            if (g->bias) {
                prefetch_l1(vectors, dy);
                UNROLL(2)
                for (int v = 0; v < vectors; v++)
                    bias[v] += d[v];
            }
            UNROLL(3)
            for (int i = 0; i < lines; i++) {
                UNROLL(9)
                for (int k = 0; k < taps; k++) {
                    UNROLL(2)
                    for (int v = 0; v < vectors; v++)
                        acc[i * taps + k][v] += vec_all(x[i * g->tap_row + k]) * d[v];
                }
            }
        }
    }
    add_sums(taps, lines, vectors, g, acc, bias);
}

/* The same, over windows. */
VEC_INLINE void window_tile(int taps, int lines, int vectors, const gradient_operands *g)
{
    gradient_sums acc = {0};
    vec bias[2] = {0};
    for (int64_t row = 0; row < g->rows; row++) {
        const float *x = g->x + row * g->x_row, *dy = g->dy + row * g->d_row;
        const uint8_t *codes = g->codes + row * g->d_row;
        for (int64_t p = 0; p < g->columns; p++) {
            window_gradient w[2];
            UNROLL(2)
            for (int v = 0; v < vectors; v++)
                w[v] = load_window(dy + v * VEC_FLOATS, codes + v * VEC_FLOATS);
            if (g->bias) {
                prefetch_l1(vectors, dy);
                UNROLL(2)
                for (int v = 0; v < vectors; v++)
                    bias[v] += window_sum(&w[v]);
            }
            UNROLL(3)
            for (int i = 0; i < lines; i++) {
                UNROLL(9)
                for (int k = 0; k < taps; k++) {
                    UNROLL(2)
                    for (int v = 0; v < vectors; v++)
                        acc[i * taps + k][v] =
                            add_window(acc[i * taps + k][v], x + i * g->tap_row + 4 * k, &w[v]);
                }
            }
            x += g->pixel;
            dy += g->d_pixel;
            codes += g->d_pixel;
        }
    }
    add_sums(taps, lines, vectors, g, acc, bias);
}

/* ---- a band ----------------------------------------------------------------------------- */

/* GCC keeps a tile in registers only for sizes that it knows. */
#define TILE_CASE(tile, taps, lines)   \
    case 16 * lines + taps:            \
        tile(taps, lines, vectors, g); \
        break;
#define TILE_CASES(tile)  \
    TILE_CASE(tile, 1, 1) \
    TILE_CASE(tile, 2, 1) \
    TILE_CASE(tile, 3, 1) \
    TILE_CASE(tile, 4, 1) \
    TILE_CASE(tile, 5, 1)
#if VEC_COUNT >= 32
#define TILE_CASES_MORE(tile) \
    TILE_CASE(tile, 6, 1)     \
    TILE_CASE(tile, 7, 1)     \
    TILE_CASE(tile, 8, 1)     \
    TILE_CASE(tile, 9, 1)     \
    TILE_CASE(tile, 3, 3)     \
    TILE_CASE(tile, 5, 2)
#else
#define TILE_CASES_MORE(tile)
#endif

VEC_INLINE void tile_of(int64_t taps, int64_t lines, int vectors, const gradient_operands *g)
{
    if (g->codes)
        switch (16 * lines + taps) {
            TILE_CASES(window_tile)
            TILE_CASES_MORE(window_tile)
        }
    else
        switch (16 * lines + taps) {
            TILE_CASES(pixel_tile)
            TILE_CASES_MORE(pixel_tile)
        }
}

static void run_tile(int64_t taps, int64_t lines, const gradient_operands *g)
{
    if (g->vectors == 2)
        tile_of(taps, lines, 2, g);
    else
        tile_of(taps, lines, 1, g);
}

/* Number of kernel rows for one tile: more than one where their taps are few. */
static int64_t lines_of(int64_t taps, int64_t left)
{
    if (VEC_COUNT < 32)
        return 1;
    return taps == 3 && left >= 3 ? 3 : taps == 5 && left >= 2 ? 2 : 1;
}

/* All taps over the operands' pixels. */
static void run_taps(const first_shape *s, gradient_operands g)
{
    int64_t taps = s->kernel[1] * s->channels, step = g.codes ? 4 : 1;
    gradient_operands start = g;
    for (int64_t i = 0, lines; i < s->kernel[0]; i += lines) {
        lines = lines_of(taps, s->kernel[0] - i);
        int64_t tiles = lines > 1 ? 1 : (taps + TAPS_MOST - 1) / TAPS_MOST;
        for (int64_t k = 0, size; k < taps; k += size) {
            size = (taps - k + tiles - 1) / tiles;
            g.x = start.x + i * g.tap_row + k * step;
            g.sums = start.sums + i * g.sums_row + k * g.filters;
            run_tile(size, lines, &g);
            g.bias = NULL;
            tiles--;
        }
    }
}

/* The same where the last vector is not full: through copies padded with zeros. */
static void run_narrow(const first_shape *s, gradient_operands g)
{
    enum { PIXELS = 64 };
    float dy[PIXELS * BLOCK] = {0};
    uint8_t codes[PIXELS * BLOCK] = {0};
    gradient_operands wide = g;
    wide.d_pixel = g.vectors * VEC_FLOATS;
    wide.dy = dy;
    wide.y = NULL;
    wide.codes = g.codes ? codes : NULL;
    wide.rows = 1;
    for (int64_t row = 0; row < g.rows; row++)
        for (int64_t first = 0; first < g.columns; first += PIXELS) {
            int64_t from = row * g.d_row + first * g.d_pixel;
            wide.columns = g.columns - first < PIXELS ? g.columns - first : PIXELS;
            wide.x = g.x + row * g.x_row + first * g.pixel;
            for (int64_t p = 0; p < wide.columns; p++, from += g.d_pixel)
                for (int64_t i = 0; i < g.rest; i++) {
                    bool counts = !g.y || g.y[from + i] > 0;
                    dy[p * wide.d_pixel + i] = counts ? g.dy[from + i] : 0;
                    if (g.codes)
                        codes[p * wide.d_pixel + i] = g.codes[from + i];
                }
            run_taps(s, wide);
        }
}

/* Blocks of rows and filters whose gradients stay in the first-level cache while tile after tile
   passes over them. */
static void run_band(const first_gradient *f, gradient_operands g)
{
    const first_shape *s = f->s;
    int64_t most = GRADIENT_FLOATS / g.d_row > 0 ? GRADIENT_FLOATS / g.d_row : 1;
    const gradient_operands start = g;
    for (int64_t row = 0; row < f->rows; row += most)
        for (int64_t n = 0; n < s->filters; n += BLOCK) {
            int64_t from = row * g.d_row + n;
            g.rest = s->filters - n;
            g.vectors = g.rest > VEC_FLOATS ? 2 : 1;
            g.rows = f->rows - row < most ? f->rows - row : most;
            g.x = start.x + row * g.x_row;
            g.dy = f->dy + from;
            g.y = f->y ? f->y + from : NULL;
            g.codes = f->codes ? f->codes + from : NULL;
            g.sums = f->sums + n;
            g.bias = f->sums + first_taps(s) * s->filters + n;
            if (g.rest >= g.vectors * VEC_FLOATS)
                run_taps(s, g);
            else
                run_narrow(s, g);
        }
}

static void add(const first_gradient *f)
{
    const first_shape *s = f->s;
    int64_t width = first_gradient_row(s);
    run_band(f, (gradient_operands){.x = f->band,
                                    .pixel = s->stride[1] * s->channels,
                                    .x_row = s->stride[0] * width,
                                    .tap_row = width,
                                    .d_pixel = s->filters,
                                    .d_row = s->out[1] * s->filters,
                                    .columns = s->out[1],
                                    .filters = s->filters,
                                    .sums_row = s->kernel[1] * s->channels * s->filters});
}

static void add_pool(const first_gradient *f)
{
    const first_shape *s = f->s;
    int64_t width = 4 * first_gradient_row(s);
    run_band(f, (gradient_operands){.x = f->band + first_gradient_floats(s, 2 * f->rows),
                                    .pixel = 2 * 4 * s->channels,
                                    .x_row = 2 * width,
                                    .tap_row = width,
                                    .d_pixel = s->filters,
                                    .d_row = s->out[1] / 2 * s->filters,
                                    .columns = s->out[1] / 2,
                                    .filters = s->filters,
                                    .sums_row = s->kernel[1] * s->channels * s->filters});
}

const conv_first_gradient_kernels ISA(cpu_conv_first_gradient) = {.pack_band = pack_band,
                                                                  .add = add,
                                                                  .pack_pool_band = pack_pool_band,
                                                                  .add_pool = add_pool,
                                                                  .pool_products = PICKS ? 1 : 4};
