/* Samples of bytes to floats: converted, or interpolated at moved places; scaled and standardized.

   An interpolated row goes in blocks of BLOCK pixels: first the places in doubles, many at once (in
   floats a place would be wrong by 1e-5 of a pixel), then pixel by pixel all channels in one vector
   of four floats. What depends on the whole image (channel shift, samplewise standardization) takes
   further passes over it, which lies in cache by then.

   Measured on one thread of a Cascade Lake core at 2.4 GHz: 28x28 bytes converted in cache at 0.15
   ns a byte, 32x150x150x3 at the rate of memory; interpolated 9.4 ns a pixel of three channels
   where the border is filled by the nearest pixel or a constant, an eighth more where it is
   mirrored, a quarter more where it wraps. */
#include "device/cpu/gather/gather_kernels.h"
#include "device/cpu/vec.h"

/* PATTERN: a whole number of vectors and of pixels of 1 to 4 channels. */
enum { BLOCK = 64, AHEAD = 768, PATTERN = 48, LANES = 16 };

/* factor and shift of PATTERN numbers one after another. */
typedef struct finish_pattern {
    float factor[PATTERN], shift[PATTERN];
} finish_pattern;

VEC_INLINE void repeat(const gather_finish *f, finish_pattern *p)
{
    for (int i = 0; i < PATTERN; i++) {
        p->factor[i] = f->factor[i % f->channels];
        p->shift[i] = f->shift[i % f->channels];
    }
}

VEC_INLINE void convert_scaled(const uint8_t *restrict from, float *restrict x, int64_t count,
                               float scale)
{
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        for (int k = 0; k < BLOCK; k += VEC_FLOATS)
            VEC_PREFETCH_WRITE(x + i + k + AHEAD);
        for (int k = 0; k < BLOCK; k++)
            x[i + k] = (float)from[i + k] * scale;
    }
    for (; i < count; i++)
        x[i] = (float)from[i] * scale;
}

static void convert(const uint8_t *restrict from, float *restrict x, int64_t count,
                    const gather_finish *f)
{
    if (f->channels == 1 && f->shift[0] == 0) {
        convert_scaled(from, x, count, f->factor[0]);
        return;
    }
    finish_pattern p;
    int64_t i = 0;
    repeat(f, &p);
    for (; i + PATTERN <= count; i += PATTERN)
        for (int k = 0; k < PATTERN; k++)
            x[i + k] = (float)from[i + k] * p.factor[k] + p.shift[k];
    for (int k = 0; i + k < count; k++)
        x[i + k] = (float)from[i + k] * p.factor[k] + p.shift[k];
}

static void finish(const gather_finish *f, float *restrict x, int64_t count)
{
    finish_pattern p;
    int64_t i = 0;
    repeat(f, &p);
    for (; i + PATTERN <= count; i += PATTERN)
        for (int k = 0; k < PATTERN; k++)
            x[i + k] = x[i + k] * p.factor[k] + p.shift[k];
    for (int k = 0; i + k < count; k++)
        x[i + k] = x[i + k] * p.factor[k] + p.shift[k];
}

/* ---- moved pixels ------------------------------------------------------------------------- */

/* For each pixel of a block: its lower neighbour's first byte, the bytes to the next column and to
   the next row (0 at the border), the shares of those, and whether it is cval. */
typedef struct block_places {
    int32_t low[BLOCK], right[BLOCK], down[BLOCK], outside[BLOCK];
    float right_share[BLOCK], down_share[BLOCK];
} block_places;

VEC_INLINE double cut(double at, double most)
{
    at = at > 0 ? at : 0;
    return at < most ? at : most;
}

VEC_INLINE int32_t mirrored(int32_t at, int32_t size)
{
    at = at < 2 * size ? at : at - 2 * size;
    return at < size ? at : 2 * size - 1 - at;
}

/* image_side_at for one of a block: the lower pixel, the step to the upper and its share. */
VEC_INLINE int32_t find_side(double at, int32_t size, fill_mode fill, int32_t *step, float *share)
{
    const double last = (double)(size - 1), period = 2 * (double)size;
    if (fill == FILL_REFLECT) {
        at -= period * floor(at / period);
        int32_t whole = (int32_t)at, low = mirrored(whole, size);
        *step = mirrored(whole + 1, size) - low;
        *share = (float)(at - (double)whole);
        return low;
    }
    if (fill == FILL_WRAP && size > 1) {
        double below = at + last * (floor(-at / last) + 1), above = at - last * floor(at / last);
        at = at < 0 ? below : at > last ? above : at;
    }
    at = cut(at, last);
    int32_t low = (int32_t)at;
    *step = low < size - 1;
    *share = (float)(at - (double)low);
    return low;
}

