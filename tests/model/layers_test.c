#include "make_model.h"
#include "support/net.h"
#include <stdio.h>

static cornu_model *make_sample(const layer_kind *k, const char *sample)
{
    char recipe[1024];
    net_sample(k, sample, recipe, sizeof recipe);
    return make_model(recipe);
}

static void every_layer_has_several_samples_that_build(void **state)
{
    (void)state;
    for (const layer_kind *const *k = layer_kinds; *k; k++) {
        int count = 0;
        for (const char *const *s = (*k)->samples; *s; s++, count++) {
            cornu_model *m = make_sample(*k, *s);
            const bool others = strchr(*s, '|') != strrchr(*s, '|');
            const bool branches = (*k)->merges && strstr(*s, "inputs:");
            const int least = 2 + (branches ? 2 : 0) + (others ? 1 : 0);
            assert_true(others ? m->layer_count >= least : m->layer_count == least);
            assert_ptr_equal(layer_kind_find((*k)->name), *k);
            cornu_model_close(m);
        }
        /* Cells stand in samples of RNN. */
        assert_true(count >= 2 || strcmp((*k)->name, "InputLayer") == 0 || !(*k)->emit);
    }
}

static void every_sample_survives_keras_json(void **state)
{
    (void)state;
    for (const layer_kind *const *k = layer_kinds; *k; k++)
        for (const char *const *s = (*k)->samples; *s; s++) {
            char *first, *second;
            cornu_model *m = make_sample(*k, *s), *same;
            must(cornu_model_config(m, &first));
            must(cornu_model_parse(first, "sample.json", &same));
            must(cornu_model_config(same, &second));
            assert_string_equal(first, second);
            assert_true(shape_equal(&m->output, &same->output));
            cornu_free(first);
            cornu_free(second);
            cornu_model_close(m);
            cornu_model_close(same);
        }
}

static void output_shapes_are_kerass(void **state)
{
    (void)state;
    static const struct {
        const char *input, *layer, *output;
        int64_t parameters;
    } cases[] = {
        {"28, 28, 1", "Conv2D: {filters: 4, kernel_size: 5}", "(24, 24, 4)", 104},
        {"28, 28, 3", "Conv2D: {filters: 4, kernel_size: 5, padding: same}", "(28, 28, 4)", 304},
        {"7, 8, 2", "Conv2D: {filters: 3, kernel_size: 3, strides: 2}", "(3, 3, 3)", 57},
        {"7, 8, 2", "Conv2D: {filters: 3, kernel_size: 3, strides: 2, padding: same}", "(4, 4, 3)",
         57},
        {"9, 9, 4",
         "Conv2D: {filters: 6, kernel_size: 3, dilation_rate: 3, groups: 2, use_bias: "
         "false}",
         "(3, 3, 6)", 108},
        {"7, 7, 5", "MaxPooling2D", "(3, 3, 5)", 0},
        {"7, 7, 5", "MaxPooling2D: {padding: same}", "(4, 4, 5)", 0},
        {"8, 9, 5", "AveragePooling2D: {pool_size: [3, 2], strides: 1}", "(6, 8, 5)", 0},
        {"8, 9, 5", "AdaptiveAveragePooling2D: {output_size: [4, 7]}", "(4, 7, 5)", 0},
        {"8, 5", "AdaptiveMaxPooling1D: {output_size: [3]}", "(3, 5)", 0},
        {"8, 9, 5", "GlobalAveragePooling2D", "(5)", 0},
        {"8, 9, 5", "GlobalAveragePooling2D: {keepdims: true}", "(1, 1, 5)", 0},
        {"8, 9, 5", "Flatten", "(360)", 0},
        {"8, 9, 5", "Reshape: {target_shape: [-1, 20]}", "(18, 20)", 0},
        {"8, 1", "CategoryEncoding: {num_tokens: 3, output_mode: one_hot}", "(8, 3)", 0},
        {"8, 9", "CategoryEncoding: {num_tokens: 3, output_mode: one_hot}", "(8, 9, 3)", 0},
        {"8", "CategoryEncoding: {num_tokens: 3}", "(3)", 0},
        {"8, 9", "Discretization: {num_bins: 4}", "(8, 9)", 0},
        {"8, 9", "Discretization: {num_bins: 4, output_mode: count}", "(9, 4)", 0},
        {"8, 9, 5", "BatchNormalization", "(8, 9, 5)", 20},
        {"8, 9, 5", "BatchNormalization: {center: false, axis: [3]}", "(8, 9, 5)", 15},
        {"8, 9, 5", "ZeroPadding2D: {padding: [[1, 2], [3, 4]]}", "(11, 16, 5)", 0},
        {"8, 9", "Dense: {units: 7}", "(8, 7)", 70},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char recipe[300], found[128];
        snprintf(recipe, sizeof recipe, "model: {input: [%s], layers: [%s]}\n", cases[i].input,
                 cases[i].layer);
        cornu_model *m = make_model(recipe);
        assert_string_equal(shape_show(&m->output, false, found), cases[i].output);
        assert_int_equal(cornu_model_parameter_count(m), cases[i].parameters);
        cornu_model_close(m);
    }
}

