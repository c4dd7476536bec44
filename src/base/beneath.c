#include "base/beneath.h"
#include "base/files.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
