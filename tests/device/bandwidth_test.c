/* The bandwidth probes against simple loops over memory of the same size. */
#include "base/clock.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/roofline.h"
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

enum { BYTES = 256 << 20, PARTS = 64, TRIES = 20, PASSES = 10 };

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

/* The best of the probe and of the loops. */
typedef struct turns {
    threads *pool;
    loop l;
    device_limits probed;
    double read, update;
} turns;

static void take_turn(turns *t)
{
    device_limits now = {0};
    cpu_limits_bandwidth(t->pool, (float *)(void *)t->l.memory, BYTES / 4, &now);
    roofline_raise(&t->probed, &now);
    t->read = fmax(t->read, best_rate(t->pool, &t->l, read_part));
    t->update = fmax(t->update, 2 * best_rate(t->pool, &t->l, update_part)); /* read and written */
}

static bool agree(const turns *t, double tolerance)
{
    return apart(t->read, t->probed.read) < tolerance &&
           apart(t->update, t->probed.update) < tolerance;
}

/* Both take turns on the same memory, which is not written before the probe, and the best of each
   counts: other load on the machine only takes away. Neighbours that share its memory take away for
   minutes, which no count of CPU time shows; so only gross errors fail, such as reading memory that
   was never written. */
static void bandwidths_are_those_of_simple_loops_over_written_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizer's checks would be measured */
#endif
    static turns t;
    assert_int_equal(threads_open(0, &t.pool), CORNU_OK);
    assert_int_equal(memory_new_aligned(BYTES, "memory", &t.l.memory), CORNU_OK);
    for (int i = 0; i < TRIES && (i < 2 || !agree(&t, 0.2)); i++)
        take_turn(&t);
    if (!agree(&t, 0.7))
        fail_msg("the probe says %.3g read and %.3g updated, simple loops %.3g and %.3g",
                 t.probed.read, t.probed.update, t.read, t.update);
    memory_free_aligned(t.l.memory);
    threads_close(t.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bandwidths_are_those_of_simple_loops_over_written_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
