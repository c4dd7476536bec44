/* GPUs with missing pieces: without cuDNN or with a broken one, with an older driver, without code
   for them. The user is told what is missing, and the rest works. On the simulated libraries alone
   (tests/cuda/README.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/program.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_simulated(void)
{
    cornu_device_info info = {.size = sizeof info};
    device_id id;
    for (int i = 0; device_at(i, &id, &info); i++)
        if (strncmp(info.name, "cuda", 4) == 0 && strstr(info.description, "Simulated GPU"))
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
    unsetenv("SIMULATED_CUDA_CAPABILITY");
    unsetenv("SIMULATED_CUDA_DEVICES");
    (void)state;
    return 0;
}

/* ---- the program with other libraries ------------------------------------------------------- */

/* Folders before the simulated ones in the search path. */
static program run_with(const char *folder, const char *const *arguments)
{
    char *before = strdup(getenv("LD_LIBRARY_PATH")), path[4096];
    snprintf(path, sizeof path, "%s:%s", folder, before);
    setenv("LD_LIBRARY_PATH", path, 1);
    program p = program_run(arguments);
    setenv("LD_LIBRARY_PATH", before, 1);
    free(before);
    if (p.status != 0)
        fail_msg("%s: found status %d: %s", folder, p.status, p.err);
    return p;
}

static void output_has(const program *p, const char *text)
{
    if (!strstr(p->out, text))
        fail_msg("found \"%s\"; expected \"%s\"", p->out, text);
}

/* A folder of the simulated libraries' folder. */
static const char *variant(const char *name)
{
    static char path[4096];
    const char *folder = getenv("LD_LIBRARY_PATH");
    snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(folder, ":"), folder, name);
    return path;
}

static const char *recipe(const char *name, const char *layers)
{
    char text[1024];
    int length = snprintf(text, sizeof text,
                          "model: {input: [6, 6, 3], layers: [%s Flatten, {Dense: {units: 3}}]}\n"
                          "compile: {optimizer: sgd, loss: mean_squared_error}\n",
                          layers);
    return scratch_write(name, text, (size_t)length);
}

static const char convolution[] = "{Conv2D: {filters: 4, kernel_size: 3}},";

/* The cuDNN in `folder` cannot be used because of `why`. */
static void own_kernels_take_over(const char *folder, const char *why)
{
    char line[512];
    program p = run_with(folder, ARGUMENTS("devices"));
    output_has(&p, "\ncuda:0     Simulated GPU");
    snprintf(line, sizeof line, "\n           convolutions by own kernels: %s", why);
    output_has(&p, line);
    assert_null(strstr(p.out, ", cuDNN"));
    program_free(&p);

    const char *conv = recipe("conv.yaml", convolution);
    p = run_with(folder, ARGUMENTS("explain", conv, "--device", "cuda:0"));
    snprintf(line, sizeof line, "; cudnn: %s", why);
    output_has(&p, "cuda/direct");
    output_has(&p, line);
    program_free(&p);
}

static void without_cudnn_convolutions_go_by_own_kernels(void **state)
{
    (void)state;
    need_simulation();
    scratch_write("libcudnn.so.9", "text", 4);
    own_kernels_take_over(scratch_path(""), "");
    program p = run_with(scratch_path(""), ARGUMENTS("devices"));
    output_has(&p, "libcudnn.so.9: file too short; install libcudnn9-cuda-");
    program_free(&p);
    own_kernels_take_over(variant("incomplete"),
                          "libcudnn.so.9 has no cudnnConvolutionBackwardFilter; install a newer");
}

static void dense_models_do_without_cudnn(void **state)
{
    (void)state;
    need_simulation();
    const char *dense = recipe("dense.yaml", "");
    program p = run_with(variant("incomplete"), ARGUMENTS("explain", dense, "--device", "cuda:0"));
    output_has(&p, "cuda/cublaslt");
    assert_null(strstr(p.out, "cudnn"));
    program_free(&p);
}

