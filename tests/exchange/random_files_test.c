/* Random networks that branch come back from each kind of file with the same network, weights and
   predictions. CORNU_TEST_GRAPHS: how many; CORNU_TEST_SEED: the first one's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/random_net.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <cornu/exchange.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 50, SAMPLES = 3 };

static float *predict(cornu_model *m, int64_t *count)
{
    const int64_t inputs = shape_elements(&m->input);
    *count = SAMPLES * shape_elements(&m->output);
    float *x = calloc((size_t)(SAMPLES * inputs), sizeof *x);
    float *y = calloc((size_t)*count, sizeof *y);
    assert_non_null(x);
    assert_non_null(y);
    net_fill(x, SAMPLES * inputs, 4);
    expect_ok(cornu_predict(m, x, SAMPLES, NULL, y));
    free(x);
    return y;
}

static void expect_same_outputs(cornu_model *a, cornu_model *b, double most, const char *what)
{
    int64_t count, other;
    float *x = predict(a, &count), *y = predict(b, &other);
    assert_int_equal(count, other);
    const double found = net_difference(x, y, count);
    if (!(found <= most)) {
        char *shown = random_net_show(a);
        fprintf(stderr, "%s: outputs %g apart: %s\n", what, found, shown); /* at any length */
        free(shown);
        fail();
    }
    free(x);
    free(y);
}

static void expect_same_model(cornu_model *a, cornu_model *b, const char *what)
{
    char *x = random_net_show(a), *y = random_net_show(b);
    assert_string_equal(x, y);
    free(x);
    free(y);
    assert_true(same_bits(a, b));
    expect_same_outputs(a, b, 0, what);
}

static cornu_model *drawn(int i)
{
    return random_net(random_net_first() + (uint64_t)i);
}

static int graphs(void)
{
    return random_net_count(SANITIZED ? GRAPHS / 5 : GRAPHS);
}

static void models_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"m.safetensors", "m.keras", "m.h5"};
    for (int i = 0; i < graphs(); i++) {
        cornu_model *m = drawn(i), *again;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            expect_ok(cornu_model_save(m, scratch_path(names[k])));
            expect_ok(cornu_model_open(scratch_path(names[k]), &again));
            expect_same_model(m, again, names[k]);
            cornu_model_close(again);
        }
        cornu_model_close(m);
    }
}

static void weights_come_back_from(const char *name, const char *names, int least)
{
    int written = 0;
    for (int i = 0; i < graphs(); i++) {
        cornu_model *m = drawn(i), *again = drawn(i);
        cornu_weights_options o = {.size = sizeof o, .names = names};
        expect_ok(model_initialize(again, 99));
        const cornu_status status = cornu_model_save_weights(m, scratch_path(name), &o);
        if (status == CORNU_OK) {
            written++;
            if (cornu_model_load_weights_as(again, scratch_path(name), &o) != CORNU_OK)
                fail_msg("seed %d: %s", i, cornu_last_error());
            expect_same_model(m, again, name);
        } else {
            expect_status(status, CORNU_UNSUPPORTED);
        }
        cornu_model_close(again);
        cornu_model_close(m);
    }
    assert_true(written >= least);
}

static void weights_come_back(void **state)
{
    (void)state;
    weights_come_back_from("w.safetensors", NULL, graphs());
    weights_come_back_from("w.weights.h5", NULL, graphs());
    weights_come_back_from("w.h5", NULL, graphs());
}

/* PyTorch has no name for some networks, such as those that reshape images. */
static void weights_come_back_under_names_of_pytorch(void **state)
{
    (void)state;
    weights_come_back_from("t.safetensors", "torch", graphs() / 2);
}

#if CORNU_ONNX
/* A batch normalization of rows of rows is written as factors and summands, which are no layer. */
static void onnx_comes_back(void **state)
{
    (void)state;
    int read = 0;
    const char *path = scratch_path("m.onnx");
    for (int i = 0; i < graphs(); i++) {
        cornu_model *m = drawn(i), *again;
        expect_ok(cornu_model_export_onnx(m, path, NULL));
        const cornu_status status = cornu_model_open(path, &again);
        if (status == CORNU_OK) {
            read++;
            expect_same_outputs(m, again, 1e-5, path);
            cornu_model_close(again);
        } else {
            expect_status(status, CORNU_UNSUPPORTED);
        }
        cornu_model_close(m);
    }
    assert_true(read > graphs() / 2);
}
#else
static void onnx_comes_back(void **state)
{
    (void)state;
}
#endif

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(models_come_back),
        TEST(weights_come_back),
        TEST(weights_come_back_under_names_of_pytorch),
        TEST(onnx_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
