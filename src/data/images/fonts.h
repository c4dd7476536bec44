/* Letters from this system's fonts: fontconfig finds a font for a letter, FreeType draws it. Both
   are opened when a letter beyond ASCII is drawn; without them, or without such a font, there is no
   glyph. */
#ifndef DATA_IMAGES_FONTS_H
#define DATA_IMAGES_FONTS_H

#include <stdbool.h>
#include <stdint.h>

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
