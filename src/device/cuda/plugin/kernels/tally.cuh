/* TALLY: tally.h. */
#ifndef DEVICE_CUDA_TALLY_CUH
#define DEVICE_CUDA_TALLY_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/tally.h"
#include "model/kinds.h"

#define TALLY_FLOATS const float *
typedef float tally_number;
typedef int64_t tally_index;
#include "device/rules/tallies.h"

static __device__ int64_t tally_rule_of(int kind, const tally_view *t, int64_t i, float *v)
{
    switch (kind) {
#define TALLY(id, rule, ...) \
    case TALLY_##id:         \
        return tally_##rule(t, i, v);
#include "model/tallies.def"
    }
    return -1;
}

/* The bucket of item number `at`, -1: of none, and what it adds there to each plane. */
static __device__ int tally_item(const tally_params &p, int64_t at, float *v)
{
    int64_t i;
    const int64_t row = divide(at, p.per_row, &i);
    tally_view t;
    t.output = p.output + row * p.n;
    t.target = p.target + row * p.targets;
    t.limits = p.limits;
    t.n = p.n;
    t.limit_count = p.limit_count;
    t.k = p.k;
    t.column = p.column;
    t.by_column = p.by_column;
    for (int k = 0; k < 3; k++)
        t.reals[k] = p.reals[k];
    t.largest = p.kind == TALLY_LABELS ? tally_largest(&t) : 0;
    const float weight = p.weight ? p.weight[row / p.rows_per_sample] : 1;
    const int64_t bucket = tally_rule_of(p.kind, &t, i, v);
    for (int k = 0; k < p.planes; k++)
        v[k] *= p.whole_weights ? truncf(weight) : weight;
    return (int)bucket;
}

extern "C" __global__ void __launch_bounds__(TALLY_THREADS) cornu_tally(tally_params p)
{
    __shared__ int buckets[TALLY_THREADS];
    __shared__ float values[TALLY_PLANES_MOST][TALLY_THREADS];
    const int64_t slice = blockIdx.x % p.slices;
    const int64_t own = blockIdx.x / p.slices * TALLY_THREADS + threadIdx.x;
    const int64_t end = least((slice + 1) * p.slice, p.count);
    sum2 sums[TALLY_PLANES_MOST];
    for (int k = 0; k < TALLY_PLANES_MOST; k++)
        sums[k] = sum2_of(0);
    for (int64_t first = slice * p.slice; first < end; first += TALLY_THREADS) {
        float v[TALLY_PLANES_MOST] = {0, 0, 0, 0};
        const int64_t at = first + threadIdx.x;
        __syncthreads(); /* they may still be read from the round before */
        buckets[threadIdx.x] = at < end ? tally_item(p, at, v) : -1;
        for (int k = 0; k < p.planes; k++)
            values[k][threadIdx.x] = v[k];
        __syncthreads();
        for (int i = 0; i < TALLY_THREADS; i++)
            for (int k = 0; buckets[i] == own && k < p.planes; k++)
                sums[k] = sum2_add(sums[k], sum2_of(values[k][i]));
    }
    for (int k = 0; own < p.buckets && k < p.planes; k++) {
        const int64_t at = k * p.buckets + own;
        if (p.partials)
            p.partials[slice * p.planes * p.buckets + at] = sums[k];
        else
            p.table[at] = sum2_add(p.table[at], sums[k]);
    }
}

extern "C" __global__ void __launch_bounds__(TALLY_THREADS) cornu_tally_reduce(tally_reduce_params p)
{
    for (EACH(i, p.numbers)) {
        sum2 sum = p.table[i];
        for (int64_t slice = 0; slice < p.slices; slice++)
            sum = sum2_add(sum, p.partials[slice * p.numbers + i]);
        p.table[i] = sum;
    }
}

#endif
