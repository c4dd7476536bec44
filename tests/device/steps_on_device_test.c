/* An accelerator against the reference: the same numbers however steps are queued, captured,
   streamed and timed. Runs on the first one available, which may be the simulated libraries of
   tests/cuda or PoCL; skipped without any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include "support/net.h"
#include <cornu/tables.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 6,
    SAMPLES = 40,
    SIDE = 8,
    CHANNELS = 2,
    PIXELS = SIDE * SIDE * CHANNELS,
    STEPS = 100
};

static const char text_without_dropout[] =
    "model: {input: [8, 8, 2], layers: ["
    "{Conv2D: {filters: 6, kernel_size: 3, padding: same, activation: relu}}, MaxPooling2D, "
    "{Conv2D: {filters: 5, kernel_size: [3, 2], strides: [1, 2], activation: elu}}, Flatten, "
    "{Dense: {units: 9, activation: tanh}}, {Dense: {units: 3, activation: softmax}}]}\n"
    "compile: {optimizer: {adam: {learning_rate: 0.01}}, loss: sparse_categorical_crossentropy, "
    "metrics: [accuracy]}";
static const char text_with_all[] =
    "model: {input: [8, 8, 2], layers: ["
    "{Conv2D: {filters: 6, kernel_size: 3, padding: same}}, BatchNormalization, "
    "{Activation: {activation: relu}}, MaxPooling2D, {Dropout: {rate: 0.3}}, Flatten, "
    "{Dense: {units: 7, activation: relu}}, {Dense: {units: 3, activation: softmax}}]}\n"
    "compile: {optimizer: {sgd: {learning_rate: 0.02, momentum: 0.9, clipnorm: 1.0}}, "
    "loss: sparse_categorical_crossentropy, metrics: [accuracy]}";

static const char *gpu_or_skip(void)
{
    const char *name = net_accelerator();
    if (!name)
        skip();
    return name;
}

/* ---- a run of steps ----------------------------------------------------------------------- */

typedef struct series {
    sample_block block;
    uint8_t pixels[SAMPLES * PIXELS];
    int32_t labels[SAMPLES];
    int64_t index[STEPS][BATCH];
    step_input inputs[STEPS];
} series;

/* Each step has other samples; random numbers depend on nothing else. */
static series *new_series(void)
{
    series *s = calloc(1, sizeof *s);
    assert_non_null(s);
    random_stream r = random_open(3, RANDOM_GENERATE, 0);
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        s->pixels[i] = (uint8_t)random_u32(&r);
    for (int i = 0; i < SAMPLES; i++)
        s->labels[i] = (int32_t)random_below(&r, 3);
    s->block = (sample_block){.count = SAMPLES,
                              .x_shape = {3, {SIDE, SIDE, CHANNELS}},
                              .x_type = SAMPLE_U8,
                              .x = s->pixels,
                              .x_scale = 1.0f / 255,
                              .y_type = SAMPLE_I32,
                              .y = s->labels};
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; k < BATCH; k++)
            s->index[i][k] = (int64_t)random_below(&r, SAMPLES);
        s->inputs[i] = (step_input){.samples = &s->block,
                                    .index = s->index[i],
                                    .seed = 9,
                                    .iteration = i,
                                    .epoch = i / 10,
                                    .learning_rate = 0.01f};
    }
    return s;
}

static void must(cornu_status status)
{
    if (status != CORNU_OK)
        fail_msg("%s", cornu_last_error());
}

typedef enum manner {
    AT_ONCE,      /* all steps in one call */
    ONE_BY_ONE,   /* a call per step */
    WITH_RESULTS, /* and the sums are read after each */
    RESIDENT      /* at once, from samples that stay on the device */
} manner;

typedef struct outcome {
    float *variables; /* all of them, one after another */
    int64_t count;
    step_results results;
    double losses[STEPS]; /* WITH_RESULTS */
} outcome;

static void run_in_manner(net *n, const series *s, int steps, manner how, outcome *out)
{
    const device_ops *ops = n->device->ops;
    if (how == RESIDENT && ops->upload)
        must(ops->upload(n->device, &s->block));
    if (how == AT_ONCE || how == RESIDENT)
        must(ops->run(n->device, n->prepared, s->inputs, steps));
    for (int i = 0; i < steps && (how == ONE_BY_ONE || how == WITH_RESULTS); i++) {
        must(ops->run(n->device, n->prepared, &s->inputs[i], 1));
        if (how != WITH_RESULTS)
            continue;
        must(ops->results(n->device, &out->results, false));
        out->losses[i] = out->results.last_loss;
    }
    must(ops->results(n->device, &out->results, true));
}

