/* Is a GPU worth it? Prices, energy counters, sweeps and the sentence, from made-up
   measurements. */
#include "base/show.h"
#include "bench/advise.h"
#include "bench/cost.h"
#include "bench/sweep.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- prices ----------------------------------------------------------------------------- */

static void prices_are_read_with_their_currency(void **state)
{
    (void)state;
    char shown[48];
    price_list p;
    expect_ok(price_parse("cpu=0.08/h,gpu=0.53/h", &p));
    assert_int_equal(p.count, 2);
    assert_true(price_of(&p, "cpu", false) == 0.08);
    assert_true(price_of(&p, "cuda:1", true) == 0.53);
    assert_true(isnan(price_of(&p, "opencl:0", false)));
    assert_string_equal(price_show(&p, 1.5, shown), "1.50");
    expect_ok(price_parse("cuda:0=$2/h,cuda=$1/h", &p));
    assert_true(price_of(&p, "cuda:0", true) == 2);
    assert_true(price_of(&p, "cuda:1", true) == 1);
    assert_string_equal(price_show(&p, 0.0125, shown), "$0.0125");
    expect_ok(price_parse("cpu=0.08 EUR/h", &p));
    assert_string_equal(price_show(&p, 123.4, shown), "123 EUR");
    assert_string_equal(price_show(&p, NAN, shown), "-");
    expect_ok(price_parse(NULL, &p));
    assert_int_equal(p.count, 0);
}

static void wrong_prices_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"0.08",
                                        "cpu",
                                        "cpu=",
                                        "cpu=0.08",
                                        "cpu=/h",
                                        "cpu=x/h",
                                        "cpu=-1/h",
                                        "cpu=1.2.3/h",
                                        "cpu=0.08/d",
                                        "=0.08/h",
                                        "cpu=0.08/h,",
                                        ",cpu=0.08/h",
                                        "cpu=0.08/h,,gpu=1/h",
                                        "cpu=0.08/h,cpu=0.09/h",
                                        "cpu=0.08EUR/h,gpu=$1/h",
                                        "cpu=1e999999999999999999999999999999999999999999/h",
                                        "cpu=1 currency-of-a-long-name/h"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        price_list p;
        if (price_parse(wrong[i], &p) != CORNU_INVALID)
            fail_msg("%s: found no error; expected one", wrong[i]);
        expect_message("price: found");
    }
}

/* ---- energy ----------------------------------------------------------------------------- */

static void write_file(const char *path, const char *content)
{
    FILE *f = fopen(scratch_path(path), "w");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
}

/* Two packages, with zones inside that must not be counted again. */
static void make_powercap(void)
{
    static const char *const zones[][2] = {{"intel-rapl:0", "package-0"},
                                           {"intel-rapl:1", "package-1"},
                                           {"intel-rapl:0:0", "core"},
                                           {"intel-rapl:2", "psys"},
                                           {"intel-rapl", ""}};
    mkdir(scratch_path("powercap"), 0777);
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        char path[128], name[32];
        snprintf(path, sizeof path, "powercap/%s", zones[i][0]);
        mkdir(scratch_path(path), 0777);
        snprintf(path, sizeof path, "powercap/%s/name", zones[i][0]);
        snprintf(name, sizeof name, "%s\n", zones[i][1]);
        write_file(path, name);
        snprintf(path, sizeof path, "powercap/%s/energy_uj", zones[i][0]);
        write_file(path, "1000000\n");
        snprintf(path, sizeof path, "powercap/%s/max_energy_range_uj", zones[i][0]);
        write_file(path, "262143328850\n");
    }
}

static void energy_is_that_of_the_packages(void **state)
{
    (void)state;
    energy e;
    make_powercap();
    energy_open(&e, scratch_path("powercap"));
    assert_int_equal(e.count, 2);
    assert_true(energy_since(&e) == 0);
    write_file("powercap/intel-rapl:0/energy_uj", "3500000\n");
    write_file("powercap/intel-rapl:0:0/energy_uj", "9500000\n");
    write_file("powercap/intel-rapl:1/energy_uj", "2000000\n");
    assert_true(fabs(energy_since(&e) - 3.5) < 1e-9);
    assert_true(energy_since(&e) == 0);
    /* One counter wraps around: 262143.32885 J - 2 J, and 1 J. */
    write_file("powercap/intel-rapl:1/energy_uj", "1000000\n");
    assert_true(fabs(energy_since(&e) - (262143.32885 - 1)) < 1e-6);
}

static void energy_that_cannot_be_read_is_not_guessed(void **state)
{
    (void)state;
    energy e;
    energy_open(&e, scratch_path("nowhere"));
    assert_int_equal(e.count, 0);
    assert_true(isnan(energy_since(&e)));
    assert_non_null(strstr(e.why, "nowhere"));
    mkdir(scratch_path("bare"), 0777);
    energy_open(&e, scratch_path("bare"));
    assert_true(isnan(energy_since(&e)));
    assert_non_null(strstr(e.why, "no counter"));
    make_powercap();
    write_file("powercap/intel-rapl:1/energy_uj", "what\n");
    energy_open(&e, scratch_path("powercap")); /* one of two would be half of the total */
    assert_int_equal(e.count, 0);
    assert_non_null(strstr(e.why, "intel-rapl:1"));
    make_powercap();
    energy_open(&e, scratch_path("powercap"));
    unlink(scratch_path("powercap/intel-rapl:0/energy_uj"));
    assert_true(isnan(energy_since(&e)));
    assert_true(isnan(energy_since(&e)));
}

