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

const char *number_seconds(double seconds, char *text)
{
    char digits[NUMBER_SIZE];
    long long whole = (long long)(seconds + 0.5);
    if (whole >= 3600)
        snprintf(text, 24, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else if (whole >= 60)
        snprintf(text, 24, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(text, 24, "%.20s s", number_print(digits, "%.3g", seconds));
    return text;
}
