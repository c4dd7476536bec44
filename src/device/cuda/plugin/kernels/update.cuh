#ifndef DEVICE_CUDA_UPDATE_CUH
#define DEVICE_CUDA_UPDATE_CUH

/* The optimizers' rules without contracting products and sums: the same gradients give the same
   weights as on the host. Both are bound by memory. */
#include "device/cuda/plugin/kernels/rules.cuh"
#include "device/cuda/plugin/kernels/sums.cuh"
#include "device/cuda/plugin/kernels/update.h"

#include "device/rules/optimizers.h"

/* Gradients are multiplied by this. A norm that is not finite makes it NaN, so that it is seen.
   Each square is finite, but their sum may not be: a power of two makes room for 65536 of them. */
static __device__ inline float clip_scale(const update_params &p, int square)
{
    const float room = 1.0f / 65536;
    if (!p.squares)
        return 1;
    sum2 squares = sum2_of(p.square_count == 0 ? p.squares[square] * room : 0);
    for (int i = 0; i < p.square_count; i++)
        squares = sum2_plus(squares, p.squares[i] * room);
    float norm = 256 * sqrtf(sum2_value(sum2_settled(squares)));
    return isfinite(norm) ? norm > p.norm_most ? p.norm_most / norm : 1 : NAN;
}

static __device__ inline optimizer_constants constants_of(const update_params &p, int square)
{
    const cuda_step *s = this_step(&p.clock);
    optimizer_constants c = p.constants;
    c.learning_rate = s->learning_rate;
    c.alpha = s->adam_alpha;
    c.gradient_scale = clip_scale(p, square);
    return c;
}

/* The rules as types, for templates: rule_of_SGD::step() is rule_sgd(). */
#define OPTIMIZER(id, class_name, name, rule, ...)                                            \
    typedef struct rule_of_##id {                                                             \
        static __device__ inline void step(const optimizer_constants &c, float *w, float g,   \
                                           float *a, float *b, float *d)                      \
        {                                                                                     \
            float slot[3] = {*a, *b, *d};                                                     \
            rule_clip_and_decay(&c, w, &g);                                                   \
            rule_##rule(&c, c.form, w, g, slot);                                              \
            *a = slot[0];                                                                     \
            *b = slot[1];                                                                     \
            *d = slot[2];                                                                     \
        }                                                                                     \
    } rule_of_##id;
#include "model/optimizers.def"

/* ---- a piece -------------------------------------------------------------------------------- */

/* Elements at .. at + 3 of variable w, whose gradients are g. */
template <typename rule>
static __device__ inline void step4(const optimizer_constants &f, float *w, float *const slot[3], int64_t at,
                                    float4 g)
{
    const float4 none = {0, 0, 0, 0};
    float4 v = load4(w, at);
    float4 a = f.form & 1 ? load4(slot[0], at) : none;
    float4 b = f.form & 2 ? load4(slot[1], at) : none;
    float4 c = f.form & 4 ? load4(slot[2], at) : none;
    rule::step(f, &v.x, g.x, &a.x, &b.x, &c.x);
    rule::step(f, &v.y, g.y, &a.y, &b.y, &c.y);
    rule::step(f, &v.z, g.z, &a.z, &b.z, &c.z);
    rule::step(f, &v.w, g.w, &a.w, &b.w, &c.w);
    store4(w, at, v);
    if (f.form & 1)
        store4(slot[0], at, a);
    if (f.form & 2)
        store4(slot[1], at, b);
    if (f.form & 4)
        store4(slot[2], at, c);
}

template <typename rule>
static __device__ inline void step1(const optimizer_constants &f, float *w, float *const slot[3], int64_t at,
                                    float g)
{
    float v = w[at], a = f.form & 1 ? slot[0][at] : 0;
    float b = f.form & 2 ? slot[1][at] : 0, c = f.form & 4 ? slot[2][at] : 0;
    rule::step(f, &v, g, &a, &b, &c);
    w[at] = v;
    if (f.form & 1)
        slot[0][at] = a;
    if (f.form & 2)
        slot[1][at] = b;
    if (f.form & 4)
        slot[2][at] = c;
}

template <typename rule>
static __device__ inline void update_one(const update_params &p, unsigned number)
{
    const update_piece v = p.pieces[number];
    optimizer_constants f = constants_of(p, v.square);
    for (int at = (int)threadIdx.x * 4; at < v.count; at += UPDATE_THREADS * 4) {
        if (at + 4 <= v.count)
            step4<rule>(f, v.w, v.slot, at, load4(v.g, at));
        else
            for (int i = at; i < v.count; i++)
                step1<rule>(f, v.w, v.slot, i, v.g[i]);
    }
}

#define OPTIMIZER(id, ...)                                             \
    extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)       \
        cornu_update_##id(update_##id##_params p)                      \
    {                                                                  \
        update_one<rule_of_##id>(p, blockIdx.x);                       \
    }
#include "model/optimizers.def"

/* ---- square sums ---------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_update_squares(update_squares_params p)
{
    __shared__ sum2 shared[WARP];
    const update_piece v = p.pieces[blockIdx.x];
    sum2 sum = block_sum(square_range(v.g, v.count), shared);
    if (threadIdx.x == 0)
        p.partials[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_update_squares_reduce(update_squares_reduce_params p)
{
    __shared__ sum2 shared[WARP];
    const update_range range = p.ranges[blockIdx.x];
    sum2 sum = sum2_of(0);
    for (int i = (int)threadIdx.x; i < range.count; i += (int)blockDim.x)
        sum = sum2_add(sum, p.partials[range.first + i]);
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        p.squares[p.pieces[range.first].square] = sum2_value(sum);
}

#endif
