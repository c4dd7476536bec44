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

int64_t image_bytes_most(size_t file_bytes)
{
    return memory_unpacked_most(file_bytes, IMAGE_BYTES_TIMES);
}

cornu_status image_check_size(int64_t height, int64_t width)
{
    if (height < 1 || width < 1 || height > IMAGE_SIDE_MAX || width > IMAGE_SIDE_MAX ||
        height > IMAGE_PIXELS_MAX / width)
        return status_fail(CORNU_BAD_FILE,
                           "image of %lldx%lld pixels; expected sides of 1 to %d and at most %d "
                           "million pixels",
                           (long long)width, (long long)height, IMAGE_SIDE_MAX,
                           IMAGE_PIXELS_MAX / 1000000);
    return CORNU_OK;
}

static cornu_status check_bytes(int64_t height, int64_t width, int64_t needed, size_t file_bytes)
{
    char takes[32], file[32], most[32];
    if (needed <= image_bytes_most(file_bytes))
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE,
                       "image of %lldx%lld pixels: decoding takes %s, of a file of %s; expected at "
                       "most %s (%d times the file's size, or that of 1 MB)",
                       (long long)width, (long long)height, memory_human((double)needed, takes),
                       memory_human((double)file_bytes, file),
                       memory_human((double)image_bytes_most(file_bytes), most), IMAGE_BYTES_TIMES);
}

cornu_status image_allocate(int64_t height, int64_t width, int64_t channels, int64_t besides,
                            image *out)
{
    TRY(image_check_size(height, width));
    int64_t needed = height * width * channels * (out->orientation > 1 ? 2 : 1) + besides;
    TRY(check_bytes(height, width, needed, out->file_bytes));
    out->height = height;
    out->width = width;
    out->channels = channels;
    out->taken = needed;
    if (out->budget)
        image_budget_take(out->budget, out->taken, out->file_bytes);
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

static cornu_status decode(const uint8_t *data, size_t size, image *out)
{
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
