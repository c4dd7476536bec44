/* Every environment variable that cornu reads, from one table; and the diagnostics for developers
   that one of them turns on. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

typedef enum env_name {
#define ENV(id, help) ENV_##id,
#include "base/env.def"
#undef ENV
    ENV_COUNT
} env_name;

/* The variable's value, or NULL where it is unset or empty. */
const char *env_get(env_name name);

/* A line to standard error, only when CORNU_LOG is set. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
