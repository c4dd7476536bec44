#include "bench/show.h"
#include "base/files.h"
#include "base/number.h"
#include "base/status.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- durations ------------------------------------------------------------------------------ */

/* "4 min 30 s"; a zero is left out. */
static const char *show_two(long long large, const char *of, long long small, const char *rest,
                            char *text)
{
    if (small > 0)
        snprintf(text, DURATION_TEXT, "%lld %s %lld %s", large, of, small, rest);
    else
        snprintf(text, DURATION_TEXT, "%lld %s", large, of);
    return text;
}

/* Times below 10 s, into half of a text. */
static void show_short(double seconds, char *text)
{
    if (seconds < 0.0995)
        snprintf(text, DURATION_TEXT / 2, "%.*f ms", seconds < 0.00995 ? 1 : 0, seconds * 1e3);
    else
        snprintf(text, DURATION_TEXT / 2, "%.*f s", seconds < 0.995 ? 2 : 1, seconds);
}

const char *duration_clock(double seconds, char *text)
{
    return number_seconds(seconds, text);
}

const char *duration_show(double seconds, char text[DURATION_TEXT])
{
    if (!(seconds >= 0) || seconds > 1e15) {
        snprintf(text, DURATION_TEXT, "-");
        return text;
    }
    if (seconds < 9.95) {
        show_short(seconds, text);
        return text;
    }
    long long whole = llround(seconds), minutes = llround(seconds / 60);
    if (whole < 100)
        return show_two(whole, "s", 0, "", text);
    if (whole < 600)
        return show_two(whole / 60, "min", whole % 60, "s", text);
    if (minutes < 100)
        return show_two(minutes, "min", 0, "", text);
    if (minutes < 48 * 60)
        return show_two(minutes / 60, "h", minutes % 60, "min", text);
    long long hours = llround(seconds / 3600);
    return show_two(hours / 24, "d", hours % 24, "h", text);
}

/* One unit is enough for an uncertainty. */
static void show_error(double seconds, char *text)
{
    if (seconds < 9.95)
        show_short(seconds, text);
    else if (seconds < 99.5)
        snprintf(text, DURATION_TEXT / 2, "%.0f s", seconds);
    else if (seconds < 99.5 * 60)
        snprintf(text, DURATION_TEXT / 2, "%.0f min", seconds / 60);
    else if (seconds < 48 * 3600)
        snprintf(text, DURATION_TEXT / 2, "%.0f h", seconds / 3600);
    else
        snprintf(text, DURATION_TEXT / 2, "%.0f d", seconds / 86400);
}

const char *duration_show_about(double seconds, double error, bool utf8, char text[DURATION_TEXT])
{
    char center[DURATION_TEXT], around[DURATION_TEXT / 2];
    duration_show(seconds, center);
    if (!(error >= 0) || error > 1e15 || !(seconds >= 0))
        return duration_show(seconds, text);
    show_error(error, around);
    snprintf(text, DURATION_TEXT, "%.24s %s%.30s", center, utf8 ? "±" : "+-", around);
    return text;
}

/* ---- lines of at most 80 columns ------------------------------------------------------------ */

enum { NOTE = 1024 };

int wrap_text_width(const char *line)
{
    int width = 0;
    for (; *line; line++)
        width += ((unsigned char)*line & 0xC0) != 0x80;
    return width;
}

void wrap_print_from(const char *all, int at, int indent, FILE *out)
{
    char line[NOTE];
    const char *words = line;
    bool first = true;
    cornu_printable(all, line, sizeof line); /* names of processors, devices and data sets */
    for (; *words; first = false) {
        char word[NOTE];
        size_t length = strcspn(words, " ");
        length = length < sizeof word - 1 ? length : sizeof word - 1;
        memcpy(word, words, length);
        word[length] = 0;
        int width = wrap_text_width(word);
        if (!first && at > indent && at + 1 + width > WRAP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fputs(word, out);
        at += width;
        words += length;
        words += strspn(words, " ");
    }
    fputc('\n', out);
}

/* ---- sentences ------------------------------------------------------------------------------ */

void sentence_add(const sentence *s, const char *format, ...)
{
    size_t length = strlen(s->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->text + length, s->size - length, format, arguments);
    va_end(arguments);
}

/* ---- what the program takes from rooms before this one -------------------------------------- */

FILE *bench_stream_open(const char *path, int flags, int *fd)
{
    do
        *fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | flags, 0666);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? NULL : file_stream(*fd);
}
