/* The products of dense layers and of Winograd's convolutions by AMX: their distance from the exact
   sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/cpu/dense/dense.h"
#include "device/cpu/isa.h"
#include "device/cpu/winograd/winograd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Relative to the sum of the products' magnitudes (device/cpu/dense/dense_kernels_amx.c). */
#define BOUND 1e-6

enum { X_STRIDE = 270, DY_STRIDE = 50 };

#if defined(__x86_64__)

/* With both signs and magnitudes from 2^-10 to 2^10. */
static float *numbers(int64_t count)
{
    float *p = NULL;
    assert_int_equal(memory_new_aligned((size_t)count * sizeof *p, "test", &p), CORNU_OK);
    for (int64_t i = 0; i < count; i++)
        p[i] = ldexpf((float)rand() / (float)RAND_MAX - 0.5f, rand() % 21 - 10);
    return p;
}

static float *copy_of(const float *from, int64_t count)
{
    float *p = numbers(count);
    memcpy(p, from, (size_t)count * sizeof *p);
    return p;
}

/* Samples of bytes in another order than the rows, and the x that they make. */
typedef struct samples {
    dense_u8 bytes;
    uint8_t *from;
    int64_t index[DENSE_LANES];
    float *x;
} samples;

static void samples_open(samples *s, float scale)
{
    s->from = malloc(DENSE_LANES * X_STRIDE); /* nothing after it may be read */
    assert_non_null(s->from);
    s->x = numbers(DENSE_LANES * X_STRIDE);
    for (int64_t i = 0; i < DENSE_LANES * X_STRIDE; i++)
        s->from[i] = (uint8_t)(i < 256 ? i : rand());
    for (int64_t i = 0; i < DENSE_LANES; i++) {
        s->index[i] = (i * 7 + 31) % DENSE_LANES;
        for (int64_t k = 0; k < X_STRIDE; k++)
            s->x[i * X_STRIDE + k] = (float)s->from[s->index[i] * X_STRIDE + k] * scale;
    }
    s->bytes = (dense_u8){scale, s->from, s->index, X_STRIDE};
}

static void samples_close(samples *s)
{
    free(s->from);
    memory_free_aligned(s->x);
}

typedef struct block_case {
    int64_t rows, depth, width;
    bool add;
    float scale; /* of x; 0: floats, else these: */
    const dense_u8 *bytes;
    int64_t k; /* their first column */
} block_case;

/* The factor for sums of products by x. */
static double factor_of(const block_case *s)
{
    return s->scale != 0 ? s->scale : 1;
}

/* sum over i of a[i * a_step] b[i * b_step], and of the magnitudes */
static double exact(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t count,
                    double start, double *magnitude)
{
    double sum = start;
    *magnitude = fabs(start);
    for (int64_t i = 0; i < count; i++) {
        double product = (double)a[i * a_step] * b[i * b_step];
        sum += product;
        *magnitude += fabs(product);
    }
    return sum;
}

static void check(const char *what, const block_case *s, double found, double expected,
                  double magnitude)
{
    if (fabs(found - expected) <= BOUND * magnitude)
        return;
    fail_msg(
        "%s, %lld rows, depth %lld, width %lld, scale %g: found %.9g; expected %.9g within %.3g",
        what, (long long)s->rows, (long long)s->depth, (long long)s->width, s->scale, found,
        expected, BOUND * magnitude);
}

static void check_multiply(const block_case *s, const float *x, const float *w)
{
    float *packed = numbers(DENSE_AMX->x_floats(s->rows, s->depth));
    float *before = numbers(s->rows * DENSE_PANEL);
    float *sum = copy_of(before, s->rows * DENSE_PANEL);
    const dense_fprop p = {.x = packed,
                           .scale = s->scale,
                           .rows = s->rows,
                           .depth = s->depth,
                           .width = s->width,
                           .w = w,
                           .sum = sum,
                           .add = s->add,
                           .prefetch = w};
    if (s->scale != 0)
        DENSE_AMX->pack_u8(s->bytes, s->rows, s->k, s->depth, packed);
    else
        DENSE_AMX->pack_x(x, X_STRIDE, s->rows, s->depth, packed);
    dense_begin(DENSE_AMX);
    DENSE_AMX->fprop(&p);
    dense_end(DENSE_AMX);
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t n = 0; n < s->width; n++) {
            int64_t at = r * DENSE_PANEL + n;
            double most, sums = exact(x + r * X_STRIDE, 1, w + n, s->width, s->depth,
                                      s->add ? before[at] * factor_of(s) : 0, &most);
            check("forward", s, sum[at] * factor_of(s), sums, most);
        }
    memory_free_aligned(packed);
    memory_free_aligned(before);
    memory_free_aligned(sum);
}

