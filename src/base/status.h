/* Errors: a status code and one line for the user, kept per thread. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <cornu/cornu.h>
#include <stdarg.h>

/* Set the calling thread's message and return `code`. The message names the thing, the value found
   and the value expected; it has no trailing newline. */
cornu_status status_fail(cornu_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
cornu_status status_fail_v(cornu_status code, const char *format, va_list arguments);
/* Put "PREFIX: " before the current message; returns `code` unchanged. */
cornu_status status_prefix(cornu_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "found %d %s", n, PLURAL(n, "class", "classes") */
#define PLURAL(count, one, many) ((count) == 1 ? (one) : (many))

/* The caller's structs begin with `size`, the sizeof of the form that the caller was compiled with,
   which may be shorter or longer than this library's. Messages call the struct `name`. */

/* Copy the caller's struct, NULL: all zero, to `own`, whose fields that the caller does not have
   become 0. Fails if `size` cannot be right, or if a field that only the caller knows is not 0. */
#define STRUCT_READ(name, caller, own) struct_read(name, caller, own, sizeof *(own))
cornu_status struct_read(const char *name, const void *caller, void *own, size_t size);
/* Check, before the work, that STRUCT_WRITE will have a place. */
#define STRUCT_CHECK(name, caller) struct_check(name, caller, sizeof *(caller))
cornu_status struct_check(const char *name, const void *caller, size_t size);
/* Copy `own` to the caller's struct: as much as it has room for, and 0 for what only the caller
   knows. */
#define STRUCT_WRITE(name, caller, own) struct_write(name, caller, own, sizeof *(own))
cornu_status struct_write(const char *name, void *caller, const void *own, size_t size);

/* cornu_printable of a formatted line, at most PRINTABLE_MOST bytes. */
enum { PRINTABLE_MOST = 4096 };
void printable_v(char *out, size_t size, const char *format, va_list arguments);

/* Return from the current function if `expression` fails. */
#define TRY(expression)                          \
    do {                                         \
        cornu_status try_status_ = (expression); \
        if (try_status_ != CORNU_OK)             \
            return try_status_;                  \
    } while (0)

/* For functions with `cornu_status status` and a clean-up label `done`. */
#define TRY_GOTO(expression)    \
    do {                        \
        status = (expression);  \
        if (status != CORNU_OK) \
            goto done;          \
    } while (0)

#endif
