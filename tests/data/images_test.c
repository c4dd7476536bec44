/* Images: decoding as Pillow does, resizing, folders of classes, and files that are no images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "data/images/image.h"
#include "support/made.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const uint8_t red[3] = {255, 0, 0}, grey[1] = {77}, white[3] = {255, 255, 255};

static char notices[8192];

static void on_notice(void *user, const char *line)
{
    (void)user;
    size_t used = strlen(notices);
    snprintf(notices + used, sizeof notices - used, "%s\n", line);
}

static cornu_status open_folder(const char *name, cornu_data **data)
{
    cornu_data_options options = {
        .size = sizeof options,
        .on_notice = on_notice,
        .images =
            &(cornu_folder_options){.size = sizeof(cornu_folder_options), .height = 6, .width = 4}};
    notices[0] = 0;
    *data = NULL;
    return cornu_data_open(scratch_path(name), &options, data);
}

static cornu_data *must_open(const char *name)
{
    cornu_data *data;
    if (open_folder(name, &data) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return data;
}

static void expect_notice(const char *text)
{
    if (!strstr(notices, text))
        fail_msg("found notices:\n%s\nexpected: %s", notices, text);
}

/* ---- single images ---- */

static void png_survives_a_round_trip(void **state)
{
    (void)state;
    float out[5 * 7 * 3], in[5 * 7 * 3];
    for (int channels = 1; channels <= 3; channels += 2) {
        for (int i = 0; i < 35 * channels; i++)
            out[i] = (float)((i * 7) % 256) / 255.0f;
        const char *path = scratch_path("a.png");
        assert_int_equal(cornu_image_write_png(path, 5, 7, channels, out), CORNU_OK);
        assert_int_equal(made_read(path, 5, 7, channels, in), CORNU_OK);
        for (int i = 0; i < 35 * channels; i++)
            assert_float_equal(in[i], out[i], 1e-6);
    }
    assert_int_equal(scratch_count(), 1);
}

static void values_outside_0_to_1_are_cut_off(void **state)
{
    (void)state;
    const float out[4] = {-3, 2, 0.5f, 0};
    float in[4];
    assert_int_equal(cornu_image_write_png(scratch_path("c.png"), 2, 2, 1, out), CORNU_OK);
    assert_int_equal(made_read(scratch_path("c.png"), 2, 2, 1, in), CORNU_OK);
    assert_float_equal(in[0], 0, 0);
    assert_float_equal(in[1], 1, 0);
    assert_float_equal(in[2], 128.0f / 255.0f, 1e-6);
}

/* The sources of a row of `to` pixels from `from` pixels. */
static void check_nearest(int from, int to, const uint8_t *expected)
{
    uint8_t line[32], out[32];
    for (int i = 0; i < from; i++)
        line[i] = (uint8_t)i;
    image row = {.height = 1, .width = from, .channels = 1, .pixels = line};
    image column = {.height = from, .width = 1, .channels = 1, .pixels = line};
    image_resize(&row, 1, to, 1, NULL, out);
    assert_memory_equal(out, expected, (size_t)to);
    image_resize(&column, to, 1, 1, NULL, out);
    assert_memory_equal(out, expected, (size_t)to);
}

static void nearest_takes_the_pixels_that_pillow_takes(void **state)
{
    (void)state;
    check_nearest(4, 4, (const uint8_t[]){0, 1, 2, 3});
    check_nearest(2, 4, (const uint8_t[]){0, 0, 1, 1});
    check_nearest(4, 2, (const uint8_t[]){1, 3});
    check_nearest(5, 3, (const uint8_t[]){0, 2, 4});
    check_nearest(3, 5, (const uint8_t[]){0, 0, 1, 2, 2});
    check_nearest(10, 4, (const uint8_t[]){1, 3, 6, 8});
    check_nearest(1, 3, (const uint8_t[]){0, 0, 0});
    /* Positions on whole numbers: Pillow 13.0 gives these, floor((i + 1/2) * scale) would not. */
    check_nearest(14, 5, (const uint8_t[]){1, 4, 6, 9, 12});
    check_nearest(4, 6, (const uint8_t[]){0, 1, 1, 2, 2, 3});
}

