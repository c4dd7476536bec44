/* No public function minds NULL, or sizes that nobody has: it says what is wrong, and computes
   nothing from them (the sanitizers look). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/runs.h"
#include <cornu/data.h>
#include <cornu/exchange.h>
#include <cornu/images.h>
#include <cornu/parallel.h>
#include <cornu/report.h>
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <string.h>

/* ---- sizes -------------------------------------------------------------------------------- */

/* Products of these leave 64 bits, or come back from there as small numbers. */
static const int64_t sizes[] = {INT64_MAX, INT64_MAX / 2 + 1, (int64_t)1 << 40, (int64_t)1 << 33};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void expect_refused(cornu_status status, const char *name)
{
    if (status != CORNU_INVALID && status != CORNU_OUT_OF_MEMORY)
        fail_msg("%s: found %s: %s; expected a refusal", name, cornu_status_name(status),
                 cornu_last_error());
}

static void arrays_of_absurd_sizes_are_refused(void **state)
{
    (void)state;
    static const float numbers[8];
    static const int32_t labels[1];
    static const uint8_t pixels[8];
    cornu_model *model = runs_usual("{}");
    cornu_trainer *trainer;
    cornu_data *data = NULL;
    expect_ok(cornu_trainer_open(model, &(cornu_where){.threads = 1}, &trainer));
    for (int i = 0; i < SIZES; i++) {
        const int64_t n = sizes[i];
        const cornu_arrays absurd[] = {{.size = sizeof(cornu_arrays),
                                        .count = n,
                                        .rank = 1,
                                        .shape = {n},
                                        .values = numbers,
                                        .labels = labels},
                                       {.size = sizeof(cornu_arrays),
                                        .count = 1,
                                        .rank = 2,
                                        .shape = {n, n},
                                        .values = numbers,
                                        .labels = labels},
                                       {.size = sizeof(cornu_arrays),
                                        .count = n,
                                        .rank = 4,
                                        .shape = {n, n, n, n},
                                        .pixels = pixels,
                                        .labels = labels},
                                       {.size = sizeof(cornu_arrays),
                                        .count = n,
                                        .rank = 1,
                                        .shape = {1},
                                        .pixels = pixels,
                                        .targets = numbers,
                                        .target_size = n}};
        for (size_t k = 0; k < sizeof absurd / sizeof *absurd; k++) {
            expect_refused(cornu_data_from_arrays(&absurd[k], NULL, &data), "from_arrays");
            assert_null(data);
            expect_refused(cornu_data_in_place(&absurd[k], NULL, &data), "in_place");
            expect_refused(cornu_trainer_train(trainer, &absurd[k], NULL), "train");
            expect_refused(cornu_trainer_test(trainer, &absurd[k], NULL), "test");
        }
    }
    cornu_trainer_close(trainer);
    cornu_model_close(model);
}

static cornu_status no_batch(void *user, cornu_arrays *batch)
{
    (void)user, (void)batch;
    return CORNU_STOPPED;
}

static void absurd_counts_and_batches_are_refused(void **state)
{
    (void)state;
    static float numbers[8];
    cornu_model *model = runs_usual("{}");
    cornu_data *data = NULL, *real = runs_data(20, 0);
    cornu_trainer *trainer;
    cornu_scores scores = {.size = sizeof scores};
    char *text = NULL;
    for (int i = 0; i < SIZES; i++) {
        const int64_t n = sizes[i], shape[] = {n, n};
        int64_t bytes;
        const cornu_run_options run = {.size = sizeof run, .batch = n};
        cornu_stream stream = {.size = sizeof stream, .next = no_batch, .batches = n};
        cornu_explain_options explain = {.size = sizeof explain, .batch = n};
        cornu_fit_options fit = {.size = sizeof fit, .batch = n};
        cornu_model *made = NULL;
        stream.like = &(cornu_arrays){
            .size = sizeof(cornu_arrays), .count = 1, .rank = 1, .shape = {8}, .values = numbers};
        expect_refused(cornu_predict(model, numbers, n, &run, numbers), "predict");
        expect_refused(cornu_predict_check(model, n, &run), "predict_check");
        expect_refused(cornu_evaluate(model, real, &run, &scores), "evaluate");
        expect_refused(cornu_fit(model, real, &fit, NULL), "fit");
        expect_refused(cornu_fit_memory(model, &fit, &bytes), "fit_memory");
        expect_refused(cornu_explain(model, &explain, &text), "explain");
        expect_refused(cornu_data_stream(&stream, &data), "stream");
        expect_refused(cornu_data_generate(shape, 2, 2, n, 1, &data), "generate");
        expect_refused(cornu_model_new(shape, 2, &made), "model_new");
        expect_refused(cornu_image_write_png("x.png", n, n, 1, numbers), "write_png");
        expect_refused(made_read("x.png", n, n, 3, numbers), "image_read");
        (void)cornu_memory_check("everything", n); /* as the machine is */
    }
    expect_ok(cornu_trainer_open(model, &(cornu_where){.threads = 1}, &trainer));
    for (int i = 0; i < SIZES; i++)
        expect_refused(cornu_trainer_predict(trainer, numbers, sizes[i], numbers), "predict");
    cornu_trainer_close(trainer);
    cornu_data_close(real);
    cornu_model_close(model);
}

