/* One GPU: opened and closed, its sensors, and the driver's calls as gpu_driver has them: memory,
   copies, marks on the stream. What is called from outside has the device's context current and
   leaves the caller's thread as it was. */
#include "device/cuda/plugin/core.h"
#include "device/cuda/plugin/ops/ops.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the primary contexts that this process keeps ---------------------------------------- */

enum { DEVICES_MOST = 64 };

typedef struct kept_context {
    CUcontext context; /* NULL: none is kept */
    int users;         /* open devices */
    bool lost;
} kept_context;

static kept_context contexts[DEVICES_MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Retain the device's primary context, which the process keeps from its first use to its end:
   creating it takes a fifth of a second, and other code of the process may use it, too. A lost
   context is released when its last user releases it, so that the next call gets a new one. */
static cornu_status context_take(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    cornu_status status = CORNU_OK;
    if (g->number >= DEVICES_MOST)
        return status_fail(CORNU_UNSUPPORTED, "device %s: found number %d; expected less than %d",
                           g->name, g->number, DEVICES_MOST);
    kept_context *kept = &contexts[g->number];
    pthread_mutex_lock(&lock);
    if (!kept->context) {
        status = CU(g, cuDevicePrimaryCtxRetain(&kept->context, c->id));
        if (status != CORNU_OK)
            kept->context = NULL;
    }
    if (status == CORNU_OK) {
        kept->users++;
        c->context = kept->context;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* Does nothing if there is no context. */
static void context_let_go(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    if (!c->context)
        return;
    kept_context *kept = &contexts[g->number];
    pthread_mutex_lock(&lock);
    kept->users--;
    kept->lost |= c->context_lost;
    if (kept->lost && kept->users == 0) {
        (void)CU(g, cuDevicePrimaryCtxRelease(c->id));
        *kept = (kept_context){0};
    }
    pthread_mutex_unlock(&lock);
    c->context = NULL;
}

/* ---- the calling thread ------------------------------------------------------------------- */

static cornu_status cuda_enter(gpu *g)
{
    const cuda_gpu *c = cuda_of(g);
    if (!c->context)
        return status_fail(CORNU_INTERNAL, "device %s: is not open", g->name);
    return CU(g, cuCtxPushCurrent(c->context));
}

static cornu_status cuda_leave(gpu *g, cornu_status status)
{
    CUcontext context;
    CUresult result = cuda_of(g)->lib->cuCtxPopCurrent(&context);
    return status != CORNU_OK ? status : cuda_check_on(g, result, "cuCtxPopCurrent");
}

/* ---- opening and closing ----------------------------------------------------------------- */

static cornu_status read_attributes(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    int major, minor;
    CUdevice id = c->id;
    TRY(CU(g, cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, id)));
    TRY(CU(g, cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, id)));
    TRY(CU(g, cuDeviceGetAttribute(&c->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                   id)));
    TRY(CU(g, cuDeviceGetAttribute(&c->threads_per_block_most,
                                   CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, id)));
    c->capability = 10 * major + minor;
    if (g->precision != PRECISION_FP32 && c->capability < CUDA_MATRIX_UNITS)
        return status_fail(
            CORNU_UNSUPPORTED,
            "device %s: found precision %s; its compute capability %d.%d computes in "
            "fp32 (tf32 and bf16 need 8.0)",
            g->name, g->precision == PRECISION_TF32 ? "tf32" : "bf16", major, minor);
    cornu_status status = cuda_code_check(c->capability);
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "device %s", g->name);
}

static void find_sensors(cuda_gpu *c)
{
    char bus_id[32];
    if (c->lib->has_nvml &&
        c->lib->cuDeviceGetPCIBusId(bus_id, sizeof bus_id, c->id) == CUDA_SUCCESS &&
        c->lib->nvmlDeviceGetHandleByPciBusId_v2(bus_id, &c->nvml) != 0)
        c->nvml = NULL;
}

static cornu_status open_queues(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    TRY(CU(g, cuStreamCreate(&c->copies, CU_STREAM_NON_BLOCKING)));
    TRY(CU(g, cuEventCreate(&c->copied, CU_EVENT_DISABLE_TIMING)));
    for (int i = 0; i < GPU_QUEUE; i++)
        TRY(CU(g, cuEventCreate(&c->marks[i], CU_EVENT_DISABLE_TIMING)));
    for (int i = 0; i < 2; i++)
        TRY(CU(g, cuEventCreate(&c->timer[i], CU_EVENT_DEFAULT)));
    return cuda_steps_open(g);
}

