#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/gather.h"
#include "device/cuda/plugin/kernels/random.cuh"

/* Class numbers become one-hot where the target has columns for them. */
static __device__ void write_target(const gather_params &p, const gpu_step &s, int64_t row)
{
    float *t = p.t + row * p.target_count;
    int64_t index = s.index[row], classes = p.target_count / p.columns;
    for (int64_t i = threadIdx.x; i < p.target_count; i += blockDim.x) {
        if (!s.y_labels) {
            t[i] = ((const float *)s.y)[index * p.target_count + i];
            continue;
        }
        int64_t column, item = divide(i, p.columns, &column);
        int32_t label = ((const int32_t *)s.y)[index * classes + item];
        t[i] = p.columns > 1 ? (float)(column == label) : (float)label;
    }
}

static __device__ inline float4 bytes_to_floats(const uint8_t *from)
{
    uint32_t word = *(const uint32_t *)(const void *)from;
    float4 v;
    v.x = (float)(word & 255);
    v.y = (float)(word >> 8 & 255);
    v.z = (float)(word >> 16 & 255);
    v.w = (float)(word >> 24);
    return v;
}

/* Elements begin..end-1 of one sample; four at a time where they lie so. */
static __device__ void write_plain(const gather_params &p, const gpu_step &s, int64_t row,
                                   int64_t begin, int64_t end)
{
    int64_t base = s.index[row] * p.count;
    float *to = p.x + row * p.count;
    const uint8_t *bytes = (const uint8_t *)s.x + base;
    const float *floats = (const float *)s.x + base;
    float scale = s.x_scale;
    uintptr_t unaligned = s.x_bytes ? (uintptr_t)bytes % 4 : (uintptr_t)floats % 16;
    int64_t i = begin;
    if (unaligned == 0 && (uintptr_t)to % 16 == 0) {
        for (i = begin + threadIdx.x * 4; i + 4 <= end; i += blockDim.x * 4) {
            float4 v = s.x_bytes ? bytes_to_floats(bytes + i) : load4(floats, i);
            v.x *= scale;
            v.y *= scale;
            v.z *= scale;
            v.w *= scale;
            store4(to, i, v);
        }
        i = begin + (end - begin) / 4 * 4;
    }
    for (i += threadIdx.x; i < end; i += blockDim.x)
        to[i] = (s.x_bytes ? (float)bytes[i] : floats[i]) * scale;
}

extern "C" __global__ void __launch_bounds__(GATHER_THREADS) cornu_gather(gather_params p)
{
    const gpu_step s = *this_step(&p.clock);
    bool target = p.t && blockIdx.x == gridDim.x - 1;
    int64_t begin = (int64_t)blockIdx.x * GATHER_PIECE;
    for (int64_t row = blockIdx.y; row < p.batch; row += gridDim.y) {
        if (target)
            write_target(p, s, row);
        else
            write_plain(p, s, row, begin, least(begin + GATHER_PIECE, p.count));
    }
}

/* ---- changed at random -------------------------------------------------------------------- */

/* As device/gather_sample.c: source = m (row, column) + offset, about the image's centre. */
typedef struct gather_change {
    double m[2][2], offset[2];
    int moves, flip_horizontal, flip_vertical;
} gather_change;

/* One number of the sample's stream, uniform in +-range. */
static __device__ double draw(const uint32_t bits, float range)
{
    return ((double)random_to_float(bits) * 2 - 1) * (double)range;
}

