/* convert, and Keras's files where the program takes model files. */
#include "base/files.h"
#include "support/made.h"
#include "support/program.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void train_model(void)
{
    program p = program_run(
        ARGUMENTS("train", "small.yaml", "--data", "mnist", "--quiet", "--save", "m.safetensors"));
    program_must_succeed(&p);
    program_free(&p);
}

/* Keras's files are taken where model files are, and --resume goes on from them. */
static void a_converted_model_is_used_as_the_original(void **state)
{
    (void)state;
    static const char *const names[] = {"m.keras", "m.h5"};
    if (!CORNU_HDF5)
        return;
    train_model();
    program before = program_run(ARGUMENTS("predict", "m.safetensors", "--data", "mnist"));
    program_must_succeed(&before);
    for (int i = 0; i < 2; i++) {
        program runs[] = {
            program_run(ARGUMENTS("convert", "m.safetensors", names[i])),
            program_run(ARGUMENTS("evaluate", names[i], "--data", "mnist")),
            program_run(ARGUMENTS("summary", names[i])),
            program_run(ARGUMENTS("predict", names[i], "--data", "mnist")),
            program_run(ARGUMENTS("train", "small.yaml", "--data", "mnist", "--init", names[i])),
            program_run(
                ARGUMENTS("train", "--resume", names[i], "--data", "mnist", "--epochs", "9")),
        };
        for (size_t j = 0; j < sizeof runs / sizeof *runs; j++)
            program_must_succeed(&runs[j]);
        assert_non_null(strstr(runs[0].out, "wrote m."));
        assert_int_equal(count_lines(runs[3].out), count_lines(before.out));
        size_t answers = strcspn(before.out, "\n"); /* the first sample's */
        assert_memory_equal(runs[3].out, before.out, answers);
        for (size_t j = 0; j < sizeof runs / sizeof *runs; j++)
            program_free(&runs[j]);
    }
    program_free(&before);
    program nothing = program_run(ARGUMENTS("convert", "m.safetensors", "m.tflite"));
    assert_int_equal(nothing.status, 2);
    assert_non_null(strstr(nothing.err, ".safetensors, .keras, .h5, .hdf5 or .onnx"));
    program_free(&nothing);
}

static bool same_files(const char *one, const char *other)
{
    char *a, *b;
    size_t n, m;
    expect_ok(file_read(scratch_path(one), 1 << 24, &a, &n));
    expect_ok(file_read(scratch_path(other), 1 << 24, &b, &m));
    bool same = n == m && memcmp(a, b, n) == 0;
    free(a);
    free(b);
    return same;
}

/* One command writes them all; "export", as it was called, and is in Keras, is another name. */
static void onnx_is_a_format_among_others(void **state)
{
    (void)state;
    if (!CORNU_ONNX)
        return;
    train_model();
    program runs[] = {
        program_run(ARGUMENTS("predict", "m.safetensors", "--data", "mnist", "--count", "5")),
        program_run(ARGUMENTS("convert", "m.safetensors", "m.onnx")),
        program_run(ARGUMENTS("predict", "m.onnx", "--data", "mnist", "--count", "5")),
        program_run(ARGUMENTS("convert", "m.safetensors", "p.onnx", "--preprocess")),
        program_run(ARGUMENTS("export", "m.safetensors", "e.onnx")),
        program_run(ARGUMENTS("convert", "m.onnx", "back.safetensors")),
        program_run(ARGUMENTS("help", "export")),
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        program_must_succeed(&runs[i]);
    assert_non_null(strstr(runs[1].out, "wrote m.onnx"));
    assert_memory_equal(runs[0].out, runs[2].out, strcspn(runs[0].out, "\n"));
    assert_true(same_files("m.onnx", "e.onnx"));
    assert_false(same_files("m.onnx", "p.onnx"));
    assert_non_null(strstr(runs[6].out, "usage: cornu convert"));
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        program_free(&runs[i]);
}

static void only_onnx_holds_the_preprocessing(void **state)
{
    (void)state;
    train_model();
    program p = program_run(ARGUMENTS("convert", "m.safetensors", "n.safetensors", "--preprocess"));
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(p.err, "n.safetensors: found --preprocess; expected it with a name in"));
    program_free(&p);
}

/* Out and in again by PyTorch's names: the same answers; and training starts from them. */
static void weights_go_by_the_names_of_torch(void **state)
{
    (void)state;
    train_model();
    const char *const names = "--names=torch";
    program runs[] = {
        program_run(ARGUMENTS("predict", "m.safetensors", "--data", "mnist")),
        program_run(ARGUMENTS("convert", "m.safetensors", "w.safetensors", names)),
        program_run(ARGUMENTS("convert", "w.safetensors", "n.safetensors", "--recipe", "small.yaml",
                              names)),
        program_run(ARGUMENTS("predict", "n.safetensors", "--data", "mnist")),
        program_run(
            ARGUMENTS("train", "small.yaml", "--data", "mnist", "--init", "w.safetensors", names)),
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        program_must_succeed(&runs[i]);
    assert_memory_equal(runs[0].out, runs[3].out, strcspn(runs[0].out, "\n"));
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        program_free(&runs[i]);
    program wrong = program_run(ARGUMENTS("evaluate", "w.safetensors"));
    assert_int_equal(wrong.status, 1);
    program_free(&wrong);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open_small, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(weights_go_by_the_names_of_torch), TEST(onnx_is_a_format_among_others),
        TEST(only_onnx_holds_the_preprocessing), TEST(a_converted_model_is_used_as_the_original)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
