#ifndef DEVICE_CUDA_SUMS_CUH
#define DEVICE_CUDA_SUMS_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/sums.h"
#include "device/cuda/plugin/kernels/strips.cuh"

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

extern "C" __global__ void __launch_bounds__(SQUARE_THREADS) cornu_square_sum(square_sum_params p)
{
    __shared__ sum2 shared[WARP];
    sum2 sum = block_sum(square_range(p.x, p.count), shared);
    if (threadIdx.x == 0)
        *p.sum = sum2_value(sum);
}

#endif
