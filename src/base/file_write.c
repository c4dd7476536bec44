/* Writing files: the temporary file, its fsync and its rename. */
#include "base/files.h"
#include "base/memory.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that are handed to the disk at a time. */
enum { WRITE_BLOCK = 8 << 20 };

/* ---- a stream that signals do not disturb -------------------------------------------------- */

/* stdio gives up when a signal interrupts a write (EINTR), and loses its buffer. */
static ssize_t stream_write(void *cookie, const char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = write((int)(intptr_t)cookie, data + done, size - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)done;
}

static int stream_seek(void *cookie, off64_t *offset, int whence)
{
    *offset = lseek((int)(intptr_t)cookie, *offset, whence);
    return *offset < 0 ? -1 : 0;
}

static int stream_close(void *cookie)
{
    return close((int)(intptr_t)cookie) == 0 || errno == EINTR ? 0
                                                               : -1; /* Linux closes it even then */
}

/* A stream to write to `fd`, which it takes also on failure (NULL, errno ENOMEM): unlike stdio's
   own it goes on where a signal interrupts a write. fileno() of it is -1. */
static FILE *file_stream(int fd)
{
    FILE *f = fopencookie(
        (void *)(intptr_t)fd, "wb",
        (cookie_io_functions_t){.write = stream_write, .seek = stream_seek, .close = stream_close});
    if (!f)
        close(fd);
    if (!f)
        errno = ENOMEM;
    return f;
}

FILE *file_stream_open(const char *path, int flags, int *fd)
{
    do
        *fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | flags, 0666);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? NULL : file_stream(*fd);
}

/* ---- the temporary file -------------------------------------------------------------------- */

/* The umask can only be read by setting it, which other threads would see; /proc shows it. */
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

/* The folder of `path` with its last '/', or "" where there is none. */
static cornu_status folder_of(const char *path, char **out)
{
    return memory_format(out, "%.*s", (int)(path_base(path) - path), path);
}

/* Follow symbolic links here: the last target need not exist yet. Takes *path and replaces it. */
static cornu_status follow_links(char **path)
{
    for (int depth = 0; depth < 40; depth++) {
        char target[PATH_MAX], *folder, *next;
        ssize_t n = readlink(*path, target, sizeof target - 1);
        if (n < 0)
            return CORNU_OK;
        target[n] = 0;
        TRY(folder_of(*path, &folder));
        cornu_status status = memory_format(&next, "%s%s", target[0] == '/' ? "" : folder, target);
        free(folder);
        TRY(status);
        free(*path);
        *path = next;
    }
    return file_fail(*path, "write", ELOOP);
}

/* Devices, pipes and the process's own streams cannot be replaced; they are written directly. */
static bool is_stream(const char *path)
{
    struct stat s;
    if (strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0 ||
        strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0)
        return true;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

/* The mode of the file that will be replaced, else the usual one. */
static cornu_status mode_for(const char *path, mode_t *mode)
{
    struct stat s;
    *mode = usual_mode();
    if (stat(path, &s) != 0)
        return errno == ENOENT ? CORNU_OK : file_fail(path, "write", errno);
    if (S_ISDIR(s.st_mode))
        return file_fail(path, "write", EISDIR);
    if (access(path, W_OK) != 0)
        return file_fail(path, "write", errno);
    *mode = s.st_mode & 0777;
    return CORNU_OK;
}

/* ".NAME.cornu-XXXXXX": a name that no other program uses. */
static const char temporary_mark[] = ".cornu-";
enum { TEMPORARY_LETTERS = 6, MARK = sizeof temporary_mark - 1 };

static bool ends_in_letters(const char *name, size_t length)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return length > MARK + TEMPORARY_LETTERS &&
           strspn(name + length - TEMPORARY_LETTERS, letters) >= TEMPORARY_LETTERS;
}

/* The length of a temporary file's name within `name`: all of it, or less where libzip has made one
   of its own beside it (".NAME.cornu-XXXXXX.XXXXXX"); 0 where `name` is not a temporary file's. */
static size_t temporary_length(const char *name)
{
    size_t length = strlen(name);
    for (int libzip = 0; libzip < 2; libzip++) {
        if (*name != '.' || !ends_in_letters(name, length))
            return 0;
        if (strncmp(name + length - TEMPORARY_LETTERS - MARK, temporary_mark, MARK) == 0)
            return length;
        length -= TEMPORARY_LETTERS + 1;
        if (name[length] != '.')
            return 0;
    }
    return 0;
}

