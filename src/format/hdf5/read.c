/* Reading HDF5: see hdf5.h. It is cornu's own code, because libhdf5 (1.10.8) does not withstand
   hostile bytes: the fuzzer (tests/fuzz) had it in an endless loop within seconds. It reads the
   files that Keras and h5py write by default (version 0 of the first header, 1 of object headers,
   groups as symbol tables) and with libver="latest" (3 and 2, groups of links). It reads contiguous
   data only. */
#include "base/memory.h"
#include "format/hdf5/walk.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Texts and structures may be read more than once, where several attributes refer to them. */
enum {
    TEXT_TIMES = 4,
    CONVERTED_TIMES = 8,
    WORK_TIMES = 16,
    SLACK = 1 << 16,
    WORK_SLACK = 1 << 24
};

/* Types of messages. */
enum {
    MESSAGE_SPACE = 0x01,
    MESSAGE_LINK_INFO = 0x02,
    MESSAGE_TYPE = 0x03,
    MESSAGE_LINK = 0x06,
    MESSAGE_EXTERNAL = 0x07,
    MESSAGE_LAYOUT = 0x08,
    MESSAGE_FILTERS = 0x0B,
    MESSAGE_ATTRIBUTE = 0x0C,
    MESSAGE_CONTINUATION = 0x10,
    MESSAGE_SYMBOLS = 0x11,
    MESSAGE_ATTRIBUTE_INFO = 0x15
};

/* The content of an object's header, as far as it was read. */
typedef struct object {
    hdf5_bytes space, type, layout, symbols;
    bool group, external, filters;
    int version, message_head; /* version of the header; bytes before each message */
} object;

static cornu_status read_object(hdf5_walk *w, uint64_t address);

/* ---- members of groups ------------------------------------------------------------------ */

static cornu_status read_member(hdf5_walk *w, const char *name, size_t length, uint64_t address)
{
    char *path;
    const char *outer = w->path;
    if (w->objects++ >= HDF5_OBJECTS_MAX || w->depth >= HDF5_DEPTH_MAX)
        return hdf5_fail(w, "too many or too deep groups, or a cycle",
                         "at most 20000 objects in 24 levels");
    if (length == 0 || memchr(name, '/', length))
        return hdf5_fail(w, "a member without a name, or with a '/' in it", "a name");
    if (strlen(outer) + 1 + length > HDF5_PATH_MAX)
        return hdf5_fail(w, "a member with a long name", "paths of at most 1000 bytes");
    TRY(memory_format(&path, "%s%s%.*s", outer, *outer ? "/" : "", (int)length, name));
    w->path = path;
    w->depth++;
    cornu_status status = read_object(w, address);
    w->depth--;
    w->path = outer;
    free(path);
    return status;
}

static cornu_status fail_link(hdf5_walk *w, const char *name, size_t length, const char *what)
{
    char *path;
    TRY(memory_format(&path, "%s%s%.*s", w->path, *w->path ? "/" : "", (int)length, name));
    cornu_status status = status_fail(
        CORNU_BAD_FILE, "%s: %s: found %s; expected groups and tensors", w->file->path, path, what);
    free(path);
    return status;
}

/* A link message: version, flags, then, as the flags say, a type, an order, a character set, a
   length, a name, and for a hard link the address. */
static cornu_status read_link(hdf5_walk *w, hdf5_bytes message)
{
    bool missing = false;
    const uint8_t *name;
    uint64_t version = hdf5_number(&message, 1, &missing),
             flags = hdf5_number(&message, 1, &missing);
    uint64_t kind = flags & 8 ? hdf5_number(&message, 1, &missing) : 0;
    if (flags & 4)
        hdf5_number(&message, 8, &missing);
    if (flags & 16)
        hdf5_number(&message, 1, &missing);
    uint64_t length = hdf5_number(&message, 1 << (flags & 3), &missing);
    if (missing || version != 1 || length > UINT16_MAX || !hdf5_take(&message, length, &name))
        return hdf5_fail(w, "a link that is cut off or of another version", "it whole");
    if (kind != 0)
        return fail_link(w, (const char *)name, length,
                         kind == 64  ? "a link to another file"
                         : kind == 1 ? "a soft link"
                                     : "a link of an unknown kind");
    uint64_t address = hdf5_number(&message, 8, &missing);
    if (missing)
        return hdf5_fail(w, "a link that is cut off", "it whole");
    return read_member(w, (const char *)name, length, address);
}

