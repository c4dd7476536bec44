/* The device's sensors, read through NVML. */
#include "device/cuda/plugin/core.h"

enum { SUCCESS = 0 };

cornu_status cuda_sensors(gpu *g, device_sensors *out)
{
    const cuda_libraries *lib = cuda_of(g)->lib;
    nvmlDevice_t sensor = cuda_of(g)->nvml;
    unsigned value;
    unsigned long long large;
    if (!sensor)
        return CORNU_OK;
    if (lib->nvmlDeviceGetPowerUsage(sensor, &value) == SUCCESS)
        out->watts = value * 1e-3;
    if (lib->nvmlDeviceGetTotalEnergyConsumption(sensor, &large) == SUCCESS)
        out->joules = (double)large * 1e-3;
    if (lib->nvmlDeviceGetClockInfo(sensor, NVML_CLOCK_SM, &value) == SUCCESS)
        out->clock_mhz = value;
    if (lib->nvmlDeviceGetClockInfo(sensor, NVML_CLOCK_MEM, &value) == SUCCESS)
        out->memory_clock_mhz = value;
    if (lib->nvmlDeviceGetTemperature(sensor, NVML_TEMPERATURE_GPU, &value) == SUCCESS)
        out->celsius = value;
    if (lib->nvmlDeviceGetCurrentClocksThrottleReasons(sensor, &large) == SUCCESS)
        out->throttled = NVML_THROTTLED(large);
    return CORNU_OK;
}
