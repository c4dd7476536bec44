/* A workload while it is timed: the estimate of its memory against the memory it takes, its step,
   and its data. */
#include "bench/candidate.h"
#include "bench/tune.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/scratch.h"
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

/* Bytes of this process in memory. */
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

/* The maximum of a kernel's scratch memory. */
static double scratch_of(const candidate *c)
{
    const int count = c->plan->plan->op_count;
    kernel_choice *choices = calloc((size_t)count, sizeof *choices);
    double most = 0;
    device *d = session_device(c->session);
    expect_ok(d->ops->choices(d, c->plan->prepared, choices));
    for (int i = 0; i < count; i++)
        most = fmax(most, (double)choices[i].scratch_bytes);
    free(choices);
    return most;
}

/* A batch so large that buffers dominate. */
static void what_a_candidate_takes_is_what_is_measured(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* sanitizers keep memory of their own */
    static candidate c;
    const int64_t batch = 4096;
    const bench_workload *w = workload("cifar100-mlp");
    bench_options options = {.quick = true, .batch = batch, .data = "/nonexistent"};
    bench_effort effort = {.warm_up_seconds = 0.01, .round_seconds = 0.01, .rounds_most = 4};
    bench_report report = {.count = 0};
    bench_result result;
    bench_data *data;
    cornu_model *model;
    double estimate;
    expect_ok(cornu_model_open(w->name, &model));
    expect_ok(bench_data_open(w, model, batch, &options, &report, &data));
    expect_ok(candidate_memory(w, "cpu", &options, &estimate));
    data->users++;
    double before = resident();
    expect_ok(candidate_open(&c, w, "cpu", data, &options, &effort, &report));
    expect_ok(candidate_start(&c, &options));
    expect_ok(candidate_warm_up(&c, &options, &effort));
    expect_ok(candidate_round(&c, 1, &effort));
    expect_ok(candidate_result(&c, &result));
    double taken = resident() - before;
    const double weights = 4 * 1730404.0, variables = 3 * weights; /* with Adam's slots */
    double said =
        result.working_set + weights + scratch_of(&c); /* including the model's own copy */
    double buffers = result.working_set - variables;
    if (said < 0.9 * taken || said > 1.1 * taken || buffers < taken / 2)
        fail_msg("taken %.0f MB, of which said %.0f and buffers %.0f", taken / 1e6, said / 1e6,
                 buffers / 1e6);
    /* Scratch memory may take as much as the buffers. */
    assert_true(estimate == variables + weights + 2 * buffers);
    candidate_close(&c);
    bench_data_close(data);
    cornu_model_close(model);
    bench_report_free(&report);
}

static void what_was_never_measured_has_no_figure(void **state)
{
    (void)state;
    static candidate c;
    const bench_workload *w = workload("mnist-cnn-2");
    bench_options options = {.quick = true, .batch = 8, .data = "/nonexistent"};
    bench_effort effort = {.warm_up_seconds = 0.01, .round_seconds = 0.01, .rounds_most = 4};
    bench_report report = {.count = 0};
    bench_result result;
    expect_ok(candidate_open(&c, w, "cpu", NULL, &options, &effort, &report));
    expect_ok(candidate_start(&c, &options));
    expect_ok(candidate_warm_up(&c, &options, &effort));
    expect_ok(candidate_round(&c, NAN, &effort));
    expect_ok(candidate_result(&c, &result));
    assert_true(isnan(result.host_watts) && isnan(result.watts));
    assert_true(isnan(result.joules_per_epoch) && isnan(result.clock_mhz));
    assert_true(isnan(result.probe_low) && isnan(result.probe_median));
    assert_true(isnan(result.validation_ms));
    /* Seconds without a counter are not a saving. */
    candidate_meter(&c, NAN, 100);
    candidate_meter(&c, 5, 2);
    candidate_meter(&c, NAN, 100);
    expect_ok(candidate_result(&c, &result));
    assert_true(result.host_watts == 2.5);
    candidate_close(&c);
    bench_report_free(&report);
}

