/* What ranks do together, by threads in the place of processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/rank_threads.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include <cornu/parallel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- bytes ------------------------------------------------------------------------------ */

static cornu_status share(cornu_ranks *r, void *context)
{
    (void)context;
    int own[3] = {cornu_ranks_number(r), 7, -cornu_ranks_number(r)}, all[3 * RANK_THREADS_MOST];
    for (int turn = 0; turn < 50; turn++) {
        own[1] = turn;
        memset(all, 1, sizeof all);
        cornu_status status = cornu_ranks_share(r, own, all, sizeof own);
        if (status != CORNU_OK)
            return status;
        for (int i = 0; i < cornu_ranks_count(r); i++)
            if (all[3 * i] != i || all[3 * i + 1] != turn || all[3 * i + 2] != -i)
                return status_fail(CORNU_INTERNAL, "turn %d: rank %d's bytes are wrong", turn, i);
    }
    return CORNU_OK;
}

static void everybody_gets_everybodys_bytes(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    for (int count = 1; count <= RANK_THREADS_MOST; count *= 2) {
        rank_threads_run(count, share, NULL, results);
        rank_threads_expect(results, count, CORNU_OK);
    }
    int one = 1, all = 0;
    assert_int_equal(cornu_ranks_share(NULL, &one, &all, sizeof one), CORNU_OK);
    assert_int_equal(all, 1);
    assert_int_equal(cornu_ranks_share(NULL, &one, NULL, sizeof one), CORNU_INVALID);
}

/* ---- sums ------------------------------------------------------------------------------- */

/* Numbers whose sum hangs on the order. */
static float value_of(int rank, int64_t i)
{
    static const float sizes[] = {1e-3f, 1.0f, 3e4f, 1e7f};
    return sizes[(i + rank) % 4] * (float)((i * 7919 + rank * 104729) % 1000 - 500) / 997.0f;
}

/* Rounded to bfloat16 by another way than base/number.h: halfway between its neighbours is exact.
 */
static float nearest_bf16(float value)
{
    int exponent;
    double fraction = frexp((double)value, &exponent) * 256;
    return (float)ldexp(nearbyint(fraction), exponent - 8); /* ties to even */
}

enum { NUMBERS_MOST = 5 << 19 };

/* Each rank's numbers, and their sums over the ranks there are, rounded or not: all ranks compare
   with these. */
static float of_rank[RANK_THREADS_MOST][NUMBERS_MOST], of_all[2][NUMBERS_MOST];

static float tree_sum(int begin, int count, int64_t i, bool rounds)
{
    if (count == 1)
        return of_rank[begin][i];
    float left = tree_sum(begin, count / 2, i, rounds);
    float right = tree_sum(begin + count / 2, count / 2, i, rounds);
    return rounds ? nearest_bf16(left) + nearest_bf16(right) : left + right;
}

static float expected_sum(int count, int64_t i, bool rounds)
{
    float root = tree_sum(0, count, i, rounds);
    return rounds && count > 1 ? nearest_bf16(root) : root;
}

static void compute_numbers(int ranks)
{
    for (int64_t i = 0; i < NUMBERS_MOST; i++) {
        for (int r = 0; r < ranks; r++)
            of_rank[r][i] = value_of(r, i);
        for (int rounds = 0; rounds < 2; rounds++)
            of_all[rounds][i] = expected_sum(ranks, i, rounds);
    }
}

/* Are the numbers found `factor` times those expected, bit by bit? */
static cornu_status check_numbers(const float *found, const float *expected, int64_t count,
                                  float factor)
{
    for (int64_t i = 0; i < count; i++) {
        float number = factor * expected[i];
        if (memcmp(&found[i], &number, sizeof number) != 0)
            return status_fail(CORNU_INTERNAL, "number %jd of %jd: found %.9g; expected %.9g",
                               (intmax_t)i, (intmax_t)count, (double)found[i], (double)number);
    }
    return CORNU_OK;
}

