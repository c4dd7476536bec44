/* Reading ONNX files: what cornu wrote comes back, what others wrote is read or refused by the
   name of its node. Against onnxruntime: peers/onnx_files.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/net.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/exchange.h>
#include <cornu/images.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if CORNU_ONNX
#include "format/onnx/onnx_graph.h"

/* Outputs of three samples, in fresh memory. */
static float *predict(cornu_model *m, int64_t *count)
{
    int64_t inputs = shape_elements(&m->input);
    *count = 3 * shape_elements(&m->output);
    float *x = calloc((size_t)(3 * inputs), sizeof *x), *y = calloc((size_t)*count, sizeof *y);
    assert_non_null(x);
    assert_non_null(y);
    net_fill(x, 3 * inputs, 4);
    expect_ok(cornu_predict(
        m, x, 3,
        &(cornu_run_options){.size = sizeof(cornu_run_options), .where.device = "reference"}, y));
    free(x);
    return y;
}

static void expect_same_outputs(cornu_model *a, cornu_model *b)
{
    int64_t count, other;
    float *x = predict(a, &count), *y = predict(b, &other);
    assert_int_equal(count, other);
    assert_true(net_difference(x, y, count) < 1e-5);
    free(x);
    free(y);
}

static cornu_model *round_trip(const cornu_model *m)
{
    const char *path = scratch_path("m.onnx");
    cornu_model *again;
    expect_ok(cornu_model_export_onnx(m, path, NULL));
    expect_ok(cornu_model_open(path, &again));
    return again;
}

/* Parts of tensors, other orders of axes, products of more than matrices, Dot's of vectors of
   length 1, sparsemax, and two directions that stay apart, or with states,
   are written, and not read. */
static bool is_written_alone(const layer_kind *kind, const char *sample)
{
    if (strcmp(kind->name, "GetItem") == 0 || strcmp(kind->name, "Transpose") == 0 ||
        strcmp(kind->name, "Permute") == 0 || strcmp(kind->name, "MultiHeadAttention") == 0 ||
        strcmp(kind->name, "TimeDistributed") == 0 ||
        (strstr(kind->name, "Softmax") && strstr(sample, "axis")) ||
        strcmp(kind->name, "Sparsemax") == 0 || strstr(sample, "sparsemax") ||
        strstr(sample, "fill_value: 0.5}") || strncmp(sample, "3,2 | {Bidirectional:", 21) == 0 ||
        (strcmp(kind->name, "Matmul") == 0 && strncmp(sample, "2,4,4", 5) == 0))
        return true;
    return strcmp(kind->name, "Dot") == 0 &&
           (strstr(sample, "normalize: true") || strncmp(sample, "2,3,2", 5) == 0);
}

static void every_layer_comes_back(void **state)
{
    (void)state;
    for (const layer_kind *const *kind = layer_kinds; *kind; kind++)
        for (const char *const *sample = (*kind)->samples; *sample; sample++) {
            if (is_written_alone(*kind, *sample))
                continue;
            cornu_model *m = net_layer(*kind, *sample), *again = round_trip(m);
            expect_same_outputs(m, again);
            cornu_model_close(again);
            cornu_model_close(m);
        }
}

/* Keras's padding "same" stays one layer; what another program pads is cropped. */
static void a_transposed_convolution_stays_one_layer(void **state)
{
    (void)state;
    const layer_kind *kind = layer_kind_find("Conv2DTranspose");
    cornu_model *m =
        net_layer(kind, "3,4,2 | {filters: 3, kernel_size: 3, strides: 2, padding: same}");
    cornu_model *again = round_trip(m);
    assert_string_equal(again->layers[again->layer_count - 1]->kind->name, "Conv2DTranspose");
    assert_int_equal(again->weight_count, 2);
    expect_same_outputs(m, again);
    cornu_model_close(again);
    cornu_model_close(m);
}

