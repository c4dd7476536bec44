/* Declarations for the plug-in's files outside ops/. */
#ifndef DEVICE_CUDA_PLUGIN_CORE_H
#define DEVICE_CUDA_PLUGIN_CORE_H

#include "device/accelerator/core.h"
#include "device/accelerator/plugin.h"
#include "device/cuda/plugin/cuda.h"
#include <cornu/tables.h>

/* ---- devices.c: before one is open; cuda.c ------------------------------------------------ */

int cuda_count(char *reason, size_t size);
void cuda_describe(int number, cornu_device_info *info);
cornu_status cuda_open(int number, const device_options *options, device **out);
/* Check that cornu's kernels were compiled for this compute capability (90: 9.0).
   CORNU_UNSUPPORTED names the required build. */
cornu_status cuda_code_check(int capability);
/* The minimum compute capability (80: 8.0) with units for tf32 and bf16. */
#define CUDA_MATRIX_UNITS 80

/* ---- contexts.c ---------------------------------------------------------------------------- */

/* Retain the device's primary context, which the process keeps from its first use to its end:
   creating it takes a fifth of a second, and other code of the process may use it, too. A lost
   context is released when its last user releases it, so that the next call gets a new one. */
cornu_status cuda_context_take(gpu *g);
/* Does nothing if there is no context. */
void cuda_context_let_go(gpu *g);

/* ---- dnn.c --------------------------------------------------------------------------------- */

/* cuDNN, if it has kernels for this compute capability (90: 9.0). */
cornu_status cuda_dnn_find(int capability, const cudnn_library **out);
/* Nothing where it is not open. */
void cuda_dnn_close(gpu *g);

/* ---- driver.c ------------------------------------------------------------------------------ */

extern const gpu_driver cuda_driver;
/* gpu_driver: around every call of the device's table, and at the end. */
cornu_status cuda_enter(gpu *g);
cornu_status cuda_leave(gpu *g, cornu_status status);
void cuda_close(gpu *g);

/* ---- step.c -------------------------------------------------------------------------------- */

/* The queue of steps in device memory; cuda_close frees it. */
cornu_status cuda_steps_open(gpu *g);
void cuda_steps_close(gpu *g);
/* Steps number `first` to `first` + count - 1 become the device's: what the work that is enqueued
   next reads. */
cornu_status cuda_steps_copy(gpu *g, int64_t first, int64_t count);
/* Operation `i` (with those fused with it), or all updates at .first_update. */
cornu_status cuda_enqueue_op(gpu *g, const prepared *p, int i);

/* gpu_driver: */
cornu_status cuda_resolve(gpu *g, prepared *p);
void cuda_forget(gpu *g, prepared *p);
cornu_status cuda_launch_steps(gpu *g, prepared *p, int64_t first, int64_t count);
cornu_status cuda_count_launches(gpu *g, prepared *p, int i, int *launches);
cornu_status cuda_get_results(gpu *g, step_results *out, bool reset);

/* ---- time.c, limits.c, sensors.c: gpu_driver ---------------------------------------------- */

cornu_status cuda_time_step(gpu *g, prepared *p, int64_t step, double *seconds);
cornu_status cuda_launch_gap(gpu *g, double *first, double *further);
cornu_status cuda_timer(gpu *g, double *seconds);
cornu_status cuda_limits(gpu *g, device_limits *out);
cornu_status cuda_sensors(gpu *g, device_sensors *out);

#endif
