/* Microkernels of RESAMPLE. */
#include "device/cpu/elementwise/resample_kernels.h"
#include "device/cpu/vec.h"
#include <string.h>

enum { TERMS = 4 }; /* whose weights stay in registers: those of twice as large an image */
enum { BLOCK = 64 };

#define RULE VEC_INLINE
#define rule_all(a) vec_all(a)
#define rule_select(mask, a, b) vec_select(mask, a, b)
#define rule_to_index(a) __builtin_convertvector(a, vec_mask)
typedef vec rule_real;
typedef vec_mask rule_index;

VEC_INLINE vec rule_floor(vec a)
{
    const vec whole = __builtin_convertvector(rule_to_index(a), vec);
    return whole - vec_select(whole > a, vec_all(1), vec_all(0));
}
#include "device/rules/resampling.h"

/* ---- sums of rows ------------------------------------------------------------------------ */

/* One vector of the sum of `terms` rows. */
VEC_INLINE vec sum_vector(const resample_term *t, int terms, float start, const float *x,
                          int64_t count, int64_t at, int64_t elements)
{
    vec sum = vec_all(start);
    UNROLL(4)
    for (int i = 0; i < terms; i++)
        sum += vec_load_count(x + t[i].line * count + at, elements) * t[i].weight;
    return sum;
}

VEC_INLINE void sum_terms(const resample_term *t, int terms, float start, const float *x, float *y,
                          int64_t count)
{
    const int64_t rest = count % VEC_FLOATS, whole = count - rest;
    for (int64_t i = 0; i < whole; i += VEC_FLOATS)
        vec_store(y + i, sum_vector(t, terms, start, x, count, i, VEC_FLOATS));
    if (rest)
        vec_store_first(y + whole, sum_vector(t, terms, start, x, count, whole, rest), rest);
}

VEC_INLINE void copy(const float *x, float *y, int64_t count)
{
    const int64_t rest = count % VEC_FLOATS, whole = count - rest;
    for (int64_t i = 0; i < whole; i += VEC_FLOATS)
        vec_store(y + i, vec_load(x + i));
    if (rest)
        vec_store_first(y + whole, vec_load_first(x + whole, rest), rest);
}

static void sums(const resample_table *t, int64_t begin, int64_t end, const float *x, float *y,
                 int64_t count)
{
    for (int64_t i = begin; i < end; i++, y += count) {
        const resample_term *term = t->terms + t->first[i];
        const int terms = t->first[i + 1] - t->first[i];
        const float start = t->start[i];
        if (terms == 1 && term->weight == 1 && start == 0)
            copy(x + term->line * count, y, count);
        else if (terms == 1)
            sum_terms(term, 1, start, x, y, count);
        else if (terms == 2)
            sum_terms(term, 2, start, x, y, count);
        else if (terms == 3)
            sum_terms(term, 3, start, x, y, count);
        else if (terms == TERMS)
            sum_terms(term, TERMS, start, x, y, count);
        else
            sum_terms(term, terms, start, x, y, count);
    }
}

/* ---- pixels ------------------------------------------------------------------------------ */

typedef float pixel __attribute__((vector_size(4 * RESAMPLE_PIXEL)));

VEC_INLINE pixel load_pixel(const float *x, int64_t channels)
{
    pixel p = {0};
    memcpy(&p, x, (size_t)channels * sizeof *x);
    return p;
}

/* How many of a row's pixels may be stored as whole vectors, whose excess channels the next pixels
   overwrite: what follows the row may belong to another thread. */
VEC_INLINE int64_t whole_pixels(int64_t count, int64_t channels)
{
    const int64_t rest = (RESAMPLE_PIXEL - 1) / channels;
    return count > rest ? count - rest : 0;
}

VEC_INLINE void store_pixel(float *y, pixel p, int64_t channels)
{
    memcpy(y, &p, (size_t)channels * sizeof *y);
}