/* It has cuEventElapsedTime under its first name alone, and no function that is never called. */
static void an_older_driver_has_all_that_is_called(void **state)
{
    (void)state;
    need_simulation();
    const char *dense = recipe("dense.yaml", "");
    program p =
        run_with(variant("older"), ARGUMENTS("explain", dense, "--device", "cuda:0", "--run"));
    output_has(&p, "of limit");
    program_free(&p);
}

/* ---- a cuDNN that does not work ------------------------------------------------------------- */

/* More channels than the own kernel of weights takes before cuDNN. */
static const char net_text[] =
    "model: {input: [6, 6, 5], layers: [{Conv2D: {filters: 6, kernel_size: 3, padding: same, "
    "activation: relu}}, {Conv2D: {filters: 5, kernel_size: 3}}, Flatten, {Dense: {units: 3}}]}\n"
    "compile: {optimizer: sgd, loss: mean_squared_error}";

/* The network's loss in the second of two steps, and the kernels of its convolutions. */
typedef struct outcome {
    double loss;
    int cudnn, direct; /* operations */
    char refused[256]; /* by the last own kernel */
    size_t scratch_most;
} outcome;

static outcome train_net(const device_options *options)
{
    cornu_model *model = net_model(net_text);
    const plan_options exact = {.mode = PLAN_TRAIN, .batch = 4, .exact_convolution = true};
    net *n = net_open_with(model, "cuda:0", &exact, options);
    outcome o = {0};
    net_run(n);
    o.loss = net_run(n);
    kernel_choice *choices = net_choices(n);
    for (int i = 0; i < n->plan->op_count; i++) {
        o.cudnn += strcmp(choices[i].kernel, "cuda/cudnn") == 0;
        if (strcmp(choices[i].kernel, "cuda/direct") != 0)
            continue;
        o.direct++;
        snprintf(o.refused, sizeof o.refused, "%s", choices[i].refused);
    }
    free(choices);
    net_close(n);
    cornu_model_close(model);
    return o;
}

enum { CONVOLUTIONS = 5 }; /* there is no gradient of the samples */

static outcome expected_outcome(void)
{
    outcome o = train_net(NULL);
    assert_int_equal(o.cudnn, CONVOLUTIONS);
    assert_int_equal(o.direct, 0);
    return o;
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-6 * fabs(expected)))
        fail_msg("found a loss of %.9g; expected %.9g", found, expected);
}

/* It is called once: the second call would succeed. */
static void a_cudnn_that_does_not_start_is_not_asked_again(void **state)
{
    (void)state;
    need_simulation();
    outcome own = train_net(&(device_options){.kernel = "direct"});
    setenv("SIMULATED_CUDA_FAIL", "cudnnCreate:1:3007", 1); /* ..._ARCH_MISMATCH */
    outcome found = train_net(NULL);
    assert_int_equal(found.direct, CONVOLUTIONS);
    assert_int_equal(found.cudnn, 0);
    assert_true(found.loss == own.loss);
    assert_non_null(strstr(found.refused, "; cudnn: cuDNN "));
    assert_non_null(strstr(found.refused, "cudnnCreate: CUDNN_STATUS_"));
}

static void what_fails_before_the_first_step_goes_by_own_kernels(void **state)
{
    (void)state;
    need_simulation();
    static const char *const failures[] = {"cudnnConvolutionForward:1:5000",
                                           "cudnnConvolutionBiasActivationForward:1:5001",
                                           "cudnnConvolutionBackwardData:1:4000",
                                           "cudnnConvolutionBackwardFilter:1:5003",
                                           "cudnnGetConvolutionBackwardFilterAlgorithm_v7:1:5000",
                                           "cudnnCreateFilterDescriptor:2:1001"};
    outcome expected = expected_outcome();
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        setenv("SIMULATED_CUDA_FAIL", failures[i], 1);
        outcome found = train_net(NULL);
        if (found.direct != 1 || found.cudnn != CONVOLUTIONS - 1)
            fail_msg("%s: found %d convolutions by own kernels; expected 1", failures[i],
                     found.direct);
        if (!strstr(found.refused, "; cudnn: ") || !strstr(found.refused, "CUDNN_STATUS_"))
            fail_msg("%s: found refusal \"%s\"", failures[i], found.refused);
        assert_near(found.loss, expected.loss);
    }
}