static void colours_are_converted_as_pillow_does(void **state)
{
    (void)state;
    float v[3];
    made_jpeg("grey.jpg", 8, 8, 1, grey);
    assert_int_equal(made_read(scratch_path("grey.jpg"), 1, 1, 3, v), CORNU_OK);
    for (int i = 0; i < 3; i++)
        assert_float_equal(v[i] * 255, 77, 1e-3);
    made_jpeg("red.jpg", 8, 8, 3, red);
    assert_int_equal(made_read(scratch_path("red.jpg"), 1, 1, 3, v), CORNU_OK);
    assert_float_equal(v[0] * 255, 254, 1.01);
    assert_float_equal(v[1] * 255, 0, 1.01);
    assert_int_equal(made_read(scratch_path("red.jpg"), 1, 1, 1, v), CORNU_OK);
    assert_float_equal(v[0] * 255, 76, 1.01); /* 0.299 * 255 */
    /* As stored, inverted: no cyan, half magenta, full yellow, no black. */
    const uint8_t cmyk[4] = {255, 128, 0, 255};
    made_jpeg("cmyk.jpg", 8, 8, 4, cmyk);
    assert_int_equal(made_read(scratch_path("cmyk.jpg"), 1, 1, 3, v), CORNU_OK);
    assert_float_equal(v[0] * 255, 255, 1.01);
    assert_float_equal(v[1] * 255, 128, 1.01);
    assert_float_equal(v[2] * 255, 0, 1.01);
}

/* A 1x1 PNG of a given type; `bytes` are its one pixel. */
static void write_png(const char *name, int type, int depth, const uint8_t *bytes)
{
    FILE *f = fopen(scratch_path(name), "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_color palette[2] = {{1, 2, 3}, {200, 100, 50}};
    png_init_io(png, f);
    png_set_IHDR(png, info, 1, 1, depth, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, palette, 2);
    png_write_info(png, info);
    png_write_row(png, bytes);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
}

static void every_kind_of_png_becomes_bytes(void **state)
{
    (void)state;
    static const struct {
        int type, depth;
        uint8_t bytes[8];
        int expected[3];
    } cases[] = {
        {PNG_COLOR_TYPE_PALETTE, 1, {0x80}, {200, 100, 50}},
        {PNG_COLOR_TYPE_GRAY, 1, {0x80}, {255, 255, 255}},
        {PNG_COLOR_TYPE_GRAY, 16, {0x40, 0x00}, {64, 64, 64}},
        {PNG_COLOR_TYPE_GRAY, 16, {0x40, 0xff}, {64, 64, 64}}, /* the upper 8 bits, as Pillow */
        {PNG_COLOR_TYPE_RGB, 16, {255, 255, 128, 128, 0, 0}, {255, 128, 0}},
        {PNG_COLOR_TYPE_RGB_ALPHA, 8, {9, 8, 7, 0}, {9, 8, 7}},
        {PNG_COLOR_TYPE_GRAY_ALPHA, 8, {5, 100}, {5, 5, 5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float v[3];
        write_png("x.png", cases[i].type, cases[i].depth, cases[i].bytes);
        assert_int_equal(made_read(scratch_path("x.png"), 1, 1, 3, v), CORNU_OK);
        for (int c = 0; c < 3; c++)
            assert_int_equal((int)(v[c] * 255 + 0.5f), cases[i].expected[c]);
    }
}

static void read_refused(const char *path, cornu_status status, const char *message)
{
    float v[3];
    cornu_status found = made_read(path, 1, 1, 3, v);
    if (found != status || !strstr(cornu_last_error(), message))
        fail_msg("found %s (%s); expected %s (%s)", cornu_status_name(found), cornu_last_error(),
                 cornu_status_name(status), message);
}

static void pnm_samples_are_rounded(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int expected;
    } cases[] = {{"P2 1 1 2 1", 128}, {"P2 1 1 3 1", 85}, {"P2 1 1 1000 999", 255}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float v;
        const char *path = scratch_write("x.pgm", cases[i].text, strlen(cases[i].text));
        assert_int_equal(made_read(path, 1, 1, 1, &v), CORNU_OK);
        assert_int_equal((int)(v * 255 + 0.5f), cases[i].expected);
    }
}

static void grey_of_colours_is_rounded(void **state)
{
    (void)state;
    static const char green[] = "P3 1 1 255 0 1 0", dark[] = "P3 1 1 255 1 0 1";
    float v;
    const char *path = scratch_write("x.ppm", green, sizeof green - 1);
    assert_int_equal(made_read(path, 1, 1, 1, &v), CORNU_OK);
    assert_int_equal((int)(v * 255 + 0.5f), 1); /* 0.587 */
    path = scratch_write("x.ppm", dark, sizeof dark - 1);
    assert_int_equal(made_read(path, 1, 1, 1, &v), CORNU_OK);
    assert_int_equal((int)(v * 255 + 0.5f), 0); /* 0.413 */
}

static void damaged_images_are_refused(void **state)
{
    (void)state;
    read_refused(scratch_path("none.jpg"), CORNU_NOT_FOUND, "none.jpg: no such file");
    read_refused(made_file("t.jpg", "hello", 5), CORNU_BAD_FILE, "no image's first bytes");
    read_refused(made_file("e.jpg", "", 0), CORNU_BAD_FILE, "no image's first bytes");
    read_refused(made_file("h.jpg", "\xff\xd8\xff", 3), CORNU_BAD_FILE, "h.jpg: damaged");
    struct stat info;
    char path[512];
    snprintf(path, sizeof path, "%s", made_jpeg("cut.jpg", 64, 64, 3, red));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - 40), 0);
    read_refused(path, CORNU_BAD_FILE, "cut.jpg: damaged or truncated JPEG");
    write_png("p.png", PNG_COLOR_TYPE_GRAY, 8, grey);
    snprintf(path, sizeof path, "%s", scratch_path("p.png"));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - 14), 0);
    read_refused(path, CORNU_BAD_FILE, "p.png: damaged or truncated PNG: file ends too early");
}

