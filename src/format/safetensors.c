/* The safetensors format, as https://github.com/huggingface/safetensors describes it: 8 bytes with
   the header's size, a JSON header that may end in spaces, then the data. The tensors must fill
   the data without holes or overlaps. */
#include "base/doc.h"
#include "base/memory.h"
#include "format/reader.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const size_t HEADER_MAX = 100000000; /* the reference reader's limit */
/* Size limit of a tensor's entry. The header is read entry by entry: as one tree it would take 46
   times its size, entry by entry at most 16 times, names, tensors and metadata together. */
enum { ENTRY_MAX = 1 << 16 };

typedef struct byte_range {
    uint64_t begin, end;
    const char *name;
} byte_range;

static const char *const type_codes[] = {"F32", "F64", "U8", "I8", "I32", "I64"};
enum { TYPES = sizeof type_codes / sizeof *type_codes };

static cornu_status read_type(const char *path, const char *name, const json_t *entry,
                              element_type *type)
{
    const char *code = json_string_value(json_object_get(entry, "dtype"));
    if (!code)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found no \"dtype\"; expected a string", path,
                           name);
    for (int i = 0; i < TYPES; i++)
        if (strcmp(code, type_codes[i]) == 0) {
            *type = (element_type)i;
            return CORNU_OK;
        }
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: %s: found dtype %s; expected F32, F64, U8, I8, I32 or I64", path, name,
                       code);
}

static cornu_status read_shape(const char *path, const char *name, const json_t *entry,
                               file_tensor *t)
{
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape))
        return status_fail(CORNU_BAD_FILE, "%s: %s: found no \"shape\"; expected a list", path,
                           name);
    if (json_array_size(shape) > TENSOR_RANK_MAX)
        return status_fail(CORNU_UNSUPPORTED, "%s: %s: found %zu dimensions; expected at most %d",
                           path, name, json_array_size(shape), TENSOR_RANK_MAX);
    t->rank = (int)json_array_size(shape);
    for (int i = 0; i < t->rank; i++) {
        const json_t *dimension = json_array_get(shape, (size_t)i);
        if (!json_is_integer(dimension))
            return status_fail(CORNU_BAD_FILE,
                               "%s: %s: found a shape with an item that is no whole number; "
                               "expected whole numbers",
                               path, name);
        t->shape[i] = json_integer_value(dimension);
    }
    return CORNU_OK;
}

static cornu_status read_range(const char *path, const char *name, const json_t *entry,
                               uint64_t data_size, size_t bytes, byte_range *s)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found no \"data_offsets\"; expected two whole numbers", path,
                           name);
    json_int_t b = json_integer_value(begin), e = json_integer_value(end);
    if (b < 0 || e < b || (uint64_t)e > data_size)
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found data offsets %jd to %jd; expected them within the %ju "
                           "bytes of data",
                           path, name, (intmax_t)b, (intmax_t)e, (uintmax_t)data_size);
    if ((uint64_t)(e - b) != bytes)
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found %jd bytes of data; expected %zu from its shape", path,
                           name, (intmax_t)(e - b), bytes);
    *s = (byte_range){(uint64_t)b, (uint64_t)e, name};
    return CORNU_OK;
}

static int compare_ranges(const void *a, const void *b)
{
    const byte_range *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static cornu_status check_contiguous(const char *path, byte_range *ranges, size_t count,
                                     uint64_t data_size)
{
    uint64_t next = 0;
    if (count > 0)
        qsort(ranges, count, sizeof *ranges, compare_ranges);
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].begin != next)
            return status_fail(
                CORNU_BAD_FILE, "%s: %s: found data at offset %ju, %s; expected it at %ju", path,
                ranges[i].name, (uintmax_t)ranges[i].begin,
                ranges[i].begin < next ? "overlapping another tensor" : "after a hole",
                (uintmax_t)next);
        next = ranges[i].end;
    }
    if (next != data_size)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found %ju bytes of data; expected %ju from the header", path,
                           (uintmax_t)data_size, (uintmax_t)next);
    return CORNU_OK;
}

/* ---- the header, entry by entry ---- */

typedef struct header_reader {
    tensor_file *file;
    const char *at, *end;           /* the text still to be read */
    uint64_t data_begin, data_size; /* the tensors' data in the file */
    byte_range *ranges;
    size_t range_capacity;
} header_reader;

