#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include <stdio.h>

static cornu_scores evaluate(cornu_model *model, const cornu_data *data, int64_t batch)
{
    cornu_scores scores = {.size = sizeof scores};
    cornu_run_options o = {.size = sizeof o, .batch = batch, .split = CORNU_TEST};
    expect_ok(cornu_evaluate(model, data, &o, &scores));
    return scores;
}

/* 23 samples: batches of 8 leave 7 over. */
static void every_sample_counts_whatever_the_batch(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{}");
    cornu_data *data = runs_data(30, 23);
    cornu_scores whole = evaluate(model, data, 23);
    static const int64_t batches[] = {1, 8, 11, 22};
    for (int i = 0; i < 4; i++) {
        cornu_scores s = evaluate(model, data, batches[i]);
        assert_int_equal(s.count, whole.count);
        for (int k = 0; k < s.count; k++)
            assert_float_equal(s.value[k], whole.value[k], 1e-5);
    }
    cornu_data_close(data);
    cornu_model_close(model);
}

static cornu_scores scores_of(const char *metrics)
{
    char compile[200];
    snprintf(compile, sizeof compile,
             "{optimizer: sgd, loss: categorical_crossentropy, metrics: %s}", metrics);
    cornu_model *model = runs_model("[{Dense: {units: 3, activation: softmax}}]", compile, NULL);
    cornu_data *data = runs_data(30, 23);
    cornu_scores scores = evaluate(model, data, 8);
    cornu_data_close(data);
    cornu_model_close(model);
    return scores;
}

static void metrics_keep_their_order(void **state)
{
    (void)state;
#define TOP_2 "{top_k_categorical_accuracy: {k: 2}}"
    cornu_scores first = scores_of("[accuracy]"), second = scores_of("[" TOP_2 "]");
    cornu_scores both = scores_of("[accuracy, " TOP_2 "]");
    assert_int_equal(both.count, 3);
    assert_true(first.value[1] < second.value[1]);
    assert_true(both.value[1] == first.value[1] && both.value[2] == second.value[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_counts_whatever_the_batch),
        cmocka_unit_test(metrics_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
