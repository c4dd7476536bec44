/* PNG through libpng. Its errors longjmp; data that must survive the jump is in the coder
   struct. */
#include "data/images/image.h"

#include "base/files.h"
#include "base/memory.h"
#include <cornu/images.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

typedef struct coder {
    png_structp png;
    png_infop info;
    const uint8_t *data;
    size_t size, at;
    char message[256];
} coder;

static void on_error(png_structp png, png_const_charp message)
{
    coder *c = png_get_error_ptr(png);
    snprintf(c->message, sizeof c->message, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep out, size_t size)
{
    coder *c = png_get_io_ptr(png);
    if (size > c->size - c->at)
        png_error(png, "file ends too early");
    memcpy(out, c->data + c->at, size);
    c->at += size;
}

static int orientation(const coder *c)
{
    png_bytep exif = NULL;
    png_uint_32 size = 0;
    if (png_get_eXIf_1(c->png, c->info, &size, &exif))
        return exif_orientation(exif, size);
    return 1;
}

/* Texts, colour profiles and similar chunks may unpack to far more than the picture: they stay
   packed. */
static void skip_chunks(png_structp png)
{
    static const png_byte exif[] = "eXIf";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, exif, 1);
    png_set_chunk_malloc_max(png, 1 << 24);
}

/* libpng allocates the size that an eXIf chunk claims before it reads it; 1.6.39 only warns where
   that exceeds png_set_chunk_malloc_max. */
static void check_exif(const coder *c)
{
    for (size_t at = 8, length; at + 12 <= c->size; at += 12 + length) {
        const uint8_t *name = c->data + at + 4;
        length = png_get_uint_32(c->data + at);
        if (memcmp(name, "IEND", 4) == 0)
            return;
        if (length > c->size - at - 12 && memcmp(name, "eXIf", 4) == 0)
            png_error(c->png, "eXIf: more bytes than the file has");
    }
}

/* Bytes of the samples in the file's form, in addition to their decoded bytes. */
static int64_t bytes_besides(const coder *c, int64_t height, int64_t width, bool color)
{
    int64_t more = (int64_t)png_get_rowbytes(c->png, c->info) - width * (color ? 3 : 1);
    return more > 0 ? height * more : 0;
}

/* Row by row: libpng's own loop needs a pointer to each row. */
static void read_rows(png_structp png, int passes, const image *out)
{
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < out->height; y++)
            png_read_row(png, out->pixels + y * out->width * out->channels, NULL);
}

static cornu_status decode(coder *c, image *out)
{
    png_structp png = c->png;
    png_set_read_fn(png, c, on_read);
    skip_chunks(png);
    check_exif(c);
    /* Sizes are checked below with a better message; libpng's own limit is 1 million per side. */
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_read_info(png, c->info);
    int64_t height = png_get_image_height(png, c->info), width = png_get_image_width(png, c->info);
    bool color = png_get_color_type(png, c->info) & PNG_COLOR_MASK_COLOR;
    TRY(image_check_size(height, width));
    png_set_expand(png);   /* palettes to RGB, fewer than 8 bits to 8 */
    png_set_strip_16(png); /* the upper 8, as in Pillow */
    png_set_strip_alpha(png);
    int passes = png_set_interlace_handling(png);
    /* The chunk may follow the pixels: assume an orientation that must be applied. */
    out->orientation = memmem(c->data, c->size, "eXIf", 4) ? 8 : 1;
    TRY(image_allocate(height, width, color ? 3 : 1, bytes_besides(c, height, width, color), out));
    png_read_update_info(png, c->info);
    if (png_get_rowbytes(png, c->info) != (size_t)(width * out->channels))
        png_error(png, "unexpected row size");
    read_rows(png, passes, out);
    png_read_end(png, c->info);
    out->orientation = orientation(c);
    return CORNU_OK;
}

