/* Training on a folder of images that are decoded meanwhile: which of them can be read, where
   pixels stay, how many workers there are and where a run was stopped changes no bit of the result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include "train/input_pipeline.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PICTURES = 61 };
static const int bad[] = {3, 17, 20, 44}; /* 20 is a test sample */

static const char recipe[] =
    "data: {image_size: 1, channels: 1, augment: {brightness_range: [0.5, 1.5]}}\n"
    "model:\n"
    "  input: [1, 1, 1]\n"
    "  layers: [Flatten, {Dense: {units: 7, activation: relu}}, {Dropout: {rate: 0.2}},\n"
    "           {Dense: {units: 2, activation: softmax}}]\n"
    "compile: {optimizer: adam, loss: categorical_crossentropy, metrics: [accuracy]}\n"
    "fit: {epochs: 4, batch_size: 8, validation: test}\n";

static void make_folder(void)
{
    char name[64];
    for (int i = 0; i < PICTURES; i++) {
        snprintf(name, sizeof name, "f/%s/%c/%02d.pgm", i % 5 ? "train" : "test", 'a' + i % 2, i);
        made_grey(name, i * 4);
        for (int k = 0; k < 4; k++)
            if (i == bad[k])
                assert_int_equal(truncate(scratch_path(name), 11), 0);
    }
}

static cornu_data *open_folder(const cornu_model *model, cornu_data_options o)
{
    static char folder[1100];
    cornu_data *data;
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    cornu_folder_options images = {.size = sizeof images};
    if (o.images)
        images = *o.images;
    images.cache_folder = folder;
    o.images = &images;
    o.folder = scratch_path("f");
    expect_ok(cornu_data_open_for_model(model, &o, &data));
    return data;
}

static cornu_model *open_recipe(void)
{
    cornu_model *model;
    expect_ok(cornu_model_open(scratch_write("r.yaml", recipe, sizeof recipe - 1), &model));
    return model;
}

/* Train to the end, or for `steps` steps, and then in another run to the end. */
static cornu_model *train(cornu_data_options d, cornu_fit_options f, int steps)
{
    static char save[1100];
    cornu_model *model = open_recipe();
    snprintf(save, sizeof save, "%s", scratch_path("m.safetensors"));
    f.save = save;
    f.should_stop = steps ? stop_after : NULL;
    f.user = &steps;
    cornu_data *data = open_folder(model, d);
    cornu_status status = cornu_fit(model, data, &f, NULL);
    cornu_data_close(data);
    if (!f.should_stop) {
        expect_ok(status);
        return model;
    }
    expect_status(status, CORNU_STOPPED);
    cornu_model_close(model);
    expect_ok(cornu_model_open(save, &model));
    data = open_folder(model, d);
    f.resume = true;
    f.should_stop = NULL;
    expect_ok(cornu_fit(model, data, &f, NULL));
    cornu_data_close(data);
    return model;
}

static void expect_same(cornu_model *expected, cornu_model *found)
{
    assert_true(same_bits(expected, found));
    cornu_model_close(found);
}

static void check_all_ways(cornu_fit_options f)
{
    static const char *const caches[] = {NULL, "file", "file", "off"};
    cornu_model *expected = train(
        (cornu_data_options){
            .size = sizeof(cornu_data_options),
            .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options), .workers = 1}},
        f, 0);
    for (int i = 0; i < 4; i++)
        for (int background = 0; background < 2; background++) {
            cornu_folder_options images = {
                .size = sizeof images, .cache = caches[i], .background = background};
            const cornu_data_options d = {.size = sizeof d, .images = &images};
            expect_same(expected, train(d, f, 0));
            images.workers = 12;
            expect_same(expected, train(d, f, 0));
            expect_same(expected, train(d, f, 3));
            expect_same(expected, train(d, f, 9));
        }
    cornu_model_close(expected);
}

static void no_way_of_loading_changes_a_bit(void **state)
{
    (void)state;
    make_folder();
    check_all_ways((cornu_fit_options){.size = sizeof(cornu_fit_options), .seed = 5});
}

/* Epochs that end in the middle of a pass, and passes in the middle of an epoch. */
static void nor_with_epochs_of_their_own_length(void **state)
{
    (void)state;
    make_folder();
    check_all_ways(
        (cornu_fit_options){.size = sizeof(cornu_fit_options), .seed = 6, .steps_per_epoch = 4});
    check_all_ways((cornu_fit_options){
        .size = sizeof(cornu_fit_options), .seed = 6, .steps_per_epoch = 11, .epochs = 2});
}

static void count_skipped(void *user, const char *notice)
{
    *(int *)user += strstr(notice, "; skipped") != NULL;
}

