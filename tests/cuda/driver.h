/* Within the simulated libcuda.so.1. */
#ifndef DRIVER_H
#define DRIVER_H

#pragma GCC visibility push(default)
#include "simulated.h"
#pragma GCC visibility pop
#include <stdint.h>

/* ---- driver.c: every function begins with enter and ends with leave ----------------------- */

enum {
    NEEDS_NOTHING = 0,
    NEEDS_INIT = 1,
    NEEDS_CONTEXT = 3,        /* of the calling thread */
    UNSAFE_IN_CAPTURE = 4 + 3 /* NVIDIA's term: prohibited while a stream is captured */
};
/* The error that the call ends with at once, or CUDA_SUCCESS. */
CUresult enter(const char *function, int needs);
CUresult leave(CUresult result);
/* A failed device: every later call gives this error too, as NVIDIA documents for such errors. */
void fail_device(CUresult error);
CUresult failed_device(void);
/* Kinds of handles. */
extern const char is_context[], is_stream[], is_event[], is_module[], is_function[], is_graph[],
    is_exec[], is_memory[], is_pinned[];
/* Is the environment variable set to something other than 0? */
bool wanted(const char *variable);
CUresult
error_of(const char *text); /* "2" or "CUDA_ERROR_OUT_OF_MEMORY"; CUDA_SUCCESS if neither */

/* ---- device.c ----------------------------------------------------------------------------- */

bool device_initialized(void);
/* -1: none */
int device_current(void);
CUcontext context_current(void);
int context_users(const void *context);

/* 10 major + minor */
unsigned device_capability(CUdevice device);

/* ---- fatbin.c: kernels as nvcc compiles them ----------------------------------------------- */

bool fatbin_is(const void *image);
/* Is there something in it that a device of this capability can run? */
bool fatbin_suits(const void *image, unsigned capability);

/* ---- memory.c ----------------------------------------------------------------------------- */

/* Device memory can be touched only between these; they nest. */
void memory_open(void);
void memory_close(void);
/* Damage the byte after each allocation that an address among `params` points into; nothing else
 * reads or writes it. */
void memory_overrun(const void *params, size_t size);
/* Complains of writes beyond the ends of allocations since the last time. */
void memory_check(void);

/* ---- stream.c ----------------------------------------------------------------------------- */

/* Where events and waits meet: a position in a stream's work. */
typedef struct marker {
    int users;
    struct stream *stream;
    uint64_t number;
    bool done;
    double seconds;
} marker;

enum { CAPTURE_STREAMS = 8 };
/* How many operations of each captured stream are known to come before. */
typedef struct capture_clock {
    unsigned at[CAPTURE_STREAMS];
} capture_clock;

typedef struct stream {
    struct stream *next;
    bool legacy; /* the NULL stream, or works together with it */
    struct task *first, *last;
    uint64_t added, done;    /* numbers of tasks */
    struct capture *capture; /* NULL: it is not being captured */
    int slot;
    capture_clock clock;
} stream;

/* NULL: no such stream. */
stream *stream_find(CUstream handle);
/* Onto the stream itself, never into a capture; runs even on a device that has failed. */
CUresult stream_add(stream *s, simulated_work *work, const void *data, size_t size);
/* Do all work up to task `number`; of all streams. */
void stream_run(stream *s, uint64_t number);
void streams_run_all(void);

/* ---- graph.c ------------------------------------------------------------------------------ */

typedef struct capture_mark { /* what an event knows of a capture */
    long id;                  /* 0: it was not recorded within one */
    capture_clock clock;
} capture_mark;

CUresult capture_add(stream *s, simulated_work *work, const void *data, size_t size);
capture_mark capture_record(stream *s);
/* The stream waits for `mark`: it joins that capture where it is in none. */
CUresult capture_wait(stream *s, const capture_mark *mark);
/* Something that a capture does not allow: captures are broken by it where the calling thread is
   bound to their rules; then CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. */
CUresult capture_unsafe(void);
void capture_break(struct capture *c);
/* Is a stream that works together with the NULL stream being captured? */
bool capture_of_legacy(void);

/* ---- launch.c ----------------------------------------------------------------------------- */

/* The threads of a block, for kernels with barriers: fiber.c. */
void fibers_start(unsigned count, void (*body)(void));
/* Go on with fiber `number` until it yields (true) or its body ends (false). */
bool fiber_resume(unsigned number);
void fiber_yield(void);

#endif