static void check_data(const block_case *s, const float *w, const float *dy)
{
    float *packed = numbers(DENSE_AMX->lanes_floats);
    float *before = numbers(s->depth * DENSE_LANES);
    float *dx = copy_of(before, s->depth * DENSE_LANES);
    const dense_dgrad d = {.w = w,
                           .depth = s->depth,
                           .width = s->width,
                           .dy = packed,
                           .lanes = DENSE_LANES,
                           .dx = dx,
                           .add = s->add,
                           .prefetch = w};
    DENSE_AMX->pack_lanes(dy, DY_STRIDE, s->rows, s->width, DENSE_LANES, packed);
    dense_begin(DENSE_AMX);
    DENSE_AMX->dgrad(&d);
    dense_end(DENSE_AMX);
    for (int64_t k = 0; k < s->depth; k++)
        for (int64_t r = 0; r < s->rows; r++) {
            int64_t at = k * DENSE_LANES + r;
            double most, sum = exact(w + k * s->width, 1, dy + r * DY_STRIDE, 1, s->width,
                                     s->add ? before[at] : 0, &most);
            check("dx", s, dx[at], sum, most);
        }
    memory_free_aligned(packed);
    memory_free_aligned(before);
    memory_free_aligned(dx);
}

static void check_gradient(const block_case *s, const float *x, const float *dy)
{
    float *packed = numbers(DENSE_AMX->wgrad_x_floats(s->rows, s->depth));
    float *panel = numbers(DENSE_AMX->panel_floats(s->rows)), sums[DENSE_PANEL];
    float *before = numbers(s->depth * s->width), *dw = copy_of(before, s->depth * s->width);
    const dense_wgrad g = {.rows = s->rows,
                           .depth = s->depth,
                           .width = s->width,
                           .x = packed,
                           .dy = panel,
                           .scale = s->scale,
                           .dw = dw,
                           .add = s->add};
    if (s->scale != 0)
        DENSE_AMX->pack_wgrad_u8(s->bytes, s->rows, s->k, s->depth, packed);
    else
        DENSE_AMX->pack_wgrad_x(x, X_STRIDE, s->rows, s->depth, packed);
    DENSE_AMX->pack_dy(dy, DY_STRIDE, s->rows, s->width, (float)factor_of(s), panel, sums);
    dense_begin(DENSE_AMX);
    DENSE_AMX->wgrad(&g);
    dense_end(DENSE_AMX);
    for (int64_t k = 0; k < s->depth; k++)
        for (int64_t n = 0; n < s->width; n++) {
            int64_t at = k * s->width + n;
            double most, sum = exact(x + k, X_STRIDE, dy + n, DY_STRIDE, s->rows,
                                     s->add ? before[at] : 0, &most);
            check("dW", s, dw[at], sum, most);
        }
    const float one = 1;
    for (int64_t n = 0; n < s->width; n++) {
        double most, sum = exact(dy + n, DY_STRIDE, &one, 0, s->rows, 0, &most);
        check("sums of dy", s, sums[n], sum, most);
    }
    memory_free_aligned(packed);
    memory_free_aligned(panel);
    memory_free_aligned(before);
    memory_free_aligned(dw);
}

static void products_are_exact_within_the_bound(void **state)
{
    (void)state;
    static const int64_t rows[] = {17, 29, 32}, depths[] = {1, 16, 33, 120, 256},
                         widths[] = {1, 16, 33, 48};
    if (!cpu_isa_runs(CPU_ISA_amx))
        skip();
    for (size_t r = 0; r < 3; r++)
        for (size_t d = 0; d < 5; d++)
            for (size_t n = 0; n < 4; n++)
                for (int way = 0; way < 4; way++) {
                    samples of;
                    samples_open(&of, 1 / 255.0f);
                    block_case s = {
                        .rows = rows[r], .depth = depths[d], .width = widths[n], .add = way % 2};
                    float *x = numbers(s.rows * X_STRIDE), *dy = numbers(s.rows * DY_STRIDE);
                    float *w = numbers(s.depth * s.width);
                    if (way >= 2) { /* the last columns, if they begin at a multiple */
                        s.scale = 1 / 255.0f;
                        s.bytes = &of.bytes;
                        s.k = (X_STRIDE - s.depth) / 16 * 16;
                        memcpy(x, of.x, (size_t)(s.rows * X_STRIDE) * sizeof *x);
                    }
                    check_multiply(&s, x + s.k, w);
                    if (way < 2)
                        check_data(&s, w, dy);
                    check_gradient(&s, x + s.k, dy);
                    samples_close(&of);
                    memory_free_aligned(x);
                    memory_free_aligned(dy);
                    memory_free_aligned(w);
                }
}

