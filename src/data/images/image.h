/* Decoding of single images. */
#ifndef DATA_IMAGES_IMAGE_H
#define DATA_IMAGES_IMAGE_H

#include "base/status.h"
#include <pthread.h>

/* Size limit of a picture, the same for all formats: larger pictures are refused before memory is
   allocated. docs/images.md states it. (The fuzzer sets fewer pixels.) */
#ifndef IMAGE_PIXELS_MAX
#define IMAGE_PIXELS_MAX 200000000
#endif
enum {
    IMAGE_SIDE_MAX = 65535,
    /* Decoding takes at most this many times the file's size (memory_unpacked_most). */
    IMAGE_BYTES_TIMES = 160
};

struct image_budget;

typedef struct image {
    int64_t height, width, channels; /* channels is 1 (grey) or 3 (RGB) */
    uint8_t *pixels;                 /* [height][width][channels], malloc'ed */
    int orientation;                 /* EXIF's 1 to 8, from the file; image_open applies it */
    size_t file_bytes;
    int64_t taken;               /* from the budget, until image_close */
    struct image_budget *budget; /* shared by all concurrent decodings, or NULL */
} image;

/* The formats in messages about expected files. */
#define IMAGE_FORMATS "JPEG, PNG, GIF, BMP, WebP, TIFF, PBM, PGM or PPM"

/* Title of the format by a regular file's first bytes ("JPEG"); NULL if they are of no known format
   or the file cannot be read. */
const char *image_format_of(const char *path);
/* The same for picture formats that cornu does not read ("HEIC": UNREAD in formats.def, and TIFF
   with a camera's RAW name); NULL for all others. */
const char *image_unread_format_of(const char *path);

/* Read an image of any format in formats.def (the first of several frames or pages) and apply its
   EXIF orientation. Colours are those of Pillow's convert("RGB"): CMYK becomes RGB, palettes are
   looked up, alpha is dropped. 16 bits become the upper 8 (as in Pillow for colours; its grey
   saturates). Messages begin with the path. */
cornu_status image_open(const char *path, image *out);
/* The same during other decodings: waits until the budget has room for the picture. */
cornu_status image_open_within(const char *path, struct image_budget *budget, image *out);
/* The same for a file's bytes. */
cornu_status image_decode(const uint8_t *data, size_t size, image *out);
void image_close(image *i);

/* A method of resizing: a row of resize.c. */
typedef struct image_filter image_filter;
#define IMAGE_FILTERS                                                                \
    "nearest, bilinear, bicubic, box, hamming, lanczos, bilinear_tf, bicubic_tf or " \
    "lanczos3_tf"
/* The filter with this name; nearest (Keras's default) for NULL; NULL if the name is unknown. */
const image_filter *image_filter_named(const char *name);
const char *image_filter_title(const image_filter *filter);

/* Resize into [height][width][channels] as Pillow, and so Keras's load_img, does: RGB to grey by
   ITU-R 601-2 luma, grey to RGB by repetition. A NULL filter is nearest, which cannot fail. */
cornu_status image_resize(const image *from, int64_t height, int64_t width, int64_t channels,
                          const image_filter *filter, uint8_t *to);
/* The same; with `keep_aspect_ratio` it resizes the largest centred crop with the proportions of
   the new size. */
cornu_status image_resize_as(const image *from, bool keep_aspect_ratio, int64_t height,
                             int64_t width, int64_t channels, const image_filter *filter,
                             uint8_t *to);

/* A byte of a PNG from a number in 0..1; numbers outside are clamped, and NaN becomes 0. */
static inline uint8_t image_byte(float value)
{
    float v = value > 0 ? value : 0;
    return (uint8_t)((v < 1 ? v : 1) * 255.0f + 0.5f);
}
/* Bytes [height][width][channels], 1 or 3 channels, as a PNG: written atomically, or as the bytes
   of a file (free). */
cornu_status png_write(const char *path, int64_t height, int64_t width, int64_t channels,
                       const uint8_t *pixels);
cornu_status png_encode(int64_t height, int64_t width, int64_t channels, const uint8_t *pixels,
                        uint8_t **png, size_t *size);

/* ---- for the decoders ---- */

/* `data` is the whole file. On failure the caller frees the pixels, if any. */
typedef cornu_status image_decoder(const uint8_t *data, size_t size, image *out);
#define FORMAT(title, magic, decode) image_decoder decode;
#include "data/images/formats.def"

/* The maximum memory for decoding a file of this size. */
int64_t image_bytes_most(size_t file_bytes);
/* Refuse sides or pixels that are none or too many. */
cornu_status image_check_size(int64_t height, int64_t width);
/* Refuse an empty or too large picture, and allocate the pixels. `besides` is the memory that
   decoding takes besides them: the decoder's own, or the samples in the file's form. Applying an
   orientation needs a copy, so out->orientation must be set before. */
cornu_status image_allocate(int64_t height, int64_t width, int64_t channels, int64_t besides,
                            image *out);
/* CMYK (255 is full ink, or none where `inverted`) to RGB, rounded as Pillow does. */
void image_cmyk(const uint8_t *cmyk, bool inverted, int64_t count, uint8_t *rgb);
/* Reorder the pixels to an upright picture. */
cornu_status image_apply_orientation(image *i);
/* The orientation in an EXIF block (with or without "Exif\0\0" in front), or 1. */
int exif_orientation(const uint8_t *data, size_t size);

/* ---- memory budget ---------------------------------------------------------------------- */

/* Pictures that are decoded at the same time share it. Which of them waits changes no pixel. */
enum {
    IMAGE_BUDGET_SPARE = 384000000, /* bytes for all pictures together ... */
    IMAGE_BUDGET_TIMES = 32         /* ... plus this multiple of their files' sizes */
};

typedef struct image_budget {
    pthread_mutex_t lock;
    pthread_cond_t returned;
    int64_t spare, most; /* bytes: in addition to the files' sizes; in all */
    int64_t taken, files, peak;
    uint64_t next, serving; /* tickets: first come, first served */
} image_budget;

/* At most `most` bytes in all (and no fewer than `spare`): `spare` plus IMAGE_BUDGET_TIMES the
   files' sizes. */
void image_budget_open(image_budget *b, int64_t spare, int64_t most);
void image_budget_close(image_budget *b);
/* Wait until there is room. A picture that needs more than the whole budget waits until it is
   alone. A thread must return its bytes before it takes more. */
void image_budget_take(image_budget *b, int64_t bytes, size_t file_bytes);
void image_budget_return(image_budget *b, int64_t bytes, size_t file_bytes);

#endif
