#include "base/env.h"
#include "base/memory.h"
#include <cornu/tables.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const char *name_of(int i)
{
    return variables[i].name;
}

static const char *value_of(int i)
{
    const char *value = env_get((env_name)i);
    return value ? value : "(not set)";
}

/* The width of a column. */
static int widest(const char *title, const char *(*text_of)(int i))
{
    size_t width = strlen(title);
    for (int i = 0; i < ENV_COUNT; i++)
        if (strlen(text_of(i)) > width)
            width = strlen(text_of(i));
    return (int)width;
}

cornu_status cornu_environment(char **out)
{
    if (!out)
        return status_fail(CORNU_INVALID,
                           "cornu_environment: found NULL; expected a place for text");
    text t = {0};
    int name_width = widest("variable", name_of), value_width = widest("value", value_of);
    text_add(&t, "%-*s  %-*s  %s\n", name_width, "variable", value_width, "value", "meaning");
    for (int i = 0; i < ENV_COUNT; i++) {
        char shown[4096];
        cornu_printable(value_of(i), shown, sizeof shown);
        text_add(&t, "%-*s  %-*s  %s\n", name_width, name_of(i), value_width, shown,
                 variables[i].help);
    }
    return text_take(&t, out);
}

void log_line(const char *format, ...)
{
    const char *setting = env_get(ENV_LOG);
    if (!setting || strcmp(setting, "0") == 0)
        return;
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    printable_v(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "cornu: %s\n", line); /* one call, so that lines of threads do not mix */
}
