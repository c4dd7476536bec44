/* One GPU: opened, its table of functions, launches. Every function of the table works with the
   device's context current and leaves the caller's thread as it was. */
#include "device/cuda/plugin/core.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const function_names[GPU_FUNCTION_COUNT] = {
#define KERNEL(name, barrier) "cornu_" #name,
#include "device/cuda/plugin/kernels/kernels.def"
#undef KERNEL
};

/* kernels.cu compiled: code for several models of GPU (fatbin.c). */
extern const unsigned char gpu_fatbin[];

static gpu *gpu_of(const device *d)
{
    return (gpu *)(void *)d;
}

/* ---- errors ------------------------------------------------------------------------------ */

cornu_status gpu_lose(const gpu *g, cornu_status status)
{
    gpu_state *s = g->state;
    if (s && !s->lost[0])
        snprintf(s->lost, sizeof s->lost, "%s", cornu_last_error());
    return status;
}

cornu_status gpu_check(const gpu *g, CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return CORNU_OK;
    cornu_status status = cuda_check(g->lib, g->number, result, call);
    return cuda_is_lost(result) ? gpu_lose(g, status) : status;
}

/* ---- the calling thread ------------------------------------------------------------------- */

static cornu_status enter(gpu *g)
{
    if (g->state->lost[0])
        return status_fail(CORNU_DEVICE, "%s", g->state->lost);
    return CU(g, cuCtxPushCurrent(g->context));
}

static cornu_status leave(gpu *g, cornu_status status)
{
    CUcontext context;
    CUresult result = g->lib->cuCtxPopCurrent(&context);
    return status != CORNU_OK ? status : gpu_check(g, result, "cuCtxPopCurrent");
}

/* ---- opening ----------------------------------------------------------------------------- */

static cornu_status read_attributes(gpu *g)
{
    int major, minor;
    CUdevice id = g->id;
    TRY(CU(g, cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, id)));
    TRY(CU(g, cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, id)));
    TRY(CU(g, cuDeviceGetAttribute(&g->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                   id)));
    TRY(CU(g, cuDeviceGetAttribute(&g->threads_per_block_most,
                                   CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, id)));
    g->capability = 10 * major + minor;
    if (g->precision == PRECISION_FP32 || g->capability >= GPU_MATRIX_UNITS)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "device %s: found precision %s; its compute capability %d.%d computes in "
                       "fp32 (tf32 and bf16 need 8.0)",
                       g->name, g->precision == PRECISION_TF32 ? "tf32" : "bf16", major, minor);
}

static cornu_status load_kernels(gpu *g)
{
    CUresult result = g->lib->cuModuleLoadData(&g->module, gpu_fatbin);
    if (result != CUDA_SUCCESS) {
        g->module = NULL;
        cornu_status status = gpu_check(g, result, "cuModuleLoadData");
        return status_prefix(status, "kernels for compute capability %d.%d", g->capability / 10,
                             g->capability % 10);
    }
    for (int i = 0; i < GPU_FUNCTION_COUNT; i++) {
        cornu_status status =
            CU(g, cuModuleGetFunction(&g->functions[i], g->module, function_names[i]));
        if (status != CORNU_OK)
            return status_prefix(status, "%s", function_names[i]);
    }
    return CORNU_OK;
}

static void find_sensors(gpu *g)
{
    char bus_id[32];
    if (g->lib->has_nvml &&
        g->lib->cuDeviceGetPCIBusId(bus_id, sizeof bus_id, g->id) == CUDA_SUCCESS &&
        g->lib->nvmlDeviceGetHandleByPciBusId_v2(bus_id, &g->state->nvml) != 0)
        g->state->nvml = NULL;
}

