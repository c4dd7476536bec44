/* Recomputation: what is copied, where it stands, what memory it saves, and that no bit changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/model.h"
#include "support/net.h"
#include "support/random_net.h"
#include "support/residual.h"
#include "support/sanitized.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMPILE "\ncompile: {optimizer: {sgd: {momentum: 0.9}}, loss: categorical_crossentropy}"

/* Layers of a block that keep the shape. */
#define SMOOTH ", {MaxPooling2D: {pool_size: 3, strides: 1, padding: same}}"
#define DROPOUT ", {Dropout: {rate: 0.3}}"
/* Narrow layers between wide ones: there segments end. */
#define WIDE "{Conv2D: {filters: 128, kernel_size: 1, activation: relu}}, "
#define NARROW "{Conv2D: {filters: 2, kernel_size: 1, activation: relu}}, "
#define PAIR \
    "{Conv2D: {filters: 8, kernel_size: 3, padding: same, activation: relu}}, MaxPooling2D, "
#define POOLED                                                                            \
    "model: {input: [32, 32, 1], layers: [" PAIR PAIR WIDE NARROW WIDE NARROW WIDE NARROW \
    "Flatten, {Dense: {units: 3, activation: softmax}}]}" COMPILE
#define DENSE                                                                          \
    "model: {input: [40], layers: [{Dense: {units: 900, activation: relu}}, "          \
    "{Dense: {units: 8, activation: relu}}, {Dense: {units: 900, activation: relu}}, " \
    "{Dense: {units: 8, activation: relu}}, {Dense: {units: 900, activation: relu}}, " \
    "{Dense: {units: 3, activation: softmax}}]}" COMPILE

static plan *built(const cornu_model *m, plan_options options, bool recompute)
{
    plan *p = NULL;
    options.recompute = recompute;
    if (plan_build(m, &options, &p) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return p;
}

static int recomputed(const plan *p, op_kind kind)
{
    int count = 0;
    for (int i = 0; i < p->op_count; i++)
        count += p->ops[i].recomputed && (kind == OP_COUNT || p->ops[i].kind == kind);
    return count;
}

/* ---- memory and cost --------------------------------------------------------------------- */

/* He et al.'s network of 56 layers for 32x32 pixels. */
static void a_deep_residual_network_needs_a_third_of_the_buffers(void **state)
{
    (void)state;
    const plan_options scopes[] = {{.mode = PLAN_TRAIN, .batch = 32},
                                   {.mode = PLAN_TRAIN, .batch = 16, .scope = SCOPE_GRADIENTS}};
    char *recipe = residual_recipe(9, 32, "");
    cornu_model *m = net_model(recipe);
    for (int i = 0; i < 2; i++) {
        plan *plain = built(m, scopes[i], false), *less = built(m, scopes[i], true);
        assert_true(less->arena_bytes < plain->arena_bytes / 3);
        assert_true(less->flops < 1.26 * plain->flops);
        assert_true(recomputed(less, OP_COUNT) > 100);
        assert_true(recomputed(less, OP_BATCH_NORM_FORWARD) > 0);
        assert_int_equal(less->op_count, plain->op_count + recomputed(less, OP_COUNT));
        plan_free(plain);
        plan_free(less);
    }
    cornu_model_close(m);
    free(recipe);
}

/* Several budgets lead to the same peak here. */
static void of_divisions_as_good_the_cheapest_is_taken(void **state)
{
    (void)state;
    const plan_options options = {.mode = PLAN_TRAIN, .batch = 32};
    char *recipe = residual_recipe(2, 16, "");
    cornu_model *m = net_model(recipe);
    plan *plain = built(m, options, false), *less = built(m, options, true);
    assert_true((double)less->arena_bytes < 0.55 * (double)plain->arena_bytes);
    assert_true(less->flops < 1.2 * plain->flops);
    plan_free(plain);
    plan_free(less);
    cornu_model_close(m);
    free(recipe);
}

/* Also where operations do not stand in a line: no division is worse than none. */
static void random_networks_need_no_more_memory(void **state)
{
    (void)state;
    int copied = 0;
    for (int i = 0; i < (SANITIZED ? 10 : 100); i++) {
        cornu_model *m = random_net(random_net_first() + (uint64_t)i);
        const plan_options options = {.mode = PLAN_TRAIN, .batch = 16};
        plan *plain = built(m, options, false), *less = built(m, options, true);
        if (less->arena_bytes > plain->arena_bytes)
            fail_msg("graph %d: %zu bytes; %zu without recomputation", i, less->arena_bytes,
                     plain->arena_bytes);
        copied += recomputed(less, OP_COUNT) > 0;
        plan_free(plain);
        plan_free(less);
        cornu_model_close(m);
    }
    assert_true(copied > 0);
}

/* Networks of strangers must not take minutes of a processor. */
static void a_sum_of_very_many_inputs_is_divided_soon(void **state)
{
    (void)state;
    text t = {0};
    text_add(&t, "model: {input: [8], layers: [{Dense: {units: 8, activation: tanh, name: a}}, "
                 "{Add: {inputs: [a");
    for (int i = 1; i < (SANITIZED ? 1000 : 9990); i++)
        text_add(&t, ", a");
    text_add(&t, "]}}, {Dense: {units: 3, activation: softmax}}]}" COMPILE);
    cornu_model *m = net_model(t.data);
    const clock_t begin = clock();
    plan_free(built(m, (plan_options){.mode = PLAN_TRAIN, .batch = 8}, true));
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 20);
    cornu_model_close(m);
    text_free(&t);
}

