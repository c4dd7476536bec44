/* Data sets from the caller's image files, their batches as a training step sees them, and single
   pictures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/images/image.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 12, BAD = 7 };

static char paths[COUNT][1200];
static const char *files[COUNT];
static const int32_t labels[COUNT] = {2, 0, 1, 2, 0, 1, 0, 2, 1, 1, 0, 2};
static const char *const classes[] = {"red", "green", "blue"};

/* Pictures with one grey each, 20 times their number, the last first. */
static void make_files(void)
{
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "p/%d.pgm", COUNT - i);
        snprintf(paths[i], sizeof paths[i], "%s", made_grey(name, 20 * i));
        files[i] = paths[i];
    }
}

static cornu_status open_told(cornu_folder_options o, notices *told, cornu_data **data)
{
    const cornu_image_files list = {.size = sizeof list,
                                    .count = COUNT,
                                    .paths = files,
                                    .labels = labels,
                                    .class_names = classes,
                                    .class_count = 3};
    o.size = sizeof o;
    o.height = o.width = o.channels = 1;
    const cornu_data_options options = {
        .size = sizeof options, .images = &o, .on_notice = told ? notices_add : NULL, .user = told};
    *data = NULL;
    return cornu_data_from_files(&list, &options, data);
}

static cornu_status open_files(cornu_folder_options o, cornu_data **data)
{
    return open_told(o, NULL, data);
}

static void order_labels_and_names_are_the_callers(void **state)
{
    (void)state;
    make_files();
    for (int background = 0; background < 2; background++) {
        cornu_data *data;
        cornu_data_info info = {.size = sizeof info};
        expect_ok(open_files((cornu_folder_options){.background = background}, &data));
        expect_ok(cornu_data_info_get(data, &info));
        assert_int_equal(info.count[CORNU_TRAIN], COUNT);
        assert_int_equal(info.count[CORNU_TEST], 0);
        assert_string_equal(cornu_data_class_name(data, 1), "green");
        for (int i = 0; i < COUNT; i++) {
            float grey;
            int label;
            expect_ok(cornu_data_sample(data, CORNU_TRAIN, i, &grey, 1, &label));
            assert_float_equal(grey * 255, 20 * i, 1e-3);
            assert_int_equal(label, labels[i]);
        }
        cornu_data_close(data);
    }
}

static void files_need_no_labels(void **state)
{
    (void)state;
    make_files();
    const cornu_image_files list = {.size = sizeof list, .count = COUNT, .paths = files};
    cornu_data *data;
    float grey;
    int label;
    expect_ok(cornu_data_from_files(&list, NULL, &data));
    cornu_data_close(data);
    cornu_folder_options size = {.size = sizeof size, .height = 1, .width = 1, .channels = 1};
    cornu_data_options o = {.size = sizeof o, .images = &size};
    expect_ok(cornu_data_from_files(&list, &o, &data));
    expect_ok(cornu_data_sample(data, CORNU_TRAIN, 3, &grey, 1, &label));
    assert_int_equal(label, -1);
    cornu_data_close(data);
}

static const int64_t all[COUNT] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static cornu_status get(const cornu_data *data, int64_t first, int64_t count, float *values)
{
    return cornu_data_batch(data, CORNU_TRAIN, all + first, count, NULL, values, count);
}

static void a_damaged_file_is_an_error_where_it_is_needed(void **state)
{
    (void)state;
    float values[COUNT];
    cornu_data *data;
    make_files();
    assert_int_equal(truncate(files[BAD], 11), 0);
    for (int off = 0; off < 2; off++) {
        cornu_folder_options o = {
            .strict = true, .background = true, .cache = off ? "off" : "memory"};
        expect_ok(open_files(o, &data));
        for (int again = 0; again < 2; again++) {
            expect_ok(get(data, 0, BAD, values));
            expect_status(get(data, BAD - 2, 4, values), CORNU_BAD_FILE);
            expect_message("p/5.pgm: ");
            expect_ok(get(data, BAD + 1, 3, values));
            assert_float_equal(values[0] * 255, 20 * (BAD + 1), 1e-3);
        }
        cornu_data_close(data);
    }
    expect_status(open_files((cornu_folder_options){.strict = true}, &data), CORNU_BAD_FILE);
    expect_message("p/5.pgm: ");
}

