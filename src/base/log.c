#include "base/log.h"
#include "base/env.h"
#include "base/status.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
