/* PyTorch's names and orders of weights: what a module computes is what its layer computes, written
   out by hand; what does not fit is refused by the tensor's name. Against real PyTorch:
   peers/torch_names.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "format/tensor_file.h"
#include "support/net.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/exchange.h>
#include <stdlib.h>
#include <string.h>

static const cornu_weights_options torch = {.size = sizeof torch, .names = "torch"};

/* Values of fresh tensors count on from tensor to tensor, in PyTorch's order. */
static float numbers[4096];
static file_tensor tensors[32];
static int tensor_count, number_count;

static void forget_tensors(void)
{
    tensor_count = number_count = 0;
}

static float *add_tensor(const char *name, int rank, const int64_t *dims)
{
    file_tensor *t = &tensors[tensor_count++];
    *t = (file_tensor){.name = (char *)(uintptr_t)name, .rank = rank, .count = 1};
    for (int i = 0; i < rank; i++)
        t->count *= t->shape[i] = dims[i];
    float *values = &numbers[number_count];
    for (int64_t i = 0; i < t->count; i++)
        values[i] = (float)(number_count++);
    t->data = values;
    return values;
}

#define ADD(name, ...)                                                         \
    add_tensor(name, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
               (const int64_t[]){__VA_ARGS__})

static const char *written(void)
{
    const char *path = scratch_path("w.safetensors");
    expect_ok(safetensors_write(path, tensors, tensor_count, NULL, 0));
    return path;
}

static cornu_model *model_of(const char *input, const char *layers)
{
    char recipe[1024];
    cornu_model *m = NULL;
    snprintf(recipe, sizeof recipe, "model: {input: [%s], layers: [%s]}", input, layers);
    expect_ok(cornu_model_parse(recipe, "r.yaml", &m));
    return m;
}

static cornu_model *loaded(const char *input, const char *layers)
{
    cornu_model *m = model_of(input, layers);
    expect_ok(cornu_model_load_weights_as(m, written(), &torch));
    return m;
}

static float weight(const cornu_model *m, const char *name, int64_t i)
{
    return model_variable(m, name)->value[i];
}

/* ---- how weights lie ---------------------------------------------------------------------- */

static void kernels_come_channels_last(void **state)
{
    (void)state;
    forget_tensors();
    ADD("0.weight", 2, 3, 4, 5); /* [out][in][height][width] */
    float *bias = ADD("0.bias", 2);
    cornu_model *m = loaded("8,8,3", "{Conv2D: {filters: 2, kernel_size: [4, 5]}}");
    for (int64_t o = 0; o < 2; o++)
        for (int64_t i = 0; i < 3; i++)
            for (int64_t y = 0; y < 4; y++)
                for (int64_t x = 0; x < 5; x++)
                    assert_float_equal(weight(m, "conv2d/kernel", ((y * 5 + x) * 3 + i) * 2 + o),
                                       ((o * 3 + i) * 4 + y) * 5 + x, 0);
    assert_float_equal(weight(m, "conv2d/bias", 1), bias[1], 0);
    cornu_model_close(m);
}

/* Behind a Flatten of (2, 3, 4): what normalizes the features and the first kernel are rearranged,
   the next kernel is not. */
static void weights_behind_a_flattened_image_are_rearranged(void **state)
{
    (void)state;
    forget_tensors();
    float *gamma = ADD("1.weight", 24), *beta = ADD("1.bias", 24);
    float *mean = ADD("1.running_mean", 24), *variance = ADD("1.running_var", 24);
    float *first = ADD("3.weight", 24, 24), *second = ADD("4.weight", 3, 24);
    cornu_model *m = loaded("2,3,4", "Flatten, BatchNormalization, {Dropout: {rate: 0.5}}, "
                                     "{Dense: {units: 24, use_bias: false}}, "
                                     "{Dense: {units: 3, use_bias: false}}");
    for (int64_t pixel = 0; pixel < 6; pixel++)
        for (int64_t c = 0; c < 4; c++) {
            int64_t here = pixel * 4 + c, there = c * 6 + pixel;
            assert_float_equal(weight(m, "batch_normalization/gamma", here), gamma[there], 0);
            assert_float_equal(weight(m, "batch_normalization/beta", here), beta[there], 0);
            assert_float_equal(weight(m, "batch_normalization/moving_mean", here), mean[there], 0);
            assert_float_equal(weight(m, "batch_normalization/moving_variance", here),
                               variance[there], 0);
            for (int64_t u = 0; u < 24; u++)
                assert_float_equal(weight(m, "dense/kernel", here * 24 + u), first[u * 24 + there],
                                   0);
            for (int64_t u = 0; u < 3; u++)
                assert_float_equal(weight(m, "dense_1/kernel", here * 3 + u), second[u * 24 + here],
                                   0);
        }
    cornu_model_close(m);
}

