/* The statistics of measured times. */
#include "base/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void statistics_of_known_values(void **state)
{
    (void)state;
    double values[] = {5, 1, 4, 2, 3, 10};
    statistics s = statistics_of(values, 6);
    assert_int_equal(s.rounds, 6);
    assert_true(s.minimum == 1);
    assert_true(s.median == 3.5);
    assert_true(s.p95 == 10); /* nearest rank: the sixth of six */
    assert_true(s.noise == 9 / 3.5);
    double many[100];
    for (int i = 0; i < 100; i++)
        many[i] = 100 - i;
    s = statistics_of(many, 100);
    assert_true(s.minimum == 1 && s.median == 50.5 && s.p95 == 95);
    double one[] = {7};
    s = statistics_of(one, 1);
    assert_true(s.minimum == 7 && s.median == 7 && s.p95 == 7 && s.noise == 0);
    assert_int_equal(statistics_of(NULL, 0).rounds, 0);
}

static void a_median_is_stable_when_it_stops_moving(void **state)
{
    (void)state;
    const double steady[] = {10, 10.1, 9.9, 10, 10.05, 10, 9.95, 10};
    const double falling[] = {20, 18, 16, 14, 12, 10, 8, 6};
    assert_true(statistics_stable(steady, 8, 4, 0.02));
    assert_false(statistics_stable(falling, 8, 4, 0.02));
    assert_false(statistics_stable(steady, 4, 4, 0.02)); /* too few to say */
}

static void a_median_of_known_values(void **state)
{
    (void)state;
    double values[] = {5, 1, 4, 2};
    assert_true(statistics_median(values, 4) == 3);
    assert_true(statistics_median(values, 1) == 1); /* sorted now */
    assert_true(isnan(statistics_median(values, 0)));
}

/* A quarter of the points is far off, which moves a slope of least squares. */
static void a_slope_is_found_beside_outliers(void **state)
{
    (void)state;
    double x[40], y[40], deviation;
    for (int i = 0; i < 40; i++) {
        x[i] = i * 17 % 40;
        y[i] = 3 + 0.5 * x[i];
    }
    assert_true(fabs(statistics_slope(x, y, 40, 0.5, &deviation) - 0.5) < 1e-12);
    assert_true(deviation < 1e-12);
    for (int i = 0; i < 40; i++)
        y[i] += i % 4 ? i * 7 % 11 * 0.1 : 100 + i;
    double slope = statistics_slope(x, y, 40, 0.5, &deviation);
    if (fabs(slope - 0.5) > 0.1 || deviation < 0.002 || deviation > 0.2)
        fail_msg("found %g +- %g", slope, deviation);
}

/* A fit with many points uses only some of them, spread from end to end. */
static void a_slope_of_many_points(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static double x[MANY], y[MANY];
    double deviation;
    for (int i = 0; i < MANY; i++) {
        x[i] = i;
        y[i] = i < MANY / 2 ? 0 : i;
    }
    double slope = statistics_slope(x, y, MANY, 0.5, &deviation);
    assert_true(slope > 0.9 && slope < 1.5);
}

static void points_that_lie_too_close_have_no_slope(void **state)
{
    (void)state;
    double x[40], y[40], deviation;
    for (int i = 0; i < 40; i++) {
        x[i] = i % 2 * 0.01;
        y[i] = i;
    }
    x[0] = 1; /* is far from the 39 others */
    assert_true(isfinite(statistics_slope(x, y, 40, 0.02, &deviation)));
    assert_true(isnan(statistics_slope(x, y, 40, 2, &deviation)) && isnan(deviation));
    assert_true(isnan(statistics_slope(x, y, 11, 0.02, &deviation))); /* ten pairs */
    assert_true(isfinite(statistics_slope(x, y, 12, 0.02, &deviation)));
    assert_true(isnan(statistics_slope(x, y, 0, 0.02, &deviation)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_of_known_values),
        cmocka_unit_test(a_median_is_stable_when_it_stops_moving),
        cmocka_unit_test(a_median_of_known_values),
        cmocka_unit_test(a_slope_is_found_beside_outliers),
        cmocka_unit_test(a_slope_of_many_points),
        cmocka_unit_test(points_that_lie_too_close_have_no_slope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
