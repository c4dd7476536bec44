/* The memory that `cornu summary` speaks of, beside what training takes. */
#include "support/made.h"
#include "support/program.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BEGIN "data: {name: mnist}\nmodel:\n  input: [28, 28, 1]\n  layers:\n"
#define TWICE(x) x x
#define FOUR_TIMES(x) TWICE(x) TWICE(x)
#define SQUARE "    - Dense: {units: 1024}\n"
#define WIDE "    - Activation: {activation: tanh}\n"
#define END                                                        \
    "    - Dense: {units: 10, activation: softmax}\n"              \
    "compile: {optimizer: adam, loss: categorical_crossentropy}\n" \
    "fit: {batch_size: 100, epochs: 1, steps_per_epoch: 2, validation: none}\n"

/* Next to nothing: what is left of it is the program's and the data's. */
static const char tiny[] = BEGIN "    - Flatten\n" END;
/* 80 MB of weights, with Adam's slots 240, and these once more. */
static const char weights[] =
    BEGIN "    - Flatten\n" FOUR_TIMES(FOUR_TIMES(SQUARE)) FOUR_TIMES(SQUARE) END;
/* 12 tensors of 20 MB, and their gradients one after the other. */
static const char buffers[] = BEGIN "    - Conv2D: {filters: 64, kernel_size: 1}\n" FOUR_TIMES(WIDE)
    FOUR_TIMES(WIDE) FOUR_TIMES(WIDE) "    - GlobalAveragePooling2D\n" END;

/* 76 MB of weights, which are updated where their gradient is made, and a copy of them; activations
   of a few samples. */
static const char updates[] =
    BEGIN "    - Flatten\n    - Dense: {units: 24000}\n"
          "    - Dense: {units: 10, activation: softmax}\n"
          "compile: {optimizer: sgd, loss: categorical_crossentropy}\n"
          "fit: {batch_size: 8, epochs: 1, steps_per_epoch: 2, validation: none}\n";

static double trained_peak(const char *recipe)
{
    made_file("r.yaml", recipe, strlen(recipe));
    program p =
        program_run(ARGUMENTS("train", "r.yaml", "--data", "mnist", "--threads", "2", "--no-save"));
    if (p.status != 0)
        fail_msg("%s", p.err);
    double peak = 1024.0 * (double)p.usage.ru_maxrss;
    program_free(&p);
    return peak;
}

/* Bytes of "123 MB" behind `label`. */
static double shown_bytes(const char *text, const char *label)
{
    static const char units[] = " kMG";
    const char *at = strstr(text, label);
    if (!at)
        fail_msg("no \"%s\" in %s", label, text);
    char *unit;
    double bytes = strtod(at + strlen(label), &unit);
    const char *power = strchr(units, unit[1]);
    assert_true(bytes > 0 && power);
    for (long i = power - units; i > 0; i--)
        bytes *= 1000;
    return bytes;
}

static void must_need_what_it_takes(const char *recipe, double least)
{
    double taken = trained_peak(recipe) - trained_peak(tiny);
    made_file("r.yaml", recipe, strlen(recipe));
    program p = program_run(ARGUMENTS("summary", "r.yaml"));
    assert_int_equal(p.status, 0);
    double needed = shown_bytes(p.out, "Training needs ");
    double parts = shown_bytes(p.out, "optimizer slots ") + shown_bytes(p.out, "copy for files ") +
                   shown_bytes(p.out, strstr(p.out, "the slots' ") ? "the slots' " : "buffers ");
    if (needed < 0.9 * taken || needed > 1.1 * taken || taken < least)
        fail_msg("training takes %.0f MB; summary says %.0f", taken / 1e6, needed / 1e6);
    assert_true(parts > 0.98 * needed && parts < 1.02 * needed);
    program_free(&p);
}

static void summary_needs_what_training_takes(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* sanitizers keep memory of their own */
    made_mnist("mnist", 200, 100, 0);
    must_need_what_it_takes(weights, 200e6);
    must_need_what_it_takes(buffers, 200e6);
    must_need_what_it_takes(updates, 140e6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(summary_needs_what_training_takes, made_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