/* ---- sweeps ----------------------------------------------------------------------------- */

static void batches_are_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",          "batches",    "batch=",   "batch=0",
                                        "batch=8,4", "batch=4,4",  "batch=4,", "batch=a",
                                        "batch=-1",  "batch=1 ,2", "steps=1",  "batch=99999999999"};
    int64_t batches[SWEEP_BATCHES_MOST + 1];
    expect_ok(sweep_parse("batch", batches));
    assert_int_equal(batches[9], 512);
    assert_int_equal(batches[10], 0);
    expect_ok(sweep_parse("batch=3,50", batches));
    assert_true(batches[0] == 3 && batches[1] == 50 && batches[2] == 0);
    sweep_insert(batches, 32);
    sweep_insert(batches, 50);
    sweep_insert(batches, 1);
    assert_true(batches[0] == 1 && batches[1] == 3 && batches[2] == 32 && batches[3] == 50 &&
                batches[4] == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_status(sweep_parse(wrong[i], batches), CORNU_INVALID);
        expect_message("sweep: found");
    }
}

/* The ends, then halves: whenever time is up, the results span the whole range. */
static void a_sweep_goes_from_coarse_to_fine(void **state)
{
    (void)state;
    static const int64_t batches[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 0};
    static const int expected[] = {0, 8, 4, 6, 2, 7, 5, 3, 1, -1};
    bool done[9] = {false};
    for (int i = 0; i < 10; i++) {
        int next = sweep_next(batches, done);
        assert_int_equal(next, expected[i]);
        if (next >= 0)
            done[next] = true;
    }
}

/* Rows of a sweep: milliseconds on the cpu and on another device; 0: failed. */
static bench_report *made_sweep(const double ms[][3], int count)
{
    static bench_result results[32];
    static bench_report report;
    report = (bench_report){.results = results};
    for (int i = 0; i < count; i++)
        for (int d = 0; d < 2; d++) {
            bench_result *r = &results[report.count++];
            *r = (bench_result){.workload = "w", .batch = (int64_t)ms[i][0]};
            r->step_ms.median = ms[i][1 + d];
            snprintf(r->device, sizeof r->device, "%s", d ? "cuda:0" : "cpu");
            snprintf(r->failed, sizeof r->failed, "%s", ms[i][1 + d] > 0 ? "" : "no memory");
        }
    return &report;
}

static void a_device_wins_from_the_batch_on_behind_which_it_never_loses(void **state)
{
    (void)state;
    static const double crossing[][3] = {{1, 1, 3},    {8, 4, 3},     {32, 15, 15},
                                         {64, 30, 20}, {128, 60, 30}, {256, 0, 50}};
    static const double never[][3] = {{1, 1, 3}, {64, 30, 40}};
    static const double always[][3] = {{1, 3, 1}, {64, 30, 4}};
    int64_t most;
    assert_int_equal(sweep_wins_from(made_sweep(crossing, 6), "w", "cuda:0", "cpu", &most), 64);
    assert_int_equal(most, 128);
    assert_int_equal(sweep_wins_from(made_sweep(never, 2), "w", "cuda:0", "cpu", &most), 0);
    assert_int_equal(most, 64);
    assert_int_equal(sweep_wins_from(made_sweep(always, 2), "w", "cuda:0", "cpu", &most), 1);
}

static void a_step_is_predicted_from_its_neighbours(void **state)
{
    (void)state;
    static const double rows[][3] = {{1, 1, 100}, {64, 32, 0}};
    const bench_report *r = made_sweep(rows, 2);
    assert_true(sweep_predict_ms(r, "w", "cpu", 128) == 64);
    assert_true(sweep_predict_ms(r, "w", "cpu", 4) == 4);
    assert_true(sweep_predict_ms(r, "w", "cpu", 48) == 32);
    assert_true(sweep_predict_ms(r, "w", "cuda:0", 64) == 6400);
    assert_true(sweep_predict_ms(r, "w", "opencl:0", 64) == 0);
}

/* ---- the sentence ----------------------------------------------------------------------- */

static advise_row made_row(const char *name, double seconds, double cost)
{
    advise_row row = {.seconds = seconds,
                      .error = 0.1 * seconds,
                      .cost = cost,
                      .gpu = strncmp(name, "cuda", 4) == 0,
                      .host_joules = NAN,
                      .device_joules = NAN};
    snprintf(row.device, sizeof row.device, "%s", name);
    if (!(seconds > 0))
        snprintf(row.failed, sizeof row.failed, "lacks DENSE_FORWARD");
    return row;
}

