/* NVIDIA's libraries, opened at run time. Their headers are needed to build the plug-in, the
   libraries themselves neither to build nor to open it. */
#ifndef DEVICE_CUDA_PLUGIN_LIBRARIES_H
#define DEVICE_CUDA_PLUGIN_LIBRARIES_H

#include "base/env.h"
#include "base/status.h"
#include "device/cuda/plugin/nvml.h"
#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>

/* One pointer a function, called like it: gpu->lib->cuMemAlloc(...). The headers' macros give the
   versioned names (cuMemAlloc_v2) on both sides. The compiler warns where a status is dropped. */
#define FUNCTION(name) __attribute__((warn_unused_result)) __typeof__(name) *name;
typedef struct cuda_libraries {
#define CUDA(name) FUNCTION(name)
#define BLAS(name) FUNCTION(name)
#define NVML(name) FUNCTION(name)
#include "device/cuda/plugin/libraries.def"
    bool has_nvml;     /* NVML may be absent: then sensors are NAN */
    char driver[64];   /* "580.65.06", or "CUDA 13.0" without NVML */
    char versions[64]; /* "CUDA 13.0, cuBLASLt 13.1" */
} cuda_libraries;

/* cuDNN, which may be absent: only convolutions use it, and cornu's kernels can replace it. */
typedef struct cudnn_library {
#define DNN(name) FUNCTION(name)
#include "device/cuda/plugin/libraries.def"
    int version;   /* 91300 */
    char name[32]; /* "cuDNN 9.13.0" */
} cudnn_library;
#undef FUNCTION

/* Opened once for the process, at the first call; later calls give the same result. Fails with
   CORNU_NOT_FOUND: "no CUDA driver (...); install ...", "driver 550 ... is too old", "driver ...
   found, libcublasLt.so.13 not found; install ...", "no CUDA device (...)". */
cornu_status cuda_libraries_get(const cuda_libraries **out);
/* The same of cuDNN; CORNU_NOT_FOUND: "libcudnn.so.9 not found; install ...". */
cornu_status cudnn_library_get(const cudnn_library **out);

/* Every call's status goes through these: CORNU_DEVICE (CORNU_OUT_OF_MEMORY for the driver's)
   with the call's and the error's names: "device cuda:0: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY
   (out of memory)". `call` may include its arguments; a negative device means no particular one. */
cornu_status cuda_check(const cuda_libraries *lib, int device, CUresult result, const char *call);
cornu_status blas_check(const cuda_libraries *lib, int device, cublasStatus_t result,
                        const char *call);
cornu_status dnn_check(const cudnn_library *lib, int device, cudnnStatus_t result,
                       const char *call);
/* After such an error nothing works on the device until the process (or its context) ends. */
bool cuda_is_lost(CUresult result);

/* In functions that return a cornu_status and have a `gpu *g`: TRY(CU(g, cuMemAlloc(&p, n))). */
#define CU(g, call) cuda_check_on((g), cuda_of(g)->lib->call, #call)
#define BLASLT(g, call) blas_check(cuda_of(g)->lib, (g)->number, cuda_of(g)->lib->call, #call)
#define CUDNN(g, call) dnn_check(cuda_of(g)->dnn.lib, (g)->number, cuda_of(g)->dnn.lib->call, #call)
/* For releasing resources after all work: a failure is only logged. */
#define GIVE_UP_OF(g, lib, call)                                         \
    do {                                                                 \
        if ((lib)->call != 0)                                            \
            log_line("device %s: cannot give up: %s", (g)->name, #call); \
    } while (0)
#define GIVE_UP(g, call) GIVE_UP_OF(g, cuda_of(g)->lib, call)
#define GIVE_UP_CUDNN(g, call) GIVE_UP_OF(g, cuda_of(g)->dnn.lib, call)

#endif
