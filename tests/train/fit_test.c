#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/runs.h"
#include "support/scratch.h"
#include "train/input_pipeline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double last_value(const cornu_history *h, const char *name)
{
    for (int i = 0; i < cornu_history_columns(h); i++)
        if (strcmp(cornu_history_name(h, i), name) == 0)
            return cornu_history_value(h, cornu_history_epochs(h) - 1, i);
    print_error("no column %s\n", name);
    fail();
    return 0;
}

static void fit_learns_a_separable_problem(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{batch_size: 16, epochs: 12, validation: test}");
    cornu_data *data = runs_data(600, 200);
    cornu_history *history;
    expect_ok(cornu_fit(model, data, NULL, &history));
    assert_int_equal(cornu_history_epochs(history), 12);
    assert_true(last_value(history, "val_accuracy") > 0.95);
    cornu_scores scores = {.size = sizeof scores};
    expect_ok(cornu_evaluate(
        model, data, &(cornu_run_options){.size = sizeof(cornu_run_options), .split = CORNU_TEST},
        &scores));
    assert_int_equal(scores.count, 2);
    assert_string_equal(scores.name[0], "loss");
    assert_string_equal(scores.name[1], "accuracy");
    assert_float_equal(scores.value[1], last_value(history, "val_accuracy"), 1e-12);
    assert_float_equal(scores.value[0], last_value(history, "val_loss"), 1e-6);
    cornu_history_close(history);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void history_has_a_row_an_epoch_with_named_columns(void **state)
{
    (void)state;
    static const char *const names[] = {"loss",         "accuracy",      "val_loss",
                                        "val_accuracy", "learning_rate", "seconds"};
    cornu_model *model = runs_usual("{epochs: 2, validation: test}");
    cornu_data *data = runs_data(50, 20);
    cornu_history *h;
    expect_ok(cornu_fit(model, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .epochs = 3}, &h));
    assert_int_equal(cornu_history_epochs(h), 3);
    assert_int_equal(cornu_history_columns(h), 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(cornu_history_name(h, i), names[i]);
    assert_null(cornu_history_name(h, 6));
    assert_true(isnan(cornu_history_value(h, 3, 0)));
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void epoch_loss_is_the_mean_over_samples_with_a_partial_batch(void **state)
{
    (void)state;
    /* learning rate 0: every batch sees the same weights, so the running mean is evaluate's */
    cornu_model *model = runs_model("[{Dense: {units: 3, activation: softmax}}]",
                                    "{optimizer: {sgd: {learning_rate: 0.0}}, loss: "
                                    "sparse_categorical_crossentropy, metrics: [accuracy]}",
                                    NULL);
    cornu_data *data = runs_data(37, 0);
    cornu_history *h;
    expect_ok(cornu_fit(model, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .batch = 8}, &h));
    cornu_scores all = {.size = sizeof all};
    expect_ok(cornu_evaluate(
        model, data, &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = 37}, &all));
    assert_float_equal(last_value(h, "loss"), all.value[0], 1e-6);
    assert_float_equal(last_value(h, "accuracy"), all.value[1], 1e-12);
    assert_int_equal(model->training.position.iterations, 5);
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void validation_split_is_the_unshuffled_tail(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{validation_split: 0.25, epochs: 2, batch_size: 10}");
    cornu_data *data = runs_data(101, 0);
    cornu_history *h;
    expect_ok(cornu_fit(model, data, NULL, &h));
    /* Keras: floor(101 * 0.75) = 75 samples stay: 8 steps an epoch */
    assert_int_equal(model->training.position.iterations, 16);
    cornu_data tail = *data;
    tail.block[CORNU_TRAIN].count = 26;
    tail.block[CORNU_TRAIN].x = (const float *)data->block[CORNU_TRAIN].x + 75 * 8;
    tail.block[CORNU_TRAIN].y = (const int32_t *)data->block[CORNU_TRAIN].y + 75;
    cornu_scores scores = {.size = sizeof scores};
    expect_ok(cornu_evaluate(model, &tail,
                             &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = 10},
                             &scores));
    assert_float_equal(last_value(h, "val_loss"), scores.value[0], 1e-12);
    assert_float_equal(last_value(h, "val_accuracy"), scores.value[1], 1e-12);
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void validation_takes_the_first_test_samples_and_steps(void **state)
{
    (void)state;
    static const char *const fits[] = {"{validation: {test: 30}}",
                                       "{validation: test, validation_steps: 3, batch_size: 10}"};
    for (int i = 0; i < 2; i++) {
        cornu_model *model = runs_usual(fits[i]);
        cornu_data *data = runs_data(60, 90);
        cornu_history *h;
        expect_ok(cornu_fit(model, data, NULL, &h));
        data->block[CORNU_TEST].count = 30;
        cornu_scores scores = {.size = sizeof scores};
        expect_ok(cornu_evaluate(
            model, data,
            &(cornu_run_options){.size = sizeof(cornu_run_options), .split = CORNU_TEST}, &scores));
        assert_float_equal(last_value(h, "val_loss"), scores.value[0], 1e-6);
        cornu_history_close(h);
        cornu_data_close(data);
        cornu_model_close(model);
    }
}

static void steps_per_epoch_goes_on_through_the_data(void **state)
{
    (void)state;
    /* 4 batches a pass: 3 epochs of 4 steps and 4 epochs of 3 steps see the same batches */
    cornu_model *a = runs_usual("{batch_size: 10}"), *b = runs_usual("{batch_size: 10}");
    cornu_data *data = runs_data(36, 0);
    expect_ok(cornu_fit(
        a, data, &(cornu_fit_options){.size = sizeof(cornu_fit_options), .epochs = 3}, NULL));
    cornu_fit_options options = {.size = sizeof options, .epochs = 4, .steps_per_epoch = 3};
    expect_ok(cornu_fit(b, data, &options, NULL));
    assert_int_equal(b->training.position.iterations, 12);
    assert_true(same_bits(a, b));
    cornu_data_close(data);
    cornu_model_close(a);
    cornu_model_close(b);
}

static void every_epoch_has_its_own_order_of_all_samples(void **state)
{
    (void)state;
    int64_t a[100], b[100], c[100];
    input_order(5, 0, true, 100, a);
    input_order(5, 1, true, 100, b);
    input_order(5, 0, true, 100, c);
    assert_memory_equal(a, c, sizeof a);
    assert_memory_not_equal(a, b, sizeof a);
    input_order(6, 0, true, 100, c);
    assert_memory_not_equal(a, c, sizeof a);
    int64_t sum = 0, seen[100] = {0};
    for (int i = 0; i < 100; i++) {
        assert_in_range(a[i], 0, 99);
        assert_int_equal(seen[a[i]]++, 0);
        sum += a[i] == i;
    }
    assert_true(sum < 20);
    input_order(5, 3, false, 100, a);
    for (int i = 0; i < 100; i++)
        assert_int_equal(a[i], i);
}

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    cornu_data *data = runs_data(300, 0);
    cornu_model *first = runs_usual("{epochs: 3}");
    expect_ok(cornu_fit(first, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .where.threads = 1},
                        NULL));
    for (int threads = 1; threads <= 3; threads++) {
        cornu_model *other = runs_usual("{epochs: 3}");
        expect_ok(cornu_fit(
            other, data,
            &(cornu_fit_options){.size = sizeof(cornu_fit_options), .where.threads = threads},
            NULL));
        assert_true(same_bits(first, other));
        cornu_model_close(other);
    }
    cornu_model *seeded = runs_usual("{epochs: 3}");
    expect_ok(cornu_fit(seeded, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .seed = 2}, NULL));
    assert_false(same_bits(first, seeded));
    cornu_model_close(seeded);
    cornu_model_close(first);
    cornu_data_close(data);
}