static cornu_status out_of_memory(const char *path)
{
    return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its header", path);
}

static cornu_status fail_header(const header_reader *h, const char *why)
{
    return status_fail(CORNU_BAD_FILE, "%s: found a damaged header (%s); expected a JSON map",
                       h->file->path, why);
}

/* The next byte that is not a space, or -1. */
static int peek(header_reader *h)
{
    while (h->at < h->end && strchr(" \t\r\n", *h->at) && *h->at)
        h->at++;
    return h->at < h->end ? (unsigned char)*h->at : -1;
}

static cornu_status expect(header_reader *h, char symbol, const char *why)
{
    if (peek(h) != symbol)
        return fail_header(h, why);
    h->at++;
    return CORNU_OK;
}

/* Reads a tensor of an open file for file_tensor.fetch. */
static cornu_status fetch_data(void *source, int number, void *to, size_t bytes)
{
    const tensor_file *file = source;
    const tensor_storage *s = file->storage;
    return file_read_at(file->path, s->fd, s->offsets[number], to, bytes);
}

static cornu_status add_tensor_at(tensor_file *file, const char *name, file_tensor *t,
                                  uint64_t offset)
{
    tensor_storage *s = file->storage;
    TRY(memory_grow(&s->offsets, &s->offset_capacity, (size_t)file->count + 1, sizeof *s->offsets));
    s->offsets[file->count] = offset;
    t->fetch = fetch_data;
    t->source = file;
    t->number = file->count;
    return tensor_file_add(file, name, t);
}

/* A JSON value of at most `most` bytes; new reference. */
static cornu_status next_value(header_reader *h, size_t most, json_t **out)
{
    json_error_t error;
    size_t left = (size_t)(h->end - h->at);
    bool lacks_memory;
    *out = doc_json_load(h->at, left < most ? left : most,
                         JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error,
                         &lacks_memory);
    if (lacks_memory)
        return out_of_memory(h->file->path);
    if (!*out)
        return fail_header(h, error.text);
    h->at += error.position;
    return CORNU_OK;
}

/* Take a string only: any other value may need many times its own bytes. */
static cornu_status next_string(header_reader *h, const char *why, json_t **out)
{
    *out = NULL;
    if (peek(h) != '"')
        return fail_header(h, why);
    return next_value(h, (size_t)(h->end - h->at), out);
}

typedef cornu_status entry_reader(header_reader *h, const char *name);

/* Read a map; `read` handles each value. */
static cornu_status read_map(header_reader *h, entry_reader *read)
{
    TRY(expect(h, '{', "no map"));
    for (bool first = true; peek(h) != '}'; first = false) {
        json_t *name;
        if (!first)
            TRY(expect(h, ',', "no comma between two entries"));
        TRY(next_string(h, "no name", &name));
        cornu_status status = expect(h, ':', "no colon behind a name");
        if (status == CORNU_OK)
            status = read(h, json_string_value(name));
        json_decref(name);
        TRY(status);
    }
    h->at++;
    return CORNU_OK;
}

static cornu_status read_metadata(header_reader *h, const char *key)
{
    json_t *value;
    if (peek(h) != '"')
        return status_fail(CORNU_BAD_FILE,
                           "%s: __metadata__: %s: found no string; expected a string",
                           h->file->path, key);
    TRY(next_string(h, "no string", &value));
    cornu_status status = tensor_file_add_metadata(h->file, key, json_string_value(value));
    json_decref(value);
    return status;
}

static cornu_status add_entry(header_reader *h, const char *name, const json_t *entry)
{
    file_tensor t = {0};
    size_t bytes;
    byte_range s;
    tensor_file *file = h->file;
    TRY(read_type(file->path, name, entry, &t.type));
    TRY(read_shape(file->path, name, entry, &t));
    TRY(tensor_measure(file->path, name, &t, &bytes));
    TRY(read_range(file->path, name, entry, h->data_size, bytes, &s));
    TRY(memory_grow(&h->ranges, &h->range_capacity, (size_t)file->count + 1, sizeof s));
    TRY(add_tensor_at(file, name, &t, h->data_begin + s.begin));
    s.name = file->tensors[file->count - 1].name;
    h->ranges[file->count - 1] = s;
    return CORNU_OK;
}

