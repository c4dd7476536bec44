/* The cpu device: its description of itself, and every kernel under every instruction set that this
   processor has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/isa.h"
#include "support/net.h"
#include "support/op_cases.h"
#include "support/sanitized.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void description_names_cores_and_instructions(void **state)
{
    (void)state;
    device_id cpu;
    cornu_device_info info = {.size = sizeof info};
    assert_true(device_at(0, &cpu, &info));
    assert_string_equal(info.name, "cpu");
    assert_true(info.available);
    assert_non_null(strstr(info.description, " core"));
    assert_non_null(strrchr(info.description, ','));
    assert_string_equal(info.libraries, ""); /* all kernels are its own */
    assert_string_equal(info.reason, "");
    assert_int_equal(info.threads, threads_default());
    assert_true(info.memory_bytes >= info.memory_free_bytes && info.memory_free_bytes > 0);
}

/* ---- instruction sets -------------------------------------------------------------------- */

/* Every kernel of the cpu device under every instruction set that this processor has. With a
   sanitizer without that of device.ops_test, which runs all cases, too, and without a comparison,
   which the release build makes. */

static bool is_run(int isa)
{
    cpu_isa widest;
    assert_int_equal(cpu_isa_choose(&widest), CORNU_OK);
    bool elsewhere = isa == (int)widest && strcmp(cpu_isa_name(isa), "base") != 0;
    return cpu_isa_runs((cpu_isa)isa) && !(SANITIZED && elsewhere);
}

static int check_under_each_isa(const op_case *c, host_device *h, bool nan, int *tried)
{
    int failures = 0;
    op_outputs expected = {.count = {0}};
    bool runs[CPU_ISA_COUNT];
    if (!SANITIZED)
        assert_int_equal(op_case_run(c, &reference_kernels[c->kind], h->pool, nan, &expected),
                         CORNU_OK);
    for (int i = 0; i < CPU_ISA_COUNT; i++)
        runs[i] = is_run(i);
    for (int i = 0; i < CPU_ISA_COUNT; i++) {
        char note[32];
        if (!runs[i])
            continue;
        setenv("CORNU_ISA", cpu_isa_name(i), 1);
        snprintf(note, sizeof note, " with %s", cpu_isa_name(i));
        failures += op_case_check(c, h, note, nan, SANITIZED ? NULL : &expected, tried);
    }
    unsetenv("CORNU_ISA");
    op_outputs_free(&expected);
    return failures;
}

static host_device *open_cpu(void)
{
    return (host_device *)(void *)net_device_open("cpu", &(device_options){.threads = 2});
}

static void every_instruction_set_agrees_with_the_reference(void **state)
{
    (void)state;
    int count, failures = 0, tried = 0;
    const op_case *table = op_cases(&count);
    host_device *h = open_cpu();
    for (int i = 0; i < count; i++)
        failures += check_under_each_isa(&table[i], h, false, &tried);
    host_close(&h->device);
    assert_true(tried > count);
    assert_int_equal(failures, 0);
}

static void nan_stays_visible_under_every_instruction_set(void **state)
{
    (void)state;
    if (SANITIZED) /* the same addresses as without a NaN */
        skip();
    int count, failures = 0, tried = 0;
    const op_case *table = op_cases(&count);
    host_device *h = open_cpu();
    for (int i = 0; i < count; i++)
        for (int k = 0; k < NAN_KINDS; k++)
            if (table[i].kind == nan_kinds[k])
                failures += check_under_each_isa(&table[i], h, true, &tried);
    host_close(&h->device);
    assert_true(tried > 0);
    assert_int_equal(failures, 0);
}