static void only_training_recomputes(void **state)
{
    (void)state;
    char *recipe = residual_recipe(2, 8, "");
    cornu_model *m = net_model(recipe);
    const plan_options others[] = {{.mode = PLAN_EVALUATE, .batch = 4},
                                   {.mode = PLAN_PREDICT, .batch = 4},
                                   {.mode = PLAN_TRAIN, .scope = SCOPE_UPDATES}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        plan *p = built(m, others[i], true);
        assert_int_equal(recomputed(p, OP_COUNT), 0);
        plan_free(p);
    }
    cornu_model_close(m);
    free(recipe);
}

/* ---- what is copied ---------------------------------------------------------------------- */

static bool reads(const op *o, tensor_ref t)
{
    for (int k = 0; k < OP_INPUTS_MAX; k++)
        if (o->in[k] == t)
            return true;
    return false;
}

/* The operation that `copy` is one of: the earlier one of its layer and kind. */
static const op *original(const plan *p, const op *copy)
{
    for (const op *o = p->ops; o < copy; o++)
        if (!o->recomputed && o->kind == copy->kind && strcmp(o->name, copy->name) == 0)
            return o;
    fail_msg("%s of %s: found no operation of which it is a copy", op_infos[copy->kind].name,
             copy->name);
    return NULL;
}

/* Every copy is the operation itself, but for moving statistics, and comes before its weights are
   updated; it stands in no group of the backward pass. */
static void check_copies(const plan *p)
{
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        if (!o->recomputed)
            continue;
        const op *from = original(p, o);
        assert_memory_equal(&o->a, &from->a, sizeof o->a);
        assert_true(!plan_group(p, o, GROUP_CONV_POOL) == !plan_group(p, from, GROUP_CONV_POOL));
        assert_true(o->kind != OP_GATHER && o->kind != OP_LOSS && o->kind != OP_METRIC);
        for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
            assert_true(o->out[k] == NO_TENSOR || p->tensors[o->out[k]].role == TENSOR_BUFFER);
            assert_true(o->out[k] == NO_TENSOR || o->out[k] != from->out[k]);
        }
        for (int k = 1; k < OP_INPUTS_MAX && o->kind != OP_BATCH_NORM_FORWARD; k++)
            for (int u = 0; u < i; u++)
                if (p->ops[u].kind == OP_UPDATE && o->in[k] != NO_TENSOR)
                    assert_true(p->ops[u].out[0] != o->in[k]);
    }
    for (int g = 0; g < p->group_count; g++)
        for (int i = 1; i < p->groups[g].count; i++)
            assert_int_equal(p->ops[p->groups[g].first].recomputed,
                             p->ops[p->groups[g].first + i].recomputed);
}