VEC_INLINE void find_places(const gather_row *r, int64_t start, int64_t count, fill_mode fill,
                            block_places *p)
{
    const double first = r->first + (double)start * r->way, way = r->way;
    const double row = r->row, column = r->column;
    const double row_step = r->row_step, column_step = r->column_step;
    const int32_t height = (int32_t)r->height, width = (int32_t)r->width;
    const int32_t channels = (int32_t)r->channels, line = width * channels;
    for (int32_t j = 0; j < (int32_t)count; j++) {
        double c = first + (double)j * way, y = row + c * row_step, x = column + c * column_step;
        int32_t down, right;
        int32_t top = find_side(y, height, fill, &down, &p->down_share[j]);
        int32_t left = find_side(x, width, fill, &right, &p->right_share[j]);
        p->low[j] = top * line + left * channels;
        p->right[j] = right * channels;
        p->down[j] = down * line;
        p->outside[j] = fill == FILL_CONSTANT && !(y >= 0 && y <= (double)(height - 1) && x >= 0 &&
                                                   x <= (double)(width - 1));
    }
}

static void find_filled(const gather_row *r, int64_t start, int64_t count, block_places *p)
{
    switch (r->fill) {
    case FILL_NEAREST:
        find_places(r, start, count, FILL_NEAREST, p);
        break;
    case FILL_CONSTANT:
        find_places(r, start, count, FILL_CONSTANT, p);
        break;
    case FILL_REFLECT:
        find_places(r, start, count, FILL_REFLECT, p);
        break;
    case FILL_WRAP:
        find_places(r, start, count, FILL_WRAP, p);
        break;
    }
}

typedef float pixel __attribute__((vector_size(16)));
typedef int32_t pixel_bits __attribute__((vector_size(16)));

/* `channels` bytes as floats, read as four where there are so many. */
VEC_INLINE pixel read_pixel(const uint8_t *at, int channels, bool four)
{
    uint8_t bytes[4] = {0};
    memcpy(bytes, at, (size_t)(four ? 4 : channels));
#if defined(__SSE2__)
    int32_t all;
    memcpy(&all, bytes, sizeof all);
    __m128i zero = _mm_setzero_si128();
    __m128i pairs = _mm_unpacklo_epi8(_mm_cvtsi32_si128(all), zero);
    return (pixel)_mm_cvtepi32_ps(_mm_unpacklo_epi16(pairs, zero));
#else
    return (pixel){bytes[0], bytes[1], bytes[2], bytes[3]};
#endif
}

/* image_brightened of four numbers at once. */
VEC_INLINE pixel brighten(pixel value, float factor)
{
    const pixel most = {255, 255, 255, 255};
    value = __builtin_convertvector(__builtin_convertvector(value, pixel_bits), pixel) * factor;
    pixel_bits less = value < most;
    value = (pixel)(((pixel_bits)value & less) | ((pixel_bits)most & ~less));
    return __builtin_convertvector(__builtin_convertvector(value, pixel_bits), pixel);
}

VEC_INLINE pixel of_channels(const gather_finish *f, const float *values)
{
    pixel p;
    for (int64_t c = 0; c < AUGMENT_CHANNELS_MOST; c++)
        p[c] = values[c < f->channels ? c : 0];
    return p;
}

/* Pixels first...first + count - 1; `four`: four bytes may be read at every pixel of them. */
VEC_INLINE void blend(const gather_row *r, const block_places *p, int64_t first, int64_t count,
                      int channels, bool four)
{
    float *x = r->x + first * channels;
    const pixel factor = of_channels(r->finish, r->finish->factor);
    const pixel shift = of_channels(r->finish, r->finish->shift);
    for (int64_t j = 0; j < count; j++, x += channels) {
        const uint8_t *top = r->image + p->low[j], *bottom = top + p->down[j];
        int64_t next = p->right[j];
        pixel upper = read_pixel(top, channels, four), lower = read_pixel(bottom, channels, four);
        upper += (read_pixel(top + next, channels, four) - upper) * p->right_share[j];
        lower += (read_pixel(bottom + next, channels, four) - lower) * p->right_share[j];
        pixel value = upper + (lower - upper) * p->down_share[j];
        if (p->outside[j])
            value = (pixel){r->cval, r->cval, r->cval, r->cval};
        if (r->brightens)
            value = brighten(value, r->brightness);
        value = value * factor + shift;
        if ((count - j) * channels >= 4) /* what is too much is written again */
            memcpy(x, &value, sizeof value);
        else
            memcpy(x, &value, (size_t)channels * sizeof *x);
    }
}

