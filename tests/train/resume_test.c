#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

/* Everything that has a state: dropout, batch normalization's moving statistics, momentum, a
   schedule within epochs and one over them, callbacks that remember, a partial batch. */
#define LAYERS                                                                           \
    "[{Dense: {units: 12, activation: relu, kernel_regularizer: l1, kernel_constraint: " \
    "max_norm}}, {Dropout: {rate: 0.4}}, "                                               \
    "BatchNormalization, "                                                               \
    "{Dense: {units: 3, activation: softmax}}]"
#define COMPILE                                                                                   \
    "{optimizer: {sgd: {learning_rate: {cosine: {initial_learning_rate: 0.2, decay_steps: 40}}, " \
    "momentum: 0.9, nesterov: true}}, loss: sparse_categorical_crossentropy, "                    \
    "metrics: [accuracy, {sparse_top_k_categorical_accuracy: {k: 2}}, "                           \
    "{MeanIoU: {num_classes: 3, sparse_y_pred: false}}]}"
#define FIT                                                                          \
    "{epochs: 6, batch_size: 16, validation: test, callbacks: ["                     \
    "{early_stopping: {patience: 2, min_delta: 0.02, restore_best_weights: true}}, " \
    "{reduce_lr_on_plateau: {monitor: loss, patience: 1, min_delta: 0.05, factor: 0.5}}]}"

enum { TRAIN = 70, TEST_SAMPLES = 30, STEPS = 5 };

typedef struct run {
    cornu_status status;
    cornu_model *model;
    char *log; /* without the column of seconds, where it has one */
} run;

static char *log_without_seconds(const char *path)
{
    char *content, *to;
    size_t size;
    expect_ok(file_read(path, 1 << 20, &content, &size));
    bool seconds = strstr(content, ",seconds\n") != NULL;
    to = content;
    for (char *line = content; *line;) {
        char *end = strchr(line, '\n'), *stop = end;
        while (seconds && *stop != ',')
            stop--;
        memmove(to, line, (size_t)(stop - line));
        to += stop - line;
        *to++ = '\n';
        line = end + 1;
    }
    *to = 0;
    return content;
}

/* Train from `model`, or from what was saved, for `steps` steps (0: to the end), then reopen. */
static run train(cornu_model *model, const cornu_data *data, int steps, cornu_fit_options o)
{
    char save[1100], log[1100];
    snprintf(save, sizeof save, "%s", scratch_path("run.safetensors"));
    snprintf(log, sizeof log, "%s", scratch_path("run.csv"));
    if (!model) {
        expect_ok(cornu_model_open(save, &model));
        o.resume = true;
    }
    o.save = save;
    o.log = log;
    o.should_stop = steps ? stop_after : NULL;
    o.user = &steps;
    run r = {.status = cornu_fit(model, data, &o, NULL)};
    if (r.status != CORNU_OK)
        expect_status(r.status, CORNU_STOPPED);
    cornu_model_close(model);
    expect_ok(cornu_model_open(save, &r.model));
    r.log = log_without_seconds(log);
    return r;
}

static void close_run(run *r)
{
    cornu_model_close(r->model);
    free(r->log);
}

/* Whole against interrupted after `first` steps and then after every `more` (0: once only). */
static void compare(const char *layers, const char *compile, const char *fit, int first, int more,
                    cornu_fit_options o)
{
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    run whole = train(runs_model(layers, compile, fit), data, 0, o);
    assert_int_equal(whole.status, CORNU_OK);
    run part = train(runs_model(layers, compile, fit), data, first, o);
    while (part.status == CORNU_STOPPED) {
        close_run(&part);
        part = train(NULL, data, more, o);
    }
    assert_string_equal(part.log, whole.log);
    assert_true(same_bits(part.model, whole.model));
    assert_int_equal(part.model->training.position.iterations,
                     whole.model->training.position.iterations);
    assert_memory_equal(&part.model->training.position, &whole.model->training.position,
                        sizeof(position));
    assert_true(
        json_equal(part.model->training.callback_state, whole.model->training.callback_state));
    close_run(&part);
    close_run(&whole);
    cornu_data_close(data);
}