VEC_INLINE pixel sum_terms_of_pixel(const resample_term *t, int terms, pixel sum, const float *x,
                                    int64_t channels)
{
    UNROLL(2)
    for (int i = 0; i < terms; i++)
        sum += load_pixel(x + t[i].line * channels, RESAMPLE_PIXEL) * t[i].weight;
    return sum;
}

VEC_INLINE pixel sum_pixel(const resample_table *t, int64_t i, const float *x, int64_t channels)
{
    const resample_term *term = t->terms + t->first[i];
    const int terms = t->first[i + 1] - t->first[i];
    const float start = t->start[i];
    const pixel sum = {start, start, start, start};
    if (terms == 1 && term->weight == 1 && start == 0)
        return load_pixel(x + term->line * channels, RESAMPLE_PIXEL);
    if (terms == 2)
        return sum_terms_of_pixel(term, 2, sum, x, channels);
    return sum_terms_of_pixel(term, terms, sum, x, channels);
}

VEC_INLINE void sum_pixels(const resample_table *t, int64_t count, const float *x, float *y,
                           int64_t channels)
{
    const int64_t whole = whole_pixels(count, channels);
    for (int64_t i = 0; i < whole; i++)
        store_pixel(y + i * channels, sum_pixel(t, i, x, channels), RESAMPLE_PIXEL);
    for (int64_t i = whole; i < count; i++)
        store_pixel(y + i * channels, sum_pixel(t, i, x, channels), channels);
}

static void pixel_sums(const resample_table *t, int64_t count, const float *x, float *y,
                       int64_t channels)
{
    if (channels == 1)
        sum_pixels(t, count, x, y, 1);
    else if (channels == 3)
        sum_pixels(t, count, x, y, 3);
    else
        sum_pixels(t, count, x, y, channels);
}

/* For each pixel of a block: the first element of its neighbour before it, the distances to that
   in the next column and row, the weights of those, and which of the two rows (1, 2) and columns
   (4, 8) are outside the image; neighbours are inside. */
typedef struct block_sources {
    int32_t low[BLOCK], right[BLOCK], down[BLOCK], outside[BLOCK];
    float right_weight[BLOCK], down_weight[BLOCK];
} block_sources;

VEC_INLINE vec_mask outside(vec_mask at, int32_t size)
{
    return (at < 0) | (at >= size);
}

VEC_INLINE vec_mask inside(vec_mask at, int32_t size)
{
    at &= at >= 0;
    const vec_mask beyond = at >= size;
    return (at & ~beyond) | ((size - 1) & beyond);
}

VEC_INLINE void store_mask(int32_t *to, vec_mask v)
{
    memcpy(to, &v, sizeof v);
}

/* Of whole vectors: those of the last block may go beyond its pixels. */
VEC_INLINE void find_sources(const resample_line *r, int64_t first, int32_t count, int border,
                             int nearest, block_sources *b)
{
    const int32_t height = (int32_t)r->height, width = (int32_t)r->width;
    const int32_t channels = (int32_t)r->channels, line = width * channels;
    for (int32_t j = 0; j < count; j += VEC_FLOATS) {
        const vec at[2] = {vec_load(r->across[0] + first + j) + r->along[0] + r->shift[0],
                           vec_load(r->across[1] + first + j) + r->along[1] + r->shift[1]};
        const resample_pair row = resample_around(at[0], (float)height, border, nearest);
        const resample_pair column = resample_around(at[1], (float)width, border, nearest);
        const vec_mask top = inside(row.low, height), left = inside(column.low, width);
        store_mask(b->low + j, top * line + left * channels);
        store_mask(b->right + j, (inside(column.high, width) - left) * channels);
        store_mask(b->down + j, (inside(row.high, height) - top) * line);
        vec_store(b->right_weight + j, column.weight);
        vec_store(b->down_weight + j, row.weight);
        if (border == BORDER_CONSTANT)
            store_mask(b->outside + j,
                       (outside(row.low, height) & 1) | (outside(row.high, height) & 2) |
                           (outside(column.low, width) & 4) | (outside(column.high, width) & 8));
    }
}

