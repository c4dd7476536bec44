/* Failures of GPUs, one clear line each: no plug-in, no driver, another version, a lost device, too
   little memory. Most need deliberate failures, which only the simulated libraries give
   (tests/cuda/README.md); those tests are skipped elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/accelerator/plugin.h"
#include "support/net.h"
#include "support/program.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/tables.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_simulated(void)
{
    cornu_device_info info = {.size = sizeof info};
    device_id id;
    for (int i = 0; device_at(i, &id, &info); i++)
        if (info.available && strstr(info.description, "Simulated GPU"))
            return true;
    return false;
}

static void need_simulation(void)
{
    if (!is_simulated())
        skip();
}

static int restore(void **state)
{
    unsetenv("SIMULATED_CUDA_FAIL");
    unsetenv("SIMULATED_CUDA_MEMORY");
    unsetenv("SIMULATED_CUDA_VERSION");
    unsetenv("SIMULATED_CUDA_CAPABILITY");
    unsetenv("CUDA_VISIBLE_DEVICES");
    (void)state;
    return 0;
}

/* ---- before a device is open: the program, with another environment ------------------------ */

/* `cornu devices` must succeed and print `text` about the GPU. */
static void devices_say(const char *text)
{
    program p = program_run(ARGUMENTS("devices"));
    assert_int_equal(p.status, 0);
    assert_string_equal(p.err, "");
    const char *line = strstr(p.out, "\ncuda ");
    if (!line || !strstr(line, text))
        fail_msg("found \"%s\"; expected \"%s\"", p.out, text);
    program_free(&p);
}

/* The same with one variable set; its old value is restored. */
static void devices_say_with(const char *variable, const char *value, const char *text)
{
    const char *kept = getenv(variable);
    char *before = kept ? strdup(kept) : NULL;
    setenv(variable, value, 1);
    devices_say(text);
    if (before)
        setenv(variable, before, 1);
    else
        unsetenv(variable);
    free(before);
}

static void what_is_no_plugin_is_one_clear_line(void **state)
{
    (void)state;
    const char *path = scratch_write("plugin.so", "text", 4);
    devices_say_with("CORNU_CUDA_PLUGIN", path, "not available: ");
    devices_say_with("CORNU_CUDA_PLUGIN", "/no/such/plugin.so", "/no/such/plugin.so");
    program p = program_run(ARGUMENTS("devices", "--json"));
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "\"bus_id\": "));
    assert_non_null(strstr(p.out, "\"capability\": "));
    assert_non_null(strstr(p.out, "\"driver\": "));
    program_free(&p);
}

/* A copy of the plug-in with another version in it. */
static void a_plugin_of_another_version_is_one_clear_line(void **state)
{
    (void)state;
    const char *path = getenv("CORNU_CUDA_PLUGIN");
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (!f)
        skip();
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    char *bytes = malloc(size);
    rewind(f);
    assert_int_equal(fread(bytes, 1, size, f), size);
    fclose(f);
    gpu_plugin_version own = GPU_PLUGIN_VERSION;
    char *found = memmem(bytes, size, &own, sizeof own);
    assert_non_null(found);
    strcpy(found, "0.0.9");
    devices_say_with("CORNU_CUDA_PLUGIN", scratch_write("other.so", bytes, size),
                     "found version 0.0.9; expected " CORNU_VERSION);
    strcpy(found, CORNU_VERSION);
    found[offsetof(gpu_plugin_version, plan)]++;
    devices_say_with("CORNU_CUDA_PLUGIN", scratch_write("others.so", bytes, size),
                     "found a plug-in of other sources");
    free(bytes);
}

static void no_visible_device_is_said_so(void **state)
{
    (void)state;
    cornu_device_info info = {.size = sizeof info};
    device_id id;
    bool any = false;
    for (int i = 0; device_at(i, &id, &info); i++)
        any |= info.available && strncmp(info.name, "cuda:", 5) == 0;
    if (!any)
        skip();
    devices_say_with("CUDA_VISIBLE_DEVICES", "", "no CUDA device (CUDA_VISIBLE_DEVICES is empty)");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    program p = program_run(ARGUMENTS("evaluate", "none.safetensors", "--device", "gpu"));
    assert_int_equal(p.status, 2);
    assert_int_equal(count_lines(p.err), 1);
    assert_non_null(strstr(p.err, "CUDA_VISIBLE_DEVICES is empty"));
    program_free(&p);
}

