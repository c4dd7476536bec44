/* NumPy's .npz: a ZIP archive of .npy members, stored or deflated, through libzip. */
#include "base/memory.h"
#include "format/reader.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

/* Deflate's best: 258 bytes for 2 bits, a little over 1032 to 1 (zlib's technical notes). */
enum { DEFLATE_MAX_RATIO = 1032, DEFLATE_SLACK = 64 };
/* All members together are at most so many times the file's size (memory_unpacked_most): four times
   that may be taken where each byte becomes a class number. */
enum { UNPACKED_TIMES = 100 };

static cornu_status fail_zip(cornu_status code, const char *path, const char *name, zip_error_t *e)
{
    if (zip_error_code_zip(e) == ZIP_ER_MEMORY)
        code = CORNU_OUT_OF_MEMORY;
    return status_fail(code, "%s: %s%s%s", path, name ? name : "", name ? ": " : "",
                       zip_error_strerror(e));
}

static cornu_status open_archive(const char *path, int flags, cornu_status code, zip_t **archive)
{
    int error = 0;
    *archive = zip_open(path, flags, &error);
    if (*archive)
        return CORNU_OK;
    zip_error_t e;
    zip_error_init_with_code(&e, error);
    cornu_status status = fail_zip(code, path, NULL, &e);
    zip_error_fini(&e);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* What the members that are still to come may be: packed bytes of the file, and what all of them
   unpack to. */
typedef struct allowance {
    uint64_t packed, unpacked, most;
} allowance;

static cornu_status check_unpacked(const char *path, const zip_stat_t *s, allowance *left)
{
    char found[32], most[32];
    if (s->size > left->unpacked)
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found %s more to unpack; expected at most %s in all (%d times "
                           "the file's size, or that of 1 MB)",
                           path, s->name, memory_human((double)s->size, found),
                           memory_human((double)left->most, most), UNPACKED_TIMES);
    left->unpacked -= s->size;
    return CORNU_OK;
}

/* Can a member be what its entry says? Guards against archives that unpack to far more than their
   size: by a false size, by many entries for the same bytes, or by zeros. */
static cornu_status check_member(const char *path, const zip_stat_t *s, allowance *left)
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

static cornu_status read_exactly(const char *path, const char *name, zip_file_t *member, void *out,
                                 size_t size)
{
    size_t done = 0;
    while (done < size) {
        zip_int64_t n = zip_fread(member, (char *)out + done, size - done);
        if (n < 0)
            return fail_zip(CORNU_BAD_FILE, path, name, zip_file_get_error(member));
        if (n == 0)
            return status_fail(CORNU_BAD_FILE, "%s: %s: found %zu bytes; expected %zu more", path,
                               name, done, size - done);
        done += (size_t)n;
    }
    return CORNU_OK;
}

/* The checksum is compared when the end is read. */
static cornu_status expect_end(const char *path, const char *name, zip_file_t *member)
{
    char extra;
    zip_int64_t n = zip_fread(member, &extra, 1);
    if (n < 0)
        return fail_zip(CORNU_BAD_FILE, path, name, zip_file_get_error(member));
    if (n > 0)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found more data than its entry says", path,
                           name);
    return CORNU_OK;
}

/* Read the member's .npy header; its size and the data's must make up the member's. */
static cornu_status read_header(const char *path, const char *name, zip_file_t *member,
                                uint64_t size, file_tensor *t, size_t *bytes)
{
    uint8_t *header;
    size_t offset, first = size < NPY_PREFIX ? (size_t)size : NPY_PREFIX;
    TRY(memory_new(NPY_PREFIX + NPY_HEADER_MAX, 1, path, &header));
    cornu_status status;
    TRY_GOTO(read_exactly(path, name, member, header, first));
    TRY_GOTO(npy_data_offset(path, name, header, first, &offset));
    if (offset > size || offset < first) {
        status = status_fail(CORNU_BAD_FILE, "%s: %s: found a truncated NumPy header", path, name);
        goto done;
    }
    TRY_GOTO(read_exactly(path, name, member, header + first, offset - first));
    TRY_GOTO(npy_header_parse(path, name, header, offset, t, bytes));
    if (size - offset != *bytes)
        status = status_fail(CORNU_BAD_FILE,
                             "%s: %s: found %ju bytes of data; expected %zu from its shape", path,
                             name, (uintmax_t)(size - offset), *bytes);
done:
    free(header);
    return status;
}

static cornu_status read_data(tensor_file *file, const char *name, zip_file_t *member,
                              file_tensor *t, size_t bytes)
{
    void *data;
    TRY(tensor_file_reserve(file, name, bytes, &data));
    t->data = data;
    TRY(read_exactly(file->path, name, member, data, bytes));
    TRY(expect_end(file->path, name, member));
    return tensor_file_add(file, name, t);
}

