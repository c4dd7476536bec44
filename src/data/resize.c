#include "data/image.h"

#include <string.h>

/* Weights of ITU-R 601-2 in 16.16 fixed point, rounded: the grey that Pillow makes of RGB. */
static uint8_t luma(const uint8_t *rgb)
{
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

static void copy_pixel(const uint8_t *from, int64_t from_channels, uint8_t *to, int64_t to_channels)
{
    if (from_channels == to_channels)
        memcpy(to, from, (size_t)to_channels);
    else if (to_channels == 1)
        *to = luma(from);
    else
        memset(to, *from, (size_t)to_channels);
}

/* Where a running position lies, kept inside the image. */
static int64_t source(double position, int64_t limit)
{
    int64_t at = (int64_t)position;
    return at < limit ? at : limit - 1;
}

void image_fit(const image *from, int64_t height, int64_t width, int64_t channels, uint8_t *to)
{
    /* The source of pixel i is floor((i + 1/2) * scale). Pillow adds the scale up instead of
       multiplying; where a position falls on a whole number, only the same sum gives the same
       pixel. */
    double y_scale = (double)from->height / (double)height;
    double x_scale = (double)from->width / (double)width;
    double y = y_scale * 0.5;
    for (int64_t row = 0; row < height; row++, y += y_scale) {
        const uint8_t *line = from->pixels + source(y, from->height) * from->width * from->channels;
        double x = x_scale * 0.5;
        for (int64_t column = 0; column < width; column++, x += x_scale, to += channels)
            copy_pixel(line + source(x, from->width) * from->channels, from->channels, to,
                       channels);
    }
}