/* ---- groups as symbol tables ------------------------------------------------------------ */

/* Names are in a heap, one after the other, each ended by a zero byte. */
static cornu_status read_symbol(hdf5_walk *w, const uint8_t entry[40], const hdf5_bytes *heap)
{
    uint64_t at = hdf5_little(entry, 8), kind = hdf5_little(entry + 16, 4);
    if (at >= heap->left)
        return hdf5_fail(w, "a name outside its heap", "it within");
    const char *name = (const char *)heap->at + at;
    size_t room = heap->left - at, length = strnlen(name, room < 65536 ? room : 65536);
    if (length == room || length > UINT16_MAX)
        return hdf5_fail(w, "a name without an end", "one");
    if (kind == 2)
        return fail_link(w, name, length, "a soft link");
    if (kind > 1)
        return fail_link(w, name, length, "a link of an unknown kind");
    return read_member(w, name, length, hdf5_little(entry + 8, 8));
}

static cornu_status read_symbols(hdf5_walk *w, uint64_t address, const hdf5_bytes *heap)
{
    hdf5_bytes head, entries;
    TRY(hdf5_bytes_at(w, address, 8, "a symbol table", &head));
    if (memcmp(head.at, "SNOD\1", 5) != 0)
        return hdf5_fail(w, "no symbol table", "one");
    uint64_t count = hdf5_little(head.at + 6, 2);
    TRY(hdf5_bytes_at(w, address + 8, count * 40, "a symbol table", &entries));
    for (uint64_t i = 0; i < count; i++)
        TRY(read_symbol(w, entries.at + i * 40, heap));
    return CORNU_OK;
}

/* A node of the tree: "TREE", type 0, level, count, siblings, then a key before each child. Levels
   decrease by one, so that no tree has a cycle. */
static cornu_status read_tree(hdf5_walk *w, uint64_t address, int level, const hdf5_bytes *heap)
{
    hdf5_bytes head, children;
    TRY(hdf5_bytes_at(w, address, 24, "a group's tree", &head));
    if (memcmp(head.at, "TREE\0", 5) != 0 || (level >= 0 && head.at[5] != level) || head.at[5] > 8)
        return hdf5_fail(w, "no tree of a group", "one");
    level = head.at[5];
    uint64_t count = hdf5_little(head.at + 6, 2);
    TRY(hdf5_bytes_at(w, address + 24, count * 16, "a group's tree", &children));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t child = hdf5_little(children.at + i * 16 + 8, 8);
        TRY(level ? read_tree(w, child, level - 1, heap) : read_symbols(w, child, heap));
    }
    return CORNU_OK;
}

static cornu_status read_symbol_group(hdf5_walk *w, hdf5_bytes message)
{
    hdf5_bytes head, heap;
    bool missing = false;
    uint64_t tree = hdf5_number(&message, 8, &missing), names = hdf5_number(&message, 8, &missing);
    if (missing)
        return hdf5_fail(w, "a group that is cut off", "it whole");
    TRY(hdf5_bytes_at(w, names, 32, "a heap of names", &head));
    if (memcmp(head.at, "HEAP\0", 5) != 0)
        return hdf5_fail(w, "no heap of names", "one");
    TRY(hdf5_bytes_at(w, hdf5_little(head.at + 24, 8), hdf5_little(head.at + 8, 8),
                      "a heap of names", &heap));
    return read_tree(w, tree, -1, &heap);
}

/* ---- tensors ---------------------------------------------------------------------------- */

