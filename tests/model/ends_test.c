/* Models of several inputs and outputs: how recipes and Keras's configurations describe them, the
   losses and metrics of each output, and what is refused. */
#include "make_model.h"

#define TWO_TOWERS                                                            \
    "model:\n"                                                                \
    "  inputs: {wide: [3], deep: [4, 4, 1]}\n"                                \
    "  layers:\n"                                                             \
    "    - Flatten: {inputs: deep, name: flat}\n"                             \
    "    - Dense: {units: 3, name: right}\n"                                  \
    "    - Add: {inputs: [wide, right], name: sum}\n"                         \
    "    - Dense: {units: 1, name: price}\n"                                  \
    "    - Dense: {units: 5, activation: softmax, inputs: sum, name: kind}\n" \
    "  outputs: [kind, price]\n"
#define COMPILED(options) TWO_TOWERS "compile: {optimizer: sgd, " options "}\n"

static void inputs_and_outputs_have_the_order_of_the_recipe(void **state)
{
    (void)state;
    cornu_model *m = make_model(TWO_TOWERS);
    assert_true(m->functional);
    assert_int_equal(m->input_count, 2);
    assert_string_equal(model_input_name(m, 0), "wide");
    assert_string_equal(model_input_name(m, 1), "deep");
    assert_int_equal(m->output_count, 2);
    assert_string_equal(model_output_name(m, 0), "kind");
    assert_string_equal(model_output_name(m, 1), "price");
    assert_int_equal(model_output_shape(m, 0)->dim[0], 5);
    assert_int_equal(m->input.rank, 1);
    assert_int_equal(m->input.dim[0], 3 + 16);
    assert_int_equal(m->output.dim[0], 5 + 1);
    cornu_model_close(m);
    m = make_model("model:\n  input: [3]\n  layers:\n    - Dense: {units: 2, name: a}\n"
                   "    - InputLayer: {shape: [2], name: b}\n"
                   "    - Add: {inputs: [a, b]}\n");
    assert_int_equal(m->input_count, 2);
    assert_string_equal(model_input_name(m, 1), "b");
    cornu_model_close(m);
}

