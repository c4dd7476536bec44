#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "exchange/checkpoint.h"
#include "support/runs.h"
#include "support/scratch.h"
#include "train/callbacks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A callback driven by hand: one epoch with this val_loss and val_mae after another, no training.
 */
typedef struct driven {
    cornu_model *model;
    doc *list;
    callbacks *callbacks;
    fit_state state;
} driven;

static void drive_open(driven *d, const char *list)
{
    *d = (driven){.model = runs_model(
                      "[{Dense: {units: 1}}]",
                      "{optimizer: {sgd: {learning_rate: 0.5}}, loss: mse, metrics: [mae]}", NULL)};
    d->state.model = d->model;
    d->state.logs = (fit_logs){
        .count = 4, .name = {"loss", "val_loss", "val_accuracy", "val_mae"}, .value = {1, 1, 1, 1}};
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
    d->state.logs.value[3] = val_loss;
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
    assert_int_equal(stopped_after("[{early_stopping: {monitor: val_mae}}]", falling, 5), -1);
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

static void no_number_and_no_finite_number_end_the_run(void **state)
{
    (void)state;
    static const double losses[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    driven d;
    drive_open(&d, "[terminate_on_nan]");
    d.state.step_loss = 1e30;
    expect_ok(callbacks_run(d.callbacks, CALLBACK_STEP_END, &d.state));
    for (int i = 0; i < 3; i++) {
        d.state.step_loss = losses[i];
        expect_status(callbacks_run(d.callbacks, CALLBACK_STEP_END, &d.state), CORNU_NOT_A_NUMBER);
    }
    drive_close(&d);
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
        json_decref(d.model->training.callback_state);
        d.model->training.callback_state = json_loads(text, 0, NULL);
        expect_status(callbacks_restore(d.callbacks, d.model),
                      cases[i].fine ? CORNU_OK : CORNU_BAD_FILE);
        drive_close(&d);
    }
}

static void expect_rates(const char *callbacks, const double expected[4])
{
    driven d;
    drive_open(&d, callbacks);
    for (int e = 0; e < 4; e++) {
        expect_ok(callbacks_run(d.callbacks, CALLBACK_EPOCH_BEGIN, &d.state));
        assert_float_equal(session_learning_rate(d.model), expected[e], 1e-12);
        d.state.epoch++;
    }
    drive_close(&d);
}

static void schedule_sets_the_rate_of_each_epoch(void **state)
{
    (void)state;
    expect_rates("[{learning_rate_schedule: {step: {boundaries: [1], values: [0.1, 0.02]}}}]",
                 (double[]){0.1, 0.1, 0.02, 0.02});
    expect_rates("[{learning_rate_schedule: {inverse_time: {initial_learning_rate: 0.6, "
                 "decay_steps: 1, decay_rate: 1}}}]",
                 (double[]){0.6, 0.3, 0.2, 0.15});
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

static void note_epoch(void *user, const cornu_progress *now)
{
    char line[32];
    snprintf(line, sizeof line, "line of epoch %d", (int)now->epoch + 1);
    notices_add(user, line);
}

static void what_is_said_of_an_epoch_stands_behind_its_line(void **state)
{
    (void)state;
    cornu_model *model = runs_usual(
        "{epochs: 9, validation: test, callbacks: [{early_stopping: {monitor: val_accuracy, mode: "
        "min, patience: 2, min_delta: 0.9}}, {reduce_lr_on_plateau: {monitor: val_accuracy, mode: "
        "min, patience: 2, min_delta: 0.9}}]}");
    cornu_data *data = runs_data(100, 40);
    notices n = {0};
    cornu_fit_options o = {
        .size = sizeof o, .on_epoch = note_epoch, .on_notice = notices_add, .user = &n};
    expect_ok(cornu_fit(model, data, &o, NULL));
    const char *line = strstr(n.lines, "line of epoch 3");
    assert_non_null(line);
    assert_non_null(strstr(line, "Epoch 3: early stopping"));
    assert_non_null(strstr(line, "Epoch 3: reducing the learning rate"));
    assert_null(strstr(line, "line of epoch 4"));
    cornu_data_close(data);
    cornu_model_close(model);
}

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
    cornu_fit_options o = {.size = sizeof o, .on_notice = notices_add, .user = &n};
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

/* ---- files of recipes -------------------------------------------------------------------- */

static cornu_fit_options into_scratch(void)
{
    static char folder[1100];
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    return (cornu_fit_options){.size = sizeof(cornu_fit_options), .output = folder};
}

static cornu_model *open_scratch(const char *name)
{
    cornu_model *model;
    expect_ok(cornu_model_open(scratch_path(name), &model));
    return model;
}

static void checkpoint_keeps_the_last_or_the_best_epoch(void **state)
{
    (void)state;
    /* "best" is the first epoch: nothing falls by 0.9 */
    cornu_model *model = runs_usual(
        "{epochs: 4, callbacks: [{checkpoint: {path: last.safetensors}}, {ModelCheckpoint: "
        "{filepath: best.safetensors, monitor: accuracy, mode: min, save_best_only: true}}]}");
    cornu_model *first = runs_usual("{epochs: 1}"), *opened;
    cornu_data *data = runs_data(300, 0);
    cornu_fit_options o = into_scratch();
    expect_ok(cornu_fit(model, data, &o, NULL));
    expect_ok(cornu_fit(first, data, NULL, NULL));
    opened = open_scratch("last.safetensors");
    assert_true(same_bits(opened, model));
    assert_int_equal(opened->training.position.epoch, 4);
    cornu_model_close(opened);
    opened = open_scratch("best.safetensors");
    assert_true(same_bits(opened, first));
    assert_int_equal(opened->training.position.epoch, 1);
    /* and it resumes to the same end */
    o.resume = true;
    expect_ok(cornu_fit(opened, data, &o, NULL));
    assert_true(same_bits(opened, model));
    cornu_model_close(opened);
    cornu_model_close(first);
    cornu_model_close(model);
    cornu_data_close(data);
}

static void checkpoint_names_hold_what_keras_puts_there(void **state)
{
    (void)state;
    cornu_history *h;
    cornu_fit_options o = into_scratch();
    cornu_data *data = runs_data(100, 40);
    cornu_model *model =
        runs_usual("{epochs: 3, validation: test, callbacks: [{ModelCheckpoint: {filepath: "
                   "'ck/{{x}}-{epoch:02d}/{val_loss:.2f}-{accuracy:.4f}.safetensors'}}]}");
    expect_ok(cornu_fit(model, data, &o, &h));
    assert_string_equal(cornu_history_name(h, 1), "accuracy");
    assert_string_equal(cornu_history_name(h, 2), "val_loss");
    for (int epoch = 0; epoch < 3; epoch++) {
        char name[128];
        snprintf(name, sizeof name, "ck/{x}-%02d/%.2f-%.4f.safetensors", epoch + 1,
                 cornu_history_value(h, epoch, 2), cornu_history_value(h, epoch, 1));
        cornu_model *opened = open_scratch(name);
        assert_int_equal(opened->training.position.epoch, epoch + 1);
        cornu_model_close(opened);
    }
    cornu_history_close(h);
    cornu_model_close(model);
    cornu_data_close(data);
}

static void checkpoint_options_that_make_no_sense_are_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{filepath: '{val_los}.safetensors'}",
         "recipe.yaml:3: fit.callbacks[0].checkpoint.filepath: found {val_los}; expected one of "
         "epoch, loss, accuracy, learning_rate in braces"},
        {"{filepath: '{batch}.safetensors'}", "found {batch}; expected one of epoch"},
        {"{filepath: '{val_loss}.safetensors', save_freq: 2}",
         "found {val_loss}; expected one of epoch, batch, loss, accuracy in braces"},
        {"{filepath: '{epoch:.2d}.safetensors'}", "expected a format of Python's int"},
        {"{filepath: a.onnx}", "found a.onnx; expected a name that ends in .safetensors"},
        {"{filepath: a.safetensors, save_best_only: true, save_freq: 2, monitor: learning_rate}",
         "found learning_rate with a save_freq of steps"},
    };
    static const char *const unread[][2] = {
        {"{filepath: a.safetensors, save_freq: 0}", "save_freq"},
        {"{filepath: a.safetensors, save_freq: often}", "expected epoch or a number of steps"},
        {"{filepath: a.safetensors, path: b.safetensors}", "found path and filepath"},
        {"{filepath: a.safetensors, period: 0}", "period: found 0; expected"},
        {"{filepath: a.safetensors, period: 2, save_freq: 4}",
         "period: found it beside a save_freq of 4 steps; expected one of the two"},
        {"{filepath: a.safetensors, verbos: 1}", "verbose, save_best_only, save_weights_only"},
        {"{}", "found no path; expected filepath"},
    };
    char fit[512], recipe[1024];
    cornu_data *data = runs_data(10, 0);
    cornu_fit_options o = into_scratch();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(fit, sizeof fit, "{callbacks: [{checkpoint: %s}]}", cases[i][0]);
        cornu_model *model = runs_usual(fit);
        expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
        expect_message(cases[i][1]);
        assert_false(model->initialized);
        cornu_model_close(model);
    }
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++) {
        cornu_model *model;
        snprintf(recipe, sizeof recipe,
                 "model: {input: [8], layers: [Flatten]}\nfit: {callbacks: [{checkpoint: %s}]}\n",
                 unread[i][0]);
        const char *path = scratch_write("r.yaml", recipe, strlen(recipe));
        expect_status(cornu_model_open(path, &model), CORNU_INVALID);
        expect_message(unread[i][1]);
    }
    cornu_data_close(data);
}

