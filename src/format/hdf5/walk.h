/* Declarations shared by cornu's own HDF5 reader. Byte positions and names of fields are those of
   the HDF5 File Format Specification, version 3.0, sections II to IV. */
#ifndef FORMAT_HDF5_WALK_H
#define FORMAT_HDF5_WALK_H

#include "format/hdf5/hdf5.h"

#define HDF5_UNDEFINED UINT64_MAX

/* A file that is being read. */
typedef struct hdf5_walk {
    tensor_file *file;
    const uint8_t *image;
    size_t size;
    uint64_t work; /* limit on the bytes of structures still to be read, repeated reads counted */
    uint64_t text; /* limit on the bytes of attributes still to be kept */
    uint64_t converted; /* limit on the bytes of tensors still to be converted */
    int objects, depth;
    const char *path; /* of the current object; "" is the root */
    /* Position of the last text that was found: the next one often follows it. */
    uint64_t heap, heap_index;
    size_t heap_offset;
} hdf5_walk;

/* The bytes of a structure that are still to be read. */
typedef struct hdf5_bytes {
    const uint8_t *at;
    size_t left;
} hdf5_bytes;

cornu_status hdf5_fail(const hdf5_walk *w, const char *found, const char *expected);
/* `size` bytes at `address`; they count as work. Fails with a message that names `what` where the
   file is shorter. */
cornu_status hdf5_bytes_at(hdf5_walk *w, uint64_t address, uint64_t size, const char *what,
                           hdf5_bytes *out);
/* The next `size` bytes; false where there are fewer. */
bool hdf5_take(hdf5_bytes *b, uint64_t size, const uint8_t **out);
/* The next number of `size` bytes, 1 to 8. Where there are fewer bytes it is 0, and *missing
   becomes true. */
uint64_t hdf5_number(hdf5_bytes *b, int size, bool *missing);
uint64_t hdf5_little(const uint8_t *at, int size);

/* ---- types and shapes ------------------------------------------------------------------- */

typedef enum hdf5_class {
    HDF5_INTEGER = 0,
    HDF5_FLOAT = 1,
    HDF5_STRING = 3,
    HDF5_LONG_STRING = 16, /* class 9, of strings: each has its own length */
    HDF5_OTHER = 17
} hdf5_class;

typedef struct hdf5_type {
    hdf5_class class;
    uint32_t size; /* bytes of an element */
    bool is_signed;
} hdf5_type;

typedef struct hdf5_shape {
    bool null; /* no elements at all */
    int rank;
    uint64_t dim[TENSOR_RANK_MAX];
} hdf5_shape;

/* Parse messages of an object's header. A type that cornu does not know is HDF5_OTHER. */
cornu_status hdf5_read_type(const hdf5_walk *w, hdf5_bytes message, hdf5_type *out);
cornu_status hdf5_read_shape(const hdf5_walk *w, hdf5_bytes message, hdf5_shape *out);

/* Many links or attributes of an object, stored beside its header: the layout of their index's
   records, and the function that reads each. */
typedef struct hdf5_dense {
    int type, record_bytes, id_at, id_bytes, flags_at; /* flags_at 0: no flags */
    int order_bytes;                                   /* of the header's message */
    cornu_status (*take)(hdf5_walk *w, hdf5_bytes message);
} hdf5_dense;

/* `info` is the header message that says where they are; an undefined address means there are
   none. */
cornu_status hdf5_read_dense(hdf5_walk *w, hdf5_bytes info, const hdf5_dense *kind);

/* Read an attribute: texts are added to the file's metadata, others skipped. */
cornu_status hdf5_read_attribute(hdf5_walk *w, hdf5_bytes message);

#endif
