/* The same random numbers as on the host: base/philox.h, compiled for the device. */
#ifndef DEVICE_CUDA_RANDOM_CUH
#define DEVICE_CUDA_RANDOM_CUH

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
