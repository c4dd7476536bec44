#include "device/resample.h"
#include "base/philox.h"
#include <math.h>
#include <string.h>

#define RULE static inline
#define rule_sine(a) sinf(a)
#define rule_cosine(a) cosf(a)
#define rule_log(a) logf(a)
#define rule_sqrt(a) sqrtf(a)
#define rule_all(a) ((float)(a))
#define rule_to_index(a) ((rule_index)(a))
#define rule_select(mask, a, b) ((mask) ? (a) : (b))
typedef float rule_real;
typedef int32_t rule_index;

/* Without a call of the library where the instruction set has no rounding. */
RULE float rule_floor(float a)
{
    float whole = (float)(int32_t)a;
    return whole - (float)(whole > a);
}
#include "device/rules/drawing.h"
#include "device/rules/resampling.h"

/* ---- DRAW -------------------------------------------------------------------------------- */

static void draw_numbers_of(const op_run *r, int64_t row, float *out)
{
    const drawing *d = &r->op->a.draw.how;
    const uint64_t key = random_key(r->input->seed, RANDOM_DRAW, r->op->a.draw.stream);
    const uint64_t iteration = (uint64_t)r->input->iteration;
    const uint64_t sample = d->kind == DRAW_CROP ? 0 : (uint64_t)(r->input->first + row);
    uint32_t bits[4];
    philox(key, (uint32_t)sample, (uint32_t)(sample >> 32), (uint32_t)iteration,
           (uint32_t)(iteration >> 32), bits);
    float u[4];
    for (int k = 0; k < 4; k++)
        u[k] = random_to_float(bits[k]);
    draw_numbers(d, u, out);
}

/* Blocks of a sample are counted through all samples. */
static void draw_normals_of(const op_run *r, int64_t row, int64_t count, float *out)
{
    const uint64_t key = random_key(r->input->seed, RANDOM_NOISE, r->op->a.draw.stream);
    const uint64_t iteration = (uint64_t)r->input->iteration;
    const int64_t blocks = (count + DRAW_TOGETHER - 1) / DRAW_TOGETHER;
    const uint64_t first = (uint64_t)(r->input->first + row) * (uint64_t)blocks;
    for (int64_t i = 0; i < blocks; i++) {
        const uint64_t block = first + (uint64_t)i;
        const int64_t at = i * DRAW_TOGETHER, left = count - at;
        uint32_t bits[DRAW_TOGETHER];
        float u[DRAW_TOGETHER], drawn[DRAW_TOGETHER];
        philox(key, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)iteration,
               (uint32_t)(iteration >> 32), bits);
        for (int k = 0; k < DRAW_TOGETHER; k++)
            u[k] = random_to_float(bits[k]);
        draw_normals(&r->op->a.draw.how, u, drawn);
        for (int k = 0; k < DRAW_TOGETHER && k < left; k++)
            out[at + k] = drawn[k];
    }
}

void draw_sample(const op_run *r, int64_t row)
{
    const tensor *y = OP_OUT(r->plan, r->op, 0);
    const int64_t count = y->count / y->shape.dim[0];
    float *out = r->out[0] + row * count;
    if (r->op->a.draw.how.kind == DRAW_NORMAL)
        draw_normals_of(r, row, count, out);
    else
        draw_numbers_of(r, row, out);
}

/* ---- RESAMPLE ---------------------------------------------------------------------------- */

resample_size resample_size_of(const plan *p, const op *o)
{
    const bool back = o->kind == OP_RESAMPLE_BACKWARD;
    const shape *map = &OP_IN(p, o, back ? 0 : 1)->shape;
    const shape *x = back ? &OP_OUT(p, o, 0)->shape : &OP_IN(p, o, 0)->shape;
    const shape *y = back ? &OP_IN(p, o, 1)->shape : &OP_OUT(p, o, 0)->shape;
    return (resample_size){.batch = x->dim[0],
                           .height = x->dim[1],
                           .width = x->dim[2],
                           .out_height = y->dim[1],
                           .out_width = y->dim[2],
                           .channels = x->dim[3],
                           .maps = map->dim[0]};
}

typedef struct pixel_source {
    resample_pair row, column;
} pixel_source;

static inline pixel_source source_of(const resampling *how, const resample_size *s,
                                     const float *map, int64_t row, int64_t column)
{
    const float i = (float)row, k = (float)column;
    return (pixel_source){
        resample_around(resample_row(map, i, k), (float)s->height, how->border, how->nearest),
        resample_around(resample_column(map, i, k), (float)s->width, how->border, how->nearest)};
}

const float *resample_map_of(const op_run *r, const resample_size *s, int64_t n)
{
    const float *maps = r->in[r->op->kind == OP_RESAMPLE_BACKWARD ? 0 : 1];
    return maps + (s->maps == 1 ? 0 : n * MAP_NUMBERS);
}

/* The first element of a pixel of an image, -1 where it is outside. */
static inline int64_t pixel_at(const resample_size *s, int32_t row, int32_t column)
{
    const bool inside = row >= 0 && row < s->height && column >= 0 && column < s->width;
    return inside ? (row * s->width + column) * s->channels : -1;
}

static inline float pixel_value(const float *image, int64_t at, int64_t channel, float outside)
{
    return at < 0 ? outside : image[at + channel];
}

