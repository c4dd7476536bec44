#include "base/memory.h"
#include "format/hdf5/walk.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ------------------------------------------------------------------------------ */

cornu_status hdf5_fail(const hdf5_walk *w, const char *found, const char *expected)
{
    return status_fail(CORNU_BAD_FILE, "%s: %s: found %s; expected %s", w->file->path,
                       *w->path ? w->path : "/", found, expected);
}

cornu_status hdf5_bytes_at(hdf5_walk *w, uint64_t address, uint64_t size, const char *what,
                           hdf5_bytes *out)
{
    if (address > w->size || size > w->size - address)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found %s outside the file; expected it within",
                           w->file->path, *w->path ? w->path : "/", what);
    if (size + 16 > w->work)
        return hdf5_fail(w, "more structures than a file of its size can have, or a cycle", "less");
    w->work -= size + 16;
    *out = (hdf5_bytes){w->image + address, size};
    return CORNU_OK;
}

bool hdf5_take(hdf5_bytes *b, uint64_t size, const uint8_t **out)
{
    if (size > b->left)
        return false;
    *out = b->at;
    b->at += size;
    b->left -= size;
    return true;
}

uint64_t hdf5_little(const uint8_t *at, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

uint64_t hdf5_number(hdf5_bytes *b, int size, bool *missing)
{
    const uint8_t *at;
    if (hdf5_take(b, (uint64_t)size, &at))
        return hdf5_little(at, size);
    *missing = true;
    return 0;
}

/* ---- types ------------------------------------------------------------------------------ */

/* IEEE 754's half, single and double: total bits, exponent's position, bits and bias, mantissa's
   bits. */
static bool is_ieee(uint32_t size, const uint8_t p[12])
{
    static const struct {
        uint32_t size, bits, exponent_at, exponent_bits, mantissa_bits, bias;
    } known[] = {{2, 16, 10, 5, 10, 15}, {4, 32, 23, 8, 23, 127}, {8, 64, 52, 11, 52, 1023}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (size == known[i].size)
            return hdf5_little(p, 2) == 0 && hdf5_little(p + 2, 2) == known[i].bits &&
                   p[4] == known[i].exponent_at && p[5] == known[i].exponent_bits && p[6] == 0 &&
                   p[7] == known[i].mantissa_bits && hdf5_little(p + 8, 4) == known[i].bias;
    return false;
}

static bool is_whole(uint32_t size, const uint8_t p[4])
{
    return (size == 1 || size == 2 || size == 4 || size == 8) && hdf5_little(p, 2) == 0 &&
           hdf5_little(p + 2, 2) == 8 * size;
}

cornu_status hdf5_read_type(const hdf5_walk *w, hdf5_bytes message, hdf5_type *out)
{
    bool missing = false;
    const uint8_t *properties;
    uint64_t first = hdf5_number(&message, 1, &missing), bits = hdf5_number(&message, 3, &missing);
    *out = (hdf5_type){HDF5_OTHER, (uint32_t)hdf5_number(&message, 4, &missing), false};
    if (missing)
        return hdf5_fail(w, "a type that is cut off", "it whole");
    int class = (int)(first & 15);
    if (class == HDF5_INTEGER && !(bits & 1) && hdf5_take(&message, 4, &properties) &&
        is_whole(out->size, properties)) {
        out->class = HDF5_INTEGER;
        out->is_signed = bits & 8;
    } else if (class == HDF5_FLOAT && !(bits & 0x41) && hdf5_take(&message, 12, &properties) &&
               is_ieee(out->size, properties)) {
        out->class = HDF5_FLOAT;
    } else if (class == HDF5_STRING) {
        out->class = HDF5_STRING;
    } else if (class == 9 && (bits & 15) == 1 && out->size == 16) {
        out->class = HDF5_LONG_STRING;
    }
    return CORNU_OK;
}

cornu_status hdf5_read_shape(const hdf5_walk *w, hdf5_bytes message, hdf5_shape *out)
{
    bool missing = false;
    uint64_t version = hdf5_number(&message, 1, &missing),
             rank = hdf5_number(&message, 1, &missing);
    hdf5_number(&message, 1, &missing);
    uint64_t type = hdf5_number(&message, version == 1 ? 5 : 1, &missing);
    *out = (hdf5_shape){.null = version == 2 && type == 2, .rank = (int)rank};
    if (version != 1 && version != 2)
        return hdf5_fail(w, "a shape of another version", "version 1 or 2");
    if (rank > TENSOR_RANK_MAX)
        return hdf5_fail(w, "more than 8 dimensions", "at most 8");
    for (int i = 0; i < out->rank; i++)
        out->dim[i] = hdf5_number(&message, 8, &missing);
    return missing ? hdf5_fail(w, "a shape that is cut off", "it whole") : CORNU_OK;
}

/* ---- texts ------------------------------------------------------------------------------ */

static cornu_status fail_text(const hdf5_walk *w)
{
    return hdf5_fail(w, "a text that is not where it should be", "it in the file");
}

/* The objects of a collection follow each other: index, count, 4 bytes, size, data up to a multiple
   of 8. */
static cornu_status find_object(hdf5_walk *w, uint64_t collection, uint64_t size, uint64_t index,
                                uint64_t from, hdf5_bytes *out)
{
    for (uint64_t at = from; at <= size && size - at >= 16;) {
        hdf5_bytes head = {0};
        bool missing = false;
        TRY(hdf5_bytes_at(w, collection + at, 16, "a text", &head));
        uint64_t number = hdf5_number(&head, 2, &missing);
        uint64_t bytes = hdf5_little(head.at + 6, 8);
        if (number == 0 || bytes > size - at - 16)
            break;
        if (number == index) {
            w->heap = collection;
            w->heap_index = index;
            w->heap_offset = at;
            *out = (hdf5_bytes){w->image + collection + at + 16, bytes};
            return CORNU_OK;
        }
        at += 16 + (bytes + 7) / 8 * 8;
    }
    return fail_text(w);
}

static cornu_status find_text(hdf5_walk *w, const uint8_t element[16], hdf5_bytes *out)
{
    uint64_t length = hdf5_little(element, 4), collection = hdf5_little(element + 4, 8);
    uint64_t index = hdf5_little(element + 12, 4);
    hdf5_bytes head = {0};
    *out = (hdf5_bytes){element, 0};
    if (length == 0)
        return CORNU_OK;
    TRY(hdf5_bytes_at(w, collection, 16, "a text", &head));
    uint64_t size = hdf5_little(head.at + 8, 8);
    if (memcmp(head.at, "GCOL\1", 5) != 0 || size < 16 || size > w->size - collection)
        return fail_text(w);
    bool behind = w->heap == collection && w->heap_offset > 0 && index > w->heap_index;
    cornu_status status =
        behind ? find_object(w, collection, size, index, w->heap_offset, out) : CORNU_BAD_FILE;
    if (status != CORNU_OK)
        TRY(find_object(w, collection, size, index, 16, out));
    if (length > out->left)
        return fail_text(w);
    out->left = length;
    return CORNU_OK;
}

/* ---- attributes ------------------------------------------------------------------------- */

typedef struct attribute {
    char *name;
    hdf5_type type;
    hdf5_shape shape;
    hdf5_bytes data;
} attribute;

static cornu_status spend_text(hdf5_walk *w, uint64_t bytes)
{
    if (bytes > w->text)
        return hdf5_fail(w, "attributes of more bytes than the file", "less");
    w->text -= bytes;
    return CORNU_OK;
}

/* One text of the attribute; it is padded with zeros. */
static cornu_status read_text(hdf5_walk *w, const attribute *a, uint64_t number, hdf5_bytes *out)
{
    const uint8_t *element = a->data.at + number * a->type.size;
    *out = (hdf5_bytes){element, a->type.size};
    if (a->type.class == HDF5_LONG_STRING)
        TRY(find_text(w, element, out));
    TRY(spend_text(w, out->left));
    out->left = strnlen((const char *)out->at, out->left);
    return CORNU_OK;
}

static cornu_status keep(hdf5_walk *w, const attribute *a, const char *value)
{
    char *key;
    TRY(memory_format(&key, "%s@%s", w->path, a->name));
    cornu_status status = spend_text(w, strlen(key));
    if (status == CORNU_OK)
        status = tensor_file_add_metadata(w->file, key, value);
    free(key);
    return status;
}

static cornu_status keep_text(hdf5_walk *w, const attribute *a)
{
    hdf5_bytes found;
    char *value;
    TRY(read_text(w, a, 0, &found));
    TRY(memory_new(found.left + 1, 1, w->file->path, &value));
    memcpy(value, found.at, found.left);
    cornu_status status = keep(w, a, value);
    free(value);
    return status;
}

static cornu_status add_texts(hdf5_walk *w, const attribute *a, json_t *list)
{
    for (uint64_t i = 0; i < a->shape.dim[0]; i++) {
        hdf5_bytes found;
        TRY(read_text(w, a, i, &found));
        errno = 0;
        int failed = json_array_append_new(list, json_stringn((const char *)found.at, found.left));
        if (failed && errno == ENOMEM)
            return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its attributes",
                               w->file->path);
        if (failed)
            return hdf5_fail(w, "a list of names that are no UTF-8", "UTF-8");
    }
    return CORNU_OK;
}

/* Keep the attribute as a JSON list. */
static cornu_status keep_list(hdf5_walk *w, const attribute *a)
{
    json_t *list = json_array();
    cornu_status status = list ? add_texts(w, a, list) : CORNU_OUT_OF_MEMORY;
    char *value = status == CORNU_OK ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    if (status == CORNU_OK && !value)
        status = status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory", w->file->path);
    if (status == CORNU_OK)
        status = keep(w, a, value);
    free(value);
    return status;
}

static cornu_status keep_attribute(hdf5_walk *w, const attribute *a)
{
    bool texts = a->type.class == HDF5_STRING || a->type.class == HDF5_LONG_STRING;
    uint64_t count = a->shape.rank ? a->shape.dim[0] : 1;
    if (!texts || a->shape.null || a->shape.rank > 1 || a->type.size == 0)
        return CORNU_OK;
    if (count > HDF5_OBJECTS_MAX || count > a->data.left / a->type.size)
        return hdf5_fail(w, "an attribute of too many texts", "less");
    return a->shape.rank ? keep_list(w, a) : keep_text(w, a);
}

static uint64_t padded(uint64_t size, uint64_t version)
{
    return version == 1 ? (size + 7) / 8 * 8 : size;
}

/* Version 1 pads name, type and shape to multiples of 8 bytes; version 3 has the name's character
   set. */
cornu_status hdf5_read_attribute(hdf5_walk *w, hdf5_bytes message)
{
    attribute a;
    bool missing = false;
    const uint8_t *name, *type, *space;
    uint64_t version = hdf5_number(&message, 1, &missing),
             flags = hdf5_number(&message, 1, &missing);
    uint64_t sizes[3];
    for (int i = 0; i < 3; i++)
        sizes[i] = hdf5_number(&message, 2, &missing);
    if (version == 3)
        hdf5_number(&message, 1, &missing);
    if (missing || version < 1 || version > 3 || (version > 1 && (flags & 3)) ||
        !hdf5_take(&message, padded(sizes[0], version), &name) ||
        !hdf5_take(&message, padded(sizes[1], version), &type) ||
        !hdf5_take(&message, padded(sizes[2], version), &space))
        return hdf5_fail(w, "an attribute that is cut off or of another version", "it whole");
    TRY(hdf5_read_type(w, (hdf5_bytes){type, sizes[1]}, &a.type));
    TRY(hdf5_read_shape(w, (hdf5_bytes){space, sizes[2]}, &a.shape));
    a.data = message;
    TRY(memory_format(&a.name, "%.*s", (int)sizes[0], (const char *)name));
    cornu_status status = keep_attribute(w, &a);
    free(a.name);
    return status;
}

/* ---- many links or attributes of an object, beside its header --------------------------- */

/* libhdf5's trees have nodes of 512 bytes: with 4 levels above the leaves that is far more than
   HDF5_OBJECTS_MAX. */
enum { NODE_MOST = 65536, DEPTH_MOST = 4, NODE_HEAD = 6, NODE_CHECKSUM = 4 };

typedef struct fractal_heap {
    uint64_t start, direct_most; /* bytes of the first and of the largest direct block */
    uint64_t width;              /* number of blocks in a row of an indirect block */
    uint64_t root;
    int rows; /* of the root, if it is an indirect block; 0: it is a direct block */
    int offset_bytes, length_bytes;
} fractal_heap;

typedef struct dense_index {
    hdf5_walk *w;
    const hdf5_dense *kind;
    fractal_heap heap;
    int count_bytes;                       /* bytes of the field "child's number of records" */
    uint64_t records_most[DEPTH_MOST + 1]; /* of a node at this level; 0 is the leaves */
    uint64_t pointer_bytes[DEPTH_MOST + 1];
} dense_index;

static int log2_of(uint64_t n)
{
    return n ? 63 - __builtin_clzll(n) : 0;
}

static bool is_power_of_2(uint64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Bytes that a number up to n needs. */
static int bytes_of(uint64_t n)
{
    return log2_of(n) / 8 + 1;
}

/* ---- the heap --------------------------------------------------------------------------- */

static cornu_status fail_heap(const hdf5_walk *w)
{
    return hdf5_fail(w, "a damaged heap of links or attributes, or one with filters",
                     "one as libhdf5 makes it");
}

static cornu_status read_heap(hdf5_walk *w, uint64_t address, fractal_heap *h)
{
    hdf5_bytes b;
    TRY(hdf5_bytes_at(w, address, 142, "a heap of links or attributes", &b));
    uint64_t filters = hdf5_little(b.at + 7, 2), object_most = hdf5_little(b.at + 10, 4);
    uint64_t bits = hdf5_little(b.at + 128, 2), rows = hdf5_little(b.at + 140, 2);
    *h = (fractal_heap){.width = hdf5_little(b.at + 110, 2),
                        .start = hdf5_little(b.at + 112, 8),
                        .direct_most = hdf5_little(b.at + 120, 8),
                        .root = hdf5_little(b.at + 132, 8),
                        .rows = (int)rows};
    if (memcmp(b.at, "FRHP\0", 5) != 0 || filters != 0 || !is_power_of_2(h->width) ||
        !is_power_of_2(h->start) || !is_power_of_2(h->direct_most) || h->start > h->direct_most ||
        h->direct_most > UINT32_MAX || bits > 64 || rows > 64)
        return fail_heap(w);
    int of_block = (log2_of(h->direct_most) + 7) / 8, of_object = bytes_of(object_most);
    h->offset_bytes = (int)(bits + 7) / 8;
    h->length_bytes = of_block < of_object ? of_block : of_object;
    return CORNU_OK;
}

/* Descend from an indirect block with `rows` rows to the direct block that contains `*offset`;
   *offset becomes relative to that block. Rows 0 and 1 hold blocks of `start` bytes, and the size
   doubles with each further row. From direct_most on the blocks are indirect, and each covers less
   than its parent. */
static cornu_status find_block(hdf5_walk *w, const fractal_heap *h, uint64_t *offset,
                               uint64_t *block, uint64_t *size)
{
    uint64_t row_size = h->start * h->width;
    *block = h->root;
    *size = h->start;
    for (int rows = h->rows; rows > 0;) {
        hdf5_bytes head = {0}, entry = {0};
        int row = *offset < row_size ? 0 : log2_of(*offset / row_size) + 1;
        TRY(hdf5_bytes_at(w, *block, 5, "a heap of links or attributes", &head));
        if (memcmp(head.at, "FHIB\0", 5) != 0 || row >= rows)
            return fail_heap(w);
        *size = h->start << (row > 0 ? row - 1 : 0);
        *offset -= row > 0 ? row_size << (row - 1) : 0;
        uint64_t number = (uint64_t)row * h->width + *offset / *size;
        *offset %= *size;
        TRY(hdf5_bytes_at(w, *block + 13 + (uint64_t)h->offset_bytes + number * 8, 8,
                          "a heap of links or attributes", &entry));
        *block = hdf5_little(entry.at, 8);
        rows = *size <= h->direct_most ? 0 : log2_of(*size) - log2_of(row_size) + 1;
    }
    return CORNU_OK;
}

static cornu_status find_in_heap(hdf5_walk *w, const fractal_heap *h, const uint8_t *id,
                                 hdf5_bytes *out)
{
    uint64_t offset = hdf5_little(id + 1, h->offset_bytes), block, size;
    uint64_t length = hdf5_little(id + 1 + h->offset_bytes, h->length_bytes);
    hdf5_bytes head;
    if (id[0] & 0xF0) /* another version, or an object stored outside the blocks */
        return hdf5_fail(
            w, "an attribute of more than 4096 bytes beside many others",
            "at most 8 of one object, or shorter ones (h5repack IN OUT writes it anew)");
    TRY(find_block(w, h, &offset, &block, &size));
    TRY(hdf5_bytes_at(w, block, 5, "a heap of links or attributes", &head));
    if (memcmp(head.at, "FHDB\0", 5) != 0 || offset > size || length > size - offset)
        return fail_heap(w);
    return hdf5_bytes_at(w, block + offset, length, "a link or an attribute", out);
}

/* ---- the tree --------------------------------------------------------------------------- */

static cornu_status fail_tree(const hdf5_walk *w)
{
    return hdf5_fail(w, "a damaged index of links or attributes", "one as libhdf5 makes it");
}

/* A node holds as many records as fit, and its count fields are as wide as the maximum count
   needs. */
static void measure_levels(dense_index *x, uint64_t node_size, int depth)
{
    uint64_t record = (uint64_t)x->kind->record_bytes, all = 0;
    for (int level = 0; level <= depth; level++) {
        uint64_t pointer = 0;
        if (level > 0)
            pointer = 8 + (uint64_t)x->count_bytes + (level > 1 ? (uint64_t)bytes_of(all) : 0);
        uint64_t taken = NODE_HEAD + NODE_CHECKSUM + pointer;
        uint64_t most = node_size > taken ? (node_size - taken) / (record + pointer) : 0;
        if (level == 0)
            x->count_bytes = bytes_of(most);
        x->records_most[level] = most;
        x->pointer_bytes[level] = pointer;
        all = level > 0 ? (most + 1) * all + most : most;
    }
}

static cornu_status take_record(dense_index *x, const uint8_t *record)
{
    hdf5_bytes message;
    if (x->kind->flags_at && (record[x->kind->flags_at] & 2))
        return hdf5_fail(x->w, "a message that is shared", "it in the object's own header");
    TRY(find_in_heap(x->w, &x->heap, record + x->kind->id_at, &message));
    return x->kind->take(x->w, message);
}

/* Levels decrease by one, so that no tree has a cycle. */
static cornu_status read_node(dense_index *x, uint64_t address, uint64_t count, int level)
{
    hdf5_bytes b;
    uint64_t record = (uint64_t)x->kind->record_bytes, pointer = x->pointer_bytes[level];
    if (count > x->records_most[level])
        return fail_tree(x->w);
    TRY(hdf5_bytes_at(x->w, address, NODE_HEAD + count * record + (count + 1) * pointer,
                      "an index of links or attributes", &b));
    if (memcmp(b.at, level > 0 ? "BTIN\0" : "BTLF\0", 5) != 0 || b.at[5] != x->kind->type)
        return fail_tree(x->w);
    const uint8_t *records = b.at + NODE_HEAD, *pointers = records + count * record;
    for (uint64_t i = 0; i <= count; i++) {
        const uint8_t *child = pointers + i * pointer;
        if (level > 0)
            TRY(read_node(x, hdf5_little(child, 8), hdf5_little(child + 8, x->count_bytes),
                          level - 1));
        if (i < count)
            TRY(take_record(x, records + i * record));
    }
    return CORNU_OK;
}

static cornu_status read_index(dense_index *x, uint64_t address)
{
    hdf5_bytes b;
    TRY(hdf5_bytes_at(x->w, address, 34, "an index of links or attributes", &b));
    uint64_t node_size = hdf5_little(b.at + 6, 4), record = hdf5_little(b.at + 10, 2);
    uint64_t depth = hdf5_little(b.at + 12, 2), count = hdf5_little(b.at + 24, 2);
    if (memcmp(b.at, "BTHD\0", 5) != 0 || b.at[5] != x->kind->type ||
        record != (uint64_t)x->kind->record_bytes || node_size > NODE_MOST || depth > DEPTH_MOST)
        return fail_tree(x->w);
    measure_levels(x, node_size, (int)depth);
    return count > 0 ? read_node(x, hdf5_little(b.at + 16, 8), count, (int)depth) : CORNU_OK;
}

cornu_status hdf5_read_dense(hdf5_walk *w, hdf5_bytes info, const hdf5_dense *kind)
{
    bool missing = false;
    dense_index x = {.w = w, .kind = kind};
    hdf5_number(&info, 1, &missing);
    if (hdf5_number(&info, 1, &missing) & 1)
        hdf5_number(&info, kind->order_bytes, &missing);
    uint64_t objects = hdf5_number(&info, 8, &missing), tree = hdf5_number(&info, 8, &missing);
    if (missing)
        return hdf5_fail(w, "a header that is cut off", "it whole");
    if (objects == HDF5_UNDEFINED)
        return CORNU_OK;
    TRY(read_heap(w, objects, &x.heap));
    if (1 + x.heap.offset_bytes + x.heap.length_bytes > kind->id_bytes)
        return fail_heap(w);
    return read_index(&x, tree);
}
