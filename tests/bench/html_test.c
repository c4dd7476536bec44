/* Pages of made-up measurements: the answer's sentence, one chart for all epochs, sweeps,
 * estimates. */
#include "base/files.h"
#include "bench/advise.h"
#include "bench/bench.h"
#include "bench/report.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct made {
    const char *workload, *device;
    double epoch; /* 0: failed */
    int64_t batch;
} made;

/* Rows up to one without a workload. */
static bench_report *report_of(const made *rows)
{
    static bench_result results[16];
    static bench_report report;
    report = (bench_report){.results = results, .limits = {.threads = 2, .isa = "AVX2"}};
    for (; rows->workload; rows++) {
        bench_result *r = &results[report.count++];
        *r = (bench_result){.workload = rows->workload,
                            .batch = rows->batch ? rows->batch : 32,
                            .epoch_seconds = rows->epoch,
                            .samples_per_second = 1e5 / rows->epoch,
                            .step_ms = {.rounds = 5, .median = rows->epoch},
                            .real_data = true};
        snprintf(r->device, sizeof r->device, "%s", rows->device);
        snprintf(r->failed, sizeof r->failed, "%s", rows->epoch > 0 ? "" : "left out: no memory");
    }
    return &report;
}

static char *page_of(const bench_report *report)
{
    static char *page;
    size_t size;
    expect_ok(bench_write_html(report, scratch_path("page.html")));
    expect_ok(file_read(scratch_path("page.html"), 1 << 20, &page, &size));
    return page;
}

