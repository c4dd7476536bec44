/* The first use of a device by a driver and these kernels: what the driver's compiler refuses is
   replaced and said; a device that computes wrong results is refused; both are found once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faulty.h"
#include "support/scratch.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static program train(void)
{
    return faulty_run(
        ARGUMENTS("train", "net.yaml", "--data", "mnist", "--device", "opencl:0", "--epochs", "1"));
}

static void expect_says(const program *p, const char *text)
{
    program_must_succeed(p);
    if (!strstr(p->out, text))
        fail_msg("found \"%s\"; expected \"%s\" in it", p->out, text);
}

static void expect_silent(const program *p, const char *text)
{
    program_must_succeed(p);
    if (strstr(p->out, text))
        fail_msg("found \"%s\"; expected no \"%s\" in it", p->out, text);
}

static long kernels_run(void)
{
    char name[64];
    long count, found = 0;
    FILE *f = fopen(scratch_path("counts"), "r");
    assert_non_null(f);
    while (fscanf(f, "%63s %ld", name, &count) == 2)
        if (strcmp(name, "clEnqueueNDRangeKernel") == 0)
            found = count;
    fclose(f);
    return found;
}

/* ---- wrong results --------------------------------------------------------------------------- */

static void wrong_results_are_refused_with_the_operation(void **state)
{
    static const struct {
        const char *kernel, *operation;
    } wrong[] = {{"cornu_winograd_output", ": conv2d_forward (opencl/winograd), element 0 of y: "},
                 {"cornu_reduce_slices", ": dense_forward (opencl/"},
                 {"cornu_update_ADAM", ": update (opencl/"}};
    (void)state;
    faulty_empty_cache();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        faulty_set("OPENCL_SHIM_SKIP", wrong[i].kernel);
        program p = train();
        faulty_expect_error(&p, TEXTS("device opencl:0: is refused, as it computes wrong results",
                                      wrong[i].operation, ": found ", "; expected "));
        program_free(&p);
    }
    faulty_set("OPENCL_SHIM_SKIP", NULL); /* the refusal is not kept */
    program p = train();
    program_must_succeed(&p);
    program_free(&p);
}

static void what_passed_is_not_tried_again(void **state)
{
    long first;
    (void)state;
    faulty_empty_cache();
    faulty_set("OPENCL_SHIM_COUNTS", scratch_path("counts"));
    program p = train();
    program_must_succeed(&p);
    program_free(&p);
    first = kernels_run();
    p = train();
    program_must_succeed(&p);
    program_free(&p);
    assert_true(kernels_run() + 15 <= first); /* the self-test's */
}

/* ---- compilers ------------------------------------------------------------------------------- */

static void tiles_that_do_not_compile_give_way_to_smaller_ones(void **state)
{
    static const char says[] =
        "device opencl:0: kernels \"conv\": the driver's compiler: "
        "clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11): shim.cl:1:2: error: "
        "this compiler was told to fail; tiles of 32 x 64 x 32 are taken";
    (void)state;
    faulty_empty_cache();
    faulty_set("OPENCL_SHIM_NO_SOURCE", "PRODUCT conv_forward");
    faulty_set("OPENCL_SHIM_NO_OPTIONS", "GEMM_K=64");
    program p = train();
    expect_says(&p, says);
    program_free(&p);
    p = train(); /* known by now, and still said */
    expect_says(&p, says);
    program_free(&p);
}

static void without_winograd_convolutions_go_directly(void **state)
{
    (void)state;
    faulty_empty_cache();
    faulty_set("OPENCL_SHIM_NO_SOURCE", "winograd_input,");
    program p = train();
    expect_says(&p, "kernels \"winograd\": ");
    expect_says(&p, "; convolutions go without Winograd");
    expect_silent(&p, "tiles of");
    program_free(&p);
    p = faulty_run(ARGUMENTS("explain", "cifar10-cnn", "--device", "opencl:0"));
    expect_says(&p, "winograd: the driver's compiler refuses it");
    expect_silent(&p, "opencl/winograd");
    program_free(&p);
}

