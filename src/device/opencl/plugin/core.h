/* Declarations for the plug-in's files outside ops/: memory, programs, recordings. */
#ifndef DEVICE_OPENCL_PLUGIN_CORE_H
#define DEVICE_OPENCL_PLUGIN_CORE_H

#include "device/accelerator/core.h"
#include "device/opencl/plugin/opencl.h"
#include <cornu/tables.h>

/* CL(d, clFinish(d->queue)): the call's status, with its name in the message; a lost device is
   used no more (gpu_lose). */
#define CL(d, call) opencl_check_on(d, (d)->lib->call, #call)
cornu_status opencl_check_on(const opencl *d, cl_int error, const char *call);

/* ---- device.c ---------------------------------------------------------------------------------
 */

cornu_status opencl_open(int number, const device_options *options, device **out);

/* Made of the plan's operations, in order, at `resolve`. */
typedef struct opencl_step_argument {
    cl_uint index;
    opencl_step_field field;
} opencl_step_argument;
enum { OPENCL_STEP_ARGUMENTS_MOST = 8 };

typedef struct opencl_command {
    cl_kernel kernel;
    opencl_function function;
    int op; /* of the plan */
    cl_uint dimensions;
    size_t global[3], local[3];
    opencl_step_argument steps[OPENCL_STEP_ARGUMENTS_MOST];
    int step_count;
} opencl_command;

typedef struct opencl_recording {
    opencl_command *commands;
    size_t count, capacity;
    int op; /* operation that is being recorded */
    bool has_run;
} opencl_recording;

/* Entries of the ring of results: no step is under way that is GPU_QUEUE before the newest, so that
   half of them can be read while others are written. */
enum { OPENCL_RESULTS = 2 * GPU_QUEUE };

typedef struct opencl_pinned {
    cl_mem buffer;
    void *memory;
} opencl_pinned;

/* While the queue is watched: what it was before, and the events of all its kernels. */
typedef struct opencl_watch {
    cl_command_queue before; /* NULL: it is not watched */
    cl_event *events;
    size_t count, capacity;
} opencl_watch;

typedef struct opencl_core {
    cl_mem *buffers; /* indexed by number; NULL: free */
    size_t *buffer_bytes;
    size_t buffer_count, buffers_capacity, bytes_capacity;
    double taken; /* bytes */
    opencl_pinned *pinned;
    size_t pinned_count, pinned_capacity;
    cl_event marks[GPU_QUEUE];
    opencl_recording *recording; /* NULL: launches are enqueued at once */
    opencl_blocking wanted;      /* before the driver's compiler was asked */
    gpu_memory results;          /* float [OPENCL_RESULTS][RESULT_FLOATS]: of step number n entry
                                    n % OPENCL_RESULTS; 0 where nothing has been written */
    int64_t summed;              /* steps before this number are in `sums` */
    step_results sums;           /* since the last reset */
    double timer;                /* seconds of the host's clock at its start */
    opencl_watch watch;
} opencl_core;

/* ---- memory.c ---------------------------------------------------------------------------------
 */

/* The buffer and the offset of an address; NULL, 0 of 0. */
cl_mem opencl_buffer_of(const opencl *d, gpu_address at, size_t *offset);
cornu_status opencl_memory_new(gpu *g, size_t bytes, gpu_address *out);
void opencl_memory_free(gpu *g, gpu_address at);
cornu_status opencl_memory_info(gpu *g, double *left, double *largest);
cornu_status opencl_pinned_new(gpu *g, size_t bytes, void **out);
void opencl_pinned_free(gpu *g, void *memory);
cornu_status opencl_copy_in(gpu *g, gpu_address to, const void *from, size_t bytes, bool beside);
cornu_status opencl_copy_out(gpu *g, void *to, gpu_address from, size_t bytes);
cornu_status opencl_clear(gpu *g, gpu_address at, size_t bytes);
cornu_status opencl_join(gpu *g);
cornu_status opencl_mark(gpu *g, int number);
cornu_status opencl_wait(gpu *g, int number);
cornu_status opencl_reached(gpu *g, int number, bool *yes);
/* Wait for all of the queue's commands, whether clFlush has been called for them or not. */
cornu_status opencl_finish(const opencl *d, cl_command_queue queue);
/* Wait for all work under way, if the device still works: afterwards no command reads or writes the
   host's memory. */
void opencl_finish_all(const opencl *d);
void opencl_memory_close(opencl *d);

/* ---- program.c --------------------------------------------------------------------------------
 */

