#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/resample.h"
#include "device/cuda/plugin/kernels/rules.cuh"

typedef int64_t rule_index;
#define rule_sine(a) sinf(a)
#define rule_cosine(a) cosf(a)
#define rule_to_index(a) ((rule_index)(a))
#define rule_floor(a) floorf(a)
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
    s.row = resample_around(resample_row(map, i, k), (float)p.height, p.how.border, p.how.nearest);
    s.column =
        resample_around(resample_column(map, i, k), (float)p.width, p.how.border, p.how.nearest);
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
    for (EACH(i, p.batch * p.out_height * p.out_width * p.channels)) {
        int64_t column, row, k;
        const int64_t n =
            divide(divide(divide(i, p.channels, &k), p.out_width, &column), p.out_height, &row);
        const resample_source s = resample_at(p, n, row, column);
        const int64_t a = resample_pixel(p, n, s.row.low, s.column.low);
        const int64_t b = resample_pixel(p, n, s.row.low, s.column.high);
        const int64_t c = resample_pixel(p, n, s.row.high, s.column.low);
        const int64_t d = resample_pixel(p, n, s.row.high, s.column.high);
        const float upper = resample_between(a < 0 ? p.how.value : p.x[a + k],
                                             b < 0 ? p.how.value : p.x[b + k], s.column.weight);
        const float lower = resample_between(c < 0 ? p.how.value : p.x[c + k],
                                             d < 0 ? p.how.value : p.x[d + k], s.column.weight);
        p.y[i] = resample_between(upper, lower, s.row.weight);
    }
}

/* x: dy, y: dx. A thread has a channel of a sample, or of one of its rows where these come from
   rows alone: so each sum is always in one order. */
extern "C" __global__ void __launch_bounds__(RESAMPLE_THREADS)
    cornu_resample_backward(resample_backward_params p)
{
    for (EACH(i, p.batch * p.height * p.channels)) {
        int64_t k, begin;
        const int64_t n = divide(divide(i, p.channels, &k), p.height, &begin);
        const bool apart = p.map[n * p.map_step + 1] == 0 && p.map[n * p.map_step + 3] == 0;
        const int64_t end = apart ? begin + 1 : begin == 0 ? p.height : begin;
        for (int64_t at = begin * p.width; at < end * p.width; at++)
            p.y[(n * p.height * p.width + at) * p.channels + k] = 0;
        for (int64_t row = 0; begin < end && row < p.out_height; row++) {
            const resample_pair of_row = resample_at(p, n, row, 0).row;
            if (apart && of_row.low != begin && of_row.high != begin)
                continue;
            for (int64_t column = 0; column < p.out_width; column++) {
                const resample_source s = resample_at(p, n, row, column);
                const float dy =
                    p.x[((n * p.out_height + row) * p.out_width + column) * p.channels + k];
                for (int j = 0; j < 4; j++) {
                    const rule_index to = j < 2 ? s.row.low : s.row.high;
                    const float down = j < 2 ? 1 - s.row.weight : s.row.weight;
                    const float right = j % 2 ? s.column.weight : 1 - s.column.weight;
                    const int64_t pixel =
                        resample_pixel(p, n, to, j % 2 ? s.column.high : s.column.low);
                    if (to >= begin && to < end && pixel >= 0 && down * right != 0)
                        p.y[pixel + k] += down * right * dy;
                }
            }
        }
    }
}
