/* Damaged image files: each gives one line that names the file, takes no memory beyond its limits
   and ends no process. The good files are those of images.npz (see peers/make_image_fixtures.py);
   each is damaged here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/images/image.h"
#include "format/tensor_file.h"
#include "support/fixtures.h"
#include "support/made.h"
#include "support/scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static tensor_file *fixtures;

static int open_fixtures(void **state)
{
    (void)state;
    return tensor_file_open(fixture_path("images.npz"), &fixtures) == CORNU_OK ? 0 : -1;
}

static int close_fixtures(void **state)
{
    (void)state;
    tensor_file_close(fixtures);
    return 0;
}

/* A good file's bytes, to be changed and freed by the caller. */
typedef struct good_file {
    char name[64];
    uint8_t *bytes;
    size_t size;
} good_file;

/* The good file after position (*line, *at), which moves on; false at the end. */
static bool next_good(size_t *line, size_t *at, good_file *g)
{
    const file_tensor *cases = tensor_file_find(fixtures, "cases");
    const file_tensor *files = tensor_file_find(fixtures, "files");
    if ((int64_t)*line >= cases->count)
        return false;
    const char *text = (const char *)cases->data + *line;
    assert_int_equal(sscanf(text, "%63s %zu", g->name, &g->size), 2);
    *line += (size_t)((const char *)memchr(text, '\n', (size_t)cases->count - *line) - text) + 1;
    g->bytes = malloc(g->size + 1);
    memcpy(g->bytes, (const uint8_t *)files->data + *at, g->size);
    *at += g->size;
    return true;
}

static good_file good(const char *name)
{
    good_file g;
    for (size_t line = 0, at = 0; next_good(&line, &at, &g); free(g.bytes))
        if (!strcmp(g.name, name))
            return g;
    fail_msg("no fixture %s", name);
    return g;
}

/* The file is refused, in one line that begins with its path and contains `message`. */
static void refused(const char *path, const char *message)
{
    image i;
    cornu_status status = image_open(path, &i);
    const char *line = cornu_last_error();
    if (status == CORNU_OK || strncmp(line, path, strlen(path)) || strchr(line, '\n') ||
        !strstr(line, message))
        fail_msg("%s: found %s (%s); expected a refusal with \"%s\"", path,
                 cornu_status_name(status), line, message);
    image_close(&i);
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    good_file g;
    int cut = 0;
    for (size_t line = 0, at = 0; next_good(&line, &at, &g); free(g.bytes)) {
        if (strstr(g.name, "-frames") || strstr(g.name, "-pages"))
            continue; /* the first picture may be whole */
        for (size_t part = 1; part <= 4; part++, cut++)
            refused(made_file(g.name, g.bytes, g.size * part / 5), "");
    }
    assert_true(cut >= 280);
}

typedef struct change {
    const char *name;  /* of the good file */
    int at;            /* first byte to change; negative: counted from the end */
    const char *bytes; /* their new values */
    int count;
    const char *message;
} change;

#define BYTES(text) text, (int)sizeof text - 1

