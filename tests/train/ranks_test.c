/* Training by several ranks, which are threads here: the bits are those of the shards, whoever
   computes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/rank_threads.h"
#include "support/runs.h"
#include "support/scratch.h"
#include "train/session.h"
#include <cornu/model.h>
#include <cornu/parallel.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All that has a state: dropout, moving statistics, Adam's moments, a schedule over epochs,
   callbacks that remember. 70 samples are four batches of 16 and one of 6, of which some of 8
   shards get none. */
#define LAYERS                                                                              \
    "[{Dense: {units: 12, activation: relu}}, {Dropout: {rate: 0.4}}, BatchNormalization, " \
    "{Dense: {units: 3, activation: softmax}}]"
#define COMPILE                                                                                   \
    "{optimizer: {adam: {learning_rate: 0.02}}, loss: sparse_categorical_crossentropy, metrics: " \
    "[accuracy, {MeanIoU: {num_classes: 3, sparse_y_pred: false}}]}"
#define FIT                                                                                      \
    "{epochs: 5, batch_size: 16, validation: test, validation_batch_size: 4, class_weight: {0: " \
    "1.0, 1: 2.0}, "                                                                             \
    "shards: 8, callbacks: [{early_stopping: {patience: 2, min_delta: 0.02, "                    \
    "restore_best_weights: true}}, {csv_logger: {path: l.csv}}, {reduce_lr_on_plateau: "         \
    "{monitor: loss, patience: 1, min_delta: 0.05, factor: 0.5}}]}"

enum { TRAIN = 70, TESTED = 30 };

/* ---- a run of ranks ----------------------------------------------------------------------- */

typedef struct training {
    const char *layers; /* NULL: LAYERS */
    const char *resume; /* NULL: a new run */
    const char *save;   /* in the scratch folder, by rank 0 */
    int stop_after;     /* calls of should_stop on `stopper`; 0: never */
    int stopper;
    int64_t shards;
    const char *gradient_dtype;
    const char *const *frozen; /* NULL-ended names of layers; NULL: none */
    bool divides;
    char output[1100]; /* folder of the callbacks' files */
    int odd;           /* the rank that does otherwise; -1: none */
    void (*otherwise)(cornu_fit_options *o, int *samples);
    cornu_model *models[RANK_THREADS_MOST]; /* as they are at the end */
    cornu_history *histories[RANK_THREADS_MOST];
} training;

static cornu_status open_model(const training *t, cornu_model **model)
{
    if (t->resume)
        return cornu_model_open(t->resume, model);
    char text[4096];
    snprintf(text, sizeof text,
             "model: {input: [8], layers: %s}\ncompile: " COMPILE "\nfit: " FIT "\n",
             t->layers ? t->layers : LAYERS);
    cornu_status status = cornu_model_parse(text, "test", model);
    for (int i = 0; status == CORNU_OK && t->frozen && t->frozen[i]; i++)
        status = cornu_model_set_trainable(*model, t->frozen[i], false);
    return status;
}

static cornu_status train(cornu_ranks *ranks, void *context)
{
    training *t = context;
    int rank = cornu_ranks_number(ranks), left = t->stop_after, samples = TRAIN;
    cornu_fit_options o = {.size = sizeof o,
                           .ranks = ranks,
                           .where.threads = 1,
                           .save = t->save,
                           .output = t->output,
                           .shards = t->shards,
                           .gradient_dtype = t->gradient_dtype,
                           .shard_optimizer = t->divides,
                           .resume = t->resume != NULL,
                           .user = &left};
    if (t->stop_after && rank == t->stopper)
        o.should_stop = stop_after;
    if (rank == t->odd)
        t->otherwise(&o, &samples);
    cornu_data *data = runs_data(samples, TESTED);
    cornu_status status = open_model(t, &t->models[rank]);
    if (status == CORNU_OK)
        status = cornu_fit(t->models[rank], data, &o, &t->histories[rank]);
    cornu_data_close(data);
    return status;
}

static void run_all(int count, training *t, rank_result *results)
{
    snprintf(t->output, sizeof t->output, "%s", scratch_path("logs"));
    rank_threads_run(count, train, t, results);
}