/* Call with the context current. */
static cornu_status open_resources(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    TRY(CU(g, cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING)));
    TRY(cuda_load_kernels(g));
    TRY(BLASLT(g, cublasLtCreate(&c->blas)));
    find_sensors(c);
    return open_queues(g);
}

static void destroy_event(gpu *g, CUevent event)
{
    if (event)
        (void)CU(g, cuEventDestroy(event));
}

static void close_resources(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    cuda_steps_close(g);
    for (int i = 0; i < 2; i++)
        destroy_event(g, c->timer[i]);
    for (int i = 0; i < GPU_QUEUE; i++)
        destroy_event(g, c->marks[i]);
    destroy_event(g, c->copied);
    if (c->copies)
        (void)CU(g, cuStreamDestroy(c->copies));
    cuda_dnn_close(g);
    if (c->blas)
        (void)BLASLT(g, cublasLtDestroy(c->blas));
    if (c->module)
        (void)CU(g, cuModuleUnload(c->module));
    if (c->stream)
        (void)CU(g, cuStreamDestroy(c->stream));
}

/* Failures while closing are ignored. */
static void cuda_close(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    if (c->context) {
        bool entered = cuda_enter(g) == CORNU_OK;
        close_resources(g);
        if (entered)
            (void)cuda_leave(g, CORNU_OK);
        context_let_go(g);
    }
    free(c);
}

/* Memory for the kernels that cuBLASLt, cuDNN and the driver load at their first use. */
enum { RESERVE = 256 << 20, RESERVE_SHARE = 16 };

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

/* ---- sensors, read through NVML ---------------------------------------------------------- */

enum { SUCCESS = 0 };

static cornu_status sensors(gpu *g, device_sensors *out)
{
    const cuda_libraries *lib = cuda_of(g)->lib;
    nvmlDevice_t sensor = cuda_of(g)->nvml;
    unsigned value;
    unsigned long long large;
    if (!sensor)
        return CORNU_OK;
    if (lib->nvmlDeviceGetPowerUsage(sensor, &value) == SUCCESS)
        out->watts = value * 1e-3;
    if (lib->nvmlDeviceGetTotalEnergyConsumption(sensor, &large) == SUCCESS)
        out->joules = (double)large * 1e-3;
    if (lib->nvmlDeviceGetClockInfo(sensor, NVML_CLOCK_SM, &value) == SUCCESS)
        out->clock_mhz = value;
    if (lib->nvmlDeviceGetClockInfo(sensor, NVML_CLOCK_MEM, &value) == SUCCESS)
        out->memory_clock_mhz = value;
    if (lib->nvmlDeviceGetTemperature(sensor, NVML_TEMPERATURE_GPU, &value) == SUCCESS)
        out->celsius = value;
    if (lib->nvmlDeviceGetCurrentClocksThrottleReasons(sensor, &large) == SUCCESS)
        out->throttled = NVML_THROTTLED(large);
    return CORNU_OK;
}

/* ---- tables ------------------------------------------------------------------------------ */

static const gpu_kernel_list cuda_kernels[OP_COUNT] = {
#define OP(id, name, ...) [OP_##id] = cuda_##name,
#include "step/ops.def"
};

static const gpu_driver cuda_driver = {
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
    .sensors = sensors,
};

static cornu_status open_context(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    TRY(CU(g, cuDeviceGet(&c->id, g->number)));
    TRY(read_attributes(g));
    /* The primary context: cuBLASLt and cuDNN know no other. */
    TRY(context_take(g));
    TRY(cuda_enter(g));
    return cuda_leave(g, open_resources(g));
}

cornu_status cuda_open(int number, const device_options *options, device **out)
{
    const cuda_libraries *lib;
    cuda_gpu *c;
    *out = NULL;
    TRY(cuda_libraries_get(&lib));
    TRY(memory_new(1, sizeof *c, "device", &c));
    c->lib = lib;
    cornu_status status = gpu_open_shared(&c->g, &cuda_driver, number, options);
    if (status == CORNU_OK)
        status = open_context(&c->g);
    if (status == CORNU_OK)
        *out = &c->g.device;
    else
        gpu_close_all(&c->g);
    return status;
}
