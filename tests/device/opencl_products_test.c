/* Products and convolutions of the OpenCL device: the same bits twice, and sizes beyond the table
   of operations, which must stay small for the reference. Skipped without such a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/winograd/winograd.h"
#include "support/net.h"
#include "support/op_cases.h"
#include <string.h>

static device *open_with(const char *kernel)
{
    const device_options options = {.kernel = kernel};
    for (int i = 0; net_device(i); i++)
        if (strncmp(net_device(i), "opencl", 6) == 0)
            return net_device_open(net_device(i), &options);
    return NULL;
}

static bool is_product(op_kind kind)
{
    return kind >= OP_DENSE_FORWARD && kind <= OP_CONV2D_BACKWARD_WEIGHTS;
}

static void every_product_gives_the_same_bits_twice(void **state)
{
    static const char *const kernels[] = {NULL, "direct"};
    int count, failures = 0;
    const op_case *table = op_cases(&count);
    (void)state;
    for (int k = 0; k < 2; k++) {
        device *d = open_with(kernels[k]);
        if (!d)
            skip();
        for (int i = 0; i < count; i++)
            if (is_product(table[i].kind))
                failures += op_case_check_twice(&table[i], d);
        d->ops->close(d);
    }
    assert_int_equal(failures, 0);
}

/* ---- large ones ---------------------------------------------------------------------------- */

/* 3x3, stride 1, "same", on images of 18 x 18: 25 of Winograd's tiles, partial ones at the
   edges. */
static op_case convolution_of(op_kind kind, int64_t batch, int64_t channels, int64_t filters)
{
    const shape x = {4, {batch, 18, 18, channels}}, y = {4, {batch, 18, 18, filters}};
    const shape w = {4, {3, 3, channels, filters}}, b = {1, {filters}};
    op_case c = {.kind = kind, .label = "large"};
    c.a.conv.w = (window2d){.kernel = {3, 3},
                            .stride = {1, 1},
                            .dilation = {1, 1},
                            .before = {1, 1},
                            .after = {1, 1},
                            .groups = 1};
    c.in[0] = kind == OP_CONV2D_FORWARD ? x : y;
    c.in[1] = w;
    c.out[0] = kind == OP_CONV2D_FORWARD ? y : x;
    if (kind == OP_CONV2D_FORWARD) {
        c.in[2] = b;
        c.a.conv.act = (activation){ACTIVATION_ELU, 1};
    }
    return c;
}

static void run_with(const char *wanted, const op_case *c, op_outputs *out)
{
    char kernel[64] = "";
    device *d = open_with(wanted);
    if (op_case_run_on(c, d, false, kernel, out) != CORNU_OK)
        fail_msg("%s: %s", wanted, cornu_last_error());
    assert_string_equal(kernel, wanted);
    d->ops->close(d);
}

/* Winograd's transforms are in memory for a block of tiles; here there are several blocks, and the
   last is smaller. */
static void blocks_of_tiles_make_one_convolution(void **state)
{
    static const op_kind kinds[] = {OP_CONV2D_FORWARD, OP_CONV2D_BACKWARD_DATA};
    (void)state;
    device *d = open_with(NULL);
    if (!d)
        skip();
    d->ops->close(d);
    for (int i = 0; i < 2; i++) {
        const op_case c = convolution_of(kinds[i], 67, 72, 66);
        op_outputs expected, found;
        run_with("direct", &c, &expected);
        run_with("winograd", &c, &found);
        assert_int_equal(op_outputs_compare(&c, "winograd", WINOGRAD_TOLERANCE, &found, &expected),
                         0);
        op_outputs_free(&expected);
        op_outputs_free(&found);
    }
}

/* ---- long sums ----------------------------------------------------------------------------- */

/* Few numbers, so that they are divided among many work-groups. */
static op_case dense_weights(int64_t rows)
{
    const shape x = {2, {rows, 20}}, dy = {2, {rows, 22}}, dw = {2, {20, 22}}, db = {1, {22}};
    return (op_case){.kind = OP_DENSE_BACKWARD_WEIGHTS,
                     .label = "dense weights of many rows",
                     .in = {x, dy},
                     .out = {dw, db}};
}

