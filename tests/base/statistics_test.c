/* The statistics of measured times. */
#include "base/statistics.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_of_known_values),
        cmocka_unit_test(a_median_is_stable_when_it_stops_moving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