/* As on a GPU for which cuDNN has no kernels, whatever it reports when it is opened. */
static void a_cudnn_that_never_works_is_replaced_everywhere(void **state)
{
    (void)state;
    need_simulation();
    outcome own = train_net(&(device_options){.kernel = "direct"});
    setenv("SIMULATED_CUDA_FAIL",
           "cudnnConvolutionForward:1+:5000,cudnnConvolutionBiasActivationForward:1+:5000,"
           "cudnnConvolutionBackwardData:1+:5000,cudnnConvolutionBackwardFilter:1+:5000",
           1);
    outcome found = train_net(NULL);
    assert_int_equal(found.direct, CONVOLUTIONS);
    assert_true(found.loss == own.loss);
}

/* Bits would change if a step used other kernels than the previous one. */
static void what_fails_later_ends_the_run(void **state)
{
    (void)state;
    need_simulation();
    cornu_model *model = net_model(net_text);
    net *n = net_open(model, "cuda:0", &(plan_options){.mode = PLAN_TRAIN, .batch = 4});
    step_results r;
    setenv("SIMULATED_CUDA_FAIL", "cudnnConvolutionBackwardData:1:5000", 1);
    cornu_status status = n->device->ops->run(n->device, n->prepared, &n->input, 1);
    if (status == CORNU_OK)
        status = n->device->ops->results(n->device, &r, false);
    expect_status(status, CORNU_DEVICE);
    expect_message("cudnnConvolutionBackwardData: CUDNN_STATUS_EXECUTION_FAILED");
    net_close(n);
    cornu_model_close(model);
}

/* Memory may suffice the next time, and then the same seed would give other bits. */
static void want_of_memory_is_no_reason_for_other_kernels(void **state)
{
    (void)state;
    need_simulation();
    static const char *const failures[] = {"cudnnCreate:1:4004",
                                           "cudnnCreateTensorDescriptor:3:4003",
                                           "cudnnConvolutionForward:1:4004"};
    cornu_model *model = net_model(net_text);
    plan *p;
    expect_ok(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 4}, &p));
    for (int i = 0; i < 3; i++) {
        prepared *ready = NULL;
        device *d = net_device_open("cuda:0", NULL);
        expect_ok(d->ops->bind(d, model));
        setenv("SIMULATED_CUDA_FAIL", failures[i], 1);
        expect_status(d->ops->prepare(d, p, &ready), CORNU_OUT_OF_MEMORY);
        expect_message("cudnnC");
        expect_ok(d->ops->prepare(d, p, &ready));
        kernel_choice *choices = calloc((size_t)p->op_count, sizeof *choices);
        expect_ok(d->ops->choices(d, ready, choices));
        for (int k = 0; k < p->op_count; k++)
            assert_string_not_equal(choices[k].kernel, "cuda/direct");
        free(choices);
        d->ops->release(d, ready);
        d->ops->close(d);
    }
    plan_free(p);
    cornu_model_close(model);
}

/* The first library call of the process that fails is the convolution's. */
static void dense_models_do_not_open_cudnn(void **state)
{
    (void)state;
    need_simulation();
    cornu_model *model = net_model("model: {input: [7], layers: [{Dense: {units: 3}}]}\n"
                                   "compile: {optimizer: adam, loss: mean_squared_error}");
    setenv("SIMULATED_CUDA_FAIL", "cudnnCreate:1:5000", 1);
    net *n = net_open(model, "cuda:0", &(plan_options){.mode = PLAN_TRAIN, .batch = 4});
    net_run(n);
    net_close(n);
    cornu_model_close(model);
    assert_int_equal(train_net(NULL).direct, CONVOLUTIONS);
}

/* ---- code for other GPUs --------------------------------------------------------------------- */

static cornu_status open_number(int number)
{
    device_id id;
    device *d = NULL;
    char name[16];
    snprintf(name, sizeof name, "cuda:%d", number);
    cornu_status status = device_find(name, &id);
    if (status == CORNU_OK)
        status = id.ops->open(id.number, NULL, &d);
    if (d)
        d->ops->close(d);
    return status;
}

