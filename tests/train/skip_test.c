/* Weights of a file without those of a layer that does not fit: the last one of a network for other
   classes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runs.h"
#include "support/scratch.h"
#include <string.h>

static const char *const last[] = {"dense_1", NULL};

/* 4 -> 5 -> `classes`, with weights from `seed`. */
static cornu_model *model_for(int classes, uint64_t seed)
{
    char recipe[512];
    cornu_model *m = NULL;
    snprintf(recipe, sizeof recipe,
             "model: {input: [4], layers: [{Dense: {units: 5}}, {Dense: {units: %d}}]}\n"
             "compile: {optimizer: adam, loss: sparse_categorical_crossentropy}\n",
             classes);
    expect_ok(cornu_model_parse(recipe, "r.yaml", &m));
    expect_ok(cornu_model_initialize(m, seed));
    return m;
}

/* dense/kernel, dense/bias, dense_1/kernel, dense_1/bias */
enum { KERNEL, BIAS, LAST_KERNEL, ROOM = 64 };

static void expect_weights(const cornu_model *m, const cornu_model *expected, int index)
{
    float a[ROOM], b[ROOM];
    cornu_weight_info info;
    expect_ok(cornu_model_weight_info(m, index, &info));
    expect_ok(cornu_model_get_weight(m, index, a, info.count));
    expect_ok(cornu_model_get_weight(expected, index, b, info.count));
    assert_memory_equal(a, b, (size_t)info.count * sizeof *a);
}

/* The first layer comes from the file, which holds three classes; the last one keeps its weights.
 */
static void expect_first_layer(const char *path, const char *names, const cornu_model *from)
{
    const cornu_weights_options all = {.names = names}, some = {.names = names, .skip = last};
    cornu_model *m = model_for(2, 2), *before = model_for(2, 2);
    expect_status(cornu_model_load_weights_as(m, path, &all), CORNU_BAD_FILE);
    expect_weights(m, before, KERNEL);
    expect_ok(cornu_model_load_weights_as(m, path, &some));
    expect_weights(m, from, KERNEL);
    expect_weights(m, from, BIAS);
    expect_weights(m, before, LAST_KERNEL);
    cornu_model_close(before);
    cornu_model_close(m);
}

static void the_layer_that_is_left_out_keeps_its_weights(void **state)
{
    (void)state;
    static const char *const names[] = {"m.safetensors", "m.keras", "m.h5", "m.weights.h5"};
    cornu_model *from = model_for(3, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect_ok(cornu_model_save(from, scratch_path(names[i])));
        expect_first_layer(scratch_path(names[i]), NULL, from);
    }
    expect_ok(cornu_model_export_onnx(from, scratch_path("m.onnx"), NULL));
    expect_first_layer(scratch_path("m.onnx"), NULL, from);
    const cornu_weights_options torch = {.names = "torch"};
    expect_ok(cornu_model_save_weights(from, scratch_path("t.safetensors"), &torch));
    expect_first_layer(scratch_path("t.safetensors"), "torch", from);
    cornu_model_close(from);
}

/* What the file calls so need not be a layer of the model. */
static void a_layer_of_the_file_alone_is_left_out_too(void **state)
{
    (void)state;
    static const char *const both[] = {"dense_1", "head", NULL};
    const cornu_weights_options one = {.skip = last}, all = {.skip = both};
    cornu_model *from = NULL, *m = model_for(2, 2);
    expect_ok(cornu_model_parse("model: {input: [4], layers: [{Dense: {units: 5}}, "
                                "{Dense: {units: 3, name: head}}]}",
                                "r.yaml", &from));
    expect_ok(cornu_model_initialize(from, 1));
    expect_ok(cornu_model_save(from, scratch_path("h.safetensors")));
    expect_status(cornu_model_load_weights_as(m, scratch_path("h.safetensors"), &one),
                  CORNU_BAD_FILE);
    expect_message("found head/");
    expect_ok(cornu_model_load_weights_as(m, scratch_path("h.safetensors"), &all));
    expect_weights(m, from, KERNEL);
    cornu_model_close(from);
    cornu_model_close(m);
}

static void an_unknown_layer_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"dense_1", "dense_2", NULL};
    const cornu_weights_options options = {.skip = wrong};
    cornu_model *m = model_for(3, 1);
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    expect_status(cornu_model_load_weights_as(m, scratch_path("m.safetensors"), &options),
                  CORNU_INVALID);
    expect_message("skip: found dense_2; expected a layer with weights: dense, dense_1");
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layer_that_is_left_out_keeps_its_weights),
        cmocka_unit_test(a_layer_of_the_file_alone_is_left_out_too),
        cmocka_unit_test(an_unknown_layer_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
