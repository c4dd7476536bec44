/* Featurewise standardization: statistics of the training samples, which stay with the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exchange/checkpoint.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 40, SIDE = 4, VALUES = SIDE * SIDE * 2 };

static uint8_t pixels[COUNT * VALUES];
static int32_t labels[COUNT];

static cornu_data *images(void)
{
    cornu_data *data;
    for (int i = 0; i < COUNT; i++) {
        labels[i] = i % 2;
        for (int k = 0; k < VALUES; k++)
            pixels[i * VALUES + k] =
                (uint8_t)(k % 2 ? 200 + (i * 7 + k) % 13 : 10 + 60 * labels[i] + (i + k) % 5);
    }
    cornu_arrays train = {.size = sizeof train,
                          .count = COUNT,
                          .shape = {SIDE, SIDE, 2},
                          .rank = 3,
                          .pixels = pixels,
                          .labels = labels};
    expect_ok(cornu_data_from_arrays(&train, &train, &data));
    return data;
}

static cornu_model *network(const char *augment)
{
    char text[512];
    doc *d;
    cornu_model *m;
    snprintf(
        text, sizeof text,
        "data: {folder: p, augment: {%s}}\n"
        "model: {input: [4, 4, 2], layers: [Flatten, Dense: {units: 2, activation: softmax}]}\n"
        "compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}\n"
        "fit: {epochs: 1, batch_size: 8}\n",
        augment);
    expect_ok(doc_parse(text, strlen(text), "r.yaml", &d));
    expect_ok(model_from_recipe(d, &m));
    return m;
}

static void statistics_are_those_of_the_scaled_training_samples(void **state)
{
    (void)state;
    cornu_model *m = network("featurewise_std_normalization: true");
    cornu_data *data = images();
    expect_ok(cornu_fit(m, data, NULL, NULL));
    assert_int_equal(m->training.features.channels, 2);
    for (int c = 0; c < 2; c++) {
        double mean = 0, squares = 0, count = COUNT * SIDE * SIDE;
        for (int i = c; i < COUNT * VALUES; i += 2)
            mean += pixels[i] / 255.0 / count;
        for (int i = c; i < COUNT * VALUES; i += 2)
            squares += (pixels[i] / 255.0 - mean) * (pixels[i] / 255.0 - mean) / count;
        assert_float_equal(m->training.features.mean[c], mean, 1e-6);
        assert_float_equal(m->training.features.std[c], sqrt(squares), 1e-6);
    }
    cornu_data_close(data);
    cornu_model_close(m);
}

static void a_saved_model_evaluates_and_predicts_with_them(void **state)
{
    (void)state;
    cornu_model *m = network("featurewise_center: true, samplewise_std_normalization: true"),
                *again;
    cornu_data *data = images();
    cornu_scores before = {.size = sizeof before}, after = {.size = sizeof after};
    cornu_run_options on_test = {.size = sizeof on_test, .split = CORNU_TEST};
    float x[VALUES], y[2], y_again[2];
    expect_ok(cornu_fit(m, data, NULL, NULL));
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    expect_ok(cornu_model_open(scratch_path("m.safetensors"), &again));
    assert_memory_equal(&m->training.features, &again->training.features,
                        sizeof m->training.features);
    expect_ok(cornu_evaluate(m, data, &on_test, &before));
    expect_ok(cornu_evaluate(again, data, &on_test, &after));
    assert_true(before.value[0] == after.value[0]);
    expect_ok(cornu_data_sample(data, CORNU_TEST, 3, x, VALUES, NULL));
    expect_ok(cornu_predict(m, x, 1, NULL, y));
    expect_ok(cornu_predict(again, x, 1, NULL, y_again));
    assert_memory_equal(y, y_again, sizeof y);
    cornu_data_close(data);
    cornu_model_close(m);
    cornu_model_close(again);
}

static void a_model_that_was_never_trained_says_what_it_lacks(void **state)
{
    (void)state;
    cornu_model *m = network("featurewise_center: true");
    cornu_data *data = images();
    cornu_scores scores = {.size = sizeof scores};
    expect_status(cornu_evaluate(m, data, NULL, &scores), CORNU_INVALID);
    expect_message("featurewise_center: found a model without the training samples' mean");
    cornu_data_close(data);
    cornu_model_close(m);
}

static void explain_times_a_model_that_was_never_trained(void **state)
{
    (void)state;
    cornu_model *m = network("featurewise_std_normalization: true");
    cornu_explain_options options = {.size = sizeof options, .run = true};
    char *text;
    expect_ok(cornu_explain(m, &options, &text));
    assert_non_null(strstr(text, "gather_samples"));
    assert_int_equal(m->training.features.channels, 0);
    cornu_free(text);
    cornu_model_close(m);
}

static void damaged_statistics_are_refused(void **state)
{
    (void)state;
    static const char *const damaged[] = {
        "[]",
        "{}",
        "{\"mean\": [\"0x1p-1\"]}",
        "{\"mean\": [\"0x1p-1\"], \"std\": [\"-1\"]}",
        "{\"mean\": [0.5], \"std\": [\"1\"]}",
        "{\"mean\": [\"nan\"], \"std\": [\"1\"]}",
        "{\"mean\": [\"1\",\"1\",\"1\",\"1\",\"1\"], \"std\": [\"1\",\"1\",\"1\",\"1\",\"1\"]}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        feature_statistics s;
        json_t *object = json_loads(damaged[i], 0, NULL);
        expect_status(features_from_json(object, "m.safetensors", &s), CORNU_BAD_FILE);
        expect_message("m.safetensors: features: found none or damaged ones");
        json_decref(object);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(statistics_are_those_of_the_scaled_training_samples),
        TEST(a_saved_model_evaluates_and_predicts_with_them),
        TEST(a_model_that_was_never_trained_says_what_it_lacks),
        TEST(explain_times_a_model_that_was_never_trained),
        TEST(damaged_statistics_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
