/* Single formulas that devices share, at values where mistakes are easy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/cpu.h"
#include "device/gather_sample.h"
#include "device/optimizer_step.h"
#include "device/rows.h"
#include "support/net.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- activations that are operations of their own ------------------------------------------ */

enum { CORNERS = 8 };
static const float corners[CORNERS] = {0, 1, -1, 3, -3, 6, 0.5f, -0.5f};

/* What Keras gives on TensorFlow 2.21, where most of them have a corner somewhere, and the gradient
   of dy = 1. TensorFlow's of celu at 0 is 2, the sum of both sides'. */
static const struct {
    activation_kind kind;
    float y[CORNERS], dx[CORNERS];
} activations[] = {
    {ACTIVATION_CELU,
     {0, 1, -0.63212055f, 3, -0.950212955f, 6, 0.5f, -0.393469334f},
     {1, 1, 0.36787945f, 1, 0.0497870669f, 1, 1, 0.606530666f}},
    {ACTIVATION_EXP,
     {1, 2.71828175f, 0.36787945f, 20.085537f, 0.0497870669f, 403.428802f, 1.64872122f,
      0.606530666f},
     {1, 2.71828175f, 0.36787945f, 20.085537f, 0.0497870669f, 403.428802f, 1.64872122f,
      0.606530666f}},
    {ACTIVATION_HARD_SHRINK, {0, 1, -1, 3, -3, 6, 0, 0}, {0, 1, 1, 1, 1, 1, 0, 0}},
    {ACTIVATION_HARD_SIGMOID,
     {0.5f, 0.666666687f, 0.333333343f, 1, 0, 1, 0.583333313f, 0.416666657f},
     {0.166666672f, 0.166666672f, 0.166666672f, 0, 0, 0, 0.166666672f, 0.166666672f}},
    {ACTIVATION_HARD_SILU,
     {0, 0.666666687f, -0.333333343f, 3, -0, 6, 0.291666657f, -0.208333328f},
     {0.5f, 0.833333313f, 0.166666672f, 1, 0, 1, 0.666666687f, 0.333333343f}},
    {ACTIVATION_HARD_TANH, {0, 1, -1, 1, -1, 1, 0.5f, -0.5f}, {1, 1, 1, 0, 0, 0, 1, 1}},
    {ACTIVATION_LOG_SIGMOID,
     {-0.693147182f, -0.313261688f, -1.31326163f, -0.048587352f, -3.04858732f, -0.00247568521f,
      -0.474076986f, -0.974076986f},
     {0.5f, 0.268941432f, 0.731058598f, 0.0474258736f, 0.952574134f, 0.00247262325f, 0.377540678f,
      0.622459352f}},
    {ACTIVATION_MISH,
     {0, 0.865098417f, -0.30340147f, 2.98653507f, -0.145647466f, 5.99992657f, 0.375245214f,
      -0.220743775f},
     {0.600000024f, 1.04903626f, 0.0592167564f, 1.02110696f, -0.0933931172f, 1.00013411f,
      0.886424363f, 0.289510667f}},
    {ACTIVATION_RELU6, {0, 1, 0, 3, 0, 6, 0.5f, 0}, {0, 1, 0, 1, 0, 0, 1, 0}},
    {ACTIVATION_SELU,
     {0, 1.05070102f, -1.11133075f, 3.15210295f, -1.6705687f, 6.30420589f, 0.525350511f,
      -0.691758215f},
     {1.05070102f, 1.05070102f, 0.64676863f, 1.05070102f, 0.0875306129f, 1.05070102f, 1.05070102f,
      1.06634116f}},
    {ACTIVATION_SOFT_SHRINK, {0, 0.5f, -0.5f, 2.5f, -2.5f, 5.5f, 0, 0}, {0, 1, 1, 1, 1, 1, 0, 0}},
    {ACTIVATION_SOFTPLUS,
     {0.693147182f, 1.31326163f, 0.313261688f, 3.04858732f, 0.048587352f, 6.00247574f, 0.974076986f,
      0.474076986f},
     {0.5f, 0.731058598f, 0.268941432f, 0.952574134f, 0.0474258736f, 0.997527361f, 0.622459352f,
      0.377540678f}},
    {ACTIVATION_SOFTSIGN,
     {0, 0.5f, -0.5f, 0.75f, -0.75f, 0.857142866f, 0.333333343f, -0.333333343f},
     {1, 0.25f, 0.25f, 0.0625f, 0.0625f, 0.0204081628f, 0.444444448f, 0.444444448f}},
    {ACTIVATION_SPARSE_PLUS,
     {0.25f, 1, 0, 3, 0, 6, 0.5625f, 0.0625f},
     {0.5f, 1, 0, 1, 0, 1, 0.75f, 0.25f}},
    {ACTIVATION_SPARSE_SIGMOID,
     {0.5f, 1, 0, 1, 0, 1, 0.75f, 0.25f},
     {0.5f, 0, 0, 0, 0, 0, 0.5f, 0.5f}},
    {ACTIVATION_SQUAREPLUS,
     {1, 1.61803401f, 0.618034005f, 3.30277562f, 0.302775651f, 6.1622777f, 1.28077638f,
      0.780776381f},
     {0.5f, 0.723606825f, 0.276393205f, 0.916025162f, 0.0839748532f, 0.974341631f, 0.621267796f,
      0.378732175f}},
    {ACTIVATION_TANH_SHRINK,
     {0, 0.238405839f, -0.238405839f, 2.00494528f, -2.00494528f, 5.0000124f, 0.0378828421f,
      -0.0378828421f},
     {0, 0.580025673f, 0.580025673f, 0.990133941f, 0.990133941f, 0.999975443f, 0.213552266f,
      0.213552266f}},
};