static void resample_pixel(const resampling *how, const resample_size *s, const float *image,
                           const pixel_source *from, float *y)
{
    const int64_t a = pixel_at(s, from->row.low, from->column.low);
    const int64_t b = pixel_at(s, from->row.low, from->column.high);
    const int64_t c = pixel_at(s, from->row.high, from->column.low);
    const int64_t d = pixel_at(s, from->row.high, from->column.high);
    for (int64_t k = 0; k < s->channels; k++) {
        float upper = resample_between(pixel_value(image, a, k, how->value),
                                       pixel_value(image, b, k, how->value), from->column.weight);
        float lower = resample_between(pixel_value(image, c, k, how->value),
                                       pixel_value(image, d, k, how->value), from->column.weight);
        y[k] = resample_between(upper, lower, from->row.weight);
    }
}

void resample_rows(const op_run *r, const resample_size *s, int64_t begin, int64_t end)
{
    const resampling *how = &r->op->a.resample;
    for (int64_t at = begin; at < end; at++) {
        const int64_t n = at / s->out_height, row = at % s->out_height;
        const float *image = r->in[0] + n * s->height * s->width * s->channels;
        const float *map = resample_map_of(r, s, n);
        float *y = r->out[0] + at * s->out_width * s->channels;
        for (int64_t column = 0; column < s->out_width; column++) {
            const pixel_source from = source_of(how, s, map, row, column);
            resample_pixel(how, s, image, &from, y + column * s->channels);
        }
    }
}

/* Add dy, times a weight, to the gradient of a pixel. */
static void add_pixel(const resample_size *s, float *dx, int32_t row, int32_t column,
                      const float *dy, float weight)
{
    const int64_t at = pixel_at(s, row, column);
    for (int64_t k = 0; at >= 0 && weight != 0 && k < s->channels; k++)
        dx[at + k] += weight * dy[k];
}

void resample_sample_back(const op_run *r, const resample_size *s, int64_t n)
{
    const int64_t floats = s->height * s->width * s->channels;
    const float *map = resample_map_of(r, s, n);
    const float *dy = r->in[1] + n * s->out_height * s->out_width * s->channels;
    float *dx = r->out[0] + n * floats;
    memset(dx, 0, (size_t)floats * sizeof *dx);
    for (int64_t row = 0; row < s->out_height; row++)
        for (int64_t column = 0; column < s->out_width; column++, dy += s->channels) {
            const pixel_source f = source_of(&r->op->a.resample, s, map, row, column);
            const float down = f.row.weight, right = f.column.weight;
            add_pixel(s, dx, f.row.low, f.column.low, dy, (1 - down) * (1 - right));
            add_pixel(s, dx, f.row.low, f.column.high, dy, (1 - down) * right);
            add_pixel(s, dx, f.row.high, f.column.low, dy, down * (1 - right));
            add_pixel(s, dx, f.row.high, f.column.high, dy, down * right);
        }
}

/* ---- one side after the other --------------------------------------------------------------- */

bool resample_is_separable(const float *map)
{
    return map[1] == 0 && map[3] == 0;
}

/* The one or two lines of x that line `at` of y comes from. */
static int side_terms(const op_run *r, const resample_size *s, const float *map, int side,
                      int64_t at, resample_term terms[2])
{
    const resampling *how = &r->op->a.resample;
    const int64_t size = side == 0 ? s->height : s->width;
    const float source =
        side == 0 ? resample_row(map, (float)at, 0) : resample_column(map, 0, (float)at);
    const resample_pair p = resample_around(source, (float)size, how->border, how->nearest);
    int count = 0;
    if (p.weight < 1)
        terms[count++] = (resample_term){p.low, 1 - p.weight};
    if (p.weight > 0)
        terms[count++] = (resample_term){p.high, p.weight};
    return count;
}

void resample_table_of(const op_run *r, const resample_size *s, const float *map, int side,
                       resample_table *t)
{
    const bool back = r->op->kind == OP_RESAMPLE_BACKWARD;
    const int64_t size = side == 0 ? s->height : s->width;
    const int64_t out = side == 0 ? s->out_height : s->out_width, lines = back ? size : out;
    resample_term terms[2];
    memset(t->first, 0, (size_t)(lines + 1) * sizeof *t->first);
    memset(t->start, 0, (size_t)lines * sizeof *t->start);
    for (int64_t at = 0; at < out; at++) { /* first[i + 1]: the number of line i's terms */
        const int count = side_terms(r, s, map, side, at, terms);
        for (int k = 0; k < count; k++)
            if (terms[k].line >= 0 && terms[k].line < size)
                t->first[(back ? terms[k].line : at) + 1]++;
            else if (!back)
                t->start[at] += terms[k].weight * r->op->a.resample.value;
    }
    for (int64_t i = 0; i < lines; i++)
        t->first[i + 1] += t->first[i];
    for (int64_t at = 0; at < out; at++) { /* first[i]: where line i's next term goes */
        const int count = side_terms(r, s, map, side, at, terms);
        for (int k = 0; k < count; k++)
            if (terms[k].line >= 0 && terms[k].line < size)
                t->terms[t->first[back ? terms[k].line : at]++] =
                    (resample_term){(int32_t)(back ? at : terms[k].line), terms[k].weight};
    }
    for (int64_t i = lines; i > 0; i--)
        t->first[i] = t->first[i - 1];
    t->first[0] = 0;
}
