/* What the shim counts and remembers. One lock for all of it: drivers call from threads. */
#include "shim.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Noreturn void give_up(const char *what, const char *detail)
{
    fprintf(stderr, "shim of OpenCL: %s: %s\n", what, detail);
    exit(98);
}

/* ---- the real library ------------------------------------------------------------------------ */

static shim_functions functions;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        give_up(REAL_OPENCL " has no", name);
    return symbol;
}

static void open_real(void)
{
    void *library = dlopen(REAL_OPENCL, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        give_up(REAL_OPENCL, dlerror());
#define OPENCL(name) *(void **)(void *)&functions.name = find(library, #name);
#include "device/opencl/plugin/libraries.def"
    *(void **)(void *)&functions.clGetKernelInfo = find(library, "clGetKernelInfo");
}

const shim_functions *shim_real(void)
{
    pthread_once(&opened, open_real);
    return &functions;
}

/* The linker refuses a library in which one of them is missing. */
extern const void *const shim_all[];
const void *const shim_all[] = {
#define OPENCL(name) (const void *)name,
#include "device/opencl/plugin/libraries.def"
};

/* ---- how often each was called --------------------------------------------------------------- */

static const char *const names[] = {
#define OPENCL(name) #name,
#include "device/opencl/plugin/libraries.def"
};
enum { NAMES = sizeof names / sizeof *names };
static long calls[NAMES];

static void count(const char *function)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(names[i], function) == 0)
            calls[i]++;
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("OPENCL_SHIM_COUNTS");
    FILE *f = path ? fopen(path, "w") : NULL;
    for (int i = 0; f && i < NAMES; i++)
        fprintf(f, "%s %ld\n", names[i], calls[i]);
    if (f)
        fclose(f);
}

/* ---- failures -------------------------------------------------------------------------------- */

typedef struct failure {
    char function[64]; /* with a '*' at its end: all that begin so */
    long number, calls;
    char later; /* '+': at all calls after it, too; '!': the device is lost from then on */
    cl_int error;
} failure;
enum { FAILURES_MOST = 8, QUEUES_MOST = 64 };
static failure failures[FAILURES_MOST];
static int failure_count;
static cl_int lost;
static cl_command_queue queues[QUEUES_MOST];
static int queue_count;

static const struct {
    const char *name;
    cl_int error;
} errors[] = {
#define ERROR(name) \
    {               \
#name, name \
    }
    ERROR(CL_DEVICE_NOT_AVAILABLE),
    ERROR(CL_COMPILER_NOT_AVAILABLE),
    ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    ERROR(CL_OUT_OF_RESOURCES),
    ERROR(CL_OUT_OF_HOST_MEMORY),
    ERROR(CL_PROFILING_INFO_NOT_AVAILABLE),
    ERROR(CL_BUILD_PROGRAM_FAILURE),
    ERROR(CL_MAP_FAILURE),
    ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    ERROR(CL_INVALID_VALUE),
    ERROR(CL_INVALID_PLATFORM),
    ERROR(CL_INVALID_DEVICE),
    ERROR(CL_INVALID_CONTEXT),
    ERROR(CL_INVALID_COMMAND_QUEUE),
    ERROR(CL_INVALID_MEM_OBJECT),
    ERROR(CL_INVALID_BINARY),
    ERROR(CL_INVALID_PROGRAM),
    ERROR(CL_INVALID_PROGRAM_EXECUTABLE),
    ERROR(CL_INVALID_KERNEL_NAME),
    ERROR(CL_INVALID_KERNEL),
    ERROR(CL_INVALID_ARG_VALUE),
    ERROR(CL_INVALID_KERNEL_ARGS),
    ERROR(CL_INVALID_WORK_GROUP_SIZE),
    ERROR(CL_INVALID_EVENT),
    ERROR(CL_INVALID_OPERATION),
    ERROR(CL_INVALID_BUFFER_SIZE),
};

static cl_int error_of(const char *name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].error;
    return atoi(name);
}

static void read_failures(void)
{
    const char *at = getenv("OPENCL_SHIM_FAIL");
    for (; at && *at; at += *at == ',') {
        failure *f = &failures[failure_count];
        char number[16], error[64];
        if (failure_count == FAILURES_MOST ||
            sscanf(at, "%63[^:,]:%15[0-9+!]:%63[A-Za-z0-9_-]", f->function, number, error) != 3)
            give_up("OPENCL_SHIM_FAIL", at);
        char *end;
        f->number = strtol(number, &end, 10);
        f->later = *end;
        f->error = error_of(error);
        if (f->error == CL_SUCCESS || f->number < 1)
            give_up("OPENCL_SHIM_FAIL", at);
        failure_count++;
        at += strcspn(at, ",");
    }
}

static bool fits(const char *pattern, const char *function)
{
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(pattern, function, length - 1) == 0;
    return strcmp(pattern, function) == 0;
}

