/* Between the program and its plug-ins, each of which holds the devices of one kind (plugins.def).
   A plug-in is opened with dlopen when somebody asks for devices; it opens the libraries that drive
   them the same way, so neither the program nor the plug-in needs any of them to start.

   A plug-in is built from the same sources as the program. It calls back through gpu_host, so that
   messages and plans are the program's. */
#ifndef DEVICE_ACCELERATOR_PLUGIN_H
#define DEVICE_ACCELERATOR_PLUGIN_H

#include "device/device.h"
#include <cornu/tables.h>
#include <stdarg.h>

/* Both sides compare these: a plug-in of another version, or built with other options, is refused.
 */
typedef struct gpu_plugin_version {
    char version[32];                                            /* CORNU_VERSION */
    uint32_t device_ops, plan, op, tensor, model, choice, input; /* sizes of shared structs */
} gpu_plugin_version;

#define GPU_PLUGIN_VERSION                                                                \
    {                                                                                     \
        .version = CORNU_VERSION, .device_ops = sizeof(device_ops), .plan = sizeof(plan), \
        .op = sizeof(op), .tensor = sizeof(tensor), .model = sizeof(cornu_model),         \
        .choice = sizeof(kernel_choice), .input = sizeof(step_input)                      \
    }

/* What a plug-in needs of the program: its own copies of these functions' names call these
   (plugin_side.c). */
typedef struct gpu_host {
    cornu_status (*fail)(cornu_status status, const char *format, va_list arguments);
    cornu_status (*prefix)(cornu_status status, const char *format, va_list arguments);
    const char *(*last_error)(void);
    cornu_status (*plan_build)(const cornu_model *model, const plan_options *options, plan **out);
    cornu_status (*gather_check)(const plan *p, const step_input *input);
    void (*gather_sample)(const plan *p, const op *o, const step_input *input, int64_t row,
                          float *x, float *t);
    const loss_kind *(*loss_kind_of)(loss_id id);
    const metric_kind *(*metric_kind_of)(metric_id id);
    bool (*activation_from_output)(activation_kind kind);
} gpu_host;

typedef struct gpu_plugin {
    gpu_plugin_version version;
    /* How many devices the driver has; 0 with *reason filled in where there is none or it cannot be
       used ("no CUDA driver: libcuda.so.1 ..."). */
    int (*count)(char *reason, size_t size);
    void (*describe)(int number, cornu_device_info *info);
    cornu_status (*open)(int number, const device_options *options, device **out);
    /* optional: has a device passed the self-test (reference/self_test.h) with this driver and
       these kernels before? And: it has, which the plug-in keeps. NULL: it goes without. */
    bool (*is_tried)(const device *d);
    void (*keep_tried)(device *d);
} gpu_plugin;

/* The one symbol that a plug-in exports: cornu_NAME_plugin, with its row's name. `host` stays valid
   for ever. The version is filled in before `host` is looked at. */
typedef const gpu_plugin *gpu_plugin_entry(const gpu_host *host);

/* In the plug-in, before anything else of it runs. */
void gpu_host_set(const gpu_host *of_program);

#endif