static void an_instruction_set_that_is_not_there_is_refused(void **state)
{
    (void)state;
    cpu_isa isa;
    setenv("CORNU_ISA", "mmx", 1);
    assert_int_equal(cpu_isa_choose(&isa), CORNU_INVALID);
    assert_non_null(strstr(cornu_last_error(), "found mmx"));
    assert_non_null(strstr(cornu_last_error(), "base"));
    setenv("CORNU_ISA", "base", 1);
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    assert_string_equal(cpu_isa_name((int)isa), "base");
    unsetenv("CORNU_ISA");
    assert_int_equal(cpu_isa_choose(&isa), CORNU_OK);
    assert_true(cpu_isa_runs(isa));
}

/* Not when the first kernel is prepared, where it would look like that kernel's refusal. */
static void the_device_is_not_opened_with_an_instruction_set_that_is_not_there(void **state)
{
    (void)state;
    device *d = NULL;
    setenv("CORNU_ISA", "mmx", 1);
    assert_int_equal(device_table[0]->open(0, NULL, &d), CORNU_INVALID);
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
        if (cpu_isa_runs((cpu_isa)isa))
            continue;
        setenv("CORNU_ISA", cpu_isa_name(isa), 1);
        assert_int_equal(device_table[0]->open(0, NULL, &d), CORNU_UNSUPPORTED);
        assert_non_null(strstr(cornu_last_error(), "which this processor lacks"));
    }
    assert_null(d);
    unsetenv("CORNU_ISA");
}

/* Convolutions by all three algorithms, with activations that each applies afterwards, a pool that
   looks windows up, sums over blocks of the batch. */
static const char recipe[] =
    "model: {input: [16, 16, 3], layers: [{Conv2D: {filters: 16, kernel_size: 3, padding: same, "
    "activation: silu}}, {Conv2D: {filters: 16, kernel_size: 3, padding: same, activation: tanh}}, "
    "{Conv2D: {filters: 8, kernel_size: 2, strides: 2, activation: sigmoid}}, Flatten, "
    "{Dense: {units: 3, activation: softmax}}]}\n"
    "compile: {optimizer: sgd, loss: categorical_crossentropy}\nfit: {batch_size: 12, epochs: 1}\n";

/* The network's first kernel and its loss after a step that was prepared with the instruction set
   `prepared_with` and runs with CORNU_ISA set to `running`. */
static double step_between(const char *prepared_with, const char *running, float **kernel)
{
    cornu_model *model = net_model(recipe);
    setenv("CORNU_ISA", prepared_with, 1);
    net *n = net_open_with(model, "cpu", &(plan_options){.mode = PLAN_TRAIN, .batch = 12},
                           &(device_options){.threads = 2});
    setenv("CORNU_ISA", running, 1);
    double loss = net_run(n);
    *kernel = net_read_variable(n, model->variables[0].name);
    net_close(n);
    cornu_model_close(model);
    unsetenv("CORNU_ISA");
    return loss;
}

static void a_plan_runs_with_the_instruction_set_that_it_was_prepared_with(void **state)
{
    (void)state;
    enum { KERNEL = 3 * 3 * 3 * 16 };
    cpu_isa widest;
    assert_int_equal(cpu_isa_choose(&widest), CORNU_OK);
    float *alone, *between;
    double expected = step_between("base", "base", &alone);
    double found = step_between("base", cpu_isa_name((int)widest), &between);
    assert_memory_equal(&found, &expected, sizeof found);
    assert_memory_equal(between, alone, KERNEL * sizeof *alone);
    free(alone);
    free(between);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(description_names_cores_and_instructions),
        cmocka_unit_test(every_instruction_set_agrees_with_the_reference),
        cmocka_unit_test(nan_stays_visible_under_every_instruction_set),
        cmocka_unit_test(an_instruction_set_that_is_not_there_is_refused),
        cmocka_unit_test(the_device_is_not_opened_with_an_instruction_set_that_is_not_there),
        cmocka_unit_test(a_plan_runs_with_the_instruction_set_that_it_was_prepared_with),
    };
    return cmocka_run_group_tests(tests, NULL, op_cases_free);
}