static void the_sentence_says_which_and_why(void **state)
{
    (void)state;
    static const struct {
        double cpu, cpu_cost;
        const char *other;
        double seconds, cost;
        int64_t wins_from, up_to;
        const char *expected;
    } cases[] = {
        {600, NAN, "opencl:0", 2460, NAN, 0, 512,
         "Train on cpu: opencl:0 takes 4.1 times as long at batch 32, and is not faster at any "
         "batch up to 512."},
        {600, NAN, "opencl:0", 2460, NAN, 0, 32,
         "Train on cpu: opencl:0 takes 4.1 times as long at batch 32."},
        {600, NAN, "cuda:0", 1200, NAN, 128, 512,
         "Train on cpu: cuda:0 takes 2.0 times as long at batch 32, and is faster from batch "
         "128 on."},
        {600, 0.9, "cuda:0", 1200, 0.5, 0, 0,
         "Train on cpu: cuda:0 takes 2.0 times as long at batch 32, but costs 0.500 in place of "
         "0.900."},
        {12000, NAN, "cuda:0", 720, NAN, 1, 512,
         "A GPU is worth it: cuda:0 takes 12 min in place of 3 h 20 min on cpu (17 times as "
         "fast)."},
        {12000, 0.27, "cuda:0", 720, 0.11, 1, 512,
         "A GPU is worth it: cuda:0 takes 12 min in place of 3 h 20 min on cpu (17 times as "
         "fast), and costs 0.110 in place of 0.270."},
        {12000, 0.27, "cuda:0", 6000, 0.88, 1, 512,
         "A GPU is worth it: cuda:0 takes 1 h 40 min in place of 3 h 20 min on cpu (2.0 times as "
         "fast), but costs 0.880 in place of 0.270: worth it where time counts for more."},
        {12000, NAN, "opencl:0", 6000, NAN, 1, 512,
         "Train on opencl:0: it takes 1 h 40 min in place of 3 h 20 min on cpu (2.0 times as "
         "fast)."},
        {700, NAN, "cuda:0", 720, NAN, 0, 512,
         "Train on cpu or cuda:0: 12 min and 12 min cannot be told apart."},
        {720, 0.05, "cuda:0", 700, 0.20, 0, 512,
         "Train on cpu: 12 min and 12 min cannot be told apart, and it costs 0.0500 in place of "
         "0.200."},
        {600, NAN, "cuda:0", NAN, NAN, 0, 0,
         "Train on cpu: cuda:0 could not be measured (lacks DENSE_FORWARD)."},
        {600, NAN, NULL, 0, NAN, 0, 0, "Train on cpu: no other device was there to be measured."},
        {NAN, NAN, "cuda:0", 600, NAN, 0, 0,
         "Train on cuda:0: cpu could not be measured (lacks DENSE_FORWARD)."},
        {NAN, NAN, NULL, 0, NAN, 0, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static advise_report r;
        r = (advise_report){.batch = 32, .count = 1};
        r.rows[0] = made_row("cpu", cases[i].cpu, cases[i].cpu_cost);
        if (cases[i].other) {
            r.rows[r.count] = made_row(cases[i].other, cases[i].seconds, cases[i].cost);
            r.rows[r.count].wins_from = cases[i].wins_from;
            r.rows[r.count++].compared_up_to = cases[i].up_to;
        }
        advise_say(&r);
        assert_string_equal(r.advice, cases[i].expected);
    }
}

static void times_are_said_as_people_say_them(void **state)
{
    (void)state;
    static const struct {
        double seconds, error;
        const char *expected;
    } cases[] = {{0.0042, 0.0005, "4.2 ms +-0.5 ms"},
                 {0.42, 0.1, "0.42 s +-0.10 s"},
                 {58.4, 3.2, "58 s +-3.2 s"},
                 {268, 31, "4 min 28 s +-31 s"},
                 {240, NAN, "4 min"},
                 {2820, 130, "47 min +-2 min"},
                 {12000, 600, "3 h 20 min +-10 min"},
                 {7199.9, 60, "2 h +-60 s"},
                 {190800, 7200, "2 d 5 h +-2 h"},
                 {NAN, 1, "-"},
                 {-1, 1, "-"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DURATION_TEXT];
        assert_string_equal(duration_show_about(cases[i].seconds, cases[i].error, false, text),
                            cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_are_read_with_their_currency),
        cmocka_unit_test(wrong_prices_are_refused),
        cmocka_unit_test(energy_is_that_of_the_packages),
        cmocka_unit_test(energy_that_cannot_be_read_is_not_guessed),
        cmocka_unit_test(batches_are_read),
        cmocka_unit_test(a_sweep_goes_from_coarse_to_fine),
        cmocka_unit_test(a_device_wins_from_the_batch_on_behind_which_it_never_loses),
        cmocka_unit_test(a_step_is_predicted_from_its_neighbours),
        cmocka_unit_test(the_sentence_says_which_and_why),
        cmocka_unit_test(times_are_said_as_people_say_them),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
