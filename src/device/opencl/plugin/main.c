/* The plug-in's one exported symbol, and the list of devices before one is opened. */
#include "device/accelerator/plugin.h"
#include "device/opencl/plugin/core.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <string.h>

static int opencl_count(char *reason, size_t size)
{
    const opencl_library *lib;
    if (opencl_library_get(&lib) == CORNU_OK)
        return lib->device_count;
    snprintf(reason, size, "%s", cornu_last_error());
    return 0;
}

/* "" where the driver does not say. */
static const char *text_of(const opencl_library *lib, int number, cl_device_info what, char *value,
                           size_t size)
{
    if (lib->clGetDeviceInfo(lib->devices[number], what, size, value, NULL) != CL_SUCCESS)
        *value = '\0';
    return value;
}

/* "OpenCL 3.0 PoCL HSTR: ..." to "3.0". */
static void version_of(const char *version, char *out, size_t size)
{
    const char *number = strncmp(version, "OpenCL ", 7) == 0 ? version + 7 : version;
    snprintf(out, size, "%.*s", (int)strcspn(number, " "), number);
}

/* false, with the call in *reason, where the driver does not say. */
static bool ask(const opencl_library *lib, int number, cl_device_info what, void *value,
                size_t bytes, char *reason, size_t size)
{
    cl_int error = lib->clGetDeviceInfo(lib->devices[number], what, bytes, value, NULL);
    if (error != CL_SUCCESS)
        snprintf(reason, size, "clGetDeviceInfo: %s (%d)", opencl_error_name(error), error);
    return error == CL_SUCCESS;
}

static bool has_version(const opencl_library *lib, int number, char *reason, size_t size)
{
    char version[128], number_of[16];
    if (!ask(lib, number, CL_DEVICE_VERSION, version, sizeof version, reason, size))
        return false;
    version_of(version, number_of, sizeof number_of);
    if (strcmp(number_of, "1.2") >= 0)
        return true;
    snprintf(reason, size, "found OpenCL %s; expected 1.2 or later", number_of);
    return false;
}

/* Check the features that version 1.2 leaves optional. */
static bool can_run(const opencl_library *lib, int number, char *reason, size_t size)
{
    enum { ITEMS_LEAST = 256 };
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    size_t items = 0;
    if (!ask(lib, number, CL_DEVICE_AVAILABLE, &available, sizeof available, reason, size) ||
        !has_version(lib, number, reason, size) ||
        !ask(lib, number, CL_DEVICE_COMPILER_AVAILABLE, &compiler, sizeof compiler, reason, size) ||
        !ask(lib, number, CL_DEVICE_MAX_WORK_GROUP_SIZE, &items, sizeof items, reason, size))
        return false;
    if (!available)
        snprintf(reason, size, "its driver says that it is not available");
    else if (!compiler)
        snprintf(reason, size, "its driver has no compiler of OpenCL C");
    else if (items < ITEMS_LEAST)
        snprintf(reason, size, "found work-groups of at most %zu work-items; expected %d", items,
                 ITEMS_LEAST);
    else
        return true;
    return false;
}

static void opencl_describe(int number, cornu_device_info *info)
{
    const opencl_library *lib;
    char name[128], platform[128] = "", version[128];
    cl_uint units = 0;
    cl_ulong bytes = 0;
    cl_device_type type = 0;
    snprintf(info->name, sizeof info->name, "opencl:%d", number);
    if (opencl_library_get(&lib) != CORNU_OK) {
        snprintf(info->reason, sizeof info->reason, "%s", cornu_last_error());
        return;
    }
    cl_device_id id = lib->devices[number];
    text_of(lib, number, CL_DEVICE_NAME, name, sizeof name);
    text_of(lib, number, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
    version_of(text_of(lib, number, CL_DEVICE_VERSION, version, sizeof version), info->capability,
               sizeof info->capability);
    if (lib->clGetPlatformInfo(lib->platforms[number], CL_PLATFORM_NAME, sizeof platform, platform,
                               NULL) != CL_SUCCESS ||
        lib->clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL) != CL_SUCCESS ||
        lib->clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL) !=
            CL_SUCCESS ||
        lib->clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL) !=
            CL_SUCCESS)
        bytes = 0;
    snprintf(info->description, sizeof info->description, "%s, %u compute units", name, units);
    snprintf(info->libraries, sizeof info->libraries, "OpenCL %s, %s", info->capability, platform);
    info->memory_bytes = info->memory_free_bytes = (int64_t)bytes;
    info->gpu = type & CL_DEVICE_TYPE_GPU;
    info->available = can_run(lib, number, info->reason, sizeof info->reason);
}

CORNU_API gpu_plugin_entry cornu_opencl_plugin;

const gpu_plugin *cornu_opencl_plugin(const gpu_host *host)
{
    static const gpu_plugin plugin = {.version = GPU_PLUGIN_VERSION,
                                      .count = opencl_count,
                                      .describe = opencl_describe,
                                      .open = opencl_open,
                                      .is_tried = opencl_is_tried,
                                      .keep_tried = opencl_keep_tried};
    gpu_host_set(host);
    return &plugin;
}
