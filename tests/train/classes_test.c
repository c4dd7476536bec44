/* The classes of data and of a model are matched by their names, and counted alike whatever the
   loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/images.h>
#include <cornu/report.h>
#include <stdio.h>
#include <string.h>

/* Pictures of one grey a class: boat 20, car 90, moto 160, tram 230; two of each. */
static const char *const names[] = {"boat", "car", "moto", "tram"};
enum { CLASSES = 4 };

static int grey_of(int class_number)
{
    return 20 + 70 * class_number;
}

/* FOLDER/AS/... of the greys of class `like`. */
static void make_class(const char *folder, const char *as, int like)
{
    for (int i = 0; i < 2; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s/%d.pgm", folder, as, i);
        made_grey(name, grey_of(like) + i);
    }
}

static void make_all(const char *folder)
{
    for (int k = 0; k < CLASSES; k++)
        make_class(folder, names[k], k);
}

static cornu_model *network(const char *loss, const char *data)
{
    char text[512];
    cornu_model *m;
    snprintf(
        text, sizeof text,
        "data: {image_size: 1, channels: 1%s}\n"
        "model: {input: [1, 1, 1], layers: [Flatten, {Dense: {units: 4, activation: "
        "softmax}}]}\n"
        "compile: {optimizer: {sgd: {learning_rate: 1.0e-9}}, loss: %s, metrics: [accuracy]}\n",
        data, loss);
    expect_ok(cornu_model_parse(text, "r.yaml", &m));
    return m;
}

static cornu_data *open_folder(const cornu_model *m, const char *folder)
{
    cornu_data_options options = {
        .size = sizeof options,
        .folder = scratch_path(folder),
        .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options), .whole = true}};
    cornu_data *data;
    expect_ok(cornu_data_open_for_model(m, &options, &data));
    return data;
}

static cornu_status train_on(cornu_model *m, const char *folder)
{
    cornu_data *data = open_folder(m, folder);
    cornu_status status = cornu_fit(m, data, NULL, NULL);
    cornu_data_close(data);
    return status;
}

/* It knows the four classes, and each grey's nearest is the largest output. */
static cornu_model *trained(void)
{
    cornu_model *m = network("sparse_categorical_crossentropy", "");
    float kernel[CLASSES], bias[CLASSES];
    make_all("old");
    expect_ok(train_on(m, "old"));
    for (int k = 0; k < CLASSES; k++) {
        float c = (float)grey_of(k) / 255.0f;
        kernel[k] = 200 * c;
        bias[k] = -100 * c * c;
    }
    expect_ok(cornu_model_set_weight(m, 0, kernel, CLASSES));
    expect_ok(cornu_model_set_weight(m, 1, bias, CLASSES));
    return m;
}

static double accuracy_on(cornu_model *m, const char *folder, notices *told)
{
    cornu_run_options options = {
        .size = sizeof options, .on_notice = told ? notices_add : NULL, .user = told};
    cornu_scores scores = {.size = sizeof scores};
    cornu_data *data = open_folder(m, folder);
    expect_ok(cornu_evaluate(m, data, &options, &scores));
    cornu_data_close(data);
    return scores.value[1];
}

static void expect_names(const cornu_model *m, const char *expected)
{
    char found[128] = "";
    for (int i = 0; i < cornu_model_class_count(m); i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "",
                 cornu_model_class_name(m, i));
    assert_string_equal(found, expected);
}

static void a_folder_of_some_classes_is_evaluated_by_their_names(void **state)
{
    (void)state;
    cornu_model *m = trained();
    notices told = {.count = 0};
    assert_true(accuracy_on(m, "old", &told) > 0.99);
    assert_int_equal(told.count, 0);
    make_class("some", "car", 1);
    make_class("some", "tram", 3);
    assert_true(accuracy_on(m, "some", &told) > 0.99);
    assert_non_null(strstr(told.lines, "some: no pictures of boat, moto"));
    cornu_model_close(m);
}

static void a_report_counts_by_the_models_numbers(void **state)
{
    (void)state;
    cornu_model *m = trained();
    cornu_report *report;
    make_class("some", "car", 1);
    make_class("some", "tram", 2); /* taken for moto */
    cornu_data *data = open_folder(m, "some");
    expect_ok(cornu_evaluate_report(m, data, NULL, NULL, &report));
    assert_int_equal(cornu_report_count(report, 1, 1), 2);
    assert_int_equal(cornu_report_count(report, 3, 2), 2);
    cornu_report_close(report);
    cornu_data_close(data);
    cornu_model_close(m);
}