static void a_network_of_pictures_keeps_classes_and_the_scale_of_pixels(void **state)
{
    (void)state;
    cornu_model *m = net_model(
        "data: {name: mnist, scale: 0.25}\n"
        "model: {input: [8, 8, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3, activation: "
        "relu}}, BatchNormalization, MaxPooling2D, Flatten, {Dropout: {rate: 0.5}}, {Dense: "
        "{units: 2, activation: softmax}}]}");
    char *const names[] = {(char *)(uintptr_t) "cat", (char *)(uintptr_t) "dog"};
    cornu_image_options reading = {.size = sizeof reading};
    expect_ok(model_set_classes(m, names, 2));
    cornu_model *again = round_trip(m);
    expect_same_outputs(m, again);
    assert_string_equal(cornu_model_class_name(again, 1), "dog");
    expect_ok(cornu_model_image_options(again, &reading));
    assert_true(reading.scale == 0.25);
    /* And it goes on as any other model. */
    expect_ok(cornu_model_compile(again, "{optimizer: sgd, loss: categorical_crossentropy}"));
    expect_ok(cornu_model_save(again, scratch_path("m.safetensors")));
    cornu_model_close(again);
    cornu_model_close(m);
}

/* ---- networks that branch ----------------------------------------------------------------- */

/* The same network comes back, whatever its graph. */
static void networks_that_branch_come_back(void **state)
{
    (void)state;
    static const char *const layers[] = {
        /* a block whose input is read twice, and a tensor twice by one layer */
        "{Conv2D: {filters: 3, kernel_size: 3, padding: same, activation: relu, name: a}}, "
        "{BatchNormalization: {name: b}}, {Add: {inputs: [a, b, b], name: c}}, "
        "{MaxPooling2D: {name: d, padding: same}}, {AveragePooling2D: {inputs: c, name: e, "
        "padding: same}}, "
        "{Average: {inputs: [d, e]}}, Flatten, {Dense: {units: 2, activation: softmax}}",
        /* an activation whose input is read by others, too: no silu, no gelu */
        "{Conv2D: {filters: 2, kernel_size: 1, name: a}}, {Activation: {activation: silu, name: "
        "b}}, "
        "{Activation: {activation: gelu, name: c, inputs: a}}, {Add: {inputs: [c, a, b]}}, "
        "Flatten, "
        "{Add: {inputs: [flatten, flatten]}}, {Dense: {units: 2}}",
        /* the output is what the input is read with */
        "{Activation: {activation: tanh}}, {Add: {inputs: [activation, input_layer]}}",
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        char yaml[800];
        snprintf(yaml, sizeof yaml, "model: {input: [5, 4, 3], layers: [%s]}", layers[i]);
        cornu_model *m = net_model(yaml), *again = round_trip(m);
        assert_true(model_branches(again));
        expect_same_outputs(m, again);
        cornu_model_close(again);
        cornu_model_close(m);
    }
}

/* Inputs and outputs have their layers' names; those of any shape and order come back, one that is
   read by other layers, too, and two that are one tensor. */
static void several_inputs_and_outputs_come_back(void **state)
{
    (void)state;
    cornu_model *m = net_model(
        "model:\n"
        "  inputs: {wide: [6], picture: [5, 4, 3], deep: [4, 2]}\n"
        "  layers:\n"
        "    - Conv2D: {filters: 2, kernel_size: 3, padding: same, inputs: picture, name: output}\n"
        "    - BatchNormalization: {name: normal}\n"
        "    - Activation: {activation: linear, name: same}\n"
        "    - Reshape: {target_shape: [10, 4], inputs: normal, name: shaped}\n"
        "    - Dot: {axes: [2, 1], inputs: [shaped, deep], name: product}\n"
        "    - Flatten: {name: flat}\n"
        "    - Dense: {units: 6, name: right}\n"
        "    - Add: {inputs: [wide, right], name: sum}\n"
        "  outputs: [sum, normal, same, product, output]\n");
    cornu_model *again = round_trip(m);
    expect_status(
        cornu_model_export_onnx(
            m, scratch_path("p.onnx"),
            &(cornu_export_options){.size = sizeof(cornu_export_options), .preprocess = true}),
        CORNU_UNSUPPORTED);
    expect_message("preprocess: found a model of 3 inputs; expected one");
    assert_int_equal(again->input_count, 3);
    assert_string_equal(model_input_name(again, 1), "picture");
    assert_int_equal(again->output_count, 5);
    for (int i = 0; i < 5; i++)
        assert_true(shape_equal(model_output_shape(m, i), model_output_shape(again, i)));
    expect_same_outputs(m, again);
    cornu_model_close(again);
    cornu_model_close(m);
}

