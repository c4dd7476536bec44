/* Letters of this system's fonts: fontconfig finds a font that has one, FreeType draws it. Both are
   opened when a letter beyond ASCII is drawn; where they, or such a font, are missing there is
   none. */
#ifndef DATA_IMAGES_FONTS_H
#define DATA_IMAGES_FONTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fonts fonts;

/* NULL where the libraries are not here; fonts_close takes it, too. */
fonts *fonts_open(void);
void fonts_close(fonts *f);

/* Valid up to the next one. */
typedef struct glyph {
    const uint8_t *coverage; /* [height][pitch], 0 to 255 */
    int64_t height, width, pitch;
    int64_t left, top; /* from the pen: of its left edge, and upwards of its upper edge */
    int64_t advance;
} glyph;

/* A letter in a font of `size` pixels, of one width where there is one. */
bool fonts_glyph(fonts *f, uint32_t letter, int size, glyph *out);

#endif