static const change changes[] = {
    /* dimensions */
    {"gif", 6, BYTES("\xff\xff\xff\xff"),
     "image of 65535x65535 pixels; expected sides of 1 to 65535"},
    {"bmp-RGB", 18, BYTES("\xff\xff\xff\x7f"), "image of 2147483647x7 pixels"},
    {"bmp-RGB", 18, BYTES("\0\0\0\0"), "image of 0x7 pixels"},
    {"bmp-RGB", 18, BYTES("\xf6\xff\xff\xff"), "image of -10x7 pixels"},
    {"bmp-RGB", 22, BYTES("\0\0\0\x80"), "image of 10x2147483648 pixels"},
    {"bmp-RGB", 22, BYTES("\x08"), "truncated BMP: the file ends too early"},
    {"pgm", 3, BYTES("99999999 9\n9\n"), "image of 99999999x9"},
    {"pgm", 3, BYTES("9999999999"), "found more than 214748364"},
    {"pgm", 3, BYTES("0"), "image of 0x7 pixels"},
    {"ppm", 0, BYTES("P6\n99 7"), "truncated PNM: the file ends too early"},
    {"webp-lossless", 21, BYTES("\xff\xff\xff\x0f"), "image of 16384x16384 pixels"},
    {"jpeg", -1, BYTES("\xd8"), "damaged or truncated JPEG"},
    /* headers and tables */
    {"jpeg", 4, BYTES("\xff\xff"), "damaged or truncated JPEG"},
    {"png-RGB", 24, BYTES("\x03"), "damaged or truncated PNG"},
    {"png-RGB", 29, BYTES("\0\0\0\0"), "damaged or truncated PNG: IHDR: CRC error"},
    {"png-RGB", 33,
     BYTES("\x7e\0\0\x1a"
           "eXIf"),
     "damaged or truncated PNG: eXIf: more bytes than"},
    {"png-P", 37, BYTES("XXXX"), "damaged or truncated PNG"},
    {"gif", 3, BYTES("88"), "found no image's first bytes; expected JPEG, PNG, GIF"},
    {"gif", 13, BYTES(","), ""},
    {"bmp-RGB", 14, BYTES("\x0d"), "header of 13 bytes; expected 12 or 40 on"},
    {"bmp-RGB", 14, BYTES("\xff\xff\xff\xff"), "header of 4294967295 bytes"},
    {"bmp-RGB", 28, BYTES("\x07"), "BMP of 7 bits in compression 0"},
    {"bmp-RGB", 30, BYTES("\x04"), "BMP of 24 bits in compression 4"},
    {"bmp-RGB", 10, BYTES("\xff\xff\xff\xff"), "truncated BMP"},
    {"bmp-565", 54, BYTES("\0\0\0\0"), "colour mask 0; expected some bits"},
    {"bmp-rle8", -2, BYTES("\0\0"), ""},
    {"bmp-rle8", -2, BYTES("\0\xff"), "truncated BMP"},
    {"pgm-text", 7, BYTES("000"), "largest value 0; expected 1 to 65535"},
    {"pgm-text", 12, BYTES("x"), "found byte 0x78; expected a number"},
    {"pbm-text", 19, BYTES("2"), "found byte 0x32; expected 0 or 1"},
    {"ppm", 9, BYTES("X"), ""},
    {"webp", 8, BYTES("WEBQ"), "found no image's first bytes"},
    {"webp", 12, BYTES("XXXX"), "damaged or truncated WebP"},
    {"webp-lossless", 20, BYTES("\0"), "damaged or truncated WebP"},
    {"webp", 4, BYTES("\xff\xff\xff\xff"), "damaged or truncated WebP"},
    {"tiff-tiles", 4, BYTES("\xff\xff\xff\xff"), "damaged or truncated TIFF"},
    {"tiff-tiles", 4, BYTES("\0\0\0\0"), "damaged or truncated TIFF"},
};

static void changed_files_are_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        const change *c = &changes[k];
        good_file g = good(c->name);
        char name[128];
        snprintf(name, sizeof name, "%s-%zu", c->name, k);
        memcpy(g.bytes + (c->at < 0 ? (int)g.size + c->at : c->at), c->bytes, (size_t)c->count);
        const char *path = made_file(name, g.bytes, g.size);
        free(g.bytes);
        if (*c->message) {
            refused(path, c->message);
        } else { /* any result is right, except a crash */
            image i;
            if (image_open(path, &i) == CORNU_OK)
                image_close(&i);
        }
    }
}

/* Set a tag of a TIFF made by tiff() of the fixtures' script (big-endian, longs). */
static void set_tag(good_file *g, int tag, uint32_t value)
{
    const uint8_t *b = g->bytes;
    size_t at = (size_t)b[4] << 24 | (size_t)b[5] << 16 | (size_t)b[6] << 8 | b[7];
    int count = b[at] << 8 | b[at + 1];
    for (int i = 0; i < count; i++) {
        uint8_t *entry = g->bytes + at + 2 + 12 * i;
        if ((entry[0] << 8 | entry[1]) != tag)
            continue;
        for (int k = 0; k < 4; k++)
            entry[8 + k] = (uint8_t)(value >> (24 - 8 * k));
        entry[7] = 1; /* one value, here */
        return;
    }
    fail_msg("no tag %d", tag);
}