/* As in a first layer, with three channels. */
static op_case convolution_weights(int64_t batch)
{
    const shape x = {4, {batch, 30, 30, 3}}, dy = {4, {batch, 30, 30, 32}};
    op_case c = convolution_of(OP_CONV2D_BACKWARD_WEIGHTS, batch, 3, 32);
    strcpy(c.label, "convolution weights of many pixels");
    c.out[0] = c.in[1];
    c.out[1] = (shape){1, {32}};
    c.in[0] = x;
    c.in[1] = dy;
    return c;
}

static void expect_reference(const char *wanted, const op_case *cases, int count)
{
    device *d = open_with(wanted);
    if (!d)
        skip();
    for (int i = 0; i < count; i++) {
        char name[64] = "";
        op_outputs expected, found;
        const op_info *info = &op_infos[cases[i].kind];
        const kernel *reference = &reference_kernels[cases[i].kind];
        assert_int_equal(op_case_run(&cases[i], reference, NULL, false, &expected), CORNU_OK);
        assert_int_equal(op_case_run_on(&cases[i], d, false, name, &found), CORNU_OK);
        assert_int_equal(op_outputs_compare(&cases[i], name, info->tolerance, &found, &expected),
                         0);
        op_outputs_free(&expected);
        op_outputs_free(&found);
    }
    d->ops->close(d);
}

static void a_sum_of_many_slices_is_the_reference(void **state)
{
    const op_case cases[] = {dense_weights(40000), dense_weights(150000), convolution_weights(40)};
    (void)state;
    expect_reference(NULL, cases, 3);
}

/* ---- tiles of unlike work ------------------------------------------------------------------- */

static op_case dense_forward(int64_t rows, int64_t in, int64_t units)
{
    const shape x = {2, {rows, in}}, w = {2, {in, units}}, b = {1, {units}}, y = {2, {rows, units}};
    op_case c = {.kind = OP_DENSE_FORWARD,
                 .label = "dense of tiles that are no full rounds",
                 .in = {x, w, b},
                 .out = {y}};
    c.a.dense.act = (activation){ACTIVATION_ELU, 1};
    return c;
}

/* On GPUs: of 5 rows of 2 tiles, say, the last tile would keep few compute units busy, and so is
   divided into slices; bias and activation must also work with slices. */
static void the_last_tiles_in_slices_make_the_same_product(void **state)
{
    op_case cases[14];
    int count = 0;
    (void)state;
    for (int64_t rows = 65; rows <= 449; rows += 128)
        for (int64_t units = 64; units <= 66; units += 2)
            cases[count++] = dense_forward(rows, 1100, units);
    for (int64_t batch = 1; batch <= 3; batch++) {
        cases[count++] = convolution_of(OP_CONV2D_BACKWARD_DATA, batch, 32, 68);
        cases[count++] = convolution_of(OP_CONV2D_FORWARD, batch, 68, 32);
    }
    expect_reference("direct", cases + count - 6, 6);
    expect_reference(NULL, cases, count - 6);
}

/* On GPUs: dy does not fit a small cache, so that its columns are divided. */
static void weights_in_strips_are_the_reference(void **state)
{
    op_case c = dense_weights(32);
    (void)state;
    c.in[0] = (shape){2, {32, 150}};
    c.in[1] = (shape){2, {32, 1200}};
    c.out[0] = (shape){2, {150, 1200}};
    c.out[1] = (shape){1, {1200}};
    expect_reference(NULL, &c, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_product_gives_the_same_bits_twice),
        cmocka_unit_test(blocks_of_tiles_make_one_convolution),
        cmocka_unit_test(a_sum_of_many_slices_is_the_reference),
        cmocka_unit_test(the_last_tiles_in_slices_make_the_same_product),
        cmocka_unit_test(weights_in_strips_are_the_reference),
    };
    return cmocka_run_group_tests_name("products of the OpenCL device", tests, NULL, op_cases_free);
}
