/* The published networks on an accelerator against the cpu: the same losses over the first steps,
   from the same weights and samples, and the same bits twice. Runs on the first accelerator
   available; skipped without any.

   CORNU_TEST_STEPS: this many steps without comparison, for a slow race or memory checker (./check
   --gpu). CORNU_TEST_BATCH: the batch of these steps. CORNU_TEST_WORKLOADS: these workloads alone
   ("mnist-cnn-2,mnist-cnn-4"). CORNU_TEST_FULL: use the published batches also on an OpenCL device
   that is a CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "model/model.h"
#include "support/net.h"
#include "support/runs.h"
#include <cornu/data.h>
#include <cornu/tables.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 30, CPU_BATCH = 2, SIMULATED_STEPS = 2, SIMULATED_BATCH = 2, STEPS_TWICE = 3 };

typedef struct scale {
    int steps, twice; /* of the first test; of each run of the second */
    int64_t batch;    /* 0: as published */
    bool compares,
        copies; /* compare; copy the cpu's state before each step, which a few steps do not need */
    bool simulated; /* a simulated GPU, which is slow */
} scale;

typedef struct outcome {
    double losses[STEPS];
    float *variables; /* all of them, one after another */
    size_t count;
} outcome;

static const char *gpu; /* the device's name; NULL: none */
static scale chosen;

static scale scale_of(const char *name)
{
    cornu_device_info info = {.size = sizeof info, .gpu = true};
    device_id id;
    for (int i = 0; device_at(i, &id, &info) && strcmp(info.name, name) != 0; i++) {
    }
    if (strstr(info.description, "Simulated GPU"))
        return (scale){SIMULATED_STEPS, 1, SIMULATED_BATCH, true, false, true};
    return (scale){STEPS, STEPS_TWICE, info.gpu || getenv("CORNU_TEST_FULL") ? 0 : CPU_BATCH,
                   true,  true,        false};
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

/* Samples of `steps` steps, one after another. */
static cornu_data *made_samples(const cornu_model *model, int64_t batch, int steps)
{
    cornu_data *data = NULL;
    expect_ok(cornu_data_generate(model->input.dim, model->input.rank,
                                  (int)model->output.dim[model->output.rank - 1], batch * steps, 4,
                                  &data));
    return data;
}

static net *open_workload(const char *device, const char *workload, int steps, cornu_data **data)
{
    cornu_model *model = net_model(recipe_text(workload));
    data_spec spec;
    int64_t batch = chosen.batch ? chosen.batch : model->batch;
    expect_ok(data_spec_read(model->data, &spec));
    *data = made_samples(model, batch, steps);
    plan_options options = {.mode = PLAN_TRAIN, .batch = batch, .augment = spec.augment};
    net *n = net_open_with(model, device, &options, NULL);
    if (n->device->ops->upload)
        expect_ok(n->device->ops->upload(n->device, &(*data)->block[CORNU_TRAIN]));
    return n;
}

static void close_workload(net *n, cornu_data *data)
{
    cornu_model *model = n->model;
    net_close(n);
    cornu_data_close(data);
    cornu_model_close(model);
}

/* Step i takes samples i batch to (i + 1) batch - 1. Returns its loss. */
static double run_step(net *n, const cornu_data *data, int i)
{
    int64_t batch = n->plan->batch, *index = calloc((size_t)batch, sizeof *index);
    step_results results;
    assert_non_null(index);
    for (int64_t j = 0; j < batch; j++)
        index[j] = i * batch + j;
    step_input input = {.samples = &data->block[CORNU_TRAIN],
                        .index = index,
                        .seed = 1,
                        .iteration = i,
                        .learning_rate = 0.001f};
    expect_ok(n->device->ops->run(n->device, n->prepared, &input, 1));
    expect_ok(n->device->ops->results(n->device, &results, true));
    free(index);
    return results.last_loss;
}

/* All variables, including an optimizer's slots. */
static void copy_state(net *to, net *from)
{
    for (int i = 0; i < from->model->variable_count; i++) {
        int64_t count = from->model->variables[i].count;
        float *values = calloc((size_t)count, sizeof *values);
        assert_non_null(values);
        expect_ok(from->device->ops->read_variable(from->device, i, values, count));
        expect_ok(to->device->ops->write_variable(to->device, i, values, count));
        free(values);
    }
}

static outcome train(const char *device, const char *workload, int steps)
{
    outcome out = {0};
    cornu_data *data;
    net *n = open_workload(device, workload, steps, &data);
    for (int i = 0; i < steps; i++)
        out.losses[i] = run_step(n, data, i);
    expect_ok(n->device->ops->synchronize(n->device));
    read_variables(n, &out);
    close_workload(n, data);
    return out;
}

/* Before each step both have the cpu's variables: beside a kink of a ReLU or of a maximum two
   correct results diverge, and Adam's first steps amplify that (peers/README.md). */
static void losses_agree_with_the_cpu(void **state)
{
    const char *workload = *state;
    const double limit = 1e-4; /* relative */
    cornu_data *data, *same;
    if (!gpu)
        skip();
    net *found = open_workload(gpu, workload, chosen.steps, &data);
    net *expected = chosen.compares ? open_workload("cpu", workload, chosen.steps, &same) : NULL;
    for (int i = 0; i < chosen.steps; i++) {
        if (expected && chosen.copies && i > 0)
            copy_state(found, expected);
        double loss = run_step(found, data, i), wanted = loss;
        if (expected)
            wanted = run_step(expected, same, i);
        if (!(fabs(loss - wanted) <= limit * fabs(wanted)))
            fail_msg("%s: step %d: found loss %.9g; expected %.9g", workload, i, loss, wanted);
    }
    close_workload(found, data);
    if (expected)
        close_workload(expected, same);
}

static void the_same_bits_twice(void **state)
{
    const char *workload = *state;
    if (!gpu)
        skip();
    outcome a = train(gpu, workload, chosen.twice), b = train(gpu, workload, chosen.twice);
    assert_memory_equal(a.losses, b.losses, sizeof a.losses);
    assert_memory_equal(a.variables, b.variables, a.count * sizeof *a.variables);
    free(a.variables);
    free(b.variables);
}

/* photos-cnn-ready has the network of photos-cnn. */
static bool is_wanted(const char *workload)
{
    const char *list = getenv("CORNU_TEST_WORKLOADS");
    if (!list)
        return !chosen.simulated || strcmp(workload, "photos-cnn-ready") != 0;
    size_t length = strlen(workload);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && strncmp(list, workload, length) == 0)
            return true;
    return false;
}

