/* Training gives the same bits for any number of threads: the published networks, and networks of
   odd sizes, on each instruction set of this processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/isa.h"
#include "model/model.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include <cornu/data.h>
#include <cornu/tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, THREADS_MOST = SANITIZED ? 5 : 9, LOGS_MOST = 16 };

/* The state after a run. */
typedef struct outcome {
    cornu_model *model;
    double logs[LOGS_MOST]; /* loss and metrics of the epoch */
    int log_count;
} outcome;

/* A few steps, the last of them with a smaller batch, and an evaluation if the recipe asks for
   one. */
static outcome train(const char *recipe, int64_t batch, int count)
{
    outcome o = {.log_count = 0};
    cornu_data *data = NULL;
    cornu_history *history = NULL;
    expect_ok(cornu_model_parse(recipe, "recipe.yaml", &o.model));
    const shape *x = &o.model->input, *y = &o.model->output;
    int classes = (int)y->dim[y->rank - 1];
    expect_ok(cornu_data_generate(x->dim, x->rank, classes, STEPS * batch - 1, 5, &data));
    cornu_fit_options options = {.size = sizeof options,
                                 .where.device = "cpu",
                                 .where.threads = count,
                                 .batch = batch,
                                 .epochs = 1,
                                 .steps_per_epoch = STEPS,
                                 .seed = 3};
    expect_ok(cornu_fit(o.model, data, &options, &history));
    for (int i = 0; i < cornu_history_columns(history); i++)
        if (strcmp(cornu_history_name(history, i), "seconds") != 0)
            o.logs[o.log_count++] = cornu_history_value(history, 0, i);
    assert_true(o.log_count > 0 && o.log_count <= LOGS_MOST);
    cornu_history_close(history);
    cornu_data_close(data);
    return o;
}

/* The number of complaints: one for each number of threads, every `step`-th from 1 on, that gives
   other bits than one thread. */
static int compare(const char *name, const char *recipe, int64_t batch, int step)
{
    int failures = 0;
    if (SANITIZED) { /* it looks at what threads do, and the release build at their bits */
        cornu_model_close(train(recipe, batch, THREADS_MOST).model);
        return 0;
    }
    outcome one = train(recipe, batch, 1);
    for (int count = 1 + step; count <= THREADS_MOST; count += step) {
        outcome more = train(recipe, batch, count);
        if (!same_bits(one.model, more.model) || one.log_count != more.log_count ||
            memcmp(one.logs, more.logs, sizeof one.logs) != 0) {
            print_error("%s: other bits with %d threads than with 1\n", name, count);
            failures++;
        }
        cornu_model_close(more.model);
    }
    cornu_model_close(one.model);
    return failures;
}

/* 1 to 9 threads on the widest instruction set that this processor has, 1, 5 and 9 on the others.
   With a sanitizer 5 on the widest. */
static int compare_on_all(const char *name, const char *recipe, int64_t batch)
{
    int failures = 0, step = 1;
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
        char label[128];
        if (!cpu_isa_runs((cpu_isa)isa))
            continue;
        setenv("CORNU_ISA", cpu_isa_name(isa), 1);
        snprintf(label, sizeof label, "%s on %s", name, cpu_isa_name(isa));
        failures += compare(label, recipe, batch, step);
        if (SANITIZED)
            break;
        step = 4;
    }
    unsetenv("CORNU_ISA");
    return failures;
}

/* ---- the published networks --------------------------------------------------------------- */

/* With photographs of 54x47 pixels: with 150x150 they have 42 million weights. */
static char *recipe_of(const char *workload)
{
    static const char large[] = "  input: [150, 150, 3]", small[] = "  input: [54, 47, 3]  ";
    char *text = strdup(recipe_text(workload));
    char *at = strstr(text, large);
    assert_int_equal(at != NULL, strncmp(workload, "photos", 6) == 0);
    if (at)
        memcpy(at, small, strlen(small));
    return text;
}

static void every_workload_trains_to_the_same_bits(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; cornu_workload_name(i); i++) {
        const char *name = cornu_workload_name(i);
        char *recipe = recipe_of(name);
        /* 32: a batch for tiles; the other networks' convolutions take long. */
        failures += compare_on_all(name, recipe, strstr(name, "mlp") ? 32 : 7);
        free(recipe);
    }
    assert_int_equal(failures, 0);
}

/* ---- odd sizes ---------------------------------------------------------------------------- */

typedef struct odd {
    const char *name;
    int64_t batch;
    const char *input, *layers, *compile;
} odd;

#define ADAM "{optimizer: adam, loss: sparse_categorical_crossentropy, metrics: [accuracy]}"
#define SGD                                                                               \
    "{optimizer: {sgd: {momentum: 0.9, clipnorm: 1.0}}, loss: categorical_crossentropy, " \
    "metrics: [accuracy]}"
#define RMSPROP "{optimizer: rmsprop, loss: sparse_categorical_crossentropy}"

