/* What a caller that wraps the library needs of it: tables, views, each step, a fit section of its
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/tables.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *tables(void)
{
    char *text;
    expect_ok(cornu_tables(&text));
    json_t *all = json_loads(text, 0, NULL);
    cornu_free(text);
    assert_non_null(all);
    return all;
}

static const json_t *row_named(const json_t *all, const char *table, const char *class_name)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(all, table), i,
                       row) if (strcmp(json_string_value(json_object_get(row, "class_name")),
                                       class_name) == 0) return row;
    fail_msg("no %s among %s", class_name, table);
    return NULL;
}

static void tables_name_rows_options_and_defaults(void **state)
{
    (void)state;
    static const char *const names[] = {"layers",  "activations", "initializers", "losses",
                                        "metrics", "optimizers",  "schedules",    "callbacks"};
    json_t *all = tables();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(json_array_size(json_object_get(all, names[i])) > 3);
    const json_t *options = json_object_get(row_named(all, "layers", "Dense"), "options");
    const json_t *units = json_array_get(options, 0), *activation = json_array_get(options, 1);
    assert_string_equal(json_string_value(json_object_get(units, "name")), "units");
    assert_true(json_is_true(json_object_get(units, "required")));
    assert_string_equal(json_string_value(json_object_get(activation, "type")), "activation");
    assert_true(json_is_null(json_object_get(activation, "default")));
    const json_t *adam = row_named(all, "optimizers", "Adam");
    assert_true(json_real_value(json_object_get(adam, "learning_rate")) == 0.001);
    json_decref(all);
}

static void a_schedule_tells_its_rates(void **state)
{
    (void)state;
    double rate;
    const char *decay =
        "{\"class_name\": \"ExponentialDecay\", \"config\": {\"initial_learning_rate\": 0.5, "
        "\"decay_steps\": 10, \"decay_rate\": 0.5}}";
    expect_ok(cornu_schedule_rate(decay, 20, &rate));
    assert_float_equal(rate, 0.125, 1e-12);
    expect_ok(cornu_schedule_rate("0.25", 7, &rate));
    assert_float_equal(rate, 0.25, 0);
    expect_status(cornu_schedule_rate(decay, -1, &rate), CORNU_INVALID);
    expect_status(cornu_schedule_rate("{sine: {}}", 1, &rate), CORNU_INVALID);
}

static void an_initializer_tells_its_values(void **state)
{
    (void)state;
    float first[6], again[6], other[6];
    const int64_t shape[] = {2, 3};
    expect_ok(cornu_initializer_values("{identity: {gain: 2}}", shape, 2, 1, first, 6));
    assert_memory_equal(first, ((float[]){2, 0, 0, 0, 2, 0}), sizeof first);
    expect_ok(cornu_initializer_values("orthogonal", shape, 2, 1, first, 6));
    expect_ok(cornu_initializer_values("orthogonal", shape, 2, 1, again, 6));
    expect_ok(cornu_initializer_values("orthogonal", shape, 2, 2, other, 6));
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    expect_ok(cornu_initializer_values("ones", NULL, 0, 1, first, 1));
    assert_float_equal(first[0], 1, 0);
    expect_status(cornu_initializer_values("ones", shape, 2, 1, first, 5), CORNU_INVALID);
    expect_status(cornu_initializer_values("identity", shape, 1, 1, first, 2), CORNU_INVALID);
    expect_status(cornu_initializer_values("ones", (int64_t[]){0}, 1, 1, first, 0), CORNU_INVALID);
    expect_status(cornu_initializer_values("ones", shape, 99, 1, first, 6), CORNU_INVALID);
}

static const json_t *option_named(const json_t *row, const char *name)
{
    size_t i;
    const json_t *option;
    json_array_foreach(json_object_get(row, "options"), i,
                       option) if (strcmp(json_string_value(json_object_get(option, "name")),
                                          name) == 0) return option;
    fail_msg("no option %s", name);
    return NULL;
}

static void an_alias_tells_which_option_it_stands_for(void **state)
{
    (void)state;
    json_t *all = tables();
    const json_t *leaky = row_named(all, "layers", "LeakyReLU");
    const json_t *alpha = option_named(leaky, "alpha");
    assert_true(json_is_true(json_object_get(alpha, "alias")));
    assert_string_equal(json_string_value(json_object_get(alpha, "stands_for")), "negative_slope");
    assert_true(json_is_null(json_object_get(option_named(leaky, "negative_slope"), "stands_for")));
    const json_t *input = row_named(all, "layers", "InputLayer");
    assert_string_equal(
        json_string_value(json_object_get(option_named(input, "shape"), "stands_for")),
        "batch_shape");
    const json_t *rms = option_named(row_named(all, "layers", "LayerNormalization"), "rms_scaling");
    assert_true(json_is_true(json_object_get(rms, "alias")));
    assert_true(json_is_null(json_object_get(rms, "stands_for")));
    json_decref(all);
}

/* Layers that need an option whose default in Keras is None. */
static bool needs_more(const char *layer)
{
    return strcmp(layer, "CategoryEncoding") == 0 || strcmp(layer, "Discretization") == 0;
}

