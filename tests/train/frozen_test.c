/* Training with frozen layers: their weights keep their bits, however the training is run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/model.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS                                                                                 \
    "[{Dense: {units: 12, activation: relu, name: below, trainable: false}}, "                 \
    "{BatchNormalization: {name: norm, trainable: false}}, {Dropout: {rate: 0.3}}, "           \
    "{Dense: {units: 6, activation: tanh, name: middle}}, {BatchNormalization: {name: top}}, " \
    "{Dense: {units: 3, activation: softmax, name: head}}]"
#define COMPILE "{optimizer: adam, loss: sparse_categorical_crossentropy, metrics: [accuracy]}"

/* The values of all weights, one after another (free). */
static float *weights_of(const cornu_model *m)
{
    float *all = malloc((size_t)cornu_model_parameter_count(m) * sizeof *all), *at = all;
    for (int i = 0; i < m->weight_count; at += m->variables[i++].count)
        memcpy(at, m->variables[i].value, (size_t)m->variables[i].count * sizeof *at);
    return all;
}

static bool begins(const char *name, const char *layer)
{
    return strncmp(name, layer, strlen(layer)) == 0 && name[strlen(layer)] == '/';
}

/* Exactly the weights of frozen layers have not changed since. */
static void expect_frozen(const cornu_model *m, const float *before, const char *const *frozen)
{
    for (int i = 0; i < m->weight_count; before += m->variables[i++].count) {
        const variable *v = &m->variables[i];
        bool expected = true;
        for (int k = 0; frozen[k]; k++)
            expected &= !begins(v->name, frozen[k]);
        bool changed = memcmp(before, v->value, (size_t)v->count * sizeof(float)) != 0;
        if (changed != expected)
            fail_msg("%s: %s", v->name, changed ? "was trained" : "was not trained");
    }
}

static const char *const below[] = {"below", "norm", NULL};

static cornu_model *fresh(const char *fit)
{
    cornu_model *m = runs_model(LAYERS, COMPILE, fit);
    expect_ok(cornu_model_initialize(m, 3));
    return m;
}

static void frozen_layers_keep_their_bits_and_the_others_learn(void **state)
{
    (void)state;
    static const char *const fits[] = {"{epochs: 3, batch_size: 16}",
                                       "{epochs: 3, batch_size: 16, shards: 2}"};
    cornu_data *data = runs_data(48, 0);
    for (int i = 0; i < 2; i++) {
        cornu_model *m = fresh(fits[i]);
        float *before = weights_of(m);
        expect_ok(cornu_fit(m, data, NULL, NULL));
        expect_frozen(m, before, below);
        free(before);
        cornu_model_close(m);
    }
    cornu_data_close(data);
}

static void a_resumed_run_has_the_bits_of_a_whole_one(void **state)
{
    (void)state;
    cornu_data *data = runs_data(48, 0);
    cornu_model *whole = fresh("{epochs: 4, batch_size: 16, seed: 5}"),
                *half = fresh("{epochs: 4, batch_size: 16, seed: 5}"), *rest;
    int steps = 5;
    cornu_fit_options options = {.size = sizeof options,
                                 .save = scratch_path("half.safetensors"),
                                 .should_stop = stop_after,
                                 .user = &steps};
    expect_ok(cornu_fit(whole, data, NULL, NULL));
    expect_status(cornu_fit(half, data, &options, NULL), CORNU_STOPPED);
    expect_ok(cornu_model_open(scratch_path("half.safetensors"), &rest));
    expect_ok(cornu_fit(
        rest, data, &(cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true}, NULL));
    assert_true(same_bits(whole, rest));
    cornu_model_close(whole);
    cornu_model_close(half);
    cornu_model_close(rest);
    cornu_data_close(data);
}

/* As Keras does it: a frozen model trains, says so once, and changes nothing. */
static void a_model_that_is_frozen_trains_nothing_and_says_so(void **state)
{
    (void)state;
    static const char *const all[] = {"below", "norm", "middle", "top", "head", NULL};
    static const char *const fits[] = {"{epochs: 2, batch_size: 16}",
                                       "{epochs: 2, batch_size: 16, shards: 2}"};
    cornu_data *data = runs_data(48, 0);
    for (int i = 0; i < 2; i++) {
        notices said = {.count = 0};
        cornu_fit_options options = {
            .size = sizeof options, .on_notice = notices_add, .user = &said};
        cornu_model *m = fresh(fits[i]);
        expect_ok(cornu_model_set_trainable(m, NULL, false));
        float *before = weights_of(m);
        expect_ok(cornu_fit(m, data, &options, NULL));
        expect_frozen(m, before, all);
        assert_non_null(strstr(said.lines, "does not have any trainable weights"));
        assert_int_equal(said.count, 1);
        free(before);
        cornu_model_close(m);
    }
    cornu_data_close(data);
}

static void a_flag_set_after_training_waits_for_the_next_compile(void **state)
{
    (void)state;
    static const char *const with_head[] = {"below", "norm", "head", NULL};
    notices said = {.count = 0};
    cornu_fit_options options = {.size = sizeof options, .on_notice = notices_add, .user = &said};
    cornu_data *data = runs_data(48, 0);
    cornu_model *m = fresh("{epochs: 1, batch_size: 16}");
    expect_ok(cornu_fit(m, data, &options, NULL));
    assert_int_equal(said.count, 0);
    expect_ok(cornu_model_set_trainable(m, "head", false));
    float *before = weights_of(m);
    expect_ok(cornu_fit(m, data, &options, NULL));
    expect_frozen(m, before, below);
    assert_non_null(strstr(said.lines, "the next compile counts"));
    free(before);
    before = weights_of(m);
    expect_ok(cornu_model_compile(m, COMPILE));
    expect_ok(cornu_fit(m, data, NULL, NULL));
    expect_frozen(m, before, with_head);
    free(before);
    cornu_model_close(m);
    cornu_data_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frozen_layers_keep_their_bits_and_the_others_learn),
        cmocka_unit_test_setup_teardown(a_resumed_run_has_the_bits_of_a_whole_one, scratch_open,
                                        scratch_close),
        cmocka_unit_test(a_model_that_is_frozen_trains_nothing_and_says_so),
        cmocka_unit_test(a_flag_set_after_training_waits_for_the_next_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
