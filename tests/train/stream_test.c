/* Batches that come one by one: by a stream, and by the caller's own loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/trainer.h>
#include <math.h>
#include <string.h>

enum { SAMPLES = 42, BATCH = 8, BATCHES = 6, EPOCHS = 3 };

/* Batches of a data set in its order, `passes` times; each batch in memory of its own, which is
   spoiled when the next is asked for. */
typedef struct source {
    cornu_arrays all;
    int64_t at, passes;
    float values[BATCH * 8];
    int32_t labels[BATCH];
    bool marks_ends; /* of passes */
    int fails_at;    /* batch by which it goes wrong, from 1 */
    cornu_status fails_with;
    void (*spoil)(cornu_arrays *batch); /* or that batch is changed */
    int asked;
} source;

static cornu_status next(void *user, cornu_arrays *batch)
{
    source *s = user;
    memset(s->values, 0x7f, sizeof s->values);
    memset(s->labels, 0x7f, sizeof s->labels);
    s->asked++;
    if (s->fails_with && s->asked == s->fails_at)
        return s->fails_with;
    if (s->at >= s->all.count) {
        s->passes--;
        s->at = 0;
        if (s->marks_ends || s->passes <= 0)
            return CORNU_OK;
    }
    if (s->passes <= 0)
        return CORNU_OK;
    int64_t left = s->all.count - s->at, count = left < BATCH ? left : BATCH;
    memcpy(s->values, s->all.values + s->at * 8, (size_t)count * 8 * sizeof(float));
    memcpy(s->labels, s->all.labels + s->at, (size_t)count * sizeof(int32_t));
    *batch = (cornu_arrays){.size = sizeof(cornu_arrays),
                            .count = count,
                            .rank = 1,
                            .shape = {8},
                            .values = s->values,
                            .labels = s->labels};
    s->at += count;
    if (s->spoil && s->asked == s->fails_at)
        s->spoil(batch);
    return CORNU_OK;
}

static cornu_data *open_like(source *s, const cornu_data *of, int64_t passes, int64_t batches,
                             int64_t like_count)
{
    *s = (source){.passes = passes, .marks_ends = batches == 0};
    s->all.size = sizeof s->all;
    expect_ok(cornu_data_view(of, CORNU_TRAIN, &s->all));
    cornu_arrays like = s->all;
    cornu_stream stream = {
        .size = sizeof stream, .like = &like, .batches = batches, .next = next, .user = s};
    cornu_data *data;
    like.count = like_count;
    expect_ok(cornu_data_stream(&stream, &data));
    return data;
}

static cornu_data *open_stream(source *s, const cornu_data *of, int64_t passes, int64_t batches)
{
    return open_like(s, of, passes, batches, BATCH);
}

static const char *const in_order = "{epochs: 3, batch_size: 8, shuffle: false, seed: 5}";

static cornu_model *trained_on(const cornu_data *data, const char *section)
{
    cornu_model *m = runs_usual(NULL);
    expect_ok(cornu_fit(m, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .section = section},
                        NULL));
    return m;
}

/* Also where a batch is shorter or longer than was told, and whether the number of batches is known
 * or not. */
static void a_stream_of_batches_trains_as_the_arrays_do(void **state)
{
    (void)state;
    static const char *const sections[] = {
        "{epochs: 3, seed: 5}", "{epochs: 3, seed: 5, steps_per_epoch: 6}", "{epochs: 3, seed: 5}"};
    cornu_data *arrays = runs_data(SAMPLES, 0);
    cornu_model *expected = trained_on(arrays, in_order);
    for (int i = 0; i < 3; i++) {
        source s;
        cornu_data *stream = open_like(&s, arrays, EPOCHS, i == 0 ? BATCHES : 0, BATCH - i);
        cornu_model *m = trained_on(stream, sections[i]);
        assert_true(same_bits(m, expected));
        cornu_model_close(m);
        cornu_data_close(stream);
    }
    cornu_model_close(expected);
    cornu_data_close(arrays);
}

