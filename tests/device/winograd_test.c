/* 3x3 and 5x5 convolutions by Winograd's algorithm: their distance from a convolution's definition,
   their handling of NaN, that exact convolution avoids them, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/winograd/winograd.h"
#include "support/net.h"
#include "support/op_cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The convolutions of the published workloads that have more than 3 input channels. */
typedef struct conv_layer {
    int64_t size, in, out;
    bool same;
    int64_t kernel;
} conv_layer;
static const conv_layer published[] = {
    {32, 32, 32, true, 3},  {16, 32, 64, true, 3}, {16, 64, 64, true, 3}, {8, 64, 128, true, 3},
    {8, 128, 128, true, 3}, {28, 32, 32, true, 3}, {14, 32, 64, true, 3}, {14, 64, 64, true, 3},
    {74, 32, 64, false, 3}, {14, 32, 64, true, 5},
};
/* Channels that fill no vector and no tile; more than AMX products take at once. */
static const conv_layer odd[] = {
    {11, 17, 50, true, 3}, {9, 100, 20, false, 3}, {10, 20, 70, true, 5}};
enum { LAYERS = sizeof published / sizeof *published, ODD = sizeof odd / sizeof *odd };

/* Enough for AMX products, if there is AMX; layers with more weights do not use it. */
static int64_t batch_of(const conv_layer *l)
{
    int64_t side = ((l->same ? l->size : l->size - l->kernel + 1) + 3) / 4;
    return l->in * l->out <= 64 * 64 ? 2 + 255 / (side * side) : 2;
}

/* The device's kernels, and the inputs' gradient made in one pass with the weights' gradient. */
enum { WAYS = 4 };
static const op_kind kinds[WAYS] = {OP_CONV2D_FORWARD, OP_CONV2D_BACKWARD_DATA,
                                    OP_CONV2D_BACKWARD_WEIGHTS, OP_CONV2D_BACKWARD_DATA};

static cornu_status one_pass_prepare(const plan *p, const op *o, threads *pool, void **state,
                                     size_t *scratch_bytes)
{
    return winograd_prepare_backward(p, NULL, o, pool, state, scratch_bytes);
}

static cornu_status one_pass_run(const op_run *o)
{
    winograd_backward(
        o->state, o, &(winograd_gradients){.w = o->in[1], .dy = {o->in[0], NULL}, .dx = o->out[0]});
    return CORNU_OK;
}

static const kernel one_pass = {.name = "winograd, as in one pass",
                                .prepare = one_pass_prepare,
                                .release = free,
                                .run = one_pass_run};

static op_case case_of(const conv_layer *l, int64_t batch, op_kind kind)
{
    window2d window = {
        .kernel = {l->kernel, l->kernel}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    window_pad(&window, l->same, l->size, l->size);
    int64_t size = window_output(&window, 0, l->size);
    shape x = {4, {batch, l->size, l->size, l->in}}, y = {4, {batch, size, size, l->out}};
    shape w = {4, {l->kernel, l->kernel, l->in, l->out}}, b = {1, {l->out}};
    op_case c = {.kind = kind, .a.conv.w = window};
    snprintf(c.label, sizeof c.label, "%s %lldx%lld, %lld to %lld channels, kernel %lld",
             op_infos[kind].name, (long long)l->size, (long long)l->size, (long long)l->in,
             (long long)l->out, (long long)l->kernel);
    if (kind == OP_CONV2D_FORWARD)
        c.in[0] = x, c.in[1] = w, c.in[2] = b, c.out[0] = y;
    else if (kind == OP_CONV2D_BACKWARD_DATA)
        c.in[0] = y, c.in[1] = w, c.out[0] = x;
    else
        c.in[0] = x, c.in[1] = y, c.out[0] = w, c.out[1] = b;
    return c;
}

static const kernel *find(const host_device *h, op_kind kind, const char *name)
{
    for (kernel_list list = h->kernels[kind]; *list; list++)
        if (strcmp((*list)->name, name) == 0)
            return *list;
    fail_msg("%s: no kernel %s", op_infos[kind].name, name);
    return NULL;
}

static const kernel *way_of(const host_device *h, int way)
{
    return way == WAYS - 1 ? &one_pass : find(h, kinds[way], "winograd");
}

static host_device *open_cpu(void)
{
    return (host_device *)(void *)net_device_open("cpu", &(device_options){.threads = 2});
}

static void error_on_the_published_layers_is_below_a_ten_thousandth(void **state)
{
    (void)state;
    host_device *h = open_cpu();
    int failures = 0;
    for (int i = 0; i < WAYS * (LAYERS + ODD); i++) {
        const conv_layer *l = i / WAYS < LAYERS ? &published[i / WAYS] : &odd[i / WAYS - LAYERS];
        op_case c = case_of(l, batch_of(l), kinds[i % WAYS]);
        const kernel *k = way_of(h, i % WAYS);
        op_outputs expected, found;
        assert_int_equal(op_case_run(&c, &reference_kernels[c.kind], h->pool, false, &expected),
                         CORNU_OK);
        assert_int_equal(op_case_run(&c, k, h->pool, false, &found), CORNU_OK);
        failures += op_outputs_compare(&c, k->name, 1e-4, &found, &expected);
        op_outputs_free(&expected);
        op_outputs_free(&found);
    }
    host_close(&h->device);
    assert_int_equal(failures, 0);
}

/* A NaN may appear in more elements than by the definition (those of its tiles), never in fewer. */
static void nan_never_disappears(void **state)
{
    (void)state;
    host_device *h = open_cpu();
    for (int i = 0; i < 2 * WAYS; i++) {
        const conv_layer small = {7, 17, 20, true, i < WAYS ? 3 : 5};
        op_case c = case_of(&small, 3, kinds[i % WAYS]);
        op_outputs expected, found;
        int64_t nan = 0, more = 0;
        assert_int_equal(op_case_run(&c, &reference_kernels[c.kind], h->pool, true, &expected),
                         CORNU_OK);
        assert_int_equal(op_case_run(&c, way_of(h, i % WAYS), h->pool, true, &found), CORNU_OK);
        for (int64_t k = 0; k < expected.count[0]; k++) {
            assert_true(isnan(found.values[0][k]) || !isnan(expected.values[0][k]));
            nan += isnan(expected.values[0][k]);
            more += isnan(found.values[0][k]);
        }
        assert_true(nan > 0 && more <= 4 * 16 * nan);
        op_outputs_free(&expected);
        op_outputs_free(&found);
    }
    host_close(&h->device);
}

/* ---- in a plan --------------------------------------------------------------------------- */

static cornu_model *small_network(void)
{
    return net_model(
        "model:\n"
        "  input: [16, 15, 16]\n"
        "  layers:\n"
        "    - Conv2D: {filters: 32, kernel_size: 3, padding: same, activation: relu}\n"
        "    - Conv2D: {filters: 20, kernel_size: 3, activation: tanh}\n"
        "    - Flatten\n"
        "    - Dense: {units: 3, activation: softmax}\n"
        "compile: {optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}},\n"
        "  loss: sparse_categorical_crossentropy}\n");
}

/* The number of operations that run by Winograd's algorithm. */
static int count_winograd(const net *n)
{
    int found = 0;
    kernel_choice *choices = net_choices(n);
    for (int i = 0; i < n->plan->op_count; i++)
        found += strcmp(choices[i].kernel, "cpu/winograd") == 0;
    free(choices);
    return found;
}

static void exact_convolution_is_exact(void **state)
{
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        cornu_model *model = small_network();
        plan_options options = {.mode = PLAN_TRAIN, .batch = 6, .exact_convolution = exact};
        net *n = net_open(model, "cpu", &options);
        assert_int_equal(count_winograd(n), exact ? 0 : 4); /* one makes two gradients */
        net_close(n);
        cornu_model_close(model);
    }
}