/* Numbers that are sent, or read in the others' memory. */
typedef struct numbers {
    int64_t count;
    bool in_block;
} numbers;

static cornu_status new_numbers(cornu_ranks *r, const numbers *n, float **values)
{
    size_t bytes = (size_t)n->count * sizeof **values + 1;
    if (n->in_block)
        return ranks_block_new(r, bytes, "numbers", values);
    *values = malloc(bytes);
    return CORNU_OK;
}

static void free_numbers(cornu_ranks *r, const numbers *n, float *values)
{
    if (n->in_block)
        ranks_block_free(r, values);
    else
        free(values);
}

/* `work` of so many numbers (its context), by any number of ranks. */
static void run_all_sizes(rank_work *work)
{
    rank_result results[RANK_THREADS_MOST];
    static const int64_t sizes[] = {0, 1, 7, 1000,          (1 << 20) + 5,
                                    2, 3, 8, (1 << 20) - 1, NUMBERS_MOST};
    for (int count = 1; count <= RANK_THREADS_MOST; count *= 2) {
        size_t most = SANITIZED ? (count < 8 ? 5 : 4) : sizeof sizes / sizeof *sizes;
        compute_numbers(count);
        for (size_t i = 0; i < 2 * most; i++) {
            rank_threads_run(count, work, &(numbers){sizes[i / 2], i % 2 == 1}, results);
            rank_threads_expect(results, count, CORNU_OK);
        }
    }
}

static cornu_status sum(cornu_ranks *r, void *context)
{
    const numbers *n = context;
    int64_t count = n->count;
    float *values;
    bool all = false;
    cornu_status made = new_numbers(r, n, &values);
    if (made != CORNU_OK)
        return made;
    int64_t rounded = cornu_ranks_count(r) == 4 ? count / 3 : 0;
    ranks_sum_begin(r, values, &(ranks_numbers){.count = count, .rounded = rounded}, true);
    for (int64_t i = 0; i < count; i++) {
        values[i] = of_rank[cornu_ranks_number(r)][i];
        if (i % 100003 == 100002) /* the sum of what is there begins meanwhile */
            ranks_sum_ready(r, i + 1);
    }
    ranks_sum_ready(r, count);
    cornu_status status = ranks_sum_end(r, CORNU_OK, &all);
    if (status == CORNU_OK && !all)
        status = status_fail(CORNU_INTERNAL, "not all joined");
    if (status == CORNU_OK)
        status = check_numbers(values, of_all[1], rounded, 1);
    if (status == CORNU_OK)
        status = check_numbers(values + rounded, of_all[0] + rounded, count - rounded, 1);
    free_numbers(r, n, values);
    return status;
}

static void sums_are_those_of_the_fixed_tree(void **state)
{
    (void)state;
    run_all_sizes(sum);
}

/* Where a block cannot be shared its numbers are sent. */
static void a_limit_on_files_is_none_on_numbers(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    compute_numbers(2);
    rank_threads_run(2, sum, &(numbers){1000, true}, results);
    setrlimit(RLIMIT_FSIZE, &before);
    rank_threads_expect(results, 2, CORNU_OK);
}

/* Is the last addition of the divided ones left to who uses them? */
static bool rests(const cornu_ranks *r, const numbers *of, const ranks_numbers *n)
{
    return of->in_block && cornu_ranks_count(r) > 1 && n->divided > 0 && n->rounded == 0;
}

/* A sum of which the first numbers stay divided: each rank has its parts of those, doubles them
   while the first are sent, and then all have all. */
