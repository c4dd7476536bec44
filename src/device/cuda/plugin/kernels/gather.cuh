#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/gather.h"
#include "device/cuda/plugin/kernels/rules.cuh"

typedef int64_t rule_index;
#define SAMPLE_RULE(name) sample_##name
#define rule_max(a, b) ((a) > (b) ? (a) : (b))
#define rule_min(a, b) ((a) < (b) ? (a) : (b))
#define rule_whole(a) ((float)(int32_t)(a))
#include "device/rules/samples.h"
#include "device/rules/transforms.h"
#include "device/rules/whole_samples.h"

/* And the sample's weight. Class numbers become one-hot where the target has columns for them. */
static __device__ void write_target(const gather_params &p, const cuda_step &s, int64_t row)
{
    float *t = p.t + row * p.target_count;
    int64_t index = s.index[row], classes = p.target_count / p.columns;
    if (p.weight && threadIdx.x == 0)
        p.weight[row] = s.weight ? s.weight[index] : 1;
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

/* Elements begin..end-1 of one sample; four at a time if they are aligned. */
static __device__ void write_plain(const gather_params &p, const cuda_step &s, int64_t row,
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
    const cuda_step s = *this_step(&p.clock);
    bool target = p.t && blockIdx.x == gridDim.x - 1;
    int64_t begin = (int64_t)blockIdx.x * GATHER_PIECE;
    for (int64_t row = blockIdx.y; row < p.batch; row += gridDim.y) {
        if (target)
            write_target(p, s, row);
        else
            write_plain(p, s, row, begin, least(begin + GATHER_PIECE, p.count));
    }
}

/* ---- randomly transformed, standardized --------------------------------------------------- */

/* The random transform of one sample, and the source of its pixels. */
typedef struct drawn_transform {
    random_transform transform;
    affine_map map;
} drawn_transform;

static __device__ void draw_transform(const gather_augmented_params &p, const cuda_step &s,
                                      int64_t sample, drawn_transform *d)
{
    uint64_t key = device_random_key(s.seed, RANDOM_AUGMENT, transform_item(s.epoch, sample));
    uint32_t bits[12];
    float u[TRANSFORM_DRAWS];
    for (uint32_t i = 0; i < 3; i++)
        philox(key, i, 0, 0, 0, bits + 4 * i);
    for (int i = 0; i < TRANSFORM_DRAWS; i++)
        u[i] = random_to_float(bits[i]);
    d->transform = random_transform_of(&p.augment, u, s.height, s.width);
    d->map = affine_map_of(&d->transform, s.height, s.width);
}

static __device__ inline float element(const cuda_step &s, int64_t at)
{
    return s.x_bytes ? (float)((const uint8_t *)s.x)[at] : ((const float *)s.x)[at];
}

/* The source pixels around a pixel of the transformed image. */
typedef struct pixel_neighbours {
    neighbours row, column;
} pixel_neighbours;

static __device__ pixel_neighbours find_neighbours(const cuda_step &s, const drawn_transform &d,
                                                   int64_t pixel)
{
    const random_transform &t = d.transform;
    int64_t column, row = divide(pixel, s.width, &column);
    row = transform_flipped(t.flip_vertical, row, s.height);
    column = transform_flipped(t.flip_horizontal, column, s.width);
    double y = (double)row, x = (double)column;
    pixel_neighbours n;
    if (d.map.moves) {
        y = affine_along(affine_start(&d.map, 0, (double)row), d.map.m[0][1], (double)column);
        x = affine_along(affine_start(&d.map, 1, (double)row), d.map.m[1][1], (double)column);
    }
    n.row = neighbours_at(y, s.height, t.fill);
    n.column = neighbours_at(x, s.width, t.fill);
    return n;
}

static __device__ float interpolate(const cuda_step &s, int64_t base, const drawn_transform &d,
                                    const pixel_neighbours &n, int64_t channel)
{
    if (n.row.outside || n.column.outside)
        return d.transform.cval;
    int64_t top = base + n.row.low * s.width * s.channels + channel;
    int64_t bottom = base + n.row.high * s.width * s.channels + channel;
    int64_t left = n.column.low * s.channels, right = n.column.high * s.channels;
    float weight = n.column.weight;
    float upper = sample_between(element(s, top + left), element(s, top + right), weight);
    float lower = sample_between(element(s, bottom + left), element(s, bottom + right), weight);
    return sample_between(upper, lower, n.row.weight);
}

/* Scaled, and by the training samples' statistics; `at`: its number in the sample. */
static __device__ inline float scaled(const standardization &st, float scale, int64_t at,
                                      float value)
{
    if (!st.featurewise_center)
        return value * scale;
    int64_t c;
    float factor, shift;
    divide(at, st.channels, &c);
    channel_scale_of(&st, scale, c, &factor, &shift);
    return sample_scaled(value, factor, shift);
}

extern "C" __global__ void __launch_bounds__(GATHER_THREADS)
    cornu_gather_augmented(gather_augmented_params p)
{
    __shared__ drawn_transform d;
    const cuda_step s = *this_step(&p.gather.clock);
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
        __syncthreads(); /* the transform of the row before is still in use */
        if (p.augments && threadIdx.x == 0)
            draw_transform(p, s, s.sample[row], &d);
        __syncthreads();
        for (int64_t i = first; p.augments && i < s.height * s.width; i += step) {
            pixel_neighbours n = find_neighbours(s, d, i);
            for (int64_t k = 0; k < s.channels; k++) {
                float value = interpolate(s, base, d, n, k);
                to[i * s.channels + k] =
                    scaled(p.standardize, s.x_scale, i * s.channels + k, value);
            }
        }
        for (int64_t i = first; !p.augments && i < p.gather.count; i += step)
            to[i] = scaled(p.standardize, s.x_scale, i, element(s, base + i));
    }
}

