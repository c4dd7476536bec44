/* What evaluating and predicting would take is known before they begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/host/prepared.h"
#include "support/net.h"
#include "support/runs.h"
#include "train/session.h"
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void what_does_not_fit_is_refused_before_anything_is_allocated(void **state)
{
    (void)state;
    cornu_model *m;
    cornu_scores scores = {.size = sizeof scores};
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
    expect_status(
        cornu_predict_check(
            m, 1, &(cornu_run_options){.size = sizeof(cornu_run_options), .where.device = "tpu"}),
        CORNU_NOT_FOUND);
    expect_ok(cornu_evaluate(m, data, NULL, &scores));
    int64_t few = 0, many = 0;
    expect_ok(cornu_fit_memory(
        m, &(cornu_fit_options){.size = sizeof(cornu_fit_options), .batch = 10}, &few));
    expect_ok(cornu_fit_memory(
        m, &(cornu_fit_options){.size = sizeof(cornu_fit_options), .batch = 1000}, &many));
    assert_true(few > 0 && many - few > 990 * 2 * (8 + 16) * (int64_t)sizeof(float));
    expect_status(cornu_fit_memory(m, NULL, NULL), CORNU_INVALID);
    expect_status(cornu_fit_memory(m,
                                   &(cornu_fit_options){.size = sizeof(cornu_fit_options),
                                                        .where.device = "tpu"},
                                   &few),
                  CORNU_NOT_FOUND);
    cornu_data_close(data);
    cornu_model_close(m);
}

/* What the cpu device really allocates for a training step. */
static int64_t allocated_buffers(const cornu_model *m)
{
    plan *p;
    prepared *r;
    device *d = net_device_open("cpu", &(device_options){.threads = 1});
    expect_ok(plan_build(m, &(plan_options){.mode = PLAN_TRAIN, .batch = m->batch}, &p));
    expect_ok(d->ops->prepare(d, p, &r));
    int64_t bytes = (int64_t)host_of(d)->arena_bytes;
    assert_true(bytes < (int64_t)p->arena_bytes); /* kernels of groups leave tensors out */
    d->ops->release(d, r);
    d->ops->close(d);
    plan_free(p);
    return bytes;
}

static void must_hold(char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in %s", part, text);
    free(text);
}

static void every_report_of_memory_says_what_is_allocated(void **state)
{
    (void)state;
    for (int i = 0; cornu_workload_name(i); i++) {
        cornu_model *m;
        memory_need need;
        char shown[16], part[32], *text;
        expect_ok(cornu_model_open(cornu_workload_name(i), &m));
        expect_ok(session_memory(m, &(session_options){.where.device = "cpu"}, PLAN_TRAIN, m->batch,
                                 &need));
        assert_int_equal(need.buffers, allocated_buffers(m));
        memory_human((double)need.buffers, shown);
        expect_ok(cornu_model_summary(m, &text));
        snprintf(part, sizeof part, ", buffers %s,", shown);
        must_hold(text, part);
        expect_ok(cornu_explain(m,
                                &(cornu_explain_options){.size = sizeof(cornu_explain_options),
                                                         .where.device = "cpu",
                                                         .where.threads = 1},
                                &text));
        snprintf(part, sizeof part, ", %s of buffers,", shown);
        must_hold(text, part);
        cornu_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_refused_before_anything_is_allocated),
        cmocka_unit_test(every_report_of_memory_says_what_is_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