/* 100 samples in batches of 32 are 4 steps an epoch: a file after steps 3, 6 and 9 of 12. */
static void checkpoint_saves_each_so_many_steps_and_goes_on_from_there(void **state)
{
    (void)state;
    cornu_fit_options o = into_scratch();
    cornu_data *data = runs_data(100, 0);
    cornu_model *model = runs_usual(
        "{epochs: 3, callbacks: [{checkpoint: {filepath: 's-{epoch}-{batch:02d}.safetensors', "
        "save_freq: 3}}]}");
    static const struct {
        const char *name;
        int64_t epoch, step;
    } files[] = {{"s-1-03.safetensors", 0, 3},
                 {"s-2-02.safetensors", 1, 2},
                 {"s-3-01.safetensors", 2, 1},
                 {"s-3-04.safetensors", 2, 4}};
    expect_ok(cornu_fit(model, data, &o, NULL));
    assert_int_equal(scratch_count(), 4);
    o.resume = true;
    for (int i = 0; i < 4; i++) {
        cornu_model *opened = open_scratch(files[i].name);
        assert_int_equal(opened->training.position.epoch, files[i].epoch);
        assert_int_equal(opened->training.position.step, files[i].step);
        expect_ok(cornu_fit(opened, data, &o, NULL));
        assert_true(same_bits(opened, model));
        cornu_model_close(opened);
    }
    cornu_model_close(model);
    cornu_data_close(data);
}

