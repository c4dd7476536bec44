/* The interface between the program and its plug-ins, each of which has the devices of one kind
   (plugins.def). The first call that needs devices opens the plug-in with dlopen; the plug-in opens
   the driver's libraries in the same way, so that the program and the plug-in start without them.

   A plug-in is built from the same sources as the program, and calls back through gpu_host, so that
   the program's functions handle messages and plans. */
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

/* The program's functions for a plug-in, whose functions with the same names call these
   (plugin_side.c). */
typedef struct gpu_host {
    cornu_status (*fail)(cornu_status status, const char *format, va_list arguments);
    cornu_status (*prefix)(cornu_status status, const char *format, va_list arguments);
    const char *(*last_error)(void);
    cornu_status (*plan_build)(const cornu_model *model, const plan_options *options, plan **out);
    cornu_status (*plan_variable_forms)(const cornu_model *model, tensor_form **out);
    cornu_status (*gather_check)(const plan *p, const step_input *input);
    void (*gather_sample)(const plan *p, const op *o, const step_input *input, int64_t row,
                          float *x, float *t);
    const loss_kind *(*loss_kind_of)(loss_id id);
    const metric_kind *(*metric_kind_of)(metric_id id);
    bool (*activation_from_output)(activation_kind kind);
} gpu_host;

typedef struct gpu_plugin {
    gpu_plugin_version version;
    /* The number of the driver's devices; 0, with `reason`, if there is no driver or it cannot
       be used ("no CUDA driver: libcuda.so.1 ..."). */
    int (*count)(char *reason, size_t size);
    void (*describe)(int number, cornu_device_info *info);
    cornu_status (*open)(int number, const device_options *options, device **out);
    /* optional: has a device passed the self-test (reference/self_test.c) with this driver and
       these kernels before? And: it has, which the plug-in keeps. NULL: it goes without. */
    bool (*is_tried)(const device *d);
    void (*keep_tried)(device *d);
} gpu_plugin;

/* The one symbol that a plug-in exports: cornu_NAME_plugin, with its row's name. `host` stays valid
   for ever. The version is filled in before `host` is looked at. */
typedef const gpu_plugin *gpu_plugin_entry(const gpu_host *host);

/* Called in the plug-in before any other function. */
void gpu_host_set(const gpu_host *of_program);

#endif
