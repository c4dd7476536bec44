/* A CUDA device, and how an operation gets onto its stream.

   A step is recorded once: each operation's kernel enqueues its work on the device's stream
   while the stream is captured; every later step replays the graph. Values that change between
   steps are in device memory (kernels/kernels.h: cuda_step), so that the graph never changes. */
#ifndef DEVICE_CUDA_PLUGIN_CUDA_H
#define DEVICE_CUDA_PLUGIN_CUDA_H

#include "device/accelerator/gpu.h"
#include "device/cuda/plugin/kernels/kernels.h"
#include "device/cuda/plugin/libraries.h"

/* The own kernels: kernels/kernels.def. */
typedef enum cuda_function {
#define KERNEL(name, barrier) CUDA_##name,
#include "device/cuda/plugin/kernels/kernels.def"
#undef KERNEL
    CUDA_FUNCTION_COUNT
} cuda_function;

/* cuDNN on a device; all 0 until a convolution asks for it. */
typedef struct cuda_dnn {
    const cudnn_library *lib; /* not NULL if there is a handle */
    cudnnHandle_t handle;     /* its stream is the device's */
    char why[256];            /* it cannot be used; "": it can, or was not asked for */
} cuda_dnn;

typedef struct cuda_gpu {
    gpu g; /* first: gpu_driver.close */
    const cuda_libraries *lib;
    int threads_per_block_most, multiprocessors, capability; /* capability: 90 for 9.0 */
    CUdevice id;
    CUcontext context;
    bool context_lost;       /* nothing works in it any more */
    CUstream stream, copies; /* all work, in order; concurrent copies of the steps' inputs */
    CUevent copied, marks[GPU_QUEUE], timer[2];
    double delay_seconds; /* duration of a round of time.c's delay; 0: not measured yet */
    CUmodule module;
    CUfunction functions[CUDA_FUNCTION_COUNT];
    cublasLtHandle_t blas;
    cuda_dnn dnn;
    nvmlDevice_t nvml;

    /* The queue of steps as the kernels see it: step.c. */
    gpu_address fixed;          /* results, position, steps[CUDA_QUEUE], in device memory: */
    cuda_results *results;      /* there */
    int64_t *position;          /* there */
    cuda_clock clock;           /* `position` and the steps in device memory */
    cuda_step *steps;           /* pinned [CUDA_QUEUE] */
    cuda_results *host_results; /* pinned */
} cuda_gpu;

static inline cuda_gpu *cuda_of(const gpu *g)
{
    return (cuda_gpu *)(uintptr_t)g;
}

/* launch.c: cuda_check, and remembers that the device is lost: then every later call fails with the
   first message. */
cornu_status cuda_check_on(const gpu *g, CUresult result, const char *call);

/* ops/cudnn.c: initialize cuDNN at the first call. If it is absent or does not support this GPU,
   every call returns CORNU_UNSUPPORTED with the reason; after CORNU_OUT_OF_MEMORY the next call
   tries again. */
cornu_status cuda_dnn_open(gpu *g);

/* Enqueue an own kernel: grid and block in blocks and threads (x only, or x, y, z). `params` is the
   kernel's NAME_params. */
typedef struct cuda_grid {
    unsigned x, y, z; /* blocks; 0 counts as 1 */
    unsigned threads; /* threads per block: a multiple of 32 */
    unsigned shared_bytes;
} cuda_grid;
cornu_status cuda_launch(gpu *g, cuda_function function, cuda_grid grid, const void *params);
/* A library's call that launches about one kernel. */
void cuda_count_launch(gpu *g);

/* All UPDATE operations of the plan in one launch (three where gradients are clipped by norm): the
   table of variables is made once. */
typedef struct cuda_updates cuda_updates;
cornu_status cuda_updates_prepare(gpu *g, const plan *p, const gpu_address *tensors,
                                  cuda_updates **out);
cornu_status cuda_updates_enqueue(gpu *g, const cuda_updates *u);
void cuda_updates_release(gpu *g, cuda_updates *u);
/* True if the launch of the updates computes this DENSE_BACKWARD_WEIGHTS, fused with the updates
   of its variables. Its inputs must then live until the end of the step, and its outputs are
   never written. False if the caller forced another kernel. */
bool cuda_updates_absorb(const gpu *g, const plan *p, const op *o);
/* The end of the step: position + 1, samples, not_finite. Nothing where the loss's launch has done
   it (ops.h: cuda_loss_counts_step). */
cornu_status cuda_end_step_enqueue(gpu *g, const plan *p);

#endif