/* A batch of two: rows and depths that fill no AMX tile, strip or vector. */
static void check_batch(int64_t rows, int64_t depth, int64_t columns)
{
    enum { PRODUCTS = 2, PACKED = SMALL_GEMM_PACKED_ROWS, DEPTH_STEP = 32 };
    const block_case s = {.rows = rows, .depth = depth, .width = columns};
    const int64_t room = (rows + PACKED - 1) / PACKED * PACKED, a_row = (depth + 15) / 16 * 16;
    const int64_t floats = SMALL_GEMM_AMX->floats(depth, columns);
    float *a = numbers(PRODUCTS * rows * a_row), *c = numbers(PRODUCTS * room * columns);
    float *b = numbers(PRODUCTS * depth * columns), *packed = numbers(PRODUCTS * floats);
    float *some = numbers(PACKED * columns);
    for (int64_t p = 0; p < PRODUCTS; p++)
        for (int64_t k = 0; k < depth || k % DEPTH_STEP > 0;
             k += k % PACKED == 8 ? DEPTH_STEP - 8 : 8) {
            for (int64_t i = 0; i < PACKED * columns; i++) {
                int64_t row = k + i / columns % 8 + i / columns / 8 * 16;
                some[i] = row < depth ? b[(p * depth + row) * columns + i % columns] : 0;
            }
            SMALL_GEMM_AMX->pack_b(some, columns, k, depth, columns, packed + p * floats);
        }
    SMALL_GEMM_AMX->multiply(&(small_gemm_batch){.first = {.a = a,
                                                           .a_stride = a_row,
                                                           .b = packed,
                                                           .c = c,
                                                           .c_stride = columns,
                                                           .rows = rows,
                                                           .columns = columns,
                                                           .depth = depth},
                                                 .count = PRODUCTS,
                                                 .a_step = rows * a_row,
                                                 .b_step = floats,
                                                 .c_step = room * columns});
    for (int64_t i = 0; i < PRODUCTS * rows * columns; i++) {
        int64_t p = i / (rows * columns), row = i / columns % rows, n = i % columns;
        double most, sum = exact(a + (p * rows + row) * a_row, 1, b + p * depth * columns + n,
                                 columns, depth, 0, &most);
        check("series", &s, c[(p * room + row) * columns + n], sum, most);
    }
    memory_free_aligned(a);
    memory_free_aligned(b);
    memory_free_aligned(c);
    memory_free_aligned(packed);
    memory_free_aligned(some);
}

static void series_are_exact_within_the_bound(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 16, 17, 64, 70}, depths[] = {1, 20, 32, 64, 100, 150},
                         columns[] = {16, 32, 48, 64};
    if (!cpu_isa_runs(CPU_ISA_amx))
        skip();
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
            for (size_t n = 0; n < sizeof columns / sizeof *columns; n++)
                check_batch(rows[r], depths[d], columns[n]);
}

/* Whatever its bits are: rounding must not turn it into a number. */
static void any_nan_stays_one(void **state)
{
    (void)state;
    static const uint32_t patterns[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0xffc00000};
    enum { ROWS = 32, DEPTH = 64 };
    if (!cpu_isa_runs(CPU_ISA_amx))
        skip();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (int in_w = 0; in_w < 2; in_w++) {
            float *x = numbers(ROWS * DEPTH), *w = numbers(DEPTH * DENSE_PANEL);
            float *packed = numbers(DENSE_AMX->x_floats(ROWS, DEPTH));
            float *sum = numbers(ROWS * DENSE_PANEL);
            memcpy(in_w ? w + 5 * DENSE_PANEL + 7 : x + 3 * DEPTH + 5, &patterns[i], sizeof *x);
            const dense_fprop p = {.x = packed,
                                   .rows = ROWS,
                                   .depth = DEPTH,
                                   .width = DENSE_PANEL,
                                   .w = w,
                                   .sum = sum,
                                   .prefetch = w};
            DENSE_AMX->pack_x(x, DEPTH, ROWS, DEPTH, packed);
            dense_begin(DENSE_AMX);
            DENSE_AMX->fprop(&p);
            dense_end(DENSE_AMX);
            for (int64_t r = 0; r < ROWS; r++)
                for (int64_t n = 0; n < DENSE_PANEL; n++)
                    assert_int_equal(isnan(sum[r * DENSE_PANEL + n]) != 0, in_w ? n == 7 : r == 3);
            memory_free_aligned(x);
            memory_free_aligned(w);
            memory_free_aligned(packed);
            memory_free_aligned(sum);
        }
}

#else

static void products_are_exact_within_the_bound(void **state)
{
    (void)state;
    skip();
}

static void series_are_exact_within_the_bound(void **state)
{
    (void)state;
    skip();
}

static void any_nan_stays_one(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact_within_the_bound),
        cmocka_unit_test(series_are_exact_within_the_bound),
        cmocka_unit_test(any_nan_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
