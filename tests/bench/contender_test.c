/* The memory that a workload is said to take while it is timed, beside what it takes. */
#include "bench/contender.h"
#include "train/session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Bytes of this process that are in memory. */
static double resident(void)
{
    long all, here;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &all, &here), 2);
    fclose(f);
    return (double)here * (double)sysconf(_SC_PAGESIZE);
}

static const bench_workload *workload(const char *name)
{
    const bench_workload *w = bench_workloads;
    while (w->name && strcmp(w->name, name) != 0)
        w++;
    assert_non_null(w->name);
    return w;
}

static void ok(cornu_status status)
{
    if (status != CORNU_OK)
        fail_msg("%s", cornu_last_error());
}

/* The most that a kernel has besides. */
static double scratch_of(const contender *c)
{
    const int count = c->plan->plan->op_count;
    kernel_choice *choices = calloc((size_t)count, sizeof *choices);
    double most = 0;
    device *d = session_device(c->session);
    ok(d->ops->choices(d, c->plan->prepared, choices));
    for (int i = 0; i < count; i++)
        most = fmax(most, (double)choices[i].scratch_bytes);
    free(choices);
    return most;
}

/* A batch so large that buffers are most of it. */
static void what_a_contender_takes_is_what_is_measured(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* sanitizers keep memory of their own */
#endif
    static contender c;
    const int64_t batch = 4096;
    const bench_workload *w = workload("cifar100-mlp");
    bench_options options = {.quick = true, .batch = batch, .data = "/nonexistent"};
    bench_effort effort = {.warm_up_seconds = 0.01, .round_seconds = 0.01, .rounds_most = 4};
    bench_report report = {.count = 0};
    bench_result result;
    bench_data *data;
    cornu_model *model;
    double estimate;
    ok(cornu_model_open(w->name, &model));
    ok(bench_data_open(w, model, batch, &options, &report, &data));
    ok(contender_memory(w, batch, &estimate));
    data->users++;
    double before = resident();
    ok(contender_open(&c, w, "cpu", data, &options, &effort, &report));
    ok(contender_warm_up(&c, &options, &effort));
    ok(contender_round(&c, 1, &effort));
    ok(contender_result(&c, &result));
    double taken = resident() - before;
    const double weights = 4 * 1730404.0, variables = 3 * weights; /* with Adam's slots */
    double said = result.working_set + weights + scratch_of(&c);   /* the model's own copy, too */
    double buffers = result.working_set - variables;
    if (said < 0.9 * taken || said > 1.1 * taken || buffers < taken / 2)
        fail_msg("taken %.0f MB, of which said %.0f and buffers %.0f", taken / 1e6, said / 1e6,
                 buffers / 1e6);
    /* Scratch memory may take as much again. */
    assert_true(estimate == variables + weights + 2 * buffers);
    contender_close(&c);
    bench_data_close(data);
    cornu_model_close(model);
    bench_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_contender_takes_is_what_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