/* The file has the input, and nothing of what leads to no output. */
static void an_input_that_nothing_reads_comes_back(void **state)
{
    (void)state;
    cornu_model *m = net_model(
        "model:\n"
        "  inputs: {unread: [5], wide: [6]}\n"
        "  layers:\n"
        "    - Model: {name: encoder, inputs: wide, layers: [{Dense: {units: 5, name: h}}, {Dense: "
        "{units: 2, name: z}}, {Dense: {units: 3, inputs: h, name: spread}}], outputs: [z, "
        "spread]}\n"
        "    - Dense: {units: 3, inputs: encoder/z}\n");
    cornu_model *again = round_trip(m);
    assert_int_equal(again->input_count, 2);
    assert_string_equal(model_input_name(again, 0), "unread");
    assert_int_equal(again->weight_count, m->weight_count - 2);
    expect_same_outputs(m, again);
    cornu_model_close(again);
    cornu_model_close(m);
}

/* A dictionary of inputs may have the keys of that of outputs, and an input may be called "input":
   each value of the file has a name of its own. */
static void names_of_inputs_and_outputs_differ(void **state)
{
    (void)state;
    doc *keys;
    cornu_model *m = net_model("model:\n"
                               "  inputs: {a: [4], b: [3]}\n"
                               "  layers:\n"
                               "    - Concatenate: {inputs: [a, b], name: both}\n"
                               "    - Dense: {units: 2, name: first}\n"
                               "    - Dense: {units: 3, name: second, inputs: both}\n"
                               "  outputs: [first, second]\n");
    expect_ok(doc_parse("{input: 1, output: 2}", 21, "keys", &keys));
    const doc *const *entries = (const doc *const *)(void *)keys->items;
    expect_ok(model_set_input_keys(m, entries, 2));
    expect_ok(model_set_output_keys(m, entries, 2));
    cornu_model *again = round_trip(m);
    assert_string_equal(model_input_name(again, 0), "input");
    assert_string_equal(model_input_name(again, 1), "output");
    expect_same_outputs(m, again);
    cornu_model_close(again);
    cornu_model_close(m);
    doc_free(keys);
}

/* ---- graphs made by hand ------------------------------------------------------------------ */

static void must_refuse(onnx_graph *g, const char *why)
{
    const char *path = scratch_path("g.onnx");
    cornu_model *m;
    onnx_graph_output(g, "y", ONNX_FLOAT, (int64_t[]){2}, 1);
    expect_ok(onnx_graph_write(g, path));
    onnx_graph_free(g);
    cornu_status status = cornu_model_open(path, &m);
    if (status != CORNU_UNSUPPORTED && status != CORNU_BAD_FILE)
        fail_msg("expected \"%s\"; found %s", why, cornu_status_name(status));
    assert_null(m);
    expect_message(why);
}

static onnx_graph *graph_of(const int64_t *dim, int rank)
{
    onnx_graph *g;
    expect_ok(onnx_graph_new("g", &g));
    onnx_graph_input(g, "x", ONNX_FLOAT, dim, rank);
    return g;
}

static onnx_node *add(onnx_graph *g, const char *kind, const char *a, const char *b, const char *y)
{
    return onnx_graph_node(g, kind, (const char *const[]){a, b}, 2, y);
}

/* A constant k. */
static void add_number(onnx_graph *g, float value)
{
    float *k = onnx_graph_new_tensor(g, "k", ONNX_FLOAT, (int64_t[]){1}, 1);
    *k = value;
}

