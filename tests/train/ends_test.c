/* Training, evaluating and predicting with models of several inputs and outputs: samples, targets
   and outputs are rows in which the arrays stand one after another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/model.h>
#include <cornu/trainer.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 48, WIDE = 3, DEEP = 4, KINDS = 3 };

typedef struct samples {
    float wide[SAMPLES][WIDE], deep[SAMPLES][DEEP], kind[SAMPLES], price[SAMPLES];
    float x[SAMPLES][WIDE + DEEP], y[SAMPLES][2];    /* rows of these */
    float weights[2][SAMPLES], weighted[SAMPLES][4]; /* rows of the targets and these */
} samples;

static void fill(samples *s)
{
    for (int i = 0; i < SAMPLES; i++) {
        const int kind = i % KINDS;
        for (int k = 0; k < WIDE; k++)
            s->wide[i][k] = (float)(k == kind) + 0.01f * (float)(i % 7);
        for (int k = 0; k < DEEP; k++)
            s->deep[i][k] = 0.1f * (float)((i * 5 + k * 3) % 11);
        s->kind[i] = (float)kind;
        s->price[i] = s->deep[i][0] - s->wide[i][1];
        s->weights[0][i] = 0.25f * (float)(i % 5);
        s->weights[1][i] = 0.5f * (float)(i % 4);
    }
    const float *const x[] = {s->wide[0], s->deep[0]}, *const y[] = {s->kind, s->price};
    expect_ok(cornu_rows_join(x, (int64_t[]){WIDE, DEEP}, 2, SAMPLES, s->x[0]));
    expect_ok(cornu_rows_join(y, (int64_t[]){1, 1}, 2, SAMPLES, s->y[0]));
    const float *const weighted[] = {s->y[0], s->weights[0], s->weights[1]};
    expect_ok(cornu_rows_join(weighted, (int64_t[]){2, 1, 1}, 3, SAMPLES, s->weighted[0]));
}

static cornu_arrays arrays_of(const samples *s, int first, int count)
{
    return (cornu_arrays){.size = sizeof(cornu_arrays),
                          .count = count,
                          .rank = 1,
                          .shape = {WIDE + DEEP},
                          .values = s->x[first],
                          .targets = s->y[first],
                          .target_size = 2};
}

static cornu_arrays weighted_arrays(const samples *s, int first, int count)
{
    cornu_arrays a = arrays_of(s, first, count);
    a.targets = s->weighted[first];
    a.target_size = 4;
    a.output_weights = 2;
    return a;
}

/* Built layer by layer. */
static cornu_model *two_towers(void)
{
    cornu_model *m;
    expect_ok(cornu_model_new((int64_t[]){WIDE}, 1, &m));
    expect_ok(cornu_model_add(m, "InputLayer", "{shape: [4], name: deep}"));
    expect_ok(cornu_model_add(m, "Dense", "{units: 3, activation: tanh, name: tower}"));
    expect_ok(cornu_model_add(m, "Add", "{inputs: [input_layer, tower], name: sum}"));
    expect_ok(cornu_model_add(m, "Dense", "{units: 1, name: price}"));
    expect_ok(
        cornu_model_add(m, "Dense", "{units: 3, activation: softmax, inputs: sum, name: kind}"));
    expect_ok(cornu_model_name_outputs(m, "[kind, price]"));
    expect_ok(cornu_model_compile(m, "{optimizer: {sgd: {learning_rate: 0.1}}, "
                                     "loss: [sparse_categorical_crossentropy, mse], "
                                     "loss_weights: [1, 0.5], metrics: {kind: [accuracy]}}"));
    expect_ok(cornu_model_initialize(m, 1));
    return m;
}

