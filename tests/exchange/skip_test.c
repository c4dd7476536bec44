/* Weights of a file without those of a layer that does not fit: the last one of a network for other
   classes, or all layers that the file has not, by their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/tensor_file.h"
#include "model/model.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/exchange.h>
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
    cornu_weight_info info = {.size = sizeof info};
    expect_ok(cornu_model_weight_info(m, index, &info));
    expect_ok(cornu_model_get_weight(m, index, a, info.count));
    expect_ok(cornu_model_get_weight(expected, index, b, info.count));
    assert_memory_equal(a, b, (size_t)info.count * sizeof *a);
}

/* The first layer comes from the file, which holds three classes; the last one keeps its weights.
 */
static void expect_first_layer(const char *path, const char *names, const cornu_model *from)
{
    const cornu_weights_options all = {.size = sizeof all, .names = names},
                                some = {.size = sizeof some, .names = names, .skip = last};
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
    const cornu_weights_options torch = {.size = sizeof torch, .names = "torch"};
    expect_ok(cornu_model_save_weights(from, scratch_path("t.safetensors"), &torch));
    expect_first_layer(scratch_path("t.safetensors"), "torch", from);
    cornu_model_close(from);
}

/* A skipped name may stand in the file alone: it need not be a layer of the model. */
static void a_layer_of_the_file_alone_is_left_out_too(void **state)
{
    (void)state;
    static const char *const both[] = {"dense_1", "head", NULL};
    const cornu_weights_options one = {.size = sizeof one, .skip = last},
                                all = {.size = sizeof all, .skip = both};
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

/* A model within the model is left out with all its layers, or one of these alone. */
static void a_model_within_is_left_out_with_its_layers(void **state)
{
    (void)state;
    static const char *const names[] = {"p.safetensors", "p.keras", "p.h5", "t.safetensors"};
    static const char *const all[] = {"backbone", NULL}, *const one[] = {"backbone/inner/a", NULL};
    static const char layers[] =
        "{Model: {name: backbone, layers: [{Dense: {units: 4, name: b}}, {Model: {name: inner, "
        "layers: "
        "[{Dense: {units: 4, name: a}}]}}]}}, {Dense: {units: 3, name: backbone_2}}";
    cornu_model *from = NULL, *m = NULL, *before = NULL;
    char recipe[512];
    snprintf(recipe, sizeof recipe, "model: {input: [4], layers: [%s]}", layers);
    cornu_model **const made[] = {&from, &m, &before};
    for (int i = 0; i < 3; i++) {
        expect_ok(cornu_model_parse(recipe, "r.yaml", made[i]));
        expect_ok(cornu_model_initialize(*made[i], i == 0 ? 1 : 2));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cornu_weights_options o = {.size = sizeof o, .names = i == 3 ? "torch" : NULL, .skip = all};
        const char *path = scratch_path(names[i]);
        expect_ok(i == 3 ? cornu_model_save_weights(from, path, &o) : cornu_model_save(from, path));
        expect_ok(cornu_model_load_weights_as(m, path, &o));
        for (int k = 0; k < 6; k += 2) /* backbone/b, backbone/inner/a, backbone_2 */
            expect_weights(m, k < 4 ? before : from, k);
        o.skip = one;
        expect_ok(cornu_model_load_weights_as(m, path, &o));
        for (int k = 0; k < 6; k += 2)
            expect_weights(m, k == 2 ? before : from, k);
        for (int k = 0; k < 6; k++)
            memcpy(m->variables[k].value, before->variables[k].value,
                   (size_t)m->variables[k].count * sizeof(float));
    }
    cornu_model_close(from);
    cornu_model_close(m);
    cornu_model_close(before);
}

/* ---- by name ---------------------------------------------------------------------------- */

static const char *const kinds[] = {"n.safetensors", "n.npz", "n.keras", "n.h5", "n.weights.h5"};

static cornu_model *named_model(const char *layers, uint64_t seed)
{
    char recipe[512];
    cornu_model *m = NULL;
    snprintf(recipe, sizeof recipe, "model: {input: [4], layers: [%s]}", layers);
    expect_ok(cornu_model_parse(recipe, "r.yaml", &m));
    expect_ok(cornu_model_initialize(m, seed));
    return m;
}

/* A file of each kind: first (5), norm, head (3). */
static const char *file_of(const char *kind)
{
    cornu_model *m = named_model("Dense: {units: 5, name: first}, BatchNormalization: {name: norm},"
                                 " Dense: {units: 3, name: head}",
                                 1);
    file_tensor tensors[8] = {0};
    for (int i = 0; i < m->weight_count; i++) {
        const variable *v = &m->variables[i];
        tensors[i] = (file_tensor){
            .name = v->name, .rank = v->shape.rank, .count = v->count, .data = v->value};
        memcpy(tensors[i].shape, v->shape.dim, sizeof v->shape.dim);
    }
    if (strstr(kind, ".npz"))
        expect_ok(npz_write(scratch_path(kind), tensors, m->weight_count));
    else
        expect_ok(cornu_model_save(m, scratch_path(kind)));
    cornu_model_close(m);
    return scratch_path(kind);
}

/* Weights of `m` that are other ones than before, as bits from the first. */
static unsigned changed(const cornu_model *m, const cornu_model *before)
{
    unsigned bits = 0;
    for (int i = 0; i < m->weight_count; i++)
        if (memcmp(m->variables[i].value, before->variables[i].value,
                   (size_t)m->variables[i].count * sizeof(float)) != 0)
            bits |= 1u << i;
    return bits;
}

/* A model of these layers takes the weights of these bits, and the notice says this (NULL: there is
   none); or none, and the message does. */
static void expect_taken(const char *kind, const char *layers, const cornu_weights_options *how,
                         unsigned taken, const char *says)
{
    notices n = {0};
    cornu_weights_options o = *how;
    o.on_notice = notices_add;
    o.user = &n;
    const char *path = file_of(kind);
    cornu_model *m = named_model(layers, 2), *before = named_model(layers, 2);
    if (taken) {
        expect_ok(cornu_model_load_weights_as(m, path, &o));
        assert_true(says ? strstr(n.lines, says) != NULL : !*n.lines);
    } else {
        assert_int_not_equal(cornu_model_load_weights_as(m, path, &o), CORNU_OK);
        expect_message(says);
    }
    assert_int_equal(changed(m, before), taken);
    cornu_model_close(before);
    cornu_model_close(m);
}

/* Biases begin with 0 in both; kernels are drawn. */
static void weights_go_to_layers_of_the_same_name(void **state)
{
    (void)state;
    const cornu_weights_options by_name = {.size = sizeof by_name, .by_name = true};
    const cornu_weights_options skip = {
        .size = sizeof skip, .by_name = true, .skip_mismatch = true};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        expect_taken(kinds[i], "Dense: {units: 3, name: x}, Dense: {units: 3, name: head}",
                     &by_name, 0, "head/kernel: found shape (5, 3); expected (3, 3)");
        expect_taken(kinds[i], "Dense: {units: 5, name: first}, Dense: {units: 3, name: x}",
                     &by_name, 1,
                     "found weights for 1 of 2 layers; not in the file, and as before: x");
        expect_taken(kinds[i], "Dense: {units: 5, name: first}", &by_name, 1, NULL);
        expect_taken(kinds[i], "Dense: {units: 5, name: x}, Dense: {units: 3, name: head}",
                     &by_name, 4,
                     "found weights for 1 of 2 layers; not in the file, and as before: x");
        expect_taken(
            kinds[i], "Dense: {units: 5, name: first}, Dense: {units: 2, name: head}", &skip, 1,
            "found weights for 1 of 2 layers; of other shapes, and as before: head/kernel: "
            "found shape (5, 3); expected (5, 2); head/bias: found shape (3); expected "
            "(2)");
        expect_taken(kinds[i], "Dense: {units: 5, name: first, use_bias: false}", &by_name, 0,
                     "layer first: found 2 weights; expected 1");
        expect_taken(kinds[i], "Dense: {units: 3, name: x}, Dense: {units: 3, name: y}", &skip, 0,
                     "found no weights for any layer of x, y; expected those of at least one");
        expect_taken(kinds[i], "Dense: {units: 9, name: first}", &skip, 0,
                     "found weights that fit no layer: first/kernel: found shape (4, 5)");
    }
}

