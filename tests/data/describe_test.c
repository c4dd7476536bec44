/* A data set's description: shapes, range, classes with their counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_summary(const cornu_data *data, const char *expected)
{
    char *text;
    expect_ok(cornu_data_summary(data, &text));
    assert_string_equal(text, expected);
    cornu_free(text);
}

static void a_folder_is_told_with_its_classes_counts(void **state)
{
    (void)state;
    char expected[1024];
    notices n = {.count = 0};
    cornu_data *data;
    made_grey("pets/train/cat/1.pgm", 1);
    made_grey("pets/train/cat/2.pgm", 2);
    made_grey("pets/train/dog/3.pgm", 3);
    made_grey("pets/test/dog/4.pgm", 4);
    made_file("pets/train/dog/5.pgm", "P5 9 9 255\n", 11); /* cut off: skipped once it is read */
    cornu_data_options options = {
        .size = sizeof options,
        .on_notice = notices_add,
        .user = &n,
        .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options), .channels = 1}};
    expect_ok(cornu_data_open(scratch_path("pets"), &options, &data));
    assert_non_null(strstr(n.lines, "4 images in 2 classes (1 file skipped): cat (2), dog (2)\n"));
    snprintf(expected, sizeof expected,
             "pets: 3 samples to train, 1 to test, in %s\n"
             "train: (150, 150, 1), uint8 from 0 to 255; the network sees 0 to 1\n"
             "  2 classes: cat (2), dog (1)\n"
             "test: (150, 150, 1), uint8 from 0 to 255; the network sees 0 to 1\n"
             "  2 classes: cat (0), dog (1)\n",
             scratch_path("pets"));
    expect_summary(data, expected);
    int64_t counts[2];
    expect_ok(cornu_data_class_counts(data, CORNU_TRAIN, counts, 2));
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
    expect_status(cornu_data_class_counts(data, CORNU_TRAIN, counts, 1), CORNU_INVALID);
    cornu_data_close(data);
}

static void numbers_are_told_as_they_are_and_as_the_network_sees_them(void **state)
{
    (void)state;
    static const float values[] = {-3, 0.5f, 7, 2};
    static const uint8_t pixels[] = {9, 20, 30, 40};
    cornu_data *data;
    cornu_data_values v = {.size = sizeof v};
    cornu_arrays train = {
        .size = sizeof train, .count = 2, .rank = 1, .shape = {2}, .values = values};
    expect_ok(cornu_data_from_arrays(&train, NULL, &data));
    expect_summary(data, "arrays: 2 samples to train, 0 to test\ntrain: (2), float from -3 to 7\n");
    cornu_data_close(data);
    train.values = NULL;
    train.pixels = pixels;
    expect_ok(cornu_data_from_arrays(&train, NULL, &data));
    data->block[CORNU_TRAIN].x_scale = 1; /* as a recipe may have it */
    expect_summary(data, "arrays: 2 samples to train, 0 to test\ntrain: (2), uint8 from 9 to 40\n");
    data->block[CORNU_TRAIN].x_scale = 0.5f;
    expect_ok(cornu_data_values_get(data, CORNU_TRAIN, &v));
    assert_true(v.bytes);
    assert_float_equal(v.scale, 0.5, 0);
    assert_float_equal(v.high, 40, 0);
    cornu_data_close(data);
}

static void of_many_classes_the_first_are_named(void **state)
{
    (void)state;
    char *text;
    cornu_data *data;
    static float values[100];
    static int32_t labels[100];
    for (int i = 0; i < 100; i++)
        labels[i] = i;
    cornu_arrays train = {.size = sizeof train,
                          .count = 100,
                          .rank = 1,
                          .shape = {1},
                          .values = values,
                          .labels = labels};
    expect_ok(cornu_data_from_arrays(&train, NULL, &data));
    expect_ok(cornu_data_summary(data, &text));
    assert_non_null(strstr(text, "  100 classes: 0 (1), 1 (1), 2 (1), 3 (1), 4 (1), 5 (1), 6 (1), "
                                 "7 (1) and 92 more\n"));
    cornu_free(text);
    cornu_data_close(data);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_is_told_with_its_classes_counts),
        TEST(numbers_are_told_as_they_are_and_as_the_network_sees_them),
        TEST(of_many_classes_the_first_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
