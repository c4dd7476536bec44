/* What evaluating and predicting would take is known before they begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"

static void what_does_not_fit_is_refused_before_anything_is_allocated(void **state)
{
    (void)state;
    cornu_model *m;
    cornu_scores scores;
    expect_ok(cornu_model_parse("model: {input: [1000000, 1000000, 1], layers: "
                                "[GlobalAveragePooling2D, {Dense: {units: 2}}]}\n"
                                "compile: {optimizer: sgd, loss: mse}\n",
                                "r.yaml", &m));
    expect_status(cornu_predict_check(m, 1, NULL), CORNU_OUT_OF_MEMORY);
    expect_message("predicting 1 sample of (1000000, 1000000, 1): needs 8.0 TB of memory "
                   "(inputs and outputs 4.0 TB, ");
    expect_status(cornu_evaluate_check(m, NULL), CORNU_OUT_OF_MEMORY);
    expect_message("evaluating samples of (1000000, 1000000, 1) one by one: needs 4.0 TB");
    expect_status(cornu_memory_check("x", INT64_C(1) << 50), CORNU_OUT_OF_MEMORY);
    expect_message("x: needs 1.1 PB of memory");
    cornu_model_close(m);
    m = runs_usual(NULL);
    cornu_data *data = runs_data(20, 20);
    expect_ok(cornu_predict_check(m, 1000, NULL));
    expect_status(cornu_predict_check(m, INT64_C(1) << 42, NULL), CORNU_OUT_OF_MEMORY);
    expect_ok(cornu_evaluate_check(m, NULL));
    expect_ok(cornu_memory_check("x", 1));
    expect_status(cornu_predict_check(m, 1, &(cornu_run_options){.device = "tpu"}),
                  CORNU_NOT_FOUND);
    expect_ok(cornu_evaluate(m, data, NULL, &scores));
    cornu_data_close(data);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_refused_before_anything_is_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
