/* The report from made-up results: its table, its JSON. */
#include "bench/bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Every workload on two devices, with times of `scale` ms and worse. */
static void make_report(bench_report *report, double scale)
{
    static const char *const devices[] = {"cpu", "reference"};
    *report = (bench_report){0};
    bench_machine_read(&report->machine);
    snprintf(report->machine.cpu, sizeof report->machine.cpu,
             "Some Vendor With A Long Name Model 9999X Processor @ 2.50GHz Special Edition");
    report->limits = (device_limits){.fma = 3.04e11,
                                     .read = 2e10,
                                     .update = 3.7e10,
                                     .cache_update = 8e10,
                                     .threads = 128,
                                     .isa = "AVX-512"};
    report->results = calloc(32, sizeof *report->results);
    for (const bench_workload *w = bench_workloads; w->name; w++)
        for (int d = 0; d < 2; d++) {
            bench_result *r = &report->results[report->count++];
            double ms = d ? 99 * scale : scale;
            *r = (bench_result){.workload = w->name,
                                .batch = 32,
                                .steps = 10,
                                .step_ms = {10, ms, ms * 1.1, ms * 1.5, 0.45},
                                .samples_per_second = 32e3 / ms,
                                .epoch_seconds = 1563 * ms / 1e3,
                                .loss_first = 4.751,
                                .loss_last = 0.000933,
                                .share_of_limit = 0.74,
                                .flops_per_step = 1e9,
                                .bytes_per_step = 1e8,
                                .bound = "FMA",
                                .probe_low = 1,
                                .probe_median = 1};
            snprintf(r->device, sizeof r->device, "%s", devices[d]);
            snprintf(r->data_name, sizeof r->data_name, "generated");
        }
}

static char *print(const bench_report *report)
{
    static char *text; /* static: GCC 12 sees a dangling pointer in what open_memstream() fills */
    size_t size;
    FILE *f = open_memstream(&text, &size);
    bench_print(report, f);
    fclose(f);
    return text;
}

static void table_fits_80_columns_for_any_times(void **state)
{
    (void)state;
    static const double scales[] = {0.001, 0.5, 8.4, 123.4, 9999};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        bench_report report;
        make_report(&report, scales[i]);
        bench_note(&report, "something that is said at such length that it has to be broken into "
                            "lines, as nobody's terminal is as wide as this note is long");
        char *text = print(&report);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            int columns = 0;
            for (const char *c = line; *c; c++)
                columns += ((unsigned char)*c & 0xC0) != 0x80;
            if (columns > 80)
                fail_msg("%d columns: %s", columns, line);
        }
        free(text);
        bench_report_free(&report);
    }
}

/* One row: rounds of 10, 11, ... 20 ms and one of 30. */
static void make_noisy(bench_report *report)
{
    double rounds[] = {15, 14, 30, 13, 12, 11, 16, 10, 17, 18, 19, 20};
    make_report(report, 8.4);
    report->count = 1;
    report->results[0].step_ms = statistics_of(rounds, 12);
    report->results[0].epoch_seconds = 1563 * 15.5e-3;
}

static void a_row_has_minimum_median_and_deviation_of_its_rounds(void **state)
{
    (void)state;
    bench_report report;
    make_noisy(&report);
    char *text = print(&report);
    char *row = strstr(text, "cifar10-mlp"), name[32], device[32];
    double minimum, median, deviation, limit, epoch;
    assert_int_equal(sscanf(row, "%31s %31s %lf %lf ±%lf %lf %% %lf s", name, device, &minimum,
                            &median, &deviation, &limit, &epoch),
                     7);
    assert_true(minimum == 10.0 && median == 15.5);
    assert_true(deviation == 10.0); /* half of 10 to 30, the twelfth of twelve */
    assert_true(limit == 74 && epoch == 24.2);
    assert_non_null(strstr(text, "min ms"));
    assert_non_null(strstr(text, "median ms"));
    free(text);
    bench_report_free(&report);
}

static void a_note_says_how_far_medians_are_from_minima(void **state)
{
    (void)state;
    bench_report report;
    make_noisy(&report);
    assert_int_equal(bench_note_noise(&report), CORNU_OK);
    assert_int_equal(report.note_count, 1);
    assert_non_null(strstr(report.notes[0], "cifar10-mlp on cpu 1.55 times"));
    assert_int_equal(bench_make_json(&report), CORNU_OK);
    const json_t *first = json_array_get(json_object_get(report.json, "results"), 0);
    const json_t *ms = json_object_get(first, "ms_per_step");
    assert_true(json_number_value(json_object_get(ms, "median_over_min")) == 1.55);
    bench_report_free(&report);
    make_noisy(&report); /* a sweep */
    report.count = 9;
    for (int i = 1; i < report.count; i++) {
        report.results[i] = report.results[0];
        report.results[i].batch = 64 << i;
    }
    assert_int_equal(bench_note_noise(&report), CORNU_OK);
    assert_non_null(strstr(report.notes[0], ", cifar10-mlp on cpu with batch 128 1.55 times, "));
    assert_non_null(strstr(report.notes[0], " times, and ")); /* not each of many */
    assert_non_null(strstr(report.notes[0], " more; the machine was not quiet, and what it can do "
                                            "is nearer the minimum"));
    bench_report_free(&report);
    make_report(&report, 8.4); /* medians 1.1 times the minima */
    assert_int_equal(bench_note_noise(&report), CORNU_OK);
    assert_int_equal(report.note_count, 0);
    bench_report_free(&report);
}