static void close_all(training *t)
{
    for (int i = 0; i < RANK_THREADS_MOST; i++) {
        cornu_model_close(t->models[i]);
        cornu_history_close(t->histories[i]);
    }
}

/* `layers` and `history` may be NULL. */
static cornu_model *layers_alone(const char *layers, int64_t shards, const char *gradient_dtype,
                                 cornu_history **history)
{
    cornu_model *model;
    training t = {.layers = layers, .odd = -1};
    cornu_data *data = runs_data(TRAIN, TESTED);
    expect_ok(open_model(&t, &model));
    expect_ok(cornu_fit(model, data,
                        &(cornu_fit_options){.size = sizeof(cornu_fit_options),
                                             .shards = shards,
                                             .gradient_dtype = gradient_dtype,
                                             .output = scratch_path("logs")},
                        history));
    cornu_data_close(data);
    return model;
}

static cornu_model *trained_alone(int64_t shards, const char *gradient_dtype,
                                  cornu_history **history)
{
    return layers_alone(NULL, shards, gradient_dtype, history);
}

/* All columns but that of seconds, which is the last. */
static void expect_same_history(const cornu_history *a, const cornu_history *b)
{
    assert_int_equal(cornu_history_epochs(a), cornu_history_epochs(b));
    assert_int_equal(cornu_history_columns(a), cornu_history_columns(b));
    for (int e = 0; e < cornu_history_epochs(a); e++)
        for (int c = 0; c + 1 < cornu_history_columns(a); c++) {
            double x = cornu_history_value(a, e, c), y = cornu_history_value(b, e, c);
            if (memcmp(&x, &y, sizeof x) != 0)
                fail_msg("epoch %d, %s: found %.17g; expected %.17g", e, cornu_history_name(a, c),
                         y, x);
        }
}

/* ---- bits ------------------------------------------------------------------------------- */

static void expect_bits_of_one(const char *layers, const char *gradient_dtype)
{
    rank_result results[RANK_THREADS_MOST];
    cornu_history *history;
    cornu_model *alone = layers_alone(layers, 0, gradient_dtype, &history);
    for (int count = 1; count <= 8; count *= 2) {
        training t = {.layers = layers, .odd = -1, .gradient_dtype = gradient_dtype};
        run_all(count, &t, results);
        rank_threads_expect(results, count, CORNU_OK);
        for (int i = 0; i < count; i++) {
            assert_true(same_bits(alone, t.models[i]));
            expect_same_history(history, t.histories[i]);
            assert_int_equal(t.models[i]->training.position.epoch, alone->training.position.epoch);
            assert_memory_equal(t.models[i]->training.position.totals,
                                alone->training.position.totals,
                                sizeof alone->training.position.totals);
        }
        close_all(&t);
    }
    cornu_model_close(alone);
    cornu_history_close(history);
}

static void bits_do_not_depend_on_the_number_of_ranks(void **state)
{
    (void)state;
    expect_bits_of_one(NULL, NULL);
}

static void nor_do_those_of_networks_that_branch(void **state)
{
    (void)state;
    expect_bits_of_one(BRANCHING, NULL);
    expect_bits_of_one(BRANCHING, "bf16");
}

/* Rounded gradients are others, but not by who adds them; statistics are not rounded. */
/* Their gradients are not there to be summed, nor a frozen normalization's statistics; with all
   layers frozen nothing is. */
static void frozen_layers_have_no_part_in_what_ranks_send(void **state)
{
    (void)state;
    static const char *const some[] = {"dense", "batch_normalization", NULL};
    static const char *const all[] = {"dense", "batch_normalization", "dense_1", NULL};
    const char *device = getenv("CORNU_TEST_DEVICES");
    const bool host = !device || strchr(device, ':') == NULL;
    rank_result results[RANK_THREADS_MOST];
    for (int i = 0; i < (host ? 4 : 2); i++) {
        training one = {.odd = -1, .shards = 2, .frozen = i % 2 ? all : some};
        training two = {.odd = -1, .shards = 2, .frozen = one.frozen, .divides = i >= 2};
        run_all(1, &one, results);
        rank_threads_expect(results, 1, CORNU_OK);
        run_all(2, &two, results);
        rank_threads_expect(results, 2, CORNU_OK);
        assert_true(same_bits(one.models[0], two.models[0]));
        assert_true(same_bits(one.models[0], two.models[1]));
        close_all(&one);
        close_all(&two);
    }
}

