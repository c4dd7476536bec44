/* Plans of networks: tensors that several read, layers that are called several times, and models of
   several inputs and outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPILE "\ncompile: {optimizer: sgd, loss: mean_squared_error}"

/* ---- networks that branch ---------------------------------------------------------------- */

/* Three layers read a; their gradients with updates stay together, as groups. */
static void the_gradient_of_a_tensor_is_the_sum_over_its_readers(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("model: {input: [5], layers: [{Dense: {units: 4, name: a}}, "
                  "{Dense: {units: 3, name: b}}, {Dense: {units: 3, name: c, inputs: a}}, "
                  "{Dense: {units: 3, name: d, inputs: a}}, {Add: {inputs: [b, c, d]}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 4);
    int at, sums = 0, groups = 0;
    assert_int_equal(net_count(p, OP_ADD, &at), 2 + 2);
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        if (o->kind != OP_ADD || o->out[0] != o->in[0])
            continue;
        assert_string_equal(p->tensors[o->out[0]].name, "d a/output");
        assert_string_equal(o->name, sums++ == 0 ? "c" : "b"); /* d is the first reader back */
    }
    assert_int_equal(sums, 2);
    for (int i = 0; i < p->group_count; i++)
        groups += p->groups[i].kind == GROUP_DENSE_BACKWARD;
    assert_int_equal(groups, 4);
    assert_int_equal(net_count(p, OP_UPDATE, &at), 8);
    plan_free(p);
    cornu_model_close(model);
}

/* ---- layers that are called several times ------------------------------------------------ */

static const char shared[] =
    "model: {input: [6], layers: [{Dense: {units: 6, activation: tanh, name: a}}, "
    "{Call: {layer: a, name: b}}, {Dropout: {rate: 0.5, name: c}}, {Call: {layer: a, inputs: c}}, "
    "{Call: {layer: c, name: d}}, {Dense: {units: 3}}]}\n"
    "compile: {optimizer: %s, loss: mean_squared_error}";

static plan *build_shared(const char *optimizer, plan_scope scope, cornu_model **model)
{
    char yaml[1024];
    plan *p;
    snprintf(yaml, sizeof yaml, shared, optimizer);
    *model = net_model(yaml);
    if (plan_build(*model, &(plan_options){.mode = PLAN_TRAIN, .scope = scope, .batch = 4}, &p) !=
        CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return p;
}

/* Number of sums into this tensor; *last: the operation after the last one. */
static int count_sums(const plan *p, tensor_ref t, int *last)
{
    int count = 0;
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_ADD && p->ops[i].out[0] == t) {
            assert_int_equal(p->tensors[p->ops[i].in[1]].form, p->tensors[t].form);
            *last = i + 1;
            count++;
        }
    return count;
}

/* A variable's update reads the sum over the calls, and comes when no call reads it any more. */
static void a_shared_weight_is_updated_once_by_the_sum_over_its_calls(void **state)
{
    (void)state;
    cornu_model *model;
    plan *p = build_shared("adam", SCOPE_STEP, &model);
    int updates = 0, summed = 0;
    assert_int_equal(net_count(p, OP_DENSE_BACKWARD_WEIGHTS, NULL), 4);
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        if (o->kind != OP_UPDATE)
            continue;
        updates++;
        assert_int_equal(p->gradients[o->in[0]], o->in[1]);
        if (strncmp(p->tensors[o->in[0]].name, "a/", 2) == 0) {
            assert_int_equal(count_sums(p, o->in[1], &summed), 2);
            assert_true(summed <= i);
        }
        for (int k = i + 1; k < p->op_count; k++)
            for (int n = 0; n < OP_INPUTS_MAX; n++)
                assert_int_not_equal(p->ops[k].in[n], o->in[0]);
    }
    assert_int_equal(updates, 4);
    assert_int_equal(p->tensors[p->gradients[0]].form, FORM_DENSE_KERNEL);
    for (int i = 0; i < p->group_count; i++) /* only the last layer's gradients are not summed */
        if (p->groups[i].kind == GROUP_DENSE_BACKWARD)
            assert_int_equal(p->tensors[p->ops[p->groups[i].first].out[0]].shape.dim[1], 3);
    plan_free(p);
    cornu_model_close(model);
}