static void ends_are_told_with_their_places_in_a_row(void **state)
{
    (void)state;
    cornu_model *m = two_towers();
    cornu_end_info info = {.size = sizeof info};
    assert_int_equal(cornu_model_input_count(m), 2);
    assert_int_equal(cornu_model_output_count(m), 2);
    expect_ok(cornu_model_input(m, 1, &info));
    assert_string_equal(info.name, "deep");
    assert_true(info.rank == 1 && info.shape[0] == DEEP && info.first == WIDE);
    expect_ok(cornu_model_output(m, 0, &info));
    assert_string_equal(info.name, "kind");
    assert_true(info.classes && info.count == KINDS && info.target_count == 1);
    expect_ok(cornu_model_output(m, 1, &info));
    assert_true(!info.classes && info.first == KINDS);
    expect_status(cornu_model_output(m, 2, &info), CORNU_NOT_FOUND);
    cornu_model_close(m);
}

static double value_of(const cornu_history *h, int epoch, const char *name)
{
    for (int i = 0; i < cornu_history_columns(h); i++)
        if (strcmp(cornu_history_name(h, i), name) == 0)
            return cornu_history_value(h, epoch, i);
    fail_msg("found no column %s", name);
    return NAN;
}

static void fit_evaluate_and_predict_take_and_give_rows(void **state)
{
    (void)state;
    samples s;
    cornu_model *m = two_towers();
    cornu_data *data;
    cornu_history *h;
    cornu_scores scores = {.size = sizeof scores};
    float out[SAMPLES][KINDS + 1], kinds[SAMPLES][KINDS], prices[SAMPLES];
    fill(&s);
    const cornu_arrays all = arrays_of(&s, 0, SAMPLES);
    char log[512], text[4096] = "";
    snprintf(log, sizeof log, "%s", scratch_path("log.csv"));
    const cornu_fit_options options = {.size = sizeof options,
                                       .epochs = 30,
                                       .batch = 8,
                                       .where.threads = 1,
                                       .log = log,
                                       .section = "{validation_split: 0.25}"};
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_ok(cornu_fit(m, data, &options, &h));
    for (int e = 0; e < 30; e += 29) {
        const double kind = value_of(h, e, "kind_loss"), price = value_of(h, e, "price_loss");
        assert_true(fabs(value_of(h, e, "loss") - (kind + 0.5 * price)) < 1e-5);
    }
    assert_true(value_of(h, 29, "loss") < 0.5 * value_of(h, 0, "loss"));
    assert_true(value_of(h, 29, "val_kind_accuracy") > 0.9);
    assert_true(isfinite(value_of(h, 29, "val_price_loss")));
    expect_ok(cornu_evaluate(m, data, NULL, &scores));
    assert_int_equal(scores.count, 4);
    assert_string_equal(scores.name[1], "kind_loss");
    assert_string_equal(scores.name[3], "kind_accuracy");
    expect_ok(cornu_predict(m, s.x[0], SAMPLES, NULL, out[0]));
    float *const parts[] = {kinds[0], prices};
    expect_ok(cornu_rows_split(out[0], (int64_t[]){KINDS, 1}, 2, SAMPLES, parts));
    double squares = 0;
    for (int i = 0; i < SAMPLES; i++) {
        assert_true(fabsf(kinds[i][0] + kinds[i][1] + kinds[i][2] - 1) < 1e-5f);
        squares += (double)(prices[i] - s.price[i]) * (double)(prices[i] - s.price[i]) / SAMPLES;
    }
    assert_true(fabs(squares - scores.value[2]) < 1e-5);
    FILE *f = fopen(log, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    assert_non_null(strstr(text, "kind_loss,price_loss,kind_accuracy"));
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(m);
}

/* The caller's loop over the same batches gives the same weights; a model file keeps all. */
static void trainer_and_file_have_the_same_bits(void **state)
{
    (void)state;
    samples s;
    cornu_model *a = two_towers(), *b = two_towers(), *opened;
    cornu_data *data;
    cornu_trainer *trainer;
    cornu_scores scores = {.size = sizeof scores};
    fill(&s);
    const cornu_arrays all = arrays_of(&s, 0, SAMPLES);
    const cornu_fit_options options = {.size = sizeof options,
                                       .epochs = 1,
                                       .batch = 8,
                                       .where.threads = 1,
                                       .section = "{shuffle: false}"};
    expect_ok(cornu_data_in_place(&all, NULL, &data));
    expect_ok(cornu_fit(a, data, &options, NULL));
    expect_ok(cornu_trainer_open(b, &(cornu_where){.threads = 1}, &trainer));
    for (int i = 0; i < SAMPLES; i += 8) {
        const cornu_arrays batch = arrays_of(&s, i, 8);
        expect_ok(cornu_trainer_train(trainer, &batch, &scores));
    }
    expect_ok(cornu_trainer_pull(trainer));
    cornu_trainer_close(trainer);
    assert_true(same_bits(a, b));
    const char *path = scratch_path("towers.safetensors");
    expect_ok(cornu_model_save(a, path));
    expect_ok(cornu_model_open(path, &opened));
    assert_true(same_bits(a, opened));
    assert_int_equal(opened->output_count, 2);
    assert_true(opened->outputs[1].weight == 0.5);
    cornu_model_close(opened);
    cornu_data_close(data);
    cornu_model_close(a);
    cornu_model_close(b);
}

/* What the loss of each output is with these weights: sums over the samples of losses alone. */
static void weighted_losses(cornu_model *m, const samples *s, double *losses)
{
    cornu_trainer *trainer;
    cornu_scores scores = {.size = sizeof scores};
    losses[0] = losses[1] = 0;
    expect_ok(cornu_trainer_open(m, &(cornu_where){.threads = 1}, &trainer));
    for (int i = 0; i < SAMPLES; i++) {
        const cornu_arrays one = arrays_of(s, i, 1);
        expect_ok(cornu_trainer_test(trainer, &one, &scores));
        for (int output = 0; output < 2; output++)
            losses[output] += (double)s->weights[output][i] * scores.value[1 + output] / SAMPLES;
        expect_ok(cornu_trainer_reset(trainer));
    }
    cornu_trainer_close(trainer);
}

static void samples_have_a_weight_for_the_loss_of_each_output(void **state)
{
    (void)state;
    samples s;
    cornu_model *m = two_towers(), *by_batch = two_towers();
    cornu_data *data;
    cornu_trainer *trainer;
    cornu_history *h;
    cornu_scores scores = {.size = sizeof scores};
    double losses[2];
    fill(&s);
    const cornu_arrays all = weighted_arrays(&s, 0, SAMPLES), plain = arrays_of(&s, 0, SAMPLES);
    cornu_arrays seen = {.size = sizeof seen};
    expect_ok(cornu_data_from_arrays(&all, &plain, &data));
    expect_ok(cornu_data_view(data, CORNU_TRAIN, &seen));
    assert_true(seen.output_weights == 2 && seen.target_size == 4);
    weighted_losses(m, &s, losses);
    expect_ok(
        cornu_evaluate(m, data, &(cornu_run_options){.size = sizeof(cornu_run_options)}, &scores));
    assert_true(fabs(scores.value[1] - losses[0]) < 1e-5);
    assert_true(fabs(scores.value[2] - losses[1]) < 1e-5);
    assert_true(fabs(scores.value[0] - (losses[0] + 0.5 * losses[1])) < 1e-5);
    const cornu_fit_options options = {.size = sizeof options,
                                       .epochs = 1,
                                       .batch = 8,
                                       .where.threads = 1,
                                       .section = "{shuffle: false}"};
    expect_ok(cornu_fit(m, data, &options, &h));
    expect_ok(cornu_trainer_open(by_batch, &(cornu_where){.threads = 1}, &trainer));
    for (int i = 0; i < SAMPLES; i += 8) {
        const cornu_arrays batch = weighted_arrays(&s, i, 8);
        expect_ok(cornu_trainer_train(trainer, &batch, &scores));
    }
    expect_ok(cornu_trainer_pull(trainer));
    assert_true(same_bits(m, by_batch));
    cornu_trainer_close(trainer);
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(m);
    cornu_model_close(by_batch);
}

/* Divided batches, recomputation and validation have the same weights. */
static void weights_of_outputs_go_everywhere_as_those_of_samples(void **state)
{
    (void)state;
    static const char *const fits[] = {"{shards: 2, validation_split: 0.25}",
                                       "{recompute: true, validation_split: 0.25}",
                                       "{validation_split: 0.5}"};
    samples s;
    fill(&s);
    memcpy(s.weights[1], s.weights[0], sizeof s.weights[0]);
    const float *const weighted[] = {s.y[0], s.weights[0], s.weights[1]};
    expect_ok(cornu_rows_join(weighted, (int64_t[]){2, 1, 1}, 3, SAMPLES, s.weighted[0]));
    cornu_arrays each = weighted_arrays(&s, 0, SAMPLES), one = arrays_of(&s, 0, SAMPLES);
    one.weights = s.weights[0];
    for (int i = 0; i < 3; i++) {
        cornu_model *m[2];
        cornu_history *h[2];
        for (int k = 0; k < 2; k++) {
            cornu_data *data;
            m[k] = two_towers();
            expect_ok(cornu_data_in_place(k ? &each : &one, NULL, &data));
            const cornu_fit_options options = {.size = sizeof options,
                                               .epochs = 2,
                                               .batch = 8,
                                               .where.threads = 1,
                                               .section = fits[i]};
            expect_ok(cornu_fit(m[k], data, &options, &h[k]));
            cornu_data_close(data);
        }
        assert_true(same_bits(m[0], m[1]));
        assert_true(value_of(h[0], 1, "val_price_loss") >= value_of(h[1], 1, "val_price_loss") &&
                    value_of(h[0], 1, "val_price_loss") <= value_of(h[1], 1, "val_price_loss"));
        for (int k = 0; k < 2; k++) {
            cornu_history_close(h[k]);
            cornu_model_close(m[k]);
        }
    }
}

static void wrong_weights_of_outputs_are_refused(void **state)
{
    (void)state;
    samples s;
    cornu_data *data;
    cornu_model *m = two_towers();
    const cornu_fit_options options = {.size = sizeof options, .where.threads = 1};
    fill(&s);
    cornu_arrays all = weighted_arrays(&s, 0, SAMPLES);
    all.output_weights = 4;
    expect_status(cornu_data_from_arrays(&all, NULL, &data), CORNU_INVALID);
    expect_message("train.output_weights: found 4, of targets of 4 numbers");
    all.output_weights = -1;
    expect_status(cornu_data_from_arrays(&all, NULL, &data), CORNU_INVALID);
    all.output_weights = 2;
    all.weights = s.weights[0];
    expect_status(cornu_data_from_arrays(&all, NULL, &data), CORNU_INVALID);
    expect_message("found weights and output_weights; expected one of them");
    all.weights = NULL;
    all.output_weights = 1;
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_status(cornu_fit(m, data, &options, NULL), CORNU_INVALID);
    expect_message("found 1 output_weights; expected 2, one for each output of the model");
    cornu_data_close(data);
    all.output_weights = 2;
    all.target_size = 3;
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_status(cornu_fit(m, data, &options, NULL), CORNU_INVALID);
    expect_message("found targets of (3); the model sequential has 2 outputs");
    expect_message("rows of 4 numbers");
    cornu_data_close(data);
    cornu_model_close(m);
    all = weighted_arrays(&s, 0, SAMPLES);
    m = runs_usual("{}");
    all.shape[0] = 8;
    all.count = 8;
    expect_ok(cornu_data_in_place(&all, NULL, &data));
    expect_status(cornu_fit(m, data, &options, NULL), CORNU_INVALID);
    expect_message("has one output: expected weights of the samples");
    cornu_data_close(data);
    cornu_model_close(m);
}

/* Names of values of a validation are whole, also where those of outputs are long. */
static void long_names_of_outputs_stay_apart(void **state)
{
    (void)state;
    static float x[SAMPLES][8], y[SAMPLES][3];
    char recipe[1024], long_name[151] = "", column[256];
    memset(long_name, 'a', sizeof long_name - 1);
    snprintf(recipe, sizeof recipe,
             "model: {input: [8], layers: [{Dense: {units: 1, name: %s}}, {Dense: {units: 2, name: "
             "b, inputs: input_layer}}], outputs: [%s, b]}\n"
             "compile: {optimizer: sgd, loss: mse, metrics: {%s: mae}}\n"
             "fit: {validation_split: 0.25}\n",
             long_name, long_name, long_name);
    const cornu_arrays all = {.size = sizeof all,
                              .count = SAMPLES,
                              .rank = 1,
                              .shape = {8},
                              .values = x[0],
                              .targets = y[0],
                              .target_size = 3};
    const cornu_fit_options options = {
        .size = sizeof options, .epochs = 1, .batch = 8, .where.threads = 1};
    cornu_model *m;
    cornu_data *data;
    cornu_history *h;
    expect_ok(cornu_model_parse(recipe, "long.yaml", &m));
    expect_ok(cornu_model_initialize(m, 3));
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_ok(cornu_fit(m, data, &options, &h));
    for (int i = 0; i < 2; i++) {
        snprintf(column, sizeof column, "val_%s_%s", long_name, i ? "mae" : "loss");
        assert_true(isfinite(value_of(h, 0, column)));
    }
    cornu_history_close(h);
    cornu_data_close(data);
    cornu_model_close(m);
}

/* Three outputs with three metrics each: with the losses 12 numbers besides `loss`. */
static cornu_model *three_outputs(void)
{
    cornu_model *m;
    expect_ok(cornu_model_parse(
        "model: {input: [8], layers: [{Dense: {units: 4, name: a}}, {Dense: {units: 3, name: b}}, "
        "{Dense: {units: 2, name: c}}], outputs: [a, b, c]}\n"
        "compile: {optimizer: sgd, loss: mse, metrics: [[mae, mse, binary_accuracy], "
        "[mae, mse, binary_accuracy], [mae, mse, binary_accuracy]]}\n"
        "fit: {validation_split: 0.25}\n",
        "three.yaml", &m));
    expect_ok(cornu_model_initialize(m, 3));
    return m;
}

static void many_metrics_are_all_told(void **state)
{
    (void)state;
    static float x[SAMPLES][8], y[SAMPLES][9];
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < 9; k++) {
            y[i][k] = (float)((i + k) % 2);
            if (k < 8)
                x[i][k] = 0.1f * (float)((i * 3 + k * 5) % 13);
        }
    const cornu_arrays all = {.size = sizeof all,
                              .count = SAMPLES,
                              .rank = 1,
                              .shape = {8},
                              .values = x[0],
                              .targets = y[0],
                              .target_size = 9};
    cornu_data *data;
    cornu_history *h;
    cornu_scores scores[2];
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    for (int i = 0; i < 2; i++) {
        cornu_model *m = three_outputs();
        const cornu_where where = {.device = i ? "reference" : "cpu", .threads = 1};
        const cornu_fit_options options = {
            .size = sizeof options, .epochs = 2, .batch = 8, .where = where};
        expect_ok(cornu_fit(m, data, &options, &h));
        assert_int_equal(cornu_history_columns(h), 2 * 13 + 2);
        assert_true(fabs(value_of(h, 1, "val_c_mse") - value_of(h, 1, "val_c_loss")) < 1e-6);
        cornu_history_close(h);
        scores[i] = (cornu_scores){.size = sizeof *scores};
        const cornu_run_options run = {.size = sizeof run, .where = where, .batch = 8};
        expect_ok(cornu_evaluate(m, data, &run, &scores[i]));
        assert_int_equal(scores[i].count, 9);
        assert_int_equal(scores[i].all_count, 13);
        assert_string_equal(scores[i].all_name[12], "c_binary_accuracy");
        for (int k = 0; k < 13; k++)
            assert_true(fabs(scores[i].all_value[k] - scores[0].all_value[k]) < 1e-5);
        assert_true(fabs(scores[i].all_value[11] - scores[i].all_value[3]) < 1e-6);
        assert_memory_equal(scores[i].value, scores[i].all_value, sizeof scores[i].value);
        cornu_scores old = {.size = offsetof(cornu_scores, all_count)};
        expect_ok(cornu_evaluate(m, data, &run, &old));
        assert_int_equal(old.count, 9);
        cornu_model_close(m);
    }
    cornu_data_close(data);
}

