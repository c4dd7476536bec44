#include "bench/sentence.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sentence_add(const sentence *s, const char *format, ...)
{
    size_t length = strlen(s->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->text + length, s->size - length, format, arguments);
    va_end(arguments);
}
