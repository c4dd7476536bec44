#include "data/images/canvas.h"

#include "base/memory.h"
#include "data/images/image.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GLYPH_ROWS = 9, GLYPH_COLUMNS = 5, BASE_LINE = 7, TEXT_MOST = 256 };

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
    fonts_close(c->fonts);
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

static const uint8_t *glyph_of(uint32_t letter)
{
    static const uint8_t other[GLYPH_ROWS] = {0x1f, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1f};
    return letter >= ' ' && letter <= '~' ? glyphs[letter - ' '] : other;
}

/* The character at `s`, in well-formed UTF-8, and its length in bytes. */
static uint32_t letter_at(const char *s, int *bytes)
{
    const unsigned char *c = (const unsigned char *)s;
    *bytes = *c < 0xC0 ? 1 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : 4;
    uint32_t letter = *bytes == 1 ? *c : *c & (0x7Fu >> *bytes);
    for (int i = 1; i < *bytes && c[i]; i++)
        letter = letter << 6 | (c[i] & 0x3Fu);
    return letter;
}

/* Cells of a letter: combining marks take none, East Asian letters and emoji two (Unicode's Mn and
   East_Asian_Width, in blocks). */
static int cells_of(uint32_t letter)
{
    static const struct {
        uint32_t first, last;
        int cells;
    } blocks[] = {
        {0x300, 0x36F, 0},   {0x1100, 0x115F, 2},   {0x200B, 0x200D, 0},   {0x20D0, 0x20FF, 0},
        {0x2E80, 0x303E, 2}, {0x3041, 0xA4CF, 2},   {0xA960, 0xA97F, 2},   {0xAC00, 0xD7A3, 2},
        {0xF900, 0xFAFF, 2}, {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},
        {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1F64F, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (letter >= blocks[i].first && letter <= blocks[i].last)
            return blocks[i].cells;
    return 1;
}

/* Cells of a printable line. */
static int64_t cells_of_line(const char *line)
{
    int64_t cells = 0;
    int bytes;
    for (const char *c = line; *c; c += bytes)
        cells += cells_of(letter_at(c, &bytes));
    return cells;
}

void canvas_text_cut(const char *line, int64_t most, char *out, size_t size)
{
    int64_t cells = 0;
    int bytes;
    cornu_printable(line, out, size);
    if (cells_of_line(out) <= most)
        return;
    char *c = out;
    for (; *c; c += bytes) {
        cells += cells_of(letter_at(c, &bytes));
        if (cells > most - 2)
            break;
    }
    for (int64_t i = most < 2 ? 2 - most : 0; i < 2 && c + 1 < out + size; i++)
        *c++ = '.';
    *c = 0;
}

/* The line in its drawn form; `shown` [4 * TEXT_MOST]. */
static const char *shown_line(const char *line, const lettering *l, char *shown)
{
    canvas_text_cut(line, l->most < TEXT_MOST ? l->most : TEXT_MOST, shown, 4 * TEXT_MOST);
    return shown;
}

int64_t canvas_text_width(const char *line, const lettering *l)
{
    char shown[4 * TEXT_MOST];
    return cells_of_line(shown_line(line, l, shown)) * LETTER_WIDTH * l->scale;
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

static void draw_own(canvas *c, int64_t y, int64_t x, int64_t cell, uint32_t letter,
                     const lettering *l)
{
    for (int64_t down = 0; down < GLYPH_ROWS; down++)
        for (int64_t along = 0; along < GLYPH_COLUMNS; along++)
            if (glyph_of(letter)[down] >> (GLYPH_COLUMNS - 1 - along) & 1)
                draw_pixel(c, y, x, cell * LETTER_WIDTH + along, down, l);
}

/* Blend ink over the pixel with a weight of `of` / 255. */
static void blend(canvas *c, int64_t y, int64_t x, color ink, int of)
{
    if (y < 0 || x < 0 || y >= c->height || x >= c->width)
        return;
    uint8_t *at = c->pixels + 3 * (y * c->width + x);
    const uint8_t with[] = {ink.red, ink.green, ink.blue};
    for (int i = 0; i < 3; i++)
        at[i] = (uint8_t)((at[i] * (255 - of) + with[i] * of + 127) / 255);
}

/* In pixels of the picture: in the middle of its cells, combining marks where the font puts
   them. */
static void draw_glyph(canvas *c, int64_t y, int64_t x, int64_t cell, int cells, const glyph *g,
                       const lettering *l)
{
    const int64_t width = LETTER_WIDTH * l->scale;
    int64_t pen = cell * width + (cells > 0 ? (cells * width - g->advance) / 2 : 0) + g->left;
    int64_t upper = BASE_LINE * l->scale - g->top;
    for (int64_t down = 0; down < g->height; down++)
        for (int64_t along = 0; along < g->width; along++) {
            int of = g->coverage[down * g->pitch + along];
            if (l->upwards)
                blend(c, y - 1 - pen - along, x + upper + down, l->ink, of);
            else
                blend(c, y + upper + down, x + pen + along, l->ink, of);
        }
}

static bool is_ascii(const char *line)
{
    while (*line && !(*line & (char)0x80))
        line++;
    return !*line;
}

void canvas_text(canvas *c, int64_t y, int64_t x, const char *line, const lettering *l)
{
    char shown[4 * TEXT_MOST];
    int64_t cell = 0;
    int bytes;
    bool own = is_ascii(shown_line(line, l, shown));
    if (!own && !c->fonts_sought) {
        c->fonts = fonts_open();
        c->fonts_sought = true;
    }
    for (const char *at = shown; *at; at += bytes) {
        glyph g;
        uint32_t letter = letter_at(at, &bytes);
        int cells = cells_of(letter);
        if (!own && fonts_glyph(c->fonts, letter, LETTER_HEIGHT * l->scale, &g))
            draw_glyph(c, y, x, cell, cells, &g, l);
        else if (cells > 0)
            draw_own(c, y, x, cell, letter, l);
        cell += cells;
    }
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