/* A device that failed has its row, with the reason in place of figures; the lines below the table
   are about the others. */
static void a_row_that_failed_says_why(void **state)
{
    (void)state;
    static const char why[] = "device cuda:0: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory) "
                              "which is more than one line has room for";
    bench_report report;
    make_report(&report, 8.4);
    for (int i = 0; i < report.count; i += 2) { /* the first device of each workload */
        bench_result *r = &report.results[i];
        snprintf(r->device, sizeof r->device, "cuda:0");
        snprintf(r->failed, sizeof r->failed, "%s", why);
        r->step_ms = (statistics){0, NAN, NAN, NAN, NAN};
        r->share_of_limit = r->loss_first = r->epoch_seconds = NAN;
    }
    char *text = print(&report);
    char *row = strstr(text, "\ncifar10-mlp"), *end = strchr(row + 1, '\n');
    assert_non_null(memmem(row, (size_t)(end - row), " cuda:0  ", 9));
    assert_non_null(memmem(row, (size_t)(end - row), "  failed: device cuda:0: cuMem", 30));
    assert_true(end[1] == ' '); /* it continues below the reason */
    row = strstr(end, "\ncifar10-mlp");
    assert_non_null(memmem(row, 40, " reference ", 11));
    assert_null(strstr(text, "nan"));
    assert_int_equal(bench_note_noise(&report), CORNU_OK);
    assert_int_equal(report.note_count, 0);
    assert_null(strstr(text, "/cuda:0")); /* ratios would be to a row without figures */
    assert_non_null(strstr(text, "Why: cornu explain "));
    assert_int_equal(bench_make_json(&report), CORNU_OK);
    const json_t *results = json_object_get(report.json, "results");
    const json_t *first = json_array_get(results, 0), *second = json_array_get(results, 1);
    assert_string_equal(json_string_value(json_object_get(first, "error")), why);
    assert_true(json_is_null(json_object_get(first, "share_of_limit")));
    assert_true(json_is_null(json_object_get(second, "error")));
    free(text);
    bench_report_free(&report);
}

/* Ratios are to the first device with figures, if it has some for the workload. */
static void ratios_are_to_the_first_device_that_was_measured(void **state)
{
    (void)state;
    bench_report report;
    make_report(&report, 8.4);
    snprintf(report.results[2].failed, sizeof report.results[2].failed, "why");
    char *text = print(&report), *row = text;
    assert_non_null(strstr(text, "/cpu"));
    for (int i = 0; i < 2; i++) { /* the second device's row of the first two workloads */
        row = strstr(row + 1, " reference ");
        char *end = strchr(row, '\n');
        assert_true((memmem(row, (size_t)(end - row), " 99x ", 5) != NULL) == (i == 0));
    }
    free(text);
    snprintf(report.results[0].failed, sizeof report.results[0].failed, "why");
    text = print(&report);
    assert_non_null(strstr(text, " /referen"));
    assert_null(strstr(text, "/cpu"));
    free(text);
    bench_report_free(&report);
}

static void published_times_stand_beside_their_hardware(void **state)
{
    (void)state;
    bench_report report;
    make_report(&report, 8.4);
    char *text = print(&report);
    for (const published_figure *f = published_figures; f->workload; f++) {
        const char *hardware = f->hardware; /* may be broken at its blanks */
        assert_non_null(memmem(text, strlen(text), hardware, strcspn(hardware, " ")));
    }
    free(text);
    bench_report_free(&report);
}

static void json_has_the_contracts_keys_and_no_nan(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "workload",           "device",         "batch",      "steps",     "ms_per_step",
        "samples_per_second", "epoch_seconds",  "loss_first", "loss_last", "flops_per_step",
        "bytes_per_step",     "share_of_limit", "data",       "published"};
    bench_report report;
    make_report(&report, 8.4);
    report.results[0].loss_last = NAN;
    assert_int_equal(bench_make_json(&report), CORNU_OK);
    const json_t *first = json_array_get(json_object_get(report.json, "results"), 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(json_object_get(first, keys[i]));
    assert_true(json_is_null(json_object_get(first, "loss_last")));
    assert_non_null(json_object_get(report.json, "machine"));
    assert_non_null(json_object_get(report.json, "limits"));
    bench_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_fits_80_columns_for_any_times),
        cmocka_unit_test(a_row_has_minimum_median_and_deviation_of_its_rounds),
        cmocka_unit_test(a_note_says_how_far_medians_are_from_minima),
        cmocka_unit_test(a_row_that_failed_says_why),
        cmocka_unit_test(ratios_are_to_the_first_device_that_was_measured),
        cmocka_unit_test(published_times_stand_beside_their_hardware),
        cmocka_unit_test(json_has_the_contracts_keys_and_no_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
