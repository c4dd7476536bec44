#include "device/reference/reference.h"
#include "base/memory.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <string.h>

/* No list of its own: the host then uses the reference for every operation. */
static const kernel_list no_kernels[OP_COUNT];

static void describe(int number, cornu_device_info *info)
{
    (void)number;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "reference");
    snprintf(info->description, sizeof info->description,
             "plain C on one thread: slow, defines what is right");
    info->libraries[0] = '\0';
    info->available = true;
    info->memory_bytes = memory_total();
    info->memory_free_bytes = memory_available();
    info->threads = 1;
}

static cornu_status open_reference(int number, const device_options *options, device **out);

const device_ops device_reference = {
    .name = "reference",
    .describe = describe,
    .open = open_reference,
    HOST_DEVICE_SLOTS,
};

static cornu_status open_reference(int number, const device_options *options, device **out)
{
    (void)number;
    device_options single = options ? *options : (device_options){.threads = 1};
    single.threads = 1;
    return host_open(&device_reference, no_kernels, &single, out);
}
