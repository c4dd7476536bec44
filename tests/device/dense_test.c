/* Dense layers on the cpu device: weights in panels, and steps whose updates are fused into the
   sweep over the weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/dense/dense.h"
#include "device/cpu/isa.h"
#include "device/host/host.h"
#include "support/net.h"
#include "support/sanitized.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4 };
#define TOLERANCE 4e-5 /* a single unit's bias gradient is a sum that cancels */

typedef struct net_case {
    const char *layers; /* of the recipe, after the input */
    int64_t in, batch;
} net_case;

/* Large enough for the kernel "tiles"; widths above a panel, inputs beyond a block of the depth. */
#define TILES_NET(batch)                                                                     \
    {                                                                                        \
        "{Dense: {units: 387, activation: relu}}, {Dense: {units: 442, activation: tanh}}, " \
        "{Dense: {units: 3}}",                                                               \
            397, batch                                                                       \
    }

/* Widths below, at and above a panel and its vectors; batches below and above a tile's rows. */
static const net_case nets[] = {
    {"{Dense: {units: 49, activation: relu}}, {Dense: {units: 7}}", 37, 5},
    {"{Dense: {units: 49, kernel_regularizer: {l1_l2: {l1: 0.001, l2: 0.01}}, bias_regularizer: "
     "l2}}, {Dense: {units: 7, kernel_regularizer: l1}}",
     37, 5},
    {"{Dense: {units: 49, kernel_regularizer: {orthogonal_regularizer: {factor: 0.1, mode: "
     "columns}}}}, "
     "{Dense: {units: 7, kernel_regularizer: orthogonal_regularizer, kernel_constraint: max_norm}}",
     37, 5},
    {"{Dense: {units: 51, kernel_constraint: max_norm}}, {Dense: {units: 7, kernel_constraint: "
     "{unit_norm: {axis: 1}}, bias_constraint: non_neg}}",
     37, 5},
    {"{Dense: {units: 48, activation: tanh}}, {Dense: {units: 96, activation: elu}}, "
     "{Dense: {units: 1}}",
     24, 32},
    {"{Dense: {units: 145, activation: sigmoid, use_bias: false}}, {Dense: {units: 20}}", 101, 33},
    {"{Dense: {units: 16}}, {Dropout: {rate: 0.3}}, {Dense: {units: 30}}", 1, 1},
    {"{Dense: {units: 40, activation: relu}}, {Dense: {units: 5}}", 50, 600}, /* too many to fold */
    {"{Reshape: {target_shape: [6, 8]}}, {Dense: {units: 50, activation: relu}}, "
     "{Dense: {units: 3}}",
     48, 9},
    TILES_NET(32),
};

static const char *const optimizers[] = {
    "{sgd: {learning_rate: 0.1}}",
    "{sgd: {learning_rate: 0.1, momentum: 0.9}}",
    "{sgd: {learning_rate: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.01}}",
    "{sgd: {learning_rate: 0.1, clipvalue: 0.002}}",
    "{adam: {learning_rate: 0.01, epsilon: 0.001}}",
    "{adam: {learning_rate: 0.01, epsilon: 0.001, amsgrad: true, clipvalue: 0.01}}",
    "{adamw: {learning_rate: 0.01, epsilon: 0.001, weight_decay: 0.1}}",
    "{rmsprop: {learning_rate: 0.01, epsilon: 0.001}}",
    "{rmsprop: {learning_rate: 0.01, epsilon: 0.001, momentum: 0.5}}",
    "{rmsprop: {learning_rate: 0.01, epsilon: 0.001, momentum: 0.5, centered: true}}",
    "{adagrad: {learning_rate: 0.01, epsilon: 0.001}}",
    "{adadelta: {learning_rate: 0.1, epsilon: 0.001, weight_decay: 0.1}}",
    "{adamax: {learning_rate: 0.01, epsilon: 0.001}}",
    "{nadam: {learning_rate: 0.002, epsilon: 0.01, clipvalue: 0.1}}",
    "{ftrl: {learning_rate: 0.01, l1_regularization_strength: 0.001}}",
    "{sgd: {learning_rate: 0.1, clipnorm: 0.05}}",
    "{adam: {learning_rate: 0.01, epsilon: 0.001, global_clipnorm: 0.05}}",
    "{muon: {learning_rate: 0.01, epsilon: 0.001, exclude_layers: [never]}}",
};
/* The reference takes long for large nets: they run with every third optimizer. With a sanitizer
   all do, each with others. */
