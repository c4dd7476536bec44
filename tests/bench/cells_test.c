/* Single cells of the report's table, and the refusals of bench before it measures. */
#include "bench/bench.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The printed row of a workload on the cpu whose epoch takes this long. */
static char *row_of(const char *workload, double epoch_seconds)
{
    bench_report report = {.count = 1, .results = calloc(1, sizeof *report.results)};
    report.results[0] = (bench_result){.workload = workload,
                                       .step_ms = {3, 10, 10, 10, 0},
                                       .epoch_seconds = epoch_seconds,
                                       .loss_first = 2,
                                       .loss_last = 1,
                                       .device = "cpu"};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    bench_print(&report, f);
    fclose(f);
    bench_report_free(&report);
    char *heading = strstr(text, "median ms");
    assert_non_null(heading);
    char *row = strdup(strchr(heading, '\n') + 1);
    row[strcspn(row, "\n")] = 0;
    free(text);
    return row;
}

static void must_hold(const char *workload, double epoch_seconds, const char *cell)
{
    char *row = row_of(workload, epoch_seconds);
    if (!strstr(row, cell))
        fail_msg("\"%s\" does not hold \"%s\"", row, cell);
    free(row);
}

static void epochs_are_shown_in_seconds_then_in_hours(void **state)
{
    (void)state;
    must_hold("mnist-cnn-2", 12.34, " 12.3 s");
    must_hold("mnist-cnn-2", 123.4, " 123 s");
    must_hold("mnist-cnn-2", 36000, " 10.0 h");
}

static void the_fastest_published_epoch_on_the_kind_of_device_is_shown(void **state)
{
    (void)state;
    for (const bench_workload *w = bench_workloads; w->name; w++) {
        double least = 0;
        char cell[32];
        for (const published_figure *f = published_figures; f->workload; f++)
            if (strcmp(f->workload, w->name) == 0 && strcmp(f->device_kind, "cpu") == 0 &&
                f->epoch_seconds > 0 && (least == 0 || f->epoch_seconds < least))
                least = f->epoch_seconds;
        if (least == 0)
            continue;
        snprintf(cell, sizeof cell, least < 99.5 ? " %.1f s" : " %.0f s", least);
        must_hold(w->name, 1, cell);
    }
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    const bench_options cases[] = {{.steps = -1},
                                   {.batch = -1},
                                   {.threads = -1},
                                   {.workloads = (const char *const[]){"none", NULL}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench_report report;
        assert_int_equal(bench_run(&cases[i], &report), CORNU_INVALID);
        bench_report_free(&report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_are_shown_in_seconds_then_in_hours),
        cmocka_unit_test(the_fastest_published_epoch_on_the_kind_of_device_is_shown),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