/* Sums of gradients over an epoch's end, averages that take the weights' place now and then, and at
   the end of epochs. */
static void sums_and_averages_go_on(void **state)
{
    (void)state;
    const char *compile =
        "{optimizer: {adam: {learning_rate: 0.02, gradient_accumulation_steps: 3, use_ema: true, "
        "ema_momentum: 0.8, ema_overwrite_frequency: 4}}, loss: sparse_categorical_crossentropy}";
    const char *fit = "{epochs: 4, batch_size: 16, validation: test, callbacks: "
                      "[{swap_ema_weights: {swap_on_epoch: true}}]}";
    for (int stop = 1; stop <= 2 * STEPS + 1; stop += 3)
        compare(LAYERS, compile, fit, stop, 4,
                (cornu_fit_options){.size = sizeof(cornu_fit_options)});
}

static void resume_in_mid_epoch_gives_the_same_weights(void **state)
{
    (void)state;
    for (int stop = 1; stop <= 2 * STEPS + 1; stop++)
        compare(LAYERS, COMPILE, FIT, stop, 0,
                (cornu_fit_options){.size = sizeof(cornu_fit_options)});
}

static void resume_after_every_step_gives_the_same_weights(void **state)
{
    (void)state;
    /* Asked in validation too: a run of one step would never get past its second batch. */
    compare(LAYERS, COMPILE, "{epochs: 4, batch_size: 16}", 1, 1,
            (cornu_fit_options){.size = sizeof(cornu_fit_options)});
    compare(LAYERS, COMPILE, FIT, 3, 2,
            (cornu_fit_options){.size = sizeof(cornu_fit_options), .where.threads = 2});
}

static void resume_continues_the_step_log(void **state)
{
    (void)state;
    for (int stop = 3; stop <= 8; stop++)
        compare(LAYERS, COMPILE, FIT, stop, 4,
                (cornu_fit_options){.size = sizeof(cornu_fit_options), .log_steps = true});
}

static void resume_holds_for_other_optimizers_and_splits(void **state)
{
    (void)state;
    static const char *const compiles[] = {
        "{optimizer: adam, loss: categorical_crossentropy}",
        "{optimizer: {adamw: {weight_decay: 0.01, amsgrad: true}}, loss: categorical_crossentropy}",
        "{optimizer: {rmsprop: {momentum: 0.5, centered: true, clipnorm: 1.0}}, loss: "
        "categorical_crossentropy, metrics: [accuracy]}",
    };
    for (size_t i = 0; i < sizeof compiles / sizeof *compiles; i++) {
        compare(LAYERS, compiles[i], "{epochs: 3, batch_size: 20, validation_split: 0.2}", 4, 0,
                (cornu_fit_options){.size = sizeof(cornu_fit_options)});
        compare(LAYERS, compiles[i], "{epochs: 3, batch_size: 20, seed: 7, shuffle: false}", 6, 2,
                (cornu_fit_options){.size = sizeof(cornu_fit_options), .steps_per_epoch = 3});
        compare(LAYERS, compiles[i],
                "{epochs: 4, batch_size: 20, callbacks: [{learning_rate_schedule: {step: "
                "{boundaries: [1], values: [0.01, 0.001]}}}]}",
                6, 3, (cornu_fit_options){.size = sizeof(cornu_fit_options), .seed = UINT64_MAX});
    }
}

static void resume_holds_for_layers_that_are_called_twice(void **state)
{
    (void)state;
    compare("[{Dense: {units: 8, activation: relu, name: a}}, {Dropout: {rate: 0.4, name: b}}, "
            "{BatchNormalization: {name: c}}, {Call: {layer: a}}, {Call: {layer: b}}, "
            "{Call: {layer: c, name: d}}, {Add: {inputs: [c, d]}}, "
            "{Dense: {units: 3, activation: softmax}}]",
            COMPILE, FIT, 7, 3, (cornu_fit_options){.size = sizeof(cornu_fit_options)});
}