static void batch_larger_than_the_data_takes_all_samples_and_says_so(void **state)
{
    (void)state;
    notices n = {0};
    cornu_model *model = runs_usual("{batch_size: 1000, epochs: 2}");
    cornu_data *data = runs_data(20, 0);
    expect_ok(cornu_fit(model, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options),
                                             .on_notice = notices_add,
                                             .user = &n},
                        NULL));
    assert_int_equal(n.count, 1);
    assert_non_null(strstr(n.lines, "batch 1000 is larger than the 20 training samples"));
    assert_int_equal(model->training.position.iterations, 2);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void one_sample_is_enough(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{epochs: 2}");
    cornu_data *data = runs_data(1, 1);
    cornu_scores scores = {.size = sizeof scores};
    expect_ok(cornu_fit(model, data, NULL, NULL));
    expect_ok(cornu_evaluate(model, data, NULL, &scores));
    assert_true(isfinite(scores.value[0]));
    cornu_data_close(data);
    cornu_model_close(model);
}

static void predict_gives_the_same_rows_for_any_batch(void **state)
{
    (void)state;
    enum { COUNT = 23 };
    cornu_model *model = runs_usual(NULL);
    cornu_data *data = runs_data(100, 0);
    float one[COUNT][3], many[COUNT][3];
    const float *x = data->block[CORNU_TRAIN].x;
    expect_ok(cornu_fit(model, data, NULL, NULL));
    expect_ok(cornu_predict(model, x, COUNT,
                            &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = 1},
                            &one[0][0]));
    expect_ok(cornu_predict(model, x, COUNT,
                            &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = 10},
                            &many[0][0]));
    for (int i = 0; i < COUNT; i++) {
        assert_float_equal(many[i][0] + many[i][1] + many[i][2], 1, 1e-5);
        for (int j = 0; j < 3; j++)
            assert_float_equal(one[i][j], many[i][j], 1e-5);
    }
    cornu_data_close(data);
    cornu_model_close(model);
}

