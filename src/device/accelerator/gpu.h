/* The common part of devices with separate memory, for any driver: a plug-in provides gpu_driver
   and its lists of kernels, and this folder does the rest: variables, addresses of buffers,
   resident or streamed samples, the queue of steps, the choice of kernels. Each plug-in is
   linked with these files. */
#ifndef DEVICE_ACCELERATOR_GPU_H
#define DEVICE_ACCELERATOR_GPU_H

#include "base/memory.h"
#include "device/rules/optimizer_constants.h"
#include "device/select.h"

/* A place in the device's memory; 0: none. One plus a number of bytes is one, within what
   gpu_driver.memory_new gave. What it is the driver's: CUDA's pointers, OpenCL's buffers (by
   number) and an offset. */
typedef uint64_t gpu_address;

typedef struct gpu gpu;

/* One operation while it is enqueued. */
typedef struct gpu_op {
    gpu *g;
    const plan *plan;
    const op *op;
    const op_group *group;                              /* gpu_kernel.group; NULL: only `op` */
    const gpu_address *tensors;                         /* [plan->tensor_count] */
    gpu_address in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX]; /* 0 where absent */
    void *state;                                        /* made by prepare */
    gpu_address scratch; /* at least what prepare asked for; shared by all operations in turn */
    gpu_address tables;  /* sum2 [plan->table_count]: TALLY adds to them */
} gpu_op;

/* One way to run an operation. */
typedef struct gpu_kernel {
    KERNEL_INFO;
    /* NULL: always. *why: a few words (a constant). */
    bool (*accepts)(const gpu *g, const plan *p, const op *o, const char **why);
    /* optional: descriptors, algorithms; selector.prepare. A library's refusal of this shape is
       CORNU_UNSUPPORTED. */
    cornu_status (*prepare)(gpu *g, const plan *p, const op *o, void **state,
                            size_t *scratch_bytes);
    void (*release)(gpu *g, void *state);
    cornu_status (*enqueue)(const gpu_op *r);
    /* All of a plan's updates, together with what else has this mark, are launched at once after
       the step's other operations: enqueue is never called. Where UPDATE has such a kernel, it has
       no other. */
    bool with_updates;
    /* Only for single operations. The kernel may turn out not to work on this device when it
       first runs, so it is enqueued once while the plan is prepared, with arbitrary buffer
       contents; a failure is a refusal, as if `prepare` had failed. */
    bool try_first;
} gpu_kernel;

/* For each kind of operation a NULL-terminated list, whose last kernel accepts everything;
   empty, or NULL: the device lacks the operation. */
typedef const gpu_kernel *const *gpu_kernel_list;

/* Tensors of an operation. */
#define GPU_IN(r, i) (&(r)->plan->tensors[(r)->op->in[i]])
#define GPU_OUT(r, i) (&(r)->plan->tensors[(r)->op->out[i]])

/* ---- what a step reads that changes from step to step -----------------------------------------
 */

/* Steps that may be under way. */
enum { GPU_QUEUE = 64 };

typedef struct gpu_step {
    gpu_address x, y;   /* address of the samples: the resident data set, or the staged batch */
    gpu_address weight; /* weights of the samples; 0: 1 each */
    gpu_address index;  /* [batch] int64_t: rows of x and y */
    gpu_address sample; /* [batch] int64_t: the samples' own numbers, key of augmentation */
    uint64_t seed;
    int64_t iteration, epoch;
    int64_t first; /* step_input.first */
    float learning_rate;
    optimizer_factors factors;
    float x_scale; /* the network sees x * x_scale */
    bool x_bytes;  /* x holds bytes (uint8_t); else floats */
    bool y_labels; /* y holds class numbers (int32_t); else floats */
    int64_t height, width,
        channels; /* size of its images (x_shape), if they have three dimensions */
} gpu_step;

/* ---- what a plug-in fills in ------------------------------------------------------------------
 */

/* All work is done in order, except concurrent copies. Functions fail with CORNU_OUT_OF_MEMORY
   or CORNU_DEVICE; if the device can no longer be used, the function calls gpu_lose first. */
