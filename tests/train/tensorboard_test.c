/* Event files, read back record by record; peers/tensorboard_files.py shows them to TensorBoard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/events.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/images.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if CORNU_TENSORBOARD
#include "format/tensorboard/event_file.h"

/* A run of 5 steps an epoch, validated; `callback` are a recipe's options, or NULL: --tensorboard.
 */
static cornu_history *train(const char *callback, int64_t epochs)
{
    char fit[512] = "{batch_size: 8, validation: test}";
    cornu_history *history = NULL;
    if (callback)
        snprintf(fit, sizeof fit,
                 "{batch_size: 8, validation: test, callbacks: [{tensorboard: %s}]}", callback);
    cornu_model *model = runs_usual(fit);
    cornu_data *data = runs_data(40, 16);
    char output[1024], logs[1024];
    snprintf(output, sizeof output, "%s", scratch_path("out"));
    snprintf(logs, sizeof logs, "%s", scratch_path("logs"));
    const cornu_fit_options o = {.size = sizeof o,
                                 .epochs = epochs,
                                 .output = output,
                                 .tensorboard = callback ? NULL : logs};
    expect_ok(cornu_fit(model, data, &o, &history));
    cornu_data_close(data);
    cornu_model_close(model);
    return history;
}

static double history_value(const cornu_history *h, const char *name, int epoch)
{
    for (int i = 0; i < cornu_history_columns(h); i++)
        if (strcmp(cornu_history_name(h, i), name) == 0)
            return cornu_history_value(h, epoch, i);
    fail_msg("found no %s", name);
    return 0;
}

static void epochs_are_written_under_the_tags_of_keras(void **state)
{
    (void)state;
    events training, validation;
    cornu_history *h = train(NULL, 3);
    assert_int_equal(events_read("logs/train", &training), 1);
    assert_int_equal(events_read("logs/validation", &validation), 1);
    assert_string_equal(training.event[0]->file_version, "brain.Event:2");
    assert_true(training.event[0]->wall_time > 1.7e9);
    for (int epoch = 0; epoch < 3; epoch++) {
        assert_true(events_scalar(&training, "epoch_loss", epoch) ==
                    (float)history_value(h, "loss", epoch));
        assert_true(events_scalar(&training, "epoch_accuracy", epoch) ==
                    (float)history_value(h, "accuracy", epoch));
        assert_true(events_scalar(&training, "epoch_learning_rate", epoch) ==
                    (float)history_value(h, "learning_rate", epoch));
        assert_true(events_scalar(&validation, "epoch_loss", epoch) ==
                    (float)history_value(h, "val_loss", epoch));
        assert_true(
            events_scalar(&validation, "evaluation_accuracy_vs_iterations", 5 * (epoch + 1)) ==
            (float)history_value(h, "val_accuracy", epoch));
    }
    assert_int_equal(training.count, 3 + 3 * 3); /* version, network, operations: nothing else */
    assert_int_equal(validation.count, 1 + 3 * 4 + 3); /* and a confusion matrix each */
    events_free(&training);
    events_free(&validation);
    cornu_history_close(h);
}

static void the_network_is_there_unless_it_is_not_wanted(void **state)
{
    (void)state;
    events all;
    cornu_history_close(train("{log_dir: with}", 1));
    cornu_history_close(train("{log_dir: without, write_graph: false}", 1));
    assert_int_equal(events_read("out/with/train", &all), 1);
    const Tensorboard__Summary__Value *v = events_value(all.event[1]);
    assert_string_equal(v->tag, "keras");
    assert_string_equal(v->metadata->plugin_data->plugin_name, "graph_keras_model");
    json_t *json = json_loadb((const char *)v->tensor->string_val[0].data,
                              v->tensor->string_val[0].len, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "class_name")), "Sequential");
    json_decref(json);
    events_free(&all);
    events_read("out/without/train", &all);
    assert_int_equal(events_count(&all, "keras"), 0);
    events_free(&all);
}