/* ---- whole samples ------------------------------------------------------------------------ */

/* The block's largest of `value` for every thread; `partials`: 32 in shared memory. */
static __device__ float block_largest(float value, float *partials)
{
    unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    value = lanes_largest(value, WARP);
    __syncthreads(); /* partials may still be read from the call before */
    if (lane == 0)
        partials[threadIdx.x / WARP] = value;
    __syncthreads();
    return lanes_largest(partials[lane < warps ? lane : 0], WARP);
}

/* Channel shift and brightness. */
static __device__ void transform_values(const random_transform &transform, float *x, int64_t count,
                                        float *partials)
{
    float least = x[0], largest = x[0];
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
        least = fminf(least, x[i]);
        largest = fmaxf(largest, x[i]);
    }
    least = -block_largest(-least, partials);
    largest = block_largest(largest, partials);
    image_range range = image_range_of(&transform, least, largest);
    __syncthreads(); /* every thread has read x[0] */
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        x[i] = image_value(&transform, &range, x[i]);
    __syncthreads();
}

/* Scaled, less its mean and over its deviation. */
static __device__ void standardize_by_itself(const standardization &st, float scale, float *x,
                                             int64_t count, double *partials)
{
    double sum = 0, squares = 0, factor = 1;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
        x[i] = x[i] * scale;
        sum += (double)x[i];
    }
    double mean = block_sum(sum, partials) / (double)count;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        squares += deviation_square(x[i], mean);
    if (st.samplewise_std)
        factor = deviation_factor(block_sum(squares, partials), count);
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        x[i] = sample_standardized(x[i], mean, factor);
}

/* The resampled image, or the sample as it is, in its own numbers. */
static __device__ void write_resampled(const gather_augmented_params &p, const cuda_step &s,
                                       int64_t base, const drawn_transform &d, float *to)
{
    for (int64_t i = threadIdx.x; p.augments && i < s.height * s.width; i += blockDim.x) {
        pixel_neighbours n = find_neighbours(s, d, i);
        for (int64_t k = 0; k < s.channels; k++)
            to[i * s.channels + k] = interpolate(s, base, d, n, k);
    }
    for (int64_t i = threadIdx.x; !p.augments && i < p.gather.count; i += blockDim.x)
        to[i] = element(s, base + i);
}

extern "C" __global__ void __launch_bounds__(GATHER_THREADS)
    cornu_gather_whole(gather_augmented_params p)
{
    __shared__ drawn_transform d;
    __shared__ double sums[WARP];
    __shared__ float largests[WARP];
    const cuda_step s = *this_step(&p.gather.clock);
    int64_t count = p.gather.count;
    for (int64_t row = blockIdx.y; row < p.gather.batch; row += gridDim.y) {
        float *to = p.gather.x + row * count, scale = s.x_scale;
        if (blockIdx.x == 1) {
            write_target(p.gather, s, row);
            continue;
        }
        __syncthreads(); /* the transform of the row before is still in use */
        if (p.augments && threadIdx.x == 0)
            draw_transform(p, s, s.sample[row], &d);
        __syncthreads();
        write_resampled(p, s, s.index[row] * count, d, to);
        __syncthreads();
        if (p.augments && transform_changes_values(&d.transform))
            transform_values(d.transform, to, count, largests);
        if (p.standardize.samplewise_center) {
            standardize_by_itself(p.standardize, scale, to, count, sums);
            scale = 1;
        }
        for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
            to[i] = scaled(p.standardize, scale, i, to[i]);
    }
}
