/* Resizing with the same bytes as Pillow's Image.resize. */
#include "data/images/image.h"

#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of ITU-R 601-2 in 16.16 fixed point, rounded: Pillow's grey from RGB. */
static uint8_t luma(const uint8_t *rgb)
{
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

static void copy_pixel(const uint8_t *from, int64_t from_channels, uint8_t *to, int64_t to_channels)
{
    if (from_channels == to_channels)
        memcpy(to, from, (size_t)to_channels);
    else if (to_channels == 1)
        *to = luma(from);
    else
        memset(to, *from, (size_t)to_channels);
}

/* A crop of a picture. */
typedef struct image_box {
    int64_t top, left, height, width;
} image_box;

/* ---- nearest ---- */

/* Columns whose sources are computed once for all rows. */
enum { STRIP = 256 };

static void copy_pixels(const uint8_t *line, const int64_t *offset, int64_t count,
                        int64_t from_channels, uint8_t *to, int64_t to_channels)
{
    if (from_channels == 3 && to_channels == 3)
        for (int64_t i = 0; i < count; i++, to += 3) {
            const uint8_t *from = line + offset[i];
            to[0] = from[0];
            to[1] = from[1];
            to[2] = from[2];
        }
    else
        for (int64_t i = 0; i < count; i++, to += to_channels)
            copy_pixel(line + offset[i], from_channels, to, to_channels);
}

/* The pixel of a running position, clamped to the image. */
static int64_t source(double position, int64_t size)
{
    int64_t at = (int64_t)position;
    return at < size ? at : size - 1;
}

static void resize_nearest(const image *from, const image_box *box, int64_t height, int64_t width,
                           int64_t channels, uint8_t *to)
{
    /* The source of pixel i is floor((i + 1/2) * scale). Pillow adds the scale repeatedly instead
       of multiplying; where a position falls on a whole number, only the same sum gives the same
       pixel. */
    double y_scale = (double)box->height / (double)height;
    double x_scale = (double)box->width / (double)width;
    double x = (double)box->left + x_scale * 0.5;
    int64_t offset[STRIP];
    for (int64_t first = 0; first < width; first += STRIP) {
        int64_t count = width - first < STRIP ? width - first : STRIP;
        for (int64_t i = 0; i < count; i++, x += x_scale)
            offset[i] = source(x, from->width) * from->channels;
        double y = (double)box->top + y_scale * 0.5;
        for (int64_t row = 0; row < height; row++, y += y_scale) {
            const uint8_t *line =
                from->pixels + source(y, from->height) * from->width * from->channels;
            copy_pixels(line, offset, count, from->channels, to + (row * width + first) * channels,
                        channels);
        }
    }
}

/* ---- filters: the weight of a source pixel at distance x ---- */

static double box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* R. Keys, "Cubic convolution interpolation for digital image processing" (1981), a = -1/2. */
static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x)
{
    return x == 0 ? 1 : sin(x * M_PI) / (x * M_PI);
}

static double hamming(double x)
{
    x = fabs(x);
    return x < 1 ? sinc(x) * (0.54 + 0.46 * cos(x * M_PI)) : 0;
}

