#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include "train/fit_run.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <string.h>

static position trained_with(const char *fit, const cornu_fit_options *o)
{
    cornu_model *model = runs_usual(fit);
    cornu_data *data = runs_data(40, 0);
    expect_ok(cornu_fit(model, data, o, NULL));
    position p = model->training.position;
    cornu_data_close(data);
    cornu_model_close(model);
    return p;
}

static void options_win_over_the_recipe_and_it_over_the_defaults(void **state)
{
    (void)state;
    static const char recipe[] = "{batch_size: 10, epochs: 2, steps_per_epoch: 3, seed: 5}";
    const cornu_fit_options none = {.size = sizeof none, .where.threads = 1},
                            all = {.size = sizeof all,
                                   .batch = 8,
                                   .epochs = 3,
                                   .steps_per_epoch = 2,
                                   .seed = 9};
    position p = trained_with(recipe, &none);
    assert_true(p.batch == 10 && p.epochs == 2 && p.steps_per_epoch == 3 && p.seed == 5);
    assert_int_equal(p.iterations, 2 * 3);
    p = trained_with(recipe, &all);
    assert_true(p.batch == 8 && p.epochs == 3 && p.steps_per_epoch == 2 && p.seed == 9);
    assert_int_equal(p.iterations, 3 * 2);
    p = trained_with("{}", &none);
    assert_true(p.batch == 32 && p.epochs == 1 && p.steps_per_epoch == 0 && p.seed == 1);
    assert_int_equal(p.iterations, 2); /* 40 samples */
}

/* A row of the table: as the recipe says, as the caller says, and what the caller must not say. */
static void check_number(const char *field, const char *key, size_t given, size_t spec,
                         int64_t minimum, int64_t maximum)
{
    char text[96];
    doc *section;
    fit_spec read;
    cornu_fit_options o = {.size = sizeof o, .where.threads = 1};
    int64_t *value = (int64_t *)(void *)((char *)&read + spec);
    int64_t *option = (int64_t *)(void *)((char *)&o + given);
    snprintf(text, sizeof text, "{%s: %jd}", key, (intmax_t)minimum + 1);
    expect_ok(doc_parse(text, strlen(text), "fit", &section));
    expect_ok(fit_spec_read(section, &read));
    assert_int_equal(*value, minimum + 1);
    *option = minimum + 3;
    fit_spec_take(&o, &read);
    assert_int_equal(*value, minimum + 3);
    if (maximum < INT64_MAX) {
        *option = maximum + 1;
        expect_status(fit_check_options(&o), CORNU_INVALID);
        snprintf(text, sizeof text, "%s: found %jd; expected", field, (intmax_t)maximum + 1);
        expect_message(text);
    }
    doc_free(section);
}

#define CHECK_INT(...) check_number(__VA_ARGS__);
#define CHECK_TEXT(...) /* named values: shards_test.c */
#define CHECK_FLAG(...)
#define CHECK(at, type, field, key, flag, value, standard, minimum, maximum, help)           \
    CHECK_##type(#field, key, offsetof(cornu_fit_options, field), offsetof(fit_spec, field), \
                 minimum, maximum)
#define CHECK_KEY(...)

static void each_number_of_the_table_is_read_given_and_checked(void **state)
{
    (void)state;
    CORNU_FIT_OPTIONS(CHECK, CHECK_KEY, )
    expect_status(fit_check_options(&(cornu_fit_options){.size = sizeof(cornu_fit_options),
                                                         .where.threads = 1025}),
                  CORNU_INVALID);
    expect_message("threads: found 1025; expected a number from 1 to 1024");
    expect_ok(fit_check_options(
        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .seed = UINT64_MAX}));
}

