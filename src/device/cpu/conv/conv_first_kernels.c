/* Forward convolution of an image with few channels, alone or with the 2x2 max-pool after it.

   A register tile is some columns of one output row (with the pool: of two rows) by one or two
   vectors of filters; for each tap it takes one load per vector of weights and one broadcast per
   pixel. The band is packed in planes, so that neighbouring columns are neighbours in memory
   whatever the number of channels and the stride: one tile handles all cases.

   Measured, one thread of a loaded Cascade Lake core, as a fraction of the FMA probe: from the
   first-level cache 0.87, with pool and codes 0.79. Whole layers, whose outputs go to memory:
   100x32x32x3 to 32 filters 3x3 0.60; 32x150x150x3, 3x3 valid, with relu, pool and codes 0.63;
   50x28x28x1, 5x5, the same 0.63; 50x28x28x1, 3x3 0.35. */
#include "device/cpu/conv/conv_first_kernels.h"
#include "device/cpu/pool/pool_codes.h"

/* Pixels of a tile: two accumulators each; weights, the broadcast and a product need registers too.
 */
enum { PIXELS_MOST = (VEC_COUNT - 4) / 2, PAIRS_MOST = PIXELS_MOST / 4, BLOCK = 2 * VEC_FLOATS };
/* Prefetch distance of a tile's output, in pixels. */
enum { PREFETCH_PIXELS = 32 };

/* ---- packing ---------------------------------------------------------------------------- */

/* Filters of the block from `n` on: two vectors, or one where one is enough. */
VEC_INLINE int64_t block_width(const first_shape *s, int64_t n)
{
    return s->filters - n > VEC_FLOATS ? BLOCK : VEC_FLOATS;
}

static int64_t packed_floats(const first_shape *s)
{
    return (first_taps(s) + 1) * ((s->filters + BLOCK - 1) / BLOCK * BLOCK);
}

/* [block][bias, then taps][width of the block], zeros after the last filter */
static void pack_weights(const first_shape *s, const float *w, const float *bias, float *packed)
{
    int64_t taps = first_taps(s);
    for (int64_t n = 0; n < s->filters; n += BLOCK) {
        int64_t width = block_width(s, n), rest = s->filters - n;
        for (int64_t k = -1; k < taps; k++, packed += width)
            for (int64_t i = 0; i < width; i++)
                packed[i] = i >= rest ? 0
                            : k >= 0  ? w[k * s->filters + n + i]
                            : bias    ? bias[n + i]
                                      : 0;
    }
}

static void offsets(const first_shape *s, int32_t *offset)
{
    int64_t plane = first_plane(s), step = s->stride[1], k = 0;
    for (int64_t i = 0; i < s->kernel[0]; i++)
        for (int64_t j = 0; j < s->kernel[1]; j++)
            for (int64_t c = 0; c < s->channels; c++)
                offset[k++] =
                    (int32_t)(((i * s->channels + c) * step + j % step) * plane + j / step);
}

/* Split `count` pixels into three planes, which are `plane` floats apart. */
VEC_INLINE void split_three(const float *restrict x, int64_t count, int64_t plane,
                            float *restrict first)
{
    float *restrict second = first + plane, *restrict third = second + plane;
    for (int64_t k = 0; k < count; k++) {
        first[k] = x[3 * k];
        second[k] = x[3 * k + 1];
        third[k] = x[3 * k + 2];
    }
}

/* The columns of phase `at` of one input row: `count` of them, from the first inside the image. */
VEC_INLINE void pack_row(const first_shape *s, const float *x, int64_t count, float *plane)
{
    int64_t next = first_plane(s), step = s->stride[1];
    if (step == 1 && s->channels == 1)
        memcpy(plane, x, (size_t)count * sizeof *plane);
    else if (step == 1 && s->channels == 3)
        split_three(x, count, next, plane);
    else
        for (int64_t c = 0; c < s->channels; c++)
            for (int64_t k = 0; k < count; k++)
                plane[c * step * next + k] = x[k * step * s->channels + c];
}

/* Write zeros left and right of columns begin to end - 1, in the planes of all channels. */
VEC_INLINE void pack_margins(const first_shape *s, int64_t begin, int64_t end, float *plane)
{
    const int64_t width = first_plane(s);
    for (int64_t c = 0; c < s->channels; c++, plane += s->stride[1] * width) {
        for (int64_t k = 0; k < begin; k++)
            plane[k] = 0;
        for (int64_t k = end; k < width; k++)
            plane[k] = 0;
    }
}

