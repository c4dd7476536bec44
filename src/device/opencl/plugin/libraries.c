#include "device/opencl/plugin/libraries.h"
#include "device/opencl/plugin/core.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- errors -----------------------------------------------------------------------------------
 */

const char *opencl_error_name(cl_int error)
{
    switch (error) {
#define NAME(name) \
    case name:     \
        return #name;
        NAME(CL_DEVICE_NOT_FOUND)
        NAME(CL_DEVICE_NOT_AVAILABLE)
        NAME(CL_COMPILER_NOT_AVAILABLE)
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
        NAME(CL_OUT_OF_RESOURCES)
        NAME(CL_OUT_OF_HOST_MEMORY)
        NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
        NAME(CL_MEM_COPY_OVERLAP)
        NAME(CL_BUILD_PROGRAM_FAILURE)
        NAME(CL_MAP_FAILURE)
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        NAME(CL_COMPILE_PROGRAM_FAILURE)
        NAME(CL_LINKER_NOT_AVAILABLE)
        NAME(CL_LINK_PROGRAM_FAILURE)
        NAME(CL_INVALID_VALUE)
        NAME(CL_INVALID_PLATFORM)
        NAME(CL_INVALID_DEVICE)
        NAME(CL_INVALID_CONTEXT)
        NAME(CL_INVALID_QUEUE_PROPERTIES)
        NAME(CL_INVALID_COMMAND_QUEUE)
        NAME(CL_INVALID_MEM_OBJECT)
        NAME(CL_INVALID_BINARY)
        NAME(CL_INVALID_BUILD_OPTIONS)
        NAME(CL_INVALID_PROGRAM)
        NAME(CL_INVALID_PROGRAM_EXECUTABLE)
        NAME(CL_INVALID_KERNEL_NAME)
        NAME(CL_INVALID_KERNEL_DEFINITION)
        NAME(CL_INVALID_KERNEL)
        NAME(CL_INVALID_ARG_INDEX)
        NAME(CL_INVALID_ARG_VALUE)
        NAME(CL_INVALID_ARG_SIZE)
        NAME(CL_INVALID_KERNEL_ARGS)
        NAME(CL_INVALID_WORK_DIMENSION)
        NAME(CL_INVALID_WORK_GROUP_SIZE)
        NAME(CL_INVALID_WORK_ITEM_SIZE)
        NAME(CL_INVALID_GLOBAL_OFFSET)
        NAME(CL_INVALID_EVENT_WAIT_LIST)
        NAME(CL_INVALID_EVENT)
        NAME(CL_INVALID_OPERATION)
        NAME(CL_INVALID_BUFFER_SIZE)
        NAME(CL_INVALID_GLOBAL_WORK_SIZE)
#undef NAME
    default:
        return "unknown error";
    }
}

static bool is_memory(cl_int error)
{
    return error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY ||
           error == CL_INVALID_BUFFER_SIZE;
}

