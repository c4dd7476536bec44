/* The cuda devices as the program sees them: everything is in libcornu-cuda.so, which is opened
   when somebody first asks for a GPU. */
#include "base/env.h"
#include "base/memory.h"
#include "device/cuda/plugin.h"
#include "device/gather_sample.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const device_ops device_cuda;

/* ---- what the plug-in calls ------------------------------------------------------------- */

static cornu_status prefix_v(cornu_status status, const char *format, va_list arguments)
{
    char message[1024];
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        return status;
    return status_prefix(status, "%s", message);
}

static const cuda_host host = {
    .fail = status_fail_v,
    .prefix = prefix_v,
    .last_error = cornu_last_error,
    .plan_build = plan_build,
    .gather_check = gather_check,
    .loss_kind_of = loss_kind_of,
    .metric_kind_of = metric_kind_of,
    .activation_from_output = activation_from_output,
};

/* ---- finding and opening it -------------------------------------------------------------- */

typedef struct loaded {
    const cuda_plugin *plugin; /* NULL: there is none, or it does not fit */
    char why[256];
} loaded;

static loaded plugin_of_process;
static pthread_once_t plugin_once = PTHREAD_ONCE_INIT;

/* The folder of the program or library that this function is part of; false where it is unknown. */
static bool own_folder(char *folder, size_t size)
{
    Dl_info info;
    struct link_map *map = NULL;
    char path[PATH_MAX], *real = NULL;
    if (!dladdr1((const void *)&device_cuda, &info, (void **)&map, RTLD_DL_LINKMAP))
        return false;
    bool is_program = !map || !map->l_name || !*map->l_name;
    real = realpath(is_program ? "/proc/self/exe" : map->l_name, path);
    char *slash = real ? strrchr(real, '/') : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    return snprintf(folder, size, "%s", path) < (int)size;
}

/* Beside the program (a build folder), in its prefix's library folder, beside the library. */
static bool find_plugin(char *path, size_t size)
{
    static const char *const folders[] = {"", "/../" CUDA_PLUGIN_LIBRARY_FOLDER "/cornu",
                                          "/../lib/cornu", "/cornu"};
    char folder[PATH_MAX];
    if (!own_folder(folder, sizeof folder))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int length = snprintf(path, size, "%s%s/" CUDA_PLUGIN_FILE, folder, folders[i]);
        if (length > 0 && (size_t)length < size && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static bool versions_agree(const cuda_plugin *plugin, const char *path, char *why, size_t size)
{
    const cuda_plugin_version own = CUDA_PLUGIN_VERSION;
    if (strncmp(plugin->version.version, own.version, sizeof own.version) != 0) {
        snprintf(why, size, "%.150s: found version %.*s; expected %s, the program's", path,
                 (int)sizeof own.version, plugin->version.version, own.version);
        return false;
    }
    if (memcmp(&plugin->version, &own, sizeof own) != 0) {
        snprintf(why, size,
                 "%.150s: found a plug-in of other sources; expected the program's own %s", path,
                 own.version);
        return false;
    }
    return true;
}

static void open_plugin(void)
{
    loaded *l = &plugin_of_process;
    char found[PATH_MAX];
    const char *path = env_get(ENV_CUDA_PLUGIN);
    if (!path && !find_plugin(found, sizeof found)) {
        snprintf(l->why, sizeof l->why,
                 "this build has no CUDA plug-in (" CUDA_PLUGIN_FILE
                 "); build cornu where the CUDA "
                 "toolkit (nvcc) and the headers of cuDNN are installed");
        return;
    }
    path = path ? path : found;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        snprintf(l->why, sizeof l->why, "%.250s", error ? error : path);
        return;
    }
    union {
        void *symbol;
        cuda_plugin_entry *entry;
    } symbol = {.symbol = dlsym(library, CUDA_PLUGIN_ENTRY)};
    const cuda_plugin *plugin = symbol.symbol ? symbol.entry(&host) : NULL;
    if (!plugin)
        snprintf(l->why, sizeof l->why, "%.150s: found no %s; expected cornu's CUDA plug-in", path,
                 CUDA_PLUGIN_ENTRY);
    if (plugin && versions_agree(plugin, path, l->why, sizeof l->why))
        l->plugin = plugin;
    else
        dlclose(library);
}

static const loaded *plugin_get(void)
{
    pthread_once(&plugin_once, open_plugin);
    return &plugin_of_process;
}

/* ---- the device ------------------------------------------------------------------------- */

/* Devices that can be used; 0 with the reason. */
static int usable(char *why, size_t size)
{
    const loaded *l = plugin_get();
    if (l->plugin)
        return l->plugin->count(why, size);
    snprintf(why, size, "%s", l->why);
    return 0;
}

static int count(void)
{
    char why[sizeof(((cornu_device_info *)0)->reason)];
    int found = usable(why, sizeof why);
    return found > 0 ? found : 1;
}

static void describe(int number, cornu_device_info *info)
{
    if (usable(info->reason, sizeof info->reason) > number)
        plugin_get()->plugin->describe(number, info);
    else
        snprintf(info->name, sizeof info->name, "cuda");
}

static cornu_status cuda_open(int number, const device_options *options, device **out)
{
    char why[sizeof(((cornu_device_info *)0)->reason)];
    *out = NULL;
    int found = usable(why, sizeof why);
    if (found == 0)
        return status_fail(CORNU_NOT_FOUND, "device cuda: not available: %s", why);
    if (number < 0 || number >= found)
        return status_fail(CORNU_NOT_FOUND, "device cuda:%d: found %d devices; expected 0 to %d",
                           number, found, found - 1);
    return plugin_get()->plugin->open(number, options, out);
}

/* What is opened brings its own table along. */
const device_ops device_cuda = {
    .name = "cuda", .count = count, .describe = describe, .open = cuda_open};
