/* cornu bench, through the built program. */
#include "support/made.h"
#include "support/program.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <cornu/tables.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Small: a bench takes hundreds of steps. */
#define BATCH "8"
enum { SAMPLES = 8 };

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
    assert_int_equal(json_integer_value(json_object_get(result, "batch")), SAMPLES);
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
    const json_t *reads = json_object_get(ms, "memory_probes");
    size_t rounds = json_array_size(reads);
    assert_int_equal(rounds, json_integer_value(json_object_get(ms, "rounds")));
    assert_true(json_number_value(json_array_get(reads, rounds - 1)) > 1e6); /* bytes/s */
    return result;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* The larger of FLOPs over the FMA rate and bytes over the faster bandwidth, over the time. */
static void the_share_is_that_by_hand(const json_t *report, const json_t *result)
{
    const json_t *limits = json_object_get(report, "limits");
    double fma = number(result, "flops_run") / number(limits, "fma_flops");
    double read = number(limits, "read_bytes"), update = number(limits, "update_bytes");
    double memory = number(result, "bytes_run") / (read > update ? read : update);
    double cache = number(result, "bytes_run") / number(limits, "cache_update_bytes");
    double seconds = number(json_object_get(result, "ms_per_step"), "median") / 1e3;
    double share = number(result, "share_of_limit") * seconds;
    double in_memory = fma > memory ? fma : memory, in_cache = fma > cache ? fma : cache;
    assert_true(fabs(share - in_memory) < 1e-6 * in_memory ||
                fabs(share - in_cache) < 1e-6 * in_cache);
    assert_true(number(result, "flops_run") <= number(result, "flops_per_step"));
    assert_true(number(result, "bytes_run") <= number(result, "bytes_per_step"));
}

/* An epoch is its 50,000 samples in steps of the median's time; the table shows it, too. */
static void the_epoch_is_steps_times_milliseconds(const char *table, const json_t *result)
{
    const json_t *ms = json_object_get(result, "ms_per_step");
    double steps = ceil(50000.0 / number(result, "batch"));
    double seconds = steps * number(ms, "median") / 1e3;
    assert_true(fabs(number(result, "epoch_seconds") - seconds) < 1e-6 * seconds);
    char device[32];
    double minimum, median, limit, epoch;
    const char *row = strstr(table, "\ncifar100-mlp ");
    for (; row; row = strstr(row + 1, "\ncifar100-mlp ")) {
        assert_int_equal(sscanf(row, " cifar100-mlp %31s %lf %lf %lf %% %lf s", device, &minimum,
                                &median, &limit, &epoch),
                         5);
        if (strcmp(device, json_string_value(json_object_get(result, "device"))) == 0)
            break;
    }
    assert_non_null(row);
    assert_true(fabs(minimum - number(ms, "min")) < 0.01 * minimum + 0.5);
    assert_true(fabs(median - number(ms, "median")) < 0.01 * median + 0.5);
    assert_true(fabs(epoch - seconds) <= 0.05 + 0.01 * seconds);
    assert_true(fabs(number(ms, "median_over_min") - number(ms, "median") / number(ms, "min")) <
                1e-6);
}

/* Weights and Adam's slots of 1,730,404 parameters, and at least what dense products read and
   write of a batch. */
static void the_working_set_is_variables_and_buffers(const json_t *result)
{
    double variables = 3 * 4 * 1730404.0, samples = 4.0 * SAMPLES * (3072 + 512 + 256 + 100);
    double buffers = number(result, "working_set_bytes") - variables;
    assert_true(buffers >= samples);
}

