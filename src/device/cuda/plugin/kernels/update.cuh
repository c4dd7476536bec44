#ifndef DEVICE_CUDA_UPDATE_CUH
#define DEVICE_CUDA_UPDATE_CUH

/* The rules of device/update_rules.h, operation by operation in its order and without contracting
   products and sums (times): the same gradients give the same weights as on the host. Memory is
   the limit either way. */
#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/sums.cuh"
#include "device/cuda/plugin/kernels/update.h"

/* What all elements of a variable share in one step. */
typedef struct factors {
    float learning_rate, gradient_scale, clip_value, weight_decay;
    float momentum, rho, epsilon, rate_1, rate_2, alpha;
    int nesterov, amsgrad;
} factors;

/* Gradients are multiplied by this. A norm that is not finite makes it NaN, so that it is seen. */
static __device__ inline float clip_scale(const update_params &p, int square)
{
    if (!p.squares)
        return 1;
    double squares = 0;
    if (p.square_count == 0)
        squares = (double)p.squares[square];
    for (int i = 0; i < p.square_count; i++)
        squares += (double)p.squares[i];
    double norm = sqrt(squares);
    return isfinite(norm) ? (float)(norm > p.norm_most ? p.norm_most / norm : 1) : NAN;
}

static __device__ inline factors factors_of(const update_params &p, int square)
{
    const gpu_step *s = this_step(&p.clock);
    factors f;
    f.learning_rate = s->learning_rate;
    f.alpha = s->adam_alpha;
    f.gradient_scale = clip_scale(p, square);
    f.clip_value = p.clip_value;
    f.weight_decay = p.weight_decay;
    f.momentum = p.momentum;
    f.rho = p.rho;
    f.epsilon = p.epsilon;
    f.rate_1 = p.rate_1;
    f.rate_2 = p.rate_2;
    f.nesterov = p.nesterov;
    f.amsgrad = p.amsgrad;
    return f;
}

static __device__ inline float clipped(const factors &f, float g)
{
    g *= f.gradient_scale;
    g = g > f.clip_value ? f.clip_value : g;
    return g < -f.clip_value ? -f.clip_value : g;
}

static __device__ inline float decayed(const factors &f, float w)
{
    return w - times(w * f.weight_decay, f.learning_rate);
}

/* ---- one element ---------------------------------------------------------------------------- */

/* `has`: bit i is set where slot i is there. */
typedef struct sgd_rule {
    static __device__ inline void step(const factors &f, int has, float *w, float g, float *v,
                                       float *, float *)
    {
        float change = times(clipped(f, g), f.learning_rate);
        if (!(has & 1)) {
            *w = decayed(f, *w) - change;
        } else {
            *v = times(*v, f.momentum) - change;
            *w = decayed(f, *w) + (f.nesterov ? times(*v, f.momentum) - change : *v);
        }
    }
} sgd_rule;

typedef struct adam_rule {
    static __device__ inline void step(const factors &f, int has, float *w, float g, float *m,
                                       float *v, float *largest)
    {
        g = clipped(f, g);
        *m += times(g - *m, f.rate_1);
        *v += times(times(g, g) - *v, f.rate_2);
        float second = *v;
        if (f.amsgrad && (has & 4))
            second = *largest = *largest > *v ? *largest : *v;
        *w = decayed(f, *w) - *m * f.alpha / (sqrtf(second) + f.epsilon);
    }
} adam_rule;

typedef struct rmsprop_rule {
    static __device__ inline void step(const factors &f, int has, float *w, float g, float *v,
                                       float *u, float *a)
    {
        g = clipped(f, g);
        *v = times(f.rho, *v) + times(1 - f.rho, g * g);
        float denominator = *v + f.epsilon;
        if (has & 4) {
            *a = times(f.rho, *a) + times(1 - f.rho, g);
            denominator = *v - times(*a, *a) + f.epsilon;
        }
        float change = f.learning_rate * g / sqrtf(denominator);
        if (has & 2)
            *u = change = times(f.momentum, *u) + change;
        *w = decayed(f, *w) - change;
    }
} rmsprop_rule;

/* ---- a piece -------------------------------------------------------------------------------- */

static __device__ inline int slots_of(float *const slot[3])
{
    return (slot[0] ? 1 : 0) | (slot[1] ? 2 : 0) | (slot[2] ? 4 : 0);
}

/* Elements at .. at + 3 of variable w, whose gradients are g. */
template <typename rule>
static __device__ inline void step4(const factors &f, float *w, float *const slot[3], int64_t at,
                                    float4 g)
{
    const float4 none = {0, 0, 0, 0};
    int has = slots_of(slot);
    float4 v = load4(w, at);
    float4 a = has & 1 ? load4(slot[0], at) : none;
    float4 b = has & 2 ? load4(slot[1], at) : none;
    float4 c = has & 4 ? load4(slot[2], at) : none;
    rule::step(f, has, &v.x, g.x, &a.x, &b.x, &c.x);
    rule::step(f, has, &v.y, g.y, &a.y, &b.y, &c.y);
    rule::step(f, has, &v.z, g.z, &a.z, &b.z, &c.z);
    rule::step(f, has, &v.w, g.w, &a.w, &b.w, &c.w);
    store4(w, at, v);
    if (has & 1)
        store4(slot[0], at, a);
    if (has & 2)
        store4(slot[1], at, b);
    if (has & 4)
        store4(slot[2], at, c);
}

template <typename rule>
static __device__ inline void step1(const factors &f, float *w, float *const slot[3], int64_t at,
                                    float g)
{
    int has = slots_of(slot);
    float v = w[at], a = has & 1 ? slot[0][at] : 0;
    float b = has & 2 ? slot[1][at] : 0, c = has & 4 ? slot[2][at] : 0;
    rule::step(f, has, &v, g, &a, &b, &c);
    w[at] = v;
    if (has & 1)
        slot[0][at] = a;
    if (has & 2)
        slot[1][at] = b;
    if (has & 4)
        slot[2][at] = c;
}

template <typename rule>
static __device__ inline void update_one(const update_params &p, unsigned number)
{
    const update_piece v = p.pieces[number];
    factors f = factors_of(p, v.square);
    for (int at = (int)threadIdx.x * 4; at < v.count; at += UPDATE_THREADS * 4) {
        if (at + 4 <= v.count)
            step4<rule>(f, v.w, v.slot, at, load4(v.g, at));
        else
            for (int i = at; i < v.count; i++)
                step1<rule>(f, v.w, v.slot, i, v.g[i]);
    }
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS) cornu_update_sgd(update_sgd_params p)
{
    update_one<sgd_rule>(p, blockIdx.x);
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS) cornu_update_adam(update_adam_params p)
{
    update_one<adam_rule>(p, blockIdx.x);
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_update_rmsprop(update_rmsprop_params p)
{
    update_one<rmsprop_rule>(p, blockIdx.x);
}

/* ---- square sums ---------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_update_squares(update_squares_params p)
{
    __shared__ double shared[WARP];
    const update_piece v = p.pieces[blockIdx.x];
    double sum = block_sum(square_range(v.g, v.count), shared);
    if (threadIdx.x == 0)
        p.parts[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    cornu_update_squares_finish(update_squares_finish_params p)
{
    __shared__ double shared[WARP];
    const update_range range = p.ranges[blockIdx.x];
    double sum = 0;
    for (int i = (int)threadIdx.x; i < range.count; i += (int)blockDim.x)
        sum += p.parts[range.first + i];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        p.squares[p.pieces[range.first].square] = (float)sum;
}

#endif