/* "libcublasLt.so.13", as the plug-in has it. */
static const char *blas_file(void)
{
    static char name[64];
    char path[4096];
    const char *folder = getenv("LD_LIBRARY_PATH");
    for (int version = 10; version < 100; version++) {
        snprintf(name, sizeof name, "libcublasLt.so.%d", version);
        snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(folder, ":"), folder, name);
        if (access(path, F_OK) == 0)
            break;
    }
    return name;
}

static void an_old_driver_and_missing_libraries_are_named(void **state)
{
    (void)state;
    need_simulation();
    const char *folder = getenv("LD_LIBRARY_PATH");
    char other[4096];
    devices_say_with("SIMULATED_CUDA_VERSION", "11040", "is too old: it is for CUDA 11.4");
    devices_say_with("SIMULATED_CUDA_FAIL", "cuInit:1:CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
                     "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
    snprintf(other, sizeof other, "%s:%s", scratch_path(""), folder);
    scratch_write(blas_file(), "text", 4);
    devices_say_with("LD_LIBRARY_PATH", other, "file too short; install libcublas-");
}

/* ---- an open device ------------------------------------------------------------------------ */

static const char net_text[] =
    "model: {input: [6, 6, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3, activation: relu}}, "
    "MaxPooling2D, BatchNormalization, Flatten, {Dropout: {rate: 0.2}}, "
    "{Dense: {units: 3, activation: softmax}}]}\n"
    "compile: {optimizer: {adam: {clipnorm: 1.0}}, loss: sparse_categorical_crossentropy, "
    "metrics: [accuracy]}";

enum { BATCH = 5, MANY = 20 };

/* All calls in a device's life with `steps` steps, at most MANY, of which all but the first can be
   one graph; the first failure's status. */
static cornu_status live(device *d, const cornu_model *model, const plan *p, int steps, bool *lived)
{
    float x[BATCH * 108], y[BATCH], read[256];
    int64_t index[BATCH] = {4, 3, 2, 1, 0};
    sample_block block = {.count = BATCH,
                          .x_shape = {3, {6, 6, 3}},
                          .x_type = SAMPLE_F32,
                          .x = x,
                          .x_scale = 1,
                          .y_shape = {1, {1}},
                          .y_type = SAMPLE_F32,
                          .y = y};
    step_input inputs[MANY];
    step_results results;
    kernel_choice choices[64];
    double seconds[64];
    prepared *ready = NULL;
    net_fill(x, BATCH * 108, 1);
    for (int i = 0; i < BATCH; i++)
        y[i] = (float)(i % 3);
    for (int i = 0; i < MANY; i++)
        inputs[i] = (step_input){.samples = &block, .index = index, .seed = 1, .iteration = i};
    assert_true(p->op_count <= 64 && model->variables[0].count <= 256);
    cornu_status status = d->ops->bind(d, model);
    if (status == CORNU_OK)
        status = d->ops->prepare(d, p, &ready);
    if (status == CORNU_OK)
        status = d->ops->run(d, ready, inputs, steps);
    if (status == CORNU_OK)
        status = d->ops->results(d, &results, true);
    if (status == CORNU_OK)
        status = d->ops->upload(d, &block);
    if (status == CORNU_OK)
        status = d->ops->run(d, ready, inputs, 1);
    if (status == CORNU_OK)
        status = d->ops->choices(d, ready, choices);
    if (status == CORNU_OK)
        status = d->ops->time_operations(d, ready, inputs, seconds);
    if (status == CORNU_OK)
        status = d->ops->launch_gaps(d, ready, seconds);
    if (status == CORNU_OK)
        status = d->ops->synchronize(d);
    if (status == CORNU_OK)
        status = d->ops->read_variable(d, 0, read, model->variables[0].count);
    *lived = status == CORNU_OK;
    d->ops->release(d, ready);
    return status;
}

/* Handles and memory of the simulated libraries that are not released. */
static int alive(void)
{
    union {
        void *symbol;
        int (*count)(void);
    } found = {NULL};
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        found.symbol = dlsym(library, "simulated_alive");
    assert_non_null(found.symbol);
    int count = found.count();
    dlclose(library);
    return count;
}

static cornu_status life(const cornu_model *model, const plan *p, int steps)
{
    device_id id;
    device *d = NULL;
    bool lived;
    cornu_status status = device_find("cuda:0", &id);
    if (status == CORNU_OK)
        status = id.ops->open(id.number, NULL, &d);
    if (status != CORNU_OK) {
        assert_null(d);
        return status;
    }
    status = live(d, model, p, steps, &lived);
    d->ops->close(d);
    return status;
}

typedef struct call {
    const char *name, *error;
} call;

/* Calls that release are left out: they cannot both fail and leave nothing behind. */
static const call calls[] = {
#define CUDA(name) {#name, "CUDA_ERROR_INVALID_VALUE"},
#define BLAS(name) {#name, "13"},  /* CUBLAS_STATUS_EXECUTION_FAILED */
#define DNN(name) {#name, "4000"}, /* CUDNN_STATUS_INTERNAL_ERROR */
#include "device/cuda/plugin/libraries.def"
};

static bool gives_back(const char *name)
{
    return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "Unload") ||
           strstr(name, "Release") || strstr(name, "Pop") || strstr(name, "String") ||
           strstr(name, "ErrorName") || strstr(name, "EndCapture");
}

