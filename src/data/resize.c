/* Resizing as Pillow's Image.resize does it, to the bit. */
#include "data/image.h"

#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of ITU-R 601-2 in 16.16 fixed point, rounded: the grey that Pillow makes of RGB. */
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

/* ---- nearest ---- */

/* Columns whose sources are found once for all rows. */
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

/* Where a running position lies, kept inside the image. */
static int64_t source(double position, int64_t limit)
{
    int64_t at = (int64_t)position;
    return at < limit ? at : limit - 1;
}

static void fit_nearest(const image *from, int64_t height, int64_t width, int64_t channels,
                        uint8_t *to)
{
    /* The source of pixel i is floor((i + 1/2) * scale). Pillow adds the scale up instead of
       multiplying; where a position falls on a whole number, only the same sum gives the same
       pixel. */
    double y_scale = (double)from->height / (double)height;
    double x_scale = (double)from->width / (double)width;
    double x = x_scale * 0.5;
    int64_t offset[STRIP];
    for (int64_t first = 0; first < width; first += STRIP) {
        int64_t count = width - first < STRIP ? width - first : STRIP;
        for (int64_t i = 0; i < count; i++, x += x_scale)
            offset[i] = source(x, from->width) * from->channels;
        double y = y_scale * 0.5;
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

struct image_filter {
    const char *name;
    double support;
    double (*weight)(double x);
};

static const image_filter filters[] = {
#define FILTER(name, support, weight) {name, support, weight},
#include "data/filters.def"
#undef FILTER
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
    BYTES_MOST = 1 << 26, /* of the picture between the two passes, unless one column is more */
    TAPS_MOST = 1 << 24
};

/* One direction. */
typedef struct axis {
    const image_filter *filter;
    int64_t from, most; /* size before; no place has more taps than `most` */
    double scale, stretch, support;
} axis;

/* The weights of the source pixels of one place. */
typedef struct taps {
    int64_t first, count;
    int32_t *weight;
} taps;

static axis axis_of(const image_filter *filter, int64_t from, int64_t to)
{
    axis a = {.filter = filter, .from = from, .scale = (double)from / (double)to};
    a.stretch = a.scale > 1 ? a.scale : 1;
    a.support = filter->support * a.stretch;
    double most = ceil(a.support) * 2 + 1;
    a.most = most < (double)from ? (int64_t)most : from;
    return a;
}

/* Fill in the taps of place `i`; `scratch` has room for axis.most. The bounds, the order of the
   sum and the rounding are those of Pillow, so that the bytes are. */
static void find_taps(const axis *a, int64_t i, double *scratch, taps *t)
{
    double center = ((double)i + 0.5) * a->scale, sum = 0, narrow = 1 / a->stretch;
    int64_t begin = (int64_t)(center - a->support + 0.5);
    int64_t end = (int64_t)(center + a->support + 0.5);
    begin = begin > 0 ? begin : 0;
    end = end < a->from ? end : a->from;
    t->first = begin;
    t->count = end - begin < a->most ? end - begin : a->most;
    for (int64_t k = 0; k < t->count; k++) {
        scratch[k] = a->filter->weight(((double)(k + begin) - center + 0.5) * narrow);
        sum += scratch[k];
    }
    for (int64_t k = 0; k < t->count; k++) {
        double share = (sum != 0 ? scratch[k] / sum : scratch[k]) * (1 << WEIGHT_BITS);
        t->weight[k] = (int32_t)(share < 0 ? share - 0.5 : share + 0.5);
    }
}

static uint8_t to_byte(int32_t sum)
{
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* A strip of columns of the new picture. */
typedef struct strip {
    int64_t begin, end, channels;
    taps *taps;       /* [end - begin] */
    int32_t *weights; /* behind the taps */
    double *scratch;
    int32_t *sums;    /* [end - begin][channels] */
    uint8_t *between; /* [height before][end - begin][channels] */
} strip;

static void narrow_row(const strip *s, const uint8_t *row, uint8_t *to)
{
    for (int64_t i = 0; i < s->end - s->begin; i++) {
        const taps *t = &s->taps[i];
        const uint8_t *at = row + t->first * s->channels;
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

/* One row of the strip out of those between. */
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

static void fit_strip(strip *s, const image *from, const axis *x, const axis *y, int64_t height,
                      int64_t width, uint8_t *to)
{
    int64_t size = (s->end - s->begin) * s->channels;
    taps rows = {.weight = s->weights};
    for (int64_t i = s->begin; i < s->end; i++) {
        taps *t = &s->taps[i - s->begin];
        t->weight = s->weights + (i - s->begin) * x->most;
        find_taps(x, i, s->scratch, t);
    }
    for (int64_t row = 0; row < from->height; row++) {
        const uint8_t *line = from->pixels + row * from->width * s->channels;
        if (width == from->width)
            memcpy(s->between + row * size, line + s->begin * s->channels, (size_t)size);
        else
            narrow_row(s, line, s->between + row * size);
    }
    for (int64_t row = 0; row < height; row++) {
        uint8_t *line = to + (row * width + s->begin) * s->channels;
        find_taps(y, row, s->scratch, &rows);
        if (height == from->height)
            memcpy(line, s->between + row * size, (size_t)size);
        else
            add_rows(s, &rows, line);
    }
}

static cornu_status fit_filtered(const image *from, int64_t height, int64_t width,
                                 const image_filter *filter, uint8_t *to)
{
    cornu_status status;
    axis x = axis_of(filter, from->width, width), y = axis_of(filter, from->height, height);
    strip s = {.channels = from->channels};
    int64_t columns = BYTES_MOST / (from->height * s.channels), most = TAPS_MOST / x.most;
    columns = columns < most ? columns : most;
    columns = columns < 1 ? 1 : columns < width ? columns : width;
    int64_t weights = columns * x.most > y.most ? columns * x.most : y.most;
    int64_t scratch = x.most > y.most ? x.most : y.most, row = columns * s.channels;
    TRY_GOTO(memory_new((size_t)columns, sizeof *s.taps, "resizing", &s.taps));
    TRY_GOTO(memory_new((size_t)weights, sizeof *s.weights, "resizing", &s.weights));
    TRY_GOTO(memory_new((size_t)scratch, sizeof *s.scratch, "resizing", &s.scratch));
    TRY_GOTO(memory_new((size_t)row, sizeof *s.sums, "resizing", &s.sums));
    TRY_GOTO(memory_new((size_t)from->height, (size_t)row, "resizing", &s.between));
    for (; s.begin < width; s.begin = s.end) {
        s.end = s.begin + columns < width ? s.begin + columns : width;
        fit_strip(&s, from, &x, &y, height, width, to);
    }
done:
    free(s.taps);
    free(s.weights);
    free(s.scratch);
    free(s.sums);
    free(s.between);
    return status;
}

/* Colours change before a filter mixes them, as Keras does it; grey becomes RGB afterwards, which
   is the same. */
static cornu_status fit_converted(const image *from, int64_t height, int64_t width,
                                  int64_t channels, const image_filter *filter, uint8_t *to)
{
    if (channels == from->channels)
        return fit_filtered(from, height, width, filter, to);
    if (channels == 3) {
        TRY(fit_filtered(from, height, width, filter, to));
        for (int64_t i = height * width - 1; i >= 0; i--)
            memset(to + 3 * i, to[i], 3);
        return CORNU_OK;
    }
    image grey = {.height = from->height, .width = from->width, .channels = 1};
    TRY(memory_new((size_t)(grey.height * grey.width), 1, "image", &grey.pixels));
    for (int64_t i = 0; i < grey.height * grey.width; i++)
        grey.pixels[i] = luma(from->pixels + 3 * i);
    cornu_status status = fit_filtered(&grey, height, width, filter, to);
    free(grey.pixels);
    return status;
}

cornu_status image_fit(const image *from, int64_t height, int64_t width, int64_t channels,
                       const image_filter *filter, uint8_t *to)
{
    bool same = height == from->height && width == from->width;
    if (filter && filter->weight && !same)
        return fit_converted(from, height, width, channels, filter, to);
    fit_nearest(from, height, width, channels, to);
    return CORNU_OK;
}