static void describe_first(cornu_device_info *info)
{
    device_id id;
    int i = 0;
    while (device_at(i, &id, info) && strcmp(info->name, "cuda:0") != 0)
        i++;
    assert_string_equal(info->name, "cuda:0");
}

/* The simulated driver accepts only GPUs for which the file of kernels has code or PTX. */
static void a_gpu_opens_where_there_is_code_for_it_and_else_says_what_build_has(void **state)
{
    (void)state;
    need_simulation();
    static const char *const capabilities[] = {"35", "37", "50", "52", "61",  "70",  "72",  "75",
                                               "80", "86", "89", "90", "100", "121", "130", "200"};
    int available = 0;
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        cornu_device_info info = {.size = sizeof info};
        int capability = atoi(capabilities[i]);
        char code[32];
        setenv("SIMULATED_CUDA_CAPABILITY", capabilities[i], 1);
        describe_first(&info);
        available += info.available;
        if (info.available) {
            if (open_number(0) != CORNU_OK)
                fail_msg("%s: found %s", capabilities[i], cornu_last_error());
            continue;
        }
        assert_int_equal(available, 0); /* PTX for the lowest runs on all above */
        snprintf(code, sizeof code, "(sm_%s)", capabilities[i]);
        if (!strstr(info.reason, "--device opencl:0") ||
            !strstr(info.reason, capability < 50 ? "expected 5.0 or newer" : code))
            fail_msg("%s: found reason \"%s\"", capabilities[i], info.reason);
        expect_status(open_number(0), CORNU_NOT_FOUND);
        assert_non_null(strstr(cornu_last_error(), info.reason));
    }
    assert_true(available >= 3);
}

static void pascal_needs_an_older_toolkit_or_goes_without_a_newer_cudnn(void **state)
{
    (void)state;
    need_simulation();
    cornu_device_info info = {.size = sizeof info};
    setenv("SIMULATED_CUDA_CAPABILITY", "61", 1);
    describe_first(&info);
    if (info.available) {
        assert_non_null(strstr(info.reason, "has no kernels for compute capability 6.1"));
        assert_int_equal(train_net(NULL).direct, CONVOLUTIONS);
    } else if (strstr(info.libraries, "CUDA 13")) {
        assert_non_null(strstr(info.reason, "needs a build with CUDA 12 (sm_61)"));
    }
}

static void a_gpu_without_code_does_not_hide_the_next(void **state)
{
    (void)state;
    need_simulation();
    setenv("SIMULATED_CUDA_DEVICES", "2", 1);
    setenv("SIMULATED_CUDA_CAPABILITY", "35,90", 1);
    expect_status(open_number(0), CORNU_NOT_FOUND);
    expect_ok(open_number(1));
    program p = program_run(ARGUMENTS("explain", recipe("dense.yaml", ""), "--device", "gpu"));
    assert_int_equal(p.status, 0);
    program_free(&p);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, restore, restore)
    const struct CMUnitTest tests[] = {
        TEST(without_cudnn_convolutions_go_by_own_kernels),
        TEST(dense_models_do_without_cudnn),
        TEST(an_older_driver_has_all_that_is_called),
        TEST(a_cudnn_that_does_not_start_is_not_asked_again),
        TEST(what_fails_before_the_first_step_goes_by_own_kernels),
        TEST(a_cudnn_that_never_works_is_replaced_everywhere),
        TEST(what_fails_later_ends_the_run),
        TEST(want_of_memory_is_no_reason_for_other_kernels),
        TEST(dense_models_do_not_open_cudnn),
        TEST(a_gpu_opens_where_there_is_code_for_it_and_else_says_what_build_has),
        TEST(pascal_needs_an_older_toolkit_or_goes_without_a_newer_cudnn),
        TEST(a_gpu_without_code_does_not_hide_the_next),
    };
    if (!is_simulated())
        print_message("no simulated CUDA device: these tests are skipped\n");
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