static void huge_images_are_refused_before_memory_is_taken(void **state)
{
    (void)state;
    /* A true header of 65500 x 65500 and no data. */
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff, 0xc0, 0,    11, 8,    0xff, 0xdc,
                                   0xff, 0xdc, 1,    1,    0x11, 0,  0xff, 0xda, 0,
                                   8,    1,    1,    0,    0,    63, 0,    0xff, 0xd9};
    read_refused(made_file("big.jpg", jpeg, sizeof jpeg), CORNU_BAD_FILE,
                 "image of 65500x65500 pixels; expected sides of 1 to 65535 and at most 200 "
                 "million pixels");
    uint8_t png[64] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I',
                       'H',  'D', 'R', 0,   1,    0,    0,    0,    1, 0, 0, 8,  2};
    uint32_t crc = (uint32_t)crc32(0, png + 12, 17);
    for (int i = 0; i < 4; i++)
        png[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
    memcpy(png + 33, "\0\0\0\0IDAT", 8);
    read_refused(made_file("big.png", png, sizeof png), CORNU_BAD_FILE,
                 "image of 65536x65536 pixels");
}

/* ---- folders ---- */

static void a_folder_becomes_classes_in_byte_order(void **state)
{
    (void)state;
    made_jpeg("f/train/b/2.jpg", 9, 5, 3, white);
    made_jpeg("f/train/b/10.jpg", 9, 5, 3, red);
    made_jpeg("f/train/a/x.JPG", 9, 5, 1, grey);
    made_jpeg("f/train/Z/x.jpeg", 9, 5, 3, red);
    made_jpeg("f/test/a/1.jpg", 9, 5, 1, grey);
    made_jpeg("f/test/b/1.jpg", 9, 5, 3, red);
    made_jpeg("f/test/Z/1.jpg", 9, 5, 3, red);
    cornu_data *data = must_open("f");
    cornu_data_info info = {.size = sizeof info};
    float v[72];
    int label;
    cornu_data_info_get(data, &info);
    assert_string_equal(info.name, "f");
    assert_int_equal(info.count[0], 4);
    assert_int_equal(info.count[1], 3);
    assert_int_equal(info.shape[0], 6);
    assert_int_equal(info.shape[1], 4);
    assert_int_equal(info.shape[2], 3);
    const char *const classes[3] = {"Z", "a", "b"};
    const int labels[4] = {0, 1, 2, 2};
    for (int i = 0; i < 3; i++)
        assert_string_equal(cornu_data_class_name(data, i), classes[i]);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, i, v, 72, &label), CORNU_OK);
        assert_int_equal(label, labels[i]);
        assert_true((v[1] > 0.5f) == (i == 3)); /* "10.jpg" (red) comes before "2.jpg" (white) */
    }
    cornu_data_close(data);
}