/* Column k of a plane of phase `at` is the image's column k stride + at - before. */
static void pack_phase(const first_shape *s, const float *x, int64_t first, int64_t rows,
                       int64_t at, float *band)
{
    int64_t plane = first_plane(s), step = s->stride[1], before = s->before[1];
    int64_t begin = before > at ? (before - at + step - 1) / step : 0;
    int64_t end = (s->in[1] + before - at + step - 1) / step;
    begin = begin < plane ? begin : plane;
    end = end < plane ? end : plane;
    end = end > begin ? end : begin;
    x += (begin * step + at - before) * s->channels;
    band += at * plane;
    for (int64_t i = first; i < first + rows; i++, band += first_band_row(s)) {
        if (i < 0 || i >= s->in[0])
            continue;
        pack_margins(s, begin, end, band);
        if (end > begin)
            pack_row(s, x + i * s->in[1] * s->channels, end - begin, band + begin);
    }
}

static void pack_band(const first_shape *s, const float *x, int64_t row, int64_t rows, float *band)
{
    int64_t first = row * s->stride[0] - s->before[0], count = first_band_rows(s, rows);
    for (int64_t i = 0; i < count; i++)
        if (first + i < 0 || first + i >= s->in[0])
            memset(band + i * first_band_row(s), 0, (size_t)first_band_row(s) * sizeof *band);
    for (int64_t at = 0; at < s->stride[1]; at++)
        pack_phase(s, x, first, count, at, band);
}

/* ---- tiles ------------------------------------------------------------------------------ */

/* The pointers and strides of a tile, for some columns of one or two rows. */
typedef struct tile_operands {
    const int32_t *offset;
    int64_t taps;
    const float *w;       /* packed: bias, then taps */
    const float *x;       /* the band at its first pixel */
    int64_t row;          /* floats from one output row to the next: in the band, */
    int64_t y_row, pixel; /* in the output; and from one output pixel to the next */
    int64_t rest;         /* number of filters from the block's first on */
    int vectors;          /* in the block */
    bool relu;
    float *y, *pooled;
    uint8_t *codes;
} tile_operands;

/* The operands of the windows `pairs` further right. */
VEC_INLINE tile_operands next_pool_operands(const tile_operands *t, int64_t pairs)
{
    tile_operands next = *t;
    next.x += 2 * pairs;
    next.y += t->y ? 2 * pairs * t->pixel : 0;
    next.pooled += pairs * t->pixel;
    next.codes += t->codes ? pairs * t->pixel : 0;
    return next;
}

typedef vec accumulators[PIXELS_MOST][2];

/* All taps of `rows` times `columns` pixels and `vectors` vectors of filters. Each tap also
   prefetches one more pixel of the output, from `out` on: otherwise a tile's stores would fill the
   miss buffers all at once and delay the next tile. */
VEC_INLINE void multiply(int rows, int columns, int vectors, const tile_operands *t,
                         const float *out, accumulators acc)
{
    const float *w = t->w, *prefetch = out + PREFETCH_PIXELS * t->pixel;
    UNROLL(16)
    for (int p = 0; p < rows * columns; p++) {
        UNROLL(2)
        for (int v = 0; v < vectors; v++)
            acc[p][v] = vec_load(w + v * VEC_FLOATS);
    }
    for (int64_t k = 0; k < t->taps; k++, prefetch += t->pixel) {
        w += vectors * VEC_FLOATS;
        const float *x = t->x + t->offset[k], *below = x + t->row;
        vec weight[2];
        UNROLL(2)
        for (int v = 0; v < vectors; v++) {
            weight[v] = vec_load(w + v * VEC_FLOATS);
            VEC_PREFETCH_WRITE(prefetch + v * VEC_FLOATS);
        }
        UNROLL(16)
        for (int p = 0; p < rows * columns; p++) {
            vec value = vec_all(p < columns ? x[p] : below[p - columns]);
            UNROLL(2)
            for (int v = 0; v < vectors; v++)
                acc[p][v] += value * weight[v];
        }
    }
}

VEC_INLINE void rectify(int pixels, int vectors, accumulators acc)
{
    UNROLL(16)
    for (int p = 0; p < pixels; p++) {
        UNROLL(2)
        for (int v = 0; v < vectors; v++)
            acc[p][v] = vec_max((vec){0}, acc[p][v]); /* a NaN stays */
    }
}

