#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "support/sanitized.h"

#include "base/env.h"
#include "base/memory.h"
#include <cornu/tables.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void allocations_are_zeroed_and_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 4097, (size_t)4 << 20, ((size_t)9 << 20) + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p;
        /* A first block, dirtied and released, so that fresh memory is not zero by chance. */
        assert_int_equal(memory_new_aligned(sizes[i], "p", &p), CORNU_OK);
        memset(p, 0xAA, sizes[i]);
        memory_free_aligned(p);
        assert_int_equal(memory_new_aligned(sizes[i], "p", &p), CORNU_OK);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t k = 0; k < sizes[i]; k++)
            if (p[k])
                fail_msg("byte %zu of %zu is not zero", k, sizes[i]);
        memory_free_aligned(p);
    }
}

static void too_much_is_refused_with_its_name(void **state)
{
    (void)state;
    static const size_t counts[][2] = {
        {SIZE_MAX, 2}, {SIZE_MAX / 2, 3}, {(size_t)1 << 46, 1}, {SIZE_MAX, 1}, {SIZE_MAX - 100, 1}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        void *p = &p;
        assert_int_equal(memory_new(counts[i][0], counts[i][1], "weights of dense", &p),
                         CORNU_OUT_OF_MEMORY);
        assert_null(p);
        assert_non_null(strstr(cornu_last_error(), "weights of dense: "));
        p = &p;
        if (counts[i][1] == 1) {
            assert_int_equal(memory_new_aligned(counts[i][0], "buffer", &p), CORNU_OUT_OF_MEMORY);
            assert_null(p);
        }
    }
}

/* Linux would grant it, and kill the process when it is used. */
static void more_than_is_free_is_refused_before_it_is_asked_for(void **state)
{
    (void)state;
    size_t much = 2 * (size_t)memory_available() + ((size_t)1 << 30), capacity = 0;
    void *p = NULL;
    assert_int_equal(memory_new(much, 1, "weights", &p), CORNU_OUT_OF_MEMORY);
    assert_non_null(strstr(cornu_last_error(), "weights: needs "));
    assert_non_null(strstr(cornu_last_error(), " is free"));
    assert_int_equal(memory_new_aligned(much, "buffers", &p), CORNU_OUT_OF_MEMORY);
    assert_non_null(strstr(cornu_last_error(), "buffers: needs "));
    assert_int_equal(memory_grow(&p, &capacity, much, 1), CORNU_OUT_OF_MEMORY);
    assert_non_null(strstr(cornu_last_error(), "array: needs "));
    assert_null(p);
}

static void available_is_within_total(void **state)
{
    (void)state;
    assert_true(memory_available() > 0);
    assert_true(memory_available() <= memory_total());
}

/* Linux gives memory when it is touched; allocated memory that is not touched yet is not free,
   whichever library allocated it. */
static void memory_that_is_not_touched_yet_counts_as_taken(void **state)
{
    (void)state;
    static const int64_t bytes = (int64_t)2 << 30;
    int64_t before = memory_available(), after;
    unsigned char *p;
    if (SANITIZED)
        skip(); /* sanitizers allocate by their own rules */
    if (before < 2 * bytes)
        skip();
    for (int own = 0; own < 2; own++) {
        if (own)
            p = calloc(1, (size_t)bytes);
        else
            assert_int_equal(memory_new_aligned((size_t)bytes, "p", &p), CORNU_OK);
        assert_non_null(p);
        after = memory_available();
        assert_true(before - after > bytes / 2);
        if (own)
            free(p);
        else
            memory_free_aligned(p);
        assert_true(memory_available() - after > bytes / 2);
    }
}

/* As with `ulimit -v`: an allocation that would fail later is refused by its size. */
static void a_limit_on_addresses_counts(void **state)
{
    (void)state;
    static const rlim_t room = (rlim_t)300 << 20;
    long long pages = 0;
    struct rlimit before, small;
    void *p;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(f, "%lld", &pages), 1);
    fclose(f);
    getrlimit(RLIMIT_AS, &before);
    small = before;
    small.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + room;
    setrlimit(RLIMIT_AS, &small);
    int64_t available = memory_available();
    cornu_status status = memory_new((size_t)350 << 20, 1, "inputs", &p);
    setrlimit(RLIMIT_AS, &before);
    assert_true(available <= (int64_t)room);
    assert_true(available > (int64_t)room / 2);
    assert_int_equal(status, CORNU_OUT_OF_MEMORY);
    assert_non_null(strstr(cornu_last_error(), "inputs: needs 367 MB of memory; "));
}

static void large_memory_can_be_given_back_for_a_while(void **state)
{
    (void)state;
    const size_t large = ((size_t)9 << 20) + 64, small = 4096;
    unsigned char *a, *b;
    assert_int_equal(memory_new_aligned(large, "a", &a), CORNU_OK);
    assert_int_equal(memory_new_aligned(small, "b", &b), CORNU_OK);
    memset(a, 1, large);
    memset(b, 1, small);
    unsigned char resident;
    memory_discard(a, large);
    memory_discard(b, small);
    assert_int_equal(mincore(a, 1, &resident), 0);
    assert_false(resident & 1);
    for (size_t i = 0; i < large; i++)
        assert_int_equal(a[i], 0);
    assert_int_equal(b[0], 1);
    memory_free_aligned(a);
    memory_free_aligned(b);
}

