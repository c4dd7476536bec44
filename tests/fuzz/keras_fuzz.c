/* libFuzzer on Keras's files: any bytes are a model's tensors or a refusal. The last byte says
   whether they are an HDF5 file or a .keras archive. tests/fuzz/CMakeLists.txt tells how to build
   and run it. */
#include "format/hdf5/hdf5.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each tensor's elements are read. */
static void read_all(tensor_file *f)
{
    for (int i = 0; i < f->count; i++) {
        size_t bytes = (size_t)f->tensors[i].count * element_size(f->tensors[i].type);
        void *to = malloc(bytes + 1);
        if (to && tensor_read(&f->tensors[i], to) != CORNU_OK)
            abort();
        free(to);
    }
}

static cornu_status read_archive(tensor_file *f, const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    free(f->path);
    f->path = strdup(path);
    cornu_status status = keras_archive_read(f);
    close(fd);
    return status;
}

static cornu_status read_hdf5(tensor_file *f, const uint8_t *data, size_t size)
{
    void *image = malloc(size + 1);
    if (!image)
        abort();
    memcpy(image, data, size);
    return hdf5_read_image(f, image, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    tensor_file *f = calloc(1, sizeof *f);
    tensor_storage *storage = calloc(1, sizeof *storage);
    if (!f || !storage)
        abort();
    storage->fd = -1;
    f->storage = storage;
    f->path = strdup("fuzz.h5");
    bool archive = data[size - 1] == 'k';
    cornu_status status = archive ? read_archive(f, data, size - 1) : read_hdf5(f, data, size - 1);
    if (status == CORNU_OK)
        read_all(f);
    tensor_file_close(f);
    return 0;
}