static bool is_skipped(const net_case *c, size_t optimizer)
{
    if (SANITIZED)
        return optimizer % 3 != (size_t)c->in % 3 || (c->in > 380 && optimizer % 2);
    return c->in > 380 && optimizer % 3 != 1;
}
#define COUNT(array) (sizeof(array) / sizeof *(array))

static cornu_model *model_of(const net_case *c, const char *optimizer)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "model: {input: [%lld], layers: [%s]}\n"
             "compile: {optimizer: %s, loss: mean_squared_error}",
             (long long)c->in, c->layers, optimizer);
    return net_model(yaml);
}

/* The net's samples as bytes, in memory to free. */
static uint8_t *bytes_of(const net *n)
{
    uint8_t *bytes = malloc((size_t)n->x_count);
    assert_non_null(bytes);
    for (int64_t i = 0; i < n->x_count; i++)
        bytes[i] = (uint8_t)(127.5f * (n->x[i] + 1));
    return bytes;
}

/* A net after a few steps, the first and the last on floats, the others on uint8 times `scale`,
   which some kernels multiply directly; with `reads`, a variable is read after each. */
static net *trained_scaled(cornu_model *model, const net_case *c, const char *device_name,
                           int threads, bool reads, float scale)
{
    plan_options options = {.mode = PLAN_TRAIN, .batch = c->batch};
    device_options with = {.threads = threads};
    net *n = net_open_with(model, device_name, &options, &with);
    uint8_t *bytes = bytes_of(n);
    const sample_block floats = n->samples;
    for (int s = 0; s < STEPS; s++) {
        sample_block samples = floats;
        if (s > 0 && s < STEPS - 1) {
            samples.x_type = SAMPLE_U8;
            samples.x = bytes;
            samples.x_scale = scale;
        }
        net_samples(n, &samples);
        n->input.iteration = s;
        n->input.learning_rate = (float)schedule_at(&model->optimizer.learning_rate, s);
        net_run(n);
        if (reads)
            free(net_read_variable(n, model->variables[0].name));
    }
    net_samples(n, &floats);
    free(bytes);
    return n;
}

static net *trained_read(cornu_model *model, const net_case *c, const char *device_name,
                         int threads, bool reads)
{
    return trained_scaled(model, c, device_name, threads, reads, 1 / 2550.0f);
}

static net *trained(cornu_model *model, const net_case *c, const char *device_name, int threads)
{
    return trained_read(model, c, device_name, threads, false);
}

/* Report variables that differ by more than `tolerance` of their largest element. */
static int compare(net *found, net *expected, double tolerance, const char *what)
{
    int failures = 0;
    const cornu_model *m = found->model;
    for (int i = 0; i < m->variable_count; i++) {
        const variable *v = &m->variables[i];
        float *a = net_read_variable(found, v->name), *b = net_read_variable(expected, v->name);
        double d = net_difference(a, b, v->count);
        if (d > tolerance) {
            printf("%s: %s: found a difference of %.3g; expected at most %.3g\n", what, v->name, d,
                   tolerance);
            failures++;
        }
        free(a);
        free(b);
    }
    return failures;
}

static void steps_train_like_the_reference_with_every_optimizer(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < COUNT(nets); i++)
        for (size_t k = 0; k < COUNT(optimizers); k++) {
            char what[256];
            if (is_skipped(&nets[i], k))
                continue;
            cornu_model *model = model_of(&nets[i], optimizers[k]);
            net *expected = trained(model, &nets[i], "reference", 1);
            for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
                if (!cpu_isa_runs((cpu_isa)isa))
                    continue;
                setenv("CORNU_ISA", cpu_isa_name(isa), 1);
                snprintf(what, sizeof what, "%s: %s: %s", cpu_isa_name(isa), nets[i].layers,
                         optimizers[k]);
                net *found = trained(model, &nets[i], "cpu", 2);
                failures += compare(found, expected, TOLERANCE, what);
                net_close(found);
            }
            unsetenv("CORNU_ISA");
            net_close(expected);
            cornu_model_close(model);
        }
    assert_int_equal(failures, 0);
}

