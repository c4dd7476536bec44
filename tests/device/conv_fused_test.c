/* Convolutions on the cpu device that run as one with the relu and the pool after them, for a first
   layer or by Winograd: they train and predict as the reference does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/cpu/isa.h"
#include "device/cpu/pool/conv_pool.h"
#include "step/builder.h"
#include "support/net.h"
#include "support/op_cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Input, layers, and the kernels of the convolution's forward and backward pass. */
typedef struct fused_case {
    const char *input, *layers, *forward, *backward;
} fused_case;

#define CONV(filters, size, padding, activation)                                  \
    "{Conv2D: {filters: " #filters ", kernel_size: " #size ", padding: " #padding \
    ", activation: " #activation "}}"
#define POOL "{MaxPooling2D: {pool_size: 2}}"
#define HEAD "Flatten, {Dense: {units: 3, activation: softmax}}"

static const fused_case cases[] = {
    {"12, 14, 1", CONV(32, 5, same, relu) ", " POOL ", " HEAD, "first_conv_pool",
     "first_conv_pool"},
    {"20, 50, 3", CONV(32, 3, valid, relu) ", " POOL ", " HEAD, "first_conv_pool",
     "first_conv_pool"},
    {"11, 9, 3", CONV(33, 3, valid, relu) ", " POOL ", " HEAD, "first_conv_pool",
     "first_conv_pool"},
    {"12, 33, 2", CONV(16, 3, same, linear) ", " POOL ", " HEAD, "first_conv_pool",
     "first_conv_pool"},
    {"9, 9, 4", CONV(7, 4, same, relu) ", " POOL ", " HEAD, "first_conv_pool", "first_conv_pool"},
    {"9, 8, 1", CONV(32, 3, same, relu) ", " CONV(4, 3, same, linear) ", " HEAD, "first_conv",
     "first_conv_relu"},
    {"8, 9, 3", CONV(20, 3, same, relu) ", {AveragePooling2D: {pool_size: 2}}, " HEAD, "first_conv",
     "first_conv_relu"},
    {"8, 8, 3", CONV(32, 3, same, linear) ", " CONV(4, 3, same, linear) ", " HEAD, "first_conv",
     "first_conv"},
    {"9, 9, 3", CONV(8, 3, same, tanh) ", " POOL ", " HEAD, "first_conv", "first_conv"},
    {"13, 13, 3",
     "{Conv2D: {filters: 32, kernel_size: 3, strides: 2, padding: same, activation: relu}}, " POOL
     ", " HEAD,
     "first_conv_pool", "first_conv"},
    {"14, 14, 32", CONV(64, 3, same, relu) ", " POOL ", " HEAD, "winograd_pool", "winograd_pool"},
    {"13, 15, 16", CONV(35, 3, same, relu) ", " POOL ", " HEAD, "winograd_pool", "winograd_pool"},
    {"14, 18, 33", CONV(16, 5, valid, linear) ", " POOL ", " HEAD, "winograd_pool",
     "winograd_pool"},
    {"16, 40, 17", CONV(16, 5, same, relu) ", " POOL ", " HEAD, "winograd_pool", "winograd_pool"},
    {"20, 20, 16", CONV(16, 3, valid, tanh) ", " POOL ", " HEAD, "winograd", "winograd"},
    {"15, 13, 3", CONV(32, 3, same, relu) ", " CONV(17, 3, same, relu) ", " POOL ", " HEAD,
     "first_conv", "first_conv_relu"},
    {"21, 22, 3", CONV(20, 3, same, linear) ", " CONV(16, 5, valid, relu) ", " POOL ", " HEAD,
     "first_conv", "first_conv"},
    {"13, 45, 3",
     CONV(16, 3, same, relu) ", " CONV(20, 3, valid, linear) ", " CONV(17, 5, same, relu) ", " HEAD,
     "first_conv", "first_conv_relu"},
};
enum { CASES = sizeof cases / sizeof *cases, BATCH = 5 };

