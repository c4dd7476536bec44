#include "device/device.h"

bool cornu_device_info_get(int index, cornu_device_info *info)
{
    device_id id;
    return index >= 0 && info && device_at(index, &id, info);
}
