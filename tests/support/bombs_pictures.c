/* Pictures of at most 1 MB. Each has the largest sides, the most scans, chunks or samples that its
   format can claim in so few bytes, or as many as the bound of docs/images.md allows. */
#include "support/bombs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <jpeglib.h>

/* ---- JPEG ---- */

/* A small JPEG of 8-pixel checks. */
static void make_jpeg(bytes *out, int progressive, int arithmetic)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long size = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &data, &size);
    jpeg.image_height = jpeg.image_width = 32;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    for (int i = 0; i < 3; i++)
        jpeg.comp_info[i].h_samp_factor = jpeg.comp_info[i].v_samp_factor = 1;
    if (progressive)
        jpeg_simple_progression(&jpeg);
    jpeg.arith_code = arithmetic;
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < 32) {
        uint8_t row[96], *rows[1] = {row};
        for (int i = 0; i < 96; i++)
            row[i] = (uint8_t)(i * 37 ^ (int)jpeg.next_scanline * 11);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    put(out, data, size);
    free(data);
}

/* The position of the first marker from `at` on that is `first` to `last`; its length follows
   it. */
static size_t find_marker(const bytes *b, size_t at, int first, int last)
{
    for (; at + 1 < b->size; at++)
        if (b->data[at] == 0xff && b->data[at + 1] >= first && b->data[at + 1] <= last)
            return at;
    return b->size;
}

/* The frame gets other sides; data missing from its scans count as zeros. */
static void set_jpeg_sides(bytes *b, int height, int width)
{
    size_t huffman = find_marker(b, 2, 0xc0, 0xc2), arithmetic = find_marker(b, 2, 0xc9, 0xca);
    uint8_t *frame = b->data + (huffman < arithmetic ? huffman : arithmetic);
    frame[5] = (uint8_t)(height >> 8);
    frame[6] = (uint8_t)height;
    frame[7] = (uint8_t)(width >> 8);
    frame[8] = (uint8_t)width;
}

static void jpeg_progressive(bytes *out)
{
    make_jpeg(out, 1, 0);
    set_jpeg_sides(out, 10000, 10000);
}

static void jpeg_arithmetic(bytes *out)
{
    make_jpeg(out, 0, 1);
    set_jpeg_sides(out, 7000, 7000);
}

/* The last scan over and over, on as many pixels as a progressive file may have. */
static void jpeg_scans(bytes *out)
{
    make_jpeg(out, 1, 0);
    size_t begin = 0, end = out->size - 2;
    for (size_t at = 2; (at = find_marker(out, at, 0xda, 0xda)) < end; at++)
        begin = at;
    bytes scan = {0};
    put(&scan, out->data + begin, end - begin);
    out->size = end;
    while (out->size + scan.size < 999000)
        put(out, scan.data, scan.size);
    put(out, "\xff\xd9", 2);
    set_jpeg_sides(out, 4200, 4200);
    free(scan.data);
}

/* Bits after a JPEG's scan header; a byte 0xff is followed by a zero. */
static void put_scan_bits(bytes *out, uint32_t bits, int count, uint32_t *held, int *held_count)
{
    for (int i = count - 1; i >= 0; i--) {
        *held = *held << 1 | (bits >> i & 1);
        if (++*held_count < 8)
            continue;
        put(out, &(uint8_t){(uint8_t)*held}, 1);
        if ((uint8_t)*held == 0xff)
            put(out, "", 1);
        *held_count = 0;
    }
}

/* A grey picture whose coefficients, all 0, are refined again and again: 15 bits are 32767 blocks,
   and the decoder visits every coefficient of each. */
