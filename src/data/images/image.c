#include "data/images/image.h"

#include "base/files.h"
#include "base/memory.h"
#include "data/images/image_budget.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A compressed image of 200 megapixels is smaller than this. */
#define FILE_BYTES_MAX ((size_t)1 << 30)

typedef struct format {
    const char *title, *magic;
    size_t length; /* of the magic, which may hold zeros */
    image_decoder *decode;
} format;

static const format formats[] = {
#define FORMAT(title, magic, decode) {title, magic, sizeof magic - 1, decode},
#include "data/images/formats.def"
#undef FORMAT
};

static const format *find_format(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format *f = &formats[i];
        size_t same = 0;
        while (same < f->length && same < size &&
               (f->magic[same] == '?' || (uint8_t)f->magic[same] == data[same]))
            same++;
        if (same == f->length)
            return f;
    }
    return NULL;
}

const char *image_format_of(const char *path)
{
    uint8_t head[16] = {0};
    int fd;
    uint64_t size;
    if (file_open_regular(path, &fd, &size) != CORNU_OK)
        return NULL;
    ssize_t got = read(fd, head, sizeof head);
    close(fd);
    const format *f = find_format(head, got < 0 ? 0 : (size_t)got);
    return f ? f->title : NULL;
}

static cornu_status decode(const uint8_t *data, size_t size, image *out)
{
    const format *f = find_format(data, size);
    if (!f)
        return status_fail(CORNU_BAD_FILE, "found no image's first bytes; expected " IMAGE_FORMATS);
    cornu_status status = f->decode(data, size, out);
    if (status == CORNU_OK)
        status = image_apply_orientation(out);
    if (status != CORNU_OK)
        image_close(out);
    return status;
}

cornu_status image_decode(const uint8_t *data, size_t size, image *out)
{
    *out = (image){.file_bytes = size};
    return decode(data, size, out);
}

cornu_status image_open(const char *path, image *out)
{
    return image_open_within(path, NULL, out);
}

cornu_status image_open_within(const char *path, image_budget *budget, image *out)
{
    char *data = NULL;
    size_t size;
    *out = (image){0};
    if (folder_exists(path))
        return status_fail(CORNU_BAD_FILE, "%s: found a folder; expected an image", path);
    if (!file_exists(path))
        return status_fail(CORNU_NOT_FOUND, "%s: no such file", path);
    TRY(file_read(path, FILE_BYTES_MAX, &data, &size));
    *out = (image){.file_bytes = size, .budget = budget};
    cornu_status status = decode((const uint8_t *)data, size, out);
    free(data);
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", path);
}

void image_close(image *i)
{
    free(i->pixels);
    if (i->budget && i->taken > 0)
        image_budget_return(i->budget, i->taken, i->file_bytes);
    *i = (image){0};
}
