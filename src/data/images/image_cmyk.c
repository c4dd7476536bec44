#include "data/images/image.h"

void image_cmyk(const uint8_t *cmyk, bool inverted, int64_t count, uint8_t *rgb)
{
    const int flip = inverted ? 0 : 255;
    for (int64_t i = 0; i < count; i++, cmyk += 4, rgb += 3)
        for (int c = 0; c < 3; c++) {
            int white = cmyk[3] ^ flip; /* the share of white that black ink leaves */
            int ink = (255 - (cmyk[c] ^ flip)) * white + 128;
            int left = white - (((ink >> 8) + ink) >> 8);
            rgb[c] = (uint8_t)(left < 0 ? 0 : left);
        }
}
