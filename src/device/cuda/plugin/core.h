/* What the plug-in's own files share and the operations (ops/) need not know: memory, variables,
   the queue of steps, samples, and prepared plans. */
#ifndef DEVICE_CUDA_PLUGIN_CORE_H
#define DEVICE_CUDA_PLUGIN_CORE_H

#include "device/cuda/plugin.h"
#include "device/cuda/plugin/gpu.h"

/* ---- devices.c: before one is open ------------------------------------------------------- */

int cuda_count(char *reason, size_t size);
void cuda_describe(int number, cornu_device_info *info);
cornu_status gpu_open(int number, const device_options *options, device **out);
/* The least compute capability (80: 8.0) with units for tf32 and bf16. */
#define GPU_MATRIX_UNITS 80

/* ---- memory.c ---------------------------------------------------------------------------- */

typedef struct gpu_memory {
    CUdeviceptr at;
    size_t bytes;
} gpu_memory;

/* Every tensor of its own begins at a multiple of this. */
#define GPU_ALIGNMENT 256
static inline size_t gpu_aligned(size_t bytes)
{
    return (bytes + GPU_ALIGNMENT - 1) / GPU_ALIGNMENT * GPU_ALIGNMENT;
}

/* `what` names it in the message; *m is empty afterwards where it fails. 0 bytes are none. */
cornu_status gpu_memory_new(gpu *g, size_t bytes, const char *what, gpu_memory *m);
void gpu_memory_free(gpu *g, gpu_memory *m);
cornu_status gpu_pinned_new(gpu *g, size_t bytes, const char *what, void *out);
void gpu_pinned_free(gpu *g, void *memory);
/* Bytes that may still be taken: what is free, and what resident samples would give back, less a
   reserve for what the libraries load at their first use. */
cornu_status gpu_memory_left(gpu *g, double *bytes);
/* Make `bytes` available, by giving up resident samples where need be. */
cornu_status gpu_memory_make_room(gpu *g, double bytes);
/* Copy between host and device, in the order of the device's work, and wait for it. */
cornu_status gpu_upload(gpu *g, CUdeviceptr to, const void *from, size_t bytes);
cornu_status gpu_download(gpu *g, void *to, CUdeviceptr from, size_t bytes);

/* ---- variables.c ------------------------------------------------------------------------- */

cornu_status gpu_bind(gpu *g, const cornu_model *model);
void gpu_variables_free(gpu *g);
cornu_status gpu_read_variable(gpu *g, int number, float *values, int64_t count);
cornu_status gpu_write_variable(gpu *g, int number, const float *values, int64_t count);
/* Values of a tensor between the host's plain layout and the device's: FORM_CONV_KERNEL is
   [out][kernel height][kernel width][in / groups] here. */
cornu_status gpu_read_values(gpu *g, CUdeviceptr from, const shape *s, tensor_form form,
                             float *values, int64_t count);
cornu_status gpu_write_values(gpu *g, CUdeviceptr to, const shape *s, tensor_form form,
                              const float *values, int64_t count);

/* ---- samples.c --------------------------------------------------------------------------- */

/* A block of samples that stays on the device. */
typedef struct gpu_resident {
    const void *x, *y, *weight; /* the host's, by which it is known */
    int64_t count;
    gpu_memory memory; /* x, then y and the weights at multiples of GPU_ALIGNMENT */
    CUdeviceptr y_at, weight_at;
} gpu_resident;
enum { GPU_RESIDENT_MOST = 4, GPU_STAGES_MOST = 4 };

/* Batches that are gathered by the host, in turn: one is filled while others travel and are used.
 */
typedef struct gpu_stages {
    unsigned char *pinned; /* [count][bytes] */
    gpu_memory memory;     /* the same on the device */
    size_t bytes;          /* of one batch: as gpu_resident.memory */
    int count;
} gpu_stages;

cornu_status gpu_upload_samples(gpu *g, const sample_block *samples);
void gpu_samples_free(gpu *g);
/* Give resident samples up until `bytes` more are free; waits for the steps that read them. */
cornu_status gpu_samples_evict(gpu *g, double bytes);
double gpu_samples_bytes(const gpu *g);
/* How many steps on these samples may be under way; allocates what streaming needs. */
cornu_status gpu_samples_depth(gpu *g, const plan *p, const sample_block *samples, int *depth);
/* Fill in the samples' fields of step number `step`, and begin to copy what is not resident. */
cornu_status gpu_samples_fill(gpu *g, const plan *p, const step_input *input, int64_t step,
                              gpu_step *out);

/* ---- queue.c ----------------------------------------------------------------------------- */

enum { GPU_BURST = 16 };

/* Steps on their way: [finished, launched) are the device's, [launched, queued) wait here. Entry n
   of a ring is that of the steps n, n + its length, ... */