VEC_INLINE void store_pixels(int rows, int columns, int vectors, const tile_operands *t,
                             accumulators acc)
{
    float *y = t->y, *below = t->y + t->y_row;
    UNROLL(16)
    for (int p = 0; p < rows * columns; p++) {
        UNROLL(2)
        for (int v = 0; v < vectors; v++)
            vec_store((p < columns ? y + p * t->pixel : below + (p - columns) * t->pixel) +
                          v * VEC_FLOATS,
                      acc[p][v]);
    }
}

/* `count` adjacent tiles. */
VEC_INLINE void plain_tiles(int columns, int vectors, tile_operands t, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        accumulators acc;
        multiply(1, columns, vectors, &t, t.y, acc);
        if (t.relu)
            rectify(columns, vectors, acc);
        store_pixels(1, columns, vectors, &t, acc);
        t.x += columns;
        t.y += columns * t.pixel;
    }
}

/* ---- pooling ---------------------------------------------------------------------------- */

VEC_INLINE void pool_windows(int pairs, int vectors, const tile_operands *t, accumulators acc)
{
    vec low = vec_all(pool_lowest(t->relu));
    UNROLL(4)
    for (int i = 0; i < pairs; i++) {
        UNROLL(2)
        for (int v = 0; v < vectors; v++) {
            vec *top = &acc[2 * i][v], *bottom = &acc[2 * pairs + 2 * i][v];
            vec_mask code;
            int64_t at = i * t->pixel + v * VEC_FLOATS;
            vec most = pool_largest(top[0], top[2], bottom[0], bottom[2], low, &code);
            vec_store(t->pooled + at, t->relu ? vec_max((vec){0}, most) : most);
            if (t->codes)
                pool_store_codes(t->codes + at, code);
        }
    }
}

/* `count` adjacent tiles, of two rows and `pairs` windows each. */
VEC_INLINE void pool_tiles(int pairs, int vectors, tile_operands t, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        accumulators acc;
        multiply(2, 2 * pairs, vectors, &t, t.y ? t.y : t.pooled, acc);
        if (t.y && t.relu)
            rectify(4 * pairs, vectors, acc);
        if (t.y)
            store_pixels(2, 2 * pairs, vectors, &t, acc);
        pool_windows(pairs, vectors, &t, acc);
        t = next_pool_operands(&t, pairs);
    }
}

/* ---- a band ----------------------------------------------------------------------------- */

/* GCC unrolls a tile only for sizes that it knows. */
#define TILE_CASE(tiles, size)           \
    case size:                           \
        tiles(size, vectors, *t, count); \
        break;

VEC_INLINE void plain_tiles_of(int64_t columns, int vectors, const tile_operands *t, int64_t count)
{
    switch (columns) {
        TILE_CASE(plain_tiles, 1)
        TILE_CASE(plain_tiles, 2)
        TILE_CASE(plain_tiles, 3)
        TILE_CASE(plain_tiles, 4)
        TILE_CASE(plain_tiles, 5)
        TILE_CASE(plain_tiles, 6)
#if VEC_COUNT >= 32
        TILE_CASE(plain_tiles, 7)
        TILE_CASE(plain_tiles, 8)
        TILE_CASE(plain_tiles, 9)
        TILE_CASE(plain_tiles, 10)
        TILE_CASE(plain_tiles, 11)
        TILE_CASE(plain_tiles, 12)
        TILE_CASE(plain_tiles, 13)
        TILE_CASE(plain_tiles, 14)
#endif
    }
}

VEC_INLINE void pool_tiles_of(int64_t pairs, int vectors, const tile_operands *t, int64_t count)
{
    switch (pairs) {
        TILE_CASE(pool_tiles, 1)
#if VEC_COUNT >= 32
        TILE_CASE(pool_tiles, 2)
        TILE_CASE(pool_tiles, 3)
#endif
    }
}

/* `count` tiles of `size` columns or, with `pool`, windows. */
static void run_tiles(int64_t size, const tile_operands *t, bool pool, int64_t count)
{
    if (pool && t->vectors == 2)
        pool_tiles_of(size, 2, t, count);
    else if (pool)
        pool_tiles_of(size, 1, t, count);
    else if (t->vectors == 2)
        plain_tiles_of(size, 2, t, count);
    else
        plain_tiles_of(size, 1, t, count);
}