/* Find the elements: contiguous in the file, or in the header itself. */
static cornu_status find_data(hdf5_walk *w, const object *o, uint64_t bytes, const uint8_t **data)
{
    hdf5_bytes m = o->layout;
    bool missing = false;
    uint64_t version = hdf5_number(&m, 1, &missing), class = hdf5_number(&m, 1, &missing);
    if (o->external)
        return hdf5_fail(w, "an external dataset (data in other files)", "data in this file");
    if (!missing && version == 4 && class == 3)
        return hdf5_fail(w, "a virtual dataset (data of other files)", "data in this file");
    if (o->filters || (!missing && class == 2))
        return hdf5_fail(w, "chunked or packed data",
                         "them in one piece, as Keras and h5repack -l CONTI -f NONE write them");
    if (missing || (version != 3 && version != 4) || class > 1)
        return hdf5_fail(w, "an unknown layout of data", "one that Keras writes");
    if (bytes == 0)
        return CORNU_OK;
    uint64_t address = class == 1 ? hdf5_number(&m, 8, &missing) : 0;
    uint64_t there = hdf5_number(&m, class == 1 ? 8 : 2, &missing);
    if (missing || there < bytes ||
        (class == 1 ? address > w->size || bytes > w->size - address : bytes > m.left))
        return hdf5_fail(w, "data that are not in the file", "them within it");
    *data = class == 1 ? w->image + address : m.at;
    return CORNU_OK;
}

static float half_to_float(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, bits;
    float value;
    if (exponent == 0) { /* subnormal: units of 2^-24 */
        value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    bits =
        sign | (uint32_t)(exponent == 31 ? 255 : exponent + 112) << 23 | (uint32_t)mantissa << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int64_t whole(const uint8_t *at, const hdf5_type *type)
{
    int bits = 64 - 8 * (int)type->size;
    uint64_t value = hdf5_little(at, (int)type->size) << bits;
    return type->is_signed ? (int64_t)value >> bits : (int64_t)(value >> bits);
}

/* Convert types that tensor files do not have: integers to int64, halves to float32. */
static cornu_status convert(hdf5_walk *w, const hdf5_type *type, const uint8_t *data, size_t bytes,
                            file_tensor *t)
{
    void *out;
    if (bytes > w->converted)
        return hdf5_fail(w, "more elements to convert than the file has bytes", "less");
    w->converted -= bytes;
    TRY(tensor_file_reserve(w->file, w->path, bytes, &out));
    for (int64_t i = 0; i < t->count; i++)
        if (t->type == ELEMENT_I64)
            ((int64_t *)out)[i] = whole(data + (size_t)i * type->size, type);
        else
            ((float *)out)[i] = half_to_float((uint16_t)hdf5_little(data + 2 * i, 2));
    t->data = out;
    return CORNU_OK;
}

static cornu_status choose_type(const hdf5_walk *w, const hdf5_type *type, file_tensor *t)
{
    if (type->class != HDF5_INTEGER && type->class != HDF5_FLOAT)
        return hdf5_fail(w, "elements that are no numbers", "floats or whole numbers");
    if (type->class == HDF5_INTEGER && type->size == 8 && !type->is_signed)
        return hdf5_fail(w, "unsigned numbers of 64 bits", "floats or other whole numbers");
    t->type = type->class == HDF5_INTEGER ? ELEMENT_I64
              : type->size == 8           ? ELEMENT_F64
                                          : ELEMENT_F32;
    return CORNU_OK;
}

static cornu_status choose_shape(const hdf5_walk *w, const hdf5_shape *shape, file_tensor *t)
{
    if (shape->null)
        return hdf5_fail(w, "a dataset without a shape", "one");
    t->rank = shape->rank;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] > INT64_MAX)
            return hdf5_fail(w, "a dimension of more than 2^63", "less");
        t->shape[i] = (int64_t)shape->dim[i];
    }
    return CORNU_OK;
}