static void clipping_by_norm_sees_the_sum_over_the_calls(void **state)
{
    (void)state;
    static const char *const clipped[] = {"{sgd: {clipnorm: 0.1}}", "{adam: {global_clipnorm: 1}}"};
    for (int k = 0; k < 2; k++) {
        cornu_model *model;
        plan *p = build_shared(clipped[k], SCOPE_STEP, &model);
        int last = p->op_count, at;
        assert_int_equal(net_count(p, OP_SQUARE_SUM, &at), 4);
        for (int i = at; i < at + 4; i++)
            for (int n = 0; n < 2; n++)
                if (p->ops[i].in[0] == p->gradients[n]) {
                    assert_int_equal(count_sums(p, p->gradients[n], &last), 2);
                    assert_true(last <= i);
                }
        assert_int_not_equal(last, p->op_count);
        plan_free(p);
        cornu_model_close(model);
    }
}

static void calls_have_names_and_masks_of_their_own(void **state)
{
    (void)state;
    cornu_model *model;
    plan *p = build_shared("sgd", SCOPE_STEP, &model);
    int dropouts = 0;
    uint32_t streams[4];
    for (int i = 0; i < p->tensor_count; i++)
        for (int k = i + 1; k < p->tensor_count; k++)
            assert_string_not_equal(p->tensors[i].name, p->tensors[k].name);
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_DROPOUT)
            streams[dropouts++] = p->ops[i].a.dropout.stream;
    assert_int_equal(dropouts, 4);
    assert_int_not_equal(streams[0], streams[1]);
    assert_int_equal(streams[1], streams[2]);
    assert_int_equal(streams[0], streams[3]);
    assert_string_equal(p->ops[1].name, "a");
    assert_string_equal(p->ops[2].name, "b");
    assert_string_equal(p->ops[4].name, "a/call_3");
    plan_free(p);
    cornu_model_close(model);
}

/* The gradient of a sum is that of both terms, without a copy; what is added to one of them must
   not change the other. */
static void what_is_added_to_a_lent_gradient_gets_memory_of_its_own(void **state)
{
    (void)state;
    cornu_model *model = net_model(
        "model: {input: [4], layers: [{Dense: {units: 4, activation: tanh, name: a}}, "
        "{Dense: {units: 4, name: b}}, {Add: {inputs: [a, b]}}, {Dense: {units: 2}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 3);
    int first, forward = -1;
    assert_int_equal(net_count(p, OP_ADD, &forward), 2);
    for (int i = forward + 1; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        if (o->kind != OP_ADD)
            continue;
        assert_string_equal(p->tensors[o->in[0]].name, "d add/output");
        assert_int_equal(o->out[0], o->in[1]);
        net_count(p, OP_ACTIVATION_BACKWARD, &first);
        assert_int_equal(p->ops[first].in[1], o->out[0]);
    }
    plan_free(p);
    cornu_model_close(model);
}

/* ONNX finds tensors by name. */
static void tensors_have_names_of_their_own(void **state)
{
    (void)state;
    cornu_model *model = net_model(
        "model: {input: [4], layers: [{Dense: {units: 4, name: a}}, {Dense: {units: 4, name: b}}, "
        "{Average: {inputs: [a, b, input_layer]}}, "
        "{Multiply: {inputs: [average, a, average]}}]}" COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 3);
    for (int i = 0; i < p->tensor_count; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(p->tensors[i].name, p->tensors[k].name);
    plan_free(p);
    cornu_model_close(model);
}

static void a_layer_of_many_inputs_has_names_for_all_its_tensors(void **state)
{
    (void)state;
    enum { INPUTS = 3000 };
    text recipe = {0};
    text_add(&recipe,
             "model: {input: [2], layers: [{Dense: {units: 1, name: a}}, {Add: {inputs: [");
    for (int i = 0; i < INPUTS; i++)
        text_add(&recipe, "%sa", i ? ", " : "");
    text_add(&recipe, "]}}]}");
    cornu_model *model = net_model(recipe.data);
    plan *p = net_plan(model, PLAN_PREDICT, 3);
    int at;
    assert_int_equal(net_count(p, OP_ADD, &at), INPUTS - 1);
    assert_string_equal(p->tensors[p->ops[at].out[0]].name, "add/add");
    assert_string_equal(p->tensors[p->ops[at + INPUTS - 3].out[0]].name, "add/add (2998)");
    assert_string_equal(p->tensors[p->ops[at + INPUTS - 2].out[0]].name, "add/output");
    plan_free(p);
    cornu_model_close(model);
    text_free(&recipe);
}

/* ---- several inputs and outputs ---------------------------------------------------------- */

#define TOWERS                                                                   \
    "model: {inputs: {a: [4], b: [2, 3]}, layers: [{Flatten: {inputs: b}}, "     \
    "{Dense: {units: 4, name: right}}, {Add: {inputs: [a, right], name: sum}}, " \
    "{Dense: {units: 1, name: price}}, "                                         \
    "{Dense: {units: 5, activation: softmax, inputs: sum, name: kind}}], "       \
    "outputs: [kind, price]}\n"                                                  \
    "compile: {optimizer: sgd, loss: [sparse_categorical_crossentropy, mse], "   \
    "loss_weights: [1, 0.5], metrics: [[accuracy], [mae]]}"

static void several_inputs_and_targets_are_parts_of_the_rows_of_samples(void **state)
{
    (void)state;
    cornu_model *model = net_model(TOWERS);
    plan *p = net_plan(model, PLAN_TRAIN, 3);
    int at;
    assert_int_equal(p->tensors[p->input].count, 3 * (4 + 6));
    assert_int_equal(p->tensors[p->target].count, 3 * (1 + 1));
    assert_int_equal(net_count(p, OP_GATHER, &at), 1);
    assert_int_equal(net_count(p, OP_SLICE, &at), 4);
    assert_int_equal(p->ops[at + 1].a.slice.begin, 4);
    assert_int_equal(p->output, NO_TENSOR);
    plan_free(p);
    p = net_plan(model, PLAN_PREDICT, 3);
    assert_int_equal(p->tensors[p->output].count, 3 * (5 + 1));
    assert_int_equal(net_count(p, OP_LOSS, &at), 0);
    plan_free(p);
    cornu_model_close(model);
}

/* Is there an operation of this layer? */
static bool computes(const plan *p, op_kind kind, const char *name)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == kind && strcmp(p->ops[i].name, name) == 0)
            return true;
    return false;
}

