/* Walking over strips of columns, see sums.h. */
#ifndef DEVICE_CUDA_STRIPS_CUH
#define DEVICE_CUDA_STRIPS_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/sums.h"

/* This thread's column, which may lie past the last, and its rows: begin, begin + step ... < end */
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

#endif
