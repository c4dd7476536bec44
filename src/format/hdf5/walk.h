/* Reading HDF5 by cornu's own code: what its files share. Byte positions and names of fields are
   those of the HDF5 File Format Specification, version 3.0, sections II to IV. */
#ifndef FORMAT_HDF5_WALK_H
#define FORMAT_HDF5_WALK_H

#include "format/hdf5/hdf5.h"

#define HDF5_UNDEFINED UINT64_MAX

/* A file of which bytes are being read. */
typedef struct hdf5_walk {
    tensor_file *file;
    const uint8_t *image;
    size_t size;
    uint64_t work;      /* bytes of structures that may still be looked at, each time anew */
    uint64_t text;      /* bytes of attributes that may still be kept */
    uint64_t converted; /* bytes of tensors that may still be converted */
    int objects, depth;
    const char *path; /* of the object at hand; "" the root */
    /* Where the last text was found: the next one often lies behind it. */
    uint64_t heap, heap_index;
    size_t heap_offset;
} hdf5_walk;

/* Bytes of a structure that are still to be read. */
typedef struct hdf5_bytes {
    const uint8_t *at;
    size_t left;
} hdf5_bytes;

cornu_status hdf5_fail(const hdf5_walk *w, const char *found, const char *expected);
/* `size` bytes at `address`; they count as looked at. `what` is named where they are not there. */
cornu_status hdf5_bytes_at(hdf5_walk *w, uint64_t address, uint64_t size, const char *what,
                           hdf5_bytes *out);
/* The next `size` bytes; false where there are fewer. */
bool hdf5_take(hdf5_bytes *b, uint64_t size, const uint8_t **out);
/* The next number of `size` bytes, 1 to 8; 0 where there are fewer bytes (which *missing keeps). */
uint64_t hdf5_number(hdf5_bytes *b, int size, bool *missing);
uint64_t hdf5_little(const uint8_t *at, int size);

/* ---- types and shapes ------------------------------------------------------------------- */

typedef enum hdf5_class {
    HDF5_INTEGER = 0,
    HDF5_FLOAT = 1,
    HDF5_STRING = 3,
    HDF5_LONG_STRING = 16, /* of any length each: class 9, of strings */
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

/* Messages of an object's header. A type that cornu does not know is HDF5_OTHER. */
cornu_status hdf5_read_type(const hdf5_walk *w, hdf5_bytes message, hdf5_type *out);
cornu_status hdf5_read_shape(const hdf5_walk *w, hdf5_bytes message, hdf5_shape *out);

/* Many links or attributes of an object, kept beside its header: how their index's records look,
   and what takes each. */
typedef struct hdf5_dense {
    int type, record_bytes, id_at, id_bytes, flags_at; /* flags_at 0: there are none */
    int order_bytes;                                   /* of the header's message */
    cornu_status (*take)(hdf5_walk *w, hdf5_bytes message);
} hdf5_dense;

/* `info` is the header's message that says where they are; nothing where there are none. */
cornu_status hdf5_read_dense(hdf5_walk *w, hdf5_bytes info, const hdf5_dense *kind);

/* An attribute: texts are added to the file's metadata, others passed over. */
cornu_status hdf5_read_attribute(hdf5_walk *w, hdf5_bytes message);

#endif
