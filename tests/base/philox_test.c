#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include <math.h>

/* kat_vectors of Random123 (Salmon et al.), philox4x32 with 10 rounds. */
static void philox_gives_the_published_vectors(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const uint32_t *c = vectors[i].counter, *k = vectors[i].key;
        uint32_t out[4];
        philox((uint64_t)k[1] << 32 | k[0], c[0], c[1], c[2], c[3], out);
        assert_memory_equal(out, vectors[i].expected, sizeof out);
    }
}

static void same_seed_gives_same_stream_and_every_part_of_the_key_matters(void **state)
{
    (void)state;
    random_stream a = random_open(7, RANDOM_SHUFFLE, 3), b = random_open(7, RANDOM_SHUFFLE, 3);
    for (int i = 0; i < 100; i++)
        assert_int_equal(random_u32(&a), random_u32(&b));
    uint64_t key = random_key(7, RANDOM_SHUFFLE, 3);
    assert_true(key != random_key(8, RANDOM_SHUFFLE, 3));
    assert_true(key != random_key(7, RANDOM_DROPOUT, 3));
    assert_true(key != random_key(7, RANDOM_SHUFFLE, 4));
    assert_true(key != random_key(7 + (1ull << 32), RANDOM_SHUFFLE, 3));
    assert_true(key != random_key(7, RANDOM_SHUFFLE, 3 + (1ull << 32)));
}

/* Model files and logs of other versions depend on the keys: they must never change. */
static void a_key_is_the_first_two_words_of_its_block(void **state)
{
    (void)state;
    uint32_t out[4];
    philox(7, 3, 5, RANDOM_SHUFFLE, 0, out);
    assert_true(random_key(7, RANDOM_SHUFFLE, 5ull << 32 | 3) == ((uint64_t)out[1] << 32 | out[0]));
}

static void stream_reads_the_blocks_in_order(void **state)
{
    (void)state;
    random_stream r = random_open(1, RANDOM_INITIALIZE, 0);
    for (uint32_t block = 0; block < 3; block++) {
        uint32_t expected[4];
        philox(r.key, block, 0, 0, 0, expected);
        for (int i = 0; i < 4; i++)
            assert_int_equal(random_u32(&r), expected[i]);
    }
}

static void below_covers_its_range_evenly(void **state)
{
    (void)state;
    random_stream r = random_open(1, RANDOM_SHUFFLE, 0);
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint32_t value = random_below(&r, 7);
        assert_true(value < 7);
        seen[value]++;
    }
    for (int i = 0; i < 7; i++) /* 10000, standard deviation 93 */
        assert_in_range(seen[i], 9500, 10500);
    assert_int_equal(random_below(&r, 1), 0);
    /* A range of 3/4 of 2^32: a plain multiplication would give every third number twice as often.
     */
    int low = 0, third = 0;
    for (int i = 0; i < 30000; i++) {
        uint32_t value = random_below(&r, 0xC0000000u);
        low += value < 0x40000000u;
        third += value % 3 == 0;
    }
    assert_in_range(low, 9500, 10500);
    assert_in_range(third, 9500, 10500);
}

static void uniform_and_normal_have_their_moments(void **state)
{
    (void)state;
    random_stream r = random_open(5, RANDOM_INITIALIZE, 1);
    double sum = 0, normal_sum = 0, normal_squares = 0;
    enum { N = 100000 };
    for (int i = 0; i < N; i++) {
        float u = random_uniform(&r);
        assert_true(u >= 0 && u < 1);
        sum += u;
        double x = random_normal(&r);
        assert_true(isfinite(x));
        normal_sum += x;
        normal_squares += x * x;
    }
    assert_true(fabs(sum / N - 0.5) < 0.005);
    assert_true(fabs(normal_sum / N) < 0.02);
    assert_true(fabs(normal_squares / N - 1) < 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_vectors),
        cmocka_unit_test(same_seed_gives_same_stream_and_every_part_of_the_key_matters),
        cmocka_unit_test(a_key_is_the_first_two_words_of_its_block),
        cmocka_unit_test(stream_reads_the_blocks_in_order),
        cmocka_unit_test(below_covers_its_range_evenly),
        cmocka_unit_test(uniform_and_normal_have_their_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