static cornu_model *model_of(const fused_case *c)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "model: {input: [%s], layers: [%s]}\n"
             "compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}",
             c->input, c->layers);
    return net_model(yaml);
}

/* The kernel, without its device, that runs the first operation of one of these kinds. */
static const char *kernel_of(const net *n, op_kind one, op_kind other)
{
    static char names[8][64];
    static int next;
    kernel_choice *choices = net_choices(n);
    char *name = names[next++ % 8];
    *name = '\0';
    for (int i = 0; i < n->plan->op_count && !*name; i++)
        if (n->plan->ops[i].kind == one || n->plan->ops[i].kind == other)
            snprintf(name, sizeof names[0], "%s", strchr(choices[i].kernel, '/') + 1);
    free(choices);
    return name;
}

/* The kernel that computes the first convolution's weights' gradient, alone or within a group.
 */
static const char *backward_kernel(const net *n)
{
    int at = -1;
    const char *name;
    for (int i = 0; i < n->plan->op_count; i++)
        if (n->plan->ops[i].kind == OP_CONV2D_BACKWARD_WEIGHTS)
            at = i;
    kernel_choice *choices = net_choices(n);
    while (strncmp(choices[at].kernel, "with ", 5) == 0)
        at--;
    name = strchr(choices[at].kernel, '/') + 1;
    free(choices);
    return name;
}

/* The gradients of the first layer's kernel and bias. */
typedef struct gradients {
    float *values[2];
    int64_t count[2];
    double loss;
} gradients;

static gradients gradients_of(net *n)
{
    gradients g = {.loss = net_run(n)};
    for (int i = 0; i < 2; i++) {
        g.count[i] = n->plan->tensors[n->plan->gradients[i]].count;
        g.values[i] = net_read(n, n->plan->gradients[i]);
    }
    return g;
}

static void gradients_free(gradients *g)
{
    free(g->values[0]);
    free(g->values[1]);
}

static int compare(const fused_case *c, const char *how, const gradients *expected,
                   const gradients *found)
{
    int failures = 0;
    for (int i = 0; i < 2; i++) {
        double d = net_difference(expected->values[i], found->values[i], expected->count[i]);
        if (d <= 2e-5)
            continue;
        printf("%s | %s, %s: gradient %d differs by %.3g of the largest\n", c->input, c->layers,
               how, i, d);
        failures++;
    }
    return failures + !(fabs(expected->loss - found->loss) <= 1e-5 * fabs(expected->loss));
}

/* Images that give the elements of a window equal values in many ways: few values; the same along
   rows, columns, or diagonals in either direction. */
enum { DISTINCT, FEW, ROWS, COLUMNS, DIAGONALS, OTHER_DIAGONALS, PATTERNS };

/* Winograd's roundings make equal outputs differ. */
static int patterns_of(const fused_case *c)
{
    return strstr(c->forward, "winograd") || strstr(c->layers, "}}, {Conv2D") ? 1 : PATTERNS;
}

static void draw(net *n, int pattern)
{
    static const float values[] = {0.5f, -0.25f, 1, 0, -1, 0.75f, 0.125f};
    const shape *s = &n->plan->tensors[n->plan->input].shape;
    for (int64_t i = 0; i < n->x_count && pattern != DISTINCT; i++) {
        int64_t column = i / s->dim[3] % s->dim[2], row = i / (s->dim[3] * s->dim[2]) % s->dim[1];
        const int64_t picks[] = {[FEW] = i * 37 % 101,
                                 [ROWS] = row,
                                 [COLUMNS] = column,
                                 [DIAGONALS] = row - column + 100,
                                 [OTHER_DIAGONALS] = row + column};
        n->x[i] = values[picks[pattern] % 7];
    }
}

/* Filters with one nonzero tap, or none, give equal outputs for pixels that differ around that
   tap. */
