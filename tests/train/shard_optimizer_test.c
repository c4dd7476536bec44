/* The optimizer's work divided among ranks, which are threads here: the bits are those of ranks
   that all do all of it, and what a rank has not is never taken for the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/rank_threads.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <cornu/parallel.h>
#include <cornu/trainer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Weights of two buckets, of which one ends within a kernel. */
#define WIDE                                                                  \
    "[{Dense: {units: 411, activation: relu}}, {Dense: {units: 300, "         \
    "activation: relu}}, BatchNormalization, {Dense: {units: 3, activation: " \
    "softmax}}]"
/* Wide kernels; one layer has no bias. */
#define DEEP                                                                               \
    "[{Dense: {units: 400, activation: relu}}, {Dense: {units: 400, activation: relu, "    \
    "use_bias: false}}, {Dropout: {rate: 0.3}}, {Dense: {units: 400, activation: tanh}}, " \
    "{Dense: {units: 3, activation: softmax}}]"
#define SHARED                                                                                  \
    "[{Dense: {units: 8, activation: relu, name: a}}, {Call: {layer: a}}, {Call: {layer: a}}, " \
    "{Dense: {units: 3, activation: softmax}}]"
#define NARROW "[{Dense: {units: 5, activation: relu}}, {Dense: {units: 3, activation: softmax}}]"

/* 24 weights in the places of 32: of 8 ranks the last two have none. */
#define TINY "[{Dense: {units: 3, use_bias: false, activation: softmax}}]"

typedef struct training {
    const char *layers, *optimizer, *callbacks;
    const char *resume, *save;
    const char *gradient_dtype, *device;
    int64_t epochs, batch, shards; /* 0: 3, 16, 8 */
    int stop_after;                /* questions whether to go on, on the last rank; 0: never */
    bool divides;
    void (*on_step)(void *user, const cornu_progress *progress);
    char output[1100];
    cornu_model *models[RANK_THREADS_MOST];
    double losses[RANK_THREADS_MOST]; /* of the last epoch */
} training;

typedef struct rank_state {
    int left; /* first: stop_after has it */
    int rank;
    training *t;
} rank_state;

static cornu_status open_model(const training *t, cornu_model **model)
{
    char text[2048];
    if (t->resume)
        return cornu_model_open(t->resume, model);
    snprintf(
        text, sizeof text,
        "model: {input: [8], layers: %s}\n"
        "compile: {optimizer: %s, loss: sparse_categorical_crossentropy, metrics: [accuracy]}\n"
        "fit: {epochs: 3, batch_size: %jd, shards: %jd, seed: 3, callbacks: [%s]}\n",
        t->layers ? t->layers : NARROW, t->optimizer ? t->optimizer : "adam",
        (intmax_t)(t->batch ? t->batch : 16), (intmax_t)(t->shards ? t->shards : 8),
        t->callbacks ? t->callbacks : "");
    return cornu_model_parse(text, "r.yaml", model);
}

static double last_loss(const cornu_history *history)
{
    int column = 0;
    while (strcmp(cornu_history_name(history, column), "loss") != 0)
        column++;
    return cornu_history_value(history, cornu_history_epochs(history) - 1, column);
}

static cornu_status train(cornu_ranks *ranks, void *context)
{
    cornu_history *history = NULL;
    training *t = context;
    rank_state state = {.left = t->stop_after, .rank = cornu_ranks_number(ranks), .t = t};
    cornu_data *data = runs_data(70, 0);
    cornu_fit_options o = {.size = sizeof o,
                           .ranks = ranks,
                           .where.threads = 1,
                           .epochs = t->epochs,
                           .save = t->save,
                           .output = t->output,
                           .gradient_dtype = t->gradient_dtype,
                           .where.device = t->device,
                           .resume = t->resume != NULL,
                           .shard_optimizer = t->divides,
                           .on_step = t->on_step,
                           .each_step = t->on_step != NULL,
                           .user = &state};
    if (t->stop_after && state.rank == cornu_ranks_count(ranks) - 1)
        o.should_stop = stop_after;
    cornu_status status = open_model(t, &t->models[state.rank]);
    if (status == CORNU_OK)
        status = cornu_fit(t->models[state.rank], data, &o, &history);
    if (status == CORNU_OK)
        t->losses[state.rank] = last_loss(history);
    cornu_history_close(history);
    cornu_data_close(data);
    return status;
}

