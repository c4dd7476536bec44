/* bench --baseline: its statistics on simulated rounds, and its verdicts on saved reports. */
#include "base/philox.h"
#include "bench/baseline.h"
#include "bench/bench.h"
#include "support/scratch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROUNDS = 80, RUNS = 200 };

/* One run of a program whose step takes `ms` on an idle machine. */
typedef struct machine {
    double run_bias;  /* deviation of a run's own bias, by memory and clock */
    double jitter;    /* mean of the time added to each round's fastest step, always upward */
    double busy;      /* fraction of the time with other load, in episodes */
    double preempted; /* fraction of busy rounds in which every step was preempted */
    double slowdown;  /* maximum, of the steps of the other busy rounds */
    double reads; /* deviation of the logarithm of the time of reading the variables, per run and
                 per round; READ_SHARE of it affects the step */
} machine;

static const double READ_SHARE = 0.25;
static const machine quiet = {0.008, 0.004, 0, 0, 0, 0};
static const machine shared = {0.010, 0.010, 0.5, 0.7, 0.5, 0};
static const machine drowned = {0.010, 0.010, 1, 0.95, 1, 0};
static const machine contended = {0.008, 0.004, 0, 0, 0, 0.15};

typedef struct run {
    double ms[ROUNDS], fastest[ROUNDS], probe[ROUNDS], memory[ROUNDS];
} run;

static bench_rounds rounds_of(const run *r)
{
    return (bench_rounds){r->ms, r->fastest, r->probe, r->memory, ROUNDS};
}

static void simulate(const machine *m, double ms, uint64_t seed, run *out)
{
    random_stream random = random_open(seed, RANDOM_GENERATE, 7);
    double own = ms * exp(m->run_bias * (double)random_normal(&random));
    random_stream others = random_open(seed, RANDOM_GENERATE, 8);
    double reads = m->reads * (double)random_normal(&others);
    bool busy = (double)random_uniform(&random) < m->busy;
    for (int i = 0; i < ROUNDS; i++) {
        if ((double)random_uniform(&random) < 0.15) /* an episode ends */
            busy = (double)random_uniform(&random) < m->busy;
        double more = -m->jitter * log(1 - (double)random_uniform(&random));
        double load = busy ? m->slowdown * (double)random_uniform(&random) : 0;
        bool lost = busy && (double)random_uniform(&random) < m->preempted;
        double read = reads + m->reads * (double)random_normal(&others);
        more += exp(READ_SHARE * read) - 1;
        out->memory[i] = 4e10 * exp(-read);
        out->fastest[i] = lost ? NAN : own * (1 + more + load);
        out->ms[i] = own * (1 + more + load + (busy ? 1 : 0));
        out->probe[i] = busy ? 1.0e11 : 1.8e11;
    }
}

/* Count how many of RUNS pairs are found slower, or faster. */
static void count_verdicts(const machine *m, double change, int comparisons, int counts[4])
{
    static run then, now;
    memset(counts, 0, 4 * sizeof *counts);
    for (int i = 0; i < RUNS; i++) {
        bench_change c = {.verdict = BENCH_SAME};
        simulate(m, 1.3, (uint64_t)(2 * i + 1), &then);
        simulate(m, 1.3 * change, (uint64_t)(2 * i + 2), &now);
        const bench_rounds before = rounds_of(&then), after = rounds_of(&now);
        baseline_compare(&before, &after, comparisons, &c);
        counts[c.verdict]++;
    }
}

static void runs_of_one_program_do_not_differ(void **state)
{
    (void)state;
    static const machine *const machines[] = {&quiet, &shared, &drowned, &contended};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        int counts[4];
        count_verdicts(machines[i], 1, 1, counts);
        if (counts[BENCH_SLOWER] + counts[BENCH_FASTER] > RUNS / 20)
            fail_msg("machine %zu: %d slower, %d faster of %d", i, counts[BENCH_SLOWER],
                     counts[BENCH_FASTER], RUNS);
    }
}

