#include "base/number.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

char *number_print(char *text, const char *format, double value)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, NUMBER_SIZE, format, value);
#pragma GCC diagnostic pop
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return text;
}

bool number_read(const char *text, double *value)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return false;
    char *end;
    *value = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && *end == 0;
}
