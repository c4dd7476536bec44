/* Several ranks and a folder of pictures: each decodes its share, and which files can be read, on
   which rank, changes no bit. Ranks are threads here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/rank_threads.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/images.h>
#include <cornu/parallel.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Batches of 16 and a last one of less than 8, of which some shards get none. */
enum { PICTURES = 131 };
static const int bad[] = {3, 17, 20, 44, 45, 130}; /* 20, 45 and 130 are test samples */

static const char recipe[] =
    "data: {image_size: 1, channels: 1, augment: {brightness_range: [0.5, 1.5]}}\n"
    "model:\n"
    "  input: [1, 1, 1]\n"
    "  layers: [Flatten, {Dense: {units: 7, activation: relu}}, {Dropout: {rate: 0.2}},\n"
    "           {Dense: {units: 2, activation: softmax}}]\n"
    "compile: {optimizer: adam, loss: categorical_crossentropy, metrics: [accuracy]}\n"
    "fit: {epochs: 4, batch_size: 16, shards: 8, validation: test, validation_batch_size: 4,\n"
    "      seed: 5}\n";

static const char *path_of(const char *folder, int i)
{
    static char name[64];
    snprintf(name, sizeof name, "%s/%s/%c/%03d.pgm", folder, i % 5 ? "train" : "test", 'a' + i % 2,
             i);
    return name;
}

/* Pixels in place of the sizes: no picture, of a picture's size. */
static void damage(const char *folder, int i)
{
    made_file(path_of(folder, i), "P5 0 0 255 x", 12);
}

static void make_folder(const char *folder, bool with_bad)
{
    for (int i = 0; i < PICTURES; i++) {
        char text[] = "P5 1 1 255 x";
        text[11] = (char)(i + 1);
        made_file(path_of(folder, i), text, 12);
    }
    for (size_t k = 0; with_bad && k < sizeof bad / sizeof *bad; k++)
        damage(folder, bad[k]);
}

/* ---- runs --------------------------------------------------------------------------------- */

typedef struct training {
    char root[1200]; /* the scratch folder */
    const char *cache;
    int64_t epochs;
    bool strict;
    const char *save, *resume;
    int stop_after;         /* questions whether to go on, on the last rank; 0: never */
    int stop_reading_after; /* the same, asked while it waits for samples */
    const char *other;      /* folder of rank 1; NULL: as the others */
    cornu_model *models[RANK_THREADS_MOST];
    cornu_history *histories[RANK_THREADS_MOST];
    cornu_data_loading loading[RANK_THREADS_MOST];
    notices said[RANK_THREADS_MOST];
} training;

static cornu_status open_model(const training *t, cornu_model **model)
{
    return t->resume ? cornu_model_open(t->resume, model)
                     : cornu_model_parse(recipe, "r.yaml", model);
}

static cornu_status open_folder(training *t, cornu_ranks *ranks, int rank, cornu_data **data)
{
    char folder[1300];
    snprintf(folder, sizeof folder, "%s/%s", t->root, rank == 1 && t->other ? t->other : "f");
    cornu_data_options o = {.size = sizeof o,
                            .folder = folder,
                            .on_notice = notices_add,
                            .user = &t->said[rank],
                            .ranks = ranks,
                            .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                              .background = true,
                                                              .strict = t->strict,
                                                              .cache = t->cache,
                                                              .cache_folder = t->root,
                                                              .workers = 1 + rank % 3}};
    if (t->stop_reading_after && rank == cornu_ranks_count(ranks) - 1) {
        o.should_stop = stop_after;
        o.on_notice = NULL;
        o.user = &t->stop_reading_after;
    }
    return cornu_data_open_for_model(t->models[rank], &o, data);
}

static cornu_status train(cornu_ranks *ranks, void *context)
{
    training *t = context;
    int rank = cornu_ranks_number(ranks), left = t->stop_after;
    cornu_data *data = NULL;
    cornu_fit_options o = {.size = sizeof o,
                           .ranks = ranks,
                           .where.threads = 1,
                           .epochs = t->epochs,
                           .save = t->save,
                           .resume = t->resume != NULL,
                           .user = &left};
    if (t->stop_after && rank == cornu_ranks_count(ranks) - 1)
        o.should_stop = stop_after;
    cornu_status status = open_model(t, &t->models[rank]);
    if (status == CORNU_OK)
        status = open_folder(t, ranks, rank, &data);
    if (status == CORNU_OK)
        status = cornu_fit(t->models[rank], data, &o, &t->histories[rank]);
    if (data)
        t->loading[rank].size = sizeof t->loading[rank];
    (void)cornu_data_loading_get(data, &t->loading[rank]);
    cornu_data_close(data);
    return status;
}

static void close_all(training *t)
{
    for (int i = 0; i < RANK_THREADS_MOST; i++) {
        cornu_model_close(t->models[i]);
        cornu_history_close(t->histories[i]);
    }
}

static void train_alone(training *t)
{
    snprintf(t->root, sizeof t->root, "%s", scratch_path(""));
    expect_ok(train(NULL, t));
}

