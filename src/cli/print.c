/* All output of the program goes through here: text from outside is escaped by cornu_printable. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/show.h"
#include "cli/cli.h"
#include <cornu/parallel.h>
#include <cornu/tables.h>
#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* `length` bytes of text from outside. */
static void put_shown(FILE *f, const char *string, size_t length)
{
    char *copy = strndup(string, length), *shown = NULL;
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
    char *string = NULL, *other = NULL, *marked = mark_controls(format), *shown = NULL;
    size_t size;
    FILE *whole = open_memstream(&shown, &size), *to = whole ? whole : f;
    va_list again;
    va_copy(again, arguments);
    bool made = vasprintf(&string, format, arguments) >= 0;
    made = marked && vasprintf(&other, marked, again) >= 0 && made;
    va_end(again);
    for (const char *at = string, *beside = other; made && *at;) {
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
    free(string);
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

void print_lines(const char *string)
{
    while (*string) {
        size_t length = strcspn(string, "\n");
        put_shown(stdout, string, length);
        if (string[length])
            fputc('\n', stdout);
        string += length + (string[length] != 0);
    }
}

void print_raw(FILE *f, const char *string)
{
    if (isatty(fileno(f)))
        put_shown(f, string, strlen(string));
    else
        fputs(string, f);
}

void print_row(FILE *f, const char *string)
{
    print_raw(f, string);
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

/* ---- messages ------------------------------------------------------------------------------- */

enum { LINE = 4096 };

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

/* ---- several processes ------------------------------------------------------------------- */

static cornu_ranks *ranks;

void speak_for(cornu_ranks *all)
{
    ranks = all;
}

bool is_speaker(void)
{
    int rank;
    (void)cornu_ranks_launched(&rank);
    return rank == 0;
}

bool is_left_to_first(const char *name)
{
    int rank, count = cornu_ranks_launched(&rank);
    if (count > 1 && rank == 0)
        print_to(stderr, "cornu: %s: the first of %d ranks does this alone\n", name, count);
    return rank > 0;
}

/* All ranks have the same command line. */
int fail_usage(const command *c, const char *format, ...)
{
    char line[LINE];
    if (!is_speaker())
        return STATUS_USAGE;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return fail(STATUS_USAGE, "%s: %s (see cornu %s --help)", c->name, line, c->name);
}

int exit_status(cornu_status status)
{
    status = cornu_ranks_end(ranks, status);
    if (status == CORNU_OK)
        return STATUS_OK;
    if (status == CORNU_RANK) /* which says it itself */
        return STATUS_FAILURE;
    return fail(status == CORNU_STOPPED ? STATUS_INTERRUPTED : STATUS_FAILURE, "%s",
                cornu_last_error());
}

/* "cuda" is the first of its kind; "gpu" the first GPU of any kind that can be used. */
static bool means(const char *name, const cornu_device_info *info)
{
    bool is_cuda = strncmp(info->name, "cuda", 4) == 0;
    if (strcmp(name, "gpu") == 0)
        return info->gpu || is_cuda;
    return strcmp(name, info->name) == 0 || (strcmp(name, "cuda") == 0 && is_cuda);
}

/* If no device of a kind can be used, its row has no number: the row "opencl" says why there is
   no "opencl:0". */
static bool is_of_missing_kind(const char *name, const cornu_device_info *info)
{
    size_t length = strlen(info->name);
    return !info->available && strncmp(name, info->name, length) == 0 && name[length] == ':';
}

static bool is_precision(const char *name)
{
    return !name || strcmp(name, "fp32") == 0 || strcmp(name, "tf32") == 0 ||
           strcmp(name, "bf16") == 0;
}

const char *devices_here(char *names, size_t size)
{
    cornu_device_info d = {.size = sizeof d};
    bool gpu = false;
    size_t length = 0;
    *names = 0;
    for (int i = 0; cornu_device_info_get(i, &d); i++) {
        bool is_gpu = d.gpu || strncmp(d.name, "cuda", 4) == 0;
        bool first = d.available && is_gpu && !gpu;
        gpu |= first;
        if (d.available && length < size)
            length += (size_t)snprintf(names + length, size - length, "%s%s%s",
                                       length > 0 ? " " : "", first ? "gpu " : "", d.name);
    }
    return names;
}

bool device_is_there(const char *name, const char *precision, int *status)
{
    char there[256] = "", missing[sizeof(((cornu_device_info *)0)->reason)] = "";
    cornu_device_info info = {.size = sizeof info};
    if (!is_precision(precision)) {
        *status =
            fail(STATUS_USAGE, "--precision %s: unknown; expected fp32, tf32 or bf16", precision);
        return false;
    }
    for (int i = 0; name && cornu_device_info_get(i, &info); i++) {
        bool meant = means(name, &info) || is_of_missing_kind(name, &info);
        if (meant && info.available)
            return true;
        if (meant && !*missing)
            snprintf(missing, sizeof missing, "%s", info.reason);
        size_t length = strlen(there);
        if (info.available)
            snprintf(there + length, sizeof there - length, "%s%s", *there ? ", " : "", info.name);
    }
    if (!name)
        return true;
    if (*missing)
        *status = fail(STATUS_USAGE, "--device %s: not available: %s", name, missing);
    else
        *status = fail(STATUS_USAGE, "--device %s: no such device on this machine; there are: %s",
                       name, there);
    return false;
}

bool devices_are_there(const char *names, const char *precision, int *status)
{
    if (!names || strcmp(names, "all") == 0)
        return device_is_there(NULL, precision, status);
    for (bool last = false; !last; names += strcspn(names, ",") + 1) {
        char name[64];
        size_t length = strcspn(names, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), names);
        last = names[length] == 0;
        if (!device_is_there(name, precision, status))
            return false;
    }
    return true;
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
    else if (access(folder, W_OK) != 0) {
        problem = errno; /* use the folder's error: the file may not exist yet */
        problem = access(path, W_OK) == 0 ? 0 : problem;
    }
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

/* ---- the terminal --------------------------------------------------------------------------- */

/* A launcher of ranks may give its processes a pseudo-terminal without a size. */
static bool is_launchers(FILE *f)
{
    int rank;
    struct winsize size;
    return cornu_ranks_launched(&rank) > 1 &&
           (ioctl(fileno(f), TIOCGWINSZ, &size) != 0 || size.ws_col == 0);
}

bool terminal_is(FILE *f)
{
    const char *term = getenv("TERM");
    return isatty(fileno(f)) && term && *term && strcmp(term, "dumb") != 0 && !is_launchers(f);
}

int terminal_width(FILE *f)
{
    struct winsize size;
    if (ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

int terminal_height(FILE *f)
{
    struct winsize size;
    if (ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
        return size.ws_row;
    return 24;
}

bool terminal_has_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ---- times ---------------------------------------------------------------------------------- */

/* How long it took. */
void print_rate(int64_t samples, double seconds)
{
    char took[24];
    double rate = seconds > 0 ? (double)samples / seconds : 0;
    print("%lld %s in %s, %.*f samples/s\n", (long long)samples,
          samples == 1 ? "sample" : "samples", number_seconds(seconds, took), rate < 10 ? 2 : 0,
          rate);
}

void print_total(int64_t epochs, double seconds)
{
    char took[24];
    print("trained %lld %s in %s\n", (long long)epochs, epochs == 1 ? "epoch" : "epochs",
          number_seconds(seconds, took));
}

void progress_status(const char *string)
{
    if (!terminal_is(stderr))
        return;
    int width = terminal_width(stderr) - 1;
    print_to(stderr, "\r%.*s\033[K", width, string ? string : "");
    fflush(stderr);
}