static void lose(cl_int error)
{
    lost = error;
    for (int i = 0; i < queue_count; i++)
        (void)shim_real()->clFinish(queues[i]);
}

/* A lost device still gives back what it has, and says what it was. */
static bool works_lost(const char *function)
{
    return strncmp(function, "clRelease", 9) == 0 || strncmp(function, "clGet", 5) == 0;
}

static cl_int failed(const char *function)
{
    cl_int error = lost && !works_lost(function) ? lost : CL_SUCCESS;
    for (int i = 0; i < failure_count; i++) {
        failure *f = &failures[i];
        if (!fits(f->function, function))
            continue;
        f->calls++;
        if (f->calls != f->number && (f->later != '+' || f->calls < f->number))
            continue;
        error = f->error;
        if (f->later == '!')
            lose(error);
    }
    return error;
}

cl_int shim_enter(const char *function)
{
    static bool has_read;
    pthread_mutex_lock(&lock);
    if (!has_read)
        read_failures();
    has_read = true;
    count(function);
    cl_int error = failed(function);
    pthread_mutex_unlock(&lock);
    return error;
}

void shim_add_queue(cl_command_queue queue)
{
    pthread_mutex_lock(&lock);
    if (queue_count < QUEUES_MOST)
        queues[queue_count++] = queue;
    pthread_mutex_unlock(&lock);
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum { BUFFERS_MOST = 4096 };
static struct {
    cl_mem buffer;
    size_t bytes;
    bool exists;
} buffers[BUFFERS_MOST];
static size_t taken;

bool shim_has_memory(size_t bytes)
{
    const char *most = getenv("OPENCL_SHIM_MEMORY");
    pthread_mutex_lock(&lock);
    bool has = !most || taken + bytes <= strtoull(most, NULL, 10);
    pthread_mutex_unlock(&lock);
    return has;
}

static void set_buffer(cl_mem at, cl_mem buffer, size_t bytes, bool exists)
{
    for (int i = 0; i < BUFFERS_MOST; i++)
        if (buffers[i].buffer == at) {
            taken -= buffers[i].exists ? buffers[i].bytes : 0;
            taken += exists ? bytes : 0;
            buffers[i].buffer = buffer;
            buffers[i].bytes = bytes;
            buffers[i].exists = exists;
            return;
        }
}

void shim_taken(cl_mem buffer, size_t bytes, bool exists)
{
    pthread_mutex_lock(&lock);
    set_buffer(NULL, buffer, bytes, exists);
    pthread_mutex_unlock(&lock);
}

void shim_given_back(cl_mem buffer)
{
    pthread_mutex_lock(&lock);
    set_buffer(buffer, NULL, 0, false);
    pthread_mutex_unlock(&lock);
}

bool shim_exists(cl_mem buffer)
{
    bool exists = true;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BUFFERS_MOST; i++)
        if (buffers[i].buffer == buffer)
            exists = buffers[i].exists;
    pthread_mutex_unlock(&lock);
    return exists;
}

/* ---- programs and kernels -------------------------------------------------------------------- */

enum { PROGRAMS_MOST = 256 };
static struct {
    cl_program program;
    bool is_meant, was_refused;
} programs[PROGRAMS_MOST];
static int program_count;

void shim_add_source(cl_program program, const char *source)
{
    const char *meant = getenv("OPENCL_SHIM_NO_SOURCE");
    pthread_mutex_lock(&lock);
    if (program_count < PROGRAMS_MOST) {
        programs[program_count].program = program;
        programs[program_count++].is_meant = !meant || strstr(source, meant);
    }
    pthread_mutex_unlock(&lock);
}

/* The newest entry of the program: addresses are used again. */
static int number_of(cl_program program)
{
    int i = program_count - 1;
    while (i >= 0 && programs[i].program != program)
        i--;
    return i;
}

bool shim_refuses(cl_program program, const char *options)
{
    const char *meant = getenv("OPENCL_SHIM_NO_OPTIONS");
    if (!meant && !getenv("OPENCL_SHIM_NO_SOURCE"))
        return false;
    pthread_mutex_lock(&lock);
    int i = number_of(program);
    bool refuses = i >= 0 && programs[i].is_meant && (!meant || strstr(options, meant));
    if (refuses)
        programs[i].was_refused = true;
    pthread_mutex_unlock(&lock);
    return refuses;
}

bool shim_has_refused(cl_program program)
{
    pthread_mutex_lock(&lock);
    int i = number_of(program);
    bool refused = i >= 0 && programs[i].was_refused;
    pthread_mutex_unlock(&lock);
    return refused;
}

bool shim_skips(cl_kernel kernel)
{
    const char *meant = getenv("OPENCL_SHIM_SKIP");
    char name[128] = "";
    return meant &&
           shim_real()->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) ==
               CL_SUCCESS &&
           strcmp(name, meant) == 0;
}
