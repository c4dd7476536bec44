#include "base/memory.h"
#include "train/callbacks.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A width of 100 and 50 digits are more than a name of a file needs. */
enum { WIDTH_MOST = 100, PRECISION_MOST = 50, NUMBER = 512 };

typedef struct spec {
    char fill, align, sign, type; /* type 0: none was given */
    int width, precision;         /* -1: none was given */
} spec;

bool name_has_fields(const char *format)
{
    return strchr(format, '{') || strchr(format, '}');
}

/* ---- after the colon -------------------------------------------------------------------- */

static bool take_count(const char **at, int most, int *count)
{
    int value = 0;
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        value = value <= most ? 10 * value + (**at - '0') : value;
    *count = value;
    return value <= most;
}

static bool is_align(char c)
{
    return c && strchr("<>=^", c);
}

/* False where Python knows no such form, or this file does not. */
static bool read_spec(const char *at, const char *end, spec *s)
{
    *s = (spec){.fill = ' ', .align = '>', .sign = '-', .width = -1, .precision = -1};
    bool filled = at + 1 < end && is_align(at[1]), aligned = filled || is_align(*at);
    if (filled)
        s->fill = *at++;
    if (aligned)
        s->align = *at++;
    if (*at == '+' || *at == '-' || *at == ' ')
        s->sign = *at++;
    if (*at == '0') {
        at++;
        s->fill = filled ? s->fill : '0';
        s->align = aligned ? s->align : '=';
    }
    if (*at >= '0' && *at <= '9' && !take_count(&at, WIDTH_MOST, &s->width))
        return false;
    if (*at == '.') {
        at++;
        if (!take_count(&at, PRECISION_MOST, &s->precision))
            return false;
    }
    if (at < end && strchr("deEfFgG%", *at))
        s->type = *at++;
    return at == end && (signed char)s->fill >= 0x20 && s->fill != '/';
}

/* ---- numbers, without their sign --------------------------------------------------------- */

/* Python's repr, or "g" with at least one decimal: `digits` significant digits, an exponent from
   `limit`. */
static void print_general(double value, int digits, int limit, char *out)
{
    char full[NUMBER];
    snprintf(full, sizeof full, "%.*e", digits - 1, value);
    char *exponent = strchr(full, 'e');
    int decimal = atoi(exponent + 1) + 1; /* digits before the point */
    if (decimal > -4 && decimal <= limit) {
        int behind = digits - decimal > 1 ? digits - decimal : 1;
        snprintf(out, NUMBER, "%.*f", behind, value);
        for (char *end = out + strlen(out) - 1; *end == '0' && end[-1] != '.'; end--)
            *end = 0;
        return;
    }
    char *end = exponent;
    if (strchr(full, '.'))
        while (end[-1] == '0' || end[-1] == '.')
            if (*--end == '.')
                break;
    snprintf(out, NUMBER, "%.*s%s", (int)(end - full), full, exponent);
}

static void print_shortest(double value, char *out)
{
    char full[NUMBER];
    int digits = 1;
    for (; digits < 17; digits++) {
        snprintf(full, sizeof full, "%.*e", digits - 1, value);
        if (strtod(full, NULL) == value)
            break;
    }
    print_general(value, digits, 16, out);
}

static void print_real(double value, const spec *s, char *out)
{
    int precision = s->precision < 0 ? 6 : s->precision;
    char form[8] = {'%', '.', '*', s->type, 0};
    bool capital = s->type == 'E' || s->type == 'F' || s->type == 'G';
    if (!isfinite(value))
        snprintf(out, NUMBER, "%s%s",
                 isnan(value) ? (capital ? "NAN" : "nan") : (capital ? "INF" : "inf"),
                 s->type == '%' ? "%" : "");
    else if (!s->type && s->precision < 0)
        print_shortest(value, out);
    else if (!s->type)
        print_general(value, precision ? precision : 1, (precision ? precision : 1) - 1, out);
    else if (s->type == '%')
        snprintf(out, NUMBER, "%.*f%%", precision, value * 100);
    else {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(out, NUMBER, form, precision, value);
#pragma GCC diagnostic pop
    }
}