static void lying_tiff_tags_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int tag;
        uint32_t value;
        const char *message;
    } cases[] = {
        {"tiff-white-is-0", 256, 0xffffffff, "image of 4294967295x7 pixels"},
        {"tiff-white-is-0", 257, 0, "damaged or truncated TIFF"},
        {"tiff-white-is-0", 257, 90000000, "damaged or truncated TIFF"},
        {"tiff-white-is-0", 258, 32, "bits of a sample 32; expected 1, 2, 4, 8 or 16"},
        {"tiff-white-is-0", 259, 4711, "compression 4711"},
        {"tiff-white-is-0", 259, 6, "compression 6; expected one that libtiff reads"},
        {"tiff-white-is-0", 262, 99, "photometric interpretation 99"},
        {"tiff-white-is-0", 262, 2, "samples of a pixel 1; expected as many as its colours"},
        {"tiff-white-is-0", 262, 8, "photometric interpretation 8; expected 0 to 3, 5 or 6"},
        {"tiff-white-is-0", 277, 60000, "samples of a pixel 60000; expected 1 to 16"},
        {"tiff-16-bits", 273, 0xfffffff0, "damaged or truncated TIFF"},
        {"tiff-16-bits", 259, 5, "damaged or truncated TIFF"},
        {"tiff-16-bits", 259, 8, "damaged or truncated TIFF"},
        {"tiff-planes", 284, 3, "damaged or truncated TIFF"},
        {"tiff-tiles", 322, 0x7ffffff0, ""},
        {"tiff-tiles", 323, 0x7ffffff0, ""},
        {"tiff-tiles", 322, 0, ""},
        {"tiff-tiles", 324, 0xffffff00, "damaged or truncated TIFF"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        good_file g = good(cases[i].name);
        char name[64];
        snprintf(name, sizeof name, "%d-%zu.tif", cases[i].tag, i);
        set_tag(&g, cases[i].tag, cases[i].value);
        refused(made_file(name, g.bytes, g.size), cases[i].message);
        free(g.bytes);
    }
}

static void what_is_no_image_file_is_told(void **state)
{
    (void)state;
    refused(made_file("empty.png", "", 0), "found no image's first bytes; expected JPEG, PNG");
    refused(made_file("text.jpg", "hello", 5), "found no image's first bytes");
    refused(made_file("short.webp", "RIFF\x10\0\0\0WEB", 11), "found no image's first bytes");
    refused(made_file("zeros.bmp", (char[4096]){0}, 4096), "found no image's first bytes");
    made_file("folder.jpg/inside.txt", "x", 1);
    refused(scratch_path("folder.jpg"), "found a folder; expected an image");
    refused(scratch_path("none.gif"), "no such file");
    static const char *const heads[] = {"\xff\xd8\xff",
                                        "\x89PNG\r\n\x1a\n",
                                        "GIF87a",
                                        "BM",
                                        "RIFF\x04\0\0\0WEBP",
                                        "II*",
                                        "P1",
                                        "P2",
                                        "P6"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char name[32], bytes[64] = {0};
        size_t size = i == 4 ? 12 : i == 5 ? 4 : strlen(heads[i]);
        memcpy(bytes, i == 4 ? "RIFF\x04\0\0\0WEBP" : heads[i], i == 5 ? 3 : size);
        snprintf(name, sizeof name, "head-%zu", i);
        refused(made_file(name, bytes, size), "damaged");
        refused(made_file(name, bytes, sizeof bytes), ""); /* zeros after it */
    }
}

static void a_wrong_ending_does_not_matter(void **state)
{
    (void)state;
    image i;
    good_file g = good("webp");
    assert_int_equal(image_open(made_file("x.jpg", g.bytes, g.size), &i), CORNU_OK);
    image_close(&i);
    free(g.bytes);
}

/* Every fourth byte of every file in turn gets another value: the result is an image or a
   refusal. */
static void spoiled_bytes_crash_nothing(void **state)
{
    (void)state;
    good_file g;
    for (size_t line = 0, at = 0; next_good(&line, &at, &g); free(g.bytes))
        for (size_t k = 0; k < g.size; k += 4) {
            image i;
            uint8_t kept = g.bytes[k];
            g.bytes[k] = k % 3 == 0 ? 0xff : k % 3 == 1 ? 0 : (uint8_t)(kept ^ 0x41);
            if (image_decode(g.bytes, g.size, &i) == CORNU_OK)
                image_close(&i);
            else
                assert_null(i.pixels);
            g.bytes[k] = kept;
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cut_files_are_refused),          TEST(changed_files_are_refused),
        TEST(lying_tiff_tags_are_refused),    TEST(what_is_no_image_file_is_told),
        TEST(a_wrong_ending_does_not_matter), TEST(spoiled_bytes_crash_nothing),
    };
    return cmocka_run_group_tests(tests, open_fixtures, close_fixtures);
}