static void all_classes_that_the_model_does_not_know_are_named(void **state)
{
    (void)state;
    cornu_model *m = trained();
    cornu_scores scores = {.size = sizeof scores};
    make_class("new", "ant", 0);
    make_class("new", "bee", 1);
    make_class("new", "car", 1);
    cornu_data *data = open_folder(m, "new");
    expect_status(cornu_evaluate(m, data, NULL, &scores), CORNU_INVALID);
    expect_message("new: found classes that r.yaml does not know: ant, bee; expected some of: "
                   "boat, car, moto, tram");
    cornu_data_close(data);
    cornu_model_close(m);
}

static void a_trained_model_learns_no_other_classes_unless_it_forgets_its_own(void **state)
{
    (void)state;
    cornu_model *m = trained();
    static const char *const others[] = {"ant", "bee", "car", "dog"};
    for (int k = 0; k < CLASSES; k++)
        make_class("new", others[k], k);
    expect_status(train_on(m, "new"), CORNU_INVALID);
    expect_message("new: found the classes ant, bee, car, dog; expected those of r.yaml: boat, "
                   "car, moto, tram");
    expect_names(m, "boat car moto tram");
    make_class("three", "boat", 0);
    make_class("three", "car", 1);
    make_class("three", "tram", 3);
    expect_status(train_on(m, "three"), CORNU_INVALID);
    expect_message("three: found the classes boat, car, tram; expected those of r.yaml: boat, ");
    expect_ok(cornu_model_set_class_names(m, NULL, 0));
    expect_status(train_on(m, "three"), CORNU_INVALID);
    expect_message("data three: found 3 classes; the model's outputs expect 4");
    expect_ok(train_on(m, "new"));
    expect_names(m, "ant bee car dog");
    expect_status(cornu_model_set_class_names(m, others, 3), CORNU_INVALID);
    expect_message("class_names: found 3; expected one for each of the model's outputs");
    expect_ok(cornu_model_set_class_names(m, names, CLASSES));
    expect_names(m, "boat car moto tram");
    cornu_model_close(m);
}

static void losses_count_classes_alike(void **state)
{
    (void)state;
    static const char *const losses[] = {"sparse_categorical_crossentropy",
                                         "categorical_crossentropy", "mean_squared_error"};
    make_class("two", "car", 1);
    make_class("two", "tram", 3);
    make_all("five");
    make_class("five", "walk", 0);
    for (int i = 0; i < 3; i++) {
        cornu_model *m = network(losses[i], "");
        expect_status(train_on(m, "two"), CORNU_INVALID);
        expect_message("data two: found 2 classes; the model's outputs expect 4; fewer_classes: "
                       "true in the recipe's data section takes fewer");
        cornu_data *data = open_folder(m, "two");
        cornu_scores scores = {.size = sizeof scores};
        expect_status(cornu_evaluate(m, data, NULL, &scores), CORNU_INVALID);
        expect_message("the model's outputs expect 4, and the model has no names to tell which");
        cornu_data_close(data);
        expect_status(train_on(m, "five"), CORNU_INVALID);
        expect_message("data five: found 5 classes; the model's outputs expect 4");
        cornu_model_close(m);
    }
}

static void a_recipe_may_ask_for_fewer_classes_which_keep_their_places(void **state)
{
    (void)state;
    cornu_model *m = network("sparse_categorical_crossentropy", ", fewer_classes: true");
    make_class("two", "car", 1);
    make_class("two", "tram", 3);
    expect_ok(train_on(m, "two"));
    expect_names(m, "car tram 2 3");
    make_class("one", "tram", 3);
    expect_ok(train_on(m, "one"));
    expect_names(m, "car tram 2 3");
    make_class("other", "boat", 3);
    expect_status(train_on(m, "other"), CORNU_INVALID);
    cornu_model_close(m);
}