static void each_so_many_steps_are_written_if_asked_for(void **state)
{
    (void)state;
    events all;
    cornu_history *h = train("{log_dir: l, update_freq: 2, write_steps_per_second: true}", 2);
    events_read("out/l/train", &all);
    assert_int_equal(events_count(&all, "batch_loss"), 5); /* 2, 4, 6, 8, 10 */
    assert_true(events_scalar(&all, "batch_loss", 10) == (float)history_value(h, "loss", 1));
    assert_true(events_scalar(&all, "batch_accuracy", 2) >= 0);
    assert_true(events_scalar(&all, "batch_steps_per_second", 4) > 0);
    assert_true(events_scalar(&all, "epoch_steps_per_second", 1) > 0);
    events_free(&all);
    cornu_history_close(h);
    h = train("{log_dir: b, update_freq: batch}", 1);
    events_read("out/b/train", &all);
    assert_int_equal(events_count(&all, "batch_loss"), 5);
    assert_int_equal(events_count(&all, "epoch_steps_per_second"), 0);
    events_free(&all);
    cornu_history_close(h);
}

static void expect_counts(const events *all, const char *tag, int64_t step, double least,
                          double most, double count)
{
    double rows[30][3], sum = 0;
    const Tensorboard__Tensor *t = events_find(all, tag, step);
    assert_non_null(t);
    assert_int_equal(t->dtype, 2);
    assert_int_equal(t->tensor_shape->dim[0]->size, 30);
    assert_int_equal(t->tensor_shape->dim[1]->size, 3);
    assert_int_equal(t->tensor_content.len, sizeof rows);
    memcpy(rows, t->tensor_content.data, sizeof rows);
    for (int i = 0; i < 30; i++)
        sum += rows[i][2];
    assert_true(rows[0][0] == least && rows[29][1] == most && sum == count);
}

static void histograms_hold_every_finite_weight_once(void **state)
{
    (void)state;
    events all;
    event_file *f;
    const float values[] = {-1, 2, 0.5f, NAN, INFINITY, 2, -1, -0.999f}, one[] = {3, 3}, none = NAN;
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", scratch_path("h"));
    expect_ok(folder_make(folder));
    DIR *d = opendir(folder);
    expect_ok(event_file_open(dirfd(d), folder, &f));
    expect_ok(event_file_histogram(f, "several", 7, values, 8));
    expect_ok(event_file_histogram(f, "one", 7, one, 2));
    expect_ok(event_file_histogram(f, "none", 7, &none, 1));
    event_file_close(f);
    closedir(d);
    events_read("h", &all);
    expect_counts(&all, "several", 7, -1, 2, 6);
    double row[3];
    memcpy(row, events_find(&all, "several", 7)->tensor_content.data, sizeof row);
    assert_true(row[2] == 3); /* -1, -1 and -0.999 */
    expect_counts(&all, "one", 7, 3, 3, 2);
    expect_counts(&all, "none", 7, 0, 0, 0);
    events_free(&all);
}

static void weights_are_shown_each_so_many_epochs(void **state)
{
    (void)state;
    events all;
    cornu_history_close(train("{log_dir: l, histogram_freq: 2}", 3));
    events_read("out/l/train", &all);
    int found = 0;
    for (int i = 0; i < all.count; i++) {
        const Tensorboard__Summary__Value *v = events_value(all.event[i]);
        if (!v || strcmp(v->metadata->plugin_data->plugin_name, "histograms") != 0)
            continue;
        found++;
        assert_true(all.event[i]->step == 0 || all.event[i]->step == 2);
        assert_non_null(strstr(v->tag, "/histogram"));
    }
    assert_int_equal(found, 2 * 8); /* two dense layers of 2, a normalization of 4 */
    events_free(&all);
}

/* What a killed process leaves: whole events up to one that may be truncated. */
static void each_event_is_on_its_way_before_training_goes_on(void **state)
{
    (void)state;
    events all;
    event_file *f;
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", scratch_path("k"));
    expect_ok(folder_make(folder));
    DIR *d = opendir(folder);
    expect_ok(event_file_open(dirfd(d), folder, &f));
    for (int i = 1; i <= 3; i++) {
        expect_ok(event_file_scalar(f, "a", i, i));
        events_read("k", &all);
        assert_int_equal(all.count, 1 + i);
        events_free(&all);
    }
    event_file *second; /* in the same second: a file of its own */
    expect_ok(event_file_open(dirfd(d), folder, &second));
    event_file_close(f);
    event_file_close(second);
    closedir(d);
    assert_int_equal(events_read("k", &all), 2);
    events_free(&all);
}

