/* What a model confuses: scores as scikit-learn has them (tests/fixtures/report.npz, made by
   peers/make_report_fixtures.py), and what of an evaluation is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/images/image.h"
#include "format/tensor_file.h"
#include "report/report.h"
#include "support/fixtures.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores ----------------------------------------------------------------------------- */

static const file_tensor *member(const tensor_file *file, const char *name, const char *key)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", name, key);
    const file_tensor *t = tensor_file_find(file, path);
    if (!t)
        fail_msg("the fixtures lack %s", path);
    return t;
}

static void expect_near(const char *name, double found, float expected)
{
    if (!(fabs(found - (double)expected) < 1e-6))
        fail_msg("%s: found %.9g; scikit-learn has %.9g", name, found, (double)expected);
}

static void expect_scores(const char *name, const cornu_report *r, int64_t index, const float *row)
{
    cornu_class_scores s = {.size = sizeof s};
    expect_ok(cornu_report_class(r, index, &s));
    expect_near(name, s.precision, row[0]);
    expect_near(name, s.recall, row[1]);
    expect_near(name, s.f1, row[2]);
    expect_near(name, (double)s.support, row[3]);
}

static void compare(const tensor_file *file, const char *name)
{
    const file_tensor *values = member(file, name, "values");
    const int32_t *truth = member(file, name, "truth")->data;
    const int32_t *matrix = member(file, name, "matrix")->data;
    const float *scores = member(file, name, "scores")->data;
    const float *whole = member(file, name, "whole")->data;
    const int64_t samples = values->shape[0], classes = values->shape[1];
    cornu_report *r;
    cornu_report_info info = {.size = sizeof info};
    expect_ok(report_new(classes, (int64_t)whole[2], &r));
    for (int64_t i = 0; i < samples; i++)
        expect_ok(report_add(r, i, truth[i], (const float *)values->data + i * classes));
    for (int64_t i = 0; i < classes; i++) {
        expect_scores(name, r, i, scores + 4 * i);
        for (int64_t k = 0; k < classes; k++)
            assert_int_equal(cornu_report_count(r, i, k), matrix[i * classes + k]);
    }
    expect_scores(name, r, CORNU_MACRO_AVERAGE, scores + 4 * classes);
    expect_scores(name, r, CORNU_WEIGHTED_AVERAGE, scores + 4 * (classes + 1));
    expect_ok(cornu_report_info_get(r, &info));
    assert_int_equal(info.samples, samples);
    expect_near(name, info.accuracy, whole[0]);
    expect_near(name, info.top_k_accuracy, whole[1]);
    cornu_report_close(r);
}

static void scores_are_those_of_scikit_learn(void **state)
{
    (void)state;
    static const char *const names[] = {"usual", "empty", "one", "all_right", "two", "many"};
    tensor_file *file;
    expect_ok(tensor_file_open(fixture_path("report.npz"), &file));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        compare(file, names[i]);
    tensor_file_close(file);
}

/* ---- single samples --------------------------------------------------------------------- */

static void what_is_no_number_is_of_no_class(void **state)
{
    (void)state;
    cornu_report *r;
    cornu_report_info info = {.size = sizeof info};
    cornu_class_scores s = {.size = sizeof s};
    expect_ok(report_new(3, 2, &r));
    expect_ok(report_add(r, 0, 1, (const float[]){NAN, NAN, NAN}));
    expect_ok(report_add(r, 1, 1, (const float[]){NAN, 0.1f, 0.2f}));
    expect_ok(report_add(r, 2, 2, (const float[]){0.5f, 0.1f, NAN}));
    expect_ok(report_add(r, 3, 1, (const float[]){0.3f, 0.3f, 0.3f})); /* the first is predicted */
    expect_ok(cornu_report_info_get(r, &info));
    assert_int_equal(info.undecided, 1);
    assert_int_equal(info.correct, 0);
    assert_int_equal(cornu_report_count(r, 1, -1), 1);
    assert_int_equal(cornu_report_count(r, 1, 2), 1);
    assert_int_equal(cornu_report_count(r, 2, 0), 1);
    assert_int_equal(cornu_report_count(r, 1, 0), 1);
    assert_true(info.top_k_accuracy >= 0.5 && info.top_k_accuracy <= 0.5); /* samples 1 and 3 */
    expect_ok(cornu_report_class(r, 1, &s));
    assert_int_equal(s.support, 3);
    assert_int_equal(s.predicted, 0);
    expect_status(report_add(r, 7, 3, (const float[]){1, 0, 0}), CORNU_INVALID);
    expect_message("report: found class 3 of sample 7; expected 0 to 2");
    assert_int_equal(cornu_report_count(r, 3, 0), 0);
    assert_int_equal(cornu_report_count(r, 0, -2), 0);
    cornu_report_close(r);
}