VEC_INLINE void find_by_border(const resample_line *r, int64_t first, int32_t count, int nearest,
                               block_sources *b)
{
    switch (r->how->border) {
    case BORDER_REFLECT:
        find_sources(r, first, count, BORDER_REFLECT, nearest, b);
        break;
    case BORDER_CONSTANT:
        find_sources(r, first, count, BORDER_CONSTANT, nearest, b);
        break;
    case BORDER_WRAP:
        find_sources(r, first, count, BORDER_WRAP, nearest, b);
        break;
    default:
        find_sources(r, first, count, BORDER_NEAREST, nearest, b);
        break;
    }
}

/* Are RESAMPLE_PIXEL floats from each neighbour on inside the image? */
VEC_INLINE bool has_whole_pixels(const resample_line *r, const block_sources *b, int32_t count)
{
    int32_t furthest = 0;
    for (int32_t j = 0; j < count; j++) {
        const int32_t at = b->low[j] + b->down[j] + b->right[j];
        furthest = at > furthest ? at : furthest;
    }
    return furthest + RESAMPLE_PIXEL <= r->height * r->width * r->channels;
}

VEC_INLINE pixel between(pixel low, pixel high, float weight)
{
    return low * (1 - weight) + high * weight;
}

/* `read`: so many floats of a pixel are read; `borders`: pixels may be outside the image. */
VEC_INLINE pixel blend_pixel(const resample_line *r, const block_sources *b, int64_t j,
                             int64_t read, bool borders)
{
    const pixel value = {r->how->value, r->how->value, r->how->value, r->how->value};
    const float *top = r->image + b->low[j], *bottom = top + b->down[j];
    const int32_t right = b->right[j], beyond = borders ? b->outside[j] : 0;
    const pixel p[4] = {load_pixel(top, read), load_pixel(top + right, read),
                        load_pixel(bottom, read), load_pixel(bottom + right, read)};
    const pixel upper = between(beyond & (1 | 4) ? value : p[0], beyond & (1 | 8) ? value : p[1],
                                b->right_weight[j]);
    const pixel lower = between(beyond & (2 | 4) ? value : p[2], beyond & (2 | 8) ? value : p[3],
                                b->right_weight[j]);
    return between(upper, lower, b->down_weight[j]);
}

VEC_INLINE void blend(const resample_line *r, const block_sources *b, int64_t first, int64_t count,
                      int64_t read, int64_t channels, bool borders)
{
    float *y = r->y + first * channels;
    const int64_t whole = whole_pixels(count, channels);
    for (int64_t j = 0; j < whole; j++)
        store_pixel(y + j * channels, blend_pixel(r, b, j, read, borders), RESAMPLE_PIXEL);
    for (int64_t j = whole; j < count; j++)
        store_pixel(y + j * channels, blend_pixel(r, b, j, read, borders), channels);
}

VEC_INLINE void blend_channels(const resample_line *r, const block_sources *b, int64_t first,
                               int32_t count, bool borders)
{
    const bool whole = has_whole_pixels(r, b, count);
    if (whole && r->channels == 3)
        blend(r, b, first, count, RESAMPLE_PIXEL, 3, borders);
    else if (whole)
        blend(r, b, first, count, RESAMPLE_PIXEL, r->channels, borders);
    else
        blend(r, b, first, count, r->channels, r->channels, borders);
}

static void pixels(const resample_line *r)
{
    block_sources b;
    for (int64_t first = 0; first < r->count; first += BLOCK) {
        const int32_t count = (int32_t)(r->count - first < BLOCK ? r->count - first : BLOCK);
        if (r->how->nearest)
            find_by_border(r, first, count, true, &b);
        else
            find_by_border(r, first, count, false, &b);
        if (r->how->border == BORDER_CONSTANT)
            blend_channels(r, &b, first, count, true);
        else
            blend_channels(r, &b, first, count, false);
    }
}

const resample_kernels ISA(cpu_resample) = {
    .sums = sums, .pixel_sums = pixel_sums, .pixels = pixels};