/* Momentum's slots hold the gradients themselves. */
static void bytes_that_nothing_scales_train_like_the_reference(void **state)
{
    (void)state;
    const net_case c = {"{Dense: {units: 387, activation: relu}}, {Dense: {units: 442, activation: "
                        "relu}}, {Dense: {units: 3}}",
                        397, 32};
    int failures = 0;
    cornu_model *model = model_of(&c, "{sgd: {learning_rate: 1e-7, momentum: 0.9}}");
    net *expected = trained_scaled(model, &c, "reference", 1, false, 1);
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
        if (!cpu_isa_runs((cpu_isa)isa))
            continue;
        setenv("CORNU_ISA", cpu_isa_name(isa), 1);
        net *found = trained_scaled(model, &c, "cpu", 2, false, 1);
        failures += compare(found, expected, TOLERANCE, cpu_isa_name(isa));
        net_close(found);
    }
    unsetenv("CORNU_ISA");
    net_close(expected);
    cornu_model_close(model);
    assert_int_equal(failures, 0);
}

/* The number of operations of the plan that run within another's kernel. */
static int count_folded(const net_case *c, const char *optimizer, plan_scope scope)
{
    cornu_model *model = model_of(c, optimizer);
    plan_options options = {.mode = PLAN_TRAIN, .batch = c->batch, .scope = scope};
    net *n = net_open(model, "cpu", &options);
    kernel_choice *choices = net_choices(n);
    int folded = 0;
    for (int i = 0; i < n->plan->op_count; i++)
        folded += strncmp(choices[i].kernel, "with ", 5) == 0;
    free(choices);
    net_close(n);
    cornu_model_close(model);
    return folded;
}

static void updates_are_folded_where_nothing_else_needs_the_gradients(void **state)
{
    (void)state;
    const net_case two = {"{Dense: {units: 8}}, {Dense: {units: 3}}", 4, 6};
    const net_case no_bias = {"{Dense: {units: 8, use_bias: false}}, {Dense: {units: 3}}", 4, 6};
    /* kernel and bias of both layers, dx of the second */
    assert_int_equal(count_folded(&two, "adam", SCOPE_STEP), 5);
    assert_int_equal(count_folded(&no_bias, "sgd", SCOPE_STEP), 4);
    assert_int_equal(count_folded(&two, "{sgd: {clipvalue: 0.1}}", SCOPE_STEP), 5);
    assert_int_equal(count_folded(&two, "{sgd: {clipnorm: 0.1}}", SCOPE_STEP), 0);
    assert_int_equal(count_folded(&two, "{adam: {global_clipnorm: 0.1}}", SCOPE_STEP), 0);
    assert_int_equal(count_folded(&two, "adam", SCOPE_GRADIENTS), 0);
    /* the activation that made x, unless its derivative needs its input or another operation is in
       between */
    const struct {
        const char *between;
        int folded;
    } cases[] = {{"{Activation: {activation: relu}}", 6},
                 {"{Activation: {activation: tanh}}", 6},
                 {"{Activation: {activation: gelu}}", 5},
                 {"{Activation: {activation: softmax}}", 5},
                 {"{Activation: {activation: relu}}, {Dropout: {rate: 0.5}}", 5}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char layers[256];
        snprintf(layers, sizeof layers, "{Dense: {units: 8}}, %s, {Dense: {units: 3}}",
                 cases[i].between);
        const net_case net = {layers, 4, 6};
        assert_int_equal(count_folded(&net, "adam", SCOPE_STEP), cases[i].folded);
        assert_int_equal(count_folded(&net, "{adam: {clipnorm: 0.1}}", SCOPE_STEP), 0);
    }
}

/* Operations that run on the kernel `name`. */
static int count_on(const net_case *c, const char *isa, const char *name)
{
    setenv("CORNU_ISA", isa, 1);
    cornu_model *model = model_of(c, "adam");
    plan_options options = {.mode = PLAN_TRAIN, .batch = c->batch};
    net *n = net_open(model, "cpu", &options);
    kernel_choice *choices = net_choices(n);
    int count = 0;
    for (int i = 0; i < n->plan->op_count; i++)
        count += strcmp(choices[i].kernel, name) == 0;
    free(choices);
    net_close(n);
    cornu_model_close(model);
    unsetenv("CORNU_ISA");
    return count;
}