/* As if the recipe had said it. */
static void another_learning_rate_is_the_recipes(void **state)
{
    (void)state;
    static const char layers[] = "[{Dense: {units: 3, activation: softmax}}]",
                      fit[] = "{epochs: 2}";
    cornu_data *data = runs_data(40, 0);
    cornu_model *said = runs_model(
        layers, "{optimizer: {sgd: {learning_rate: 0.07}}, loss: categorical_crossentropy}", fit);
    cornu_model *changed =
        runs_model(layers, "{optimizer: sgd, loss: categorical_crossentropy}", fit);
    expect_ok(cornu_model_change_learning_rate(changed, 0.07));
    char *a, *b;
    expect_ok(cornu_model_compile_config(said, &a));
    expect_ok(cornu_model_compile_config(changed, &b));
    assert_string_equal(a, b);
    expect_ok(cornu_fit(said, data, NULL, NULL));
    expect_ok(cornu_fit(changed, data, NULL, NULL));
    assert_true(same_bits(said, changed));
    expect_status(cornu_model_change_learning_rate(changed, 0), CORNU_INVALID);
    expect_message("learning_rate: found 0; expected a number above 0");
    cornu_free(a);
    cornu_free(b);
    cornu_model_close(said);
    cornu_model_close(changed);
    cornu_data_close(data);
}

static void another_learning_rate_beside_a_schedule_is_refused(void **state)
{
    (void)state;
    static const char layers[] = "[{Dense: {units: 3, activation: softmax}}]";
    cornu_model *callback = runs_model(
        layers, "{optimizer: sgd, loss: categorical_crossentropy}",
        "{callbacks: [{LearningRateScheduler: {step: {boundaries: [1], values: [0.1, 0.2]}}}]}");
    cornu_model *schedule = runs_model(
        layers,
        "{optimizer: {sgd: {learning_rate: {cosine: {initial_learning_rate: 1, decay_steps: 9}}}}, "
        "loss: categorical_crossentropy}",
        NULL);
    expect_status(cornu_model_change_learning_rate(callback, 0.1), CORNU_INVALID);
    expect_message("found the callback LearningRateScheduler in the recipe");
    expect_status(cornu_model_change_learning_rate(schedule, 0.1), CORNU_INVALID);
    expect_message("found a schedule in the recipe; expected a number");
    cornu_model_close(callback);
    cornu_model_close(schedule);
}

enum { STEPS = 4 };

/* The losses of the steps of two epochs in which no weight changes: they tell who is in each batch.
 */
static void step_losses(const char *fit, double losses[2][STEPS])
{
    cornu_model *model =
        runs_model("[{Dense: {units: 3, activation: softmax}}]",
                   "{optimizer: {sgd: {learning_rate: 0}}, loss: categorical_crossentropy}", fit);
    cornu_data *data = runs_data(40, 0);
    const char *log = scratch_path("log.csv");
    expect_ok(cornu_fit(
        model, data,
        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .log = log, .log_steps = true},
        NULL));
    FILE *f = fopen(log, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "step,loss\n"), 0);
    for (int i = 0; i < 2 * STEPS; i++)
        assert_int_equal(fscanf(f, "%*d,%lf\n", &losses[i / STEPS][i % STEPS]), 1);
    fclose(f);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void samples_are_shuffled_anew_each_epoch_unless_the_recipe_says_no(void **state)
{
    (void)state;
    double shuffled[2][STEPS], plain[2][STEPS];
    step_losses("{batch_size: 10, epochs: 2}", shuffled);
    step_losses("{batch_size: 10, epochs: 2, shuffle: false}", plain);
    assert_memory_equal(plain[0], plain[1], sizeof plain[0]);
    assert_memory_not_equal(shuffled[0], plain[0], sizeof plain[0]);
    assert_memory_not_equal(shuffled[1], plain[0], sizeof plain[0]);
    assert_memory_not_equal(shuffled[0], shuffled[1], sizeof plain[0]);
}

/* One output a class: more of them would never be right. */
static void data_of_fewer_classes_than_outputs_are_refused(void **state)
{
    (void)state;
    cornu_model *model =
        runs_model("[{Dense: {units: 4, activation: softmax}}]",
                   "{optimizer: sgd, loss: categorical_crossentropy}", "{epochs: 1}");
    cornu_data *data = runs_data(20, 0);
    expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
    expect_message("found 3 classes; the model's outputs expect 4");
    cornu_data_close(data);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_win_over_the_recipe_and_it_over_the_defaults),
        cmocka_unit_test(each_number_of_the_table_is_read_given_and_checked),
        cmocka_unit_test(another_learning_rate_is_the_recipes),
        cmocka_unit_test(another_learning_rate_beside_a_schedule_is_refused),
        cmocka_unit_test_setup_teardown(
            samples_are_shuffled_anew_each_epoch_unless_the_recipe_says_no, scratch_open,
            scratch_close),
        cmocka_unit_test(data_of_fewer_classes_than_outputs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