/* Their numbers are drawn by the step; gradients pass through the images that they made. */
static void resume_holds_for_random_layers(void **state)
{
    (void)state;
    compare("[{Dense: {units: 48}}, {Reshape: {target_shape: [4, 4, 3]}}, RandomFlip, "
            "{RandomRotation: {factor: 0.2}}, {RandomContrast: {factor: 0.5, value_range: [-9, "
            "9]}}, {GaussianNoise: {stddev: 0.1}}, {RandomCrop: {height: 3, width: 2}}, Flatten, "
            "{Dense: {units: 3, activation: "
            "softmax}}]",
            COMPILE, FIT, 7, 3, (cornu_fit_options){.size = sizeof(cornu_fit_options)});
}

static bool stop_in_validation(void *user)
{
    int *calls = user;
    return --*calls == 0;
}

/* should_stop is asked in validation too: the epoch's steps are done then, its end is not. */
static void resume_holds_for_networks_that_branch(void **state)
{
    (void)state;
    for (int stop = 1; stop <= 2 * STEPS + 1; stop += 3)
        compare(BRANCHING, COMPILE, FIT, stop, 3,
                (cornu_fit_options){.size = sizeof(cornu_fit_options)});
    compare(BRANCHING, COMPILE, "{epochs: 3, batch_size: 16}", 4, 0,
            (cornu_fit_options){.size = sizeof(cornu_fit_options), .shards = 4});
}

/* A file has the layers in Keras's order: what dropout draws and the order of sums must not be the
   recipe's. */
static void resume_holds_whatever_the_order_of_the_recipe(void **state)
{
    (void)state;
    compare("[{Dense: {units: 8, name: b}}, {Dropout: {rate: 0.5, name: c}}, {Dense: {units: 8, "
            "name: d, inputs: input_layer}}, {Dropout: {rate: 0.5, name: e}}, {Add: {inputs: [e, "
            "c]}}, {Dense: {units: 3, activation: softmax}}]",
            COMPILE, FIT, 4, 0, (cornu_fit_options){.size = sizeof(cornu_fit_options)});
}

static void resume_holds_for_models_within_models(void **state)
{
    (void)state;
    compare("[{Dense: {units: 8, name: first}}, {Model: {name: a, layers: [{Dense: {units: 8, "
            "activation: relu}}, {Model: {name: b, layers: [{Dropout: {rate: 0.4}}, "
            "{BatchNormalization: {}}]}}]}}, {ReLU: {name: c, inputs: first}}, {Call: {layer: a, "
            "name: d}}, {Add: {inputs: [d, a]}}, {Dense: {units: 3, activation: softmax}}]",
            COMPILE, FIT, 7, 3, (cornu_fit_options){.size = sizeof(cornu_fit_options)});
}

static void resume_repeats_an_interrupted_validation(void **state)
{
    (void)state;
    for (int calls = STEPS; calls <= STEPS + 1; calls++) {
        cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
        run whole = train(runs_model(LAYERS, COMPILE, FIT), data, 0,
                          (cornu_fit_options){.size = sizeof(cornu_fit_options)});
        cornu_model *model = runs_model(LAYERS, COMPILE, FIT);
        char save[1100], log[1100];
        snprintf(save, sizeof save, "%s", scratch_path("run.safetensors"));
        snprintf(log, sizeof log, "%s", scratch_path("run.csv"));
        int left = calls;
        cornu_fit_options o = {.size = sizeof o,
                               .save = save,
                               .log = log,
                               .should_stop = stop_in_validation,
                               .user = &left};
        expect_status(cornu_fit(model, data, &o, NULL), CORNU_STOPPED);
        assert_int_equal(model->training.position.epoch, 0);
        assert_int_equal(model->training.position.step, STEPS);
        cornu_model_close(model);
        run rest = train(NULL, data, 0, (cornu_fit_options){.size = sizeof(cornu_fit_options)});
        assert_string_equal(rest.log, whole.log);
        assert_true(same_bits(rest.model, whole.model));
        close_run(&rest);
        close_run(&whole);
        cornu_data_close(data);
    }
}

