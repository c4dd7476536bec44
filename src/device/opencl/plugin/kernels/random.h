/* Random numbers, the same as the host's. OpenCL C. */
#ifndef DEVICE_OPENCL_RANDOM_H
#define DEVICE_OPENCL_RANDOM_H

#include "base/philox.h"

/* base/philox.c: random_key */
static inline ulong device_random_key(ulong seed, random_purpose purpose, ulong item)
{
    uint out[4];
    philox(seed, (uint)item, (uint)(item >> 32), (uint)purpose, 0, out);
    return (ulong)out[1] << 32 | out[0];
}

#endif