static void a_stream_validates_and_is_evaluated_as_the_arrays_are(void **state)
{
    (void)state;
    source s, t;
    cornu_scores expected = {.size = sizeof expected}, scores = {.size = sizeof scores};
    cornu_history *history;
    cornu_data *arrays = runs_data(SAMPLES, 0);
    cornu_data *stream = open_stream(&s, arrays, 1, 0),
               *known = open_stream(&t, arrays, 9, BATCHES);
    cornu_model *m = runs_usual(NULL);
    cornu_fit_options o = {.size = sizeof o, .section = in_order, .validation_data = known};
    expect_ok(cornu_fit(m, arrays, &o, &history));
    assert_int_equal(t.asked, EPOCHS * BATCHES);
    expect_ok(cornu_evaluate(
        m, arrays, &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = BATCH},
        &expected));
    expect_ok(cornu_evaluate(m, stream, NULL, &scores));
    for (int i = 0; i < expected.count; i++)
        assert_true(scores.value[i] == expected.value[i]);
    assert_string_equal(cornu_history_name(history, 2), "val_loss");
    assert_true(cornu_history_value(history, EPOCHS - 1, 2) == expected.value[0]);
    expect_status(cornu_evaluate(m, stream, NULL, &scores), CORNU_INVALID);
    expect_message("without batches");
    expect_ok(cornu_evaluate(
        m, arrays,
        &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = BATCH, .steps = 2},
        &scores));
    assert_true(scores.value[0] != expected.value[0]);
    cornu_history_close(history);
    cornu_model_close(m);
    cornu_data_close(known);
    cornu_data_close(stream);
    cornu_data_close(arrays);
}

static void training_ends_where_a_stream_does_and_says_so(void **state)
{
    (void)state;
    source s;
    cornu_history *history;
    cornu_data *arrays = runs_data(SAMPLES, 0), *stream = open_stream(&s, arrays, 1, 0);
    cornu_model *m = runs_usual(NULL);
    notices told = {0};
    cornu_fit_options o = {.size = sizeof o,
                           .section = "{epochs: 5, steps_per_epoch: 4}",
                           .on_notice = notices_add,
                           .user = &told};
    expect_ok(cornu_fit(m, stream, &o, &history));
    assert_int_equal(cornu_history_epochs(history), 2);
    assert_non_null(strstr(told.lines, "after step 2 of 4 in epoch 2"));
    cornu_history_close(history);
    cornu_model_close(m);
    cornu_data_close(stream);
    cornu_data_close(arrays);
}

static void other_shape(cornu_arrays *batch)
{
    batch->rank = 2;
    batch->shape[0] = 2;
    batch->shape[1] = 4;
}

static void no_such_class(cornu_arrays *batch)
{
    ((int32_t *)batch->labels)[1] = 7;
}

static void not_a_number(cornu_arrays *batch)
{
    ((float *)batch->values)[3] = NAN;
}

static void no_targets(cornu_arrays *batch)
{
    batch->labels = NULL;
}

static void a_wrong_batch_is_told_and_the_model_stays_usable(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(cornu_arrays *);
        cornu_status status;
        const char *message;
    } wrong[] = {{other_shape, CORNU_OK, "of shape (2, 4); expected values of shape (8)"},
                 {no_such_class, CORNU_OK, "found label 7 in sample 1"},
                 {not_a_number, CORNU_OK, "found nan in sample 0"},
                 {no_targets, CORNU_OK, "other targets"},
                 {NULL, CORNU_IO, "next failed (input/output error)"},
                 {NULL, CORNU_STOPPED, "stopped after step 3"}};
    cornu_data *arrays = runs_data(SAMPLES, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        source s;
        cornu_data *stream = open_stream(&s, arrays, EPOCHS, BATCHES);
        cornu_model *m = runs_usual(NULL);
        s.fails_at = 4;
        s.spoil = wrong[i].spoil;
        s.fails_with = wrong[i].status;
        cornu_status expected = wrong[i].status ? wrong[i].status : CORNU_INVALID;
        expect_status(
            cornu_fit(m, stream,
                      &(cornu_fit_options){.size = sizeof(cornu_fit_options), .epochs = 2}, NULL),
            expected);
        expect_message(wrong[i].message);
        s.fails_at = 0;
        expect_ok(cornu_fit(
            m, arrays, &(cornu_fit_options){.size = sizeof(cornu_fit_options), .epochs = 1}, NULL));
        cornu_model_close(m);
        cornu_data_close(stream);
    }
    cornu_data_close(arrays);
}

