/* What range of pixels the first layer sees: the recipe's scale, else 0 to 255 where the model
   scales them itself, else 0 to 1; the same wherever a model meets pixels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/tensor_file.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 48, SIDE = 4, VALUES = SIDE * SIDE };

static cornu_data *pictures(void)
{
    static uint8_t pixels[COUNT * VALUES];
    static int32_t labels[COUNT];
    cornu_data *data;
    for (int i = 0; i < COUNT * VALUES; i++) {
        labels[i / VALUES] = i / VALUES % 3;
        pixels[i] = (uint8_t)(i % 3 == labels[i / VALUES] ? 150 + i % 100 : i * 7 % 110);
    }
    cornu_arrays all = {.size = sizeof all,
                        .count = COUNT,
                        .shape = {SIDE, SIDE, 1},
                        .rank = 3,
                        .pixels = pixels,
                        .labels = labels};
    expect_ok(cornu_data_from_arrays(&all, &all, &data));
    return data;
}

#define RESCALING "Rescaling: {scale: 0.00392156862745098}, "

/* A network that begins with `first`, for data as `section` says. */
static cornu_model *network(const char *first, const char *section)
{
    char recipe[1024];
    cornu_model *m;
    snprintf(recipe, sizeof recipe,
             "%s%s\nmodel: {input: [4, 4, 1], layers: [%sFlatten, Dense: {units: 8, activation: "
             "relu}, Dense: {units: 3, activation: softmax}]}\n"
             "compile: {optimizer: {sgd: {learning_rate: 0.1}}, loss: "
             "sparse_categorical_crossentropy, metrics: [accuracy]}\n"
             "fit: {epochs: 4, batch_size: 8, seed: 3, validation: test}\n",
             *section ? "data: " : "", section, first);
    expect_ok(cornu_model_parse(recipe, "recipe.yaml", &m));
    return m;
}

/* The losses of its epochs, trained on the pictures. */
static cornu_history *trained(cornu_model *m, notices *said)
{
    cornu_data *data = pictures();
    cornu_history *history;
    cornu_fit_options options = {.size = sizeof options, .on_notice = notices_add, .user = said};
    expect_ok(cornu_fit(m, data, &options, &history));
    cornu_data_close(data);
    return history;
}

/* Both see the same numbers after a layer of the first, so they learn alike. */
static void expect_alike(cornu_model *a, cornu_model *b)
{
    notices said = {.count = 0};
    cornu_history *x = trained(a, &said), *y = trained(b, &said);
    for (int column = 0; column < 4; column++) /* loss, accuracy, and those of validation */
        for (int epoch = 0; epoch < 4; epoch++)
            assert_float_equal(cornu_history_value(x, epoch, column),
                               cornu_history_value(y, epoch, column), 1e-5);
    cornu_history_close(x);
    cornu_history_close(y);
    cornu_model_close(a);
    cornu_model_close(b);
}

static void a_model_that_rescales_trains_as_one_whose_pixels_are_scaled(void **state)
{
    (void)state;
    expect_alike(network(RESCALING, ""), network("", ""));
    expect_alike(network("Reshape: {target_shape: [16]}, " RESCALING, ""), network("", ""));
    expect_alike(network("", "{scale: 1}"), network("Rescaling: {scale: 1}, ", ""));
}

static void other_first_layers_see_0_to_1(void **state)
{
    (void)state;
    expect_alike(network("Activation: {activation: linear}, " RESCALING, ""),
                 network(RESCALING, "{scale: 0.00392156862745098}"));
}

static void the_recipes_scale_comes_first(void **state)
{
    (void)state;
    expect_alike(network(RESCALING, "{scale: 0.01}"), network("", "{scale: 3.92156862745098e-5}"));
    expect_alike(network(RESCALING, "{augment: {rescale: 0.01}}"),
                 network("", "{scale: 3.92156862745098e-5}"));
}

static void featurewise_statistics_are_of_the_same_range(void **state)
{
    (void)state;
    notices said = {.count = 0};
    cornu_model *m = network(RESCALING, "{augment: {featurewise_center: true}}");
    cornu_model *plain = network("", "{augment: {featurewise_center: true}}");
    cornu_history_close(trained(m, &said));
    cornu_history_close(trained(plain, &said));
    assert_float_equal(m->training.features.mean[0], 255 * plain->training.features.mean[0], 1e-3);
    assert_true(m->training.features.mean[0] > 20);
    cornu_model_close(m);
    cornu_model_close(plain);
    expect_alike(network(RESCALING, "{augment: {featurewise_center: true}}"),
                 network("", "{augment: {featurewise_center: true}}"));
}

