/* What the files of the plug-in share: the device, a prepared plan, and how an operation gets onto
   the stream.

   A step is recorded once: each operation's kernel is asked to enqueue its work on the device's
   stream while the stream is being captured; the graph is replayed for every step after. What
   changes between steps lies in device memory (kernels/kernels.h: gpu_step), so that the graph
   never does. */
#ifndef DEVICE_CUDA_PLUGIN_GPU_H
#define DEVICE_CUDA_PLUGIN_GPU_H

#include "base/memory.h"
#include "device/cuda/plugin/kernels/kernels.h"
#include "device/cuda/plugin/libraries.h"
#include "device/device.h"

/* The own kernels: kernels/kernels.def. */
typedef enum gpu_function {
#define KERNEL(name, barrier) GPU_##name,
#include "device/cuda/plugin/kernels/kernels.def"
#undef KERNEL
    GPU_FUNCTION_COUNT
} gpu_function;

typedef struct gpu {
    device device; /* .ops */
    const cuda_libraries *lib;
    int number;
    char name[16]; /* "cuda:0" */
    device_precision precision;
    int threads_per_block_most, multiprocessors, capability; /* capability: 90 for 9.0 */
    CUdevice id;
    CUcontext context;
    CUstream stream; /* all work, in order */
    CUmodule module;
    CUfunction functions[GPU_FUNCTION_COUNT];
    cublasLtHandle_t blas;
    cudnnHandle_t dnn;       /* its stream is `stream` */
    int launches;            /* counted by gpu_launch and gpu_count_launch; prepare reads it */
    struct gpu_state *state; /* core.h: variables, buffers, queue, data sets */
} gpu;

/* cuda_check, and remembers that the device is lost: then every later call fails with the first
   message. */
cornu_status gpu_check(const gpu *g, CUresult result, const char *call);

/* One operation while it is enqueued. */
typedef struct gpu_op {
    gpu *g;
    const plan *plan;
    const op *op;
    const op_group *group;                              /* gpu_kernel.group; NULL: `op` alone */
    const CUdeviceptr *tensors;                         /* [plan->tensor_count] */
    CUdeviceptr in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX]; /* 0 where absent */
    void *state;                                        /* what prepare made */
    CUdeviceptr scratch; /* at least what prepare asked for; shared by all operations in turn */
    gpu_clock clock;
    gpu_results *results; /* in device memory */
} gpu_op;

/* One way to run an operation; lists as on the cpu: the first that accepts is used. */
typedef struct gpu_kernel {
    const char *name;
    /* NULL: always. *why: a few words (a constant). */
    bool (*accepts)(const gpu *g, const plan *p, const op *o, const char **why);
    /* optional: descriptors, algorithms. A library's refusal of this shape is CORNU_UNSUPPORTED:
       the next kernel of the list is then asked, and the message is kept as the reason. A failure
       leaves *state alone. */
    cornu_status (*prepare)(gpu *g, const plan *p, const op *o, void **state,
                            size_t *scratch_bytes);
    void (*release)(gpu *g, void *state);
    cornu_status (*enqueue)(const gpu_op *r);
    /* The kind of group that it runs, which is there where `accepts` and all others are asked; they
       see its first operation and find the others by plan_group. GROUP_NONE: an operation alone. */
    group_kind group;
    bool with_updates; /* its work is done by the updates' launches: enqueue is never called */
} gpu_kernel;

/* Made of ops/ *.c: for each kind of operation a NULL-ended list, whose last kernel accepts
   everything; NULL: the device lacks it. UPDATE has none: gpu_updates_enqueue does all of a plan's
   at once. */
typedef const gpu_kernel *const *gpu_kernel_list;
extern const gpu_kernel_list gpu_kernels[OP_COUNT];

/* Tensors of an operation. */
#define GPU_IN(r, i) (&(r)->plan->tensors[(r)->op->in[i]])
#define GPU_OUT(r, i) (&(r)->plan->tensors[(r)->op->out[i]])

/* Enqueue an own kernel: grid and block in blocks and threads (x only, or x, y, z). `params` is the
   kernel's NAME_params. */
typedef struct gpu_grid {
    unsigned x, y, z; /* blocks; 0 counts as 1 */
    unsigned threads; /* of a block: a multiple of 32 */
    unsigned shared_bytes;
} gpu_grid;
cornu_status gpu_launch(gpu *g, gpu_function function, gpu_grid grid, const void *params);
/* A library's call that launches about one kernel. */
void gpu_count_launch(gpu *g);

/* All UPDATE operations of the plan in one launch (three where gradients are clipped by norm): the
   table of variables is made once. */
typedef struct gpu_updates gpu_updates;
cornu_status gpu_updates_prepare(gpu *g, const plan *p, const CUdeviceptr *tensors,
                                 gpu_updates **out);
cornu_status gpu_updates_enqueue(gpu *g, const gpu_updates *u, const gpu_clock *clock);
void gpu_updates_release(gpu *g, gpu_updates *u);
/* Is this DENSE_BACKWARD_WEIGHTS done by the updates' launch, in one with the steps on its
   variables? Then its inputs have to live to the step's end, and its outputs are never written. Not
   where the caller forced another kernel. */
bool gpu_updates_absorb(const gpu *g, const plan *p, const op *o);
/* The end of the step: position + 1, samples, not_finite. Nothing where the loss's launch has done
   it (ops.h: gpu_loss_counts_step). */
cornu_status gpu_end_step_enqueue(gpu *g, const plan *p, int64_t *position, gpu_results *results);

#endif