/* Is the first call during the preparation of a plan, where a library's failure is a refusal? */
static bool own_kernels_follow(const char *name)
{
    return strncmp(name, "cudnn", 5) == 0 || strcmp(name, "cublasLtMatmul") == 0;
}

/* Whichever call fails, the caller gets a status and a line, and the next device works. */
static void any_failing_call_is_reported_and_leaves_nothing_behind(void **state)
{
    (void)state;
    need_simulation();
    cornu_model *model = net_model(net_text);
    plan *p;
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
    int failed = 0, before = alive();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (gives_back(calls[i].name))
            continue;
        for (int number = 1; number <= 2; number++) {
            char failure[128];
            snprintf(failure, sizeof failure, "%s:%d:%s", calls[i].name, number, calls[i].error);
            setenv("SIMULATED_CUDA_FAIL", failure, 1);
            cornu_status status = life(model, p, MANY);
            failed += status != CORNU_OK;
            if (status != CORNU_OK && number == 1 && own_kernels_follow(calls[i].name))
                fail_msg("%s: %s; expected own kernels", failure, cornu_last_error());
            if (alive() != before)
                fail_msg("%s: %d handles were left", failure, alive() - before);
            if (status != CORNU_OK && !strstr(cornu_last_error(), ": "))
                fail_msg("%s: found message \"%s\"", failure, cornu_last_error());
        }
        unsetenv("SIMULATED_CUDA_FAIL");
        if (life(model, p, 2) != CORNU_OK)
            fail_msg("after %s: %s", calls[i].name, cornu_last_error());
    }
    assert_true(failed > 40);
    plan_free(p);
    cornu_model_close(model);
}

static void memory_that_runs_out_is_reported_wherever_it_does(void **state)
{
    (void)state;
    need_simulation();
    cornu_model *model = net_model(net_text);
    plan *p;
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
    int failed = 0, before = alive();
    for (int number = 1; number < 100; number++) {
        char failure[128];
        snprintf(failure, sizeof failure, "cuMemAlloc:%d+:CUDA_ERROR_OUT_OF_MEMORY", number);
        setenv("SIMULATED_CUDA_FAIL", failure, 1);
        cornu_status status = life(model, p, MANY);
        assert_int_equal(alive(), before);
        if (status == CORNU_OK)
            break;
        if (status != CORNU_OUT_OF_MEMORY || !strstr(cornu_last_error(), "(out of memory)"))
            fail_msg("%s: found %s: %s", failure, cornu_status_name(status), cornu_last_error());
        failed++;
    }
    assert_true(failed > 3);
    plan_free(p);
    cornu_model_close(model);
}