/* However many there are, the most certain 1000 are kept, in order. */
static void the_most_certain_errors_come_first(void **state)
{
    (void)state;
    cornu_report *r;
    cornu_report_error e = {.size = sizeof e};
    expect_ok(report_new(2, 1, &r));
    for (int i = 0; i < 5000; i++) {
        float value = (float)(i * 7919 % 5000) / 5000;
        expect_ok(report_add(r, i, 0, (const float[]){-1, value}));
    }
    expect_ok(report_add(r, 5000, 1, (const float[]){NAN, NAN}));
    cornu_data *data = runs_data(1, 0);
    expect_ok(report_finish(r, data, &(cornu_scores){.size = sizeof(cornu_scores), .count = 0}));
    cornu_data_close(data);
    for (int i = 0; i < REPORT_ERRORS_MOST; i++) {
        expect_ok(cornu_report_error_get(r, i, &e));
        assert_true(e.truth == 0 && e.predicted == 1 && e.file == NULL);
        assert_true((float)e.value >= (float)(4999 - i) / 5000);
        assert_true((float)e.value <= (float)(4999 - i) / 5000);
        assert_int_equal(e.sample * 7919 % 5000, 4999 - i);
    }
    expect_status(cornu_report_error_get(r, REPORT_ERRORS_MOST, &e), CORNU_INVALID);
    cornu_report_close(r);
}

static void the_most_frequent_confusions_come_first(void **state)
{
    (void)state;
    cornu_report *r;
    cornu_confusion all[10];
    static const int pairs[][2] = {{0, 0}, {0, 1}, {2, 1}, {2, 1}, {2, 0}, {2, 0}, {2, 0}, {1, 2}};
    expect_ok(report_new(3, 1, &r));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        float values[3] = {0};
        values[pairs[i][1]] = 1;
        expect_ok(report_add(r, (int64_t)i, pairs[i][0], values));
    }
    static const int64_t expected[][3] = {{2, 0, 3}, {2, 1, 2}, {0, 1, 1}, {1, 2, 1}};
    for (int64_t most = 1; most <= 10; most++) {
        assert_int_equal(cornu_report_confusions(r, most, all), most < 4 ? most : 4);
        for (int64_t i = 0; i < most && i < 4; i++) {
            assert_int_equal(all[i].truth, expected[i][0]);
            assert_int_equal(all[i].predicted, expected[i][1]);
            assert_int_equal(all[i].count, expected[i][2]);
        }
    }
    cornu_report_close(r);
}

/* ---- evaluations ------------------------------------------------------------------------ */

static char *json_of(const cornu_report *r)
{
    char *json;
    expect_ok(cornu_report_json(r, &json));
    return json;
}

enum { SAMPLES = 23 };

/* The test samples of runs_data with one-hot targets. */
static cornu_data *one_hot(const cornu_data *from)
{
    cornu_arrays a = {.size = sizeof a};
    cornu_data *data;
    float *targets = calloc(3 * SAMPLES, sizeof *targets);
    expect_ok(cornu_data_view(from, CORNU_TEST, &a));
    for (int i = 0; i < SAMPLES; i++)
        targets[3 * i + a.labels[i]] = 1;
    a.labels = NULL;
    a.targets = targets;
    a.target_size = 3;
    expect_ok(cornu_data_from_arrays(&a, NULL, &data));
    free(targets);
    return data;
}

static const char softmax_3[] = "[{Dense: {units: 3, activation: softmax}}]";