static void simplify_weights(net *n)
{
    const shape *w = &n->model->variables[0].shape;
    int64_t filters = w->dim[3], taps = n->model->variables[0].count / filters;
    float *kernel = net_read_variable(n, n->model->variables[0].name);
    float *bias = net_read_variable(n, n->model->variables[1].name);
    for (int64_t f = 0; f < filters; f++) {
        bias[f] = 0.125f * (float)(f % 5 - 1);
        for (int64_t k = 0; k < taps && f % 3 < 2; k++)
            kernel[k * filters + f] = f % 3 == 0 && k == taps / 2;
    }
    net_write_variable(n, 0, kernel);
    net_write_variable(n, 1, bias);
    free(kernel);
    free(bias);
}

static gradients run_case(const fused_case *c, cornu_model *model, const char *device_name,
                          const device_options *options, int pattern, bool check_names)
{
    plan_options train = {.mode = PLAN_TRAIN, .batch = BATCH, .scope = SCOPE_GRADIENTS};
    net *n = net_open_with(model, device_name, &train, options);
    if (check_names) {
        assert_string_equal(kernel_of(n, OP_CONV2D_FORWARD, OP_CONV2D_FORWARD), c->forward);
        assert_string_equal(backward_kernel(n), c->backward);
    }
    draw(n, pattern);
    if (pattern != DISTINCT)
        simplify_weights(n);
    gradients g = gradients_of(n);
    net_close(n);
    return g;
}

static void they_have_the_reference_gradients_with_every_instruction_set(void **state)
{
    (void)state;
    int failures = 0;
    const device_options two = {.threads = 2};
    for (int i = 0; i < CASES; i++)
        for (int pattern = 0; pattern < patterns_of(&cases[i]); pattern++) {
            cornu_model *model = model_of(&cases[i]);
            gradients expected =
                run_case(&cases[i], model, "reference", &(device_options){0}, pattern, false);
            for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
                if (!cpu_isa_runs((cpu_isa)isa))
                    continue;
                setenv("CORNU_ISA", cpu_isa_name(isa), 1);
                gradients found = run_case(&cases[i], model, "cpu", &two, pattern, true);
                unsetenv("CORNU_ISA");
                failures += compare(&cases[i], cpu_isa_name(isa), &expected, &found);
                gradients_free(&found);
            }
            gradients_free(&expected);
            cornu_model_close(model);
        }
    assert_int_equal(failures, 0);
}

/* The backward pass must not rely on codes that another kernel's forward pass did not leave, nor
   the reverse. */
static void fused_kernels_work_beside_others(void **state)
{
    (void)state;
    static const char *const forced[] = {"indirect", "first_conv", "first_conv_pool", "2x2", "nhwc",
                                         "plain",    "winograd",   "winograd_pool"};
    int failures = 0;
    for (int i = 0; i < CASES * PATTERNS; i++) {
        const fused_case *c = &cases[i / PATTERNS];
        if (i % PATTERNS >= patterns_of(c))
            continue;
        cornu_model *model = model_of(c);
        gradients expected =
            run_case(c, model, "reference", &(device_options){0}, i % PATTERNS, false);
        for (size_t k = 0; k < sizeof forced / sizeof *forced; k++) {
            const device_options options = {.threads = 1, .kernel = forced[k]};
            gradients found = run_case(c, model, "cpu", &options, i % PATTERNS, false);
            failures += compare(c, forced[k], &expected, &found);
            gradients_free(&found);
        }
        gradients_free(&expected);
        cornu_model_close(model);
    }
    assert_int_equal(failures, 0);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        cornu_model *model = model_of(&cases[i]);
        gradients one =
            run_case(&cases[i], model, "cpu", &(device_options){.threads = 1}, DISTINCT, false);
        for (int count = 2; count <= 5; count += 3) {
            gradients more = run_case(&cases[i], model, "cpu", &(device_options){.threads = count},
                                      DISTINCT, false);
            for (int k = 0; k < 2; k++)
                assert_memory_equal(one.values[k], more.values[k],
                                    (size_t)one.count[k] * sizeof(float));
            gradients_free(&more);
        }
        gradients_free(&one);
        cornu_model_close(model);
    }
}