static void a_lost_device_fails_with_the_same_line_ever_after_and_closes(void **state)
{
    (void)state;
    need_simulation();
    static const char *const failures[] = {"cuGraphLaunch:2:CUDA_ERROR_LAUNCH_FAILED",
                                           "cuStreamSynchronize:4:CUDA_ERROR_ECC_UNCORRECTABLE",
                                           "cuLaunchKernel:5:CUDA_ERROR_ILLEGAL_ADDRESS"};
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    for (int i = 0; i < 3; i++) {
        net *n = net_open(model, "cuda:0", &options);
        step_results r;
        char first[1024];
        setenv("SIMULATED_CUDA_FAIL", failures[i], 1);
        cornu_status status = CORNU_OK;
        for (int step = 0; step < 100 && status == CORNU_OK; step++) {
            status = n->device->ops->run(n->device, n->prepared, &n->input, 1);
            if (status == CORNU_OK)
                status = n->device->ops->results(n->device, &r, false);
        }
        expect_status(status, CORNU_DEVICE);
        expect_message("device cuda:0: ");
        expect_message("the device is lost: CUDA_ERROR_");
        snprintf(first, sizeof first, "%s", cornu_last_error());
        expect_status(n->device->ops->synchronize(n->device), CORNU_DEVICE);
        assert_non_null(strstr(first, cornu_last_error())); /* it named the operation too */
        expect_status(n->device->ops->run(n->device, n->prepared, &n->input, 1), CORNU_DEVICE);
        assert_non_null(strstr(first, cornu_last_error()));
        net_close(n);
        unsetenv("SIMULATED_CUDA_FAIL");
    }
    cornu_model_close(model);
}

static void lose_device(void *user, const cornu_progress *progress)
{
    (void)user;
    if (progress->epoch == 1)
        setenv("SIMULATED_CUDA_FAIL", "cuMemcpyDtoHAsync:2:CUDA_ERROR_LAUNCH_FAILED", 1);
}

static cornu_status open_and_close(void)
{
    device_id id;
    device *d = NULL;
    expect_ok(device_find("cuda:0", &id));
    cornu_status status = id.ops->open(id.number, NULL, &d);
    if (status == CORNU_OK)
        d->ops->close(d);
    return status;
}

static void the_process_keeps_its_context_until_that_is_lost(void **state)
{
    (void)state;
    need_simulation();
    expect_ok(open_and_close());
    setenv("SIMULATED_CUDA_FAIL", "cuDevicePrimaryCtxRetain:1:CUDA_ERROR_INVALID_VALUE", 1);
    expect_ok(open_and_close());
    setenv("SIMULATED_CUDA_FAIL", "cuStreamCreate:1:CUDA_ERROR_LAUNCH_FAILED", 1);
    expect_status(open_and_close(), CORNU_DEVICE);
    setenv("SIMULATED_CUDA_FAIL", "cuDevicePrimaryCtxRetain:1:CUDA_ERROR_INVALID_VALUE", 1);
    expect_status(open_and_close(), CORNU_DEVICE);
    expect_message("cuDevicePrimaryCtxRetain");
    expect_ok(open_and_close());
}

static void a_lost_device_leaves_the_last_checkpoint_whole(void **state)
{
    (void)state;
    need_simulation();
    cornu_model *model = runs_usual("{batch_size: 8, epochs: 5}"), *saved = NULL;
    cornu_data *data = runs_data(40, 0);
    cornu_fit_options options = {.size = sizeof options,
                                 .where.device = "cuda:0",
                                 .save = scratch_path("m.safetensors"),
                                 .on_epoch = lose_device};
    expect_status(cornu_fit(model, data, &options, NULL), CORNU_DEVICE);
    expect_message("the device is lost");
    unsetenv("SIMULATED_CUDA_FAIL");
    expect_ok(cornu_model_open(options.save, &saved));
    assert_int_equal(saved->training.position.epoch, 2);
    options.resume = true;
    options.on_epoch = NULL;
    expect_ok(cornu_fit(saved, data, &options, NULL));
    assert_int_equal(saved->training.position.epoch, 5);
    cornu_model *whole = runs_usual("{batch_size: 8, epochs: 5}");
    expect_ok(cornu_fit(
        whole, data,
        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .where.device = "cuda:0"}, NULL));
    assert_true(same_bits(whole, saved));
    cornu_model_close(model);
    cornu_model_close(saved);
    cornu_model_close(whole);
    cornu_data_close(data);
}

