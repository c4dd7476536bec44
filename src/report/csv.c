#include "report/csv.h"
#include "base/files.h"
#include <cornu/tables.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A larger file is no table of a run. */
enum { BYTES_MOST = 1 << 30 };

struct csv {
    char *path;
    int fd;
};

static cornu_status fail_write(const char *path)
{
    return status_fail(CORNU_IO, "%s: cannot write: %s", path, strerror(errno));
}

/* ---- what is there already ---------------------------------------------------------------- */

/* The whole file and its size; none of a device or pipe. */
static cornu_status read_content(const char *path, int fd, char **content, size_t *size)
{
    struct stat s;
    *content = NULL;
    *size = 0;
    if (fstat(fd, &s) != 0)
        return fail_write(path);
    if (!S_ISREG(s.st_mode))
        return CORNU_OK;
    if (s.st_size > BYTES_MOST)
        return status_fail(CORNU_INVALID, "%s: found %jd bytes; expected at most %d of a table",
                           path, (intmax_t)s.st_size, BYTES_MOST);
    TRY(memory_new((size_t)s.st_size + 1, 1, path, content));
    *size = (size_t)s.st_size;
    return file_read_at(path, fd, 0, *content, *size);
}

static int first_line(const char *content)
{
    size_t length = strcspn(content, "\r\n");
    return length < 200 ? (int)length : 200;
}

/* Every table of epochs begins so, or is truncated within it. */
static cornu_status check_table(const char *path, const char *content, size_t size)
{
    static const char begin[] = "epoch,";
    size_t length = size < sizeof begin - 1 ? size : sizeof begin - 1;
    if (strncmp(content, begin, length) == 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "%s: found a file that is no table of epochs (\"%.*s\"); expected one, or "
                       "none: a recipe's own files replace nothing else",
                       path, first_line(content), content);
}

/* Length of the kept part of `content`: the header and the complete rows up to `last`. */
static size_t kept_length(const char *content, size_t size, double last)
{
    const char *newline = memchr(content, '\n', size);
    size_t kept = (size_t)(newline - content) + 1;
    while (kept < size) {
        newline = memchr(content + kept, '\n', size - kept);
        char *end;
        double first = strtod(content + kept, &end);
        if (!newline || end == content + kept || !(first <= last))
            break;
        kept = (size_t)(newline - content) + 1;
    }
    return kept;
}

/* How much of an earlier table stays in front of the rows to come. */
static cornu_status measure_kept(const char *path, const char *content, size_t size,
                                 const char *header, double last, size_t *kept)
{
    size_t length = strlen(header);
    *kept = 0;
    if (size <= length && strncmp(content, header, size) == 0)
        return CORNU_OK; /* truncated within its header */
    if (strncmp(content, header, length) == 0 && content[length] == '\n') {
        *kept = kept_length(content, size, last);
        return CORNU_OK;
    }
    return status_fail(CORNU_INVALID, "%s: found the columns %.*s; expected %s", path,
                       first_line(content), content, header);
}

/* ---- opening ------------------------------------------------------------------------------ */

/* A device or pipe of the user's may only be written, and waits for its reader. */
static int open_anywhere(const char *path)
{
    struct stat s;
    bool stream = stat(path, &s) == 0 && !S_ISREG(s.st_mode);
    return open(path, (stream ? O_WRONLY : O_RDWR | O_CREAT) | O_APPEND | O_CLOEXEC | O_NOCTTY,
                0666);
}

static cornu_status open_location(const csv_location *at, int *fd)
{
    if (at->confined)
        return beneath_open(at->root, at->path, O_RDWR | O_CREAT | O_APPEND, fd);
    *fd = open_anywhere(at->path);
    return *fd < 0 ? fail_write(at->path) : CORNU_OK;
}

static cornu_status check_confined(const csv_location *at)
{
    int fd;
    char *content;
    size_t size;
    TRY(beneath_open(at->root, at->path, O_RDWR, &fd));
    if (fd < 0)
        return CORNU_OK; /* none yet */
    cornu_status status = read_content(at->path, fd, &content, &size);
    if (status == CORNU_OK)
        status = check_table(at->path, content, size);
    free(content);
    close(fd);
    return status;
}

cornu_status csv_check(const csv_location *at)
{
    if (at->confined)
        return check_confined(at);
    if (file_exists(at->path))
        return access(at->path, W_OK) == 0 ? CORNU_OK : fail_write(at->path);
    return file_write_check(at->path);
}

/* Keep the valid rows of an earlier table, or only the header. */
static cornu_status begin_table(csv *c, const csv_location *at, const char *header, bool append,
                                double last)
{
    char *content;
    size_t size, kept = 0;
    cornu_status status = read_content(c->path, c->fd, &content, &size);
    if (status == CORNU_OK && size > 0 && at->confined)
        status = check_table(c->path, content, size);
    if (status == CORNU_OK && size > 0 && append)
        status = measure_kept(c->path, content, size, header, last, &kept);
    if (status == CORNU_OK && size > kept && ftruncate(c->fd, (off_t)kept) != 0)
        status = fail_write(c->path);
    if (status == CORNU_OK && kept == 0)
        status = csv_add(c, header);
    free(content);
    return status;
}

cornu_status csv_open(const csv_location *at, const char *header, bool append, double last,
                      csv **out)
{
    *out = NULL;
    csv *c;
    TRY(memory_new(1, sizeof *c, "CSV file", &c));
    c->fd = -1;
    cornu_status status = memory_copy_string(at->path, &c->path);
    if (status == CORNU_OK)
        status = open_location(at, &c->fd);
    if (status == CORNU_OK)
        status = begin_table(c, at, header, append, last);
    if (status != CORNU_OK) {
        if (c->fd >= 0)
            close(c->fd);
        free(c->path);
        free(c);
        return status;
    }
    *out = c;
    return CORNU_OK;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* One write for row and newline, so that another process reads, and a crash leaves, only
   complete rows. */
cornu_status csv_add(csv *c, const char *row)
{
    char *line;
    TRY(memory_format(&line, "%s\n", row));
    size_t length = strlen(line), done = 0;
    cornu_status status = CORNU_OK;
    while (done < length && status == CORNU_OK) {
        ssize_t n = write(c->fd, line + done, length - done);
        if (n < 0 && errno != EINTR)
            status = fail_write(c->path);
        done += n > 0 ? (size_t)n : 0;
    }
    free(line);
    return status;
}

cornu_status csv_sync(csv *c)
{
    if (!c || file_sync(c->fd))
        return CORNU_OK; /* pipes, and file systems that do not know it */
    return fail_write(c->path);
}

cornu_status csv_close(csv *c)
{
    if (!c)
        return CORNU_OK;
    cornu_status status = csv_sync(c);
    if (close(c->fd) != 0 && status == CORNU_OK)
        status = fail_write(c->path);
    free(c->path);
    free(c);
    return status;
}
