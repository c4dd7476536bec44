/* BMP, own code: Debian packages no library for this format alone, and the format is small. Written
   from Microsoft's description of BITMAPINFOHEADER and its variants. */
#include "data/images/image.h"

#include <string.h>

enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40, V2_HEADER = 52 };
enum { PLAIN = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3, ALPHA_BITFIELDS = 6 };

typedef struct bitmap {
    const uint8_t *data;
    size_t size;
    uint32_t header, bits, compression, pixels_at;
    bool top_down;
    uint32_t mask[3];        /* red, green and blue in 16 and 32 bits */
    uint8_t palette[256][3]; /* black for colours that the file does not define */
    int64_t height, width;
} bitmap;

static uint32_t u16(const uint8_t *at)
{
    return (uint32_t)(at[0] | at[1] << 8);
}

static uint32_t u32(const uint8_t *at)
{
    return u16(at) | u16(at + 2) << 16;
}

static cornu_status fail_short(void)
{
    return status_fail(CORNU_BAD_FILE, "damaged or truncated BMP: the file ends too early");
}

static cornu_status read_header(bitmap *b)
{
    const uint8_t *at = b->data + FILE_HEADER;
    if (b->size < FILE_HEADER + CORE_HEADER)
        return fail_short();
    b->pixels_at = u32(b->data + 10);
    b->header = u32(at);
    if (b->header != CORE_HEADER && (b->header < INFO_HEADER || b->header > 1024))
        return status_fail(CORNU_BAD_FILE, "damaged BMP: header of %u bytes; expected 12 or 40 on",
                           b->header);
    if (b->size < FILE_HEADER + b->header)
        return fail_short();
    bool core = b->header == CORE_HEADER;
    b->width = core ? (int64_t)u16(at + 4) : (int32_t)u32(at + 4);
    b->height = core ? (int64_t)u16(at + 6) : (int32_t)u32(at + 8);
    b->bits = u16(at + (core ? 10 : 14));
    b->compression = core ? PLAIN : u32(at + 16);
    b->top_down = b->height < 0;
    b->height = b->top_down ? -b->height : b->height;
    return CORNU_OK;
}

static bool is_known(const bitmap *b)
{
    switch (b->compression) {
    case PLAIN:
        return b->bits == 1 || b->bits == 2 || b->bits == 4 || b->bits == 8 || b->bits == 16 ||
               b->bits == 24 || b->bits == 32;
    case RLE8:
        return b->bits == 8;
    case RLE4:
        return b->bits == 4;
    case BITFIELDS:
    case ALPHA_BITFIELDS:
        return b->bits == 16 || b->bits == 32;
    default:
        return false;
    }
}

/* The masks of 16 and 32 bits: after an old header or inside a newer one. */
static cornu_status read_masks(bitmap *b)
{
    static const uint32_t of16[3] = {0x7c00, 0x03e0, 0x001f}, of32[3] = {0xff0000, 0xff00, 0xff};
    memcpy(b->mask, b->bits == 16 ? of16 : of32, sizeof b->mask);
    if (b->compression != BITFIELDS && b->compression != ALPHA_BITFIELDS)
        return CORNU_OK;
    if (b->size < FILE_HEADER + V2_HEADER)
        return fail_short();
    for (int c = 0; c < 3; c++) {
        b->mask[c] = u32(b->data + FILE_HEADER + INFO_HEADER + 4 * c);
        if (b->mask[c] == 0)
            return status_fail(CORNU_BAD_FILE, "damaged BMP: colour mask 0; expected some bits");
    }
    return CORNU_OK;
}

static void read_palette(bitmap *b)
{
    bool core = b->header == CORE_HEADER;
    size_t entry = core ? 3 : 4, at = FILE_HEADER + b->header;
    uint32_t count = core ? 0 : u32(b->data + FILE_HEADER + 32);
    if (count == 0 || count > 256)
        count = 1u << b->bits;
    for (uint32_t i = 0; i < count && b->size - at >= entry; i++, at += entry)
        memcpy(b->palette[i], (uint8_t[]){b->data[at + 2], b->data[at + 1], b->data[at]}, 3);
}

/* The output row of a row of the file. */
static uint8_t *row_of(const bitmap *b, const image *out, int64_t row)
{
    return out->pixels + (b->top_down ? row : b->height - 1 - row) * b->width * 3;
}

/* ---- run-length coding ---- */

typedef struct runs {
    int64_t x, y;
    const image *out;
} runs;