static cornu_status read_tensor(hdf5_walk *w, const object *o)
{
    file_tensor t = {0};
    hdf5_type type;
    hdf5_shape shape;
    const uint8_t *data = w->image;
    size_t bytes;
    if (!o->space.at || !o->type.at || !o->layout.at)
        return hdf5_fail(w, "an object that is neither group nor tensor", "one of the two");
    TRY(hdf5_read_type(w, o->type, &type));
    TRY(hdf5_read_shape(w, o->space, &shape));
    TRY(choose_type(w, &type, &t));
    TRY(choose_shape(w, &shape, &t));
    TRY(tensor_measure(w->file->path, w->path, &t, &bytes));
    TRY(find_data(w, o, (uint64_t)t.count * type.size, &data));
    t.data = data;
    if (bytes > 0 && type.size != element_size(t.type))
        TRY(convert(w, &type, data, bytes, &t));
    return tensor_file_add(w->file, w->path, &t);
}

/* ---- headers of objects ----------------------------------------------------------------- */

static cornu_status take_message(hdf5_walk *w, uint64_t type, hdf5_bytes message, object *o)
{
    static const hdf5_dense links = {5, 11, 4, 7, 0, 8, read_link};
    static const hdf5_dense attributes = {8, 17, 0, 8, 8, 2, hdf5_read_attribute};
    switch (type) {
    case MESSAGE_SPACE:
        o->space = message;
        return CORNU_OK;
    case MESSAGE_TYPE:
        o->type = message;
        return CORNU_OK;
    case MESSAGE_LAYOUT:
        o->layout = message;
        return CORNU_OK;
    case MESSAGE_SYMBOLS:
        o->symbols = message;
        o->group = true;
        return CORNU_OK;
    case MESSAGE_LINK_INFO:
        o->group = true;
        return hdf5_read_dense(w, message, &links);
    case MESSAGE_LINK:
        o->group = true;
        return read_link(w, message);
    case MESSAGE_ATTRIBUTE:
        return hdf5_read_attribute(w, message);
    case MESSAGE_ATTRIBUTE_INFO:
        return hdf5_read_dense(w, message, &attributes);
    default:
        o->external = o->external || type == MESSAGE_EXTERNAL;
        o->filters = o->filters || type == MESSAGE_FILTERS;
        return CORNU_OK;
    }
}

/* Find the continuation of a header; in version 2 it has a signature and a checksum around the
   messages. */
static cornu_status find_more(hdf5_walk *w, hdf5_bytes message, const object *o, hdf5_bytes *out)
{
    bool missing = false;
    uint64_t at = hdf5_number(&message, 8, &missing), size = hdf5_number(&message, 8, &missing);
    if (missing)
        return hdf5_fail(w, "a header that is cut off", "it whole");
    TRY(hdf5_bytes_at(w, at, size, "a header", out));
    if (o->version == 1)
        return CORNU_OK;
    if (size < 8 || memcmp(out->at, "OCHK", 4) != 0)
        return hdf5_fail(w, "no header where one should go on", "it whole");
    *out = (hdf5_bytes){out->at + 4, size - 8};
    return CORNU_OK;
}

/* Read a block of messages. Version 1: type, size, flags, 3 bytes, the message itself. Version 2
   has one byte for the type and nothing after the flags, except an optional creation order. */
static cornu_status take_block(hdf5_walk *w, hdf5_bytes block, int depth, object *o)
{
    const uint8_t *head, *data;
    int type_bytes = o->version == 1 ? 2 : 1;
    while (hdf5_take(&block, (uint64_t)o->message_head, &head)) {
        uint64_t type = hdf5_little(head, type_bytes), size = hdf5_little(head + type_bytes, 2);
        if (!hdf5_take(&block, size, &data))
            return hdf5_fail(w, "a header that is cut off", "it whole");
        if ((head[type_bytes + 2] & 2) && type != 0)
            return hdf5_fail(w, "a message that is shared", "it in the object's own header");
        if (type != MESSAGE_CONTINUATION) {
            TRY(take_message(w, type, (hdf5_bytes){data, size}, o));
            continue;
        }
        hdf5_bytes more = {0};
        if (depth >= 100)
            return hdf5_fail(w, "a header in too many pieces", "at most 100");
        TRY(find_more(w, (hdf5_bytes){data, size}, o, &more));
        TRY(take_block(w, more, depth + 1, o));
    }
    return CORNU_OK;
}

/* Version 2: signature, version, flags, as the flags say 4 times and 2 limits, the messages'
   size. */
