/* Every kernel of every device against the reference, over the table of shapes. */
#include "support/op_cases.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Largest |difference| over the reference's largest magnitude; INFINITY where one is a NaN and the
   other is not. *worst: its place. */
static double difference(const float *found, const float *expected, int64_t count, int64_t *worst)
{
    double largest = 0, magnitude = 0;
    *worst = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = fabs((double)found[i] - (double)expected[i]);
        if (isnan(found[i]) != isnan(expected[i]))
            d = INFINITY;
        else if (isnan(expected[i]) || found[i] == expected[i])
            continue;
        magnitude = fmax(magnitude, fabs((double)expected[i]));
        if (d > largest) {
            largest = d;
            *worst = i;
        }
    }
    for (int64_t i = 0; i < count; i++)
        if (isfinite(expected[i]))
            magnitude = fmax(magnitude, fabs((double)expected[i]));
    return largest == 0 ? 0 : largest / (magnitude > 0 ? magnitude : 1);
}

static int compare(const op_case *c, const char *device, const char *kernel_name,
                   const op_outputs *found, const op_outputs *expected)
{
    int failures = 0;
    double tolerance = op_infos[c->kind].tolerance;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        int64_t at = 0;
        double d = difference(found->values[i], expected->values[i], expected->count[i], &at);
        if (d <= tolerance)
            continue;
        printf("%s: %s/%s: output %d element %lld: found %.9g; expected %.9g (differ by %.3g of "
               "the largest, may by %.3g)\n",
               c->label, device, kernel_name, i, (long long)at, (double)found->values[i][at],
               (double)expected->values[i][at], d, tolerance);
        failures++;
    }
    const double *f = found->results.metrics, *e = expected->results.metrics;
    double loss = fabs(found->results.loss - expected->results.loss);
    if (loss > tolerance * fabs(expected->results.loss) || f[1] != e[1]) {
        printf("%s: %s/%s: found loss %.9g, metric %.9g; expected %.9g, %.9g\n", c->label, device,
               kernel_name, found->results.loss, f[1], expected->results.loss, e[1]);
        failures++;
    }
    return failures;
}

/* All kernels of one device on one case. Returns failures; *tried counts the kernels that ran. */
static int check_case(host_device *h, const op_case *c, bool nan, int *tried)
{
    int failures = 0;
    op_outputs expected, found;
    const kernel_list list = h->kernels[c->kind];
    const kernel *reference = &reference_kernels[c->kind];
    assert_int_equal(op_case_run(c, reference, h->pool, nan, &expected), CORNU_OK);
    for (int i = 0; list && list[i]; i++) {
        const char *why = "";
        if (list[i] == reference || !op_case_accepted(c, list[i], &why))
            continue;
        cornu_status status = op_case_run(c, list[i], h->pool, nan, &found);
        if (status != CORNU_OK) {
            printf("%s: %s/%s: %s\n", c->label, h->device.ops->name, list[i]->name,
                   cornu_last_error());
            failures++;
        } else {
            failures += compare(c, h->device.ops->name, list[i]->name, &found, &expected);
        }
        (*tried)++;
        op_outputs_free(&found);
    }
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
        bool has_own = list && list[0] && list[0] != &reference_kernels[kind];
        assert_true(!has_own || tried > 0);
        host_close(&h->device);
    }
    assert_true(cases > 0);
    assert_int_equal(failures, 0);
}

/* A NaN must come out at the same places, so that training notices it. */
static void nan_stays_visible(void **state)
{
    (void)state;
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
    int count, failures = 0, tried = 0;
    const op_case *table = op_cases(&count);
    host_device *h = open_host(device_table[0]);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (table[i].kind == kinds[k])
                failures += check_case(h, &table[i], true, &tried);
    host_close(&h->device);
    assert_true(tried > 0);
    assert_int_equal(failures, 0);
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
    static struct CMUnitTest tests[OP_COUNT + 1];
    for (int i = 0; i < OP_COUNT; i++) {
        kinds[i] = (op_kind)i;
        tests[i] = (struct CMUnitTest){.name = op_infos[i].name,
                                       .test_func = operation_agrees_with_the_reference,
                                       .initial_state = &kinds[i]};
    }
    tests[OP_COUNT] = (struct CMUnitTest)cmocka_unit_test(nan_stays_visible);
    return cmocka_run_group_tests_name("every kernel agrees with the reference", tests, NULL,
                                       free_table);
}