/* --tensorboard is no part of the recipe: a model file knows nothing of it. */
static void a_run_goes_on_with_the_option_or_without(void **state)
{
    (void)state;
    cornu_data *data = runs_data(40, 16);
    char path[1024], logs[1024];
    snprintf(path, sizeof path, "%s", scratch_path("m.safetensors"));
    snprintf(logs, sizeof logs, "%s", scratch_path("logs"));
    for (int first = 0; first < 2; first++) {
        cornu_model *model =
            runs_usual("{batch_size: 8, callbacks: [{early_stopping: {monitor: loss}}]}");
        cornu_fit_options o = {
            .size = sizeof o, .epochs = 1, .save = path, .tensorboard = first ? logs : NULL};
        expect_ok(cornu_fit(model, data, &o, NULL));
        cornu_model_close(model);
        expect_ok(cornu_model_open(path, &model));
        o = (cornu_fit_options){.size = sizeof(cornu_fit_options),
                                .epochs = 2,
                                .resume = true,
                                .tensorboard = first ? NULL : logs};
        expect_ok(cornu_fit(model, data, &o, NULL));
        cornu_model_close(model);
    }
    events all;
    assert_int_equal(events_read("logs/train", &all), 2);
    assert_int_equal(events_count(&all, "epoch_loss"), 2);
    assert_non_null(
        events_find(&all, "epoch_loss", 0)); /* of the first run, and of a resumed one */
    assert_non_null(events_find(&all, "epoch_loss", 1));
    events_free(&all);
    cornu_data_close(data);
}

/* ---- pictures ----------------------------------------------------------------------------- */

enum { PICTURES = 20, HEIGHT = 5, WIDTH = 7, PIXELS = HEIGHT * WIDTH * 3 };

/* Bytes that are told apart: pictures of three classes. */
static uint8_t byte_of(int sample, int i)
{
    return (uint8_t)(sample * 11 + i * 2);
}

static cornu_data *picture_data(void)
{
    static uint8_t x[PICTURES * PIXELS];
    static int32_t y[PICTURES];
    for (int i = 0; i < PICTURES; i++) {
        for (int k = 0; k < PIXELS; k++)
            x[i * PIXELS + k] = byte_of(i, k);
        y[i] = i % 3;
    }
    const cornu_arrays a = {.size = sizeof a,
                            .count = PICTURES,
                            .rank = 3,
                            .shape = {HEIGHT, WIDTH, 3},
                            .pixels = x,
                            .labels = y};
    cornu_data *data;
    expect_ok(cornu_data_from_arrays(&a, &a, &data));
    return data;
}

static cornu_model *picture_model(const char *callback)
{
    char recipe[1024];
    cornu_model *model;
    snprintf(recipe, sizeof recipe,
             "model: {input: [%d, %d, 3], layers: [Flatten, {Dense: {units: 3, activation: "
             "softmax}}]}\ncompile: {optimizer: {sgd: {learning_rate: {ExponentialDecay: "
             "{initial_learning_rate: 0.125, decay_steps: 10, decay_rate: 0.5}}, nesterov: true, "
             "momentum: 0.5}}, loss: sparse_categorical_crossentropy}\nfit: {batch_size: 8, "
             "epochs: 2, seed: 5, validation: test, callbacks: [%s]}",
             HEIGHT, WIDTH, callback);
    expect_ok(cornu_model_parse(recipe, "r.yaml", &model));
    return model;
}

static cornu_status fit_pictures(const char *callback, bool validates, bool flag)
{
    cornu_model *model = picture_model(callback);
    cornu_data *data = picture_data();
    char output[1024], logs[1024];
    snprintf(output, sizeof output, "%s", scratch_path("out"));
    snprintf(logs, sizeof logs, "%s", scratch_path("logs"));
    const cornu_fit_options o = {.size = sizeof o,
                                 .output = output,
                                 .no_validation = !validates,
                                 .tensorboard = flag ? logs : NULL};
    cornu_status status = cornu_fit(model, data, &o, NULL);
    cornu_data_close(data);
    cornu_model_close(model);
    return status;
}

static int64_t number_at(const Tensorboard__Tensor *t, size_t i)
{
    char text[32] = "";
    assert_true(i < t->n_string_val && t->string_val[i].len < sizeof text);
    memcpy(text, t->string_val[i].data, t->string_val[i].len);
    return atoll(text);
}