static void without_strict_it_is_told_and_left_out(void **state)
{
    (void)state;
    notices said = {.count = 0};
    cornu_data *data;
    make_files();
    assert_int_equal(unlink(files[BAD]), 0);
    expect_ok(open_told((cornu_folder_options){.strict = false}, &said, &data));
    assert_non_null(strstr(said.lines, "p/5.pgm: no such file; skipped"));
    assert_int_equal(made_count(data, CORNU_TRAIN), COUNT - 1);
    cornu_data_close(data);
}

static void training_ends_at_the_damaged_file_with_its_name(void **state)
{
    (void)state;
    cornu_data *data;
    cornu_model *model;
    make_files();
    assert_int_equal(truncate(files[BAD], 11), 0);
    cornu_folder_options o = {.strict = true, .background = true};
    expect_ok(open_files(o, &data));
    expect_ok(cornu_model_new((const int64_t[]){1, 1, 1}, 3, &model));
    expect_ok(cornu_model_add(model, "Flatten", NULL));
    expect_ok(cornu_model_add(model, "Dense", "{units: 3, activation: softmax}"));
    expect_ok(cornu_model_compile(model, "{optimizer: sgd, loss: categorical_crossentropy}"));
    cornu_fit_options fit = {.size = sizeof fit, .epochs = 2, .batch = 4};
    expect_status(cornu_fit(model, data, &fit, NULL), CORNU_BAD_FILE);
    expect_message("p/5.pgm: ");
    cornu_model_close(model);
    cornu_data_close(data);
}

/* ---- batches ------------------------------------------------------------------------------ */

enum { SIDE = 9, SAMPLE = SIDE * SIDE * 3 };

static cornu_data *colours(void)
{
    static uint8_t pixels[COUNT * SAMPLE];
    cornu_data *data;
    for (int i = 0; i < COUNT * SAMPLE; i++)
        pixels[i] = (uint8_t)(i * 37 + i / 11);
    const cornu_arrays arrays = {.size = sizeof arrays,
                                 .count = COUNT,
                                 .rank = 3,
                                 .shape = {SIDE, SIDE, 3},
                                 .pixels = pixels,
                                 .labels = labels};
    expect_ok(cornu_data_from_arrays(&arrays, NULL, &data));
    return data;
}

#define CHANGES "rotation_range: 30, zoom_range: 0.2, horizontal_flip: true, channel_shift_range: 9"

static void a_batch_is_changed_as_training_changes_it(void **state)
{
    (void)state;
    static float batch[COUNT * SAMPLE], sample[SAMPLE];
    cornu_data *data = colours();
    cornu_model *model;
    const char *recipe = "{data: {augment: {" CHANGES "}}, model: {input: [9, 9, 3], "
                         "layers: [Flatten, {Dense: {units: 3}}]}}";
    expect_ok(cornu_model_parse(recipe, "r", &model));
    const cornu_batch_options o = {.size = sizeof o,
                                   .section =
                                       "{scale: 0.00392156862745098, augment: {" CHANGES "}}",
                                   .seed = 5,
                                   .epoch = 3};
    const int64_t index[5] = {4, 0, 11, 4, 7};
    expect_ok(cornu_data_batch(data, CORNU_TRAIN, index, 5, &o, batch, 5 * SAMPLE));
    for (int i = 0; i < 5; i++) {
        expect_ok(
            cornu_data_changed_sample(data, CORNU_TRAIN, index[i], model, 5, 3, sample, SAMPLE));
        for (int k = 0; k < SAMPLE; k++)
            assert_float_equal(batch[i * SAMPLE + k], sample[k], 1e-6);
    }
    cornu_model_close(model);
    cornu_data_close(data);
}

