/* Every kernel of every device against the reference, over the table of shapes. */
#include "support/op_cases.h"
#include "support/sanitized.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* With a sanitizer the reference would take most of the time over large cases, whose results the
   release build compares. */
static bool is_compared(const op_case *c)
{
    return !SANITIZED || op_case_flops(c) <= 1e6;
}

/* All kernels of one device on one case. Returns failures; *tried counts the kernels that ran. */
static int check_case(host_device *h, const op_case *c, bool nan, int *tried)
{
    op_outputs expected;
    if (!is_compared(c))
        return op_case_check(c, h, "", nan, NULL, tried);
    assert_int_equal(op_case_run(c, &reference_kernels[c->kind], h->pool, nan, &expected),
                     CORNU_OK);
    int failures = op_case_check(c, h, "", nan, &expected, tried);
    op_outputs_free(&expected);
    return failures;
}

static host_device *open_host(const device_ops *ops)
{
    device *d = NULL;
    assert_int_equal(ops->open(0, &(device_options){.threads = 2}, &d), CORNU_OK);
    return (host_device *)(void *)d;
}

/* Devices whose memory is the host's: those have a list of kernels to walk. */
static bool is_host(const device_ops *ops)
{
    return ops->close == host_close;
}

static void operation_agrees_with_the_reference(void **state)
{
    op_kind kind = *(const op_kind *)*state;
    int count, failures = 0, cases = 0;
    const op_case *table = op_cases(&count);
    for (const device_ops *const *ops = device_table; *ops; ops++) {
        if (!is_host(*ops))
            continue;
        host_device *h = open_host(*ops);
        int tried = 0;
        for (int i = 0; i < count; i++) {
            if (table[i].kind != kind)
                continue;
            failures += check_case(h, &table[i], false, &tried);
            cases++;
        }
        const kernel_list list = h->kernels[kind];
        bool has_own = list && list[0];
        assert_int_equal(has_own, strcmp((*ops)->name, "reference") != 0);
        assert_true(!has_own || tried > 0);
        host_close(&h->device);
    }
    assert_true(cases > 0);
    assert_int_equal(failures, 0);
}

/* A rank updates its part of a variable; the others' elements stay as they are. */
static void an_update_of_a_part_leaves_the_rest(void **state)
{
    (void)state;
    int count, failures = 0, tried = 0;
    const op_case *table = op_cases(&count);
    host_device *h = open_host(device_table[0]);
    for (int i = 0; i < count; i++) {
        op_case part = table[i];
        if (part.kind != OP_UPDATE || part.in[0].dim[0] < 20)
            continue;
        part.a.update.before = 5;
        part.a.update.after = 3;
        failures += check_case(h, &part, false, &tried);
    }
    host_close(&h->device);
    assert_true(tried > 0);
    assert_int_equal(failures, 0);
}

/* A NaN must come out at the same places, so that training notices it. */
static void nan_stays_visible(void **state)
{
    (void)state;
    int count, failures = 0, tried = 0;
    const op_case *table = op_cases(&count);
    host_device *h = open_host(device_table[0]);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < NAN_KINDS; k++)
            if (table[i].kind == nan_kinds[k])
                failures += check_case(h, &table[i], true, &tried);
    host_close(&h->device);
    assert_true(tried > 0);
    assert_int_equal(failures, 0);
}

int main(void)
{
    static op_kind kinds[OP_COUNT];
    static struct CMUnitTest tests[OP_COUNT + 2];
    for (int i = 0; i < OP_COUNT; i++) {
        kinds[i] = (op_kind)i;
        tests[i] = (struct CMUnitTest){.name = op_infos[i].name,
                                       .test_func = operation_agrees_with_the_reference,
                                       .initial_state = &kinds[i]};
    }
    tests[OP_COUNT] = (struct CMUnitTest)cmocka_unit_test(an_update_of_a_part_leaves_the_rest);
    tests[OP_COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(nan_stays_visible);
    return cmocka_run_group_tests_name("every kernel agrees with the reference", tests, NULL,
                                       op_cases_free);
}