VEC_INLINE void blend_channels(const gather_row *r, const block_places *p, int64_t first,
                               int64_t count, bool four)
{
    switch (r->channels) {
    case 1:
        blend(r, p, first, count, 1, four);
        break;
    case 2:
        blend(r, p, first, count, 2, four);
        break;
    case 3:
        blend(r, p, first, count, 3, four);
        break;
    default:
        blend(r, p, first, count, AUGMENT_CHANNELS_MOST, four);
        break;
    }
}

/* Do four bytes from each place on lie in the image? The next one may be written by a thread that
   decodes it. */
VEC_INLINE bool has_four(const gather_row *r, const block_places *p, int64_t count)
{
    int32_t furthest = 0;
    for (int32_t j = 0; j < (int32_t)count; j++) {
        int32_t down = p->down[j] > 0 ? p->down[j] : 0, right = p->right[j] > 0 ? p->right[j] : 0;
        int32_t at = p->low[j] + down + right;
        furthest = at > furthest ? at : furthest;
    }
    return furthest + AUGMENT_CHANNELS_MOST <= r->height * r->width * r->channels;
}

static void interpolate(const gather_row *r)
{
    block_places p;
    for (int64_t first = 0; first < r->width; first += BLOCK) {
        int64_t count = r->width - first < BLOCK ? r->width - first : BLOCK;
        find_filled(r, first, count, &p);
        if (has_four(r, &p, count))
            blend_channels(r, &p, first, count, true);
        else
            blend_channels(r, &p, first, count, false);
    }
}

/* ---- whole images ------------------------------------------------------------------------- */

static void find_extremes(const float *x, int64_t count, float *least, float *largest)
{
    float low[LANES], high[LANES];
    for (int k = 0; k < LANES; k++)
        low[k] = high[k] = x[0];
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            low[k] = x[i + k] < low[k] ? x[i + k] : low[k];
            high[k] = x[i + k] > high[k] ? x[i + k] : high[k];
        }
    }
    *least = low[0];
    *largest = high[0];
    for (int k = 0; k < LANES; k++) {
        *least = low[k] < *least ? low[k] : *least;
        *largest = high[k] > *largest ? high[k] : *largest;
    }
    for (; i < count; i++) {
        *least = x[i] < *least ? x[i] : *least;
        *largest = x[i] > *largest ? x[i] : *largest;
    }
}

static void transform_values(const random_transform *change, float *x, int64_t count)
{
    float least, largest, by = change->channel_shift, factor = change->brightness;
    find_extremes(x, count, &least, &largest);
    image_values v = image_values_of(change, least, largest);
    if (change->brightens && v.stretches) { /* rare: numbers that are no bytes */
        for (int64_t i = 0; i < count; i++)
            x[i] = image_value(change, &v, x[i]);
        return;
    }
    for (int64_t i = 0; by != 0 && i < count; i++)
        x[i] = image_cut(x[i] + by, least, largest);
    for (int64_t i = 0; change->brightens && i < count; i++)
        x[i] = image_brightened(x[i], factor);
}

/* Sum of (x - from), or of its squares. */
VEC_INLINE double sum_from(const float *x, int64_t count, double from, bool squares)
{
    double part[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            double d = (double)x[i + k] - from;
            part[k] += squares ? d * d : d;
        }
    }
    for (; i < count; i++) {
        double d = (double)x[i] - from;
        sum += squares ? d * d : d;
    }
    for (int k = 0; k < LANES; k++)
        sum += part[k];
    return sum;
}

static void standardize(float scale, bool deviation, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] *= scale;
    double mean = sum_from(x, count, 0, false) / (double)count, factor = 1;
    if (deviation)
        factor = 1 / (sqrt(sum_from(x, count, mean, true) / (double)count) + 1e-6);
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)(((double)x[i] - mean) * factor);
}

const gather_kernels ISA(cpu_gather_kernels) = {.convert = convert,
                                                .interpolate = interpolate,
                                                .transform_values = transform_values,
                                                .standardize = standardize,
                                                .finish = finish};
