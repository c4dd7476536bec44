#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include <stdio.h>

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
    const cornu_fit_options none = {.threads = 1},
                            all = {.batch = 8, .epochs = 3, .steps_per_epoch = 2, .seed = 9};
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
    expect_ok(cornu_fit(model, data, &(cornu_fit_options){.log = log, .log_steps = true}, NULL));
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
        cmocka_unit_test_setup_teardown(
            samples_are_shuffled_anew_each_epoch_unless_the_recipe_says_no, scratch_open,
            scratch_close),
        cmocka_unit_test(data_of_fewer_classes_than_outputs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
