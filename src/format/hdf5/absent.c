/* Replaces write.c and library.c in a build without libhdf5 (CORNU_HDF5=OFF). */
#include "format/hdf5/hdf5.h"

cornu_status hdf5_check(const char *path)
{
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: this cornu was built without libhdf5 (CORNU_HDF5=OFF), which writes "
                       "such files; expected .safetensors",
                       path);
}

cornu_status hdf5_image(const char *path, const file_tensor *tensors, int count,
                        const hdf5_attribute *attributes, int attribute_count, void **image,
                        size_t *size)
{
    (void)tensors, (void)count, (void)attributes, (void)attribute_count, (void)size;
    *image = NULL;
    return hdf5_check(path);
}
