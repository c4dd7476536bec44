/* Structs of cornu.h grow into their reserve: 0 there is what older callers mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include <cornu/data.h>
#include <cornu/exchange.h>
#include <cornu/images.h>
#include <cornu/report.h>
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <string.h>

/* `call` refuses each number of `options`' reserve that is not 0, by the name of the struct. */
#define EXPECT_REFUSED(options, call, name)                                                 \
    for (size_t i_ = 0; i_ < sizeof(options).reserved / sizeof *(options).reserved; i_++) { \
        (options).reserved[i_] = 3;                                                         \
        expect_status(call, CORNU_INVALID);                                                 \
        expect_message(name ".reserved: found 0x3; expected 0");                            \
        (options).reserved[i_] = 0;                                                         \
    }

static void options_of_running_with_an_unknown_field_are_refused(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{}");
    cornu_data *data = runs_data(40, 8);
    cornu_fit_options fit = {.threads = 1};
    cornu_run_options run = {.threads = 1};
    cornu_explain_options explain = {.threads = 1};
    cornu_export_options export = {.preprocess = true};
    cornu_scores scores;
    float in[8] = {0}, out[3];
    char *text;
    EXPECT_REFUSED(fit, cornu_fit(model, data, &fit, NULL), "cornu_fit_options");
    EXPECT_REFUSED(run, cornu_evaluate(model, data, &run, &scores), "cornu_run_options");
    EXPECT_REFUSED(run, cornu_evaluate_check(model, &run), "cornu_run_options");
    EXPECT_REFUSED(run, cornu_predict(model, in, 1, &run, out), "cornu_run_options");
    EXPECT_REFUSED(run, cornu_predict_check(model, 1, &run), "cornu_run_options");
    EXPECT_REFUSED(explain, cornu_explain(model, &explain, &text), "cornu_explain_options");
    EXPECT_REFUSED(export, cornu_model_export_onnx(model, "m.onnx", &export),
                   "cornu_export_options");
    expect_ok(cornu_fit(model, data, &fit, NULL));
    expect_ok(cornu_predict(model, in, 1, &run, out));
    cornu_data_close(data);
    cornu_model_close(model);
}

static void options_of_data_with_an_unknown_field_are_refused(void **state)
{
    (void)state;
    const float values[2] = {0, 1};
    const int32_t labels[2] = {0, 1};
    cornu_arrays good = {.count = 2, .rank = 1, .shape = {1}, .values = values, .labels = labels};
    cornu_arrays arrays = good;
    cornu_data_options options = {.strict = true};
    cornu_model *model = runs_usual("{}");
    cornu_data *data = NULL;
    float value;
    const char *path = "x.png";
    cornu_image_files files = {.count = 1, .paths = &path};
    cornu_image_options image = {.channels = 3};
    cornu_batch_options batch = {.seed = 1};
    const int64_t first = 0;
    uint8_t *pixels;
    int64_t shape[3];
    EXPECT_REFUSED(options, cornu_data_open("mnist", &options, &data), "cornu_data_options");
    EXPECT_REFUSED(options, cornu_data_open_for_model(model, &options, &data),
                   "cornu_data_options");
    EXPECT_REFUSED(arrays, cornu_data_from_arrays(&arrays, NULL, &data), "train");
    EXPECT_REFUSED(arrays, cornu_data_from_arrays(&good, &arrays, &data), "test");
    EXPECT_REFUSED(files, cornu_data_from_files(&files, NULL, &data), "cornu_image_files");
    EXPECT_REFUSED(image, cornu_image_load("x.png", NULL, 0, &image, &pixels, shape),
                   "cornu_image_options");
    expect_ok(cornu_data_from_arrays(&good, &arrays, &data));
    EXPECT_REFUSED(batch, cornu_data_batch(data, CORNU_TRAIN, &first, 1, &batch, &value, 1),
                   "cornu_batch_options");
    cornu_data_close(data);
    cornu_model_close(model);
}

/* `call` leaves zeros in the reserve of `info`, whatever was there. */
#define EXPECT_ZEROS(info, call)                                                        \
    do {                                                                                \
        memset(&(info), 0xff, sizeof(info));                                            \
        (void)(call);                                                                   \
        for (size_t i_ = 0; i_ < sizeof(info).reserved / sizeof *(info).reserved; i_++) \
            assert_true((info).reserved[i_] == 0);                                      \
    } while (0)

static void what_the_library_fills_in_has_zeros_in_its_reserve(void **state)
{
    (void)state;
    const float values[3] = {0.5F, 0.25F, 0.25F};
    cornu_model *model = runs_usual("{}");
    cornu_data *data = runs_data(40, 8);
    cornu_weight_info weight;
    cornu_data_info info;
    cornu_data_loading loading;
    cornu_data_values range;
    cornu_arrays arrays;
    cornu_image_options reading;
    cornu_dataset_info set;
    cornu_scores scores;
    cornu_position position;
    cornu_output_info output;
    cornu_class_value top;
    cornu_device_info device;
    EXPECT_ZEROS(weight, cornu_model_weight_info(model, 0, &weight));
    EXPECT_ZEROS(info, cornu_data_info_get(data, &info));
    EXPECT_ZEROS(loading, cornu_data_loading_get(data, &loading));
    EXPECT_ZEROS(range, cornu_data_values_get(data, CORNU_TRAIN, &range));
    EXPECT_ZEROS(arrays, cornu_data_view(data, CORNU_TRAIN, &arrays));
    EXPECT_ZEROS(reading, cornu_model_image_options(model, &reading));
    EXPECT_ZEROS(set, cornu_dataset_info_get(0, &set));
    EXPECT_ZEROS(scores, cornu_evaluate(model, data, NULL, &scores));
    EXPECT_ZEROS(position, cornu_model_position(model, &position));
    EXPECT_ZEROS(output, cornu_model_output_info(model, &output));
    EXPECT_ZEROS(top, cornu_model_top_classes(model, values, 1, &top));
    EXPECT_ZEROS(device, cornu_device_info_get(0, &device));
    cornu_data_close(data);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_running_with_an_unknown_field_are_refused),
        cmocka_unit_test(options_of_data_with_an_unknown_field_are_refused),
        cmocka_unit_test(what_the_library_fills_in_has_zeros_in_its_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