static void an_output_without_a_loss_is_not_trained(void **state)
{
    (void)state;
    static const char *const compiles[] = {"loss: [null, mse, mae]",
                                           "loss: [null, mse, mae], metrics: {b: mse}"};
    for (int i = 0; i < 2; i++) {
        char yaml[512];
        int at;
        snprintf(yaml, sizeof yaml,
                 "model: {input: [4], layers: [{Dense: {units: 3, name: a}}, "
                 "{Dense: {units: 2, name: b}}, {Dense: {units: 2, inputs: a, name: c}}], "
                 "outputs: [b, a, c]}\ncompile: {optimizer: sgd, %s}",
                 compiles[i]);
        cornu_model *model = net_model(yaml);
        plan *p = net_plan(model, PLAN_TRAIN, 2);
        assert_int_equal(p->tensors[p->target].count, 2 * (3 + 2 + 2 * i));
        assert_int_equal(net_count(p, OP_LOSS, &at), 2);
        assert_false(p->ops[at].a.loss.further);
        assert_true(computes(p, OP_DENSE_FORWARD, "b") == (i == 1));
        assert_false(computes(p, OP_DENSE_BACKWARD_WEIGHTS, "b"));
        assert_false(computes(p, OP_UPDATE, "b/kernel"));
        assert_true(computes(p, OP_UPDATE, "c/kernel"));
        plan_free(p);
        p = net_plan(model, PLAN_EVALUATE, 2);
        assert_true(computes(p, OP_DENSE_FORWARD, "b"));
        plan_free(p);
        cornu_model_close(model);
    }
}

static void weights_of_several_outputs_are_the_last_numbers_of_the_targets(void **state)
{
    (void)state;
    cornu_model *model = net_model(TOWERS);
    const plan_options options = {
        .mode = PLAN_EVALUATE, .batch = 3, .weighted = WEIGHTS_OF_OUTPUTS};
    plan *p;
    int at;
    assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
    assert_int_equal(p->tensors[p->target].count, 3 * (1 + 1 + 2));
    assert_int_equal(p->ops[0].out[2], NO_TENSOR);
    assert_int_equal(net_count(p, OP_LOSS, &at), 2);
    for (int output = 0, i = at; output < 2; i++) {
        if (p->ops[i].kind != OP_LOSS)
            continue;
        const tensor_ref weight = p->ops[i].in[2];
        assert_int_equal(p->tensors[weight].count, 3);
        for (int k = 0; k < i; k++)
            if (p->ops[k].out[0] == plan_root(p, weight))
                assert_int_equal(p->ops[k].a.slice.begin, 2 + output);
        output++;
    }
    plan_free(p);
    cornu_model_close(model);
    model = net_model("model: {input: [7], layers: [{Dense: {units: 5}}]}" COMPILE);
    assert_int_equal(plan_build(model, &options, &p), CORNU_INVALID);
    cornu_model_close(model);
}

