/* NumPy's .npz: a ZIP archive of .npy members, stored or deflated, through libzip. */
#include "base/memory.h"
#include "format/archive.h"
#include "format/reader.h"
#include <stdlib.h>
#include <string.h>

/* All members together unpack to at most UNPACKED_TIMES the file's size (memory_unpacked_most).
   Four times that may be needed where each byte becomes a class number. */
enum { UNPACKED_TIMES = 100 };

/* ---- reading ---------------------------------------------------------------------------- */

/* Read the member's .npy header; header and data must make up the member's size. */
static cornu_status read_header(const char *path, const char *name, zip_file_t *member,
                                uint64_t size, file_tensor *t, size_t *bytes)
{
    uint8_t *header;
    size_t offset, first = size < NPY_PREFIX ? (size_t)size : NPY_PREFIX;
    TRY(memory_new(NPY_PREFIX + NPY_HEADER_MAX, 1, path, &header));
    cornu_status status;
    TRY_GOTO(archive_read(path, name, member, header, first));
    TRY_GOTO(npy_data_offset(path, name, header, first, &offset));
    if (offset > size || offset < first) {
        status = status_fail(CORNU_BAD_FILE, "%s: %s: found a truncated NumPy header", path, name);
        goto done;
    }
    TRY_GOTO(archive_read(path, name, member, header + first, offset - first));
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
    TRY(archive_read(file->path, name, member, data, bytes));
    TRY(archive_end(file->path, name, member));
    return tensor_file_add(file, name, t);
}

static cornu_status read_member(tensor_file *file, zip_t *archive, zip_uint64_t index,
                                archive_allowance *left)
{
    zip_stat_t s;
    char *name = NULL;
    zip_file_t *member = NULL;
    file_tensor t;
    size_t bytes;
    if (zip_stat_index(archive, index, 0, &s) != 0)
        return archive_fail(CORNU_BAD_FILE, file->path, NULL, zip_get_error(archive));
    if (!path_has_ending(s.name, ".npy"))
        return CORNU_OK; /* NumPy skips other members as well */
    cornu_status status;
    TRY_GOTO(archive_check(file->path, &s, left));
    TRY_GOTO(memory_format(&name, "%.*s", (int)strlen(s.name) - 4, s.name));
    member = zip_fopen_index(archive, index, 0);
    if (!member) {
        status = archive_fail(CORNU_BAD_FILE, file->path, name, zip_get_error(archive));
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
    archive_allowance left;
    zip_t *archive;
    TRY(archive_open_regular(file->path, UNPACKED_TIMES, &left, &archive));
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
    cornu_status status = archive_add(path, t->name, archive, name, source);
    free(name);
    return status;
}

static cornu_status write_archive(file_write *w, const file_tensor *tensors, int count,
                                  char **headers)
{
    zip_t *archive;
    TRY(archive_create(w, &archive));
    cornu_status status = CORNU_OK;
    for (int i = 0; i < count && status == CORNU_OK; i++) {
        size_t size;
        status = npy_header_print(&tensors[i], &headers[i], &size);
        if (status == CORNU_OK)
            status = add_member(w->path, archive, &tensors[i], headers[i], size);
    }
    return archive_finish(w, archive, status);
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