static const char *const encoder =
    "model: {input: [8], layers: [{Model: {name: encoder, layers: ["
    "{Dense: {units: 5, activation: relu, name: h}}, {Dense: {units: 2, name: z}}%s], outputs: "
    "[z%s]}}, {Dense: {units: 3, inputs: %s, name: y}}, {Softmax: {}}]}\n"
    "compile: {optimizer: {adamw: {learning_rate: 0.05, weight_decay: 0.1, clipnorm: 1}}, loss: "
    "sparse_categorical_crossentropy}\n"
    "fit: {shuffle: false%s}\n";

static float *values_of(cornu_model *m, const char *name, int64_t *count)
{
    cornu_weight_info info = {.size = sizeof info};
    for (int i = 0; i < cornu_model_weight_count(m); i++) {
        expect_ok(cornu_model_weight_info(m, i, &info));
        if (strcmp(info.name, name) != 0)
            continue;
        float *values = calloc((size_t)info.count, sizeof *values);
        assert_non_null(values);
        expect_ok(cornu_model_get_weight(m, i, values, info.count));
        *count = info.count;
        return values;
    }
    fail_msg("found no weight %s", name);
    return NULL;
}

/* Set the weights of `to` to those of the same name. */
static void copy_weights(cornu_model *to, cornu_model *from)
{
    cornu_weight_info info = {.size = sizeof info};
    int64_t count;
    for (int i = 0; i < cornu_model_weight_count(to); i++) {
        expect_ok(cornu_model_weight_info(to, i, &info));
        float *values = values_of(from, info.name, &count);
        expect_ok(cornu_model_set_weight(to, i, values, count));
        free(values);
    }
}

