#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/threads.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TASKS = 100, NUMBERS = 10007 };

typedef struct job {
    float partial[TASKS];
    int runs[TASKS];
    int workers;
} job;

static void add_range(void *context, int64_t task, int worker)
{
    job *j = context;
    int64_t begin, end;
    threads_range(NUMBERS, TASKS, task, 4, &begin, &end);
    float sum = 0;
    for (int64_t i = begin; i < end; i++)
        sum += 1.0f / (float)(i + 1);
    j->partial[task] = sum;
    j->runs[task]++;
    if (worker < 0 || worker >= j->workers)
        j->runs[task] += 1000;
}

static void sum_has_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    float expected = 0;
    for (int count = 1; count <= 8; count++) {
        threads *pool;
        assert_int_equal(threads_open(count, &pool), CORNU_OK);
        assert_int_equal(threads_count(pool), count);
        job j = {.workers = count};
        threads_run(pool, TASKS, add_range, &j);
        float sum = 0;
        for (int i = 0; i < TASKS; i++) {
            assert_int_equal(j.runs[i], 1);
            sum += j.partial[i];
        }
        if (count == 1)
            expected = sum;
        assert_memory_equal(&sum, &expected, sizeof sum);
        threads_close(pool);
    }
}

typedef struct counts {
    int runs[70];
} counts;

static void count_run(void *context, int64_t task, int worker)
{
    (void)worker;
    ((counts *)context)->runs[task]++;
    if (task % 16 == 3)
        sched_yield(); /* let another thread end the job */
}

static void every_task_of_many_short_jobs_runs_once(void **state)
{
    (void)state;
    for (int count = 2; count <= 8; count *= 2) {
        threads *pool;
        assert_int_equal(threads_open(count, &pool), CORNU_OK);
        for (int round = 0; round < 5000; round++) {
            counts c = {{0}};
            int tasks = round % 70;
            threads_run(pool, tasks, count_run, &c);
            for (int i = 0; i < 70; i++)
                assert_int_equal(c.runs[i], i < tasks);
        }
        threads_close(pool);
    }
}

enum { MANY = 200000 }; /* more tasks than one range can hold */

static void count_once(void *context, int64_t task, int worker)
{
    (void)worker;
    ((unsigned char *)context)[task]++;
}

static void a_job_of_very_many_tasks_runs_each_once(void **state)
{
    (void)state;
    threads *pool;
    unsigned char *runs = calloc(MANY, 1);
    assert_non_null(runs);
    assert_int_equal(threads_open(3, &pool), CORNU_OK);
    threads_run(pool, MANY, count_once, runs);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(runs[i], 1);
    threads_close(pool);
    free(runs);
}

enum { FEW = 64 };

typedef struct held {
    atomic_int done, done_before; /* tasks done; those before the one that waits */
} held;

/* The first task of the second thread's range waits for all others. */
static void wait_for_others(void *context, int64_t task, int worker)
{
    (void)worker;
    held *h = context;
    if (task == FEW / 2) {
        for (int i = 0; h->done < FEW - 1 && i < 10000; i++)
            usleep(1000);
        h->done_before = h->done;
    }
    h->done++;
}

static void the_others_run_the_range_of_a_thread_that_is_delayed(void **state)
{
    (void)state;
    threads *pool;
    held h = {0};
    assert_int_equal(threads_open(2, &pool), CORNU_OK);
    threads_run(pool, FEW, wait_for_others, &h);
    assert_int_equal(h.done_before, FEW - 1);
    assert_int_equal(h.done, FEW);
    threads_close(pool);
}

#if defined(__SSE__)
static void multiply_tiny(void *context, int64_t task, int worker)
{
    volatile float tiny = 1e-39f, large = 1e10f, half = 0.5f, *products = context;
    (void)worker;
    products[2 * task] = tiny * large; /* a denormal is read ... */
    tiny = 1.2e-38f;
    products[2 * task + 1] = tiny * half; /* ... or would be the result */
}

