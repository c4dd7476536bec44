#include "cli/cli.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 4096 };

/* ---- printing --------------------------------------------------------------------------- */

/* `length` bytes of text from outside. */
static void put_shown(FILE *f, const char *text, size_t length)
{
    char *part = strndup(text, length), *shown = NULL;
    size_t room = part ? cornu_printable(part, NULL, 0) + 1 : 0;
    if (part)
        shown = malloc(room);
    if (shown) {
        cornu_printable(part, shown, room);
        fputs(shown, f);
    }
    free(shown);
    free(part);
}

/* `format` with another control character in place of each of its own. */
static char *mark_controls(const char *format)
{
    char *marked = strdup(format);
    for (char *c = marked; c && *c; c++)
        if ((unsigned char)*c < 0x20)
            *c = *c == 1 ? 2 : 1;
    return marked;
}

/* Printed twice, the second time with other control characters in the format: where the two differ
   is what is the program's own. Written at once, so that nothing of others comes in between. */
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

/* In $'...' every byte but plain ASCII has its number. */
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

/* ---- errors ----------------------------------------------------------------------------- */

static void print_error(const char *line)
{
    progress_status(NULL);
    fflush(stdout);
    print_to(stderr, "cornu: %s\n", line);
}

int fail(int status, const char *format, ...)
{
    char line[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    print_error(line);
    return status;
}

int fail_usage(const command *c, const char *format, ...)
{
    char line[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return fail(STATUS_USAGE, "%s: %s (see cornu %s --help)", c->name, line, c->name);
}

int report(cornu_status status)
{
    if (status == CORNU_OK)
        return STATUS_OK;
    return fail(status == CORNU_STOPPED ? STATUS_INTERRUPTED : STATUS_FAILURE, "%s",
                cornu_last_error());
}

/* "gpu" and "cuda" mean the first GPU. */
static bool means(const char *name, const char *device)
{
    bool any_gpu = strcmp(name, "gpu") == 0 || strcmp(name, "cuda") == 0;
    return strcmp(name, device) == 0 || (any_gpu && strncmp(device, "cuda", 4) == 0);
}

static bool is_precision(const char *name)
{
    return !name || strcmp(name, "fp32") == 0 || strcmp(name, "tf32") == 0 ||
           strcmp(name, "bf16") == 0;
}

bool device_is_there(const device_choice *choice, int *status)
{
    char there[256] = "";
    cornu_device_info info;
    const char *name = choice->device;
    if (!is_precision(choice->precision)) {
        *status = fail(STATUS_USAGE, "--precision %s: unknown; expected fp32, tf32 or bf16",
                       choice->precision);
        return false;
    }
    for (int i = 0; name && cornu_device_info_get(i, &info); i++) {
        if (means(name, info.name)) {
            if (info.available)
                return true;
            *status = fail(STATUS_USAGE, "--device %s: not available: %s", name, info.reason);
            return false;
        }
        size_t length = strlen(there);
        if (info.available)
            snprintf(there + length, sizeof there - length, "%s%s", *there ? ", " : "", info.name);
    }
    if (!name)
        return true;
    *status = fail(STATUS_USAGE, "--device %s: no such device on this machine; there are: %s", name,
                   there);
    return false;
}

bool can_write(const char *path, int *status)
{
    struct stat s;
    if (!path)
        return true;
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    char *folder = strndup(length ? path : "./", length ? length : 2);
    int problem = 0;
    if (!folder)
        problem = ENOMEM;
    else if (*path == 0)
        problem = ENOENT;
    else if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
        problem = EISDIR;
    else if (stat(folder, &s) != 0)
        problem = errno;
    else if (!S_ISDIR(s.st_mode))
        problem = ENOTDIR;
    else if (access(folder, W_OK) != 0 && access(path, W_OK) != 0)
        problem = errno;
    free(folder);
    if (!problem)
        return true;
    *status = fail(STATUS_FAILURE, "%s: cannot write: %s", path, strerror(problem));
    return false;
}

bool folder_is_there(const char *path, int *status)
{
    struct stat s;
    if (!path || (stat(path, &s) == 0 && S_ISDIR(s.st_mode)))
        return true;
    *status = fail(STATUS_FAILURE, "%s: not found; expected a folder", path);
    return false;
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