static void training_says_once_what_goes_in(void **state)
{
    (void)state;
    notices said = {.count = 0};
    cornu_model *m = network(RESCALING, "");
    cornu_history_close(trained(m, &said));
    assert_int_equal(said.count, 1);
    assert_non_null(strstr(said.lines, "pixels go in as they are, 0 to 255: the model scales them "
                                       "itself, in rescaling (Rescaling)"));
    cornu_model_close(m);
    said = (notices){.count = 0};
    m = network(RESCALING, "{scale: 1}");
    cornu_history_close(trained(m, &said));
    cornu_model_close(m);
    m = network("", "");
    cornu_history_close(trained(m, &said));
    cornu_model_close(m);
    assert_int_equal(said.count, 0);
}

static void expect_summary(cornu_model *m, const char *line)
{
    char *text;
    expect_ok(cornu_model_summary(m, &text));
    if (!strstr(text, line))
        fail_msg("found %s; expected it to hold: %s", text, line);
    cornu_free(text);
    cornu_model_close(m);
}

static void the_summary_shows_the_range(void **state)
{
    (void)state;
    expect_summary(network("", ""), "Pixels (uint8) reach the first layer as 0 to 1\n");
    expect_summary(network(RESCALING, ""),
                   "reach the first layer as 0 to 255; rescaling (Rescaling) scales them\n");
    expect_summary(network("", "{scale: 0.1, augment: {samplewise_center: true}}"),
                   "reach the first layer as 0 to 25.5, then standardized\n");
}

/* ---- single samples and pictures -------------------------------------------------------- */

static void expect_sample(const cornu_model *m, const char *folder, float expected)
{
    cornu_data *data;
    float sample[VALUES], picture[VALUES];
    char path[1024];
    cornu_data_options options = {.size = sizeof options, .folder = folder};
    expect_ok(cornu_data_open_for_model(m, &options, &data));
    expect_ok(cornu_data_sample(data, CORNU_TRAIN, 0, sample, VALUES, NULL));
    snprintf(path, sizeof path, "%s/train/a/1.png", folder);
    expect_ok(made_read_for(m, path, picture));
    assert_float_equal(sample[0], expected, 1e-6);
    assert_memory_equal(sample, picture, sizeof sample);
    cornu_data_close(data);
}

static void samples_and_pictures_are_of_that_range(void **state)
{
    (void)state;
    float grey[VALUES];
    char folder[1024];
    for (int i = 0; i < VALUES; i++)
        grey[i] = 51 / 255.0f;
    made_file("photos/train/a/1.png", "", 0);
    expect_ok(cornu_image_write_png(scratch_path("photos/train/a/1.png"), SIDE, SIDE, 1, grey));
    snprintf(folder, sizeof folder, "%s", scratch_path("photos"));
    cornu_model *m = network(RESCALING, "");
    expect_sample(m, folder, 51);
    cornu_model_close(m);
    m = network("", "");
    expect_sample(m, folder, 0.2f);
    cornu_model_close(m);
    m = network(RESCALING, "{scale: 0.5}");
    expect_sample(m, folder, 25.5f);
    cornu_model_close(m);
}

/* ---- model files ------------------------------------------------------------------------ */

static double loss_of(cornu_model *m)
{
    cornu_scores scores = {.size = sizeof scores};
    cornu_data *data = pictures();
    cornu_run_options options = {.size = sizeof options, .split = CORNU_TEST};
    expect_ok(cornu_evaluate(m, data, &options, &scores));
    cornu_data_close(data);
    return scores.value[0];
}

/* The file as cornu wrote it before it kept the scale of pixels. */
static const char *without_scale(const char *path, const char *to)
{
    tensor_file *f;
    metadata_entry kept[16];
    int count = 0;
    expect_ok(tensor_file_open(path, &f));
    for (int i = 0; i < f->metadata_count; i++)
        if (strcmp(f->metadata[i].key, "pixel_scale") != 0)
            kept[count++] = f->metadata[i];
    assert_int_equal(count, f->metadata_count - 1);
    expect_ok(safetensors_write(to, f->tensors, f->count, kept, count));
    tensor_file_close(f);
    return to;
}

