/* A comparison as event files, from made-up results; peers/tensorboard_files.py shows real ones to
   TensorBoard. */
#include "bench/events.h"
#include "support/events.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A result of three rounds; those of "reference" take ten times as long. */
static void add_result(bench_report *report, const char *on, int64_t batch)
{
    bench_result *r = &report->results[report->count++];
    double ms = (double)batch * (strcmp(on, "reference") == 0 ? 10 : 1);
    *r = (bench_result){.workload = "cifar100-mlp",
                        .precision = "fp32",
                        .batch = batch,
                        .step_ms = {3, ms, ms, ms, 0},
                        .losses = 2,
                        .samples_per_second = 1e3 * (double)batch / ms,
                        .epoch_seconds = NAN,
                        .joules_per_epoch = NAN,
                        .share_of_limit = 0.5};
    snprintf(r->device, sizeof r->device, "%s", on);
    r->ms = calloc(3, sizeof *r->ms);
    r->loss = calloc(2, sizeof *r->loss);
    r->loss_step = calloc(2, sizeof *r->loss_step);
    for (int i = 0; i < 3; i++)
        r->ms[i] = ms + i - 1;
    for (int i = 0; i < 2; i++) {
        r->loss_step[i] = 10 * (i + 1);
        r->loss[i] = 1.0 / (i + 1);
    }
}

static void open_report(bench_report *report)
{
    *report = (bench_report){.limits = {.threads = 2, .isa = "AVX2"}};
    snprintf(report->machine.cpu, sizeof report->machine.cpu, "Some processor");
    report->results = calloc(8, sizeof *report->results);
}

#if CORNU_TENSORBOARD

static bool is_there(const char *name)
{
    struct stat s;
    return stat(scratch_path(name), &s) == 0;
}

static void each_device_is_a_run_with_rounds_figures_and_settings(void **state)
{
    (void)state;
    events all;
    bench_report report;
    open_report(&report);
    add_result(&report, "cpu", 32);
    add_result(&report, "reference", 32);
    expect_ok(bench_write_events(&report, scratch_path("tb")));
    assert_int_equal(events_read("tb/cifar100-mlp/reference", &all), 1);
    for (int i = 0; i < 3; i++)
        assert_true(events_scalar(&all, "rounds/ms_per_step", i + 1) == 320.0f + (float)i - 1);
    assert_true(events_scalar(&all, "training/loss", 20) == 0.5f);
    assert_true(events_scalar(&all, "result/ms_per_step", 32) == 320);
    assert_true(events_scalar(&all, "result/samples_per_second", 32) == 100);
    assert_true(events_scalar(&all, "result/share_of_limit", 32) == 0.5f);
    assert_int_equal(events_count(&all, "result/epoch_seconds"), 0); /* not measured */
    Tensorboard__Hyperparameters *h = events_hyperparameters(&all, "_hparams_/session_start_info");
    assert_string_equal(events_setting(h, "workload")->string_value, "cifar100-mlp");
    assert_string_equal(events_setting(h, "device")->string_value, "reference");
    assert_string_equal(events_setting(h, "hardware")->string_value, "Some processor");
    assert_string_equal(events_setting(h, "precision")->string_value, "fp32");
    assert_true(events_setting(h, "batch")->number_value == 32);
    tensorboard__hyperparameters__free_unpacked(h, NULL);
    events_free(&all);
    assert_int_equal(events_read("tb/cifar100-mlp/cpu", &all), 1);
    assert_true(events_scalar(&all, "result/ms_per_step", 32) == 32);
    events_free(&all);
    bench_report_free(&report);
}

static void a_sweep_has_a_run_for_each_batch_and_curves_over_all(void **state)
{
    (void)state;
    events all;
    bench_report report;
    open_report(&report);
    add_result(&report, "cpu", 1);
    add_result(&report, "reference", 1); /* alone: the other one failed */
    add_result(&report, "cpu", 8);
    add_result(&report, "reference", 8);
    snprintf(report.results[3].failed, sizeof report.results[3].failed, "why");
    expect_ok(bench_write_events(&report, scratch_path("tb")));
    assert_int_equal(events_read("tb/cifar100-mlp/cpu", &all), 1);
    assert_true(events_scalar(&all, "result/ms_per_step", 1) == 1);
    assert_true(events_scalar(&all, "result/ms_per_step", 8) == 8);
    assert_int_equal(events_count(&all, "_hparams_/session_start_info"), 0);
    events_free(&all);
    assert_int_equal(events_read("tb/cifar100-mlp/cpu/batch-8", &all), 1);
    assert_int_equal(events_count(&all, "_hparams_/session_start_info"), 1);
    assert_int_equal(events_count(&all, "_hparams_/session_end_info"), 1);
    assert_int_equal(events_count(&all, "rounds/ms_per_step"), 3);
    events_free(&all);
    assert_int_equal(events_read("tb/cifar100-mlp/reference", &all), 1);
    assert_int_equal(events_count(&all, "_hparams_/session_start_info"), 1);
    events_free(&all);
    assert_false(is_there("tb/cifar100-mlp/reference/batch-1"));
    bench_report_free(&report);
}

static void the_table_is_a_text_that_tells_what_failed(void **state)
{
    (void)state;
    events all;
    bench_report report;
    open_report(&report);
    add_result(&report, "cpu", 32);
    add_result(&report, "reference", 32);
    snprintf(report.results[1].failed, sizeof report.results[1].failed, "no memory");
    expect_ok(bench_write_events(&report, scratch_path("tb")));
    assert_int_equal(events_read("tb", &all), 1);
    const Tensorboard__Summary__Value *v = events_value(all.event[1]);
    assert_string_equal(v->tag, "comparison");
    assert_string_equal(v->metadata->plugin_data->plugin_name, "text");
    const ProtobufCBinaryData *text = &v->tensor->string_val[0];
    assert_non_null(memmem(text->data, text->len, "| cifar100-mlp | cpu |", 22));
    assert_non_null(memmem(text->data, text->len, "no memory", 9));
    assert_false(is_there("tb/cifar100-mlp/reference"));
    events_free(&all);
    bench_report_free(&report);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_device_is_a_run_with_rounds_figures_and_settings),
        TEST(a_sweep_has_a_run_for_each_batch_and_curves_over_all),
        TEST(the_table_is_a_text_that_tells_what_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void a_build_without_tensorboard_says_so(void **state)
{
    (void)state;
    bench_report report;
    open_report(&report);
    add_result(&report, "cpu", 32);
    expect_status(bench_events_check(scratch_path("tb")), CORNU_UNSUPPORTED);
    expect_status(bench_write_events(&report, scratch_path("tb")), CORNU_UNSUPPORTED);
    assert_int_equal(scratch_count(), 0);
    bench_report_free(&report);
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