/* Without a file: the model in memory is as complete as the one that was saved. */
static void a_stopped_model_in_memory_resumes_as_well(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    cornu_model *whole = runs_model(LAYERS, COMPILE, FIT), *part = runs_model(LAYERS, COMPILE, FIT);
    expect_ok(cornu_fit(whole, data, NULL, NULL));
    int left = STEPS + 3; /* asked in validation and after the epoch, too */
    cornu_fit_options o = {.size = sizeof o, .should_stop = stop_after, .user = &left};
    expect_status(cornu_fit(part, data, &o, NULL), CORNU_STOPPED);
    expect_message("stopped after step 1 of 5 in epoch 2 of 6");
    expect_ok(cornu_fit(
        part, data, &(cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true}, NULL));
    assert_true(same_bits(whole, part));
    cornu_model_close(whole);
    cornu_model_close(part);
    cornu_data_close(data);
}

/* A run that was killed left rows in the log that the resumed run writes again. */
static void rows_after_the_saved_position_are_replaced(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    cornu_fit_options o = {.size = sizeof o, .log_steps = true};
    run whole = train(runs_model(LAYERS, COMPILE, FIT), data, 0, o);
    run part = train(runs_model(LAYERS, COMPILE, FIT), data, 7, o);
    close_run(&part);
    FILE *f = fopen(scratch_path("run.csv"), "a");
    fputs("8,0.5\n9,0.25\n10,0.1", f); /* the last line cut short */
    fclose(f);
    part = train(NULL, data, 0, o);
    assert_string_equal(part.log, whole.log);
    close_run(&part);
    close_run(&whole);
    cornu_data_close(data);
}

static void more_epochs_go_on_and_none_left_says_so(void **state)
{
    (void)state;
    notices n = {0};
    cornu_data *data = runs_data(TRAIN, 0);
    cornu_model *whole = runs_usual("{epochs: 5}"), *part = runs_usual("{epochs: 3}");
    expect_ok(cornu_fit(whole, data, NULL, NULL));
    expect_ok(cornu_fit(part, data, NULL, NULL));
    cornu_history *h;
    cornu_fit_options o = {.size = sizeof o, .resume = true, .on_notice = notices_add, .user = &n};
    expect_ok(cornu_fit(part, data, &o, &h));
    assert_int_equal(cornu_history_epochs(h), 0);
    assert_non_null(strstr(n.lines, "nothing left to do: 3 of 3 epochs are done"));
    cornu_history_close(h);
    o.epochs = 5;
    expect_ok(cornu_fit(part, data, &o, &h));
    assert_int_equal(cornu_history_epochs(h), 2);
    assert_true(same_bits(whole, part));
    cornu_history_close(h);
    cornu_model_close(whole);
    cornu_model_close(part);
    cornu_data_close(data);
}

static void what_was_asked_for_beside_the_recipe_is_resumed(void **state)
{
    (void)state;
    static const char fit[] = "{epochs: 4, batch_size: 16}";
    cornu_data *data = runs_data(TRAIN, 0);
    const cornu_fit_options nothing = {.size = sizeof nothing}, asked = {.size = sizeof asked,
                                                                         .epochs = 3,
                                                                         .batch = 8,
                                                                         .steps_per_epoch = 4,
                                                                         .seed = 7};
    run whole = train(runs_model(LAYERS, COMPILE, fit), data, 0, asked);
    run part = train(runs_model(LAYERS, COMPILE, fit), data, 5, asked);
    close_run(&part);
    part = train(NULL, data, 0, nothing);
    assert_string_equal(part.log, whole.log);
    assert_true(same_bits(part.model, whole.model));
    close_run(&part);
    close_run(&whole);
    cornu_data_close(data);
}