static void ten_percent_are_found(void **state)
{
    (void)state;
    int counts[4];
    static const machine *const machines[] = {&quiet, &shared, &contended};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        count_verdicts(machines[i], 1.1, 1, counts);
        if (counts[BENCH_SLOWER] < RUNS * 19 / 20 || counts[BENCH_FASTER] > 0)
            fail_msg("machine %zu: %d of %d found slower", i, counts[BENCH_SLOWER], RUNS);
        count_verdicts(machines[i], 1 / 1.1, 1, counts);
        if (counts[BENCH_FASTER] < RUNS * 19 / 20 || counts[BENCH_SLOWER] > 0)
            fail_msg("machine %zu: %d of %d found faster", i, counts[BENCH_FASTER], RUNS);
    }
    count_verdicts(&quiet, 1.1, 24, counts); /* eight workloads on three devices */
    assert_true(counts[BENCH_SLOWER] >= RUNS * 19 / 20);
}

static void many_comparisons_share_one_chance_of_a_false_alarm(void **state)
{
    (void)state;
    int one[4], many[4];
    machine wide = quiet;
    wide.run_bias = 0.02; /* more than the test allows for */
    count_verdicts(&wide, 1, 1, one);
    count_verdicts(&wide, 1, 24, many);
    assert_true(one[BENCH_SAME] > 0);
    assert_true(many[BENCH_SAME] > one[BENCH_SAME]);
}

static void a_machine_without_a_quiet_moment_is_no_evidence(void **state)
{
    (void)state;
    static run then, now;
    bench_change c = {.verdict = BENCH_SAME};
    simulate(&quiet, 1.3, 1, &then);
    simulate(&quiet, 1.3, 2, &now);
    for (int i = 5; i < ROUNDS; i++)
        now.fastest[i] = NAN;
    const bench_rounds before = rounds_of(&then), after = rounds_of(&now);
    baseline_compare(&before, &after, 1, &c);
    assert_int_equal(c.verdict, BENCH_NOT_COMPARED);
    assert_non_null(strstr(c.why, "this run: found 5 rounds of 80"));
    assert_true(isnan(c.ratio));
}

/* Cores with half of their usual rate may make a step take twice as long. */
static void what_the_probe_explains_is_not_the_programs(void **state)
{
    (void)state;
    static run then, now;
    bench_change c = {.verdict = BENCH_SAME};
    simulate(&quiet, 1.3, 1, &then);
    simulate(&quiet, 2.4, 2, &now);
    const bench_rounds before = rounds_of(&then), after = rounds_of(&now);
    baseline_compare(&before, &after, 1, &c);
    assert_int_equal(c.verdict, BENCH_SLOWER);
    for (int i = 0; i < ROUNDS; i++)
        now.probe[i] = 0.9e11;
    baseline_compare(&before, &after, 1, &c);
    assert_int_equal(c.verdict, BENCH_SAME);
    baseline_compare(&after, &before, 1, &c);
    assert_int_equal(c.verdict, BENCH_SAME);
}

static bench_verdict verdict_of(const bench_rounds *before, const bench_rounds *after)
{
    bench_change c;
    baseline_compare(before, after, 1, &c);
    return c.verdict;
}

/* One of the runs is beside others that read memory all the time. */
static void what_memory_explains_is_not_the_programs(void **state)
{
    (void)state;
    static run then, now;
    simulate(&contended, 1.3, 1, &then);
    simulate(&contended, 1.3 * pow(1.8, READ_SHARE), 2, &now);
    for (int i = 0; i < ROUNDS; i++)
        now.memory[i] /= 1.8;
    bench_rounds before = rounds_of(&then), after = rounds_of(&now);
    assert_int_equal(verdict_of(&before, &after), BENCH_SAME);
    assert_int_equal(verdict_of(&after, &before), BENCH_SAME);
    for (int i = 0; i < ROUNDS; i++)
        now.fastest[i] *= 1.15;
    assert_int_equal(verdict_of(&before, &after), BENCH_SLOWER);
    assert_int_equal(verdict_of(&after, &before), BENCH_FASTER);
}

