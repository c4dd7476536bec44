/* Declarations for the files of this folder and a plug-in's core, but not for its operations:
   memory, variables, the queue of steps, samples, and prepared plans. */
#ifndef DEVICE_ACCELERATOR_CORE_H
#define DEVICE_ACCELERATOR_CORE_H

#include "base/threads.h"
#include "device/accelerator/gpu.h"

/* ---- memory.c ---------------------------------------------------------------------------- */

typedef struct gpu_memory {
    gpu_address at;
    size_t bytes;
} gpu_memory;

/* Every tensor with its own memory begins at a multiple of this. */
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
/* Copy between host and device, in the order of the device's work, and wait for it. */
cornu_status gpu_upload(gpu *g, gpu_address to, const void *from, size_t bytes);
cornu_status gpu_download(gpu *g, void *to, gpu_address from, size_t bytes);

/* ---- variables.c ------------------------------------------------------------------------- */

cornu_status gpu_bind(gpu *g, const cornu_model *model);
void gpu_variables_free(gpu *g);
cornu_status gpu_read_variable(gpu *g, int number, float *values, int64_t count);
cornu_status gpu_write_variable(gpu *g, int number, const float *values, int64_t count);
/* Values of a tensor between the host's plain layout and the device's
   (gpu_driver.conv_kernels_by_output). */
cornu_status gpu_read_values(gpu *g, gpu_address from, const shape *s, tensor_form form,
                             float *values, int64_t count);
cornu_status gpu_write_values(gpu *g, gpu_address to, const shape *s, tensor_form form,
                              const float *values, int64_t count);

/* ---- samples.c --------------------------------------------------------------------------- */

/* A block of samples that stays on the device. */
typedef struct gpu_resident {
    const void *x, *y, *weight; /* the host's, by which it is known */
    int64_t count;
    gpu_memory memory; /* x, then y and the weights at multiples of GPU_ALIGNMENT */
    gpu_address y_at, weight_at;
} gpu_resident;
enum { GPU_RESIDENT_MOST = 4, GPU_STAGES_MOST = 4 };

/* Batches that are gathered by the host, in turn: one is filled while others travel and are used.
 */
typedef struct gpu_stages {
    unsigned char *pinned; /* [count][bytes] */
    gpu_memory memory;     /* the same on the device */
    size_t bytes;          /* bytes of one batch, as in gpu_resident.memory */
    int count;
} gpu_stages;

cornu_status gpu_upload_samples(gpu *g, const sample_block *samples);
void gpu_samples_free(gpu *g);
/* Bytes that may still be taken: what is free, and what resident samples would give back. */
cornu_status gpu_memory_left(gpu *g, double *bytes);
/* Make `bytes` available, by giving up resident samples where need be. */
cornu_status gpu_memory_make_room(gpu *g, double bytes);
/* How many steps on these samples may be under way; allocates what streaming needs. */
cornu_status gpu_samples_depth(gpu *g, const prepared *p, const sample_block *samples, int *depth);
/* Fill in the samples' fields of step number `step`, and begin to copy what is not resident. */
cornu_status gpu_samples_fill(gpu *g, const prepared *p, const step_input *input, int64_t step,
                              gpu_step *out);

/* ---- queue.c ----------------------------------------------------------------------------- */

enum { GPU_BURST = 16 };

/* Steps on their way: [finished, launched) are the device's, [launched, queued) wait here. Entry n
   of a ring is that of the steps n, n + its length, ... */
typedef struct gpu_queue {
    gpu_step steps[GPU_QUEUE];
    gpu_memory numbers;    /* [depth][capacity] numbers of samples, then [capacity] 0, 1, ... */
    int64_t *host_numbers; /* pinned [depth][capacity] */
    int64_t capacity;
    int depth;
    int64_t end[GPU_QUEUE]; /* end of the launch of each step: its last step + 1 */
    int64_t queued, launched, finished;
    prepared *plan; /* whose steps wait */
} gpu_queue;

void gpu_queue_close(gpu *g);
/* Device memory of rings for batches of this size, and rings of at least that size. */
size_t gpu_queue_bytes(int64_t batch);
cornu_status gpu_queue_reserve(gpu *g, int64_t batch);
/* Give the rings' memory back until they are reserved again; nothing is under way. */
void gpu_queue_give_back(gpu *g);
/* Copy entries [from, to) of a ring of `length` entries of `bytes`, concurrently with other
   work. */
cornu_status gpu_copy_ring(gpu *g, gpu_address ring, const void *host, size_t bytes, int length,
                           int64_t from, int64_t to);
