#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/runs.h"
#include "support/scratch.h"
#include "train/callbacks.h"
#include "train/checkpoint.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A callback driven by hand: one epoch with this val_loss after another, no training. */
typedef struct driven {
    cornu_model *model;
    doc *list;
    callbacks *callbacks;
    fit_state state;
} driven;

static void drive_open(driven *d, const char *list)
{
    *d = (driven){.model = runs_model("[{Dense: {units: 1}}]",
                                      "{optimizer: {sgd: {learning_rate: 0.5}}, loss: mse}", NULL)};
    d->state.model = d->model;
    d->state.logs =
        (fit_logs){.count = 3, .name = {"loss", "val_loss", "val_accuracy"}, .value = {1, 1, 1}};
    expect_ok(doc_parse(list, strlen(list), "list", &d->list));
    expect_ok(callbacks_open(d->list, &d->callbacks));
    d->state.callbacks = d->callbacks;
    expect_ok(callbacks_run(d->callbacks, CALLBACK_FIT_BEGIN, &d->state));
}

/* The epoch's val_loss and val_accuracy; then the state goes through JSON, as in a resumed run. */
static void drive_epoch(driven *d, double val_loss, double val_accuracy)
{
    d->state.logs.value[1] = val_loss;
    d->state.logs.value[2] = val_accuracy;
    expect_ok(callbacks_run(d->callbacks, CALLBACK_EPOCH_BEGIN, &d->state));
    expect_ok(callbacks_run(d->callbacks, CALLBACK_EPOCH_END, &d->state));
    d->state.epoch++;
    expect_ok(callbacks_save(d->callbacks, d->model));
    callbacks_close(d->callbacks);
    expect_ok(callbacks_open(d->list, &d->callbacks));
    expect_ok(callbacks_restore(d->callbacks, d->model));
    bool stop = d->state.stop;
    expect_ok(callbacks_run(d->callbacks, CALLBACK_FIT_BEGIN, &d->state));
    d->state.stop = stop;
}

static void drive_close(driven *d)
{
    callbacks_close(d->callbacks);
    doc_free(d->list);
    cornu_model_close(d->model);
}

/* The epoch (from 0) after which the run ends; -1: never. */
static int stopped_after(const char *list, const double *val_loss, int count)
{
    driven d;
    int at = -1;
    drive_open(&d, list);
    for (int i = 0; i < count && at < 0; i++) {
        drive_epoch(&d, val_loss[i], val_loss[i]);
        if (d.state.stop)
            at = i;
    }
    drive_close(&d);
    return at;
}

/* The sequences and where they end were worked out with Keras 3's EarlyStopping. */
static void early_stopping_ends_where_keras_does(void **state)
{
    (void)state;
    static const double falling[] = {5, 4, 3, 2, 1}, flat[] = {1, 1, 1, 1, 1},
                        bumpy[] = {5, 4, 4.5, 3.9, 4, 4, 3.95, 3.8};
    assert_int_equal(stopped_after("[early_stopping]", falling, 5), -1);
    assert_int_equal(stopped_after("[early_stopping]", flat, 5), 1);
    assert_int_equal(stopped_after("[{EarlyStopping: {patience: 1}}]", flat, 5), 1);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 2}}]", flat, 5), 2);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 2}}]", bumpy, 8), 5);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 4}}]", bumpy, 8), -1);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 2, mode: max}}]", falling, 5), 2);
    assert_int_equal(stopped_after("[{early_stopping: {monitor: val_accuracy}}]", falling, 5), 1);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 2, min_delta: 1.5}}]", falling, 5),
                     -1);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 1, min_delta: 1.5}}]", falling, 5),
                     1);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 2, min_delta: -2}}]", falling, 5),
                     2);
    assert_int_equal(stopped_after("[{early_stopping: {start_from_epoch: 3}}]", flat, 5), 4);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 3, baseline: 0.5}}]", flat, 5), 2);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 2, baseline: 3.5}}]", falling, 5),
                     -1);
}

static void values_that_are_no_numbers_are_no_improvement(void **state)
{
    (void)state;
    static const double values[] = {2, NAN, NAN, 1};
    assert_int_equal(stopped_after("[{early_stopping: {patience: 2}}]", values, 4), 2);
    assert_int_equal(stopped_after("[{early_stopping: {patience: 3}}]", values, 4), -1);
}