static const odd odds[] = {
    {"one sample, one unit at a time", 1, "[5]",
     "[{Dense: {units: 1}}, {Dense: {units: 3, activation: softmax}}]", ADAM},
    {"wide, for tiles", 27, "[19, 23, 3]",
     "[Flatten, {Dense: {units: 997, activation: relu}}, {Dropout: {rate: 0.3}}, "
     "{Dense: {units: 389, activation: relu}}, {Dense: {units: 7, activation: softmax}}]",
     ADAM},
    {"wide, a batch past the tiles", 33, "[19, 23, 3]",
     "[Flatten, {Dense: {units: 1203, activation: tanh}}, BatchNormalization, "
     "{Dense: {units: 101, activation: gelu}}, {Dense: {units: 11, activation: softmax}}]",
     SGD},
    {"deep, few units", 3, "[4099]",
     "[{Dense: {units: 13, activation: elu}}, {Dense: {units: 49, activation: sigmoid}}, "
     "{Dense: {units: 5, activation: softmax}}]",
     RMSPROP},
    {"large batch", 517, "[37]",
     "[{Dense: {units: 151, activation: relu}}, BatchNormalization, {Dropout: {rate: 0.5}}, "
     "{Dense: {units: 9, activation: softmax}}]",
     ADAM},
    {"convolutions of 3x3", 13, "[17, 21, 3]",
     "[{Conv2D: {filters: 17, kernel_size: 3, padding: same, activation: relu}}, "
     "{Conv2D: {filters: 33, kernel_size: 3, padding: same}}, BatchNormalization, "
     "{Activation: {activation: relu}}, {MaxPooling2D: {pool_size: 2}}, "
     "{Conv2D: {filters: 47, kernel_size: 3, activation: relu}}, {Dropout: {rate: 0.2}}, Flatten, "
     "{Dense: {units: 31, activation: relu}}, {Dense: {units: 6, activation: softmax}}]",
     ADAM},
    {"convolutions of 5x5", 7, "[29, 27, 1]",
     "[{Conv2D: {filters: 19, kernel_size: 5, padding: same, activation: relu}}, "
     "{MaxPooling2D: {pool_size: 2}}, "
     "{Conv2D: {filters: 35, kernel_size: 5, padding: same, activation: relu}}, "
     "{MaxPooling2D: {pool_size: 2, padding: same}}, Flatten, "
     "{Dense: {units: 77, activation: relu}}, {Dropout: {rate: 0.5}}, "
     "{Dense: {units: 10, activation: softmax}}]",
     SGD},
    {"strides, averages and other activations", 11, "[31, 26, 3]",
     "[{Conv2D: {filters: 9, kernel_size: [7, 5], strides: 2, activation: tanh}}, "
     "{AveragePooling2D: {pool_size: 3, strides: 2, padding: same}}, "
     "{Conv2D: {filters: 21, kernel_size: 1, activation: gelu}}, BatchNormalization, "
     "{Conv2D: {filters: 13, kernel_size: 3, dilation_rate: 2, padding: same}}, {LeakyReLU: {}}, "
     "GlobalAveragePooling2D, {Dense: {units: 5, activation: softmax}}]",
     RMSPROP},
    {"residual blocks", 5, "[17, 15, 3]",
     "[{Conv2D: {filters: 18, kernel_size: 3, padding: same}}, BatchNormalization, {ReLU: {name: "
     "x}}, {Conv2D: {filters: 18, kernel_size: 3, padding: same, activation: relu}}, "
     "{Conv2D: {filters: 18, kernel_size: 3, padding: same}}, {BatchNormalization: {name: a}}, "
     "{Add: {inputs: [x, a]}}, {ReLU: {name: y}}, "
     "{Conv2D: {filters: 33, kernel_size: 3, strides: 2, padding: same}}, {Dropout: {rate: 0.2, "
     "name: b}}, {Conv2D: {filters: 33, kernel_size: 1, strides: 2, inputs: y, name: c}}, "
     "{MaxPooling2D: {inputs: c, pool_size: 3, strides: 1, padding: same, name: d}}, "
     "{Add: {inputs: [b, c, d, c]}}, {Average: {inputs: [add_1, b]}}, GlobalAveragePooling2D, "
     "{Dense: {units: 7, activation: softmax}}]",
     SGD},
    {"random layers", 13, "[17, 21, 3]",
     "[RandomFlip, {RandomErasing: {scale: 0.5}}, {RandomHue: {factor: 0.5}}, {RandomRotation: "
     "{factor: 0.2}}, {RandomContrast: {factor: 0.5}}, "
     "{Conv2D: {filters: 18, kernel_size: 3, strides: 2}}, {RandomZoom: {height_factor: 0.3}}, "
     "{RandomCrop: {height: 6, width: 7}}, {GaussianDropout: {rate: 0.2}}, Flatten, {Dense: "
     "{units: 7, activation: softmax}}]",
     ADAM},
    {"one large picture", 1, "[101, 203, 3]",
     "[{Conv2D: {filters: 32, kernel_size: 3, activation: relu}}, {MaxPooling2D: {pool_size: 2}}, "
     "{Conv2D: {filters: 64, kernel_size: 3, activation: relu}}, {MaxPooling2D: {pool_size: 2}}, "
     "GlobalAveragePooling2D, {Dense: {units: 3, activation: softmax}}]",
     ADAM},
};

static void networks_of_odd_sizes_train_to_the_same_bits(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof odds / sizeof *odds; i++) {
        const odd *o = &odds[i];
        char recipe[2048];
        int length = snprintf(recipe, sizeof recipe,
                              "model: {input: %s, layers: %s}\ncompile: %s\n"
                              "fit: {validation: test}\n",
                              o->input, o->layers, o->compile);
        assert_true(length > 0 && (size_t)length < sizeof recipe);
        failures += compare_on_all(o->name, recipe, o->batch);
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_workload_trains_to_the_same_bits),
        cmocka_unit_test(networks_of_odd_sizes_train_to_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
