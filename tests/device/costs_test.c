/* The actual FLOPs and bytes of kernels, counted by hand for small plans on the cpu. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct costs {
    cornu_model *model;
    net *n;
    kernel_choice *choices;
    double flops, bytes; /* of all operations */
} costs;

/* With one kernel preferred, or NULL. */
static costs costs_with(const char *kernel, const char *recipe, int64_t batch)
{
    costs c = {.model = net_model(recipe)};
    plan_options options = {.mode = PLAN_TRAIN, .batch = batch};
    c.n = net_open_with(c.model, "cpu", &options, &(device_options){.kernel = kernel});
    c.choices = net_choices(c.n);
    for (int i = 0; i < c.n->plan->op_count; i++) {
        c.flops += c.choices[i].flops;
        c.bytes += c.choices[i].bytes;
        if (strncmp(c.choices[i].kernel, "with ", 5) == 0)
            assert_true(c.choices[i].flops == 0 && c.choices[i].bytes == 0);
    }
    return c;
}

static costs costs_of(const char *recipe, int64_t batch)
{
    return costs_with(NULL, recipe, batch);
}

static void costs_free(costs *c)
{
    free(c->choices);
    net_close(c->n);
    cornu_model_close(c->model);
}

/* Floats that move to or from memory once each. */
static void must_move(const costs *c, double floats)
{
    if (c->bytes != 4 * floats)
        fail_msg("found %g floats; expected %g", c->bytes / 4, floats);
}

/* Rows of 64 numbers to 96 and to 10. The next step's forward pass runs the first layer's update,
   as one with its gradient; the second layer's gradients and updates are one, too. */
static void a_dense_steps_bytes_are_those_by_hand(void **state)
{
    (void)state;
    const double rows = 2, x = rows * 64, h = rows * 96, y = rows * 10;
    const double w1 = 64 * 96, b1 = 96, w2 = 96 * 10, b2 = 10;
    costs c =
        costs_of("model: {input: [64], layers: [{Dense: {units: 96}}, {Dense: {units: 10}}]}\n"
                 "compile: {optimizer: sgd, loss: mean_squared_error}",
                 (int64_t)rows);
    double gather = x + y, loss = y + y + y;      /* of outputs and targets, and the gradient */
    double first = x + h + 2 * (w1 + b1) + x + h; /* y = x W + b; dW from x and dy, never written */
    double second = h + w2 + b2 + y;
    double back = h + y + 2 * (w2 + b2) + h; /* dW, dx, updates: each read or written once */
    assert_string_equal(c.choices[c.n->plan->op_count - 1].kernel, "with 2");
    must_move(&c, gather + first + second + loss + back);
    assert_true(c.flops == c.n->plan->flops);
    costs_free(&c);
}

static const kernel_choice *choice_of(const costs *c, op_kind kind)
{
    int at;
    assert_int_equal(net_count(c->n->plan, kind, &at), 1);
    return &c->choices[at];
}

static const char pooled[] =
    "model: {input: [14, 14, 3], layers: [{Conv2D: {filters: 32, kernel_size: 3, "
    "activation: relu}}, MaxPooling2D, Flatten, {Dense: {units: 5}}]}\n"
    "compile: {optimizer: sgd, loss: mean_squared_error}";

/* 32 filters over 14x14x3, then windows of 2x2: 12 x 12 outputs, 6 x 6 windows. */
static void a_pooled_first_convolution_is_counted_by_windows(void **state)
{
    (void)state;
    const double x = 3 * 14 * 14 * 3, y = 3 * 12 * 12 * 32, windows = y / 4, taps = 27;
    const double w = taps * 32, b = 32;
    costs c = costs_of(pooled, 3);
    const kernel_choice *forward = choice_of(&c, OP_CONV2D_FORWARD);
    const kernel_choice *backward = choice_of(&c, OP_MAX_POOL_BACKWARD);
    assert_string_equal(forward->kernel, "cpu/first_conv_pool");
    assert_string_equal(backward->kernel, "cpu/first_conv_pool");
    /* The large output does not exist: one byte per window says where its gradient goes. */
    assert_true(forward->bytes == 4 * (x + w + b + windows) + windows);
    assert_true(backward->bytes == 4 * (x + windows + w + b) + windows);
    assert_true(forward->flops == 2 * y * taps + 4 * windows);
    /* One multiply-add per window and tap; four if the processor cannot select one of four. */
    double products = backward->flops / (2 * windows * taps);
    assert_true(products == 1 || products == 4);
#if defined(__x86_64__)
    if (!getenv("CORNU_ISA") && __builtin_cpu_supports("avx2"))
        assert_true(products == 1);
#endif
    costs_free(&c);
}

/* The same where another kernel runs the forward pass, and leaves no codes. */
static void without_codes_the_convolution_s_output_counts(void **state)
{
    (void)state;
    const double x = 3 * 14 * 14 * 3, y = 3 * 12 * 12 * 32, windows = y / 4, w = 27 * 32, b = 32;
    costs c = costs_with("first_conv", pooled, 3);
    const kernel_choice *forward = choice_of(&c, OP_CONV2D_FORWARD);
    const kernel_choice *backward = choice_of(&c, OP_MAX_POOL_BACKWARD);
    assert_string_equal(forward->kernel, "cpu/first_conv");
    assert_string_equal(backward->kernel, "cpu/first_conv_pool");
    assert_true(forward->bytes == 4 * (x + w + b + y));
    assert_true(backward->bytes == 4 * (x + y + 2 * windows + w + b));
    costs_free(&c);
}

/* By Winograd's tiles: 36 products per tile of 4 x 4 in place of 144; pool and relu move no
   bytes. */
static void a_pooled_winograd_convolution_is_counted_by_tiles(void **state)
{
    (void)state;
    const double x = 4 * 16 * 16 * 16, y = 4 * 16 * 16 * 32, windows = y / 4;
    const double w = 9 * 16 * 32, b = 32, tiles = 4 * 4 * 4;
    costs c =
        costs_of("model: {input: [16, 16, 16], layers: [{Conv2D: {filters: 16, kernel_size: 1}},"
                 "{Conv2D: {filters: 32, kernel_size: 3, padding: same, activation: relu}}, "
                 "MaxPooling2D, Flatten, {Dense: {units: 5}}]}\n"
                 "compile: {optimizer: sgd, loss: mean_squared_error}",
                 4);
    int at;
    net_count(c.n->plan, OP_CONV2D_FORWARD, &at);
    const kernel_choice *forward = &c.choices[at + 1];
    const kernel_choice *backward = choice_of(&c, OP_MAX_POOL_BACKWARD);
    assert_string_equal(forward->kernel, "cpu/winograd_pool");
    assert_string_equal(backward->kernel, "cpu/winograd_pool");
    double products = 2 * 36 * tiles * 16 * 32;
    assert_true(forward->flops == products + 4 * windows);
    assert_true(backward->flops == 2 * products);
    assert_true(forward->bytes == 4 * (x + w + b + windows) + windows);
    assert_true(backward->bytes == 4 * (x + windows + w + w + b + x) + windows);
    costs_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_steps_bytes_are_those_by_hand),
        cmocka_unit_test(a_pooled_first_convolution_is_counted_by_windows),
        cmocka_unit_test(without_codes_the_convolution_s_output_counts),
        cmocka_unit_test(a_pooled_winograd_convolution_is_counted_by_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
