/* Max pooling on the cpu device: its backward pass includes that of the activation under the pool,
   and which pools are fused with the convolution before them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/pool/conv_pool.h"
#include "support/net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pool follows the second convolution: after a first layer other kernels may fuse it. */
static cornu_model *model_with(const char *activation, int size)
{
    char text[512];
    snprintf(text, sizeof text,
             "model: {input: [%d, %d, 3], layers: [\n"
             "  {Conv2D: {filters: 17, kernel_size: 3}},\n"
             "  {Conv2D: {filters: 18, kernel_size: 2, activation: %s}},\n"
             "  {MaxPooling2D: {pool_size: 2}}, Flatten, {Dense: {units: 3}}]}\n"
             "compile: {optimizer: sgd, loss: mean_squared_error}",
             size, size, activation);
    return net_model(text);
}

/* Is the operation after the pool's backward pass run by the same kernel? */
static bool runs_as_one(net *n)
{
    int pool;
    assert_int_equal(net_count(n->plan, OP_MAX_POOL_BACKWARD, &pool), 1);
    assert_int_equal(n->plan->ops[pool + 1].kind, OP_ACTIVATION_BACKWARD);
    kernel_choice *choices = net_choices(n);
    assert_string_equal(choices[pool].kernel, "cpu/2x2");
    bool with = strncmp(choices[pool + 1].kernel, "with ", 5) == 0;
    free(choices);
    return with;
}

static void compare_gradients(cornu_model *model, bool as_one)
{
    plan_options options = {.mode = PLAN_TRAIN, .batch = 3, .scope = SCOPE_GRADIENTS};
    net *found = net_open(model, "cpu", &options),
        *expected = net_open(model, "reference", &options);
    assert_int_equal(runs_as_one(found), as_one);
    net_run(found);
    net_run(expected);
    for (int i = 0; i < model->weight_count; i++) {
        tensor_ref t = found->plan->gradients[i];
        float *a = net_read(expected, expected->plan->gradients[i]), *b = net_read(found, t);
        assert_true(net_difference(a, b, found->plan->tensors[t].count) < 1e-4);
        free(a);
        free(b);
    }
    net_close(found);
    net_close(expected);
}

static void pool_and_activation_in_one_pass_give_the_references_gradients(void **state)
{
    (void)state;
    const char *const one_pass[] = {"relu", "leaky_relu"};
    for (int i = 0; i < 2; i++)
        for (int size = 9; size <= 10; size++) {
            cornu_model *model = model_with(one_pass[i], size);
            compare_gradients(model, true);
            cornu_model_close(model);
        }
}

static void other_activations_stay_apart(void **state)
{
    (void)state;
    cornu_model *model = model_with("tanh", 10);
    compare_gradients(model, false);
    cornu_model_close(model);
}

/* ---- at the edges ------------------------------------------------------------------------ */

/* May a convolution be fused with the pool after it, forward and backward? */
static bool is_taken(const char *pool, const char **why)
{
    char recipe[400];
    snprintf(recipe, sizeof recipe,
             "model: {input: [7, 7, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3, padding: "
             "same}}, {MaxPooling2D: %s}, Flatten, {Dense: {units: 2}}]}\n"
             "compile: {optimizer: sgd, loss: mean_squared_error}",
             pool);
    cornu_model *model = net_model(recipe);
    plan *p;
    int forward, backward;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 2}, &p),
                     CORNU_OK);
    assert_int_equal(net_count(p, OP_MAX_POOL_FORWARD, &forward), 1);
    assert_int_equal(net_count(p, OP_MAX_POOL_BACKWARD, &backward), 1);
    bool taken = conv_pool_windows(p, &p->ops[backward], why);
    assert_int_equal(conv_pool_windows(p, &p->ops[forward], why), taken);
    plan_free(p);
    cornu_model_close(model);
    return taken;
}

/* With an odd side, "same" gives a last window that is half outside. */
static void windows_that_reach_beyond_the_image_stay_apart(void **state)
{
    (void)state;
    const char *why;
    assert_true(is_taken("{pool_size: 2}", &why));
    assert_false(is_taken("{pool_size: 2, padding: same}", &why));
    assert_string_equal(why, "windows reach beyond the image");
    assert_false(is_taken("{pool_size: 3}", &why));
    assert_false(is_taken("{pool_size: 2, strides: 1}", &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_and_activation_in_one_pass_give_the_references_gradients),
        cmocka_unit_test(other_activations_stay_apart),
        cmocka_unit_test(windows_that_reach_beyond_the_image_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