static void what_is_no_network_of_known_operators_is_refused_by_its_node(void **state)
{
    (void)state;
    const int64_t row[] = {4}, image[] = {6, 6, 3};
    onnx_graph *g = graph_of(row, 1);
    add(g, "Relu", "x", NULL, "a");
    add(g, "NonMaxSuppression", "a", NULL, "y");
    must_refuse(g, "y (NonMaxSuppression): found an operator that is not in cornu");
    g = graph_of(row, 1);
    add(g, "Relu", "b", NULL, "a");
    add(g, "Tanh", "x", NULL, "b");
    add(g, "Add", "a", "b", "y");
    must_refuse(g,
                "a (Relu): found the input \"b\", which is neither; expected the graph's input, or "
                "the first result of a node before this one");
    g = graph_of(row, 1);
    add_number(g, 3);
    add(g, "Pow", "x", "k", "y");
    must_refuse(g, "y (Pow): found 3 as the exponent; expected the number 2, 0.5, -0.5 or -1");
    g = graph_of(row, 1);
    add(g, "Relu", "x", NULL, "a");
    add(g, "Pow", "x", "a", "y");
    must_refuse(g, "y (Pow): found no number, 0 as the exponent");
    g = graph_of(row, 1);
    onnx_graph_new_tensor(g, "k", ONNX_FLOAT, (int64_t[]){1, 1, 1}, 3);
    add(g, "Div", "x", "k", "y");
    must_refuse(g, "y (Div): found a constant of 3 dimensions beside a result of 2; expected no "
                   "more");
    g = graph_of(row, 1);
    add(g, "Relu", "x", NULL, "a");
    add(g, "Tanh", "x", NULL, "a");
    add(g, "Add", "a", "x", "y");
    must_refuse(g, "a (Tanh): found a result that another has the name of, a");
    g = graph_of(row, 1);
    onnx_graph_new_tensor(g, "k", ONNX_FLOAT, (int64_t[]){4}, 1);
    add(g, "Mean", "x", "k", "y");
    must_refuse(g,
                "y (Mean): found the input \"k\", which is a constant; expected the graph's input");
    g = graph_of(image, 3);
    add(g, "Conv", "x", "x", "y");
    must_refuse(g, "y (Conv): found no kernel of floats");
    g = graph_of(row, 1);
    onnx_graph_new_tensor(g, "k", ONNX_FLOAT, (int64_t[]){200, 200}, 2);
    add(g, "Add", "x", "k", "y");
    must_refuse(g, "y (Add): found the input \"k\", which is no result of a node before and no "
                   "constant of 1 to 32768 floats");
    g = graph_of(row, 1);
    onnx_graph_new_tensor(g, "k", ONNX_FLOAT, (int64_t[]){2}, 1);
    add(g, "Min", "x", "k", "y");
    must_refuse(g, "minimum (Minimum): found an input and an array of shapes (4) and (2); "
                   "expected equal shapes");
    g = graph_of(row, 1);
    add(g, "Relu", "x", NULL, "z");
    must_refuse(g, "found the output y, which no node makes as its first result");
    g = graph_of(row, 1);
    onnx_graph_input(g, "x", ONNX_FLOAT, row, 1);
    add(g, "Relu", "x", NULL, "y");
    must_refuse(g, "found the input x twice");
    g = graph_of(row, 1);
    for (int i = 0; i < MODEL_ENDS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        onnx_graph_input(g, name, ONNX_FLOAT, row, 1);
    }
    add(g, "Relu", "x", NULL, "y");
    must_refuse(g, "found 17 inputs and 1 outputs; expected 1 to 16 of each");
    g = graph_of((int64_t[]){4, 4}, 2);
    add(g, "Transpose", "x", NULL, "z");
    add(g, "Relu", "z", NULL, "y");
    must_refuse(g, "z (Transpose): perm: found 2 first; expected 0, the batch");
    g = graph_of((int64_t[]){4}, 1);
    add(g, "MatMul", "x", "x", "y");
    must_refuse(g, "y (MatMul): found x of 2 dimensions");
    g = graph_of(image, 3);
    onnx_node_int(g, add(g, "Softmax", "x", NULL, "y"), "axis", 0);
    must_refuse(g, "axis: found 0, of opset 17; expected that of the channels");
}