/* A flattened signal, (steps, channels), likewise: here (3, 2) behind a kernel of one step. What
   has one weight for each feature follows, in whatever shape plans see it. */
static void weights_behind_a_flattened_signal_are_rearranged(void **state)
{
    (void)state;
    forget_tensors();
    float *kernel = ADD("0.weight", 2, 4, 1), *scale = ADD("2.weight", 6);
    float *dense = ADD("3.weight", 1, 6);
    cornu_model *m =
        loaded("3,4", "{Conv1D: {filters: 2, kernel_size: 1, use_bias: false}}, Flatten, "
                      "RMSNormalization, {Dense: {units: 1, use_bias: false}}");
    for (int64_t o = 0; o < 2; o++)
        for (int64_t i = 0; i < 4; i++)
            assert_float_equal(weight(m, "conv1d/kernel", i * 2 + o), kernel[o * 4 + i], 0);
    for (int64_t step = 0; step < 3; step++)
        for (int64_t c = 0; c < 2; c++) {
            int64_t here = step * 2 + c, there = c * 3 + step;
            assert_float_equal(weight(m, "rms_normalization/scale", here), scale[there], 0);
            assert_float_equal(weight(m, "dense/kernel", here), dense[there], 0);
        }
    cornu_model_close(m);
}

/* Features of a sequence, which no layer of signals reads, have one order. */
static void weights_behind_a_flattened_sequence_stay(void **state)
{
    (void)state;
    forget_tensors();
    ADD("0.weight", 2, 4);
    float *last = ADD("2.weight", 1, 6);
    cornu_model *m = loaded("3,4", "{Dense: {units: 2, use_bias: false}}, Flatten, "
                                   "{Dense: {units: 1, use_bias: false}}");
    for (int64_t i = 0; i < 6; i++)
        assert_float_equal(weight(m, "dense_1/kernel", i), last[i], 0);
    cornu_model_close(m);
}

/* ---- which module is which layer ---------------------------------------------------------- */

static void modules_go_to_layers_by_number_and_shape(void **state)
{
    (void)state;
    forget_tensors();
    float *last = ADD("net.10.weight", 4, 4), *first = ADD("net.2.weight", 4, 4);
    float *norm = ADD("net.3.weight", 4);
    ADD("net.3.bias", 4);
    cornu_model *m = loaded("4", "{Dense: {units: 4, use_bias: false}}, LayerNormalization, "
                                 "{Dense: {units: 4, use_bias: false}}");
    assert_float_equal(weight(m, "dense/kernel", 0), first[0], 0);
    assert_float_equal(weight(m, "layer_normalization/gamma", 0), norm[0], 0);
    assert_float_equal(weight(m, "dense_1/kernel", 0), last[0], 0);
    cornu_model_close(m);
}

static const char two_alike[] = "{Dense: {units: 4, use_bias: false, name: %s}}, "
                                "{Dense: {units: 4, use_bias: false, name: %s}}";

