/* Decoding of single images. */
#ifndef DATA_IMAGES_IMAGE_H
#define DATA_IMAGES_IMAGE_H

#include "base/status.h"

/* The bound of a picture, the same for all formats: what exceeds it is refused before memory is
   allocated for it. docs/images.md states it. (The fuzzer sets fewer pixels.) */
#ifndef IMAGE_PIXELS_MAX
#define IMAGE_PIXELS_MAX 200000000
#endif
enum {
    IMAGE_SIDE_MAX = 65535,
    /* Decoding takes at most so many times the file's size (memory_unpacked_most). */
    IMAGE_BYTES_TIMES = 160
};

struct image_budget;

typedef struct image {
    int64_t height, width, channels; /* channels is 1 (grey) or 3 (RGB) */
    uint8_t *pixels;                 /* [height][width][channels], malloc'ed */
    int orientation;                 /* EXIF's 1 to 8 as the file says; image_open applies it */
    size_t file_bytes;
    int64_t taken;               /* from the budget, until image_close */
    struct image_budget *budget; /* of all that decode at the same time, or NULL */
} image;

/* What the messages list as expected. */
#define IMAGE_FORMATS "JPEG, PNG, GIF, BMP, WebP, TIFF, PBM, PGM or PPM"

/* Title of the format that a regular file's first bytes tell ("JPEG"); NULL where they tell none or
   the file cannot be read. */
const char *image_format_of(const char *path);
/* The same of a picture's format that cornu does not read ("HEIC": unread.def, and TIFF by the name
   of a camera's RAW); NULL of all else. */
const char *image_unread_format_of(const char *path);

/* Read an image of any format in formats.def, of several frames or pages the first, and
   apply its EXIF orientation. Colours become what Pillow's convert("RGB") gives: CMYK becomes RGB,
   palettes are looked up, alpha is dropped. 16 bits become the upper 8 (Pillow does so for colours;
   its grey saturates). Messages begin with the path. */
cornu_status image_open(const char *path, image *out);
/* The same while others decode, too: waits until the budget has room for the picture. */
cornu_status image_open_within(const char *path, struct image_budget *budget, image *out);
/* The same of a file's bytes. */
cornu_status image_decode(const uint8_t *data, size_t size, image *out);
void image_close(image *i);

/* How pictures are resized: a row of filters.def. */
typedef struct image_filter image_filter;
#define IMAGE_FILTERS                                                                \
    "nearest, bilinear, bicubic, box, hamming, lanczos, bilinear_tf, bicubic_tf or " \
    "lanczos3_tf"
/* Of that name; nearest (Keras's default) where it is NULL; NULL where it is unknown. */
const image_filter *image_filter_named(const char *name);
const char *image_filter_title(const image_filter *filter);

/* Resize into [height][width][channels] as Pillow, and so Keras's load_img, does it: RGB to grey by
   ITU-R 601-2 luma, grey to RGB by repeating. A NULL filter is nearest, which cannot fail. */
cornu_status image_resize(const image *from, int64_t height, int64_t width, int64_t channels,
                          const image_filter *filter, uint8_t *to);
/* The same; with `keep_aspect_ratio` of the largest part in the middle that has the proportions of
   the new size. */
cornu_status image_resize_as(const image *from, bool keep_aspect_ratio, int64_t height,
                             int64_t width, int64_t channels, const image_filter *filter,
                             uint8_t *to);

/* A byte of a PNG from 0..1; what lies beyond, or is NaN, becomes its nearest end, or 0. */
static inline uint8_t image_byte(float value)
{
    float v = value > 0 ? value : 0;
    return (uint8_t)((v < 1 ? v : 1) * 255.0f + 0.5f);
}
/* Bytes [height][width][channels], 1 or 3 of these, as a PNG: written atomically, or as the bytes
   of a file (free). */
cornu_status png_write(const char *path, int64_t height, int64_t width, int64_t channels,
                       const uint8_t *pixels);
cornu_status png_encode(int64_t height, int64_t width, int64_t channels, const uint8_t *pixels,
                        uint8_t **png, size_t *size);

/* ---- for the decoders ---- */

/* `data` is the whole file. On failure the pixels, if any, are left to the caller. */
typedef cornu_status image_decoder(const uint8_t *data, size_t size, image *out);
#define FORMAT(title, magic, decode) image_decoder decode;
#include "data/images/formats.def"
#undef FORMAT

/* The most that decoding a file of this size may take. */
int64_t image_bytes_most(size_t file_bytes);
/* Refuse sides or pixels that are none or too many. */
cornu_status image_check_size(int64_t height, int64_t width);
/* Refuse what is empty or beyond the bound, and allocate the pixels. `besides` is what decoding
   takes besides them: the decoder's own memory, or the samples as the file holds them. Applying
   an orientation needs a copy: out->orientation must be set by now. */
cornu_status image_allocate(int64_t height, int64_t width, int64_t channels, int64_t besides,
                            image *out);
/* CMYK (255 is full ink, or none where `inverted`) to RGB, rounded as Pillow does. */
void image_cmyk(const uint8_t *cmyk, bool inverted, int64_t count, uint8_t *rgb);
/* Put the pixels into the order of an upright picture. */
cornu_status image_apply_orientation(image *i);
/* The orientation that an EXIF block ("Exif\0\0" in front or not) tells, or 1. */
int exif_orientation(const uint8_t *data, size_t size);

#endif
