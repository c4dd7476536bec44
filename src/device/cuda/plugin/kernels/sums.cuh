/* Sums of columns: of strips, whose partial sums are in a fixed order. */
#ifndef DEVICE_CUDA_PLUGIN_KERNELS_SUMS_CUH
#define DEVICE_CUDA_PLUGIN_KERNELS_SUMS_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/rules.cuh"
#include "device/cuda/plugin/kernels/sums.h"

#include "device/rules/constraint.h"
#include "device/rules/penalty.h"

/* ---- strips ------------------------------------------------------------------------------ */

/* Walking over strips of columns, see sums.h. */

/* This thread's column, which may be past the last, and its rows: begin, begin + step ... < end */
typedef struct strip_walk {
    int64_t column, begin, end;
    int step;
    bool active; /* the column exists */
} strip_walk;

static __device__ inline strip_walk walk_of(const sum_strips &t)
{
    strip_walk w;
    w.step = SUM_THREADS / t.width;
    w.column = (int64_t)blockIdx.x * t.width + (int)threadIdx.x % t.width;
    w.active = w.column < t.columns;
    int64_t first = (int64_t)blockIdx.y * t.block_rows;
    w.begin = first + (int)threadIdx.x / t.width;
    w.end = w.active ? least(first + t.block_rows, t.rows) : 0;
    return w;
}