/* Each operation on denormals would cost some hundred cycles. */
static void denormal_numbers_count_as_zero_while_tasks_run_and_only_then(void **state)
{
    (void)state;
    float products[2 * 8];
    threads *pool;
    for (int count = 1; count <= 4; count += 3) {
        assert_int_equal(threads_open(count, &pool), CORNU_OK);
        memset(products, 1, sizeof products);
        threads_run(pool, 8, multiply_tiny, products);
        for (int i = 0; i < 2 * 8; i++)
            assert_true(products[i] == 0);
        threads_close(pool);
        multiply_tiny(products, 0, 0);
        assert_true(products[0] > 0 && products[1] > 0);
    }
}
#endif

static void ranges_hold_everything_once_at_multiples_of_the_grain(void **state)
{
    (void)state;
    for (int64_t total = 0; total < 100; total++)
        for (int64_t count = 1; count < 12; count++) {
            int64_t at = 0, begin, end;
            for (int64_t task = 0; task < count; task++) {
                threads_range(total, count, task, 8, &begin, &end);
                assert_int_equal(begin, at);
                assert_true(begin % 8 == 0 || begin == total);
                at = end;
            }
            assert_int_equal(at, total);
        }
}

static void count_comes_from_the_environment_and_a_bad_one_is_named(void **state)
{
    (void)state;
    threads *pool;
    setenv("CORNU_THREADS", "3", 1);
    assert_int_equal(threads_open(0, &pool), CORNU_OK);
    assert_int_equal(threads_count(pool), 3);
    threads_close(pool);
    assert_int_equal(threads_open(2, &pool), CORNU_OK);
    assert_int_equal(threads_count(pool), 2);
    threads_close(pool);
    static const char *const bad[] = {"0", "-1", "two", "2x", "99999999999999999999", "1025"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("CORNU_THREADS", bad[i], 1);
        assert_int_equal(threads_open(0, &pool), CORNU_INVALID);
        assert_null(pool);
        assert_non_null(strstr(cornu_last_error(), "CORNU_THREADS"));
        assert_non_null(strstr(cornu_last_error(), bad[i]));
    }
    unsetenv("CORNU_THREADS");
    assert_int_equal(threads_open(0, &pool), CORNU_OK);
    assert_int_equal(threads_count(pool), threads_default());
    threads_close(pool);
    assert_int_equal(threads_open(5000, &pool), CORNU_INVALID);
    assert_int_equal(threads_open(-1, &pool), CORNU_INVALID);
}

static void a_fork_closes_its_copy_without_waiting_for_threads_that_it_lacks(void **state)
{
    (void)state;
    threads *pool;
    int found = -1;
    assert_int_equal(threads_open(3, &pool), CORNU_OK);
    /* Its workers must be waiting for work by then: a copy's threads would wait for the same. */
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        threads_close(pool);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &found, 0), child);
    assert_true(WIFEXITED(found) && WEXITSTATUS(found) == 0);
    threads_close(pool);
}

static void default_stays_within_the_affinity(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_in_range(threads_default(), 1, CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    int count = threads_default();
    sched_setaffinity(0, sizeof before, &before);
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_has_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(every_task_of_many_short_jobs_runs_once),
        cmocka_unit_test(a_job_of_very_many_tasks_runs_each_once),
        cmocka_unit_test(the_others_run_the_range_of_a_thread_that_is_delayed),
#if defined(__SSE__)
        cmocka_unit_test(denormal_numbers_count_as_zero_while_tasks_run_and_only_then),
#endif
        cmocka_unit_test(ranges_hold_everything_once_at_multiples_of_the_grain),
        cmocka_unit_test(count_comes_from_the_environment_and_a_bad_one_is_named),
        cmocka_unit_test(a_fork_closes_its_copy_without_waiting_for_threads_that_it_lacks),
        cmocka_unit_test(default_stays_within_the_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
