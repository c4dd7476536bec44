/* libOpenCL.so.1, opened at run time. Its headers are needed to build the plug-in, the library
   itself neither to build nor to open it. */
#ifndef DEVICE_OPENCL_PLUGIN_LIBRARIES_H
#define DEVICE_OPENCL_PLUGIN_LIBRARIES_H

#include <signal.h>
#include <stdbool.h>

#define CL_TARGET_OPENCL_VERSION 120
#include "base/status.h"
#include <CL/cl.h>

enum { OPENCL_DEVICES_MOST = 64 };
/* The `call` in messages about a command whose event reports a failure. */
#define OPENCL_COMMAND "a command"

/* One pointer a function, called like it; and all devices of all platforms, in their order. */
typedef struct opencl_library {
#define OPENCL(name) __typeof__(name) *name;
#include "device/opencl/plugin/libraries.def"
    cl_platform_id platforms[OPENCL_DEVICES_MOST]; /* platform of each device */
    cl_device_id devices[OPENCL_DEVICES_MOST];
    int device_count;
} opencl_library;

/* Opened once for the process, at the first call; later calls give the same result. Fails with
   CORNU_NOT_FOUND: "no OpenCL (libOpenCL.so.1: ...); install ...", "no OpenCL platform: install
   the driver's ICD, ...", "no OpenCL device ...". */
cornu_status opencl_library_get(const opencl_library **out);

/* "CL_OUT_OF_RESOURCES" */
const char *opencl_error_name(cl_int error);
/* CORNU_OK, or CORNU_DEVICE (CORNU_OUT_OF_MEMORY if memory ran out) with `name`, the call and
   the error: "device opencl:0: clFinish: the device is lost: CL_OUT_OF_RESOURCES (-5)". `call`
   may include its arguments. */
cornu_status opencl_check(const char *name, cl_int error, const char *call);

/* ---- the caller's signals ---------------------------------------------------------------- */

enum { OPENCL_SIGNALS = 32 }; /* and above them those that a program makes use of as it likes */

typedef struct opencl_signals {
    struct sigaction action[OPENCL_SIGNALS];
    bool known[OPENCL_SIGNALS];
    sigset_t mask; /* signal mask of the calling thread */
} opencl_signals;

/* Around what may compile or start threads: keep, the call, restore. */
void opencl_signals_keep(opencl_signals *s);
void opencl_signals_restore(const opencl_signals *s);

#endif
