#include "cli/cli.h"
#include <cornu/parallel.h>
#include <cornu/tables.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int report(cornu_status status)
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

bool device_is_there(const char *name, const char *precision, int *status)
{
    char there[256] = "", missing[sizeof(((cornu_device_info *)0)->reason)] = "";
    cornu_device_info info;
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
