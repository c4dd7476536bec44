/* Devices, primary contexts, and each thread's stack of current ones. */
#include "driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 8, CONTEXTS_MAX = 16 };

struct CUctx_st {
    int device, users;
};

static bool initialized;
static struct CUctx_st primary[DEVICES_MAX];
static _Thread_local CUcontext stack[CONTEXTS_MAX];
static _Thread_local int depth;

bool device_initialized(void)
{
    return initialized;
}

static bool is_primary(CUcontext context)
{
    return context >= primary && context < primary + DEVICES_MAX && context->users > 0;
}

CUcontext context_current(void)
{
    return depth > 0 && is_primary(stack[depth - 1]) ? stack[depth - 1] : NULL;
}

int device_current(void)
{
    CUcontext context = context_current();
    return context ? context->device : -1;
}

bool simulated_has_context(void)
{
    return context_current() && failed_device() == CUDA_SUCCESS;
}

static int device_count(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    long count = simulated_number("SIMULATED_CUDA_DEVICES", 1);
    if (visible && *visible == '\0')
        count = 0;
    return count < 0 ? 0 : count > DEVICES_MAX ? DEVICES_MAX : (int)count;
}

static bool is_device(CUdevice device)
{
    return device >= 0 && device < device_count();
}

/* ---- what is there ------------------------------------------------------------------------- */

CUresult CUDAAPI cuInit(unsigned int flags)
{
    CUresult r = enter(__func__, NEEDS_NOTHING);
    if (r == CUDA_SUCCESS && flags != 0)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && device_count() == 0)
        r = CUDA_ERROR_NO_DEVICE;
    initialized = initialized || r == CUDA_SUCCESS;
    return leave(r);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    CUresult r = enter(__func__, NEEDS_NOTHING);
    *version = (int)simulated_number("SIMULATED_CUDA_VERSION", CUDA_VERSION);
    return leave(r);
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult r = enter(__func__, NEEDS_INIT);
    if (r == CUDA_SUCCESS)
        *count = device_count();
    return leave(r);
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int number)
{
    CUresult r = enter(__func__, NEEDS_INIT);
    if (r == CUDA_SUCCESS && !is_device(number))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS)
        *device = number;
    return leave(r);
}

static CUresult enter_device(const char *function, CUdevice device)
{
    CUresult r = enter(function, NEEDS_INIT);
    return r == CUDA_SUCCESS && !is_device(device) ? CUDA_ERROR_INVALID_DEVICE : r;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
    CUresult r = enter_device(__func__, device);
    if (r == CUDA_SUCCESS)
        snprintf(name, (size_t)length, "Simulated GPU (no real device)");
    return leave(r);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    CUresult r = enter_device(__func__, device);
    if (r == CUDA_SUCCESS)
        snprintf(id, (size_t)length, "0000:%02x:00.0", (unsigned)device + 1);
    return leave(r);
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    CUresult r = enter_device(__func__, device);
    if (r == CUDA_SUCCESS)
        *bytes = (size_t)simulated_number("SIMULATED_CUDA_MEMORY", 1l << 31);
    return leave(r);
}

/* The list's number for this device; its last is that of all behind. */
unsigned device_capability(CUdevice device)
{
    const char *list = getenv("SIMULATED_CUDA_CAPABILITY");
    if (!list || !*list)
        return 90;
    for (; device > 0 && strchr(list, ','); device--)
        list = strchr(list, ',') + 1;
    return (unsigned)strtol(list, NULL, 10);
}

/* As an H100's, but few multiprocessors, so that loops over a grid do loop. */
static CUresult attribute_of(CUdevice device, CUdevice_attribute attribute, int *value)
{
    unsigned capability = device_capability(device);
    static const int values[][2] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2000000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20},
        {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
        {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
        {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
        {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
        {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
        {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
    };
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        return *value = (int)capability / 10, CUDA_SUCCESS;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        return *value = (int)capability % 10, CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i][0] == (int)attribute)
            return *value = values[i][1], CUDA_SUCCESS;
    simulated_complain("cuDeviceGetAttribute: attribute %d is not simulated", (int)attribute);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult r = enter_device(__func__, device);
    if (r == CUDA_SUCCESS)
        r = attribute_of(device, attribute, value);
    return leave(r);
}

/* ---- contexts ------------------------------------------------------------------------------ */

int context_users(const void *context)
{
    const struct CUctx_st *c = context;
    return c->users;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult r = enter_device(__func__, device);
    if (r == CUDA_SUCCESS) {
        CUcontext c = &primary[device];
        c->device = device;
        if (c->users++ == 0)
            simulated_track(c, is_context);
        *context = c;
    }
    return leave(r);
}

/* Like the driver, with everything that lives in it; what is left is reported at the end. */
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult r = enter_device(__func__, device);
    if (r == CUDA_SUCCESS && primary[device].users == 0)
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (r == CUDA_SUCCESS && --primary[device].users == 0)
        simulated_forget(&primary[device]);
    return leave(r);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
    CUresult r = enter(__func__, NEEDS_INIT);
    if (r == CUDA_SUCCESS && (!is_primary(context) || depth == CONTEXTS_MAX))
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (r == CUDA_SUCCESS)
        stack[depth++] = context;
    return leave(r);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
    CUresult r = enter(__func__, NEEDS_INIT);
    if (r == CUDA_SUCCESS && depth == 0)
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (r == CUDA_SUCCESS) {
        depth--;
        if (context)
            *context = stack[depth];
    }
    return leave(r);
}