static void run_all(int count, training *t, rank_result *results)
{
    snprintf(t->output, sizeof t->output, "%s", scratch_path("out"));
    rank_threads_run(count, train, t, results);
}

static void close_all(training *t)
{
    for (int i = 0; i < RANK_THREADS_MOST; i++)
        cornu_model_close(t->models[i]);
}

/* `t` by one process into models[0]. */
static void train_alone(training *t)
{
    snprintf(t->output, sizeof t->output, "%s", scratch_path("alone"));
    expect_ok(train(NULL, t));
}

/* ---- bits --------------------------------------------------------------------------------- */

static void expect_bits_of_one_on(const char *device, const char *layers, const char *optimizer,
                                  const char *gradient_dtype)
{
    rank_result results[RANK_THREADS_MOST];
    training alone = {.layers = layers,
                      .optimizer = optimizer,
                      .gradient_dtype = gradient_dtype,
                      .divides = true,
                      .device = device};
    train_alone(&alone);
    const int most = SANITIZED && strcmp(layers, TINY) != 0 ? 2 : 8;
    for (int count = SANITIZED ? 2 : 1; count <= most; count *= SANITIZED ? 4 : 2) {
        training t = alone;
        memset(t.models, 0, sizeof t.models);
        run_all(count, &t, results);
        rank_threads_expect(results, count, CORNU_OK);
        for (int i = 0; i < count; i++)
            if (!same_bits(alone.models[0], t.models[i]) || alone.losses[0] != t.losses[i])
                fail_msg("%s, %d ranks: other bits on rank %d", optimizer, count, i);
        close_all(&t);
    }
    close_all(&alone);
}

static void expect_bits_of_one(const char *layers, const char *optimizer,
                               const char *gradient_dtype)
{
    expect_bits_of_one_on(NULL, layers, optimizer, gradient_dtype);
}

static const char *const optimizers[] = {
    "sgd",
    "{sgd: {momentum: 0.9, nesterov: true, clipvalue: 0.01}}",
    "{adam: {amsgrad: true, weight_decay: 0.01}}",
    "{adamw: {clipnorm: 0.1}}",
    "{adam: {global_clipnorm: 0.1}}",
    "{rmsprop: {momentum: 0.5, centered: true}}",
    "adagrad",
    "nadam",
    "lion",
    "{ftrl: {learning_rate_power: -0.4, clipnorm: 0.1}}",
};

static void bits_are_those_of_one_process_by_every_optimizer(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i += SANITIZED ? 3 : 1)
        expect_bits_of_one(NARROW, optimizers[i], NULL);
}

static void also_where_some_ranks_have_nothing_to_update(void **state)
{
    (void)state;
    expect_bits_of_one(TINY, "adam", NULL);
    expect_bits_of_one(TINY, "{sgd: {global_clipnorm: 0.1}}", NULL);
}

static void also_of_several_buckets_and_of_gradients_sent_as_bf16(void **state)
{
    (void)state;
    expect_bits_of_one(WIDE, "adam", NULL);
    expect_bits_of_one(WIDE, "{rmsprop: {momentum: 0.5}}", "bf16");
    expect_bits_of_one(WIDE, "{sgd: {global_clipnorm: 0.1}}", "bf16");
}

/* The gradients of all calls are added before they are sent, once. */
static void also_of_layers_that_are_called_twice(void **state)
{
    (void)state;
    expect_bits_of_one(SHARED, "adam", NULL);
    expect_bits_of_one(SHARED, "{sgd: {global_clipnorm: 0.1}}", NULL);
}

static void also_of_networks_that_branch(void **state)
{
    (void)state;
    expect_bits_of_one(BRANCHING, "adam", NULL);
    expect_bits_of_one(BRANCHING, "{sgd: {momentum: 0.9, global_clipnorm: 0.1}}", "bf16");
}

static void also_on_the_reference_device(void **state)
{
    (void)state;
    expect_bits_of_one_on("reference", NARROW, "{adam: {amsgrad: true, clipnorm: 0.1}}", NULL);
}

/* Where shards have 32 samples or 3 of them (the last batch), and where all clip, decay and
   average. */
