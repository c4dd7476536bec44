/* cornu advise and bench --sweep, through the built program. */
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

static void must_be_plain_and_fit_80_columns(const char *text)
{
    for (size_t length; *text; text += length + (text[length] != 0)) {
        length = strcspn(text, "\n");
        if (length > 80)
            fail_msg("wider than 80 columns: %.*s", (int)length, text);
        for (size_t i = 0; i < length; i++)
            assert_true(text[i] >= ' ' && text[i] <= '~');
    }
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* The forecast is at least the steps' times, and says what it was made of. */
static void check_device(const json_t *device, const json_t *schedule, const char *name)
{
    assert_string_equal(json_string_value(json_object_get(device, "device")), name);
    assert_true(json_is_null(json_object_get(device, "error")));
    double steps = number(schedule, "epochs") * number(schedule, "steps");
    double seconds = number(device, "seconds");
    assert_true(seconds >= steps * number(device, "ms_per_step") / 1e3);
    assert_true(number(device, "seconds_error") > 0);
    assert_true(number(device, "memory_needed_bytes") > 0);
    assert_true(number(device, "memory_free_bytes") > number(device, "memory_needed_bytes"));
}

static void advice_is_a_table_a_sentence_json_and_a_page(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("advise", "small.yaml", "--data", "mnist", "--device",
                                      "cpu,reference", "--epochs", "3", "--batch", "7", "--price",
                                      "cpu=3600 EUR/h", "--sweep", "batch=1,20", "--json", "a.json",
                                      "--html", "a.html"));
    program_must_succeed(&p);
    must_be_plain_and_fit_80_columns(p.out);
    assert_non_null(strstr(p.out, "3 epochs of 9 steps, batch 7"));
    assert_non_null(strstr(p.out, "\nTrain on "));
    assert_non_null(strstr(p.out, " EUR "));
    assert_non_null(strstr(p.out, "#####"));
    json_t *all = json_load_file(scratch_path("a.json"), 0, NULL);
    assert_non_null(all);
    const json_t *schedule = json_object_get(all, "schedule");
    const json_t *devices = json_object_get(all, "devices");
    assert_true(number(schedule, "samples") == 60 && number(schedule, "steps") == 9);
    assert_int_equal(json_array_size(devices), 2);
    check_device(json_array_get(devices, 0), schedule, "cpu");
    check_device(json_array_get(devices, 1), schedule, "reference");
    const json_t *cpu = json_array_get(devices, 0);
    double paid = number(cpu, "cost") / number(cpu, "seconds"); /* a euro a second */
    assert_true(paid > 0.999 && paid < 1.001);
    assert_true(json_is_null(json_object_get(json_array_get(devices, 1), "cost")));
    assert_int_equal(json_array_size(json_object_get(json_object_get(all, "bench"), "results")), 6);
    json_decref(all);
    program_free(&p);
    p = program_run(ARGUMENTS("advise", "small.yaml", "--data", "mnist", "--device", "cpu",
                              "--sweep", "batch=8"));
    program_must_succeed(&p);
    assert_non_null(strstr(p.out, "no other device was there to be measured"));
    program_free(&p);
}

static void a_sweep_has_each_batch_and_device(void **state)
{
    (void)state;
    program p =
        program_run(ARGUMENTS("bench", "mnist-cnn-2", "--data", "mnist", "--sweep", "batch=1,4",
                              "--device", "cpu,reference", "--json", "s.json"));
    program_must_succeed(&p);
    must_be_plain_and_fit_80_columns(p.out);
    json_t *all = json_load_file(scratch_path("s.json"), 0, NULL);
    const json_t *results = json_object_get(all, "results");
    static const int batches[] = {1, 1, 4, 4};
    assert_int_equal(json_array_size(results), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *r = json_array_get(results, i);
        assert_true(number(r, "batch") == batches[i]);
        assert_string_equal(json_string_value(json_object_get(r, "device")),
                            i % 2 ? "reference" : "cpu");
    }
    /* "not faster", unless another process slowed down the cpu's rounds */
    assert_true(strstr(p.out, "reference is not faster than cpu at ") ||
                strstr(p.out, "reference is faster than cpu from batch "));
    json_decref(all);
    program_free(&p);
}

static void what_is_wrong_is_said_before_anything_is_measured(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[6], *expected;
        int status;
    } cases[] = {
        {{"advise"}, "found nothing; expected one RECIPE or WORKLOAD", 2},
        {{"advise", "small.yaml", "--price", "cpu=much"}, "price: found \"cpu=much\"", 2},
        {{"advise", "small.yaml", "--sweep", "batch=9,1"}, "sweep: found \"batch=9,1\"", 2},
        {{"advise", "small.yaml", "--device", "cpu,cuda:7"}, "--device cuda:7", 2},
        {{"advise", "small.yaml", "--data", "nowhere"}, "nowhere", 1},
        {{"advise", "none.yaml"}, "none.yaml", 1},
        {{"bench", "--sweep", "steps"}, "sweep: found \"steps\"", 2},
        {{"bench", "--sweep", "batch", "--batch", "3"}, "found --sweep and --batch", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program p = program_run(cases[i].arguments);
        assert_int_equal(p.status, cases[i].status);
        if (!strstr(p.err, cases[i].expected))
            fail_msg("found %s; expected %s", p.err, cases[i].expected);
        assert_int_equal(count_lines(p.err), 1);
        program_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(advice_is_a_table_a_sentence_json_and_a_page,
                                        made_open_small, scratch_close),
        cmocka_unit_test_setup_teardown(a_sweep_has_each_batch_and_device, made_open_small,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said_before_anything_is_measured,
                                        made_open_small, scratch_close),
    };
    setenv("LC_ALL", "C", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
