/* Decoding of single images. */
#ifndef DATA_IMAGE_H
#define DATA_IMAGE_H

#include "base/status.h"

/* Larger images are refused before memory is allocated for them. */
#define IMAGE_PIXELS_MAX 100000000

typedef struct image {
    int64_t height, width, channels; /* channels is 1 (grey) or 3 (RGB) */
    uint8_t *pixels;                 /* [height][width][channels], malloc'ed */
} image;

typedef enum image_format { IMAGE_UNKNOWN, IMAGE_JPEG, IMAGE_PNG } image_format;

/* What a file's first bytes say; IMAGE_UNKNOWN also where it cannot be read. */
image_format image_format_of(const char *path);

/* Read a JPEG or PNG: CMYK becomes RGB, palettes are looked up, 16 bits become 8, alpha is dropped
   (as Pillow's convert("RGB") does). Messages begin with the path. */
cornu_status image_open(const char *path, image *out);
void image_close(image *i);
/* Nearest neighbour, as Pillow and so Keras's flow_from_directory do it, into
   [height][width][channels]; RGB to grey by ITU-R 601-2 luma, grey to RGB by repeating. */
void image_fit(const image *from, int64_t height, int64_t width, int64_t channels, uint8_t *to);

/* The decoders; `data` is the whole file. */
cornu_status jpeg_decode(const uint8_t *data, size_t size, image *out);
cornu_status png_decode(const uint8_t *data, size_t size, image *out);
/* Refuse what is empty or too large, and allocate the pixels. */
cornu_status image_allocate(int64_t height, int64_t width, int64_t channels, image *out);

#endif
