/* cuDNN on one device: asked for by the first convolution, never before. */
#include "base/env.h"
#include "device/cuda/plugin/core.h"
#include <stdio.h>

/* cuDNN 9.11 has no kernels for GPUs before Turing any more. */
enum { DROPPING_VERSION = 91100, DROPPED_BELOW = 75 };

cornu_status cuda_dnn_find(int capability, const cudnn_library **out)
{
    TRY(cudnn_library_get(out));
    if ((*out)->version < DROPPING_VERSION || capability >= DROPPED_BELOW)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "%s has no kernels for compute capability %d.%d; cuDNN 9.10 has",
                       (*out)->name, capability / 10, capability % 10);
}

static cornu_status open_handle(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    TRY(cuda_dnn_find(c->capability, &c->dnn.lib));
    cornu_status status = CUDNN(g, cudnnCreate(&c->dnn.handle));
    if (status != CORNU_OK)
        c->dnn.handle = NULL;
    else
        status = CUDNN(g, cudnnSetStream(c->dnn.handle, c->stream));
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", c->dnn.lib->name);
}

/* A lack of memory is not remembered, as it may be temporary: the device must not choose other
   kernels because of it, as these give other bits. */
cornu_status cuda_dnn_open(gpu *g)
{
    cuda_dnn *dnn = &cuda_of(g)->dnn;
    if (dnn->handle)
        return CORNU_OK;
    if (!dnn->why[0]) {
        cornu_status status = open_handle(g);
        if (status == CORNU_OK)
            return CORNU_OK;
        cuda_dnn_close(g);
        if (status == CORNU_OUT_OF_MEMORY || g->state->lost[0])
            return status;
        snprintf(dnn->why, sizeof dnn->why, "%s", cornu_last_error());
        log_line("device %s: convolutions go by own kernels: %s", g->name, dnn->why);
    }
    return status_fail(CORNU_UNSUPPORTED, "%s", dnn->why);
}

void cuda_dnn_close(gpu *g)
{
    cuda_dnn *dnn = &cuda_of(g)->dnn;
    if (dnn->handle)
        GIVE_UP_CUDNN(g, cudnnDestroy(dnn->handle));
    dnn->handle = NULL;
}