static void put(const bitmap *b, runs *r, uint8_t value)
{
    if (r->x < b->width && r->y < b->height)
        memcpy(row_of(b, r->out, r->y) + 3 * r->x, b->palette[value], 3);
    r->x++;
}

/* Index `i` in bytes that hold one or two indices. */
static uint8_t index_at(const bitmap *b, const uint8_t *at, int i)
{
    if (b->bits == 8)
        return at[i];
    return i % 2 ? at[i / 2] & 15 : at[i / 2] >> 4;
}

/* `count` literal indices, padded to two bytes. */
static cornu_status put_plain(const bitmap *b, runs *r, int count, size_t *at)
{
    size_t bytes = b->bits == 8 ? (size_t)count : (size_t)(count + 1) / 2;
    if (b->size - *at < bytes)
        return fail_short();
    for (int i = 0; i < count; i++)
        put(b, r, index_at(b, b->data + *at, i));
    bytes += bytes % 2;
    *at += bytes < b->size - *at ? bytes : b->size - *at;
    return CORNU_OK;
}

/* Pixels that no run reaches have colour 0. */
static cornu_status read_runs(const bitmap *b, image *out)
{
    enum { END_OF_LINE = 0, END_OF_BITMAP = 1, DELTA = 2 };
    runs r = {.out = out};
    for (int64_t i = 0; i < b->height * b->width; i++)
        memcpy(out->pixels + 3 * i, b->palette[0], 3);
    for (size_t at = b->pixels_at; r.y < b->height;) {
        if (b->size - at < 2) /* only the last mark may be missing */
            return r.y == b->height - 1 && r.x >= b->width ? CORNU_OK : fail_short();
        int count = b->data[at], value = b->data[at + 1];
        for (int i = 0; i < count; i++)
            put(b, &r, index_at(b, b->data + at + 1, b->bits == 8 ? 0 : i % 2));
        at += 2;
        if (count > 0)
            continue;
        if (value == END_OF_BITMAP)
            return CORNU_OK;
        if (value == END_OF_LINE) {
            r = (runs){0, r.y + 1, out};
        } else if (value == DELTA) {
            if (b->size - at < 2)
                return fail_short();
            r = (runs){r.x + b->data[at], r.y + b->data[at + 1], out};
            at += 2;
        } else {
            TRY(put_plain(b, &r, value, &at));
        }
    }
    return CORNU_OK;
}

/* ---- rows ---- */

/* The bits under a mask, scaled to 0 to 255. */
static uint8_t component(uint32_t pixel, uint32_t mask)
{
    uint32_t shift = (uint32_t)__builtin_ctz(mask);
    return (uint8_t)((uint64_t)((pixel & mask) >> shift) * 255 / (mask >> shift));
}

static void unpack_row(const bitmap *b, const uint8_t *row, uint8_t *to)
{
    uint32_t most = b->bits < 8 ? (1u << b->bits) - 1 : 255;
    for (int64_t x = 0; x < b->width; x++, to += 3) {
        int64_t bit = x * b->bits;
        const uint8_t *at = row + bit / 8;
        if (b->bits <= 8) {
            memcpy(to, b->palette[*at >> (8 - b->bits - (uint32_t)(bit % 8)) & most], 3);
        } else if (b->bits == 24) {
            memcpy(to, (uint8_t[]){at[2], at[1], at[0]}, 3);
        } else {
            uint32_t pixel = b->bits == 16 ? u16(at) : u32(at);
            for (int c = 0; c < 3; c++)
                to[c] = component(pixel, b->mask[c]);
        }
    }
}

cornu_status bmp_decode(const uint8_t *data, size_t size, image *out)
{
    bitmap bmp = {.data = data, .size = size}, *b = &bmp;
    TRY(read_header(b));
    if (!is_known(b))
        return status_fail(CORNU_BAD_FILE,
                           "BMP of %u bits in compression %u; expected 1 to 32 bits, plain, "
                           "run-length coded or with masks",
                           b->bits, b->compression);
    TRY(read_masks(b));
    if (b->bits <= 8)
        read_palette(b);
    TRY(image_allocate(b->height, b->width, 3, 0, out));
    int64_t stride = (b->width * b->bits + 31) / 32 * 4;
    if (b->pixels_at > b->size)
        return fail_short();
    if (b->compression == RLE8 || b->compression == RLE4)
        return read_runs(b, out);
    if ((uint64_t)(stride * b->height) > b->size - b->pixels_at)
        return fail_short();
    for (int64_t row = 0; row < b->height; row++)
        unpack_row(b, b->data + b->pixels_at + row * stride, row_of(b, out, row));
    return CORNU_OK;
}
