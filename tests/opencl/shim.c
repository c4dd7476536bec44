/* Between the plug-in and libOpenCL.so.1: what fails, and how, its environment says (README.md).
   Every function of libraries.def is here, or the library does not link. */
#include "shim.h"
#include <stdlib.h>
#include <string.h>

/* A function that gives a status, and one that gives an object and its status by `error`. */
#define STATUS(name, parameters, arguments)                                 \
    cl_int CL_API_CALL name parameters                                      \
    {                                                                       \
        cl_int failed = shim_enter(#name);                                  \
        return failed != CL_SUCCESS ? failed : shim_real()->name arguments; \
    }
#define OBJECT(type, name, parameters, arguments) \
    type CL_API_CALL name parameters              \
    {                                             \
        cl_int failed = shim_enter(#name);        \
        if (failed == CL_SUCCESS)                 \
            return shim_real()->name arguments;   \
        if (error)                                \
            *error = failed;                      \
        return NULL;                              \
    }
#define WAITS cl_uint count, const cl_event *wait, cl_event *event

STATUS(clGetPlatformIDs, (cl_uint most, cl_platform_id *out, cl_uint *found), (most, out, found))
STATUS(clGetPlatformInfo,
       (cl_platform_id of, cl_platform_info what, size_t size, void *value, size_t *needs),
       (of, what, size, value, needs))
STATUS(clGetDeviceIDs,
       (cl_platform_id of, cl_device_type type, cl_uint most, cl_device_id *out, cl_uint *found),
       (of, type, most, out, found))
STATUS(clGetProgramInfo,
       (cl_program of, cl_program_info what, size_t size, void *value, size_t *needs),
       (of, what, size, value, needs))
STATUS(clGetKernelWorkGroupInfo,
       (cl_kernel of, cl_device_id device, cl_kernel_work_group_info what, size_t size, void *value,
        size_t *needs),
       (of, device, what, size, value, needs))
STATUS(clGetEventInfo, (cl_event of, cl_event_info what, size_t size, void *value, size_t *needs),
       (of, what, size, value, needs))
STATUS(clGetEventProfilingInfo,
       (cl_event of, cl_profiling_info what, size_t size, void *value, size_t *needs),
       (of, what, size, value, needs))
STATUS(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
       (kernel, index, size, value))
STATUS(clFlush, (cl_command_queue queue), (queue))
STATUS(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))
STATUS(clEnqueueMarkerWithWaitList, (cl_command_queue queue, WAITS), (queue, count, wait, event))
STATUS(clEnqueueBarrierWithWaitList, (cl_command_queue queue, WAITS), (queue, count, wait, event))
STATUS(clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem buffer, void *at, WAITS),
       (queue, buffer, at, count, wait, event))
STATUS(clReleaseCommandQueue, (cl_command_queue queue), (queue))
STATUS(clReleaseContext, (cl_context context), (context))
STATUS(clReleaseEvent, (cl_event event), (event))
STATUS(clReleaseKernel, (cl_kernel kernel), (kernel))
STATUS(clReleaseProgram, (cl_program program), (program))

typedef void CL_CALLBACK context_notify(const char *what, const void *data, size_t size,
                                        void *user);
typedef void CL_CALLBACK build_notify(cl_program program, void *user);

OBJECT(cl_context, clCreateContext,
       (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
        context_notify *notify, void *user, cl_int *error),
       (properties, count, devices, notify, user, error))
OBJECT(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error),
       (program, name, error))
OBJECT(cl_program, clCreateProgramWithBinary,
       (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *sizes,
        const unsigned char **binaries, cl_int *states, cl_int *error),
       (context, count, devices, sizes, binaries, states, error))
OBJECT(void *, clEnqueueMapBuffer,
       (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
        size_t size, WAITS, cl_int *error),
       (queue, buffer, blocking, flags, offset, size, count, wait, event, error))

/* ---- what the shim looks into ---------------------------------------------------------------- */

