/* The published networks on the cuda device beside the cpu: the same losses over the first steps,
   from the same weights and samples. With a number as argument, that many steps without comparison
   (./check --gpu runs one under compute-sanitizer). */
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

enum { STEPS = 20, SIMULATED_STEPS = 3, SIMULATED_BATCH = 2 };

typedef struct scale {
    int steps;
    int64_t batch; /* 0: as published */
    bool compares;
} scale;

static char gpu[64]; /* the device's name; "": there is none */
static scale chosen = {.steps = STEPS, .compares = true};

static void find_gpu(void)
{
    cornu_device_info info;
    device_id id;
    for (int i = 0; device_at(i, &id, &info) && !*gpu; i++) {
        if (!info.available || strncmp(info.name, "cuda:", 5) != 0)
            continue;
        snprintf(gpu, sizeof gpu, "%s", info.name);
        if (strstr(info.description, "Simulated GPU"))
            chosen = (scale){.steps = SIMULATED_STEPS, .batch = SIMULATED_BATCH, .compares = true};
    }
}

/* losses[step] of training on samples 0..batch-1, batch..2 batch-1, ... */
static void train(const char *device, const char *workload, double *losses)
{
    cornu_model *model = net_model(recipe_text(workload));
    cornu_data *data = NULL;
    data_spec spec;
    int64_t batch = chosen.batch ? chosen.batch : model->batch, count = batch * chosen.steps;
    expect_ok(data_spec_read(model->data, &spec));
    expect_ok(cornu_data_generate(model->input.dim, model->input.rank,
                                  (int)model->output.dim[model->output.rank - 1], count, 4, &data));
    plan_options options = {.mode = PLAN_TRAIN, .batch = batch, .augment = spec.augment};
    net *n = net_open_with(model, device, &options, NULL);
    int64_t *index = calloc((size_t)count, sizeof *index);
    assert_non_null(index);
    for (int64_t i = 0; i < count; i++)
        index[i] = i;
    if (n->device->ops->upload)
        expect_ok(n->device->ops->upload(n->device, &data->block[CORNU_TRAIN]));
    for (int i = 0; i < chosen.steps; i++) {
        step_results results;
        step_input input = {.samples = &data->block[CORNU_TRAIN],
                            .index = index + i * batch,
                            .seed = 1,
                            .iteration = i,
                            .learning_rate = 0.001f};
        expect_ok(n->device->ops->run(n->device, n->prepared, &input, 1));
        expect_ok(n->device->ops->results(n->device, &results, true));
        losses[i] = results.last_loss;
    }
    free(index);
    net_close(n);
    cornu_data_close(data);
    cornu_model_close(model);
}

static void losses_agree_with_the_cpu(void **state)
{
    const char *workload = *state;
    double found[STEPS], expected[STEPS];
    if (!*gpu)
        skip();
    train(gpu, workload, found);
    if (chosen.compares)
        train("cpu", workload, expected);
    for (int i = 0; i < chosen.steps; i++) {
        double wanted = chosen.compares ? expected[i] : found[i];
        if (!(fabs(found[i] - wanted) <= 1e-4 * fabs(wanted)))
            fail_msg("%s: step %d: found loss %.9g; expected %.9g", workload, i, found[i], wanted);
    }
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[16];
    size_t count = 0;
    find_gpu();
    if (argc > 1)
        chosen = (scale){.steps = atoi(argv[1])};
    if (chosen.steps < 1 || chosen.steps > STEPS) {
        print_error("found %s steps; expected 1 to %d\n", argv[1], STEPS);
        return 2;
    }
    for (int i = 0; cornu_workload_name(i) && count < sizeof tests / sizeof *tests; i++)
        tests[count++] = (struct CMUnitTest){
            .name = cornu_workload_name(i),
            .test_func = losses_agree_with_the_cpu,
            .initial_state = (void *)(uintptr_t)cornu_workload_name(i),
        };
    if (!*gpu)
        print_message("no CUDA device: %zu tests skipped\n", count);
    return _cmocka_run_group_tests("the first losses agree with the cpu's", tests, count, NULL,
                                   NULL);
}