cornu_status png_decode(const uint8_t *data, size_t size, image *out)
{
    coder *c = NULL;
    cornu_status status;
    TRY(memory_new(1, sizeof *c, "PNG decoder", &c));
    c->data = data;
    c->size = size;
    c->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, c, on_error, on_warning);
    c->info = c->png ? png_create_info_struct(c->png) : NULL;
    if (!c->info)
        status = status_fail(CORNU_OUT_OF_MEMORY, "no memory for a PNG decoder");
    else if (setjmp(png_jmpbuf(c->png)))
        status = status_fail(CORNU_BAD_FILE, "damaged or truncated PNG: %s", c->message);
    else
        status = decode(c, out);
    png_destroy_read_struct(&c->png, &c->info, NULL);
    free(c);
    return status;
}

/* ---- writing ---- */

static void encode(coder *c, FILE *stream, int64_t height, int64_t width, int64_t channels)
{
    png_init_io(c->png, stream);
    png_set_IHDR(c->png, c->info, (png_uint_32)width, (png_uint_32)height, 8,
                 channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(c->png, c->info);
    for (int64_t i = 0; i < height; i++)
        png_write_row(c->png, c->data + i * width * channels);
    png_write_end(c->png, NULL);
}

static cornu_status write_pixels(const char *path, FILE *stream, int64_t height, int64_t width,
                                 int64_t channels, const uint8_t *pixels)
{
    coder *c = NULL;
    cornu_status status;
    TRY(memory_new(1, sizeof *c, "PNG encoder", &c));
    c->data = pixels;
    c->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, c, on_error, on_warning);
    c->info = c->png ? png_create_info_struct(c->png) : NULL;
    if (!c->info) {
        status = status_fail(CORNU_OUT_OF_MEMORY, "no memory for a PNG encoder");
    } else if (setjmp(png_jmpbuf(c->png))) {
        status = status_fail(CORNU_IO, "%s: cannot write: %s", path, c->message);
    } else {
        encode(c, stream, height, width, channels);
        status = CORNU_OK;
    }
    png_destroy_write_struct(&c->png, &c->info);
    free(c);
    return status;
}

cornu_status png_write(const char *path, int64_t height, int64_t width, int64_t channels,
                       const uint8_t *pixels)
{
    cornu_status status;
    file_write file = {0};
    TRY_GOTO(file_write_open(path, &file));
    TRY_GOTO(write_pixels(path, file.stream, height, width, channels, pixels));
    TRY_GOTO(file_write_commit(&file));
done:
    if (status != CORNU_OK)
        file_write_abandon(&file);
    return status;
}

cornu_status png_encode(int64_t height, int64_t width, int64_t channels, const uint8_t *pixels,
                        uint8_t **png, size_t *size)
{
    char *bytes = NULL;
    FILE *stream = open_memstream(&bytes, size);
    *png = NULL;
    if (!stream)
        return status_fail(CORNU_OUT_OF_MEMORY, "no memory for a PNG");
    cornu_status status = write_pixels("picture", stream, height, width, channels, pixels);
    if (fclose(stream) != 0 && status == CORNU_OK)
        status = status_fail(CORNU_OUT_OF_MEMORY, "no memory for a PNG");
    if (status != CORNU_OK)
        free(bytes);
    else
        *png = (uint8_t *)bytes;
    return status;
}

cornu_status cornu_image_write_png(const char *path, int64_t height, int64_t width,
                                   int64_t channels, const float *values)
{
    uint8_t *pixels = NULL;
    if (!path || !values || height < 1 || width < 1 || height > IMAGE_PIXELS_MAX / width ||
        (channels != 1 && channels != 3))
        return status_fail(CORNU_INVALID,
                           "cornu_image_write_png: found size %lldx%lldx%lld; expected 1 or more, "
                           "and 1 or 3 channels",
                           (long long)height, (long long)width, (long long)channels);
    int64_t count = height * width * channels;
    TRY(memory_new((size_t)count, 1, "image", &pixels));
    for (int64_t i = 0; i < count; i++)
        pixels[i] = image_byte(values[i]);
    cornu_status status = png_write(path, height, width, channels, pixels);
    free(pixels);
    return status;
}
