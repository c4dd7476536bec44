/* Operations of the OpenCL device other than products: the same bits twice, and sizes that many
   work-groups share. Skipped without such a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/op_cases.h"
#include <string.h>

static device *open_opencl(void)
{
    const device_options options = {0};
    for (int i = 0; net_device(i); i++)
        if (strncmp(net_device(i), "opencl", 6) == 0)
            return net_device_open(net_device(i), &options);
    return NULL;
}

static bool is_product(op_kind kind)
{
    return kind >= OP_DENSE_FORWARD && kind <= OP_CONV2D_BACKWARD_WEIGHTS;
}

static void every_operation_gives_the_same_bits_twice(void **state)
{
    int count, failures = 0;
    const op_case *table = op_cases(&count);
    (void)state;
    device *d = open_opencl();
    if (!d)
        skip();
    for (int i = 0; i < count; i++)
        if (!is_product(table[i].kind) && !net_lacks_kind(d, table[i].kind))
            failures += op_case_check_twice(&table[i], d);
    d->ops->close(d);
    assert_int_equal(failures, 0);
}

/* ---- large ones ---------------------------------------------------------------------------- */

/* Sums of rows and of columns over more than one group handles: [rows][n], or a single row. */
typedef struct large {
    op_kind kind;
    int64_t rows, n;
    loss_id loss;
    row_sum sum;
} large;
static const large larges[] = {
    {.kind = OP_SQUARE_SUM, .rows = 1, .n = 3000001},
    {.kind = OP_BATCH_NORM_FORWARD, .rows = 30011, .n = 33},
    {.kind = OP_BATCH_NORM_BACKWARD, .rows = 30011, .n = 33},
    {.kind = OP_BATCH_NORM_FORWARD, .rows = 70001, .n = 1},
    {.kind = OP_LAYER_NORM_FORWARD, .rows = 3, .n = 50021},
    {.kind = OP_LAYER_NORM_BACKWARD, .rows = 30011, .n = 33},
    {.kind = OP_LOSS, .rows = 5003, .n = 10, .loss = LOSS_CATEGORICAL_CROSSENTROPY},
    {.kind = OP_LOSS, .rows = 200003, .n = 3, .loss = LOSS_MEAN_SQUARED_ERROR},
    {.kind = OP_METRIC, .rows = 5003, .n = 10, .sum = SUM_CATEGORICAL_ACCURACY},
    {.kind = OP_METRIC, .rows = 5003, .n = 77, .sum = SUM_TOP_K_CATEGORICAL_ACCURACY},
};

static op_case case_of(const large *l)
{
    const shape x = {2, {l->rows, l->n}}, v = {1, {l->n}}, r = {1, {l->rows}}, s = {1, {3}};
    op_case c = {.kind = l->kind, .label = "large", .in = {x}, .out = {x}};
    switch (l->kind) {
    case OP_SQUARE_SUM:
        c.out[0] = s;
        c.a.norm.slot = 1;
        break;
    case OP_LOSS:
        c.in[1] = x;
        c.a.loss.id = l->loss;
        break;
    case OP_METRIC:
        c.in[1] = x;
        c.out[0] = (shape){0};
        c.a.metric.sum = l->sum;
        c.a.metric.k = 5;
        c.a.metric.slot = 1;
        break;
    case OP_BATCH_NORM_FORWARD:
        c.in[1] = c.in[2] = c.in[3] = c.in[4] = v;
        c.out[1] = c.out[2] = c.out[3] = c.out[4] = v;
        c.a.batch_norm.momentum = 0.9f;
        c.a.batch_norm.epsilon = 1e-3f;
        break;
    case OP_LAYER_NORM_FORWARD:
        c.in[1] = c.in[2] = v;
        c.out[1] = c.out[2] = r;
        c.a.reals[0] = 1e-3f;
        break;
    default: /* backward passes of both */
        c.in[1] = x;
        c.in[2] = c.out[1] = c.out[2] = v;
        c.in[3] = c.in[4] = l->kind == OP_BATCH_NORM_BACKWARD ? v : r;
    }
    return c;
}

static void many_groups_agree_with_the_reference(void **state)
{
    int failures = 0;
    (void)state;
    device *d = open_opencl();
    if (!d)
        skip();
    for (size_t i = 0; i < sizeof larges / sizeof *larges; i++) {
        const op_case c = case_of(&larges[i]);
        op_outputs expected = {0}, found = {0};
        char kernel[64] = "";
        if (op_case_run_on(&c, d, false, kernel, &found) != CORNU_OK)
            fail_msg("%s: %s", op_infos[c.kind].name, cornu_last_error());
        assert_int_equal(op_case_run(&c, &reference_kernels[c.kind], NULL, false, &expected),
                         CORNU_OK);
        failures += op_outputs_compare(&c, op_infos[c.kind].name, op_infos[c.kind].tolerance,
                                       &found, &expected);
        failures += op_case_check_twice(&c, d);
        op_outputs_free(&expected);
        op_outputs_free(&found);
    }
    d->ops->close(d);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_gives_the_same_bits_twice),
        cmocka_unit_test(many_groups_agree_with_the_reference),
    };
    return cmocka_run_group_tests_name("operations of the OpenCL device that are no products",
                                       tests, NULL, op_cases_free);
}
