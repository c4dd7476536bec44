#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/device.h"
#include "support/net.h"
#include "support/residual.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A device's message about a training plan with this batch, which it must refuse. */
static const char *refusal(device *d, const cornu_model *model, int64_t batch)
{
    plan *p;
    prepared *ready = NULL;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = batch}, &p),
                     CORNU_OK);
    assert_int_equal(d->ops->prepare(d, p, &ready), CORNU_OUT_OF_MEMORY);
    assert_null(ready);
    plan_free(p);
    return cornu_last_error();
}

/* Not only far too large batches: one half as large again as fits is refused before any allocation,
   and the message has the batch that fits. */
static void a_batch_little_larger_than_fits_is_refused_with_advice(void **state)
{
    (void)state;
    static const char advice[] = "the largest batch that fits is ";
    cornu_model *model = net_model("model: {input: [1000], layers: [{Dense: {units: 4}}]}\n"
                                   "compile: {optimizer: sgd, loss: mean_squared_error}");
    for (int i = 0; net_device(i); i++) {
        device *d = net_device_open(net_device(i), &(device_options){.threads = 1});
        assert_int_equal(d->ops->bind(d, model), CORNU_OK);
        const char *found = strstr(refusal(d, model, 1000000000), advice);
        assert_non_null(found);
        int64_t fits = atoll(found + strlen(advice));
        assert_non_null(strstr(refusal(d, model, fits + fits / 2), advice));
        d->ops->close(d);
    }
    cornu_model_close(model);
}

typedef struct search {
    const plan *wanted;
    int64_t fitting;
    int asked;
} search;

static bool fits(void *context, const plan *smaller)
{
    search *s = context;
    s->asked++;
    assert_int_equal(smaller->mode, s->wanted->mode);
    assert_int_equal(smaller->scope, s->wanted->scope);
    assert_int_equal(smaller->weighted, s->wanted->weighted);
    assert_int_equal(smaller->exact_convolution, s->wanted->exact_convolution);
    assert_int_equal(smaller->op_count, s->wanted->op_count);
    return smaller->batch <= s->fitting;
}

/* Whatever else was asked of the plan: what kernels of it need depends on that. */
static void the_advice_is_for_the_same_plan_with_another_batch(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [6, 6, 2], layers: [{Conv2D: {filters: 4, kernel_size: 3}}, "
                  "Flatten, {Dense: {units: 4}}]}\n"
                  "compile: {optimizer: sgd, loss: mean_squared_error}");
    for (int64_t fitting = 0; fitting < 80; fitting += 39) {
        plan_options options = {.mode = PLAN_TRAIN,
                                .scope = SCOPE_GRADIENTS,
                                .batch = 100,
                                .weighted = WEIGHTS_OF_SAMPLES,
                                .exact_convolution = true};
        char text[BATCH_ADVICE], expected[BATCH_ADVICE] = "not even batch 1 fits";
        plan *p;
        assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
        search s = {.wanted = p, .fitting = fitting};
        if (fitting > 0)
            snprintf(expected, sizeof expected, "the largest batch that fits is %d", (int)fitting);
        assert_string_equal(batch_advice(p, fits, &s, text), expected);
        assert_in_range(s.asked, 1, 8);
        plan_free(p);
    }
    cornu_model_close(model);
}

/* Every batch that needs no more bytes than this fits. */
static bool fits_bytes(void *context, const plan *smaller)
{
    return smaller->arena_bytes <= *(const size_t *)context;
}

static void training_that_does_not_fit_hears_of_recomputation(void **state)
{
    (void)state;
    static const char more[] = "; with the option recompute, ";
    char *recipe = residual_recipe(3, 16, ""), text[BATCH_ADVICE];
    cornu_model *model = net_model(recipe);
    plan_options options = {.mode = PLAN_TRAIN, .batch = 64};
    plan *p;
    assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
    size_t bytes = p->arena_bytes / 2 + p->arena_bytes / 4;
    batch_advice(p, fits_bytes, &bytes, text);
    assert_non_null(strstr(text, "; with the option recompute, 64"));
    bytes = p->arena_bytes / 8;
    batch_advice(p, fits_bytes, &bytes, text);
    assert_non_null(strstr(text, "the largest batch that fits is "));
    const char *found = strstr(text, more);
    assert_non_null(found);
    assert_in_range(atoi(found + strlen(more)), 9, 63);
    plan_free(p);
    options.recompute = true; /* it has it */
    assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
    bytes = p->arena_bytes / 2;
    assert_null(strstr(batch_advice(p, fits_bytes, &bytes, text), more));
    plan_free(p);
    options = (plan_options){.mode = PLAN_EVALUATE, .batch = 64};
    assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
    bytes = p->arena_bytes / 2;
    assert_null(strstr(batch_advice(p, fits_bytes, &bytes, text), more));
    plan_free(p);
    cornu_model_close(model);
    free(recipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_that_does_not_fit_hears_of_recomputation),
        cmocka_unit_test(the_advice_is_for_the_same_plan_with_another_batch),
        cmocka_unit_test(a_batch_little_larger_than_fits_is_refused_with_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