/* A model that returns more than is read trains as one that does not, and the rest stays as it is:
   without a gradient there is neither decay nor a part in the norm by which gradients are clipped.
 */
static void outputs_that_nothing_reads_change_nothing(void **state)
{
    (void)state;
    static const char *const fits[] = {"", ", shards: 2", ", recompute: true"};
    for (int i = 0; i < 3; i++) {
        char text[1024];
        cornu_model *all, *less;
        cornu_data *data = runs_data(48, 0);
        const cornu_fit_options options = {
            .size = sizeof options, .epochs = 2, .batch = 8, .where.threads = 1};
        snprintf(text, sizeof text, encoder,
                 ", {Dense: {units: 4, inputs: h, name: spread}}, {BatchNormalization: {name: n}}",
                 ", n", "encoder/z", fits[i]);
        expect_ok(cornu_model_parse(text, "all.yaml", &all));
        snprintf(text, sizeof text, encoder, "", "", "encoder", fits[i]);
        expect_ok(cornu_model_parse(text, "less.yaml", &less));
        expect_ok(cornu_model_initialize(all, 1));
        expect_ok(cornu_model_initialize(less, 1));
        copy_weights(less, all);
        int64_t count;
        float *spread = values_of(all, "encoder/spread/kernel", &count);
        expect_ok(cornu_fit(all, data, &options, NULL));
        expect_ok(cornu_fit(less, data, &options, NULL));
        for (int k = 0; k < less->weight_count; k++) {
            const variable *v = &less->variables[k];
            float *values = values_of(all, v->name, &count);
            assert_memory_equal(values, v->value, (size_t)count * sizeof *values);
            free(values);
        }
        float *after = values_of(all, "encoder/spread/kernel", &count);
        assert_memory_equal(after, spread, (size_t)count * sizeof *after);
        float *mean = values_of(all, "encoder/n/moving_mean", &count);
        assert_true(mean[0] > 0 || mean[0] < 0);
        free(mean);
        free(after);
        free(spread);
        cornu_data_close(data);
        cornu_model_close(less);
        cornu_model_close(all);
    }
}

