#include "data/image.h"

#include "base/files.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

/* A compressed image of 100 megapixels is smaller than this. */
#define FILE_BYTES_MAX ((size_t)1 << 30)

image_format image_format_of(const char *path)
{
    uint8_t head[8] = {0};
    FILE *stream = fopen(path, "rbe");
    if (!stream)
        return IMAGE_UNKNOWN;
    size_t got = fread(head, 1, sizeof head, stream);
    fclose(stream);
    if (got >= 3 && !memcmp(head, "\xff\xd8\xff", 3))
        return IMAGE_JPEG;
    if (got == 8 && !memcmp(head, "\x89PNG\r\n\x1a\n", 8))
        return IMAGE_PNG;
    return IMAGE_UNKNOWN;
}

cornu_status image_allocate(int64_t height, int64_t width, int64_t channels, image *out)
{
    if (height < 1 || width < 1 || height > IMAGE_PIXELS_MAX / width)
        return status_fail(CORNU_BAD_FILE,
                           "image of %lldx%lld pixels; expected 1 to 100 million pixels",
                           (long long)width, (long long)height);
    *out = (image){height, width, channels, NULL};
    return memory_new((size_t)(height * width), (size_t)channels, "image", &out->pixels);
}

cornu_status image_open(const char *path, image *out)
{
    cornu_status status;
    char *data = NULL;
    size_t size;
    *out = (image){0};
    if (!file_exists(path))
        return status_fail(CORNU_NOT_FOUND, "%s: no such file", path);
    image_format format = image_format_of(path);
    if (format == IMAGE_UNKNOWN)
        return status_fail(CORNU_BAD_FILE, "%s: found no JPEG or PNG signature; expected an image",
                           path);
    TRY(file_read(path, FILE_BYTES_MAX, &data, &size));
    status = format == IMAGE_JPEG ? jpeg_decode((const uint8_t *)data, size, out)
                                  : png_decode((const uint8_t *)data, size, out);
    free(data);
    if (status == CORNU_OK)
        return CORNU_OK;
    image_close(out);
    return status_prefix(status, "%s", path);
}

void image_close(image *i)
{
    free(i->pixels);
    *i = (image){0};
}

cornu_status cornu_image_read(const char *path, int64_t height, int64_t width, int64_t channels,
                              float *values)
{
    image from = {0};
    uint8_t *pixels = NULL;
    if (!path || !values || height < 1 || width < 1 || height > IMAGE_PIXELS_MAX / width ||
        (channels != 1 && channels != 3))
        return status_fail(CORNU_INVALID,
                           "cornu_image_read: found size %lldx%lldx%lld; expected 1 or more, and 1 "
                           "or 3 channels",
                           (long long)height, (long long)width, (long long)channels);
    int64_t count = height * width * channels;
    cornu_status status = image_open(path, &from);
    if (status == CORNU_OK)
        status = memory_new((size_t)count, 1, "image", &pixels);
    if (status == CORNU_OK) {
        image_fit(&from, height, width, channels, pixels);
        for (int64_t i = 0; i < count; i++)
            values[i] = (float)pixels[i] / 255.0f;
    }
    free(pixels);
    image_close(&from);
    return status;
}