/* Keras 2's: of epochs 3 and 6, and of the best of 2, 4, 6 (what falls below 0.9 is the first of
   those). Training goes on alike from a file of each epoch, which holds the count. */
static void checkpoint_saves_each_so_many_epochs_and_goes_on_from_there(void **state)
{
    (void)state;
    cornu_fit_options o = into_scratch();
    cornu_data *data = runs_data(100, 0);
    cornu_model *model = runs_usual(
        "{epochs: 7, callbacks: [{checkpoint: {filepath: 'each-{epoch}.safetensors'}}, "
        "{ModelCheckpoint: {filepath: 'p-{epoch}.safetensors', period: 3}}, "
        "{checkpoint: {filepath: 'best-{epoch}.safetensors', period: 2, save_best_only: true, "
        "monitor: accuracy, mode: min, initial_value_threshold: 1.1}}]}");
    expect_ok(cornu_fit(model, data, &o, NULL));
    o.resume = true;
    for (int from = 0; from <= 7; from++) {
        for (int epoch = 1; epoch <= 7; epoch++) {
            char name[32];
            snprintf(name, sizeof name, "p-%d.safetensors", epoch);
            bool is_there = file_exists(scratch_path(name));
            assert_int_equal(is_there, epoch % 3 == 0 && epoch > from);
            remove(scratch_path(name));
            snprintf(name, sizeof name, "best-%d.safetensors", epoch);
            assert_true(from > 0 || file_exists(scratch_path(name)) == (epoch == 2));
        }
        if (from == 7)
            break;
        char name[32];
        snprintf(name, sizeof name, "each-%d.safetensors", from + 1);
        cornu_model *opened = open_scratch(name);
        expect_ok(cornu_fit(opened, data, &o, NULL));
        assert_true(same_bits(opened, model));
        cornu_model_close(opened);
    }
    cornu_model_close(model);
    cornu_data_close(data);
}