static void read_variables(net *n, outcome *out)
{
    out->count = 0;
    for (int i = 0; i < n->model->variable_count; i++)
        out->count += n->model->variables[i].count;
    out->variables = calloc((size_t)out->count, sizeof *out->variables);
    assert_non_null(out->variables);
    float *to = out->variables;
    for (int i = 0; i < n->model->variable_count; i++) {
        int64_t count = n->model->variables[i].count;
        must(n->device->ops->read_variable(n->device, i, to, count));
        to += count;
    }
}

static outcome train(const char *text, const char *device, int steps, manner how,
                     augmentation augment)
{
    outcome out = {0};
    cornu_model *model = net_model(text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH, .augment = augment};
    net *n = net_open(model, device, &options);
    series *s = new_series();
    run_in_manner(n, s, steps, how, &out);
    read_variables(n, &out);
    net_close(n);
    free(s);
    cornu_model_close(model);
    return out;
}

static void assert_same(const outcome *a, const outcome *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->variables, b->variables, (size_t)a->count * sizeof *a->variables);
    assert_int_equal(a->results.samples, b->results.samples);
    assert_true(a->results.loss == b->results.loss);
    assert_true(a->results.metrics[0] == b->results.metrics[0]);
    assert_true(a->results.last_loss == b->results.last_loss);
}

static const augmentation none = {0};

static void losses_of_20_steps_agree_with_the_reference(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    const char *const texts[] = {text_without_dropout, text_with_all};
    for (int t = 0; t < 2; t++) {
        outcome expected = train(texts[t], "reference", 20, WITH_RESULTS, none);
        outcome found = train(texts[t], gpu, 20, WITH_RESULTS, none);
        for (int i = 0; i < 20; i++) {
            double difference = fabs(found.losses[i] - expected.losses[i]);
            if (!(difference <= 1e-4 * fabs(expected.losses[i])))
                fail_msg("step %d: found loss %.9g; expected %.9g", i, found.losses[i],
                         expected.losses[i]);
        }
        assert_int_equal(found.results.samples, 20 * BATCH);
        assert_true(found.results.metrics[0] == expected.results.metrics[0]);
        free(expected.variables);
        free(found.variables);
    }
}

static void every_manner_of_queueing_gives_the_same_bits(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    outcome first = train(text_with_all, gpu, STEPS, AT_ONCE, none);
    for (int how = ONE_BY_ONE; how <= RESIDENT; how++) {
        outcome other = train(text_with_all, gpu, STEPS, (manner)how, none);
        assert_same(&first, &other);
        free(other.variables);
    }
    outcome again = train(text_with_all, gpu, STEPS, AT_ONCE, none);
    assert_same(&first, &again);
    free(first.variables);
    free(again.variables);
}

/* Transforms are keyed by the sample's own number, wherever its pixels are. */
static void augmented_samples_are_the_same_streamed_and_resident(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    augmentation augment = {.rotation_range = 20,
                            .zoom_range = {-0.2f, 0.2f},
                            .width_shift_range = {.most = 0.1f},
                            .horizontal_flip = true};
    outcome streamed = train(text_without_dropout, gpu, 30, AT_ONCE, augment);
    outcome resident = train(text_without_dropout, gpu, 30, RESIDENT, augment);
    outcome plain = train(text_without_dropout, gpu, 30, RESIDENT, none);
    assert_same(&streamed, &resident);
    assert_true(plain.results.loss != resident.results.loss);
    free(streamed.variables);
    free(resident.variables);
    free(plain.variables);
}

/* ---- plans -------------------------------------------------------------------------------- */

/* A larger plan moves the arena: addresses, tables and graphs of the first are made again. */
static void a_plan_goes_on_after_its_memory_has_moved(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    outcome expected = train(text_without_dropout, gpu, 60, AT_ONCE, none), found = {0};
    cornu_model *model = net_model(text_without_dropout);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    plan_options larger = {.mode = PLAN_EVALUATE, .batch = 30 * BATCH};
    net *n = net_open(model, gpu, &options);
    series *s = new_series();
    const device_ops *ops = n->device->ops;
    must(ops->run(n->device, n->prepared, s->inputs, 40));
    plan *p;
    prepared *ready;
    must(plan_build(model, &larger, &p));
    must(ops->prepare(n->device, p, &ready));
    must(ops->run(n->device, n->prepared, s->inputs + 40, 20));
    must(ops->results(n->device, &found.results, true));
    read_variables(n, &found);
    assert_same(&expected, &found);
    ops->release(n->device, ready);
    plan_free(p);
    net_close(n);
    free(s);
    cornu_model_close(model);
    free(expected.variables);
    free(found.variables);
}