static void tune_times_the_step_that_a_recipe_trains_with(void **state)
{
    (void)state;
    for (int recomputes = 0; recomputes < 2; recomputes++) {
        tune_side side = {NULL};
        char recipe[512];
        snprintf(recipe, sizeof recipe,
                 "model: {input: [8], layers: [{Dense: {units: 3, activation: softmax}}]}\n"
                 "compile: {optimizer: sgd, loss: categorical_crossentropy}\n"
                 "fit: {recompute: %s}\n",
                 recomputes ? "true" : "false");
        expect_ok(
            tune_side_open(&side, scratch_write("net.yaml", recipe, strlen(recipe)), "cpu", NULL));
        assert_int_equal(runs_recomputed(), recomputes);
        tune_side_close(&side);
    }
}

/* ---- folders of pictures ------------------------------------------------------------------- */

enum { PICTURES = 24 };

static notices said;

static cornu_status open_photos(bool (*should_stop)(void *user), bench_report *report,
                                bench_data **data)
{
    static bench_options options;
    static char folder[1100];
    cornu_model *model;
    const bench_workload *w = workload("photos-cnn-ready");
    said = (notices){.count = 0};
    snprintf(folder, sizeof folder, "%s", scratch_path("photos"));
    options = (bench_options){
        .data = folder, .on_notice = notices_add, .should_stop = should_stop, .user = &said};
    expect_ok(cornu_model_open(w->name, &model));
    cornu_status status = bench_data_open(w, model, 4, &options, report, data);
    cornu_model_close(model);
    return status;
}

static void make_photos(void)
{
    for (int i = 0; i < PICTURES; i++) {
        char name[64];
        snprintf(name, sizeof name, "photos/%d/%d.pgm", i % 8, i);
        made_grey(name, i);
    }
}

static void pictures_are_decoded_before_anything_is_timed_and_it_says_so(void **state)
{
    (void)state;
    bench_report report = {.count = 0};
    bench_data *data;
    make_photos();
    made_file("photos/1/broken.pgm", "P5 9 9 255\n", 11);
    expect_ok(open_photos(NULL, &report, &data));
    assert_true(data->real);
    assert_true(data_is_whole(data->data)); /* no worker decodes during the rounds */
    assert_non_null(strstr(said.lines, "photos-cnn-ready: decoding pictures, "));
    assert_non_null(strstr(said.lines, " of 25"));
    assert_int_equal(report.note_count, 1);
    assert_string_equal(report.notes[0], "photos-cnn-ready: photos: 1 file skipped");
    bench_data_close(data);
    bench_report_free(&report);
}

static bool stop_at_once(void *user)
{
    (void)user;
    return true;
}

static void decoding_pictures_can_be_stopped(void **state)
{
    (void)state;
    bench_report report = {.count = 0};
    bench_data *data = NULL;
    make_photos();
    expect_status(open_photos(stop_at_once, &report, &data), CORNU_STOPPED);
    assert_null(data);
    bench_report_free(&report);
}

static void a_folder_without_a_readable_picture_is_refused(void **state)
{
    (void)state;
    bench_report report = {.count = 0};
    bench_data *data = NULL;
    made_file("photos/1/broken.pgm", "P5 9 9 255\n", 11);
    expect_status(open_photos(NULL, &report, &data), CORNU_BAD_FILE);
    expect_message("photos: found no readable images");
    bench_report_free(&report);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_candidate_takes_is_what_is_measured),
        cmocka_unit_test(what_was_never_measured_has_no_figure),
        WITH_FOLDER(tune_times_the_step_that_a_recipe_trains_with),
        WITH_FOLDER(pictures_are_decoded_before_anything_is_timed_and_it_says_so),
        WITH_FOLDER(decoding_pictures_can_be_stopped),
        WITH_FOLDER(a_folder_without_a_readable_picture_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