static void also_of_wide_kernels(void **state)
{
    (void)state;
    static const char *const by[] = {"{sgd: {momentum: 0.9, nesterov: true, clipvalue: 0.001}}",
                                     "{adamw: {amsgrad: true, weight_decay: 0.01}}",
                                     "{rmsprop: {momentum: 0.5, centered: true}}"};
    for (size_t i = 0; i < sizeof by / sizeof *by; i += SANITIZED ? 3 : 1) {
        rank_result results[RANK_THREADS_MOST];
        training alone = {
            .layers = DEEP, .optimizer = by[i], .divides = true, .batch = 64, .shards = 2};
        training t = alone;
        train_alone(&alone);
        run_all(2, &t, results);
        rank_threads_expect(results, 2, CORNU_OK);
        for (int k = 0; k < 2; k++)
            assert_true(same_bits(alone.models[0], t.models[k]));
        close_all(&alone);
        close_all(&t);
        expect_bits_of_one(DEEP, by[i], NULL);
    }
}

static void a_stopped_run_goes_on_with_other_ranks_and_with_the_work_divided_or_not(void **state)
{
    (void)state;
    static const int counts[][2] = {{4, 2}, {2, 8}, {8, 1}, {1, 4}};
    char path[1200];
    rank_result results[RANK_THREADS_MOST];
    snprintf(path, sizeof path, "%s", scratch_path("part.safetensors"));
    training alone = {.layers = WIDE};
    train_alone(&alone);
    for (int i = 0; i < (SANITIZED ? 2 : 4); i++) { /* within an epoch, and (5 steps) at its end */
        training first = {
            .layers = WIDE, .save = path, .stop_after = 2 + 3 * i, .divides = i % 2 == 0};
        run_all(counts[i][0], &first, results);
        rank_threads_expect(results, counts[i][0], CORNU_STOPPED);
        close_all(&first);
        training rest = {.resume = path, .divides = i != 2};
        run_all(counts[i][1], &rest, results);
        rank_threads_expect(results, counts[i][1], CORNU_OK);
        assert_true(same_bits(alone.models[0], rest.models[0]));
        close_all(&rest);
    }
    close_all(&alone);
}

/* ---- what is not there ---------------------------------------------------------------------- */

/* Files of callbacks, within an epoch and behind one. */
static void model_files_within_an_epoch_are_whole(void **state)
{
    (void)state;
    static const char callbacks[] =
        "{checkpoint: {filepath: \"m{epoch}-{batch}.safetensors\", "
        "save_freq: 3}}, {checkpoint: {filepath: \"e{epoch}.safetensors\", "
        "monitor: loss, save_best_only: true, verbose: 1}}";
    static const char *const files[] = {"m1-3.safetensors", "m2-1.safetensors", "m2-4.safetensors",
                                        "m3-2.safetensors", "e1.safetensors"};
    rank_result results[RANK_THREADS_MOST];
    training alone = {.callbacks = callbacks}, t = {.callbacks = callbacks, .divides = true};
    train_alone(&alone);
    run_all(4, &t, results);
    rank_threads_expect(results, 4, CORNU_OK);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cornu_model *expected, *found;
        char path[1300];
        snprintf(path, sizeof path, "%s/%s", alone.output, files[i]);
        expect_ok(cornu_model_open(path, &expected));
        snprintf(path, sizeof path, "%s/%s", t.output, files[i]);
        expect_ok(cornu_model_open(path, &found));
        assert_true(same_bits(expected, found));
        cornu_model_close(expected);
        cornu_model_close(found);
    }
    close_all(&alone);
    close_all(&t);
}

static void save_by_hand(void *user, const cornu_progress *progress)
{
    const rank_state *s = user;
    if (s->rank != 1 || progress->step != 2)
        return;
    expect_status(cornu_model_save(s->t->models[1], scratch_path("hand.safetensors")),
                  CORNU_UNSUPPORTED);
    expect_message("optimizer: found its state divided among ranks (shard-optimizer); expected");
    assert_int_not_equal(access(scratch_path("hand.safetensors"), F_OK), 0);
}

static void what_a_rank_has_not_is_not_saved(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    training t = {.divides = true, .on_step = save_by_hand};
    run_all(2, &t, results);
    rank_threads_expect(results, 2, CORNU_OK);
    expect_ok(cornu_model_save(t.models[1], scratch_path("end.safetensors")));
    close_all(&t);
}

static void cut_the_net(void *user, const cornu_progress *progress)
{
    const rank_state *s = user;
    if (s->rank == 0 && progress->epoch == 1 && progress->step == 2)
        rank_threads_cut(0, 1);
}

