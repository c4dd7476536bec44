#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include "support/net.h"
#include "support/runs.h"
#include "train/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void runs_expect(cornu_status status, cornu_status expected, const char *file, int line)
{
    if (status == expected)
        return;
    print_error("%s:%d: found %s (%s); expected %s\n", file, line, cornu_status_name(status),
                status == CORNU_OK ? "" : cornu_last_error(), cornu_status_name(expected));
    _fail(file, line);
}

void expect_message(const char *part)
{
    const char *message = cornu_last_error();
    if (strstr(message, part) && !strchr(message, '\n'))
        return;
    print_error("found message: %s\nexpected it to hold: %s\n", message, part);
    fail();
}

enum { FEATURES = 8, CLASSES = 3 };

static cornu_arrays made_samples(int count, uint64_t key)
{
    float *x = malloc((size_t)count * FEATURES * sizeof *x);
    int32_t *y = malloc((size_t)count * sizeof *y);
    random_stream r = random_open(key, RANDOM_GENERATE, 0);
    for (int i = 0; i < count; i++) {
        y[i] = (int32_t)random_below(&r, CLASSES);
        for (int j = 0; j < FEATURES; j++)
            x[i * FEATURES + j] = random_normal(&r) + (j % CLASSES == y[i] ? 2.0f : 0.0f);
    }
    return (cornu_arrays){.size = sizeof(cornu_arrays),
                          .count = count,
                          .rank = 1,
                          .shape = {FEATURES},
                          .values = x,
                          .labels = y};
}

static void free_samples(cornu_arrays *a)
{
    free((void *)(uintptr_t)a->values);
    free((void *)(uintptr_t)a->labels);
}

cornu_data *runs_data(int train, int test)
{
    cornu_arrays a = made_samples(train, 11), b = made_samples(test, 22);
    cornu_data *data = NULL;
    expect_ok(cornu_data_from_arrays(&a, test ? &b : NULL, &data));
    free_samples(&a);
    free_samples(&b);
    return data;
}

cornu_model *runs_model(const char *layers, const char *compile, const char *fit)
{
    char recipe[4096];
    cornu_model *model = NULL;
    snprintf(recipe, sizeof recipe, "model: {input: [%d], layers: %s}\n%s%s\n%s%s\n", FEATURES,
             layers, compile ? "compile: " : "", compile ? compile : "", fit ? "fit: " : "",
             fit ? fit : "");
    expect_ok(cornu_model_parse(recipe, "recipe.yaml", &model));
    return model;
}

cornu_model *runs_usual(const char *fit)
{
    return runs_model("[{Dense: {units: 16, activation: relu}}, {Dropout: {rate: 0.3}}, "
                      "BatchNormalization, {Dense: {units: 3, activation: softmax}}]",
                      "{optimizer: {adam: {learning_rate: 0.01}}, "
                      "loss: sparse_categorical_crossentropy, metrics: [accuracy]}",
                      fit);
}

cornu_model *runs_trained(void)
{
    static char *const names[] = {"cat", "dog", "größer \"bird\""};
    cornu_model *model = runs_usual(
        "{epochs: 2, validation: test, seed: 77, callbacks: [{early_stopping: {patience: 9, "
        "restore_best_weights: true}}, {reduce_lr_on_plateau: {patience: 1}}, terminate_on_nan]}");
    cornu_data *data = runs_data(50, 20);
    expect_ok(model_set_classes(model, names, 3));
    expect_ok(cornu_fit(model, data, NULL, NULL));
    cornu_data_close(data);
    return model;
}

bool same_bits(const cornu_model *a, const cornu_model *b)
{
    if (a->variable_count != b->variable_count)
        return false;
    for (int i = 0; i < a->variable_count; i++)
        if (memcmp(a->variables[i].value, b->variables[i].value,
                   (size_t)a->variables[i].count * sizeof(float)) != 0)
            return false;
    return true;
}

bool stop_after(void *user)
{
    int *left = user;
    return --*left <= 0;
}

void notices_add(void *user, const char *line)
{
    notices *n = user;
    size_t used = strlen(n->lines);
    snprintf(n->lines + used, sizeof n->lines - used, "%s\n", line);
    n->count++;
}

/* The linker replaces session_open by this (tests/CMakeLists.txt). */
cornu_status __real_session_open(cornu_model *model, const session_options *options, session **out);
cornu_status __wrap_session_open(cornu_model *model, const session_options *options, session **out);

static _Atomic bool recomputed; /* ranks are threads here */

bool runs_recomputed(void)
{
    return recomputed;
}

cornu_status __wrap_session_open(cornu_model *model, const session_options *options, session **out)
{
    session_options o = *options;
    recomputed = o.recompute;
    if (!o.where.device && getenv("CORNU_TEST_DEVICES"))
        o.where.device = net_device(0);
    return __real_session_open(model, &o, out);
}
