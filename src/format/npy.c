#include "base/memory.h"
#include "format/archive.h"
#include "format/reader.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- .npy ------------------------------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n'))
        c->at++;
}

/* Take `symbol` and the spaces before it. */
static bool take(cursor *c, char symbol)
{
    skip_spaces(c);
    if (c->at == c->end || *c->at != symbol)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_spaces(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* Take a string without escapes, shorter than `size` characters. */
static bool take_string(cursor *c, char *out, size_t size)
{
    if (!take(c, '\'') && !take(c, '"'))
        return false;
    char quote = c->at[-1];
    size_t length = 0;
    while (c->at < c->end && *c->at != quote) {
        if (*c->at == '\\' || *c->at == 0 || length + 1 >= size)
            return false;
        out[length++] = *c->at++;
    }
    out[length] = 0;
    return take(c, quote);
}

static bool take_dimension(cursor *c, int64_t *value)
{
    skip_spaces(c);
    const char *begin = c->at;
    *value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, *c->at - '0', value))
            return false;
    bool any = c->at > begin;
    if (any && c->at < c->end && *c->at == 'L') /* Python 2 */
        c->at++;
    return any;
}

/* (), (3,) or (3, 4). */
static bool take_shape(cursor *c, int64_t *shape, int *rank)
{
    *rank = 0;
    if (!take(c, '('))
        return false;
    while (!take(c, ')')) {
        int64_t dimension;
        if (!take_dimension(c, &dimension))
            return false;
        if (*rank < TENSOR_RANK_MAX)
            shape[*rank] = dimension;
        if (++*rank > 64)
            return false;
        if (!take(c, ','))
            return *rank > 1 && take(c, ')'); /* "(3)" is a number in Python */
    }
    return true;
}

typedef struct dictionary {
    char descr[32];
    bool fields, fortran;
    int64_t shape[TENSOR_RANK_MAX];
    int rank;
} dictionary;

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static bool take_entry(cursor *c, dictionary *d, int *seen)
{
    char key[32];
    if (!take_string(c, key, sizeof key) || !take(c, ':'))
        return false;
    int which = strcmp(key, "descr") == 0           ? HAS_DESCR
                : strcmp(key, "fortran_order") == 0 ? HAS_ORDER
                : strcmp(key, "shape") == 0         ? HAS_SHAPE
                                                    : 0;
    if (which == 0 || *seen & which)
        return false;
    *seen |= which;
    if (which == HAS_SHAPE)
        return take_shape(c, d->shape, &d->rank);
    if (which == HAS_ORDER) {
        d->fortran = take_word(c, "True");
        return d->fortran || take_word(c, "False");
    }
    if (take(c, '[')) { /* a structured dtype: not supported, so the remainder does not matter */
        strcpy(d->descr, "a list of fields");
        d->fields = true;
        return true;
    }
    return take_string(c, d->descr, sizeof d->descr);
}

static bool take_dictionary(cursor *c, dictionary *d)
{
    int seen = 0;
    if (!take(c, '{'))
        return false;
    while (!take(c, '}')) {
        if (!take_entry(c, d, &seen))
            return false;
        if (d->fields)
            return true;
        if (!take(c, ',')) {
            if (!take(c, '}'))
                return false;
            break;
        }
    }
    skip_spaces(c);
    return seen == HAS_ALL && c->at == c->end;
}

static const struct {
    const char *descr;
    element_type type;
} types[] = {
    {"<f4", ELEMENT_F32}, {"<f8", ELEMENT_F64}, {"|u1", ELEMENT_U8},
    {"<u1", ELEMENT_U8},  {"|b1", ELEMENT_U8},  {"|i1", ELEMENT_I8},
    {"<i1", ELEMENT_I8},  {"<i4", ELEMENT_I32}, {"<i8", ELEMENT_I64},
};

static cornu_status find_type(const char *path, const char *name, const char *descr,
                              element_type *type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].descr, descr) == 0) {
            *type = types[i].type;
            return CORNU_OK;
        }
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: %s: found dtype %s%s; expected float32, float64, uint8, int8, int32, "
                       "int64 or bool in little-endian order",
                       path, name, descr, descr[0] == '>' ? " (big-endian)" : "");
}

