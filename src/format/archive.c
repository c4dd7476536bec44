#include "format/archive.h"
#include "base/files.h"
#include "base/memory.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Deflate's best: 258 bytes for 2 bits, a little over 1032 to 1 (zlib's technical notes). */
enum { DEFLATE_MAX_RATIO = 1032, DEFLATE_SLACK = 64 };

cornu_status archive_fail(cornu_status code, const char *path, const char *name, zip_error_t *e)
{
    if (zip_error_code_zip(e) == ZIP_ER_MEMORY)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: %s%snot enough memory", path, name ? name : "",
                           name ? ": " : "");
    return status_fail(code, "%s: %s%s%s", path, name ? name : "", name ? ": " : "",
                       zip_error_strerror(e));
}

static cornu_status archive_open(const char *path, int flags, cornu_status code, zip_t **archive)
{
    int error = 0;
    *archive = zip_open(path, flags, &error);
    if (*archive)
        return CORNU_OK;
    zip_error_t e;
    zip_error_init_with_code(&e, error);
    cornu_status status = archive_fail(code, path, NULL, &e);
    zip_error_fini(&e);
    return status;
}

static cornu_status check_unpacked(const char *path, const zip_stat_t *s, archive_allowance *left)
{
    char found[32], most[32];
    if (s->size > left->unpacked)
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found %s more to unpack; expected at most %s in all (%d times "
                           "the file's size, or that of 1 MB)",
                           path, s->name, memory_human((double)s->size, found),
                           memory_human((double)left->most, most), left->times);
    left->unpacked -= s->size;
    return CORNU_OK;
}

cornu_status archive_check(const char *path, const zip_stat_t *s, archive_allowance *left)
{
    const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((s->valid & needed) != needed)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found an incomplete archive entry", path,
                           s->name);
    if (s->encryption_method != ZIP_EM_NONE ||
        (s->comp_method != ZIP_CM_STORE && s->comp_method != ZIP_CM_DEFLATE))
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: %s: found an encrypted or unusually packed member; expected "
                           "stored or deflated",
                           path, s->name);
    if (s->comp_size > left->packed)
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found more packed bytes than the file holds (%ju); expected "
                           "at most %ju",
                           path, s->name, (uintmax_t)s->comp_size, (uintmax_t)left->packed);
    left->packed -= s->comp_size;
    uint64_t most = s->comp_method == ZIP_CM_STORE
                        ? s->comp_size
                        : (s->comp_size + DEFLATE_SLACK) * DEFLATE_MAX_RATIO;
    if (s->size > most)
        return status_fail(
            CORNU_BAD_FILE, "%s: %s: found %ju bytes from %ju packed ones; expected at most %ju",
            path, s->name, (uintmax_t)s->size, (uintmax_t)s->comp_size, (uintmax_t)most);
    return check_unpacked(path, s, left);
}

cornu_status archive_read(const char *path, const char *name, zip_file_t *member, void *out,
                          size_t size)
{
    size_t done = 0;
    while (done < size) {
        zip_int64_t n = zip_fread(member, (char *)out + done, size - done);
        if (n < 0)
            return archive_fail(CORNU_BAD_FILE, path, name, zip_file_get_error(member));
        if (n == 0)
            return status_fail(CORNU_BAD_FILE, "%s: %s: found %zu bytes; expected %zu more", path,
                               name, done, size - done);
        done += (size_t)n;
    }
    return CORNU_OK;
}

cornu_status archive_end(const char *path, const char *name, zip_file_t *member)
{
    char extra;
    zip_int64_t n = zip_fread(member, &extra, 1);
    if (n < 0)
        return archive_fail(CORNU_BAD_FILE, path, name, zip_file_get_error(member));
    if (n > 0)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found more data than its entry says", path,
                           name);
    return CORNU_OK;
}

cornu_status archive_open_regular(const char *path, int times, archive_allowance *left,
                                  zip_t **archive)
{
    /* Open the file here, so that the usual messages are given for a file that cannot be read. */
    uint64_t size;
    int fd;
    TRY(file_open_regular(path, &fd, &size));
    close(fd);
    uint64_t most = (uint64_t)memory_unpacked_most(size, times);
    *left = (archive_allowance){.packed = size, .unpacked = most, .most = most, .times = times};
    return archive_open(path, ZIP_RDONLY, CORNU_BAD_FILE, archive);
}

