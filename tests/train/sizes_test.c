/* Structs of the interface grow at their end: `size` says which fields the caller has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/exchange.h>
#include <cornu/images.h>
#include <cornu/model.h>
#include <cornu/report.h>
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <string.h>

/* The forms of 0.2.0, for 64 bits. A field that comes later begins at or after this size (a bool
   must not hide in the padding, which older callers leave undefined), and its struct's row becomes
   GREW(struct, size of 0.2.0, first new field). */
#if UINTPTR_MAX == UINT64_MAX
#define FORM(type, size_0_2) _Static_assert(sizeof(type) == (size_0_2), #type " has another size");
#define GREW(type, size_0_2, field) \
    _Static_assert(offsetof(type, field) == (size_0_2), #type "." #field " is not at the end");
FORM(cornu_data_options, 80)
FORM(cornu_folder_options, 72)
GREW(cornu_arrays, 112, output_weights)
FORM(cornu_data_info, 120)
FORM(cornu_where, 24)
GREW(cornu_scores, 160, all_count)
GREW(cornu_fit_options, 224, recompute)
GREW(cornu_run_options, 96, on_outputs)
GREW(cornu_weight_info, 96, statistic)
FORM(cornu_stream, 40)
FORM(cornu_data_values, 56)
FORM(cornu_dataset_info, 1064)
FORM(cornu_weights_options, 48)
FORM(cornu_export_options, 16)
FORM(cornu_image_files, 48)
FORM(cornu_data_loading, 72)
FORM(cornu_batch_options, 32)
FORM(cornu_image_options, 56)
FORM(cornu_report_info, 72)
FORM(cornu_class_scores, 56)
FORM(cornu_confusion, 24)
FORM(cornu_report_error, 48)
FORM(cornu_output_info, 24)
FORM(cornu_class_value, 24)
FORM(cornu_device_info, 848)
GREW(cornu_explain_options, 72, recompute)
FORM(cornu_position, 40)
FORM(cornu_end_info, 112)
FORM(cornu_summary_options, 16)
#endif

/* ---- options ----------------------------------------------------------------------------- */

/* `call` refuses `options` where its size was not set, or is that of a pointer. */
#define EXPECT_REFUSED(options, call, name)                           \
    do {                                                              \
        const size_t wrong_[] = {0, sizeof(void *), (size_t)1 << 40}; \
        for (size_t i_ = 0; i_ < 3; i_++) {                           \
            char expected_[128];                                      \
            (options).size = wrong_[i_];                              \
            expect_status(call, CORNU_INVALID);                       \
            snprintf(expected_, sizeof expected_,                     \
                     name ".size: found %zu; expected sizeof the "    \
                          "struct, %zu",                              \
                     wrong_[i_], sizeof(options));                    \
            expect_message(expected_);                                \
        }                                                             \
        (options).size = sizeof(options);                             \
    } while (0)

static void options_of_running_without_their_size_are_refused(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{}");
    cornu_data *data = runs_data(40, 8);
    cornu_fit_options fit = {.size = sizeof fit, .where.threads = 1};
    cornu_run_options run = {.size = sizeof run, .where.threads = 1};
    cornu_explain_options explain = {.size = sizeof explain, .where.threads = 1};
    cornu_export_options export = {.size = sizeof export, .preprocess = true};
    cornu_weights_options weights = {.size = sizeof weights};
    cornu_summary_options summary = {.size = sizeof summary};
    cornu_scores scores = {.size = sizeof scores};
    float in[8] = {0}, out[3];
    int64_t bytes;
    char *text;
    EXPECT_REFUSED(fit, cornu_fit(model, data, &fit, NULL), "cornu_fit_options");
    EXPECT_REFUSED(fit, cornu_fit_memory(model, &fit, &bytes), "cornu_fit_options");
    EXPECT_REFUSED(run, cornu_evaluate(model, data, &run, &scores), "cornu_run_options");
    EXPECT_REFUSED(scores, cornu_evaluate(model, data, &run, &scores), "cornu_scores");
    EXPECT_REFUSED(run, cornu_evaluate_check(model, &run), "cornu_run_options");
    EXPECT_REFUSED(run, cornu_predict(model, in, 1, &run, out), "cornu_run_options");
    EXPECT_REFUSED(run, cornu_predict_check(model, 1, &run), "cornu_run_options");
    EXPECT_REFUSED(explain, cornu_explain(model, &explain, &text), "cornu_explain_options");
    EXPECT_REFUSED(export, cornu_model_export_onnx(model, "m.onnx", &export),
                   "cornu_export_options");
    EXPECT_REFUSED(weights, cornu_model_load_weights_as(model, "m.npz", &weights),
                   "cornu_weights_options");
    EXPECT_REFUSED(weights, cornu_model_save_weights(model, "m.npz", &weights),
                   "cornu_weights_options");
    EXPECT_REFUSED(summary, cornu_model_summary_as(model, &summary, &text),
                   "cornu_summary_options");
    expect_ok(cornu_fit(model, data, &fit, NULL));
    expect_ok(cornu_predict(model, in, 1, &run, out));
    cornu_data_close(data);
    cornu_model_close(model);
}

static cornu_status no_batch(void *user, cornu_arrays *batch)
{
    (void)user, (void)batch;
    return CORNU_OK;
}

static void options_of_data_without_their_size_are_refused(void **state)
{
    (void)state;
    const float values[2] = {0, 1};
    const int32_t labels[2] = {0, 1};
    cornu_arrays good = {.size = sizeof good,
                         .count = 2,
                         .rank = 1,
                         .shape = {1},
                         .values = values,
                         .labels = labels};
    cornu_arrays arrays = good;
    cornu_folder_options folder = {.size = sizeof folder, .strict = true};
    cornu_data_options options = {.size = sizeof options, .images = &folder};
    cornu_stream stream = {.size = sizeof stream, .like = &arrays, .next = no_batch};
    cornu_model *model = runs_usual("{}");
    cornu_data *data = NULL;
    float value;
    const char *path = "x.png";
    cornu_image_files files = {.size = sizeof files, .count = 1, .paths = &path};
    cornu_image_options image = {.size = sizeof image, .channels = 3};
    cornu_batch_options batch = {.size = sizeof batch, .seed = 1};
    const int64_t first = 0;
    uint8_t *pixels;
    int64_t shape[3];
    EXPECT_REFUSED(options, cornu_data_open("mnist", &options, &data), "cornu_data_options");
    EXPECT_REFUSED(folder, cornu_data_open("mnist", &options, &data), "cornu_folder_options");
    EXPECT_REFUSED(options, cornu_data_open_for_model(model, &options, &data),
                   "cornu_data_options");
    EXPECT_REFUSED(arrays, cornu_data_from_arrays(&arrays, NULL, &data), "train");
    EXPECT_REFUSED(arrays, cornu_data_from_arrays(&good, &arrays, &data), "test");
    EXPECT_REFUSED(arrays, cornu_data_stream(&stream, &data), "like");
    EXPECT_REFUSED(stream, cornu_data_stream(&stream, &data), "cornu_stream");
    EXPECT_REFUSED(files, cornu_data_from_files(&files, NULL, &data), "cornu_image_files");
    EXPECT_REFUSED(image, cornu_image_read("x.png", &image, &value, 1), "cornu_image_options");
    EXPECT_REFUSED(image, cornu_image_load("x.png", NULL, 0, &image, &pixels, shape),
                   "cornu_image_options");
    expect_ok(cornu_data_from_arrays(&good, &arrays, &data));
    EXPECT_REFUSED(batch, cornu_data_batch(data, CORNU_TRAIN, &first, 1, &batch, &value, 1),
                   "cornu_batch_options");
    cornu_data_close(data);
    cornu_model_close(model);
}

static bool must_not_be_called(void *user)
{
    (void)user;
    fail_msg("a field after the caller's `size` was read");
    return true;
}

static void fields_after_an_older_callers_size_are_not_read(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{}");
    cornu_data *data = runs_data(40, 8);
    const cornu_fit_options older = {.size = offsetof(cornu_fit_options, should_stop),
                                     .epochs = 2,
                                     .should_stop = must_not_be_called};
    cornu_history *history = NULL;
    expect_ok(cornu_fit(model, data, &older, &history));
    assert_int_equal(cornu_history_epochs(history), 2);
    cornu_history_close(history);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void a_field_of_a_later_version_must_be_0(void **state)
{
    (void)state;
    struct {
        cornu_run_options known;
        int64_t later;
    } options = {.known = {.size = sizeof options}};
    char expected[128];
    cornu_model *model = runs_usual("{}");
    const float in[8] = {0};
    float out[3];
    expect_ok(cornu_predict(model, in, 1, &options.known, out));
    options.later = 1;
    expect_status(cornu_predict(model, in, 1, &options.known, out), CORNU_INVALID);
    snprintf(expected, sizeof expected,
             "cornu_run_options.size: found %zu, with a field set that only a later cornu than "
             "this " CORNU_VERSION " has; expected %zu",
             sizeof options, sizeof options.known);
    expect_message(expected);
    cornu_model_close(model);
}

/* ---- results ----------------------------------------------------------------------------- */

/* `call` fills in as much of `info` as its size says, and 0 after what it knows. */
#define EXPECT_FILLED(type, call)                                              \
    do {                                                                       \
        struct {                                                               \
            type known;                                                        \
            unsigned char later[16];                                           \
        } place_;                                                              \
        type *const info = &place_.known;                                      \
        const size_t half_ = sizeof(type) / 2;                                 \
        for (int shorter_ = 0; shorter_ < 2; shorter_++) {                     \
            memset(&place_, 0xa5, sizeof place_);                              \
            info->size = shorter_ ? half_ : sizeof(type) + 8;                  \
            (void)(call);                                                      \
            const unsigned char *bytes_ = (const unsigned char *)&place_;      \
            for (size_t i_ = half_; i_ < sizeof place_ && shorter_; i_++)      \
                assert_int_equal(bytes_[i_], 0xa5);                            \
            for (size_t i_ = 0; i_ < 16 && !shorter_; i_++)                    \
                assert_int_equal(place_.later[i_], i_ < 8 ? 0 : 0xa5);         \
            assert_int_equal(info->size, shorter_ ? half_ : sizeof(type) + 8); \
        }                                                                      \
        info->size = 0;                                                        \
        (void)(call);                                                          \
        expect_message(#type ".size: found 0; expected sizeof the struct");    \
    } while (0)

static void a_result_gets_what_its_callers_size_has_room_for(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{}");
    cornu_data *data = runs_data(40, 8);
    cornu_report *report = NULL;
    cornu_model *pictures = NULL;
    expect_ok(cornu_model_open("mnist-cnn-2", &pictures));
    EXPECT_FILLED(cornu_weight_info, cornu_model_weight_info(model, 0, info));
    EXPECT_FILLED(cornu_data_info, cornu_data_info_get(data, info));
    EXPECT_FILLED(cornu_data_loading, cornu_data_loading_get(data, info));
    EXPECT_FILLED(cornu_data_values, cornu_data_values_get(data, CORNU_TRAIN, info));
    EXPECT_FILLED(cornu_arrays, cornu_data_view(data, CORNU_TRAIN, info));
    EXPECT_FILLED(cornu_dataset_info, cornu_dataset_info_get(0, info));
    EXPECT_FILLED(cornu_scores, cornu_evaluate(model, data, NULL, info));
    EXPECT_FILLED(cornu_image_options, cornu_model_image_options(pictures, info));
    EXPECT_FILLED(cornu_position, cornu_model_position(model, info));
    EXPECT_FILLED(cornu_output_info, cornu_model_output_info(model, info));
    EXPECT_FILLED(cornu_device_info, cornu_device_info_get(0, info));
    expect_ok(cornu_evaluate_report(model, data, NULL, NULL, &report));
    EXPECT_FILLED(cornu_report_info, cornu_report_info_get(report, info));
    EXPECT_FILLED(cornu_class_scores, cornu_report_class(report, 0, info));
    cornu_report_close(report);
    cornu_model_close(pictures);
    cornu_data_close(data);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_running_without_their_size_are_refused),
        cmocka_unit_test(options_of_data_without_their_size_are_refused),
        cmocka_unit_test(fields_after_an_older_callers_size_are_not_read),
        cmocka_unit_test(a_field_of_a_later_version_must_be_0),
        cmocka_unit_test(a_result_gets_what_its_callers_size_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