static void labels_and_one_hot_targets_are_told_alike(void **state)
{
    (void)state;
    cornu_model *model = runs_model(
        softmax_3, "{optimizer: sgd, loss: categorical_crossentropy, metrics: [accuracy]}", NULL);
    cornu_data *labels = runs_data(30, SAMPLES), *shares = one_hot(labels);
    cornu_scores scores = {.size = sizeof scores}, alone = {.size = sizeof alone};
    cornu_report *a, *b;
    cornu_report_info info = {.size = sizeof info};
    cornu_run_options o = {.size = sizeof o, .batch = 8, .split = CORNU_TEST};
    expect_ok(cornu_evaluate_report(model, labels, &o, &scores, &a));
    expect_ok(cornu_evaluate(model, labels, &o, &alone));
    assert_memory_equal(scores.value, alone.value, (size_t)alone.count * sizeof *alone.value);
    expect_ok(cornu_report_info_get(a, &info));
    assert_int_equal(info.samples, SAMPLES);
    assert_float_equal(info.accuracy, scores.value[1], 1e-6);
    assert_int_equal(info.errors, info.samples - info.correct);
    assert_true(info.correct > 0 && info.errors > 0);
    o.split = CORNU_TRAIN;
    o.batch = 5;
    expect_ok(cornu_evaluate_report(model, shares, &o, NULL, &b));
    char *x = json_of(a), *y = json_of(b);
    assert_string_equal(strstr(x, "\"classes\""), strstr(y, "\"classes\""));
    cornu_free(x);
    cornu_free(y);
    cornu_report_close(a);
    cornu_report_close(b);
    cornu_data_close(labels);
    cornu_data_close(shares);
    cornu_model_close(model);
}

static cornu_data *points(const float *x, const float *targets, int64_t target_size, int64_t count)
{
    cornu_data *data;
    const cornu_arrays a = {.size = sizeof a,
                            .count = count,
                            .rank = 1,
                            .shape = {8},
                            .values = x,
                            .targets = targets,
                            .target_size = target_size};
    expect_ok(cornu_data_from_arrays(&a, NULL, &data));
    return data;
}

/* Weights that pass on the first number. */
static void pass_on(cornu_model *model)
{
    expect_ok(cornu_model_initialize(model, 1));
    expect_ok(cornu_model_set_weight(model, 0, (const float[]){1, 0, 0, 0, 0, 0, 0, 0}, 8));
}

static void one_sigmoid_tells_two_classes(void **state)
{
    (void)state;
    static const float x[5][8] = {{2}, {-1}, {3}, {-2}, {0}}, y[5] = {1, 0, 0, 1, 0};
    static const char *const heads[][2] = {
        {"[{Dense: {units: 1, activation: sigmoid}}]", "binary_crossentropy"},
        {"[{Dense: {units: 1}}]", "{binary_crossentropy: {from_logits: true}}"}};
    for (int i = 0; i < 2; i++) {
        char compile[200];
        cornu_report *r;
        cornu_report_error e = {.size = sizeof e};
        snprintf(compile, sizeof compile, "{optimizer: sgd, loss: %s}", heads[i][1]);
        cornu_model *model = runs_model(heads[i][0], compile, NULL);
        cornu_data *data = points(x[0], y, 1, 5);
        pass_on(model);
        expect_ok(cornu_evaluate_report(
            model, data, &(cornu_run_options){.size = sizeof(cornu_run_options), .batch = 2}, NULL,
            &r));
        assert_int_equal(cornu_report_count(r, 0, 0), 2); /* exactly 0.5 is class 0 */
        assert_int_equal(cornu_report_count(r, 0, 1), 1);
        assert_int_equal(cornu_report_count(r, 1, 0), 1);
        assert_int_equal(cornu_report_count(r, 1, 1), 1);
        expect_ok(cornu_report_error_get(r, 0, &e));
        assert_true(e.sample == 2 && e.truth == 0 && e.predicted == 1);
        assert_float_equal(e.value, 1 / (1 + exp(-3)), 1e-6);
        cornu_report_close(r);
        cornu_data_close(data);
        cornu_model_close(model);
    }
}