static void what_a_stream_cannot_do_is_refused(void **state)
{
    (void)state;
    source s;
    cornu_data *data, *arrays = runs_data(SAMPLES, 0), *stream = open_stream(&s, arrays, 1, 0);
    cornu_model *m = runs_usual(NULL);
    cornu_data_info info = {.size = sizeof info};
    cornu_arrays view = {.size = sizeof view};
    cornu_data_values numbers = {.size = sizeof numbers};
    float sample[8];
    char *text;
    expect_status(cornu_fit(m, stream,
                            &(cornu_fit_options){.size = sizeof(cornu_fit_options),
                                                 .section = "{validation_split: 0.5}"},
                            NULL),
                  CORNU_UNSUPPORTED);
    expect_message("validation_split");
    expect_status(cornu_data_view(stream, CORNU_TRAIN, &view), CORNU_UNSUPPORTED);
    expect_status(cornu_data_sample(stream, CORNU_TRAIN, 0, sample, 8, NULL), CORNU_UNSUPPORTED);
    expect_status(cornu_data_values_get(stream, CORNU_TRAIN, &numbers), CORNU_UNSUPPORTED);
    expect_status(cornu_data_summary(stream, &text), CORNU_UNSUPPORTED);
    expect_ok(cornu_data_info_get(stream, &info));
    assert_int_equal(info.count[0], 0);
    expect_status(cornu_data_stream(NULL, &data), CORNU_INVALID);
    expect_status(
        cornu_data_stream(&(cornu_stream){.size = sizeof(cornu_stream), .next = next}, &data),
        CORNU_INVALID);
    expect_message("a stream with next and like");
    cornu_model_close(m);
    cornu_data_close(stream);
    cornu_data_close(arrays);
}

/* The steps, and what a fit would do behind them. */
static void a_trainer_takes_the_steps_of_a_fit(void **state)
{
    (void)state;
    cornu_arrays all = {.size = sizeof all};
    cornu_trainer *t;
    cornu_scores scores = {.size = sizeof scores}, evaluated = {.size = sizeof evaluated};
    float from_trainer[SAMPLES * 3], from_model[SAMPLES * 3];
    cornu_data *arrays = runs_data(SAMPLES, 0);
    cornu_model *m = runs_usual("{seed: 5}"), *expected;
    expected = trained_on(arrays, "{epochs: 1, batch_size: 8, shuffle: false, seed: 5}");
    expect_ok(cornu_data_view(arrays, CORNU_TRAIN, &all));
    expect_ok(cornu_trainer_open(m, NULL, &t));
    for (int64_t at = 0; at < SAMPLES; at += BATCH) {
        cornu_arrays batch = all;
        batch.count = SAMPLES - at < BATCH ? SAMPLES - at : BATCH;
        batch.values += at * 8;
        batch.labels += at;
        expect_ok(cornu_trainer_train(t, &batch, &scores));
    }
    expect_ok(cornu_trainer_reset(t));
    cornu_trainer *second;
    expect_status(cornu_trainer_open(m, NULL, &second), CORNU_INVALID);
    expect_status(cornu_fit(m, arrays, NULL, NULL), CORNU_INVALID);
    expect_message("in training");
    expect_ok(cornu_trainer_test(t, &all, &scores));
    expect_ok(cornu_trainer_predict(t, all.values, SAMPLES, from_trainer));
    expect_ok(cornu_trainer_pull(t));
    all.labels = NULL;
    expect_status(cornu_trainer_train(t, &all, NULL), CORNU_INVALID);
    expect_message("batch: found no targets");
    cornu_trainer_close(t);
    assert_true(same_bits(m, expected));
    expect_ok(cornu_evaluate(
        m, arrays, &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = SAMPLES},
        &evaluated));
    assert_true(evaluated.value[0] == scores.value[0] && evaluated.value[1] == scores.value[1]);
    expect_ok(cornu_predict(
        m, all.values, SAMPLES,
        &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = SAMPLES}, from_model));
    assert_memory_equal(from_model, from_trainer, sizeof from_model);
    cornu_model_close(expected);
    cornu_model_close(m);
    cornu_data_close(arrays);
}