/* With the context current. */
static cornu_status open_resources(gpu *g)
{
    TRY(CU(g, cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING)));
    TRY(load_kernels(g));
    TRY(BLASLT(g, cublasLtCreate(&g->blas)));
    TRY(CUDNN(g, cudnnCreate(&g->dnn)));
    TRY(CUDNN(g, cudnnSetStream(g->dnn, g->stream)));
    for (int i = 0; i < 2; i++)
        TRY(CU(g, cuEventCreate(&g->state->clock[i], CU_EVENT_DEFAULT)));
    find_sensors(g);
    return gpu_queue_open(g);
}

static void close_resources(gpu *g)
{
    gpu_state *s = g->state;
    if (!s->lost[0])
        (void)gpu_drain(g);
    gpu_samples_free(g);
    gpu_queue_close(g);
    gpu_variables_free(g);
    gpu_memory_free(g, &s->arena);
    gpu_memory_free(g, &s->scratch);
    for (int i = 0; i < 2; i++)
        if (s->clock[i])
            (void)CU(g, cuEventDestroy(s->clock[i]));
    if (g->dnn)
        (void)CUDNN(g, cudnnDestroy(g->dnn));
    if (g->blas)
        (void)BLASLT(g, cublasLtDestroy(g->blas));
    if (g->module)
        (void)CU(g, cuModuleUnload(g->module));
    if (g->stream)
        (void)CU(g, cuStreamDestroy(g->stream));
}

/* What fails here cannot be helped: the context goes, and all that is in it. */
static void gpu_close(device *d)
{
    gpu *g = gpu_of(d);
    if (!g)
        return;
    if (g->context) {
        bool entered = g->lib->cuCtxPushCurrent(g->context) == CUDA_SUCCESS;
        close_resources(g);
        if (entered)
            (void)leave(g, CORNU_OK);
        (void)CU(g, cuDevicePrimaryCtxRelease(g->id));
    }
    free(g->state);
    free(g);
}

static cornu_status open_context(gpu *g)
{
    TRY(CU(g, cuDeviceGet(&g->id, g->number)));
    TRY(read_attributes(g));
    /* The primary context: cuBLASLt and cuDNN know no other. */
    TRY(CU(g, cuDevicePrimaryCtxRetain(&g->context, g->id)));
    TRY(enter(g));
    return leave(g, open_resources(g));
}

extern const device_ops gpu_ops;

cornu_status gpu_open(int number, const device_options *options, device **out)
{
    gpu *g = NULL;
    cornu_status status;
    *out = NULL;
    TRY_GOTO(memory_new(1, sizeof *g, "device", &g));
    TRY_GOTO(memory_new(1, sizeof *g->state, "device", &g->state));
    TRY_GOTO(cuda_libraries_get(&g->lib));
    g->device.ops = &gpu_ops;
    g->number = number;
    g->precision = options ? options->precision : PRECISION_FP32;
    g->state->forced = options ? options->kernel : NULL;
    snprintf(g->name, sizeof g->name, "cuda:%d", number);
    TRY_GOTO(open_context(g));
    *out = &g->device;
done:
    if (status != CORNU_OK && g) {
        char why[1024];
        snprintf(why, sizeof why, "%s", cornu_last_error());
        gpu_close(&g->device);
        status_fail(status, "%s", why);
    }
    return status;
}

/* ---- launches ---------------------------------------------------------------------------- */

cornu_status gpu_launch(gpu *g, gpu_function function, gpu_grid grid, const void *params)
{
    void *arguments[] = {(void *)(uintptr_t)params};
    g->launches++;
    CUresult result = g->lib->cuLaunchKernel(g->functions[function], grid.x ? grid.x : 1,
                                             grid.y ? grid.y : 1, grid.z ? grid.z : 1, grid.threads,
                                             1, 1, grid.shared_bytes, g->stream, arguments, NULL);
    if (result == CUDA_SUCCESS)
        return CORNU_OK;
    cornu_status status = gpu_check(g, result, "cuLaunchKernel");
    return status_prefix(status, "%s", function_names[function]);
}

void gpu_count_launch(gpu *g)
{
    g->launches++;
}

/* ---- the table --------------------------------------------------------------------------- */