static void train_all(int count, training *t, rank_result *results)
{
    snprintf(t->root, sizeof t->root, "%s", scratch_path(""));
    rank_threads_run(count, train, t, results);
}

/* ---- bits --------------------------------------------------------------------------------- */

static void expect_same_run(const training *alone, const training *t, int rank)
{
    const cornu_history *a = alone->histories[0], *b = t->histories[rank];
    assert_true(same_bits(alone->models[0], t->models[rank]));
    assert_int_equal(cornu_history_epochs(a), cornu_history_epochs(b));
    for (int e = 0; e < cornu_history_epochs(a); e++)
        for (int c = 0; c + 1 < cornu_history_columns(a); c++) /* the last are seconds */
            assert_true(cornu_history_value(a, e, c) == cornu_history_value(b, e, c));
}

static void bits_do_not_depend_on_who_reads_what(void **state)
{
    (void)state;
    static const char *const caches[] = {NULL, "off"};
    rank_result results[RANK_THREADS_MOST];
    make_folder("f", true);
    training alone = {.cache = NULL};
    train_alone(&alone);
    for (int k = 0; k < 2; k++)
        for (int count = 2; count <= 8; count *= 2) {
            training t = {.cache = caches[k]};
            train_all(count, &t, results);
            rank_threads_expect(results, count, CORNU_OK);
            for (int i = 0; i < count; i++) {
                expect_same_run(&alone, &t, i);
                assert_int_equal(t.loading[i].skipped, sizeof bad / sizeof *bad);
            }
            close_all(&t);
        }
    close_all(&alone);
}

/* Stopped in the first pass, in a later one, and while files are new to all. */
static void a_stopped_run_goes_on_with_other_ranks(void **state)
{
    (void)state;
    static const int counts[][2] = {{4, 2}, {2, 8}, {8, 1}, {1, 4}};
    char path[1200];
    rank_result results[RANK_THREADS_MOST];
    make_folder("f", true);
    snprintf(path, sizeof path, "%s", scratch_path("part.safetensors"));
    training alone = {.cache = NULL};
    train_alone(&alone);
    for (int i = 0; i < 4; i++) {
        training first = {.save = path, .stop_after = 2 + 5 * i, .cache = i % 2 ? "off" : NULL};
        train_all(counts[i][0], &first, results);
        rank_threads_expect(results, counts[i][0], CORNU_STOPPED);
        close_all(&first);
        training rest = {.resume = path, .cache = i % 2 ? NULL : "off"};
        train_all(counts[i][1], &rest, results);
        rank_threads_expect(results, counts[i][1], CORNU_OK);
        assert_true(same_bits(alone.models[0], rest.models[0]));
        close_all(&rest);
    }
    close_all(&alone);
}

/* One that is stopped while it waits for its samples takes the others with it, after the same step,
   and what was saved goes on. */
static void nor_does_a_stop_while_one_waits_for_its_samples(void **state)
{
    (void)state;
    char path[1200];
    rank_result results[RANK_THREADS_MOST];
    int stopped = 0;
    make_folder("f", true);
    snprintf(path, sizeof path, "%s", scratch_path("part.safetensors"));
    training alone = {.cache = NULL};
    train_alone(&alone);
    for (int calls = 2; calls < 90; calls += 8) {
        training first = {.save = path, .stop_reading_after = calls, .cache = "off"};
        (void)unlink(path);
        train_all(4, &first, results);
        bool ended = results[0].status == CORNU_OK; /* little was to be waited for */
        rank_threads_expect(results, 4, ended ? CORNU_OK : CORNU_STOPPED);
        int64_t steps = first.models[0]->training.position.iterations;
        for (int i = 1; i < 4; i++)
            assert_int_equal(first.models[i]->training.position.iterations, steps);
        close_all(&first);
        if (ended || steps == 0)
            continue;
        stopped++;
        training rest = {.resume = path};
        train_all(2, &rest, results);
        rank_threads_expect(results, 2, CORNU_OK);
        assert_true(same_bits(alone.models[0], rest.models[0]));
        close_all(&rest);
    }
    if (stopped == 0)
        print_message("nothing was stopped: samples were always there\n");
    close_all(&alone);
}

/* ---- shares ------------------------------------------------------------------------------- */

static void each_rank_decodes_its_share(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    make_folder("f", false);
    for (int count = 1; count <= 8; count *= 2) {
        training t = {.epochs = 1};
        int64_t all = 0;
        train_all(count, &t, results);
        rank_threads_expect(results, count, CORNU_OK);
        for (int i = 0; i < count; i++) {
            int64_t decoded = t.loading[i].decoded;
            if (decoded > PICTURES / count + 8 || decoded < PICTURES / count - 8)
                fail_msg("rank %d of %d decoded %lld of %d", i, count, (long long)decoded,
                         PICTURES);
            all += decoded;
        }
        assert_int_equal(all, PICTURES);
        close_all(&t);
    }
}

