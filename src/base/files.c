#include "base/files.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

cornu_status file_fail(const char *path, const char *action, int error)
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

cornu_status path_beside(const char *path, const char *source, char **out)
{
    size_t length = source ? strlen(source) - strlen(path_base(source)) : 0;
    if (*path == '/' || length == 0)
        return memory_copy_string(path, out);
    return memory_format(out, "%.*s%s", (int)length, source, path);
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
            status = file_fail(copy, "make folder", errno == EEXIST ? ENOTDIR : errno);
        *at = c;
        if (c == 0)
            break;
    }
    free(copy);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------- */

static cornu_status open_to_read(const char *path, int flags, int *fd, struct stat *s)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (*fd < 0)
        return file_fail(path, "open", errno);
    int error = fstat(*fd, s) != 0 ? errno : S_ISDIR(s->st_mode) ? EISDIR : 0;
    if (error) {
        close(*fd);
        *fd = -1;
        return file_fail(path, "read", error);
    }
    return CORNU_OK;
}

static cornu_status too_large(const char *path, size_t limit)
{
    return status_fail(CORNU_BAD_FILE, "%s: found more than %zu bytes; expected at most that", path,
                       limit);
}

/* Read to the end; the stated size is only a first guess (pipes, growing files). */
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
            return file_fail(path, "read", errno);
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
    struct stat s;
    int fd;
    *data = NULL;
    *size = 0;
    TRY(open_to_read(path, 0, &fd, &s));
    bool regular = S_ISREG(s.st_mode);
    cornu_status status;
    if (regular && (uintmax_t)s.st_size > limit)
        status = status_fail(CORNU_BAD_FILE, "%s: found %jd bytes; expected at most %zu", path,
                             (intmax_t)s.st_size, limit);
    else
        status = read_all(path, fd, regular ? (size_t)s.st_size : 4096, limit, data, size);
    close(fd);
    if (status != CORNU_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}

cornu_status file_map_open(const char *path, file_map *map)
{
    struct stat s;
    int fd;
    *map = (file_map){0};
    TRY(open_to_read(path, O_NONBLOCK, &fd, &s)); /* a pipe without a writer must not hang */
    cornu_status status = CORNU_OK;
    if (!S_ISREG(s.st_mode)) {
        status = status_fail(CORNU_IO, "%s: found a device or pipe; expected a regular file", path);
    } else if (s.st_size > 0) {
        void *data = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            status = file_fail(path, "map", errno);
        else
            *map = (file_map){data, (size_t)s.st_size};
    }
    close(fd);
    return status;
}

void file_map_close(file_map *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->size);
    *map = (file_map){0};
}