/* return what `call` does with the device's context current */
#define WITHIN(d, call) \
    gpu *g = gpu_of(d); \
    TRY(enter(g));      \
    return leave(g, gpu_##call)

static cornu_status bind_model(device *d, const cornu_model *model)
{
    WITHIN(d, bind(g, model));
}

static cornu_status prepare(device *d, const plan *p, prepared **out)
{
    *out = NULL;
    WITHIN(d, prepare(g, p, out));
}

/* Also on a lost device: the host's memory is freed in any case. */
static void release(device *d, prepared *p)
{
    gpu *g = gpu_of(d);
    bool entered = g->lib->cuCtxPushCurrent(g->context) == CUDA_SUCCESS;
    gpu_release(g, p);
    if (entered)
        (void)leave(g, CORNU_OK);
}

static cornu_status upload(device *d, const sample_block *samples)
{
    WITHIN(d, upload_samples(g, samples));
}

static cornu_status run(device *d, prepared *p, const step_input *inputs, int steps)
{
    WITHIN(d, run(g, p, inputs, steps));
}

static cornu_status results(device *d, step_results *out, bool reset)
{
    WITHIN(d, get_results(g, out, reset));
}

static cornu_status synchronize(device *d)
{
    WITHIN(d, drain(g));
}

static cornu_status read_tensor(device *d, prepared *p, tensor_ref t, float *values, int64_t count)
{
    WITHIN(d, read(g, p, t, values, count));
}

static cornu_status write_tensor(device *d, prepared *p, tensor_ref t, const float *values,
                                 int64_t count)
{
    WITHIN(d, write(g, p, t, values, count));
}

static cornu_status read_variable(device *d, int number, float *values, int64_t count)
{
    WITHIN(d, read_variable(g, number, values, count));
}

static cornu_status write_variable(device *d, int number, const float *values, int64_t count)
{
    WITHIN(d, write_variable(g, number, values, count));
}

/* They count launches at the first call: what they know of a plan grows. */
static cornu_status choices(device *d, const prepared *p, kernel_choice *out)
{
    WITHIN(d, choices(g, (prepared *)(uintptr_t)p, out));
}

static cornu_status time_operations(device *d, prepared *p, const step_input *input,
                                    double *seconds)
{
    WITHIN(d, time_operations(g, p, input, seconds));
}

static cornu_status left(gpu *g, double *bytes)
{
    TRY(enter(g));
    return leave(g, gpu_memory_left(g, bytes));
}

static int64_t memory_free(const device *d)
{
    double bytes = 0;
    return left(gpu_of(d), &bytes) == CORNU_OK ? (int64_t)bytes : 0;
}

static cornu_status limits(device *d, device_limits *out)
{
    WITHIN(d, limits(g, out));
}

static cornu_status timer(device *d, double *seconds)
{
    WITHIN(d, timer(g, seconds));
}

static cornu_status sensors(device *d, device_sensors *out)
{
    WITHIN(d, sensors(g, out));
}

static const op *lacks(const device *d, const plan *p)
{
    (void)d;
    return gpu_lacks(p);
}

static cornu_status buffer_bytes(device *d, const plan *p, int64_t *bytes)
{
    size_t arena;
    TRY(gpu_buffer_offsets(gpu_of(d), p, NULL, &arena));
    *bytes = (int64_t)arena;
    return CORNU_OK;
}

const device_ops gpu_ops = {
    .name = "cuda",
    .describe = cuda_describe,
    .open = gpu_open,
    .close = gpu_close,
    .bind = bind_model,
    .lacks = lacks,
    .buffer_bytes = buffer_bytes,
    .prepare = prepare,
    .release = release,
    .upload = upload,
    .run = run,
    .results = results,
    .synchronize = synchronize,
    .read = read_tensor,
    .write = write_tensor,
    .read_variable = read_variable,
    .write_variable = write_variable,
    .choices = choices,
    .time_operations = time_operations,
    .memory_free = memory_free,
    .limits = limits,
    .timer = timer,
    .sensors = sensors,
};
