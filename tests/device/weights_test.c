/* Weights of samples in the loss and its gradients, on every device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 5 };
static const float weights[BATCH] = {0.5f, 2, 0, 1.25f, 3};

/* Losses that belong to a row (softmax, alone or fused with its cross-entropy and metrics), to an
   element, or to several rows per sample. */
static const char *const models[] = {
    "{model: {input: [6], layers: [{Dense: {units: 4, activation: softmax}}]}, compile: "
    "{optimizer: "
    "sgd, loss: categorical_crossentropy, metrics: [accuracy]}}",
    "{model: {input: [6], layers: [{Dense: {units: 4, activation: softmax}}]}, compile: "
    "{optimizer: "
    "sgd, loss: sparse_categorical_crossentropy}}",
    "{model: {input: [6], layers: [{Dense: {units: 4}}]}, compile: {optimizer: sgd, loss: "
    "{class_name: SparseCategoricalCrossentropy, config: {from_logits: true}}}}",
    "{model: {input: [6], layers: [{Dense: {units: 4}}]}, compile: {optimizer: sgd, loss: "
    "{class_name: CategoricalCrossentropy, config: {from_logits: true}}}}",
    "{model: {input: [6], layers: [{Dense: {units: 1, activation: sigmoid}}]}, compile: "
    "{optimizer: sgd, loss: binary_crossentropy, metrics: [binary_accuracy]}}",
    "{model: {input: [6], layers: [{Dense: {units: 3, activation: tanh}}]}, compile: "
    "{optimizer: sgd, loss: mean_squared_error}}",
    "{model: {input: [3, 6], layers: [{Dense: {units: 4, activation: softmax}}]}, compile: "
    "{optimizer: sgd, loss: categorical_crossentropy}}",
};

static float *gradient(net *n)
{
    return net_read(n, n->plan->gradients[0]);
}

/* The loss of sample `i` of `all` alone, without a weight. */
static double alone(cornu_model *m, const char *device, const net *all, int i, float **dw)
{
    const plan_options options = {.mode = PLAN_TRAIN, .batch = 1, .scope = SCOPE_GRADIENTS};
    net *n = net_open(m, device, &options);
    memcpy(n->x, all->x + i * (all->x_count / BATCH), (size_t)n->x_count * sizeof *n->x);
    memcpy(n->y, all->y + i * (all->y_count / BATCH), (size_t)n->y_count * sizeof *n->y);
    double loss = net_run(n);
    *dw = gradient(n);
    net_close(n);
    return loss;
}

static void check_model(const char *device, const char *recipe)
{
    cornu_model *m = net_model(recipe);
    const plan_options options = {.mode = PLAN_TRAIN,
                                  .batch = BATCH,
                                  .weighted = WEIGHTS_OF_SAMPLES,
                                  .scope = SCOPE_GRADIENTS};
    net *n = net_open(m, device, &options);
    n->samples.weight = weights;
    double loss = net_run(n), expected_loss = 0;
    float *dw = gradient(n);
    int64_t count = m->variables[0].count;
    float *expected = calloc((size_t)count, sizeof *expected);
    assert_non_null(expected);
    for (int i = 0; i < BATCH; i++) {
        float *one;
        expected_loss += (double)weights[i] * alone(m, device, n, i, &one) / BATCH;
        for (int64_t k = 0; k < count; k++)
            expected[k] += weights[i] * one[k] / BATCH;
        free(one);
    }
    if (fabs(loss - expected_loss) > 1e-5 * fabs(expected_loss))
        fail_msg("%s: %s: loss %.9g; expected %.9g", device, recipe, loss, expected_loss);
    if (net_difference(dw, expected, count) > 1e-5)
        fail_msg("%s: %s: gradients are %g apart", device, recipe,
                 net_difference(dw, expected, count));
    free(expected);
    free(dw);
    net_close(n);
    cornu_model_close(m);
}

static void a_sample_counts_in_loss_and_gradients_as_much_as_its_weight(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++)
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            check_model(net_device(d), models[i]);
}

/* Three outputs of one trunk: the first has no loss, the second several rows a sample. The weights
   follow the targets. */
static const char *const three_outputs =
    "{model: {input: [3, 6], layers: [{Dense: {units: 4, activation: tanh, name: trunk}}, "
    "{Dense: {units: 3, activation: softmax, name: kind}}, "
    "{Flatten: {inputs: trunk}}, {Dense: {units: 2, name: size}}, {Dense: {units: 2, inputs: "
    "flatten, name: rest}}], outputs: [rest, kind, size]}, "
    "compile: {optimizer: sgd, loss: [null, sparse_categorical_crossentropy, mean_squared_error], "
    "metrics: [[mae], [accuracy], []]}}";
static const float weights_of_each[BATCH][3] = {
    {9, 0.5f, 2}, {9, 1, 0}, {9, 0, 1.25f}, {9, 3, 0.75f}, {9, 2, 2}};

static net *open_three_outputs(cornu_model *m, const char *device)
{
    const plan_options options = {.mode = PLAN_TRAIN,
                                  .batch = BATCH,
                                  .weighted = WEIGHTS_OF_OUTPUTS,
                                  .scope = SCOPE_GRADIENTS};
    net *n = net_open(m, device, &options);
    const int64_t row = n->y_count / BATCH;
    assert_int_equal(row, 2 + 3 + 2 + 3);
    for (int i = 0; i < BATCH; i++)
        memcpy(n->y + (i + 1) * row - 3, weights_of_each[i], sizeof weights_of_each[i]);
    n->samples.output_weights = 3;
    return n;
}

static void a_sample_counts_in_each_outputs_loss_as_much_as_its_weight_there(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++) {
        cornu_model *m = net_model(three_outputs);
        net *n = open_three_outputs(m, net_device(d));
        float expected[6 * 4] = {0}, *dw, *one;
        double loss = net_run(n), expected_loss = 0;
        dw = gradient(n);
        for (int i = 0; i < BATCH * 2; i++) {
            const float w = weights_of_each[i / 2][1 + i % 2] / BATCH;
            m->outputs[1 + i % 2].weight = 1;
            m->outputs[2 - i % 2].weight = 0;
            expected_loss += (double)w * alone(m, net_device(d), n, i / 2, &one);
            for (int k = 0; k < 6 * 4; k++)
                expected[k] += w * one[k];
            free(one);
        }
        assert_true(fabs(loss - expected_loss) <= 1e-5 * fabs(expected_loss));
        assert_true(net_difference(dw, expected, 6 * 4) <= 1e-5);
        free(dw);
        net_close(n);
        cornu_model_close(m);
    }
}

static void samples_without_weights_weigh_1_in_a_plan_for_weights(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++) {
        cornu_model *m = net_model(models[0]);
        plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
        net *plain = net_open(m, net_device(d), &options);
        options.weighted = WEIGHTS_OF_SAMPLES;
        net *weighted = net_open(m, net_device(d), &options);
        assert_true(fabs(net_run(plain) - net_run(weighted)) < 1e-6);
        net_close(plain);
        net_close(weighted);
        cornu_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_counts_in_loss_and_gradients_as_much_as_its_weight),
        cmocka_unit_test(a_sample_counts_in_each_outputs_loss_as_much_as_its_weight_there),
        cmocka_unit_test(samples_without_weights_weigh_1_in_a_plan_for_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
