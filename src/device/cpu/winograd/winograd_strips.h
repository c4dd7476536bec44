/* Strips of tiles for winograd_tiles.h, and the positions of their pixels. */
#include "device/cpu/winograd/winograd_1d.h"

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
