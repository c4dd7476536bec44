/* The plug-in's one exported symbol, and the list of devices before one is opened. */
#include "device/cuda/plugin/core.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <string.h>

static int cuda_count(char *reason, size_t size)
{
    const cuda_libraries *lib;
    int count = 0;
    cornu_status status = cuda_libraries_get(&lib);
    if (status == CORNU_OK)
        status = cuda_check(lib, -1, lib->cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (status == CORNU_OK)
        return count;
    snprintf(reason, size, "%s", cornu_last_error());
    return 0;
}

/* NVML reports it without a context, which would take time and some of that memory. */
static int64_t memory_free_of(const cuda_libraries *lib, CUdevice id, const char *bus_id)
{
    nvmlDevice_t sensor;
    nvmlMemory_t memory;
    if (lib->has_nvml && lib->nvmlDeviceGetHandleByPciBusId_v2(bus_id, &sensor) == 0 &&
        lib->nvmlDeviceGetMemoryInfo(sensor, &memory) == 0)
        return (int64_t)memory.free;
    CUcontext context;
    size_t left = 0, all;
    if (lib->cuDevicePrimaryCtxRetain(&context, id) != CUDA_SUCCESS)
        return 0;
    if (lib->cuCtxPushCurrent(context) == CUDA_SUCCESS) {
        if (lib->cuMemGetInfo(&left, &all) != CUDA_SUCCESS)
            left = 0;
        if (lib->cuCtxPopCurrent(&context) != CUDA_SUCCESS)
            left = 0;
    }
    if (lib->cuDevicePrimaryCtxRelease(id) != CUDA_SUCCESS)
        left = 0;
    return (int64_t)left;
}

/* cuDNN is looked at, but not asked for anything. */
static void describe_libraries(const cuda_libraries *lib, int capability, cornu_device_info *info)
{
    const cudnn_library *dnn = NULL;
    bool has_dnn = cuda_dnn_find(capability, &dnn) == CORNU_OK;
    snprintf(info->libraries, sizeof info->libraries, "%s%s%s", lib->versions, has_dnn ? ", " : "",
             has_dnn ? dnn->name : "");
    if (!has_dnn)
        snprintf(info->reason, sizeof info->reason, "convolutions by own kernels: %s",
                 cornu_last_error());
}

static cornu_status describe(const cuda_libraries *lib, int number, cornu_device_info *info)
{
    CUdevice id;
    int major, minor, multiprocessors;
    size_t bytes;
    char name[128];
#define ASK(call) TRY(cuda_check(lib, number, lib->call, #call))
    ASK(cuDeviceGet(&id, number));
    ASK(cuDeviceGetName(name, sizeof name, id));
    ASK(cuDeviceGetPCIBusId(info->bus_id, sizeof info->bus_id, id));
    ASK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, id));
    ASK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, id));
    ASK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, id));
    ASK(cuDeviceTotalMem(&bytes, id));
#undef ASK
    snprintf(info->description, sizeof info->description, "%s, %d multiprocessors", name,
             multiprocessors);
    snprintf(info->capability, sizeof info->capability, "%d.%d", major, minor);
    snprintf(info->driver, sizeof info->driver, "%s", lib->driver);
    describe_libraries(lib, 10 * major + minor, info);
    info->memory_bytes = (int64_t)bytes;
    info->memory_free_bytes = memory_free_of(lib, id, info->bus_id);
    return cuda_code_check(10 * major + minor);
}

static void cuda_describe(int number, cornu_device_info *info)
{
    const cuda_libraries *lib;
    snprintf(info->name, sizeof info->name, "cuda:%d", number);
    cornu_status status = cuda_libraries_get(&lib);
    if (status == CORNU_OK)
        status = describe(lib, number, info);
    info->gpu = true;
    info->available = status == CORNU_OK;
    if (!info->available)
        snprintf(info->reason, sizeof info->reason, "%s", cornu_last_error());
}

CORNU_API gpu_plugin_entry cornu_cuda_plugin;

const gpu_plugin *cornu_cuda_plugin(const gpu_host *host)
{
    static const gpu_plugin plugin = {.version = GPU_PLUGIN_VERSION,
                                      .count = cuda_count,
                                      .describe = cuda_describe,
                                      .open = cuda_open};
    gpu_host_set(host);
    return &plugin;
}