static void modules_of_one_shape_need_numbers_or_the_layers_names(void **state)
{
    (void)state;
    char layers[256];
    forget_tensors();
    float *out = ADD("decoder.weight", 4, 4);
    ADD("encoder.weight", 4, 4);
    snprintf(layers, sizeof layers, two_alike, "encoder", "decoder");
    cornu_model *named = loaded("4", layers);
    assert_float_equal(weight(named, "decoder/kernel", 0), out[0], 0);
    cornu_model_close(named);
    snprintf(layers, sizeof layers, two_alike, "a", "b");
    cornu_model *m = model_of("4", layers);
    expect_status(cornu_model_load_weights_as(m, written(), &torch), CORNU_BAD_FILE);
    expect_message("found decoder and encoder, both of the shape of a");
    assert_false(m->initialized);
    cornu_model_close(m);
}

static void what_changes_nothing_may_be_left_over(void **state)
{
    (void)state;
    forget_tensors();
    float *gamma = ADD("bn.weight", 2);
    ADD("bn.bias", 2), ADD("bn.running_mean", 2), ADD("bn.running_var", 2);
    ADD("bn.num_batches_tracked", 1);
    gamma[0] = gamma[1] = 1;
    cornu_model *m = loaded("2", "{BatchNormalization: {scale: false}}");
    gamma[1] = 2;
    expect_status(cornu_model_load_weights_as(m, written(), &torch), CORNU_BAD_FILE);
    expect_message("bn.weight: found 2; expected 1 alone, as batch_normalization has no weight");
    cornu_model_close(m);
}

/* ---- what does not fit -------------------------------------------------------------------- */

static void each_mismatch_names_its_tensor(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int rank;
        int64_t dims[4];
        const char *message;
    } cases[] = {
        {NULL, 0, {0}, "found no 0.bias; expected one of shape (2), of dense/bias"},
        {"0.bias", 1, {3}, "0.bias: found shape (3); expected (2), of dense/bias"},
        {"1.weight", 2, {5, 7}, "found 1.weight; expected no more than the weights of the model's"},
        {"in_proj_weight", 1, {3}, "found the tensor in_proj_weight; expected names that end in"},
        {"0.running_mean", 1, {2}, "found no Linear for dense/kernel; expected one with a weight"},
    };
    cornu_model *m = model_of("3", "{Dense: {units: 2}}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forget_tensors();
        ADD("0.weight", 2, 3);
        if (i >= 2)
            ADD("0.bias", 2);
        if (cases[i].name)
            add_tensor(cases[i].name, cases[i].rank, cases[i].dims);
        expect_status(cornu_model_load_weights_as(m, written(), &torch), CORNU_BAD_FILE);
        expect_message(cases[i].message);
    }
    forget_tensors();
    ADD("fc.weight", 3, 3), ADD("fc.bias", 3);
    expect_status(cornu_model_load_weights_as(m, written(), &torch), CORNU_BAD_FILE);
    expect_message("fc.weight: found shape (3, 3); expected (2, 3), of dense/kernel");
    assert_false(m->initialized);
    cornu_model_close(m);
}

static void an_image_in_another_order_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"12", "{Reshape: {target_shape: [2, 3, 2]}}, Flatten, {Dense: {units: 2}}"},
        {"2,3,2", "{Reshape: {target_shape: [6, 2]}}, {Dense: {units: 2}}"},
        {"2,3,2", "Flatten, {Reshape: {target_shape: [3, 4]}}, {Dense: {units: 2}}"},
        {"2,3,2", "{Permute: {dims: [3, 1, 2]}}, Flatten, {Dense: {units: 2}}"},
        {"2,3,2", "Flatten, {GetItem: {key: ':, :6'}}, {Dense: {units: 2}}"},
        {"2,3,2", "Flatten, {GroupNormalization: {groups: 3}}, {Dense: {units: 2}}"},
        {"2,3,2", "Flatten, {RepeatVector: {n: 2}}, Flatten, {Dense: {units: 2}}"},
    };
    forget_tensors();
    ADD("0.weight", 2, 12), ADD("0.bias", 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *m = model_of(cases[i][0], cases[i][1]);
        expect_status(cornu_model_load_weights_as(m, written(), &torch), CORNU_UNSUPPORTED);
        expect_message("whose numbers PyTorch has in another order");
        cornu_model_close(m);
    }
}

