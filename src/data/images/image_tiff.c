/* The first page of a TIFF through libtiff. Strips and tiles are read here and not by
   TIFFReadRGBAImage, which multiplies colours by alpha; it is used only for the rare subsampled
   YCbCr. */
#include "data/images/image.h"

#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

/* Before 4.5 libtiff has one error handler for the whole process, which a library must not set. */
#if TIFFLIB_VERSION < 20221213
cornu_status tiff_decode(const uint8_t *data, size_t size, image *out)
{
    (void)data, (void)size, (void)out;
    return status_fail(CORNU_UNSUPPORTED,
                       "TIFF: this cornu was built with libtiff of %d; "
                       "expected 4.5 (20221213) or newer",
                       TIFFLIB_VERSION);
}
#else

enum {
    SAMPLES_MOST = 16,     /* of a pixel, including alpha and others */
    BLOCK_SPARE = 1 << 24, /* a strip or tile may have this many bytes, or twice the picture's */
    BLOCK_COST = 4096,     /* starting to decode a strip or tile costs as much as this many bytes */
    MESSAGE_MOST = 256,
};

typedef struct source {
    const uint8_t *data;
    toff_t size, at;
    char message[MESSAGE_MOST]; /* libtiff's first error */
} source;

typedef struct page {
    TIFF *tiff;
    const source *from;
    uint32_t height, width;
    uint16_t bits, samples, photometric, planar, orientation;
    uint16_t *map[3]; /* libtiff's own palette */
    int colors;       /* samples of a pixel that are used: 1, 3, or 4 for CMYK */
    bool tiled, through_rgba;
    int64_t block_height, block_width, block_bytes;
    int64_t stored_bytes; /* of all samples in the file's form, or the equivalent of their cost */
    uint8_t *block;
    uint8_t *pixels; /* [height][width][colors]; the image's own pixels if no conversion is left */
    uint8_t *own;    /* own memory, to be freed */
} page;

/* ---- a file in memory ---- */

static tmsize_t on_read(thandle_t handle, void *out, tmsize_t count)
{
    source *s = handle;
    toff_t left = s->at < s->size ? s->size - s->at : 0;
    tmsize_t size = (toff_t)count < left ? count : (tmsize_t)left;
    memcpy(out, s->data + (s->size - left), (size_t)size);
    s->at += (toff_t)size;
    return size;
}

static tmsize_t on_write(thandle_t handle, void *data, tmsize_t count)
{
    (void)handle;
    (void)data;
    (void)count;
    return 0;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence)
{
    source *s = handle;
    s->at = whence == SEEK_SET ? offset : whence == SEEK_CUR ? s->at + offset : s->size + offset;
    return s->at;
}

static int on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t on_size(thandle_t handle)
{
    return ((source *)handle)->size;
}

/* 1: handled; otherwise libtiff would print it. */
static int on_error(TIFF *tiff, void *user, const char *module, const char *format,
                    va_list arguments)
{
    (void)tiff;
    (void)module;
    source *s = user;
    if (!*s->message)
        vsnprintf(s->message, sizeof s->message, format, arguments);
    return 1;
}

static int on_warning(TIFF *tiff, void *user, const char *module, const char *format,
                      va_list arguments)
{
    (void)tiff;
    (void)user;
    (void)module;
    (void)format;
    (void)arguments;
    return 1;
}

static TIFF *open_memory(source *s)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, s);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, s);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, image_bytes_most((size_t)s->size));
    /* m: do not map the file */
    TIFF *tiff = TIFFClientOpenExt("TIFF", "rm", s, on_read, on_write, on_seek, on_close, on_size,
                                   NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

static cornu_status fail(const source *s)
{
    return status_fail(CORNU_BAD_FILE, "damaged or truncated TIFF: %s",
                       *s->message ? s->message : "bad pixel data");
}

/* ---- the page's layout ---- */

static cornu_status fail_kind(const char *what, unsigned found, const char *expected)
{
    return status_fail(CORNU_BAD_FILE, "TIFF with %s %u; expected %s", what, found, expected);
}

static cornu_status read_size(page *p)
{
    TIFF *t = p->tiff;
    if (!TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &p->width) ||
        !TIFFGetField(t, TIFFTAG_IMAGELENGTH, &p->height))
        return status_fail(CORNU_BAD_FILE, "damaged TIFF: found no width and height");
    return image_check_size(p->height, p->width);
}

