/* Drawn pictures: tables of numbers, sheets of samples. */
#ifndef DATA_IMAGES_CANVAS_H
#define DATA_IMAGES_CANVAS_H

#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct color {
    uint8_t red, green, blue;
} color;

typedef struct canvas {
    int64_t height, width;
    uint8_t *pixels;     /* [height][width][3] */
    struct fonts *fonts; /* NULL until a letter beyond ASCII is drawn */
    bool fonts_sought;
} canvas;

/* Drawing outside the edges is clipped. Sizes are at least 1, and at most IMAGE_PIXELS_MAX
   together. */
cornu_status canvas_open(int64_t height, int64_t width, color background, canvas *out);
void canvas_close(canvas *c);

typedef struct box {
    int64_t y, x, height, width;
} box;
void canvas_fill(canvas *c, box b, color with);

/* Letters of one cell, or (East Asian ones) two. Printable ASCII is built in; a line with other
   letters is drawn with this system's fonts, and a letter that they lack is an empty
   square. */
enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 10 };
typedef struct lettering {
    int scale; /* size of a letter's pixel */
    color ink;
    int64_t most; /* in cells; a longer line ends with ".." */
    bool upwards; /* true: from (y, x), the line's lower left corner, upwards; false: from its upper
                     left corner to the right */
} lettering;
/* Width in pixels. `line` may come from outside: it is drawn as cornu_printable shows it. */
int64_t canvas_text_width(const char *line, const lettering *l);
/* Copy `line` to out[size], at most `most` cells long; a longer one ends with "..". */
void canvas_text_cut(const char *line, int64_t most, char *out, size_t size);
void canvas_text(canvas *c, int64_t y, int64_t x, const char *line, const lettering *l);

/* Draw floats [height][width][channels] in 0..1 into the box, by nearest neighbour; channels is 1
   or 3. */
void canvas_picture(canvas *c, box b, int64_t height, int64_t width, int64_t channels,
                    const float *values);

cornu_status canvas_write_png(const canvas *c, const char *path);
/* Encode it as the bytes of a PNG file (free). */
cornu_status canvas_encode_png(const canvas *c, uint8_t **png, size_t *size);

/* ---- letters from this system's fonts --------------------------------------------------- */

/* fontconfig finds a font for a letter, FreeType draws it. Both are opened when a letter beyond
   ASCII is drawn; without them, or without such a font, there is no glyph. */
typedef struct fonts fonts;

/* NULL without the libraries; fonts_close accepts NULL. */
fonts *fonts_open(void);
void fonts_close(fonts *f);

/* Valid until the next one. */
typedef struct glyph {
    const uint8_t *coverage; /* [height][pitch], 0 to 255 */
    int64_t height, width, pitch;
    int64_t left, top; /* relative to the pen: of its left edge, and upwards of its upper edge */
    int64_t advance;
} glyph;

/* A letter in a font of `size` pixels, a monospaced one if possible. */
bool fonts_glyph(fonts *f, uint32_t letter, int size, glyph *out);

#endif