static void activations_at_their_corners_are_as_in_keras(void **state)
{
    (void)state;
    const float ones[CORNERS] = {1, 1, 1, 1, 1, 1, 1, 1};
    cpu_isa isa;
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    for (size_t f = 0; f < sizeof activations / sizeof *activations; f++) {
        activation a;
        float y[CORNERS], dx[CORNERS];
        assert_true(activation_find(activation_name(activations[f].kind), &a));
        assert_false(activation_is_function(a.kind));
        cpu_activate(isa, a, corners, y, CORNERS);
        cpu_activate_back(isa, a, activation_from_output(a.kind) ? y : corners, ones, dx, CORNERS);
        for (int i = 0; i < CORNERS; i++) {
            const double expected = (double)activations[f].y[i];
            const double slope = (double)activations[f].dx[i], limit = 4e-7;
            if (!(fabs((double)y[i] - expected) <= limit * fabs(expected)) ||
                !(fabs((double)dx[i] - slope) <= limit * fmax(fabs(slope), 0.1)))
                fail_msg("%s of %g: found %.9g, gradient %.9g; expected %.9g, %.9g",
                         activation_name(a.kind), (double)corners[i], (double)y[i], (double)dx[i],
                         expected, slope);
        }
    }
}

/* Far below 0, near it and far above, beside doubles; what is no number stays so. */
static void activations_keep_their_digits_everywhere(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static const activation_kind kinds[] = {
#define ACTIVATION(...)
#define ACTIVATION_ALONE(id, ...) ACTIVATION_##id,
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    };
    float x[COUNT + 1], dy[COUNT + 1], y[COUNT + 1], dx[COUNT + 1];
    cpu_isa isa;
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    for (int i = 0; i < COUNT; i++) {
        x[i] = (i % 2 ? -1.0f : 1.0f) * 1e-4f * powf(1.068f, (float)i);
        dy[i] = 1;
    }
    x[COUNT] = NAN;
    dy[COUNT] = 1;
    for (size_t f = 0; f < sizeof kinds / sizeof *kinds; f++) {
        activation a = {.kind = kinds[f]};
        activation_find(activation_name(kinds[f]), &a);
        const bool from_output = activation_from_output(a.kind);
        cpu_activate(isa, a, x, y, COUNT + 1);
        cpu_activate_back(isa, a, from_output ? y : x, dy, dx, COUNT + 1);
        assert_true(isnan(y[COUNT]) && isnan(activate_element(a, NAN)));
        for (int i = 0; i < COUNT; i++) {
            const double own = activate_element(a, (double)x[i]);
            const double back =
                activate_element_back(a, from_output ? (double)y[i] : (double)x[i], 1);
            if (!(fabs((double)y[i] - own) <= 2e-6 * fabs(own) + 1e-36) &&
                !(isinf(y[i]) && own > (double)FLT_MAX))
                fail_msg("%s of %g: found %.9g; expected %.9g", activation_name(a.kind),
                         (double)x[i], (double)y[i], own);
            if (!(fabs((double)dx[i] - back) <= 4e-6 * fabs(back) + 1e-7) && !isinf(dx[i]))
                fail_msg("%s of %g: found gradient %.9g; expected %.9g", activation_name(a.kind),
                         (double)x[i], (double)dx[i], back);
        }
    }
}

