/* How products and convolutions are divided among work-groups, by the kind of device. The sums'
   order follows from it, so that it depends on nothing that may differ from run to run. */
#include "device/opencl/plugin/core.h"
#include <string.h>

typedef struct tuning_row {
    bool cpu;
    const char *vendor; /* a piece of CL_DEVICE_VENDOR; NULL: any */
    opencl_blocking blocking;
} tuning_row;

/* GPUs of NVIDIA, AMD and Intel: 128 work-items of 8 x 4 sums, which is about 100 registers, and 9
   to 15 KB of local memory, so that four or more work-groups are on a compute unit at once; ARM's
   have 64 registers. CPUs: one work-item after the other has vectors of 16, and tiles stay in the
   first-level cache. The first row that fits the device is taken. */
static const tuning_row rows[] = {
    {true, NULL, {32, 64, 64, 8, 16, 16}},  {true, NULL, {32, 64, 32, 8, 16, 16}},
    {false, "ARM", {32, 32, 16, 4, 4, 64}}, {false, NULL, {64, 64, 16, 8, 4, 256}},
    {false, NULL, {32, 32, 16, 4, 4, 128}}, {false, NULL, {16, 16, 16, 4, 4, 128}},
    {true, NULL, {16, 16, 16, 4, 4, 16}},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Floats of local memory of the largest shape: kernels/gemm_body.h. */
static size_t local_floats(const opencl_blocking *b)
{
    size_t m = (size_t)b->gemm_m, n = (size_t)b->gemm_n, k = (size_t)b->gemm_k;
    size_t pad = (size_t)b->item_n, most = 0;
    for (int kind = 0; kind < 3; kind++) {
        size_t tile_m = kind == 0 ? m : kind == 1 ? m / 2 : m * 2;
        size_t tile_n = kind == 0 ? n : kind == 1 ? n * 2 : n / 2;
        size_t by_rows = tile_m * (k + pad), by_depth = k * (tile_m + pad);
        size_t all = (by_rows > by_depth ? by_rows : by_depth) + k * (tile_n + pad) + 4 * tile_m;
        most = all > most ? all : most;
    }
    return most;
}

static bool fits(const opencl *d, const opencl_blocking *b)
{
    size_t items = (size_t)(b->gemm_m / b->item_m) * (size_t)(b->gemm_n / b->item_n);
    return items <= d->group_most && local_floats(b) * sizeof(float) <= d->local_bytes;
}

cornu_status opencl_blocking_for(const opencl *d, opencl_blocking *out)
{
    char vendor[256] = "";
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_VENDOR, sizeof vendor, vendor, NULL)));
    for (int i = 0; i < ROWS; i++) {
        const tuning_row *r = &rows[i];
        if (r->cpu != d->is_cpu || (r->vendor && !strstr(vendor, r->vendor)) ||
            !fits(d, &r->blocking))
            continue;
        *out = r->blocking;
        return CORNU_OK;
    }
    return status_fail(CORNU_UNSUPPORTED,
                       "found work-groups of at most %zu with %zu bytes of local memory; expected "
                       "%d and %zu",
                       d->group_most, d->local_bytes, 16,
                       local_floats(&rows[ROWS - 1].blocking) * sizeof(float));
}

bool opencl_blocking_simpler(const opencl *d, opencl_blocking *b)
{
    const opencl_blocking *next = NULL;
    for (int i = 0; i < ROWS; i++) {
        const opencl_blocking *row = &rows[i].blocking;
        if (rows[i].cpu == d->is_cpu && fits(d, row) && local_floats(row) < local_floats(b) &&
            (!next || local_floats(row) > local_floats(next)))
            next = row;
    }
    if (next)
        *b = *next;
    return next != NULL;
}
