#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"

static cornu_scores evaluate(cornu_model *model, const cornu_data *data, int64_t batch)
{
    cornu_scores scores;
    cornu_run_options o = {.batch = batch, .split = CORNU_TEST};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_counts_whatever_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
