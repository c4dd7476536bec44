/* IDX files (the format of MNIST): big-endian magic number 0x000008 and the number of dimensions,
   then each dimension as 32 bits, then unsigned bytes; plain or gzip-compressed. */
#include "base/files.h"
#include "base/memory.h"
#include "data/sets/datasets.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Limit of an unpacked file, as a multiple of the compressed size (memory_unpacked_most). */
enum { UNPACKED_TIMES = 100 };

typedef struct idx_file {
    char *path;
    gzFile stream; /* zlib also reads plain files */
    int rank;
    int64_t dim[3];
} idx_file;

static void idx_close(idx_file *f)
{
    if (f->stream)
        gzclose(f->stream);
    free(f->path);
    *f = (idx_file){0};
}

/* Read exactly `size` bytes. */
static cornu_status read_exactly(idx_file *f, void *out, int64_t size, int64_t total)
{
    int64_t done = 0;
    while (done < size) {
        int64_t block = size - done < (1 << 24) ? size - done : 1 << 24;
        int got = gzread(f->stream, (char *)out + done, (unsigned)block);
        int code;
        const char *reason = gzerror(f->stream, &code);
        if (got < 0 && code != Z_BUF_ERROR)
            return status_fail(CORNU_BAD_FILE, "%s: damaged: %s", f->path, reason);
        if (got <= 0)
            return status_fail(CORNU_BAD_FILE,
                               "%s: truncated: data ends %lld bytes early; expected %lld bytes",
                               f->path, (long long)(size - done), (long long)total);
        done += got;
    }
    return CORNU_OK;
}