static cornu_status sum_divided(cornu_ranks *r, void *context)
{
    const numbers *of = context;
    int64_t count = of->count, covered = 0;
    bool all, rounds = cornu_ranks_count(r) == 4 && count % 2 == 0;
    int64_t divided = count - count / 5;
    ranks_numbers n = {.count = count, .divided = divided, .rounded = rounds ? divided : 0};
    float *values;
    cornu_status made = new_numbers(r, of, &values);
    if (made != CORNU_OK)
        return made;
    memcpy(values, of_rank[cornu_ranks_number(r)], (size_t)count * sizeof *values);
    ranks_sum_begin(r, values, &n, true);
    ranks_sum_ready(r, count);
    cornu_status status = ranks_sum_end(r, CORNU_OK, &all);
    int parts = ranks_parts(cornu_ranks_number(r), cornu_ranks_count(r), &n, NULL);
    ranks_part *own = malloc((size_t)parts * sizeof *own + 1);
    bool whole = ranks_parts(cornu_ranks_number(r), cornu_ranks_count(r), &n, own) == parts;
    const float *rest = ranks_rest(r, &n, values);
    if (status == CORNU_OK && (rest != NULL) != rests(r, of, &n))
        status = status_fail(CORNU_INTERNAL, "%jd numbers: who adds the last?", (intmax_t)count);
    ranks_gather_begin(r, values, &n);
    for (int k = 0; k < parts; k++) {
        whole = whole && own[k].begin <= own[k].end && own[k].end <= own[k].bucket_end;
        for (int64_t i = own[k].begin; i < own[k].end; i++)
            values[i] = 2 * (values[i] + (rest ? rest[i] : 0));
        covered += own[k].end - own[k].begin;
        ranks_sum_ready(r, own[k].bucket_end);
    }
    if (status == CORNU_OK)
        status = ranks_sum_end(r, CORNU_OK, &all);
    if (status == CORNU_OK)
        status = check_numbers(values, of_all[rounds], divided, 2);
    if (status == CORNU_OK)
        status = check_numbers(values + divided, of_all[0] + divided, count - divided, 1);
    int64_t each[RANK_THREADS_MOST], sum = 0;
    if (status == CORNU_OK)
        status = ranks_share(r, &covered, each, sizeof covered);
    for (int i = 0; status == CORNU_OK && i < cornu_ranks_count(r); i++)
        sum += each[i];
    if (status == CORNU_OK && (!whole || sum != divided)) /* each number is one rank's */
        status = status_fail(CORNU_INTERNAL, "the parts are not those of %jd", (intmax_t)divided);
    free(own);
    free_numbers(r, of, values);
    return status;
}

static void parts_of_a_divided_sum_are_gathered(void **state)
{
    (void)state;
    run_all_sizes(sum_divided);
}

static cornu_status join_but_one(cornu_ranks *r, void *context)
{
    float values[3] = {1, 2, 3};
    bool joins = cornu_ranks_number(r) != *(const int *)context, all = true;
    ranks_sum_begin(r, values, &(ranks_numbers){.count = 3}, joins);
    if (joins)
        ranks_sum_ready(r, 3);
    cornu_status status = ranks_sum_end(r, CORNU_OK, &all);
    if (status == CORNU_OK && (all || values[0] != 1 || values[1] != 2 || values[2] != 3))
        status = status_fail(CORNU_INTERNAL, "something was added");
    return status;
}

static void nothing_is_added_unless_all_join(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    for (int count = 1; count <= RANK_THREADS_MOST; count *= 2) {
        int last = count - 1;
        rank_threads_run(count, join_but_one, &last, results);
        rank_threads_expect(results, count, CORNU_OK);
    }
}

/* ---- what must be the same --------------------------------------------------------------- */

static cornu_status agree(cornu_ranks *r, void *context)
{
    const int *odd = context;
    ranks_claim claims[] = {{"cornu", "0.1"}, {"batch", "32"}, {"seed", "1"}};
    if (cornu_ranks_number(r) == odd[0])
        strcpy(claims[odd[1]].value, "64");
    return cornu_ranks_end(r, ranks_agree(r, claims, 3));
}

