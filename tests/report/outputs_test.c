/* What outputs say: probabilities, of two classes where there is one; logits; numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/report.h>
#include <math.h>
#include <string.h>

static const char SIGMOID[] = "[{Dense: {units: 1, activation: sigmoid}}]";
static const char LINEAR_1[] = "[{Dense: {units: 1}}]";
static const char LINEAR_3[] = "[{Dense: {units: 3}}]";
static const char BINARY[] = "{optimizer: sgd, loss: binary_crossentropy}";
static const char BINARY_LOGITS[] =
    "{optimizer: sgd, loss: {BinaryCrossentropy: {from_logits: true}}}";

static void expect_info(const char *layers, const char *compile, cornu_output_kind kind,
                        int64_t classes)
{
    cornu_output_info info = {.size = sizeof info};
    cornu_model *m = runs_model(layers, compile, NULL);
    expect_ok(cornu_model_output_info(m, &info));
    if (info.kind != kind || info.classes != classes)
        fail_msg("%s, %s: found kind %d of %lld; expected %d of %lld", layers,
                 compile ? compile : "not compiled", (int)info.kind, (long long)info.classes,
                 (int)kind, (long long)classes);
    cornu_model_close(m);
}

static void the_last_activation_or_the_loss_tells_what_outputs_are(void **state)
{
    (void)state;
    const cornu_output_kind p = CORNU_OUTPUT_PROBABILITY;
    expect_info(SIGMOID, BINARY, p, 2);
    expect_info(SIGMOID, NULL, p, 2);
    expect_info(LINEAR_1, BINARY_LOGITS, p, 2);
    expect_info(LINEAR_1, BINARY, CORNU_OUTPUT_LOGIT, 1);
    expect_info(LINEAR_1, "{optimizer: sgd, loss: mse}", CORNU_OUTPUT_VALUE, 1);
    expect_info(LINEAR_1, "{optimizer: sgd, loss: mae}", CORNU_OUTPUT_VALUE, 1);
    expect_info(LINEAR_3, NULL, CORNU_OUTPUT_LOGIT, 3);
    expect_info(LINEAR_3, "{optimizer: sgd, loss: {CategoricalCrossentropy: {from_logits: true}}}",
                p, 3);
    expect_info("[{Dense: {units: 3}}, Softmax, {Dropout: {rate: 0.5}}, Flatten, "
                "{Activation: {activation: linear}}]",
                NULL, p, 3);
    expect_info("[{Dense: {units: 3, activation: softmax}}, {Dense: {units: 2}}]", NULL,
                CORNU_OUTPUT_LOGIT, 2);
    expect_info("[{Dense: {units: 3, activation: sigmoid}}]", BINARY, p, 3);
}

static void one_probability_becomes_two_and_logits_become_probabilities(void **state)
{
    (void)state;
    static const float outputs[] = {0.25f, 0.5f, 0.75f}, logits[] = {-1, 0, 3};
    float values[6];
    cornu_model *m = runs_model(SIGMOID, BINARY, NULL);
    expect_ok(cornu_model_class_values(m, outputs, 3, values));
    for (int i = 0; i < 3; i++) {
        assert_float_equal(values[2 * i], 1 - outputs[i], 1e-7);
        assert_float_equal(values[2 * i + 1], outputs[i], 0);
    }
    cornu_model_close(m);
    m = runs_model(LINEAR_1, BINARY_LOGITS, NULL);
    expect_ok(cornu_model_class_values(m, logits, 3, values));
    for (int i = 0; i < 3; i++)
        assert_float_equal(values[2 * i + 1], 1 / (1 + exp(-(double)logits[i])), 1e-6);
    cornu_model_close(m);
    m = runs_model(LINEAR_3,
                   "{optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}",
                   NULL);
    expect_ok(cornu_model_class_values(m, logits, 1, values));
    double sum = exp(-1) + exp(0) + exp(3);
    for (int i = 0; i < 3; i++)
        assert_float_equal(values[i], exp((double)logits[i]) / sum, 1e-6);
    expect_ok(cornu_model_class_values(m, (const float[]){1e30f, -1e30f, 1e30f}, 1, values));
    assert_float_equal(values[0], 0.5, 0); /* nothing overflows */
    cornu_model_close(m);
}

/* The class of the largest of `values`; -1: none. */
static int64_t best_of(const cornu_model *m, const float *values)
{
    cornu_class_value top;
    return cornu_model_top_classes(m, values, 1, &top) == 1 ? top.index : -1;
}

static void top_classes_are_in_order_with_names_and_without_nan(void **state)
{
    (void)state;
    char *names[] = {(char *)(uintptr_t) "cat", (char *)(uintptr_t) "dog",
                     (char *)(uintptr_t) "eel"};
    cornu_class_value top[5];
    cornu_model *m = runs_model(LINEAR_3, NULL, NULL);
    const float values[] = {0.25f, 0.5f, 0.25f};
    assert_int_equal(cornu_model_top_classes(m, values, 5, top), 3);
    assert_null(top[0].name);
    expect_ok(model_set_classes(m, names, 3));
    assert_int_equal(cornu_model_top_classes(m, values, 5, top), 3);
    assert_string_equal(top[0].name, "dog");
    assert_string_equal(top[1].name, "cat");
    assert_string_equal(top[2].name, "eel");
    assert_float_equal(top[2].value, 0.25, 0);
    assert_int_equal(cornu_model_top_classes(m, (const float[]){NAN, 1, NAN}, 5, top), 1);
    assert_int_equal(best_of(m, (const float[]){NAN, NAN, NAN}), -1);
    cornu_model_close(m);
    m = runs_model(SIGMOID, BINARY, NULL);
    assert_int_equal(best_of(m, (const float[]){0.5f, 0.5f}), 0); /* Keras: above 0.5 */
    assert_int_equal(best_of(m, (const float[]){0.4f, 0.6f}), 1);
    cornu_model_close(m);
}

static void one_output_keeps_the_names_of_two_classes_in_its_file(void **state)
{
    (void)state;
    static const char *const names[] = {"cat", "dog"};
    const float x[2 * 8] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    cornu_arrays train = {.size = sizeof train,
                          .count = 2,
                          .rank = 1,
                          .shape = {8},
                          .values = x,
                          .labels = (const int32_t[]){0, 1}};
    cornu_model *m = runs_model(SIGMOID, BINARY, NULL), *again;
    cornu_data *data;
    expect_ok(cornu_data_from_arrays(&train, NULL, &data));
    data->class_count = 0;
    expect_ok(data_set_classes(data, names, 2));
    expect_ok(cornu_fit(m, data, NULL, NULL));
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    expect_ok(cornu_model_open(scratch_path("m.safetensors"), &again));
    assert_int_equal(cornu_model_class_count(again), 2);
    assert_string_equal(cornu_model_class_name(again, 1), "dog");
    cornu_model_close(again);
    expect_ok(model_set_classes(m, (char *const[]){"cat", "dog", "eel"}, 3));
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    expect_status(cornu_model_open(scratch_path("m.safetensors"), &again), CORNU_BAD_FILE);
    expect_message("class_names: found 3 names; expected one for each output, or 2 for a single");
    cornu_data_close(data);
    cornu_model_close(m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_activation_or_the_loss_tells_what_outputs_are),
        TEST(one_probability_becomes_two_and_logits_become_probabilities),
        TEST(top_classes_are_in_order_with_names_and_without_nan),
        TEST(one_output_keeps_the_names_of_two_classes_in_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