/* Copy the inputs of the steps that wait. */
cornu_status gpu_queue_copy_inputs(gpu *g);
/* Wait until the steps before number `step` are finished; they have been launched. */
cornu_status gpu_queue_wait_for(gpu *g, int64_t step);
/* *idle: all launched steps are finished. */
cornu_status gpu_queue_is_idle(gpu *g, bool *idle);
/* Launch what is queued. */
cornu_status gpu_flush(gpu *g);
/* Launch what is queued, and wait until nothing is under way. */
cornu_status gpu_drain(gpu *g);
cornu_status gpu_get_results(gpu *g, step_results *out, bool reset);

/* ---- prepare.c ----------------------------------------------------------------------------- */

/* Bytes of a plan's buffers, and (offsets not NULL) where each begins. */
cornu_status gpu_buffer_offsets(const gpu *g, const plan *p, size_t *offsets, size_t *bytes);
/* gpu_kernel.with_updates: are all updates launched together? */
static inline bool gpu_updates_together(const gpu *g)
{
    gpu_kernel_list list = g->driver->kernels[OP_UPDATE];
    return list && list[0] && list[0]->with_updates;
}
/* gpu_driver.absorbs */
static inline bool gpu_absorbs(const gpu *g, const plan *p, const op *o)
{
    return g->driver->absorbs && g->driver->absorbs(g, p, o);
}

struct prepared {
    const plan *plan;
    selection chosen;     /* no kernel: what is done with the updates */
    bool *tried;          /* [op_count]: gpu_kernel.try_first, and it has worked */
    size_t *offsets;      /* [tensor_count]: bytes from the start of the arena, or of .constants */
    gpu_address *tensors; /* [tensor_count], as long as .moves is the device's */
    int64_t moves;
    gpu_memory constants; /* the plan's */
    size_t arena_bytes, scratch_bytes;
    int first_update;           /* operation, where all updates are done together; else -1 */
    const optimizer *optimizer; /* optimizer of the updates, or NULL */
    bool gathers, needs_model;
    const op *host_gather; /* GATHER, where the host makes what it writes of the samples; or NULL */
    void *resolved;        /* the driver's, between its `resolve` and `forget` */
};

/* The first operation without a kernel; NULL: all have one. */
const op *gpu_lacks(gpu *g, const plan *p);
cornu_status gpu_prepare(gpu *g, const plan *p, prepared **out);
void gpu_release(gpu *g, prepared *p);
/* Addresses, and what the driver makes of them, again, where memory has moved since. */
cornu_status gpu_resolve(gpu *g, prepared *p);
cornu_status gpu_read(gpu *g, prepared *p, tensor_ref t, float *values, int64_t count);
cornu_status gpu_write(gpu *g, prepared *p, tensor_ref t, const float *values, int64_t count);

/* The kernel that runs operation `i`, or NULL. */
static inline const gpu_kernel *gpu_kernel_at(const prepared *p, int i)
{
    return (const gpu_kernel *)(const void *)p->chosen.kernels[i];
}
/* The operations at which something is enqueued: the first (i: -1), and the one after `i`;
   op_count past the end. */
int gpu_next_op(const prepared *p, int i);
/* Call operation `i`'s kernel, not at .first_update. */
cornu_status gpu_enqueue_op(gpu *g, const prepared *p, int i);

/* ---- run.c --------------------------------------------------------------------------------- */

cornu_status gpu_run(gpu *g, prepared *p, const step_input *inputs, int steps);
cornu_status gpu_time_operations(gpu *g, prepared *p, const step_input *input, double *seconds);
/* Fill in how many kernels each operation launches. */
cornu_status gpu_count_launches(gpu *g, prepared *p);
cornu_status gpu_choices(gpu *g, prepared *p, kernel_choice *out);
cornu_status gpu_launch_gaps(gpu *g, prepared *p, double *seconds);

/* ---- table.c ----------------------------------------------------------------------------- */

typedef struct gpu_state {
    const char *forced; /* device_options.kernel */
    char lost[512];     /* the message of what ended the device's use; "": it works */
    const cornu_model *model;
    gpu_memory *variable_memory; /* [variable_count] */
    tensor_form *variable_forms;
    int variable_count;
    gpu_memory arena, scratch;
    gpu_memory tables;    /* step_results' tables: two floats for each number, whose sum it is */
    double *shown_tables; /* [table_count], as results gave them last, then room for the device's */
    int table_count;
    int64_t moves; /* how often one of these has moved */
    gpu_queue queue;
    gpu_resident residents[GPU_RESIDENT_MOST];
    gpu_stages stages;
    threads *pool; /* threads that gather; opened by the first batch that is large enough */
    int threads;   /* device_options.threads */
} gpu_state;

#endif
