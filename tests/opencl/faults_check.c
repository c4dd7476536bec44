/* Every call of OpenCL fails once at its first, its last and moments between, and the device is
   lost now and then, while `cornu train` goes on from a model file of its first epoch. Each time:
   one line that says what failed, an exit status, no model file lost or half written, nothing left
   behind, and where training came to its end all the same, the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faulty.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

/* ---- the run that faults are put into ------------------------------------------------------ */

static void copy(const char *from, const char *to)
{
    static char data[1 << 20];
    FILE *f = fopen(scratch_path(from), "rb");
    assert_non_null(f);
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    assert_in_range(size, 1, sizeof data - 1);
    scratch_write(to, data, size);
}

static program resume(const char *device)
{
    return faulty_run(ARGUMENTS("train", "net.yaml", "--data", "mnist", "--quiet", "--device",
                                device, "--resume", "m.safetensors", "--epochs", "3"));
}

static void must_end_well(program *p)
{
    if (p->status != 0 || *p->err)
        fail_msg("status %d: %s", p->status, p->err);
    program_free(p);
}

static cornu_model *model_of(const char *name)
{
    cornu_model *model = NULL;
    expect_ok(cornu_model_open(scratch_path(name), &model));
    return model;
}

/* start.safetensors: after one epoch; whole.safetensors: after all; counts: of the calls between.
   What is compiled is in the cache then. */
static void prepare_run(void)
{
    program p = faulty_run(ARGUMENTS("train", "net.yaml", "--data", "mnist", "--quiet", "--device",
                                     "opencl:0", "--epochs", "1", "--save", "start.safetensors"));
    must_end_well(&p);
    copy("start.safetensors", "m.safetensors");
    faulty_set("OPENCL_SHIM_COUNTS", scratch_path("counts"));
    p = resume("opencl:0");
    must_end_well(&p);
    faulty_set("OPENCL_SHIM_COUNTS", NULL);
    copy("m.safetensors", "whole.safetensors");
}

static long calls_of(const char *function)
{
    char name[64];
    long count, found = -1;
    FILE *f = fopen(scratch_path("counts"), "r");
    assert_non_null(f);
    while (fscanf(f, "%63s %ld", name, &count) == 2)
        if (strcmp(name, function) == 0)
            found = count;
    fclose(f);
    assert_true(found >= 0);
    return found;
}

/* The model file opens, stands where an epoch ended, and its training goes on on the cpu. */
static void check_model_file(const program *p)
{
    cornu_model *model = model_of("m.safetensors");
    int64_t epoch = model->training.position.epoch;
    char holds[64];
    assert_in_range(epoch, 1, 3);
    assert_int_equal(model->training.position.step, 0);
    snprintf(holds, sizeof holds, "m.safetensors, saved before, holds epoch %d of 3", (int)epoch);
    if (epoch > 1 && p->status != 0 && !strstr(p->err, holds))
        fail_msg("found \"%s\"; expected \"%s\" in it", p->err, holds);
    cornu_model_close(model);
    program more = resume("cpu");
    must_end_well(&more);
    model = model_of("m.safetensors");
    assert_int_equal(model->training.position.epoch, 3);
    cornu_model_close(model);
}

static void check_same_bits(void)
{
    cornu_model *found = model_of("m.safetensors"), *expected = model_of("whole.safetensors");
    assert_true(same_bits(found, expected));
    cornu_model_close(found);
    cornu_model_close(expected);
}

/* One run with this fault. Returns whether it ended with an error. */
static bool try_fault(const char *fault, const char *const *texts)
{
    copy("start.safetensors", "m.safetensors");
    faulty_set("OPENCL_SHIM_FAIL", fault);
    program p = resume("opencl:0");
    faulty_set("OPENCL_SHIM_FAIL", NULL);
    bool failed = p.status != 0 || *p.err;
    print_message("%s: status %d %s\n", fault, p.status, failed ? p.err : "");
    if (failed)
        faulty_expect_error(&p, texts);
    else
        check_same_bits();
    check_model_file(&p);
    faulty_expect_nothing_hidden();
    program_free(&p);
    return failed;
}

/* ---- faults -------------------------------------------------------------------------------- */