/* The picture in 0..1, by the picture reader. */
static float *pixels_at(const Tensorboard__Tensor *t, size_t i)
{
    const int64_t width = number_at(t, 0), height = number_at(t, 1);
    float *pixels = malloc((size_t)(width * height * 3) * sizeof *pixels);
    assert_non_null(pixels);
    assert_true(i < t->n_string_val);
    FILE *f = fopen(scratch_path("p.png"), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(t->string_val[i].data, 1, t->string_val[i].len, f),
                     t->string_val[i].len);
    fclose(f);
    expect_ok(made_read(scratch_path("p.png"), height, width, 3, pixels));
    return pixels;
}

static const Tensorboard__Tensor *find_pictures(const events *all, const char *tag, int64_t step)
{
    const Tensorboard__Tensor *t = events_find(all, tag, step);
    assert_non_null(t);
    assert_int_equal(t->dtype, 7);
    assert_int_equal(t->tensor_shape->n_dim, 1);
    assert_int_equal(t->tensor_shape->dim[0]->size, (int64_t)t->n_string_val);
    return t;
}

static void samples_are_shown_as_they_are(void **state)
{
    (void)state;
    events all;
    expect_ok(fit_pictures("{tensorboard: {samples: 5}}", false, false));
    assert_int_equal(events_read("out/logs/train", &all), 1);
    assert_int_equal(events_count(&all, "samples"), 1);
    const Tensorboard__Tensor *t = find_pictures(&all, "samples", 0);
    assert_int_equal(t->n_string_val, 2 + 5);
    assert_int_equal(number_at(t, 0), WIDTH);
    assert_int_equal(number_at(t, 1), HEIGHT);
    for (int i = 0; i < 5; i++) { /* one of each four */
        float *pixels = pixels_at(t, (size_t)i + 2);
        for (int k = 0; k < PIXELS; k++)
            assert_int_equal(lrintf(pixels[k] * 255), byte_of(4 * i, k));
        free(pixels);
    }
    events_free(&all);
}

static void the_confusion_matrix_of_each_validation_is_shown(void **state)
{
    (void)state;
    events all;
    expect_ok(fit_pictures("{tensorboard: {confusion_matrix: true}}", true, false));
    assert_int_equal(events_read("out/logs/validation", &all), 1);
    assert_int_equal(events_count(&all, "confusion_matrix"), 2);
    for (int epoch = 0; epoch < 2; epoch++) {
        float *pixels = pixels_at(find_pictures(&all, "confusion_matrix", epoch), 2);
        free(pixels);
    }
    events_free(&all);
}

static void settings_are_told_in_a_run_of_their_own(void **state)
{
    (void)state;
    events all;
    expect_ok(fit_pictures("{tensorboard: {hyperparameters: true}}", false, false));
    assert_int_equal(events_read("out/logs", &all), 1);
    assert_int_equal(all.count, 3); /* version, start, end */
    Tensorboard__Hyperparameters *h = events_hyperparameters(&all, "_hparams_/session_start_info");
    assert_string_equal(events_setting(h, "optimizer")->string_value, "SGD");
    assert_string_equal(events_setting(h, "loss")->string_value, "SparseCategoricalCrossentropy");
    assert_string_equal(events_setting(h, "learning_rate")->string_value, "ExponentialDecay");
    assert_true(events_setting(h, "learning_rate.initial_learning_rate")->number_value == 0.125);
    assert_true(events_setting(h, "momentum")->number_value == 0.5);
    assert_true(events_setting(h, "nesterov")->has_bool_value);
    assert_true(events_setting(h, "nesterov")->bool_value);
    assert_true(events_setting(h, "batch_size")->number_value == 8);
    assert_true(events_setting(h, "epochs")->number_value == 2);
    assert_true(events_setting(h, "seed")->number_value == 5);
    tensorboard__hyperparameters__free_unpacked(h, NULL);
    h = events_hyperparameters(&all, "_hparams_/session_end_info");
    assert_int_equal(h->session_end_info->status, 1);
    tensorboard__hyperparameters__free_unpacked(h, NULL);
    events_free(&all);
}

/* --tensorboard shows what there is of a run; what a recipe asks for must be there. */
static void the_option_shows_all_that_there_is(void **state)
{
    (void)state;
    events all;
    expect_ok(fit_pictures("", true, true));
    assert_int_equal(events_read("logs", &all), 1);
    events_free(&all);
    events_read("logs/train", &all);
    assert_int_equal(find_pictures(&all, "samples", 0)->n_string_val, 2 + 8);
    assert_int_equal(events_count(&all, "operations"), 1);
    events_free(&all);
    events_read("logs/validation", &all);
    assert_int_equal(events_count(&all, "confusion_matrix"), 2);
    events_free(&all);
    expect_status(fit_pictures("{tensorboard: {confusion_matrix: true}}", false, false),
                  CORNU_INVALID);
    expect_message("confusion_matrix: found a run without validation");
}

