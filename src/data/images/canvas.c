#include "data/images/canvas.h"

#include "base/memory.h"
#include "data/images/image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GLYPH_ROWS = 9, GLYPH_COLUMNS = 5, TEXT_MOST = 256 };

cornu_status canvas_open(int64_t height, int64_t width, color background, canvas *out)
{
    *out = (canvas){0};
    if (height < 1 || width < 1 || height > IMAGE_PIXELS_MAX / width)
        return status_fail(CORNU_OUT_OF_MEMORY,
                           "found a picture of %jdx%jd; expected at most %d pixels",
                           (intmax_t)width, (intmax_t)height, IMAGE_PIXELS_MAX);
    TRY(memory_new((size_t)(height * width), 3, "picture", &out->pixels));
    out->height = height;
    out->width = width;
    canvas_fill(out, (box){0, 0, height, width}, background);
    return CORNU_OK;
}

void canvas_close(canvas *c)
{
    free(c->pixels);
    *c = (canvas){0};
}

static void set_pixel(canvas *c, int64_t y, int64_t x, color with)
{
    if (y >= 0 && x >= 0 && y < c->height && x < c->width)
        memcpy(c->pixels + 3 * (y * c->width + x), (uint8_t[]){with.red, with.green, with.blue}, 3);
}

void canvas_fill(canvas *c, box b, color with)
{
    for (int64_t y = b.y; y < b.y + b.height; y++)
        for (int64_t x = b.x; x < b.x + b.width; x++)
            set_pixel(c, y, x, with);
}

/* ---- letters ---------------------------------------------------------------------------- */

static const uint8_t glyphs[][GLYPH_ROWS] = {
#define GLYPH(character, ...) {__VA_ARGS__},
#include "data/images/font.def"
#undef GLYPH
};

static const uint8_t *glyph_of(char letter)
{
    static const uint8_t other[GLYPH_ROWS] = {0x1f, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1f};
    return letter >= ' ' && letter <= '~' ? glyphs[letter - ' '] : other;
}

/* The letters that are drawn, one byte each: 1 for what is not ASCII. Their number. */
static int64_t letters_of(const char *line, const lettering *l, char letters[TEXT_MOST])
{
    char shown[4 * TEXT_MOST];
    int64_t count = 0, most = l->most < TEXT_MOST ? l->most : TEXT_MOST;
    cornu_printable(line, shown, sizeof shown);
    for (const char *c = shown; *c && count <= most; c++) {
        if ((*c & 0xc0) == 0x80)
            continue; /* a character's further bytes */
        if (count < TEXT_MOST)
            letters[count] = *c & (char)0x80 ? 1 : *c;
        count++;
    }
    if (count <= most)
        return count;
    for (int64_t i = most < 2 ? 0 : most - 2; i < most; i++)
        letters[i] = '.';
    return most;
}

int64_t canvas_text_width(const char *line, const lettering *l)
{
    char letters[TEXT_MOST];
    return letters_of(line, l, letters) * LETTER_WIDTH * l->scale;
}

/* A pixel of a line, `along` it and `down` from its upper edge. */
static void draw_pixel(canvas *c, int64_t y, int64_t x, int64_t along, int64_t down,
                       const lettering *l)
{
    const int64_t s = l->scale;
    if (l->upwards)
        canvas_fill(c, (box){y - (along + 1) * s, x + down * s, s, s}, l->ink);
    else
        canvas_fill(c, (box){y + down * s, x + along * s, s, s}, l->ink);
}

void canvas_text(canvas *c, int64_t y, int64_t x, const char *line, const lettering *l)
{
    char letters[TEXT_MOST];
    int64_t count = letters_of(line, l, letters);
    for (int64_t i = 0; i < count; i++)
        for (int64_t down = 0; down < GLYPH_ROWS; down++)
            for (int64_t along = 0; along < GLYPH_COLUMNS; along++)
                if (glyph_of(letters[i])[down] >> (GLYPH_COLUMNS - 1 - along) & 1)
                    draw_pixel(c, y, x, i * LETTER_WIDTH + along, down, l);
}

/* ---- pictures --------------------------------------------------------------------------- */

void canvas_picture(canvas *c, box b, int64_t height, int64_t width, int64_t channels,
                    const float *values)
{
    for (int64_t y = 0; y < b.height; y++)
        for (int64_t x = 0; x < b.width; x++) {
            const float *at =
                values + (y * height / b.height * width + x * width / b.width) * channels;
            uint8_t red = image_byte(at[0]);
            color with = {red, channels == 3 ? image_byte(at[1]) : red,
                          channels == 3 ? image_byte(at[2]) : red};
            set_pixel(c, b.y + y, b.x + x, with);
        }
}

cornu_status canvas_write_png(const canvas *c, const char *path)
{
    return png_write(path, c->height, c->width, 3, c->pixels);
}

cornu_status canvas_encode_png(const canvas *c, uint8_t **png, size_t *size)
{
    return png_encode(c->height, c->width, 3, c->pixels, png, size);
}