static void what_compiles_in_no_variant_is_an_error_with_the_first_lines(void **state)
{
    static const char *const refused[][2] = {{"PRODUCT conv_forward", "conv"},
                                             {"batch_norm_sums,", "batch_norm"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char unit[64];
        snprintf(unit, sizeof unit,
                 "device opencl:0: kernels \"%s\": the driver's compiler: ", refused[i][1]);
        faulty_empty_cache();
        faulty_set("OPENCL_SHIM_NO_SOURCE", refused[i][0]);
        program p = train();
        faulty_expect_error(&p, TEXTS(unit, "clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11): ",
                                      "shim.cl:1:2: error: this compiler was told to fail\\n",
                                      "of the first lines the second"));
        assert_null(strstr(p.err, "the seventh line"));
        program_free(&p);
        faulty_expect_nothing_hidden();
    }
}

static void calls_that_fail_while_kernels_are_compiled_are_a_line(void **state)
{
    static const char *const faults[][2] = {
        {"clCreateProgramWithSource:1:CL_OUT_OF_HOST_MEMORY", "clCreateProgramWithSource"},
        {"clBuildProgram:7:CL_OUT_OF_HOST_MEMORY", "clBuildProgram"},
        {"clBuildProgram:1+:CL_COMPILER_NOT_AVAILABLE", "clBuildProgram"},
        {"clGetKernelWorkGroupInfo:3:CL_INVALID_KERNEL", "clGetKernelWorkGroupInfo"},
        {"clCreateKernel:2:CL_OUT_OF_RESOURCES", "clCreateKernel"},
        {"clEnqueueNDRangeKernel:2:CL_OUT_OF_RESOURCES", "clEnqueueNDRangeKernel"},
        {"clFinish:30:CL_OUT_OF_RESOURCES", "clFinish"}};
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        faulty_empty_cache();
        faulty_set("OPENCL_SHIM_FAIL", faults[i][0]);
        program p = train();
        faulty_expect_error(&p, TEXTS("device opencl:0: ", faults[i][1],
                                      strchr(strchr(faults[i][0], ':') + 1, ':') + 1));
        program_free(&p);
        faulty_expect_nothing_hidden();
        faulty_set("OPENCL_SHIM_FAIL", NULL);
        p = train();
        program_must_succeed(&p);
        program_free(&p);
    }
}

/* The binary cannot be asked for: nothing is kept, and training goes on. */
static void binaries_that_the_driver_keeps_to_itself_cost_a_compilation(void **state)
{
    (void)state;
    faulty_empty_cache();
    faulty_set("OPENCL_SHIM_FAIL", "clGetProgramInfo:1+:CL_INVALID_PROGRAM");
    for (int i = 0; i < 2; i++) {
        program p = train();
        program_must_succeed(&p);
        program_free(&p);
    }
}

/* ---- the cache ------------------------------------------------------------------------------- */

static void a_run_that_is_killed_while_it_compiles_leaves_a_cache_that_serves(void **state)
{
    enum { MOMENTS = 8 };
    (void)state;
    faulty_empty_cache();
    for (int i = 0; i < MOMENTS; i++) {
        program p = program_start(ARGUMENTS("train", "net.yaml", "--data", "mnist", "--quiet",
                                            "--device", "opencl:0", "--epochs", "1"));
        long milliseconds = 100 + 250 * i;
        nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
        kill(p.pid, SIGKILL);
        program_finish(&p);
        program_free(&p);
    }
    program p = train();
    program_must_succeed(&p);
    program_free(&p);
    faulty_expect_nothing_hidden();
}

static void two_that_compile_at_once_both_train(void **state)
{
    (void)state;
    faulty_empty_cache();
    const char *const arguments[] = {"train",    "net.yaml", "--data",   "mnist", "--quiet",
                                     "--device", "opencl:0", "--epochs", "1",     NULL};
    program p[2] = {program_start(arguments), program_start(arguments)};
    for (int i = 0; i < 2; i++) {
        program_finish(&p[i]);
        program_must_succeed(&p[i]);
        program_free(&p[i]);
    }
    faulty_expect_nothing_hidden();
}

/* Neither a home that cannot be written nor a full disk nor none at all ends a run. */
static void without_a_cache_training_goes_on(void **state)
{
    (void)state;
    static const char *const homes[] = {"/proc/nowhere", NULL};
    faulty_set("HOME", NULL);
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        faulty_set("XDG_CACHE_HOME", homes[i]);
        program p = train();
        program_must_succeed(&p);
        program_free(&p);
    }
    faulty_empty_cache();
    scratch_write(strrchr(getenv("XDG_CACHE_HOME"), '/') + 1, "", 0); /* a file in its place */
    program p = train();
    program_must_succeed(&p);
    program_free(&p);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, faulty_open, faulty_close)
    const struct CMUnitTest tests[] = {
        TEST(wrong_results_are_refused_with_the_operation),
        TEST(what_passed_is_not_tried_again),
        TEST(tiles_that_do_not_compile_give_way_to_smaller_ones),
        TEST(without_winograd_convolutions_go_directly),
        TEST(what_compiles_in_no_variant_is_an_error_with_the_first_lines),
        TEST(calls_that_fail_while_kernels_are_compiled_are_a_line),
        TEST(binaries_that_the_driver_keeps_to_itself_cost_a_compilation),
        TEST(a_run_that_is_killed_while_it_compiles_leaves_a_cache_that_serves),
        TEST(two_that_compile_at_once_both_train),
        TEST(without_a_cache_training_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