static void a_batch_is_scaled_then_standardized(void **state)
{
    (void)state;
    static float batch[2 * SAMPLE];
    cornu_data *data = colours();
    const cornu_batch_options o = {.size = sizeof o,
                                   .section = "{augment: {rescale: 0.5, samplewise_center: true}}"};
    expect_ok(cornu_data_batch(data, CORNU_TRAIN, all, 2, NULL, batch, 2 * SAMPLE));
    assert_float_equal(batch[1], 37.0 / 255, 1e-6);
    float before = (batch[1] - batch[0]) * 255;
    expect_ok(cornu_data_batch(data, CORNU_TRAIN, all, 2, &o, batch, 2 * SAMPLE));
    double mean = 0;
    for (int i = 0; i < SAMPLE; i++)
        mean += (double)batch[i] / SAMPLE;
    assert_float_equal(mean, 0, 1e-4);
    assert_float_equal(batch[1] - batch[0], before / 2, 1e-4);
    cornu_data_close(data);
}

static void a_wrong_batch_is_refused(void **state)
{
    (void)state;
    static float batch[2 * SAMPLE];
    cornu_data *data = colours();
    const int64_t outside = COUNT;
    cornu_batch_options o = {.size = sizeof o, .section = "{augment: {rotation: 3}}"};
    expect_status(cornu_data_batch(data, CORNU_TRAIN, all, 2, &o, batch, 2 * SAMPLE),
                  CORNU_INVALID);
    expect_message("rotation");
    o.section = "{augment: {featurewise_center: true}}";
    expect_status(cornu_data_batch(data, CORNU_TRAIN, all, 2, &o, batch, 2 * SAMPLE),
                  CORNU_UNSUPPORTED);
    expect_status(cornu_data_batch(data, CORNU_TRAIN, all, 2, NULL, batch, 2 * SAMPLE - 1),
                  CORNU_INVALID);
    expect_status(cornu_data_batch(data, CORNU_TRAIN, &outside, 1, NULL, batch, SAMPLE),
                  CORNU_INVALID);
    expect_message("sample 12; expected 0 to 11");
    expect_status(cornu_data_batch(data, CORNU_TEST, all, 1, NULL, batch, SAMPLE), CORNU_INVALID);
    cornu_data_close(data);
}

static void a_wrong_list_is_refused(void **state)
{
    (void)state;
    cornu_data *data;
    make_files();
    cornu_image_files list = {.size = sizeof list, .count = 0, .paths = files};
    expect_status(cornu_data_from_files(&list, NULL, &data), CORNU_INVALID);
    list = (cornu_image_files){.size = sizeof(cornu_image_files),
                               .count = COUNT,
                               .paths = files,
                               .labels = labels,
                               .class_names = classes,
                               .class_count = 2};
    expect_status(cornu_data_from_files(&list, NULL, &data), CORNU_INVALID);
    expect_message(
        "files.labels[0]: found 2; expected a class number from 0 and below class_count");
    expect_status(open_files((cornu_folder_options){.interpolation = "sharp"}, &data),
                  CORNU_INVALID);
}

/* ---- pictures ----------------------------------------------------------------------------- */

