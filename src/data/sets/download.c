#include "data/sets/download.h"

#include "base/files.h"
#include "base/memory.h"
#include "data/sha256.h"
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
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
