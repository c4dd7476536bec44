/* The bandwidth probes beside simple loops over memory of the same size. */
#include "base/clock.h"
#include "base/memory.h"
#include "bench/limits.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* As fast in a debug build, and without a sanitizer's checks. */
#if defined(__GNUC__) && !defined(__clang__)
#define PLAIN_LOOP __attribute__((noinline, optimize("O3"), no_sanitize("address", "undefined")))
#else
#define PLAIN_LOOP __attribute__((noinline, no_sanitize("address", "undefined")))
#endif

enum { BYTES = 256 << 20, PARTS = 64, TRIES = 30, PASSES = 10 };
static const double TOLERANCE = 0.2;

typedef uint64_t pair __attribute__((vector_size(16)));
enum { PART = BYTES / (int)sizeof(pair) / PARTS };

typedef struct loop {
    pair *memory; /* [PARTS][PART] */
    pair sum[PARTS];
} loop;

/* Four at a time, so that additions do not wait for each other. */
PLAIN_LOOP static void read_part(void *context, int64_t part, int worker)
{
    const pair *memory = ((loop *)context)->memory + part * PART;
    pair a = {0}, b = {0}, c = {0}, d = {0};
    (void)worker;
    for (int i = 0; i < PART; i += 4) {
        a += memory[i];
        b += memory[i + 1];
        c += memory[i + 2];
        d += memory[i + 3];
    }
    ((loop *)context)->sum[part] = a + b + c + d;
}

PLAIN_LOOP static void update_part(void *context, int64_t part, int worker)
{
    pair *memory = ((loop *)context)->memory + part * PART;
    (void)worker;
    for (int i = 0; i < PART; i++)
        memory[i] += 3;
}

static double best_rate(threads *pool, loop *l, threads_work *work)
{
    double best = 0;
    for (int i = 0; i < PASSES; i++) {
        double begin = clock_seconds();
        threads_run(pool, PARTS, work, l);
        double rate = BYTES / (clock_seconds() - begin);
        best = rate > best ? rate : best;
    }
    return best;
}

static double apart(double a, double b)
{
    return (a > b ? a - b : b - a) / (a > b ? a : b);
}

/* Both take turns on the same memory, which nobody has written before the probe, and the best of
   each counts: what else the machine does only takes away. */
static void bandwidths_are_those_of_simple_loops_over_written_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* its checks are what would be measured */
#endif
    static loop l;
    threads *pool;
    machine_limits probed = {0};
    double read = 0, update = 0;
    assert_int_equal(threads_open(0, &pool), CORNU_OK);
    assert_int_equal(memory_new_aligned(BYTES, "memory", &l.memory), CORNU_OK);
    for (int i = 0; i < TRIES && (i < 2 || apart(read, probed.read) >= TOLERANCE ||
                                  apart(update, probed.update) >= TOLERANCE);
         i++) {
        machine_limits now = {0};
        limits_measure_bandwidth(pool, (float *)(void *)l.memory, BYTES / 4, &now);
        limits_raise(&probed, &now);
        read = fmax(read, best_rate(pool, &l, read_part));
        update = fmax(update, 2 * best_rate(pool, &l, update_part)); /* read and written */
    }
    memory_free_aligned(l.memory);
    threads_close(pool);
    if (apart(read, probed.read) >= TOLERANCE)
        fail_msg("read: the probe says %.3g bytes/s, a loop %.3g", probed.read, read);
    if (apart(update, probed.update) >= TOLERANCE)
        fail_msg("update: the probe says %.3g bytes/s, a loop %.3g", probed.update, update);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bandwidths_are_those_of_simple_loops_over_written_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
