#include "train/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct csv {
    char *path;
    FILE *stream;
};

static cornu_status fail_write(const char *path)
{
    return status_fail(CORNU_IO, "%s: cannot write: %s", path, strerror(errno));
}

cornu_status csv_check(const char *path)
{
    if (file_exists(path))
        return access(path, W_OK) == 0 ? CORNU_OK : fail_write(path);
    return file_write_check(path);
}

/* Length of the part of `content` that stays: the header and the complete rows up to `last`. */
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

static cornu_status keep_rows(const char *path, const char *header, double last, bool *there)
{
    char *content;
    size_t size, length = strlen(header);
    *there = false;
    if (!file_exists(path))
        return CORNU_OK;
    TRY(file_read(path, (size_t)1 << 30, &content, &size));
    cornu_status status = CORNU_OK;
    if (size > length && strncmp(content, header, length) == 0 && content[length] == '\n') {
        *there = true;
        if (truncate(path, (off_t)kept_length(content, size, last)) != 0)
            status = fail_write(path);
    } else if (size > 0) {
        status =
            status_fail(CORNU_INVALID, "%s: found the columns %.*s; expected %s", path,
                        (int)strcspn(content, "\r\n") < 200 ? (int)strcspn(content, "\r\n") : 200,
                        content, header);
    }
    free(content);
    return status;
}

cornu_status csv_open(const char *path, const char *header, bool append, double last, csv **out)
{
    *out = NULL;
    bool there = false;
    if (append)
        TRY(keep_rows(path, header, last, &there));
    csv *c;
    TRY(memory_new(1, sizeof *c, "CSV file", &c));
    cornu_status status = memory_copy_string(path, &c->path);
    if (status == CORNU_OK) {
        c->stream = fopen(path, there ? "ae" : "we");
        if (!c->stream)
            status = fail_write(path);
    }
    if (status == CORNU_OK && !there)
        status = csv_add(c, header);
    if (status != CORNU_OK) {
        (void)csv_close(c);
        return status;
    }
    *out = c;
    return CORNU_OK;
}

cornu_status csv_add(csv *c, const char *row)
{
    if (fprintf(c->stream, "%s\n", row) < 0 || fflush(c->stream) != 0)
        return fail_write(c->path);
    return CORNU_OK;
}

cornu_status csv_close(csv *c)
{
    if (!c)
        return CORNU_OK;
    cornu_status status = CORNU_OK;
    if (c->stream && fclose(c->stream) != 0)
        status = fail_write(c->path);
    free(c->path);
    free(c);
    return status;
}
