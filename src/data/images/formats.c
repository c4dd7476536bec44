/* Files of pictures: their formats, by the first bytes, and the decoder of each. */
#include "base/files.h"
#include "data/images/image.h"
#include <stdlib.h>
#include <unistd.h>

/* A compressed image of 200 megapixels is smaller than this. */
#define FILE_BYTES_MAX ((size_t)1 << 30)

typedef struct format {
    const char *title, *magic;
    size_t length; /* length of the magic, which may contain zeros */
    image_decoder *decode;
} format;

static const format formats[] = {
#define FORMAT(title, magic, decode) {title, magic, sizeof magic - 1, decode},
#include "data/images/formats.def"
};

static const format unread[] = {
#define UNREAD(title, magic) {title, magic, sizeof magic - 1, NULL},
#include "data/images/formats.def"
};

static const format *find(const format *list, size_t count, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        const format *f = &list[i];
        size_t same = 0;
        while (same < f->length && same < size &&
               (f->magic[same] == '?' || (uint8_t)f->magic[same] == data[same]))
            same++;
        if (same == f->length)
            return f;
    }
    return NULL;
}

static const format *find_unread(const uint8_t *data, size_t size)
{
    return find(unread, sizeof unread / sizeof *unread, data, size);
}

/* Some of the formats that are not read begin like a TIFF. */
static const format *find_format(const uint8_t *data, size_t size)
{
    return find_unread(data, size) ? NULL
                                   : find(formats, sizeof formats / sizeof *formats, data, size);
}

/* RAW files that differ from TIFF by their names alone. */
static bool is_raw_by_name(const char *path)
{
    static const char *const endings[] = {".nef", ".nrw", ".dng", ".arw", ".sr2",
                                          ".pef", ".srw", ".3fr", ".erf"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (path_has_ending(path, endings[i]))
            return true;
    return false;
}

enum { HEAD = 24 };

static size_t read_head(const char *path, uint8_t head[HEAD])
{
    int fd;
    uint64_t size;
    if (file_open_regular(path, &fd, &size) != CORNU_OK)
        return 0;
    ssize_t got = read(fd, head, HEAD);
    close(fd);
    return got < 0 ? 0 : (size_t)got;
}

const char *image_format_of(const char *path)
{
    uint8_t head[HEAD];
    size_t size = read_head(path, head);
    const format *f = find_format(head, size);
    return f && !(f->decode == tiff_decode && is_raw_by_name(path)) ? f->title : NULL;
}

const char *image_unread_format_of(const char *path)
{
    uint8_t head[HEAD];
    size_t size = read_head(path, head);
    const format *f = find_unread(head, size), *taken = find_format(head, size);
    if (taken && taken->decode == tiff_decode && is_raw_by_name(path))
        return "RAW";
    return f ? f->title : NULL;
}

static cornu_status decode(const uint8_t *data, size_t size, image *out)
{
    const format *f = find_format(data, size), *other = find_unread(data, size);
    if (other)
        return status_fail(CORNU_UNSUPPORTED,
                           "found %s, which cornu does not read; expected " IMAGE_FORMATS,
                           other->title);
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
    const char *other = image_unread_format_of(path);
    if (other)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found %s, which cornu does not read; expected " IMAGE_FORMATS, path,
                           other);
    TRY(file_read(path, FILE_BYTES_MAX, &data, &size));
    *out = (image){.file_bytes = size, .budget = budget};
    cornu_status status = decode((const uint8_t *)data, size, out);
    free(data);
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", path);
}