/* All files are read before the first step, each by one rank; training then needs a share that has
   nothing to do with that. */
static void what_must_be_known_before_is_divided_as_well(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    make_folder("f", false);
    training t = {.epochs = 1, .strict = true};
    train_all(4, &t, results);
    rank_threads_expect(results, 4, CORNU_OK);
    for (int i = 0; i < 4; i++)
        assert_in_range(t.loading[i].decoded, PICTURES / 4, PICTURES / 4 + PICTURES / 4 + 8);
    close_all(&t);
}

/* In later epochs it needs others', and decodes them then: each once at most. */
static void what_memory_holds_is_not_decoded_again(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    make_folder("f", false);
    training t = {.epochs = 12};
    train_all(2, &t, results);
    rank_threads_expect(results, 2, CORNU_OK);
    for (int i = 0; i < 2; i++)
        assert_in_range(t.loading[i].decoded, PICTURES / 2, PICTURES);
    close_all(&t);
}

/* ---- what differs, and fails -------------------------------------------------------------- */

static void other_files_on_one_rank_are_found_before_the_first_step(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    make_folder("f", false);
    make_folder("g", false);
    for (int i = 0; i < 3; i++) {
        training t = {.other = "g"};
        make_folder("g", false);
        if (i == 0) /* the first is looked into; of others a size counts, and a name */
            damage("g", 2);
        else if (i == 1)
            made_file(path_of("g", 7), "P5 1 1 255 xx", 13);
        else
            assert_int_equal(rename(scratch_path(path_of("g", 7)), scratch_path("g/train/b/x")), 0);
        train_all(2, &t, results);
        assert_int_equal(results[0].status, CORNU_INVALID);
        assert_int_equal(results[1].status, CORNU_RANK);
        assert_non_null(strstr(results[0].message, "files of the pictures: found 131 "));
        assert_non_null(strstr(results[0].message, " on rank 1 ("));
        close_all(&t);
    }
}

/* Training samples that are not looked into before the first step: of class a the even ones, 2, 4,
   6, 8, 12, ..., every seventh is. */
static const int unseen[] = {4, 6, 8, 12, 14, 16, 22, 24, 26, 28};

/* Rank 1 cannot read a file that rank 0 can. If it is the first to try, both go without; else it is
   wrong. */
static void a_file_that_one_rank_cannot_read(void **state)
{
    (void)state;
    int ended = 0, skipped = 0;
    make_folder("f", false);
    for (int k = 0; k < 10; k++) {
        int i = unseen[k];
        rank_result results[RANK_THREADS_MOST];
        training t = {.other = "g", .epochs = 6};
        make_folder("g", false);
        damage("g", i);
        train_all(2, &t, results);
        if (results[0].status == CORNU_OK) {
            skipped++;
            assert_int_equal(results[1].status, CORNU_OK);
            assert_true(same_bits(t.models[0], t.models[1]));
            assert_non_null(strstr(t.said[0].lines, path_of("g", i)));
        } else {
            ended++;
            assert_int_equal(results[0].status, CORNU_RANK);
            assert_int_equal(results[1].status, CORNU_BAD_FILE);
            assert_non_null(strstr(results[0].message, "rank 1 ("));
            assert_non_null(strstr(results[0].message, path_of("g", i)));
            assert_non_null(strstr(results[0].message, "(another rank could read it)"));
        }
        close_all(&t);
    }
    assert_true(ended > 0);
    assert_true(skipped > 0);
}

static void a_bad_file_is_an_error_before_the_first_step_where_none_may_be(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    make_folder("f", true);
    training t = {.strict = true};
    train_all(4, &t, results);
    for (int i = 0; i < 4; i++) {
        assert_true(results[i].status == CORNU_BAD_FILE || results[i].status == CORNU_RANK);
        assert_non_null(strstr(results[i].message, "strict: found 6 such files"));
        assert_int_equal(t.models[i]->training.position.iterations, 0);
    }
    close_all(&t);
}

static void a_folder_without_a_readable_file_is_told(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    for (int i = 0; i < PICTURES; i++)
        damage("f", i);
    training t = {.cache = NULL};
    train_all(2, &t, results);
    for (int i = 0; i < 2; i++) {
        assert_true(results[i].status == CORNU_BAD_FILE || results[i].status == CORNU_RANK);
        assert_non_null(strstr(results[i].message, "found no readable images"));
    }
    close_all(&t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bits_do_not_depend_on_who_reads_what),
        TEST(a_stopped_run_goes_on_with_other_ranks),
        TEST(nor_does_a_stop_while_one_waits_for_its_samples),
        TEST(each_rank_decodes_its_share),
        TEST(what_must_be_known_before_is_divided_as_well),
        TEST(what_memory_holds_is_not_decoded_again),
        TEST(other_files_on_one_rank_are_found_before_the_first_step),
        TEST(a_file_that_one_rank_cannot_read),
        TEST(a_bad_file_is_an_error_before_the_first_step_where_none_may_be),
        TEST(a_folder_without_a_readable_file_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
