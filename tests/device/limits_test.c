/* The machine's limits. */
#include "device/cpu/cpu.h"
#include "device/roofline.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void limits_are_positive_and_possible(void **state)
{
    (void)state;
    threads *pool;
    device_limits l;
    assert_int_equal(threads_open(0, &pool), CORNU_OK);
    assert_int_equal(cpu_limits_measure(pool, &l), CORNU_OK);
    double probe = cpu_limits_probe(pool);
    assert_int_equal(l.threads, threads_count(pool));
    threads_close(pool);
    /* two 512-bit units, or tiles of 2.7 times their rate, at 6 GHz and more */
    double most = (strcmp(l.isa, "AMX") == 0 ? 1.35e12 : 5e11) * l.threads;
    assert_true(l.fma > 1e8 && l.fma < most);
    assert_true(probe > 0 && probe < most);
    assert_true(l.read > 1e7 && l.read < 1e13);
    assert_true(l.update > 1e7 && l.update < 1e13);
    assert_true(l.cache_update >= l.update);
    assert_true(strlen(l.isa) > 0);
}

static void a_step_is_bound_by_the_slower_of_two_resources(void **state)
{
    (void)state;
    const device_limits l = {.fma = 100, .update = 10, .cache_update = 20, .cache_bytes = 50};
    assert_true(roofline_seconds(&l, 1000, 10, 1000) == 10);
    assert_string_equal(roofline_bound(&l, 1000, 10, 1000), "FMA");
    assert_true(roofline_seconds(&l, 100, 100, 1000) == 10);
    assert_string_equal(roofline_bound(&l, 100, 100, 1000), "memory");
    assert_true(roofline_seconds(&l, 100, 100, 40) == 5); /* work that fits the cache is faster */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_positive_and_possible),
        cmocka_unit_test(a_step_is_bound_by_the_slower_of_two_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