/* The fraction of a step that depends on it is then unknown: it may be the whole. */
static void memory_that_changes_between_runs_only_may_explain_all(void **state)
{
    (void)state;
    static run then, now;
    simulate(&quiet, 1.3, 1, &then);
    simulate(&quiet, 1.3 * 1.2, 2, &now);
    bench_rounds before = rounds_of(&then), after = rounds_of(&now);
    assert_int_equal(verdict_of(&before, &after), BENCH_SLOWER);
    for (int i = 0; i < ROUNDS; i++)
        now.memory[i] /= 1.25;
    assert_int_equal(verdict_of(&before, &after), BENCH_SAME);
    assert_int_equal(verdict_of(&after, &before), BENCH_SAME);
    for (int i = 0; i < ROUNDS; i++)
        now.memory[i] *= 1.25 * 1.25;
    assert_int_equal(verdict_of(&before, &after), BENCH_SLOWER);
}

/* An older cornu did not probe memory: steps are then compared without correction. */
static void runs_without_probes_of_memory_are_compared(void **state)
{
    (void)state;
    static run then, now;
    simulate(&quiet, 1.3, 1, &then);
    simulate(&quiet, 1.3, 2, &now);
    for (int i = 0; i < ROUNDS; i++)
        now.memory[i] *= i % 2 ? 2 : 4; /* would mean much if the other run had the same */
    bench_rounds before = rounds_of(&then), after = rounds_of(&now);
    before.memory = NULL;
    assert_int_equal(verdict_of(&before, &after), BENCH_SAME);
    assert_int_equal(verdict_of(&after, &before), BENCH_SAME);
    for (int i = 0; i < ROUNDS; i++)
        now.fastest[i] *= 1.1;
    assert_int_equal(verdict_of(&before, &after), BENCH_SLOWER);
    assert_int_equal(verdict_of(&after, &before), BENCH_FASTER);
}

/* Rounds with busy cores do not count, though one of their steps was not preempted. */
static void rounds_on_busy_cores_do_not_count(void **state)
{
    (void)state;
    static run then, now;
    simulate(&quiet, 1.3, 1, &then);
    simulate(&quiet, 1.3, 2, &now);
    for (int i = 0; i < ROUNDS * 2 / 3; i++) {
        now.fastest[i] *= 1.5;
        now.probe[i] /= 1.5;
    }
    const bench_rounds before = rounds_of(&then), after = rounds_of(&now);
    assert_int_equal(verdict_of(&before, &after), BENCH_SAME);
}

/* On an accelerator steps overlap: only rounds can be compared. */
static void rounds_are_compared_where_steps_overlap(void **state)
{
    (void)state;
    static run then, now;
    simulate(&quiet, 1.3, 1, &then);
    simulate(&quiet, 1.43, 2, &now);
    for (int i = 0; i < ROUNDS; i++)
        then.fastest[i] = then.probe[i] = then.memory[i] = now.fastest[i] = now.probe[i] =
            now.memory[i] = NAN;
    const bench_rounds before = rounds_of(&then), after = rounds_of(&now);
    assert_int_equal(verdict_of(&before, &after), BENCH_SLOWER);
    for (int i = ROUNDS / 4; i < ROUNDS; i++) /* no probe says that the host was busy */
        now.ms[i] *= 1.2;
    assert_int_equal(verdict_of(&before, &after), BENCH_SLOWER);
    for (int i = 0; i < ROUNDS; i++)
        now.ms[i] /= 1.1;
    assert_int_equal(verdict_of(&before, &after), BENCH_SAME);
}

/* ---- saved reports ---------------------------------------------------------------------- */

static double *copy(const double *values)
{
    double *made = malloc(ROUNDS * sizeof *made);
    memcpy(made, values, ROUNDS * sizeof *made);
    return made;
}

/* Two workloads on the cpu. */
static void make_report(double ms, uint64_t seed, bench_report *report)
{
    static run r;
    static const char *const names[] = {"cifar100-mlp", "mnist-cnn-2"};
    *report = (bench_report){0};
    snprintf(report->machine.cpu, sizeof report->machine.cpu, "Some CPU");
    report->machine.cores = 2;
    report->limits = (device_limits){.fma = 1.8e11, .threads = 2, .isa = "AVX2"};
    report->results = calloc(2, sizeof *report->results);
    for (int i = 0; i < 2; i++) {
        simulate(&quiet, ms, seed + (uint64_t)i, &r);
        bench_result *to = &report->results[report->count++];
        *to = (bench_result){.workload = names[i],
                             .device = "cpu",
                             .precision = "fp32",
                             .data_name = "fashion_mnist",
                             .real_data = true,
                             .batch = 32,
                             .step_ms = {ROUNDS, ms, ms, ms, 0},
                             .ms = copy(r.ms),
                             .fastest = copy(r.fastest),
                             .probe = copy(r.probe),
                             .memory = copy(r.memory)};
    }
    assert_int_equal(bench_make_json(report), CORNU_OK);
}

