#include "base/files.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static cornu_status fail_errno(const char *path, const char *action, int error)
{
    cornu_status code = error == ENOENT || error == ENOTDIR ? CORNU_NOT_FOUND
                        : error == ENOMEM                   ? CORNU_OUT_OF_MEMORY
                                                            : CORNU_IO;
    return status_fail(code, "%s: cannot %s: %s", path, action, strerror(error));
}

bool file_exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

bool folder_exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

cornu_status path_join(const char *folder, const char *name, char **out)
{
    size_t length = strlen(folder);
    const char *between = length == 0 || folder[length - 1] == '/' ? "" : "/";
    return memory_format(out, "%s%s%s", folder, between, name);
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool path_has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), n = strlen(ending);
    return length >= n && strcasecmp(path + length - n, ending) == 0;
}

cornu_status folder_make(const char *path)
{
    char *copy;
    TRY(memory_copy_string(path, &copy));
    cornu_status status = CORNU_OK;
    for (char *at = copy + 1; *copy && status == CORNU_OK; at++) {
        char c = *at;
        if (c != '/' && c != 0)
            continue;
        *at = 0;
        /* A parent may exist on a file system where mkdir says "read-only" or "denied" first. */
        if (mkdir(copy, 0777) != 0 && !folder_exists(copy))
            status = fail_errno(copy, "make folder", errno == EEXIST ? ENOTDIR : errno);
        *at = c;
        if (c == 0)
            break;
    }
    free(copy);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Anything else would be waited for, never end, or change by being opened. */
static cornu_status check_regular(const char *path, const struct stat *s)
{
    if (S_ISREG(s->st_mode))
        return CORNU_OK;
    if (S_ISDIR(s->st_mode))
        return fail_errno(path, "read", EISDIR);
    return status_fail(CORNU_IO, "%s: found a %s; expected a regular file", path,
                       S_ISFIFO(s->st_mode)   ? "pipe"
                       : S_ISSOCK(s->st_mode) ? "socket"
                                              : "device");
}

cornu_status file_open_regular(const char *path, int *fd, uint64_t *size)
{
    struct stat s;
    *fd = -1;
    if (stat(path, &s) != 0)
        return fail_errno(path, "open", errno);
    TRY(check_regular(path, &s));
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
        return fail_errno(path, "open", errno);
    cornu_status status =
        fstat(*fd, &s) != 0 ? fail_errno(path, "read", errno) : check_regular(path, &s);
    if (status != CORNU_OK) {
        close(*fd);
        *fd = -1;
        return status;
    }
    *size = (uint64_t)s.st_size;
    return CORNU_OK;
}

cornu_status file_read_at(const char *path, int fd, uint64_t offset, void *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(path, "read", errno);
        if (n == 0)
            return status_fail(CORNU_BAD_FILE,
                               "%s: found its end at byte %ju; expected it at %ju "
                               "or later: it was cut while it was read",
                               path, (uintmax_t)(offset + done), (uintmax_t)(offset + size));
        done += (size_t)n;
    }
    return CORNU_OK;
}

static cornu_status too_large(const char *path, size_t limit)
{
    return status_fail(CORNU_BAD_FILE, "%s: found more than %zu bytes; expected at most that", path,
                       limit);
}