/* The kinds of the original operations of all groups, in order, but for those of copies. */
static char *groups_of(const plan *p)
{
    char *text = calloc(1, 100000), *end = text;
    assert_non_null(text);
    for (int g = 0; g < p->group_count; g++) {
        const op *first = &p->ops[p->groups[g].first];
        if (!first->recomputed)
            end += sprintf(end, "%s %d of %s\n", group_names[p->groups[g].kind], p->groups[g].count,
                           first->name);
    }
    return text;
}

static void check_groups(const char *recipe)
{
    cornu_model *m = net_model(recipe);
    const plan_options options = {.mode = PLAN_TRAIN, .batch = 64};
    plan *plain = built(m, options, false), *less = built(m, options, true);
    char *before = groups_of(plain), *after = groups_of(less);
    assert_true(recomputed(less, OP_COUNT) > 0);
    check_copies(less);
    assert_string_equal(after, before);
    free(before);
    free(after);
    plan_free(plain);
    plan_free(less);
    cornu_model_close(m);
}

static void copies_stand_before_the_backward_groups_that_read_them(void **state)
{
    (void)state;
    static const char *const more[] = {"", SMOOTH, DROPOUT};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char *recipe = residual_recipe(3, 32, more[i]);
        check_groups(recipe);
        free(recipe);
    }
    check_groups(POOLED);
    check_groups(DENSE);
}

/* A convolution and its pool are copied as the group that they are, and the codes that the pair's
   kernels share (op_group.partner) are those of the copy. */
static void a_pooled_convolution_is_copied_as_a_group(void **state)
{
    (void)state;
    cornu_model *m = net_model(POOLED);
    plan *p = built(m, (plan_options){.mode = PLAN_TRAIN, .batch = 4}, true);
    int pairs = 0;
    check_copies(p);
    assert_true(recomputed(p, OP_MAX_POOL_FORWARD) > 0);
    for (int i = 0; i < p->op_count; i++) {
        const op_group *g = plan_group(p, &p->ops[i], GROUP_CONV_POOL);
        if (p->ops[i].kind != OP_MAX_POOL_FORWARD || !p->ops[i].recomputed)
            continue;
        g = plan_group(p, &p->ops[i - 1], GROUP_CONV_POOL);
        assert_non_null(g);
        assert_true(g->partner >= 0);
        assert_true(reads(&p->ops[p->groups[g->partner].first], p->ops[i - 1].out[0]));
        pairs++;
    }
    assert_int_equal(pairs, recomputed(p, OP_MAX_POOL_FORWARD));
    plan_free(p);
    cornu_model_close(m);
}

/* The first dense layer's update waits for the next step's forward pass only where that alone reads
   the weights. */
static void no_update_is_deferred_to_a_copy(void **state)
{
    (void)state;
    cornu_model *m = net_model(DENSE);
    plan *p = built(m, (plan_options){.mode = PLAN_TRAIN, .batch = 64}, true);
    check_copies(p);
    assert_true(recomputed(p, OP_DENSE_FORWARD) > 0);
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].recomputed)
            for (int g = 0; g < p->group_count; g++)
                assert_true(p->groups[g].absorber < 0 ||
                            p->ops[p->groups[g].absorber].in[1] != p->ops[i].in[1]);
    plan_free(p);
    cornu_model_close(m);
}

/* ---- bits -------------------------------------------------------------------------------- */

enum { STEPS = 3 };