static void another_seed_batch_or_data_is_refused(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, 0), *other = runs_data(TRAIN + 1, 0);
    cornu_model *model = runs_usual("{epochs: 3, batch_size: 16}");
    int left = 7;
    cornu_fit_options o = {.size = sizeof o, .should_stop = stop_after, .user = &left};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_STOPPED);
    position before = model->training.position;
    o = (cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true, .seed = 9};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("found seed 1 in the model file and 9 asked for");
    o = (cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true, .batch = 8};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("found batch 16 in the model file and 8 asked for");
    o = (cornu_fit_options){
        .size = sizeof(cornu_fit_options), .resume = true, .steps_per_epoch = 2};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("steps per epoch 0");
    o = (cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true};
    expect_status(cornu_fit(model, other, &o, NULL), CORNU_INVALID);
    expect_message("training samples: 70 in the model file and 71");
    assert_memory_equal(&before, &model->training.position, sizeof before);
    cornu_model_close(model);
    cornu_data_close(other);
    cornu_data_close(data);
}

static void a_log_with_other_columns_is_not_continued(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, 0);
    cornu_model *model = runs_usual("{epochs: 2}");
    const char *log = scratch_write("run.csv", "epoch,loss\n1,2.0000000000000000000000\n", 38);
    int left = 1;
    cornu_fit_options o = {.size = sizeof o, .should_stop = stop_after, .user = &left};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_STOPPED);
    o = (cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true, .log = log};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("found the columns epoch,loss; expected epoch,loss,accuracy,seconds");
    cornu_model_close(model);
    cornu_data_close(data);
}

static double column(const cornu_history *h, int epoch, const char *name)
{
    for (int i = 0; i < cornu_history_columns(h); i++)
        if (strcmp(cornu_history_name(h, i), name) == 0)
            return cornu_history_value(h, epoch, i);
    fail_msg("no column %s", name);
    return 0;
}

/* Through a file: the model as it was saved when it was stopped after `calls` of should_stop. */
static cornu_model *stopped_model(const char *compile, const char *fit, const cornu_data *data,
                                  int calls)
{
    const char *path = scratch_path("stopped.safetensors");
    cornu_model *model = runs_model(LAYERS, compile, fit);
    cornu_fit_options o = {
        .size = sizeof o, .save = path, .should_stop = stop_after, .user = &calls};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_STOPPED);
    cornu_model_close(model);
    expect_ok(cornu_model_open(path, &model));
    return model;
}

/* A loss that never improves by 100: the rate is halved after each epoch but the first. */
static void the_rate_that_a_plateau_has_reduced_is_resumed(void **state)
{
    (void)state;
    static const char fit[] = "{epochs: 5, batch_size: 16, callbacks: [{reduce_lr_on_plateau: "
                              "{monitor: loss, patience: 1, min_delta: 100, factor: 0.5}}]}";
    static const char compile[] = "{optimizer: {sgd: {learning_rate: 0.25}}, loss: "
                                  "sparse_categorical_crossentropy}";
    cornu_data *data = runs_data(TRAIN, 0);
    cornu_model *whole = runs_model(LAYERS, compile, fit);
    cornu_history *of_whole, *of_part;
    expect_ok(cornu_fit(whole, data, NULL, &of_whole));
    assert_float_equal(column(of_whole, 4, "learning_rate"), 0.25 / 8, 0);
    cornu_model *part = stopped_model(compile, fit, data, 3 * (STEPS + 1) + 2);
    assert_int_equal(part->training.position.epoch, 3);
    assert_int_equal(part->training.position.step, 2);
    assert_float_equal(part->training.position.learning_rate_factor, 0.25, 0);
    expect_ok(cornu_fit(part, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true},
                        &of_part));
    for (int epoch = 3; epoch < 5; epoch++)
        assert_float_equal(column(of_part, epoch - 3, "learning_rate"),
                           column(of_whole, epoch, "learning_rate"), 0);
    assert_true(same_bits(whole, part));
    cornu_history_close(of_whole);
    cornu_history_close(of_part);
    cornu_model_close(whole);
    cornu_model_close(part);
    cornu_data_close(data);
}