static cornu_status read_entry(header_reader *h, const char *name)
{
    json_t *entry;
    bool metadata = strcmp(name, "__metadata__") == 0;
    if (peek(h) != '{')
        return status_fail(CORNU_BAD_FILE, "%s: %s: found no map%s; expected a map", h->file->path,
                           name, metadata ? "" : " in the header");
    if (metadata)
        return read_map(h, read_metadata);
    TRY(next_value(h, ENTRY_MAX, &entry));
    cornu_status status = add_entry(h, name, entry);
    json_decref(entry);
    return status;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const metadata_entry *)a)->key, ((const metadata_entry *)b)->key);
}

/* Sorted, so that very many keys cost no quadratic time. Their order has no meaning. */
static cornu_status check_metadata(tensor_file *file)
{
    if (file->metadata_count > 1)
        qsort(file->metadata, (size_t)file->metadata_count, sizeof *file->metadata, compare_keys);
    for (int i = 1; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i - 1].key, file->metadata[i].key) == 0)
            return status_fail(CORNU_BAD_FILE, "%s: __metadata__: found a duplicate key %s",
                               file->path, file->metadata[i].key);
    return CORNU_OK;
}

/* Read the header's JSON text, and the sizes of file and header. */
static cornu_status read_header(tensor_file *file, uint64_t *there, uint64_t *size, char **json)
{
    tensor_storage *s = file->storage;
    TRY(file_open_regular(file->path, &s->fd, there));
    *size = 0;
    if (*there < 8)
        return status_fail(CORNU_BAD_FILE, "%s: found %ju bytes; expected at least 8", file->path,
                           (uintmax_t)*there);
    TRY(file_read_at(file->path, s->fd, 0, size, 8));
    if (*size > *there - 8 || *size > HEADER_MAX)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found a header of %ju bytes in a file of %ju; expected a "
                           "safetensors header within the file",
                           file->path, (uintmax_t)*size, (uintmax_t)*there);
    TRY(memory_new((size_t)*size + 1, 1, file->path, json));
    return file_read_at(file->path, s->fd, 8, *json, (size_t)*size);
}

cornu_status safetensors_read(tensor_file *file)
{
    char *json = NULL;
    uint64_t there, size;
    header_reader h = {.file = file};
    cornu_status status;
    TRY_GOTO(read_header(file, &there, &size, &json));
    h.at = json;
    h.end = json + size;
    h.data_begin = 8 + size;
    h.data_size = there - 8 - size;
    TRY_GOTO(read_map(&h, read_entry));
    if (peek(&h) >= 0)
        TRY_GOTO(fail_header(&h, "more behind the map than spaces"));
    TRY_GOTO(check_metadata(file));
    TRY_GOTO(tensor_file_check_names(file));
    status = check_contiguous(file->path, h.ranges, (size_t)file->count, h.data_size);
done:
    free(h.ranges);
    free(json);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

static cornu_status add_metadata(const char *path, json_t *header, const metadata_entry *metadata,
                                 int count)
{
    if (count == 0)
        return CORNU_OK;
    json_t *map = json_object();
    if (json_object_set_new(header, "__metadata__", map) != 0)
        return out_of_memory(path);
    for (int i = 0; i < count; i++) {
        errno = 0;
        if (json_object_set_new(map, metadata[i].key, json_string(metadata[i].value)) == 0)
            continue;
        if (errno == ENOMEM)
            return out_of_memory(path);
        return status_fail(CORNU_INVALID, "%s: metadata %s: found text that is not UTF-8", path,
                           metadata[i].key);
    }
    return CORNU_OK;
}

static cornu_status add_tensor(const char *path, json_t *header, const file_tensor *t,
                               uint64_t *offset)
{
    uint64_t end = *offset + (uint64_t)t->count * element_size(t->type);
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; i++)
        json_array_append_new(shape, json_integer(t->shape[i]));
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_codes[t->type], "shape", shape,
                              "data_offsets", (json_int_t)*offset, (json_int_t)end);
    if (!entry || json_array_size(shape) != (size_t)t->rank) {
        json_decref(entry);
        return out_of_memory(path);
    }
    if (json_object_set_new(header, t->name, entry) != 0)
        return status_fail(CORNU_INVALID, "%s: found a tensor name that is not UTF-8", path);
    *offset = end;
    return CORNU_OK;
}