static void each_output_has_its_loss_weight_and_metrics(void **state)
{
    (void)state;
    static const char *const sections[] = {
        COMPILED("loss: [sparse_categorical_crossentropy, mse], loss_weights: [1, 0.5], "
                 "metrics: [[accuracy], [mae]]"),
        COMPILED("loss: {price: mse, kind: sparse_categorical_crossentropy}, "
                 "loss_weights: {price: 0.5}, metrics: {kind: accuracy, price: [mae]}"),
    };
    static const char *const names[] = {"kind_loss", "price_loss", "kind_accuracy", "price_mae"};
    for (int i = 0; i < 2; i++) {
        cornu_model *m = make_model(sections[i]);
        assert_int_equal(m->outputs[0].loss.id, LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
        assert_int_equal(m->outputs[1].loss.id, LOSS_MEAN_SQUARED_ERROR);
        assert_true(m->outputs[0].weight == 1 && m->outputs[1].weight == 0.5);
        assert_int_equal(m->metric_count, 4);
        for (int k = 0; k < 4; k++)
            assert_string_equal(metric_name(&m->metrics[k]), names[k]);
        assert_true(metric_less_is_better(&m->metrics[1]));
        cornu_model_close(m);
    }
}

static void one_loss_is_that_of_all_outputs(void **state)
{
    (void)state;
    cornu_model *m = make_model(COMPILED("loss: {mse: {}}"));
    assert_int_equal(m->outputs[0].loss.id, LOSS_MEAN_SQUARED_ERROR);
    assert_int_equal(m->outputs[1].loss.id, LOSS_MEAN_SQUARED_ERROR);
    assert_string_equal(metric_name(&m->metrics[0]), "kind_loss");
    cornu_model_close(m);
}

static void an_output_may_have_no_loss(void **state)
{
    (void)state;
    static const char *const sections[] = {
        COMPILED("loss: [null, mse]"),
        COMPILED("loss: {price: mse, kind: null}, metrics: {kind: [mae, accuracy]}"),
        COMPILED("loss: [null, mse], metrics: [[sparse_categorical_accuracy, accuracy], [mae]]"),
    };
    static const target_kind targets[] = {TARGET_NONE, TARGET_VALUES, TARGET_CLASSES};
    static const int64_t counts[] = {0, 5, 1};
    static const int metrics[] = {0, 2, 3};
    static const char *const accuracies[] = {"", "CategoricalAccuracy",
                                             "SparseCategoricalAccuracy"};
    for (int i = 0; i < 3; i++) {
        cornu_end_info info = {.size = sizeof info};
        cornu_model *m = make_model(sections[i]);
        char *json;
        assert_true(!m->outputs[0].has_loss && m->outputs[1].has_loss);
        assert_int_equal(m->outputs[0].target, targets[i]);
        assert_int_equal(m->metric_count, metrics[i]); /* the one loss is `loss` */
        for (int k = 0; k < m->metric_count; k++)
            assert_false(m->metrics[k].of_loss);
        if (i > 0)
            assert_string_equal(metric_kind_of(m->metrics[1].id)->class_name, accuracies[i]);
        must(cornu_model_output(m, 0, &info));
        assert_int_equal(info.target_count, counts[i]);
        assert_true(info.classes == (i == 2));
        must(cornu_model_compile_config(m, &json));
        must(cornu_model_compile(m, json));
        assert_true(!m->outputs[0].has_loss && m->outputs[0].target == targets[i]);
        cornu_free(json);
        cornu_model_close(m);
    }
}

static void ends_and_compile_section_survive_keras_json(void **state)
{
    (void)state;
    cornu_model *m = make_model(COMPILED("loss: [sparse_categorical_crossentropy, mse], "
                                         "loss_weights: [1, 0.5], metrics: [[acc], null]")),
                *same;
    char *first, *second;
    must(cornu_model_config(m, &first));
    assert_non_null(strstr(first, "\"input_layers\": [[\"wide\", 0, 0], [\"deep\", 0, 0]]"));
    assert_non_null(strstr(first, "\"output_layers\": [[\"kind\", 0, 0], [\"price\", 0, 0]]"));
    must(cornu_model_parse(first, "same.json", &same));
    must(cornu_model_config(same, &second));
    assert_string_equal(first, second);
    assert_string_equal(metric_name(&same->metrics[2]), "kind_acc");
    assert_string_equal(model_input_name(same, 1), "deep");
    cornu_free(first);
    cornu_free(second);
    cornu_model_close(m);
    cornu_model_close(same);
}

/* As tensors in a dictionary are in Keras, which names them by their keys. */
static void a_map_of_ends_has_the_order_of_its_keys(void **state)
{
    (void)state;
#define INPUT(name)                                                                               \
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 5], \"name\": \"" name \
    "\"}, \"name\": \"" name "\", \"inbound_nodes\": []}"
    cornu_model *m = make_model(
        "{\"class_name\": \"Functional\", \"config\": {\"name\": \"model\", \"layers\": [" INPUT(
            "x") ", " INPUT("y") ", {\"class_name\": \"Add\", \"config\": {\"name\": \"sum\"}, "
                                 "\"name\": \"sum\", "
                                 "\"inbound_nodes\": [[[\"x\", 0, 0, {}], [\"y\", 0, 0, {}]]]}], "
                                 "\"input_layers\": {\"second\": [\"x\", 0, 0], \"first\": "
                                 "[\"y\", 0, 0]}, "
                                 "\"output_layers\": {\"all\": [\"sum\", 0, 0]}}}");
    assert_string_equal(model_input_name(m, 0), "first");
    assert_string_equal(m->nodes[m->inputs[0]].name, "y");
    assert_string_equal(model_input_name(m, 1), "second");
    assert_string_equal(m->nodes[m->inputs[1]].name, "x");
    assert_string_equal(model_output_name(m, 0), "all");
    cornu_model_close(m);
}

/* Keras orders layers by their longest way to an output, then by a walk from the outputs. */
static void layers_are_in_kerass_order_over_all_outputs(void **state)
{
    (void)state;
    static const char *const names[] = {"deep", "flat", "wide", "right", "sum", "kind", "price"};
    cornu_model *m = make_model(TWO_TOWERS);
    assert_int_equal(m->layer_count, 7);
    for (int i = 0; i < 7; i++)
        assert_string_equal(m->layers[i]->name, names[i]);
    cornu_model_close(m);
}

static void a_model_has_at_most_64_metrics(void **state)
{
    (void)state;
    for (int count = 62; count <= 63; count++) {
        char recipe[8192];
        int used = snprintf(recipe, sizeof recipe, "%s", COMPILED("loss: mse, metrics: {kind: ["));
        used -= 2; /* without the bracket and the line's end */
        for (int i = 0; i < count; i++)
            used += snprintf(recipe + used, sizeof recipe - (size_t)used,
                             "%s{top_k_categorical_accuracy: {k: 2, name: t%d}}", i ? ", " : "", i);
        snprintf(recipe + used, sizeof recipe - (size_t)used, "]}}\n");
        if (count > 62) {
            must_refuse(recipe, "test.yaml", "found more than 64 metrics");
            continue;
        }
        cornu_model *m = make_model(recipe);
        assert_int_equal(m->metric_count, 64);
        assert_string_equal(metric_name(&m->metrics[63]), "kind_t61");
        cornu_model_close(m);
    }
}

