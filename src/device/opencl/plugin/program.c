/* Units of kernels: OpenCL C that is part of this library, compiled by the device's driver. */
#include "base/env.h"
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/libraries.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const unit_names[] = {
#define UNIT(name) #name,
#define KERNEL(unit, name)
#include "device/opencl/plugin/kernels/kernels.def"
};

static const struct {
    opencl_unit unit;
    const char *name;
} functions[] = {
#define UNIT(name)
#define KERNEL(unit, name) {OPENCL_UNIT_##unit, "cornu_" #name},
#include "device/opencl/plugin/kernels/kernels.def"
};

opencl_unit opencl_unit_of(opencl_function function)
{
    return functions[function].unit;
}

const char *opencl_function_name(opencl_function function)
{
    return functions[function].name;
}

/* ---- options and the key ----------------------------------------------------------------------
 */

/* Sums keep their order and denormal numbers may count as 0; nothing else is relaxed. -w: some
   drivers' compilers warn on the terminal. A unit whose text does not name the blocking is compiled
   once for all of them. */
cornu_status opencl_options(const opencl_blocking *b, const char *source, char **out)
{
    text t = {0};
    text_add(&t, "-cl-std=CL1.2 -cl-denorms-are-zero -w");
#define FIELD(field, macro)     \
    if (strstr(source, #macro)) \
        text_add(&t, " -D " #macro "=%d", b->field);
    OPENCL_BLOCKING(FIELD)
#undef FIELD
    return text_take(&t, out);
}

static cornu_status add_info(const opencl *d, text *t, bool platform, cl_uint what)
{
    char value[1024] = "";
    if (platform)
        TRY(CL(d, clGetPlatformInfo(d->platform, what, sizeof value, value, NULL)));
    else
        TRY(CL(d, clGetDeviceInfo(d->id, what, sizeof value, value, NULL)));
    text_add(t, "%s\n", value);
    return CORNU_OK;
}

cornu_status opencl_device_text(const opencl *d, char **out)
{
    text t = {0};
    cornu_status status = CORNU_OK;
    *out = NULL;
    TRY_GOTO(add_info(d, &t, true, CL_PLATFORM_NAME));
    TRY_GOTO(add_info(d, &t, true, CL_PLATFORM_VERSION));
    TRY_GOTO(add_info(d, &t, false, CL_DEVICE_NAME));
    TRY_GOTO(add_info(d, &t, false, CL_DEVICE_VERSION));
    TRY_GOTO(add_info(d, &t, false, CL_DRIVER_VERSION));
    return text_take(&t, out);
done:
    text_free(&t);
    return status;
}

/* ---- compiling --------------------------------------------------------------------------------
 */

/* True if the compiler refused the kernels, and would do so again. */
static bool is_refusal(cl_int error)
{
    return error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE ||
           error == CL_LINK_PROGRAM_FAILURE;
}

/* The status, with the compiler's first lines. */
static cornu_status build_failed(const opencl *d, cl_program program, const char *unit,
                                 cl_int error)
{
    enum { LINES = 6 };
    size_t bytes = 0;
    char *log = NULL;
    if (d->lib->clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) !=
            CL_SUCCESS ||
        memory_new(bytes + 1, 1, "build log", &log) != CORNU_OK ||
        d->lib->clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL) !=
            CL_SUCCESS)
        bytes = 0;
    char *end = log;
    for (int i = 0; i < LINES && end && bytes; i++) {
        end = strchr(end, '\n');
        if (end)
            end += 1;
    }
    if (end && bytes)
        *end = '\0';
    for (size_t used = bytes ? strlen(log) : 0; used > 0 && log[used - 1] == '\n'; used--)
        log[used - 1] = '\0';
    cornu_status status =
        status_fail(is_refusal(error) ? CORNU_UNSUPPORTED : CORNU_DEVICE,
                    "device %s: kernels \"%s\": the driver's compiler: clBuildProgram: %s (%d): "
                    "%.700s",
                    d->g.name, unit, opencl_error_name(error), error, bytes ? log : "no log");
    free(log);
    return status;
}

static cornu_status build(const opencl *d, cl_program program, const char *unit,
                          const char *options)
{
    cl_int error = d->lib->clBuildProgram(program, 1, &d->id, options, NULL, NULL);
    return error == CL_SUCCESS ? CORNU_OK : build_failed(d, program, unit, error);
}

static void keep(const opencl *d, cl_program program, const opencl_cache_key *key)
{
    size_t bytes = 0;
    unsigned char *binary = NULL;
    if (d->lib->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) !=
            CL_SUCCESS ||
        bytes == 0 || memory_new(bytes, 1, "compiled kernels", &binary) != CORNU_OK)
        return;
    if (d->lib->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) ==
        CL_SUCCESS)
        opencl_cache_write(key, binary, bytes);
    free(binary);
}

