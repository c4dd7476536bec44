/* Notices to the caller of a data set, and whether it asked to stop. */
#include "base/show.h"
#include "data/data.h"
#include <stdarg.h>

bool data_should_stop(const cornu_data_options *options)
{
    return options && options->should_stop && options->should_stop(options->user);
}

static void notice(const cornu_data_options *options, const char *format, va_list arguments)
{
    char line[1024];
    if (!options || !options->on_notice)
        return;
    printable_v(line, sizeof line, format, arguments);
    options->on_notice(options->user, line);
}

void data_notice(const cornu_data_options *options, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    notice(options, format, arguments);
    va_end(arguments);
}

void data_detail(const cornu_data_options *options, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (options && !options->brief)
        notice(options, format, arguments);
    va_end(arguments);
}