/* Keras's files are read by position; a layer is then loaded completely or not at all. */
static void by_order_a_layer_that_does_not_fit_stays(void **state)
{
    (void)state;
    static const char layers[] = "Dense: {units: 5, name: x}, Dense: {units: 2, name: y}";
    const cornu_weights_options skip = {.size = sizeof skip, .skip_mismatch = true};
    expect_taken("n.keras", layers, &skip, 1, "found weights for 1 of 2 layers; of other shapes");
    expect_taken("n.weights.h5", layers, &skip, 1, "found weights for 1 of 2 layers; of other");
    expect_taken("n.h5", layers, &skip, 0, "/norm: found 4 weights; expected the 2 of y");
    expect_taken(
        "n.h5",
        "Dense: {units: 5, name: x}, BatchNormalization: {name: head}, Dense: {units: 2, name: y}",
        &skip, 1,
        "found weights for 2 of 3 layers; of other shapes, and as before: y/kernel: found "
        "shape (5, 3); expected (5, 2)");
    /* y's bias fits, its kernel does not */
    expect_taken("n.keras",
                 "Dense: {units: 5, name: x}, Concatenate: {inputs: [x, x]}, "
                 "Dense: {units: 3, name: y, bias_initializer: ones}",
                 &skip, 1, "found weights for 1 of 2 layers; of other shapes");
    expect_taken("n.npz", layers, &skip, 0, "found skip_mismatch without by_name; expected both");
}

static void names_of_others_have_no_layers(void **state)
{
    (void)state;
    const cornu_weights_options torch = {.size = sizeof torch, .by_name = true, .names = "torch"};
    const cornu_weights_options by_name = {.size = sizeof by_name, .by_name = true};
    cornu_model *m = model_for(3, 1);
    expect_status(cornu_model_load_weights_as(m, "x.safetensors", &torch), CORNU_INVALID);
    expect_message("names: found torch and by_name; expected one of the two");
    expect_status(cornu_model_load_weights_as(m, "x.onnx", &by_name), CORNU_INVALID);
    expect_message("x.onnx: found by_name; expected neither by_name nor skip_mismatch for an ONNX");
    cornu_model_close(m);
}

static void an_unknown_layer_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"dense_1", "dense_2", NULL};
    const cornu_weights_options options = {.size = sizeof options, .skip = wrong};
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
        cmocka_unit_test(a_model_within_is_left_out_with_its_layers),
        cmocka_unit_test(weights_go_to_layers_of_the_same_name),
        cmocka_unit_test(by_order_a_layer_that_does_not_fit_stays),
        cmocka_unit_test(names_of_others_have_no_layers),
        cmocka_unit_test(an_unknown_layer_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
