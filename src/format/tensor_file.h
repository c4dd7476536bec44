/* Containers of named tensors: safetensors (read, write), NumPy .npz and .npy (read, write .npz),
   Keras's .keras and .h5 (read, write: hdf5/hdf5.h).
   Reading checks every offset, length and product against the file before anything is allocated. */
#ifndef FORMAT_TENSOR_FILE_H
#define FORMAT_TENSOR_FILE_H

#include "base/files.h"

typedef enum element_type {
    ELEMENT_F32,
    ELEMENT_F64,
    ELEMENT_U8,
    ELEMENT_I8,
    ELEMENT_I32,
    ELEMENT_I64
} element_type;
size_t element_size(element_type type);
const char *element_name(element_type type); /* "float32" */

typedef struct file_tensor {
    char *name;
    element_type type;
    int rank;
    int64_t shape[8];
    int64_t count;    /* number of elements */
    const void *data; /* row-major, C order, native endian */
    /* Where `data` is NULL: fills `bytes` of memory when the tensor is written, so that not all
       tensors need to be in memory at once. */
    cornu_status (*fetch)(void *source, int number, void *to, size_t bytes);
    void *source;
    int number;
} file_tensor;

typedef struct metadata_entry {
    char *key, *value;
} metadata_entry;

typedef struct tensor_file {
    char *path;
    file_tensor *tensors;
    int count;
    metadata_entry *metadata; /* safetensors' __metadata__; empty for npz */
    int metadata_count;
    void *storage; /* owned by the reader */
} tensor_file;

/* Open by the file's ending: .safetensors, .npz, .npy (one tensor, named after the file), .h5,
   .hdf5 or .keras (the tensors of its model.weights.h5; its other members are metadata). Data of a
   safetensors file stay there until tensor_read; others are in memory. */
cornu_status tensor_file_open(const char *path, tensor_file **out);
void tensor_file_close(tensor_file *file);
/* Copy a tensor's elements; `to` has room for count * element_size(type) bytes. */
cornu_status tensor_read(const file_tensor *t, void *to);
const file_tensor *tensor_file_find(const tensor_file *file, const char *name);
const char *tensor_file_metadata(const tensor_file *file, const char *key);
cornu_status tensor_file_add_metadata(tensor_file *file, const char *key, const char *value);
/* CORNU_BAD_FILE where two tensors have the same name. */
cornu_status tensor_file_check_names(const tensor_file *file);

/* Write tensors and metadata as safetensors, atomically (format: 8-byte little-endian header size,
   JSON header padded with spaces to a multiple of 8, data). */
cornu_status safetensors_write(const char *path, const file_tensor *tensors, int count,
                               const metadata_entry *metadata, int metadata_count);
/* The same, with progress reports to `watch` (may be NULL). */
cornu_status safetensors_write_watched(const char *path, const file_tensor *tensors, int count,
                                       const metadata_entry *metadata, int metadata_count,
                                       const file_watch *watch);
/* Write tensors as an uncompressed .npz, atomically. */
cornu_status npz_write(const char *path, const file_tensor *tensors, int count);

/* The members of a .keras archive; `weights` is an image of an HDF5 file. */
typedef struct keras_members {
    const char *config, *metadata; /* JSON */
    const void *weights;
    size_t weights_size;
} keras_members;
cornu_status keras_archive_write(const char *path, const keras_members *members,
                                 const file_watch *watch);

#endif