static void nor_do_those_of_gradients_sent_as_bf16(void **state)
{
    (void)state;
    expect_bits_of_one(NULL, "bf16");
    cornu_model *exact = trained_alone(0, NULL, NULL), *rounded = trained_alone(0, "bf16", NULL);
    assert_false(same_bits(exact, rounded));
    assert_true(rounded->training.position.gradients_bf16);
    cornu_model_close(exact);
    cornu_model_close(rounded);
}

static void a_gradient_dtype_is_kept_and_checked(void **state)
{
    (void)state;
    cornu_model *model = trained_alone(0, "bf16", NULL);
    cornu_data *data = runs_data(TRAIN, TESTED);
    expect_ok(cornu_model_save(model, scratch_path("w.safetensors")));
    cornu_model_close(model);
    expect_ok(cornu_model_open(scratch_path("w.safetensors"), &model));
    assert_true(model->training.position.gradients_bf16);
    cornu_fit_options o = {.size = sizeof o,
                           .resume = true,
                           .epochs = 9,
                           .gradient_dtype = "fp32",
                           .output = scratch_path("l")};
    assert_int_equal(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("resume: found gradient_dtype bf16 in the model file and fp32 asked for");
    o.gradient_dtype = "int8";
    assert_int_equal(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("gradient_dtype: found int8; expected fp32 or bf16");
    o = (cornu_fit_options){
        .size = sizeof(cornu_fit_options), .shards = 1, .gradient_dtype = "bf16"};
    assert_int_equal(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("gradient_dtype: found bf16 and one shard");
    cornu_data_close(data);
    cornu_model_close(model);
}

static void there_are_as_many_shards_as_ranks_unless_said_otherwise(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    cornu_model *alone = trained_alone(4, NULL, NULL);
    training t = {.odd = -1, .shards = 4};
    run_all(4, &t, results);
    rank_threads_expect(results, 4, CORNU_OK);
    assert_true(same_bits(alone, t.models[3]));
    close_all(&t);
    cornu_model_close(alone);
}

/* Whoever is asked to stop, all do, after the same step; another number of ranks goes on. */
static void a_stopped_run_goes_on_with_other_ranks(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    cornu_model *alone = trained_alone(0, NULL, NULL);
    static const int counts[][2] = {{4, 2}, {2, 8}, {8, 1}, {2, 4}};
    for (int i = 0; i < 4; i++) {
        char path[1100];
        snprintf(path, sizeof path, "%s", scratch_path("part.safetensors"));
        training first = {
            .odd = -1, .save = path, .stop_after = 1 + 4 * i, .stopper = counts[i][0] - 1};
        run_all(counts[i][0], &first, results);
        rank_threads_expect(results, counts[i][0], CORNU_STOPPED);
        for (int k = 1; k < counts[i][0]; k++)
            assert_true(same_bits(first.models[0], first.models[k]));
        close_all(&first);
        training rest = {.odd = -1, .resume = path};
        run_all(counts[i][1], &rest, results);
        rank_threads_expect(results, counts[i][1], CORNU_OK);
        assert_true(same_bits(alone, rest.models[0]));
        close_all(&rest);
    }
    cornu_model_close(alone);
}

/* ---- what differs ------------------------------------------------------------------------ */

static void with_another_seed(cornu_fit_options *o, int *samples)
{
    (void)samples;
    o->seed = 99;
}

static void with_fewer_samples(cornu_fit_options *o, int *samples)
{
    (void)o;
    *samples = TRAIN - 1;
}

static void with_another_batch(cornu_fit_options *o, int *samples)
{
    (void)samples;
    o->batch = 32;
}

static void with_another_device(cornu_fit_options *o, int *samples)
{
    (void)samples;
    o->where.device = "reference";
}

static void what_differs_between_ranks_is_refused_before_the_first_step(void **state)
{
    (void)state;
    static const struct {
        void (*otherwise)(cornu_fit_options *o, int *samples);
        const char *found;
    } cases[] = {{with_another_seed, "seed: found 99 on rank 3 ("},
                 {with_fewer_samples, "training samples: found 69 (digest "},
                 {with_another_batch, "batch: found 32 on rank 3 ("},
                 {with_another_device, "device: found reference on rank 3 ("}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rank_result results[RANK_THREADS_MOST];
        training t = {.odd = 3, .otherwise = cases[i].otherwise};
        run_all(4, &t, results);
        assert_int_equal(results[0].status, CORNU_INVALID);
        rank_threads_expect(results + 1, 3, CORNU_RANK);
        for (int k = 0; k < 4; k++) {
            if (!strstr(results[k].message, cases[i].found))
                fail_msg("rank %d: %s", k, results[k].message);
            assert_int_equal(t.models[k]->training.position.iterations, 0);
        }
        close_all(&t);
    }
}

/* ---- failures --------------------------------------------------------------------------- */

static void ask_for_a_missing_device(cornu_fit_options *o, int *samples)
{
    (void)samples;
    o->where.device = "none";
}

static void what_fails_on_one_rank_ends_all(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    training t = {.odd = 1, .otherwise = ask_for_a_missing_device};
    run_all(2, &t, results);
    assert_int_equal(results[0].status, CORNU_RANK);
    assert_int_equal(results[1].status, CORNU_NOT_FOUND);
    assert_non_null(strstr(results[0].message, "rank 1 ("));
    assert_non_null(strstr(results[0].message, "device: found \"none\""));
    assert_true(results[0].seconds < 8);
    close_all(&t);
}

/* Its folder is gone when rank 0 saves behind the first epoch. */
static void save_nowhere(cornu_fit_options *o, int *samples)
{
    (void)samples;
    o->save = "/proc/none/m.safetensors";
}

static void a_file_that_cannot_be_written_ends_all(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    training t = {.odd = 0, .otherwise = save_nowhere};
    run_all(4, &t, results);
    rank_threads_expect(results + 1, 3, CORNU_RANK);
    assert_non_null(strstr(results[3].message, "rank 0 ("));
    assert_non_null(strstr(results[3].message, "/proc/none"));
    close_all(&t);
}

static void divide_updates(cornu_fit_options *o, int *samples)
{
    (void)samples;
    o->shard_optimizer = true;
}

/* tests/train/shard_optimizer_test.c: where memory is the host's. Else the weights are another's.
 */
static void updates_are_divided_where_memory_is_the_hosts(void **state)
{
    (void)state;
    const char *device = getenv("CORNU_TEST_DEVICES");
    bool host = !device || strchr(device, ':') == NULL;
    rank_result results[RANK_THREADS_MOST];
    training t = {.odd = 0, .otherwise = divide_updates};
    run_all(1, &t, results);
    assert_int_equal(results[0].status, host ? CORNU_OK : CORNU_UNSUPPORTED);
    if (!host)
        assert_non_null(strstr(results[0].message, "shard-optimizer: found device "));
    close_all(&t);
}

static void what_cannot_be_divided_is_refused_once(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    training t = {.odd = -1, .shards = 2};
    run_all(4, &t, results);
    for (int i = 0; i < 4; i++)
        assert_true(results[i].status == CORNU_INVALID || results[i].status == CORNU_RANK);
    assert_non_null(
        strstr(results[0].message, "shards: found 2, and 4 ranks; expected at least one for each"));
    close_all(&t);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(bits_do_not_depend_on_the_number_of_ranks),
        IN_FOLDER(frozen_layers_have_no_part_in_what_ranks_send),
        IN_FOLDER(nor_do_those_of_networks_that_branch),
        IN_FOLDER(nor_do_those_of_gradients_sent_as_bf16),
        IN_FOLDER(a_gradient_dtype_is_kept_and_checked),
        IN_FOLDER(there_are_as_many_shards_as_ranks_unless_said_otherwise),
        IN_FOLDER(a_stopped_run_goes_on_with_other_ranks),
        IN_FOLDER(what_differs_between_ranks_is_refused_before_the_first_step),
        IN_FOLDER(what_fails_on_one_rank_ends_all),
        IN_FOLDER(a_file_that_cannot_be_written_ends_all),
        IN_FOLDER(updates_are_divided_where_memory_is_the_hosts),
        IN_FOLDER(what_cannot_be_divided_is_refused_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
