/* cornu explain, through the built program. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The figure behind `label`, up to the first of `ends`. */
static void copy_figure(const char *text, const char *label, const char *ends, char *out)
{
    const char *at = strstr(text, label);
    if (!at)
        fail_msg("no \"%s\" in %s", label, text);
    at += strlen(label);
    snprintf(out, 32, "%.*s", (int)strcspn(at, ends), at);
}

/* Does `text` hold `figure` and then `label`? */
static void must_say(const char *text, const char *figure, const char *label)
{
    char both[64];
    snprintf(both, sizeof both, "%s %s", figure, label);
    if (!strstr(text, both))
        fail_msg("no \"%s\" in %s", both, text);
}

static void one_step_has_one_figure_everywhere(void **state)
{
    (void)state;
    static const char *const workloads[] = {"mnist-cnn-2", "cifar100-mlp"};
    for (int i = 0; i < 2; i++) {
        char bytes[32], slots[32], buffers_[32];
        program summary = program_run(ARGUMENTS("summary", workloads[i]));
        program plain = program_run(ARGUMENTS("explain", workloads[i]));
        program run = program_run(ARGUMENTS("explain", workloads[i], "--run"));
        copy_figure(summary.out, " GFLOP, ", "r\n", bytes);
        bytes[strlen(bytes) - 1] = 0;
        copy_figure(summary.out, "optimizer slots ", ",", slots);
        copy_figure(summary.out, "buffers ", ",", buffers_);
        for (int k = 0; k < 2; k++) {
            const char *explained = k ? run.out : plain.out;
            must_say(explained, bytes, "read and written (");
            must_say(explained, slots, "of weights and optimizer state");
            must_say(explained, buffers_, "of buffers");
        }
        program_free(&summary);
        program_free(&plain);
        program_free(&run);
    }
}

/* The largest "12 % fma" of a table's rows; rows that run within another are shown so. */
static double largest_share(const char *table)
{
    double largest = 0;
    int fused = 0;
    char line[512];
    for (size_t length; *table; table += length + (table[length] != 0)) {
        length = strcspn(table, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, table);
        const char *percent = strstr(line, " % "), *with = strstr(line, "  with ");
        if (with) {
            const char *last = strrchr(line, 'w');
            assert_true(last > with && strncmp(last, "with ", 5) == 0);
            assert_int_equal(atoi(last + 5), atoi(with + 7));
            assert_null(percent);
            fused++;
        } else if (percent) {
            while (percent[-1] != ' ')
                percent--;
            largest = atof(percent) > largest ? atof(percent) : largest;
        }
    }
    assert_true(fused > 0);
    return largest;
}

/* A busy machine may have hidden from the probes what it can do: then once more. */
static void no_operation_is_faster_than_the_machine(void **state)
{
    (void)state;
    double share = 101;
    for (int i = 0; i < 4 && share > 100; i++) {
        program p = program_run(ARGUMENTS("explain", "mnist-cnn-2", "--run"));
        assert_int_equal(p.status, 0);
        share = largest_share(p.out);
        if (share > 100 && i == 3)
            fail_msg("%s", p.out);
        program_free(&p);
    }
}

/* What ranks send is a line of the step. */
static void collectives_are_lines_of_the_step(void **state)
{
    (void)state;
    program one = program_run(ARGUMENTS("explain", "mnist-cnn-2"));
    program all = program_run(ARGUMENTS("explain", "mnist-cnn-2", "--ranks", "4"));
    program parts = program_run(ARGUMENTS("explain", "mnist-cnn-2", "--ranks", "2",
                                          "--shard-optimizer", "--gradient-dtype", "bf16"));
    assert_null(strstr(one.out, "all_reduce"));
    assert_non_null(strstr(all.out, "\n     all_reduce "));
    assert_null(strstr(all.out, "all_gather"));
    assert_true(strstr(all.out, "all_reduce") < strstr(all.out, " update "));
    assert_non_null(strstr(all.out, "ranks: 4, this one with 13 of 50 samples"));
    assert_non_null(strstr(parts.out, "\n     reduce_scatter "));
    assert_non_null(strstr(parts.out, "  bf16 "));
    assert_true(strstr(parts.out, "\n     all_gather ") > strstr(parts.out, " update "));
    program_free(&one);
    program_free(&all);
    program_free(&parts);
}

/* The number that ends where the header's `name` ends. */
static double figure_under(const char *header, const char *name, const char *line)
{
    const char *at = strstr(header, name);
    assert_non_null(at);
    size_t end = (size_t)(at - header) + strlen(name);
    assert_true(strlen(line) >= end);
    const char *begin = line + end;
    while (begin > line && begin[-1] != ' ')
        begin--;
    return atof(begin);
}

/* Milliseconds times GFLOP/s are the MFLOP of the row and of those that run "with" it. */
static void a_rate_counts_every_operation_of_its_group_once(void **state)
{
    (void)state;
    enum { ROWS = 64 };
    double mflop[ROWS] = {0}, done[ROWS] = {0}, error[ROWS] = {0};
    int rows = 0;
    program p = program_run(ARGUMENTS("explain", "mnist-cnn-2", "--run"));
    assert_int_equal(p.status, 0);
    char *rest, *header = strtok_r(p.out, "\n", &rest);
    for (char *line; (line = strtok_r(NULL, "\n", &rest)) && rows < ROWS - 1;) {
        if (atoi(line) != rows + 1) /* "refused: ..." */
            continue;
        rows++;
        const char *with = strstr(line, "  with ");
        int group = with ? atoi(with + 7) : rows;
        mflop[group] += figure_under(header, "MFLOP", line);
        if (with)
            continue;
        double ms = figure_under(header, "ms", line), rate = figure_under(header, "GFLOP/s", line);
        done[rows] = ms * rate;
        error[rows] = ms * 0.05 + rate * 0.0005 + ROWS * 0.0005; /* their last digits */
    }
    assert_true(rows > 20);
    for (int i = 1; i <= rows; i++)
        if (mflop[i] > done[i] + error[i] || mflop[i] < done[i] - error[i])
            fail_msg("row %d: found %.3f MFLOP by time and rate; expected %.3f", i, done[i],
                     mflop[i]);
    program_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_step_has_one_figure_everywhere, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(collectives_are_lines_of_the_step, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(no_operation_is_faster_than_the_machine, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(a_rate_counts_every_operation_of_its_group_once, made_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
