#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/resample.h"

typedef int64_t rule_index;
#define rule_sine(a) sinf(a)
#define rule_cosine(a) cosf(a)
#define rule_floor(a) floorf(a)
#define rule_log(a) logf(a)
#define rule_sqrt(a) sqrtf(a)
#include "device/rules/drawing.h"
#include "device/rules/resampling.h"

extern "C" __global__ void __launch_bounds__(RESAMPLE_THREADS) cornu_draw(draw_params p)
{
    const cuda_step *s = this_step(&p.clock);
    const uint64_t key = device_random_key(s->seed, RANDOM_DRAW, p.stream);
    const uint64_t iteration = (uint64_t)s->iteration;
    for (EACH(i, p.batch)) {
        const uint64_t sample = p.how.kind == DRAW_CROP ? 0 : (uint64_t)(s->first + i);
        uint32_t bits[4];
        float u[4], out[DRAW_NUMBERS_MAX];
        philox(key, (uint32_t)sample, (uint32_t)(sample >> 32), (uint32_t)iteration,
               (uint32_t)(iteration >> 32), bits);
        for (int k = 0; k < 4; k++)
            u[k] = random_to_float(bits[k]);
        draw_numbers(&p.how, u, out);
        for (int64_t k = 0; k < p.numbers; k++)
            p.y[i * p.numbers + k] = out[k];
    }
}

extern "C" __global__ void __launch_bounds__(RESAMPLE_THREADS)
    cornu_draw_normals(draw_normals_params p)
{
    const cuda_step *s = this_step(&p.clock);
    const uint64_t key = device_random_key(s->seed, RANDOM_NOISE, p.stream);
    const uint64_t iteration = (uint64_t)s->iteration;
    const int64_t blocks = (p.numbers + DRAW_TOGETHER - 1) / DRAW_TOGETHER;
    for (EACH(i, p.batch * blocks)) {
        const uint64_t block = (uint64_t)(s->first * blocks + i);
        int64_t of;
        const int64_t n = divide(i, blocks, &of), at = of * DRAW_TOGETHER;
        uint32_t bits[DRAW_TOGETHER];
        float u[DRAW_TOGETHER], out[DRAW_TOGETHER];
        philox(key, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)iteration,
               (uint32_t)(iteration >> 32), bits);
        for (int k = 0; k < DRAW_TOGETHER; k++)
            u[k] = random_to_float(bits[k]);
        draw_normals(&p.how, u, out);
        for (int k = 0; k < DRAW_TOGETHER && at + k < p.numbers; k++)
            p.y[n * p.numbers + at + k] = out[k];
    }
}

/* The input's pixels around the place of a pixel of the output. */
typedef struct resample_source {
    resample_pair row, column;
} resample_source;

static __device__ inline resample_source resample_at(const resample_params &p, int64_t n,
                                                     int64_t row, int64_t column)
{
    const float *map = p.map + n * p.map_step;
    const float i = (float)row, k = (float)column;
    resample_source s;
    s.row = resample_around(resample_row(map, i, k), p.height, p.how.border, p.how.nearest);
    s.column = resample_around(resample_column(map, i, k), p.width, p.how.border, p.how.nearest);
    return s;
}

/* The first element of a pixel of sample n, -1 where it is outside. */
static __device__ inline int64_t resample_pixel(const resample_params &p, int64_t n, int64_t row,
                                                int64_t column)
{
    if (row < 0 || row >= p.height || column < 0 || column >= p.width)
        return -1;
    return ((n * p.height + row) * p.width + column) * p.channels;
}

extern "C" __global__ void __launch_bounds__(RESAMPLE_THREADS)
    cornu_resample_forward(resample_forward_params p)
{
    for (EACH(i, p.batch * p.out_height * p.out_width)) {
        int64_t column, row;
        const int64_t n = divide(divide(i, p.out_width, &column), p.out_height, &row);
        const resample_source s = resample_at(p, n, row, column);
        const int64_t a = resample_pixel(p, n, s.row.low, s.column.low);
        const int64_t b = resample_pixel(p, n, s.row.low, s.column.high);
        const int64_t c = resample_pixel(p, n, s.row.high, s.column.low);
        const int64_t d = resample_pixel(p, n, s.row.high, s.column.high);
        for (int64_t k = 0; k < p.channels; k++) {
            float upper = resample_between(a < 0 ? p.how.value : p.x[a + k],
                                           b < 0 ? p.how.value : p.x[b + k], s.column.weight);
            float lower = resample_between(c < 0 ? p.how.value : p.x[c + k],
                                           d < 0 ? p.how.value : p.x[d + k], s.column.weight);
            p.y[i * p.channels + k] = resample_between(upper, lower, s.row.weight);
        }
    }
}

static __device__ inline void resample_add(const resample_params &p, int64_t pixel, int64_t channel,
                                           float dy, float weight)
{
    if (pixel >= 0 && weight != 0)
        p.y[pixel + channel] += weight * dy;
}

extern "C" __global__ void __launch_bounds__(RESAMPLE_THREADS)
    cornu_resample_backward(resample_backward_params p)
{
    for (EACH(i, p.batch * p.channels)) {
        int64_t k;
        const int64_t n = divide(i, p.channels, &k), pixels = p.height * p.width;
        for (int64_t at = 0; at < pixels; at++)
            p.y[(n * pixels + at) * p.channels + k] = 0;
        for (int64_t row = 0; row < p.out_height; row++)
            for (int64_t column = 0; column < p.out_width; column++) {
                const resample_source s = resample_at(p, n, row, column);
                const float down = s.row.weight, right = s.column.weight;
                const float dy =
                    p.x[((n * p.out_height + row) * p.out_width + column) * p.channels + k];
                resample_add(p, resample_pixel(p, n, s.row.low, s.column.low), k, dy,
                             (1 - down) * (1 - right));
                resample_add(p, resample_pixel(p, n, s.row.low, s.column.high), k, dy,
                             (1 - down) * right);
                resample_add(p, resample_pixel(p, n, s.row.high, s.column.low), k, dy,
                             down * (1 - right));
                resample_add(p, resample_pixel(p, n, s.row.high, s.column.high), k, dy,
                             down * right);
            }
    }
}