static void array_grows_and_keeps_its_items(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(memory_grow(&items, &capacity, (size_t)i + 1, sizeof *items), CORNU_OK);
        items[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    assert_int_equal(memory_grow(&items, &capacity, SIZE_MAX / 2, sizeof *items),
                     CORNU_OUT_OF_MEMORY);
    assert_int_equal(items[999], 999);
    free(items);
}

static void sizes_are_printed_for_people(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *expected;
    } cases[] = {{0, "0 B"},          {999, "999 B"},    {1000, "1.0 kB"},
                 {12345, "12 kB"},    {340e6, "340 MB"}, {1.24e9, "1.2 GB"},
                 {999.7e6, "1.0 GB"}, {9.96e6, "10 MB"}, {25e12, "25 TB"}};
    char out[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(memory_human(cases[i].bytes, out), cases[i].expected);
    memory_human(1e300, out); /* must stay within its 16 bytes */
    assert_true(strlen(out) < 16);
}

static void text_is_put_together(void **state)
{
    (void)state;
    text t = {0};
    char *out;
    size_t expected = 0;
    for (int i = 0; i < 1000; i++) {
        text_add(&t, "%d,", i);
        expected += i < 10 ? 2 : i < 100 ? 3 : 4;
    }
    assert_int_equal(text_take(&t, &out), CORNU_OK);
    assert_int_equal(strlen(out), expected);
    assert_int_equal(strncmp(out, "0,1,2,", 6), 0);
    assert_null(t.data);
    free(out);
    assert_int_equal(text_take(&t, &out), CORNU_OK);
    assert_string_equal(out, "");
    free(out);
}

static void message_is_one_printable_line_and_can_be_prefixed(void **state)
{
    (void)state;
    assert_int_equal(status_fail(CORNU_BAD_FILE, "a%cb\nc\x1b[31m", 7), CORNU_BAD_FILE);
    assert_string_equal(cornu_last_error(), "a\\x07b\\nc\\x1b[31m");
    assert_int_equal(status_prefix(CORNU_BAD_FILE, "file %d", 1), CORNU_BAD_FILE);
    assert_string_equal(cornu_last_error(), "file 1: a\\x07b\\nc\\x1b[31m");
    status_fail(CORNU_IO, "again: %s", cornu_last_error());
    assert_string_equal(cornu_last_error(), "again: file 1: a\\x07b\\nc\\x1b[31m");
    char longer[10001];
    longer[10000] = 0;
    for (int shift = 0; shift < 2; shift++) {
        memset(longer, 'x', 10000);
        /* "ä" has two bytes: at one of the two shifts the limit falls inside one. */
        for (int i = shift; i + 1 < 10000; i += 2)
            memcpy(longer + i, "ä", 2);
        status_fail(CORNU_IO, "%s", longer);
        size_t length = strlen(cornu_last_error());
        assert_true(length > 1000 && length < 10000);
        assert_int_equal((length - (size_t)shift) % 2, 0);
    }
    status_prefix(CORNU_IO, "%s", longer);
    assert_true(strlen(cornu_last_error()) < 10000);
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    status_fail(CORNU_IO, "other thread");
    return NULL;
}

static void message_belongs_to_its_thread(void **state)
{
    (void)state;
    pthread_t thread;
    status_fail(CORNU_IO, "this thread");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(cornu_last_error(), "this thread");
}

static void every_status_has_its_own_name(void **state)
{
    (void)state;
    for (int i = CORNU_OK; i <= CORNU_INTERNAL; i++) {
        assert_string_not_equal(cornu_status_name((cornu_status)i), "unknown status");
        for (int k = CORNU_OK; k < i; k++)
            assert_string_not_equal(cornu_status_name((cornu_status)i),
                                    cornu_status_name((cornu_status)k));
    }
    assert_string_equal(cornu_status_name((cornu_status)99), "unknown status");
    assert_string_equal(cornu_version(), CORNU_VERSION);
}

static void environment_is_listed_with_values(void **state)
{
    (void)state;
    char *table;
    setenv("CORNU_DATA", "/some/where", 1);
    setenv("CORNU_LOG", "", 1);
    assert_string_equal(env_get(ENV_DATA), "/some/where");
    assert_null(env_get(ENV_LOG));
    assert_int_equal(cornu_environment(&table), CORNU_OK);
    assert_non_null(strstr(table, "CORNU_DATA"));
    assert_non_null(strstr(table, "/some/where"));
    assert_non_null(strstr(table, "CORNU_THREADS"));
    cornu_free(table);
    unsetenv("CORNU_DATA");
    unsetenv("CORNU_LOG");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_zeroed_and_aligned),
        cmocka_unit_test(too_much_is_refused_with_its_name),
        cmocka_unit_test(memory_that_is_not_touched_yet_counts_as_taken),
        cmocka_unit_test(a_limit_on_addresses_counts),
        cmocka_unit_test(large_memory_can_be_given_back_for_a_while),
        cmocka_unit_test(more_than_is_free_is_refused_before_it_is_asked_for),
        cmocka_unit_test(available_is_within_total),
        cmocka_unit_test(array_grows_and_keeps_its_items),
        cmocka_unit_test(sizes_are_printed_for_people),
        cmocka_unit_test(text_is_put_together),
        cmocka_unit_test(message_is_one_printable_line_and_can_be_prefixed),
        cmocka_unit_test(message_belongs_to_its_thread),
        cmocka_unit_test(every_status_has_its_own_name),
        cmocka_unit_test(environment_is_listed_with_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