/* Looking at a run does not change it. */
static void training_is_the_same_with_all_of_it(void **state)
{
    (void)state;
    cornu_model *models[2];
    for (int i = 0; i < 2; i++) {
        models[i] = picture_model(i ? "{tensorboard: {samples: 3, confusion_matrix: true, "
                                      "hyperparameters: true, histogram_freq: 1}}"
                                    : "");
        cornu_data *data = picture_data();
        char output[1024];
        snprintf(output, sizeof output, "%s", scratch_path("out"));
        expect_ok(cornu_fit(
            models[i], data,
            &(cornu_fit_options){.size = sizeof(cornu_fit_options), .output = output}, NULL));
        cornu_data_close(data);
    }
    assert_true(same_bits(models[0], models[1]));
    cornu_model_close(models[0]);
    cornu_model_close(models[1]);
}

static void expect_refused(const char *options, const char *why)
{
    char fit[512];
    snprintf(fit, sizeof fit, "{epochs: 1, callbacks: [{tensorboard: %s}]}", options);
    cornu_model *model = runs_usual(fit);
    cornu_data *data = runs_data(20, 0);
    char output[1024];
    snprintf(output, sizeof output, "%s", scratch_path("out"));
    cornu_status status =
        cornu_fit(model, data,
                  &(cornu_fit_options){.size = sizeof(cornu_fit_options), .output = output}, NULL);
    if (status != CORNU_INVALID && status != CORNU_IO)
        fail_msg("%s: found %s", options, cornu_status_name(status));
    expect_message(why);
    cornu_data_close(data);
    cornu_model_close(model);
}

/* ---- operations --------------------------------------------------------------------------- */

typedef Tensorboard__StepStats__Device device_times;
typedef Tensorboard__Graph graph;

static const device_times *times_of(const Tensorboard__RunMetadata *m)
{
    assert_int_equal(m->step_stats->n_dev_stats, 1);
    return m->step_stats->dev_stats[0];
}

static const graph *graph_of(const Tensorboard__RunMetadata *m)
{
    assert_int_equal(m->n_function_graphs, 1);
    return m->function_graphs[0]->pre_optimization_graph;
}

/* Number of the node of this name, without the ":1" of its second result; -1: there is none. */
static int node_of(const graph *g, const char *name)
{
    size_t length = strcspn(name, ":");
    for (size_t i = 0; i < g->n_node; i++)
        if (strlen(g->node[i]->name) == length && strncmp(g->node[i]->name, name, length) == 0)
            return (int)i;
    return -1;
}

static void expect_graph(const graph *g)
{
    for (size_t i = 0; i < g->n_node; i++) {
        const Tensorboard__Graph__Node *node = g->node[i];
        assert_int_equal(node_of(g, node->name), i); /* no two of one name */
        assert_int_equal(node->n_input > 0, i > 0 && strcmp(node->op, "gather_samples") != 0);
        for (size_t k = 0; k < node->n_input; k++) {
            int from = node_of(g, node->input[k]);
            const char *result = strchr(node->input[k], ':');
            assert_true(from >= 0 && from < (int)i);
            assert_string_equal(g->node[from]->attr[3]->key, "_output_shapes");
            assert_true((int)g->node[from]->attr[3]->value->list->n_shape >
                        (result ? atoi(result + 1) : 0));
        }
        assert_int_equal(node->n_attr, 4);
    }
    assert_true(node_of(g, "dense/dense_forward") > 0);
    assert_true(node_of(g, "dense/kernel_update") > node_of(g, "dense/dense_backward_weights"));
}

/* One behind the other, by name: so a layer's from the first start to the last end are the sum. */
static void expect_times(const device_times *d, const graph *g)
{
    int64_t at = 1;
    int timed = 0;
    assert_non_null(strstr(d->device, "/device:"));
    assert_non_null(strchr(d->device + strlen("/device:"), ':'));
    assert_int_equal(d->n_node_stats, g->n_node);
    for (size_t i = 0; i < d->n_node_stats; i++) {
        const Tensorboard__StepStats__Node *t = d->node_stats[i];
        assert_true(node_of(g, t->node_name) >= 0);
        assert_true(i == 0 || strcmp(d->node_stats[i - 1]->node_name, t->node_name) < 0);
        assert_true(t->n_memory == 1 && t->memory[0]->total_bytes > 0);
        if (!t->has_all_end_rel_micros) /* it runs within another's kernel */
            continue;
        timed++;
        assert_int_equal(t->all_start_micros, at);
        assert_true(t->all_end_rel_micros >= 1);
        at += t->all_end_rel_micros;
    }
    assert_true(timed > 3);
}

