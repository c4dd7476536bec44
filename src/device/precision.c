/* Names of the products' precisions. */
#include "device/device.h"
#include <string.h>

static const char *const precisions[] = {
    [PRECISION_FP32] = "fp32", [PRECISION_TF32] = "tf32", [PRECISION_BF16] = "bf16"};

const char *device_precision_name(device_precision precision)
{
    return precisions[precision];
}

cornu_status device_precision_find(const char *name, device_precision *out)
{
    *out = PRECISION_FP32;
    for (int i = 0; name && i <= PRECISION_BF16; i++)
        if (strcmp(name, precisions[i]) == 0) {
            *out = (device_precision)i;
            return CORNU_OK;
        }
    return name ? status_fail(CORNU_INVALID, "precision: found %s; expected fp32, tf32 or bf16",
                              name)
                : CORNU_OK;
}