static void expect_refused(const char *layers, const char *compile, cornu_data *data,
                           cornu_status status, const char *part)
{
    cornu_report *r = (cornu_report *)&status;
    cornu_model *model = runs_model(layers, compile, NULL);
    expect_status(cornu_evaluate_report(model, data, NULL, NULL, &r), status);
    expect_message(part);
    assert_null(r);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void what_tells_no_classes_is_refused(void **state)
{
    (void)state;
    static const float x[2][8] = {{1}, {2}}, y[2][3] = {{0, 1, 0}, {1, 0, 1}};
    expect_refused("[{Dense: {units: 1}}]", "{optimizer: sgd, loss: mse}", points(x[0], y[0], 1, 2),
                   CORNU_UNSUPPORTED,
                   "found outputs that are no classes (loss mean_squared_error)");
    expect_refused("[{Dense: {units: 3}}]", "{optimizer: sgd, loss: mse}", points(x[0], y[0], 3, 2),
                   CORNU_UNSUPPORTED, "found outputs that are no classes");
    expect_refused("[{Dense: {units: 3, activation: sigmoid}}]",
                   "{optimizer: sgd, loss: binary_crossentropy}", points(x[0], y[0], 3, 2),
                   CORNU_INVALID, "found a target with 2 largest shares, of sample 1");
    expect_refused("[{Dense: {units: 6}}, {Reshape: {target_shape: [2, 3]}}, {Activation: "
                   "{activation: softmax}}]",
                   "{optimizer: sgd, loss: categorical_crossentropy}", points(x[0], y[0], 6, 1),
                   CORNU_UNSUPPORTED, "expected one row of classes");
}

static cornu_status next_batch(void *user, cornu_arrays *batch)
{
    int *left = user;
    static const float x[2][8] = {{3}, {-3}};
    static const int32_t labels[] = {1, 1};
    *batch = (cornu_arrays){.size = sizeof(cornu_arrays),
                            .count = *left > 0 ? 2 : 0,
                            .rank = 1,
                            .shape = {8},
                            .values = x[0],
                            .labels = labels};
    *left -= *left > 0;
    return CORNU_OK;
}

static void samples_of_a_stream_are_numbered_as_they_come(void **state)
{
    (void)state;
    int left = 3;
    cornu_arrays like = {.size = sizeof like};
    cornu_stream stream = {.size = sizeof stream, .like = &like, .next = next_batch, .user = &left};
    cornu_data *data;
    cornu_report *r;
    cornu_report_error e = {.size = sizeof e};
    int more = 1;
    expect_ok(next_batch(&more, &like));
    cornu_model *model = runs_model("[{Dense: {units: 1, activation: sigmoid}}]",
                                    "{optimizer: sgd, loss: binary_crossentropy}", NULL);
    pass_on(model);
    expect_ok(cornu_data_stream(&stream, &data));
    expect_ok(cornu_evaluate_report(model, data, NULL, NULL, &r));
    for (int i = 0; i < 3; i++) {
        expect_ok(cornu_report_error_get(r, i, &e));
        assert_int_equal(e.sample, 2 * i + 1);
    }
    expect_status(cornu_report_write_misclassified(r, data, 0, scratch_path("x.png")),
                  CORNU_UNSUPPORTED);
    cornu_report_close(r);
    cornu_data_close(data);
    cornu_model_close(model);
}

/* ---- files ------------------------------------------------------------------------------ */

static image read_picture(const char *path)
{
    image i;
    expect_ok(image_open(path, &i));
    assert_int_equal(i.channels, 3);
    return i;
}

static int64_t count_color(const image *i, int red, int green, int blue)
{
    int64_t count = 0;
    for (int64_t p = 0; p < i->height * i->width; p++)
        count += i->pixels[3 * p] == red && i->pixels[3 * p + 1] == green &&
                 i->pixels[3 * p + 2] == blue;
    return count;
}

/* A folder of grey pictures: three of "dark" and one of "light" that is dark. */
static void errors_in_folders_have_names_and_a_sheet(void **state)
{
    (void)state;
    cornu_data *data;
    cornu_model *model;
    cornu_report *r;
    cornu_report_error e = {.size = sizeof e};
    static const struct {
        const char *name;
        int grey;
    } pictures[] = {
        {"f/dark/1.pgm", 10}, {"f/dark/2.pgm", 20}, {"f/light/1.pgm", 30}, {"f/light/2.pgm", 240}};
    for (size_t i = 0; i < 4; i++)
        made_grey(pictures[i].name, pictures[i].grey);
    expect_ok(cornu_model_parse("data: {folder: f, image_size: 4}\n"
                                "model: {input: [4, 4, 1], layers: [GlobalAveragePooling2D, "
                                "{Dense: {units: 1, activation: sigmoid}}]}\n"
                                "compile: {optimizer: sgd, loss: binary_crossentropy}\n",
                                scratch_path("r.yaml"), &model));
    expect_ok(cornu_model_initialize(model, 1));
    expect_ok(cornu_model_set_weight(model, 0, (const float[]){8}, 1));
    expect_ok(cornu_model_set_weight(model, 1, (const float[]){-4}, 1));
    expect_ok(cornu_data_open_for_model(
        model,
        &(cornu_data_options){
            .size = sizeof(cornu_data_options),
            .folder = scratch_path("f"),
            .images =
                &(cornu_folder_options){.size = sizeof(cornu_folder_options), .cache = "off"}},
        &data));
    expect_ok(cornu_evaluate_report(model, data, NULL, NULL, &r));
    expect_ok(cornu_report_error_get(r, 0, &e));
    assert_int_equal(e.truth, 1);
    assert_int_equal(e.predicted, 0);
    assert_non_null(strstr(e.file, "f/light/1.pgm"));
    assert_string_equal(e.file, cornu_data_sample_file(data, CORNU_TRAIN, e.sample));
    char *json = json_of(r);
    assert_non_null(strstr(json, "f/light/1.pgm"));
    assert_non_null(strstr(json, "\"predicted_name\": \"dark\""));
    cornu_free(json);
    expect_ok(cornu_report_write_misclassified(r, data, 0, scratch_path("s.png")));
    image sheet = read_picture(scratch_path("s.png"));
    assert_int_equal(count_color(&sheet, 30, 30, 30), 84 * 84);         /* the picture, grown */
    assert_true(count_color(&sheet, 178, 24, 43) > 20);                 /* its label */
    assert_int_equal(sheet.height, 84 + 4 + 3 * LETTER_HEIGHT + 2 * 8); /* and its file's name */
    image_close(&sheet);
    cornu_report_close(r);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void the_matrix_is_drawn_whatever_the_number_of_classes(void **state)
{
    (void)state;
    static const int64_t classes[] = {2, 10, 41, 100, 300, 3000};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        cornu_report *r;
        float *values = calloc((size_t)classes[i], sizeof *values);
        expect_ok(report_new(classes[i], 5, &r));
        for (int64_t k = 0; k < classes[i]; k++) {
            values[k] = 1;
            expect_ok(report_add(r, k, k, values));
            values[k] = 0;
        }
        expect_ok(cornu_report_write(r, scratch_path("m.png")));
        image m = read_picture(scratch_path("m.png"));
        assert_true(m.width <= 4000 && m.height <= 4000);
        assert_true(count_color(&m, 8, 64, 129) >= classes[i]);
        image_close(&m);
        expect_status(cornu_report_write(r, scratch_path("m.txt")), CORNU_INVALID);
        expect_message("expected one that ends in .json or .png");
        free(values);
        cornu_report_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_scikit_learn),
        cmocka_unit_test(what_is_no_number_is_of_no_class),
        cmocka_unit_test(the_most_certain_errors_come_first),
        cmocka_unit_test(the_most_frequent_confusions_come_first),
        cmocka_unit_test(labels_and_one_hot_targets_are_told_alike),
        cmocka_unit_test(one_sigmoid_tells_two_classes),
        cmocka_unit_test(what_tells_no_classes_is_refused),
        cmocka_unit_test_setup_teardown(samples_of_a_stream_are_numbered_as_they_come, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(errors_in_folders_have_names_and_a_sheet, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(the_matrix_is_drawn_whatever_the_number_of_classes,
                                        scratch_open, scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
