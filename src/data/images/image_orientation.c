/* The orientation that cameras write into EXIF, and its application. */
#include "data/images/image.h"

#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

enum { ORIENTATION_TAG = 0x0112, TYPE_SHORT = 3, TYPE_LONG = 4, ENTRY_BYTES = 12 };

static uint32_t number(const uint8_t *at, int bytes, bool little)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)at[i] << 8 * (little ? i : bytes - 1 - i);
    return value;
}

/* The block is a small TIFF file; the tag is in its first directory. Any error means upright: no
   picture is lost because of its EXIF block. */
int exif_orientation(const uint8_t *data, size_t size)
{
    if (size >= 6 && !memcmp(data, "Exif\0", 6)) {
        data += 6;
        size -= 6;
    }
    if (size < 14 || (memcmp(data, "II*\0", 4) && memcmp(data, "MM\0*", 4)))
        return 1;
    bool little = *data == 'I';
    size_t at = number(data + 4, 4, little);
    if (at > size - 2)
        return 1;
    uint32_t entries = number(data + at, 2, little);
    at += 2;
    for (; entries > 0 && size - at >= ENTRY_BYTES; entries--, at += ENTRY_BYTES) {
        const uint8_t *entry = data + at;
        if (number(entry, 2, little) != ORIENTATION_TAG)
            continue;
        uint32_t type = number(entry + 2, 2, little);
        uint32_t value = type == TYPE_SHORT  ? number(entry + 8, 2, little)
                         : type == TYPE_LONG ? number(entry + 8, 4, little)
                                             : 1;
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* For each orientation: is the upright picture read along the stored columns, and from the far end
   of the stored rows and columns? */
static const struct {
    bool swap, last_row, last_column;
} orientations[9] = {
    [2] = {false, false, true}, [3] = {false, true, true}, [4] = {false, true, false},
    [5] = {true, false, false}, [6] = {true, true, false}, [7] = {true, true, true},
    [8] = {true, false, true},
};

cornu_status image_apply_orientation(image *i)
{
    uint8_t *upright = NULL;
    int o = i->orientation;
    i->orientation = 1;
    if (o < 2 || o > 8)
        return CORNU_OK;
    const size_t pixel = (size_t)i->channels;
    TRY(memory_new((size_t)(i->height * i->width), pixel, "image", &upright));
    int64_t height = orientations[o].swap ? i->width : i->height;
    int64_t width = orientations[o].swap ? i->height : i->width;
    uint8_t *to = upright;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++, to += pixel) {
            int64_t row = orientations[o].swap ? x : y, column = orientations[o].swap ? y : x;
            row = orientations[o].last_row ? i->height - 1 - row : row;
            column = orientations[o].last_column ? i->width - 1 - column : column;
            memcpy(to, i->pixels + (row * i->width + column) * i->channels, pixel);
        }
    free(i->pixels);
    i->pixels = upright;
    i->height = height;
    i->width = width;
    return CORNU_OK;
}