/* Waiting steps belong to the sums, whatever the next call is. */
static void waiting_steps_run_before_another_plan_and_before_release(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    cornu_model *model = net_model(text_without_dropout);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    plan_options evaluate = {.mode = PLAN_EVALUATE, .batch = BATCH};
    net *n = net_open(model, gpu, &options);
    series *s = new_series();
    const device_ops *ops = n->device->ops;
    step_results r;
    plan *p;
    prepared *ready;
    must(plan_build(model, &evaluate, &p));
    must(ops->prepare(n->device, p, &ready));
    for (int i = 0; i < 5; i++)
        must(ops->run(n->device, n->prepared, &s->inputs[i], 1));
    for (int i = 0; i < 3; i++)
        must(ops->run(n->device, ready, &s->inputs[i], 1));
    ops->release(n->device, ready);
    must(ops->results(n->device, &r, true));
    assert_int_equal(r.samples, 8 * BATCH);
    plan_free(p);
    net_close(n);
    free(s);
    cornu_model_close(model);
}

/* The device keeps convolution kernels in another order than the host. */
static void kernels_and_their_gradients_are_read_in_the_hosts_order(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    cornu_model *model = net_model(text_without_dropout);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH, .scope = SCOPE_GRADIENTS};
    net *reference = net_open(model, "reference", &options), *n = net_open(model, gpu, &options);
    net_run(reference);
    net_run(n);
    for (int i = 0; i < model->weight_count; i++) {
        int64_t count = model->variables[i].count;
        float *expected = net_read(reference, reference->plan->gradients[i]);
        float *found = net_read(n, n->plan->gradients[i]);
        assert_true(net_difference(expected, found, count) < 1e-4);
        float *value = net_read_variable(n, model->variables[i].name);
        assert_memory_equal(value, model->variables[i].value, (size_t)count * sizeof *value);
        net_write_variable(n, i, expected);
        free(value);
        value = net_read_variable(n, model->variables[i].name);
        assert_memory_equal(value, expected, (size_t)count * sizeof *value);
        free(value);
        free(expected);
        free(found);
    }
    net_close(reference);
    net_close(n);
    cornu_model_close(model);
}

static void timing_operations_runs_the_same_step(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    outcome expected = train(text_with_all, gpu, 5, AT_ONCE, none), found = {0};
    cornu_model *model = net_model(text_with_all);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    net *n = net_open(model, gpu, &options);
    series *s = new_series();
    double *seconds = calloc((size_t)n->plan->op_count, sizeof *seconds), sum = 0;
    for (int i = 0; i < 5; i++) {
        must(n->device->ops->time_operations(n->device, n->prepared, &s->inputs[i], seconds));
        for (int k = 0; k < n->plan->op_count; k++) {
            assert_true(seconds[k] >= 0);
            sum += seconds[k];
        }
    }
    assert_true(sum > 0);
    must(n->device->ops->results(n->device, &found.results, true));
    read_variables(n, &found);
    assert_same(&expected, &found);
    free(seconds);
    net_close(n);
    free(s);
    cornu_model_close(model);
    free(expected.variables);
    free(found.variables);
}

/* The gaps that explain subtracts: for operations that launch a kernel alone, and more for more
   launches. On OpenCL none, as its clock covers kernels alone. */
static void launch_gaps_grow_with_the_launches(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    cornu_model *model = net_model(text_with_all);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    net *n = net_open(model, gpu, &options);
    double gaps[64], lone = 0;
    assert_true(n->plan->op_count <= 64);
    must(n->device->ops->launch_gaps(n->device, n->prepared, gaps));
    kernel_choice *choices = net_choices(n);
    for (int i = 0; i < n->plan->op_count; i++)
        if (choices[i].launches == 1)
            lone = gaps[i];
    assert_true(strncmp(gpu, "opencl", 6) == 0 ? lone == 0 : lone > 0 && lone < 1e-2);
    for (int i = 0; i < n->plan->op_count; i++) {
        int launches = choices[i].launches;
        assert_true(launches == 0 ? gaps[i] == 0
                    : launches == 1 || lone == 0
                        ? gaps[i] == lone
                        : gaps[i] > lone && gaps[i] < 10 * launches * lone);
    }
    free(choices);
    net_close(n);
    cornu_model_close(model);
}

static void choices_name_each_kernel_and_count_its_launches(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    cornu_model *model = net_model(text_with_all);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    net *n = net_open(model, gpu, &options);
    kernel_choice *choices = net_choices(n);
    double before = net_run(n);
    assert_true(isfinite(before));
    size_t kind = strcspn(gpu, ":");
    for (int i = 0; i < n->plan->op_count; i++) {
        bool own = strncmp(choices[i].kernel, gpu, kind) == 0 && choices[i].kernel[kind] == '/';
        assert_true(own || strncmp(choices[i].kernel, "with ", 5) == 0);
        assert_true(own ? choices[i].launches > 0 : choices[i].launches == 0);
        assert_true(!own || choices[i].bytes > 0);
    }
    free(choices);
    net_close(n);
    cornu_model_close(model);
}

/* ---- the device ---------------------------------------------------------------------------- */

