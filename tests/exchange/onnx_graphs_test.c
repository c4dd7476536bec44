/* ONNX files whose meaning hangs on an opset, an order or a shape: outputs as onnxruntime has them,
   or refused by the node's name. The cases of tests/fixtures/onnx_graphs.npz are made by
   peers/make_onnx_fixtures.py; peers/onnx_graphs.py compares random graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/tensor_file.h"
#include "support/fixtures.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 2, CASES_LEAST = 50 };

typedef struct one_case {
    char name[100], why[200];
    long long bytes, inputs, outputs;
} one_case;

/* A line "NAME|BYTES|INPUTS|OUTPUTS|WHY". */
static one_case read_case(const char *text, size_t length)
{
    one_case c = {.name = ""};
    char line[400];
    snprintf(line, sizeof line, "%.*s", (int)length, text);
    int fields = sscanf(line, "%99[^|]|%lld|%lld|%lld|%199[^\n]", c.name, &c.bytes, &c.inputs,
                        &c.outputs, c.why);
    assert_true(fields >= 4);
    return c;
}

static void expect_refusal(const one_case *c, const char *path)
{
    cornu_model *m;
    cornu_status status = cornu_model_open(path, &m);
    if (status != CORNU_UNSUPPORTED)
        fail_msg("%s: found %s; expected a refusal", c->name, cornu_status_name(status));
    expect_message(c->why);
}

static void expect_outputs(const one_case *c, const char *path, const float *x, const float *y)
{
    cornu_model *m;
    float *found = calloc((size_t)c->outputs, sizeof *found), scale = 0;
    assert_non_null(found);
    if (cornu_model_open(path, &m) != CORNU_OK)
        fail_msg("%s: %s", c->name, cornu_last_error());
    expect_ok(cornu_predict(m, x, SAMPLES, NULL, found));
    for (long long i = 0; i < c->outputs; i++)
        scale = fmaxf(scale, fabsf(y[i]));
    for (long long i = 0; i < c->outputs; i++)
        if (!(fabsf(found[i] - y[i]) <= 1e-5F * scale))
            fail_msg("%s: output %lld is %g; onnxruntime has %g", c->name, i, (double)found[i],
                     (double)y[i]);
    cornu_model_close(m);
    free(found);
}

static void graphs_compute_what_onnxruntime_does_or_are_refused(void **state)
{
    (void)state;
    tensor_file *file;
    expect_ok(tensor_file_open(fixture_path("onnx_graphs.npz"), &file));
    const file_tensor *lines = tensor_file_find(file, "cases");
    const char *line = lines->data, *end = line + lines->count;
    const char *bytes = tensor_file_find(file, "files")->data;
    const float *numbers = tensor_file_find(file, "numbers")->data;
    int count = 0;
    for (; line < end; count++) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        one_case c = read_case(line, (size_t)(line_end - line));
        const char *path = scratch_write("c.onnx", bytes, (size_t)c.bytes);
        if (*c.why)
            expect_refusal(&c, path);
        else
            expect_outputs(&c, path, numbers, numbers + c.inputs);
        bytes += c.bytes;
        numbers += c.inputs + c.outputs;
        line = line_end + 1;
    }
    assert_true(count >= CASES_LEAST);
    tensor_file_close(file);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(graphs_compute_what_onnxruntime_does_or_are_refused)};
    return CORNU_ONNX ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