/* Of 8 numbers, by a layer of images and by dropout. */
static void predict_as(cornu_draws draws, int64_t draw, int64_t batch, float out[20][8])
{
    static const float x[20][8];
    cornu_model *model = runs_model(
        "[{Reshape: {target_shape: [2, 4, 1]}}, {RandomBrightness: {factor: [0.1, 0.5]}}, "
        "Flatten, {Dropout: {rate: 0.5}}]",
        NULL, NULL);
    const cornu_run_options o = {
        .size = sizeof o, .batch = batch, .draws = draws, .seed = 5, .draw = draw};
    expect_ok(cornu_predict(model, &x[0][0], 20, &o, &out[0][0]));
    cornu_model_close(model);
}

static void predict_draws_what_it_is_told(void **state)
{
    (void)state;
    float none[20][8], images[20][8], all[20][8], other[20][8];
    int dropped = 0;
    predict_as(CORNU_DRAW_NONE, 0, 20, none);
    predict_as(CORNU_DRAW_IMAGES, 3, 20, images);
    predict_as(CORNU_DRAW_ALL, 3, 20, all);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 8; k++) {
            assert_true(none[i][k] == 0 && images[i][k] > 0 && images[i][k] == images[i][0]);
            assert_true(all[i][k] == 0 || all[i][k] == 2 * images[i][k]);
            dropped += all[i][k] == 0;
        }
    assert_in_range(dropped, 80 - 30, 80 + 30);
    assert_true(images[0][0] != images[1][0]);
    predict_as(CORNU_DRAW_ALL, 3, 7, other);
    assert_memory_equal(all, other, sizeof all);
    predict_as(CORNU_DRAW_ALL, 4, 20, other);
    assert_memory_not_equal(all, other, sizeof all);
    cornu_model *model = runs_usual(NULL);
    cornu_data *data = runs_data(5, 0);
    cornu_scores scores = {.size = sizeof scores};
    const cornu_run_options o = {.size = sizeof o, .draws = CORNU_DRAW_ALL};
    expect_status(cornu_evaluate(model, data, &o, &scores), CORNU_INVALID);
    expect_message("draws: found 2; evaluate takes none");
    cornu_data_close(data);
    cornu_model_close(model);
}