static __device__ gather_change draw_change(const gather_augmented_params &p, const gpu_step &s,
                                            int64_t sample)
{
    uint64_t item = (uint64_t)s.epoch << 40 ^ (uint64_t)sample;
    uint64_t key = device_random_key(s.seed, RANDOM_AUGMENT, item);
    uint32_t bits[8];
    philox(key, 0, 0, 0, 0, bits);
    philox(key, 1, 0, 0, 0, bits + 4);
    double rotation = draw(bits[0], p.rotation_range);
    double down = draw(bits[1], p.height_shift_range) * (double)s.height;
    double right = draw(bits[2], p.width_shift_range) * (double)s.width;
    double shear = draw(bits[3], p.shear_range);
    double zoom_x = 1 + draw(bits[4], p.zoom_range), zoom_y = 1 + draw(bits[5], p.zoom_range);
    double c1 = cospi(rotation / 180), s1 = sinpi(rotation / 180);
    double sheared = sinpi(shear / 180), kept = cospi(shear / 180);
    gather_change c;
    c.m[1][1] = c1 * zoom_x;
    c.m[1][0] = (-c1 * sheared - s1 * kept) * zoom_y;
    c.m[0][1] = s1 * zoom_x;
    c.m[0][0] = (-s1 * sheared + c1 * kept) * zoom_y;
    c.offset[0] = s1 * right + c1 * down;
    c.offset[1] = c1 * right - s1 * down;
    c.moves = rotation != 0 || shear != 0 || zoom_x != 1 || zoom_y != 1 || down != 0 || right != 0;
    c.flip_horizontal = random_to_float(bits[6]) < 0.5f && p.horizontal_flip;
    c.flip_vertical = random_to_float(bits[7]) < 0.5f && p.vertical_flip;
    return c;
}

static __device__ inline float pixel(const gpu_step &s, int64_t place)
{
    return s.x_bytes ? (float)((const uint8_t *)s.x)[place] : ((const float *)s.x)[place];
}

/* A coordinate cut to the image, its lower and upper neighbour and the share of the upper. */
static __device__ inline float neighbours(double at, int64_t size, int64_t *low, int64_t *high)
{
    at = at < 0 ? 0 : at > (double)(size - 1) ? (double)(size - 1) : at;
    *low = (int64_t)at;
    *high = *low + 1 < size ? *low + 1 : *low;
    return (float)(at - (double)*low);
}

static __device__ void interpolate(const gpu_step &s, int64_t base, double row, double column,
                                   float *out)
{
    int64_t r0, r1, c0, c1, channels = s.channels;
    float fr = neighbours(row, s.height, &r0, &r1);
    float fc = neighbours(column, s.width, &c0, &c1);
    int64_t top = base + r0 * s.width * channels, bottom = base + r1 * s.width * channels;
    for (int64_t k = 0; k < channels; k++) {
        int64_t left = c0 * channels + k, right = c1 * channels + k;
        float upper = pixel(s, top + left) * (1 - fc) + pixel(s, top + right) * fc;
        float lower = pixel(s, bottom + left) * (1 - fc) + pixel(s, bottom + right) * fc;
        out[k] = (upper * (1 - fr) + lower * fr) * s.x_scale;
    }
}

static __device__ void write_pixel(const gather_params &p, const gpu_step &s,
                                   const gather_change &c, int64_t row, int64_t place)
{
    int64_t base = s.index[row] * p.count, column, line = divide(place, s.width, &column);
    float *out = p.x + row * p.count + place * s.channels;
    if (c.flip_vertical)
        line = s.height - 1 - line;
    if (c.flip_horizontal)
        column = s.width - 1 - column;
    if (!c.moves) {
        for (int64_t k = 0; k < s.channels; k++)
            out[k] = pixel(s, base + (line * s.width + column) * s.channels + k) * s.x_scale;
        return;
    }
    double middle_row = (double)s.height / 2 - 0.5, middle_column = (double)s.width / 2 - 0.5;
    double y = (double)line - middle_row, x = (double)column - middle_column;
    interpolate(s, base, c.m[0][0] * y + c.m[0][1] * x + c.offset[0] + middle_row,
                c.m[1][0] * y + c.m[1][1] * x + c.offset[1] + middle_column, out);
}

extern "C" __global__ void __launch_bounds__(GATHER_THREADS)
    cornu_gather_augmented(gather_augmented_params p)
{
    __shared__ gather_change change;
    const gpu_step s = *this_step(&p.gather.clock);
    bool target = p.gather.t && blockIdx.x == gridDim.x - 1;
    int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t step = (int64_t)(gridDim.x - (p.gather.t ? 1 : 0)) * blockDim.x;
    for (int64_t row = blockIdx.y; row < p.gather.batch; row += gridDim.y) {
        if (target) {
            write_target(p.gather, s, row);
            continue;
        }
        __syncthreads(); /* the change of the row before is still in use */
        if (threadIdx.x == 0)
            change = draw_change(p, s, s.sample[row]);
        __syncthreads();
        for (int64_t i = first; i < s.height * s.width; i += step)
            write_pixel(p.gather, s, change, row, i);
    }
}
