/* Links and attributes that do not fit a header ("dense storage", from h5py with libver="latest"):
   each is an object of a fractal heap, and the records of a version 2 B-tree say where it is.
   Positions are those of the specification, III.A.2 and III.G. Checksums are not verified: tensors
   have none either. */
#include "format/hdf5/walk.h"
#include <string.h>

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
        hdf5_bytes head, entry;
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

static cornu_status find_object(hdf5_walk *w, const fractal_heap *h, const uint8_t *id,
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
    TRY(find_object(x->w, &x->heap, record + x->kind->id_at, &message));
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
