/* The table of formats: opens a file by its ending. */
#include "base/memory.h"
#include "format/hdf5/hdf5.h"
#include "format/reader.h"

typedef struct format {
    const char *ending;
    cornu_status (*read)(tensor_file *file);
} format;

static const format formats[] = {
    {".safetensors", safetensors_read}, {".npz", npz_read}, {".npy", npy_read},
    {".keras", keras_archive_read},     {".h5", hdf5_read}, {".hdf5", hdf5_read},
};

static const format *find_format(const char *path)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (path_has_ending(path, formats[i].ending))
            return &formats[i];
    return NULL;
}

cornu_status tensor_file_open(const char *path, tensor_file **out)
{
    *out = NULL;
    const format *f = find_format(path);
    if (!f)
        return status_fail(
            CORNU_UNSUPPORTED,
            "%s: found another ending; expected .safetensors, .npz, .npy, .keras, .h5 "
            "or .hdf5",
            path);
    tensor_file *file;
    TRY(memory_new(1, sizeof *file, path, &file));
    cornu_status status = memory_copy_string(path, &file->path);
    if (status == CORNU_OK)
        status = memory_new(1, sizeof(tensor_storage), path, &file->storage);
    if (status == CORNU_OK) {
        ((tensor_storage *)file->storage)->fd = -1;
        status = f->read(file);
    }
    if (status != CORNU_OK) {
        tensor_file_close(file);
        return status;
    }
    *out = file;
    return CORNU_OK;
}