static void the_answer_says_which_device_and_how_much_faster(void **state)
{
    (void)state;
    static const struct {
        made rows[8];
        const char *expected;
    } cases[] = {
        {{{"cifar10-mlp", "cpu", 5.9, 0}},
         "On cpu an epoch of cifar10-mlp takes 5.9 s; the published CPU takes 10 times as long, "
         "the "
         "published GPU takes 1.5 times as long."},
        {{{"mnist-cnn-2", "cpu", 90, 0}}, "On cpu an epoch of mnist-cnn-2 takes 90 s."},
        {{{"cifar10-cnn", "cpu", 72, 0}},
         "On cpu an epoch of cifar10-cnn takes 72 s; the published CPU takes 50 % of the time, the "
         "published GPU takes 5.6 % of the time."},
        {{{"mnist-cnn-2", "cpu", 10, 0},
          {"mnist-cnn-2", "opencl:0", 31, 0},
          {"mnist-cnn-4", "cpu", 20, 0},
          {"mnist-cnn-4", "opencl:0", 1080, 0}},
         "cpu is the fastest device here, 3.1 to 54 times as fast as opencl:0: an epoch takes 10 s "
         "(mnist-cnn-2) to 20 s (mnist-cnn-4)."},
        {{{"mnist-cnn-2", "cpu", 10, 0},
          {"mnist-cnn-2", "opencl:0", 5, 0},
          {"mnist-cnn-4", "cpu", 20, 0},
          {"mnist-cnn-4", "opencl:0", 10, 0},
          {"photos-cnn-256", "cpu", 1, 0},
          {"photos-cnn-256", "opencl:0", 2, 0}},
         "opencl:0 is the fastest device on 2 of 3 workloads, 2.0 times as fast as cpu: an epoch "
         "takes 5.0 s (mnist-cnn-2) to 10 s (mnist-cnn-4)."},
        {{{"mnist-cnn-2", "cpu", 0, 0}}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        bench_html_answer(report_of(cases[i].rows), line, sizeof line);
        assert_string_equal(line, cases[i].expected);
    }
}

static int count_of(const char *text, const char *what)
{
    int found = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        found++;
    return found;
}

/* Even where one is a hundred times longer: then on a logarithmic axis, which says so. */
static void one_chart_has_the_epochs_of_all_workloads_and_what_is_published(void **state)
{
    (void)state;
    static const made rows[] = {
        {"cifar10-mlp", "cpu", 5, 0}, {"cifar10-cnn", "cpu", 400, 0}, {NULL, NULL, 0, 0}};
    char *page = page_of(report_of(rows));
    assert_int_equal(count_of(page, "An epoch here, and as published"), 1);
    static const char *const held[] = {"<h4>cifar10-mlp</h4>", "<h4>cifar10-cnn</h4>",
                                       ">unnamed GPU</div>",   ">GTX 1080 Ti</div>",
                                       "seconds, logarithmic", "published, on the hardware named"};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        assert_non_null(strstr(page, held[i]));
    /* The answer first, the caveats last. */
    const char *answer = strstr(page, "class=\"answer\""), *chart = strstr(page, "<figure");
    assert_true(answer && chart && answer < chart);
    free(page);
}

static void a_sweep_has_a_page_of_its_own_without_rows_that_were_left_out(void **state)
{
    (void)state;
    static const made rows[] = {{"mnist-cnn-2", "cpu", 10, 1},
                                {"mnist-cnn-2", "reference", 20, 1},
                                {"mnist-cnn-2", "cpu", 5, 8},
                                {"mnist-cnn-2", "reference", 0, 8},
                                {"mnist-cnn-2", "cpu", 4, 64},
                                {"mnist-cnn-2", "reference", 0, 64},
                                {NULL, NULL, 0, 0}};
    const bench_report *report = report_of(rows);
    assert_true(bench_html_is_sweep(report));
    char *page = page_of(report);
    assert_non_null(strstr(page, "mnist-cnn-2 is fastest on cpu with batch 64: 25000 samples a "
                                 "second. reference is not faster than cpu at batch 1."));
    assert_non_null(strstr(page, "reference was not measured with batch 8, 64: with 8 no memory."));
    assert_int_equal(count_of(page, "<td>reference</td>"), 1);
    assert_non_null(strstr(page, "Samples a second by the batch"));
    free(page);
    static const made one[] = {{"mnist-cnn-2", "cpu", 10, 1},
                               {"mnist-cnn-2", "reference", 20, 1},
                               {"mnist-cnn-2", "cpu", 0, 8},
                               {NULL, NULL, 0, 0}};
    page = page_of(report_of(one));
    assert_null(strstr(page, "Samples a second by the batch")); /* a line of one point */
    assert_non_null(strstr(page, "<td>reference</td>"));
    free(page);
    static const made usual[] = {{"cifar10-mlp", "cpu", 5, 0}, {NULL, NULL, 0, 0}};
    assert_false(bench_html_is_sweep(report_of(usual)));
}

static void a_page_says_that_the_run_was_interrupted(void **state)
{
    (void)state;
    static const made rows[] = {{"cifar10-mlp", "cpu", 5, 0}, {NULL, NULL, 0, 0}};
    bench_report *report = report_of(rows);
    for (int i = 0; i < 2; i++) {
        report->interrupted = i;
        char *page = page_of(report);
        assert_int_equal(count_of(page, "; interrupted before all was measured</p>"), i);
        free(page);
    }
}

/* ---- estimates -------------------------------------------------------------------------- */

static const advise_estimate *estimate_of(const advise_report *r, const char *hardware)
{
    for (int i = 0; i < r->estimate_count; i++)
        if (strcmp(r->estimates[i].hardware, hardware) == 0)
            return &r->estimates[i];
    fail_msg("no estimate of %s", hardware);
    return NULL;
}

static void gpus_that_are_not_here_are_estimated_from_published_figures(void **state)
{
    (void)state;
    static advise_report r;
    cornu_model *model;
    r = (advise_report){.epochs = 10, .steps = 500, .batch = 100};
    expect_ok(cornu_model_open("cifar10-cnn", &model));
    expect_ok(advise_estimate_gpus("cifar10-cnn", model, &r));
    assert_int_equal(r.estimate_count, 4);
    assert_true(fabs(estimate_of(&r, "GTX 1080 Ti")->seconds - 40) < 1e-9);
    /* A recipe of the same size: by its FLOPs, and less certain. */
    double factor = r.estimates[0].factor;
    expect_ok(advise_estimate_gpus("own.yaml", model, &r));
    assert_true(fabs(estimate_of(&r, "GTX 1080 Ti")->seconds - 40) < 0.4);
    assert_true(r.estimates[0].factor > factor);
    cornu_model_close(model);
    /* A recipe whose steps have a different size: no estimate is possible. */
    model = runs_usual(NULL);
    expect_ok(advise_estimate_gpus("own.yaml", model, &r));
    assert_int_equal(r.estimate_count, 0);
    cornu_model_close(model);
}

static void the_sentence_names_an_estimate_where_no_gpu_is_here(void **state)
{
    (void)state;
    static advise_report r;
    r = (advise_report){.batch = 32, .count = 2, .estimate_count = 1};
    r.rows[0] = (advise_row){.device = "cpu", .seconds = 600, .error = 60, .cost = NAN};
    r.rows[1] = (advise_row){
        .device = "opencl:0", .seconds = 32400, .error = 600, .cost = NAN, .compared_up_to = 1};
    r.estimates[0] = (advise_estimate){"GTX 1080 Ti", "cifar10-cnn", 40, 1.5};
    advise_say(&r);
    /* What batch 1 shows says nothing about batch 32. */
    assert_string_equal(r.advice, "Train on cpu: opencl:0 takes 54 times as long at batch 32. By "
                                  "estimate the GPU of the published figures (GTX 1080 Ti) would "
                                  "take about 40 s.");
    r.rows[1].gpu = true;
    advise_say(&r);
    assert_null(strstr(r.advice, "estimate"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_says_which_device_and_how_much_faster),
        cmocka_unit_test_setup_teardown(
            one_chart_has_the_epochs_of_all_workloads_and_what_is_published, scratch_open,
            scratch_close),
        cmocka_unit_test_setup_teardown(
            a_sweep_has_a_page_of_its_own_without_rows_that_were_left_out, scratch_open,
            scratch_close),
        cmocka_unit_test_setup_teardown(a_page_says_that_the_run_was_interrupted, scratch_open,
                                        scratch_close),
        cmocka_unit_test(gpus_that_are_not_here_are_estimated_from_published_figures),
        cmocka_unit_test(the_sentence_names_an_estimate_where_no_gpu_is_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