/* Made by cmake/opencl.cmake: the units' text, quoted includes replaced by the files. */
extern const char *const opencl_sources[OPENCL_UNIT_COUNT];

/* The compiler options, and the device with its driver, on which a compiled program depends
   besides its text. The caller frees them. */
cornu_status opencl_options(const opencl_blocking *b, const char *source, char **out);
cornu_status opencl_device_text(const opencl *d, char **out);
/* The unit's program, compiled or from the cache at its first use. CORNU_UNSUPPORTED where the
   driver's compiler refuses it. */
cornu_status opencl_program_of(opencl *d, opencl_unit unit, cl_program *out);
/* kernel->function: a new cl_kernel. */
cornu_status opencl_kernel_new(opencl *d, opencl_function function, cl_kernel *out);
void opencl_programs_close(opencl *d);
const char *opencl_function_name(opencl_function function);
opencl_unit opencl_unit_of(opencl_function function);

/* ---- cache.c ----------------------------------------------------------------------------------
 */

/* The key of a compiled program: everything that it depends on. */
typedef struct opencl_cache_key {
    const char *unit, *source, *options, *device; /* device: its name, driver and platform */
} opencl_cache_key;
/* Read the cached binary of a program; *binary is NULL if there is none (or a damaged one). The
   caller frees it. */
void opencl_cache_read(const opencl_cache_key *key, unsigned char **binary, size_t *bytes);
/* A failure costs a compilation next time and is a line of the log. */
void opencl_cache_write(const opencl_cache_key *key, const unsigned char *binary, size_t bytes);

/* ---- tuning.c ---------------------------------------------------------------------------------
 */

/* The built-in blocking of the kind of device. */
cornu_status opencl_blocking_for(const opencl *d, opencl_blocking *out);
/* Choose d->blocking: as `asked` (device_options.tuning); NULL: the user's file's, else built in.
 */
cornu_status opencl_tuning_choose(opencl *d, const char *asked);
/* gpu_driver */
cornu_status opencl_tuning(gpu *g, device_tuning *out);
bool opencl_tuning_candidate(gpu *g, const char *from, int stage, int index,
                             char fields[TUNING_TEXT]);
cornu_status opencl_tuning_keep(gpu *g, const char *fields, device_tuning *kept);

/* The next entry of the table that needs less local memory; false: there is none. */
bool opencl_blocking_simpler(const opencl *d, opencl_blocking *b);
/* The blocking as text, with each field once: "gemm_m=32 gemm_n=64 ...". */
void opencl_blocking_text(const opencl_blocking *b, char fields[TUNING_TEXT]);

/* The file's path, and its fields for this device with this driver: NULL if there is no file, or
   no line for this device. CORNU_BAD_FILE: it is damaged, or another kind of file. The caller
   frees both. */
cornu_status opencl_tuning_file_read(const opencl *d, char **path, char **fields);
/* Write or replace this device's line. */
cornu_status opencl_tuning_file_write(const opencl *d, const char *fields, char **path);

/* ---- variant.c --------------------------------------------------------------------------------
 */

/* At the first use of a device with these kernels and this driver: compile all kernels; a
   variant that the driver's compiler refuses is replaced by one that it accepts (smaller tiles,
   no Winograd), and opencl.notice says so. Later: use the cached choice. */
cornu_status opencl_variant_choose(opencl *d);
/* True if this variant has been tested (reference/self_test.c); and record that it has. */
bool opencl_is_tried(const device *d);
void opencl_keep_tried(device *d);

/* ---- launch.c, time.c, limits.c ---------------------------------------------------------------
 */

cornu_status opencl_resolve(gpu *g, prepared *p);
void opencl_forget(gpu *g, prepared *p);
cornu_status opencl_launch_steps(gpu *g, prepared *p, int64_t first, int64_t count);
cornu_status opencl_count_launches(gpu *g, prepared *p, int i, int *launches);
cornu_status opencl_results(gpu *g, step_results *out, bool reset);
cornu_status opencl_time_step(gpu *g, prepared *p, int64_t step, double *seconds);
cornu_status opencl_timer(gpu *g, double *seconds);
cornu_status opencl_idle(gpu *g, device_idle *out);
void opencl_watch_end(opencl *d);
cornu_status opencl_limits(gpu *g, device_limits *out);
void opencl_recording_free(opencl *d, opencl_recording *r);
/* Enqueue a command with the arguments of step number `step` of the queue's; `event` may be NULL.
 */
cornu_status opencl_enqueue(opencl *d, cl_command_queue queue, const opencl_command *c,
                            int64_t step, cl_event *event);

#endif
