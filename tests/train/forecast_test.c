/* How long a run will still take: from made-up series of times, and from a run's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "support/runs.h"
#include "train/fit_spec.h"
#include "train/forecast.h"
#include "train/session.h"
#include <math.h>
#include <string.h>

/* What a run is made of: seconds of a step, by how many have been done. */
typedef double (*step_time)(int64_t step);

enum { STEPS = 10000, EACH = 10 }; /* steps between two progress lines */

static void expect_near(double found, double expected, double share)
{
    if (!(fabs(found / expected - 1) <= share))
        fail_msg("found %g; expected %g within %g %%", found, expected, 100 * share);
}

/* The forecast after `measured` steps, and what the rest takes really. */
static double forecast_at(step_time time, int64_t measured, double *error, double *real)
{
    forecast f = {.first_units = 0};
    double seconds = 0;
    *real = 0;
    for (int64_t step = 0; step < measured; step += EACH) {
        double interval = 0;
        for (int64_t i = step; i < step + EACH; i++)
            interval += time(i);
        forecast_steps(&f, EACH, interval, false, interval);
    }
    for (int64_t step = measured; step < STEPS; step++)
        *real += time(step);
    forecast_work work = {.steps = (double)(STEPS - measured)};
    assert_true(forecast_left(&f, &work, &seconds, error));
    return seconds;
}

static double steady(int64_t step)
{
    (void)step;
    return 0.1;
}

static double warm_up(int64_t step)
{
    return step == 0 ? 30 : steady(step);
}

/* To half the speed, at a third. */
static double throttled(int64_t step)
{
    return step < STEPS / 3 ? 0.1 : 0.2;
}

/* Another program has half of the cores every other 20 s. */
static double shared(int64_t step)
{
    return step / 200 % 2 ? 0.15 : 0.1;
}

/* Of step to step, drawn by a hash: 0.05 to 0.15. */
static double noisy(int64_t step)
{
    uint64_t x = (uint64_t)step * 0x9E3779B97F4A7C15u;
    return 0.05 + 0.1 * (double)(x >> 40) / (double)(1 << 24);
}

