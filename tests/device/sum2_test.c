/* Sums of two floats (device/rules/sum2.h) against sums of doubles, as the plug-ins' kernels use
   them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RULE static inline
typedef struct sum2 {
    float x, y;
} sum2;
#define sum2_make(x, y) ((sum2){(x), (y)})
#define rule_fma(a, b, c) fmaf(a, b, c)
#include "base/philox.h"
#include "device/rules/sum2.h"

static double number_of(sum2 a)
{
    return (double)a.x + (double)a.y;
}

/* Any magnitude of a float except the extremes, with either sign. */
static float random_float(random_stream *r)
{
    return ldexpf(random_normal(r), (int)random_below(r, 100) - 50);
}

static void long_sums_have_twice_a_floats_digits(void **state)
{
    (void)state;
    random_stream r = random_open(5, RANDOM_GENERATE, 0);
    double expected = 0;
    float plain = 0;
    sum2 found = sum2_of(0);
    for (int i = 0; i < 1000000; i++) {
        float x = random_normal(&r) + 1;
        expected += (double)x;
        plain += x;
        found = sum2_plus(found, x);
    }
    assert_true(fabs(number_of(sum2_settled(found)) - expected) < 1e-11 * expected);
    assert_true(fabs((double)plain - expected) >
                1e-7 * expected); /* a float's digits do not suffice */
    assert_true(sum2_value(sum2_settled(found)) == (float)expected);
}

static void what_cancels_leaves_what_it_hid(void **state)
{
    (void)state;
    const float numbers[2][3] = {{1e8f, 1, -1e8f}, {1, 1e8f, -1e8f}};
    for (int order = 0; order < 2; order++) {
        sum2 sum = sum2_of(0), pairs = sum2_of(0);
        for (int i = 0; i < 3000; i++) {
            sum = sum2_plus(sum, numbers[order][i % 3]);
            pairs = sum2_add(pairs, sum2_of(numbers[order][i % 3]));
        }
        assert_true(number_of(sum2_settled(sum)) == 1000);
        assert_true(number_of(pairs) == 1000);
    }
}

/* Threads that exchange their sums add each other's: all must get the same bits. */
static void sums_are_the_same_in_either_order(void **state)
{
    (void)state;
    random_stream r = random_open(6, RANDOM_GENERATE, 0);
    for (int i = 0; i < 100000; i++) {
        sum2 a = sum2_product(random_float(&r), random_normal(&r));
        sum2 b = sum2_product(random_float(&r), random_normal(&r));
        sum2 one = sum2_add(a, b), other = sum2_add(b, a);
        assert_memory_equal(&one, &other, sizeof one);
        double expected = number_of(a) + number_of(b);
        double size = fabs(number_of(a)) + fabs(number_of(b));
        assert_true(fabs(number_of(one) - expected) <= 1e-13 * size);
        assert_true(one.x == one.x + one.y); /* the second is below the first's last digit */
    }
}

static void products_are_exact_or_nearly(void **state)
{
    (void)state;
    random_stream r = random_open(7, RANDOM_GENERATE, 0);
    for (int i = 0; i < 100000; i++) {
        float x = random_float(&r), y = random_normal(&r);
        assert_true(number_of(sum2_product(x, y)) == (double)x * (double)y);
        sum2 a = sum2_product(x, y), b = sum2_product(random_normal(&r), y);
        double expected = number_of(a) * number_of(b);
        assert_true(fabs(number_of(sum2_times(a, b)) - expected) <= 1e-13 * fabs(expected));
        assert_true(number_of(sum2_negative(a)) == -number_of(a));
    }
}

/* So that a norm or a loss that is not finite is noticed. */
static void what_is_not_finite_stays_so(void **state)
{
    (void)state;
    const float odd[] = {INFINITY, -INFINITY, NAN, 3e38f};
    for (int i = 0; i < 4; i++) {
        sum2 plus = sum2_of(1), add = sum2_of(1);
        for (int k = 0; k < 5; k++) {
            plus = sum2_plus(plus, k > 0 ? odd[i] : 1);
            add = sum2_add(add, sum2_of(k > 0 ? odd[i] : 1));
        }
        float found[] = {sum2_value(sum2_settled(plus)), sum2_value(add),
                         sum2_value(sum2_product(odd[i], odd[i])),
                         sum2_value(sum2_times(sum2_of(odd[i]), sum2_of(odd[i])))};
        for (int k = 0; k < 4; k++) {
            assert_false(isfinite(found[k]));
            assert_true(!isnan(odd[i]) == !isnan(found[k]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sums_have_twice_a_floats_digits),
        cmocka_unit_test(what_cancels_leaves_what_it_hid),
        cmocka_unit_test(sums_are_the_same_in_either_order),
        cmocka_unit_test(products_are_exact_or_nearly),
        cmocka_unit_test(what_is_not_finite_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