/* ---- writing ---------------------------------------------------------------------------- */

/* libzip writes into the temporary file through this. */
typedef struct sink {
    file_write *w;
    zip_int64_t length;
    zip_error_t error;
} sink;

static zip_int64_t sink_fail(sink *s, int code, int number)
{
    zip_error_set(&s->error, code, number);
    return -1;
}

static zip_int64_t sink_write(sink *s, const void *data, zip_uint64_t size)
{
    if (file_write_bytes(s->w, data, size) != CORNU_OK)
        return sink_fail(s, ZIP_ER_WRITE, s->w->failed);
    zip_int64_t at = ftello(s->w->stream);
    s->length = at > s->length ? at : s->length;
    return (zip_int64_t)size;
}

static zip_int64_t sink_seek(sink *s, void *data, zip_uint64_t size)
{
    zip_int64_t at = ftello(s->w->stream);
    at = at < 0 ? -1
                : zip_source_seek_compute_offset((zip_uint64_t)at, (zip_uint64_t)s->length, data,
                                                 size, &s->error);
    if (at < 0)
        return -1;
    return fseeko(s->w->stream, at, SEEK_SET) == 0 ? 0 : sink_fail(s, ZIP_ER_SEEK, errno);
}

static zip_int64_t sink_answer(void *user, void *data, zip_uint64_t size, zip_source_cmd_t command)
{
    sink *s = user;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS: /* reading as well: libzip asks for it before it writes */
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
            ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS,
            ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE,
            ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
    case ZIP_SOURCE_STAT:
        return sink_fail(s, ZIP_ER_READ, ENOENT); /* the file is new */
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&s->error, data, size);
    case ZIP_SOURCE_WRITE:
        return sink_write(s, data, size);
    case ZIP_SOURCE_SEEK_WRITE:
        return sink_seek(s, data, size);
    case ZIP_SOURCE_TELL_WRITE:
        return ftello(s->w->stream);
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
        return 0;
    case ZIP_SOURCE_FREE:
        free(s);
        return 0;
    default:
        return sink_fail(s, ZIP_ER_OPNOTSUPP, 0);
    }
}

cornu_status archive_create(file_write *w, zip_t **archive)
{
    zip_error_t e;
    sink *s;
    *archive = NULL;
    if (!w->temporary)
        return status_fail(CORNU_UNSUPPORTED, "%s: found a device or pipe; expected a regular file",
                           w->path);
    TRY(memory_new(1, sizeof *s, w->path, &s));
    s->w = w;
    zip_error_init(&s->error);
    zip_error_init(&e);
    zip_source_t *source = zip_source_function_create(sink_answer, s, &e);
    if (source)
        *archive = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &e);
    cornu_status status = *archive ? CORNU_OK : archive_fail(CORNU_IO, w->path, NULL, &e);
    if (!source)
        free(s);
    else if (!*archive)
        zip_source_free(source); /* and frees the sink */
    zip_error_fini(&e);
    return status;
}

cornu_status archive_add(const char *path, const char *shown, zip_t *archive, const char *name,
                         zip_source_t *source)
{
    zip_int64_t index = source ? zip_file_add(archive, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
        zip_source_free(source);
        return archive_fail(CORNU_INVALID, path, shown, zip_get_error(archive));
    }
    if (zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive, (zip_uint64_t)index, 0, 0x21, 0) != 0)
        return archive_fail(CORNU_INTERNAL, path, shown, zip_get_error(archive));
    return CORNU_OK;
}

cornu_status archive_finish(file_write *w, zip_t *archive, cornu_status status)
{
    if (status == CORNU_OK && zip_close(archive) == 0)
        return CORNU_OK;
    if (status == CORNU_OK && w->failed)
        status = file_fail(w->path, "write", w->failed);
    else if (status == CORNU_OK)
        status = archive_fail(CORNU_IO, w->path, NULL, zip_get_error(archive));
    zip_discard(archive);
    return status;
}