static void predict_and_evaluate_stop_when_asked(void **state)
{
    (void)state;
    cornu_model *model = runs_usual(NULL);
    cornu_data *data = runs_data(100, 0);
    float outputs[100][3];
    cornu_scores scores = {.size = sizeof scores};
    int left = 2;
    cornu_run_options o = {.size = sizeof o, .batch = 10, .should_stop = stop_after, .user = &left};
    expect_status(cornu_predict(model, data->block[0].x, 100, &o, &outputs[0][0]), CORNU_STOPPED);
    left = 3;
    expect_status(cornu_evaluate(model, data, &o, &scores), CORNU_STOPPED);
    expect_message("step 3 of 10");
    cornu_data_close(data);
    cornu_model_close(model);
}

/* ---- progress --------------------------------------------------------------------------- */

typedef struct watched {
    int steps, epochs, last_step;
    bool has_validation, in_order;
} watched;

static void watch_step(void *user, const cornu_progress *p)
{
    watched *w = user;
    w->steps++;
    w->in_order = w->in_order && p->step > w->last_step % 10 && p->steps == 10;
    w->last_step = (int)p->step;
    assert_true(isfinite(p->step_loss));
    assert_int_equal(p->scores->count, 2);
}

static void watch_epoch(void *user, const cornu_progress *p)
{
    watched *w = user;
    assert_int_equal(p->epoch, w->epochs++);
    assert_int_equal(p->step, p->steps);
    w->has_validation = p->validation && isfinite(p->validation->value[0]);
}

static void progress_reports_the_last_step_and_every_epoch(void **state)
{
    (void)state;
    watched w = {.in_order = true};
    cornu_model *model = runs_usual("{batch_size: 10, epochs: 3, validation: test}");
    cornu_data *data = runs_data(100, 10);
    cornu_fit_options o = {
        .size = sizeof o, .on_step = watch_step, .on_epoch = watch_epoch, .user = &w};
    expect_ok(cornu_fit(model, data, &o, NULL));
    assert_int_equal(w.epochs, 3);
    assert_in_range(w.steps, 3, 30);
    assert_int_equal(w.last_step, 10);
    assert_true(w.in_order);
    assert_true(w.has_validation);
    cornu_data_close(data);
    cornu_model_close(model);
}

/* ---- the log ---------------------------------------------------------------------------- */

static char *read_text(const char *path)
{
    char *data;
    size_t size;
    expect_ok(file_read(path, 1 << 20, &data, &size));
    return data;
}

static void log_has_a_row_an_epoch(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{epochs: 2, validation: test}");
    cornu_data *data = runs_data(64, 10);
    const char *path = scratch_path("log.csv");
    cornu_history *h;
    expect_ok(cornu_fit(model, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .log = path}, &h));
    char *content = read_text(path);
    const char *header = "epoch,loss,accuracy,val_loss,val_accuracy,seconds\n";
    assert_int_equal(strncmp(content, header, strlen(header)), 0);
    const char *row = content + strlen(header);
    for (int i = 0; i < 2; i++) {
        double loss;
        int epoch;
        assert_int_equal(sscanf(row, "%d,%lf,", &epoch, &loss), 2);
        assert_int_equal(epoch, i + 1);
        assert_float_equal(loss, cornu_history_value(h, i, 0), 1e-6);
        row = strchr(row, '\n') + 1;
    }
    assert_int_equal(*row, 0);
    free(content);
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void step_log_has_each_steps_own_loss(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{epochs: 2, batch_size: 16}");
    cornu_data *data = runs_data(40, 0);
    const char *path = scratch_path("steps.csv");
    cornu_history *h;
    expect_ok(cornu_fit(
        model, data,
        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .log = path, .log_steps = true},
        &h));
    char *content = read_text(path), *row = content;
    assert_int_equal(strncmp(row, "step,loss\n", 10), 0);
    static const int sizes[] = {16, 16, 8};
    double sum = 0;
    for (int i = 0; i < 6; i++) {
        int step;
        double loss;
        row = strchr(row, '\n') + 1;
        assert_int_equal(sscanf(row, "%d,%lf", &step, &loss), 2);
        assert_int_equal(step, i + 1);
        sum += i < 3 ? loss * sizes[i] : 0;
    }
    assert_float_equal(sum / 40, cornu_history_value(h, 0, 0), 1e-6);
    assert_string_equal(strchr(row, '\n'), "\n");
    free(content);
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(model);
}