static void prediction_is_the_reference_s(void **state)
{
    (void)state;
    plan_options predict = {.mode = PLAN_PREDICT, .batch = BATCH};
    for (int i = 0; i < CASES; i++) {
        cornu_model *model = model_of(&cases[i]);
        net *expected = net_open(model, "reference", &predict);
        net *found = net_open(model, "cpu", &predict);
        net_run(expected);
        net_run(found);
        float *a = net_read(expected, expected->plan->output);
        float *b = net_read(found, found->plan->output);
        assert_string_equal(kernel_of(found, OP_CONV2D_FORWARD, OP_CONV2D_FORWARD),
                            cases[i].forward);
        assert_true(net_difference(a, b, BATCH * 3) < 1e-5);
        free(a);
        free(b);
        net_close(expected);
        net_close(found);
        cornu_model_close(model);
    }
}

static void nan_in_the_image_reaches_the_loss(void **state)
{
    (void)state;
    plan_options train = {.mode = PLAN_TRAIN, .batch = BATCH};
    for (int i = 0; i < CASES; i++)
        for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
            if (!cpu_isa_runs((cpu_isa)isa))
                continue;
            cornu_model *model = model_of(&cases[i]);
            setenv("CORNU_ISA", cpu_isa_name(isa), 1);
            net *n = net_open(model, "cpu", &train);
            unsetenv("CORNU_ISA");
            n->x[0] = NAN;
            assert_true(isnan(net_run(n)));
            net_close(n);
            cornu_model_close(model);
        }
}

/* Run operation `number` of the plan with these tensors. */
static void run_op(const kernel *k, const plan *p, int number, threads *pool, float **memory)
{
    void *state = NULL, *scratch;
    size_t scratch_bytes = 0;
    const op *o = &p->ops[number];
    if (k->prepare)
        assert_int_equal(k->prepare(p, o, pool, &state, &scratch_bytes), CORNU_OK);
    assert_int_equal(op_scratch_new(scratch_bytes, &scratch), CORNU_OK);
    op_run r = {.op = o,
                .plan = p,
                .group = plan_group(p, o, k->group),
                .tensors = memory,
                .state = state,
                .scratch = scratch,
                .pool = pool};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        r.in[i] = o->in[i] == NO_TENSOR ? NULL : memory[o->in[i]];
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        r.out[i] = o->out[i] == NO_TENSOR ? NULL : memory[o->out[i]];
    assert_int_equal(k->run(&r), CORNU_OK);
    if (k->release)
        k->release(state);
    memory_free_aligned(scratch);
}

/* Memory for all tensors; `from`: with these values. */
static float **tensors_new(const plan *p, float *const *from)
{
    float **memory = calloc((size_t)p->tensor_count, sizeof *memory);
    assert_non_null(memory);
    for (int i = 0; i < p->tensor_count; i++) {
        size_t bytes = (size_t)p->tensors[i].count * sizeof(float);
        assert_int_equal(memory_new_aligned(bytes, "tensor", &memory[i]), CORNU_OK);
        if (from)
            memcpy(memory[i], from[i], bytes);
        else
            net_fill(memory[i], p->tensors[i].count, (uint64_t)i + 1);
    }
    return memory;
}

static void tensors_free(const plan *p, float **memory)
{
    for (int i = 0; i < p->tensor_count; i++)
        memory_free_aligned(memory[i]);
    free(memory);
}