static void jpeg_refinements(bytes *out)
{
    enum { SIDE = 7300, BLOCKS = ((SIDE + 7) / 8) * ((SIDE + 7) / 8), RUN = 32767 };
    put(out, "\xff\xd8\xff\xdb\0\x43\0", 7);
    for (int i = 0; i < 64; i++)
        put(out, "\1", 1);
    put(out, "\xff\xc2\0\x0b\x08", 5);
    put_big(out, SIDE, 2);
    put_big(out, SIDE, 2);
    put(out, "\1\1\x11\0", 4);
    put(out, "\xff\xc4\0\x14\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
    put(out, "\xff\xc4\0\x14\x10\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xe0", 22);
    put(out, "\xff\xda\0\x08\1\1\0\0\0\1", 10); /* the first coefficients, all missing */
    while (out->size < 990000) {
        uint32_t held = 0;
        int count = 0;
        put(out, "\xff\xda\0\x08\1\1\0\1\x3f\x10", 10);
        for (int left = BLOCKS; left > 0; left -= RUN)
            put_scan_bits(out, 0x3fff, 15, &held, &count);
        put_scan_bits(out, 0x7f, 7, &held, &count);
    }
    put(out, "\xff\xd9", 2);
}

/* ---- PNG ---- */

static void put_chunk(bytes *out, const char *type, const bytes *data)
{
    put_big(out, data->size, 4);
    size_t begin = out->size;
    put(out, type, 4);
    put(out, data->data, data->size);
    put_big(out, crc32(0, out->data + begin, (uInt)(out->size - begin)), 4);
}

static void put_png_head(bytes *out, uint32_t height, uint32_t width, int depth, int color,
                         int interlaced)
{
    bytes head = {0};
    put_big(&head, width, 4);
    put_big(&head, height, 4);
    put(&head, (uint8_t[]){(uint8_t)depth, (uint8_t)color, 0, 0, (uint8_t)interlaced}, 5);
    put(out, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(out, "IHDR", &head);
    free(head.data);
}

/* All bytes are the same, so that the costliest of PNG's filters is chosen wherever a row begins.
 */
static void put_png_rows(bytes *out, size_t rows, size_t row_bytes)
{
    enum { PAETH = 4, PIECE = 1 << 20 };
    bytes data = {0};
    uint8_t *piece = malloc(PIECE);
    memset(piece, PAETH, PIECE);
    put_deflated(&data, piece, PIECE, (int)(rows * (row_bytes + 1) / PIECE) + 1, 15);
    put_chunk(out, "IDAT", &data);
    put_chunk(out, "IEND", &(bytes){0});
    free(piece);
    free(data.data);
}

static void png_tall(bytes *out)
{
    put_png_head(out, 100000000, 1, 8, 0, 0);
    put_png_rows(out, 1, 1);
}

static void png_texts(bytes *out)
{
    enum { TEXTS = 90 };
    uint8_t *zeros = calloc(1, 1 << 20);
    put_png_head(out, 1, 1, 8, 0, 0);
    for (int i = 0; i < TEXTS; i++) {
        bytes text = {0};
        char key[16];
        put(&text, key, (size_t)snprintf(key, sizeof key, "key%d", i) + 1);
        put(&text, "", 1);
        put_deflated(&text, zeros, 1 << 20, 9, 15);
        put_chunk(out, "zTXt", &text);
        free(text.data);
    }
    put_png_rows(out, 1, 1);
    free(zeros);
}

static void png_rgb(bytes *out)
{
    put_png_head(out, 7300, 7300, 8, 2, 0);
    put_png_rows(out, 7300, 7300 * 3);
}

static void png_interlaced(bytes *out)
{
    put_png_head(out, 7300, 7300, 8, 2, 1);
    put_png_rows(out, 7400, 7300 * 3);
}

static void png_deep(bytes *out)
{
    put_png_head(out, 4470, 4470, 16, 6, 0);
    put_png_rows(out, 4470, 4470 * 8);
}

/* ---- GIF ---- */

typedef struct codes {
    bytes *out;
    uint32_t bits;
    int count, size;
    uint8_t block[256];
} codes;

static void put_code(codes *c, uint32_t code)
{
    c->bits |= code << c->count;
    for (c->count += c->size; c->count >= 8; c->count -= 8, c->bits >>= 8) {
        c->block[1 + c->block[0]++] = (uint8_t)c->bits;
        if (c->block[0] == 255) {
            put(c->out, c->block, 256);
            c->block[0] = 0;
        }
    }
}

/* LZW of one colour: each code stands for one pixel more than the code before. */
static void put_gif(bytes *out, const char *magic, int height, int width)
{
    enum { CLEAR = 4, END = 5, MOST = 4095 };
    codes c = {.out = out, .size = 3};
    put(out, magic, 6);
    put_little(out, (uint64_t)width, 2);
    put_little(out, (uint64_t)height, 2);
    put(out, "\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0", 14);
    put_little(out, (uint64_t)width, 2);
    put_little(out, (uint64_t)height, 2);
    put(out, "\0\2", 2);
    for (int64_t left = (int64_t)height * width; left > 0;) {
        c.size = 3;
        put_code(&c, CLEAR);
        put_code(&c, 0);
        left--;
        for (uint32_t code = END + 1, length = 2; code < MOST && left > 0; code++, length++) {
            put_code(&c, code);
            left -= length;
            c.size += code + 1 == 1u << c.size && c.size < 12;
        }
    }
    put_code(&c, END);
    c.block[1 + c.block[0]++] = (uint8_t)c.bits;
    put(out, c.block, c.block[0] + 1u);
    put(out, "\0;", 2);
}

static void gif_87(bytes *out)
{
    put_gif(out, "GIF87a", 7300, 7300);
}

static void gif_89(bytes *out)
{
    put_gif(out, "GIF89a", 20000, 10000);
}

/* ---- BMP ---- */

static void put_bmp(bytes *out, int32_t height, int32_t width)
{
    put(out, "BM\0\0\0\0\0\0\0\0", 10);
    put_little(out, 54, 4);
    put_little(out, 40, 4);
    put_little(out, (uint32_t)width, 4);
    put_little(out, (uint32_t)height, 4);
    put_little(out, 1, 2);
    put_little(out, 8, 2);
    put_little(out, 1, 4); /* run-length coded */
    for (int i = 0; i < 5; i++)
        put_little(out, 0, 4);
}

static void bmp_tall(bytes *out)
{
    put_bmp(out, 100000000, 1);
    put(out, "\0\1", 2);
}

static void bmp_narrow(bytes *out)
{
    put_bmp(out, 65535, 800);
    put(out, "\0\1", 2);
}

static void bmp_runs(bytes *out)
{
    put_bmp(out, 7300, 7300);
    while (out->size < 999000)
        put(out, "\xff\1", 2);
    put(out, "\0\1", 2);
}

/* ---- WebP ---- */

/* Lossless, of one colour, which takes no bits: codes of one symbol. */
static void put_webp(bytes *out, uint64_t height, uint64_t width)
{
    uint64_t head = 0x2f | (width - 1) << 8 | (height - 1) << 22 | 1ull << 36;
    bytes frame = {0};
    put_little(&frame, head, 5);
    /* no transform, cache or groups; five times: simple, one symbol, of one bit, 0 */
    put_little(&frame, 1 << 3 | 1 << 7 | 1 << 11 | 1 << 15 | 1 << 19, 19);
    put(out, "RIFF", 4);
    put_little(out, 12 + frame.size, 4);
    put(out, "WEBPVP8L", 8);
    put_little(out, frame.size, 4);
    put(out, frame.data, frame.size);
    free(frame.data);
}

typedef struct bits {
    bytes out;
    uint64_t held;
    int count;
} bits;

static void put_bits(bits *b, uint64_t value, int count)
{
    b->held |= value << b->count;
    for (b->count += count; b->count >= 8; b->count -= 8, b->held >>= 8)
        put(&b->out, &(uint8_t){(uint8_t)b->held}, 1);
}

/* A code of one symbol, 0: it takes no bits. */
static void put_no_code(bits *b)
{
    put_bits(b, 1, 4);
}

/* A code of 8 bits for each of 256 symbols; `more` if the alphabet has further symbols. */
static void put_even_code(bits *b, int more)
{
    put_bits(b, 8 << 1, 5);
    put_bits(b, 1ull << 33, 36); /* of the lengths, only 8 is used */
    if (more)
        put_bits(b, 1 | 3 << 1 | 254 << 4, 12);
    else
        put_bits(b, 0, 1);
}

static uint8_t reversed(int value)
{
    int out = 0;
    for (int i = 0; i < 8; i++)
        out |= (value >> i & 1) << (7 - i);
    return (uint8_t)out;
}

/* Lossless, with 65536 groups of codes, each of which takes a table of 5 kB. */
static void webp_groups(bytes *out)
{
    enum { SIDE = 3640, TILES = (SIDE + 7) / 8, GROUPS = 65536 };
    bits b = {.count = 0};
    put_bits(&b, 0x2f, 8);
    put_bits(&b, SIDE - 1, 14);
    put_bits(&b, SIDE - 1, 14);
    put_bits(&b, 1, 4);
    put_bits(&b, 1 << 2 | 1 << 3, 7); /* no transform or cache, but groups of 8x8 pixels */
    put_even_code(&b, 1);             /* the group of each tile: in green and red */
    put_even_code(&b, 0);
    for (int i = 0; i < 3; i++)
        put_no_code(&b);
    for (int i = 0; i < TILES * TILES; i++)
        put_bits(&b, reversed(i & 255) | (uint64_t)reversed(i >> 8 & 255) << 8, 16);
    for (int i = 0; i < GROUPS * 5; i++)
        put_no_code(&b);
    put_bits(&b, 0, 56);
    put_bits(&b, 0, 56);
    put(&b.out, "", b.out.size % 2);
    put(out, "RIFF", 4);
    put_little(out, 12 + b.out.size, 4);
    put(out, "WEBPVP8L", 8);
    put_little(out, b.out.size, 4);
    put(out, b.out.data, b.out.size);
    free(b.out.data);
}

static void webp_large(bytes *out)
{
    put_webp(out, 16384, 16384);
}

static void webp_within(bytes *out)
{
    put_webp(out, 3640, 3640);
}

/* ---- TIFF ---- */

typedef struct tiff {
    bytes *out;
    int big_endian, big;
} tiff;

static void put_number(const tiff *t, uint64_t value, int size)
{
    if (t->big_endian)
        put_big(t->out, value, size);
    else
        put_little(t->out, value, size);
}

/* One number of 16 bits (type 3) or 32 (4). */
static void put_tag(const tiff *t, int tag, int type, uint32_t value)
{
    put_number(t, (uint64_t)tag, 2);
    put_number(t, (uint64_t)type, 2);
    put_number(t, 1, t->big ? 8 : 4);
    put_number(t, value, type == 3 ? 2 : 4);
    for (int left = (t->big ? 8 : 4) - (type == 3 ? 2 : 4); left > 0; left--)
        put(t->out, "", 1);
}

/* One deflated strip of zeros: `samples` of 16 bits a pixel. */
static void put_tiff(tiff t, uint32_t side, uint32_t samples)
{
    enum { TAGS = 11, PIECE = 1 << 20 };
    bytes strip = {0};
    uint8_t *zeros = calloc(1, PIECE);
    put_deflated(&strip, zeros, PIECE, (int)((uint64_t)side * side * samples * 2 / PIECE) + 1, 15);
    uint32_t at = t.big ? 16 : 8;
    put_text(t.out, t.big_endian ? "MM" : "II");
    put_number(&t, t.big ? 43 : 42, 2);
    if (t.big) {
        put_number(&t, 8, 2); /* bytes of an offset */
        put_number(&t, 0, 2);
    }
    put_number(&t, at + strip.size, t.big ? 8 : 4);
    put(t.out, strip.data, strip.size);
    put_number(&t, TAGS, t.big ? 8 : 2);
    put_tag(&t, 256, 4, side);
    put_tag(&t, 257, 4, side);
    put_tag(&t, 258, 3, 16);
    put_tag(&t, 259, 3, 8); /* deflate */
    put_tag(&t, 262, 3, samples < 3 ? 1 : 2);
    put_tag(&t, 273, 4, at);
    put_tag(&t, 277, 3, samples);
    put_tag(&t, 278, 4, side);
    put_tag(&t, 279, 4, (uint32_t)strip.size);
    put_tag(&t, 284, 3, 1);
    put_tag(&t, 317, 3, 2); /* differences */
    put_number(&t, 0, t.big ? 8 : 4);
    free(strip.data);
    free(zeros);
}

static void tiff_little(bytes *out)
{
    put_tiff((tiff){out, 0, 0}, 5400, 16);
}

static void tiff_big_endian(bytes *out)
{
    put_tiff((tiff){out, 1, 0}, 5000, 16);
}

static void tiff_big(bytes *out)
{
    put_tiff((tiff){out, 0, 1}, 2100, 16);
}

static void tiff_big_big_endian(bytes *out)
{
    put_tiff((tiff){out, 1, 1}, 7300, 1);
}

/* ---- PBM, PGM, PPM ---- */

static void fill(bytes *out, const char *piece)
{
    while (out->size < 999000)
        put_text(out, piece);
}

static void pbm_text(bytes *out)
{
    put_text(out, "P1 65535 3000\n");
    fill(out, "1");
}

static void pgm_text(bytes *out)
{
    put_text(out, "P2 700 700 255\n");
    fill(out, "9 ");
}

static void ppm_text(bytes *out)
{
    put_text(out, "P3 ");
    fill(out, "# comment\n");
    put_text(out, "7300 7300 255\n");
}

static void pbm_raw(bytes *out)
{
    put_text(out, "P4 8000 998\n");
    fill(out, "\xaa");
}

static void pgm_raw(bytes *out)
{
    put_text(out, "P5 65535 3000 65535\n");
}

static void ppm_raw(bytes *out)
{
    put_text(out, "P6 65535 65535 255\n");
}

const bomb bombs_pictures[] = {{"progressive.jpg", jpeg_progressive},
                               {"arithmetic.jpg", jpeg_arithmetic},
                               {"scans.jpg", jpeg_scans},
                               {"refinements.jpg", jpeg_refinements},
                               {"tall.png", png_tall},
                               {"texts.png", png_texts},
                               {"rgb.png", png_rgb},
                               {"interlaced.png", png_interlaced},
                               {"deep.png", png_deep},
                               {"87.gif", gif_87},
                               {"89.gif", gif_89},
                               {"tall.bmp", bmp_tall},
                               {"narrow.bmp", bmp_narrow},
                               {"runs.bmp", bmp_runs},
                               {"large.webp", webp_large},
                               {"within.webp", webp_within},
                               {"groups.webp", webp_groups},
                               {"little.tif", tiff_little},
                               {"big-endian.tif", tiff_big_endian},
                               {"big.tif", tiff_big},
                               {"big-big-endian.tif", tiff_big_big_endian},
                               {"text.pbm", pbm_text},
                               {"text.pgm", pgm_text},
                               {"text.ppm", ppm_text},
                               {"raw.pbm", pbm_raw},
                               {"raw.pgm", pgm_raw},
                               {"raw.ppm", ppm_raw},
                               {NULL, NULL}};