/* ---- functions of one number ------------------------------------------------------------- */

enum { ODD = 8 };
static const float odd_numbers[ODD] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, -0.25f};

/* What TensorFlow 2.21 gives through keras.ops, and the gradient of dy = 1. */
static const struct {
    activation_kind kind;
    float y[ODD], dx[ODD];
} functions[] = {
    {ACTIVATION_ABSOLUTE,
     {0, 0, 1, 1, INFINITY, INFINITY, NAN, 0.25f},
     {0, 0, 1, -1, 1, -1, NAN, -1}},
    {ACTIVATION_EXP,
     {1, 1, 2.71828183f, 0.367879441f, INFINITY, 0, NAN, 0.778800783f},
     {1, 1, 2.71828183f, 0.367879441f, INFINITY, 0, NAN, 0.778800783f}},
    {ACTIVATION_LOG,
     {-INFINITY, -INFINITY, 0, NAN, INFINITY, NAN, NAN, NAN},
     {INFINITY, -INFINITY, 1, -1, 0, 0, NAN, -4}},
    {ACTIVATION_RECIPROCAL,
     {INFINITY, -INFINITY, 1, -1, 0, 0, NAN, -4},
     {-INFINITY, -INFINITY, -1, -1, 0, 0, NAN, -16}},
    {ACTIVATION_RSQRT,
     {INFINITY, -INFINITY, 1, NAN, 0, NAN, NAN, NAN},
     {-INFINITY, INFINITY, -0.5f, NAN, 0, NAN, NAN, NAN}},
    {ACTIVATION_SQRT,
     {0, 0, 1, NAN, INFINITY, NAN, NAN, NAN},
     {INFINITY, -INFINITY, 0.5f, NAN, 0, NAN, NAN, NAN}},
    {ACTIVATION_SQUARE,
     {0, 0, 1, 1, INFINITY, INFINITY, NAN, 0.0625f},
     {0, 0, 2, -2, INFINITY, -INFINITY, NAN, -0.5f}},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static bool is_same(float found, float expected)
{
    return isnan(expected)   ? isnan(found)
           : isinf(expected) ? found == expected
                             : fabsf(found - expected) <= 3e-7f * fabsf(expected);
}

static void functions_at_odd_numbers_are_as_in_tensorflow(void **state)
{
    (void)state;
    const float ones[ODD] = {1, 1, 1, 1, 1, 1, 1, 1};
    cpu_isa isa;
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    for (int f = 0; f < FUNCTIONS; f++) {
        const activation a = {.kind = functions[f].kind};
        const bool from_output = activation_from_output(a.kind);
        float y[ODD], dx[ODD];
        cpu_activate(isa, a, odd_numbers, y, ODD);
        cpu_activate_back(isa, a, from_output ? y : odd_numbers, ones, dx, ODD);
        for (int i = 0; i < ODD; i++) {
            const double x = (double)odd_numbers[i], own = activate_element(a, x);
            const double back = activate_element_back(a, from_output ? own : x, 1);
            if (!is_same(y[i], functions[f].y[i]) || !is_same((float)own, functions[f].y[i]) ||
                !is_same(dx[i], functions[f].dx[i]) || !is_same((float)back, functions[f].dx[i]))
                fail_msg("%s of %g: found %g and %g, gradients %g and %g; expected %g, %g",
                         activation_name(a.kind), x, (double)y[i], own, (double)dx[i], back,
                         (double)functions[f].y[i], (double)functions[f].dx[i]);
        }
    }
}

/* What lies within keeps all its digits, however far the limit is: a logarithm may follow. */
static void limits_change_nothing_within_them(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    static const struct {
        activation act;
        float y[COUNT], dx[COUNT];
    } cases[] = {
        {{ACTIVATION_AT_LEAST, -1e9f}, {1e-7f, 0.3f, -2, 3e8f, 1, NAN}, {1, 1, 1, 1, 1, 0}},
        {{ACTIVATION_AT_LEAST, 1}, {1, 1, 1, 3e8f, 1, NAN}, {0, 0, 0, 1, 1, 0}},
        {{ACTIVATION_AT_MOST, 1e9f}, {1e-7f, 0.3f, -2, 3e8f, 1, NAN}, {1, 1, 1, 1, 1, 0}},
        {{ACTIVATION_AT_MOST, 1}, {1e-7f, 0.3f, -2, 1, 1, NAN}, {1, 1, 1, 0, 1, 0}},
    };
    static const float x[COUNT] = {1e-7f, 0.3f, -2, 3e8f, 1, NAN}, ones[COUNT] = {1, 1, 1, 1, 1, 1};
    cpu_isa isa;
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float y[COUNT], dx[COUNT];
        cpu_activate(isa, cases[c].act, x, y, COUNT);
        cpu_activate_back(isa, cases[c].act, x, ones, dx, COUNT);
        for (int i = 0; i < COUNT; i++) {
            const float expected = cases[c].y[i];
            const float own = (float)activate_element(cases[c].act, (double)x[i]);
            assert_true(isnan(expected) ? isnan(y[i]) && isnan(own)
                                        : y[i] == expected && own == expected);
            assert_true(dx[i] == cases[c].dx[i]);
            assert_true(activate_element_back(cases[c].act, (double)x[i], 1) ==
                        (double)cases[c].dx[i]);
        }
    }
}

