#ifndef DEVICE_CUDA_STEP_CUH
#define DEVICE_CUDA_STEP_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/kernels.h"

/* Called by one thread, after all kernels that read *position as this step's (cuda_clock.back). */
static __device__ inline void count_step(int64_t *position, cuda_results *results, int64_t batch,
                                         bool has_loss)
{
    results->samples += batch;
    if (has_loss && !isfinite(results->last_loss))
        results->not_finite = 1;
    *position += 1;
}

extern "C" __global__ void cornu_end_step(end_step_params p)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        count_step(p.position, p.results, p.batch, p.has_loss != 0);
}

extern "C" __global__ void cornu_empty(empty_params p)
{
    (void)p;
}

extern "C" __global__ void __launch_bounds__(256) cornu_probe_fma(probe_fma_params p)
{
    float chain[PROBE_CHAINS], sum = 0;
    for (int k = 0; k < PROBE_CHAINS; k++)
        chain[k] = (float)(threadIdx.x + (unsigned)k);
    for (int64_t i = 0; i < p.rounds; i++)
        for (int j = 0; j < PROBE_UNROLL; j++)
            for (int k = 0; k < PROBE_CHAINS; k++)
                chain[k] = fmaf(chain[k], p.scale, p.offset);
    for (int k = 0; k < PROBE_CHAINS; k++)
        sum += chain[k];
    if (sum == p.never)
        *p.out = sum;
}

extern "C" __global__ void __launch_bounds__(256) cornu_probe_copy(probe_copy_params p)
{
    for (EACH(i, p.count / 4)) {
        float4 v = load4(p.x, i * 4);
        v.x *= p.scale;
        v.y *= p.scale;
        v.z *= p.scale;
        v.w *= p.scale;
        store4(p.x, i * 4, v);
    }
}

#endif
