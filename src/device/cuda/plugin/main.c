/* The plug-in's one exported symbol. */
#include "device/cuda/plugin/core.h"

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