/* So a network may take the root of what is 0 where nothing depends on it. */
static void no_gradient_stays_none_at_the_root_of_0(void **state)
{
    (void)state;
    static const activation_kind kinds[] = {ACTIVATION_RECIPROCAL, ACTIVATION_RSQRT,
                                            ACTIVATION_SQRT};
    cpu_isa isa;
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    for (int i = 0; i < 3; i++) {
        const activation a = {.kind = kinds[i]};
        const float x = 0, dy = 0;
        float y, dx;
        cpu_activate(isa, a, &x, &y, 1);
        cpu_activate_back(isa, a, &y, &dy, &dx, 1);
        assert_true(dx == 0);
        assert_true(activate_element_back(a, (double)y, 0) == 0);
    }
}

/* Over the whole range of floats. */
static void exp_and_log_are_right_to_their_own_size(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    float x[COUNT], y[COUNT];
    cpu_isa isa;
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    for (int i = 0; i < COUNT; i++)
        x[i] = -87.3f + 0.35f * (float)i;
    cpu_activate(isa, (activation){.kind = ACTIVATION_EXP}, x, y, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const double expected = exp((double)x[i]);
        if (expected > (double)FLT_MAX)
            assert_true(y[i] == INFINITY);
        else
            assert_true(fabs((double)y[i] - expected) <= 4e-7 * expected);
    }
    for (int i = 0; i < COUNT; i++)
        x[i] = i < COUNT / 2 ? 1 + ldexpf(i & 1 ? -1 : 1, -i % 20 - 2) : ldexpf(1.3f, i / 4 - 187);
    cpu_activate(isa, (activation){.kind = ACTIVATION_LOG}, x, y, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const double expected = log((double)x[i]);
        assert_true(fabs((double)y[i] - expected) <= 3e-7 * fabs(expected));
    }
}

/* ---- sums of two floats ------------------------------------------------------------------ */

/* Sums of two floats (device/rules/sum2.h) against sums of doubles, as the plug-ins' kernels use
   them.
 */

#define RULE static inline
typedef struct sum2 {
    float x, y;
} sum2;
#define sum2_make(x, y) ((sum2){(x), (y)})
#define rule_fma(a, b, c) fmaf(a, b, c)
#include "base/philox.h"
#include "device/rules/sum2.h"

static double number_of(sum2 a)
{
    return (double)a.x + (double)a.y;
}

/* Any magnitude of a float except the extremes, with either sign. */
static float random_float(random_stream *r)
{
    return ldexpf(random_normal(r), (int)random_below(r, 100) - 50);
}

