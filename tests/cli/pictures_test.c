/* Pictures through the built program: as letters, and more of them than are predicted at a time. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The first letter that is drawn for a picture of one colour. */
static char letter_of(const uint8_t *color)
{
    char path[64];
    snprintf(path, sizeof path, "colour-%d-%d/a/1.jpg", color[0], color[1]);
    made_jpeg(path, 16, 16, 3, color);
    *strchr(path, '/') = 0;
    char folder[80];
    snprintf(folder, sizeof folder, "./%s", path);
    program p = program_run(ARGUMENTS("data", "show", folder, "0"));
    assert_int_equal(p.status, 0);
    const char *picture = p.out; /* behind the notices, which are whole lines */
    while (strspn(picture, " .:-=+*#%@") != strcspn(picture, "\n"))
        picture = strchr(picture, '\n') + 1;
    char letter = *picture;
    program_free(&p);
    return letter;
}

static void colours_are_drawn_by_their_brightness(void **state)
{
    (void)state;
    /* 0.299 red, 0.587 green and 0.114 blue of ten letters */
    assert_int_equal(letter_of((uint8_t[]){255, 0, 0}), ':');
    assert_int_equal(letter_of((uint8_t[]){0, 255, 0}), '+');
    assert_int_equal(letter_of((uint8_t[]){128, 128, 128}), '=');
}

static const char large[] = "model:\n"
                            "  input: [1024, 1024, 3]\n"
                            "  layers: [GlobalAveragePooling2D, {Dense: {units: 2, activation: "
                            "softmax}}]\n"
                            "compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}\n"
                            "fit: {batch_size: 2, epochs: 1}\n";

/* What stands behind the last two spaces of a line: a class and its output. */
static const char *prediction_of(const char *line)
{
    size_t length = strcspn(line, "\n");
    const char *at = line + length;
    while (at > line && strncmp(at, "  ", 2) != 0)
        at--;
    return at;
}

/* Five of this size are read and predicted at a time. */
static void samples_of_a_set_are_predicted_as_their_files(void **state)
{
    (void)state;
    enum { FILES = 7 };
    static const char *const names[FILES] = {"set/a/0.pgm", "set/a/1.pgm", "set/a/2.pgm",
                                             "set/a/3.pgm", "set/b/4.pgm", "set/b/5.pgm",
                                             "set/b/6.pgm"};
    scratch_write("large.yaml", large, sizeof large - 1);
    for (int i = 0; i < FILES; i++)
        made_grey(names[i], 40 * i);
    program p[3] = {
        program_run(ARGUMENTS("train", "large.yaml", "--data", "set", "--quiet", "--save",
                              "m.safetensors")),
        program_run(ARGUMENTS("predict", "m.safetensors", "--data", "set", "--top=1")),
        program_run(ARGUMENTS("predict", "m.safetensors", names[0], names[1], names[2], names[3],
                              names[4], names[5], names[6], "--top=1")),
    };
    for (int i = 0; i < 3; i++)
        assert_int_equal(p[i].status, 0);
    const char *sample = p[1].out, *file = p[2].out;
    for (int i = 0; i < FILES; i++) {
        const char *a = prediction_of(sample), *b = prediction_of(file);
        assert_int_equal(strcspn(a, "\n"), strcspn(b, "\n"));
        assert_memory_equal(a, b, strcspn(a, "\n"));
        sample = strchr(sample, '\n') + 1;
        file = strchr(file, '\n') + 1;
    }
    for (int i = 0; i < 3; i++)
        program_free(&p[i]);
}

static const char turned[] =
    "data: {augment: {horizontal_flip: true}}\n"
    "model: {input: [28, 28, 1], layers: [Flatten, {Dense: {units: 10}}]}\n";

/* Eight rows, of samples from the whole set; the first picture of each is as it is. */
static void a_sheet_goes_through_the_whole_set(void **state)
{
    (void)state;
    enum { SIDE = 28, HEIGHT = 8 * 30 - 2, WIDTH = 6 * 30 - 2 };
    static float sheet[HEIGHT][WIDTH], sample[SIDE][SIDE];
    scratch_write("turned.yaml", turned, sizeof turned - 1);
    made_mnist("mnist", 60, 20, 0);
    program p[2] = {
        program_run(ARGUMENTS("data", "show", "./mnist", "--augment", "turned.yaml", "--seed", "1",
                              "--png", "sheet.png")),
        program_run(ARGUMENTS("data", "show", "./mnist", "52", "--png", "sample.png")),
    };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(p[i].status, 0);
        program_free(&p[i]);
    }
    assert_int_equal(made_read(scratch_path("sheet.png"), HEIGHT, WIDTH, 1, &sheet[0][0]),
                     CORNU_OK);
    assert_int_equal(made_read(scratch_path("sample.png"), SIDE, SIDE, 1, &sample[0][0]), CORNU_OK);
    for (int y = 0; y < SIDE; y++) /* the eighth row: 7 * 60 / 8 */
        assert_memory_equal(sheet[7 * 30 + y], sample[y], sizeof sample[y]);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(colours_are_drawn_by_their_brightness),
        TEST(samples_of_a_set_are_predicted_as_their_files),
        TEST(a_sheet_goes_through_the_whole_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