/* ---- NULL --------------------------------------------------------------------------------- */

static void models_may_be_null(void **state)
{
    (void)state;
    int64_t sides[8];
    int rank;
    char *text;
    expect_status(cornu_model_open(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_parse(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_new(NULL, 1, NULL), CORNU_INVALID);
    expect_status(cornu_model_add(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_compile(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_summary(NULL, &text), CORNU_INVALID);
    expect_status(cornu_model_config(NULL, &text), CORNU_INVALID);
    expect_status(cornu_model_compile_config(NULL, &text), CORNU_INVALID);
    expect_status(cornu_model_fit_config(NULL, &text), CORNU_INVALID);
    expect_status(cornu_model_set_data(NULL, NULL), CORNU_INVALID);
    assert_int_equal(cornu_model_parameter_count(NULL), 0);
    expect_status(cornu_model_input_shape(NULL, sides, &rank), CORNU_INVALID);
    expect_status(cornu_model_output_shape(NULL, sides, &rank), CORNU_INVALID);
    expect_status(cornu_model_picture_shape(NULL, sides), CORNU_INVALID);
    assert_int_equal(cornu_model_class_count(NULL), 0);
    assert_null(cornu_model_class_name(NULL, 0));
    assert_null(cornu_model_data_name(NULL));
    assert_int_equal(cornu_model_weight_count(NULL), 0);
    assert_int_not_equal(cornu_model_weight_info(NULL, 0, NULL), CORNU_OK);
    assert_int_not_equal(cornu_model_get_weight(NULL, 0, NULL, 0), CORNU_OK);
    assert_int_not_equal(cornu_model_set_weight(NULL, 0, NULL, 0), CORNU_OK);
    expect_status(cornu_model_set_learning_rate(NULL, 1), CORNU_INVALID);
    expect_status(cornu_model_change_learning_rate(NULL, 1), CORNU_INVALID);
    expect_status(cornu_model_initialize(NULL, 1), CORNU_INVALID);
    expect_status(cornu_model_load_weights(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_load_weights_as(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_save_weights(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_save(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_export_onnx(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_tables(NULL), CORNU_INVALID);
    expect_status(cornu_schedule_rate(NULL, 0, NULL), CORNU_INVALID);
    expect_status(cornu_initializer_values(NULL, NULL, 1, 1, NULL, 1), CORNU_INVALID);
    expect_status(cornu_model_position(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_output_info(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_model_class_values(NULL, NULL, 1, NULL), CORNU_INVALID);
    assert_int_equal(cornu_model_top_classes(NULL, NULL, 1, NULL), 0);
    cornu_model_close(NULL);
    cornu_free(NULL);
}

static void data_may_be_null(void **state)
{
    (void)state;
    const cornu_split train = CORNU_TRAIN;
    expect_status(cornu_data_open(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_open_for_model(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_from_arrays(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_in_place(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_stream(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_from_files(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_generate(NULL, 1, 1, 1, 1, NULL), CORNU_INVALID);
    expect_status(cornu_data_set_scale(NULL, 1), CORNU_INVALID);
    expect_status(cornu_data_info_get(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_loading_get(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_picture_shape(NULL, NULL), CORNU_INVALID);
    assert_null(cornu_data_class_name(NULL, 0));
    expect_status(cornu_data_class_counts(NULL, train, NULL, 1), CORNU_INVALID);
    expect_status(cornu_data_values_get(NULL, train, NULL), CORNU_INVALID);
    expect_status(cornu_data_summary(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_data_view(NULL, train, NULL), CORNU_INVALID);
    expect_status(cornu_data_sample(NULL, train, 0, NULL, 0, NULL), CORNU_INVALID);
    expect_status(cornu_data_changed_sample(NULL, train, 0, NULL, 0, 0, NULL, 0), CORNU_INVALID);
    assert_null(cornu_data_sample_file(NULL, train, 0));
    expect_status(cornu_data_batch(NULL, train, NULL, 1, NULL, NULL, 1), CORNU_INVALID);
    expect_status(cornu_image_load(NULL, NULL, 0, NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_image_read(NULL, NULL, NULL, 0), CORNU_INVALID);
    expect_status(cornu_model_image_options(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_image_write_png(NULL, 1, 1, 1, NULL), CORNU_INVALID);
    assert_false(cornu_dataset_info_get(0, NULL));
    cornu_data_close(NULL);
}

static void runs_may_be_null(void **state)
{
    (void)state;
    expect_status(cornu_fit(NULL, NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_evaluate(NULL, NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_evaluate_report(NULL, NULL, NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_evaluate_check(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_predict(NULL, NULL, 1, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_predict_check(NULL, 1, NULL), CORNU_INVALID);
    expect_status(cornu_memory_check(NULL, 1), CORNU_INVALID);
    expect_status(cornu_fit_memory(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_trainer_open(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_trainer_train(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_trainer_test(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_trainer_predict(NULL, NULL, 1, NULL), CORNU_INVALID);
    expect_status(cornu_trainer_reset(NULL), CORNU_INVALID);
    expect_status(cornu_trainer_pull(NULL), CORNU_INVALID);
    expect_status(cornu_explain(NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_versions(NULL), CORNU_INVALID);
    expect_status(cornu_environment(NULL), CORNU_INVALID);
    assert_false(cornu_device_info_get(0, NULL));
    assert_int_equal(cornu_history_epochs(NULL), 0);
    assert_int_equal(cornu_history_columns(NULL), 0);
    assert_null(cornu_history_name(NULL, 0));
    (void)cornu_history_value(NULL, 0, 0);
    expect_status(cornu_history_write_html(NULL, NULL, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_report_info_get(NULL, NULL), CORNU_INVALID);
    assert_int_not_equal(cornu_report_class(NULL, 0, NULL), CORNU_OK);
    assert_int_equal(cornu_report_count(NULL, 0, 0), 0);
    assert_int_equal(cornu_report_confusions(NULL, 1, NULL), 0);
    assert_int_not_equal(cornu_report_error_get(NULL, 0, NULL), CORNU_OK);
    expect_status(cornu_report_json(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_report_write(NULL, NULL), CORNU_INVALID);
    expect_status(cornu_report_write_misclassified(NULL, NULL, 0, NULL), CORNU_INVALID);
    cornu_report_close(NULL);
    cornu_history_close(NULL);
    cornu_trainer_close(NULL);
}

static void ranks_may_be_null(void **state)
{
    (void)state;
    char own = 1, all = 0;
    assert_int_equal(cornu_ranks_launched(NULL), 1);
    assert_int_equal(cornu_ranks_count(NULL), 1);
    assert_int_equal(cornu_ranks_number(NULL), 0);
    assert_string_equal(cornu_ranks_name(NULL), "");
    expect_status(cornu_ranks_open(NULL), CORNU_INVALID);
    assert_int_equal(cornu_ranks_end(NULL, CORNU_OK), CORNU_OK);
    expect_status(cornu_ranks_share(NULL, NULL, NULL, 1), CORNU_INVALID);
    expect_ok(cornu_ranks_share(NULL, &own, &all, 1));
    assert_int_equal(all, 1);
    cornu_ranks_close(NULL);
    assert_string_equal(cornu_status_name((cornu_status)1000), "unknown status");
    assert_null(cornu_workload_name(-1));
    assert_null(cornu_workload_name(INT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_absurd_sizes_are_refused),
        cmocka_unit_test(absurd_counts_and_batches_are_refused),
        cmocka_unit_test(models_may_be_null),
        cmocka_unit_test(data_may_be_null),
        cmocka_unit_test(runs_may_be_null),
        cmocka_unit_test(ranks_may_be_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
