/* What this machine can do at most, measured: the yardstick of every share_of_limit. */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include "base/threads.h"
#include "device/device.h"

typedef struct machine_limits {
    double fma;          /* FLOP/s of all threads in registers (a multiply-add is 2); with AMX of
                            multiplying floats by tiles */
    double read;         /* bytes/s, reading 256 MiB that were written before */
    double update;       /* bytes/s, read + written, in place over 256 MiB */
    double cache_update; /* the same over CACHE_PROBE_BYTES: what stays in the last-level cache */
    double cache_bytes;  /* size of the last-level cache */
    int threads;
    char isa[16]; /* "AVX-512", "AMX" */
} machine_limits;

/* About half a second. Fails only where there is no memory for the bandwidth probes. */
cornu_status limits_measure(threads *pool, machine_limits *out);
/* The bandwidths alone, over memory[count], which is written first; `count` is at least a few
   million, or caches are what is measured. */
void limits_measure_bandwidth(threads *pool, float *memory, int64_t count, machine_limits *out);
/* One millisecond of FMA work on all threads: FLOP/s; shows a throttled or shared machine. */
double limits_probe_fma(threads *pool);
/* Take over what was measured higher: a machine that was busy the first time. */
void limits_raise(machine_limits *l, const machine_limits *again);
/* An accelerator's limits at a precision (NULL: fp32). */
machine_limits limits_of_device(const device_limits *d, const char *precision);
/* Least seconds for this work: the larger of FLOPs over fma and bytes over the faster of the two
   bandwidths, so that the figure is a true lower limit. Work that touches no
   more than `working_set` bytes in all, and so may stay in the last-level cache, is held against
   the cache's bandwidth. */
double limits_seconds(const machine_limits *l, double flops, double bytes, double working_set);
/* Which of the two it is: "FMA" or "memory". */
const char *limits_bound(const machine_limits *l, double flops, double bytes, double working_set);

#endif
