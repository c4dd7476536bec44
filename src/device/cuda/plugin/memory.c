/* Memory of the device, and pinned memory of the host. */
#include "device/cuda/plugin/core.h"
#include <math.h>

/* What cuBLASLt, cuDNN and the driver take when they load kernels at their first use. */
enum { RESERVE = 256 << 20, RESERVE_SHARE = 16 };

cornu_status gpu_memory_new(gpu *g, size_t bytes, const char *what, gpu_memory *m)
{
    *m = (gpu_memory){0};
    if (bytes == 0)
        return CORNU_OK;
    CUdeviceptr at = 0;
    cornu_status status = CU(g, cuMemAlloc(&at, bytes));
    if (status != CORNU_OK)
        return status_prefix(status, "%s", what);
    *m = (gpu_memory){at, bytes};
    return CORNU_OK;
}

void gpu_memory_free(gpu *g, gpu_memory *m)
{
    if (m->at)
        (void)CU(g, cuMemFree(m->at)); /* on a lost device it fails, and is gone all the same */
    *m = (gpu_memory){0};
}

cornu_status gpu_pinned_new(gpu *g, size_t bytes, const char *what, void *out)
{
    void *memory = NULL;
    cornu_status status = CU(g, cuMemHostAlloc(&memory, bytes, 0));
    *(void **)out = status == CORNU_OK ? memory : NULL;
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", what);
}

void gpu_pinned_free(gpu *g, void *memory)
{
    if (memory)
        (void)CU(g, cuMemFreeHost(memory));
}

cornu_status gpu_memory_left(gpu *g, double *bytes)
{
    size_t left = 0, all = 0;
    *bytes = 0;
    TRY(CU(g, cuMemGetInfo(&left, &all)));
    double reserve = fmin((double)RESERVE, (double)all / RESERVE_SHARE);
    *bytes = fmax(0, (double)left + gpu_samples_bytes(g) - reserve);
    return CORNU_OK;
}

cornu_status gpu_memory_make_room(gpu *g, double bytes)
{
    double left;
    TRY(gpu_memory_left(g, &left));
    left -= gpu_samples_bytes(g);
    return left >= bytes ? CORNU_OK : gpu_samples_evict(g, bytes - left);
}

cornu_status gpu_upload(gpu *g, CUdeviceptr to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return CORNU_OK;
    TRY(CU(g, cuMemcpyHtoDAsync(to, from, bytes, g->stream)));
    return CU(g, cuStreamSynchronize(g->stream));
}

cornu_status gpu_download(gpu *g, void *to, CUdeviceptr from, size_t bytes)
{
    if (bytes == 0)
        return CORNU_OK;
    TRY(CU(g, cuMemcpyDtoHAsync(to, from, bytes, g->stream)));
    return CU(g, cuStreamSynchronize(g->stream));
}
