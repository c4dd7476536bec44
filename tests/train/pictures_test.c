/* (height, width) takes pictures as (height, width, 1) does: the same samples, the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <cornu/images.h>
#include <cornu/tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4 };

/* Pictures of 4x4 pixels in two classes, alike but in brightness. */
static void make_folder(void)
{
    for (int i = 0; i < 12; i++) {
        char name[64], picture[64];
        int length = snprintf(picture, sizeof picture, "P5 %d %d 255\n", SIDE, SIDE);
        for (int k = 0; k < SIDE * SIDE; k++)
            picture[length + k] = (char)(i % 2 ? 200 + 3 * k - i : 10 + 5 * k + i);
        snprintf(name, sizeof name, "pets/%s/%d.pgm", i % 2 ? "dog" : "cat", i);
        made_file(name, picture, (size_t)length + SIDE * SIDE);
    }
}

static cornu_model *network(const char *input, const char *augment)
{
    char text[512];
    cornu_model *m;
    snprintf(text, sizeof text,
             "data: {folder: %s, augment: {%s}}\n"
             "model: {input: %s, layers: [Flatten, {Dense: {units: 2, activation: softmax}}]}\n"
             "compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}\n"
             "fit: {epochs: 3, batch_size: 4}\n",
             scratch_path("pets"), augment, input);
    expect_ok(cornu_model_parse(text, "r.yaml", &m));
    return m;
}

/* Train on the folder, predict a file. */
static cornu_model *trained(const char *input, const char *augment, float *output)
{
    float x[SIDE * SIDE];
    int64_t shape[3];
    cornu_model *m = network(input, augment);
    cornu_data *data;
    expect_ok(cornu_data_open_for_model(m, NULL, &data));
    expect_ok(cornu_data_picture_shape(data, shape));
    assert_int_equal(shape[0] * shape[1] * shape[2], SIDE * SIDE);
    expect_ok(cornu_fit(m, data, NULL, NULL));
    expect_ok(cornu_model_picture_shape(m, shape));
    assert_int_equal(shape[2], 1);
    expect_ok(made_read_for(m, scratch_path("pets/dog/3.pgm"), x));
    expect_ok(cornu_predict(m, x, 1, NULL, output));
    cornu_data_close(data);
    return m;
}

static void a_missing_channel_changes_no_bit(void **state)
{
    (void)state;
    static const char *const augments[] = {"", "rotation_range: 40, horizontal_flip: true",
                                           "featurewise_center: true",
                                           "samplewise_std_normalization: true"};
    make_folder();
    for (size_t i = 0; i < sizeof augments / sizeof *augments; i++) {
        float flat[2], deep[2];
        cornu_model *a = trained("[4, 4]", augments[i], flat);
        cornu_model *b = trained("[4, 4, 1]", augments[i], deep);
        assert_true(same_bits(a, b));
        assert_memory_equal(flat, deep, sizeof flat);
        cornu_model_close(a);
        cornu_model_close(b);
    }
}

/* The caller's arrays, with or without the channel. */
static cornu_data *arrays(int rank)
{
    static uint8_t pixels[8 * SIDE * SIDE];
    static const int32_t labels[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    cornu_data *data;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(37 * i);
    cornu_arrays train = {.size = sizeof train,
                          .count = 8,
                          .rank = rank,
                          .shape = {SIDE, SIDE, 1},
                          .pixels = pixels,
                          .labels = labels};
    expect_ok(cornu_data_from_arrays(&train, NULL, &data));
    return data;
}

static void arrays_without_a_channel_are_pictures_too(void **state)
{
    (void)state;
    static const char *const augments[] = {"width_shift_range: 2.0", "featurewise_center: true"};
    for (int i = 0; i < 2; i++) {
        cornu_model *m[2];
        cornu_scores scores[2] = {{.size = sizeof *scores}, {.size = sizeof *scores}};
        for (int rank = 2; rank <= 3; rank++) {
            cornu_data *data = arrays(rank);
            cornu_model **made = &m[rank - 2];
            *made = network(rank == 2 ? "[4, 4]" : "[4, 4, 1]", augments[i]);
            expect_ok(cornu_fit(*made, data, NULL, NULL));
            expect_ok(cornu_evaluate(*made, data, NULL, &scores[rank - 2]));
            cornu_data_close(data);
        }
        assert_true(same_bits(m[0], m[1]));
        assert_true(scores[0].value[0] <= scores[1].value[0]);
        assert_true(scores[0].value[0] >= scores[1].value[0]);
        cornu_model_close(m[0]);
        cornu_model_close(m[1]);
    }
}

static void explain_times_random_changes_without_a_channel(void **state)
{
    (void)state;
    char *table;
    if (SANITIZED) /* measuring the machine takes half a minute */
        skip();
    cornu_model *m = network("[4, 4]", "width_shift_range: 2.0");
    expect_ok(cornu_explain(
        m, &(cornu_explain_options){.size = sizeof(cornu_explain_options), .batch = 2, .run = true},
        &table));
    assert_non_null(strstr(table, "gather_samples"));
    cornu_free(table);
    cornu_model_close(m);
}

static void what_takes_no_pictures_says_what_would(void **state)
{
    (void)state;
    int64_t shape[3];
    float values[32];
    cornu_model *m = network("[4, 4, 2]", "");
    cornu_data *data = runs_data(10, 0);
    expect_status(cornu_model_picture_shape(m, shape), CORNU_INVALID);
    expect_message("the model's input: found (4, 4, 2), which is no picture; expected (height, "
                   "width), (height, width, 1) or (height, width, 3)");
    expect_status(made_read_for(m, "x.png", values), CORNU_INVALID);
    expect_status(cornu_data_picture_shape(data, shape), CORNU_INVALID);
    expect_message("arrays: found (8), which is no picture");
    cornu_data_close(data);
    cornu_model_close(m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_missing_channel_changes_no_bit),
        TEST(arrays_without_a_channel_are_pictures_too),
        TEST(explain_times_random_changes_without_a_channel),
        TEST(what_takes_no_pictures_says_what_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
