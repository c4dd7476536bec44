#include "base/memory.h"
#include "device/cpu/isa.h"
#include "device/device.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE(table) extern const device_ops table;
#include "device/devices.def"
#undef DEVICE

const device_ops *const device_table[] = {
#define DEVICE(table) &table,
#include "device/devices.def"
#undef DEVICE
    NULL};

static int count_of(const device_ops *ops)
{
    return ops->count ? ops->count() : 1;
}

static void describe(const device_id *id, cornu_device_info *info)
{
    memset(info, 0, sizeof *info);
    id->ops->describe(id->number, info);
}

bool device_at(int index, device_id *id, cornu_device_info *info)
{
    for (int i = 0; device_table[i]; i++) {
        int count = count_of(device_table[i]);
        if (index < count) {
            *id = (device_id){device_table[i], index};
            describe(id, info);
            return true;
        }
        index -= count;
    }
    return false;
}

/* "cpu, cuda:0, reference": the devices that can be used. */
static cornu_status names_of_all(char **list)
{
    text names = {0};
    device_id id;
    cornu_device_info info;
    for (int i = 0; device_at(i, &id, &info); i++)
        if (info.available)
            text_add(&names, "%s%s", i ? ", " : "", info.name);
    return text_take(&names, list);
}

/* Does `name` mean row `ops`? *number is the device's; -1: the row has no such device. */
static bool is_row(const device_ops *ops, const char *name, int *number)
{
    size_t length = strlen(ops->name);
    *number = 0;
    if (strcmp(name, ops->name) == 0)
        return true;
    if (!ops->count || strncmp(name, ops->name, length) != 0 || name[length] != ':')
        return false;
    char *end;
    long found = strtol(name + length + 1, &end, 10);
    bool is_number = end != name + length + 1 && *end == '\0';
    *number = is_number && found >= 0 && found < count_of(ops) ? (int)found : -1;
    return true;
}

/* The first GPU of the first kind that has one, in the table's order. */
static cornu_status find_gpu(device_id *out)
{
    cornu_device_info info;
    char why[sizeof info.reason] = "";
    for (int i = 0; device_at(i, out, &info); i++) {
        if (info.gpu && info.available)
            return CORNU_OK;
        if (*why == '\0')
            snprintf(why, sizeof why, "%s", info.reason);
    }
    return status_fail(CORNU_NOT_FOUND, "device gpu: not available: %s", why);
}

cornu_status device_find(const char *name, device_id *out)
{
    name = name ? name : "cpu";
    if (strcmp(name, "gpu") == 0)
        return find_gpu(out);
    for (int i = 0; device_table[i]; i++) {
        *out = (device_id){.ops = device_table[i]};
        if (!is_row(device_table[i], name, &out->number))
            continue;
        cornu_device_info info;
        describe(&(device_id){device_table[i], out->number > 0 ? out->number : 0}, &info);
        if (!info.available)
            return status_fail(CORNU_NOT_FOUND, "device %s: not available: %s", name, info.reason);
        if (out->number >= 0)
            return CORNU_OK;
        break;
    }
    char *list = NULL;
    TRY(names_of_all(&list));
    cornu_status status =
        status_fail(CORNU_NOT_FOUND, "device: found \"%s\"; this machine has %s", name, list);
    free(list);
    return status;
}

bool cornu_device_info_get(int index, cornu_device_info *info)
{
    device_id id;
    cornu_device_info own;
    return index >= 0 && info && device_at(index, &id, &own) &&
           STRUCT_WRITE("cornu_device_info", info, &own) == CORNU_OK;
}

cornu_status device_isa(const char **name)
{
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    *name = cpu_isa_name(isa);
    return CORNU_OK;
}