static double lanczos(double x)
{
    return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

/* How image_resize resizes, by the names that Keras's
   load_img takes. `weight` is that of a source pixel at distance x, `support` its radius.
   `stretches`: the radius grows where the picture shrinks, as in Pillow; the other filters use only
   the pixels around a point, and none outside a crop, as in tf.image.resize and so in Keras's
   image_dataset_from_directory. Nearest has no weight. */
struct image_filter {
    const char *name;
    double support;
    double (*weight)(double x);
    bool stretches;
};

static const image_filter filters[] = {
    {"nearest", 0, NULL, false},         {"bilinear", 1, triangle, true},
    {"bicubic", 2, cubic, true},         {"box", 0.5, box, true},
    {"hamming", 1, hamming, true},       {"lanczos", 3, lanczos, true},
    {"bilinear_tf", 1, triangle, false}, {"bicubic_tf", 2, cubic, false},
    {"lanczos3_tf", 3, lanczos, false},
};

const image_filter *image_filter_named(const char *name)
{
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (!name || !strcmp(name, filters[i].name))
            return &filters[i];
    return NULL;
}

const char *image_filter_title(const image_filter *filter)
{
    return filter ? filter->name : filters[0].name;
}

/* ---- filtered resizing: columns, then rows, each to 8 bits, with weights of 22 bits ---- */

enum {
    WEIGHT_BITS = 22,
    HALF = 1 << (WEIGHT_BITS - 1),
    BYTES_MOST =
        1 << 23 /* of the picture between the two passes, unless a single column has more */
};

/* The weights of the source pixels of one output pixel. */
typedef struct taps {
    int64_t first, count;
    const int32_t *weight;
} taps;

/* One direction: the taps of all output pixels, computed once. Their total is at most a few times
   the sizes before and after, except for a filter that reads every pixel. */
typedef struct axis {
    const image_filter *filter;
    int64_t from, to;   /* sizes before and after */
    int64_t begin, end; /* range of the size before that is resized, */
    int64_t low, high;  /* and range that a filter may read */
    double scale, stretch, support;
    taps *taps; /* [to] */
    int32_t *weights;
} axis;

/* The source pixels of output pixel `i`. Bounds, order of the sum and rounding are those of Pillow,
   so that the bytes are the same. */
static taps bounds_of(const axis *a, int64_t i)
{
    double center = (double)a->begin + ((double)i + 0.5) * a->scale;
    int64_t begin = (int64_t)(center - a->support + 0.5);
    int64_t end = (int64_t)(center + a->support + 0.5);
    begin = begin > a->low ? begin : a->low;
    end = end < a->high ? end : a->high;
    return (taps){.first = begin, .count = end > begin ? end - begin : 0};
}

/* Compute the weights of output pixel `i`; `scratch` has room for as many. */
static void find_weights(const axis *a, int64_t i, double *scratch, int32_t *weight)
{
    const taps *t = &a->taps[i];
    double center = (double)a->begin + ((double)i + 0.5) * a->scale;
    double sum = 0, narrow = 1 / a->stretch;
    for (int64_t k = 0; k < t->count; k++) {
        scratch[k] = a->filter->weight(((double)(k + t->first) - center + 0.5) * narrow);
        sum += scratch[k];
    }
    for (int64_t k = 0; k < t->count; k++) {
        double scaled = (sum != 0 ? scratch[k] / sum : scratch[k]) * (1 << WEIGHT_BITS);
        weight[k] = (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    }
}

/* Resizes the pixels [begin, end) of `from` to `to`. */
static cornu_status axis_open(axis *a, const image_filter *filter, int64_t from, int64_t begin,
                              int64_t end, int64_t to)
{
    cornu_status status;
    double *scratch = NULL;
    int64_t all = 0, most = 0;
    *a = (axis){.filter = filter, .from = from, .to = to, .begin = begin, .end = end};
    a->low = filter->stretches ? 0 : begin;
    a->high = filter->stretches ? from : end;
    a->scale = (double)(end - begin) / (double)to;
    a->stretch = filter->stretches && a->scale > 1 ? a->scale : 1;
    a->support = filter->support * a->stretch;
    TRY_GOTO(memory_new((size_t)to, sizeof *a->taps, "resizing", &a->taps));
    for (int64_t i = 0; i < to; i++) {
        a->taps[i] = bounds_of(a, i);
        all += a->taps[i].count;
        most = a->taps[i].count > most ? a->taps[i].count : most;
    }
    TRY_GOTO(memory_new((size_t)all, sizeof *a->weights, "resizing", &a->weights));
    TRY_GOTO(memory_new((size_t)most, sizeof *scratch, "resizing", &scratch));
    int32_t *weight = a->weights;
    for (int64_t i = 0; i < to; weight += a->taps[i++].count) {
        find_weights(a, i, scratch, weight);
        a->taps[i].weight = weight;
    }
done:
    free(scratch);
    return status;
}

/* Is it the identity? */
static bool axis_copies(const axis *a)
{
    return a->from == a->to && a->end - a->begin == a->from;
}

static void axis_close(axis *a)
{
    free(a->taps);
    free(a->weights);
}

static uint8_t to_byte(int32_t sum)
{
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* A strip of columns of the new picture. */
typedef struct strip {
    int64_t begin, end, channels;
    axis x, y;
    uint8_t *row;     /* the strip's part of a row with another number of channels */
    int32_t *sums;    /* [end - begin][channels] */
    uint8_t *between; /* [height before][end - begin][channels] */
} strip;

/* `row` has the source's pixels from `first` on. */
static void narrow_row(const strip *s, const uint8_t *row, int64_t first, uint8_t *to)
{
    for (int64_t i = s->begin; i < s->end; i++) {
        const taps *t = &s->x.taps[i];
        const uint8_t *at = row + (t->first - first) * s->channels;
        int32_t sum[3] = {HALF, HALF, HALF};
        if (s->channels == 1) {
            for (int64_t k = 0; k < t->count; k++)
                sum[0] += t->weight[k] * at[k];
        } else {
            for (int64_t k = 0; k < t->count; k++, at += 3)
                for (int c = 0; c < 3; c++)
                    sum[c] += t->weight[k] * at[c];
        }
        for (int64_t c = 0; c < s->channels; c++)
            *to++ = to_byte(sum[c]);
    }
}

/* Compute one row of the strip from the rows between the passes. */
static void add_rows(const strip *s, const taps *t, uint8_t *to)
{
    int64_t size = (s->end - s->begin) * s->channels;
    for (int64_t i = 0; i < size; i++)
        s->sums[i] = HALF;
    for (int64_t k = 0; k < t->count; k++) {
        const uint8_t *row = s->between + (t->first + k) * size;
        for (int64_t i = 0; i < size; i++)
            s->sums[i] += t->weight[k] * row[i];
    }
    for (int64_t i = 0; i < size; i++)
        to[i] = to_byte(s->sums[i]);
}

static void narrow_rows(strip *s, const image *from)
{
    bool same = axis_copies(&s->x);
    const taps *last = &s->x.taps[s->end - 1];
    int64_t first = same ? s->begin : s->x.taps[s->begin].first;
    int64_t count = (same ? s->end : last->first + last->count) - first;
    int64_t size = (s->end - s->begin) * s->channels;
    for (int64_t y = 0; y < from->height; y++) {
        const uint8_t *row = from->pixels + (y * from->width + first) * from->channels;
        if (s->channels != from->channels) {
            for (int64_t i = 0; i < count; i++)
                s->row[i] = luma(row + 3 * i);
            row = s->row;
        }
        if (same)
            memcpy(s->between + y * size, row, (size_t)size);
        else
            narrow_row(s, row, first, s->between + y * size);
    }
}

static void fit_strip(strip *s, const image *from, uint8_t *to)
{
    int64_t size = (s->end - s->begin) * s->channels;
    narrow_rows(s, from);
    for (int64_t y = 0; y < s->y.to; y++) {
        uint8_t *line = to + (y * s->x.to + s->begin) * s->channels;
        if (axis_copies(&s->y))
            memcpy(line, s->between + y * size, (size_t)size);
        else
            add_rows(s, &s->y.taps[y], line);
    }
}

/* `channels` is the picture's, or 1. */
static cornu_status fit_filtered(const image *from, const image_box *box, int64_t height,
                                 int64_t width, int64_t channels, const image_filter *filter,
                                 uint8_t *to)
{
    cornu_status status;
    strip s = {.channels = channels};
    int64_t columns = BYTES_MOST / (from->height * channels);
    columns = columns < 1 ? 1 : columns < width ? columns : width;
    TRY_GOTO(axis_open(&s.x, filter, from->width, box->left, box->left + box->width, width));
    TRY_GOTO(axis_open(&s.y, filter, from->height, box->top, box->top + box->height, height));
    TRY_GOTO(memory_new((size_t)from->width, 1, "resizing", &s.row));
    TRY_GOTO(memory_new((size_t)(columns * channels), sizeof *s.sums, "resizing", &s.sums));
    TRY_GOTO(
        memory_new((size_t)from->height, (size_t)(columns * channels), "resizing", &s.between));
    for (; s.begin < width; s.begin = s.end) {
        s.end = s.begin + columns < width ? s.begin + columns : width;
        fit_strip(&s, from, to);
    }
done:
    axis_close(&s.x);
    axis_close(&s.y);
    free(s.row);
    free(s.sums);
    free(s.between);
    return status;
}

/* Colours are converted before a filter mixes them, as in Keras; grey becomes RGB afterwards, with
   the same result. */
static cornu_status fit_converted(const image *from, const image_box *box, int64_t height,
                                  int64_t width, int64_t channels, const image_filter *filter,
                                  uint8_t *to)
{
    bool repeat = channels > from->channels;
    TRY(fit_filtered(from, box, height, width, repeat ? 1 : channels, filter, to));
    for (int64_t i = height * width - 1; repeat && i >= 0; i--)
        memset(to + 3 * i, to[i], 3);
    return CORNU_OK;
}

/* The largest centred window with these proportions, as Keras's load_img crops. */
static image_box middle_of(const image *from, int64_t height, int64_t width)
{
    int64_t high = from->width * height / width, wide = from->height * width / height;
    image_box box = {.height = high < from->height ? high : from->height,
                     .width = wide < from->width ? wide : from->width};
    box.height = box.height > 0 ? box.height : 1;
    box.width = box.width > 0 ? box.width : 1;
    box.top = (from->height - box.height) / 2;
    box.left = (from->width - box.width) / 2;
    return box;
}

cornu_status image_resize_as(const image *from, bool keep_aspect_ratio, int64_t height,
                             int64_t width, int64_t channels, const image_filter *filter,
                             uint8_t *to)
{
    bool same = height == from->height && width == from->width;
    image_box box = {.height = from->height, .width = from->width};
    if (keep_aspect_ratio)
        box = middle_of(from, height, width);
    if (filter && filter->weight && !same)
        return fit_converted(from, &box, height, width, channels, filter, to);
    resize_nearest(from, &box, height, width, channels, to);
    return CORNU_OK;
}

cornu_status image_resize(const image *from, int64_t height, int64_t width, int64_t channels,
                          const image_filter *filter, uint8_t *to)
{
    return image_resize_as(from, false, height, width, channels, filter, to);
}