static int64_t big_endian(const uint8_t *b)
{
    return (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | b[3];
}

/* The data must end the file; for compressed data this also verifies the checksum. */
static cornu_status check_end(idx_file *f, int64_t total)
{
    char more;
    int got = gzread(f->stream, &more, 1), code = Z_OK;
    const char *reason = gzerror(f->stream, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        return status_fail(CORNU_BAD_FILE, "%s: damaged: %s", f->path, reason);
    if (got > 0)
        return status_fail(CORNU_BAD_FILE,
                           "%s: more data than its header says; expected %lld bytes", f->path,
                           (long long)total);
    return CORNU_OK;
}

/* The header must not claim more than the file can hold, so that nothing large is allocated in
   vain. */
static cornu_status check_size(const idx_file *f, int64_t total)
{
    struct stat info;
    if (stat(f->path, &info))
        return status_fail(CORNU_IO, "%s: cannot read", f->path);
    bool plain = gzdirect(f->stream);
    int64_t most = memory_unpacked_most((uint64_t)info.st_size, UNPACKED_TIMES);
    if (!plain && total > most)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found %lld bytes of unpacked data from its header; expected at "
                           "most %lld (%d times the file's size, or that of 1 MB)",
                           f->path, (long long)total, (long long)most, UNPACKED_TIMES);
    if (plain && info.st_size != total)
        return status_fail(CORNU_BAD_FILE,
                           "%s: %s: found %lld bytes; expected %lld from its header", f->path,
                           info.st_size < total ? "truncated" : "too long", (long long)info.st_size,
                           (long long)total);
    return CORNU_OK;
}

/* Open and read the header; `what` is "images" (rank 3) or "labels" (rank 1). */
static cornu_status idx_open(idx_file *f, int rank, const char *what)
{
    uint8_t header[16];
    int64_t size = 4 + 4 * rank, total = size, elements = 1;
    int fd;
    uint64_t there;
    TRY(file_open_regular(f->path, &fd, &there));
    f->stream = gzdopen(fd, "rb");
    if (!f->stream) {
        close(fd);
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: no memory to unpack it", f->path);
    }
    gzbuffer(f->stream, 1 << 17);
    TRY(read_exactly(f, header, size, size));
    int64_t magic = big_endian(header);
    if (magic != 0x800 + rank)
        return status_fail(CORNU_BAD_FILE, "%s: magic number 0x%08llx; expected 0x%08x (IDX %s)",
                           f->path, (unsigned long long)magic, 0x800 + rank, what);
    f->rank = rank;
    for (int i = 0; i < rank; i++) {
        f->dim[i] = big_endian(header + 4 + 4 * i);
        if (f->dim[i] == 0)
            return status_fail(CORNU_BAD_FILE, "%s: dimension %d is 0; expected 1 or more", f->path,
                               i);
        if (f->dim[i] > SHAPE_ELEMENTS_MAX / elements)
            return status_fail(CORNU_BAD_FILE,
                               "%s: its header's sizes multiply to more than 2^40 bytes", f->path);
        elements *= f->dim[i];
    }
    total += elements;
    return check_size(f, total);
}

/* The four files by split and kind; the name also occurs with a dot and without .gz. */
static const char *const names[2][2][4] = {
    {{"train-images-idx3-ubyte.gz", "train-images-idx3-ubyte", "train-images.idx3-ubyte",
      "train-images.idx3-ubyte.gz"},
     {"train-labels-idx1-ubyte.gz", "train-labels-idx1-ubyte", "train-labels.idx1-ubyte",
      "train-labels.idx1-ubyte.gz"}},
    {{"t10k-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte",
      "t10k-images.idx3-ubyte.gz"},
     {"t10k-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte",
      "t10k-labels.idx1-ubyte.gz"}}};

/* The path of one of the four files, or NULL. */
static cornu_status find_file(const char *folder, int split, int kind, char **path)
{
    for (int i = 0; i < 4; i++) {
        TRY(path_join(folder, names[split][kind][i], path));
        if (file_exists(*path))
            return CORNU_OK;
        free(*path);
        *path = NULL;
    }
    return CORNU_OK;
}

static bool idx_present(const char *folder, const dataset *set)
{
    (void)set;
    bool found = false;
    for (int i = 0; i < 4 && !found; i++) {
        char *path = NULL;
        found = find_file(folder, i / 2, i % 2, &path) == CORNU_OK && path;
        free(path);
    }
    return found;
}

static cornu_status open_file(const char *folder, int split, int kind, idx_file *f)
{
    TRY(find_file(folder, split, kind, &f->path));
    if (!f->path)
        return status_fail(CORNU_NOT_FOUND, "%s/%s: not found; expected beside the other IDX files",
                           folder, names[split][kind][0]);
    return idx_open(f, kind ? 1 : 3, kind ? "labels" : "images");
}

static cornu_status read_labels(idx_file *f, int32_t *labels, int classes)
{
    cornu_status status;
    uint8_t *bytes = NULL;
    int64_t total = 8 + f->dim[0];
    TRY_GOTO(memory_new((size_t)f->dim[0], 1, "labels", &bytes));
    TRY_GOTO(read_exactly(f, bytes, f->dim[0], total));
    TRY_GOTO(check_end(f, total));
    for (int64_t i = 0; i < f->dim[0]; i++) {
        if (bytes[i] >= classes) {
            status = status_fail(CORNU_BAD_FILE, "%s: label %lld is %d; expected 0 to %d", f->path,
                                 (long long)i, bytes[i], classes - 1);
            goto done;
        }
        labels[i] = bytes[i];
    }
done:
    free(bytes);
    return status;
}

static cornu_status read_split(const char *folder, const dataset *set, cornu_split split,
                               cornu_data *data)
{
    cornu_status status;
    idx_file images = {0}, labels = {0};
    shape none = {0};
    void *x, *y;
    const int64_t *size = set->x_shape.dim;
    TRY_GOTO(open_file(folder, split, 0, &images));
    TRY_GOTO(open_file(folder, split, 1, &labels));
    if (images.dim[1] != size[0] || images.dim[2] != size[1]) {
        status = status_fail(CORNU_BAD_FILE, "%s: images of %lldx%lld; expected %lldx%lld",
                             images.path, (long long)images.dim[1], (long long)images.dim[2],
                             (long long)size[0], (long long)size[1]);
        goto done;
    }
    if (images.dim[0] != labels.dim[0]) {
        status =
            status_fail(CORNU_BAD_FILE, "%s: %lld labels; expected %lld as in %s", labels.path,
                        (long long)labels.dim[0], (long long)images.dim[0], path_base(images.path));
        goto done;
    }
    int64_t bytes = images.dim[0] * size[0] * size[1];
    TRY_GOTO(data_reserve_inputs(data, split, images.dim[0], &set->x_shape, SAMPLE_U8, &x));
    TRY_GOTO(data_reserve_targets(data, split, &none, SAMPLE_I32, &y));
    TRY_GOTO(read_exactly(&images, x, bytes, 16 + bytes));
    TRY_GOTO(check_end(&images, 16 + bytes));
    TRY_GOTO(read_labels(&labels, y, set->class_count));
done:
    idx_close(&images);
    idx_close(&labels);
    return status;
}

static cornu_status idx_read(const char *folder, const dataset *set, const data_request *request,
                             cornu_data *data)
{
    (void)request;
    TRY(read_split(folder, set, CORNU_TRAIN, data));
    return read_split(folder, set, CORNU_TEST, data);
}

const data_reader idx_reader = {"IDX files", idx_present, idx_read};
