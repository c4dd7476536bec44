/* Gradients of single operations, by the reference's kernels, against finite differences of the
   operation itself. (All other kernels are held against the reference.) */
#include "support/op_cases.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ELEMENTS_MOST = 1000 };

/* What an input of the backward operation is: an input of the forward operation, dy, or y. */
enum { ABSENT = -3, Y, DY };

typedef struct gradient_case {
    op_case forward, backward;
    int from[OP_INPUTS_MAX]; /* of each input of `backward` */
    int of;                  /* the input of `forward` whose gradient backward.out[0] is */
    float least;             /* of the inputs' magnitudes */
    bool positive;           /* are they all above 0? */
} gradient_case;

static float memory[OP_INPUTS_MAX][ELEMENTS_MOST], dy[ELEMENTS_MOST];

/* Numbers of both signs; those of two tensors differ by 1/64 or more. */
static void fill(float *x, int64_t count, int seed, float least)
{
    assert_true(count <= ELEMENTS_MOST);
    for (int64_t i = 0; i < count; i++) {
        const double place = fmod((double)(i + 1) * 0.618034 + seed * 0.377, 1);
        const float part = (float)(round(16 * place) / 16 + seed / 64.0);
        x[i] = (i * 7 + seed) % 3 == 0 ? -least - part : least + part;
    }
}

static void run(const op_case *c, const float *const inputs[OP_INPUTS_MAX], op_outputs *out)
{
    if (op_case_run_with(c, &reference_kernels[c->kind], NULL, inputs, out) != CORNU_OK)
        fail_msg("%s: %s", c->label, cornu_last_error());
}

/* sum of dy y */
static double loss_of(const gradient_case *g)
{
    const float *inputs[OP_INPUTS_MAX];
    op_outputs y;
    double sum = 0;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = memory[i];
    run(&g->forward, inputs, &y);
    for (int64_t i = 0; i < y.count[0]; i++)
        sum += (double)y.values[0][i] * (double)dy[i];
    op_outputs_free(&y);
    return sum;
}

static void gradient_of(const gradient_case *g, op_outputs *out)
{
    const float *inputs[OP_INPUTS_MAX];
    op_outputs y;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = memory[i];
    run(&g->forward, inputs, &y);
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = g->from[i] == DY  ? dy
                    : g->from[i] == Y ? y.values[0]
                    : g->from[i] >= 0 ? memory[g->from[i]]
                                      : NULL;
    run(&g->backward, inputs, out);
    op_outputs_free(&y);
}

static void check(const gradient_case *g)
{
    const float step = 1.0f / 256;
    op_outputs dx;
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        const int64_t count = g->forward.in[i].rank ? shape_elements(&g->forward.in[i]) : 0;
        fill(memory[i], count, i, g->least);
        for (int64_t k = 0; g->positive && k < count; k++)
            memory[i][k] = fabsf(memory[i][k]);
    }
    fill(dy, shape_elements(&g->forward.out[0]), 5, 0);
    gradient_of(g, &dx);
    assert_int_equal(dx.count[0], shape_elements(&g->forward.in[g->of]));
    double largest = 0;
    for (int64_t i = 0; i < dx.count[0]; i++)
        largest = fmax(largest, fabs((double)dx.values[0][i]));
    assert_true(largest > 0);
    for (int64_t i = 0; i < dx.count[0]; i++) {
        float *x = &memory[g->of][i], old = *x;
        *x = old + step;
        double more = loss_of(g);
        *x = old - step;
        double less = loss_of(g);
        *x = old;
        double expected = (more - less) / (2 * (double)step), found = (double)dx.values[0][i];
        if (!(fabs(found - expected) <= 2e-3 * largest))
            fail_msg("%s of input %d, element %lld: found %g; expected %g", g->backward.label,
                     g->of, (long long)i, found, expected);
    }
    op_outputs_free(&dx);
}

/* ---- operations of two tensors -------------------------------------------------------------- */

