/* The measured peaks of the host's cores: the cpu device's limits and probe. */
#ifndef DEVICE_CPU_LIMITS_H
#define DEVICE_CPU_LIMITS_H

#include "base/threads.h"
#include "device/device.h"

/* Takes about half a second. Fails only without memory for the bandwidth probes. */
cornu_status cpu_limits_measure(threads *pool, device_limits *out);
/* The bandwidths alone, over memory[count], which is written first; `count` is at least a few
   million, or else the caches are measured. */
void cpu_limits_bandwidth(threads *pool, float *memory, int64_t count, device_limits *out);
/* FLOP/s of one millisecond of FMA work on all threads. */
double cpu_limits_probe(threads *pool);

#endif