/* A model with an output without a loss trains as one that has not this output, and what leads to
   that output alone stays as it is. */
static void an_output_without_a_loss_changes_nothing(void **state)
{
    (void)state;
    static const char *const fits[] = {"{shuffle: false}", "{shuffle: false, shards: 2}",
                                       "{shuffle: false, recompute: true}"};
    static const char *const layers =
        "model: {input: [7], layers: [{Dense: {units: 5, activation: relu, name: h}}, "
        "{Dense: {units: 1, name: a}}%s{Dense: {units: 1, inputs: h, name: c}}], outputs: [%sa, "
        "c]}\ncompile: {optimizer: {adamw: {learning_rate: 0.05, weight_decay: 0.1, %s: 1}}, "
        "loss: [%smse, mse]}\n";
    samples s;
    fill(&s);
    for (int i = 0; i < 6; i++) {
        const cornu_arrays one = arrays_of(&s, 0, SAMPLES);
        const cornu_fit_options options = {.size = sizeof options,
                                           .epochs = 2,
                                           .batch = 8,
                                           .where.threads = 1,
                                           .section = fits[i % 3]};
        const char *clip = i % 2 ? "clipnorm" : "clipvalue";
        char text[1024];
        cornu_model *all, *less;
        cornu_data *data;
        snprintf(
            text, sizeof text, layers,
            ", {Dense: {units: 4, inputs: h, name: spread}}, {BatchNormalization: {name: b}}, ",
            "b, ", clip, "null, ");
        expect_ok(cornu_model_parse(text, "all.yaml", &all));
        snprintf(text, sizeof text, layers, ", ", "", clip, "");
        expect_ok(cornu_model_parse(text, "less.yaml", &less));
        expect_ok(cornu_model_initialize(all, 1));
        expect_ok(cornu_model_initialize(less, 1));
        copy_weights(less, all);
        int64_t count;
        float *spread = values_of(all, "spread/kernel", &count);
        expect_ok(cornu_data_in_place(&one, NULL, &data));
        expect_ok(cornu_fit(all, data, &options, NULL));
        expect_ok(cornu_fit(less, data, &options, NULL));
        cornu_data_close(data);
        for (int k = 0; k < less->weight_count; k++) {
            const variable *v = &less->variables[k];
            float *values = values_of(all, v->name, &count);
            assert_memory_equal(values, v->value, (size_t)count * sizeof *values);
            free(values);
        }
        float *after = values_of(all, "spread/kernel", &count);
        assert_memory_equal(after, spread, (size_t)count * sizeof *after);
        free(after);
        free(spread);
        float *mean = values_of(all, "b/moving_mean", &count);
        assert_true(mean[0] > 0 || mean[0] < 0);
        free(mean);
        cornu_model_close(less);
        cornu_model_close(all);
    }
}