static void a_picture_is_read_in_its_own_size_or_another(void **state)
{
    (void)state;
    const char *path = made_file("a.pgm", "P5 4 2 255\n\x01\x02\x03\x04\x05\x06\x07\x08", 19);
    uint8_t *pixels;
    int64_t shape[3];
    expect_ok(cornu_image_load(path, NULL, 0, NULL, &pixels, shape));
    assert_memory_equal(shape, ((int64_t[]){2, 4, 1}), sizeof shape);
    assert_memory_equal(pixels, "\1\2\3\4\5\6\7\10", 8);
    cornu_free(pixels);
    cornu_image_options o = {
        .size = sizeof o, .height = 1, .width = 1, .channels = 3, .keep_aspect_ratio = true};
    expect_ok(cornu_image_load("memory", "P5 4 2 255\n\x01\x02\x03\x04\x05\x06\x07\x08", 19, &o,
                               &pixels, shape));
    assert_memory_equal(shape, ((int64_t[]){1, 1, 3}), sizeof shape);
    assert_memory_equal(pixels, "\7\7\7", 3); /* the middle two columns, lower right */
    cornu_free(pixels);
    o.channels = 2;
    expect_status(cornu_image_load(path, NULL, 0, &o, &pixels, shape), CORNU_INVALID);
    expect_status(cornu_image_load("memory", "P5 4", 4, NULL, &pixels, shape), CORNU_BAD_FILE);
    expect_message("memory: ");
}

static void a_recipe_reads_the_middle_of_pictures_as_training_did(void **state)
{
    (void)state;
    made_file("f/a/1.pgm", "P5 4 2 255\n\x01\x02\x03\x04\x05\x06\x07\x08", 19);
    float folder[4], alone[4];
    cornu_model *model;
    cornu_data *data;
    const char *recipe = "{data: {scale: 1, keep_aspect_ratio: true}, model: {input: [2, 2, 1], "
                         "layers: [Flatten]}}";
    expect_ok(cornu_model_parse(recipe, "r", &model));
    cornu_data_options o = {.size = sizeof o, .folder = scratch_path("f")};
    expect_ok(cornu_data_open_for_model(model, &o, &data));
    expect_ok(cornu_data_sample(data, CORNU_TRAIN, 0, folder, 4, NULL));
    expect_ok(made_read_for(model, scratch_path("f/a/1.pgm"), alone));
    assert_memory_equal(folder, ((const float[]){2, 3, 6, 7}), sizeof folder);
    assert_memory_equal(alone, folder, sizeof folder);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void check_row(const char *filter, int to, const uint8_t *expected)
{
    uint8_t row[7] = {3, 90, 200, 14, 77, 250, 33}, out[16];
    const image i = {.height = 1, .width = 7, .channels = 1, .pixels = row};
    expect_ok(image_resize(&i, 1, to, 1, image_filter_named(filter), out));
    for (int k = 0; k < to; k++)
        if (abs(out[k] - expected[k]) > 0)
            fail_msg("%s: value %d is %d; expected %d", filter, k, out[k], expected[k]);
}

/* The result of TensorFlow 2's tf.image.resize for this row, rounded, and within 0 to 255. */
static void pictures_shrink_without_smoothing_as_tensorflow_has_it(void **state)
{
    (void)state;
    check_row("bilinear_tf", 3, (const uint8_t[]){61, 14, 178});
    check_row("bilinear_tf", 9, (const uint8_t[]){3, 61, 139, 159, 14, 63, 173, 178, 33});
    check_row("bicubic_tf", 3, (const uint8_t[]){54, 14, 193});
    check_row("bicubic_tf", 9, (const uint8_t[]){0, 54, 154, 174, 14, 51, 194, 193, 23});
    check_row("lanczos3_tf", 3, (const uint8_t[]){42, 14, 190});
    check_row("lanczos3_tf", 9, (const uint8_t[]){0, 42, 173, 172, 14, 32, 216, 190, 16});
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(order_labels_and_names_are_the_callers),
        TEST(files_need_no_labels),
        TEST(a_damaged_file_is_an_error_where_it_is_needed),
        TEST(without_strict_it_is_told_and_left_out),
        TEST(training_ends_at_the_damaged_file_with_its_name),
        TEST(a_batch_is_changed_as_training_changes_it),
        TEST(a_batch_is_scaled_then_standardized),
        TEST(a_wrong_batch_is_refused),
        TEST(a_wrong_list_is_refused),
        TEST(a_picture_is_read_in_its_own_size_or_another),
        TEST(a_recipe_reads_the_middle_of_pictures_as_training_did),
        TEST(pictures_shrink_without_smoothing_as_tensorflow_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
