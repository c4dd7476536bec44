/* All output of the program goes through here: text from outside is escaped by cornu_printable. */
#include "cli/cli.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `length` bytes of text from outside. */
static void put_shown(FILE *f, const char *text, size_t length)
{
    char *copy = strndup(text, length), *shown = NULL;
    size_t room = copy ? cornu_printable(copy, NULL, 0) + 1 : 0;
    if (copy)
        shown = malloc(room);
    if (shown) {
        cornu_printable(copy, shown, room);
        fputs(shown, f);
    }
    free(shown);
    free(copy);
}

/* `format` with each control character replaced by another. */
static char *mark_controls(const char *format)
{
    char *marked = strdup(format);
    for (char *c = marked; c && *c; c++)
        if ((unsigned char)*c < 0x20)
            *c = *c == 1 ? 2 : 1;
    return marked;
}

/* Format twice, the second time with other control characters in the format: the two texts
   differ where the control characters are the program's. Write at once, so that no other output
   comes between. */
static void print_v(FILE *f, const char *format, va_list arguments)
{
    char *text = NULL, *other = NULL, *marked = mark_controls(format), *shown = NULL;
    size_t size;
    FILE *whole = open_memstream(&shown, &size), *to = whole ? whole : f;
    va_list again;
    va_copy(again, arguments);
    bool made = vasprintf(&text, format, arguments) >= 0;
    made = marked && vasprintf(&other, marked, again) >= 0 && made;
    va_end(again);
    for (const char *at = text, *beside = other; made && *at;) {
        size_t outside = 0;
        while (at[outside] && at[outside] == beside[outside])
            outside++;
        put_shown(to, at, outside);
        at += outside;
        beside += outside;
        if (*at) {
            fputc(*at++, to);
            beside++;
        }
    }
    if (whole && fclose(whole) == 0)
        fputs(shown, f);
    free(shown);
    free(marked);
    free(other);
    free(text);
}

void print_to(FILE *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_v(f, format, arguments);
    va_end(arguments);
}

void print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_v(stdout, format, arguments);
    va_end(arguments);
}

void print_lines(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        put_shown(stdout, text, length);
        if (text[length])
            fputc('\n', stdout);
        text += length + (text[length] != 0);
    }
}

void print_raw(FILE *f, const char *text)
{
    if (isatty(fileno(f)))
        put_shown(f, text, strlen(text));
    else
        fputs(text, f);
}

void print_row(FILE *f, const char *text)
{
    print_raw(f, text);
    fputc('\n', f);
}

/* In $'...' every byte except plain ASCII is printed as its number. */
static void print_encoded(FILE *f, const char *word)
{
    fputs(" $'", f);
    for (const unsigned char *c = (const unsigned char *)word; *c; c++) {
        if (*c < 0x20 || *c > 0x7e)
            fprintf(f, "\\x%02x", *c);
        else
            fprintf(f, "%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
    }
    fputc('\'', f);
}

void print_word(FILE *f, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:=@%";
    size_t length = strlen(word);
    if (cornu_printable(word, NULL, 0) != length) {
        print_encoded(f, word);
        return;
    }
    if (*word && word[strspn(word, plain)] == 0) {
        fprintf(f, " %s", word);
        return;
    }
    fputs(" '", f);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", f);
        else
            fputc(*word, f);
    fputc('\'', f);
}

const char *show_bytes(double bytes, char *text)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    while (bytes >= 999.5 && unit < 4) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, 16, "%.*f %s", unit > 0 && bytes < 9.95 ? 1 : 0, bytes, units[unit]);
    return text;
}