static cornu_status find_messages(hdf5_walk *w, uint64_t address, object *o, hdf5_bytes *out)
{
    hdf5_bytes head, size;
    TRY(hdf5_bytes_at(w, address, 6, "an object's header", &head));
    int flags = head.at[5], bytes = 1 << (flags & 3);
    if (head.at[4] != 2)
        return hdf5_fail(w, "an object of another version", "version 1 or 2");
    address += (flags & 32 ? 22u : 6u) + (flags & 16 ? 4u : 0u);
    *o = (object){.version = 2, .message_head = flags & 4 ? 6 : 4};
    TRY(hdf5_bytes_at(w, address, (uint64_t)bytes, "an object's header", &size));
    return hdf5_bytes_at(w, address + (uint64_t)bytes, hdf5_little(size.at, bytes),
                         "an object's header", out);
}

static cornu_status read_object(hdf5_walk *w, uint64_t address)
{
    hdf5_bytes head, block;
    object o = {.version = 1, .message_head = 8};
    TRY(hdf5_bytes_at(w, address, 16, "an object's header", &head));
    if (memcmp(head.at, "OHDR", 4) == 0)
        TRY(find_messages(w, address, &o, &block));
    else if (head.at[0] == 1)
        TRY(hdf5_bytes_at(w, address + 16, hdf5_little(head.at + 8, 4), "an object's header",
                          &block));
    else
        return hdf5_fail(w, "an object of another version", "version 1 or 2");
    TRY(take_block(w, block, 0, &o));
    if (o.symbols.at)
        return read_symbol_group(w, o.symbols);
    return o.group ? CORNU_OK : read_tensor(w, &o);
}

/* ---- files ------------------------------------------------------------------------------ */

/* The first header: signature, version, sizes of offsets and lengths, then addresses: first of the
   file itself, and up to version 1 of the root, by its entry in a symbol table. */
static cornu_status read_root(hdf5_walk *w)
{
    static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
    static const struct {
        uint8_t sizes, addresses, root;
    } places[] = {{13, 24, 64}, {13, 28, 68}, {9, 12, 36}, {9, 12, 36}};
    const uint8_t *h = w->image;
    if (w->size < 100 || memcmp(h, signature, sizeof signature) != 0)
        return status_fail(CORNU_BAD_FILE, "%s: found another beginning; expected HDF5",
                           w->file->path);
    int version = h[8], at = version < 4 ? version : 0;
    if (version > 3 || h[places[at].sizes] != 8 || h[places[at].sizes + 1] != 8 ||
        hdf5_little(h + places[at].addresses, 8) != 0)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found HDF5 of version %d of its first header; expected version 0 "
                           "to 3, with offsets of 8 bytes, as Keras writes it",
                           w->file->path, version);
    if (version == 3 && (h[11] & 1))
        return status_fail(
            CORNU_BAD_FILE,
            "%s: found HDF5 that is being written, or whose writer did not end well; "
            "expected a file that was closed",
            w->file->path);
    return read_object(w, hdf5_little(h + places[at].root, 8));
}

cornu_status hdf5_read_image(tensor_file *file, void *image, size_t size)
{
    tensor_storage *s = file->storage;
    s->held = image;
    s->release = free;
    hdf5_walk w = {.file = file,
                   .image = image,
                   .size = size,
                   .work = (uint64_t)size * WORK_TIMES + WORK_SLACK,
                   .text = (uint64_t)size * TEXT_TIMES + SLACK,
                   .converted = (uint64_t)size * CONVERTED_TIMES,
                   .path = ""};
    TRY(read_root(&w));
    return tensor_file_check_names(file);
}

cornu_status hdf5_read(tensor_file *file)
{
    uint64_t size;
    int fd;
    uint8_t *image = NULL;
    TRY(file_open_regular(file->path, &fd, &size));
    cornu_status status = memory_new(size + 1, 1, file->path, &image);
    if (status == CORNU_OK)
        status = file_read_at(file->path, fd, 0, image, size);
    close(fd);
    if (status == CORNU_OK)
        return hdf5_read_image(file, image, size);
    free(image);
    return status;
}
