/* Strips of tiles for winograd_tiles.h: where their pixels are, or what a pool gives back to them.
 */
#include "device/cpu/kernels/pool_codes.h"
#include "device/cpu/kernels/winograd_points.h"

/* Tiles side by side that are transformed together: the columns that they share are transformed
   once, and the strip stays in the first-level cache. */
enum { LINE_FLOATS = 16, STRIP_TILES = 8 };

/* ---- strips of tiles -------------------------------------------------------------------- */

/* Up to STRIP_TILES tiles side by side. */
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

/* Of `columns` columns from `first` on, those inside are *begin to *end - 1. */
VEC_INLINE void columns_inside(const winograd_image *g, int64_t first, int64_t columns,
                               int64_t *begin, int64_t *end)
{
    *begin = first < 0 ? -first : 0;
    *end = g->width - first < columns ? g->width - first : columns;
    *begin = *begin < columns ? *begin : columns;
    *end = *end > *begin ? *end : *begin;
}

/* `whole`: there are VEC_FLOATS channels left or more. */
VEC_INLINE vec load_channels(const float *p, int64_t left, bool whole)
{
    return whole ? vec_load(p) : vec_load_part(p, left);
}

VEC_INLINE void store_channels(float *p, vec v, int64_t left, bool whole)
{
    if (whole)
        vec_store(p, v);
    else
        vec_store_part(p, v, left);
}

/* ---- pixels under a pool ---------------------------------------------------------------- */

/* A vector of channels of a strip's pixels, from an even row and column on. */
typedef vec unpooled[SIZE + 2][STEP * STRIP_TILES + SIZE];

/* The `rows` times `columns` pixels from row y and column x of the image on, which may be -TAPS + 1
   at least: that at (y, x) is to[y & 1][x & 1]. */
static void unpool(const winograd_image *g, const winograd_pixels *p, int64_t image, int64_t y,
                   int64_t x, int rows, int64_t columns, int64_t c, unpooled to)
{
    const int64_t height = g->height / 2, width = g->width / 2, left = g->channels - c;
    const int64_t first_row = (y - (y & 1)) / 2, first = (x - (x & 1)) / 2;
    rows = (int)((rows + (y & 1) + 1) / 2);
    columns = (columns + (x & 1) + 1) / 2;
    for (int i = 0; i < rows; i++) {
        const int64_t row = first_row + i;
        const int64_t line = ((image * height + row) * width + first) * g->channels + c;
        vec *top = to[2 * i], *bottom = to[2 * i + 1];
        for (int64_t j = 0; j < columns; j++, top += 2, bottom += 2) {
            vec d = {0};
            vec_mask code = {0};
            if (row >= 0 && row < height && first + j >= 0 && first + j < width) {
                const int64_t at = line + j * g->channels;
                d = load_channels(p->x + at, left, left >= VEC_FLOATS);
                code = left >= VEC_FLOATS ? pool_load_codes(p->codes + at)
                                          : pool_load_codes_part(p->codes + at, left);
            }
            top[0] = (vec)((code == 0) & (vec_mask)d);
            top[1] = (vec)((code == 1) & (vec_mask)d);
            bottom[0] = (vec)((code == 2) & (vec_mask)d);
            bottom[1] = (vec)((code == 3) & (vec_mask)d);
        }
    }
}

/* A vector of channels of a strip's pixels, of columns in the image. */
typedef struct strip_pixels {
    const float *rows[SIZE];
    int64_t first, step; /* floats to the strip's first column, from column to column */
    int64_t left;        /* channels */
} strip_pixels;

/* `count` rows times `columns` columns from the strip's first tile on, `before` its first pixel;
   rows outside of the image are zeros. */
VEC_INLINE void strip_load(const winograd_image *g, const winograd_pixels *p, const strip *s,
                           const int64_t before[2], int count, int64_t columns, int64_t c,
                           unpooled buffer, strip_pixels *to)
{
    const int64_t row = STEP * s->row - before[0], column = STEP * s->column - before[1];
    if (p->codes) {
        unpool(g, p, s->image, row, column, count, columns, c, buffer);
        to->first = (column & 1) * VEC_FLOATS;
        to->step = to->left = VEC_FLOATS;
    } else {
        to->first = column * g->channels + c;
        to->step = g->channels;
        to->left = g->channels - c;
    }
    for (int i = 0; i < count; i++) {
        const int64_t y = row + i;
        if (p->codes)
            to->rows[i] = (const float *)buffer[i + (row & 1)];
        else
            to->rows[i] = y >= 0 && y < g->height
                              ? p->x + (s->image * g->height + y) * g->width * g->channels
                              : g->zeros;
    }
}