static void save(const bench_report *report, const char *name)
{
    assert_int_equal(bench_write_json(report->json, scratch_path(name)), CORNU_OK);
}

static void apply(const char *name, bench_report *report)
{
    bench_baseline b;
    assert_int_equal(baseline_open(scratch_path(name), &b), CORNU_OK);
    assert_int_equal(baseline_apply(&b, report), CORNU_OK);
    baseline_close(&b);
    assert_int_equal(bench_make_json(report), CORNU_OK);
}

static char *print(const bench_report *report)
{
    static char *text; /* static: see report_test.c */
    size_t size;
    FILE *f = open_memstream(&text, &size);
    baseline_print(report, f);
    fclose(f);
    return text;
}

static const bench_change *change_of(const bench_report *report, const char *workload)
{
    for (int i = 0; i < report->baseline.count; i++)
        if (strcmp(report->baseline.changes[i].workload, workload) == 0)
            return &report->baseline.changes[i];
    fail_msg("no comparison of %s", workload);
    return NULL;
}

static void a_saved_report_is_compared_in_text_and_json(void **state)
{
    (void)state;
    bench_report then, now;
    make_report(10, 1, &then);
    save(&then, "then.json");
    make_report(12, 11, &now);
    apply("then.json", &now);
    assert_true(baseline_is_slower(&now));
    char *text = print(&now);
    assert_non_null(strstr(text, "Against "));
    assert_non_null(strstr(text, "%  slower\n"));
    char line_[64];
    assert_non_null(
        strstr(baseline_show(&now.baseline.changes[0], line_, sizeof line_), "slower by "));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strlen(line) > 80)
            fail_msg("wider than 80: %s", line);
    free(text);
    const json_t *results = json_object_get(json_object_get(now.json, "baseline"), "results");
    assert_int_equal(json_array_size(results), 2);
    const json_t *first = json_array_get(results, 0);
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "slower");
    double ratio = json_number_value(json_object_get(first, "ratio"));
    assert_true(ratio > 1.15 && ratio < 1.25);
    assert_true(json_number_value(json_object_get(first, "ratio_low")) < ratio);
    assert_true(json_number_value(json_object_get(first, "ratio_high")) > ratio);
    bench_report_free(&then);
    bench_report_free(&now);
}

static void the_same_report_has_not_changed(void **state)
{
    (void)state;
    bench_report then, now;
    make_report(10, 1, &then);
    save(&then, "then.json");
    make_report(10, 1, &now);
    apply("then.json", &now);
    assert_false(baseline_is_slower(&now));
    assert_int_equal(change_of(&now, "mnist-cnn-2")->verdict, BENCH_SAME);
    assert_int_equal(now.baseline.difference_count, 0);
    bench_report_free(&then);
    bench_report_free(&now);
}

/* Steps and reading both slow down by the same factor. */
static void probes_of_memory_are_saved_and_read(void **state)
{
    (void)state;
    bench_report then, now;
    make_report(10, 1, &then);
    save(&then, "then.json");
    make_report(12, 1, &now);
    for (int i = 0; i < ROUNDS; i++)
        now.results[0].memory[i] /= 1.2;
    apply("then.json", &now);
    assert_int_equal(change_of(&now, "cifar100-mlp")->verdict, BENCH_SAME);
    assert_int_equal(change_of(&now, "mnist-cnn-2")->verdict, BENCH_SLOWER);
    bench_report_free(&then);
    bench_report_free(&now);
}