/* Every layer takes its own defaults, if it has one input. */
static void a_layer_takes_the_defaults_that_its_table_tells(void **state)
{
    (void)state;
    size_t i, k;
    const json_t *row, *option;
    json_t *all = tables();
    json_array_foreach(json_object_get(all, "layers"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "class_name"));
        json_t *given = json_object();
        bool complete =
            strcmp(name, "InputLayer") != 0 && !json_is_true(json_object_get(row, "merges"));
        json_array_foreach(json_object_get(row, "options"), k, option)
        {
            complete &= !json_is_true(json_object_get(option, "required"));
            if (!json_is_true(json_object_get(option, "alias")) &&
                strcmp(json_string_value(json_object_get(option, "type")), "dtype") != 0)
                json_object_set(given, json_string_value(json_object_get(option, "name")),
                                json_object_get(option, "default"));
        }
        char *text = json_dumps(given, 0);
        cornu_model *m = NULL;
        const int rank = strstr(name, "1D") ? 2 : 3; /* of a signal, or of an image */
        const bool colors =
            strncmp(name, "RandomColor", 11) == 0 || strcmp(name, "RandomGrayscale") == 0;
        const int64_t in[] = {6, 6, colors ? 3 : 32};
        expect_ok(cornu_model_new(in + 3 - rank, rank, &m));
        if (complete && !needs_more(name))
            expect_ok(cornu_model_add(m, name, text));
        cornu_model_close(m);
        free(text);
        json_decref(given);
    }
    json_decref(all);
}

static void a_view_is_the_samples_themselves(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 6};
    const int32_t y[] = {2, 0, 1};
    cornu_arrays in = {.size = sizeof in,
                       .count = 3,
                       .rank = 1,
                       .shape = {2},
                       .values = x,
                       .labels = y},
                 out = {.size = sizeof out};
    cornu_data *data;
    expect_ok(cornu_data_from_arrays(&in, NULL, &data));
    expect_ok(cornu_data_view(data, CORNU_TRAIN, &out));
    assert_int_equal(out.count, 3);
    assert_int_equal(out.rank, 1);
    assert_int_equal(out.shape[0], 2);
    assert_null(out.pixels);
    assert_null(out.targets);
    assert_memory_equal(out.values, x, sizeof x);
    assert_memory_equal(out.labels, y, sizeof y);
    expect_ok(cornu_data_view(data, CORNU_TEST, &out));
    assert_int_equal(out.count, 0);
    expect_status(cornu_data_view(data, CORNU_TRAIN, NULL), CORNU_INVALID);
    cornu_data_close(data);
}

static void a_compile_section_can_be_read_back(void **state)
{
    (void)state;
    cornu_model *m = runs_usual(NULL), *plain;
    char *first, *second;
    expect_ok(cornu_model_compile_config(m, &first));
    expect_ok(cornu_model_compile(m, first));
    expect_ok(cornu_model_compile_config(m, &second));
    assert_string_equal(first, second);
    cornu_free(first);
    cornu_free(second);
    expect_ok(cornu_model_new((int64_t[]){4}, 1, &plain));
    expect_ok(cornu_model_compile_config(plain, &first));
    assert_string_equal(first, "null");
    cornu_free(first);
    cornu_model_close(plain);
    cornu_model_close(m);
}

/* A recipe of somebody else may not: confined_test. */
static void a_section_of_ones_own_writes_its_files_anywhere(void **state)
{
    (void)state;
    char section[1200], checkpoint[400], table[400];
    snprintf(checkpoint, sizeof checkpoint, "%s", scratch_path("new/folder/e{epoch}.safetensors"));
    snprintf(table, sizeof table, "%s", scratch_path("table.csv"));
    snprintf(section, sizeof section,
             "{epochs: 2, callbacks: [{checkpoint: {filepath: '%s'}}, {csv_logger: {path: '%s'}}]}",
             checkpoint, table);
    cornu_model *m = runs_usual(NULL);
    cornu_data *data = runs_data(40, 0);
    cornu_fit_options o = {.size = sizeof o, .section = section};
    expect_ok(cornu_fit(m, data, &o, NULL));
    expect_ok(cornu_fit(m, data, &o, NULL)); /* in place of the first run's */
    cornu_model_close(m);
    expect_ok(cornu_model_open(scratch_path("new/folder/e2.safetensors"), &m));
    cornu_model_close(m);
    cornu_data_close(data);
}

typedef struct seen {
    int begun, steps, ended;
    int64_t epochs;
} seen;