static void operations_are_a_graph_with_times(void **state)
{
    (void)state;
    events all;
    cornu_history_close(train("{log_dir: l, profile_batch: 2}", 1));
    events_read("out/l/train", &all);
    assert_int_equal(events_count(&all, "operations"), 1);
    assert_non_null(events_find(&all, "operations", 2));
    Tensorboard__RunMetadata *m = events_operations(&all, "operations");
    expect_graph(graph_of(m));
    expect_times(times_of(m), graph_of(m));
    tensorboard__run_metadata__free_unpacked(m, NULL);
    events_free(&all);
}

/* The number of the last step that was timed; -1: none was. Of runs of five steps an epoch. */
static int64_t profiled(const char *batches, int64_t epochs)
{
    events all;
    char options[128], folder[128];
    int64_t step = -1;
    static int runs;
    snprintf(options, sizeof options, "{log_dir: p%d, profile_batch: %s}", ++runs, batches);
    snprintf(folder, sizeof folder, "out/p%d/train", runs);
    cornu_history_close(train(options, epochs));
    events_read(folder, &all);
    assert_true(events_count(&all, "operations") <= 1);
    for (int i = 0; i < all.count; i++) {
        const Tensorboard__Summary__Value *v = events_value(all.event[i]);
        if (v && strcmp(v->tag, "operations") == 0)
            step = all.event[i]->step;
    }
    events_free(&all);
    return step;
}

static void the_steps_asked_for_are_timed(void **state)
{
    (void)state;
    assert_int_equal(profiled("0", 1), -1);
    assert_int_equal(profiled("1", 2), 1);
    assert_int_equal(profiled("[2, 4]", 1), 4);
    assert_int_equal(profiled("[4, 9]", 3), 9);
    assert_int_equal(profiled("[4, 90]", 2), 10); /* the run ends before */
    assert_int_equal(profiled("90", 2), -1);
}

/* A convolution with its pooling, dropout, dense layers: groups, deferred updates, random numbers.
 */
static cornu_model *deep_model(const char *callback)
{
    char recipe[1024];
    cornu_model *model;
    snprintf(recipe, sizeof recipe,
             "model: {input: [%d, %d, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3, padding: "
             "same, activation: relu}}, MaxPooling2D, Flatten, {Dense: {units: 49, activation: "
             "relu}}, {Dropout: {rate: 0.5}}, {Dense: {units: 3, activation: softmax}}]}\n"
             "compile: {optimizer: adam, loss: sparse_categorical_crossentropy, metrics: "
             "[accuracy]}\nfit: {batch_size: 8, epochs: 3, seed: 5, callbacks: [%s]}",
             HEIGHT, WIDTH, callback);
    expect_ok(cornu_model_parse(recipe, "r.yaml", &model));
    return model;
}

static void timing_operations_changes_no_bit(void **state)
{
    (void)state;
    cornu_model *models[2];
    cornu_history *histories[2];
    for (int i = 0; i < 2; i++) { /* of 3 steps an epoch, the last of 4 samples */
        models[i] = deep_model(i ? "{tensorboard: {profile_batch: [2, 8]}}" : "");
        cornu_data *data = picture_data();
        char output[1024];
        snprintf(output, sizeof output, "%s", scratch_path("out"));
        expect_ok(
            cornu_fit(models[i], data,
                      &(cornu_fit_options){.size = sizeof(cornu_fit_options), .output = output},
                      &histories[i]));
        cornu_data_close(data);
    }
    assert_true(same_bits(models[0], models[1]));
    for (int epoch = 0; epoch < 3; epoch++)
        assert_true(history_value(histories[0], "loss", epoch) ==
                    history_value(histories[1], "loss", epoch));
    for (int i = 0; i < 2; i++) {
        cornu_model_close(models[i]);
        cornu_history_close(histories[i]);
    }
}