static void report_has_table_and_json_for_each_device(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("bench", "cifar100-mlp", "--quick", "--steps", "1", "--batch",
                                      BATCH, "--device", "all", "--json", "b.json"));
    assert_int_equal(p.status, 0);
    assert_string_equal(p.err, "");
    must_fit_80_columns(p.out);
    assert_non_null(strstr(p.out, "Azure NC4as T4 v3"));
    assert_non_null(strstr(p.out, "Generated pixels of the exact shape: cifar100-mlp"));
    json_t *report = json_load_file(scratch_path("b.json"), 0, NULL);
    assert_non_null(report);
    const json_t *compiler = json_object_get(json_object_get(report, "machine"), "compiler");
    assert_true(json_is_string(compiler));
    const bool by_clang = strncmp(json_string_value(compiler), "clang", 5) == 0;
    assert_true(by_clang == (strstr(p.out, "cornu was compiled by clang") != NULL));
    assert_true(json_is_object(json_object_get(report, "limits")));
    assert_int_equal(json_array_size(json_object_get(report, "results")), 2);
    const json_t *cpu = check_result(report, "cpu");
    const json_t *reference = check_result(report, "reference");
    the_share_is_that_by_hand(report, cpu);
    the_share_is_that_by_hand(report, reference);
    the_epoch_is_steps_times_milliseconds(p.out, cpu);
    the_epoch_is_steps_times_milliseconds(p.out, reference);
    the_working_set_is_variables_and_buffers(cpu);
    /* Without fused kernels it is the plan's own work. */
    assert_true(number(reference, "flops_run") == number(reference, "flops_per_step"));
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
    program p = program_run(ARGUMENTS("bench", "mnist-cnn-2", "cifar100-mlp", "--quick", "--steps",
                                      "1", "--batch", BATCH, "--data", ".", "--json", "b.json"));
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "Their own data: mnist-cnn-2"));
    assert_non_null(strstr(p.out, "Note: cifar100-mlp: --data: .: found mnist (mnist); expected"));
    must_fit_80_columns(p.out);
    program_free(&p);
}

#define NET_WITH(data)                                                                           \
    "{data: " data ", model: {input: [32, 32, 3], layers: [Flatten, Dense: {units: 10, "         \
    "activation: softmax}]}, compile: {loss: sparse_categorical_crossentropy, optimizer: sgd}, " \
    "fit: {batch_size: 8, epochs: 1}}"

static void a_recipe_is_timed_as_a_workload_is(void **state)
{
    (void)state;
    static const char recipe[] = NET_WITH("{name: cifar10}");
    scratch_write("own.yaml", recipe, sizeof recipe - 1);
    program p = program_run(ARGUMENTS("bench", "own.yaml", "--quick", "--steps", "1", "--device",
                                      "cpu,reference", "--json", "b.json"));
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "Generated pixels of the exact shape: own.yaml"));
    json_t *report = json_load_file(scratch_path("b.json"), 0, NULL);
    const json_t *results = json_object_get(report, "results");
    assert_int_equal(json_array_size(results), 2);
    const json_t *cpu = json_array_get(results, 0);
    assert_string_equal(json_string_value(json_object_get(cpu, "workload")), "own.yaml");
    assert_int_equal(json_array_size(json_object_get(cpu, "published")), 0);
    const double ms = number(json_object_get(cpu, "ms_per_step"), "median");
    assert_float_equal(number(cpu, "epoch_seconds"), 50000 / 8 * ms / 1e3, 1e-6);
    json_decref(report);
    program_free(&p);
}

/* Generated pixels would not say how long this takes: their number is not known. */
static void a_recipe_without_its_data_is_refused(void **state)
{
    (void)state;
    static const char recipe[] = NET_WITH("{folder: missing-folder}");
    scratch_write("own.yaml", recipe, sizeof recipe - 1);
    program p = program_run(ARGUMENTS("bench", "own.yaml", "--quick"));
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "own.yaml on cpu: "));
    assert_non_null(strstr(p.err, "missing-folder"));
    program_free(&p);
}

/* Whatever --help lists can be timed: an unknown one would be refused before the device is. */
static void every_workload_that_help_lists_can_be_timed(void **state)
{
    (void)state;
    program help = program_run(ARGUMENTS("bench", "--help"));
    for (int i = 0; cornu_workload_name(i); i++) {
        char line[80];
        snprintf(line, sizeof line, "\n  %s\n", cornu_workload_name(i));
        assert_non_null(strstr(help.out, line));
        program p =
            program_run(ARGUMENTS("bench", cornu_workload_name(i), "--device", "no-such-device"));
        if (!strstr(p.err, "no-such-device"))
            fail_msg("%s", p.err);
        program_free(&p);
    }
    program_free(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(report_has_table_and_json_for_each_device, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(mnist_is_taken_where_it_is_found, made_open, scratch_close),
        cmocka_unit_test_setup_teardown(a_recipe_is_timed_as_a_workload_is, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(a_recipe_without_its_data_is_refused, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(every_workload_that_help_lists_can_be_timed, made_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
