/* What all functions share: the lock, injected failures, live handles, complaints. */
#include "driver.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char is_context[] = "context", is_stream[] = "stream", is_event[] = "event",
           is_module[] = "module", is_function[] = "function", is_graph[] = "graph",
           is_exec[] = "executable graph", is_memory[] = "device memory",
           is_pinned[] = "pinned memory";

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static CUresult device_error;
static int complaints;

/* ---- complaints and numbers --------------------------------------------------------------- */

void simulated_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("simulated CUDA: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    complaints++;
}

int simulated_forgive(void)
{
    int count = complaints;
    complaints = 0;
    return count;
}

long simulated_number(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtol(text, NULL, 0) : otherwise;
}

bool wanted(const char *variable)
{
    return simulated_number(variable, 0) != 0;
}

/* ---- failures that the environment asks for ------------------------------------------------ */

/* SIMULATED_CUDA_FAIL="cuMemAlloc:2:CUDA_ERROR_OUT_OF_MEMORY,cudnnCreate:1+:4" */
typedef struct failure {
    char function[64];
    long number, calls; /* fails at call `number`, from 1 */
    bool later;         /* and at all after it */
    int error;
} failure;

enum { FAILURES_MAX = 16 };
static failure failures[FAILURES_MAX];
static int failure_count;
static char failures_text[1024];

/* Length of a function's name without a trailing "_v2". */
static size_t plain_length(const char *name, size_t length)
{
    if (length > 3 && name[length - 3] == '_' && name[length - 2] == 'v')
        return length - 3;
    return length;
}

static bool parse_failure(const char *text, failure *f)
{
    char error[64], number[16];
    if (sscanf(text, "%63[^:,]:%15[0-9+]:%63[A-Za-z0-9_]", f->function, number, error) != 3)
        return false;
    f->number = strtol(number, NULL, 10);
    f->later = strchr(number, '+') != NULL;
    f->calls = 0;
    f->error = (int)error_of(error);
    return f->error != 0;
}

/* A changed variable starts the counts anew and repairs a failed device. */
static void read_failures(void)
{
    const char *text = getenv("SIMULATED_CUDA_FAIL");
    text = text ? text : "";
    if (strcmp(text, failures_text) == 0)
        return;
    snprintf(failures_text, sizeof failures_text, "%s", text);
    failure_count = 0;
    device_error = CUDA_SUCCESS;
    for (const char *at = failures_text; at && *at; at = strchr(at, ',')) {
        at += *at == ',';
        if (failure_count == FAILURES_MAX || !parse_failure(at, &failures[failure_count]))
            simulated_complain("SIMULATED_CUDA_FAIL: cannot read \"%s\"", at);
        else
            failure_count++;
    }
}

static int injected(const char *function)
{
    int error = 0;
    size_t length = plain_length(function, strlen(function));
    for (int i = 0; i < failure_count; i++) {
        failure *f = &failures[i];
        if (plain_length(f->function, strlen(f->function)) != length ||
            strncmp(f->function, function, length) != 0)
            continue;
        f->calls++;
        if (f->calls == f->number || (f->later && f->calls > f->number))
            error = f->error;
    }
    return error;
}

int simulated_enter(const char *function)
{
    pthread_mutex_lock(&lock);
    read_failures();
    return injected(function);
}

void simulated_leave(void)
{
    pthread_mutex_unlock(&lock);
}

/* Errors of which cuda.h says that all further work in the context returns them too. */
static bool is_lasting(CUresult error)
{
    return error == CUDA_ERROR_ECC_UNCORRECTABLE || error == CUDA_ERROR_ILLEGAL_ADDRESS ||
           (error >= CUDA_ERROR_HARDWARE_STACK_ERROR && error <= CUDA_ERROR_LAUNCH_FAILED) ||
           error == CUDA_ERROR_LAUNCH_TIMEOUT || error == CUDA_ERROR_UNKNOWN;
}

void fail_device(CUresult error)
{
    if (device_error == CUDA_SUCCESS)
        device_error = error;
}

CUresult failed_device(void)
{
    return device_error;
}

CUresult enter(const char *function, int needs)
{
    CUresult error = (CUresult)simulated_enter(function);
    if (is_lasting(error))
        fail_device(error);
    if (error != CUDA_SUCCESS)
        return error;
    if (needs & NEEDS_INIT && !device_initialized())
        return CUDA_ERROR_NOT_INITIALIZED;
    if ((needs & NEEDS_CONTEXT) == NEEDS_CONTEXT) {
        if (device_error != CUDA_SUCCESS)
            return device_error;
        if (device_current() < 0) {
            simulated_complain("%s: the thread has no current context", function);
            return CUDA_ERROR_INVALID_CONTEXT;
        }
    }
    return needs == UNSAFE_IN_CAPTURE ? capture_unsafe() : CUDA_SUCCESS;
}

CUresult leave(CUresult result)
{
    simulated_leave();
    return result;
}

/* ---- live handles -------------------------------------------------------------------------- */

typedef struct handle {
    const void *address;
    const char *kind;
} handle;

static handle *handles;
static int handle_count, handle_capacity;

void simulated_track(const void *address, const char *kind)
{
    simulated_enter("");
    if (handle_count == handle_capacity) {
        handle_capacity = handle_capacity ? 2 * handle_capacity : 64;
        handles = realloc(handles, (size_t)handle_capacity * sizeof *handles);
        if (!handles)
            abort();
    }
    handles[handle_count++] = (handle){address, kind};
    simulated_leave();
}

/* From the newest: those are asked for most. -1: not there. */
static int find(const void *address)
{
    for (int i = handle_count - 1; i >= 0; i--)
        if (handles[i].address == address)
            return i;
    return -1;
}

bool simulated_is(const void *address, const char *kind)
{
    simulated_enter("");
    int i = address ? find(address) : -1;
    bool is = i >= 0 && strcmp(handles[i].kind, kind) == 0;
    simulated_leave();
    return is;
}

void simulated_forget(const void *address)
{
    simulated_enter("");
    int i = find(address);
    if (i >= 0)
        handles[i] = handles[--handle_count];
    simulated_leave();
}

/* Functions go with their module; a process may keep a primary context. */
static bool may_stay(const handle *h)
{
    return h->kind == is_function || (h->kind == is_context && context_users(h->address) == 1);
}

int simulated_alive(void)
{
    int alive = 0;
    for (int i = 0; i < handle_count; i++)
        alive += !may_stay(&handles[i]);
    return alive;
}

/* ---- the end of the program ---------------------------------------------------------------- */

/* A program that has passed its own tests still fails where it left something behind. */
__attribute__((destructor)) static void report(void)
{
    if (device_error == CUDA_SUCCESS && !wanted("SIMULATED_CUDA_LEAKS_ALLOWED")) {
        memory_check();
        for (int i = 0; i < handle_count; i++)
            if (!may_stay(&handles[i]))
                simulated_complain("%s %p is still alive at the end", handles[i].kind,
                                   handles[i].address);
    }
    free(handles);
    if (complaints == 0)
        return;
    fflush(NULL);
    _exit(99);
}