typedef struct gpu_queue {
    gpu_memory fixed; /* gpu_results, position, gpu_step[GPU_QUEUE]; see queue.c */
    gpu_clock clock;
    int64_t *position;
    gpu_results *results;
    gpu_step *steps;           /* pinned [GPU_QUEUE] */
    gpu_results *host_results; /* pinned */
    gpu_memory numbers;        /* [depth][capacity] numbers of samples, then [capacity] 0, 1, ... */
    int64_t *host_numbers;     /* pinned [depth][capacity] */
    int64_t capacity;
    int depth;
    CUstream copies; /* of what steps read: beside the device's other work */
    CUevent copied;
    CUevent done[GPU_QUEUE]; /* behind the launch that ended with this step */
    int64_t end[GPU_QUEUE];  /* of the step's launch: its last step + 1 */
    int64_t queued, launched, finished;
    prepared *plan; /* whose steps wait */
} gpu_queue;

cornu_status gpu_queue_open(gpu *g);
void gpu_queue_close(gpu *g);
/* Device memory of rings for batches of this size, and rings of at least that size. */
size_t gpu_queue_bytes(int64_t batch);
cornu_status gpu_queue_reserve(gpu *g, int64_t batch);
cornu_status gpu_run(gpu *g, prepared *p, const step_input *inputs, int steps);
/* Queue one step, and copy what the queued steps read, but launch nothing. */
cornu_status gpu_queue_alone(gpu *g, prepared *p, const step_input *input);
/* The steps that were queued have been put onto the stream. */
cornu_status gpu_queue_launched(gpu *g);
cornu_status gpu_flush(gpu *g);
/* Launch what is queued, and wait until nothing is under way. */
cornu_status gpu_drain(gpu *g);
cornu_status gpu_get_results(gpu *g, step_results *out, bool reset);

/* ---- buffers.c --------------------------------------------------------------------------- */

/* Bytes of a plan's buffers, and (offsets not NULL) where each begins. */
cornu_status gpu_buffer_offsets(const gpu *g, const plan *p, size_t *offsets, size_t *bytes);

/* ---- prepare.c, step.c ------------------------------------------------------------------- */

struct prepared {
    const plan *plan;
    const gpu_kernel **kernels; /* [op_count]; NULL: UPDATE, or within another's */
    void **states;              /* [op_count] */
    const op_group **groups;    /* [op_count]: that the kernel runs; NULL: the operation alone */
    kernel_choice *choices;     /* [op_count] */
    char **names;               /* [op_count]: the choices' "cuda/KERNEL" */
    size_t *offsets;            /* [tensor_count]: buffers' bytes from the arena's start */
    CUdeviceptr *tensors;       /* [tensor_count], as long as .moves is the device's */
    int64_t moves;
    size_t arena_bytes, scratch_bytes;
    int first_update;           /* operation; -1: none */
    const optimizer *optimizer; /* of the updates, or NULL */
    gpu_updates *updates;
    bool gathers, needs_model;
    bool has_run;    /* libraries have loaded what they load at their first use */
    bool uncaptured; /* capture failed once: steps are launched operation by operation */
    CUgraphExec one, burst;
};

/* The first operation without a kernel; NULL: all have one. */
const op *gpu_lacks(const plan *p);
cornu_status gpu_prepare(gpu *g, const plan *p, prepared **out);
void gpu_release(gpu *g, prepared *p);
/* Addresses, tables and graphs again, where memory has moved since. */
cornu_status gpu_resolve(gpu *g, prepared *p);
cornu_status gpu_choices(gpu *g, prepared *p, kernel_choice *out);
cornu_status gpu_read(gpu *g, prepared *p, tensor_ref t, float *values, int64_t count);
cornu_status gpu_write(gpu *g, prepared *p, tensor_ref t, const float *values, int64_t count);

/* Put `count` steps onto the stream. */
cornu_status gpu_launch_steps(gpu *g, prepared *p, int64_t count);
/* Operation `i` (with those fused with it), or all updates at .first_update. */
cornu_status gpu_enqueue_op(gpu *g, const prepared *p, int i);
/* The number of the operation behind what runs at `i`: an operation or a group. */
static inline int gpu_behind(const prepared *p, int i)
{
    return i + (p->groups[i] ? p->groups[i]->count : 1);
}
/* The operations at which something is enqueued: the first, and the one after `i`. */
int gpu_next_op(const prepared *p, int i);

/* ---- time.c ------------------------------------------------------------------------------ */

cornu_status gpu_time_operations(gpu *g, prepared *p, const step_input *input, double *seconds);
cornu_status gpu_timer(gpu *g, double *seconds);

/* ---- limits.c, sensors.c ----------------------------------------------------------------- */

cornu_status gpu_limits(gpu *g, device_limits *out);
cornu_status gpu_sensors(gpu *g, device_sensors *out);

/* ---- gpu.c ------------------------------------------------------------------------------- */

typedef struct gpu_state {
    const char *forced; /* device_options.kernel */
    char lost[512];     /* the message of what ended the device's use; "": it works */
    const cornu_model *model;
    gpu_memory variable_memory;
    CUdeviceptr *variables;
    tensor_form *variable_forms;
    int variable_count;
    gpu_memory arena, scratch;
    int64_t moves; /* how often one of these has moved */
    gpu_queue queue;
    gpu_resident residents[GPU_RESIDENT_MOST];
    gpu_stages stages;
    CUevent clock[2]; /* the timer's start and end */
    nvmlDevice_t nvml;
} gpu_state;

/* The device's use ends here: every later call fails with the present message. */
cornu_status gpu_lose(const gpu *g, cornu_status status);

#endif
