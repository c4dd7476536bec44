#include "data/sets/unpack.h"

#include "base/files.h"
#include "base/memory.h"
#include "data/data.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Far more members than any data set's archive has. */
#define MEMBERS_MAX 1000000

/* An archive that is being unpacked into a folder. */
typedef struct unpacking {
    struct archive *archive;
    const char *path;    /* of the archive */
    int64_t limit, left; /* bytes */
    const cornu_data_options *options;
} unpacking;

/* Does a member's path stay inside the target folder? */
static bool stays_inside(const char *name)
{
    if (!name || !*name || *name == '/' || strchr(name, '\\'))
        return false;
    for (const char *inner = name; inner; inner = strchr(inner, '/')) {
        inner += *inner == '/';
        size_t length = strcspn(inner, "/");
        if (length == 2 && !strncmp(inner, "..", 2))
            return false;
    }
    return true;
}

static cornu_status check_member(const char *path, struct archive_entry *entry)
{
    const char *name = archive_entry_pathname(entry);
    mode_t type = archive_entry_filetype(entry);
    if (!stays_inside(name))
        return status_fail(CORNU_BAD_FILE, "%s: member \"%s\" would leave the folder", path,
                           name ? name : "");
    if (archive_entry_hardlink(entry) || archive_entry_symlink(entry))
        return status_fail(CORNU_BAD_FILE,
                           "%s: member \"%s\" is a link; expected files and folders", path, name);
    if (type != AE_IFREG && type != AE_IFDIR)
        return status_fail(CORNU_BAD_FILE,
                           "%s: member \"%s\" is a device or the like; expected files and folders",
                           path, name);
    return CORNU_OK;
}

static cornu_status write_all(int out, const char *path, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(out, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return status_fail(CORNU_IO, "%s: cannot write: %s", path, strerror(errno));
        data += done;
        size -= (size_t)done;
    }
    return CORNU_OK;
}

static cornu_status copy_member(unpacking *u, const char *target, int out)
{
    char buffer[1 << 16];
    for (;;) {
        if (data_should_stop(u->options))
            return status_fail(CORNU_STOPPED, "%s: stopped while it was unpacked", u->path);
        la_ssize_t got = archive_read_data(u->archive, buffer, sizeof buffer);
        if (got == ARCHIVE_RETRY)
            continue;
        if (got < 0)
            return status_fail(CORNU_BAD_FILE, "%s: damaged or truncated: %s", u->path,
                               archive_error_string(u->archive));
        if (got == 0)
            return CORNU_OK;
        if (got > u->left)
            return status_fail(CORNU_BAD_FILE, "%s: unpacks to more than %lld bytes", u->path,
                               (long long)u->limit);
        u->left -= got;
        TRY(write_all(out, target, buffer, (size_t)got));
    }
}

static cornu_status write_member(unpacking *u, const char *target)
{
    cornu_status status;
    char *folder = NULL;
    int out = -1;
    TRY_GOTO(memory_copy_string(target, &folder));
    *strrchr(folder, '/') = 0;
    TRY_GOTO(folder_make(folder));
    out = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (out < 0) {
        status = errno == EEXIST
                     ? status_fail(CORNU_BAD_FILE, "%s: holds %s twice", u->path, path_base(target))
                     : status_fail(CORNU_IO, "%s: cannot write: %s", target, strerror(errno));
        goto done;
    }
    TRY_GOTO(copy_member(u, target, out));
done:
    if (out >= 0 && close(out) && status == CORNU_OK)
        status = status_fail(CORNU_IO, "%s: cannot write: %s", target, strerror(errno));
    free(folder);
    return status;
}

static cornu_status unpack_members(unpacking *u, const char *folder)
{
    struct archive_entry *entry;
    for (int members = 0;; members++) {
        int code = archive_read_next_header(u->archive, &entry);
        if (code == ARCHIVE_EOF)
            return CORNU_OK;
        if (code != ARCHIVE_OK)
            return status_fail(CORNU_BAD_FILE, "%s: damaged or not an archive: %s", u->path,
                               archive_error_string(u->archive));
        if (members >= MEMBERS_MAX)
            return status_fail(CORNU_BAD_FILE, "%s: more than %d members", u->path, MEMBERS_MAX);
        TRY(check_member(u->path, entry));
        char *target = NULL;
        TRY(path_join(folder, archive_entry_pathname(entry), &target));
        cornu_status status = archive_entry_filetype(entry) == AE_IFDIR ? folder_make(target)
                                                                        : write_member(u, target);
        free(target);
        TRY(status);
    }
}

cornu_status archive_unpack(const char *path, const char *folder, int64_t limit,
                            const cornu_data_options *options)
{
    cornu_status status;
    int fd;
    uint64_t size;
    TRY(folder_make(folder));
    TRY(file_open_regular(path, &fd, &size));
    struct archive *a = archive_read_new();
    unpacking u = {.archive = a, .path = path, .limit = limit, .left = limit, .options = options};
    if (!a) {
        close(fd);
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: no memory to unpack it", path);
    }
    /* Only these formats: libarchive would start programs for some of the others. */
    archive_read_support_filter_gzip(a);
    archive_read_support_format_tar(a);
    archive_read_support_format_zip(a);
    if (archive_read_open_fd(a, fd, 1 << 16) != ARCHIVE_OK)
        status = status_fail(CORNU_BAD_FILE, "%s: cannot open as an archive: %s", path,
                             archive_error_string(a));
    else
        status = unpack_members(&u, folder);
    archive_read_free(a);
    close(fd);
    return status;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

cornu_status folder_remove(const char *folder)
{
    if (nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
        return status_fail(CORNU_IO, "%s: cannot remove: %s", folder, strerror(errno));
    return CORNU_OK;
}
