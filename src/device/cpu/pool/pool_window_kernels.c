/* Pooling by windows of any size: loops over channels, which GCC vectorizes. */
#include "device/cpu/pool/pool_kernels.h"
#include "device/cpu/vec.h"
#include <stdbool.h>

static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

static void max_range(const float *restrict x, float *restrict y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = isunordered(x[i], y[i]) ? NAN : larger(x[i], y[i]);
}

static void max_row_2x2(const float *restrict top, const float *restrict bottom, float *restrict y,
                        int64_t windows, int64_t step, int64_t channels)
{
    for (int64_t k = 0; k < windows; k++, top += step, bottom += step, y += channels)
        for (int64_t i = 0; i < channels; i++) {
            float a = top[i], b = top[channels + i], c = bottom[i], d = bottom[channels + i];
            float most = larger(larger(a, b), larger(c, d));
            y[i] = isunordered(a, b) | isunordered(c, d) ? NAN : most;
        }
}

static void add_range(const float *restrict x, float *restrict y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] += x[i];
}

static void add_scaled_range(const float *restrict x, float scale, float *restrict y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] += x[i] * scale;
}

static void scale_range(float *y, float scale, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] *= scale;
}

static void give_range(const float *restrict x, const float *restrict y, float *restrict left,
                       float *restrict dx, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        bool here = x[i] == y[i];
        dx[i] += here ? left[i] : 0;
        left[i] = here ? 0 : left[i];
    }
}

static void give_row_2x2(const float *restrict top, const float *restrict bottom,
                         const float *restrict y, const float *restrict dy, float *restrict dtop,
                         float *restrict dbottom, int64_t windows, int64_t channels)
{
    for (int64_t k = 0; k < windows; k++) {
        int64_t at = 2 * k * channels, right = at + channels, out = k * channels;
        for (int64_t i = 0; i < channels; i++) {
            float most = y[out + i], rest = dy[out + i], give;
            give = top[at + i] == most ? rest : 0;
            dtop[at + i] = give;
            rest = top[at + i] == most ? 0 : rest;
            give = top[right + i] == most ? rest : 0;
            dtop[right + i] = give;
            rest = top[right + i] == most ? 0 : rest;
            give = bottom[at + i] == most ? rest : 0;
            dbottom[at + i] = give;
            rest = bottom[at + i] == most ? 0 : rest;
            dbottom[right + i] = bottom[right + i] == most ? rest : 0;
        }
    }
}

const pool_window_kernels ISA(cpu_pool_window_kernels) = {
    .max_range = max_range,
    .max_row_2x2 = max_row_2x2,
    .add_range = add_range,
    .add_scaled_range = add_scaled_range,
    .scale_range = scale_range,
    .give_range = give_range,
    .give_row_2x2 = give_row_2x2,
};
