/* Definitions shared by the kernels. These are plain C-like CUDA C++, which a host compiler also
   accepts if it gets the few names of CUDA that are used here. */
#ifndef DEVICE_CUDA_COMMON_CUH
#define DEVICE_CUDA_COMMON_CUH

#include "device/cuda/plugin/kernels/kernels.h"
#include <math.h>

#define RULE static __device__ inline

RULE sum2 sum2_make(float x, float y)
{
    sum2 a;
    a.x = x;
    a.y = y;
    return a;
}
#define rule_fma(a, b, c) fmaf(a, b, c)
#include "device/rules/sum2.h"

#define WARP 32
#define ALL_LANES 0xffffffffu

/* A whole grid's threads walk over `count` items: for (EACH(i, count)) ... */
#define EACH(i, count)                                          \
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; \
    i < (count);                                                \
    i += (int64_t)gridDim.x * blockDim.x

/* The index of this thread in its grid, for kernels with one thread per item. */
static __device__ inline int64_t thread_number(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline const cuda_step *this_step(const cuda_clock *clock)
{
    return &clock->steps[(*clock->position - clock->back) % CUDA_QUEUE];
}

/* at / by and the rest; 64-bit division is some 70 instructions, and rarely needed. */
static __device__ inline int64_t divide(int64_t at, int64_t by, int64_t *rest)
{
    int64_t quotient;
    if (((at | by) >> 32) == 0)
        quotient = (int64_t)((uint32_t)at / (uint32_t)by);
    else
        quotient = at / by;
    *rest = at - quotient * by;
    return quotient;
}

static __device__ inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A product that the compiler does not merge with an addition into one that rounds once: where the
   bits shall be those of the host. */
static __device__ inline float times(float a, float b)
{
    return __fmul_rn(a, b);
}

/* Sum over groups of `lanes` consecutive threads (a power of two up to 32); all of them get it.
   Every thread of the block must call it. */
static __device__ inline double lanes_sum(double value, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

static __device__ inline sum2 lanes_sum(sum2 value, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2)
        value = sum2_add(value, sum2_make(__shfl_xor_sync(ALL_LANES, value.x, offset),
                                          __shfl_xor_sync(ALL_LANES, value.y, offset)));
    return value;
}

static __device__ inline float lanes_sum(float value, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

static __device__ inline float lanes_largest(float value, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, offset));
    return value;
}

/* Sum over the block for every thread, of doubles or sum2; `partials`: 32 in shared memory. */
template <typename number> static __device__ inline number block_sum(number value, number *partials)
{
    unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    value = lanes_sum(value, WARP);
    __syncthreads(); /* partials may still be read from the call before */
    if (lane == 0)
        partials[threadIdx.x / WARP] = value;
    __syncthreads();
    return lanes_sum(lane < warps ? partials[lane] : number(), WARP);
}

static __device__ inline float or_else(const float *values, int64_t i, float missing)
{
    return values ? values[i] : missing;
}

/* Four neighbours at once. Tensors begin at multiples of 16 bytes. */
static __device__ inline float4 load4(const float *x, int64_t i)
{
    return *(const float4 *)(const void *)(x + i);
}

static __device__ inline void store4(float *x, int64_t i, float4 value)
{
    *(float4 *)(void *)(x + i) = value;
}

/* ---- random numbers ---------------------------------------------------------------------- */

/* The same random numbers as on the host: base/philox.h, compiled for the device. */

#define PHILOX_INLINE static __host__ __device__ inline
#include "base/philox.h"

/* base/philox.c: random_key */
static __device__ inline uint64_t device_random_key(uint64_t seed, random_purpose purpose,
                                                    uint64_t item)
{
    uint32_t out[4];
    philox(seed, (uint32_t)item, (uint32_t)(item >> 32), (uint32_t)purpose, 0, out);
    return (uint64_t)out[1] << 32 | out[0];
}

#endif