static void checkpoint_of_weights_alone_and_its_threshold(void **state)
{
    (void)state;
    notices n = {0};
    cornu_fit_options o = into_scratch();
    o.on_notice = notices_add;
    o.user = &n;
    cornu_data *data = runs_data(100, 0);
    cornu_model *model = runs_usual(
        "{epochs: 1, callbacks: [{checkpoint: {filepath: w.safetensors, save_weights_only: true, "
        "verbose: 1}}, {checkpoint: {filepath: never.safetensors, save_best_only: true, monitor: "
        "loss, initial_value_threshold: 0.0, verbose: 1}}]}");
    cornu_model *other = runs_usual(NULL), *opened;
    expect_ok(cornu_fit(model, data, &o, NULL));
    assert_non_null(strstr(n.lines, "w.safetensors"));
    assert_non_null(strstr(n.lines, "Epoch 1: loss did not improve from 0.00000"));
    assert_false(file_exists(scratch_path("never.safetensors")));
    expect_ok(cornu_model_load_weights(other, scratch_path("w.safetensors")));
    for (int i = 0; i < model->weight_count; i++)
        assert_memory_equal(model->variables[i].value, other->variables[i].value,
                            (size_t)model->variables[i].count * sizeof(float));
    expect_status(cornu_model_open(scratch_path("w.safetensors"), &opened), CORNU_BAD_FILE);
    expect_message("other files hold only weights: --init takes them");
    cornu_model_close(other);
    cornu_model_close(model);
    cornu_data_close(data);
}

static void csv_logger_writes_keras_columns_and_appends(void **state)
{
    (void)state;
    char *content;
    size_t size;
    cornu_fit_options o = into_scratch();
    cornu_model *model = runs_usual("{epochs: 2, validation: test, callbacks: [{CSVLogger: "
                                    "{filename: log.csv, append: true}}]}");
    cornu_data *data = runs_data(20, 20);
    expect_ok(cornu_fit(model, data, &o, NULL));
    expect_ok(cornu_fit(model, data, &o, NULL));
    expect_ok(file_read(scratch_path("log.csv"), 1 << 20, &content, &size));
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
        TEST(no_number_and_no_finite_number_end_the_run),
        TEST(a_count_in_a_model_file_that_no_run_reaches_is_refused),
        TEST(schedule_sets_the_rate_of_each_epoch),
        TEST(schedule_needs_a_constant_rate_under_it),
        TEST(what_is_said_of_an_epoch_stands_behind_its_line),
        TEST(early_stopping_goes_back_to_the_best_weights),
        TEST(checkpoint_keeps_the_last_or_the_best_epoch),
        TEST(checkpoint_names_hold_what_keras_puts_there),
        TEST(checkpoint_options_that_make_no_sense_are_named),
        TEST(checkpoint_saves_each_so_many_steps_and_goes_on_from_there),
        TEST(checkpoint_saves_each_so_many_epochs_and_goes_on_from_there),
        TEST(checkpoint_of_weights_alone_and_its_threshold),
        TEST(csv_logger_writes_keras_columns_and_appends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
