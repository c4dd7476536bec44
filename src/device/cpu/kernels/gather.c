/* Samples of bytes to floats: converted and scaled, or interpolated at moved places.

   An interpolated row goes in blocks of BLOCK pixels: first the places in doubles, many at once (in
   floats a place would be wrong by 1e-5 of a pixel), then pixel by pixel all channels in one vector
   of four floats.

   Measured on one thread of a Cascade Lake core at 2.4 GHz: 28x28 bytes converted in cache at 0.15
   ns a byte, 32x150x150x3 at the rate of memory; interpolated 9.4 ns a pixel of three channels. */
#include "device/cpu/kernels/gather.h"
#include "device/cpu/kernels/vec.h"

enum { BLOCK = 64, AHEAD = 768 };

static void convert(const uint8_t *restrict from, float *restrict x, int64_t count, float scale)
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

/* For each pixel of a block: its lower neighbour's first byte, the bytes to the next column and to
   the next row (0 at the border), and the shares of those. */
typedef struct block_places {
    int32_t low[BLOCK], right[BLOCK], down[BLOCK];
    float right_share[BLOCK], down_share[BLOCK];
} block_places;

VEC_INLINE double cut(double at, double most)
{
    at = at > 0 ? at : 0;
    return at < most ? at : most;
}

static void find_places(const gather_row *r, int64_t first, int64_t count, block_places *p)
{
    const double row = r->row + (double)first * r->row_step;
    const double column = r->column + (double)first * r->column_step;
    const double row_step = r->row_step, column_step = r->column_step;
    const double last_row = (double)(r->height - 1), last_column = (double)(r->width - 1);
    const int32_t channels = (int32_t)r->channels, line = (int32_t)(r->width * r->channels);
    for (int32_t j = 0; j < (int32_t)count; j++) {
        double y = cut(row + (double)j * row_step, last_row);
        double x = cut(column + (double)j * column_step, last_column);
        int32_t top = (int32_t)y, left = (int32_t)x;
        p->low[j] = top * line + left * channels;
        p->right[j] = x < last_column ? channels : 0;
        p->down[j] = y < last_row ? line : 0;
        p->right_share[j] = (float)(x - (double)left);
        p->down_share[j] = (float)(y - (double)top);
    }
}

typedef float pixel __attribute__((vector_size(16)));

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

/* Pixels first...first + count - 1; `four`: four bytes may be read at every pixel. */
VEC_INLINE void blend(const gather_row *r, const block_places *p, int64_t first, int64_t count,
                      int channels, bool four)
{
    float *x = r->x + first * channels, scale = r->scale;
    for (int64_t j = 0; j < count; j++, x += channels) {
        const uint8_t *top = r->image + p->low[j], *bottom = top + p->down[j];
        int64_t next = p->right[j];
        float right = p->right_share[j], down = p->down_share[j], left = 1 - right, up = 1 - down;
        pixel upper =
            read_pixel(top, channels, four) * left + read_pixel(top + next, channels, four) * right;
        pixel lower = read_pixel(bottom, channels, four) * left +
                      read_pixel(bottom + next, channels, four) * right;
        pixel value = (upper * up + lower * down) * scale;
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
        blend(r, p, first, count, GATHER_CHANNELS_MOST, four);
        break;
    }
}

static void interpolate(const gather_row *r)
{
    block_places p;
    bool four = r->height * r->width * r->channels + GATHER_CHANNELS_MOST <= r->room;
    for (int64_t first = 0; first < r->width; first += BLOCK) {
        int64_t count = r->width - first < BLOCK ? r->width - first : BLOCK;
        find_places(r, first, count, &p);
        if (four)
            blend_channels(r, &p, first, count, true);
        else
            blend_channels(r, &p, first, count, false);
    }
}

const gather_kernels ISA(cpu_gather_kernels) = {.convert = convert, .interpolate = interpolate};