static cornu_status read_kind(page *p)
{
    TIFF *t = p->tiff;
    uint16_t format = SAMPLEFORMAT_UINT, compression = COMPRESSION_NONE;
    TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &p->bits);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &p->samples);
    TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &p->planar);
    TIFFGetFieldDefaulted(t, TIFFTAG_ORIENTATION, &p->orientation);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    if (!TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &p->photometric))
        p->photometric = p->samples < 3 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB;
    if (p->bits != 1 && p->bits != 2 && p->bits != 4 && p->bits != 8 && p->bits != 16)
        return fail_kind("bits of a sample", p->bits, "1, 2, 4, 8 or 16");
    if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)
        return fail_kind("sample format", format, "1 (unsigned numbers)");
    if (p->samples < 1 || p->samples > SAMPLES_MOST)
        return fail_kind("samples of a pixel", p->samples, "1 to 16");
    if (p->planar != PLANARCONFIG_CONTIG && p->planar != PLANARCONFIG_SEPARATE)
        return fail_kind("planar configuration", p->planar, "1 or 2");
    if (compression == COMPRESSION_OJPEG || !TIFFIsCODECConfigured(compression))
        return fail_kind("compression", compression,
                         "one that libtiff reads (old JPEG is left out)");
    if (p->photometric == PHOTOMETRIC_YCBCR && compression == COMPRESSION_JPEG) {
        TIFFSetField(t, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        p->photometric = PHOTOMETRIC_RGB;
    }
    return CORNU_OK;
}

static cornu_status read_colors(page *p)
{
    TIFF *t = p->tiff;
    p->through_rgba = p->photometric == PHOTOMETRIC_YCBCR;
    switch (p->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
        p->colors = 1;
        break;
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR:
        p->colors = 3;
        break;
    case PHOTOMETRIC_SEPARATED:
        p->colors = 4;
        break;
    case PHOTOMETRIC_PALETTE:
        p->colors = 1;
        if (p->bits > 8 || !TIFFGetField(t, TIFFTAG_COLORMAP, &p->map[0], &p->map[1], &p->map[2]))
            return fail_kind("a palette of bits", p->bits, "a colour map for 1 to 8");
        break;
    default:
        return fail_kind("photometric interpretation", p->photometric,
                         "0 to 3, 5 or 6 (grey, RGB, palette, CMYK, YCbCr)");
    }
    if (p->samples < p->colors)
        return fail_kind("samples of a pixel", p->samples, "as many as its colours");
    return CORNU_OK;
}

/* Sizes of strips or tiles. A file may claim any size; no picture needs more than twice its own. */
static cornu_status read_blocks(page *p)
{
    TIFF *t = p->tiff;
    uint32_t height = p->height, width = p->width;
    p->tiled = TIFFIsTiled(t);
    if (p->tiled) {
        if (!TIFFGetField(t, TIFFTAG_TILEWIDTH, &width) ||
            !TIFFGetField(t, TIFFTAG_TILELENGTH, &height))
            return status_fail(CORNU_BAD_FILE, "damaged TIFF: found no size of its tiles");
    } else {
        TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &height);
        height = height < p->height ? height : p->height;
    }
    uint64_t bytes = p->tiled ? TIFFTileSize64(t) : TIFFVStripSize64(t, height);
    uint64_t whole = (uint64_t)p->height * (((uint64_t)p->width * p->samples * p->bits + 7) / 8);
    if (height < 1 || width < 1 || bytes < 1 || (bytes > 2 * whole && bytes > BLOCK_SPARE))
        return status_fail(CORNU_BAD_FILE, "damaged TIFF: %s of %ux%u pixels in an image of %ux%u",
                           p->tiled ? "tiles" : "strips", width, height, p->width, p->height);
    p->block_height = height;
    p->block_width = width;
    p->block_bytes = (int64_t)bytes;
    uint64_t blocks = p->tiled ? TIFFNumberOfTiles(t) : TIFFNumberOfStrips(t);
    whole = whole > blocks * BLOCK_COST ? whole : blocks * BLOCK_COST;
    p->stored_bytes = (int64_t)(whole > bytes ? whole : bytes);
    return CORNU_OK;
}

/* ---- pixels ---- */

/* Sample `index` of a row as a byte: the upper 8 of 16 bits; 1 to 4 bits are scaled to 0 to 255,
   except palette indices. */
static uint8_t sample_at(const page *p, const uint8_t *row, int64_t index)
{
    if (p->bits == 8)
        return row[index];
    if (p->bits == 16) {
        uint16_t value;
        memcpy(&value, row + 2 * index, 2);
        return (uint8_t)(value >> 8);
    }
    int64_t bit = index * p->bits;
    int most = (1 << p->bits) - 1;
    int value = row[bit / 8] >> (8 - p->bits - bit % 8) & most;
    return (uint8_t)(p->photometric == PHOTOMETRIC_PALETTE ? value : value * 255 / most);
}

/* Copy the block that begins at (top, left). With separate planes `plane` is the colour. */
static void copy_block(page *p, int64_t top, int64_t left, int plane, int64_t stride)
{
    bool apart = p->planar == PLANARCONFIG_SEPARATE;
    int64_t bottom = top + p->block_height, right = left + p->block_width;
    bottom = bottom < p->height ? bottom : p->height;
    right = right < p->width ? right : p->width;
    for (int64_t y = top; y < bottom; y++) {
        const uint8_t *row = p->block + (y - top) * stride;
        uint8_t *to = p->pixels + (y * p->width + left) * p->colors + (apart ? plane : 0);
        for (int64_t x = 0; x < right - left; x++, to += p->colors)
            for (int c = 0; c < (apart ? 1 : p->colors); c++)
                to[c] = sample_at(p, row, apart ? x : x * p->samples + c);
    }
}

