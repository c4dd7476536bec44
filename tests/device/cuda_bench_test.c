/* bench --device all where the GPU fails: its row has the reason, and the others go on. Needs
   deliberate failures, which only the simulated libraries give (tests/cuda/README.md); skipped
   elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/device.h"
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <cornu/tables.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void need_simulation(void)
{
    cornu_device_info info = {.size = sizeof info};
    device_id id;
    for (int i = 0; device_at(i, &id, &info); i++)
        if (info.available && strstr(info.description, "Simulated GPU"))
            return;
    skip();
}

static int close_all(void **state)
{
    unsetenv("SIMULATED_CUDA_FAIL");
    unsetenv("SIMULATED_CUDA_MEMORY");
    return scratch_close(state);
}

static const json_t *result_on(const json_t *report, const char *device)
{
    const json_t *each;
    size_t i;
    json_array_foreach(json_object_get(report, "results"), i, each)
    {
        const char *name = json_string_value(json_object_get(each, "device"));
        if (name && strcmp(name, device) == 0)
            return each;
    }
    fail_msg("no row of %s", device);
    return NULL;
}

/* The GPU's row holds `why`; the others have figures. */
static void the_gpu_fails_alone(const char *why)
{
    program p = program_run(ARGUMENTS("bench", "cifar100-mlp", "--quick", "--steps", "1", "--batch",
                                      "4", "--device", "all", "--json", "b.json"));
    if (p.status != 0)
        fail_msg("found status %d: %s", p.status, p.err);
    assert_string_equal(p.err, "");
    json_t *report = json_load_file(scratch_path("b.json"), 0, NULL);
    assert_non_null(report);
    const char *error = json_string_value(json_object_get(result_on(report, "cuda:0"), "error"));
    if (!error || !strstr(error, why))
        fail_msg("found \"%s\"; expected \"%s\"", error ? error : "no error", why);
    assert_non_null(strstr(p.out, "  failed: "));
    static const char *const others[] = {"cpu", "reference"};
    for (int i = 0; i < 2; i++) {
        const json_t *result = result_on(report, others[i]);
        assert_true(json_is_null(json_object_get(result, "error")));
        assert_true(json_number_value(json_object_get(result, "epoch_seconds")) > 0);
    }
    json_decref(report);
    program_free(&p);
}

static void a_gpu_that_cannot_be_opened(void **state)
{
    (void)state;
    need_simulation();
    setenv("SIMULATED_CUDA_FAIL", "cuStreamCreate:1:CUDA_ERROR_INVALID_VALUE", 1);
    the_gpu_fails_alone("device cuda:0: cuStreamCreate: CUDA_ERROR_INVALID_VALUE");
}

/* The model's weights and slots alone take 21 MB. */
static void a_gpu_with_too_little_memory(void **state)
{
    (void)state;
    need_simulation();
    setenv("SIMULATED_CUDA_MEMORY", "10000000", 1);
    the_gpu_fails_alone("device cuda:0: the model's weights and optimizer slots need ");
}

/* Five graphs belong to the measurement of its limits; the others are steps. */
static void a_gpu_that_is_lost_in_the_middle(void **state)
{
    (void)state;
    need_simulation();
    setenv("SIMULATED_CUDA_MEMORY", "100000000", 1);
    setenv("SIMULATED_CUDA_FAIL", "cuGraphLaunch:12+:CUDA_ERROR_LAUNCH_FAILED", 1);
    the_gpu_fails_alone("the device is lost: CUDA_ERROR_LAUNCH_FAILED");
}

static void a_gpu_alone_that_fails_is_the_programs_failure(void **state)
{
    (void)state;
    need_simulation();
    setenv("SIMULATED_CUDA_MEMORY", "10000000", 1);
    program p = program_run(
        ARGUMENTS("bench", "cifar100-mlp", "--quick", "--steps", "1", "--device", "cuda:0"));
    assert_int_equal(p.status, 1);
    assert_string_equal(p.out, "");
    assert_int_equal(count_lines(p.err), 1);
    assert_non_null(strstr(p.err, "cifar100-mlp on cuda:0: device cuda:0: the model's weights"));
    program_free(&p);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, made_open, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gpu_that_cannot_be_opened),
        TEST(a_gpu_with_too_little_memory),
        TEST(a_gpu_that_is_lost_in_the_middle),
        TEST(a_gpu_alone_that_fails_is_the_programs_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
