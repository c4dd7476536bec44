/* Single formulas that devices share, at values where mistakes are easy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/cpu.h"
#include "device/gather_sample.h"
#include "device/optimizer_step.h"
#include "support/net.h"

static void only_gradients_beyond_the_norm_are_shortened(void **state)
{
    (void)state;
    const optimizer o = {.id = OPTIMIZER_SGD, .clipnorm = 2};
    assert_true(optimizer_gradient_scale(&o, 1) == 1);
    assert_true(optimizer_gradient_scale(&o, 4) == 1);
    assert_true(optimizer_gradient_scale(&o, 16) == 0.5f);
    assert_true(isnan(optimizer_gradient_scale(&o, INFINITY)));
}

/* Keras: x / (std + 1e-6), so that a nearly even picture is not blown up. */
static void the_deviation_of_a_sample_gets_its_epsilon_outside_the_root(void **state)
{
    (void)state;
    const standardization st = {.samplewise_center = true, .samplewise_std = true};
    float x[2] = {1e-5f, -1e-5f};
    gather_standardize(&st, 1, 1, 2, x);
    assert_float_equal(x[0], 1e-5 / 1.1e-5, 1e-4);
    assert_float_equal(x[1], -1e-5 / 1.1e-5, 1e-4);
}

static float brightened(float value, float factor)
{
    const sample_block pixel = {
        .count = 1, .x_shape = {3, {1, 1, 1}}, .x_type = SAMPLE_F32, .x = &value, .x_scale = 1};
    const random_transform transform = {
        .zoom_x = 1, .zoom_y = 1, .brightens = true, .brightness = factor};
    float x;
    gather_augmented(&pixel, 0, &transform, &x);
    return x;
}

/* PIL drops a byte's fraction. */
static void brightness_makes_whole_numbers(void **state)
{
    (void)state;
    assert_true(brightened(101, 0.5f) == 50);
    assert_true(brightened(101.9f, 1) == 101);
    assert_true(brightened(200, 2) == 255);
}

static void each_row_of_a_target_has_its_own_one(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [3, 2], layers: [{Dense: {units: 4, activation: softmax}}]}\n"
                  "compile: {optimizer: sgd, loss: categorical_crossentropy}");
    plan *p;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 1}, &p),
                     CORNU_OK);
    static const int32_t classes[] = {0, 3, 1, 2, 2, 0};
    const sample_block block = {
        .count = 2, .y = classes, .y_type = SAMPLE_I32, .y_shape = {1, {3}}};
    static const float expected[12] = {0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0};
    float target[12];
    gather_target(p, &block, 1, target);
    assert_memory_equal(target, expected, sizeof target);
    plan_free(p);
    cornu_model_close(model);
}

/* Where exp(x) is far below a rounding of 1. */
static void silu_far_below_0_is_right_to_its_own_size(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    const activation silu = {.kind = ACTIVATION_SILU};
    float x[COUNT], dy[COUNT], y[COUNT], dx[COUNT];
    cpu_isa isa;
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    for (int i = 0; i < COUNT; i++) {
        x[i] = -1.75f * (float)i;
        dy[i] = 1;
    }
    cpu_activate(isa, silu, x, y, COUNT);
    cpu_activate_back(isa, silu, x, dy, dx, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double s = 1 / (1 + exp(-(double)x[i])), slope = s + (double)x[i] * s * (1 - s);
        assert_true(fabs((double)y[i] - (double)x[i] * s) <= 2e-6 * fabs((double)x[i] * s));
        assert_true(fabs((double)dx[i] - slope) <= 4e-6 * fabs(slope));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_gradients_beyond_the_norm_are_shortened),
        cmocka_unit_test(the_deviation_of_a_sample_gets_its_epsilon_outside_the_root),
        cmocka_unit_test(brightness_makes_whole_numbers),
        cmocka_unit_test(each_row_of_a_target_has_its_own_one),
        cmocka_unit_test(silu_far_below_0_is_right_to_its_own_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