/* ---- mistakes --------------------------------------------------------------------------- */

/* The model is as it was: no weights, no position. */
static void assert_untouched(const cornu_model *model)
{
    assert_false(model->initialized);
    assert_int_equal(model->training.position.batch, 0);
    assert_int_equal(model->training.position.iterations, 0);
}

static void labels_out_of_range_are_refused(void **state)
{
    (void)state;
    static const int32_t wrong[] = {3, -1, 1000000, INT32_MIN};
    cornu_model *model = runs_usual(NULL);
    cornu_data *data = runs_data(20, 0);
    for (int i = 0; i < 4; i++) {
        int32_t *labels = (int32_t *)(uintptr_t)data->block[CORNU_TRAIN].y;
        int32_t before = labels[7];
        labels[7] = wrong[i];
        expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
        expect_message("in sample 7; the output dense_1 expects 0 to 2");
        labels[7] = before;
    }
    assert_untouched(model);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void numbers_that_are_none_are_refused(void **state)
{
    (void)state;
    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    cornu_model *model = runs_usual("{validation: test}");
    cornu_data *data = runs_data(20, 20);
    for (int split = 0; split < 2; split++)
        for (int i = 0; i < 3; i++) {
            float *x = (float *)(uintptr_t)data->block[split].x, before = x[8 * 3 + 2];
            x[8 * 3 + 2] = wrong[i];
            expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
            expect_message(split ? "test samples: found" : "training samples: found");
            expect_message("in sample 3; expected finite numbers");
            x[8 * 3 + 2] = before;
        }
    assert_untouched(model);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void data_that_does_not_fit_the_model_is_refused(void **state)
{
    (void)state;
    static const char compile[] = "{optimizer: sgd, loss: %s, metrics: [%s]}";
    static const struct {
        const char *layers, *loss, *metrics, *message;
    } cases[] = {
        {"[{Dense: {units: 2, activation: softmax}}]", "sparse_categorical_crossentropy", "",
         "expects 0 to 1"},
        {"[{Dense: {units: 2, activation: softmax}}]", "categorical_crossentropy", "", "expect"},
        {"[{Dense: {units: 1, activation: sigmoid}}]", "binary_crossentropy", "", "expects 0 to 1"},
        {"[{Reshape: {target_shape: [4, 2]}}, {Dense: {units: 3}}]",
         "sparse_categorical_crossentropy", "", "the model's output (4, 3) expects more"},
    };
    cornu_data *data = runs_data(30, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, compile, cases[i].loss, cases[i].metrics);
        cornu_model *model = runs_model(cases[i].layers, text, NULL);
        expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
        expect_message(cases[i].message);
        assert_untouched(model);
        cornu_model_close(model);
    }
    cornu_model *model = runs_usual(NULL);
    data->block[CORNU_TRAIN].x_shape = (shape){.rank = 2, .dim = {2, 4}};
    expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
    expect_message("found samples of shape (2, 4); the model expects (8)");
    data->block[CORNU_TRAIN].count = 0;
    expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
    expect_message("found no samples");
    cornu_model_close(model);
    cornu_data_close(data);
}

static void a_model_without_a_loss_cannot_train(void **state)
{
    (void)state;
    cornu_model *model = runs_model("[{Dense: {units: 3}}]", NULL, NULL);
    cornu_data *data = runs_data(5, 0);
    cornu_scores scores = {.size = sizeof scores};
    expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
    expect_message("expected a compile section");
    expect_status(cornu_evaluate(model, data, NULL, &scores), CORNU_INVALID);
    float outputs[5][3];
    expect_ok(cornu_predict(model, data->block[0].x, 5, NULL, &outputs[0][0]));
    cornu_data_close(data);
    cornu_model_close(model);
}

static void wrong_options_are_refused_before_anything_runs(void **state)
{
    (void)state;
    char nowhere[1200];
    snprintf(nowhere, sizeof nowhere, "%s/m.safetensors", scratch_path("missing"));
    enum { SIZE = sizeof(cornu_fit_options) };
    const struct {
        cornu_fit_options options;
        const char *message;
    } cases[] = {
        {{.size = SIZE, .epochs = -1}, "epochs: found -1"},
        {{.size = SIZE, .batch = -5}, "batch: found -5"},
        {{.size = SIZE, .batch = INT64_C(1) << 40}, "batch: found"},
        {{.size = SIZE, .steps_per_epoch = -1}, "steps_per_epoch: found -1"},
        {{.size = SIZE, .where.threads = -2}, "threads: found -2"},
        {{.size = SIZE, .log_steps = true}, "log_steps: found no log"},
        {{.size = SIZE, .save = "model.bin"}, "expected a name that ends in .safetensors"},
        {{.size = SIZE, .save = nowhere}, "missing/m.safetensors: cannot write"},
        {{.size = SIZE, .log = nowhere}, "missing/m.safetensors: cannot write"},
        {{.size = SIZE, .where.device = "tpu"}, "tpu"},
        {{.size = SIZE, .resume = true}, "never trained"},
    };
    cornu_model *model = runs_usual(NULL);
    cornu_data *data = runs_data(20, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_not_equal(cornu_fit(model, data, &cases[i].options, NULL), CORNU_OK);
        expect_message(cases[i].message);
        assert_untouched(model);
    }
    assert_int_equal(scratch_count(), 0);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void wrong_fit_sections_name_their_key(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{validation: sometimes}", "fit.validation: found \"sometimes\""},
        {"{validation: 1.5}", "fit.validation"},
        {"{validation: {test: 0}}", "fit.validation.test"},
        {"{validation: {train: 5}}", "fit.validation.train: unknown key"},
        {"{validation_split: 1.0}", "fit.validation_split"},
        {"{validation_split: -0.1}", "fit.validation_split"},
        {"{validation_split: 0.5, validation: test}", "found both"},
        {"{steps_per_epoch: 0}", "fit.steps_per_epoch"},
        {"{validation_steps: 1.5}", "fit.validation_steps"},
        {"{shuffle: 1}", "fit.shuffle"},
        {"{seed: -3}", "fit.seed"},
        {"{callbacks: terminate_on_nan}", "fit.callbacks: found a string; expected a list"},
        {"{callbacks: [stop_early]}", "found callback stop_early; expected one of checkpoint"},
        {"{callbacks: [{early_stopping: {patience: -1}}]}", "early_stopping.patience"},
        {"{callbacks: [{early_stopping: {patients: 1}}]}", "patients: unknown key"},
        {"{callbacks: [{early_stopping: {mode: up}}]}", "expected auto, min or max"},
        {"{callbacks: [{reduce_lr_on_plateau: {factor: 1.0}}]}", "factor: found 1"},
        {"{callbacks: [{csv_logger: {}}]}", "csv_logger: found no path"},
        {"{callbacks: [checkpoint]}", "checkpoint: found no path"},
        {"{callbacks: [[1]]}", "expected the name of a callback"},
        {"{callbacks: [{learning_rate_schedule: {}}]}", "expected one schedule"},
        {"{callbacks: [early_stopping]}", "found val_loss; expected one of loss, accuracy"},
    };
    cornu_data *data = runs_data(20, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *model = runs_usual(cases[i][0]);
        expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
        expect_message(cases[i][1]);
        assert_untouched(model);
        cornu_model_close(model);
    }
    cornu_data_close(data);
}

