/* What a fit section says of epochs, validation and weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include <cornu/data.h>
#include <cornu/tables.h>
#include <math.h>
#include <string.h>

enum { SAMPLES = 30 };

static cornu_model *trained(const cornu_data *data, const char *section)
{
    cornu_model *m = runs_usual(NULL);
    expect_ok(cornu_fit(m, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .section = section},
                        NULL));
    return m;
}

/* The samples of `of` with the weight of their class, by themselves. */
static cornu_data *weighted(const cornu_data *of, const float *by_class, bool one_hot)
{
    static float weights[SAMPLES], targets[SAMPLES * 3];
    cornu_arrays a = {.size = sizeof a};
    cornu_data *data;
    expect_ok(cornu_data_view(of, CORNU_TRAIN, &a));
    memset(targets, 0, sizeof targets);
    for (int i = 0; i < SAMPLES; i++) {
        weights[i] = by_class ? by_class[a.labels[i]] : 1;
        targets[3 * i + a.labels[i]] = 1;
    }
    a.weights = by_class ? weights : NULL;
    if (one_hot) {
        a.labels = NULL;
        a.targets = targets;
        a.target_size = 3;
    }
    expect_ok(cornu_data_from_arrays(&a, NULL, &data));
    return data;
}

/* What is not named weighs 1, between the classes that are and behind them. */
static void class_weight_is_the_weight_of_each_sample_of_the_class(void **state)
{
    (void)state;
    static const struct {
        float by_class[3];
        const char *section;
    } cases[] = {{{0.5f, 1, 4}, "{epochs: 2, batch_size: 7, class_weight: {0: 0.5, 2: 4}}"},
                 {{0.5f, 4, 1}, "{epochs: 2, batch_size: 7, class_weight: {0: 0.5, 1: 4}}"}};
    for (int i = 0; i < 2; i++) {
        cornu_data *plain = runs_data(SAMPLES, 0);
        cornu_data *weights = weighted(plain, cases[i].by_class, false);
        cornu_model *a = trained(plain, cases[i].section);
        cornu_model *b = trained(weights, "{epochs: 2, batch_size: 7}");
        cornu_model *c = trained(plain, "{epochs: 2, batch_size: 7}");
        assert_true(same_bits(a, b));
        assert_false(same_bits(a, c));
        cornu_scores scores = {.size = sizeof scores}, with_weights = {.size = sizeof with_weights};
        expect_ok(cornu_evaluate(a, plain, NULL, &scores));
        expect_ok(cornu_evaluate(a, weights, NULL, &with_weights));
        assert_true(scores.value[0] != with_weights.value[0]);
        assert_true(scores.value[1] == with_weights.value[1]);
        cornu_model_close(a);
        cornu_model_close(b);
        cornu_model_close(c);
        cornu_data_close(weights);
        cornu_data_close(plain);
    }
}

static void class_weight_knows_the_class_of_one_hot_targets(void **state)
{
    (void)state;
    static const char *const compile =
        "{optimizer: sgd, loss: categorical_crossentropy, metrics: [accuracy]}";
    cornu_data *plain = runs_data(SAMPLES, 0), *one_hot = weighted(plain, NULL, true);
    cornu_model *m[2];
    for (int i = 0; i < 2; i++) {
        m[i] = runs_model("[{Dense: {units: 3, activation: softmax}}]", compile, NULL);
        cornu_fit_options o = {.size = sizeof o, .section = "{epochs: 2, class_weight: {1: 3.5}}"};
        expect_ok(cornu_fit(m[i], i ? one_hot : plain, &o, NULL));
    }
    assert_true(same_bits(m[0], m[1]));
    cornu_model_close(m[0]);
    cornu_model_close(m[1]);
    cornu_data_close(one_hot);
    cornu_data_close(plain);
}