typedef struct gpu_driver {
    const char *name;               /* "cuda": of devices and, before the '/', of kernels */
    const gpu_kernel_list *kernels; /* [OP_COUNT] */

    /* optional: around every call of the device's table */
    cornu_status (*enter)(gpu *g);
    cornu_status (*leave)(gpu *g, cornu_status status);
    /* Free the plug-in's own struct, of which `gpu` is the first member; all that is shared has
       been freed. */
    void (*close)(gpu *g);

    /* `bytes` > 0 */
    cornu_status (*memory_new)(gpu *g, size_t bytes, gpu_address *out);
    void (*memory_free)(gpu *g, gpu_address at);
    /* Bytes that are free, less what the driver needs for itself later; `largest`: of one piece of
       memory (INFINITY: no limit). */
    cornu_status (*memory_info)(gpu *g, double *left, double *largest);
    /* Host memory from which copies are fast. */
    cornu_status (*pinned_new)(gpu *g, size_t bytes, void **out);
    void (*pinned_free)(gpu *g, void *memory);

    /* `from` stays unchanged until the copy is done. `beside`: concurrently with other work;
       work that is enqueued after `join` runs after the copy. */
    cornu_status (*copy_in)(gpu *g, gpu_address to, const void *from, size_t bytes, bool beside);
    cornu_status (*join)(gpu *g);
    /* Waits. */
    cornu_status (*copy_out)(gpu *g, void *to, gpu_address from, size_t bytes);
    cornu_status (*clear)(gpu *g, gpu_address at, size_t bytes);
    cornu_status (*synchronize)(gpu *g);
    /* Mark number 0 to GPU_QUEUE - 1 comes after all that has been enqueued. */
    cornu_status (*mark)(gpu *g, int number);
    cornu_status (*wait)(gpu *g, int number);
    cornu_status (*reached)(gpu *g, int number, bool *yes);

    /* Make the driver's data for a plan, p->resolved, once its tensors' addresses are known.
       `forget` frees it before they change, and at the end, also after `resolve` failed; it is
       not called if p->resolved is NULL. */
    cornu_status (*resolve)(gpu *g, prepared *p);
    void (*forget)(gpu *g, prepared *p);
    /* Enqueue steps number `first` to `first` + count - 1, whose gpu_steps are entries
       number % GPU_QUEUE of the queue's ring. */
    cornu_status (*launch_steps)(gpu *g, prepared *p, int64_t first, int64_t count);
    /* Kernels that operation `i` launches. */
    cornu_status (*count_launches)(gpu *g, prepared *p, int i, int *launches);
    /* Enqueue step number `step`, with a clock around each operation, and wait:
       seconds[op_count], 0 at the start. */
    cornu_status (*time_step)(gpu *g, prepared *p, int64_t step, double *seconds);
    /* optional: seconds that an operation of one empty kernel takes by that clock, and each further
       empty kernel of the same operation. NULL: the clock is within the kernels. */
    cornu_status (*launch_gap)(gpu *g, double *first, double *further);
    /* The sums since the last reset; waits. */
    cornu_status (*results)(gpu *g, step_results *out, bool reset);

    /* optional: does the launch of all updates (gpu_kernel.with_updates) also make the outputs of
       `o`, a DENSE_BACKWARD_WEIGHTS, which then are never written? */
    bool (*absorbs)(const gpu *g, const plan *p, const op *o);

    /* Samples that are transformed or standardized are made by the host, as the network sees them.
     */
    bool host_transforms;
    /* The layout of FORM_CONV_KERNEL on the device is [out][kernel height][kernel width][in /
       groups]; else as on the host. */
    bool conv_kernels_by_output;

    /* as in device_ops */
    cornu_status (*limits)(gpu *g, device_limits *out);
    cornu_status (*timer)(gpu *g, double *seconds);
    cornu_status (*sensors)(gpu *g, device_sensors *out); /* optional */
    cornu_status (*idle)(gpu *g, device_idle *out);       /* optional */
    /* optional, all three or none */
    cornu_status (*tuning)(gpu *g, device_tuning *out);
    bool (*tuning_candidate)(gpu *g, const char *from, int stage, int index,
                             char text[TUNING_TEXT]);
    cornu_status (*tuning_keep)(gpu *g, const char *text, device_tuning *kept);
    const char *(*notice)(const gpu *g); /* optional */
} gpu_driver;

struct gpu {
    device device; /* .ops: gpu_ops */
    const gpu_driver *driver;
    int number;
    char name[16]; /* "cuda:0" */
    device_precision precision;
    int launches;            /* counted by the plug-in's launches */
    double host_seconds;     /* host time for enqueueing the last timed step; 0: not known */
    struct gpu_state *state; /* core.h */
};

/* The table of every device of this kind, but for `open`, which is the plug-in's. */
extern const device_ops gpu_ops;
/* Fill in what is shared of a new device, whose memory is zeroed: its name is in messages from then
   on. None of the driver's calls is needed yet. A failure leaves it for gpu_close_all. */
cornu_status gpu_open_shared(gpu *g, const gpu_driver *driver, int number,
                             const device_options *options);
/* Give everything back that is shared, then driver->close: also after a failure, whose message
   stays, and what gpu_ops has as `close`. Where the driver's `enter` fails, so be it. */
void gpu_close_all(gpu *g);

/* The device's use ends here: every later call fails with the present message. Returns `status`. */
cornu_status gpu_lose(const gpu *g, cornu_status status);

#endif
