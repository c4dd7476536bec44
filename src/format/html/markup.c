#include "base/number.h"
#include "format/html/html.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void markup_text(text *t, const char *line)
{
    text plain = {0};
    text_add_printable(&plain, line);
    t->failed |= plain.failed;
    const char *from = plain.data ? plain.data : "";
    for (const char *c = from;; c++) {
        const char *entity = entity_of(*c);
        if (*c && !entity)
            continue;
        text_add(t, "%.*s%s", (int)(c - from), from, entity ? entity : "");
        from = c + 1;
        if (!*c)
            break;
    }
    text_free(&plain);
}

void markup_element(text *t, const char *name, const char *attributes, const char *line)
{
    text_add(t, "<%s%s%s>", name, *attributes ? " " : "", attributes);
    markup_text(t, line);
    text_add(t, "</%s>", name);
}

void markup_coordinate(text *t, double value)
{
    long tenths = lround(value * 10), whole = labs(tenths) / 10, rest = labs(tenths) % 10;
    text_add(t, "%s%ld", tenths < 0 ? "-" : "", whole);
    if (rest)
        text_add(t, ".%ld", rest);
}

const char *markup_number(double value, int significant, char *out)
{
    char digits[NUMBER_SIZE], format[16];
    double size = fabs(value);
    if (!isfinite(value)) {
        snprintf(out, MARKUP_NUMBER, "-");
        return out;
    }
    snprintf(format, sizeof format, "%%.%de", significant - 1);
    if (size > 0 && (size < 9.995e-5 || size >= 1e15)) {
        number_print(digits, format, value);
    } else {
        number_print(digits, format,
                     size); /* rounded first: 9.999 has one digit before the point */
        const char *exponent = digits;
        while (*exponent && *exponent != 'e')
            exponent++;
        int decimals = significant - 1 - (*exponent ? atoi(exponent + 1) : 0);
        snprintf(format, sizeof format, "%%.%df", size > 0 && decimals > 0 ? decimals : 0);
        number_print(digits, format, value);
    }
    snprintf(out, MARKUP_NUMBER, "%.*s", MARKUP_NUMBER - 1, digits);
    return out;
}
