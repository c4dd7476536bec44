#include "device/opencl/plugin/kernels/common.h"

/* DRAW and RESAMPLE: random numbers of samples, and images whose pixels come from where a map of
   pixels says (device/rules/resampling.h). */
#include "device/opencl/plugin/kernels/random.h"
#include "device/opencl/plugin/kernels/shared.h"

typedef long rule_index;
#define rule_sine(a) sin(a)
#define rule_cosine(a) cos(a)
#define rule_to_index(a) ((rule_index)(a))
#define rule_floor(a) floor(a)
#include "device/rules/drawing.h"
#include "device/rules/resampling.h"

/* A work-item has a sample. */
KERNEL(draw, WORK_ITEMS)
(OUT(float, y), const long batch, const long numbers, const int kind, const int one,
 const float low_y, const float low_x, const float high_y, const float high_x, const float height,
 const float width, const int stream, const ulong seed, const ulong iteration, const long first)
{
    AT(y);
    const drawing how = {kind, {low_y, low_x}, {high_y, high_x}, {height, width}, one};
    const ulong key = device_random_key(seed, RANDOM_DRAW, (ulong)(uint)stream);
    for (EACH(i, batch)) {
        const ulong sample = kind == DRAW_CROP ? 0 : (ulong)(first + i);
        uint bits[4];
        float u[4], out[DRAW_NUMBERS_MAX];
        philox(key, (uint)sample, (uint)(sample >> 32), (uint)iteration, (uint)(iteration >> 32),
               bits);
        for (int k = 0; k < 4; k++)
            u[k] = random_to_float(bits[k]);
        draw_numbers(&how, u, out);
        for (int k = 0; k < (int)numbers; k++)
            y[i * numbers + k] = out[k];
    }
}

/* A work-item has blocks of DRAW_TOGETHER normal numbers. */
KERNEL(draw_normals, WORK_ITEMS)
(OUT(float, y), const long batch, const long numbers, const float mean, const float deviation,
 const int stream, const ulong seed, const ulong iteration, const long first)
{
    AT(y);
    const drawing how = {DRAW_NORMAL, {mean, 0}, {deviation, 0}, {0, 0}, 0};
    const ulong key = device_random_key(seed, RANDOM_NOISE, (ulong)(uint)stream);
    const long blocks = (numbers + DRAW_TOGETHER - 1) / DRAW_TOGETHER;
    for (EACH(i, batch * blocks)) {
        const ulong block = (ulong)(first * blocks + i);
        long of;
        const long n = divide(i, blocks, &of), at = of * DRAW_TOGETHER;
        uint bits[DRAW_TOGETHER];
        float u[DRAW_TOGETHER], out[DRAW_TOGETHER];
        philox(key, (uint)block, (uint)(block >> 32), (uint)iteration, (uint)(iteration >> 32),
               bits);
        for (int k = 0; k < DRAW_TOGETHER; k++)
            u[k] = random_to_float(bits[k]);
        draw_normals(&how, u, out);
        for (int k = 0; k < DRAW_TOGETHER && at + k < numbers; k++)
            y[n * numbers + at + k] = out[k];
    }
}

#define SIZES                                                                             \
    const long batch, const long height, const long width, const long out_height,         \
        const long out_width, const long channels, const long map_step, const int border, \
        const int nearest, const float value

/* The first element of a pixel of an image, -1 where it is outside. */
static inline long pixel_at(long row, long column, long height, long width, long channels)
{
    if (row < 0 || row >= height || column < 0 || column >= width)
        return -1;
    return (row * width + column) * channels;
}

/* A work-item has elements of y. */
KERNEL(resample_forward, WORK_ITEMS)(IN(float, x), IN(float, map), OUT(float, y), SIZES)
{
    AT(x);
    AT(map);
    AT(y);
    for (EACH(i, batch * out_height * out_width * channels)) {
        long column, row, k;
        const long n =
            divide(divide(divide(i, channels, &k), out_width, &column), out_height, &row);
        float m[MAP_NUMBERS];
        for (int j = 0; j < MAP_NUMBERS; j++)
            m[j] = map[n * map_step + j];
        const resample_pair r = resample_around(resample_row(m, (float)row, (float)column),
                                                (float)height, border, nearest);
        const resample_pair c = resample_around(resample_column(m, (float)row, (float)column),
                                                (float)width, border, nearest);
        const long a = pixel_at(r.low, c.low, height, width, channels);
        const long b = pixel_at(r.low, c.high, height, width, channels);
        const long d = pixel_at(r.high, c.low, height, width, channels);
        const long e = pixel_at(r.high, c.high, height, width, channels);
        global const float *image = x + n * height * width * channels + k;
        const float upper =
            resample_between(a < 0 ? value : image[a], b < 0 ? value : image[b], c.weight);
        const float lower =
            resample_between(d < 0 ? value : image[d], e < 0 ? value : image[e], c.weight);
        y[i] = resample_between(upper, lower, r.weight);
    }
}

/* x: dy, y: dx. A work-item has a channel of a sample, or of one of its rows where these come from
   rows alone: so each sum is always in one order. */
KERNEL(resample_backward, WORK_ITEMS)(IN(float, x), IN(float, map), OUT(float, y), SIZES)
{
    AT(x);
    AT(map);
    AT(y);
    for (EACH(i, batch * height * channels)) {
        long k, begin;
        const long n = divide(divide(i, channels, &k), height, &begin);
        float m[MAP_NUMBERS];
        for (int j = 0; j < MAP_NUMBERS; j++)
            m[j] = map[n * map_step + j];
        const int apart = m[1] == 0 && m[3] == 0;
        const long end = apart ? begin + 1 : begin == 0 ? height : begin;
        global float *dx = y + n * height * width * channels + k;
        for (long at = begin * width; at < end * width; at++)
            dx[at * channels] = 0;
        for (long row = 0; begin < end && row < out_height; row++) {
            const resample_pair of_row =
                resample_around(resample_row(m, (float)row, 0), (float)height, border, nearest);
            if (apart && of_row.low != begin && of_row.high != begin)
                continue;
            for (long column = 0; column < out_width; column++) {
                const resample_pair r = resample_around(resample_row(m, (float)row, (float)column),
                                                        (float)height, border, nearest);
                const resample_pair c = resample_around(
                    resample_column(m, (float)row, (float)column), (float)width, border, nearest);
                const float dy = x[((n * out_height + row) * out_width + column) * channels + k];
                for (int j = 0; j < 4; j++) {
                    const long to = j < 2 ? r.low : r.high;
                    const float down = j < 2 ? 1 - r.weight : r.weight;
                    const float right = j % 2 ? c.weight : 1 - c.weight;
                    const long pixel =
                        pixel_at(to, j % 2 ? c.high : c.low, height, width, channels);
                    if (to >= begin && to < end && pixel >= 0 && down * right != 0)
                        dx[pixel] += down * right * dy;
                }
            }
        }
    }
}
