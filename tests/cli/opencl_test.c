/* What the program says of OpenCL: without any driver, with one, with a device that lacks
   something. The last two by PoCL, where the device under test is an OpenCL device. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool has_opencl(void)
{
    const char *devices = getenv("CORNU_TEST_DEVICES");
    return devices && strncmp(devices, "opencl", 6) == 0;
}

/* The program without any driver, or with a driver's environment; then as it was. */
static program run_with(const char *variable, const char *value, const char *const *arguments)
{
    const char *before = getenv(variable);
    char kept[1024] = "";
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    setenv(variable, value, 1);
    program p = program_run(arguments);
    if (before)
        setenv(variable, kept, 1);
    else
        unsetenv(variable);
    return p;
}

static program run_without_drivers(const char *const *arguments)
{
    return run_with("OCL_ICD_VENDORS", "/nowhere", arguments);
}

/* "a\n  b" as "a b": as lines were before they were broken. */
static void join_lines(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool broken = *from == '\n' && from[1] == ' ';
        if (broken)
            from += strspn(from + 1, " ");
        *to = broken ? ' ' : *from;
        to++;
    }
    *to = '\0';
}

static void must_say(program *p, const char *what)
{
    join_lines(p->out);
    if (p->status != 0 || !strstr(p->out, what))
        fail_msg("status %d: expected \"%s\" in: %s%s", p->status, what, p->out, p->err);
}

/* "no OpenCL platform: install...", "no OpenCL (libOpenCL.so.1: ...); install..."; or that there is
   no plug-in. */
static const char *what_is_missing(void)
{
    return CORNU_HAS_OPENCL ? "no OpenCL" : "this build has no OpenCL plug-in";
}

static const char *what_to_install(void)
{
    return CORNU_HAS_OPENCL ? "pocl-opencl-icd" : "build cornu where the headers of OpenCL";
}

static void without_a_driver_one_line_says_what_to_install(void **state)
{
    (void)state;
    char line[160];
    program p = run_without_drivers(ARGUMENTS("devices"));
    snprintf(line, sizeof line, "opencl     not available: %s", what_is_missing());
    must_say(&p, line);
    must_say(&p, what_to_install());
    program_free(&p);
    p = run_without_drivers(ARGUMENTS("train", "mnist-cnn-2", "--device", "opencl:0"));
    assert_int_equal(p.status, 2);
    assert_int_equal(count_lines(p.err), 1);
    program_free(&p);
    p = run_without_drivers(ARGUMENTS("train", "mnist-cnn-2", "--device", "opencl"));
    assert_int_equal(p.status, 2);
    assert_int_equal(count_lines(p.err), 1);
    assert_non_null(strstr(p.err, what_to_install()));
    program_free(&p);
}

static void bench_of_all_devices_says_which_are_missing_and_why(void **state)
{
    (void)state;
    char line[160];
    program p = run_without_drivers(ARGUMENTS("bench", "cifar100-mlp", "--quick", "--steps", "1",
                                              "--batch", "2", "--device", "all"));
    snprintf(line, sizeof line, "Note: opencl: not available: %s", what_is_missing());
    must_say(&p, line);
    must_say(&p, what_to_install());
    assert_non_null(strstr(p.out, " cpu "));
    program_free(&p);
}

/* Both rows, the second with its time over the first's, and the device's limits. */
static void bench_of_all_devices_holds_the_device_beside_the_cpu(void **state)
{
    (void)state;
    if (!has_opencl())
        skip();
    program p = program_run(ARGUMENTS("bench", "cifar100-mlp", "--quick", "--steps", "1", "--batch",
                                      "2", "--device", "all", "--json", "b.json"));
    must_say(&p, "opencl:0: ");
    assert_non_null(strstr(p.out, "FLOP/s fp32, "));
    json_t *report = json_load_file(scratch_path("b.json"), 0, NULL);
    assert_non_null(report);
    const json_t *device = json_array_get(json_object_get(report, "devices"), 0);
    const json_t *limits = json_object_get(device, "limits"), *result, *found = NULL;
    assert_string_equal(json_string_value(json_object_get(device, "name")), "opencl:0");
    double fma = json_number_value(json_object_get(limits, "fma_flops"));
    assert_true(fma > 1e9 && json_number_value(json_object_get(limits, "memory_bytes")) > 1e8);
    size_t i;
    json_array_foreach(json_object_get(report, "results"), i, result)
    {
        if (strcmp(json_string_value(json_object_get(result, "device")), "opencl:0") == 0)
            found = result;
    }
    assert_non_null(found);
    /* The share is that of the device's own limits, at which its FLOP take this long at least. */
    double least = json_number_value(json_object_get(found, "flops_run")) / fma;
    double ms = json_number_value(json_object_get(json_object_get(found, "ms_per_step"), "median"));
    assert_true(json_number_value(json_object_get(found, "share_of_limit")) >=
                0.999 * least / (ms / 1e3));
    assert_true(json_integer_value(json_object_get(found, "launches")) > 0);
    json_decref(report);
    program_free(&p);
}

/* PoCL, told to have smaller work-groups than the kernels want. */
static void a_device_that_lacks_something_is_named_with_what_it_lacks(void **state)
{
    (void)state;
    static const char lacks[] = "found work-groups of at most 64 work-items; expected 256";
    static const char variable[] = "POCL_MAX_WORK_GROUP_SIZE";
    char line[160];
    if (!has_opencl())
        skip();
    program p = run_with(variable, "64", ARGUMENTS("devices"));
    snprintf(line, sizeof line, "not available: %s", lacks);
    must_say(&p, line);
    program_free(&p);
    p = run_with(variable, "64",
                 ARGUMENTS("bench", "cifar100-mlp", "--quick", "--steps", "1", "--batch", "2",
                           "--device", "all"));
    snprintf(line, sizeof line, "Note: opencl:0: not available: %s", lacks);
    must_say(&p, line);
    program_free(&p);
    p = run_with(variable, "64", ARGUMENTS("train", "mnist-cnn-2", "--device", "opencl:0"));
    assert_int_equal(p.status, 2);
    snprintf(line, sizeof line, "--device opencl:0: not available: %s", lacks);
    assert_non_null(strstr(p.err, line));
    program_free(&p);
}

/* Where the kernels are that the tests before have compiled. */
static int open_with_cache(void **state)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    char kept[1024] = "";
    snprintf(kept, sizeof kept, "%s", cache ? cache : "");
    if (made_open(state))
        return -1;
    return *kept ? setenv("XDG_CACHE_HOME", kept, 1) : 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_with_cache, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(without_a_driver_one_line_says_what_to_install),
        TEST(bench_of_all_devices_says_which_are_missing_and_why),
        TEST(bench_of_all_devices_holds_the_device_beside_the_cpu),
        TEST(a_device_that_lacks_something_is_named_with_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
