/* What the shim is told by its environment (README.md) and knows of the driver's objects. */
#ifndef OPENCL_SHIM_H
#define OPENCL_SHIM_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

/* The functions that the plug-in calls, of the library below. */
typedef struct shim_functions {
#define OPENCL(name) __typeof__(name) *name;
#include "device/opencl/plugin/libraries.def"
    __typeof__(clGetKernelInfo) *clGetKernelInfo;
} shim_functions;
const shim_functions *shim_real(void);

/* Count a call of `function`; the error that it shall give, or CL_SUCCESS. */
cl_int shim_enter(const char *function);
/* A device that is lost does not work on behind the caller's back: its queues end first. */
void shim_add_queue(cl_command_queue queue);

/* OPENCL_SHIM_MEMORY: may so many bytes more be taken? `taken` and `given_back` say what was. */
bool shim_has_memory(size_t bytes);
void shim_taken(cl_mem buffer, size_t bytes, bool exists);
void shim_given_back(cl_mem buffer);
/* false: of a driver that allocates at the first use, and finds no room then. */
bool shim_exists(cl_mem buffer);

/* OPENCL_SHIM_NO_SOURCE, OPENCL_SHIM_NO_OPTIONS: does this driver's compiler refuse it? */
void shim_add_source(cl_program program, const char *source);
bool shim_refuses(cl_program program, const char *options);
bool shim_has_refused(cl_program program);

/* OPENCL_SHIM_SKIP: does this kernel do nothing? */
bool shim_skips(cl_kernel kernel);

#endif