/* As in Keras, which has them before what is as far from the outputs. */
static void inputs_that_nothing_reads_are_inputs(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "d", "c", "b", "e"};
    cornu_model *m =
        make_model("model: {inputs: {c: [4], b: [2], a: [3]}, layers: [{Dense: {units: "
                   "2, name: d}}, {Dense: {units: 2, name: e}}]}\n");
    assert_int_equal(m->input_count, 3);
    assert_int_equal(m->input.dim[0], 9);
    assert_int_equal(m->layer_count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(m->layers[i]->name, names[i]);
    assert_string_equal(model_input_name(m, 0), "c");
    cornu_model_close(m);
}

static void wrong_ends_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *says;
    } cases[] = {
        {"model: {input: [3], layers: [{Dense: {units: 2, name: a}}], outputs: [b]}\n",
         "model.outputs[0]: found no layer \"b\""},
        {"model: {input: [3], layers: [{Dense: {units: 2, name: a}}], outputs: [a, a]}\n",
         "model.outputs: a: found this output twice"},
        {"model: {input: [3], layers: [{Dense: {units: 2}}], outputs: [dense, input_layer]}\n",
         "model.outputs: input_layer: found an input of the model as its output"},
        {"model: {input: [3], layers: [{Dense: {units: 2}}], outputs: []}\n",
         "model.outputs: found []; expected a list of names of layers"},
        {"model: {input: [3], inputs: {a: [2]}, layers: [Flatten]}\n", "found input and inputs"},
        {"model: {inputs: [2], layers: [Flatten]}\n", "model.inputs: found [2]; expected a map"},
        {"model: {inputs: {a: []}, layers: [Flatten]}\n", "model.inputs.a: found []"},
        {"model: {input: [3], layers: [{Dense: {units: 2, name: a}}, "
         "{Dense: {units: 2, name: b, inputs: input_layer}}, {Dense: {units: 2, name: c}}], "
         "outputs: [c]}\n",
         "a: found no layer that reads its output|model's outputs (c)"},
        {"model: {input: [3], layers: [{InputLayer: {shape: [2], inputs: input_layer}}]}\n",
         "found 1 input; expected none"},
        {"model: {inputs: {a: [1000000, 1000000], b: [1000000, 1000000]}, layers: [{Add: {inputs: "
         "[a, b]}}]}\n",
         "test.yaml:1: model.inputs.b: found inputs of more than 2^40 numbers in all"},
        {"model: {inputs: {a: [2], b/c: [2]}, layers: [{Add: {inputs: [a, b/c]}}]}\n",
         "test.yaml:1: model.inputs.b/c: found layer name \"b/c\"; expected 1 to 200 characters"},
        {"model: {inputs: {a: [1000000000, 1000000000]}, layers: [{Flatten: {inputs: a}}]}\n",
         "test.yaml:1: model.inputs.a|too large or empty"},
        {"model: {input: [1000000, 1000000], layers: [{ReLU: {name: a}}, {ReLU: {name: b}}], "
         "outputs: [a, b]}\n",
         "model.outputs: found outputs of 2000000000000 numbers in all; expected at most 2^40"},
        {COMPILED("loss: [mse]"), "loss: found 1 losses; expected 2, one for each"},
        {COMPILED("loss: {kind: mse, prize: mse}"),
         "loss.prize: found no output of this name; the model has kind, price"},
        {COMPILED("loss: {kind: mse}"), "found no loss of the output price"},
        {COMPILED("loss: [null, null]"), "loss: found no loss; expected that of at least one"},
        {COMPILED("loss: [null, mse], metrics: [[mae, sparse_categorical_accuracy], []]"),
         "sparse_categorical_accuracy wants class numbers as targets, but the output's are one"},
        {COMPILED("loss: mse, loss_weights: 2"), "loss_weights: found one value"},
        {COMPILED("loss: mse, loss_weights: [1]"), "found 1 loss_weights; expected 2"},
        {COMPILED("loss: mse, loss_weights: {prize: 1}"), "loss_weights.prize: found no output"},
        {COMPILED("loss: mse, loss_weights: [1, x]"), "loss_weights[1]: found \"x\""},
        {COMPILED("loss: mse, metrics: [mae]"), "metrics: found 1 entries; expected 2"},
        {COMPILED("loss: mse, metrics: {prize: mae}"), "metrics.prize: found no output"},
        {COMPILED("loss: categorical_crossentropy"), "needs at least 2 outputs, found 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_refuse(cases[i].recipe, "test.yaml", cases[i].says);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_and_outputs_have_the_order_of_the_recipe),
        cmocka_unit_test(each_output_has_its_loss_weight_and_metrics),
        cmocka_unit_test(an_output_may_have_no_loss),
        cmocka_unit_test(one_loss_is_that_of_all_outputs),
        cmocka_unit_test(ends_and_compile_section_survive_keras_json),
        cmocka_unit_test(a_map_of_ends_has_the_order_of_its_keys),
        cmocka_unit_test(layers_are_in_kerass_order_over_all_outputs),
        cmocka_unit_test(a_model_has_at_most_64_metrics),
        cmocka_unit_test(inputs_that_nothing_reads_are_inputs),
        cmocka_unit_test(wrong_ends_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
