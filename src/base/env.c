#include "base/env.h"
#include "base/memory.h"
#include <stdlib.h>

typedef struct variable {
    const char *name, *help;
} variable;

static const variable variables[] = {
#define ENV(id, help) {"CORNU_" #id, help},
#include "base/env.def"
#undef ENV
};

const char *env_get(env_name name)
{
    const char *value = getenv(variables[name].name);
    return value && *value ? value : NULL;
}

cornu_status cornu_environment(char **out)
{
    if (!out)
        return status_fail(CORNU_INVALID,
                           "cornu_environment: found NULL; expected a place for text");
    text t = {0};
    text_add(&t, "%-16s %-20s %s\n", "variable", "value", "meaning");
    for (int i = 0; i < ENV_COUNT; i++) {
        char shown[4096];
        const char *value = env_get((env_name)i);
        cornu_printable(value ? value : "(not set)", shown, sizeof shown);
        text_add(&t, "%-16s %-20s %s\n", variables[i].name, shown, variables[i].help);
    }
    return text_take(&t, out);
}
