/* Declarations of the few functions of NVML (libnvidia-ml.so.1, part of the driver) that are
   called, from NVIDIA's reference, as the CUDA toolkit does not always include its header. */
#ifndef DEVICE_CUDA_PLUGIN_NVML_H
#define DEVICE_CUDA_PLUGIN_NVML_H

typedef int nvmlReturn_t; /* 0: success */
typedef struct nvmlDevice_st *nvmlDevice_t;
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };
typedef struct nvmlMemory_t {
    unsigned long long total, free, used; /* bytes */
} nvmlMemory_t;
/* The reasons for lower clocks that slow a running program down: all except idle (1) and clocks
   that an application requested (2). */
#define NVML_THROTTLED(reasons) (((reasons) & ~3ull) != 0)

nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlShutdown(void);
const char *nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long *millijoules);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int clock, unsigned *megahertz);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long *reasons);

#endif