static const char *const functions[] = {
#define OPENCL(name) #name,
#include "device/opencl/plugin/libraries.def"
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* An error that OpenCL has for it. */
static const char *error_for(const char *function)
{
    static const char *const errors[][2] = {
        {"clBuildProgram", "CL_BUILD_PROGRAM_FAILURE"},
        {"clCreateBuffer", "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {"clCreateProgramWithBinary", "CL_INVALID_BINARY"},
        {"clCreateContext", "CL_DEVICE_NOT_AVAILABLE"},
        {"clCreateKernel", "CL_INVALID_KERNEL_NAME"},
        {"clEnqueueMapBuffer", "CL_MAP_FAILURE"},
        {"clFlush", "CL_INVALID_COMMAND_QUEUE"},
        {"clGetEventInfo", "CL_INVALID_EVENT"},
        {"clSetKernelArg", "CL_INVALID_ARG_VALUE"},
        {"clWaitForEvents", "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i][0], function) == 0)
            return errors[i][1];
    return "CL_OUT_OF_RESOURCES";
}

/* Call number `number` of the function fails. */
static int try_call(const char *function, long number)
{
    char fault[192];
    const char *error = error_for(function);
    snprintf(fault, sizeof fault, "%s:%ld:%s", function, number, error);
    return try_fault(fault, TEXTS("pen", function, error)); /* "OpenCL", "device opencl:0" */
}

/* Of `most` moments from the first call to the last. */
static int try_calls(const char *function, int most, int *tried)
{
    int failed = 0;
    long count = calls_of(function), before = 0;
    for (int i = 0; i < most && count > 0; i++) {
        long number = 1 + (count - 1) * i / (most > 1 ? most - 1 : 1);
        if (number == before)
            continue;
        before = number;
        failed += try_call(function, number);
        (*tried)++;
    }
    return failed;
}

static void any_failing_call_is_a_line_and_loses_nothing(void **state)
{
    int tried = 0, failed = 0;
    (void)state;
    prepare_run();
    for (int i = 0; i < FUNCTIONS; i++) {
        bool works =
            strncmp(functions[i], "clEnqueue", 9) == 0 || strcmp(functions[i], "clFinish") == 0;
        failed += try_calls(functions[i], works ? 5 : 3, &tried);
    }
    print_message("%d faults, of which %d ended the run\n", tried, failed);
    assert_true(tried >= 60 && failed >= 40);
}

static void a_lost_device_ends_the_run_with_the_model_file_whole(void **state)
{
    static const struct {
        const char *function, *error;
    } losses[] = {{"clEnqueueNDRangeKernel", "CL_DEVICE_NOT_AVAILABLE"},
                  {"clFinish", "CL_OUT_OF_RESOURCES"},
                  {"clEnqueueReadBuffer", "-9999"},
                  {"clFlush", "CL_INVALID_CONTEXT"}};
    (void)state;
    prepare_run();
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        long count = calls_of(losses[i].function);
        for (int part = 1; part <= 3; part++) {
            char fault[128];
            snprintf(fault, sizeof fault, "%s:%ld!:%s", losses[i].function, 1 + count * part / 4,
                     losses[i].error);
            assert_true(try_fault(fault, TEXTS("device opencl:0: ", losses[i].function,
                                               "the device is lost: ", losses[i].error)));
        }
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

static program train_batch(const char *batch)
{
    return faulty_run(ARGUMENTS("train", "net.yaml", "--data", "mnist", "--quiet", "--device",
                                "opencl:0", "--epochs", "1", "--batch", batch));
}

/* The batch that the message advises, which must then fit, and the next one not. */
static void check_advice(const char *variable, const char *bytes)
{
    char advised[16], next[16];
    faulty_set(variable, bytes);
    program p = train_batch("60");
    faulty_expect_error(&p, TEXTS("opencl:0", "training with batch 60 needs ",
                                  "; the largest batch that fits is "));
    int batch = atoi(strstr(p.err, "that fits is ") + 13);
    print_message("%s", p.err);
    program_free(&p);
    assert_in_range(batch, 1, 59);
    snprintf(advised, sizeof advised, "%d", batch);
    snprintf(next, sizeof next, "%d", batch + 1);
    p = train_batch(advised);
    must_end_well(&p);
    p = train_batch(next);
    faulty_expect_error(&p, TEXTS("; the largest batch that fits is ", advised));
    program_free(&p);
    faulty_set(variable, NULL);
}

static void memory_that_runs_out_names_the_largest_batch(void **state)
{
    (void)state;
    check_advice("OPENCL_SHIM_SAYS_MEMORY", "2000000");
    check_advice("OPENCL_SHIM_MEMORY", "2000000");
    faulty_set("OPENCL_SHIM_LATE", "1");
    check_advice("OPENCL_SHIM_MEMORY", "2000000");
}

static void memory_too_small_for_any_batch_is_said_so(void **state)
{
    (void)state;
    faulty_set("OPENCL_SHIM_MEMORY", "400000");
    program p = train_batch("60");
    faulty_expect_error(&p, TEXTS("opencl:0", "CL_MEM_OBJECT_ALLOCATION_FAILURE"));
    program_free(&p);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, faulty_open, faulty_close)
    const struct CMUnitTest tests[] = {
        TEST(any_failing_call_is_a_line_and_loses_nothing),
        TEST(a_lost_device_ends_the_run_with_the_model_file_whole),
        TEST(memory_that_runs_out_names_the_largest_batch),
        TEST(memory_too_small_for_any_batch_is_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
