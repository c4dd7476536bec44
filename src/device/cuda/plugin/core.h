/* Declarations for the plug-in's files outside ops/. */
#ifndef DEVICE_CUDA_PLUGIN_CORE_H
#define DEVICE_CUDA_PLUGIN_CORE_H

#include "device/accelerator/core.h"
#include "device/accelerator/plugin.h"
#include "device/cuda/plugin/cuda.h"
#include <cornu/tables.h>

/* ---- cuda.c -------------------------------------------------------------------------------- */

cornu_status cuda_open(int number, const device_options *options, device **out);
/* The minimum compute capability (80: 8.0) with units for tf32 and bf16. */
#define CUDA_MATRIX_UNITS 80

/* ---- launch.c ---------------------------------------------------------------------------- */

/* Check that cornu's kernels were compiled for this compute capability (90: 9.0).
   CORNU_UNSUPPORTED names the required build. */
cornu_status cuda_code_check(int capability);
/* Load the own kernels into the current context. */
cornu_status cuda_load_kernels(gpu *g);

/* ---- ops/cudnn.c --------------------------------------------------------------------------- */

/* cuDNN, if it has kernels for this compute capability (90: 9.0). */
cornu_status cuda_dnn_find(int capability, const cudnn_library **out);
/* Nothing where it is not open. */
void cuda_dnn_close(gpu *g);

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

/* ---- time.c, limits.c: gpu_driver ---------------------------------------------------------- */

cornu_status cuda_time_step(gpu *g, prepared *p, int64_t step, double *seconds);
cornu_status cuda_launch_gap(gpu *g, double *first, double *further);
cornu_status cuda_timer(gpu *g, double *seconds);
cornu_status cuda_limits(gpu *g, device_limits *out);

#endif
