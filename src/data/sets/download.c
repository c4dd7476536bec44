#include "base/files.h"
#include "base/memory.h"
#include "data/data.h"
#include "data/sets/datasets.h"
#include "data/sha256.h"
#include <archive.h>
#include <archive_entry.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct transfer {
    const dataset_file *file;
    const cornu_data_options *options;
    const char *path; /* path of the finished file */
    char *part;       /* PATH.part */
    int out;          /* the open part */
    int64_t start;    /* bytes that existed before this attempt */
    int64_t written;  /* bytes in the part */
    int write_error;  /* errno of a failed write, or 0 */
    bool too_long;
} transfer;

static size_t on_data(char *data, size_t size, size_t count, void *user)
{
    transfer *t = user;
    size_t bytes = size * count, done = 0;
    if (t->written + (int64_t)bytes > t->file->bytes) {
        t->too_long = true;
        return 0;
    }
    while (done < bytes) {
        ssize_t wrote = write(t->out, data + done, bytes - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            t->write_error = wrote < 0 ? errno : EIO;
            return 0;
        }
        done += (size_t)wrote;
        t->written += wrote;
    }
    return bytes;
}

static int on_progress(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up_now)
{
    (void)total;
    (void)up_total;
    (void)up_now;
    transfer *t = user;
    if (t->options && t->options->on_progress)
        t->options->on_progress(t->options->user, t->file->name, t->start + now, t->file->bytes);
    return data_should_stop(t->options); /* ends the transfer */
}

static void set_options(CURL *curl, transfer *t, char *error)
{
    const char *web = "http,https";
    bool local = !strncmp(t->file->url, "file:", 5);
    curl_easy_setopt(curl, CURLOPT_URL, t->file->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, local ? "file" : web);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, web);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "cornu/" CORNU_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 100L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 30L);
    curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t->start);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
}

static cornu_status fail(const transfer *t, const char *reason)
{
    int length = (int)(strlen(t->path) - strlen(path_base(t->path)));
    return status_fail(CORNU_NETWORK, "cannot download %s: %s; to do it by hand, put it into %.*s",
                       t->file->url, reason, length > 1 ? length - 1 : length, t->path);
}

/* One attempt, from the end of the part on. *again: the server could not continue from there. */
static cornu_status attempt(transfer *t, bool *again)
{
    char error[CURL_ERROR_SIZE] = "";
    struct stat info;
    *again = false;
    if (fstat(t->out, &info) || lseek(t->out, 0, SEEK_END) < 0)
        return status_fail(CORNU_IO, "%s: cannot read: %s", t->part, strerror(errno));
    t->start = t->written = info.st_size;
    if (t->start == t->file->bytes)
        return CORNU_OK;
    CURL *curl = curl_easy_init();
    if (!curl)
        return fail(t, "libcurl does not start");
    set_options(curl, t, error);
    CURLcode code = curl_easy_perform(curl);
    long response = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response);
    curl_easy_cleanup(curl);
    if (t->write_error)
        return status_fail(CORNU_IO, "%s: cannot write: %s", t->part, strerror(t->write_error));
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return status_fail(CORNU_STOPPED, "%s: stopped; the next download goes on from %s",
                           t->file->url, t->part);
    if (code == CURLE_OK && t->written == t->file->bytes)
        return CORNU_OK;
    *again = t->start > 0 && (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME ||
                              response == 416 || t->too_long);
    if (t->too_long || code == CURLE_OK) {
        snprintf(error, sizeof error, "found %s %lld bytes; expected %lld",
                 t->too_long ? "more than" : "only",
                 (long long)(t->too_long ? t->file->bytes : t->written), (long long)t->file->bytes);
        /* The received bytes are not the file: a later attempt must not continue from them. */
        if (ftruncate(t->out, 0))
            return status_fail(CORNU_IO, "%s: cannot empty: %s", t->part, strerror(errno));
    }
    return fail(t, *error ? error : curl_easy_strerror(code));
}

static cornu_status check_digest(const dataset_file *file, const char *path, const char *hex)
{
    if (strcmp(hex, file->sha256) == 0)
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE, "%s: SHA-256 is %s; expected %s", path, hex, file->sha256);
}

cornu_status download_check(const dataset_file *file, const char *path)
{
    char hex[65];
    TRY(sha256_file(path, hex));
    return check_digest(file, path, hex);
}

static cornu_status finish(transfer *t)
{
    char hex[65];
    if (!file_sync(t->out))
        return status_fail(CORNU_IO, "%s: cannot write: %s", t->part, strerror(errno));
    TRY(sha256_descriptor(t->part, t->out, hex));
    cornu_status status = check_digest(t->file, t->part, hex);
    if (status == CORNU_BAD_FILE) {
        unlink(t->part);
        return status_prefix(CORNU_NETWORK, "%s: damaged or changed; removed", t->file->url);
    }
    TRY(status);
    if (rename(t->part, t->path))
        return status_fail(CORNU_IO, "%s: cannot rename to %s: %s", t->part, t->path,
                           strerror(errno));
    return CORNU_OK;
}

/* The part is truncated and written: never through a name that leads to another file. */
static cornu_status check_part(const transfer *t, const struct stat *s)
{
    if (S_ISREG(s->st_mode) && s->st_nlink <= 1)
        return CORNU_OK;
    return status_fail(CORNU_IO,
                       "%s: found a link, pipe or folder; expected the beginning of a "
                       "download, or nothing (remove it)",
                       t->part);
}

/* Wait until no other process writes to the part; the file may be finished or removed by then. */
static cornu_status open_part(transfer *t)
{
    struct stat mine, now;
    for (;;) {
        t->out =
            open(t->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
        if (t->out < 0) {
            int error = errno;
            if (lstat(t->part, &now) == 0)
                TRY(check_part(t, &now));
            return status_fail(CORNU_IO, "%s: cannot write: %s", t->part, strerror(error));
        }
        while (flock(t->out, LOCK_EX) && errno == EINTR)
            ;
        if (!fstat(t->out, &mine) && !lstat(t->part, &now) && mine.st_ino == now.st_ino)
            return check_part(t, &mine);
        close(t->out);
        t->out = -1;
        if (file_exists(t->path))
            return CORNU_OK;
    }
}

cornu_status download_file(const dataset_file *file, const char *path,
                           const cornu_data_options *options)
{
    cornu_status status;
    transfer t = {.file = file, .options = options, .path = path, .out = -1};
    char *folder = NULL;
    bool again;
    TRY_GOTO(memory_format(&t.part, "%s.part", path));
    TRY_GOTO(memory_format(&folder, "%.*s", (int)(strlen(path) - strlen(path_base(path))), path));
    if (*folder)
        TRY_GOTO(folder_make(folder));
    TRY_GOTO(open_part(&t));
    if (t.out < 0)
        goto done;
    status = attempt(&t, &again);
    if (again) {
        t.too_long = false;
        if (ftruncate(t.out, 0)) {
            status = status_fail(CORNU_IO, "%s: cannot empty: %s", t.part, strerror(errno));
            goto done;
        }
        status = attempt(&t, &again);
    }
    if (status == CORNU_OK)
        status = finish(&t);
    else if (t.written == 0 || t.too_long)
        unlink(t.part); /* no bytes to continue from */
done:
    if (t.out >= 0)
        close(t.out);
    free(t.part);
    free(folder);
    return status;
}

/* ---- unpacking -------------------------------------------------------------------------- */

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