/* Weights after some steps, with Winograd or without, hardly differ. */
static void training_goes_the_same_way_as_with_exact_convolution(void **state)
{
    (void)state;
    enum { STEPS = 10 };
    cornu_model *models[2];
    net *nets[2];
    for (int exact = 0; exact < 2; exact++) {
        plan_options options = {.mode = PLAN_TRAIN, .batch = 6, .exact_convolution = exact};
        models[exact] = small_network();
        nets[exact] = net_open(models[exact], "cpu", &options);
        for (int i = 0; i < STEPS; i++)
            net_run(nets[exact]);
    }
    for (int i = 0; i < models[0]->weight_count; i++) {
        const char *name = models[0]->variables[i].name;
        float *a = net_read_variable(nets[0], name), *b = net_read_variable(nets[1], name);
        assert_true(net_difference(a, b, models[0]->variables[i].count) < 1e-4);
        free(a);
        free(b);
    }
    for (int exact = 0; exact < 2; exact++) {
        net_close(nets[exact]);
        cornu_model_close(models[exact]);
    }
}

/* ---- what is refused --------------------------------------------------------------------- */

/* Does Winograd's algorithm accept this convolution of 32x32 images? `why`: the refusal. */
static bool is_accepted(const char *convolution, const char **why)
{
    char recipe[400];
    snprintf(recipe, sizeof recipe,
             "model: {input: [32, 32, 16], layers: [{Conv2D: {filters: 16, %s}}, Flatten, {Dense: "
             "{units: 2}}]}\n"
             "compile: {optimizer: sgd, loss: mean_squared_error}",
             convolution);
    cornu_model *model = net_model(recipe);
    plan *p;
    int conv;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 8}, &p),
                     CORNU_OK);
    assert_int_equal(net_count(p, OP_CONV2D_FORWARD, &conv), 1);
    bool accepted = winograd_accepts(p, &p->ops[conv], why);
    plan_free(p);
    cornu_model_close(model);
    return accepted;
}

static void what_it_cannot_compute_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"kernel_size: 3, dilation_rate: 2", "strided or dilated"},
        {"kernel_size: 3, dilation_rate: [1, 2]", "strided or dilated"},
        {"kernel_size: 3, strides: 2", "strided or dilated"},
        {"kernel_size: 3, strides: [2, 1]", "strided or dilated"},
        {"kernel_size: 3, groups: 2", "in groups"},
        {"kernel_size: [3, 5]", "neither 3x3 nor 5x5"},
        {"kernel_size: 7", "neither 3x3 nor 5x5"},
    };
    const char *why;
    assert_true(is_accepted("kernel_size: 3", &why));
    assert_true(is_accepted("kernel_size: 5, padding: same", &why));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(is_accepted(refused[i][0], &why));
        assert_string_equal(why, refused[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_on_the_published_layers_is_below_a_ten_thousandth),
        cmocka_unit_test(nan_never_disappears),
        cmocka_unit_test(exact_convolution_is_exact),
        cmocka_unit_test(training_goes_the_same_way_as_with_exact_convolution),
        cmocka_unit_test(what_it_cannot_compute_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
