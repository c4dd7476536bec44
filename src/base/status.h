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

/* Fail unless the `reserved` member of the caller's options struct `name` is 0: a later cornu has
   fields there, and this version cannot honour them. */
#define CHECK_RESERVE(name, options) \
    status_reserve(name, (options)->reserved, sizeof(options)->reserved / sizeof(uint64_t))
cornu_status status_reserve(const char *name, const uint64_t *reserved, size_t count);

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
