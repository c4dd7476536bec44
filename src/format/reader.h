/* Declarations that the readers of this room share. */
#ifndef FORMAT_READER_H
#define FORMAT_READER_H

#include "base/files.h"
#include "format/tensor_file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "these files are little-endian");

/* The content of tensor_file.storage. */
typedef struct tensor_storage {
    int fd;            /* safetensors: its descriptor, else -1 */
    uint64_t *offsets; /* safetensors: offset of each tensor's data in the file */
    size_t offset_capacity;
    void **blocks; /* from memory_new_aligned */
    size_t block_count, block_capacity, tensor_capacity, metadata_capacity;
    void *held; /* other memory that lives as long as the file, or NULL */
    void (*release)(void *held);
} tensor_storage;

enum { TENSOR_RANK_MAX = 8 };

/* Set t->count and *bytes from t->shape and t->type; a negative or overflowing size is
   CORNU_BAD_FILE. `path` and `name` are for the message. */
cornu_status tensor_measure(const char *path, const char *name, file_tensor *t, size_t *bytes);
/* Append a tensor; its name is copied. */
cornu_status tensor_file_add(tensor_file *file, const char *name, const file_tensor *t);
/* Memory for the data of tensor `name`, released with the file. Fails where more is asked than is
   free. */
cornu_status tensor_file_reserve(tensor_file *file, const char *name, size_t bytes, void *out);
/* Check that a caller's tensors can be written: ranks, sizes, data, names. */
cornu_status tensors_check(const char *path, const file_tensor *tensors, int count, bool fetches);

/* Fill an empty file whose path is set. */
cornu_status safetensors_read(tensor_file *file);
cornu_status npz_read(tensor_file *file);
cornu_status npy_read(tensor_file *file);
cornu_status keras_archive_read(tensor_file *file);

/* Bytes of an .npy file before its dictionary (versions 2 and 3 need all of them). */
enum { NPY_PREFIX = 12, NPY_HEADER_MAX = 65536 };
/* The header of a tensor, padded so that the data begins at a multiple of 64 bytes. */
cornu_status npy_header_print(const file_tensor *t, char **header, size_t *size);

#endif
