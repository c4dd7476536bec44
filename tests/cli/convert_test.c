/* convert, and Keras's files where the program takes model files. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char recipe[] = "data: mnist\n"
                             "model:\n"
                             "  input: [28, 28, 1]\n"
                             "  layers: [Flatten, {Dense: {units: 10, activation: softmax}}]\n"
                             "compile: {optimizer: sgd, loss: categorical_crossentropy, "
                             "metrics: [accuracy]}\n"
                             "fit: {batch_size: 10, epochs: 3}\n";

static int open_folder(void **state)
{
    if (made_open(state))
        return -1;
    scratch_write("small.yaml", recipe, sizeof recipe - 1);
    made_mnist("mnist", 60, 20, 0);
    return 0;
}

static void must_succeed(program *p)
{
    if (p->status != 0 || *p->err)
        print_error("status %d, \"%s\"\n", p->status, p->err);
    assert_int_equal(p->status, 0);
    assert_string_equal(p->err, "");
}

static void train_model(void)
{
    program p = program_run(
        ARGUMENTS("train", "small.yaml", "--data", "mnist", "--quiet", "--save", "m.safetensors"));
    must_succeed(&p);
    program_free(&p);
}

/* Keras's files are taken where model files are, and --resume goes on from them. */
static void a_converted_model_is_used_as_the_original(void **state)
{
    (void)state;
    static const char *const names[] = {"m.keras", "m.h5"};
    train_model();
    program before = program_run(ARGUMENTS("predict", "m.safetensors", "--data", "mnist"));
    must_succeed(&before);
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
            must_succeed(&runs[j]);
        assert_non_null(strstr(runs[0].out, "wrote m."));
        assert_int_equal(count_lines(runs[3].out), count_lines(before.out));
        size_t answers = strcspn(before.out, "\n"); /* the first sample's */
        assert_memory_equal(runs[3].out, before.out, answers);
        for (size_t j = 0; j < sizeof runs / sizeof *runs; j++)
            program_free(&runs[j]);
    }
    program_free(&before);
    program nothing = program_run(ARGUMENTS("convert", "m.safetensors", "m.onnx"));
    assert_int_equal(nothing.status, 1);
    assert_non_null(strstr(nothing.err, ".safetensors, .keras, .h5 or .hdf5"));
    program_free(&nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_converted_model_is_used_as_the_original, open_folder, scratch_close)};
    return CORNU_HAS_HDF5 ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
