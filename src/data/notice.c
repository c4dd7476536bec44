/* What the caller is told and asked while data is read. */
#include "data/data.h"
#include <stdarg.h>

bool data_should_stop(const cornu_data_options *options)
{
    return options && options->should_stop && options->should_stop(options->user);
}

void data_notice(const cornu_data_options *options, const char *format, ...)
{
    if (!options || !options->on_notice)
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    printable_v(line, sizeof line, format, arguments);
    va_end(arguments);
    options->on_notice(options->user, line);
}
