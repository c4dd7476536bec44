/* Every operation as a plan of its own, through the device's table alone: on every device that lets
   a test fill its buffers, against the reference kernel. CORNU_TEST_MFLOP leaves out the table's
   larger cases, for race and memory checkers, which are slow. */
#include "device/cpu/winograd/winograd.h"
#include "support/net.h"
#include "support/op_cases.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Opens the device if it can; NULL if it has no `write`, or not this precision. */
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

/* One case on one device; `forced`: only if that kernel is the one that ran; `sums`: it is a
   product, and `tolerance` its activation's. Returns failures. */
static int check_case(device *d, const op_case *c, const char *forced, double tolerance, bool sums,
                      bool nan, int *ran)
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
        if (nan && (strstr(name, "winograd") || strstr(name, "cudnn")))
            op_outputs_forgive_nan(&found, &expected); /* tiles multiply it by 0 for neighbours */
        if (strstr(name, "winograd"))                  /* other sums than the definition's */
            failures += op_outputs_compare(c, name, WINOGRAD_TOLERANCE, &found, &expected);
        else if (sums)
            failures += op_outputs_compare_sums(c, name, tolerance, &found, &expected);
        else
            failures += op_outputs_compare(c, name, tolerance, &found, &expected);
        (*ran)++;
    }
    op_outputs_free(&expected);
    op_outputs_free(&found);
    return failures;
}

static const op_kind products[] = {OP_DENSE_FORWARD,          OP_DENSE_BACKWARD_DATA,
                                   OP_DENSE_BACKWARD_WEIGHTS, OP_CONV2D_FORWARD,
                                   OP_CONV2D_BACKWARD_DATA,   OP_CONV2D_BACKWARD_WEIGHTS};
enum { PRODUCTS = sizeof products / sizeof *products };

static bool is_product(op_kind kind)
{
    for (int i = 0; i < PRODUCTS; i++)
        if (products[i] == kind)
            return true;
    return false;
}

/* Tolerance of a result, relative to the largest element of its output. A product in 32 bits has
   the bounds of its sums, and this bound is for its activation, in addition. At a lower precision
   both operands of a product have errors of up to `unit`, practically at random: the standard
   deviation of a sum of n products of numbers in -1..1 is unit sqrt(2/3) sqrt(n)/3. The largest sum
   is usually at least sqrt(n)/3, and 8 units leave room for tensors of few numbers. A bounded
   activation makes the largest number 1 however large n is, but has slopes up to 1: 6 standard
   deviations. */
static double bound_of(const op_case *c, device_precision precision)
{
    const double unit = precision == PRECISION_TF32 ? 0x1p-11 : 0x1p-8, sums = 8 * unit;
    activation_kind act = ACTIVATION_LINEAR;
    if (c->kind == OP_DENSE_FORWARD)
        act = c->a.dense.act.kind;
    if (c->kind == OP_CONV2D_FORWARD)
        act = c->a.conv.act.kind;
    bool bends = act == ACTIVATION_LINEAR || act == ACTIVATION_RELU || act == ACTIVATION_LEAKY_RELU;
    if (precision == PRECISION_FP32)
        return is_product(c->kind) && bends ? 0 : op_infos[c->kind].tolerance;
    if (act == ACTIVATION_LINEAR || act == ACTIVATION_RELU)
        return sums;
    const shape *w = &c->in[1];
    double n = (double)(shape_elements(w) / w->dim[w->rank - 1]);
    return fmax(sums, 6 * unit * sqrt(2.0 / 3) * sqrt(n) / 3);
}

static void say_what_is_left_out(void)
{
    int count, left = 0;
    const op_case *table = op_cases(&count);
    for (int i = 0; i < count; i++)
        left += !op_case_is_small(&table[i]);
    if (left > 0)
        print_message("CORNU_TEST_MFLOP is %s: %d of %d cases are left out\n",
                      getenv("CORNU_TEST_MFLOP"), left, count);
}

/* All cases of a kind. */
static int check_kind(op_kind kind, const device_options *options, bool nan, int *ran)
{
    int failures = 0, count;
    const op_case *table = op_cases(&count);
    for (int n = 0; net_device(n); n++) {
        device *d = open_for(net_device(n), options);
        for (int i = 0; d && !net_lacks_kind(d, kind) && i < count; i++)
            if (table[i].kind == kind && op_case_is_small(&table[i]))
                failures += check_case(
                    d, &table[i], options->kernel, bound_of(&table[i], options->precision),
                    is_product(kind) && options->precision == PRECISION_FP32, nan, ran);
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
    assert_int_equal(check_kind(kind, &options, false, &ran), 0);
    if (ran == 0)
        skip();
}

/* The own kernels replace NVIDIA's libraries when these refuse: they must accept everything. */
static void own_products_agree_with_the_reference(void **state)
{
    int ran = 0, failures = 0;
    (void)state;
    for (int i = 0; i < PRODUCTS; i++) {
        const device_options options = {.kernel = i < 3 ? "tiled" : "direct"};
        failures += check_kind(products[i], &options, false, &ran);
    }
    assert_int_equal(failures, 0);
    if (ran == 0)
        skip();
}

static void lower_precision_is_as_close_as_its_bits_allow(void **state)
{
    const device_precision precisions[] = {PRECISION_TF32, PRECISION_BF16};
    int ran = 0, failures = 0;
    (void)state;
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < PRODUCTS; i++) {
            const device_options options = {.precision = precisions[p]};
            failures += check_kind(products[i], &options, false, &ran);
        }
    assert_int_equal(failures, 0);
    if (ran == 0)
        skip();
}

/* A NaN must come out at the same places, so that training notices it. */
static void nan_stays_visible(void **state)
{
    int ran = 0, failures = 0;
    const device_options options = {0};
    (void)state;
    setenv("SIMULATED_CUDNN_SPREADS_NAN", "1", 1);
    for (int i = 0; i < NAN_KINDS; i++)
        failures += check_kind(nan_kinds[i], &options, true, &ran);
    unsetenv("SIMULATED_CUDNN_SPREADS_NAN");
    assert_int_equal(failures, 0);
    if (ran == 0)
        skip();
}

int main(void)
{
    static op_kind kinds[OP_COUNT];
    static struct CMUnitTest tests[OP_COUNT + 3] = {
        cmocka_unit_test(own_products_agree_with_the_reference),
        cmocka_unit_test(lower_precision_is_as_close_as_its_bits_allow),
        cmocka_unit_test(nan_stays_visible)};
    say_what_is_left_out();
    for (int i = 0; i < OP_COUNT; i++) {
        kinds[i] = (op_kind)i;
        tests[3 + i] = (struct CMUnitTest){.name = op_infos[i].name,
                                           .test_func = operation_agrees_with_the_reference,
                                           .initial_state = &kinds[i]};
    }
    return cmocka_run_group_tests_name("every operation on every device", tests, NULL,
                                       op_cases_free);
}