static void a_wrong_section_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"{class_weight: {cat: 1}}", "found class \"cat\""},
        {"{class_weight: {-1: 1}}", "found class \"-1\""},
        {"{class_weight: {0: heavy}}", "expected the weight of a class"},
        {"{class_weight: {}}", "found none"},
        {"{class_weight: [1, 2]}", "expected weights of classes"},
        {"{validation_freq: 0}", "a number below 1"},
        {"{validation_freq: often}", "expected a number of epochs"},
        {"{validation_freq: [1, 0]}", "a number below 1"},
        {"{initial_epoch: -1}", "initial_epoch"},
        {"{validation_batch_size: 0}", "validation_batch_size"}};
    cornu_data *data = runs_data(SAMPLES, 0);
    cornu_model *m = runs_usual(NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_status(cornu_fit(m, data,
                                &(cornu_fit_options){.size = sizeof(cornu_fit_options),
                                                     .section = wrong[i][0]},
                                NULL),
                      CORNU_INVALID);
        expect_message(wrong[i][1]);
    }
    static const float by_class[] = {1, 2, 3};
    cornu_data *both = weighted(data, by_class, false);
    expect_status(cornu_fit(m, both,
                            &(cornu_fit_options){.size = sizeof(cornu_fit_options),
                                                 .section = "{class_weight: {0: 2}}"},
                            NULL),
                  CORNU_INVALID);
    expect_message("weights of their own");
    cornu_data_close(both);
    cornu_model_close(m);
    cornu_data_close(data);
}

static cornu_history *history_of(const char *section)
{
    cornu_history *h;
    cornu_data *data = runs_data(SAMPLES, 12);
    cornu_model *m = runs_usual(NULL);
    expect_ok(cornu_fit(
        m, data, &(cornu_fit_options){.size = sizeof(cornu_fit_options), .section = section}, &h));
    cornu_model_close(m);
    cornu_data_close(data);
    return h;
}

static void validation_freq_says_which_epochs_validate(void **state)
{
    (void)state;
    static const char *const sections[] = {"{epochs: 5, validation: test, validation_freq: 2, "
                                           "callbacks: [early_stopping: {patience: 1}]}",
                                           "{epochs: 5, validation: test, validation_freq: [2, 4], "
                                           "callbacks: [reduce_lr_on_plateau]}"};
    for (int s = 0; s < 2; s++) {
        cornu_history *h = history_of(sections[s]);
        assert_int_equal(cornu_history_epochs(h), 5);
        assert_string_equal(cornu_history_name(h, 2), "val_loss");
        for (int e = 0; e < 5; e++)
            assert_true(isnan(cornu_history_value(h, e, 2)) == (e % 2 == 0));
        cornu_history_close(h);
    }
}

static void initial_epoch_is_the_first(void **state)
{
    (void)state;
    cornu_history *h = history_of("{epochs: 5, initial_epoch: 3}");
    assert_int_equal(cornu_history_epochs(h), 2);
    cornu_history_close(h);
    h = history_of("{epochs: 2, initial_epoch: 2}");
    assert_int_equal(cornu_history_epochs(h), 0);
    cornu_history_close(h);
}

/* Batches of other sizes add in another order, no more. */
static void validation_batch_size_is_that_of_validation_alone(void **state)
{
    (void)state;
    cornu_history *a = history_of("{epochs: 1, batch_size: 6, validation: test}");
    cornu_history *b =
        history_of("{epochs: 1, batch_size: 6, validation: test, validation_batch_size: 5}");
    assert_true(cornu_history_value(a, 0, 0) == cornu_history_value(b, 0, 0));
    assert_true(fabs(cornu_history_value(a, 0, 2) - cornu_history_value(b, 0, 2)) < 1e-6);
    cornu_history_close(a);
    cornu_history_close(b);
}

static void validation_data_takes_the_place_of_the_test_split(void **state)
{
    (void)state;
    cornu_history *h;
    cornu_scores scores = {.size = sizeof scores};
    cornu_data *data = runs_data(SAMPLES, 12), *other = runs_data(9, 0);
    cornu_model *m = runs_usual(NULL);
    cornu_fit_options o = {
        .size = sizeof o, .section = "{epochs: 1, validation: test}", .validation_data = other};
    expect_ok(cornu_fit(m, data, &o, &h));
    expect_ok(cornu_evaluate(m, other, NULL, &scores));
    assert_true(cornu_history_value(h, 0, 2) == scores.value[0]);
    cornu_history_close(h);
    cornu_model_close(m);
    cornu_data_close(other);
    cornu_data_close(data);
}

