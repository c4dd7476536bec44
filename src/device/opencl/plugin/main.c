/* The plug-in's one exported symbol. */
#include "device/accelerator/plugin.h"
#include "device/opencl/plugin/core.h"

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
