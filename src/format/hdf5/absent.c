/* In the place of read.c and write.c in a build without HDF5 (CORNU_HDF5=OFF). */
#include "format/hdf5/hdf5.h"
#include <stdlib.h>

static cornu_status fail_absent(const char *path)
{
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: this cornu was built without HDF5 (CORNU_HDF5=OFF); expected "
                       ".safetensors or .npz",
                       path);
}

cornu_status hdf5_check(const char *path)
{
    return fail_absent(path);
}

cornu_status hdf5_read(tensor_file *file)
{
    return fail_absent(file->path);
}

cornu_status hdf5_read_image(tensor_file *file, void *image, size_t size)
{
    (void)size;
    free(image);
    return fail_absent(file->path);
}

cornu_status hdf5_image(const char *path, const file_tensor *tensors, int count,
                        const hdf5_attribute *attributes, int attribute_count, void **image,
                        size_t *size)
{
    (void)tensors, (void)count, (void)attributes, (void)attribute_count, (void)size;
    *image = NULL;
    return fail_absent(path);
}