static void long_sums_have_twice_a_floats_digits(void **state)
{
    (void)state;
    random_stream r = random_open(5, RANDOM_GENERATE, 0);
    double expected = 0;
    float plain = 0;
    sum2 found = sum2_of(0);
    for (int i = 0; i < 1000000; i++) {
        float x = random_normal(&r) + 1;
        expected += (double)x;
        plain += x;
        found = sum2_plus(found, x);
    }
    assert_true(fabs(number_of(sum2_settled(found)) - expected) < 1e-11 * expected);
    assert_true(fabs((double)plain - expected) >
                1e-7 * expected); /* a float's digits do not suffice */
    assert_true(sum2_value(sum2_settled(found)) == (float)expected);
}

static void what_cancels_leaves_what_it_hid(void **state)
{
    (void)state;
    const float numbers[2][3] = {{1e8f, 1, -1e8f}, {1, 1e8f, -1e8f}};
    for (int order = 0; order < 2; order++) {
        sum2 sum = sum2_of(0), pairs = sum2_of(0);
        for (int i = 0; i < 3000; i++) {
            sum = sum2_plus(sum, numbers[order][i % 3]);
            pairs = sum2_add(pairs, sum2_of(numbers[order][i % 3]));
        }
        assert_true(number_of(sum2_settled(sum)) == 1000);
        assert_true(number_of(pairs) == 1000);
    }
}

/* Threads that exchange their sums add each other's: all must get the same bits. */
static void sums_are_the_same_in_either_order(void **state)
{
    (void)state;
    random_stream r = random_open(6, RANDOM_GENERATE, 0);
    for (int i = 0; i < 100000; i++) {
        sum2 a = sum2_product(random_float(&r), random_normal(&r));
        sum2 b = sum2_product(random_float(&r), random_normal(&r));
        sum2 one = sum2_add(a, b), other = sum2_add(b, a);
        assert_memory_equal(&one, &other, sizeof one);
        double expected = number_of(a) + number_of(b);
        double size = fabs(number_of(a)) + fabs(number_of(b));
        assert_true(fabs(number_of(one) - expected) <= 1e-13 * size);
        assert_true(one.x == one.x + one.y); /* the second is below the first's last digit */
    }
}

static void products_are_exact_or_nearly(void **state)
{
    (void)state;
    random_stream r = random_open(7, RANDOM_GENERATE, 0);
    for (int i = 0; i < 100000; i++) {
        float x = random_float(&r), y = random_normal(&r);
        assert_true(number_of(sum2_product(x, y)) == (double)x * (double)y);
        sum2 a = sum2_product(x, y), b = sum2_product(random_normal(&r), y);
        double expected = number_of(a) * number_of(b);
        assert_true(fabs(number_of(sum2_times(a, b)) - expected) <= 1e-13 * fabs(expected));
        assert_true(number_of(sum2_negative(a)) == -number_of(a));
    }
}

/* So that a norm or a loss that is not finite is noticed. */
static void what_is_not_finite_stays_so(void **state)
{
    (void)state;
    const float odd[] = {INFINITY, -INFINITY, NAN, 3e38f};
    for (int i = 0; i < 4; i++) {
        sum2 plus = sum2_of(1), add = sum2_of(1);
        for (int k = 0; k < 5; k++) {
            plus = sum2_plus(plus, k > 0 ? odd[i] : 1);
            add = sum2_add(add, sum2_of(k > 0 ? odd[i] : 1));
        }
        float found[] = {sum2_value(sum2_settled(plus)), sum2_value(add),
                         sum2_value(sum2_product(odd[i], odd[i])),
                         sum2_value(sum2_times(sum2_of(odd[i]), sum2_of(odd[i])))};
        for (int k = 0; k < 4; k++) {
            assert_false(isfinite(found[k]));
            assert_true(!isnan(odd[i]) == !isnan(found[k]));
        }
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
        cmocka_unit_test(activations_at_their_corners_are_as_in_keras),
        cmocka_unit_test(activations_keep_their_digits_everywhere),
        cmocka_unit_test(functions_at_odd_numbers_are_as_in_tensorflow),
        cmocka_unit_test(limits_change_nothing_within_them),
        cmocka_unit_test(no_gradient_stays_none_at_the_root_of_0),
        cmocka_unit_test(exp_and_log_are_right_to_their_own_size),
        cmocka_unit_test(long_sums_have_twice_a_floats_digits),
        cmocka_unit_test(what_cancels_leaves_what_it_hid),
        cmocka_unit_test(sums_are_the_same_in_either_order),
        cmocka_unit_test(products_are_exact_or_nearly),
        cmocka_unit_test(what_is_not_finite_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
