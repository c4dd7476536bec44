/* HDF5 as files of named tensors and texts, for Keras's .h5 and .weights.h5 files.

   A tensor's name is its path without the first '/': "layers/dense/vars/0". Attributes that are
   texts are metadata under "PATH@NAME" ("@keras_version" of the root); a list of texts is a JSON
   list. Other attributes are skipped.

   Links that are not hard, data in other files, virtual and chunked data are refused; so are paths
   deeper than HDF5_DEPTH_MAX and more than HDF5_OBJECTS_MAX groups and tensors: a cycle would have
   any number. */
#ifndef FORMAT_HDF5_H
#define FORMAT_HDF5_H

#include "format/reader.h"

enum { HDF5_DEPTH_MAX = 24, HDF5_OBJECTS_MAX = 20000, HDF5_PATH_MAX = 1000 };

/* Fill `file`, whose path is set, from the file (hdf5_read), or from an image of one that was
   allocated by malloc, which is taken also on failure. Tensors stay where they are in the image;
   other types are converted to float32 or int64, to at most 8 times the image's size in all. */
cornu_status hdf5_read(tensor_file *file);
cornu_status hdf5_read_image(tensor_file *file, void *image, size_t size);

/* Can this build write HDF5 (by libhdf5, CORNU_HDF5)? Call it before work that would be lost. */
cornu_status hdf5_check(const char *path);

/* A text (`value`) or a list of texts (`list`, may be empty) as attribute of `group`. The group is
   created where it does not exist, also where `name` is NULL. */
typedef struct hdf5_attribute {
    const char *group, *name, *value;
    const char *const *list;
    int count;
} hdf5_attribute;

/* Make the bytes of a file with these tensors and attributes, allocated by malloc. The same tensors
   give the same bytes. Needs twice the tensors' size meanwhile. `path` is named in messages. */
cornu_status hdf5_image(const char *path, const file_tensor *tensors, int count,
                        const hdf5_attribute *attributes, int attribute_count, void **image,
                        size_t *size);

#endif