static void tiles_run_large_layers_of_batches_of_25_to_32(void **state)
{
    (void)state;
#if defined(__x86_64__)
    const net_case fits = TILES_NET(32), few = TILES_NET(24), many = TILES_NET(33);
    if (!cpu_isa_runs(CPU_ISA_amx))
        skip();
    /* both layers forward, the second backward; the first's update is deferred to the forward
       pass */
    assert_int_equal(count_on(&fits, "amx", "cpu/tiles"), 3);
    assert_int_equal(count_on(&fits, "avx512", "cpu/tiles"), 0);
    assert_int_equal(count_on(&few, "amx", "cpu/tiles"), 0);
    assert_int_equal(count_on(&many, "amx", "cpu/tiles"), 0);
#else
    skip();
#endif
}

/* Does the first dense layer of these layers read samples directly? */
static bool reads_samples(const char *layers, const plan_options *options)
{
    const net_case c = {layers, 12, 3};
    cornu_model *model = model_of(&c, "sgd");
    plan *p;
    int forward;
    assert_int_equal(plan_build(model, options, &p), CORNU_OK);
    assert_true(net_count(p, OP_DENSE_FORWARD, &forward) > 0);
    bool reads = dense_reads_samples(p, p->ops[forward].in[0]);
    plan_free(p);
    cornu_model_close(model);
    return reads;
}

static void only_samples_that_nothing_has_changed_are_taken_for_bytes(void **state)
{
    (void)state;
    const plan_options plain = {.mode = PLAN_TRAIN, .batch = 3};
    plan_options changed = plain, centered = plain, standardized = plain;
    changed.augment.horizontal_flip = true;
    centered.standardize.samplewise_center = true;
    standardized.standardize.featurewise_center = true;
    standardized.standardize.channels = 1;
    assert_true(reads_samples("{Dense: {units: 2}}, {Dense: {units: 4}}", &plain));
    assert_true(reads_samples("Flatten, {Dense: {units: 2}}", &plain));
    assert_true(reads_samples("{Reshape: {target_shape: [3, 4]}}, {Dense: {units: 2}}", &plain));
    assert_false(reads_samples("{Activation: {activation: relu}}, {Dense: {units: 2}}", &plain));
    assert_false(reads_samples("{Dropout: {rate: 0.5}}, {Dense: {units: 2}}", &plain));
    assert_false(reads_samples("BatchNormalization, {Dense: {units: 2}}", &plain));
    assert_false(reads_samples("{Dense: {units: 2}}", &changed));
    assert_false(reads_samples("{Dense: {units: 2}}", &centered));
    assert_false(reads_samples("{Dense: {units: 2}}", &standardized));
}

/* The first layer's update is deferred to the next step's forward pass. */
static const net_case late_nets[] = {
    {"{Dense: {units: 200, activation: relu}}, {Dense: {units: 5}}", 300, 30},
    {"{Dense: {units: 145, activation: tanh, use_bias: false}}, {Dense: {units: 3}}", 129, 1},
    {"{Flatten: {}}, {Dense: {units: 200}}, {Dense: {units: 3}}", 270, 26},
    TILES_NET(27),
    {"{Dense: {units: 390}}, {Dense: {units: 3}}", 1700, 28}, /* ends within several blocks */
};

/* Number of the operation that runs the first layer's update, from 1; 0: itself. */
static int taker(net *n)
{
    int number = 0;
    kernel_choice *choices = net_choices(n);
    for (int i = 0; i < n->plan->op_count; i++) {
        const op *o = &n->plan->ops[i];
        if (o->kind == OP_UPDATE && n->plan->tensors[o->out[0]].variable == 0)
            sscanf(choices[i].kernel, "with %d", &number);
    }
    free(choices);
    return number;
}