static void an_input_pipeline_gives_each_usable_sample_once_a_pass(void **state)
{
    (void)state;
    int told = 0;
    make_folder();
    cornu_model *model = open_recipe();
    for (int off = 0; off < 2; off++) {
        cornu_data_options o = {.size = sizeof o,
                                .on_notice = count_skipped,
                                .user = &told,
                                .images =
                                    &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                            .background = true,
                                                            .cache = off ? "off" : NULL}};
        cornu_data *data = open_folder(model, o);
        input_pipeline f;
        int64_t count = data->block[CORNU_TRAIN].count, seen = 0, got;
        const int64_t *index;
        expect_ok(input_open(data, CORNU_TRAIN, &data->block[CORNU_TRAIN], 0, count, &f));
        for (int pass = 0; pass < 3; pass++) {
            int times[PICTURES] = {0};
            input_begin(&f, 1, pass, true);
            for (seen = 0;; seen += got) {
                expect_ok(input_take(&f, seen, 8, &index, &got));
                if (got == 0)
                    break;
                for (int64_t i = 0; i < got; i++) {
                    int grey = ((const uint8_t *)data->block[CORNU_TRAIN].x)[index[i]];
                    times[grey / 4]++;
                }
            }
            for (int i = 0; i < PICTURES; i++) {
                bool usable = i % 5 != 0;
                for (int k = 0; k < 4; k++)
                    usable = usable && i != bad[k];
                assert_int_equal(times[i], usable);
            }
            assert_int_equal(input_samples(&f), seen);
        }
        input_close(&f);
        cornu_data_close(data);
        assert_int_equal(told, 3 * (off + 1)); /* of each file once, in all passes together */
    }
    cornu_model_close(model);
}

static void a_folder_without_a_readable_file_is_told(void **state)
{
    (void)state;
    for (int background = 0; background < 3; background++) {
        made_file("f/train/a/1.pgm", "P5 1 1 255", 10);
        made_file("f/train/b/1.pgm", "P5 1 1 255", 10);
        cornu_model *model = open_recipe();
        cornu_data *data = NULL;
        cornu_data_options o = {.size = sizeof o,
                                .folder = scratch_path("f"),
                                .images =
                                    &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                            .background = background}};
        cornu_status status = cornu_data_open_for_model(model, &o, &data);
        if (background == 2 && status == CORNU_OK)
            (void)data_finish(data); /* known before training begins */
        if (background && status == CORNU_OK)
            status = cornu_fit(model, data, NULL, NULL);
        expect_status(status, CORNU_BAD_FILE);
        expect_message("found no readable images");
        cornu_data_close(data);
        cornu_model_close(model);
    }
}

/* 64 pictures of 52 GB as floats: none is looked at, or they would be found unreadable. */
static void nothing_is_decoded_for_an_evaluation_that_does_not_fit(void **state)
{
    (void)state;
    char name[32];
    cornu_model *model;
    cornu_data *data = NULL;
    cornu_scores scores = {.size = sizeof scores};
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "f/%c/%d.pgm", 'a' + i % 2, i);
        made_file(name, "P5 1 1 255", 10);
    }
    expect_ok(cornu_model_parse("model: {input: [65535, 65535, 3], layers: "
                                "[GlobalAveragePooling2D, {Dense: {units: 2}}]}\n"
                                "compile: {optimizer: sgd, loss: mse}\n",
                                "r.yaml", &model));
    cornu_data_options o = {.size = sizeof o,
                            .folder = scratch_path("f"),
                            .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                              .background = true,
                                                              .cache = "off"}};
    expect_ok(cornu_data_open_for_model(model, &o, &data));
    cornu_run_options run = {.size = sizeof run, .split = CORNU_TRAIN, .batch = 64};
    expect_status(cornu_evaluate(model, data, &run, &scores), CORNU_OUT_OF_MEMORY);
    cornu_data_close(data);
    cornu_model_close(model);
}

/* One run after another, each stopped while it waits for its `calls`-th file or so. */
static cornu_model *train_in_parts(int calls, int *parts)
{
    cornu_model *model = open_recipe();
    char save[1100];
    snprintf(save, sizeof save, "%s", scratch_path("parts.safetensors"));
    (void)unlink(save); /* of another try */
    for (*parts = 1;; ++*parts) {
        int left = calls;
        cornu_data_options d = {.size = sizeof d,
                                .should_stop = stop_after,
                                .user = &left,
                                .images =
                                    &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                            .background = true,
                                                            .workers = 1,
                                                            .cache = "off"}};
        cornu_fit_options f = {.size = sizeof f,
                               .save = save,
                               .resume = model->training.position.iterations > 0,
                               .seed = 5};
        f.seed = f.resume ? 0 : 5;
        cornu_data *data = open_folder(model, d);
        cornu_status status = cornu_fit(model, data, &f, NULL);
        cornu_data_close(data);
        if (status == CORNU_OK)
            return model;
        expect_status(status, CORNU_STOPPED);
        assert_int_equal(access(save, F_OK) == 0, model->training.position.iterations > 0);
        if (model->training.position.iterations > 0) {
            cornu_model_close(model);
            expect_ok(cornu_model_open(save, &model));
        }
        calls += 7; /* a resumed run reads all files before its first step */
    }
}

static void nor_with_stops_while_samples_are_awaited(void **state)
{
    (void)state;
    int parts;
    make_folder();
    cornu_model *expected = train(
        (cornu_data_options){
            .size = sizeof(cornu_data_options),
            .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options), .workers = 1}},
        (cornu_fit_options){.size = sizeof(cornu_fit_options), .seed = 5}, 0);
    /* A run asks only while it waits: where the loader was given all processor time first, there is
       less to wait for, and another try. */
    for (int tries = 0, most = 0; most <= 3; most = parts > most ? parts : most) {
        assert_true(tries++ < 20);
        expect_same(expected, train_in_parts(3, &parts));
    }
    cornu_model_close(expected);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_way_of_loading_changes_a_bit),
        TEST(nor_with_epochs_of_their_own_length),
        TEST(nor_with_stops_while_samples_are_awaited),
        TEST(an_input_pipeline_gives_each_usable_sample_once_a_pass),
        TEST(a_folder_without_a_readable_file_is_told),
        TEST(nothing_is_decoded_for_an_evaluation_that_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