static void a_softmax_goes_along_its_axis(void **state)
{
    (void)state;
    static const int64_t rows[] = {2, 3, 4};
    onnx_graph *g = graph_of(rows, 3);
    cornu_model *m;
    char *config;
    onnx_node_int(g, add(g, "Softmax", "x", NULL, "y"), "axis", 1);
    onnx_graph_output(g, "y", ONNX_FLOAT, rows, 3);
    expect_ok(onnx_graph_write(g, scratch_path("g.onnx")));
    onnx_graph_free(g);
    expect_ok(cornu_model_open(scratch_path("g.onnx"), &m));
    expect_ok(cornu_model_config(m, &config));
    assert_non_null(strstr(config, "Softmax"));
    assert_non_null(strstr(config, "\"axis\": 1"));
    cornu_free(config);
    cornu_model_close(m);
}

static void constants_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const int64_t row[] = {4};
    onnx_graph *g = graph_of(row, 1);
    onnx_graph_new_tensor(g, "w", ONNX_FLOAT, (int64_t[]){5, 2}, 2);
    add(g, "MatMul", "x", "w", "y");
    must_refuse(g, "y (MatMul): found a constant of 10 floats; expected 8");
    g = graph_of(row, 1);
    onnx_graph_new_tensor(g, "w", ONNX_INT64, (int64_t[]){4, 2}, 2);
    add(g, "MatMul", "x", "w", "y");
    must_refuse(g, "found no matrix of floats");
    g = graph_of(row, 1);
    add(g, "MatMul", "x", "missing", "y");
    must_refuse(g, "found no matrix of floats");
}

/* 100 layers that read one matrix of 1 MB would be 100 MB of weights. */
static void weights_are_at_most_four_times_the_file(void **state)
{
    (void)state;
    const int64_t row[] = {500};
    char from[16] = "x", to[16];
    onnx_graph *g = graph_of(row, 1);
    onnx_graph_new_tensor(g, "w", ONNX_FLOAT, (int64_t[]){500, 500}, 2);
    for (int i = 0; i < 100; i++) {
        snprintf(to, sizeof to, i == 99 ? "y" : "h%d", i);
        add(g, "MatMul", from, "w", to);
        memcpy(from, to, sizeof from);
    }
    must_refuse(g, "h4 (MatMul): found constants that are read so often");
}

/* Images that come channels first, as other programs have them. */
static void the_order_of_a_flattened_image_is_changed_in_the_weights(void **state)
{
    (void)state;
    enum { C = 2, H = 2, W = 3 };
    const int64_t image[] = {C, H, W};
    cornu_model *m;
    float x[H][W][C], y[1];
    onnx_graph *g = graph_of(image, 3);
    float *w = onnx_graph_new_tensor(g, "w", ONNX_FLOAT, (int64_t[]){C * H * W, 1}, 2);
    float *one = onnx_graph_new_tensor(g, "k", ONNX_FLOAT, (int64_t[]){C, 1, 1, 1}, 4);
    one[0] = one[1] = 1;
    for (int i = 0; i < C * H * W; i++)
        w[i] = (float)(1 << i);
    onnx_node_int(g, add(g, "Conv", "x", "k", "a"), "group", C);
    add(g, "Flatten", "a", NULL, "b");
    add(g, "MatMul", "b", "w", "y");
    onnx_graph_output(g, "y", ONNX_FLOAT, (int64_t[]){1}, 1);
    expect_ok(onnx_graph_write(g, scratch_path("g.onnx")));
    onnx_graph_free(g);
    expect_ok(cornu_model_open(scratch_path("g.onnx"), &m));
    for (int at = 0; at < C * H * W; at++) {
        memset(x, 0, sizeof x);
        x[at / W % H][at % W][at / (H * W)] = 1; /* number `at`, channels first */
        expect_ok(cornu_predict(m, &x[0][0][0], 1, NULL, y));
        assert_true(y[0] == (float)(1 << at));
    }
    cornu_model_close(m);
}