static void plateau_reduces_as_keras_does(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        double val_loss[7], rate[7];
    } cases[] = {
        {"[{reduce_lr_on_plateau: {patience: 1, factor: 0.5}}]",
         {3, 3, 3, 2, 2, 2, 2},
         {0.5, 0.25, 0.125, 0.125, 0.0625, 0.03125, 0.015625}},
        {"[{reduce_lr_on_plateau: {patience: 2, factor: 0.5}}]",
         {3, 3, 3, 3, 3, 3, 3},
         {0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625}},
        {"[{reduce_lr_on_plateau: {patience: 1, factor: 0.5, cooldown: 2}}]",
         {3, 3, 3, 3, 3, 3, 3},
         {0.5, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625}},
        {"[{reduce_lr_on_plateau: {patience: 1, factor: 0.1, min_lr: 0.2}}]",
         {3, 3, 3, 3, 3, 3, 3},
         {0.5, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
        {"[{ReduceLROnPlateau: {monitor: val_accuracy, patience: 1, factor: 0.5, min_delta: 1}}]",
         {1, 1.5, 3, 3.5, 4.5, 5, 6},
         {0.5, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        driven d;
        drive_open(&d, cases[i].list);
        for (int e = 0; e < 7; e++) {
            drive_epoch(&d, cases[i].val_loss[e], cases[i].val_loss[e]);
            double rate = session_learning_rate(d.model);
            if (fabs(rate - cases[i].rate[e]) > 1e-9) {
                print_error("%s epoch %d: found %g; expected %g\n", cases[i].list, e, rate,
                            cases[i].rate[e]);
                fail();
            }
        }
        drive_close(&d);
    }
}

/* What a model file says of counts is bounded, so that no sum with them overflows. */
static void a_count_in_a_model_file_that_no_run_reaches_is_refused(void **state)
{
    (void)state;
    static const char early[] = "[{\"name\": \"early_stopping\", \"state\": {\"has_best\": true, "
                                "\"has_weights\": false, \"stopped\": false, \"best\": \"0x1p+0\", "
                                "\"wait\": %s, \"best_epoch\": %s}}]";
    static const char plateau[] = "[{\"name\": \"reduce_lr_on_plateau\", \"state\": {\"has_best\": "
                                  "true, \"best\": \"0x1p+0\", \"wait\": %s, \"cooling\": %s}}]";
    static const struct {
        const char *list, *text, *a, *b;
        bool fine;
    } cases[] = {
        {"[early_stopping]", early, "0", "7", true},
        {"[early_stopping]", early, "0", "9223372036854775807", false},
        {"[early_stopping]", early, "0", "2147483648", false},
        {"[early_stopping]", early, "0", "-1", false},
        {"[early_stopping]", early, "0", "1.5", false},
        {"[early_stopping]", early, "9223372036854775807", "0", false},
        {"[reduce_lr_on_plateau]", plateau, "3", "4", true},
        {"[reduce_lr_on_plateau]", plateau, "0", "9223372036854775807", false},
        {"[reduce_lr_on_plateau]", plateau, "2147483648", "0", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        driven d;
        char text[512];
        drive_open(&d, cases[i].list);
        snprintf(text, sizeof text, cases[i].text, cases[i].a, cases[i].b);
        json_decref(d.model->callback_state);
        d.model->callback_state = json_loads(text, 0, NULL);
        expect_status(callbacks_restore(d.callbacks, d.model),
                      cases[i].fine ? CORNU_OK : CORNU_BAD_FILE);
        drive_close(&d);
    }
}

static void schedule_sets_the_rate_of_each_epoch(void **state)
{
    (void)state;
    static const double expected[] = {0.1, 0.1, 0.02, 0.02};
    driven d;
    drive_open(&d, "[{learning_rate_schedule: {step: {boundaries: [1], values: [0.1, 0.02]}}}]");
    for (int e = 0; e < 4; e++) {
        expect_ok(callbacks_run(d.callbacks, CALLBACK_EPOCH_BEGIN, &d.state));
        assert_float_equal(session_learning_rate(d.model), expected[e], 1e-12);
        d.state.epoch++;
    }
    drive_close(&d);
}

static void schedule_needs_a_constant_rate_under_it(void **state)
{
    (void)state;
    cornu_model *model = runs_model(
        "[{Dense: {units: 1}}]",
        "{optimizer: {sgd: {learning_rate: {cosine: {initial_learning_rate: 1, decay_steps: 9}}}}, "
        "loss: mse}",
        "{callbacks: [{learning_rate_schedule: {cosine: {initial_learning_rate: 1, decay_steps: "
        "3}}}]}");
    cornu_data *data = runs_data(10, 0);
    expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
    expect_message("found an optimizer with a schedule of its own");
    cornu_data_close(data);
    cornu_model_close(model);
}

/* ---- in runs ---------------------------------------------------------------------------- */

static void early_stopping_goes_back_to_the_best_weights(void **state)
{
    (void)state;
    /* accuracy as what is to fall: the first epoch stays the best */
    cornu_model *best = runs_usual("{epochs: 1, validation: test}");
    cornu_model *model = runs_usual(
        "{epochs: 9, validation: test, callbacks: [{early_stopping: {monitor: val_accuracy, mode: "
        "min, patience: 3, min_delta: 0.9, restore_best_weights: true}}]}");
    cornu_data *data = runs_data(100, 40);
    notices n = {0};
    cornu_history *h;
    cornu_fit_options o = {.on_notice = notices_add, .user = &n};
    expect_ok(cornu_fit(best, data, NULL, NULL));
    expect_ok(cornu_fit(model, data, &o, &h));
    assert_int_equal(cornu_history_epochs(h), 4);
    assert_non_null(strstr(n.lines, "Epoch 4: early stopping"));
    for (int i = 0; i < model->weight_count; i++)
        assert_memory_equal(model->variables[i].value, best->variables[i].value,
                            (size_t)model->variables[i].count * sizeof(float));
    /* ended means ended, unless more epochs are asked for */
    cornu_history *again;
    o.resume = true;
    expect_ok(cornu_fit(model, data, &o, &again));
    assert_int_equal(cornu_history_epochs(again), 0);
    assert_non_null(strstr(n.lines, "early_stopping has ended this run"));
    cornu_history_close(again);
    o.epochs = 11;
    expect_ok(cornu_fit(model, data, &o, &again));
    assert_true(cornu_history_epochs(again) > 0);
    cornu_history_close(again);
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(best);
    cornu_model_close(model);
}

static void checkpoint_keeps_the_last_or_the_best_epoch(void **state)
{
    (void)state;
    char fit[4096], last[1100], best[1100];
    snprintf(last, sizeof last, "%s", scratch_path("last.safetensors"));
    snprintf(best, sizeof best, "%s", scratch_path("best.safetensors"));
    /* "best" is the first epoch: nothing falls by 0.9 */
    snprintf(fit, sizeof fit,
             "{epochs: 4, callbacks: [{checkpoint: {path: '%s'}}, {ModelCheckpoint: {path: '%s', "
             "monitor: accuracy, mode: min, save_best_only: true}}]}",
             last, best);
    cornu_model *model = runs_usual(fit), *first = runs_usual("{epochs: 1}"), *opened;
    cornu_data *data = runs_data(300, 0);
    expect_ok(cornu_fit(model, data, NULL, NULL));
    expect_ok(cornu_fit(first, data, NULL, NULL));
    expect_ok(cornu_model_open(last, &opened));
    assert_true(same_bits(opened, model));
    assert_int_equal(opened->position.epoch, 4);
    cornu_model_close(opened);
    expect_ok(cornu_model_open(best, &opened));
    assert_true(same_bits(opened, first));
    assert_int_equal(opened->position.epoch, 1);
    /* and it resumes to the same end */
    expect_ok(cornu_fit(opened, data, &(cornu_fit_options){.resume = true}, NULL));
    assert_true(same_bits(opened, model));
    cornu_model_close(opened);
    cornu_model_close(first);
    cornu_model_close(model);
    cornu_data_close(data);
}

static void checkpoint_path_is_checked_before_training(void **state)
{
    (void)state;
    cornu_data *data = runs_data(10, 0);
    static const char *const fits[] = {
        "{callbacks: [{checkpoint: {path: /nonexistent-folder/m.safetensors}}]}",
        "{callbacks: [{checkpoint: {path: m.keras}}]}",
        "{callbacks: [{csv_logger: {path: /nonexistent-folder/log.csv}}]}"};
    for (int i = 0; i < 3; i++) {
        cornu_model *model = runs_usual(fits[i]);
        assert_int_not_equal(cornu_fit(model, data, NULL, NULL), CORNU_OK);
        assert_false(model->initialized);
        cornu_model_close(model);
    }
    cornu_data_close(data);
}

static void csv_logger_writes_keras_columns_and_appends(void **state)
{
    (void)state;
    char fit[2048], *content;
    size_t size;
    const char *path = scratch_path("log.csv");
    snprintf(fit, sizeof fit,
             "{epochs: 2, validation: test, callbacks: [{csv_logger: {path: '%s', append: true}}]}",
             path);
    cornu_model *model = runs_usual(fit);
    cornu_data *data = runs_data(20, 20);
    expect_ok(cornu_fit(model, data, NULL, NULL));
    expect_ok(cornu_fit(model, data, NULL, NULL));
    expect_ok(file_read(path, 1 << 20, &content, &size));
    const char *header = "epoch,accuracy,learning_rate,loss,val_accuracy,val_loss\n0,";
    assert_int_equal(strncmp(content, header, strlen(header)), 0);
    int lines = 0;
    for (const char *c = content; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 5);
    free(content);
    cornu_data_close(data);
    cornu_model_close(model);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(early_stopping_ends_where_keras_does),
        TEST(values_that_are_no_numbers_are_no_improvement),
        TEST(plateau_reduces_as_keras_does),
        TEST(a_count_in_a_model_file_that_no_run_reaches_is_refused),
        TEST(schedule_sets_the_rate_of_each_epoch),
        TEST(schedule_needs_a_constant_rate_under_it),
        TEST(early_stopping_goes_back_to_the_best_weights),
        TEST(checkpoint_keeps_the_last_or_the_best_epoch),
        TEST(checkpoint_path_is_checked_before_training),
        TEST(csv_logger_writes_keras_columns_and_appends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