static void steps_of_shards_are_not_timed(void **state)
{
    (void)state;
    events all;
    cornu_data *data = picture_data();
    char logs[1024];
    snprintf(logs, sizeof logs, "%s", scratch_path("logs"));
    cornu_model *model = picture_model("");
    const cornu_fit_options flag = {
        .size = sizeof flag, .shards = 2, .no_validation = true, .tensorboard = logs};
    expect_ok(cornu_fit(model, data, &flag, NULL));
    cornu_model_close(model);
    events_read("logs/train", &all);
    assert_int_equal(events_count(&all, "operations"), 0);
    events_free(&all);
    model = picture_model("{tensorboard: {profile_batch: 2}}");
    const cornu_fit_options asked = {
        .size = sizeof asked, .shards = 2, .no_validation = true, .output = logs};
    expect_status(cornu_fit(model, data, &asked, NULL), CORNU_INVALID);
    expect_message("profile_batch: found a run of shards");
    cornu_model_close(model);
    cornu_data_close(data);
}

static void what_keras_has_and_cornu_not_is_refused_by_name(void **state)
{
    (void)state;
    expect_refused("{write_images: true}", "write_images: found true");
    expect_refused("{profile_batch: -1}", "profile_batch: found -1");
    expect_refused("{profile_batch: [3, 2]}", "profile_batch: found [3, 2]");
    expect_refused("{profile_batch: [0, 2]}", "profile_batch: found [0, 2]");
    expect_refused("{profile_batch: often}", "profile_batch");
    expect_refused("{embeddings_freq: 1}", "embeddings_freq");
    expect_refused("{update_freq: often}", "update_freq: found a string");
    expect_refused("{update_freq: 0}", "update_freq: found 0");
    expect_refused("{histogram_freq: -1}", "histogram_freq");
    expect_refused("{samples: 1}", "samples: found data that are no pictures");
    expect_refused("{samples: 101}", "samples: found 101");
    expect_refused("{confusion_matrix: 1}", "confusion_matrix");
}

static void a_strangers_recipe_writes_beneath_its_folder_alone(void **state)
{
    (void)state;
    expect_refused("{log_dir: /tmp/elsewhere}", "expected a path beneath");
    expect_refused("{log_dir: ../elsewhere}", "expected a path beneath");
    char elsewhere[1024];
    snprintf(elsewhere, sizeof elsewhere, "%s", scratch_path("elsewhere"));
    expect_ok(folder_make(elsewhere));
    expect_ok(folder_make(scratch_path("out")));
    assert_int_equal(symlink(elsewhere, scratch_path("out/l")), 0);
    expect_refused("{log_dir: l}", "expected a folder");
    assert_int_equal(rmdir(elsewhere), 0); /* nothing is in there */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(epochs_are_written_under_the_tags_of_keras),
        TEST(the_network_is_there_unless_it_is_not_wanted),
        TEST(each_so_many_steps_are_written_if_asked_for),
        TEST(histograms_hold_every_finite_weight_once),
        TEST(weights_are_shown_each_so_many_epochs),
        TEST(each_event_is_on_its_way_before_training_goes_on),
        TEST(a_run_goes_on_with_the_option_or_without),
        TEST(samples_are_shown_as_they_are),
        TEST(the_confusion_matrix_of_each_validation_is_shown),
        TEST(settings_are_told_in_a_run_of_their_own),
        TEST(the_option_shows_all_that_there_is),
        TEST(training_is_the_same_with_all_of_it),
        TEST(operations_are_a_graph_with_times),
        TEST(the_steps_asked_for_are_timed),
        TEST(timing_operations_changes_no_bit),
        TEST(steps_of_shards_are_not_timed),
        TEST(what_keras_has_and_cornu_not_is_refused_by_name),
        TEST(a_strangers_recipe_writes_beneath_its_folder_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void a_build_without_tensorboard_says_so(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{epochs: 1}");
    cornu_data *data = runs_data(20, 0);
    const cornu_fit_options o = {.size = sizeof o, .tensorboard = scratch_path("logs")};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_UNSUPPORTED);
    expect_message("built without it (CORNU_TENSORBOARD=OFF)");
    const cornu_fit_options section = {.size = sizeof section,
                                       .section = "{callbacks: [tensorboard]}"};
    expect_status(cornu_fit(model, data, &section, NULL), CORNU_UNSUPPORTED);
    assert_int_equal(scratch_count(), 0);
    cornu_data_close(data);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_build_without_tensorboard_says_so, scratch_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