static void on_begin(void *user, const cornu_progress *p)
{
    seen *s = user;
    assert_int_equal(p->epoch, s->begun++);
    assert_int_equal(p->step, 0);
    assert_true(p->learning_rate > 0);
    assert_int_equal(s->ended, p->epoch);
    s->epochs = p->epochs;
}

static void on_step(void *user, const cornu_progress *p)
{
    seen *s = user;
    assert_int_equal(s->begun, p->epoch + 1);
    s->steps++;
}

static void on_end(void *user, const cornu_progress *p)
{
    (void)p;
    ((seen *)user)->ended++;
}

static void each_epoch_is_announced_and_each_step_reported(void **state)
{
    (void)state;
    cornu_model *m = runs_usual(NULL);
    cornu_data *data = runs_data(40, 0);
    seen s = {0};
    cornu_fit_options o = {.size = sizeof o,
                           .section = "{epochs: 3, batch_size: 8, callbacks: [terminate_on_nan]}",
                           .each_step = true,
                           .on_epoch_begin = on_begin,
                           .on_step = on_step,
                           .on_epoch = on_end,
                           .user = &s};
    expect_ok(cornu_fit(m, data, &o, NULL));
    assert_int_equal(s.begun, 3);
    assert_int_equal(s.epochs, 3);
    assert_int_equal(s.ended, 3);
    assert_int_equal(s.steps, 15);
    o.section = "{epoch: 3}";
    expect_status(cornu_fit(m, data, &o, NULL), CORNU_INVALID);
    expect_message("epoch");
    o.section = "{epochs: ";
    assert_true(cornu_fit(m, data, &o, NULL) != CORNU_OK);
    cornu_data_close(data);
    cornu_model_close(m);
}

/* As from Python, whose callbacks no recipe lists: the command line goes on from such a file. */
static void a_file_of_a_section_of_ones_own_goes_on_by_its_recipe(void **state)
{
    (void)state;
    cornu_model *m = runs_usual(NULL), *saved;
    cornu_data *data = runs_data(40, 0);
    notices told = {0};
    cornu_fit_options o = {.size = sizeof o,
                           .section = "{epochs: 2, batch_size: 8, callbacks: [terminate_on_nan]}"};
    expect_ok(cornu_fit(m, data, &o, NULL));
    expect_ok(cornu_model_save(m, scratch_path("own.safetensors")));
    expect_ok(cornu_model_open(scratch_path("own.safetensors"), &saved));
    o = (cornu_fit_options){.size = sizeof(cornu_fit_options),
                            .resume = true,
                            .epochs = 3,
                            .on_notice = notices_add,
                            .user = &told};
    expect_ok(cornu_fit(saved, data, &o, NULL));
    assert_non_null(
        strstr(told.lines, "lists no callbacks; the 1 with which it was saved does not"));
    cornu_data_close(data);
    cornu_model_close(saved);
    cornu_model_close(m);
}

/* ---- metrics of the caller's own ---- */

typedef struct batches {
    int begun, seen;
    double share, largest; /* of samples whose output says their class; target */
    int64_t samples;
} batches;

/* Two metrics: the number of samples of the pass, and the accuracy, as the library has it. */
static void count_batch(void *user, const cornu_batch_outputs *b)
{
    batches *all = user;
    if (b->begins) {
        all->begun++;
        all->samples = 0;
        all->share = 0;
    }
    all->seen++;
    assert_int_equal(b->value_count, 2);
    assert_int_equal(b->output_size, 3);
    assert_int_equal(b->target_size, 1);
    for (int64_t i = 0; i < b->count; i++) {
        const float *y = b->outputs + i * 3;
        const int best = y[0] >= y[1] && y[0] >= y[2] ? 0 : y[1] >= y[2] ? 1 : 2;
        all->share += best == (int)b->targets[i];
    }
    all->samples += b->count;
    b->values[0] = (double)all->samples;
    b->values[1] = all->share / (double)all->samples;
}

static void expect_counted(const cornu_scores *s, double samples)
{
    assert_string_equal(s->all_name[1], "count");
    assert_string_equal(s->all_name[2], "accuracy");
    assert_string_equal(s->all_name[3], "own");
    assert_float_equal(s->all_value[1], samples, 1e-9);
    assert_float_equal(s->all_value[3], s->all_value[2], 1e-9);
}

static void keep_scores(void *user, const cornu_progress *p)
{
    (void)user;
    expect_counted(p->scores, 40);
    expect_counted(p->validation, 10);
}