/* A call that waits for work reports the failure of that work. */
static bool waits(const char *call)
{
    static const char *const names[] = {"clFinish", "clWaitForEvents", "clEnqueueReadBuffer",
                                        OPENCL_COMMAND};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(call, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* True if this error of this call means that the device can no longer be used. */
static bool opencl_is_lost(cl_int error, const char *call)
{
    switch (error) {
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_CONTEXT: /* after a fault some drivers know their own objects no longer */
    case CL_INVALID_COMMAND_QUEUE:
    case -9999: /* NVIDIA's: a kernel read or wrote where it must not */
        return true;
    case CL_OUT_OF_RESOURCES:
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        return waits(call);
    default:
        return false;
    }
}

cornu_status opencl_check(const char *name, cl_int error, const char *call)
{
    if (error == CL_SUCCESS)
        return CORNU_OK;
    return status_fail(is_memory(error) ? CORNU_OUT_OF_MEMORY : CORNU_DEVICE,
                       "device %s: %.*s: %s%s (%d)", name, (int)strcspn(call, "("), call,
                       opencl_is_lost(error, call) ? "the device is lost: " : "",
                       opencl_error_name(error), error);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

enum { NO_PLATFORM = -1001 }; /* CL_PLATFORM_NOT_FOUND_KHR */
static const char no_platform[] =
    "no OpenCL platform: install the driver's ICD (NVIDIA's and AMD's come with their drivers; "
    "Debian: intel-opencl-icd, mesa-opencl-icd, or for the CPU pocl-opencl-icd)";

static cornu_status load(opencl_library *lib)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return status_fail(CORNU_NOT_FOUND,
                           "no OpenCL (%.100s); install the driver's, on Debian "
                           "ocl-icd-libopencl1 and an ICD such as pocl-opencl-icd",
                           dlerror());
#define OPENCL(name)                                                                               \
    lib->name = (__typeof__(name) *)dlsym(library, #name);                                         \
    if (!lib->name)                                                                                \
        return status_fail(CORNU_NOT_FOUND, "libOpenCL.so.1: found no " #name "; expected OpenCL " \
                                            "1.2 or later");
#include "device/opencl/plugin/libraries.def"
    return CORNU_OK;
}

/* A platform whose driver fails is as one without devices. */
static cl_int add_devices(opencl_library *lib, cl_platform_id platform)
{
    cl_device_id found[OPENCL_DEVICES_MOST];
    cl_uint count = 0;
    cl_int error =
        lib->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, OPENCL_DEVICES_MOST, found, &count);
    if (error != CL_SUCCESS)
        return error;
    for (cl_uint i = 0; i < count && lib->device_count < OPENCL_DEVICES_MOST; i++) {
        lib->platforms[lib->device_count] = platform;
        lib->devices[lib->device_count++] = found[i];
    }
    return CL_SUCCESS;
}

static cornu_status find_devices(opencl_library *lib)
{
    cl_platform_id platforms[OPENCL_DEVICES_MOST];
    cl_uint count = 0;
    cl_int error = lib->clGetPlatformIDs(OPENCL_DEVICES_MOST, platforms, &count), failed;
    if (count == 0 && (error == CL_SUCCESS || error == NO_PLATFORM))
        return status_fail(CORNU_NOT_FOUND, "%s", no_platform);
    if (error != CL_SUCCESS)
        return status_fail(CORNU_NOT_FOUND, "OpenCL: clGetPlatformIDs: %s (%d)",
                           opencl_error_name(error), error);
    if (count > OPENCL_DEVICES_MOST)
        count = OPENCL_DEVICES_MOST;
    for (cl_uint i = 0; i < count; i++)
        if ((failed = add_devices(lib, platforms[i])) != CL_SUCCESS)
            error = failed;
    if (lib->device_count > 0)
        return CORNU_OK;
    if (error != CL_SUCCESS && error != CL_DEVICE_NOT_FOUND)
        return status_fail(CORNU_NOT_FOUND,
                           "found %u OpenCL platforms without a device: clGetDeviceIDs: %s (%d)",
                           count, opencl_error_name(error), error);
    return status_fail(CORNU_NOT_FOUND, "found %u OpenCL platforms without a device; %s", count,
                       strchr(no_platform, ':') + 2);
}

typedef struct opened {
    opencl_library lib;
    cornu_status status;
    char why[512];
} opened;

static opened of_process;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    opencl_signals signals;
    opencl_signals_keep(&signals);
    of_process.status = load(&of_process.lib);
    if (of_process.status == CORNU_OK)
        of_process.status = find_devices(&of_process.lib);
    opencl_signals_restore(&signals);
    if (of_process.status != CORNU_OK)
        snprintf(of_process.why, sizeof of_process.why, "%s", cornu_last_error());
}

cornu_status opencl_library_get(const opencl_library **out)
{
    pthread_once(&once, open_library);
    *out = &of_process.lib;
    return of_process.status == CORNU_OK ? CORNU_OK
                                         : status_fail(of_process.status, "%s", of_process.why);
}

cornu_status opencl_check_on(const opencl *d, cl_int error, const char *call)
{
    cornu_status status = opencl_check(d->g.name, error, call);
    return opencl_is_lost(error, call) ? gpu_lose(&d->g, status) : status;
}

/* ---- the caller's signals ---------------------------------------------------------------- */

/* Protects the caller's signal handling from drivers, which contain compilers and threads. Some
   compilers (LLVM in PoCL) replace the caller's handlers, also for Ctrl-C: these are restored.
   And a driver's thread must not receive a signal for which the caller may wait in another
   thread: signals are blocked while drivers start threads, which inherit this. */

void opencl_signals_keep(opencl_signals *s)
{
    sigset_t blocked;
    sigfillset(&blocked);
    for (int i = 1; i < OPENCL_SIGNALS; i++)
        s->known[i] = sigaction(i, NULL, &s->action[i]) == 0;
    static const int of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof of_faults / sizeof *of_faults; i++)
        sigdelset(&blocked, of_faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &s->mask);
}

void opencl_signals_restore(const opencl_signals *s)
{
    for (int i = 1; i < OPENCL_SIGNALS; i++)
        if (s->known[i] && i != SIGKILL && i != SIGSTOP)
            (void)sigaction(i, &s->action[i], NULL);
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
}