static void a_data_section_can_be_replaced(void **state)
{
    (void)state;
    const uint8_t pixels[] = {0, 51, 255};
    float values[3];
    cornu_data *data;
    cornu_model *m;
    cornu_arrays a = {
        .size = sizeof a, .count = 1, .rank = 3, .shape = {1, 1, 3}, .pixels = pixels};
    expect_ok(cornu_model_parse(
        "{data: {scale: 0.5}, model: {input: [1, 1, 3], layers: [Flatten]}}", "recipe", &m));
    expect_ok(cornu_data_from_arrays(&a, NULL, &data));
    sample_block block;
    expect_ok(cornu_model_set_data(m, "{scale: 2}"));
    expect_ok(data_samples_for(data, CORNU_TRAIN, m, &block));
    assert_true(block.x_scale == 2);
    expect_status(cornu_model_set_data(m, "{scales: 2}"), CORNU_INVALID);
    expect_status(cornu_model_set_data(NULL, NULL), CORNU_INVALID);
    expect_ok(data_samples_for(data, CORNU_TRAIN, m, &block));
    assert_true(block.x_scale == 2);
    expect_ok(cornu_model_set_data(m, NULL));
    expect_ok(data_samples_for(data, CORNU_TRAIN, m, &block));
    assert_true(block.x_scale == 1.0f / 255.0f);
    expect_ok(cornu_data_sample(data, CORNU_TRAIN, 0, values, 3, NULL));
    cornu_data_close(data);
    a.scale = 3;
    expect_ok(cornu_data_in_place(&a, NULL, &data));
    expect_ok(data_samples_for(data, CORNU_TRAIN, m, &block));
    assert_true(block.x_scale == 3 && block.x == pixels);
    expect_ok(cornu_data_set_scale(data, 0.25));
    expect_ok(cornu_model_set_data(m, "{scale: 2}"));
    expect_ok(data_samples_for(data, CORNU_TRAIN, m, &block));
    assert_true(block.x_scale == 0.25f);
    expect_status(cornu_data_set_scale(data, 0), CORNU_INVALID);
    expect_message("scale: found 0");
    cornu_data_close(data);
    a.scale = -1;
    expect_status(cornu_data_in_place(&a, NULL, &data), CORNU_INVALID);
    expect_message("train.scale");
    cornu_model_close(m);
}

/* Files of 0.1 have it by another key. */
static void the_dtype_of_gradients_has_its_former_key_too(void **state)
{
    (void)state;
    cornu_data *data = runs_data(SAMPLES, 0);
    cornu_model *now = trained(data, "{epochs: 1, batch_size: 8, shards: 2, gradient_dtype: bf16}");
    cornu_model *former = trained(data, "{epochs: 1, batch_size: 8, shards: 2, wire: bf16}");
    cornu_model *fp32 = trained(data, "{epochs: 1, batch_size: 8, shards: 2}");
    assert_true(same_bits(now, former));
    assert_false(same_bits(now, fp32));
    cornu_model_close(now);
    cornu_model_close(former);
    cornu_model_close(fp32);
    static const char *const wrong[] = {"{wire: int8}", "{wire: bf16, gradient_dtype: bf16}"};
    static const char *const said[] = {"wire: found int8; expected fp32 or bf16",
                                       "wire: unknown key; expected "};
    for (int i = 0; i < 2; i++) {
        cornu_model *m = runs_usual(NULL);
        cornu_fit_options o = {.size = sizeof o, .section = wrong[i]};
        assert_int_equal(cornu_fit(m, data, &o, NULL), CORNU_INVALID);
        expect_message(said[i]);
        cornu_model_close(m);
    }
    cornu_data_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(class_weight_is_the_weight_of_each_sample_of_the_class),
        cmocka_unit_test(class_weight_knows_the_class_of_one_hot_targets),
        cmocka_unit_test(a_wrong_section_is_refused),
        cmocka_unit_test(validation_freq_says_which_epochs_validate),
        cmocka_unit_test(initial_epoch_is_the_first),
        cmocka_unit_test(validation_batch_size_is_that_of_validation_alone),
        cmocka_unit_test(validation_data_takes_the_place_of_the_test_split),
        cmocka_unit_test(a_data_section_can_be_replaced),
        cmocka_unit_test(the_dtype_of_gradients_has_its_former_key_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