static void a_steady_run_is_forecast_within_its_error(void **state)
{
    (void)state;
    static const struct {
        step_time time;
        double share, error; /* of what is left: off at most, and said to be off at most */
    } cases[] = {
        {steady, 0.001, 0.021}, {warm_up, 0.001, 0.021}, {shared, 0.15, 0.4}, {noisy, 0.05, 0.1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double error, real, left = forecast_at(cases[i].time, STEPS / 10, &error, &real);
        expect_near(left, real, cases[i].share);
        assert_true(fabs(left - real) <= error);
        assert_true(error <= cases[i].error * real);
    }
}

/* At first it says so by its error; after as much time again, by its forecast. */
static void a_run_that_is_throttled_is_forecast_anew(void **state)
{
    (void)state;
    double error, real, left = forecast_at(throttled, STEPS / 3 + 500, &error, &real);
    assert_true(error >= 0.15 * real);
    assert_true(left < real);
    left = forecast_at(throttled, STEPS * 2 / 3, &error, &real);
    expect_near(left, real, 0.15);
    assert_true(fabs(left - real) <= error);
}

static void nothing_is_said_within_the_first_second(void **state)
{
    (void)state;
    forecast f = {.first_units = 0};
    double seconds, error;
    forecast_work work = {.steps = 100};
    assert_false(forecast_left(&f, &work, &seconds, &error));
    forecast_steps(&f, 1, 0.5, false, 0.5);
    assert_false(forecast_left(&f, &work, &seconds, &error));
    forecast_steps(&f, 1, 0.6, false, 0.6);
    assert_true(forecast_left(&f, &work, &seconds, &error));
    expect_near(seconds, 60, 0.01);
    assert_true(error >= 0.2 * seconds);
}

/* One step of a minute alone is better than nothing, and known to be worth little. */
static void slow_steps_are_forecast_after_the_first(void **state)
{
    (void)state;
    forecast f = {.first_units = 0};
    double seconds, error;
    forecast_work work = {.steps = 9};
    forecast_steps(&f, 1, 60, false, 60);
    assert_true(forecast_left(&f, &work, &seconds, &error));
    expect_near(seconds, 540, 0.001);
    assert_true(error >= 0.5 * seconds);
}

static void validations_and_files_are_guessed_until_they_are_measured(void **state)
{
    (void)state;
    forecast f = {.validation_guess = 50, .between_guess = 1};
    double seconds, guessed, error;
    for (int i = 0; i < 100; i++)
        forecast_steps(&f, 1, 0.1, false, 0.1);
    forecast_work work = {.steps = 900, .validations = 10, .epochs = 10};
    assert_true(forecast_left(&f, &work, &seconds, &guessed));
    expect_near(seconds, 90 + 10 * 5 + 10, 0.001);
    assert_true(guessed >= 0.5 * 50);
    forecast_add(&f.validation, 1, 2);
    forecast_add(&f.between, 1, 0.5);
    assert_true(forecast_left(&f, &work, &seconds, &error));
    expect_near(seconds, 90 + 10 * 2 + 5, 0.001);
    assert_true(error < guessed);
}

/* 100 s of decoding, while which a step takes four times as long as alone. */
static void pictures_are_decoded_once(void **state)
{
    (void)state;
    forecast f = {.first_units = 0};
    double seconds, error;
    for (int i = 0; i < 51; i++)
        forecast_steps(&f, 1, 0.4, true, 0.1);
    forecast_work work = {.steps = 1000, .decoding = 40};
    assert_true(forecast_left(&f, &work, &seconds, &error));
    expect_near(seconds, 40 + 900 * 0.1, 0.001);
    assert_true(error >= 0.2 * 90);
    for (int i = 0; i < 50; i++)
        forecast_steps(&f, 1, 0.2, false, 0.2);
    work.decoding = 0;
    assert_true(forecast_left(&f, &work, &seconds, &error));
    expect_near(seconds, 200, 0.001);
}

/* A day's run is kept in the same room, and its end weighs most. */
static void a_long_series_is_merged(void **state)
{
    (void)state;
    forecast_series s = {.count = 0};
    for (int i = 0; i < 200000; i++)
        forecast_add(&s, 1, i < 100000 ? 0.5 : 0.25);
    assert_true(s.count <= FORECAST_BLOCKS);
    expect_near(s.all_seconds, 75000, 1e-6);
    expect_near(forecast_mean(&s), 0.29, 0.1);
}

/* ---- of a run --------------------------------------------------------------------------- */

typedef struct watched {
    int steps, told, at_most, epochs;
    double first; /* the first forecast of what is left, */
    double last;  /* and the last */
} watched;

static void on_step(void *user, const cornu_progress *now)
{
    watched *w = user;
    w->steps++;
    if (isnan(now->left_seconds))
        return;
    assert_true(now->left_seconds >= 0 && now->left_error >= 0);
    w->first = w->told == 0 ? now->left_seconds : w->first;
    w->last = now->left_seconds;
    w->told++;
    w->at_most += now->left_at_most;
}

static void on_epoch(void *user, const cornu_progress *now)
{
    watched *w = user;
    w->epochs++;
    if (now->epoch + 1 == now->epochs && !isnan(now->left_seconds))
        assert_true(now->left_seconds == 0);
}

static watched run_of(int epochs, int64_t steps_per_epoch, const char *more)
{
    char fit[256];
    snprintf(fit, sizeof fit, "{epochs: %d, batch_size: 1, steps_per_epoch: %lld%s}", epochs,
             (long long)steps_per_epoch, more);
    watched w = {.steps = 0};
    cornu_data *data = runs_data(600, 60);
    cornu_model *model = runs_usual(fit);
    cornu_fit_options o = {.size = sizeof o, .on_step = on_step, .on_epoch = on_epoch, .user = &w};
    expect_ok(cornu_fit(model, data, &o, NULL));
    cornu_model_close(model);
    cornu_data_close(data);
    return w;
}

/* Three seconds of steps, as fast as this device takes some now: forecasts begin after one. */
static watched run(int epochs, const char *more)
{
    enum { TRIED = 5000 };
    double begin = clock_seconds();
    run_of(1, TRIED, "");
    double steps = 3 * TRIED / (clock_seconds() - begin);
    return run_of(epochs, (int64_t)steps / epochs + 1, more);
}

static void a_run_tells_what_is_left(void **state)
{
    (void)state;
    watched w = run(4, ", validation: test");
    assert_int_equal(w.epochs, 4);
    assert_true(w.told < w.steps);
    if (w.first < 0.2)
        skip(); /* steps became faster meanwhile: other work may delay the last so long */
    assert_true(w.last < w.first);
    assert_int_equal(w.at_most, 0);
}

static void early_stopping_makes_it_the_most(void **state)
{
    (void)state;
    watched w = run(2, ", callbacks: [{early_stopping: {monitor: loss, patience: 9}}]");
    assert_int_equal(w.at_most, w.told);
}

/* Keras's validation_freq: a number, or a list of epochs. */
static void validations_that_are_left_are_counted(void **state)
{
    (void)state;
    static const char *const fits[] = {"{validation: test}", "{validation_freq: 3}",
                                       "{validation_freq: [2, 5, 9]}"};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        doc *section;
        fit_spec spec;
        expect_ok(doc_parse(fits[i], strlen(fits[i]), "fit", &section));
        expect_ok(fit_spec_read(section, &spec));
        for (int64_t begin = 0; begin < 12; begin++)
            for (int64_t end = begin; end < 12; end++) {
                int64_t count = 0;
                for (int64_t epoch = begin; epoch < end; epoch++)
                    count += fit_spec_validates(&spec, epoch);
                assert_int_equal(fit_spec_validations(&spec, begin, end), count);
            }
        doc_free(section);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_run_is_forecast_within_its_error),
        cmocka_unit_test(a_run_that_is_throttled_is_forecast_anew),
        cmocka_unit_test(nothing_is_said_within_the_first_second),
        cmocka_unit_test(slow_steps_are_forecast_after_the_first),
        cmocka_unit_test(validations_and_files_are_guessed_until_they_are_measured),
        cmocka_unit_test(pictures_are_decoded_once),
        cmocka_unit_test(a_long_series_is_merged),
        cmocka_unit_test(a_run_tells_what_is_left),
        cmocka_unit_test(early_stopping_makes_it_the_most),
        cmocka_unit_test(validations_that_are_left_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