/* Also where it shall fail, it waits: what is under way would run on behind an error. */
cl_int CL_API_CALL clFinish(cl_command_queue queue)
{
    cl_int failed = shim_enter("clFinish"), real = shim_real()->clFinish(queue);
    return failed != CL_SUCCESS ? failed : real;
}

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties,
                                                  cl_int *error)
{
    *error = shim_enter("clCreateCommandQueue");
    if (*error != CL_SUCCESS)
        return NULL;
    cl_command_queue queue = shim_real()->clCreateCommandQueue(context, device, properties, error);
    if (queue)
        shim_add_queue(queue);
    return queue;
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size,
                                   void *value, size_t *needs)
{
    const char *says = getenv("OPENCL_SHIM_SAYS_MEMORY");
    cl_int failed = shim_enter("clGetDeviceInfo");
    if (failed != CL_SUCCESS)
        return failed;
    failed = shim_real()->clGetDeviceInfo(device, what, size, value, needs);
    if (says && value &&
        (what == CL_DEVICE_GLOBAL_MEM_SIZE || what == CL_DEVICE_MAX_MEM_ALLOC_SIZE))
        *(cl_ulong *)value = strtoull(says, NULL, 10);
    return failed;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool allocates_late(void)
{
    return getenv("OPENCL_SHIM_LATE") != NULL;
}

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                                  cl_int *error)
{
    bool fits = shim_has_memory(size);
    *error = shim_enter("clCreateBuffer");
    if (*error == CL_SUCCESS && !fits && !allocates_late())
        *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (*error != CL_SUCCESS)
        return NULL;
    cl_mem buffer = shim_real()->clCreateBuffer(context, flags, size, host, error);
    if (buffer)
        shim_taken(buffer, size, fits);
    return buffer;
}

cl_int CL_API_CALL clReleaseMemObject(cl_mem buffer)
{
    cl_int failed = shim_enter("clReleaseMemObject");
    if (failed != CL_SUCCESS)
        return failed;
    shim_given_back(buffer);
    return shim_real()->clReleaseMemObject(buffer);
}

#define ON_BUFFER(name, parameters, arguments)                              \
    cl_int CL_API_CALL name parameters                                      \
    {                                                                       \
        cl_int failed = shim_enter(#name);                                  \
        if (failed == CL_SUCCESS && !shim_exists(buffer))                   \
            failed = CL_MEM_OBJECT_ALLOCATION_FAILURE;                      \
        return failed != CL_SUCCESS ? failed : shim_real()->name arguments; \
    }
ON_BUFFER(clEnqueueFillBuffer,
          (cl_command_queue queue, cl_mem buffer, const void *with, size_t with_size, size_t offset,
           size_t size, WAITS),
          (queue, buffer, with, with_size, offset, size, count, wait, event))
ON_BUFFER(clEnqueueReadBuffer,
          (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
           void *to, WAITS),
          (queue, buffer, blocking, offset, size, to, count, wait, event))
ON_BUFFER(clEnqueueWriteBuffer,
          (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
           const void *from, WAITS),
          (queue, buffer, blocking, offset, size, from, count, wait, event))

/* ---- compiling ------------------------------------------------------------------------------- */

cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count,
                                                 const char **strings, const size_t *lengths,
                                                 cl_int *error)
{
    *error = shim_enter("clCreateProgramWithSource");
    if (*error != CL_SUCCESS)
        return NULL;
    cl_program program =
        shim_real()->clCreateProgramWithSource(context, count, strings, lengths, error);
    if (program)
        shim_add_source(program, strings[0]);
    return program;
}

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                  const char *options, build_notify *notify, void *user)
{
    cl_int failed = shim_enter("clBuildProgram");
    if (failed == CL_SUCCESS && shim_refuses(program, options))
        failed = CL_BUILD_PROGRAM_FAILURE;
    if (failed != CL_SUCCESS)
        return failed;
    return shim_real()->clBuildProgram(program, count, devices, options, notify, user);
}

static const char build_log[] = "shim.cl:1:2: error: this compiler was told to fail\n"
                                "  of the first lines the second\n3\n4\n5\n6\n"
                                "the seventh line, which nobody needs\n";

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                         cl_program_build_info what, size_t size, void *value,
                                         size_t *needs)
{
    cl_int failed = shim_enter("clGetProgramBuildInfo");
    if (failed != CL_SUCCESS)
        return failed;
    if (what != CL_PROGRAM_BUILD_LOG || !shim_has_refused(program))
        return shim_real()->clGetProgramBuildInfo(program, device, what, size, value, needs);
    if (needs)
        *needs = sizeof build_log;
    if (value)
        memcpy(value, build_log, size < sizeof build_log ? size : sizeof build_log);
    return CL_SUCCESS;
}

/* ---- kernels --------------------------------------------------------------------------------- */

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                          cl_uint dimensions, const size_t *offset,
                                          const size_t *global, const size_t *local, WAITS)
{
    const shim_functions *real = shim_real();
    cl_int failed = shim_enter("clEnqueueNDRangeKernel");
    if (failed != CL_SUCCESS)
        return failed;
    if (shim_skips(kernel))
        return event ? real->clEnqueueMarkerWithWaitList(queue, count, wait, event) : CL_SUCCESS;
    return real->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count,
                                        wait, event);
}