static void a_split_that_leaves_nothing_is_refused(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{validation_split: 0.5}");
    cornu_data *data = runs_data(1, 0);
    expect_status(cornu_fit(model, data, NULL, NULL), CORNU_INVALID);
    expect_message("validation_split: found 0.5 of 1 sample");
    cornu_data_close(data);
    cornu_model_close(model);
}

/* ---- losses that are no numbers --------------------------------------------------------- */

#define EXPLODING "{optimizer: {sgd: {learning_rate: 1.0e30}}, loss: mean_squared_error}"

static void a_loss_that_is_no_number_is_noticed_once(void **state)
{
    (void)state;
    notices n = {0};
    cornu_model *model = runs_model("[{Dense: {units: 1}}]", EXPLODING, "{epochs: 3}");
    cornu_data *data = runs_data(100, 0);
    cornu_fit_options o = {.size = sizeof o, .on_notice = notices_add, .user = &n};
    expect_ok(cornu_fit(model, data, &o, NULL));
    assert_int_equal(n.count, 1);
    assert_non_null(strstr(n.lines, "no longer a finite number"));
    cornu_data_close(data);
    cornu_model_close(model);
}

static void terminate_on_nan_ends_the_run_and_saves_nothing(void **state)
{
    (void)state;
    const char *path = scratch_path("m.safetensors");
    cornu_model *model = runs_model("[{Dense: {units: 1}}]", EXPLODING,
                                    "{epochs: 3, callbacks: [terminate_on_nan]}");
    cornu_data *data = runs_data(1000, 0);
    cornu_history *h;
    expect_status(cornu_fit(model, data,
                            &(cornu_fit_options){.size = sizeof(cornu_fit_options), .save = path},
                            &h),
                  CORNU_NOT_A_NUMBER);
    expect_message("epoch 1, step");
    assert_int_equal(cornu_history_epochs(h), 0);
    assert_false(file_exists(path));
    assert_int_equal(scratch_count(), 0);
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(model);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(fit_learns_a_separable_problem),
        TEST(history_has_a_row_an_epoch_with_named_columns),
        TEST(epoch_loss_is_the_mean_over_samples_with_a_partial_batch),
        TEST(validation_split_is_the_unshuffled_tail),
        TEST(validation_takes_the_first_test_samples_and_steps),
        TEST(steps_per_epoch_goes_on_through_the_data),
        TEST(every_epoch_has_its_own_order_of_all_samples),
        TEST(same_bits_for_any_number_of_threads),
        TEST(batch_larger_than_the_data_takes_all_samples_and_says_so),
        TEST(one_sample_is_enough),
        TEST(predict_gives_the_same_rows_for_any_batch),
        TEST(predict_draws_what_it_is_told),
        TEST(predict_and_evaluate_stop_when_asked),
        TEST(progress_reports_the_last_step_and_every_epoch),
        TEST(log_has_a_row_an_epoch),
        TEST(step_log_has_each_steps_own_loss),
        TEST(labels_out_of_range_are_refused),
        TEST(numbers_that_are_none_are_refused),
        TEST(data_that_does_not_fit_the_model_is_refused),
        TEST(a_model_without_a_loss_cannot_train),
        TEST(wrong_options_are_refused_before_anything_runs),
        TEST(wrong_fit_sections_name_their_key),
        TEST(a_split_that_leaves_nothing_is_refused),
        TEST(a_loss_that_is_no_number_is_noticed_once),
        TEST(terminate_on_nan_ends_the_run_and_saves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
