#include "format/tensor_file.h"
#include "base/memory.h"
#include "format/hdf5/hdf5.h"
#include "format/reader.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void tensor_file_close(tensor_file *file)
{
    if (!file)
        return;
    for (int i = 0; i < file->count; i++)
        free(file->tensors[i].name);
    for (int i = 0; i < file->metadata_count; i++) {
        free(file->metadata[i].key);
        free(file->metadata[i].value);
    }
    tensor_storage *s = file->storage;
    if (s) {
        for (size_t i = 0; i < s->block_count; i++)
            memory_free_aligned(s->blocks[i]);
        free(s->blocks);
        free(s->offsets);
        if (s->fd >= 0)
            close(s->fd);
        if (s->held)
            s->release(s->held);
    }
    free(s);
    free(file->tensors);
    free(file->metadata);
    free(file->path);
    free(file);
}

cornu_status tensor_read(const file_tensor *t, void *to)
{
    size_t bytes = (size_t)t->count * element_size(t->type);
    if (bytes > 0 && !t->data)
        return t->fetch(t->source, t->number, to, bytes);
    if (bytes > 0)
        memcpy(to, t->data, bytes);
    return CORNU_OK;
}

const file_tensor *tensor_file_find(const tensor_file *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

const char *tensor_file_metadata(const tensor_file *file, const char *key)
{
    for (int i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return NULL;
}
