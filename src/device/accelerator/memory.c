/* Memory of the device, and pinned memory of the host; and the end of a device that is lost. */
#include "device/accelerator/core.h"
#include <stdio.h>

cornu_status gpu_memory_new(gpu *g, size_t bytes, const char *what, gpu_memory *m)
{
    *m = (gpu_memory){0};
    if (bytes == 0)
        return CORNU_OK;
    gpu_address at = 0;
    cornu_status status = g->driver->memory_new(g, bytes, &at);
    if (status != CORNU_OK)
        return status_prefix(status, "%s", what);
    *m = (gpu_memory){at, bytes};
    return CORNU_OK;
}

void gpu_memory_free(gpu *g, gpu_memory *m)
{
    if (m->at)
        g->driver->memory_free(g, m->at);
    *m = (gpu_memory){0};
}

cornu_status gpu_pinned_new(gpu *g, size_t bytes, const char *what, void *out)
{
    void *memory = NULL;
    cornu_status status = g->driver->pinned_new(g, bytes, &memory);
    *(void **)out = status == CORNU_OK ? memory : NULL;
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", what);
}

void gpu_pinned_free(gpu *g, void *memory)
{
    if (memory)
        g->driver->pinned_free(g, memory);
}

cornu_status gpu_upload(gpu *g, gpu_address to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return CORNU_OK;
    TRY(g->driver->copy_in(g, to, from, bytes, false));
    return g->driver->synchronize(g);
}

cornu_status gpu_download(gpu *g, void *to, gpu_address from, size_t bytes)
{
    return bytes ? g->driver->copy_out(g, to, from, bytes) : CORNU_OK;
}

cornu_status gpu_lose(const gpu *g, cornu_status status)
{
    gpu_state *s = g->state;
    if (s && !s->lost[0])
        snprintf(s->lost, sizeof s->lost, "%s", cornu_last_error());
    return status;
}