/* No step follows in its epoch: the rate is that of the last one. */
static void the_rate_is_logged_of_an_epoch_whose_validation_was_stopped(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    cornu_model *whole = runs_model(LAYERS, COMPILE, FIT);
    cornu_history *of_whole, *of_part;
    expect_ok(cornu_fit(whole, data, NULL, &of_whole));
    for (int calls = STEPS; calls <= STEPS + 1; calls++) {
        cornu_model *part = stopped_model(COMPILE, FIT, data, calls);
        assert_int_equal(part->training.position.step, STEPS);
        expect_ok(cornu_fit(part, data,
                            &(cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true},
                            &of_part));
        for (int epoch = 0; epoch < cornu_history_epochs(of_whole); epoch++)
            assert_float_equal(column(of_part, epoch, "learning_rate"),
                               column(of_whole, epoch, "learning_rate"), 0);
        cornu_history_close(of_part);
        cornu_model_close(part);
    }
    cornu_history_close(of_whole);
    cornu_model_close(whole);
    cornu_data_close(data);
}

typedef struct seen {
    int64_t resumed_step;
    double resumed_seconds, least; /* of `seconds` less what was before */
} seen;

static void note_epoch(void *user, const cornu_progress *now)
{
    seen *s = user;
    if (now->epoch > 0)
        return;
    s->resumed_step = now->resumed_step;
    s->resumed_seconds = now->resumed_seconds;
    s->least = now->seconds - now->resumed_seconds;
}

/* An epoch's seconds are those of all runs that worked on it; the model file keeps them. */
static void seconds_of_an_epoch_are_the_sum_over_its_runs(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    cornu_model *part = stopped_model(COMPILE, FIT, data, 3);
    assert_true(part->training.position.seconds > 0 && part->training.position.seconds < 1000);
    part->training.position.seconds = 5000; /* it was a slow machine */
    const char *path = scratch_path("slow.safetensors");
    expect_ok(cornu_model_save(part, path));
    cornu_model_close(part);
    expect_ok(cornu_model_open(path, &part));
    seen s = {0};
    cornu_history *h;
    cornu_fit_options o = {.size = sizeof o, .resume = true, .on_epoch = note_epoch, .user = &s};
    expect_ok(cornu_fit(part, data, &o, &h));
    assert_int_equal(s.resumed_step, 3);
    assert_float_equal(s.resumed_seconds, 5000, 0);
    assert_true(s.least > 0 && s.least < 1000);
    assert_true(column(h, 0, "seconds") > 5000);
    assert_true(column(h, 1, "seconds") < 1000);
    assert_float_equal(part->training.position.seconds, 0, 0);
    cornu_history_close(h);
    cornu_model_close(part);
    cornu_data_close(data);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(resume_in_mid_epoch_gives_the_same_weights),
        TEST(sums_and_averages_go_on),
        TEST(resume_after_every_step_gives_the_same_weights),
        TEST(resume_continues_the_step_log),
        TEST(resume_holds_for_other_optimizers_and_splits),
        TEST(resume_holds_for_layers_that_are_called_twice),
        TEST(resume_holds_for_networks_that_branch),
        TEST(resume_holds_whatever_the_order_of_the_recipe),
        TEST(resume_holds_for_random_layers),
        TEST(resume_holds_for_models_within_models),
        TEST(resume_repeats_an_interrupted_validation),
        TEST(a_stopped_model_in_memory_resumes_as_well),
        TEST(rows_after_the_saved_position_are_replaced),
        TEST(more_epochs_go_on_and_none_left_says_so),
        TEST(what_was_asked_for_beside_the_recipe_is_resumed),
        TEST(another_seed_batch_or_data_is_refused),
        TEST(a_log_with_other_columns_is_not_continued),
        TEST(the_rate_that_a_plateau_has_reduced_is_resumed),
        TEST(the_rate_is_logged_of_an_epoch_whose_validation_was_stopped),
        TEST(seconds_of_an_epoch_are_the_sum_over_its_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
