/* The program's side of the plug-ins' devices: libcornu-NAME.so has the code, and is opened at
   the first request for a GPU. */
#include "base/plugin.h"
#include "device/accelerator/plugin.h"
#include "device/gather_sample.h"
#include "device/reference/reference.h"
#include <cornu/tables.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef enum plugin_id {
#define PLUGIN(name, ...) PLUGIN_##name,
#include "device/accelerator/plugins.def"
#undef PLUGIN
    PLUGIN_COUNT
} plugin_id;

typedef struct plugin_row {
    const char *name, *title;
    const char *file, *entry;
    env_name environment;
    const char *needs;
} plugin_row;

static const plugin_row rows[PLUGIN_COUNT] = {
#define PLUGIN(name, title, environment, needs) \
    {#name, title, "libcornu-" #name ".so", "cornu_" #name "_plugin", ENV_##environment, needs},
#include "device/accelerator/plugins.def"
#undef PLUGIN
};

/* ---- what the plug-in calls ------------------------------------------------------------- */

static cornu_status prefix_v(cornu_status status, const char *format, va_list arguments)
{
    char message[1024];
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        return status;
    return status_prefix(status, "%s", message);
}

static const gpu_host host = {
    .fail = status_fail_v,
    .prefix = prefix_v,
    .last_error = cornu_last_error,
    .plan_build = plan_build,
    .plan_variable_forms = plan_variable_forms,
    .gather_check = gather_check,
    .gather_sample = gather_sample,
    .loss_kind_of = loss_kind_of,
    .metric_kind_of = metric_kind_of,
    .activation_from_output = activation_from_output,
};

/* ---- finding and opening it -------------------------------------------------------------- */

typedef struct loaded {
    const gpu_plugin *plugin; /* NULL: none, or of another version */
    char why[256];
} loaded;

static loaded plugin_of_process[PLUGIN_COUNT];
static pthread_once_t plugin_once[PLUGIN_COUNT] = {
#define PLUGIN(...) PTHREAD_ONCE_INIT,
#include "device/accelerator/plugins.def"
#undef PLUGIN
};

static bool versions_agree(const gpu_plugin *plugin, const char *path, char *why, size_t size)
{
    const gpu_plugin_version own = GPU_PLUGIN_VERSION;
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

static void open_plugin(plugin_id id)
{
    const plugin_row *row = &rows[id];
    loaded *l = &plugin_of_process[id];
    char missing[sizeof l->why];
    snprintf(missing, sizeof missing, "this build has no %s plug-in (%s); build cornu where %s",
             row->title, row->file, row->needs);
    plugin_file file = {.file = row->file,
                        .entry = row->entry,
                        .title = row->title,
                        .missing = missing,
                        .environment = row->environment};
    union {
        plugin_function *function;
        gpu_plugin_entry *entry;
    } opened = {.function = plugin_open(&file, l->why, sizeof l->why)};
    const gpu_plugin *plugin = opened.function ? opened.entry(&host) : NULL;
    if (plugin && versions_agree(plugin, file.path, l->why, sizeof l->why))
        l->plugin = plugin;
    else if (plugin)
        plugin_close(&file);
}

#define PLUGIN(name, ...)           \
    static void open_##name(void)   \
    {                               \
        open_plugin(PLUGIN_##name); \
    }
#include "device/accelerator/plugins.def"
#undef PLUGIN

static const loaded *plugin_get(plugin_id id)
{
    static void (*const opens[PLUGIN_COUNT])(void) = {
#define PLUGIN(name, ...) open_##name,
#include "device/accelerator/plugins.def"
#undef PLUGIN
    };
    pthread_once(&plugin_once[id], opens[id]);
    return &plugin_of_process[id];
}

/* ---- the devices ------------------------------------------------------------------------- */

/* Devices that can be used; 0 with the reason. */
static int usable(plugin_id id, char *why, size_t size)
{
    const loaded *l = plugin_get(id);
    if (l->plugin)
        return l->plugin->count(why, size);
    snprintf(why, size, "%s", l->why);
    return 0;
}

static int count_of(plugin_id id)
{
    char why[sizeof(((cornu_device_info *)0)->reason)];
    int found = usable(id, why, sizeof why);
    return found > 0 ? found : 1;
}

static void describe(plugin_id id, int number, cornu_device_info *info)
{
    if (usable(id, info->reason, sizeof info->reason) > number)
        plugin_get(id)->plugin->describe(number, info);
    else
        snprintf(info->name, sizeof info->name, "%s", rows[id].name);
}

/* A device that was never used with this driver and these kernels must first pass a check of its
   results. A test that forces a kernel is not such a use. */
static cornu_status try_device(plugin_id id, int number, const device_options *options, device *d)
{
    const gpu_plugin *plugin = plugin_get(id)->plugin;
    char name[32];
    if (!plugin->is_tried || (options && options->kernel) || plugin->is_tried(d))
        return CORNU_OK;
    snprintf(name, sizeof name, "%s:%d", rows[id].name, number);
    TRY(self_test(d, name));
    plugin->keep_tried(d);
    return CORNU_OK;
}

static cornu_status open_device(plugin_id id, int number, const device_options *options,
                                device **out)
{
    const char *name = rows[id].name;
    char why[sizeof(((cornu_device_info *)0)->reason)];
    *out = NULL;
    int found = usable(id, why, sizeof why);
    if (found == 0)
        return status_fail(CORNU_NOT_FOUND, "device %s: not available: %s", name, why);
    if (number < 0 || number >= found)
        return status_fail(CORNU_NOT_FOUND, "device %s:%d: found %d devices; expected 0 to %d",
                           name, number, found, found - 1);
    TRY(plugin_get(id)->plugin->open(number, options, out));
    cornu_status status = try_device(id, number, options, *out);
    if (status == CORNU_OK)
        return CORNU_OK;
    (*out)->ops->close(*out);
    *out = NULL;
    return status;
}

/* Each kind's functions and its table. What is opened brings its own table along. */
#define PLUGIN(id, ...)                                                                           \
    static int count_##id(void)                                                                   \
    {                                                                                             \
        return count_of(PLUGIN_##id);                                                             \
    }                                                                                             \
    static void describe_##id(int number, cornu_device_info *info)                                \
    {                                                                                             \
        describe(PLUGIN_##id, number, info);                                                      \
    }                                                                                             \
    static cornu_status open_device_##id(int number, const device_options *options, device **out) \
    {                                                                                             \
        return open_device(PLUGIN_##id, number, options, out);                                    \
    }                                                                                             \
    extern const device_ops device_##id;                                                          \
    const device_ops device_##id = {                                                              \
        .name = #id, .count = count_##id, .describe = describe_##id, .open = open_device_##id};
#include "device/accelerator/plugins.def"
#undef PLUGIN