/* Sum over the threads of a column, for all of them; `shared`: SUM_THREADS. */
static __device__ inline sum2 strip_sum(const sum_strips &t, sum2 value, sum2 *shared)
{
    __syncthreads(); /* shared may still be read from the call before */
    shared[threadIdx.x] = value;
    for (int half = SUM_THREADS / 2; half >= t.width; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            shared[threadIdx.x] = sum2_add(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
    return shared[(int)threadIdx.x % t.width];
}

/* Both sums of the partial sums of this thread's column. */
static __device__ inline void total_of(const sum_strips &t, const strip_walk &w,
                                       const sum2 *partials, int64_t count, sum2 *shared,
                                       sum2 *first, sum2 *second)
{
    sum2 a = sum2_of(0), b = sum2_of(0);
    for (int64_t i = (int)threadIdx.x / t.width; w.active && i < count; i += w.step) {
        a = sum2_add(a, partials[2 * i * t.columns + w.column]);
        b = sum2_add(b, partials[(2 * i + 1) * t.columns + w.column]);
    }
    *first = strip_sum(t, a, shared);
    *second = strip_sum(t, b, shared);
}

/* a, b: not settled */
static __device__ inline void store_partials(const sum_strips &t, const strip_walk &w, sum2 a,
                                             sum2 b, sum2 *shared, sum2 *partials)
{
    a = strip_sum(t, sum2_settled(a), shared);
    b = strip_sum(t, sum2_settled(b), shared);
    if (!w.active || (int)threadIdx.x >= t.width)
        return;
    partials[2 * blockIdx.y * t.columns + w.column] = a;
    partials[(2 * blockIdx.y + 1) * t.columns + w.column] = b;
}

/* ---- sums of columns, and of squares ----------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(SUM_THREADS) cornu_column_sums(column_sums_params p)
{
    __shared__ sum2 shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    sum2 sum = sum2_of(0);
    for (int64_t row = w.begin; row < w.end; row += w.step)
        sum = sum2_plus(sum, p.x[row * p.t.columns + w.column]);
    sum = strip_sum(p.t, sum2_settled(sum), shared);
    if (!w.active || (int)threadIdx.x >= p.t.width)
        return;
    if (p.sums)
        p.sums[w.column] = sum2_value(sum);
    else
        p.partials[blockIdx.y * p.t.columns + w.column] = sum;
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_column_sums_reduce(column_sums_reduce_params p)
{
    __shared__ sum2 shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    sum2 sum = sum2_of(0);
    for (int64_t i = w.begin; i < w.end; i += w.step)
        sum = sum2_add(sum, p.partials[i * p.t.columns + w.column]);
    sum = strip_sum(p.t, sum, shared);
    if (!w.active || (int)threadIdx.x >= p.t.width)
        return;
    if (p.sums)
        p.sums[w.column] = sum2_value(sum);
    else
        p.totals[w.column] = sum;
}

/* This thread's partial sum of the squares of x[0..count). */
static __device__ inline sum2 square_range(const float *x, int64_t count)
{
    sum2 sum = sum2_of(0);
    int64_t packs = count / 4;
    for (int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
        float4 v = load4(x, i * 4);
        sum = sum2_plus(sum, (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w));
    }
    for (int64_t i = packs * 4 + threadIdx.x; i < count; i += blockDim.x)
        sum = sum2_plus(sum, x[i] * x[i]);
    return sum2_settled(sum);
}

/* The same of l1 |w| + l2 w^2 or, with gradients, of the squares of g and its slopes. */
static __device__ inline sum2 penalty_range(const float *w, const float *g, int64_t count, float l1,
                                            float l2)
{
    sum2 sum = sum2_of(0);
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
        const float slope = g ? rule_penalized(l1, l2, w[i], g[i]) : 0;
        sum = sum2_plus(sum, g ? slope * slope : l1 * fabsf(w[i]) + l2 * (w[i] * w[i]));
    }
    return sum2_settled(sum);
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS) cornu_penalty(penalty_params p)
{
    __shared__ sum2 shared[WARP];
    const int64_t begin = (int64_t)blockIdx.x * p.piece;
    sum2 sum = penalty_range(p.w + begin, NULL, least(p.piece, p.count - begin), p.l1, p.l2);
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        p.partials[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_penalty_reduce(penalty_reduce_params p)
{
    __shared__ sum2 shared[WARP];
    sum2 sum = sum2_of(0);
    for (int64_t i = threadIdx.x; i < p.count; i += blockDim.x)
        sum = sum2_add(sum, p.partials[i]);
    sum = block_sum(sum, shared);
    if (threadIdx.x != 0)
        return;
    const double penalty = (double)sum.x + (double)sum.y;
    p.results->last_loss += penalty;
    p.results->loss += penalty * (double)p.batch;
    if (!isfinite(p.results->last_loss)) /* the LOSS may have counted the step already */
        p.results->not_finite = 1;
}

extern "C" __global__ void __launch_bounds__(SQUARE_THREADS) cornu_square_sum(square_sum_params p)
{
    __shared__ sum2 shared[WARP];
    sum2 own = p.w ? penalty_range(p.w, p.x, p.count, p.penalty_l1, p.penalty_l2)
                    : square_range(p.x, p.count);
    sum2 sum = block_sum(own, shared);
    if (threadIdx.x == 0)
        *p.sum = sum2_value(sum);
}

/* ---- constraints --------------------------------------------------------------------------- */

/* Element k of norm i. */
static __device__ inline float *constrained(const constrain_params &p, int64_t i, int64_t k)
{
    const int64_t plain = (i / p.inner * p.along + k) * p.inner + i % p.inner;
    return p.w + plain % p.columns * p.rows + plain / p.columns;
}

extern "C" __global__ void cornu_constrain(constrain_params p)
{
    for (EACH(i, p.norms)) {
        sum2 sum = sum2_of(0);
        for (int64_t k = 0; k < p.along; k++) {
            const float w = *constrained(p, i, k);
            sum = sum2_plus(sum, w * w);
        }
        const float norm = sqrtf(sum2_value(sum2_settled(sum)));
        const float factor = rule_constrained(norm, p.least, p.most, p.rate);
        for (int64_t k = 0; k < p.along; k++) {
            float *w = constrained(p, i, k);
            *w = !p.non_neg ? *w * factor : *w < 0 ? 0 : *w;
        }
    }
}

#endif