static cornu_status read_member(tensor_file *file, zip_t *archive, zip_uint64_t index,
                                allowance *left)
{
    zip_stat_t s;
    char *name = NULL;
    zip_file_t *member = NULL;
    file_tensor t;
    size_t bytes;
    if (zip_stat_index(archive, index, 0, &s) != 0)
        return fail_zip(CORNU_BAD_FILE, file->path, NULL, zip_get_error(archive));
    if (!path_has_ending(s.name, ".npy"))
        return CORNU_OK; /* NumPy passes other members over as well */
    cornu_status status;
    TRY_GOTO(check_member(file->path, &s, left));
    TRY_GOTO(memory_format(&name, "%.*s", (int)strlen(s.name) - 4, s.name));
    member = zip_fopen_index(archive, index, 0);
    if (!member) {
        status = fail_zip(CORNU_BAD_FILE, file->path, name, zip_get_error(archive));
        goto done;
    }
    TRY_GOTO(read_header(file->path, name, member, s.size, &t, &bytes));
    TRY_GOTO(read_data(file, name, member, &t, bytes));
done:
    if (member)
        zip_fclose(member);
    free(name);
    return status;
}

cornu_status npz_read(tensor_file *file)
{
    /* Opened here for the usual messages for what is no readable file. */
    uint64_t size;
    int fd;
    TRY(file_open_regular(file->path, &fd, &size));
    close(fd);
    uint64_t most = (uint64_t)memory_unpacked_most(size, UNPACKED_TIMES);
    allowance left = {.packed = size, .unpacked = most, .most = most};
    zip_t *archive;
    TRY(open_archive(file->path, ZIP_RDONLY, CORNU_BAD_FILE, &archive));
    zip_int64_t members = zip_get_num_entries(archive, 0);
    cornu_status status = CORNU_OK;
    for (zip_int64_t i = 0; i < members && status == CORNU_OK; i++)
        status = read_member(file, archive, (zip_uint64_t)i, &left);
    zip_discard(archive);
    return status == CORNU_OK ? tensor_file_check_names(file) : status;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* `header` must live until the archive is closed. */
static cornu_status add_member(const char *path, zip_t *archive, const file_tensor *t, char *header,
                               size_t header_size)
{
    zip_buffer_fragment_t fragments[2] = {
        {(zip_uint8_t *)header, header_size},
        {(zip_uint8_t *)(uintptr_t)t->data, (zip_uint64_t)t->count * element_size(t->type)},
    };
    char *name;
    TRY(memory_format(&name, "%s.npy", t->name));
    zip_source_t *source = zip_source_buffer_fragment(archive, fragments, t->count > 0 ? 2 : 1, 0);
    zip_int64_t index = source ? zip_file_add(archive, name, source, ZIP_FL_ENC_UTF_8) : -1;
    free(name);
    if (index < 0) {
        zip_source_free(source);
        return fail_zip(CORNU_INVALID, path, t->name, zip_get_error(archive));
    }
    /* A fixed date (1980-01-01), so that the same tensors give the same file. */
    if (zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive, (zip_uint64_t)index, 0, 0x21, 0) != 0)
        return fail_zip(CORNU_INTERNAL, path, t->name, zip_get_error(archive));
    return CORNU_OK;
}

static cornu_status write_archive(file_write *w, const file_tensor *tensors, int count,
                                  char **headers)
{
    zip_t *archive;
    if (!w->temporary)
        return status_fail(CORNU_UNSUPPORTED, "%s: found a device or pipe; expected a regular file",
                           w->path);
    TRY(open_archive(w->temporary, ZIP_CREATE | ZIP_TRUNCATE, CORNU_IO, &archive));
    cornu_status status = CORNU_OK;
    for (int i = 0; i < count && status == CORNU_OK; i++) {
        size_t size;
        status = npy_header_print(&tensors[i], &headers[i], &size);
        if (status == CORNU_OK)
            status = add_member(w->path, archive, &tensors[i], headers[i], size);
    }
    if (status == CORNU_OK && zip_close(archive) != 0)
        status = fail_zip(CORNU_IO, w->path, NULL, zip_get_error(archive));
    else if (status == CORNU_OK)
        return file_write_reopen(w); /* libzip has put a new file in its place */
    zip_discard(archive);
    return status;
}

cornu_status npz_write(const char *path, const file_tensor *tensors, int count)
{
    char **headers = NULL;
    file_write w = {0};
    cornu_status status;
    if (count < 1)
        return status_fail(CORNU_INVALID, "%s: found no tensors to write; expected at least one",
                           path);
    TRY(tensors_check(path, tensors, count, false));
    TRY_GOTO(memory_new((size_t)count, sizeof *headers, path, &headers));
    TRY_GOTO(file_write_open(path, &w));
    TRY_GOTO(write_archive(&w, tensors, count, headers));
    TRY_GOTO(file_write_commit(&w));
done:
    file_write_abandon(&w);
    for (int i = 0; headers && i < count; i++)
        free(headers[i]);
    free(headers);
    return status;
}
