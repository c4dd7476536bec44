#include "base/files.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
        /* A parent may exist on a file system where mkdir says "read-only" or "denied" first; its
           error counts only where the folder does not exist. */
        int error = mkdir(copy, 0777) != 0 ? errno : 0;
        if (error && !folder_exists(copy))
            status = file_fail(copy, "make folder", error == EEXIST ? ENOTDIR : error);
        *at = c;
        if (c == 0)
            break;
    }
    free(copy);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Any other file would block, never end, or change by being opened. */
static cornu_status check_regular(const char *path, const struct stat *s)
{
    if (S_ISREG(s->st_mode))
        return CORNU_OK;
    if (S_ISDIR(s->st_mode))
        return file_fail(path, "read", EISDIR);
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
        return file_fail(path, "open", errno);
    TRY(check_regular(path, &s));
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
        return file_fail(path, "open", errno);
    cornu_status status =
        fstat(*fd, &s) != 0 ? file_fail(path, "read", errno) : check_regular(path, &s);
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
            return file_fail(path, "read", errno);
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

cornu_status path_in_home(const char *rest, char **out)
{
    const char *home = getenv("HOME");
    *out = NULL;
    return home && *home == '/' ? path_join(home, rest, out) : CORNU_OK;
}

static cornu_status user_folder(const char *variable, const char *rest, char **out)
{
    const char *folder = getenv(variable);
    if (folder && *folder == '/')
        return path_join(folder, "cornu", out);
    return path_in_home(rest, out);
}

cornu_status cache_folder(char **out)
{
    return user_folder("XDG_CACHE_HOME", ".cache/cornu", out);
}

cornu_status config_folder(char **out)
{
    return user_folder("XDG_CONFIG_HOME", ".config/cornu", out);
}

/* ---- names from another person's recipe ------------------------------------------------- */

cornu_status beneath_check(const char *path)
{
    const char *name = path;
    bool fine = *path && *path != '/';
    while (fine && name) {
        size_t length = strcspn(name, "/");
        fine = length > 0 && !(length == 2 && strncmp(name, "..", 2) == 0) &&
               !(length == 1 && *name == '.' && name[1] == 0);
        name = name[length] ? name + length + 1 : NULL;
    }
    if (fine)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "found \"%s\"; expected a path beneath the current folder (or that of "
                       "--output): a recipe's own files go nowhere else",
                       path);
}

static cornu_status fail_at(const char *path, int length, int error)
{
    if (error == ELOOP || error == ENOTDIR)
        return status_fail(CORNU_INVALID,
                           "%s: found a link or file at %.*s; expected a folder: a recipe's own "
                           "files are not written through links",
                           path, length, path);
    return status_fail(CORNU_IO, "%s: cannot write: %s", path, strerror(error));
}

/* Open the folder `name` in `at`; closes `at`. */
static int enter(int at, const char *name, bool make)
{
    enum { FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    int next = openat(at, name, FLAGS);
    if (next < 0 && errno == ENOENT && make && (mkdirat(at, name, 0777) == 0 || errno == EEXIST))
        next = openat(at, name, FLAGS);
    int error = errno;
    close(at);
    errno = error;
    return next;
}

cornu_status beneath_open_folder(const char *root, const char *path, bool make, int *folder)
{
    char *names, *rest = NULL;
    *folder = -1;
    TRY(beneath_check(path));
    TRY(memory_copy_string(path, &names));
    const char *from = root && *root ? root : ".";
    int at = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cornu_status status = CORNU_OK;
    if (at < 0)
        status =
            status_fail(CORNU_NOT_FOUND, "%s: cannot open the folder: %s", from, strerror(errno));
    size_t folders = strlen(path) - strlen(path_base(path));
    names[folders] = 0;
    char *name = at < 0 ? NULL : strtok_r(names, "/", &rest);
    for (; name && at >= 0; name = strtok_r(NULL, "/", &rest)) {
        at = enter(at, name, make);
        if (at < 0 && (make || errno != ENOENT))
            status = fail_at(path, (int)(name - names + (ptrdiff_t)strlen(name)), errno);
    }
    free(names);
    *folder = at;
    return status;
}

/* Refuse a link, and a file with several names, which may be another user's. */
static cornu_status check_file(const char *path, int fd)
{
    struct stat s;
    if (fstat(fd, &s) != 0)
        return status_fail(CORNU_IO, "%s: cannot read: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return status_fail(CORNU_IO, "%s: found a folder, pipe or device; expected a regular file",
                           path);
    if (s.st_nlink > 1)
        return status_fail(CORNU_INVALID,
                           "%s: found a file of %ju names; expected one of its own: a recipe's own "
                           "files are not written through links",
                           path, (uintmax_t)s.st_nlink);
    return CORNU_OK;
}

cornu_status beneath_open(const char *root, const char *path, int flags, int *fd)
{
    int folder;
    *fd = -1;
    TRY(beneath_open_folder(root, path, flags & O_CREAT, &folder));
    if (folder < 0)
        return CORNU_OK;
    *fd = openat(folder, path_base(path), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                 0666);
    int error = errno;
    close(folder);
    if (*fd < 0 && error == ENOENT && !(flags & O_CREAT))
        return CORNU_OK;
    if (*fd < 0 && error == ELOOP)
        return status_fail(CORNU_INVALID,
                           "%s: found a link; expected a file of its own: a recipe's own files are "
                           "not written through links",
                           path);
    if (*fd < 0)
        return status_fail(CORNU_IO, "%s: cannot write: %s", path, strerror(error));
    cornu_status status = check_file(path, *fd);
    if (status != CORNU_OK) {
        close(*fd);
        *fd = -1;
    }
    return status;
}