/* Within a callback: what a caller may do to the model there. */
typedef struct within {
    cornu_model *model;
    const cornu_data *data;
    const char *path;
    float weight;
    double loss, loss_of_file;
} within;

static void use_model(void *user, const cornu_progress *p)
{
    within *w = user;
    cornu_scores scores = {.size = sizeof scores};
    cornu_model *copy;
    cornu_weight_info info = {.size = sizeof info};
    float values[8 * 16];
    if (p->epoch > 0)
        return;
    expect_ok(cornu_evaluate(w->model, w->data, NULL, &scores));
    w->loss = scores.value[0];
    expect_ok(cornu_model_save(w->model, w->path));
    expect_ok(cornu_model_open(w->path, &copy));
    expect_ok(cornu_evaluate(copy, w->data, NULL, &scores));
    w->loss_of_file = scores.value[0];
    cornu_model_close(copy);
    expect_ok(cornu_model_weight_info(w->model, 0, &info));
    expect_ok(cornu_model_get_weight(w->model, 0, values, info.count));
    w->weight = values[0];
    memset(values, 0, sizeof values);
    expect_ok(cornu_model_set_weight(w->model, 0, values, info.count));
    expect_ok(cornu_model_set_learning_rate(w->model, 0));
}

static void a_callback_reads_writes_saves_and_evaluates_the_model_as_it_is(void **state)
{
    (void)state;
    float values[8 * 16];
    cornu_history *h;
    cornu_data *data = runs_data(SAMPLES, 0);
    cornu_model *m = runs_model("[{Dense: {units: 16}}, {Dense: {units: 3, activation: softmax}}]",
                                "{optimizer: sgd, loss: sparse_categorical_crossentropy}", NULL);
    within w = {.model = m, .data = data, .path = scratch_path("m.safetensors")};
    cornu_fit_options o = {
        .size = sizeof o, .epochs = 3, .seed = 2, .on_epoch = use_model, .user = &w};
    expect_ok(cornu_fit(m, data, &o, &h));
    assert_true(w.loss == w.loss_of_file && w.loss > 0 && w.weight != 0);
    expect_ok(cornu_model_get_weight(m, 0, values, 8 * 16));
    for (int i = 0; i < 8 * 16; i++)
        assert_true(values[i] == 0); /* written, and no step of rate 0 changed it */
    assert_string_equal(cornu_history_name(h, 1), "learning_rate");
    assert_true(cornu_history_value(h, 0, 1) > 0 && cornu_history_value(h, 1, 1) == 0);
    cornu_history_close(h);
    cornu_model_close(m);
    cornu_data_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_of_batches_trains_as_the_arrays_do),
        cmocka_unit_test(a_stream_validates_and_is_evaluated_as_the_arrays_are),
        cmocka_unit_test(training_ends_where_a_stream_does_and_says_so),
        cmocka_unit_test(a_wrong_batch_is_told_and_the_model_stays_usable),
        cmocka_unit_test(what_a_stream_cannot_do_is_refused),
        cmocka_unit_test_setup_teardown(
            a_callback_reads_writes_saves_and_evaluates_the_model_as_it_is, scratch_open,
            scratch_close),
        cmocka_unit_test(a_trainer_takes_the_steps_of_a_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
