/* The CUDA driver's calls as gpu_driver has them: memory, copies, marks on the stream. What is
   called from outside has the device's context current and leaves the caller's thread as it was. */
#include "device/cuda/plugin/core.h"
#include <math.h>

/* Memory for the kernels that cuBLASLt, cuDNN and the driver load at their first use. */
enum { RESERVE = 256 << 20, RESERVE_SHARE = 16 };

/* ---- the calling thread ------------------------------------------------------------------- */

cornu_status cuda_enter(gpu *g)
{
    const cuda_gpu *c = cuda_of(g);
    if (!c->context)
        return status_fail(CORNU_INTERNAL, "device %s: is not open", g->name);
    return CU(g, cuCtxPushCurrent(c->context));
}

cornu_status cuda_leave(gpu *g, cornu_status status)
{
    CUcontext context;
    CUresult result = cuda_of(g)->lib->cuCtxPopCurrent(&context);
    return status != CORNU_OK ? status : cuda_check_on(g, result, "cuCtxPopCurrent");
}

/* ---- memory ------------------------------------------------------------------------------ */

static cornu_status memory_new_on(gpu *g, size_t bytes, gpu_address *out)
{
    CUdeviceptr at = 0;
    cornu_status status = CU(g, cuMemAlloc(&at, bytes));
    *out = status == CORNU_OK ? at : 0;
    return status;
}

static void memory_free(gpu *g, gpu_address at)
{
    (void)CU(g, cuMemFree(at)); /* on a lost device it fails, and is gone all the same */
}

static cornu_status memory_info(gpu *g, double *left, double *largest)
{
    size_t free_bytes = 0, all = 0;
    TRY(CU(g, cuMemGetInfo(&free_bytes, &all)));
    *left = (double)free_bytes - fmin((double)RESERVE, (double)all / RESERVE_SHARE);
    *largest = INFINITY;
    return CORNU_OK;
}

static cornu_status pinned_new(gpu *g, size_t bytes, void **out)
{
    *out = NULL;
    cornu_status status = CU(g, cuMemHostAlloc(out, bytes, 0));
    if (status != CORNU_OK)
        *out = NULL;
    return status;
}

static void pinned_free(gpu *g, void *memory)
{
    (void)CU(g, cuMemFreeHost(memory));
}

/* ---- copies ------------------------------------------------------------------------------ */

static cornu_status copy_in(gpu *g, gpu_address to, const void *from, size_t bytes, bool beside)
{
    cuda_gpu *c = cuda_of(g);
    return CU(g, cuMemcpyHtoDAsync(to, from, bytes, beside ? c->copies : c->stream));
}

static cornu_status join(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    TRY(CU(g, cuEventRecord(c->copied, c->copies)));
    return CU(g, cuStreamWaitEvent(c->stream, c->copied, 0));
}

static cornu_status synchronize(gpu *g)
{
    return CU(g, cuStreamSynchronize(cuda_of(g)->stream));
}

static cornu_status copy_out(gpu *g, void *to, gpu_address from, size_t bytes)
{
    TRY(CU(g, cuMemcpyDtoHAsync(to, from, bytes, cuda_of(g)->stream)));
    return synchronize(g);
}

static cornu_status clear(gpu *g, gpu_address at, size_t bytes)
{
    return CU(g, cuMemsetD8Async(at, 0, bytes, cuda_of(g)->stream));
}

/* ---- marks ------------------------------------------------------------------------------- */

static cornu_status mark(gpu *g, int number)
{
    cuda_gpu *c = cuda_of(g);
    return CU(g, cuEventRecord(c->marks[number], c->stream));
}

static cornu_status wait_for(gpu *g, int number)
{
    return CU(g, cuEventSynchronize(cuda_of(g)->marks[number]));
}

static cornu_status reached(gpu *g, int number, bool *yes)
{
    cuda_gpu *c = cuda_of(g);
    CUresult result = c->lib->cuEventQuery(c->marks[number]);
    *yes = result == CUDA_SUCCESS;
    return result == CUDA_ERROR_NOT_READY ? CORNU_OK : cuda_check_on(g, result, "cuEventQuery");
}

const gpu_driver cuda_driver = {
    .name = "cuda",
    .kernels = cuda_kernels,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .close = cuda_close,
    .memory_new = memory_new_on,
    .memory_free = memory_free,
    .memory_info = memory_info,
    .pinned_new = pinned_new,
    .pinned_free = pinned_free,
    .copy_in = copy_in,
    .join = join,
    .copy_out = copy_out,
    .clear = clear,
    .synchronize = synchronize,
    .mark = mark,
    .wait = wait_for,
    .reached = reached,
    .resolve = cuda_resolve,
    .forget = cuda_forget,
    .launch_steps = cuda_launch_steps,
    .count_launches = cuda_count_launches,
    .time_step = cuda_time_step,
    .launch_gap = cuda_launch_gap,
    .results = cuda_get_results,
    .absorbs = cuda_updates_absorb,
    .conv_kernels_by_output = true,
    .limits = cuda_limits,
    .timer = cuda_timer,
    .sensors = cuda_sensors,
};