static void an_output_without_a_loss_has_no_target_but_a_weight(void **state)
{
    (void)state;
    samples s;
    cornu_model *m = two_towers();
    cornu_data *data;
    cornu_scores scores[2] = {{.size = sizeof *scores}, {.size = sizeof *scores}};
    fill(&s);
    expect_ok(cornu_model_compile(m, "{optimizer: sgd, loss: [sparse_categorical_crossentropy, "
                                     "null], metrics: [[accuracy], null]}"));
    cornu_arrays all = arrays_of(&s, 0, SAMPLES);
    all.targets = s.kind;
    all.target_size = 1;
    all.weights = s.weights[0];
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_ok(cornu_evaluate(m, data, NULL, &scores[0]));
    cornu_data_close(data);
    assert_int_equal(scores[0].count, 2);
    assert_string_equal(scores[0].name[1], "kind_accuracy");
    float rows[SAMPLES][3];
    const float *const arrays[] = {s.kind, s.weights[0], s.weights[1]};
    expect_ok(cornu_rows_join(arrays, (int64_t[]){1, 1, 1}, 3, SAMPLES, rows[0]));
    all.weights = NULL;
    all.targets = rows[0];
    all.target_size = 3;
    all.output_weights = 2;
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_ok(cornu_evaluate(m, data, NULL, &scores[1]));
    assert_memory_equal(scores[0].value, scores[1].value, 2 * sizeof *scores[0].value);
    cornu_data_close(data);
    all = arrays_of(&s, 0, SAMPLES);
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_status(cornu_evaluate(m, data, NULL, &scores[1]), CORNU_INVALID);
    expect_message("2 outputs, kind (1): expected an array for each (in C, rows of 1 numbers)");
    cornu_data_close(data);
    cornu_model_close(m);
}