static struct CMUnitTest test_of(const char *workload, CMUnitTestFunction function)
{
    return (struct CMUnitTest){
        .name = workload, .test_func = function, .initial_state = (void *)(uintptr_t)workload};
}

/* The number in an environment variable, or `otherwise`. */
static long long number_in(const char *variable, long long otherwise)
{
    const char *text = getenv(variable);
    return text ? atoll(text) : otherwise;
}

int main(void)
{
    static struct CMUnitTest agree[16], twice[16];
    size_t count = 0;
    gpu = net_accelerator();
    if (gpu)
        chosen = scale_of(gpu);
    const bool compares = !getenv("CORNU_TEST_STEPS");
    if (!compares)
        chosen = (scale){(int)number_in("CORNU_TEST_STEPS", 0),
                         0,
                         number_in("CORNU_TEST_BATCH", 0),
                         false,
                         false,
                         false};
    if (gpu && (chosen.steps < 1 || chosen.steps > STEPS || chosen.batch < 0)) {
        print_error("CORNU_TEST_STEPS, CORNU_TEST_BATCH: found %d steps of %lld samples; expected "
                    "1 to %d of at least 0\n",
                    chosen.steps, (long long)chosen.batch, STEPS);
        return 2;
    }
    for (int i = 0; cornu_workload_name(i) && count < sizeof agree / sizeof *agree; i++) {
        if (!is_wanted(cornu_workload_name(i)))
            continue;
        agree[count] = test_of(cornu_workload_name(i), losses_agree_with_the_cpu);
        twice[count++] = test_of(cornu_workload_name(i), the_same_bits_twice);
    }
    if (!gpu)
        print_message("no accelerator: %zu tests skipped\n", 2 * count);
    int failed =
        _cmocka_run_group_tests("the first losses agree with the cpu's", agree, count, NULL, NULL);
    if (!compares)
        return failed;
    return failed + _cmocka_run_group_tests("the same bits twice", twice, count, NULL, NULL);
}
