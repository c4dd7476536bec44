#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/gather.h"
#include "device/cuda/plugin/kernels/random.cuh"

#define IMAGE_INLINE static __host__ __device__ inline
#include "device/random_transform.h"

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

/* ---- changed at random, standardized ------------------------------------------------------ */

/* The drawn change of one sample and where its pixels come from. */
typedef struct gather_augment {
    random_transform change;
    image_transform transform;
} gather_augment;

static __device__ void draw_transform(const gather_augmented_params &p, const gpu_step &s,
                                   int64_t sample, gather_augment *c)
{
    uint64_t item = (uint64_t)s.epoch << 40 ^ (uint64_t)sample;
    uint64_t key = device_random_key(s.seed, RANDOM_AUGMENT, item);
    uint32_t bits[12];
    float u[IMAGE_DRAWS];
    for (uint32_t i = 0; i < 3; i++)
        philox(key, i, 0, 0, 0, bits + 4 * i);
    for (int i = 0; i < IMAGE_DRAWS; i++)
        u[i] = random_to_float(bits[i]);
    c->change = random_transform_of(&p.augment, u, s.height, s.width);
    c->transform = image_transform_of(&c->change, s.height, s.width);
}

static __device__ inline float element(const gpu_step &s, int64_t place)
{
    return s.x_bytes ? (float)((const uint8_t *)s.x)[place] : ((const float *)s.x)[place];
}

/* Where a pixel of the changed image comes from. */
typedef struct gather_place {
    image_side row, column;
} gather_place;

static __device__ gather_place find_place(const gpu_step &s, const gather_augment &c, int64_t pixel)
{
    int64_t column, row = divide(pixel, s.width, &column);
    const image_transform &t = c.transform;
    if (c.change.flip_vertical)
        row = s.height - 1 - row;
    if (c.change.flip_horizontal)
        column = s.width - 1 - column;
    double y = (double)row, x = (double)column;
    gather_place p;
    if (t.moves) {
        y = t.offset[0] + t.m[0][0] * (double)row + t.m[0][1] * (double)column;
        x = t.offset[1] + t.m[1][0] * (double)row + t.m[1][1] * (double)column;
    }
    p.row = image_side_at(y, s.height, c.change.fill);
    p.column = image_side_at(x, s.width, c.change.fill);
    return p;
}

static __device__ float interpolate(const gpu_step &s, int64_t base, const gather_augment &c,
                                    const gather_place &p, int64_t channel)
{
    if (p.row.outside || p.column.outside)
        return c.change.cval;
    int64_t top = base + p.row.low * s.width * s.channels + channel;
    int64_t bottom = base + p.row.high * s.width * s.channels + channel;
    int64_t left = p.column.low * s.channels, right = p.column.high * s.channels;
    float share = p.column.share;
    float upper = image_between(element(s, top + left), element(s, top + right), share);
    float lower = image_between(element(s, bottom + left), element(s, bottom + right), share);
    return image_between(upper, lower, p.row.share);
}

/* Scaled, and by the training samples' statistics; `at`: its number in the sample. */
static __device__ inline float finished(const standardization &st, float scale, int64_t at,
                                        float value)
{
    if (!st.featurewise_center)
        return value * scale;
    int64_t c;
    divide(at, st.channels, &c);
    float by = st.featurewise_std ? 1 / (st.std[c] + 1e-6f) : 1;
    return value * (scale * by) - st.mean[c] * by;
}

extern "C" __global__ void __launch_bounds__(GATHER_THREADS)
    cornu_gather_augmented(gather_augmented_params p)
{
    __shared__ gather_augment c;
    const gpu_step s = *this_step(&p.gather.clock);
    bool target = p.gather.t && blockIdx.x == gridDim.x - 1;
    int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t step = (int64_t)(gridDim.x - (p.gather.t ? 1 : 0)) * blockDim.x;
    for (int64_t row = blockIdx.y; row < p.gather.batch; row += gridDim.y) {
        int64_t base = s.index[row] * p.gather.count;
        float *to = p.gather.x + row * p.gather.count;
        if (target) {
            write_target(p.gather, s, row);
            continue;
        }
        __syncthreads(); /* the change of the row before is still in use */
        if (p.changes && threadIdx.x == 0)
            draw_transform(p, s, s.sample[row], &c);
        __syncthreads();
        for (int64_t i = first; p.changes && i < s.height * s.width; i += step) {
            gather_place place = find_place(s, c, i);
            for (int64_t k = 0; k < s.channels; k++) {
                float value = interpolate(s, base, c, place, k);
                to[i * s.channels + k] =
                    finished(p.standardize, s.x_scale, i * s.channels + k, value);
            }
        }
        for (int64_t i = first; !p.changes && i < p.gather.count; i += step)
            to[i] = finished(p.standardize, s.x_scale, i, element(s, base + i));
    }
}