/* Train some steps; returns all variables, one after another. */
static float *trained(cornu_model *m, const char *device, int threads, plan_options options,
                      bool recompute, int64_t *count)
{
    options.recompute = recompute;
    net *n = net_open_with(m, device, &options, &(device_options){.threads = threads});
    for (int i = 0; i < STEPS; i++) {
        n->input.iteration = i;
        n->input.learning_rate = 0.01f;
        net_run(n);
    }
    *count = 0;
    for (int i = 0; i < m->variable_count; i++)
        *count += m->variables[i].count;
    float *all = calloc((size_t)*count + 1, sizeof *all);
    assert_non_null(all);
    int64_t at = 0;
    for (int i = 0; i < m->variable_count; at += m->variables[i++].count)
        assert_int_equal(
            n->device->ops->read_variable(n->device, i, all + at, m->variables[i].count), CORNU_OK);
    net_close(n);
    return all;
}

/* The bits of a NaN are compared, too. */
static bool same_with_and_without(cornu_model *m, const char *device, plan_options options)
{
    int64_t count;
    float *plain = trained(m, device, 1, options, false, &count);
    bool same = true;
    for (int threads = 1; threads <= 3; threads += 2) {
        float *less = trained(m, device, threads, options, true, &count);
        same = same && memcmp(plain, less, (size_t)count * sizeof *less) == 0;
        free(less);
    }
    free(plain);
    return same;
}

static void check_bits(const char *recipe, const char *device, int64_t batch)
{
    cornu_model *m = net_model(recipe);
    const plan_options options = {.mode = PLAN_TRAIN, .batch = batch};
    plan *p = built(m, options, true);
    assert_true(recomputed(p, OP_COUNT) > 0);
    plan_free(p);
    if (!same_with_and_without(m, device, options))
        fail_msg("%s: other bits with recomputation: %s", device, recipe);
    cornu_model_close(m);
}

static void networks_keep_their_bits(void **state)
{
    (void)state;
    static const char *const more[] = {"", SMOOTH, DROPOUT};
    for (int d = 0; net_device(d); d++) {
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
            char *recipe = residual_recipe(2, 8, more[i]);
            check_bits(recipe, net_device(d), 6);
            free(recipe);
        }
        check_bits(POOLED, net_device(d), 4);
        check_bits(DENSE, net_device(d), 30);
        check_bits(DENSE, net_device(d), 64);
    }
}

/* An accelerator that is a CPU compiles its kernels for minutes. */
static int graphs_on(const char *device)
{
    const bool host = strcmp(device, "cpu") == 0 || strcmp(device, "reference") == 0;
    return random_net_count(SANITIZED || !host ? 5 : 60);
}

static void random_networks_keep_their_bits(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++)
        for (int i = 0; i < graphs_on(net_device(d)); i++) {
            const uint64_t seed = random_net_first() + (uint64_t)i;
            cornu_model *m = random_net(seed);
            device *own = net_device_open(net_device(d), &(device_options){.threads = 1});
            const bool lacks = net_lacks(own, m);
            own->ops->close(own);
            if (!lacks && !same_with_and_without(m, net_device(d),
                                                 (plan_options){.mode = PLAN_TRAIN, .batch = 9}))
                fail_msg("%s: other bits with recomputation; CORNU_TEST_SEED=%llu "
                         "CORNU_TEST_GRAPHS=1 repeats it",
                         net_device(d), (unsigned long long)seed);
            cornu_model_close(m);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deep_residual_network_needs_a_third_of_the_buffers),
        cmocka_unit_test(of_divisions_as_good_the_cheapest_is_taken),
        cmocka_unit_test(random_networks_need_no_more_memory),
        cmocka_unit_test(a_sum_of_very_many_inputs_is_divided_soon),
        cmocka_unit_test(only_training_recomputes),
        cmocka_unit_test(copies_stand_before_the_backward_groups_that_read_them),
        cmocka_unit_test(a_pooled_convolution_is_copied_as_a_group),
        cmocka_unit_test(no_update_is_deferred_to_a_copy),
        cmocka_unit_test(networks_keep_their_bits),
        cmocka_unit_test(random_networks_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