/* Read the block at (top, left); it must be complete. */
static cornu_status read_block(page *p, int64_t top, int64_t left, int plane, int64_t stride)
{
    TIFF *t = p->tiff;
    int64_t rows = p->block_height;
    tmsize_t got;
    if (p->tiled) {
        got = TIFFReadEncodedTile(
            t, TIFFComputeTile(t, (uint32_t)left, (uint32_t)top, 0, (uint16_t)plane), p->block,
            (tmsize_t)p->block_bytes);
    } else {
        rows = rows < p->height - top ? rows : p->height - top;
        got = TIFFReadEncodedStrip(t, TIFFComputeStrip(t, (uint32_t)top, (uint16_t)plane), p->block,
                                   (tmsize_t)(rows * stride));
    }
    return got >= 0 && (int64_t)got >= rows * stride ? CORNU_OK : fail(p->from);
}

static cornu_status read_pixels(page *p)
{
    int64_t stride = p->tiled ? TIFFTileRowSize(p->tiff) : TIFFScanlineSize(p->tiff);
    int64_t in_row = p->planar == PLANARCONFIG_SEPARATE ? 1 : p->samples;
    int planes = p->planar == PLANARCONFIG_SEPARATE ? p->colors : 1;
    /* The bytes that copy_block reads from a row must exist, whatever libtiff makes of odd tags. */
    if (stride < (p->block_width * in_row * p->bits + 7) / 8 ||
        stride > p->block_bytes / p->block_height)
        return status_fail(CORNU_BAD_FILE, "damaged TIFF: rows of %lld bytes", (long long)stride);
    TRY(memory_new((size_t)p->block_bytes, 1, "TIFF block", &p->block));
    for (int plane = 0; plane < planes; plane++)
        for (int64_t top = 0; top < p->height; top += p->block_height)
            for (int64_t left = 0; left < p->width; left += p->block_width) {
                TRY(read_block(p, top, left, plane, stride));
                copy_block(p, top, left, plane, stride);
            }
    return CORNU_OK;
}

/* Subsampled YCbCr. Asking for the file's own orientation keeps the rows in their stored order. */
static cornu_status read_rgba(page *p, image *out)
{
    char message[1024] = "";
    size_t count = (size_t)p->height * p->width;
    uint32_t *raster;
    if (!TIFFRGBAImageOK(p->tiff, message))
        return status_fail(CORNU_BAD_FILE, "TIFF that libtiff cannot show: %s", message);
    TRY(memory_new(count, sizeof *raster, "TIFF pixels", &p->own));
    raster = (uint32_t *)(void *)p->own;
    if (!TIFFReadRGBAImageOriented(p->tiff, p->width, p->height, raster, p->orientation, 1))
        return fail(p->from);
    for (size_t i = 0; i < count; i++) {
        out->pixels[3 * i] = (uint8_t)TIFFGetR(raster[i]);
        out->pixels[3 * i + 1] = (uint8_t)TIFFGetG(raster[i]);
        out->pixels[3 * i + 2] = (uint8_t)TIFFGetB(raster[i]);
    }
    return CORNU_OK;
}

/* Convert the samples to colours in the image. */
static void convert(const page *p, image *out)
{
    int64_t count = out->height * out->width;
    if (p->photometric == PHOTOMETRIC_SEPARATED)
        image_cmyk(p->pixels, false, count, out->pixels);
    for (int64_t i = 0; p->photometric == PHOTOMETRIC_MINISWHITE && i < count; i++)
        out->pixels[i] = (uint8_t)~out->pixels[i];
    for (int64_t i = 0; p->photometric == PHOTOMETRIC_PALETTE && i < count; i++)
        for (int c = 0; c < 3; c++)
            out->pixels[3 * i + c] = (uint8_t)(p->map[c][p->pixels[i]] >> 8);
}

static cornu_status decode(page *p, image *out)
{
    TRY(read_size(p));
    TRY(read_kind(p));
    TRY(read_colors(p));
    TRY(read_blocks(p));
    bool palette = p->photometric == PHOTOMETRIC_PALETTE;
    int64_t own = p->through_rgba ? 4 : palette || p->colors == 4 ? p->colors : 0;
    out->orientation = p->orientation;
    TRY(image_allocate(p->height, p->width, p->colors == 1 && !palette ? 1 : 3,
                       p->stored_bytes + own * p->height * p->width, out));
    if (p->through_rgba)
        return read_rgba(p, out);
    p->pixels = out->pixels;
    if (own > 0) {
        TRY(memory_new((size_t)p->height * p->width, (size_t)p->colors, "TIFF pixels", &p->own));
        p->pixels = p->own;
    }
    TRY(read_pixels(p));
    convert(p, out);
    return CORNU_OK;
}

cornu_status tiff_decode(const uint8_t *data, size_t size, image *out)
{
    source s = {.data = data, .size = size};
    page p = {.from = &s, .tiff = open_memory(&s)};
    if (!p.tiff)
        return fail(&s);
    cornu_status status = decode(&p, out);
    TIFFClose(p.tiff);
    free(p.block);
    free(p.own);
    return status;
}
#endif
