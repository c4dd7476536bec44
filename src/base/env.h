/* Every environment variable that cornu reads, from one table. */
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
#endif