static void an_update_put_off_has_the_bits_of_one_in_its_place(void **state)
{
    (void)state;
    int failures = 0, put_off = 0, forward;
    for (size_t i = 0; i < COUNT(late_nets); i++)
        for (size_t k = 0; k < COUNT(optimizers); k++) {
            if (is_skipped(&late_nets[i], k))
                continue;
            cornu_model *model = model_of(&late_nets[i], optimizers[k]);
            net *expected = trained(model, &late_nets[i], "reference", 1);
            for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
                if (!cpu_isa_runs((cpu_isa)isa))
                    continue;
                setenv("CORNU_ISA", cpu_isa_name(isa), 1);
                net *late = trained(model, &late_nets[i], "cpu", 2);
                net *at_once = trained_read(model, &late_nets[i], "cpu", 3, true);
                assert_true(net_count(late->plan, OP_DENSE_FORWARD, &forward) > 0);
                put_off += taker(late) == forward + 1;
                failures += compare(late, at_once, 0, optimizers[k]);
                failures += compare(late, expected, TOLERANCE, optimizers[k]);
                net_close(late);
                net_close(at_once);
            }
            unsetenv("CORNU_ISA");
            net_close(expected);
            cornu_model_close(model);
        }
    assert_int_equal(failures, 0);
    assert_true(put_off >= (SANITIZED ? 10 : 30)); /* most optimizers know no norm of gradients */
}

/* The loss of an evaluation on the same device. */
static double evaluate(net *n)
{
    plan_options options = {.mode = PLAN_EVALUATE, .batch = n->plan->batch};
    plan *p;
    prepared *ready;
    step_results results;
    assert_int_equal(plan_build(n->model, &options, &p), CORNU_OK);
    assert_int_equal(n->device->ops->prepare(n->device, p, &ready), CORNU_OK);
    assert_int_equal(n->device->ops->run(n->device, ready, &n->input, 1), CORNU_OK);
    assert_int_equal(n->device->ops->results(n->device, &results, true), CORNU_OK);
    n->device->ops->release(n->device, ready);
    plan_free(p);
    return results.last_loss;
}

static void what_was_put_off_is_done_before_anybody_looks(void **state)
{
    (void)state;
    const net_case *c = &late_nets[0];
    cornu_model *model = model_of(c, "adam");
    net *late = trained(model, c, "cpu", 2), *at_once = trained_read(model, c, "cpu", 2, true);
    assert_true(evaluate(late) == evaluate(at_once));
    net_close(late);

    late = trained(model, c, "cpu", 2); /* the plan is released before its work is done */
    late->device->ops->release(late->device, late->prepared);
    late->prepared = NULL;
    assert_int_equal(compare(late, at_once, 0, "plan released"), 0);
    net_close(late);

    late = trained(model, c, "cpu", 2); /* a written value stays */
    float *zeros = calloc((size_t)model->variables[0].count, sizeof *zeros);
    net_write_variable(late, 0, zeros);
    float *back = net_read_variable(late, model->variables[0].name);
    assert_memory_equal(back, zeros, (size_t)model->variables[0].count * sizeof *zeros);
    free(back);
    free(zeros);
    net_close(late);
    net_close(at_once);
    cornu_model_close(model);
}

/* x is read for the products of both passes, W read and written once. */
static void an_update_put_off_is_counted_where_it_runs(void **state)
{
    (void)state;
    const net_case *c = &late_nets[1]; /* without a bias */
    const double in = 129, units = 145, rows = 1;
    cornu_model *model = model_of(c, "{sgd: {learning_rate: 0.1}}");
    net *n = trained(model, c, "cpu", 1);
    kernel_choice *choices = net_choices(n);
    double *seconds = calloc((size_t)n->plan->op_count, sizeof *seconds);
    int forward = taker(n) - 1, weights = -1;
    assert_true(forward >= 0);
    for (int i = 0; i < n->plan->op_count; i++)
        if (n->plan->ops[i].kind == OP_DENSE_BACKWARD_WEIGHTS)
            weights = i; /* the last is the first layer's */
    assert_true(choices[forward].bytes ==
                4 * (rows * in + rows * units + rows * in + rows * units + 2 * in * units));
    assert_true(choices[forward].flops == n->plan->ops[forward].flops +
                                              n->plan->ops[weights].flops +
                                              n->plan->ops[weights + 1].flops);
    assert_true(choices[weights].flops == 0 && choices[weights].bytes == 0);
    assert_int_equal(n->device->ops->time_operations(n->device, n->prepared, &n->input, seconds),
                     CORNU_OK);
    assert_true(seconds[forward] > 0 && seconds[weights] == 0);
    free(seconds);
    free(choices);
    net_close(n);
    cornu_model_close(model);
}