/* Read to the end; the stated size is only a first guess (/proc, growing files). */
static cornu_status read_all(const char *path, int fd, size_t guess, size_t limit, char **data,
                             size_t *size)
{
    size_t capacity = 0, used = 0;
    TRY(memory_grow(data, &capacity, guess + 2, 1));
    for (;;) {
        ssize_t n = read(fd, *data + used, capacity - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(path, "read", errno);
        if (n == 0)
            break;
        used += (size_t)n;
        if (used > limit)
            return too_large(path, limit);
        if (used + 1 == capacity)
            TRY(memory_grow(data, &capacity, capacity + 4096, 1));
    }
    (*data)[used] = 0;
    *size = used;
    return CORNU_OK;
}

cornu_status file_read(const char *path, size_t limit, char **data, size_t *size)
{
    uint64_t there;
    int fd;
    *data = NULL;
    *size = 0;
    TRY(file_open_regular(path, &fd, &there));
    cornu_status status;
    if (there > limit)
        status = status_fail(CORNU_BAD_FILE, "%s: found %ju bytes; expected at most %zu", path,
                             (uintmax_t)there, limit);
    else
        status = read_all(path, fd, (size_t)there, limit, data, size);
    close(fd);
    if (status != CORNU_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* The umask can only be read by setting it, which other threads would see; /proc tells it. */
static mode_t usual_mode(void)
{
    unsigned mask = 022;
    FILE *f = fopen("/proc/self/status", "re");
    if (!f)
        return 0644;
    char line[256];
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "Umask: %o", &mask) == 1)
            break;
    fclose(f);
    return 0666 & ~(mode_t)mask;
}

/* The folder part of `path` with its last '/', or "" where there is none. */
static cornu_status folder_part(const char *path, char **out)
{
    return memory_format(out, "%.*s", (int)(path_base(path) - path), path);
}

/* Follow symbolic links by hand: the last target need not exist yet. Takes *path, replaces it. */
static cornu_status follow_links(char **path)
{
    for (int depth = 0; depth < 40; depth++) {
        char target[PATH_MAX], *folder, *next;
        ssize_t n = readlink(*path, target, sizeof target - 1);
        if (n < 0)
            return CORNU_OK;
        target[n] = 0;
        TRY(folder_part(*path, &folder));
        cornu_status status = memory_format(&next, "%s%s", target[0] == '/' ? "" : folder, target);
        free(folder);
        TRY(status);
        free(*path);
        *path = next;
    }
    return fail_errno(*path, "write", ELOOP);
}

/* Devices, pipes and the process's own streams cannot be replaced; they are written straight. */
static bool is_stream(const char *path)
{
    struct stat s;
    if (strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0 ||
        strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0)
        return true;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

/* Create "FOLDER/.NAME.XXXXXX"; the mode is that of the file to be replaced, if there is one. */
static cornu_status open_temporary(file_write *w)
{
    struct stat s;
    mode_t mode = usual_mode();
    if (stat(w->path, &s) == 0) {
        if (S_ISDIR(s.st_mode))
            return fail_errno(w->path, "write", EISDIR);
        if (access(w->path, W_OK) != 0)
            return fail_errno(w->path, "write", errno);
        mode = s.st_mode & 0777;
    }
    char *folder;
    TRY(folder_part(w->path, &folder));
    int room = NAME_MAX - 8; /* ".", ".XXXXXX" */
    cornu_status status =
        memory_format(&w->temporary, "%s.%.*s.XXXXXX", folder, room, path_base(w->path));
    free(folder);
    TRY(status);
    int fd = mkostemp(w->temporary, O_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        free(w->temporary); /* nothing to unlink */
        w->temporary = NULL;
        return fail_errno(w->path, "write", error);
    }
    (void)fchmod(fd, mode); /* file systems without modes refuse */
    w->stream = fdopen(fd, "wb");
    if (!w->stream) {
        int error = errno;
        close(fd);
        return fail_errno(w->path, "write", error);
    }
    return CORNU_OK;
}

cornu_status file_write_open(const char *path, file_write *w)
{
    *w = (file_write){0};
    if (*path == 0)
        return status_fail(CORNU_INVALID, "file to write: found an empty name; expected a path");
    cornu_status status = memory_copy_string(path, &w->path);
    if (status == CORNU_OK && is_stream(path)) {
        w->stream = fopen(path, "we");
        if (!w->stream)
            status = fail_errno(path, "write", errno);
    } else if (status == CORNU_OK) {
        status = follow_links(&w->path);
        if (status == CORNU_OK)
            status = open_temporary(w);
    }
    if (status != CORNU_OK)
        file_write_abandon(w);
    return status;
}

cornu_status file_write_bytes(file_write *w, const void *data, size_t size)
{
    if (size > 0 && fwrite(data, 1, size, w->stream) != size)
        return fail_errno(w->path, "write", errno);
    return CORNU_OK;
}

/* fsync where the file system knows it. */
static bool sync_descriptor(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

/* Make the rename itself last. */
static cornu_status sync_folder(const char *path)
{
    char *folder;
    TRY(folder_part(path, &folder));
    int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return CORNU_OK; /* a folder that may be written but not listed */
    cornu_status status =
        sync_descriptor(fd) ? CORNU_OK : fail_errno(path, "write the folder of", errno);
    close(fd);
    return status;
}

cornu_status file_write_commit(file_write *w)
{
    cornu_status status = CORNU_OK;
    int earlier = ferror(w->stream);
    if (fflush(w->stream) != 0)
        status = fail_errno(w->path, "write", errno);
    else if (earlier)
        status = fail_errno(w->path, "write", EIO); /* a write failed that nobody looked at */
    else if (w->temporary && !sync_descriptor(fileno(w->stream)))
        status = fail_errno(w->path, "write", errno);
    if (fclose(w->stream) != 0 && status == CORNU_OK)
        status = fail_errno(w->path, "write", errno);
    w->stream = NULL;
    if (status == CORNU_OK && w->temporary) {
        if (rename(w->temporary, w->path) != 0) {
            status = fail_errno(w->path, "write", errno);
        } else {
            free(w->temporary);
            w->temporary = NULL;
            status = sync_folder(w->path);
        }
    }
    file_write_abandon(w);
    return status;
}

void file_write_abandon(file_write *w)
{
    if (w->stream)
        fclose(w->stream);
    if (w->temporary)
        unlink(w->temporary);
    free(w->temporary);
    free(w->path);
    *w = (file_write){0};
}