static void a_model_file_keeps_its_range(void **state)
{
    (void)state;
    notices said = {.count = 0};
    char path[1024];
    snprintf(path, sizeof path, "%s", scratch_path("m.safetensors"));
    cornu_model *m = network(RESCALING, ""), *again;
    cornu_history_close(trained(m, &said));
    expect_ok(cornu_model_save(m, path));
    expect_ok(cornu_model_open(path, &again));
    assert_float_equal(again->pixel_scale, 1, 0);
    assert_float_equal(loss_of(again), loss_of(m), 0);
    cornu_model_close(m);
    cornu_model_close(again);
}

static void a_file_from_before_keeps_pixels_from_0_to_1(void **state)
{
    (void)state;
    notices said = {.count = 0};
    char path[1024], old[1024];
    snprintf(path, sizeof path, "%s", scratch_path("m.safetensors"));
    snprintf(old, sizeof old, "%s", scratch_path("old.safetensors"));
    cornu_model *m = network(RESCALING, "{scale: 0.00392156862745098}"), *again;
    cornu_model *bare = network(RESCALING, "");
    cornu_history_close(trained(m, &said)); /* as all were trained then */
    bare->initialized = m->initialized;
    expect_ok(model_allocate(bare));
    for (int i = 0; i < m->variable_count; i++)
        memcpy(bare->variables[i].value, m->variables[i].value,
               (size_t)m->variables[i].count * sizeof(float));
    bare->training.position = m->training.position;
    expect_ok(cornu_model_save(bare, path));
    expect_ok(cornu_model_open(without_scale(path, old), &again));
    assert_float_equal(loss_of(again), loss_of(m), 0);
    assert_true(loss_of(bare) > loss_of(m) + 0.01 || loss_of(bare) < loss_of(m) - 0.01);
    expect_ok(cornu_model_save(again, path)); /* also once it was written anew */
    cornu_model_close(again);
    expect_ok(cornu_model_open(path, &again));
    assert_float_equal(loss_of(again), loss_of(m), 0);
    cornu_data *data = pictures();
    cornu_fit_options more = {
        .size = sizeof more, .resume = true, .epochs = 5, .on_notice = notices_add, .user = &said};
    expect_ok(cornu_fit(again, data, &more, NULL));
    assert_non_null(strstr(said.lines, "as 0 to 1, as in the training that the model file keeps"));
    more.on_notice = NULL;
    expect_ok(cornu_fit(m, data, &more, NULL));
    assert_true(same_bits(again, m));
    cornu_data_close(data);
    cornu_model_close(again);
    cornu_model_close(bare);
    cornu_model_close(m);
}

static void a_damaged_range_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"0", "-1", "1e99", "\"x\"", "null"};
    cornu_model *m = network("", ""), *again;
    expect_ok(model_initialize(m, 1));
    const char *path = scratch_path("m.safetensors"), *other = scratch_path("bad.safetensors");
    expect_ok(cornu_model_save(m, path));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        tensor_file *f;
        metadata_entry entries[16];
        expect_ok(tensor_file_open(path, &f));
        for (int i = 0; i < f->metadata_count; i++) {
            entries[i] = f->metadata[i];
            if (strcmp(entries[i].key, "pixel_scale") == 0)
                entries[i].value = (char *)(uintptr_t)bad[k];
        }
        expect_ok(safetensors_write(other, f->tensors, f->count, entries, f->metadata_count));
        tensor_file_close(f);
        expect_status(cornu_model_open(other, &again), CORNU_BAD_FILE);
        expect_message("pixel_scale: found ");
    }
    cornu_model_close(m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_model_that_rescales_trains_as_one_whose_pixels_are_scaled),
        TEST(other_first_layers_see_0_to_1),
        TEST(the_recipes_scale_comes_first),
        TEST(featurewise_statistics_are_of_the_same_range),
        TEST(training_says_once_what_goes_in),
        TEST(the_summary_shows_the_range),
        TEST(samples_and_pictures_are_of_that_range),
        TEST(a_model_file_keeps_its_range),
        TEST(a_file_from_before_keeps_pixels_from_0_to_1),
        TEST(a_damaged_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