/* The report says what differs, and incomparable results are not compared. */
static void what_differs_is_said(void **state)
{
    (void)state;
    bench_report then, now;
    make_report(10, 1, &then);
    then.results[0].batch = 64;
    then.results[1].workload = "photos-cnn";
    assert_int_equal(bench_make_json(&then), CORNU_OK);
    save(&then, "then.json");
    make_report(12, 11, &now);
    apply("then.json", &now);
    const bench_change *c = change_of(&now, "cifar100-mlp");
    assert_int_equal(c->verdict, BENCH_NOT_COMPARED);
    assert_string_equal(c->why, "batch: 64 then, 32 now");
    assert_string_equal(change_of(&now, "mnist-cnn-2")->why, "not in the baseline");
    assert_int_equal(now.baseline.count, now.count); /* only what was run */
    bench_report_free(&now);
    then.results[0].batch = 32;
    then.limits.threads = 1;
    assert_int_equal(bench_make_json(&then), CORNU_OK);
    save(&then, "then.json");
    make_report(12, 11, &now);
    apply("then.json", &now);
    assert_non_null(strstr(change_of(&now, "cifar100-mlp")->why, "another machine"));
    char *text = print(&now);
    assert_non_null(strstr(text, "threads: 1 then, 2 now"));
    free(text);
    bench_report_free(&then);
    bench_report_free(&now);
}

static void what_is_no_report_is_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"results\": 3}",
                                        "{\"results\": [3]}",
                                        "{\"results\": [{\"workload\": \"a\"}]}",
                                        "{\"results\": [{\"workload\": 1, \"device\": \"cpu\"}]}",
                                        "{\"results\": ["};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bench_baseline b;
        scratch_write("bad.json", files[i], strlen(files[i]));
        if (baseline_open(scratch_path("bad.json"), &b) == CORNU_OK)
            fail_msg("accepted: %s", files[i]);
        assert_non_null(strstr(cornu_last_error(), "bad.json"));
    }
    bench_baseline b;
    assert_int_equal(baseline_open(scratch_path("missing.json"), &b), CORNU_NOT_FOUND);
}

/* As an older cornu wrote it. */
static void a_report_without_rounds_is_not_compared(void **state)
{
    (void)state;
    bench_report now;
    bench_baseline b;
    static const char old[] =
        "{\"cornu\": \"0.0.1\", \"machine\": {\"cpu\": \"Some CPU\", \"cores\": 2, \"threads\": "
        "2, \"isa\": \"AVX2\"}, \"settings\": {\"exact_convolution\": false}, \"results\": "
        "[{\"workload\": \"cifar100-mlp\", \"device\": \"cpu\", \"precision\": \"fp32\", "
        "\"batch\": 32, \"data_set\": \"fashion_mnist\", \"ms_per_step\": {\"samples\": "
        "\"x\"}}]}";
    scratch_write("old.json", old, sizeof old - 1);
    make_report(12, 11, &now);
    assert_int_equal(baseline_open(scratch_path("old.json"), &b), CORNU_OK);
    assert_int_equal(baseline_apply(&b, &now), CORNU_OK);
    baseline_close(&b);
    assert_int_equal(change_of(&now, "cifar100-mlp")->verdict, BENCH_NOT_COMPARED);
    assert_non_null(strstr(change_of(&now, "cifar100-mlp")->why, "found 0 rounds of 0"));
    bench_report_free(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_one_program_do_not_differ),
        cmocka_unit_test(ten_percent_are_found),
        cmocka_unit_test(many_comparisons_share_one_chance_of_a_false_alarm),
        cmocka_unit_test(a_machine_without_a_quiet_moment_is_no_evidence),
        cmocka_unit_test(what_the_probe_explains_is_not_the_programs),
        cmocka_unit_test(what_memory_explains_is_not_the_programs),
        cmocka_unit_test(memory_that_changes_between_runs_only_may_explain_all),
        cmocka_unit_test(runs_without_probes_of_memory_are_compared),
        cmocka_unit_test(rounds_on_busy_cores_do_not_count),
        cmocka_unit_test(rounds_are_compared_where_steps_overlap),
        cmocka_unit_test(probes_of_memory_are_saved_and_read),
        cmocka_unit_test(a_saved_report_is_compared_in_text_and_json),
        cmocka_unit_test(the_same_report_has_not_changed),
        cmocka_unit_test(what_differs_is_said),
        cmocka_unit_test(what_is_no_report_is_refused),
        cmocka_unit_test(a_report_without_rounds_is_not_compared),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
