#include "base/memory.h"
#include "device/device.h"
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

/* "cpu, reference" */
static void names_of_all(text *names)
{
    for (int i = 0; device_table[i]; i++)
        text_add(names, "%s%s", i ? ", " : "", device_table[i]->name);
}

cornu_status device_find(const char *name, const device_ops **out)
{
    *out = NULL;
    name = name ? name : "cpu";
    for (int i = 0; device_table[i]; i++) {
        if (strcmp(device_table[i]->name, name) != 0)
            continue;
        cornu_device_info info;
        memset(&info, 0, sizeof info);
        device_table[i]->describe(&info);
        if (!info.available)
            return status_fail(CORNU_NOT_FOUND, "device %s: not available: %s", name, info.reason);
        *out = device_table[i];
        return CORNU_OK;
    }
    text names = {0};
    char *list = NULL;
    names_of_all(&names);
    TRY(text_take(&names, &list));
    cornu_status status =
        status_fail(CORNU_NOT_FOUND, "device: found \"%s\"; this build has %s", name, list);
    free(list);
    return status;
}