static void names_and_endings_are_checked(void **state)
{
    (void)state;
    cornu_model *m = runs_usual("{}");
    const cornu_weights_options jax = {.size = sizeof jax, .names = "jax"};
    expect_status(cornu_model_load_weights_as(m, "w.safetensors", &jax), CORNU_INVALID);
    expect_message("names: found jax; expected torch");
    expect_status(cornu_model_load_weights_as(m, "w.npz", &torch), CORNU_INVALID);
    expect_status(cornu_model_save_weights(m, scratch_path("w.keras"), &torch), CORNU_INVALID);
    expect_status(cornu_model_save_weights(m, scratch_path("w.safetensors"), &torch),
                  CORNU_INVALID);
    expect_message("found a model without weights");
    cornu_model_close(m);
}

/* ---- there and back ----------------------------------------------------------------------- */

/* Images have another order there, a separable convolution is two modules, and PReLU's slopes have
   no shape of an image. */
static bool has_no_module(const layer_kind *kind)
{
    static const char *const kinds[] = {"AdditiveAttention",
                                        "Attention",
                                        "EinsumDense",
                                        "TimeDistributed",
                                        "Embedding",
                                        "MultiHeadAttention",
                                        "Normalization",
                                        "Permute",
                                        "PReLU",
                                        "Reshape",
                                        "SeparableConv1D",
                                        "SeparableConv2D",
                                        "SpectralNormalization",
                                        "Transpose"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind->name, kinds[i]) == 0)
            return true;
    return false;
}

static void every_layer_comes_back(void **state)
{
    (void)state;
    const char *path = scratch_path("w.safetensors");
    for (const layer_kind *const *kind = layer_kinds; *kind; kind++)
        for (const char *const *sample = (*kind)->samples; *sample; sample++) {
            if (has_no_module(*kind) || net_is_recurrent(*kind, *sample))
                continue;
            cornu_model *m = net_layer(*kind, *sample), *again = net_layer(*kind, *sample);
            expect_ok(cornu_model_initialize(m, 5));
            expect_ok(cornu_model_save_weights(m, path, &torch));
            expect_ok(cornu_model_load_weights_as(again, path, &torch));
            for (int i = 0; i < m->weight_count; i++)
                assert_memory_equal(again->variables[i].value, m->variables[i].value,
                                    (size_t)m->variables[i].count * sizeof(float));
            cornu_model_close(m);
            cornu_model_close(again);
        }
}

/* Kernels of several axes are no convolutions', and steps of images have another order there. */
static void layers_that_torch_has_not_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *sample, *told;
    } cases[] = {
        {"EinsumDense", "4,3 | {equation: 'abc,cde->abde', output_shape: [4, 2, 5]}",
         "found a weight that no module of PyTorch's has"},
        {"TimeDistributed", "2,5,4,2 | {layer: {Conv2D: {filters: 3, kernel_size: 2}}}",
         "another order"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *m = net_layer(layer_kind_find(cases[i].kind), cases[i].sample);
        expect_ok(cornu_model_initialize(m, 5));
        assert_int_equal(cornu_model_save_weights(m, scratch_path("w.safetensors"), &torch),
                         CORNU_UNSUPPORTED);
        assert_non_null(strstr(cornu_last_error(), cases[i].told));
        cornu_model_close(m);
    }
}

/* The layers of a model within the model have its name before theirs, as modules of modules. */
static void a_model_within_is_a_module_of_modules(void **state)
{
    (void)state;
    tensor_file *f;
    forget_tensors();
    ADD("backbone.inner.a.weight", 3, 3);
    ADD("backbone.inner.a.bias", 3);
    ADD("backbone.b.weight", 3, 3);
    float *bias = ADD("backbone.b.bias", 3);
    cornu_model *m =
        loaded("3", "{Model: {name: backbone, layers: [{Dense: {units: 3, name: b}}, "
                    "{Model: {name: inner, layers: [{Dense: {units: 3, name: a}}]}}]}}");
    assert_float_equal(weight(m, "backbone/b/bias", 2), bias[2], 0);
    assert_float_equal(weight(m, "backbone/inner/a/kernel", 1), 3, 0);
    expect_ok(cornu_model_save_weights(m, scratch_path("again.safetensors"), &torch));
    expect_ok(tensor_file_open(scratch_path("again.safetensors"), &f));
    assert_int_equal(f->count, 4);
    for (int i = 0; i < 4; i++)
        assert_non_null(tensor_file_find(f, tensors[i].name));
    tensor_file_close(f);
    cornu_model_close(m);
}