/* One tile where the last vector is not full: through a copy with space for it. */
static void run_narrow_tile(int64_t size, const tile_operands *t, bool pool)
{
    float y[PIXELS_MOST * BLOCK], pooled[PAIRS_MOST * BLOCK];
    uint8_t codes[PAIRS_MOST * BLOCK];
    tile_operands wide = *t;
    int64_t columns = pool ? 2 * size : size, pixels = pool ? 2 * columns : columns;
    size_t bytes = (size_t)t->rest * sizeof(float);
    wide.pixel = t->vectors * VEC_FLOATS;
    wide.y_row = columns * wide.pixel;
    wide.y = t->y ? y : NULL;
    wide.pooled = pooled;
    wide.codes = t->codes ? codes : NULL;
    run_tiles(size, &wide, pool, 1);
    for (int64_t p = 0; t->y && p < pixels; p++)
        memcpy(t->y + p / columns * t->y_row + p % columns * t->pixel, y + p * wide.pixel, bytes);
    for (int64_t p = 0; pool && p < size; p++)
        memcpy(t->pooled + p * t->pixel, pooled + p * wide.pixel, bytes);
    for (int64_t p = 0; t->codes && p < size; p++)
        memcpy(t->codes + p * t->pixel, codes + p * wide.pixel, (size_t)t->rest);
}

/* All `total` columns or windows from t on, in tiles of nearly equal size. */
static void run_row(tile_operands t, bool pool, int64_t total)
{
    int64_t most = pool ? PAIRS_MOST : PIXELS_MOST, tiles = (total + most - 1) / most;
    bool narrow = t.rest < t.vectors * VEC_FLOATS;
    while (total > 0) {
        int64_t size = (total + tiles - 1) / tiles, count = total - (size - 1) * tiles;
        if (narrow)
            count = 1;
        if (narrow)
            run_narrow_tile(size, &t, pool);
        else
            run_tiles(size, &t, pool, count);
        if (pool) {
            t = next_pool_operands(&t, size * count);
        } else {
            t.x += size * count;
            t.y += size * count * t.pixel;
        }
        total -= size * count;
        tiles -= count;
    }
}

/* The block of filters from n on. */
static tile_operands operands_of(const first_forward *f, int64_t n)
{
    const first_shape *s = f->s;
    return (tile_operands){.offset = f->offset,
                           .taps = first_taps(s),
                           .w = f->packed + (first_taps(s) + 1) * n,
                           .x = f->band,
                           .row = s->stride[0] * first_band_row(s),
                           .y_row = s->out[1] * s->filters,
                           .pixel = s->filters,
                           .rest = s->filters - n,
                           .vectors = block_width(s, n) == BLOCK ? 2 : 1,
                           .relu = f->relu,
                           .y = f->y ? f->y + n : NULL,
                           .pooled = f->pooled ? f->pooled + n : NULL,
                           .codes = f->codes ? f->codes + n : NULL};
}

static void forward(const first_forward *f)
{
    const first_shape *s = f->s;
    for (int64_t n = 0; n < s->filters; n += BLOCK) {
        tile_operands t = operands_of(f, n);
        for (int64_t row = 0; row < f->rows; row++, t.x += t.row, t.y += t.y_row)
            run_row(t, false, s->out[1]);
    }
}

/* The last column of an odd width, outside all windows. */
static void run_last_column(tile_operands t, int64_t column)
{
    t.x += column;
    t.y += column * t.pixel;
    for (int side = 0; side < 2; side++, t.x += t.row, t.y += t.y_row)
        run_row(t, false, 1);
}

static void forward_pool(const first_forward *f)
{
    const first_shape *s = f->s;
    int64_t pairs = s->out[1] / 2;
    for (int64_t n = 0; n < s->filters; n += BLOCK) {
        tile_operands t = operands_of(f, n);
        for (int64_t row = 0; row < f->rows; row++) {
            run_row(t, true, pairs);
            if (t.y && s->out[1] > 2 * pairs)
                run_last_column(t, 2 * pairs);
            t.x += 2 * t.row;
            t.y += t.y ? 2 * t.y_row : 0;
            t.pooled += pairs * t.pixel;
            t.codes += t.codes ? pairs * t.pixel : 0;
        }
    }
}

const conv_first_kernels ISA(cpu_conv_first) = {.packed_floats = packed_floats,
                                                .pack_weights = pack_weights,
                                                .offsets = offsets,
                                                .pack_band = pack_band,
                                                .forward = forward,
                                                .forward_pool = forward_pool};
