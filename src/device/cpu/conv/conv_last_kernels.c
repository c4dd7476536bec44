/* Forward convolution with few filters, stride 1, as dot products: the lanes of a vector are
   neighbouring floats of a window's row, which has the channels of its pixels one after another.

   A register tile is some pixels of one output row by all filters, with one vector of partial sums
   for each, at most as many as a vector has lanes: then their sums over lanes are one vector, which
   is the tile's output in its order. */
#include "device/cpu/conv/conv_last_kernels.h"
#include "device/cpu/vec.h"

/* Vectors of a window's row; the last may not be full. */
VEC_INLINE int64_t row_vectors(const first_shape *s)
{
    return (s->kernel[1] * s->channels + VEC_FLOATS - 1) / VEC_FLOATS;
}

static int64_t packed_floats(const first_shape *s)
{
    return s->kernel[0] * row_vectors(s) * s->filters * VEC_FLOATS;
}

/* [row of the window][vector][filter][lane], zeros in the last vector's unused lanes */
static void pack_weights(const first_shape *s, const float *w, float *packed)
{
    const int64_t row = s->kernel[1] * s->channels;
    for (int64_t i = 0; i < s->kernel[0]; i++, w += row * s->filters)
        for (int64_t v = 0; v < row_vectors(s); v++)
            for (int64_t n = 0; n < s->filters; n++)
                for (int64_t k = v * VEC_FLOATS; k < (v + 1) * VEC_FLOATS; k++)
                    *packed++ = k < row ? w[k * s->filters + n] : 0;
}

typedef struct last_operands {
    const float *x, *w; /* the band at the tile's first pixel; weights */
    int64_t pixel, row; /* floats from one pixel to the next, from one row to the next */
    int64_t rows;       /* of the window */
    int64_t full, rest; /* of its row: full vectors, and floats after them */
    vec bias;           /* in the output's order */
    float *y;
} last_operands;

/* acc += one vector of the windows' rows times the filters' weights */
VEC_INLINE void add_products(int pixels, int filters, const last_operands *t, const float *x,
                             const float *w, int64_t count, vec acc[VEC_FLOATS])
{
    UNROLL(16)
    for (int p = 0; p < pixels; p++) {
        const vec value = vec_load_count(x + p * t->pixel, count);
        UNROLL(4)
        for (int n = 0; n < filters; n++)
            acc[p * filters + n] += value * vec_load(w + n * VEC_FLOATS);
    }
}

VEC_INLINE void tile(int pixels, int filters, const last_operands *t)
{
    vec acc[VEC_FLOATS];
    const float *w = t->w, *row = t->x;
    UNROLL(16)
    for (int i = 0; i < VEC_FLOATS; i++)
        acc[i] = (vec){0};
    for (int64_t i = 0; i < t->rows; i++, row += t->row) {
        const float *x = row;
        for (int64_t v = 0; v < t->full; v++, x += VEC_FLOATS, w += filters * VEC_FLOATS)
            add_products(pixels, filters, t, x, w, VEC_FLOATS, acc);
        if (t->rest > 0) {
            add_products(pixels, filters, t, x, w, t->rest, acc);
            w += filters * VEC_FLOATS;
        }
    }
    vec_transpose(acc);
    UNROLL(4)
    for (int step = VEC_FLOATS / 2; step > 0; step /= 2) {
        UNROLL(8)
        for (int i = 0; i < step; i++)
            acc[i] += acc[i + step];
    }
    vec_store_count(t->y, acc[0] + t->bias, pixels * filters);
}

/* A row of the output. The last tile begins early enough to be full, and computes some pixels
   again; a row that is shorter than a tile goes pixel by pixel. */
VEC_INLINE void row_of(int filters, last_operands t, int64_t columns)
{
    const int pixels = VEC_FLOATS / filters;
    const float *x = t.x;
    float *y = t.y;
    for (int64_t at = 0; at < columns && columns >= pixels; at += pixels) {
        const int64_t column = at + pixels <= columns ? at : columns - pixels;
        t.x = x + column * t.pixel;
        t.y = y + column * filters;
        tile(pixels, filters, &t);
    }
    for (int64_t at = 0; at < columns && columns < pixels; at++) {
        t.x = x + at * t.pixel;
        t.y = y + at * filters;
        tile(1, filters, &t);
    }
}

static void forward(const last_forward *f)
{
    const first_shape *s = f->s;
    const int64_t row = s->kernel[1] * s->channels;
    float bias[VEC_FLOATS];
    for (int i = 0; i < VEC_FLOATS; i++)
        bias[i] = f->bias ? f->bias[i % s->filters] : 0;
    last_operands t = {.x = f->band,
                       .w = f->packed,
                       .pixel = s->channels,
                       .row = first_gradient_row(s),
                       .rows = s->kernel[0],
                       .full = row / VEC_FLOATS,
                       .rest = row % VEC_FLOATS,
                       .bias = vec_load(bias),
                       .y = f->y};
    for (int64_t i = 0; i < f->rows; i++, t.x += t.row, t.y += s->out[1] * s->filters) {
        if (s->filters == 1)
            row_of(1, t, s->out[1]);
        else if (s->filters == 2)
            row_of(2, t, s->out[1]);
        else if (s->filters == 3)
            row_of(3, t, s->out[1]);
        else
            row_of(4, t, s->out[1]);
    }
}

const conv_last_kernels ISA(cpu_conv_last) = {
    .packed_floats = packed_floats, .pack_weights = pack_weights, .forward = forward};
