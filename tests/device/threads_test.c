/* The bits of every operation are the same for any number of threads. */
#include "support/op_cases.h"
#include "support/sanitized.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const int thread_counts[] = {1, 4, 9, 2, 3, 5, 6, 7, 8};
enum { POOLS = SANITIZED ? 3 : sizeof thread_counts / sizeof *thread_counts };

/* A sanitizer looks for races and wrong addresses: each kernel runs with 4 or 9 threads, from case
   to case. */
static int check_threaded(const op_case *c, const kernel *k, threads *const *pools, int number)
{
    op_outputs out;
    assert_int_equal(op_case_run(c, k, pools[1 + number % 2], false, &out), CORNU_OK);
    op_outputs_free(&out);
    return 0;
}

static bool same_bits(const op_outputs *a, const op_outputs *b)
{
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (a->count[i] &&
            memcmp(a->values[i], b->values[i], (size_t)a->count[i] * sizeof(float)) != 0)
            return false;
    return memcmp(&a->results, &b->results, sizeof a->results) == 0 &&
           memcmp(a->table, b->table, sizeof a->table) == 0;
}

static int check_kernel(const op_case *c, const kernel *k, threads *const *pools)
{
    int failures = 0;
    op_outputs one, more;
    assert_int_equal(op_case_run(c, k, pools[0], false, &one), CORNU_OK);
    for (int i = 1; i < POOLS; i++) {
        assert_int_equal(op_case_run(c, k, pools[i], false, &more), CORNU_OK);
        if (!same_bits(&one, &more)) {
            printf("%s: %s: other bits with %d threads than with 1\n", c->label, k->name,
                   thread_counts[i]);
            failures++;
        }
        op_outputs_free(&more);
    }
    op_outputs_free(&one);
    return failures;
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    threads *pools[POOLS];
    device *d = NULL;
    int count, failures = 0;
    const op_case *table = op_cases(&count);
    for (int i = 0; i < POOLS; i++)
        assert_int_equal(threads_open(thread_counts[i], &pools[i]), CORNU_OK);
    assert_int_equal(device_table[0]->open(0, NULL, &d), CORNU_OK);
    const host_device *h = (const host_device *)(const void *)d;
    for (int i = 0; i < count; i++) {
        const kernel_list list = h->kernels[table[i].kind];
        for (int k = 0; list && list[k]; k++) {
            const char *why = "";
            if (op_case_accepted(&table[i], list[k], &why))
                failures += SANITIZED ? check_threaded(&table[i], list[k], pools, i)
                                      : check_kernel(&table[i], list[k], pools);
        }
    }
    host_close(d);
    for (int i = 0; i < POOLS; i++)
        threads_close(pools[i]);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, op_cases_free);
}