static void each_output_has_a_loss_that_is_a_part_of_the_steps(void **state)
{
    (void)state;
    cornu_model *model = net_model(TOWERS);
    plan *p = net_plan(model, PLAN_TRAIN, 3);
    int at, metric;
    assert_int_equal(net_count(p, OP_LOSS, &at), 2);
    assert_true(p->ops[at].a.loss.term && !p->ops[at].a.loss.further);
    assert_true(p->ops[at].a.loss.logits && p->ops[at].a.loss.slot == 0);
    assert_int_equal(net_count(p, OP_METRIC, &metric), 2);
    assert_int_equal(metric, at + 1);
    const op *second = &p->ops[at + 3]; /* a metric, and the part of the targets, come between */
    assert_int_equal(second->kind, OP_LOSS);
    assert_true(second->a.loss.further && second->a.loss.weight == 0.5f);
    assert_int_equal(second->a.loss.slot, 1);
    plan_free(p);
    cornu_model_close(model);
    model = net_model("model: {input: [7], layers: [{Dense: {units: 5}}]}" COMPILE);
    p = net_plan(model, PLAN_TRAIN, 3);
    assert_int_equal(net_count(p, OP_LOSS, &at), 1);
    assert_false(p->ops[at].a.loss.term);
    plan_free(p);
    cornu_model_close(model);
}

/* Whatever the number of operations at which the sums begin: the list grows then and when. */
/* An encoder of which only z is read. */
#define ENCODER                                                                                   \
    "model: {inputs: {x: [7], unread: [2]}, layers: [{Model: {name: encoder, inputs: x, layers: " \
    "[{Dense: {units: 5, name: h}}, {Dense: {units: 4, name: z}}, "                               \
    "{Dense: {units: 4, inputs: h, name: spread}}, {BatchNormalization: {name: n}}, "             \
    "{Dense: {units: 2, name: end}}], outputs: [end, z]}}, "                                      \
    "{Dense: {units: 3, inputs: encoder/z, name: y}}], outputs: y}"

static void what_no_output_depends_on_is_left_out(void **state)
{
    (void)state;
    cornu_model *model = net_model(ENCODER COMPILE);
    int at;
    for (int mode = PLAN_EVALUATE; mode <= PLAN_PREDICT; mode++) {
        plan *p = net_plan(model, (plan_mode)mode, 2);
        assert_int_equal(net_count(p, OP_DENSE_FORWARD, &at), 3);
        assert_int_equal(net_count(p, OP_SLICE, &at), 1);
        plan_free(p);
    }
    cornu_model_close(model);
}

/* As in Keras: its statistics are of the training, and nothing of it has a gradient. */
static void a_batch_norm_that_nothing_reads_keeps_its_statistics(void **state)
{
    (void)state;
    cornu_model *model = net_model(ENCODER COMPILE);
    plan *p = net_plan(model, PLAN_TRAIN, 2), *half = NULL;
    int at;
    assert_int_equal(net_count(p, OP_BATCH_NORM_FORWARD, &at), 1);
    assert_int_equal(net_count(p, OP_DENSE_FORWARD, &at), 4);
    assert_int_equal(net_count(p, OP_BATCH_NORM_BACKWARD, &at), 0);
    assert_int_equal(net_count(p, OP_UPDATE, &at), 6);
    const plan_options options = {.mode = PLAN_TRAIN, .scope = SCOPE_UPDATES};
    assert_int_equal(plan_build(model, &options, &half), CORNU_OK);
    assert_int_equal(net_count(half, OP_UPDATE, &at), 6);
    plan_free(half);
    plan_free(p);
    cornu_model_close(model);
}

/* Also of those that nothing reads: a training may run them. */
static void forms_are_those_of_all_kernels(void **state)
{
    (void)state;
    cornu_model *model = net_model(ENCODER COMPILE);
    tensor_form *forms = NULL;
    int kernels = 0;
    assert_int_equal(plan_variable_forms(model, &forms), CORNU_OK);
    for (int i = 0; i < model->weight_count; i++)
        kernels += forms[i] == FORM_DENSE_KERNEL;
    assert_int_equal(kernels, 5);
    free(forms);
    cornu_model_close(model);
}

