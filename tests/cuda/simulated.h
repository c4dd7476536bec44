/* What the simulated libraries share: exported by the simulated libcuda.so.1, used by the others.
 */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Take the one lock of the simulation, count a call of `function`, and give the error that it shall
   fail with (SIMULATED_CUDA_FAIL, see README.md), or 0. The lock is recursive; simulated_leave
   frees it. Names match with and without "_v2". */
int simulated_enter(const char *function);
void simulated_leave(void);

/* Which handles are alive, by what they are ("stream", "tensor descriptor"): a call with any other
   is refused, and those left at the end of the program are reported. `kind` is a constant. */
void simulated_track(const void *handle, const char *kind);
bool simulated_is(const void *handle, const char *kind);
void simulated_forget(const void *handle);

/* Has the calling thread a current context whose device has not failed? */
bool simulated_has_context(void);
/* Do these bytes lie in one live allocation of device memory? */
bool simulated_is_device(const void *address, size_t size);

/* Work on a stream: done when the stream is waited for, not before; recorded where the stream is
   being captured. `data` is copied. */
typedef void simulated_work(const void *data);
CUresult simulated_enqueue(CUstream stream, simulated_work *work, const void *data, size_t size);
/* A library's work: fills its workspace with NaN first, so that sharing it with live data shows. */
void simulated_spoil(void *workspace, size_t size);

/* A mistake of the caller that a real device may not notice: a line on standard error, and the
   program's exit status will be 1. */
void simulated_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For tests. */
int simulated_forgive(void); /* how many complaints there were, which now count no more */
/* Handles and allocations that are alive. */
int simulated_alive(void);
/* Work done so far, in kernels, copies and library calls. */
long simulated_work_done(void);
/* Number from the environment. */
long simulated_number(const char *variable, long otherwise);

#pragma GCC visibility push(hidden)
/* The own kernels, made of kernels.def and their very source (kernels.cpp). */
typedef struct simulated_kernel {
    const char *name; /* "cornu_end_step"; NULL ends the list */
    bool barrier;
    size_t params;                  /* bytes of its parameter */
    void (*run)(const void *param); /* one thread: threadIdx, blockIdx, ... are set */
} simulated_kernel;
extern const simulated_kernel simulated_kernels[];

/* Where the running thread is; set by launch.c. */
typedef struct simulated_index {
    unsigned x, y, z;
} simulated_index;
extern simulated_index simulated_thread, simulated_block, simulated_block_size, simulated_grid_size;
extern unsigned char *simulated_shared_memory; /* dynamic, of the running block */
/* Called by threads of a kernel with barriers. */
void simulated_barrier(void);
/* `value` of lane `source` of the calling warp; `operation` names the call: all lanes must make the
   same one. */
unsigned long long simulated_exchange(const char *operation, unsigned mask,
                                      unsigned long long value, int source);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
