#include "base/status.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Messages quote names from files: they are kept in printable form. */
static _Thread_local char last_message[PRINTABLE_MOST];

cornu_status status_fail_v(cornu_status code, const char *format, va_list arguments)
{
    /* Formatted into another buffer: an argument may be the current message itself. */
    printable_v(last_message, sizeof last_message, format, arguments);
    return code;
}

cornu_status status_fail(cornu_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status_fail_v(code, format, arguments);
    va_end(arguments);
    return code;
}

cornu_status status_prefix(cornu_status code, const char *format, ...)
{
    char prefix[PRINTABLE_MOST], message[2 * PRINTABLE_MOST + 2];
    va_list arguments;
    va_start(arguments, format);
    printable_v(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    snprintf(message, sizeof message, "%s: %s", prefix, last_message);
    cornu_printable(message, last_message, sizeof last_message);
    return code;
}

/* ---- structs that grow ------------------------------------------------------------------- */

/* Larger than any struct of any version: a `size` above it was never set. */
enum { STRUCT_MOST = 4096 };

static size_t size_of(const void *caller)
{
    return *(const size_t *)caller;
}

cornu_status struct_check(const char *name, const void *caller, size_t size)
{
    size_t found = size_of(caller);
    if (found > sizeof(void *) && found <= STRUCT_MOST) /* sizeof a pointer is a slip */
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "%s.size: found %zu; expected sizeof the struct, %zu (set it first: {.size "
                       "= sizeof x})",
                       name, found, size);
}

cornu_status struct_read(const char *name, const void *caller, void *own, size_t size)
{
    size_t found = caller ? size_of(caller) : size;
    memset(own, 0, size);
    if (caller) {
        TRY(struct_check(name, caller, size));
        memcpy(own, caller, found < size ? found : size);
    }
    memcpy(own, &size, sizeof size);
    for (size_t i = size; i < found; i++)
        if (((const char *)caller)[i] != 0)
            return status_fail(CORNU_INVALID,
                               "%s.size: found %zu, with a field set that only a later cornu than "
                               "this " CORNU_VERSION " has; expected %zu, or 0 in it",
                               name, found, size);
    return CORNU_OK;
}

cornu_status struct_write(const char *name, void *caller, const void *own, size_t size)
{
    TRY(struct_check(name, caller, size));
    size_t found = size_of(caller);
    memset(caller, 0, found);
    memcpy(caller, own, found < size ? found : size);
    memcpy(caller, &found, sizeof found);
    return CORNU_OK;
}

const char *cornu_version(void)
{
    return CORNU_VERSION;
}

const char *cornu_status_name(cornu_status status)
{
    switch (status) {
    case CORNU_OK:
        return "ok";
    case CORNU_INVALID:
        return "invalid";
    case CORNU_NOT_FOUND:
        return "not found";
    case CORNU_BAD_FILE:
        return "bad file";
    case CORNU_IO:
        return "input/output error";
    case CORNU_OUT_OF_MEMORY:
        return "out of memory";
    case CORNU_UNSUPPORTED:
        return "unsupported";
    case CORNU_DEVICE:
        return "device error";
    case CORNU_STOPPED:
        return "stopped";
    case CORNU_NOT_A_NUMBER:
        return "not a number";
    case CORNU_NETWORK:
        return "network error";
    case CORNU_RANK:
        return "another rank failed";
    case CORNU_INTERNAL:
        return "internal error";
    }
    return "unknown status";
}

const char *cornu_last_error(void)
{
    return last_message;
}

void cornu_free(void *memory)
{
    free(memory);
}