static void other_data_are_refused_by_name(void **state)
{
    (void)state;
    samples s;
    cornu_model *m = two_towers();
    const cornu_fit_options options = {.size = sizeof options, .where.threads = 1};
    cornu_data *data = runs_data(40, 8);
    fill(&s);
    expect_status(cornu_fit(m, data, &options, NULL), CORNU_INVALID);
    expect_message("2 inputs, input_layer (3), deep (4): expected an array for each");
    cornu_data_close(data);
    const cornu_data_options named = {.size = sizeof named, .folder = "mnist"};
    expect_status(cornu_data_open_for_model(m, &named, &data), CORNU_UNSUPPORTED);
    expect_message("2 inputs and 2 outputs; data sets, folders and files have one of each");
    cornu_arrays all = arrays_of(&s, 0, SAMPLES);
    all.target_size = 1;
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_status(cornu_fit(m, data, &options, NULL), CORNU_INVALID);
    expect_message("2 outputs, kind (1), price (1): expected an array for each");
    cornu_data_close(data);
    s.y[5][0] = 3;
    all = arrays_of(&s, 0, SAMPLES);
    expect_ok(cornu_data_from_arrays(&all, NULL, &data));
    expect_status(cornu_fit(m, data, &options, NULL), CORNU_INVALID);
    expect_message("found label 3 in sample 5; the output kind expects 0 to 2");
    cornu_data_close(data);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_told_with_their_places_in_a_row),
        cmocka_unit_test_setup_teardown(fit_evaluate_and_predict_take_and_give_rows, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(trainer_and_file_have_the_same_bits, scratch_open,
                                        scratch_close),
        cmocka_unit_test(samples_have_a_weight_for_the_loss_of_each_output),
        cmocka_unit_test(weights_of_outputs_go_everywhere_as_those_of_samples),
        cmocka_unit_test(wrong_weights_of_outputs_are_refused),
        cmocka_unit_test(long_names_of_outputs_stay_apart),
        cmocka_unit_test(many_metrics_are_all_told),
        cmocka_unit_test(outputs_that_nothing_reads_change_nothing),
        cmocka_unit_test(an_output_without_a_loss_changes_nothing),
        cmocka_unit_test(an_output_without_a_loss_has_no_target_but_a_weight),
        cmocka_unit_test(other_data_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