static void outputs_may_be_the_same_tensor(void **state)
{
    (void)state;
    for (int layers = 0; layers < 24; layers++) {
        text recipe = {0};
        int at;
        text_add(&recipe, "model: {input: [2], layers: [");
        for (int i = 0; i < layers; i++)
            text_add(&recipe, "{ELU: {}}, ");
        text_add(&recipe, "{Dense: {units: 2, name: a}}");
        for (int i = 0; i < 4; i++)
            text_add(&recipe, ", {Activation: {activation: linear, name: l%d, inputs: a}}", i);
        text_add(&recipe, "], outputs: [l0, l1, l2, l3]}" COMPILE);
        cornu_model *model = net_model(recipe.data);
        plan *p = net_plan(model, PLAN_TRAIN, 3);
        assert_int_equal(net_count(p, OP_LOSS, &at), 4);
        assert_int_equal(net_count(p, OP_ADD, &at), 3);
        for (int i = 0; i < 3; i++)
            assert_string_equal(p->ops[at + i].name, p->ops[at].name);
        plan_free(p);
        cornu_model_close(model);
        text_free(&recipe);
    }
}

/* On every device: the sum, and each loss by itself. */
static void the_steps_loss_is_the_weighted_sum_of_the_losses(void **state)
{
    (void)state;
    double expected[3] = {0};
    for (int i = 0; net_device(i); i++) {
        cornu_model *model = net_model(TOWERS);
        device *d = net_device_open(net_device(i), NULL);
        const bool lacks = net_lacks(d, model);
        step_results results;
        d->ops->close(d);
        for (int mode = 0; !lacks && mode < 2; mode++) {
            const plan_options options = {.mode = mode ? PLAN_EVALUATE : PLAN_TRAIN, .batch = 3};
            net *n = net_open(model, net_device(i), &options);
            n->input.learning_rate = 0;
            for (int step = 0; step < 2; step++)
                if (n->device->ops->run(n->device, n->prepared, &n->input, 1) != CORNU_OK)
                    fail_msg("%s", cornu_last_error());
            assert_int_equal(n->device->ops->results(n->device, &results, true), CORNU_OK);
            const double kind = results.metrics[0] / 6, price = results.metrics[1] / 6;
            if (expected[0] == 0) {
                expected[0] = results.loss / 6;
                expected[1] = kind;
                expected[2] = price;
            }
            assert_true(kind > 0.1 && price > 0.001);
            assert_true(fabs(results.loss / 6 - (kind + 0.5 * price)) < 1e-6 * expected[0]);
            assert_true(fabs(results.last_loss - results.loss / 6) < 1e-6 * expected[0]);
            assert_true(fabs(results.loss / 6 - expected[0]) < 1e-4 * expected[0]);
            assert_true(fabs(kind - expected[1]) < 1e-4 * expected[1]);
            assert_true(fabs(price - expected[2]) < 1e-4 * expected[2]);
            net_close(n);
        }
        cornu_model_close(model);
    }
    assert_true(expected[0] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_inputs_and_targets_are_parts_of_the_rows_of_samples),
        cmocka_unit_test(an_output_without_a_loss_is_not_trained),
        cmocka_unit_test(weights_of_several_outputs_are_the_last_numbers_of_the_targets),
        cmocka_unit_test(each_output_has_a_loss_that_is_a_part_of_the_steps),
        cmocka_unit_test(what_no_output_depends_on_is_left_out),
        cmocka_unit_test(a_batch_norm_that_nothing_reads_keeps_its_statistics),
        cmocka_unit_test(forms_are_those_of_all_kernels),
        cmocka_unit_test(outputs_may_be_the_same_tensor),
        cmocka_unit_test(the_steps_loss_is_the_weighted_sum_of_the_losses),
        cmocka_unit_test(tensors_have_names_of_their_own),
        cmocka_unit_test(a_layer_of_many_inputs_has_names_for_all_its_tensors),
        cmocka_unit_test(the_gradient_of_a_tensor_is_the_sum_over_its_readers),
        cmocka_unit_test(what_is_added_to_a_lent_gradient_gets_memory_of_its_own),
        cmocka_unit_test(a_shared_weight_is_updated_once_by_the_sum_over_its_calls),
        cmocka_unit_test(clipping_by_norm_sees_the_sum_over_the_calls),
        cmocka_unit_test(calls_have_names_and_masks_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
