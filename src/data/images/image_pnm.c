/* PBM, PGM and PPM, own code: netpbm's library ends the process on a bad file, and the formats are
   a header of three numbers before the samples. */
#include "data/images/image.h"

#include <string.h>

typedef struct reader {
    const uint8_t *data;
    size_t size, at;
    int kind; /* the digit after the P: 1 to 3 are text, 4 to 6 bytes */
    uint32_t most;
} reader;

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next byte that is neither whitespace nor in a comment (# to the end of the line), or -1. */
static int next_byte(reader *r)
{
    while (r->at < r->size) {
        uint8_t c = r->data[r->at];
        if (c == '#')
            while (r->at < r->size && r->data[r->at] != '\n' && r->data[r->at] != '\r')
                r->at++;
        else if (is_space(c))
            r->at++;
        else
            return c;
    }
    return -1;
}

static cornu_status fail_short(void)
{
    return status_fail(CORNU_BAD_FILE, "damaged or truncated PNM: the file ends too early");
}

static cornu_status read_number(reader *r, uint32_t most, uint32_t *out)
{
    int c = next_byte(r);
    if (c < 0)
        return fail_short();
    if (c < '0' || c > '9')
        return status_fail(CORNU_BAD_FILE, "damaged PNM: found byte 0x%02x; expected a number", c);
    *out = 0;
    while (r->at < r->size && r->data[r->at] >= '0' && r->data[r->at] <= '9') {
        *out = *out * 10 + r->data[r->at++] - '0';
        if (*out > most)
            return status_fail(CORNU_BAD_FILE,
                               "damaged PNM: found more than %u; expected at most "
                               "that",
                               most);
    }
    return CORNU_OK;
}

/* A sample of 0 to `most`, scaled to 0 to 255 and rounded. */
static uint8_t scale(const reader *r, uint32_t value)
{
    value = value < r->most ? value : r->most;
    return (uint8_t)((value * 255 + r->most / 2) / r->most);
}

/* 1 is black; text needs no spaces between its digits. */
static cornu_status read_bits(reader *r, image *out)
{
    int64_t stride = (out->width + 7) / 8;
    if (r->kind == 4 && (uint64_t)(stride * out->height) > r->size - r->at)
        return fail_short();
    for (int64_t i = 0; i < out->height * out->width; i++) {
        int bit;
        if (r->kind == 4) {
            int64_t x = i % out->width;
            bit = r->data[(int64_t)r->at + i / out->width * stride + x / 8] >> (7 - x % 8) & 1;
        } else {
            int c = next_byte(r);
            if (c < 0)
                return fail_short();
            if (c != '0' && c != '1')
                return status_fail(CORNU_BAD_FILE,
                                   "damaged PNM: found byte 0x%02x; expected 0 or 1", c);
            bit = c - '0';
            r->at++;
        }
        out->pixels[i] = bit ? 0 : 255;
    }
    return CORNU_OK;
}

static cornu_status read_samples(reader *r, image *out)
{
    size_t count = (size_t)(out->height * out->width * out->channels);
    size_t bytes = r->most > 255 ? 2 : 1;
    if (r->kind > 3 && bytes * count > r->size - r->at)
        return fail_short();
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        if (r->kind <= 3) {
            TRY(read_number(r, 65535, &value));
        } else {
            value = r->data[r->at++];
            if (bytes == 2)
                value = value << 8 | r->data[r->at++];
        }
        out->pixels[i] = scale(r, value);
    }
    return CORNU_OK;
}

cornu_status pnm_decode(const uint8_t *data, size_t size, image *out)
{
    reader r = {.data = data, .size = size, .at = 2, .kind = data[1] - '0', .most = 1};
    bool bits = r.kind == 1 || r.kind == 4, color = r.kind == 3 || r.kind == 6;
    uint32_t width, height;
    TRY(read_number(&r, INT32_MAX / 10, &width));
    TRY(read_number(&r, INT32_MAX / 10, &height));
    if (!bits)
        TRY(read_number(&r, 65535, &r.most));
    if (r.most < 1)
        return status_fail(CORNU_BAD_FILE, "damaged PNM: largest value 0; expected 1 to 65535");
    if (r.kind > 3 && (r.at >= size || !is_space(data[r.at++])))
        return status_fail(CORNU_BAD_FILE, "damaged PNM: found no space behind the header");
    TRY(image_allocate(height, width, color ? 3 : 1, 0, out));
    return bits ? read_bits(&r, out) : read_samples(&r, out);
}
