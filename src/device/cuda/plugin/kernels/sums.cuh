#ifndef DEVICE_CUDA_SUMS_CUH
#define DEVICE_CUDA_SUMS_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/sums.h"
#include "device/cuda/plugin/kernels/strips.cuh"

extern "C" __global__ void __launch_bounds__(SUM_THREADS) cornu_column_sums(column_sums_params p)
{
    __shared__ double shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    double sum = 0;
    for (int64_t row = w.begin; row < w.end; row += w.step)
        sum += (double)p.x[row * p.t.columns + w.column];
    sum = strip_sum(p.t, sum, shared);
    if (!w.active || (int)threadIdx.x >= p.t.width)
        return;
    if (p.sums)
        p.sums[w.column] = (float)sum;
    else
        p.partials[blockIdx.y * p.t.columns + w.column] = sum;
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_column_sums_reduce(column_sums_reduce_params p)
{
    __shared__ double shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    double sum = 0;
    for (int64_t i = w.begin; i < w.end; i += w.step)
        sum += p.partials[i * p.t.columns + w.column];
    sum = strip_sum(p.t, sum, shared);
    if (!w.active || (int)threadIdx.x >= p.t.width)
        return;
    if (p.sums)
        p.sums[w.column] = (float)sum;
    else
        p.totals[w.column] = sum;
}

static __device__ inline double square(float x)
{
    return (double)x * (double)x;
}

/* This thread's partial sum of the squares of x[0..count). */
static __device__ inline double square_range(const float *x, int64_t count)
{
    double sum = 0;
    int64_t packs = count / 4;
    for (int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
        float4 v = load4(x, i * 4);
        sum += square(v.x) + square(v.y) + (square(v.z) + square(v.w));
    }
    for (int64_t i = packs * 4 + threadIdx.x; i < count; i += blockDim.x)
        sum += square(x[i]);
    return sum;
}

extern "C" __global__ void __launch_bounds__(SQUARE_THREADS) cornu_square_sum(square_sum_params p)
{
    __shared__ double shared[WARP];
    double sum = block_sum(square_range(p.x, p.count), shared);
    if (threadIdx.x == 0)
        *p.sum = (float)sum;
}

#endif
