/* Training steps whose operations a device may run together (a loss with its activation and
   metrics, a pooling or a dropout with the activation before it, weight gradients with the
   optimizer's step): loss, metrics and every variable against the reference's, which runs them one
   by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4 };

/* 64 metrics of twelve outputs, by which no two neighbours are equal. */
#define TOP(n, k) "{top_k_categorical_accuracy: {k: " #k ", name: t" #n "}}, "
#define TEN(n)   \
    TOP(n##0, 1) \
    TOP(n##1, 2) \
    TOP(n##2, 3) \
    TOP(n##3, 4) TOP(n##4, 5) TOP(n##5, 6) TOP(n##6, 7) TOP(n##7, 8) TOP(n##8, 9) TOP(n##9, 10)
#define METRICS_64 \
    TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TOP(70, 3) TOP(71, 2) TOP(72, 5) "accuracy"

typedef struct training {
    const char *name, *recipe;
    int64_t batch;
    double
        tolerance; /* of variables: Adam divides gradients by their own magnitude, noise included */
} training;

static const training trainings[] = {
    {"a softmax with its loss and metrics, two tiles wide and deep",
     "model: {input: [70], layers: [{Dense: {units: 67, activation: relu}}, {Dense: {units: 12, "
     "activation: softmax}}]}\n"
     "compile: {optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9}}, loss: "
     "categorical_crossentropy, metrics: [accuracy, {top_k_categorical_accuracy: {k: 2}}, "
     "binary_accuracy, categorical_accuracy]}",
     33, 1e-5},
    {"a sigmoid with a categorical loss, no bias",
     "model: {input: [64], layers: [{Dense: {units: 64, use_bias: false, activation: tanh}}, "
     "{Dense: {units: 10, activation: sigmoid}}]}\n"
     "compile: {optimizer: {sgd: {learning_rate: 0.1}}, loss: categorical_crossentropy, metrics: "
     "[accuracy]}",
     128, 1e-5},
    {"more rows than weight gradients take with the optimizer's step",
     "model: {input: [20], layers: [{Dense: {units: 16, activation: elu}}, {Dense: {units: 4, "
     "activation: softmax}}]}\n"
     "compile: {optimizer: adam, loss: sparse_categorical_crossentropy, metrics: [accuracy, "
     "{sparse_top_k_categorical_accuracy: {k: 2}}]}",
     129, 1e-4},
    {"more rows than one block of the loss takes",
     "model: {input: [3], layers: [{Dense: {units: 5, activation: softmax}}]}\n"
     "compile: {optimizer: {rmsprop: {momentum: 0.5, centered: true}}, loss: "
     "sparse_categorical_crossentropy, metrics: [accuracy]}",
     9000, 1e-4},
    {"a regression in rows of a sample",
     "model: {input: [6, 5], layers: [{Dense: {units: 9, activation: gelu}}, {Dropout: {rate: "
     "0.5}}, {Dense: {units: 3}}]}\n"
     "compile: {optimizer: {sgd: {learning_rate: 0.1, nesterov: true, momentum: 0.5, clipvalue: "
     "0.05}}, loss: mean_squared_error}",
     7, 1e-5},
    {"one output",
     "model: {input: [40], layers: [{Dense: {units: 130, activation: relu}}, {Dropout: {rate: "
     "0.3}}, {Dense: {units: 1, activation: sigmoid}}]}\n"
     "compile: {optimizer: {adamw: {weight_decay: 0.1}}, loss: binary_crossentropy, metrics: "
     "[accuracy]}",
     50, 1e-4},
    {"poolings behind activations",
     "model: {input: [9, 11, 2], layers: [{Conv2D: {filters: 5, kernel_size: 3, activation: "
     "relu}}, {MaxPooling2D: {pool_size: 2}}, {Conv2D: {filters: 8, kernel_size: 2, padding: same, "
     "activation: sigmoid}}, {MaxPooling2D: {pool_size: 2, strides: 1, padding: same}}, "
     "BatchNormalization, Flatten, {Dense: {units: 3, activation: softmax}}]}\n"
     "compile: {optimizer: {sgd: {learning_rate: 0.05}}, loss: categorical_crossentropy, metrics: "
     "[accuracy]}",
     6, 2e-5},
    {"as many metrics as a model may have",
     "model: {input: [9], layers: [{Dense: {units: 12, activation: softmax}}]}\n"
     "compile: {optimizer: sgd, loss: categorical_crossentropy, metrics: [" METRICS_64 "]}",
     40, 1e-5},
    {"gradients clipped by the norm of all",
     "model: {input: [30], layers: [{Dense: {units: 90, activation: relu}}, {Dense: {units: 5, "
     "activation: softmax}}]}\n"
     "compile: {optimizer: {adam: {amsgrad: true, global_clipnorm: 0.1}}, loss: "
     "categorical_crossentropy}",
     16, 1e-4},
};

/* Train for STEPS steps; values[i] of every variable (free), and the sums of all steps. */
static void train(cornu_model *model, const training *t, const char *device, float **values,
                  step_results *results)
{
    plan_options options = {.mode = PLAN_TRAIN, .batch = t->batch};
    net *n = net_open(model, device, &options);
    n->input.learning_rate = 0.05f;
    for (int s = 0; s < STEPS; s++) {
        n->input.iteration = s;
        assert_int_equal(n->device->ops->run(n->device, n->prepared, &n->input, 1), CORNU_OK);
    }
    assert_int_equal(n->device->ops->results(n->device, results, true), CORNU_OK);
    for (int i = 0; i < model->variable_count; i++)
        values[i] = net_read_variable(n, model->variables[i].name);
    net_close(n);
}

static void compare(const cornu_model *model, const training *t, const char *device,
                    float *const *found, float *const *expected, const step_results *results,
                    const step_results *wanted)
{
    for (int i = 0; i < model->variable_count; i++) {
        const variable *v = &model->variables[i];
        double difference = net_difference(expected[i], found[i], v->count);
        if (!(difference <= t->tolerance))
            fail_msg("%s: %s: %s differs by %.3g of its largest, may by %.3g", t->name, device,
                     v->name, difference, t->tolerance);
    }
    if (results->samples != wanted->samples || results->not_finite ||
        !(fabs(results->loss - wanted->loss) <= 1e-5 * fabs(wanted->loss)))
        fail_msg("%s: %s: found loss %.9g of %lld samples; expected %.9g of %lld", t->name, device,
                 results->loss, (long long)results->samples, wanted->loss,
                 (long long)wanted->samples);
    for (int i = 0; i < model->metric_count; i++)
        if (!(fabs(results->metrics[i] - wanted->metrics[i]) <= 1e-9 * (1 + wanted->metrics[i])))
            fail_msg("%s: %s: metric %d: found %.9g; expected %.9g", t->name, device, i,
                     results->metrics[i], wanted->metrics[i]);
}

static void steps_go_as_the_references(void **state)
{
    const training *t = *state;
    cornu_model *model = net_model(t->recipe);
    float **expected = calloc((size_t)model->variable_count, sizeof *expected);
    float **found = calloc((size_t)model->variable_count, sizeof *found);
    step_results results, wanted;
    assert_non_null(expected);
    assert_non_null(found);
    train(model, t, "reference", expected, &wanted);
    for (int d = 0; net_device(d); d++) {
        char device[64];
        strncpy(device, net_device(d), sizeof device - 1);
        device[sizeof device - 1] = 0;
        train(model, t, device, found, &results);
        compare(model, t, device, found, expected, &results, &wanted);
        for (int i = 0; i < model->variable_count; i++)
            free(found[i]);
    }
    for (int i = 0; i < model->variable_count; i++)
        free(expected[i]);
    free(expected);
    free(found);
    cornu_model_close(model);
}

int main(void)
{
    enum { COUNT = sizeof trainings / sizeof *trainings };
    struct CMUnitTest tests[COUNT];
    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = trainings[i].name,
                                       .test_func = steps_go_as_the_references,
                                       .initial_state = (void *)(uintptr_t)&trainings[i]};
    return cmocka_run_group_tests_name("steps go as the reference's", tests, NULL, NULL);
}
