#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/input_pipeline.h"

static void without_shuffling_samples_stay_in_order(void **state)
{
    (void)state;
    int64_t index[4];
    input_order(1, 3, false, 4, index);
    for (int i = 0; i < 4; i++)
        assert_int_equal(index[i], i);
}

/* The orders of 3 samples over many epochs: also those that leave a sample in its place. */
static void every_order_is_as_likely_as_any_other(void **state)
{
    (void)state;
    int seen[3][3] = {{0}}, orders = 0;
    for (int64_t epoch = 0; epoch < 6000; epoch++) {
        int64_t index[3];
        input_order(1, epoch, true, 3, index);
        assert_int_equal(index[0] + index[1] + index[2], 3);
        orders += seen[index[0]][index[1]]++ == 0;
    }
    assert_int_equal(orders, 6);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            if (a != b)
                assert_in_range(seen[a][b], 850, 1150); /* 1000, standard deviation 29 */
}

static void seed_and_epoch_change_the_order_and_nothing_else_does(void **state)
{
    (void)state;
    int64_t first[50], again[50], epoch[50], seed[50];
    input_order(1, 3, true, 50, first);
    input_order(1, 3, true, 50, again);
    input_order(1, 4, true, 50, epoch);
    input_order(2, 3, true, 50, seed);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, epoch, sizeof first);
    assert_memory_not_equal(first, seed, sizeof first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_shuffling_samples_stay_in_order),
        cmocka_unit_test(every_order_is_as_likely_as_any_other),
        cmocka_unit_test(seed_and_epoch_change_the_order_and_nothing_else_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
