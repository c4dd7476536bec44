/* One GPU: opened and closed, launches. */
#include "device/cuda/plugin/core.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const function_names[CUDA_FUNCTION_COUNT] = {
#define KERNEL(name, barrier) "cornu_" #name,
#include "device/cuda/plugin/kernels/kernels.def"
#undef KERNEL
};

/* kernels.cu compiled: code for several models of GPU (fatbin.c). */
extern const unsigned char cuda_fatbin[];

cornu_status cuda_check_on(const gpu *g, CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return CORNU_OK;
    cornu_status status = cuda_check(cuda_of(g)->lib, g->number, result, call);
    if (!cuda_is_lost(result))
        return status;
    cuda_of(g)->context_lost = true;
    return gpu_lose(g, status);
}

/* ---- opening ----------------------------------------------------------------------------- */

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

static cornu_status load_kernels(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    CUresult result = c->lib->cuModuleLoadData(&c->module, cuda_fatbin);
    if (result != CUDA_SUCCESS) {
        c->module = NULL;
        cornu_status status = cuda_check_on(g, result, "cuModuleLoadData");
        return status_prefix(status, "kernels for compute capability %d.%d", c->capability / 10,
                             c->capability % 10);
    }
    for (int i = 0; i < CUDA_FUNCTION_COUNT; i++) {
        cornu_status status =
            CU(g, cuModuleGetFunction(&c->functions[i], c->module, function_names[i]));
        if (status != CORNU_OK)
            return status_prefix(status, "%s", function_names[i]);
    }
    return CORNU_OK;
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
    TRY(load_kernels(g));
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
void cuda_close(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    if (c->context) {
        bool entered = cuda_enter(g) == CORNU_OK;
        close_resources(g);
        if (entered)
            (void)cuda_leave(g, CORNU_OK);
        cuda_context_let_go(g);
    }
    free(c);
}

static cornu_status open_context(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    TRY(CU(g, cuDeviceGet(&c->id, g->number)));
    TRY(read_attributes(g));
    /* The primary context: cuBLASLt and cuDNN know no other. */
    TRY(cuda_context_take(g));
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

/* ---- launches ---------------------------------------------------------------------------- */

cornu_status cuda_launch(gpu *g, cuda_function function, cuda_grid grid, const void *params)
{
    cuda_gpu *c = cuda_of(g);
    void *arguments[] = {(void *)(uintptr_t)params};
    g->launches++;
    CUresult result = c->lib->cuLaunchKernel(c->functions[function], grid.x ? grid.x : 1,
                                             grid.y ? grid.y : 1, grid.z ? grid.z : 1, grid.threads,
                                             1, 1, grid.shared_bytes, c->stream, arguments, NULL);
    if (result == CUDA_SUCCESS)
        return CORNU_OK;
    cornu_status status = cuda_check_on(g, result, "cuLaunchKernel");
    return status_prefix(status, "%s", function_names[function]);
}

void cuda_count_launch(gpu *g)
{
    g->launches++;
}