static void metrics_of_the_callers_own_are_scores_as_others(void **state)
{
    (void)state;
    cornu_model *m = runs_model(
        "[{Dense: {units: 3, activation: softmax}}]",
        "{optimizer: adam, loss: sparse_categorical_crossentropy, metrics: [{class_name: function, "
        "config: f, called: count}, accuracy, {class_name: Own, called: own}]}",
        "{epochs: 2, batch_size: 16, validation_split: 0.2}");
    cornu_data *data = runs_data(50, 0);
    batches all = {0};
    cornu_fit_options fit = {
        .size = sizeof fit, .on_outputs = count_batch, .on_epoch = keep_scores, .user = &all};
    cornu_history *history;
    expect_ok(cornu_fit(m, data, &fit, &history));
    assert_int_equal(all.begun, 4); /* two epochs, two validations */
    assert_int_equal(all.seen, 2 * (3 + 1));
    assert_float_equal(cornu_history_value(history, 1, 1), 40, 1e-9);
    cornu_history_close(history);
    cornu_scores scores = {.size = sizeof scores};
    cornu_run_options run = {.size = sizeof run, .on_outputs = count_batch, .user = &all};
    expect_ok(cornu_evaluate(m, data, &run, &scores));
    expect_counted(&scores, 50);
    char *section;
    expect_ok(cornu_model_compile_config(m, &section));
    assert_non_null(strstr(section, "\"called\": \"count\""));
    expect_ok(cornu_model_compile(m, section));
    cornu_free(section);
    run.on_outputs = NULL;
    expect_status(cornu_evaluate(m, data, &run, &scores), CORNU_UNSUPPORTED);
    expect_message("metric count: is one of the caller's own");
    fit.shards = 2;
    expect_status(cornu_fit(m, data, &fit, NULL), CORNU_UNSUPPORTED);
    expect_message("shards: found the metric count");
    cornu_data_close(data);
    cornu_model_close(m);
}

typedef struct resumed {
    batches batches;
    int steps;          /* left until the run stops */
    double own, others; /* "own" and "accuracy" of the first epoch */
} resumed;

static void count_pass(void *user, const cornu_batch_outputs *b)
{
    resumed *r = user;
    count_batch(&r->batches, b);
}

static bool stop_in_the_epoch(void *user)
{
    resumed *r = user;
    return --r->steps == 0;
}

static void keep_first_epoch(void *user, const cornu_progress *p)
{
    resumed *r = user;
    if (p->epoch > 1)
        return;
    r->others = p->scores->all_value[2];
    r->own = p->scores->all_value[3];
}

/* Those of the steps before are part of the epoch's, as means over samples; and after the resume a
   metric is over all steps since. */
static void metrics_of_the_callers_own_go_on_after_a_resume_within_an_epoch(void **state)
{
    (void)state;
    cornu_model *m = runs_model(
        "[{Dense: {units: 3, activation: softmax}}]",
        "{optimizer: adam, loss: sparse_categorical_crossentropy, metrics: [{class_name: function, "
        "config: f, called: count}, accuracy, {class_name: Own, called: own}]}",
        "{epochs: 1, batch_size: 8}");
    cornu_data *data = runs_data(50, 0);
    resumed before = {.steps = 2}, after = {.steps = 0};
    char path[300];
    snprintf(path, sizeof path, "%s", scratch_path("own-metrics.safetensors"));
    cornu_fit_options fit = {.size = sizeof fit,
                             .on_outputs = count_pass,
                             .should_stop = stop_in_the_epoch,
                             .on_epoch = keep_first_epoch,
                             .save = path,
                             .user = &before};
    expect_status(cornu_fit(m, data, &fit, NULL), CORNU_STOPPED);
    cornu_model_close(m);
    expect_ok(cornu_model_open(path, &m));
    fit.resume = true;
    fit.user = &after;
    expect_ok(cornu_fit(m, data, &fit, NULL));
    assert_int_equal(before.batches.seen, 2);
    assert_int_equal(after.batches.seen, 5);
    assert_int_equal(after.batches.begun, 1);
    assert_int_equal(after.batches.samples, 50 - 16);
    assert_float_equal(after.own, after.others, 1e-9);
    cornu_data_close(data);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_name_rows_options_and_defaults),
        cmocka_unit_test(a_schedule_tells_its_rates),
        cmocka_unit_test(an_initializer_tells_its_values),
        cmocka_unit_test(an_alias_tells_which_option_it_stands_for),
        cmocka_unit_test(a_layer_takes_the_defaults_that_its_table_tells),
        cmocka_unit_test(a_view_is_the_samples_themselves),
        cmocka_unit_test(a_compile_section_can_be_read_back),
        cmocka_unit_test(a_section_of_ones_own_writes_its_files_anywhere),
        cmocka_unit_test(a_file_of_a_section_of_ones_own_goes_on_by_its_recipe),
        cmocka_unit_test(each_epoch_is_announced_and_each_step_reported),
        cmocka_unit_test(metrics_of_the_callers_own_are_scores_as_others),
        cmocka_unit_test(metrics_of_the_callers_own_go_on_after_a_resume_within_an_epoch),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
