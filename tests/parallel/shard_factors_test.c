/* Of which dense kernels ranks exchange factors, and what plans with them hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parallel/shard_factors.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <stdio.h>

typedef struct setting {
    cornu_model *model;
    shard_factors factors;
} setting;

static void find(setting *s, const char *layers, const char *optimizer, int64_t batch,
                 int64_t shards)
{
    char text[1024];
    *s = (setting){.model = NULL};
    snprintf(text, sizeof text,
             "model: {input: [400], layers: [%s, {Dense: {units: 3, activation: softmax}}]}\n"
             "compile: {optimizer: %s, loss: sparse_categorical_crossentropy}\n",
             layers, optimizer);
    expect_ok(cornu_model_parse(text, "r.yaml", &s->model));
    expect_ok(shard_factors_find(&s->factors, s->model, batch, shards));
}

static void end(setting *s)
{
    shard_factors_free(&s->factors);
    cornu_model_close(s->model);
}

static int count_of(const char *layers, const char *optimizer, int64_t batch, int64_t shards)
{
    setting s;
    find(&s, layers, optimizer, batch, shards);
    int count = s.factors.plan.count;
    end(&s);
    return count;
}

#define DENSE "{Dense: {units: 400, activation: relu}}"

static void kernels_with_more_elements_than_factors(void **state)
{
    (void)state;
    assert_int_equal(count_of(DENSE ", " DENSE ", " DENSE, "adam", 64, 2), 2);
    assert_int_equal(count_of(DENSE ", " DENSE, "adam", 100, 2), 1); /* 2 * 100 * 800 */
    assert_int_equal(count_of(DENSE ", " DENSE, "adam", 101, 2), 0); /* of 102 places */
    assert_int_equal(count_of(DENSE ", " DENSE, "adam", 97, 4), 1);
}

static void not_of_samples_nor_where_norms_are_wanted_nor_of_several_rows_a_sample(void **state)
{
    (void)state;
    assert_int_equal(count_of(DENSE, "adam", 8, 2), 0);
    assert_int_equal(count_of("Flatten, " DENSE, "adam", 8, 2), 0);
    assert_int_equal(count_of(DENSE ", " DENSE, "{adam: {clipnorm: 1}}", 8, 2), 0);
    assert_int_equal(count_of(DENSE ", " DENSE, "{adam: {global_clipnorm: 1}}", 8, 2), 0);
    assert_int_equal(count_of("{Reshape: {target_shape: [4, 100]}}, {Dense: {units: 200}}, "
                              "{Dense: {units: 200}}, Flatten",
                              "adam", 8, 2),
                     0); /* four rows a sample */
}

static void plans_have_factors_in_place_of_gradients(void **state)
{
    (void)state;
    setting s;
    plan *gradients, *updates;
    const update_span all = {.variable = 2, .count = 160000};
    find(&s, DENSE ", " DENSE, "adam", 64, 2);
    assert_int_equal(s.factors.list[0].variable, 2);
    assert_int_equal(shard_factors_floats(&s.factors), 2 * 32 * (400 + 400));
    plan_options o = {.mode = PLAN_TRAIN,
                      .scope = SCOPE_GRADIENTS,
                      .batch = 32,
                      .updates = &all,
                      .update_count = 1,
                      .factors = &s.factors.plan};
    expect_ok(plan_build(s.model, &o, &gradients));
    assert_int_equal(gradients->gradients[2], NO_TENSOR);
    assert_int_not_equal(gradients->gradients[3], NO_TENSOR);
    int made = shard_factors_made(&s.factors, gradients);
    tensor_ref dy = gradients->kept[0].dy;
    assert_true(made > 0 && made < gradients->op_count);
    assert_int_equal(plan_root(gradients, gradients->ops[made - 1].out[0]),
                     plan_root(gradients, dy));
    o.scope = SCOPE_UPDATES;
    o.batch = 64;
    expect_ok(plan_build(s.model, &o, &updates));
    const op *last = &updates->ops[updates->op_count - 1];
    assert_int_equal(last->kind, OP_DENSE_UPDATE);
    assert_true(last->flops == (2.0 * 64 + 10) * 160000);
    plan_free(gradients);
    plan_free(updates);
    end(&s);
}

static void a_larger_batch_than_there_is_room_for_is_refused(void **state)
{
    (void)state;
    setting s;
    find(&s, DENSE ", " DENSE, "adam", 64, 2);
    expect_ok(shard_factors_find(&s.factors, s.model, 63, 2));
    expect_status(shard_factors_find(&s.factors, s.model, 65, 2), CORNU_INTERNAL);
    expect_message("found 33 samples of a shard; expected at most 32");
    end(&s);
}

#define TEST cmocka_unit_test

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kernels_with_more_elements_than_factors),
        TEST(not_of_samples_nor_where_norms_are_wanted_nor_of_several_rows_a_sample),
        TEST(plans_have_factors_in_place_of_gradients),
        TEST(a_larger_batch_than_there_is_room_for_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