/* ---- whole samples ------------------------------------------------------------------------ */

/* The block's largest of `value` for every thread; `parts`: 32 in shared memory. */
static __device__ float block_largest(float value, float *parts)
{
    unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    value = lanes_largest(value, WARP);
    __syncthreads(); /* parts may still be read from the call before */
    if (lane == 0)
        parts[threadIdx.x / WARP] = value;
    __syncthreads();
    return lanes_largest(parts[lane < warps ? lane : 0], WARP);
}

/* Channel shift and brightness. */
static __device__ void transform_values(const random_transform &change, float *x, int64_t count,
                                     float *parts)
{
    float least = x[0], largest = x[0];
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
        least = fminf(least, x[i]);
        largest = fmaxf(largest, x[i]);
    }
    least = -block_largest(-least, parts);
    largest = block_largest(largest, parts);
    image_values v = image_values_of(&change, least, largest);
    __syncthreads(); /* every thread has read x[0] */
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        x[i] = image_value(&change, &v, x[i]);
    __syncthreads();
}

/* Scaled, less its mean and over its deviation. */
static __device__ void standardize_by_itself(const standardization &st, float scale, float *x,
                                             int64_t count, double *parts)
{
    double sum = 0, squares = 0, factor = 1;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
        x[i] = x[i] * scale;
        sum += (double)x[i];
    }
    double mean = block_sum(sum, parts) / (double)count;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    if (st.samplewise_std)
        factor = 1 / (sqrt(block_sum(squares, parts) / (double)count) + 1e-6);
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        x[i] = (float)(((double)x[i] - mean) * factor);
}

/* The moved sample as it is, in its own numbers. */
static __device__ void write_moved(const gather_augmented_params &p, const gpu_step &s, int64_t base,
                                   const gather_augment &c, float *to)
{
    for (int64_t i = threadIdx.x; p.changes && i < s.height * s.width; i += blockDim.x) {
        gather_place place = find_place(s, c, i);
        for (int64_t k = 0; k < s.channels; k++)
            to[i * s.channels + k] = interpolate(s, base, c, place, k);
    }
    for (int64_t i = threadIdx.x; !p.changes && i < p.gather.count; i += blockDim.x)
        to[i] = element(s, base + i);
}

extern "C" __global__ void __launch_bounds__(GATHER_THREADS)
    cornu_gather_whole(gather_augmented_params p)
{
    __shared__ gather_augment c;
    __shared__ double sums[WARP];
    __shared__ float largests[WARP];
    const gpu_step s = *this_step(&p.gather.clock);
    int64_t count = p.gather.count;
    for (int64_t row = blockIdx.y; row < p.gather.batch; row += gridDim.y) {
        float *to = p.gather.x + row * count, scale = s.x_scale;
        if (blockIdx.x == 1) {
            write_target(p.gather, s, row);
            continue;
        }
        __syncthreads(); /* the change of the row before is still in use */
        if (p.changes && threadIdx.x == 0)
            draw_transform(p, s, s.sample[row], &c);
        __syncthreads();
        write_moved(p, s, s.index[row] * count, c, to);
        __syncthreads();
        if (p.changes && (c.change.channel_shift != 0 || c.change.brightens))
            transform_values(c.change, to, count, largests);
        if (p.standardize.samplewise_center) {
            standardize_by_itself(p.standardize, scale, to, count, sums);
            scale = 1;
        }
        for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
            to[i] = finished(p.standardize, scale, i, to[i]);
    }
}