/* TensorFlow's rule: the output is ceil(in / stride), the odd pixel of padding goes after. */
static void same_padding_is_tensorflows(void **state)
{
    (void)state;
    for (int64_t in = 1; in < 20; in++)
        for (int64_t k = 1; k < 8; k++)
            for (int64_t stride = 1; stride < 5; stride++) {
                window2d w = {{k, k}, {stride, stride}, {1, 1}, {0}, {0}, 1};
                window_pad(&w, true, in, in);
                assert_int_equal(window_output(&w, 0, in), (in + stride - 1) / stride);
                assert_true(w.after[0] == w.before[0] || w.after[0] == w.before[0] + 1);
                window_pad(&w, false, in, in);
                assert_int_equal(w.before[1] + w.after[1], 0);
                assert_int_equal(window_output(&w, 1, in), in < k ? 0 : (in - k) / stride + 1);
            }
}

static void names_count_up_as_in_a_fresh_keras_session(void **state)
{
    (void)state;
    static const char *const names[] = {
        "input_layer", "conv2d",      "conv2d_1", "max_pooling2d",  "batch_normalization",
        "re_lu",       "leaky_re_lu", "elu",      "zero_padding2d", "global_average_pooling2d",
        "mine",        "dense",       "dense_1",  "softmax"};
    cornu_model *m = make_model(
        "model:\n  input: [9, 9, 1]\n  layers:\n"
        "    [Conv2D: {filters: 2, kernel_size: 3}, Conv2D: {filters: 2, kernel_size: 3},\n"
        "     MaxPooling2D, BatchNormalization, ReLU, LeakyReLU, ELU, ZeroPadding2D,\n"
        "     GlobalAveragePooling2D, Dense: {units: 2, name: mine}, Dense: {units: 2},\n"
        "     Dense: {units: 2}, Softmax]\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(m->layers[i]->name, names[i]);
    cornu_model_close(m);
}

/* "Add: {x2: [1, 1, ...]}" */
static void add_array(text *recipe, int count)
{
    text_add(recipe, "{Add: {x2: [1");
    for (int i = 1; i < count; i++)
        text_add(recipe, ",1");
    text_add(recipe, "]}}, ");
}

static void arrays_have_a_limit_for_the_whole_model(void **state)
{
    (void)state;
    static const struct {
        int first, second;
        const char *message;
    } cases[] = {
        {25000, 25000, NULL},
        {25000, 25001, "found 50001 numbers in the arrays of this layer and those before it"},
        {32769, 1, "found an array of shape (32769); expected at most 32768 numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text recipe = {0};
        text_add(&recipe, "model: {input: [%d], layers: [", cases[i].first);
        add_array(&recipe, cases[i].first);
        text_add(&recipe, "{Dense: {units: %d}}, ", cases[i].second);
        add_array(&recipe, cases[i].second);
        text_add(&recipe, "]}");
        cornu_model *m = NULL;
        const cornu_status status = cornu_model_parse(recipe.data, "test.yaml", &m);
        assert_int_equal(status, cases[i].message ? CORNU_INVALID : CORNU_OK);
        if (cases[i].message)
            assert_non_null(strstr(cornu_last_error(), cases[i].message));
        cornu_model_close(m);
        text_free(&recipe);
    }
}

/* Bidirectional's second layer is a copy of the first. */
static void weights_of_inner_layers_have_names_and_options_of_theirs(void **state)
{
    (void)state;
    cornu_model *m =
        make_model("model: {input: [3, 2], layers: [{Bidirectional: {layer: {RNN: {cell: "
                   "{LSTMCell: {units: 2, "
                   "recurrent_regularizer: {l2: {l2: 0.5}}, bias_constraint: non_neg}}}}}}]}");
    const variable *v = m->variables;
    assert_int_equal(m->weight_count, 6);
    assert_string_equal(v[0].name, "bidirectional/forward_rnn/lstm_cell/kernel");
    assert_string_equal(v[4].name, "bidirectional/backward_rnn/lstm_cell/recurrent_kernel");
    assert_string_equal(v[1].part, "forward_layer/cell");
    assert_string_equal(v[4].part, "backward_layer/cell");
    assert_true(v[4].regularizer.l2 == 0.5 && v[3].regularizer.kind == REGULARIZER_NONE);
    assert_int_equal(v[5].constraint.kind, CONSTRAINT_NON_NEG);
    assert_int_equal(v[4].constraint.kind, CONSTRAINT_NONE);
    cornu_model_close(m);
}

static void attention_has_kerass_options_for_all_its_kernels(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        "model: {input: [3, 2], layers: [{MultiHeadAttention: {num_heads: 1, key_dim: 2, "
        "kernel_regularizer: {l1: {l1: 0.5}}, bias_constraint: non_neg, inputs: [input_layer, "
        "input_layer]}}]}");
    assert_int_equal(m->weight_count, 8);
    for (int i = 0; i < 8; i++) {
        const bool is_kernel = i % 2 == 0;
        assert_int_equal(m->variables[i].regularizer.kind != REGULARIZER_NONE, is_kernel);
        assert_int_equal(m->variables[i].constraint.kind != CONSTRAINT_NONE, !is_kernel);
    }
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_have_a_limit_for_the_whole_model),
        cmocka_unit_test(every_layer_has_several_samples_that_build),
        cmocka_unit_test(every_sample_survives_keras_json),
        cmocka_unit_test(weights_of_inner_layers_have_names_and_options_of_theirs),
        cmocka_unit_test(attention_has_kerass_options_for_all_its_kernels),
        cmocka_unit_test(output_shapes_are_kerass),
        cmocka_unit_test(same_padding_is_tensorflows),
        cmocka_unit_test(names_count_up_as_in_a_fresh_keras_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
