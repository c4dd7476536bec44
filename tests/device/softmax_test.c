/* The cpu device's last operations, which run as one: softmax, its cross-entropies and the metrics,
   against the reference. */
#include "device/cpu/elementwise/elementwise_kernels.h"
#include "device/cpu/isa.h"
#include "support/net.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

CPU_ISA_TABLE(softmax_kernels, cpu_softmax_kernels);

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct head_case {
    const char *model, *loss, *metrics;
    int64_t batch;
    int fused; /* operations that run within another's, in evaluation */
} head_case;

#define SOFTMAX(units) "input: [20], layers: [{Dense: {units: " #units ", activation: softmax}}]"
static const head_case heads[] = {
    {SOFTMAX(100), "categorical_crossentropy", "accuracy", 32, 2},
    {SOFTMAX(10), "sparse_categorical_crossentropy", "accuracy", 1, 2},
    {SOFTMAX(10), "sparse_categorical_crossentropy",
     "accuracy, {sparse_top_k_categorical_accuracy: {k: 3}}", 257, 3},
    {SOFTMAX(300), "categorical_crossentropy",
     "accuracy, {top_k_categorical_accuracy: {k: 2}}, binary_accuracy, categorical_accuracy", 50,
     4},
    {SOFTMAX(3), "mean_squared_error", "categorical_accuracy", 9, 0},
    {"input: [20], layers: [{Dense: {units: 70, activation: sigmoid}}]", "categorical_crossentropy",
     "accuracy", 64, 1},
    {"input: [6, 5], layers: [{Dense: {units: 40, activation: softmax}}]",
     "categorical_crossentropy", "accuracy", 13, 2},
    {"input: [6, 5], layers: [{Dense: {units: 12, activation: softmax}}, Flatten]",
     "categorical_crossentropy", "accuracy", 8, 0},
};

static cornu_model *model_of(const head_case *c)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "model: {%s}\ncompile: {optimizer: {sgd: {learning_rate: 0.5}}, loss: %s, "
             "metrics: [%s]}",
             c->model, c->loss, c->metrics);
    return net_model(yaml);
}

/* The state after two steps. */
typedef struct outcome {
    step_results results;
    float *output, *weights;
    int64_t output_count, weight_count;
} outcome;

static outcome run(cornu_model *model, const head_case *c, plan_mode mode, const char *device_name,
                   int threads)
{
    plan_options options = {.mode = mode, .batch = c->batch};
    net *n = net_open_with(model, device_name, &options, &(device_options){.threads = threads});
    n->input.learning_rate = 0.5f;
    for (int i = 0; i < 2; i++)
        assert_int_equal(n->device->ops->run(n->device, n->prepared, &n->input, 1), CORNU_OK);
    outcome o = {.output = net_read(n, n->plan->output),
                 .weights = net_read_variable(n, model->variables[0].name),
                 .output_count = n->plan->tensors[n->plan->output].count,
                 .weight_count = model->variables[0].count};
    assert_int_equal(n->device->ops->results(n->device, &o.results, true), CORNU_OK);
    net_close(n);
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->output);
    free(o->weights);
}

static bool is_near(double found, double expected, double size, const char *what, const char *isa)
{
    if (fabs(found - expected) <= 1e-5 * size)
        return true;
    printf("%s: %s: found %.9g; expected %.9g\n", isa, what, found, expected);
    return false;
}

static int compare(const outcome *a, const outcome *b, const cornu_model *m, const char *isa)
{
    const step_results *found = &a->results, *expected = &b->results;
    int failures = !is_near(found->loss, expected->loss, fabs(expected->loss), "loss", isa);
    failures += !is_near(found->last_loss, expected->last_loss, fabs(expected->last_loss),
                         "last loss", isa);
    for (int i = 0; i < m->metric_count; i++)
        failures +=
            !is_near(found->metrics[i], expected->metrics[i], 1, metric_name(&m->metrics[i]), isa);
    double output = net_difference(b->output, a->output, a->output_count);
    double weights = net_difference(b->weights, a->weights, a->weight_count);
    return failures + !is_near(output, 0, 1, "output's difference", isa) +
           !is_near(weights, 0, 1, "weights' difference", isa);
}

static void heads_are_the_reference_s(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < COUNT(heads); i++)
        for (int mode = PLAN_TRAIN; mode <= PLAN_EVALUATE; mode++) {
            cornu_model *model = model_of(&heads[i]);
            outcome expected = run(model, &heads[i], (plan_mode)mode, "reference", 1);
            for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
                if (!cpu_isa_runs((cpu_isa)isa))
                    continue;
                setenv("CORNU_ISA", cpu_isa_name(isa), 1);
                outcome found = run(model, &heads[i], (plan_mode)mode, "cpu", 2);
                failures += compare(&found, &expected, model, cpu_isa_name(isa));
                outcome_free(&found);
            }
            unsetenv("CORNU_ISA");
            outcome_free(&expected);
            cornu_model_close(model);
        }
    assert_int_equal(failures, 0);
}

static void bits_are_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(heads); i++) {
        cornu_model *model = model_of(&heads[i]);
        outcome one = run(model, &heads[i], PLAN_TRAIN, "cpu", 1);
        outcome three = run(model, &heads[i], PLAN_TRAIN, "cpu", 3);
        assert_memory_equal(&one.results.loss, &three.results.loss, sizeof one.results.loss);
        assert_memory_equal(one.results.metrics, three.results.metrics, sizeof one.results.metrics);
        assert_memory_equal(one.weights, three.weights,
                            (size_t)one.weight_count * sizeof *one.weights);
        outcome_free(&one);
        outcome_free(&three);
        cornu_model_close(model);
    }
}

static void what_shares_its_rows_runs_as_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(heads); i++) {
        cornu_model *model = model_of(&heads[i]);
        plan_options options = {.mode = PLAN_EVALUATE, .batch = heads[i].batch};
        net *n = net_open(model, "cpu", &options);
        kernel_choice *choices = net_choices(n);
        int fused = 0;
        for (int k = 0; k < n->plan->op_count; k++)
            fused += strncmp(choices[k].kernel, "with ", 5) == 0;
        if (fused != heads[i].fused)
            fail_msg("%s, %s: found %d operations within others; expected %d", heads[i].model,
                     heads[i].loss, fused, heads[i].fused);
        free(choices);
        net_close(n);
        cornu_model_close(model);
    }
}

/* The kernel's own check, in addition to that of the samples: the 4 after the row is unchanged. */
static void a_class_number_outside_the_row_has_no_loss(void **state)
{
    (void)state;
    static const struct {
        float number;
        bool is_class;
    } cases[] = {{0, true}, {2, true}, {3, false}, {4, false}, {-1, false}, {NAN, false}};
    const float x[] = {1, 2, 3, 1000, 1000};
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++)
        for (size_t i = 0; i < COUNT(cases) && cpu_isa_runs((cpu_isa)isa); i++) {
            float gradient[] = {7, 7, 7, 7, 7};
            cross_entropy_rows row = {.x = x,
                                      .classes = &cases[i].number,
                                      .gradient = gradient,
                                      .rows = 1,
                                      .n = 3,
                                      .scale = 1};
            double loss = cpu_softmax_kernels[isa]->cross_entropy(&row);
            assert_int_equal(!isnan(loss), cases[i].is_class);
            for (int k = 0; k < 5; k++)
                assert_true(k < 3 ? !isnan(gradient[k]) == cases[i].is_class : gradient[k] == 7);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_the_reference_s),
        cmocka_unit_test(bits_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(a_class_number_outside_the_row_has_no_loss),
        cmocka_unit_test(what_shares_its_rows_runs_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
