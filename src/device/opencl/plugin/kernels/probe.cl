/* Probes of a device's peak rates and of the cost of a launch. */
#include "device/opencl/plugin/kernels/common.h"
#include "device/opencl/plugin/kernels/shared.h"

KERNEL(probe_empty, PROBE_ITEMS)(const int unused)
{
    (void)unused;
}

#if ITEM_N > 8 /* PROBE_LANES */
typedef float16 floats;
static inline float sum_of(float16 a)
{
    float8 half_ = a.lo + a.hi;
    float4 quarter = half_.lo + half_.hi;
    return quarter.x + quarter.y + quarter.z + quarter.w;
}
#else
typedef float4 floats;
static inline float sum_of(float4 a)
{
    return a.x + a.y + a.z + a.w;
}
#endif

/* Multiply-adds in registers: PROBE_FLOPS rounds FLOPs a work-item. out [1] is written only if the
   sum is `never`. */
KERNEL(probe_fma, PROBE_ITEMS)(OUT(float, out), const long rounds, const float scale,
                               const float offset, const float never)
{
    floats chain[PROBE_CHAINS], sum = 0;
    AT(out);
    for (int k = 0; k < PROBE_CHAINS; k++)
        chain[k] = (floats)(get_local_id(0) + k);
    for (long i = 0; i < rounds; i++)
#pragma unroll
        for (int j = 0; j < PROBE_UNROLL; j++)
#pragma unroll
            for (int k = 0; k < PROBE_CHAINS; k++)
                chain[k] = mad(chain[k], (floats)scale, (floats)offset);
    for (int k = 0; k < PROBE_CHAINS; k++)
        sum += chain[k];
    if (sum_of(sum) == never)
        *out = never;
}

/* x[i] = x[i] scale in place: 8 bytes moved an element; packs: elements / 4. */
KERNEL(probe_copy, PROBE_ITEMS)(OUT(float4, x), const long packs, const float scale)
{
    AT(x);
    for (EACH(i, packs))
        x[i] *= scale;
}
