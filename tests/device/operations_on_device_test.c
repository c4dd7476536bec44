/* Every operation as a plan of its own, through the device's table alone: on every device that lets
   a test fill its buffers, against the reference kernel. */
#include "support/net.h"
#include "support/op_cases.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Opens the device where it can do this; NULL where it has no `write`, or not this precision. */
static device *open_for(const char *name, const device_options *options)
{
    device_id id;
    device *d = NULL;
    assert_int_equal(device_find(name, &id), CORNU_OK);
    cornu_status status = id.ops->open(id.number, options, &d);
    if (status == CORNU_UNSUPPORTED)
        return NULL;
    if (status != CORNU_OK)
        fail_msg("%s: %s", name, cornu_last_error());
    if (d->ops->write)
        return d;
    d->ops->close(d);
    return NULL;
}

/* One case on one device; `forced`: only if that kernel is the one that ran. Returns failures. */
static int check_case(device *d, const op_case *c, const char *forced, double tolerance, bool nan,
                      int *ran)
{
    int failures = 0;
    op_outputs expected = {0}, found = {0};
    char name[64] = "";
    cornu_status status = op_case_run_on(c, d, nan, name, &found);
    if (status != CORNU_OK) {
        printf("%s: %s\n", c->label, cornu_last_error());
        failures++;
    } else if (!forced || strcmp(name, forced) == 0) {
        const kernel *reference = &reference_kernels[c->kind];
        assert_int_equal(op_case_run(c, reference, NULL, nan, &expected), CORNU_OK);
        failures += op_outputs_compare(c, name, tolerance, &found, &expected);
        (*ran)++;
    }
    op_outputs_free(&expected);
    op_outputs_free(&found);
    return failures;
}

/* All cases of a kind. */
static int check_kind(op_kind kind, const device_options *options, double tolerance, bool nan,
                      int *ran)
{
    int failures = 0, count;
    const op_case *table = op_cases(&count);
    for (int n = 0; net_device(n); n++) {
        device *d = open_for(net_device(n), options);
        for (int i = 0; d && i < count; i++)
            if (table[i].kind == kind)
                failures += check_case(d, &table[i], options->kernel, tolerance, nan, ran);
        if (d)
            d->ops->close(d);
    }
    return failures;
}

static void operation_agrees_with_the_reference(void **state)
{
    op_kind kind = *(const op_kind *)*state;
    int ran = 0;
    const device_options options = {0};
    assert_int_equal(check_kind(kind, &options, op_infos[kind].tolerance, false, &ran), 0);
    if (ran == 0)
        skip();
}

static const op_kind products[] = {OP_DENSE_FORWARD,          OP_DENSE_BACKWARD_DATA,
                                   OP_DENSE_BACKWARD_WEIGHTS, OP_CONV2D_FORWARD,
                                   OP_CONV2D_BACKWARD_DATA,   OP_CONV2D_BACKWARD_WEIGHTS};
enum { PRODUCTS = sizeof products / sizeof *products };

/* The own kernels stand in where NVIDIA's libraries refuse: they must take everything. */
static void own_products_agree_with_the_reference(void **state)
{
    int ran = 0, failures = 0;
    (void)state;
    for (int i = 0; i < PRODUCTS; i++) {
        const device_options options = {.kernel = i < 3 ? "tiled" : "direct"};
        failures += check_kind(products[i], &options, op_infos[products[i]].tolerance, false, &ran);
    }
    assert_int_equal(failures, 0);
    if (ran == 0)
        skip();
}

/* Operands of 11 and of 8 bits: differences far below that of the operands' own rounding. */
static void lower_precision_is_as_close_as_its_bits_allow(void **state)
{
    const struct {
        device_precision precision;
        double tolerance;
    } rows[] = {{PRECISION_TF32, 8e-3}, {PRECISION_BF16, 6e-2}};
    int ran = 0, failures = 0;
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int i = 0; i < PRODUCTS; i++) {
            const device_options options = {.precision = rows[r].precision};
            failures += check_kind(products[i], &options, rows[r].tolerance, false, &ran);
        }
    assert_int_equal(failures, 0);
    if (ran == 0)
        skip();
}

/* A NaN must come out at the same places, so that training notices it. */
static void nan_stays_visible(void **state)
{
    const op_kind kinds[] = {OP_DENSE_FORWARD,
                             OP_CONV2D_FORWARD,
                             OP_MAX_POOL_FORWARD,
                             OP_AVERAGE_POOL_FORWARD,
                             OP_ACTIVATION_FORWARD,
                             OP_SCALE,
                             OP_PAD,
                             OP_DENSE_BACKWARD_DATA,
                             OP_SQUARE_SUM,
                             OP_BATCH_NORM_FORWARD,
                             OP_BATCH_NORM_INFERENCE};
    int ran = 0, failures = 0;
    const device_options options = {0};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        failures += check_kind(kinds[i], &options, op_infos[kinds[i]].tolerance, true, &ran);
    assert_int_equal(failures, 0);
    if (ran == 0)
        skip();
}

static int free_table(void **state)
{
    (void)state;
    op_cases_free();
    return 0;
}

int main(void)
{
    static op_kind kinds[OP_COUNT];
    static struct CMUnitTest tests[OP_COUNT + 3] = {
        cmocka_unit_test(own_products_agree_with_the_reference),
        cmocka_unit_test(lower_precision_is_as_close_as_its_bits_allow),
        cmocka_unit_test(nan_stays_visible)};
    for (int i = 0; i < OP_COUNT; i++) {
        kinds[i] = (op_kind)i;
        tests[3 + i] = (struct CMUnitTest){.name = op_infos[i].name,
                                           .test_func = operation_agrees_with_the_reference,
                                           .initial_state = &kinds[i]};
    }
    return cmocka_run_group_tests_name("every operation on every device", tests, NULL, free_table);
}