/* A writer locks its temporary file until the file has its final name: where the lock can be taken,
   the writer is dead. Links are not followed, and other users' files are not touched. */
static void remove_if_dead(int folder, const char *name)
{
    struct stat s;
    if (fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode) ||
        s.st_uid != geteuid())
        return;
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(fd);
}

/* libzip locks no file; the temporary file beside libzip's stays locked as long as the writer
   lives. */
static bool is_alive(int folder, const char *name, size_t length)
{
    char writers[NAME_MAX + 1];
    snprintf(writers, sizeof writers, "%.*s", (int)length, name);
    int fd =
        name[length] ? openat(folder, writers, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    bool alive = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
    if (fd >= 0)
        close(fd);
    return alive;
}

/* Remove temporary files of processes that were killed. A folder that cannot be read keeps them. */
static void remove_dead_files(const char *folder)
{
    DIR *stream = opendir(*folder ? folder : ".");
    if (!stream)
        return;
    for (struct dirent *entry; (entry = readdir(stream));) {
        size_t length = temporary_length(entry->d_name);
        if (length > 0 && !is_alive(dirfd(stream), entry->d_name, length))
            remove_if_dead(dirfd(stream), entry->d_name);
    }
    closedir(stream);
}

/* Wait for the lock. False where another process took the file for an abandoned one and removed it.
   A file system without locks needs none: no process can take a lock there in order to remove the
   file. */
static bool lock_temporary(int fd)
{
    struct stat s;
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    return fstat(fd, &s) != 0 || s.st_nlink > 0;
}

/* Make and lock "FOLDER/.NAME.cornu-XXXXXX"; its name is w->temporary. */
static cornu_status make_temporary(const char *folder, file_write *w, int *fd)
{
    int room = NAME_MAX - 1 - MARK - TEMPORARY_LETTERS;
    for (int tries = 0; tries < 100; tries++) {
        TRY(memory_format(&w->temporary, "%s.%.*s%sXXXXXX", folder, room, path_base(w->path),
                          temporary_mark));
        *fd = mkostemp(w->temporary, O_CLOEXEC);
        int error = errno;
        if (*fd >= 0 && lock_temporary(*fd))
            return CORNU_OK;
        free(w->temporary); /* nothing to unlink */
        w->temporary = NULL;
        if (*fd < 0)
            return file_fail(w->path, "write", error);
        close(*fd);
    }
    return file_fail(w->path, "write", EAGAIN);
}

static cornu_status open_temporary(file_write *w)
{
    char *folder;
    mode_t mode;
    int fd;
    TRY(mode_for(w->path, &mode));
    TRY(folder_of(w->path, &folder));
    remove_dead_files(folder);
    cornu_status status = make_temporary(folder, w, &fd);
    free(folder);
    TRY(status);
    (void)fchmod(fd, mode); /* file systems without modes fail */
    w->lock = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (w->lock < 0) {
        int error = errno;
        close(fd);
        return file_fail(w->path, "write", error);
    }
    w->stream = file_stream(fd);
    return w->stream ? CORNU_OK : file_fail(w->path, "write", errno);
}

/* Report the write's progress to its watch. */
static void tell(file_write *w, bool complete)
{
    w->now.temporary = w->temporary;
    w->now.complete = complete;
    if (w->watch && w->watch->on_write)
        w->watch->on_write(w->watch->user, &w->now);
}

static cornu_status fail_empty_name(void)
{
    return status_fail(CORNU_INVALID, "file to write: found an empty name; expected a path");
}

/* The last target of the links must be a file that may be replaced, or a new name in a folder that
   may be written. */
static cornu_status check_target(const char *path)
{
    char *folder;
    mode_t mode;
    TRY(mode_for(path, &mode));
    TRY(folder_of(path, &folder));
    cornu_status status = access(*folder ? folder : ".", W_OK | X_OK) == 0
                              ? CORNU_OK
                              : file_fail(path, "write", errno);
    free(folder);
    return status;
}

cornu_status file_write_check(const char *path)
{
    char *real;
    if (*path == 0)
        return fail_empty_name();
    if (is_stream(path))
        return access(path, W_OK) == 0 ? CORNU_OK : file_fail(path, "write", errno);
    TRY(memory_copy_string(path, &real));
    cornu_status status = follow_links(&real);
    if (status == CORNU_OK)
        status = check_target(real);
    free(real);
    return status;
}

cornu_status file_write_open_watched(const char *path, int64_t bytes, const file_watch *watch,
                                     file_write *w)
{
    *w = (file_write){.lock = -1, .watch = watch, .now = {.path = path, .total = bytes}};
    if (*path == 0)
        return fail_empty_name();
    cornu_status status = memory_copy_string(path, &w->path);
    tell(w, false);
    if (status == CORNU_OK && is_stream(path)) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        w->stream = fd < 0 ? NULL : file_stream(fd);
        if (!w->stream)
            status = file_fail(path, "write", errno);
    } else if (status == CORNU_OK) {
        status = follow_links(&w->path);
        if (status == CORNU_OK)
            status = open_temporary(w);
    }
    if (status == CORNU_OK)
        tell(w, false);
    else
        file_write_abandon(w);
    return status;
}