/* Find the data's offset from the first bytes (at least 10). */
static cornu_status npy_data_offset(const char *path, const char *name, const uint8_t *start,
                                    size_t size, size_t *offset)
{
    static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (size < 10 || memcmp(start, magic, sizeof magic) != 0)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found no NumPy header; expected an .npy array",
                           path, name);
    int version = start[6];
    if (version < 1 || version > 3)
        return status_fail(CORNU_UNSUPPORTED, "%s: %s: found .npy version %d; expected 1, 2 or 3",
                           path, name, version);
    size_t length = start[8] | (size_t)start[9] << 8;
    if (version > 1 && size < NPY_PREFIX)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found a truncated NumPy header", path, name);
    if (version > 1)
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (length > NPY_HEADER_MAX)
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found a NumPy header of %zu bytes; expected at most %d", path,
                           name, length, NPY_HEADER_MAX);
    *offset = length + (version > 1 ? 12 : 10);
    return CORNU_OK;
}

/* Parse the header start[0..offset): type, rank, shape; then tensor_measure. */
static cornu_status npy_header_parse(const char *path, const char *name, const uint8_t *start,
                                     size_t offset, file_tensor *t, size_t *bytes)
{
    dictionary d = {0};
    const char *header = (const char *)start;
    cursor c = {header + (start[6] > 1 ? 12 : 10), header + offset};
    if (!take_dictionary(&c, &d))
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found a damaged NumPy header; expected descr, fortran_order "
                           "and shape",
                           path, name);
    *t = (file_tensor){0};
    TRY(find_type(path, name, d.descr, &t->type));
    if (d.rank > TENSOR_RANK_MAX)
        return status_fail(CORNU_UNSUPPORTED, "%s: %s: found %d dimensions; expected at most %d",
                           path, name, d.rank, TENSOR_RANK_MAX);
    if (d.fortran && d.rank > 1)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: %s: found Fortran order; expected C order "
                           "(numpy.ascontiguousarray makes it)",
                           path, name);
    t->rank = d.rank;
    memcpy(t->shape, d.shape, sizeof t->shape);
    return tensor_measure(path, name, t, bytes);
}

/* Read the header, then the data into memory that the file owns. */
static cornu_status read_array(tensor_file *file, const char *name, int fd, uint64_t there)
{
    file_tensor t;
    size_t offset, bytes, head = there < NPY_HEADER_MAX + 12 ? (size_t)there : NPY_HEADER_MAX + 12;
    uint8_t *header;
    void *data = NULL;
    TRY(memory_new(head + 1, 1, file->path, &header));
    cornu_status status;
    TRY_GOTO(file_read_at(file->path, fd, 0, header, head));
    TRY_GOTO(npy_data_offset(file->path, name, header, head, &offset));
    if (offset > there) {
        status = status_fail(CORNU_BAD_FILE, "%s: found %ju bytes; expected a header of %zu",
                             file->path, (uintmax_t)there, offset);
        goto done;
    }
    TRY_GOTO(npy_header_parse(file->path, name, header, offset, &t, &bytes));
    if (there - offset != bytes) {
        status =
            status_fail(CORNU_BAD_FILE, "%s: found %ju bytes of data; expected %zu from its shape",
                        file->path, (uintmax_t)(there - offset), bytes);
        goto done;
    }
    TRY_GOTO(tensor_file_reserve(file, name, bytes, &data));
    TRY_GOTO(file_read_at(file->path, fd, offset, data, bytes));
    t.data = data;
    status = tensor_file_add(file, name, &t);
done:
    free(header);
    return status;
}

cornu_status npy_read(tensor_file *file)
{
    uint64_t there;
    int fd;
    TRY(file_open_regular(file->path, &fd, &there));
    const char *base = path_base(file->path);
    char *name;
    cornu_status status = memory_format(&name, "%.*s", (int)strlen(base) - 4, base);
    if (status == CORNU_OK)
        status = read_array(file, name, fd, there);
    close(fd);
    free(name);
    return status;
}

cornu_status npy_header_print(const file_tensor *t, char **header, size_t *size)
{
    static const char *const codes[] = {"<f4", "<f8", "|u1", "|i1", "<i4", "<i8"};
    text out = {0};
    text_add(&out, "%cNUMPY%c%c..{'descr': '%s', 'fortran_order': False, 'shape': (", 0x93, 1, '.',
             codes[t->type]);
    for (int i = 0; i < t->rank; i++)
        text_add(&out, i ? ", %jd" : "%jd", (intmax_t)t->shape[i]);
    text_add(&out, t->rank == 1 ? ",), }" : "), }");
    int padding = (int)(63 - out.length % 64);
    text_add(&out, "%*s\n", padding, "");
    *size = out.length;
    TRY(text_take(&out, header));
    size_t length = *size - 10;
    (*header)[7] = 0;
    (*header)[8] = (char)(length & 255);
    (*header)[9] = (char)(length >> 8);
    return CORNU_OK;
}

/* ---- .npz ------------------------------------------------------------------------------- */

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
