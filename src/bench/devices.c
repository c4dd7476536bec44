#include "device/device.h"
#include <string.h>

bool cornu_device_info_get(int index, cornu_device_info *info)
{
    if (index < 0 || !info)
        return false;
    for (int i = 0; device_table[i]; i++)
        if (i == index) {
            memset(info, 0, sizeof *info);
            device_table[i]->describe(info);
            return true;
        }
    return false;
}