/* The same files in another order of classes: the same bits as the model's own. */
static void classes_in_another_order_train_the_same_outputs(void **state)
{
    (void)state;
    char paths[8][4200];
    const char *list[8], *const backwards[] = {"tram", "moto", "car", "boat"};
    int32_t labels[8], reversed[8];
    cornu_model *m[2];
    cornu_data *data[2];
    make_all("old");
    for (int i = 0; i < 8; i++) {
        char name[64];
        snprintf(name, sizeof name, "old/%s/%d.pgm", names[i / 2], i % 2);
        snprintf(paths[i], sizeof paths[i], "%s", scratch_path(name));
        list[i] = paths[i];
        labels[i] = i / 2;
        reversed[i] = 3 - i / 2;
    }
    for (int k = 0; k < 2; k++) {
        cornu_image_files files = {.size = sizeof files,
                                   .count = 8,
                                   .paths = list,
                                   .labels = k ? reversed : labels,
                                   .class_names = k ? backwards : names,
                                   .class_count = CLASSES};
        cornu_data_options options = {
            .size = sizeof options,
            .images = &(cornu_folder_options){
                .size = sizeof(cornu_folder_options), .height = 1, .width = 1, .channels = 1}};
        m[k] = network("sparse_categorical_crossentropy", "");
        expect_ok(cornu_model_compile(
            m[k], "{optimizer: sgd, loss: sparse_categorical_crossentropy, metrics: [accuracy]}"));
        expect_ok(cornu_model_set_class_names(m[k], names, CLASSES));
        expect_ok(cornu_data_from_files(&files, &options, &data[k]));
        cornu_fit_options fit = {.size = sizeof fit, .epochs = 3, .validation_data = data[0]};
        expect_ok(cornu_fit(m[k], data[k], &fit, NULL));
    }
    assert_true(same_bits(m[0], m[1]));
    for (int k = 0; k < 2; k++) {
        cornu_data_close(data[k]);
        cornu_model_close(m[k]);
    }
}

static void validation_data_of_other_classes_is_refused_before_training(void **state)
{
    (void)state;
    cornu_model *m = network("sparse_categorical_crossentropy", "");
    make_all("old");
    make_class("new", "bee", 1);
    make_class("new", "car", 1);
    cornu_data *train = open_folder(m, "old"), *other = open_folder(m, "new");
    cornu_fit_options fit = {.size = sizeof fit, .validation_data = other};
    expect_status(cornu_fit(m, train, &fit, NULL), CORNU_INVALID);
    expect_message("new: found classes that the training data does not know: bee; expected");
    assert_false(m->initialized);
    cornu_data_close(train);
    cornu_data_close(other);
    cornu_model_close(m);
}

/* Weights by name are those by number. */
static void classes_have_weights_by_their_names(void **state)
{
    (void)state;
    static const char *const sections[] = {"{epochs: 2, class_weight: {1: 5, 3: 0.5}}",
                                           "{epochs: 2, class_weight: {car: 5, tram: 0.5}}"};
    cornu_model *m[2];
    make_all("old");
    for (int i = 0; i < 2; i++) {
        m[i] = network("sparse_categorical_crossentropy", "");
        expect_ok(cornu_model_compile(m[i], "{optimizer: sgd, loss: "
                                            "sparse_categorical_crossentropy}"));
        cornu_data *data = open_folder(m[i], "old");
        expect_ok(cornu_fit(
            m[i], data,
            &(cornu_fit_options){.size = sizeof(cornu_fit_options), .section = sections[i]}, NULL));
        expect_status(cornu_fit(m[i], data,
                                &(cornu_fit_options){.size = sizeof(cornu_fit_options),
                                                     .section = "{class_weight: {bus: 1}}"},
                                NULL),
                      CORNU_INVALID);
        expect_message("found class \"bus\"; expected a class number from 0, or one of: boat, car, "
                       "moto, tram");
        cornu_data_close(data);
    }
    assert_true(same_bits(m[0], m[1]));
    cornu_model_close(m[0]);
    cornu_model_close(m[1]);
}

/* Folders called by numbers: a number is a class's place, and that is told. */
static void a_number_in_class_weight_is_no_name(void **state)
{
    (void)state;
    static const char *const numbers[] = {"1", "2", "3", "4"};
    notices told = {.count = 0};
    cornu_model *m = network("sparse_categorical_crossentropy", "");
    for (int k = 0; k < CLASSES; k++)
        make_class("numbers", numbers[k], k);
    cornu_data *data = open_folder(m, "numbers");
    cornu_fit_options fit = {.size = sizeof fit,
                             .section = "{class_weight: {1: 2}}",
                             .on_notice = notices_add,
                             .user = &told};
    expect_ok(cornu_fit(m, data, &fit, NULL));
    assert_non_null(strstr(told.lines, "class_weight: 1 is taken as the number of a class"));
    cornu_data_close(data);
    cornu_model_close(m);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_of_some_classes_is_evaluated_by_their_names),
        TEST(a_report_counts_by_the_models_numbers),
        TEST(all_classes_that_the_model_does_not_know_are_named),
        TEST(a_trained_model_learns_no_other_classes_unless_it_forgets_its_own),
        TEST(losses_count_classes_alike),
        TEST(a_recipe_may_ask_for_fewer_classes_which_keep_their_places),
        TEST(classes_in_another_order_train_the_same_outputs),
        TEST(classes_have_weights_by_their_names),
        TEST(a_number_in_class_weight_is_no_name),
        TEST(validation_data_of_other_classes_is_refused_before_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