typedef struct job {
    net *n;
    const series *s;
    int first, count;
    cornu_status status;
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    j->status =
        j->n->device->ops->run(j->n->device, j->n->prepared, j->s->inputs + j->first, j->count);
    return NULL;
}

static void threads_may_use_a_device_in_turn(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    outcome expected = train(text_with_all, gpu, 40, AT_ONCE, none), found = {0};
    cornu_model *model = net_model(text_with_all);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    net *n = net_open(model, gpu, &options);
    series *s = new_series();
    for (int i = 0; i < 4; i++) {
        job j = {.n = n, .s = s, .first = i * 10, .count = 10};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_job, &j), 0);
        pthread_join(thread, NULL);
        must(j.status);
    }
    must(n->device->ops->results(n->device, &found.results, true));
    read_variables(n, &found);
    assert_same(&expected, &found);
    net_close(n);
    free(s);
    cornu_model_close(model);
    free(expected.variables);
    free(found.variables);
}

static void clock_sensors_and_limits_give_numbers_that_can_be(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    cornu_model *model = net_model(text_without_dropout);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    net *n = net_open(model, gpu, &options);
    const device_ops *ops = n->device->ops;
    double seconds = -1;
    device_limits limits;
    device_sensors sensors;
    must(ops->timer(n->device, NULL));
    net_run(n);
    must(ops->timer(n->device, &seconds));
    assert_true(seconds > 0 && seconds < 600);
    must(ops->sensors(n->device, &sensors));
    assert_true(isnan(sensors.watts) || sensors.watts > 0);
    assert_true(isnan(sensors.clock_mhz) || sensors.clock_mhz > 0);
    setenv("SIMULATED_CUBLAS_NO_CONSTANTS", "1", 1);
    must(ops->limits(n->device, &limits));
    unsetenv("SIMULATED_CUBLAS_NO_CONSTANTS");
    assert_true(limits.fma > 0 && limits.read > 0 && limits.update > 0);
    /* a driver need not know the cache: Mesa's rusticl does not */
    assert_true(limits.cache_bytes >= 0 && (limits.cache_update > 0) == (limits.cache_bytes > 0));
    assert_true(limits.launch_seconds > 0);
    assert_true(limits.tf32 >= 0 && limits.bf16 >= 0);
    assert_true(ops->memory_free(n->device) > 0);
    net_close(n);
    cornu_model_close(model);
}

static void a_number_beyond_the_last_device_is_one_clear_line(void **state)
{
    (void)state;
    const char *gpu = gpu_or_skip();
    char beyond[64], quoted[80];
    device_id id;
    snprintf(beyond, sizeof beyond, "%.*s:99", (int)strcspn(gpu, ":"), gpu);
    snprintf(quoted, sizeof quoted, "\"%s\"", beyond);
    assert_int_equal(device_find(beyond, &id), CORNU_NOT_FOUND);
    assert_non_null(strstr(cornu_last_error(), quoted));
    assert_non_null(strstr(cornu_last_error(), gpu));
}

/* An OpenCL device may be the CPU, which is no GPU. */
static void gpu_is_the_first_device_that_is_one(void **state)
{
    (void)state;
    cornu_device_info info = {.size = sizeof info};
    device_id first, found;
    bool any = false;
    gpu_or_skip();
    for (int i = 0; !any && device_at(i, &first, &info); i++)
        any = info.available && info.gpu;
    assert_int_equal(device_find("gpu", &found), any ? CORNU_OK : CORNU_NOT_FOUND);
    if (!any)
        return;
    assert_ptr_equal(found.ops, first.ops);
    assert_int_equal(found.number, first.number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_of_20_steps_agree_with_the_reference),
        cmocka_unit_test(every_manner_of_queueing_gives_the_same_bits),
        cmocka_unit_test(augmented_samples_are_the_same_streamed_and_resident),
        cmocka_unit_test(a_plan_goes_on_after_its_memory_has_moved),
        cmocka_unit_test(waiting_steps_run_before_another_plan_and_before_release),
        cmocka_unit_test(kernels_and_their_gradients_are_read_in_the_hosts_order),
        cmocka_unit_test(timing_operations_runs_the_same_step),
        cmocka_unit_test(launch_gaps_grow_with_the_launches),
        cmocka_unit_test(choices_name_each_kernel_and_count_its_launches),
        cmocka_unit_test(threads_may_use_a_device_in_turn),
        cmocka_unit_test(clock_sensors_and_limits_give_numbers_that_can_be),
        cmocka_unit_test(a_number_beyond_the_last_device_is_one_clear_line),
        cmocka_unit_test(gpu_is_the_first_device_that_is_one),
    };
    if (!net_accelerator())
        print_message("no accelerator: %zu tests skipped\n", sizeof tests / sizeof *tests);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