static void kept_gradients_are_the_reference_s(void **state)
{
    (void)state;
    plan_options options = {.mode = PLAN_TRAIN, .batch = 33, .scope = SCOPE_GRADIENTS};
    cornu_model *model = model_of(&nets[2], "sgd");
    net *found = net_open(model, "cpu", &options);
    net *expected = net_open(model, "reference", &options);
    net_run(found);
    net_run(expected);
    for (int i = 0; i < model->weight_count; i++) {
        float *a = net_read(found, found->plan->gradients[i]);
        float *b = net_read(expected, expected->plan->gradients[i]);
        assert_true(net_difference(a, b, model->variables[i].count) < 2e-6);
        free(a);
        free(b);
    }
    net_close(found);
    net_close(expected);
    cornu_model_close(model);
}

static void folded_steps_have_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    const net_case wide = {"{Dense: {units: 300, activation: relu}}, "
                           "{Dense: {units: 200, activation: relu}}, {Dense: {units: 10}}",
                           900, 32};
    cornu_model *model = model_of(&wide, "{adam: {learning_rate: 0.01}}");
    net *one = trained(model, &wide, "cpu", 1);
    for (int threads = 2; threads <= 5; threads++) {
        net *more = trained(model, &wide, "cpu", threads);
        assert_int_equal(compare(more, one, 0, "same bits"), 0);
        net_close(more);
    }
    net_close(one);
    cornu_model_close(model);
}

static void weights_are_written_and_read_in_rows(void **state)
{
    (void)state;
    cornu_model *model = model_of(&nets[2], "adam");
    plan_options options = {.mode = PLAN_PREDICT, .batch = 3};
    net *n = net_open(model, "cpu", &options);
    for (int i = 0; i < model->variable_count; i++) {
        int64_t count = model->variables[i].count;
        float *values = malloc((size_t)count * sizeof *values);
        net_fill(values, count, (uint64_t)i);
        net_write_variable(n, i, values);
        float *back = net_read_variable(n, model->variables[i].name);
        assert_memory_equal(values, back, (size_t)count * sizeof *values);
        free(values);
        free(back);
    }
    net_close(n);
    cornu_model_close(model);
}

static void panels_hold_their_columns_row_by_row(void **state)
{
    (void)state;
    enum { IN = 2, UNITS = 50 };
    float plain[IN * UNITS], panels[IN * UNITS], back[IN * UNITS];
    for (int i = 0; i < IN * UNITS; i++)
        plain[i] = (float)i;
    panels_pack(plain, IN, UNITS, panels);
    assert_true(panels[47] == 47 && panels[48] == 50 && panels[95] == 97); /* the first, 48 wide */
    assert_true(panels[96] == 48 && panels[97] == 49);                     /* the second, 2 wide */
    assert_true(panels[98] == 98 && panels[99] == 99);
    panels_unpack(panels, IN, UNITS, back);
    assert_memory_equal(plain, back, sizeof plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_train_like_the_reference_with_every_optimizer),
        cmocka_unit_test(tiles_run_large_layers_of_batches_of_25_to_32),
        cmocka_unit_test(only_samples_that_nothing_has_changed_are_taken_for_bytes),
        cmocka_unit_test(bytes_that_nothing_scales_train_like_the_reference),
        cmocka_unit_test(updates_are_folded_where_nothing_else_needs_the_gradients),
        cmocka_unit_test(an_update_put_off_has_the_bits_of_one_in_its_place),
        cmocka_unit_test(what_was_put_off_is_done_before_anybody_looks),
        cmocka_unit_test(an_update_put_off_is_counted_where_it_runs),
        cmocka_unit_test(kept_gradients_are_the_reference_s),
        cmocka_unit_test(folded_steps_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(weights_are_written_and_read_in_rows),
        cmocka_unit_test(panels_hold_their_columns_row_by_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
