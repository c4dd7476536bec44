/* What all decoders share: sizes, memory, orientation, colours. */
#include "data/images/image.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

/* ---- sizes and memory ------------------------------------------------------------------- */

int64_t image_bytes_most(size_t file_bytes)
{
    return memory_unpacked_most(file_bytes, IMAGE_BYTES_TIMES);
}

cornu_status image_check_size(int64_t height, int64_t width)
{
    if (height < 1 || width < 1 || height > IMAGE_SIDE_MAX || width > IMAGE_SIDE_MAX ||
        height > IMAGE_PIXELS_MAX / width)
        return status_fail(CORNU_BAD_FILE,
                           "image of %lldx%lld pixels; expected sides of 1 to %d and at most %d "
                           "million pixels",
                           (long long)width, (long long)height, IMAGE_SIDE_MAX,
                           IMAGE_PIXELS_MAX / 1000000);
    return CORNU_OK;
}

static cornu_status check_bytes(int64_t height, int64_t width, int64_t needed, size_t file_bytes)
{
    char takes[32], file[32], most[32];
    if (needed <= image_bytes_most(file_bytes))
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE,
                       "image of %lldx%lld pixels: decoding takes %s, of a file of %s; expected at "
                       "most %s (%d times the file's size, or that of 1 MB)",
                       (long long)width, (long long)height, memory_human((double)needed, takes),
                       memory_human((double)file_bytes, file),
                       memory_human((double)image_bytes_most(file_bytes), most), IMAGE_BYTES_TIMES);
}

cornu_status image_allocate(int64_t height, int64_t width, int64_t channels, int64_t besides,
                            image *out)
{
    TRY(image_check_size(height, width));
    int64_t needed = height * width * channels * (out->orientation > 1 ? 2 : 1) + besides;
    TRY(check_bytes(height, width, needed, out->file_bytes));
    out->height = height;
    out->width = width;
    out->channels = channels;
    out->taken = needed;
    if (out->budget)
        image_budget_take(out->budget, out->taken, out->file_bytes);
    return memory_new((size_t)(height * width), (size_t)channels, "image", &out->pixels);
}

void image_close(image *i)
{
    free(i->pixels);
    if (i->budget && i->taken > 0)
        image_budget_return(i->budget, i->taken, i->file_bytes);
    *i = (image){0};
}

void image_budget_open(image_budget *b, int64_t spare, int64_t most)
{
    *b = (image_budget){.spare = spare, .most = most > spare ? most : spare};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->returned, NULL);
}

void image_budget_close(image_budget *b)
{
    pthread_cond_destroy(&b->returned);
    pthread_mutex_destroy(&b->lock);
}

static bool has_room(const image_budget *b, int64_t bytes, int64_t file)
{
    int64_t allowed = b->spare + IMAGE_BUDGET_TIMES * (b->files + file);
    allowed = allowed < b->most ? allowed : b->most;
    return b->taken == 0 || bytes <= allowed - b->taken;
}

void image_budget_take(image_budget *b, int64_t bytes, size_t file_bytes)
{
    int64_t file = (int64_t)file_bytes;
    pthread_mutex_lock(&b->lock);
    uint64_t ticket = b->next++;
    while (ticket != b->serving || !has_room(b, bytes, file))
        pthread_cond_wait(&b->returned, &b->lock);
    b->serving++;
    b->taken += bytes;
    b->files += file;
    b->peak = b->taken > b->peak ? b->taken : b->peak;
    pthread_cond_broadcast(&b->returned); /* the next in line may also fit */
    pthread_mutex_unlock(&b->lock);
}

void image_budget_return(image_budget *b, int64_t bytes, size_t file_bytes)
{
    pthread_mutex_lock(&b->lock);
    b->taken -= bytes;
    b->files -= (int64_t)file_bytes;
    pthread_cond_broadcast(&b->returned);
    pthread_mutex_unlock(&b->lock);
}

/* ---- EXIF's orientation ----------------------------------------------------------------- */

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

/* ---- colours ---------------------------------------------------------------------------- */

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