static void who_differs_is_named_by_the_first_rank_alone(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    rank_threads_run(4, agree, (int[]){-1, 0}, results);
    rank_threads_expect(results, 4, CORNU_OK);
    rank_threads_run(4, agree, (int[]){2, 1}, results);
    rank_threads_expect(results + 1, 3, CORNU_RANK);
    assert_int_equal(results[0].status, CORNU_INVALID);
    for (int i = 0; i < 4; i++) {
        assert_non_null(strstr(results[i].message, "batch: found 64 on rank 2 ("));
        assert_non_null(strstr(results[i].message, "); expected 32, as on rank 0 ("));
        assert_true(results[i].seconds < 5);
    }
}

/* ---- failures --------------------------------------------------------------------------- */

/* One rank fails; the others wait for it. */
static cornu_status fail_one(cornu_ranks *r, void *context)
{
    int one = 0, all[RANK_THREADS_MOST];
    if (cornu_ranks_number(r) == *(const int *)context)
        return cornu_ranks_end(r, status_fail(CORNU_IO, "m.safetensors: no space left on device"));
    return cornu_ranks_end(r, ranks_share(r, &one, all, sizeof one));
}

static void a_failure_is_told_to_all(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    for (int failing = 0; failing < 8; failing += 7) {
        char expected[64];
        snprintf(expected, sizeof expected, "rank %d (", failing);
        rank_threads_run(8, fail_one, &failing, results);
        for (int i = 0; i < 8; i++) {
            rank_threads_expect_one(results, i, 8, i == failing ? CORNU_IO : CORNU_RANK);
            assert_int_equal(strncmp(results[i].message, expected, strlen(expected)), 0);
            assert_non_null(strstr(results[i].message, "): m.safetensors: no space left"));
            assert_true(results[i].seconds < 8);
        }
    }
}

/* One rank cannot make the second half of its numbers, of which the first are being added. */
static cornu_status fail_halfway(cornu_ranks *r, void *context)
{
    enum { COUNT = 1 << 20 };
    float *values = calloc(COUNT, sizeof *values);
    bool all, fails = cornu_ranks_number(r) == *(const int *)context;
    ranks_sum_begin(r, values, &(ranks_numbers){.count = COUNT}, true);
    ranks_sum_ready(r, fails ? COUNT / 2 : COUNT);
    cornu_status status = fails ? status_fail(CORNU_DEVICE, "dense: the device is lost") : CORNU_OK;
    status = ranks_sum_end(r, status, &all);
    free(values);
    return cornu_ranks_end(r, status);
}

static void a_failure_halfway_ends_a_sum(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    for (int failing = 0; failing < 4; failing += 3) {
        rank_threads_run(4, fail_halfway, &failing, results);
        for (int i = 0; i < 4; i++) {
            rank_threads_expect_one(results, i, 4, i == failing ? CORNU_DEVICE : CORNU_RANK);
            assert_non_null(strstr(results[i].message, "): dense: the device is lost"));
            assert_true(results[i].seconds < 8);
        }
    }
}

/* What all do wrong is said once. */
static cornu_status fail_all(cornu_ranks *r, void *context)
{
    (void)context;
    return cornu_ranks_end(r, status_fail(CORNU_INVALID, "batch: found -1"));
}

static void the_same_failure_of_all_is_the_first_ranks(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    int speakers = 0;
    rank_threads_run(4, fail_all, NULL, results);
    for (int i = 0; i < 4; i++) {
        assert_true(results[i].status == CORNU_INVALID || results[i].status == CORNU_RANK);
        speakers += results[i].status == CORNU_INVALID;
    }
    assert_in_range(speakers, 1, 2); /* the first, unless the machine keeps it for seconds */
}

/* Between 1 and 3, which are neighbours, nothing gets through any more. */
static cornu_status be_cut(cornu_ranks *r, void *context)
{
    int one = 0, all[RANK_THREADS_MOST];
    (void)context;
    cornu_status status = ranks_share(r, &one, all, sizeof one);
    if (status == CORNU_OK && cornu_ranks_number(r) == 1)
        rank_threads_cut(1, 3);
    for (int turn = 0; status == CORNU_OK && turn < 1000; turn++) {
        status = ranks_share(r, &one, all, sizeof one);
        usleep(10000);
    }
    return cornu_ranks_end(r, status);
}