/* Also the last row and column of odd ones, which no window reaches. */
static void outputs_under_the_pool_are_whole_where_something_else_reads_them(void **state)
{
    (void)state;
    threads *pool;
    assert_int_equal(threads_open(2, &pool), CORNU_OK);
    for (int i = 0; i < CASES; i++) {
        plan *p;
        int conv, pooled;
        cornu_model *model = model_of(&cases[i]);
        plan_options predict = {.mode = PLAN_PREDICT, .batch = BATCH};
        assert_int_equal(plan_build(model, &predict, &p), CORNU_OK);
        net_count(p, OP_CONV2D_FORWARD, &conv);
        if (net_count(p, OP_MAX_POOL_FORWARD, &pooled) == 1 && pooled == conv + 1 &&
            strstr(cases[i].forward, "_pool")) {
            bool first = strcmp(cases[i].forward, "first_conv_pool") == 0;
            tensor_ref y = p->ops[conv].out[0], z = p->ops[pooled].out[0];
            float **a = tensors_new(p, NULL), **b = tensors_new(p, a);
            p->tensors[y].last = p->op_count;
            run_op(&reference_kernels[OP_CONV2D_FORWARD], p, conv, pool, a);
            run_op(&reference_kernels[OP_MAX_POOL_FORWARD], p, pooled, pool, a);
            run_op(first ? &cpu_conv_first_pool_forward : &cpu_winograd_pool_forward, p, conv, pool,
                   b);
            assert_true(net_difference(a[y], b[y], p->tensors[y].count) < 5e-6);
            assert_true(net_difference(a[z], b[z], p->tensors[z].count) < 5e-6);
            tensors_free(p, a);
            tensors_free(p, b);
        }
        plan_free(p);
        cornu_model_close(model);
    }
    threads_close(pool);
}

static void codes_take_the_place_of_outputs_only_if_nothing_else_reads_them(void **state)
{
    (void)state;
    plan *p;
    int conv, pool;
    cornu_model *model = model_of(&cases[0]);
    plan_options train = {.mode = PLAN_TRAIN, .batch = BATCH};
    assert_int_equal(plan_build(model, &train, &p), CORNU_OK);
    net_count(p, OP_CONV2D_FORWARD, &conv);
    net_count(p, OP_MAX_POOL_BACKWARD, &pool);
    assert_ptr_equal(conv_pool_reader(p, &p->ops[conv], &conv_first_pair), &p->ops[pool]);
    assert_ptr_equal(conv_pool_writer(p, &p->ops[pool], &conv_first_pair), &p->ops[conv]);
    p->tensors[p->ops[conv].out[0]].last = pool + 3;
    free(p->groups);
    p->groups = NULL;
    p->group_count = 0;
    assert_int_equal(pass_groups(p), CORNU_OK);
    assert_null(conv_pool_reader(p, &p->ops[conv], &conv_first_pair));
    assert_null(conv_pool_writer(p, &p->ops[pool], &conv_first_pair));
    plan_free(p);
    cornu_model_close(model);
}

static void gradient_of_the_image_is_right_where_it_is_asked_for(void **state)
{
    (void)state;
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH, .keep_input_gradient = true};
    for (int i = 0; i < CASES; i++) {
        cornu_model *model = model_of(&cases[i]);
        float *gradient[2];
        int64_t count = 0;
        for (int k = 0; k < 2; k++) {
            net *n = net_open(model, k ? "cpu" : "reference", &options);
            net_run(n);
            count = n->x_count;
            gradient[k] = net_read(n, n->plan->input_gradient);
            net_close(n);
        }
        assert_true(net_difference(gradient[0], gradient[1], count) < 2e-5);
        free(gradient[0]);
        free(gradient[1]);
        cornu_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_have_the_reference_gradients_with_every_instruction_set),
        cmocka_unit_test(fused_kernels_work_beside_others),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(prediction_is_the_reference_s),
        cmocka_unit_test(nan_in_the_image_reaches_the_loss),
        cmocka_unit_test(gradient_of_the_image_is_right_where_it_is_asked_for),
        cmocka_unit_test(outputs_under_the_pool_are_whole_where_something_else_reads_them),
        cmocka_unit_test(codes_take_the_place_of_outputs_only_if_nothing_else_reads_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