/* What the output does not depend on may be anything, and a bias may come nodes later. */
static void nodes_that_the_output_needs_are_read_alone(void **state)
{
    (void)state;
    const float x[] = {1, -2};
    float y[2];
    cornu_model *m;
    onnx_graph *g = graph_of((int64_t[]){2}, 1);
    float *w = onnx_graph_new_tensor(g, "w", ONNX_FLOAT, (int64_t[]){2, 2}, 2);
    float *b = onnx_graph_new_tensor(g, "b", ONNX_FLOAT, (int64_t[]){2}, 1);
    w[0] = w[3] = 1;
    b[0] = b[1] = 10;
    add(g, "NonMaxSuppression", "x", NULL, "unread");
    add(g, "MatMul", "x", "w", "product");
    add(g, "Relu", "x", NULL, "a");
    add(g, "Add", "product", "b", "sum");
    add(g, "Relu", "product", NULL, "unread too");
    add(g, "Add", "sum", "a", "y");
    onnx_graph_output(g, "y", ONNX_FLOAT, (int64_t[]){2}, 1);
    expect_ok(onnx_graph_write(g, scratch_path("g.onnx")));
    onnx_graph_free(g);
    expect_ok(cornu_model_open(scratch_path("g.onnx"), &m));
    assert_int_equal(m->layer_count, 4); /* the bias is in the dense layer */
    expect_ok(cornu_predict(m, x, 1, NULL, y));
    assert_true(y[0] == 12 && y[1] == 8);
    cornu_model_close(m);
}

/* y of one sample, of a graph that this frees. */
static void expect_numbers(onnx_graph *g, const float *x, const float *expected, int count)
{
    float y[4];
    cornu_model *m;
    onnx_graph_output(g, "y", ONNX_FLOAT, (int64_t[]){count}, 1);
    expect_ok(onnx_graph_write(g, scratch_path("g.onnx")));
    onnx_graph_free(g);
    expect_ok(cornu_model_open(scratch_path("g.onnx"), &m));
    expect_ok(cornu_predict(m, x, 1, NULL, y));
    for (int i = 0; i < count; i++)
        assert_float_equal(y[i], expected[i], 1e-6);
    cornu_model_close(m);
}

static void numbers_stand_on_either_side(void **state)
{
    (void)state;
    const float x[] = {4, 0.25f};
    static const struct {
        const char *kind;
        bool first; /* is the number 2 the first input? */
        float y[2];
    } cases[] = {
        {"Sub", false, {2, -1.75f}},   {"Sub", true, {-2, 1.75f}}, {"Div", false, {2, 0.125f}},
        {"Div", true, {0.5f, 8}},      {"Mul", true, {8, 0.5f}},   {"Add", true, {6, 2.25f}},
        {"Pow", false, {16, 0.0625f}}, {"Max", false, {4, 2}},     {"Max", true, {4, 2}},
        {"Min", false, {2, 0.25f}},    {"Min", true, {2, 0.25f}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        onnx_graph *g = graph_of((int64_t[]){2}, 1);
        add_number(g, 2);
        add(g, cases[i].kind, cases[i].first ? "k" : "x", cases[i].first ? "x" : "k", "y");
        expect_numbers(g, x, cases[i].y, 2);
    }
}

static void powers_that_are_functions_are_read(void **state)
{
    (void)state;
    const float x[] = {4, 0.25f};
    static const float exponents[] = {2, 0.5f, -0.5f, -1};
    for (int i = 0; i < 4; i++) {
        const float expected[] = {powf(x[0], exponents[i]), powf(x[1], exponents[i])};
        onnx_graph *g = graph_of((int64_t[]){2}, 1);
        add_number(g, exponents[i]);
        add(g, "Pow", "x", "k", "y");
        expect_numbers(g, x, expected, 2);
    }
}

/* A node whose first reader would make one layer of both, and whose second reader would miss it. */
static void what_several_nodes_read_is_a_layer_of_its_own(void **state)
{
    (void)state;
    const float x[] = {1, -2}, sigmoid[] = {1 / (1 + expf(-x[0])), 1 / (1 + expf(-x[1]))},
                expected[] = {x[0] * sigmoid[0] + sigmoid[0], x[1] * sigmoid[1] + sigmoid[1]};
    onnx_graph *g = graph_of((int64_t[]){2}, 1);
    add(g, "Sigmoid", "x", NULL, "s");
    add(g, "Mul", "s", "x", "product");
    add(g, "Relu", "s", NULL, "other");
    add(g, "Add", "product", "other", "y");
    expect_numbers(g, x, expected, 2);
}

/* ---- files with something wrong in them --------------------------------------------------- */

static void open_bytes(const char *content, size_t size)
{
    cornu_model *m;
    cornu_status status = cornu_model_open(scratch_write("d.onnx", content, size), &m);
    if (status == CORNU_OK) {
        cornu_model_close(m);
        return;
    }
    assert_null(m);
    expect_message("d.onnx: ");
}

static void truncated_and_damaged_files_are_read_or_refused(void **state)
{
    (void)state;
    cornu_model *m = net_model("model: {input: [4, 4, 1], layers: [{Conv2D: {filters: 2, "
                               "kernel_size: 3}}, MaxPooling2D, {Activation: {activation: gelu}}, "
                               "Flatten, {Dense: {units: 2}}]}");
    char *content;
    size_t size;
    expect_ok(cornu_model_export_onnx(m, scratch_path("m.onnx"), NULL));
    cornu_model_close(m);
    expect_ok(file_read(scratch_path("m.onnx"), 1 << 20, &content, &size));
    for (size_t i = 0; i < size; i++)
        open_bytes(content, i);
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            content[i] ^= (char)(1 << bit);
            open_bytes(content, size);
            content[i] ^= (char)(1 << bit);
        }
    free(content);
}