/* ---- weights alone, of other kinds -------------------------------------------------------- */

static void weights_come_from_a_chain_of_onnx(void **state)
{
    (void)state;
    if (!CORNU_ONNX)
        return;
    const char *layers = "{Conv2D: {filters: 2, kernel_size: 3}}, Flatten, {Dense: {units: 3}}";
    cornu_model *m = model_of("6,6,2", layers), *again = model_of("6,6,2", layers);
    cornu_model *other = model_of("6,6,2", "Flatten, {Dense: {units: 3}}");
    expect_ok(cornu_model_initialize(m, 5));
    expect_ok(cornu_model_export_onnx(m, scratch_path("m.onnx"), NULL));
    expect_ok(cornu_model_load_weights(again, scratch_path("m.onnx")));
    for (int i = 0; i < m->weight_count; i++)
        assert_memory_equal(again->variables[i].value, m->variables[i].value,
                            (size_t)m->variables[i].count * sizeof(float));
    expect_status(cornu_model_load_weights(other, scratch_path("m.onnx")), CORNU_BAD_FILE);
    expect_message("m.onnx: found 4 weights; expected the model's 2");
    cornu_model_close(m);
    cornu_model_close(again);
    cornu_model_close(other);
}

/* Two branches of one shape could be taken for each other. */
static void weights_of_a_network_that_branches_do_not_come_from_onnx(void **state)
{
    (void)state;
    if (!CORNU_ONNX)
        return;
    const char *layers = "{Dense: {units: 3, name: a}}, {Dense: {units: 3, inputs: input_layer, "
                         "name: b}}, {Add: {inputs: [a, b]}}, {Dense: {units: 2}}";
    cornu_model *m = model_of("3", layers), *again = model_of("3", layers);
    expect_ok(cornu_model_initialize(m, 5));
    expect_ok(cornu_model_export_onnx(m, scratch_path("m.onnx"), NULL));
    expect_status(cornu_model_load_weights(again, scratch_path("m.onnx")), CORNU_UNSUPPORTED);
    expect_message("m.onnx: found a network that branches, whose weights have neither names that "
                   "last nor one order; expected a chain of layers");
    cornu_model_close(m);
    cornu_model_close(again);
}

static void weights_alone_are_read_again(void **state)
{
    (void)state;
    cornu_model *m = runs_trained(), *again = runs_usual("{}");
    expect_ok(cornu_model_save_weights(m, scratch_path("w.safetensors"), NULL));
    expect_ok(cornu_model_load_weights(again, scratch_path("w.safetensors")));
    for (int i = 0; i < m->weight_count; i++)
        assert_memory_equal(again->variables[i].value, m->variables[i].value,
                            (size_t)m->variables[i].count * sizeof(float));
    cornu_model_close(m);
    cornu_model_close(again);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kernels_come_channels_last),
        TEST(weights_behind_a_flattened_image_are_rearranged),
        TEST(weights_behind_a_flattened_signal_are_rearranged),
        TEST(weights_behind_a_flattened_sequence_stay),
        TEST(modules_go_to_layers_by_number_and_shape),
        TEST(modules_of_one_shape_need_numbers_or_the_layers_names),
        TEST(what_changes_nothing_may_be_left_over),
        TEST(each_mismatch_names_its_tensor),
        TEST(an_image_in_another_order_is_refused),
        TEST(names_and_endings_are_checked),
        TEST(every_layer_comes_back),
        TEST(layers_that_torch_has_not_are_refused),
        TEST(a_model_within_is_a_module_of_modules),
        TEST(weights_come_from_a_chain_of_onnx),
        TEST(weights_of_a_network_that_branches_do_not_come_from_onnx),
        TEST(weights_alone_are_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
