/* The simulated libnvidia-ml: plausible numbers, and energy that grows with the work done. */
#pragma GCC visibility push(default)
#include "device/cuda/plugin/nvml.h"
#include "simulated.h"
#pragma GCC visibility pop
#include <stdio.h>
#include <stdlib.h>

enum { NVML_ERROR_UNINITIALIZED = 1, NVML_ERROR_INVALID_ARGUMENT = 2, NVML_ERROR_NOT_FOUND = 6 };

struct nvmlDevice_st {
    unsigned number;
};
enum { DEVICES_MAX = 8 };
static struct nvmlDevice_st devices[DEVICES_MAX];
static int users;

static nvmlReturn_t enter(const char *function)
{
    nvmlReturn_t r = simulated_enter(function);
    return r == 0 && users == 0 ? NVML_ERROR_UNINITIALIZED : r;
}

static nvmlReturn_t leave(nvmlReturn_t r)
{
    simulated_leave();
    return r;
}

nvmlReturn_t nvmlInit_v2(void)
{
    nvmlReturn_t r = simulated_enter(__func__);
    users += r == 0;
    return leave(r);
}

nvmlReturn_t nvmlShutdown(void)
{
    nvmlReturn_t r = enter(__func__);
    users -= r == 0;
    return leave(r);
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case 0:
        return "Success";
    case NVML_ERROR_UNINITIALIZED:
        return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_ERROR_NOT_FOUND:
        return "Not Found";
    default:
        return "Unknown Error";
    }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    nvmlReturn_t r = enter(__func__);
    if (r == 0)
        snprintf(version, length, "580.00.01");
    return leave(r);
}

/* Ids as cuDeviceGetPCIBusId gives them, with 4 or 8 digits of domain. */
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
    unsigned domain, bus;
    nvmlReturn_t r = enter(__func__);
    if (r == 0 && (!bus_id || sscanf(bus_id, "%x:%x:", &domain, &bus) != 2 || domain != 0 ||
                   bus < 1 || bus > DEVICES_MAX))
        r = NVML_ERROR_NOT_FOUND;
    if (r == 0) {
        devices[bus - 1].number = bus - 1;
        *device = &devices[bus - 1];
    }
    return leave(r);
}

static nvmlReturn_t enter_device(const char *function, nvmlDevice_t device)
{
    nvmlReturn_t r = enter(function);
    bool known = device >= devices && device < devices + DEVICES_MAX;
    return r == 0 && !known ? NVML_ERROR_INVALID_ARGUMENT : r;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts)
{
    nvmlReturn_t r = enter_device(__func__, device);
    if (r == 0)
        *milliwatts = 123456;
    return leave(r);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long *millijoules)
{
    nvmlReturn_t r = enter_device(__func__, device);
    if (r == 0)
        *millijoules = 1000000 + 5 * (unsigned long long)simulated_work_done();
    return leave(r);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int clock, unsigned *megahertz)
{
    nvmlReturn_t r = enter_device(__func__, device);
    if (r == 0 && clock != NVML_CLOCK_SM && clock != NVML_CLOCK_MEM)
        r = NVML_ERROR_INVALID_ARGUMENT;
    if (r == 0)
        *megahertz = clock == NVML_CLOCK_SM ? 1980 : 2619;
    return leave(r);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius)
{
    nvmlReturn_t r = enter_device(__func__, device);
    if (r == 0 && sensor != NVML_TEMPERATURE_GPU)
        r = NVML_ERROR_INVALID_ARGUMENT;
    if (r == 0)
        *celsius = 45;
    return leave(r);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long *reasons)
{
    nvmlReturn_t r = enter_device(__func__, device);
    if (r == 0)
        *reasons = (unsigned long long)simulated_number("SIMULATED_NVML_THROTTLE", 0);
    return leave(r);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlReturn_t r = enter(__func__);
    (void)device;
    if (r == 0) {
        memory->total = (unsigned long long)simulated_number("SIMULATED_CUDA_MEMORY", 1l << 31);
        memory->free = memory->total;
        memory->used = 0;
    }
    return leave(r);
}
