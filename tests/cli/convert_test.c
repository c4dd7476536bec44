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
    program nothing = program_run(ARGUMENTS("convert", "m.safetensors", "m.onnx"));
    assert_int_equal(nothing.status, 1);
    assert_non_null(strstr(nothing.err, ".safetensors, .keras, .h5 or .hdf5"));
    program_free(&nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_converted_model_is_used_as_the_original, made_open_small, scratch_close)};
    return CORNU_HDF5 ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