/* NULL where it is not in the cache, or the driver will not have it. */
static cl_program from_cache(const opencl *d, const opencl_cache_key *key)
{
    unsigned char *binary = NULL;
    size_t bytes = 0;
    cl_int error, of_binary;
    opencl_cache_read(key, &binary, &bytes);
    if (!binary)
        return NULL;
    const unsigned char *binaries[] = {binary};
    cl_program program = d->lib->clCreateProgramWithBinary(d->context, 1, &d->id, &bytes, binaries,
                                                           &of_binary, &error);
    free(binary);
    if (error == CL_SUCCESS && of_binary == CL_SUCCESS &&
        d->lib->clBuildProgram(program, 1, &d->id, key->options, NULL, NULL) == CL_SUCCESS)
        return program;
    if (error == CL_SUCCESS)
        (void)d->lib->clReleaseProgram(program);
    return NULL;
}

static cornu_status compile(const opencl *d, const opencl_cache_key *key, cl_program *out)
{
    cl_int error;
    const char *source = key->source;
    cl_program program = d->lib->clCreateProgramWithSource(d->context, 1, &source, NULL, &error);
    TRY(opencl_check_on(d, error, "clCreateProgramWithSource"));
    cornu_status status = build(d, program, key->unit, key->options);
    if (status != CORNU_OK) {
        (void)d->lib->clReleaseProgram(program);
        return status;
    }
    keep(d, program, key);
    *out = program;
    return CORNU_OK;
}

/* ---- core.h -----------------------------------------------------------------------------------
 */

cornu_status opencl_program_of(opencl *d, opencl_unit unit, cl_program *out)
{
    char *options = NULL, *driver = NULL;
    opencl_signals signals;
    cornu_status status = CORNU_OK;
    *out = d->units[unit];
    if (*out)
        return CORNU_OK;
    TRY_GOTO(opencl_options(&d->blocking, opencl_sources[unit], &options));
    TRY_GOTO(opencl_device_text(d, &driver));
    opencl_signals_keep(&signals);
    const opencl_cache_key key = {unit_names[unit], opencl_sources[unit], options, driver};
    d->units[unit] = from_cache(d, &key);
    if (!d->units[unit])
        status = compile(d, &key, &d->units[unit]);
    opencl_signals_restore(&signals);
    *out = d->units[unit];
done:
    free(options);
    free(driver);
    return status;
}

cornu_status opencl_kernel_new(opencl *d, opencl_function function, cl_kernel *out)
{
    cl_program program;
    cl_int error;
    *out = NULL;
    TRY(opencl_program_of(d, functions[function].unit, &program));
    cl_kernel kernel = d->lib->clCreateKernel(program, functions[function].name, &error);
    cornu_status status = opencl_check_on(d, error, "clCreateKernel");
    if (status != CORNU_OK)
        return status_prefix(status, "%s", functions[function].name);
    *out = kernel;
    return CORNU_OK;
}

void opencl_programs_close(opencl *d)
{
    for (int i = 0; i < OPENCL_UNIT_COUNT; i++) {
        if (d->units[i])
            (void)d->lib->clReleaseProgram(d->units[i]);
        d->units[i] = NULL;
    }
}