/* False where Python has no such form of the field's type. */
static bool print_number(const name_field *f, const spec *s, char *out)
{
    bool whole = f->whole && (!s->type || s->type == 'd');
    if ((s->type == 'd' && !f->whole) || (whole && s->precision >= 0))
        return false;
    if (whole)
        snprintf(out, NUMBER, "%.0f", fabs(f->value));
    else
        print_real(fabs(f->value), s, out);
    return true;
}

/* ---- the name ---------------------------------------------------------------------------- */

static void add_repeated(text *t, char c, int count)
{
    for (; count > 0; count--)
        text_add(t, "%c", c);
}

static void add_padded(text *t, const spec *s, bool negative, const char *number)
{
    char sign[2] = {negative ? '-' : s->sign == '-' ? 0 : s->sign, 0};
    int spare = s->width - (int)(strlen(sign) + strlen(number));
    spare = spare > 0 ? spare : 0;
    int before = s->align == '<' || s->align == '=' ? 0 : s->align == '^' ? spare / 2 : spare;
    int inside = s->align == '=' ? spare : 0;
    add_repeated(t, s->fill, before);
    text_add(t, "%s", sign);
    add_repeated(t, s->fill, inside);
    text_add(t, "%s", number);
    add_repeated(t, s->fill, spare - before - inside);
}

static cornu_status fail_name(const char *field, int length, const name_field *fields, int count)
{
    text known = {0};
    for (int i = 0; i < count; i++)
        text_add(&known, "%s%s", i ? ", " : "", fields[i].name);
    cornu_status status = status_fail(CORNU_INVALID, "found {%.*s}; expected one of %s in braces",
                                      length, field, known.data ? known.data : "");
    text_free(&known);
    return status;
}

/* Adds the field between braces, from `at` to `end`. */
static cornu_status add_field(text *t, const char *at, const char *end, const name_field *fields,
                              int count)
{
    char number[NUMBER];
    spec s;
    const char *colon = memchr(at, ':', (size_t)(end - at));
    size_t length = (size_t)((colon ? colon : end) - at);
    const name_field *f = NULL;
    for (int i = 0; i < count && !f; i++)
        if (strlen(fields[i].name) == length && strncmp(fields[i].name, at, length) == 0)
            f = &fields[i];
    if (!f)
        return fail_name(at, (int)length, fields, count);
    if (!read_spec(colon ? colon + 1 : end, end, &s) || !print_number(f, &s, number))
        return status_fail(
            CORNU_INVALID, "found {%.*s}; expected a format of Python's %s, such as {%s:%s}",
            (int)(end - at), at, f->whole ? "int" : "float", f->name, f->whole ? "02d" : ".2f");
    add_padded(t, &s, signbit(f->value) && !isnan(f->value), number);
    return CORNU_OK;
}

static cornu_status add_all(text *t, const char *format, const name_field *fields, int count)
{
    for (const char *at = format; *at;) {
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            text_add(t, "%c", *at);
            at += 2;
        } else if (*at == '{') {
            const char *end = strchr(at, '}');
            if (!end)
                return status_fail(CORNU_INVALID, "found { without }; expected {FIELD}, or {{ for "
                                                  "a brace");
            TRY(add_field(t, at + 1, end, fields, count));
            at = end + 1;
        } else if (*at == '}') {
            return status_fail(CORNU_INVALID,
                               "found } without {; expected {FIELD}, or }} for a brace");
        } else {
            size_t plain = strcspn(at, "{}");
            text_add(t, "%.*s", (int)plain, at);
            at += plain;
        }
    }
    return CORNU_OK;
}

cornu_status name_format(const char *format, const name_field *fields, int count, char **out)
{
    text t = {0};
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0; /* numbers with a point */
    cornu_status status = add_all(&t, format, fields, count);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    if (status == CORNU_OK)
        return text_take(&t, out);
    text_free(&t);
    return status;
}
