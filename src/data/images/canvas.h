/* Pictures that are drawn: tables of numbers, sheets of samples. */
#ifndef DATA_IMAGES_CANVAS_H
#define DATA_IMAGES_CANVAS_H

#include "base/status.h"
#include <stdbool.h>

typedef struct color {
    uint8_t red, green, blue;
} color;

typedef struct canvas {
    int64_t height, width;
    uint8_t *pixels;     /* [height][width][3] */
    struct fonts *fonts; /* once a letter beyond ASCII has been drawn; or NULL */
    bool fonts_sought;
} canvas;

/* What is drawn beyond the edges is left out. Sizes are at least 1, and at most IMAGE_PIXELS_MAX
   together. */
cornu_status canvas_open(int64_t height, int64_t width, color background, canvas *out);
void canvas_close(canvas *c);

typedef struct box {
    int64_t y, x, height, width;
} box;
void canvas_fill(canvas *c, box b, color with);

/* Letters of one width, or (East Asian ones) of two; printable ASCII is always there, a line with
   other letters is drawn by this system's fonts (fonts.h), and what they lack is an empty square.
 */
enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 10 };
typedef struct lettering {
    int scale; /* pixels of a letter's pixel */
    color ink;
    int64_t most; /* letters' widths; a longer line ends with ".." */
    bool upwards; /* from (y, x), the line's left lower corner, to the top; else from its left upper
                     one to the right */
} lettering;
/* Width in pixels. `line` may come from outside: it is shown as cornu_printable does. */
int64_t canvas_text_width(const char *line, const lettering *l);
/* `line` in at most so many letters' widths, a longer one with ".." at its end, into out[size]. */
void canvas_text_cut(const char *line, int64_t most, char *out, size_t size);
void canvas_text(canvas *c, int64_t y, int64_t x, const char *line, const lettering *l);

/* Floats [height][width][channels] in 0..1 into the box, by the nearest pixels; channels is 1 or 3.
 */
void canvas_picture(canvas *c, box b, int64_t height, int64_t width, int64_t channels,
                    const float *values);

cornu_status canvas_write_png(const canvas *c, const char *path);
/* As the bytes of a file (free). */
cornu_status canvas_encode_png(const canvas *c, uint8_t **png, size_t *size);

#endif