static void what_is_no_image_is_skipped_and_counted(void **state)
{
    (void)state;
    struct stat info;
    made_jpeg("f/train/a/1.jpg", 9, 5, 3, red);
    made_file("f/train/a/notes.txt", "hello", 5);
    char cut[512];
    snprintf(cut, sizeof cut, "%s", made_jpeg("f/train/a/0.jpg", 64, 64, 3, white));
    assert_int_equal(stat(cut, &info), 0);
    assert_int_equal(truncate(cut, info.st_size - 40), 0);
    made_jpeg("f/train/a/.more/1.jpg", 9, 5, 3, red);
    made_jpeg("f/train/.thumbs/1.jpg", 9, 5, 3, red);
    mkdir(scratch_path("f/train/nothing"), 0755);
    cornu_data *data = must_open("f");
    expect_notice("notes.txt: no image; skipped");
    expect_notice("0.jpg: damaged or truncated JPEG");
    expect_notice("f/train/a: 1 hidden files and folders left out");
    expect_notice(".thumbs: hidden folder; not taken as a class");
    expect_notice("nothing: class without images");
    expect_notice("f: 1 image in 2 classes (2 files skipped)");
    assert_int_equal(made_skipped(data), 2);
    assert_int_equal(made_count(data, CORNU_TRAIN), 1);
    assert_int_equal(data->class_count, 2); /* the empty class keeps its number */
    float v[72];
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 0, v, 72, NULL), CORNU_OK);
    assert_true(v[0] > 0.9f && v[1] < 0.1f); /* the red one moved into the gap */
    cornu_data_close(data);
}

static void names_may_be_of_any_script(void **state)
{
    (void)state;
    made_jpeg("Füße/train/中文/鳥 1.jpg", 9, 5, 3, red);
    made_jpeg("Füße/train/été/ça.jpg", 9, 5, 3, red);
    cornu_data *data = must_open("Füße");
    assert_string_equal(data->name, "Füße");
    assert_string_equal(cornu_data_class_name(data, 0), "été");
    assert_string_equal(cornu_data_class_name(data, 1), "中文");
    cornu_data_close(data);
}

static void the_test_split_has_several_usual_names(void **state)
{
    (void)state;
    static const char *const names[] = {"valid", "val", "validation", "test"};
    made_jpeg("f/train/a/1.jpg", 9, 5, 3, red);
    for (int i = 0; i < 4; i++) { /* each sorts before the existing ones */
        char name[64];
        for (int k = 0; k <= i; k++) {
            snprintf(name, sizeof name, "f/%s/a/%d.jpg", names[i], k);
            made_jpeg(name, 9, 5, 3, red);
        }
        cornu_data *data = must_open("f");
        assert_int_equal(data->block[1].count, i + 1);
        cornu_data_close(data);
    }
}

static void the_only_folder_of_images_inside_is_taken(void **state)
{
    (void)state;
    cornu_data *data;
    made_jpeg("up/one/train/a/1.jpg", 9, 5, 3, red);
    data = must_open("up");
    assert_string_equal(data->name, "one");
    cornu_data_close(data);
    made_jpeg("up/two/train/a/1.jpg", 9, 5, 3, red);
    assert_int_equal(open_folder("up", &data), CORNU_INVALID);
    assert_non_null(strstr(cornu_last_error(),
                           "up: holds images (one) and images (two); expected the folder of one"));
}

