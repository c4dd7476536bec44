/* The published networks on an accelerator beside the cpu: the same losses over the first steps,
   from the same weights and samples, and the same bits twice. Runs on the first accelerator there
   is; skipped without any.

   usage: workloads_on_device_test [STEPS [BATCH [WORKLOAD...]]]

   With STEPS, so many without comparison: what a checker of races and memory, which is slow, runs
   (./check --gpu, scripts/opencl_drivers.sh). CORNU_TEST_FULL: with the published batches, where
   the device is a CPU, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "model/recipes.h"
#include "support/net.h"
#include "support/runs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 30, CPU_BATCH = 2, SIMULATED_STEPS = 3, SIMULATED_BATCH = 2, STEPS_TWICE = 3 };

typedef struct scale {
    int steps;
    int64_t batch; /* 0: as published */
    bool compares;
} scale;

typedef struct outcome {
    double losses[STEPS];
    float *variables; /* all of them, one after another */
    size_t count;
} outcome;

static const char *gpu; /* the device's name; NULL: there is none */
static scale chosen;

static scale scale_of(const char *name)
{
    cornu_device_info info = {.gpu = true};
    device_id id;
    for (int i = 0; device_at(i, &id, &info) && strcmp(info.name, name) != 0; i++) {
    }
    if (strstr(info.description, "Simulated GPU"))
        return (scale){SIMULATED_STEPS, SIMULATED_BATCH, true};
    return (scale){STEPS, info.gpu || getenv("CORNU_TEST_FULL") ? 0 : CPU_BATCH, true};
}

static void read_variables(net *n, outcome *out)
{
    out->count = 0;
    for (int i = 0; i < n->model->variable_count; i++)
        out->count += (size_t)n->model->variables[i].count;
    out->variables = calloc(out->count, sizeof *out->variables);
    assert_non_null(out->variables);
    float *to = out->variables;
    for (int i = 0; i < n->model->variable_count; i++) {
        int64_t count = n->model->variables[i].count;
        expect_ok(n->device->ops->read_variable(n->device, i, to, count));
        to += count;
    }
}

/* Step i takes samples i batch to (i + 1) batch - 1. */
static void run_steps(net *n, const cornu_data *data, int steps, outcome *out)
{
    int64_t batch = n->plan->batch, count = batch * steps;
    int64_t *index = calloc((size_t)count, sizeof *index);
    assert_non_null(index);
    for (int64_t i = 0; i < count; i++)
        index[i] = i;
    if (n->device->ops->upload)
        expect_ok(n->device->ops->upload(n->device, &data->block[CORNU_TRAIN]));
    for (int i = 0; i < steps; i++) {
        step_results results;
        step_input input = {.samples = &data->block[CORNU_TRAIN],
                            .index = index + i * batch,
                            .seed = 1,
                            .iteration = i,
                            .learning_rate = 0.001f};
        expect_ok(n->device->ops->run(n->device, n->prepared, &input, 1));
        expect_ok(n->device->ops->results(n->device, &results, true));
        out->losses[i] = results.last_loss;
    }
    expect_ok(n->device->ops->synchronize(n->device));
    read_variables(n, out);
    free(index);
}

static outcome train(const char *device, const char *workload, int steps)
{
    outcome out = {0};
    cornu_model *model = net_model(recipe_text(workload));
    cornu_data *data = NULL;
    data_spec spec;
    int64_t batch = chosen.batch ? chosen.batch : model->batch;
    expect_ok(data_spec_read(model->data, &spec));
    expect_ok(cornu_data_generate(model->input.dim, model->input.rank,
                                  (int)model->output.dim[model->output.rank - 1], batch * steps, 4,
                                  &data));
    plan_options options = {.mode = PLAN_TRAIN, .batch = batch, .augment = spec.augment};
    net *n = net_open_with(model, device, &options, NULL);
    run_steps(n, data, steps, &out);
    net_close(n);
    cornu_data_close(data);
    cornu_model_close(model);
    return out;
}

/* Relative. Beside a kink of a ReLU or of a maximum two right answers part, and Adam's first steps
   blow that up: within 20 steps real Keras is 5e-3 from itself with the samples of a batch in
   another order (peers/README.md). */
static double limit_of(int step)
{
    return step < 10 ? 1e-4 : 5e-3;
}

static void losses_agree_with_the_cpu(void **state)
{
    const char *workload = *state;
    outcome expected = {0};
    if (!gpu)
        skip();
    outcome found = train(gpu, workload, chosen.steps);
    if (chosen.compares)
        expected = train("cpu", workload, chosen.steps);
    for (int i = 0; i < chosen.steps; i++) {
        double wanted = chosen.compares ? expected.losses[i] : found.losses[i];
        if (!(fabs(found.losses[i] - wanted) <= limit_of(i) * fabs(wanted)))
            fail_msg("%s: step %d: found loss %.9g; expected %.9g", workload, i, found.losses[i],
                     wanted);
    }
    free(found.variables);
    free(expected.variables);
}

static void the_same_bits_twice(void **state)
{
    const char *workload = *state;
    if (!gpu)
        skip();
    outcome a = train(gpu, workload, STEPS_TWICE), b = train(gpu, workload, STEPS_TWICE);
    assert_memory_equal(a.losses, b.losses, sizeof a.losses);
    assert_memory_equal(a.variables, b.variables, a.count * sizeof *a.variables);
    free(a.variables);
    free(b.variables);
}

static bool is_wanted(const char *workload, int argc, char **argv)
{
    for (int i = 3; i < argc; i++)
        if (strcmp(argv[i], workload) == 0)
            return true;
    return argc <= 3;
}

static struct CMUnitTest test_of(const char *workload, CMUnitTestFunction function)
{
    return (struct CMUnitTest){
        .name = workload, .test_func = function, .initial_state = (void *)(uintptr_t)workload};
}

int main(int argc, char **argv)
{
    static struct CMUnitTest agree[16], twice[16];
    size_t count = 0;
    gpu = net_accelerator();
    if (gpu)
        chosen = scale_of(gpu);
    if (argc > 1)
        chosen = (scale){atoi(argv[1]), argc > 2 ? atoll(argv[2]) : 0, false};
    if (gpu && (chosen.steps < 1 || chosen.steps > STEPS || chosen.batch < 0)) {
        print_error("found %s steps; expected 1 to %d\n", argv[1], STEPS);
        return 2;
    }
    for (int i = 0; cornu_workload_name(i) && count < sizeof agree / sizeof *agree; i++) {
        if (!is_wanted(cornu_workload_name(i), argc, argv))
            continue;
        agree[count] = test_of(cornu_workload_name(i), losses_agree_with_the_cpu);
        twice[count++] = test_of(cornu_workload_name(i), the_same_bits_twice);
    }
    if (!gpu)
        print_message("no accelerator: %zu tests skipped\n", 2 * count);
    int failed =
        _cmocka_run_group_tests("the first losses agree with the cpu's", agree, count, NULL, NULL);
    if (argc > 1)
        return failed;
    return failed + _cmocka_run_group_tests("the same bits twice", twice, count, NULL, NULL);
}