static int compare_alignment(const void *a, const void *b)
{
    const file_tensor *x = *(file_tensor *const *)a, *y = *(file_tensor *const *)b;
    size_t i = element_size(x->type), j = element_size(y->type);
    if (i != j)
        return i > j ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Wide elements first, else in the given order: so every tensor is aligned for its type. */
static cornu_status order_tensors(const char *path, const file_tensor *tensors, int count,
                                  const file_tensor ***out)
{
    TRY(memory_new((size_t)count, sizeof **out, path, out));
    for (int i = 0; i < count; i++)
        (*out)[i] = &tensors[i];
    if (count > 1)
        qsort(*out, (size_t)count, sizeof **out, compare_alignment);
    return CORNU_OK;
}

static cornu_status make_header(const char *path, const file_tensor *const *tensors, int count,
                                const metadata_entry *metadata, int metadata_count, char **out,
                                uint64_t *data_bytes)
{
    uint64_t offset = 0;
    *out = NULL;
    json_t *header = json_object();
    if (!header)
        return out_of_memory(path);
    cornu_status status = add_metadata(path, header, metadata, metadata_count);
    for (int i = 0; i < count && status == CORNU_OK; i++) {
        if (strcmp(tensors[i]->name, "__metadata__") == 0)
            status = status_fail(CORNU_INVALID, "%s: found a tensor named __metadata__", path);
        else
            status = add_tensor(path, header, tensors[i], &offset);
    }
    if (status == CORNU_OK) {
        *out = json_dumps(header, JSON_COMPACT);
        status = *out ? CORNU_OK : out_of_memory(path);
    }
    json_decref(header);
    *data_bytes = offset;
    return status;
}

static size_t padding_of(size_t length)
{
    return (8 - length % 8) % 8;
}

static cornu_status write_tensor(file_write *w, const file_tensor *t)
{
    void *fetched = NULL;
    size_t bytes = (size_t)t->count * element_size(t->type);
    if (t->data || bytes == 0)
        return file_write_bytes(w, t->data, bytes);
    TRY(memory_new(bytes, 1, t->name, &fetched));
    cornu_status status = t->fetch(t->source, t->number, fetched, bytes);
    if (status == CORNU_OK)
        status = file_write_bytes(w, fetched, bytes);
    free(fetched);
    return status;
}

static cornu_status write_content(file_write *w, const char *header,
                                  const file_tensor *const *tensors, int count)
{
    size_t length = strlen(header), padding = padding_of(length);
    uint64_t size = length + padding;
    if (size > HEADER_MAX)
        return status_fail(CORNU_INVALID, "%s: found a header of %ju bytes; expected at most %zu",
                           w->path, (uintmax_t)size, HEADER_MAX);
    TRY(file_write_bytes(w, &size, 8));
    TRY(file_write_bytes(w, header, length));
    TRY(file_write_bytes(w, "        ", padding));
    for (int i = 0; i < count; i++)
        TRY(write_tensor(w, tensors[i]));
    return CORNU_OK;
}

cornu_status safetensors_write_watched(const char *path, const file_tensor *tensors, int count,
                                       const metadata_entry *metadata, int metadata_count,
                                       const file_watch *watch)
{
    const file_tensor **ordered = NULL;
    char *header = NULL;
    uint64_t bytes = 0;
    file_write w = {0};
    cornu_status status;
    TRY(tensors_check(path, tensors, count, true));
    TRY_GOTO(order_tensors(path, tensors, count, &ordered));
    TRY_GOTO(make_header(path, ordered, count, metadata, metadata_count, &header, &bytes));
    bytes += 8 + strlen(header) + padding_of(strlen(header));
    TRY_GOTO(file_write_open_watched(path, (int64_t)bytes, watch, &w));
    TRY_GOTO(write_content(&w, header, ordered, count));
    TRY_GOTO(file_write_commit(&w));
done:
    file_write_abandon(&w);
    free(header);
    free(ordered);
    return status;
}

cornu_status safetensors_write(const char *path, const file_tensor *tensors, int count,
                               const metadata_entry *metadata, int metadata_count)
{
    return safetensors_write_watched(path, tensors, count, metadata, metadata_count, NULL);
}
