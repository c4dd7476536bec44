/* Runs with recomputation: the model files have the same bits, however the run is divided or
   interrupted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/net.h"
#include "support/runs.h"
#include "support/scratch.h"
#include "train/session.h"
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <stdlib.h>
#include <string.h>

/* Wide layers between narrow ones, with all that has a state; layer f is frozen, its statistics,
   too, and layer s is called twice. */
#define WIDE "{Dense: {units: 256, activation: relu}}, BatchNormalization, {Dropout: {rate: 0.3}}, "
#define NARROW "{Dense: {units: 8, activation: tanh}}, "
#define LAYERS                                                                               \
    "[{Dense: {units: 8, activation: tanh, name: s}}, " WIDE NARROW                          \
    "{BatchNormalization: {name: f, trainable: false}}, " WIDE NARROW "{Call: {layer: s}}, " \
    "{Call: {layer: f}}, " WIDE NARROW WIDE NARROW "{Dense: {units: 3, activation: softmax}}]"
#define COMPILE                                                                          \
    "{optimizer: {adam: {learning_rate: 0.01}}, loss: sparse_categorical_crossentropy, " \
    "metrics: [accuracy]}"
#define FIT "{epochs: 3, batch_size: 16, validation: test"

enum { TRAIN = 70, TEST_SAMPLES = 20 };

/* The model file of a run that stops after `stop` steps (0: never) and is then resumed, without
   recomputation where it had it, and with it where not. */
static char *trained(const char *fit, cornu_fit_options o, int stop, size_t *size)
{
    char save[1100], *content;
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    cornu_model *model = runs_model(LAYERS, COMPILE, fit);
    snprintf(save, sizeof save, "%s", scratch_path("run.safetensors"));
    o.size = sizeof o;
    o.save = save;
    o.should_stop = stop ? stop_after : NULL;
    o.user = &stop;
    expect_status(cornu_fit(model, data, &o, NULL), stop ? CORNU_STOPPED : CORNU_OK);
    if (o.should_stop) {
        cornu_model_close(model);
        expect_ok(cornu_model_open(save, &model));
        o.should_stop = NULL;
        o.resume = true;
        o.recompute = !o.recompute;
        expect_ok(cornu_fit(model, data, &o, NULL));
    }
    cornu_model_close(model);
    cornu_data_close(data);
    expect_ok(file_read(save, 1 << 24, &content, size));
    return content;
}

static void expect_same_file(const char *what, const char *fit, cornu_fit_options a,
                             cornu_fit_options b, int stop)
{
    size_t sizes[2];
    char *plain = trained(fit, a, 0, &sizes[0]), *other = trained(fit, b, stop, &sizes[1]);
    if (sizes[0] != sizes[1] || memcmp(plain, other, sizes[0]) != 0)
        fail_msg("%s: another model file with recomputation", what);
    free(plain);
    free(other);
}

/* The networks of this file are divided: else nothing is tested. */
static void expect_copies(const cornu_model *m)
{
    plan *p;
    int copies = 0;
    const plan_options options = {.mode = PLAN_TRAIN, .batch = 16, .recompute = true};
    expect_ok(plan_build(m, &options, &p));
    for (int i = 0; i < p->op_count; i++)
        copies += p->ops[i].recomputed;
    assert_true(copies > 0);
    plan_free(p);
}

static void model_files_have_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        cornu_fit_options options;
        int stop;
    } rows[] = {
        {"one thread", {.where.threads = 1}, 0},
        {"three threads", {.where.threads = 3}, 0},
        {"the reference", {.where.device = "reference"}, 0},
        {"two shards", {.shards = 2}, 0},
        {"resumed", {.seed = 3}, 7},
        {"resumed, two shards", {.shards = 2}, 8},
    };
    cornu_model *m = runs_model(LAYERS, COMPILE, FIT "}");
    expect_copies(m);
    cornu_model_close(m);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cornu_fit_options with = rows[i].options;
        with.recompute = true;
        expect_same_file(rows[i].what, FIT "}", rows[i].options, with, rows[i].stop);
    }
}

static void the_memory_of_a_fit_is_less(void **state)
{
    (void)state;
    cornu_model *asks = runs_model(LAYERS, COMPILE, FIT ", recompute: true}"),
                *does_not = runs_model(LAYERS, COMPILE, FIT "}");
    const cornu_fit_options none = {.size = sizeof none, .batch = 512},
                            option = {.size = sizeof option, .batch = 512, .recompute = true};
    int64_t plain, by_key, by_option;
    expect_ok(cornu_fit_memory(does_not, &none, &plain));
    expect_ok(cornu_fit_memory(asks, &none, &by_key));
    expect_ok(cornu_fit_memory(does_not, &option, &by_option));
    assert_int_equal(by_key, by_option);
    assert_true(by_key < plain);
    cornu_model_close(asks);
    cornu_model_close(does_not);
}

