#include "data/image.h"

#include "base/files.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A compressed image of 100 megapixels is smaller than this. */
#define FILE_BYTES_MAX ((size_t)1 << 30)

typedef struct format {
    const char *title, *magic;
    size_t length; /* of the magic, which may hold zeros */
    image_decoder *decode;
} format;

static const format formats[] = {
#define FORMAT(title, magic, decode) {title, magic, sizeof magic - 1, decode},
#include "data/formats.def"
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

cornu_status image_allocate(int64_t height, int64_t width, int64_t channels, image *out)
{
    if (height < 1 || width < 1 || height > IMAGE_PIXELS_MAX / width)
        return status_fail(CORNU_BAD_FILE,
                           "image of %lldx%lld pixels; expected 1 to 100 million pixels",
                           (long long)width, (long long)height);
    *out = (image){.height = height, .width = width, .channels = channels};
    return memory_new((size_t)(height * width), (size_t)channels, "image", &out->pixels);
}

void image_cmyk(const uint8_t *cmyk, bool inverted, int64_t count, uint8_t *rgb)
{
    const int flip = inverted ? 0 : 255;
    for (int64_t i = 0; i < count; i++, cmyk += 4, rgb += 3)
        for (int c = 0; c < 3; c++) {
            int white = cmyk[3] ^ flip; /* what the black ink leaves */
            int ink = (255 - (cmyk[c] ^ flip)) * white + 128;
            int left = white - (((ink >> 8) + ink) >> 8);
            rgb[c] = (uint8_t)(left < 0 ? 0 : left);
        }
}

cornu_status image_decode(const uint8_t *data, size_t size, image *out)
{
    *out = (image){0};
    const format *f = find_format(data, size);
    if (!f)
        return status_fail(CORNU_BAD_FILE, "found no image's first bytes; expected " IMAGE_FORMATS);
    cornu_status status = f->decode(data, size, out);
    if (status == CORNU_OK)
        status = image_turn(out);
    if (status != CORNU_OK)
        image_close(out);
    return status;
}

cornu_status image_open(const char *path, image *out)
{
    char *data = NULL;
    size_t size;
    *out = (image){0};
    if (folder_exists(path))
        return status_fail(CORNU_BAD_FILE, "%s: found a folder; expected an image", path);
    if (!file_exists(path))
        return status_fail(CORNU_NOT_FOUND, "%s: no such file", path);
    TRY(file_read(path, FILE_BYTES_MAX, &data, &size));
    cornu_status status = image_decode((const uint8_t *)data, size, out);
    free(data);
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", path);
}

void image_close(image *i)
{
    free(i->pixels);
    *i = (image){0};
}
