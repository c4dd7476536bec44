/* cornu evaluate --report: tables as wide as they may be, and files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/tensor_file.h"
#include "support/made.h"
#include "support/program.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Train small.yaml on its digits, once a test. */
static int open_trained(void **state)
{
    if (made_open_small(state) != 0)
        return -1;
    program p = program_run(ARGUMENTS("train", "small.yaml", "--data", "./mnist", "--epochs", "1",
                                      "--save", "m.safetensors", "--quiet"));
    int status = p.status;
    program_free(&p);
    return status;
}

static void expect_held(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("found no \"%s\" in: %s", part, text);
}

static void expect_narrow(const char *text)
{
    for (const char *line = strstr(text, "precision"); *line;
         line += strcspn(line, "\n"), line += *line != 0)
        assert_true(strcspn(line, "\n") <= 80);
}

static void a_report_follows_the_metrics(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("evaluate", "--report", "m.safetensors"));
    assert_int_equal(p.status, 0);
    expect_held(p.out, "accuracy: ");
    expect_held(p.out, "precision     recall   f1-score    support\n");
    expect_held(p.out, "\naccuracy ");
    expect_held(p.out, "\ntop-5 ");
    expect_held(p.out, "\nmacro avg ");
    expect_held(p.out, "\nweighted avg ");
    expect_held(p.out, "confusion matrix (rows: true class, columns: predicted class)\n");
    expect_held(p.out, "20 samples in ");
    expect_narrow(p.out);
    program_free(&p);
    p = program_run(ARGUMENTS("evaluate", "m.safetensors", "--top", "2", "--report"));
    assert_int_equal(p.status, 0);
    expect_held(p.out, "\ntop-2 ");
    program_free(&p);
    p = program_run(ARGUMENTS("evaluate", "m.safetensors"));
    assert_null(strstr(p.out, "precision"));
    program_free(&p);
}

static void files_hold_the_report(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("evaluate", "m.safetensors", "--report", "r.json",
                                      "--report=r.png", "--misclassified", "wrong.png"));
    assert_int_equal(p.status, 0);
    expect_held(p.out, "wrote r.json\nwrote r.png\nwrote wrong.png: of ");
    program_free(&p);
    json_t *all = json_load_file(scratch_path("r.json"), 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(all, "samples")), 20);
    assert_int_equal(json_array_size(json_object_get(all, "classes")), 10);
    assert_int_equal(json_array_size(json_object_get(all, "confusion_matrix")), 10);
    double errors = (double)json_array_size(json_object_get(all, "misclassified"));
    assert_float_equal(json_number_value(json_object_get(all, "accuracy")), 1 - errors / 20, 1e-9);
    json_decref(all);
    float *pixels = malloc(sizeof(float) * 3 * 100 * 100);
    expect_ok(made_read(scratch_path("r.png"), 100, 100, 3, pixels));
    expect_ok(made_read(scratch_path("wrong.png"), 100, 100, 3, pixels));
    free(pixels);
}

/* Of many classes the matrix would be too wide: the most frequent confusions take its place. */
static void a_wide_matrix_gives_way_to_confusions(void **state)
{
    (void)state;
    enum { COUNT = 120 };
    static const char recipe[] =
        "data: {file: d.npz}\n"
        "model: {input: [2], layers: [{Dense: {units: 60, activation: softmax}}]}\n"
        "compile: {optimizer: {sgd: {learning_rate: 0.0}}, loss: "
        "sparse_categorical_crossentropy}\n";
    static const float x[COUNT][2];
    int32_t y[COUNT];
    for (int i = 0; i < COUNT; i++)
        y[i] = i % 60;
    const file_tensor arrays[] = {
        {"x_train", ELEMENT_F32, 2, {COUNT, 2}, sizeof x / sizeof **x, x, NULL, NULL, 0},
        {"y_train", ELEMENT_I32, 1, {COUNT}, COUNT, y, NULL, NULL, 0}};
    expect_ok(npz_write(scratch_path("d.npz"), arrays, 2));
    scratch_write("r.yaml", recipe, sizeof recipe - 1);
    program p = program_run(ARGUMENTS("train", "r.yaml", "--save", "w.safetensors", "--quiet"));
    assert_int_equal(p.status, 0);
    program_free(&p);
    p = program_run(ARGUMENTS("evaluate", "w.safetensors", "--report")); /* all are of class 0 */
    assert_int_equal(p.status, 0);
    assert_null(strstr(p.out, "confusion matrix"));
    expect_held(p.out, "\nmost frequent confusions\n");
    expect_held(p.out, "\n1               0                       2       100.0 %\n");
    expect_narrow(p.out);
    program_free(&p);
}

static void what_cannot_be_is_said_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *message;
        int status;
    } cases[] = {{"--report=r.txt", NULL, "--report: found \"r.txt\"; expected FILE.json", 2},
                 {"--report", "no/r.json", "no/r.json: cannot write", 1},
                 {"--misclassified", "no/w.png", "no/w.png: cannot write", 1},
                 {"--top", "0", "--top: found \"0\"", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program p =
            program_run(ARGUMENTS("evaluate", "m.safetensors", cases[i].option, cases[i].value));
        assert_int_equal(p.status, cases[i].status);
        expect_held(p.err, cases[i].message);
        assert_null(strstr(p.out, "accuracy"));
        program_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_report_follows_the_metrics, open_trained, scratch_close),
        cmocka_unit_test_setup_teardown(files_hold_the_report, open_trained, scratch_close),
        cmocka_unit_test_setup_teardown(a_wide_matrix_gives_way_to_confusions, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_said_at_once, open_trained,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