static const shape pairs[][2] = {
    {{2, {3, 5}}, {2, {3, 5}}},
    {{4, {2, 3, 4, 5}}, {4, {2, 1, 1, 5}}},
    {{4, {2, 3, 1, 5}}, {4, {2, 1, 4, 1}}},
    {{3, {2, 7, 1}}, {3, {2, 7, 6}}},
};

static void operations_of_two_tensors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int kind = 0; kind < BINARY_COUNT; kind++)
            for (int of = 0; of < binary_gradients((binary_kind)kind); of++) {
                const shape a = pairs[i][0], b = pairs[i][1];
                shape y = a;
                for (int d = 0; d < y.rank; d++)
                    y.dim[d] = a.dim[d] == 1 ? b.dim[d] : a.dim[d];
                const op_attributes how = {.binary = {(binary_kind)kind, of}};
                gradient_case g = {
                    .forward = {OP_BINARY_FORWARD, "", {a, b}, {y}, how, 0, false, false},
                    .backward =
                        {OP_BINARY_BACKWARD, "", {a, b, y}, {of ? b : a}, how, 0, false, false},
                    .from = {0, 1, DY, ABSENT, ABSENT, ABSENT},
                    .of = of,
                    .least = 0.75f};
                snprintf(g.backward.label, sizeof g.backward.label, "%s of shapes %d",
                         binary_name((binary_kind)kind), (int)i);
                check(&g);
            }
}

/* ---- of one tensor -------------------------------------------------------------------------- */

