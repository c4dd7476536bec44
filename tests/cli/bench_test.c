/* cornu bench, through the built program. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <jansson.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int columns(const char *line, size_t bytes)
{
    int count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)line[i] & 0xC0) != 0x80;
    return count;
}

static void must_fit_80_columns(const char *text)
{
    for (size_t length; *text; text += length + (text[length] != 0)) {
        length = strcspn(text, "\n");
        if (columns(text, length) > 80)
            fail_msg("wider than 80 columns: %.*s", (int)length, text);
    }
}

static const json_t *check_result(const json_t *report, const char *device)
{
    const json_t *result = NULL, *each;
    size_t i;
    json_array_foreach(json_object_get(report, "results"), i,
                       each) if (strcmp(json_string_value(json_object_get(each, "device")),
                                        device) == 0) result = each;
    assert_non_null(result);
    assert_string_equal(json_string_value(json_object_get(result, "workload")), "cifar100-mlp");
    assert_int_equal(json_integer_value(json_object_get(result, "batch")), 32);
    assert_string_equal(json_string_value(json_object_get(result, "data")), "generated");
    assert_int_equal(json_array_size(json_object_get(result, "published")), 2);
    static const char *const positive[] = {"steps",          "samples_per_second", "epoch_seconds",
                                           "loss_first",     "loss_last",          "flops_per_step",
                                           "bytes_per_step", "share_of_limit"};
    for (size_t k = 0; k < sizeof positive / sizeof *positive; k++)
        assert_true(json_number_value(json_object_get(result, positive[k])) > 0);
    const json_t *ms = json_object_get(result, "ms_per_step");
    double low = json_number_value(json_object_get(ms, "min"));
    double middle = json_number_value(json_object_get(ms, "median"));
    double high = json_number_value(json_object_get(ms, "p95"));
    assert_true(low > 0 && low <= middle && middle <= high);
    return result;
}

static void report_has_table_and_json_for_each_device(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("bench", "cifar100-mlp", "--quick", "--steps", "1",
                                      "--device", "all", "--json", "b.json"));
    assert_int_equal(p.status, 0);
    assert_string_equal(p.err, "");
    must_fit_80_columns(p.out);
    assert_non_null(strstr(p.out, "Azure NC4as T4 v3"));
    assert_non_null(strstr(p.out, "Generated pixels of the exact shape: cifar100-mlp"));
    json_t *report = json_load_file(scratch_path("b.json"), 0, NULL);
    assert_non_null(report);
    assert_true(json_is_object(json_object_get(report, "machine")));
    assert_true(json_is_object(json_object_get(report, "limits")));
    assert_int_equal(json_array_size(json_object_get(report, "results")), 2);
    const json_t *cpu = check_result(report, "cpu");
    check_result(report, "reference");
    /* It trained: the loss fell on the same samples. */
    assert_true(json_number_value(json_object_get(cpu, "loss_last")) <
                json_number_value(json_object_get(cpu, "loss_first")));
    json_decref(report);
    program_free(&p);
}

static void mnist_is_taken_where_it_is_found(void **state)
{
    (void)state;
    made_mnist("mnist", 200, 20, 0);
    program p = program_run(ARGUMENTS("bench", "mnist-cnn-2", "--quick", "--steps", "1", "--data",
                                      ".", "--json", "b.json"));
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "Their own data: mnist-cnn-2"));
    program_free(&p);
}

static void full_runs_the_published_schedule_and_tests_it(void **state)
{
    (void)state;
    made_mnist("mnist", 100, 20, 0);
    program p = program_run(ARGUMENTS("bench", "mnist-cnn-2", "--full", "--batch", "50", "--data",
                                      ".", "--json", "b.json"));
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "Full schedule of mnist-cnn-2 on cpu (mnist): "));
    must_fit_80_columns(p.out);
    json_t *report = json_load_file(scratch_path("b.json"), 0, NULL);
    const json_t *result = json_array_get(json_object_get(report, "results"), 0);
    const json_t *full = json_object_get(result, "full");
    assert_true(json_number_value(json_object_get(full, "seconds")) > 0);
    double accuracy = json_number_value(json_object_get(full, "test_accuracy"));
    assert_true(accuracy >= 0 && accuracy <= 1);
    json_decref(report);
    program_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(report_has_table_and_json_for_each_device, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(mnist_is_taken_where_it_is_found, made_open, scratch_close),
        cmocka_unit_test_setup_teardown(full_runs_the_published_schedule_and_tests_it, made_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