/* The file of the epoch before is whole; what is left in memory does not go on. */
static void behind_a_failure_the_last_file_goes_on_and_nothing_else(void **state)
{
    (void)state;
    char path[1200];
    rank_result results[RANK_THREADS_MOST];
    snprintf(path, sizeof path, "%s", scratch_path("m.safetensors"));
    training alone = {.epochs = 3};
    train_alone(&alone);
    training t = {.divides = true, .on_step = cut_the_net, .save = path};
    run_all(2, &t, results);
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(results[i].status, CORNU_OK);
        expect_status(cornu_model_save(t.models[i], scratch_path("left.safetensors")),
                      CORNU_UNSUPPORTED);
        cornu_data *data = runs_data(70, 0);
        expect_status(
            cornu_fit(t.models[i], data,
                      &(cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true},
                      NULL),
            CORNU_UNSUPPORTED);
        cornu_trainer *trainer;
        expect_status(cornu_trainer_open(t.models[i], NULL, &trainer), CORNU_UNSUPPORTED);
        expect_message("where a rank has failed, the file saved before");
        cornu_data_close(data);
    }
    close_all(&t);
    training rest = {.resume = path, .divides = true};
    run_all(4, &rest, results);
    rank_threads_expect(results, 4, CORNU_OK);
    assert_true(same_bits(alone.models[0], rest.models[0]));
    close_all(&rest);
    close_all(&alone);
}

static void a_run_that_ends_with_nan_ends_whole(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    training t = {.optimizer = "{adam: {learning_rate: 1e30}}",
                  .callbacks = "terminate_on_nan",
                  .divides = true};
    run_all(2, &t, results);
    rank_threads_expect(results, 2, CORNU_NOT_A_NUMBER);
    expect_ok(cornu_model_save(t.models[0], scratch_path("nan.safetensors")));
    close_all(&t);
}

/* All ranks divide it, or none. */
static cornu_status train_otherwise(cornu_ranks *ranks, void *context)
{
    training t = *(training *)context;
    t.divides = cornu_ranks_number(ranks) == 0;
    cornu_status status = train(ranks, &t);
    cornu_model_close(t.models[cornu_ranks_number(ranks)]);
    return status;
}

static void what_one_rank_divides_all_do(void **state)
{
    (void)state;
    rank_result results[RANK_THREADS_MOST];
    training t = {.layers = NULL};
    snprintf(t.output, sizeof t.output, "%s", scratch_path("out"));
    rank_threads_run(2, train_otherwise, &t, results);
    assert_int_equal(results[0].status, CORNU_INVALID);
    assert_non_null(strstr(results[0].message, "shard-optimizer: found no on rank 1 ("));
}

static void optimizers_that_need_whole_weights_are_refused(void **state)
{
    static const char *const whole[] = {"lamb", "adafactor", "muon"};
    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        rank_result results[RANK_THREADS_MOST];
        char expected[96];
        training t = {.layers = TINY, .optimizer = whole[i], .divides = true};
        snprintf(expected, sizeof expected,
                 "shard-optimizer: found the optimizer %s, which needs whole weights; expected",
                 whole[i]);
        run_all(2, &t, results);
        for (int rank = 0; rank < 2; rank++) {
            if (results[rank].status != CORNU_RANK) /* the other rank was first */
                rank_threads_expect_one(results, rank, 2, CORNU_UNSUPPORTED);
            if (!strstr(results[rank].message, expected))
                fail_msg("found \"%s\"; expected \"%s\"", results[rank].message, expected);
        }
        close_all(&t);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bits_are_those_of_one_process_by_every_optimizer),
        TEST(also_where_some_ranks_have_nothing_to_update),
        TEST(also_of_several_buckets_and_of_gradients_sent_as_bf16),
        TEST(also_of_networks_that_branch),
        TEST(also_of_wide_kernels),
        cmocka_unit_test(also_of_layers_that_are_called_twice),
        cmocka_unit_test(also_on_the_reference_device),
        TEST(a_stopped_run_goes_on_with_other_ranks_and_with_the_work_divided_or_not),
        TEST(model_files_within_an_epoch_are_whole),
        TEST(what_a_rank_has_not_is_not_saved),
        TEST(behind_a_failure_the_last_file_goes_on_and_nothing_else),
        TEST(a_run_that_ends_with_nan_ends_whole),
        TEST(what_one_rank_divides_all_do),
        TEST(optimizers_that_need_whole_weights_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
