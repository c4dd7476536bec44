/* One OpenCL device: opened, closed, and what it gives to accelerator/. */
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/kernels/shared.h"
#include "device/opencl/plugin/libraries.h"
#include "device/opencl/plugin/ops/ops.h"
#include <stdlib.h>
#include <string.h>

static void close_device(gpu *g)
{
    opencl *d = opencl_of(g);
    opencl_finish_all(d);
    if (d->core) {
        opencl_watch_end(d);
        opencl_programs_close(d);
        opencl_memory_close(d);
    }
    if (d->copies)
        (void)d->lib->clReleaseCommandQueue(d->copies);
    if (d->queue)
        (void)d->lib->clReleaseCommandQueue(d->queue);
    if (d->context)
        (void)d->lib->clReleaseContext(d->context);
    free(d->tuning_source);
    free(d->core);
    free(d);
}

static cornu_status synchronize(gpu *g)
{
    opencl *d = opencl_of(g);
    TRY(opencl_finish(d, d->copies));
    return opencl_finish(d, d->queue);
}

static const char *notice(const gpu *g)
{
    return opencl_of(g)->notice;
}

static const gpu_kernel_list opencl_kernels[OP_COUNT] = {
#define OP(id, name, ...) [OP_##id] = opencl_##name,
#include "step/ops.def"
};

static const gpu_driver driver = {
    .name = "opencl",
    .kernels = opencl_kernels,
    .close = close_device,
    .memory_new = opencl_memory_new,
    .memory_free = opencl_memory_free,
    .memory_info = opencl_memory_info,
    .pinned_new = opencl_pinned_new,
    .pinned_free = opencl_pinned_free,
    .copy_in = opencl_copy_in,
    .join = opencl_join,
    .copy_out = opencl_copy_out,
    .clear = opencl_clear,
    .synchronize = synchronize,
    .mark = opencl_mark,
    .wait = opencl_wait,
    .reached = opencl_reached,
    .resolve = opencl_resolve,
    .forget = opencl_forget,
    .launch_steps = opencl_launch_steps,
    .count_launches = opencl_count_launches,
    .time_step = opencl_time_step,
    .results = opencl_results,
    .host_transforms = true,
    .limits = opencl_limits,
    .timer = opencl_timer,
    .idle = opencl_idle,
    .tuning = opencl_tuning,
    .tuning_candidate = opencl_tuning_candidate,
    .tuning_keep = opencl_tuning_keep,
    .notice = notice,
};

/* ---- opening ----------------------------------------------------------------------------------
 */

static cornu_status read_attributes(opencl *d)
{
    cl_device_type type = 0;
    cl_ulong local = 0;
    cl_uint units = 0;
    char extensions[8192] = "";
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof type, &type, NULL)));
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL)));
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL)));
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof d->group_most,
                              &d->group_most, NULL)));
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL)));
    /* Oclgrind says that it is all of them: it simulates the kernels as a GPU gets them. */
    d->is_cpu = (type & CL_DEVICE_TYPE_CPU) && !(type & CL_DEVICE_TYPE_GPU);
    d->local_bytes = (size_t)local;
    d->compute_units = (int)units;
    d->has_double = strstr(extensions, "cl_khr_fp64") != NULL;
    return CORNU_OK;
}

static cornu_status check_options(const opencl *d, const device_options *options)
{
    if (!options || options->precision == PRECISION_FP32)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "device %s: found precision %s; OpenCL devices compute "
                       "in fp32",
                       d->g.name, options->precision == PRECISION_TF32 ? "tf32" : "bf16");
}

static cornu_status open_resources(opencl *d)
{
    gpu_memory *results = &d->core->results;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)d->platform, 0};
    cl_int error;
    d->context = d->lib->clCreateContext(properties, 1, &d->id, NULL, NULL, &error);
    TRY(opencl_check(d->g.name, error, "clCreateContext"));
    d->queue = d->lib->clCreateCommandQueue(d->context, d->id, 0, &error);
    TRY(opencl_check(d->g.name, error, "clCreateCommandQueue"));
    d->copies = d->lib->clCreateCommandQueue(d->context, d->id, 0, &error);
    TRY(opencl_check(d->g.name, error, "clCreateCommandQueue"));
    results->bytes = (size_t)OPENCL_RESULTS * RESULT_FLOATS * sizeof(float);
    TRY(opencl_memory_new(&d->g, results->bytes, &results->at));
    return opencl_clear(&d->g, results->at, results->bytes);
}

static cornu_status open_device(opencl *d, int number, const device_options *options)
{
    TRY(gpu_open_shared(&d->g, &driver, number, options));
    TRY(memory_new(1, sizeof *d->core, "device", &d->core));
    TRY(opencl_library_get(&d->lib));
    if (number < 0 || number >= d->lib->device_count)
        return status_fail(CORNU_NOT_FOUND, "device %s: found %d %s", d->g.name,
                           d->lib->device_count, PLURAL(d->lib->device_count, "device", "devices"));
    d->platform = d->lib->platforms[number];
    d->id = d->lib->devices[number];
    TRY(check_options(d, options));
    TRY(read_attributes(d));
    TRY(opencl_tuning_choose(d, options ? options->tuning : NULL));
    opencl_signals signals;
    opencl_signals_keep(&signals);
    cornu_status status = open_resources(d);
    opencl_signals_restore(&signals);
    TRY(status);
    if (!options || !options->tuning)
        return opencl_variant_choose(d);
    d->tried = true; /* a candidate of tuning: if it is kept, it is tried when it is next used */
    return CORNU_OK;
}

cornu_status opencl_open(int number, const device_options *options, device **out)
{
    opencl *d;
    *out = NULL;
    TRY(memory_new(1, sizeof *d, "device", &d));
    d->g.driver = &driver;
    cornu_status status = open_device(d, number, options);
    if (status == CORNU_OK)
        *out = &d->g.device;
    else
        gpu_close_all(&d->g);
    return status;
}