static void functions_of_one_tensor(void **state)
{
    (void)state;
    static const activation rows[] = {
#define ACTIVATION(...)
#define ELEMENT_FUNCTION(id, name, other_name, rule, alpha, ...) {ACTIVATION_##id, alpha},
#define ACTIVATION_OF_ROWS(id, name, other_name, rule, alpha, ...) {ACTIVATION_##id, alpha},
#include "model/activations.def"
    };
    const shape x = {3, {2, 3, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const activation_kind kind = rows[i].kind;
        if (kind == ACTIVATION_SPARSEMAX) /* it jumps: its layer's samples are near each other */
            continue;
        const op_attributes how = {.act = rows[i]};
        gradient_case g = {
            .forward = {OP_ACTIVATION_FORWARD, "", {x}, {x}, how, 0, false, false},
            .backward = {OP_ACTIVATION_BACKWARD, "", {x, x}, {x}, how, 0, false, false},
            .from = {activation_from_output(kind) ? Y : 0, DY, ABSENT, ABSENT, ABSENT, ABSENT},
            .least = 0.77f, /* so that no corner is met: those at 0.5, 1 and 3 */
            .positive = kind == ACTIVATION_INVERSE_NORM || kind == ACTIVATION_LOG ||
                        kind == ACTIVATION_RSQRT || kind == ACTIVATION_SQRT};
        snprintf(g.backward.label, sizeof g.backward.label, "%s", activation_name(kind));
        check(&g);
    }
}

static void slices(void **state)
{
    (void)state;
    const shape whole = {3, {2, 5, 3}}, part = {3, {2, 2, 3}};
    const op_attributes how = {.slice = {1, 1, 2, false}};
    const op_case slice = {OP_SLICE, "slice", {whole}, {part}, how, 0, false, false};
    const op_case insert = {OP_INSERT, "insert", {part}, {whole}, how, 0, false, false};
    const int from[OP_INPUTS_MAX] = {DY, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT};
    gradient_case g = {.forward = slice, .backward = insert};
    memcpy(g.from, from, sizeof from);
    check(&g);
    g.forward = insert;
    g.backward = slice;
    check(&g);
}

static void transposes(void **state)
{
    (void)state;
    const shape x = {4, {2, 3, 4, 5}}, y = {4, {2, 5, 3, 4}};
    const op_case there = {OP_TRANSPOSE, "transpose", {x}, {y}, {.order = {0, 3, 1, 2}}, 0,
                           false,        false};
    const op_case back = {OP_TRANSPOSE, "transpose", {y}, {x}, {.order = {0, 2, 3, 1}}, 0,
                          false,        false};
    const int from[OP_INPUTS_MAX] = {DY, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT};
    gradient_case g = {.forward = there, .backward = back};
    memcpy(g.from, from, sizeof from);
    check(&g);
}

/* The gradient of the image; the map has none. */
static void resampled_images(void **state)
{
    (void)state;
    const shape x = {4, {2, 5, 4, 3}}, y = {4, {2, 6, 3, 3}}, map = {2, {2, MAP_NUMBERS}};
    for (int border = BORDER_REFLECT; border <= BORDER_NEAREST; border++)
        for (int nearest = 0; nearest < 2; nearest++) {
            const op_attributes how = {.resample = {border, nearest, 0.5f}};
            gradient_case g = {
                .forward = {OP_RESAMPLE_FORWARD, "resample", {x, map}, {y}, how, 0, false, false},
                .backward = {OP_RESAMPLE_BACKWARD, "resample", {map, y}, {x}, how, 0, false, false},
                .from = {1, DY, ABSENT, ABSENT, ABSENT, ABSENT}};
            check(&g);
        }
}

/* The gradient of the image; the numbers have none. */
static void recolored_images(void **state)
{
    (void)state;
    for (int kind = RECOLOR_INVERT; kind <= RECOLOR_HUE; kind++)
        if (kind != RECOLOR_POSTERIZE) { /* which has steps */
            const shape x = {4, {3, 5, 4, 3}}, drawn = {2, {3, kind == RECOLOR_SOLARIZE ? 2 : 1}};
            const op_attributes how = {.recolor = {kind, -3, 4}};
            gradient_case g = {
                .forward = {OP_RECOLOR_FORWARD, "recolor", {x, drawn}, {x}, how, 0, false, false},
                .backward =
                    {OP_RECOLOR_BACKWARD, "recolor", {x, drawn, x}, {x}, how, 0, false, false},
                .from = {0, 1, DY, ABSENT, ABSENT, ABSENT},
                .least = 0.375f,
                .positive = true};
            check(&g);
        }
}

/* What TensorFlow 2.21 gives through keras.ops. */
static void equal_numbers_and_nan_are_as_in_tensorflow(void **state)
{
    (void)state;
    const float a[] = {1, 2, 2, NAN, 1, NAN, 0, 5}, b[] = {2, 1, 2, 1, NAN, NAN, -0.0f, 0};
    const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct {
        binary_kind kind;
        float y[8], da[8];
    } rows[] = {
        {BINARY_MAXIMUM, {2, 2, 2, NAN, NAN, NAN, 0, 5}, {0, 1, 1, 0, 0, 0, 1, 1}},
        {BINARY_MINIMUM, {1, 1, 2, NAN, NAN, NAN, 0, 0}, {1, 0, 1, 0, 0, 0, 1, 0}},
    };
    const shape s = {2, {1, 8}};
    for (int i = 0; i < 2; i++)
        for (int of = 0; of < 2; of++) {
            const op_attributes how = {.binary = {rows[i].kind, of}};
            const op_case forward = {OP_BINARY_FORWARD, "", {s, s}, {s}, how, 0, false, false};
            const op_case backward = {OP_BINARY_BACKWARD, "", {s, s, s}, {s}, how, 0, false, false};
            op_outputs y, dx;
            run(&forward, (const float *const[OP_INPUTS_MAX]){a, b}, &y);
            run(&backward, (const float *const[OP_INPUTS_MAX]){a, b, ones}, &dx);
            for (int k = 0; k < 8; k++) {
                assert_true(isnan(rows[i].y[k]) ? isnan(y.values[0][k])
                                                : y.values[0][k] == rows[i].y[k]);
                assert_true(dx.values[0][k] == (of ? 1 - rows[i].da[k] : rows[i].da[k]));
            }
            op_outputs_free(&y);
            op_outputs_free(&dx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_two_tensors),
        cmocka_unit_test(functions_of_one_tensor),
        cmocka_unit_test(slices),
        cmocka_unit_test(transposes),
        cmocka_unit_test(resampled_images),
        cmocka_unit_test(recolored_images),
        cmocka_unit_test(equal_numbers_and_nan_are_as_in_tensorflow),
    };
    return cmocka_run_group_tests_name("gradients of single operations", tests, NULL, NULL);
}