static cornu_model *trained_with_memory(const cornu_data *data, const char *fit, const char *budget)
{
    cornu_model *model = runs_usual(fit);
    if (budget)
        setenv("SIMULATED_CUDA_MEMORY", budget, 1);
    expect_ok(cornu_fit(
        model, data,
        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .where.device = "cuda:0"}, NULL));
    unsetenv("SIMULATED_CUDA_MEMORY");
    return model;
}

/* The first budget has no room for the samples from the start; the second has, but they must make
   room for the plan. */
static void little_memory_gives_the_same_bits(void **state)
{
    (void)state;
    need_simulation();
    cornu_data *data = runs_data(4000, 0);
    static const char *const fits[] = {"{batch_size: 50, epochs: 2}",
                                       "{batch_size: 500, epochs: 3}"};
    static const char *const budgets[] = {"260000", "560000"};
    for (int i = 0; i < 2; i++) {
        cornu_model *expected = trained_with_memory(data, fits[i], NULL);
        cornu_model *model = trained_with_memory(data, fits[i], budgets[i]);
        assert_true(same_bits(expected, model));
        cornu_model_close(expected);
        cornu_model_close(model);
    }
    cornu_data_close(data);
}

static void steps_that_cannot_be_captured_run_one_by_one(void **state)
{
    (void)state;
    need_simulation();
    cornu_model *model = runs_usual("{batch_size: 8, epochs: 2}"), *other = NULL;
    cornu_data *data = runs_data(200, 0);
    expect_ok(cornu_fit(
        model, data,
        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .where.device = "cuda:0"}, NULL));
    other = runs_usual("{batch_size: 8, epochs: 2}");
    setenv("SIMULATED_CUDA_FAIL", "cuGraphInstantiate:1+:CUDA_ERROR_NOT_SUPPORTED", 1);
    expect_ok(cornu_fit(
        other, data,
        &(cornu_fit_options){.size = sizeof(cornu_fit_options), .where.device = "cuda:0"}, NULL));
    assert_true(same_bits(model, other));
    cornu_model_close(model);
    cornu_model_close(other);
    cornu_data_close(data);
}

static void a_precision_that_the_device_has_not_is_refused(void **state)
{
    (void)state;
    need_simulation();
    device_id id;
    device *d = NULL;
    device_options options = {.precision = PRECISION_TF32};
    assert_int_equal(device_find("cuda:0", &id), CORNU_OK);
    setenv("SIMULATED_CUDA_CAPABILITY", "75", 1);
    expect_status(id.ops->open(0, &options, &d), CORNU_UNSUPPORTED);
    expect_message("found precision tf32; its compute capability 7.5");
    assert_null(d);
    unsetenv("SIMULATED_CUDA_CAPABILITY");
    expect_ok(id.ops->open(0, &options, &d));
    d->ops->close(d);
}

/* For AddressSanitizer: the simulated libraries' memory of a lost device. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:/tests/cuda/\n";
}

int main(void)
{
    /* A lost device's memory is freed with its context, which the simulation does not follow. */
    setenv("SIMULATED_CUDA_LEAKS_ALLOWED", "1", 1);
#define TEST(function) cmocka_unit_test_setup_teardown(function, restore, restore)
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_plugin_is_one_clear_line),
        TEST(a_plugin_of_another_version_is_one_clear_line),
        TEST(no_visible_device_is_said_so),
        TEST(an_old_driver_and_missing_libraries_are_named),
        TEST(the_process_keeps_its_context_until_that_is_lost),
        TEST(any_failing_call_is_reported_and_leaves_nothing_behind),
        TEST(memory_that_runs_out_is_reported_wherever_it_does),
        TEST(little_memory_gives_the_same_bits),
        TEST(steps_that_cannot_be_captured_run_one_by_one),
        TEST(a_precision_that_the_device_has_not_is_refused),
        /* Last, because of the memory that they leave. */
        TEST(a_lost_device_fails_with_the_same_line_ever_after_and_closes),
        TEST(a_lost_device_leaves_the_last_checkpoint_whole),
    };
    if (!is_simulated())
        print_message("no simulated CUDA device: most of these tests are skipped\n");
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
