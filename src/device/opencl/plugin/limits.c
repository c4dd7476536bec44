/* Peak rates of the device, measured with about a second of probes. */
#include "base/clock.h"
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/kernels/shared.h"
#include <math.h>
#include <string.h>

enum {
    REPEATS = 5, /* the fastest counts */
    GROUPS_PER_UNIT = 16,
    EMPTY_KERNELS = 256
};
static const double LONG_ENOUGH = 5e-3; /* seconds; shorter probes are made larger */

typedef struct probe {
    opencl *d;
    opencl_command command;
    int times; /* number of launches in a row */
} probe;

/* Seconds of p->times runs, the minimum of REPEATS. */
static cornu_status seconds_of(const probe *p, double *seconds)
{
    opencl *d = p->d;
    *seconds = INFINITY;
    for (int r = 0; r <= REPEATS; r++) { /* the first is cold */
        double start = clock_seconds();
        for (int i = 0; i < p->times; i++)
            TRY(opencl_enqueue(d, d->queue, &p->command, 0, NULL));
        TRY(opencl_finish(d, d->queue));
        if (r > 0)
            *seconds = fmin(*seconds, clock_seconds() - start);
    }
    return CORNU_OK;
}

/* Record one launch, run it, and forget it: *seconds of `times` in a row. */
static cornu_status measure(opencl *d, opencl_function function, size_t groups,
                            const opencl_argument *arguments, int count, int times, double *seconds)
{
    opencl_recording r = {0};
    const opencl_grid grid = {.groups = {groups}, .items = {PROBE_ITEMS}};
    d->core->recording = &r;
    cornu_status status = opencl_launch(&d->g, function, grid, arguments, count);
    d->core->recording = NULL;
    TRY(status);
    const probe p = {d, r.commands[0], times};
    status = seconds_of(&p, seconds);
    opencl_recording_free(d, &r);
    return status;
}

static size_t whole_device(const opencl *d)
{
    return (size_t)d->compute_units * GROUPS_PER_UNIT;
}

static cornu_status measure_fma(opencl *d, double *rate)
{
    double seconds = 0;
    int64_t rounds = 1;
    for (; rounds < INT32_MAX; rounds *= 4) {
        const opencl_argument arguments[] = {A_ADDRESS(d->core->results.at), A_LONG(rounds),
                                             A_FLOAT(0.5f), A_FLOAT(1), A_FLOAT(NAN)};
        TRY(measure(d, OPENCL_probe_fma, whole_device(d), arguments, 5, 1, &seconds));
        if (seconds >= LONG_ENOUGH)
            break;
    }
    double flops = PROBE_FLOPS(d->blocking.item_n) * (double)rounds;
    *rate = flops * (double)whole_device(d) * PROBE_ITEMS / seconds;
    return CORNU_OK;
}

/* Bytes/s, read and written, in place over `bytes`: four floats a work-item, as CPUs run one
   work-item after the other, and are slow where each walks over all of the memory. */
static cornu_status measure_copy(opencl *d, gpu_address at, double bytes, double *rate)
{
    double seconds = 0;
    int64_t packs = (int64_t)(bytes / (4 * sizeof(float)));
    int times = 1;
    size_t groups = (size_t)(packs + PROBE_ITEMS - 1) / PROBE_ITEMS;
    const opencl_argument arguments[] = {A_ADDRESS(at), A_LONG(packs), A_FLOAT(1)};
    for (; times < 1 << 16; times *= 4) {
        TRY(measure(d, OPENCL_probe_copy, groups, arguments, 3, times, &seconds));
        if (seconds >= LONG_ENOUGH)
            break;
    }
    *rate = 2.0 * (double)packs * 4 * sizeof(float) * times / seconds;
    return CORNU_OK;
}

static cornu_status measure_memory(opencl *d, device_limits *out)
{
    gpu *g = &d->g;
    cl_ulong cache = 0;
    double left, largest;
    gpu_memory memory;
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof cache, &cache, NULL)));
    TRY(opencl_memory_info(g, &left, &largest));
    double large = fmin(fmax(8.0 * (double)cache, 64e6), fmin(left / 2, largest));
    TRY(gpu_memory_make_room(g, large));
    TRY(gpu_memory_new(g, (size_t)large, "memory to measure", &memory));
    cornu_status status = opencl_clear(g, memory.at, memory.bytes / 4 * 4);
    if (status == CORNU_OK)
        status = measure_copy(d, memory.at, large, &out->update);
    out->read = out->update;
    out->cache_bytes = (double)cache;
    if (status == CORNU_OK && cache > 0 && (double)cache / 2 < large)
        status = measure_copy(d, memory.at, (double)cache / 2, &out->cache_update);
    gpu_memory_free(g, &memory);
    return status;
}

cornu_status opencl_limits(gpu *g, device_limits *out)
{
    opencl *d = opencl_of(g);
    const opencl_argument unused[] = {A_INT(0)};
    *out = (device_limits){0};
    TRY(gpu_drain(g));
    TRY(measure_fma(d, &out->fma));
    TRY(measure_memory(d, out));
    TRY(measure(d, OPENCL_probe_empty, 1, unused, 1, EMPTY_KERNELS, &out->launch_seconds));
    out->launch_seconds /= EMPTY_KERNELS;
    return CORNU_OK;
}