/* A second piece of a message is merged into the first: here a constant with data_location 1. */
static void data_in_other_files_are_refused(void **state)
{
    (void)state;
    static const char constant[] = "\x3a\x07\x2a\x05\x42\x01"
                                   "e\x70\x01";
    char *content;
    size_t size;
    cornu_model *m = net_model("model: {input: [4], layers: [{Dense: {units: 2}}]}");
    expect_ok(cornu_model_export_onnx(m, scratch_path("m.onnx"), NULL));
    cornu_model_close(m);
    expect_ok(file_read(scratch_path("m.onnx"), 1 << 20, &content, &size));
    content = realloc(content, size + sizeof constant);
    memcpy(content + size, constant, sizeof constant - 1);
    scratch_write("e.onnx", content, size + sizeof constant - 1);
    free(content);
    expect_status(cornu_model_open(scratch_path("e.onnx"), &m), CORNU_UNSUPPORTED);
    expect_message("e.onnx: e: found a constant whose data are in another file");
}

static void other_files_are_refused(void **state)
{
    (void)state;
    cornu_model *m;
    scratch_write("t.onnx", "name: x\n", 8);
    expect_status(cornu_model_open(scratch_path("t.onnx"), &m), CORNU_BAD_FILE);
    expect_message("t.onnx: found no message of ONNX");
    scratch_write("e.onnx", "", 0);
    expect_status(cornu_model_open(scratch_path("e.onnx"), &m), CORNU_UNSUPPORTED);
    expect_message("e.onnx: found no graph");
    expect_status(cornu_model_open(scratch_path("none.onnx"), &m), CORNU_NOT_FOUND);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_layer_comes_back),
        TEST(a_transposed_convolution_stays_one_layer),
        TEST(a_network_of_pictures_keeps_classes_and_the_scale_of_pixels),
        TEST(networks_that_branch_come_back),
        TEST(several_inputs_and_outputs_come_back),
        TEST(an_input_that_nothing_reads_comes_back),
        TEST(names_of_inputs_and_outputs_differ),
        TEST(a_softmax_goes_along_its_axis),
        TEST(what_is_no_network_of_known_operators_is_refused_by_its_node),
        TEST(constants_that_do_not_fit_are_refused),
        TEST(weights_are_at_most_four_times_the_file),
        TEST(the_order_of_a_flattened_image_is_changed_in_the_weights),
        TEST(nodes_that_the_output_needs_are_read_alone),
        TEST(numbers_stand_on_either_side),
        TEST(powers_that_are_functions_are_read),
        TEST(what_several_nodes_read_is_a_layer_of_its_own),
        TEST(truncated_and_damaged_files_are_read_or_refused),
        TEST(data_in_other_files_are_refused),
        TEST(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void a_build_without_onnx_reads_none(void **state)
{
    (void)state;
    cornu_model *m;
    scratch_write("m.onnx", "", 0);
    expect_status(cornu_model_open(scratch_path("m.onnx"), &m), CORNU_UNSUPPORTED);
    expect_message("built without ONNX (CORNU_ONNX=OFF)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_build_without_onnx_reads_none, scratch_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