static void who_does_not_answer_is_named(void **state)
{
    (void)state;
    int noticed = 0;
    rank_result results[RANK_THREADS_MOST];
    rank_threads_run(4, be_cut, NULL, results);
    for (int i = 0; i < 4; i++) {
        bool names =
            strstr(results[i].message, "rank 1 (") && strstr(results[i].message, "rank 3 (");
        assert_true(names);
        assert_non_null(strstr(results[i].message, ") for 5 s: its process has ended or hangs"));
        assert_true(results[i].seconds < 10);
        assert_true(results[i].status == CORNU_NETWORK || results[i].status == CORNU_RANK);
        noticed += results[i].status == CORNU_NETWORK;
        if (i == 0 || i == 2)
            assert_int_equal(results[i].status, CORNU_RANK);
    }
    assert_true(noticed >= 1);
}

/* Whoever computes for longer than that is not taken for gone. */
static cornu_status be_slow(cornu_ranks *r, void *context)
{
    int one = 0, all[RANK_THREADS_MOST];
    (void)context;
    if (cornu_ranks_number(r) == 1)
        sleep(7);
    return ranks_share(r, &one, all, sizeof one);
}

static void slow_ranks_are_waited_for(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    rank_threads_run(2, be_slow, NULL, results);
    rank_threads_expect(results, 2, CORNU_OK);
    assert_true(results[0].seconds > 6);
}

/* Rank 1 goes home, and 0 thinks that there is more to do. */
static cornu_status leave_early(cornu_ranks *r, void *context)
{
    int one = 0, all[RANK_THREADS_MOST];
    (void)context;
    cornu_status status = ranks_share(r, &one, all, sizeof one);
    if (status != CORNU_OK || cornu_ranks_number(r) == 1)
        return status;
    return cornu_ranks_end(r, ranks_share(r, &one, all, sizeof one));
}

static void who_waits_for_one_that_has_left_is_told(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    rank_threads_run(2, leave_early, NULL, results);
    assert_int_equal(results[1].status, CORNU_OK);
    assert_int_equal(results[0].status, CORNU_NETWORK);
    assert_non_null(strstr(results[0].message, "rank 1 ("));
    assert_non_null(strstr(results[0].message, ") has ended, but rank 0 ("));
    assert_true(results[0].seconds < 6);
}

static void a_launched_process_may_be_told_to_be_alone(void **state)
{
    int rank = 0;
    cornu_ranks *ranks = NULL;
    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    assert_int_equal(cornu_ranks_launched(&rank), 4);
    assert_int_equal(rank, 3);
    setenv("CORNU_RANKS", "off", 1);
    assert_int_equal(cornu_ranks_launched(&rank), 1);
    assert_int_equal(rank, 0);
    assert_int_equal(cornu_ranks_open(&ranks), CORNU_OK);
    assert_null(ranks);
    unsetenv("CORNU_RANKS");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_everybodys_bytes),
        cmocka_unit_test(sums_are_those_of_the_fixed_tree),
        cmocka_unit_test(a_limit_on_files_is_none_on_numbers),
        cmocka_unit_test(parts_of_a_divided_sum_are_gathered),
        cmocka_unit_test(nothing_is_added_unless_all_join),
        cmocka_unit_test(who_differs_is_named_by_the_first_rank_alone),
        cmocka_unit_test(a_failure_is_told_to_all),
        cmocka_unit_test(a_failure_halfway_ends_a_sum),
        cmocka_unit_test(the_same_failure_of_all_is_the_first_ranks),
        cmocka_unit_test(who_does_not_answer_is_named),
        cmocka_unit_test(slow_ranks_are_waited_for),
        cmocka_unit_test(who_waits_for_one_that_has_left_is_told),
        cmocka_unit_test(a_launched_process_may_be_told_to_be_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