cornu_status file_write_open(const char *path, file_write *w)
{
    return file_write_open_watched(path, 0, NULL, w);
}

cornu_status file_write_open_regular(const char *path, file_write *w)
{
    if (is_stream(path))
        return status_fail(CORNU_IO, "%s: found a device or pipe; expected a regular file", path);
    return file_write_open(path, w);
}

/* Start writing the new bytes to the disk, and wait for those that the previous call started: so
   little is left for fsync, and the bytes reported in `now.done` are nearly on the disk. */
static cornu_status push(file_write *w)
{
    off_t begin = w->pushed, before = w->pushed_before, end = w->now.done;
    int fd = w->lock; /* the same file; the stream's buffer is not written here */
    if (!w->temporary || end - begin < WRITE_BLOCK)
        return CORNU_OK;
    bool failed =
        sync_file_range(fd, begin, end - begin, SYNC_FILE_RANGE_WRITE) != 0 ||
        (begin > before && sync_file_range(fd, before, begin - before,
                                           SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                               SYNC_FILE_RANGE_WAIT_AFTER) != 0);
    if (failed && (errno == EIO || errno == ENOSPC || errno == EDQUOT)) {
        w->failed = errno; /* fsync would not report it again */
        return file_fail(w->path, "write", errno);
    }
    w->pushed_before = begin;
    w->pushed = end;
    tell(w, false);
    return CORNU_OK;
}

cornu_status file_write_bytes(file_write *w, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        size_t block = size < WRITE_BLOCK ? size : WRITE_BLOCK;
        if (fwrite(at, 1, block, w->stream) != block) {
            w->failed = w->failed ? w->failed : errno;
            return file_fail(w->path, "write", errno);
        }
        at += block;
        size -= block;
        w->now.done += (int64_t)block;
        TRY(push(w));
    }
    return CORNU_OK;
}

bool file_sync(int fd)
{
    int result = fsync(fd);
    while (result != 0 && errno == EINTR)
        result = fsync(fd);
    return result == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

/* fsync the folder, so that the rename survives a crash. */
static cornu_status sync_folder(const char *path)
{
    char *folder;
    TRY(folder_of(path, &folder));
    int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return CORNU_OK; /* a folder that may be written but not listed */
    cornu_status status = file_sync(fd) ? CORNU_OK : file_fail(path, "write the folder of", errno);
    close(fd);
    return status;
}

/* Write all bytes to the disk and close the stream. */
static cornu_status finish_stream(file_write *w)
{
    cornu_status status = CORNU_OK;
    int earlier = w->failed ? w->failed : ferror(w->stream) ? EIO : 0;
    if (fflush(w->stream) != 0)
        status = file_fail(w->path, "write", errno);
    else if (earlier)
        status =
            file_fail(w->path, "write", earlier); /* an earlier write that failed without a check */
    else if (w->temporary && !file_sync(w->lock))
        status = file_fail(w->path, "write", errno);
    if (fclose(w->stream) != 0 && status == CORNU_OK)
        status = file_fail(w->path, "write", errno);
    w->stream = NULL;
    return status;
}

cornu_status file_write_commit(file_write *w)
{
    cornu_status status = finish_stream(w);
    if (status == CORNU_OK && w->temporary) {
        if (rename(w->temporary, w->path) != 0) {
            status = file_fail(w->path, "write", errno);
        } else {
            free(w->temporary);
            w->temporary = NULL;
            status = sync_folder(w->path);
        }
    }
    if (status == CORNU_OK)
        tell(w, true);
    file_write_abandon(w);
    return status;
}

void file_write_abandon(file_write *w)
{
    if (w->stream)
        fclose(w->stream);
    if (w->temporary) {
        unlink(w->temporary);
        free(w->temporary);
    }
    if (w->lock > 0)
        close(w->lock); /* the lock is kept until the name is removed, or final */
    free(w->path);
    *w = (file_write){.lock = -1};
}
