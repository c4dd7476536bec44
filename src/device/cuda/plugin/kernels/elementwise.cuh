#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/elementwise.h"
#include "device/cuda/plugin/kernels/rules.cuh"

/* Activations, and functions that are none. */
static __device__ inline float apply(int kind, float alpha, float x)
{
    switch (kind) {
#define ACTIVATION(...)
#define ELEMENT_FUNCTION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                                 \
        return activate_##rule(x, alpha);
#include "model/activations.def"
    }
    return activate(kind, alpha, x);
}

static __device__ inline float apply_back(int kind, float alpha, float x_or_y, float dy)
{
    switch (kind) {
#define ACTIVATION(...)
#define ELEMENT_FUNCTION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                                 \
        return activate_##rule##_back(x_or_y, dy, alpha);
#include "model/activations.def"
    }
    return activate_back(kind, alpha, x_or_y, dy);
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    cornu_activation_forward(activation_forward_params p)
{
    int64_t packs = p.count / 4;
    for (EACH(i, packs)) {
        float4 v = load4(p.x, i * 4);
        v.x = apply(p.kind, p.alpha, v.x);
        v.y = apply(p.kind, p.alpha, v.y);
        v.z = apply(p.kind, p.alpha, v.z);
        v.w = apply(p.kind, p.alpha, v.w);
        store4(p.y, i * 4, v);
    }
    for (EACH(i, p.count - packs * 4))
        p.y[packs * 4 + i] = apply(p.kind, p.alpha, p.x[packs * 4 + i]);
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    cornu_activation_backward(activation_backward_params p)
{
    int64_t packs = p.count / 4;
    for (EACH(i, packs)) {
        float4 v = load4(p.x_or_y, i * 4), d = load4(p.dy, i * 4);
        d.x = apply_back(p.kind, p.alpha, v.x, d.x);
        d.y = apply_back(p.kind, p.alpha, v.y, d.y);
        d.z = apply_back(p.kind, p.alpha, v.z, d.z);
        d.w = apply_back(p.kind, p.alpha, v.w, d.w);
        store4(p.dx, i * 4, d);
    }
    for (EACH(i, p.count - packs * 4)) {
        int64_t at = packs * 4 + i;
        p.dx[at] = apply_back(p.kind, p.alpha, p.x_or_y[at], p.dy[at]);
    }
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    cornu_bias_activation(bias_activation_params p)
{
    int64_t column;
    if (p.columns % 4 == 0) {
        for (EACH(i, p.count / 4)) {
            divide(i * 4, p.columns, &column);
            float4 v = load4(p.x, i * 4), b = load4(p.bias, column);
            v.x = activate(p.kind, p.alpha, v.x + b.x);
            v.y = activate(p.kind, p.alpha, v.y + b.y);
            v.z = activate(p.kind, p.alpha, v.z + b.z);
            v.w = activate(p.kind, p.alpha, v.w + b.w);
            store4(p.y, i * 4, v);
        }
        return;
    }
    for (EACH(i, p.count)) {
        divide(i, p.columns, &column);
        p.y[i] = activate(p.kind, p.alpha, p.x[i] + p.bias[column]);
    }
}

/* ---- activations of rows ------------------------------------------------------------------- */

/* A row for one of its threads, by its group's place in the block; n = 0 if there is no such row.
 */
static __device__ inline row_view activated_row(const row_activation_params *p, int64_t row)
{
    row_view r;
    r.output = p->x_or_y + row * p->n;
    r.target = p->dy + row * p->n;
    r.gradient = p->result + row * p->n;
    r.activated = (float *)0;
    r.activation = ACTIVATION_LINEAR;
    r.n = row < p->rows ? p->n : 0;
    r.lanes = p->lanes;
    r.lane = (int)threadIdx.x & (p->lanes - 1);
    r.rows = r.weight = 1;
    return r;
}

static __device__ inline void activate_row(int kind, const row_view *r)
{
    switch (kind) {
#define ACTIVATION(...)
#define ACTIVATION_OF_ROWS(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                                   \
        activate_row_##rule(r);                             \
        return;
#include "model/activations.def"
    }
}

static __device__ inline void activate_row_back(int kind, const row_view *r)
{
    switch (kind) {
#define ACTIVATION(...)
#define ACTIVATION_OF_ROWS(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                                   \
        activate_row_##rule##_back(r);                      \
        return;
#include "model/activations.def"
    }
}

/* The groups of `lanes` threads of a block go through its rows; all threads make the same number of
   rounds, because several groups are in a warp. */
#define ROUNDS_OF_ROWS(first, groups, p) \
    int64_t first = blockIdx.x * groups; \
    first < p.rows;                      \
    first += gridDim.x * groups

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    cornu_row_activation_forward(row_activation_params p)
{
    int64_t groups = blockDim.x / (unsigned)p.lanes, own = threadIdx.x / (unsigned)p.lanes;
    for (ROUNDS_OF_ROWS(first, groups, p)) {
        row_view r = activated_row(&p, first + own);
        activate_row(p.kind, &r);
    }
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    cornu_row_activation_backward(row_activation_params p)
{
    int64_t groups = blockDim.x / (unsigned)p.lanes, own = threadIdx.x / (unsigned)p.lanes;
    for (ROUNDS_OF_ROWS(first, groups, p)) {
        row_view r = activated_row(&p, first + own);
        activate_row_back(p.kind, &r);
    }
}

/* ---- the others --------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_scale(scale_params p)
{
    int64_t packs = p.count / 4;
    for (EACH(i, packs)) {
        float4 v = load4(p.x, i * 4);
        v.x = v.x * p.scale + p.offset;
        v.y = v.y * p.scale + p.offset;
        v.z = v.z * p.scale + p.offset;
        v.w = v.w * p.scale + p.offset;
        store4(p.y, i * 4, v);
    }
    for (EACH(i, p.count - packs * 4))
        p.y[packs * 4 + i] = p.x[packs * 4 + i] * p.scale + p.offset;
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_add(add_params p)
{
    int64_t packs = p.count / 4;
    for (EACH(i, packs)) {
        float4 a = load4(p.a, i * 4), b = load4(p.b, i * 4);
        a.x += b.x;
        a.y += b.y;
        a.z += b.z;
        a.w += b.w;
        store4(p.y, i * 4, a);
    }
    for (EACH(i, p.count - packs * 4))
        p.y[packs * 4 + i] = p.a[packs * 4 + i] + p.b[packs * 4 + i];
}

/* Element i, kept where its random number is at least the rate. */
static __device__ inline float drop(const dropout_params &p, float x, uint32_t bits, float scale,
                                    int64_t i)
{
    float y = random_to_float(bits) >= p.rate ? x * scale : 0;
    return p.x_or_y ? activate_back(p.activation, p.alpha, p.x_or_y[i], y) : y;
}

/* The random numbers of the elements e to e + 3 of the whole batch: word e % 4 of Philox(seed,
   layer; e / 4, iteration), and the following words. Four elements share a block of numbers; a
   shard may begin within a block. */
static __device__ inline void drop_bits(uint64_t key, uint64_t iteration, uint64_t e,
                                        uint32_t bits[4])
{
    const uint64_t block = e / 4, next = block + 1;
    uint32_t more[4];
    philox(key, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)iteration,
           (uint32_t)(iteration >> 32), bits);
    if (e % 4 == 0)
        return;
    philox(key, (uint32_t)next, (uint32_t)(next >> 32), (uint32_t)iteration,
           (uint32_t)(iteration >> 32), more);
    for (int k = 0; k < (int)(e % 4); k++) {
        bits[0] = bits[1];
        bits[1] = bits[2];
        bits[2] = bits[3];
        bits[3] = more[0];
        more[0] = more[1];
        more[1] = more[2];
    }
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_dropout(dropout_params p)
{
    const cuda_step *s = this_step(&p.clock);
    uint64_t iteration = (uint64_t)s->iteration;
    uint64_t key = device_random_key(s->seed, RANDOM_DROPOUT, p.stream);
    float scale = 1 / (1 - p.rate);
    uint32_t bits[4];
    for (EACH(i, (p.count + 3) / 4)) {
        drop_bits(key, iteration, (uint64_t)(s->first * p.per_sample + i * 4), bits);
        if (i * 4 + 4 <= p.count) {
            float4 v = load4(p.x, i * 4);
            v.x = drop(p, v.x, bits[0], scale, i * 4);
            v.y = drop(p, v.y, bits[1], scale, i * 4 + 1);
            v.z = drop(p, v.z, bits[2], scale, i * 4 + 2);
            v.w = drop(p, v.w, bits[3], scale, i * 4 + 3);
            store4(p.y, i * 4, v);
        } else {
            for (int k = 0; k < (int)(p.count - i * 4); k++)
                p.y[i * 4 + k] = drop(p, p.x[i * 4 + k], bits[k], scale, i * 4 + k);
        }
    }
}

/* Position `i` of an image of `height` x `width` x `channels` apart: sample, row, column, channel.
 */
typedef struct image_position {
    int64_t n, row, column, channel;
} image_position;

static __device__ inline image_position position_of(int64_t i, int64_t height, int64_t width,
                                                    int64_t channels)
{
    image_position at;
    int64_t rest = divide(i, channels, &at.channel);
    rest = divide(rest, width, &at.column);
    at.n = divide(rest, height, &at.row);
    return at;
}

static __device__ inline void copy_pack(const float *from, float *to, int pack)
{
    if (pack == 4)
        store4(to, 0, load4(from, 0));
    else
        *to = *from;
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_pad(pad_params p)
{
    const float4 zeros = {0, 0, 0, 0};
    int64_t i = thread_number();
    if (i >= p.batch * p.outer_h * p.outer_w * p.packs)
        return;
    image_position at = position_of(i, p.outer_h, p.outer_w, p.packs);
    int64_t row = at.row - p.top, column = at.column - p.left;
    bool inside = row >= 0 && row < p.inner_h && column >= 0 && column < p.inner_w;
    int64_t from = ((at.n * p.inner_h + row) * p.inner_w + column) * p.packs + at.channel;
    if (inside)
        copy_pack(p.from + from * p.pack, p.to + i * p.pack, p.pack);
    else if (p.pack == 4)
        store4(p.to, i * 4, zeros);
    else
        p.to[i] = 0;
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_crop(crop_params p)
{
    int64_t i = thread_number();
    if (i >= p.batch * p.inner_h * p.inner_w * p.packs)
        return;
    image_position at = position_of(i, p.inner_h, p.inner_w, p.packs);
    int64_t row = at.row + p.top, column = at.column + p.left;
    int64_t from = ((at.n * p.outer_h + row) * p.outer_w + column) * p.packs + at.channel;
    copy_pack(p.from + from * p.pack, p.to + i * p.pack, p.pack);
}

/* Where in the whole pack i of the slice is. */
static __device__ inline int64_t whole_at(const slice_params &p, int64_t i)
{
    int64_t pack, run;
    int64_t at = divide(i, p.floats, &pack);
    at = divide(at, p.runs, &run);
    return at * p.outer + p.first + run * p.step + pack;
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_slice(slice_params p)
{
    for (EACH(i, p.packs))
        copy_pack(p.from + whole_at(p, i) * p.pack, p.to + i * p.pack, p.pack);
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_insert(insert_params p)
{
    for (EACH(i, p.packs))
        copy_pack(p.from + i * p.pack, p.to + whole_at(p, i) * p.pack, p.pack);
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_spread(spread_params p)
{
    const float4 zeros = {0, 0, 0, 0};
    for (EACH(i, p.packs)) {
        int64_t rest, within = 0, run = p.runs;
        int64_t at = divide(i, p.outer, &rest);
        if (rest >= p.first)
            run = divide(rest - p.first, p.step, &within);
        if (run < p.runs && within < p.floats)
            copy_pack(p.from + ((at * p.runs + run) * p.floats + within) * p.pack,
                      p.to + i * p.pack, p.pack);
        else if (p.pack == 4)
            store4(p.to, i * 4, zeros);
        else
            p.to[i] = 0;
    }
}

static __device__ inline uint32_t bf16_bits(float x)
{
    union {
        float value;
        uint32_t bits;
    } u;
    u.value = x;
    if (x != x) /* adding could carry a NaN into infinity */
        return u.bits >> 16 | 64;
    return (u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16;
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS) cornu_cast_bf16(cast_bf16_params p)
{
    int64_t pairs = p.count / 2;
    for (EACH(i, pairs)) {
        uint32_t low = bf16_bits(p.x[2 * i]), high = bf16_bits(p.x[2 * i + 1]);
        ((uint32_t *)(void *)p.y)[i] = low | high << 16;
    }
    for (EACH(i, p.count - pairs * 2))
        p.y[pairs * 2 + i] = (uint16_t)bf16_bits(p.x[pairs * 2 + i]);
}