static void folders_without_use_are_refused(void **state)
{
    (void)state;
    cornu_data *data;
    made_file("a/train/x.txt", "x", 1);
    assert_int_equal(open_folder("a", &data), CORNU_NOT_FOUND);
    assert_non_null(strstr(cornu_last_error(), "expected IDX files, CIFAR's .bin files, or"));
    made_file("b/train/k/x.txt", "x", 1);
    assert_int_equal(open_folder("b", &data), CORNU_BAD_FILE);
    assert_non_null(
        strstr(cornu_last_error(), "train: found no readable images (1 file skipped, the first: "));
    made_jpeg("c/train/k/1.jpg", 9, 5, 3, red);
    made_jpeg("c/test/other/1.jpg", 9, 5, 3, red);
    assert_int_equal(open_folder("c", &data), CORNU_BAD_FILE);
    assert_non_null(strstr(cornu_last_error(), "test/other: class that is not in train"));
    assert_null(data);
}

static void formats_that_are_not_read_are_called_by_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *head;
        size_t size;
        const char *title;
    } cases[] = {
        {"1.jpg",
         "\0\0\0\x18"
         "ftypheic\0\0\0\0mif1heic",
         24, "HEIC"}, /* as phones rename it */
        {"2.heic",
         "\0\0\0\x18"
         "ftypmif1\0\0\0\0mif1heic",
         24, "HEIC"},
        {"3.avif",
         "\0\0\0\x1c"
         "ftypavif\0\0\0\0avifmif1",
         24, "AVIF"},
        {"4.CR2", "II*\0\x10\0\0\0CR\2\0", 12, "RAW (Canon CR2)"},
        {"5.NEF", "MM\0*\0\0\0\x8", 8, "RAW"},
        {"6.raf", "FUJIFILMCCD-RAW 0201", 20, "RAW (Fujifilm RAF)"},
        {"7.jxl", "\xff\x0a\0\0", 4, "JPEG XL"},
    };
    float value;
    char path[64], expected[160];
    cornu_data *data;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(path, sizeof path, "f/a/%s", cases[i].name);
        made_file(path, cases[i].head, cases[i].size);
        assert_int_equal(made_read(scratch_path(path), 1, 1, 1, &value), CORNU_UNSUPPORTED);
        snprintf(expected, sizeof expected,
                 "%s: found %s, which cornu does not read; expected JPEG", cases[i].name,
                 cases[i].title);
        assert_non_null(strstr(cornu_last_error(), expected));
    }
    assert_int_equal(open_folder("f", &data), CORNU_BAD_FILE);
    assert_non_null(strstr(cornu_last_error(), "f: found no readable images (7 files skipped, the "
                                               "first: "));
    assert_non_null(strstr(cornu_last_error(), ", which cornu does not read); expected"));
    made_jpeg("f/a/8.jpg", 9, 5, 3, red);
    data = must_open("f");
    expect_notice("f/a/3.avif: AVIF, which cornu does not read; skipped");
    cornu_data_close(data);
}

static void a_png_that_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    const float v[4] = {0};
    assert_int_equal(cornu_image_write_png(scratch_path("no/x.png"), 2, 2, 1, v) == CORNU_OK, 0);
    assert_int_equal(cornu_image_write_png(scratch_path("x.png"), 2, 2, 2, v), CORNU_INVALID);
    assert_int_equal(scratch_count(), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(png_survives_a_round_trip),
        TEST(values_outside_0_to_1_are_cut_off),
        TEST(nearest_takes_the_pixels_that_pillow_takes),
        TEST(colours_are_converted_as_pillow_does),
        TEST(every_kind_of_png_becomes_bytes),
        TEST(pnm_samples_are_rounded),
        TEST(grey_of_colours_is_rounded),
        TEST(damaged_images_are_refused),
        TEST(huge_images_are_refused_before_memory_is_taken),
        TEST(a_folder_becomes_classes_in_byte_order),
        TEST(what_is_no_image_is_skipped_and_counted),
        TEST(names_may_be_of_any_script),
        TEST(the_test_split_has_several_usual_names),
        TEST(the_only_folder_of_images_inside_is_taken),
        TEST(folders_without_use_are_refused),
        TEST(formats_that_are_not_read_are_called_by_their_names),
        TEST(a_png_that_cannot_be_written_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