/* Whatever trains: fit, by its option or its recipe's key, explain and the caller's own loop. */
static void it_is_asked_for_by_option_or_recipe(void **state)
{
    (void)state;
    static const char key[] = "{epochs: 1, recompute: true}", none[] = "{epochs: 1}";
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    for (int i = 0; i < 4; i++) {
        const bool by_key = i & 1, by_option = i & 2;
        cornu_model *model = runs_model(LAYERS, COMPILE, by_key ? key : none);
        cornu_trainer *trainer;
        char *text;
        expect_ok(cornu_trainer_open(model, NULL, &trainer));
        assert_int_equal(runs_recomputed(), by_key);
        cornu_trainer_close(trainer);
        expect_ok(cornu_explain(
            model,
            &(cornu_explain_options){.size = sizeof(cornu_explain_options), .recompute = by_option},
            &text));
        assert_int_equal(runs_recomputed(), by_key || by_option);
        cornu_free(text);
        expect_ok(cornu_fit(
            model, data,
            &(cornu_fit_options){.size = sizeof(cornu_fit_options), .recompute = by_option}, NULL));
        assert_int_equal(runs_recomputed(), by_key || by_option);
        cornu_model_close(model);
    }
    cornu_data_close(data);
}

static void a_run_says_where_it_has_no_effect(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, 0);
    for (int i = 0; i < 2; i++) {
        notices said = {.count = 0};
        cornu_fit_options o = {
            .size = sizeof o, .recompute = true, .on_notice = notices_add, .user = &said};
        cornu_model *model =
            i ? runs_model("[{Dense: {units: 3, activation: softmax}}]", COMPILE, "{epochs: 1}")
              : runs_model(LAYERS, COMPILE, "{epochs: 1}");
        expect_ok(cornu_fit(model, data, &o, NULL));
        assert_int_equal(said.count, i);
        assert_int_equal(strstr(said.lines, "recompute: found no activations") != NULL, i);
        cornu_model_close(model);
    }
    cornu_data_close(data);
}

static void a_session_trains_by_such_a_plan(void **state)
{
    (void)state;
    cornu_model *model = runs_model(LAYERS, COMPILE, FIT "}");
    for (int i = 0; i < 2; i++) {
        session *s;
        session_plan *p;
        int copies = 0;
        expect_ok(session_open(model, &(session_options){.recompute = i == 1}, &s));
        expect_ok(session_plan_for(s, PLAN_TRAIN, 16, false, &p));
        for (int k = 0; k < p->plan->op_count; k++)
            copies += p->plan->ops[k].recomputed;
        assert_int_equal(copies > 0, i == 1);
        session_close(s);
    }
    cornu_model_close(model);
}

/* "…of buffers" and "without it": the same number as that of a step that does not recompute. */
static void explain_says_what_is_computed_again(void **state)
{
    (void)state;
    cornu_model *model = runs_model(LAYERS, COMPILE, FIT "}");
    cornu_explain_options o = {.size = sizeof o, .batch = 512};
    char *plain, *text, expected[64], *buffers;
    expect_ok(cornu_explain(model, &o, &plain));
    assert_null(strstr(plain, "again"));
    assert_null(strstr(plain, "recomputation"));
    o.recompute = true;
    expect_ok(cornu_explain(model, &o, &text));
    assert_non_null(strstr(text, "dense_forward again"));
    assert_non_null(strstr(text, "recomputation: "));
    buffers = strstr(plain, "optimizer state, ");
    assert_non_null(buffers);
    snprintf(expected, sizeof expected, "without it %.*s\n",
             (int)(strstr(buffers, " of buffers") - buffers - (int)strlen("optimizer state, ")),
             buffers + strlen("optimizer state, "));
    assert_non_null(strstr(text, expected));
    cornu_free(plain);
    cornu_free(text);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_files_have_the_same_bits),
        cmocka_unit_test(the_memory_of_a_fit_is_less),
        cmocka_unit_test(it_is_asked_for_by_option_or_recipe),
        cmocka_unit_test(a_run_says_where_it_has_no_effect),
        cmocka_unit_test(a_session_trains_by_such_a_plan),
        cmocka_unit_test(explain_says_what_is_computed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
