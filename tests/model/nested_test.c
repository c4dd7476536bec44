/* Models within models: in recipes, by the interface, and in Keras's configurations. */
#include "make_model.h"
#include "model/submodels.h"
#include <cornu/model.h>

#define BACKBONE                                                                      \
    "    - Model:\n"                                                                  \
    "        name: backbone\n"                                                        \
    "        layers:\n"                                                               \
    "          - Conv2D: {filters: 4, kernel_size: 3, padding: same, name: conv_1}\n" \
    "          - Model: {name: stem, layers: [BatchNormalization, ReLU]}\n"
#define HEAD "    - Flatten\n    - Dense: {units: 2}\n"
/* One input, two outputs; called twice. */
#define TOWERS                                                    \
    "    - Model:\n"                                              \
    "        name: tower\n"                                       \
    "        layers:\n"                                           \
    "          - Dense: {units: 3, name: first}\n"                \
    "          - Dense: {units: 2, name: left}\n"                 \
    "          - Dense: {units: 2, name: right, inputs: first}\n" \
    "        outputs: [left, right]\n"                            \
    "    - ReLU: {name: b, inputs: input_layer}\n"                \
    "    - Call: {layer: tower, inputs: b, name: again}\n"        \
    "    - Add: {inputs: [tower/left, tower/right, again/left, again/right], name: sum}\n"

static void assert_reads(const cornu_model *m, const char *node, const char *other)
{
    assert_string_equal(m->nodes[node_of(m, node)->inputs[0]].name, other);
}

static void a_model_is_called_as_a_layer(void **state)
{
    (void)state;
    static const char *const weights[] = {
        "backbone/conv_1/kernel",
        "backbone/conv_1/bias",
        "backbone/stem/batch_normalization/gamma",
        "backbone/stem/batch_normalization/beta",
        "backbone/stem/batch_normalization/moving_mean",
        "backbone/stem/batch_normalization/moving_variance",
        "dense/kernel",
        "dense/bias",
    };
    cornu_model *m = make_model(NETWORK(BACKBONE HEAD));
    assert_int_equal(m->weight_count, 8);
    for (int i = 0; i < 8; i++)
        assert_string_equal(m->variables[i].name, weights[i]);
    assert_false(m->functional);
    assert_int_equal(m->submodel_count, 2);
    assert_false(m->submodels[0].functional);
    assert_int_equal(m->submodels[1].owner, 0);
    assert_int_equal(m->node_count, 1 + 4 + 1 + 2);
    assert_reads(m, "backbone/conv_1", "backbone/input_layer");
    assert_reads(m, "backbone/input_layer", "input_layer");
    assert_reads(m, "flatten", "backbone/stem/re_lu");
    cornu_model_close(m);
}

static void a_model_that_is_called_twice_has_its_weights_once(void **state)
{
    (void)state;
    cornu_model *m = make_model(VECTOR(TOWERS));
    assert_int_equal(m->weight_count, 3 * 2);
    assert_int_equal(m->submodels[0].call_count, 2);
    assert_true(m->submodels[0].functional);
    assert_true(m->functional);
    assert_ptr_equal(node_of(m, "tower/left")->layer, node_of(m, "again/left")->layer);
    assert_reads(m, "again/left", "again/first");
    assert_reads(m, "again/first", "again/input_layer");
    assert_reads(m, "again/input_layer", "b");
    assert_int_equal(node_of(m, "sum")->input_count, 4);
    cornu_model_close(m);
}

static void calls_of_a_model_within_repeat_those_within_it(void **state)
{
    (void)state;
    cornu_model *m = make_model(VECTOR("    - Model:\n"
                                       "        name: outer\n"
                                       "        layers:\n"
                                       "          - Model: {name: inner, layers: [{Dense: {units: "
                                       "4, name: d}}]}\n"
                                       "          - Call: {layer: inner}\n"
                                       "    - Call: {layer: outer, name: more}\n"));
    assert_int_equal(m->weight_count, 2);
    assert_int_equal(node_of(m, "outer/inner/d")->layer->call_count, 4);
    assert_reads(m, "more/inner/call_2/d", "more/inner/call_2/input_layer");
    assert_reads(m, "more/inner/call_2/input_layer", "more/inner/d");
    assert_reads(m, "more/input_layer", "outer/inner/call_2/d");
    assert_true(m->submodels[0].functional); /* a Sequential has no layer twice */
    assert_string_equal(model_output_name(m, 0), "more");
    cornu_model_close(m);
}

static void several_outputs_of_a_call_have_names_of_their_own(void **state)
{
    (void)state;
    cornu_model *m = make_model(VECTOR(TOWERS "    - Call: {layer: tower, inputs: b, name: last}\n"
                                              "  outputs: [last/right, sum, last/left]\n"));
    assert_string_equal(model_output_name(m, 0), "last/right");
    assert_string_equal(model_output_name(m, 1), "sum");
    assert_string_equal(model_output_name(m, 2), "last/left");
    cornu_model_close(m);
}

static void the_inputs_of_a_model_within_have_names_of_their_own(void **state)
{
    (void)state;
    cornu_model *m =
        make_model("model:\n"
                   "  inputs: {a: [4], b: [3]}\n"
                   "  layers:\n"
                   "    - Model:\n"
                   "        name: both\n"
                   "        inputs: {short: b, long: a}\n"
                   "        layers:\n"
                   "          - Dense: {units: 3, inputs: long}\n"
                   "          - Add: {inputs: [dense, short]}\n"
                   "    - Model: {name: pair, inputs: [a, both], layers: [{Concatenate: {inputs: "
                   "[input_layer, input_layer_1]}}]}\n");
    assert_reads(m, "both/short", "b");
    assert_reads(m, "both/long", "a");
    assert_reads(m, "pair/input_layer", "a");
    assert_reads(m, "pair/input_layer_1", "both/add");
    assert_int_equal(m->output.dim[0], 7);
    cornu_model_close(m);
}

static void a_call_has_another_name_than_the_layers_within(void **state)
{
    (void)state;
    cornu_model *m =
        make_model(VECTOR("    - Model: {name: a, layers: [{Dense: {units: 4, name: call_2}}]}\n"
                          "    - Call: {layer: a}\n"
                          "    - Add: {inputs: [a/call_2, a/call_3], name: sum}\n"));
    const model_node *sum = node_of(m, "sum");
    assert_string_equal(m->nodes[sum->inputs[0]].name, "a/call_2");
    assert_string_equal(m->nodes[sum->inputs[1]].name, "a/call_3/call_2");
    cornu_model_close(m);
}

/* The text of its configuration, read and written again, is the same. */
static void assert_survives(const char *recipe)
{
    cornu_model *m = make_model(recipe), *same;
    char *first, *second;
    must(cornu_model_config(m, &first));
    must(cornu_model_parse(first, "same.json", &same));
    must(cornu_model_config(same, &second));
    assert_string_equal(first, second);
    assert_int_equal(m->node_count, same->node_count);
    for (int i = 0; i < m->node_count; i++)
        for (int k = 0; k < m->nodes[i].input_count; k++)
            assert_int_equal(m->nodes[i].inputs[k], same->nodes[i].inputs[k]);
    assert_int_equal(m->weight_count, same->weight_count);
    for (int i = 0; i < m->weight_count; i++)
        assert_string_equal(m->variables[i].name, same->variables[i].name);
    cornu_free(first);
    cornu_free(second);
    cornu_model_close(m);
    cornu_model_close(same);
}

/* An inner model that takes any height and width, called on pictures of two sizes. */
#define ANY_SIZE(channels, second)                                                                \
    "model: {class_name: Functional, config: {name: m, layers: ["                                 \
    "{class_name: InputLayer, config: {batch_shape: [null, 8, 8, 3], name: a}, inbound_nodes: "   \
    "[]}, {class_name: InputLayer, config: {batch_shape: [" second                                \
    ", 3], name: b}, inbound_nodes: []}, {class_name: Sequential, config: {name: s, layers: "     \
    "[{class_name: InputLayer, config: {batch_shape: [null, null, null, " channels                \
    "], name: i}}, {class_name: Conv2D, config: {filters: 2, kernel_size: 3, name: c}}, "         \
    "{class_name: GlobalAveragePooling2D, config: {name: g}}]}, inbound_nodes: [[[a, 0, 0, {}]]," \
    " [[b, 0, 0, {}]]]}, {class_name: Add, config: {name: t}, inbound_nodes: [[[s, 1, 0, {}], "   \
    "[s, 2, 0, {}]]]}], input_layers: [[a, 0, 0], [b, 0, 0]], output_layers: [[t, 0, 0]]}}\n"

static void a_model_within_takes_any_size(void **state)
{
    (void)state;
    cornu_model *m = make_model(ANY_SIZE("3", "null, 6, 5"));
    char *config;
    assert_int_equal(m->weight_count, 2);
    assert_int_equal(node_of(m, "s/c")->out.dim[0], 6);
    assert_int_equal(node_of(m, "s/call_2/c")->out.dim[0], 4);
    assert_int_equal(node_of(m, "s/call_2/c")->out.dim[1], 3);
    must(cornu_model_config(m, &config));
    assert_non_null(strstr(config, "\"batch_shape\": [null, null, null, 3]"));
    cornu_free(config);
    cornu_model_close(m);
    assert_survives(ANY_SIZE("3", "null, 6, 5"));
    must_refuse(ANY_SIZE("4", "null, 6, 5"), "test.yaml",
                "found an input of shape (None, 8, 8, 3); expected (None, None, None, 4)");
    must_refuse(ANY_SIZE("3", "null, null, 5"), "test.yaml",
                "found the shape (None, None, 5, 3) of a sample; expected numbers alone");
}

static void models_within_models_survive_keras_json(void **state)
{
    (void)state;
    assert_survives(NETWORK(BACKBONE HEAD));
    assert_survives(VECTOR(TOWERS));
    assert_survives(VECTOR(TOWERS "    - Call: {layer: tower, inputs: b, name: last}\n"
                                  "  outputs: [last/right, sum, last/left]\n"));
    assert_survives(VECTOR("    - Model: {name: a, layers: [{Model: {name: b, layers: [{Dense: "
                           "{units: 4}}]}}, {Call: {layer: b}}]}\n"
                           "    - Call: {layer: a}\n"));
    assert_survives(
        "model: {inputs: {a: [4], b: [3]}, layers: [{Model: {name: both, inputs: {s: b, "
        "l: a}, layers: [{Dense: {units: 3, inputs: l}}, {Add: {inputs: [dense, "
        "s]}}]}}]}\n");
}

/* Keras counts the calls of a Functional among outputs from 1, and tf.keras 2 everywhere. */
static void calls_are_counted_as_keras_does(void **state)
{
    (void)state;
    char *json;
    cornu_model *m = make_model("model: {input: [4], layers: [{Model: {name: a, layers: [{Dense: "
                                "{units: 4, name: x}}, {Add: {inputs: [x, input_layer]}}]}}, "
                                "{Call: {layer: a}}]}\n");
    must(cornu_model_config(m, &json));
    assert_non_null(strstr(json, "\"keras_history\": [\"a\", 0, 0]"));
    assert_non_null(strstr(json, "\"output_layers\": [\"a\", 2, 0]"));
    cornu_free(json);
    cornu_model_close(m);
#define IN(name, shape)                                                                           \
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": " shape ", \"name\": \"" name \
    "\"}, \"name\": \"" name "\", \"inbound_nodes\": []}"
    m = make_model(
        "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": [" IN(
            "i", "[null, 4]") ", {\"class_name\": \"Functional\", \"config\": {\"name\": \"e\", "
                              "\"layers\": [" IN(
                                  "j", "[null, 4]") ", {\"class_name\": \"Dense\", "
                                                    "\"config\": {\"name\": \"d\", \"units\": 4}, "
                                                    "\"name\": \"d\", \"inbound_nodes\": [[[\"j\", "
                                                    "0, 0, {}]]]}], \"input_layers\": [[\"j\", 0, "
                                                    "0]], \"output_layers\": [[\"d\", 0, 0]]}, "
                                                    "\"name\": \"e\", \"inbound_nodes\": [[[\"i\", "
                                                    "0, 0, {}]], [[\"e\", 1, 0, {}]]]}], "
                                                    "\"input_layers\": [[\"i\", 0, 0]], "
                                                    "\"output_layers\": [[\"e\", 2, 0]]}}");
    assert_reads(m, "e/call_2/j", "e/d");
    assert_int_equal(m->outputs[0].node, m->node_count - 1);
    cornu_model_close(m);
}

/* base({"j": x}), where base has one input: not a dictionary of one. */
static void a_model_of_one_input_is_called_on_a_dictionary(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": [" IN(
            "i", "[null, 4]") ", {\"class_name\": \"Functional\", \"config\": {\"name\": \"e\", "
                              "\"layers\": [" IN(
                                  "j",
                                  "[null, 4]") ", {\"class_name\": \"Dense\", "
                                               "\"config\": {\"name\": \"d\", \"units\": 4}, "
                                               "\"name\": \"d\", \"inbound_nodes\": [[[\"j\", "
                                               "0, 0, {}]]]}], \"input_layers\": [\"j\", 0, "
                                               "0], \"output_layers\": [\"d\", 0, 0]}, "
                                               "\"name\": \"e\", \"inbound_nodes\": [{\"args\": "
                                               "[{\"j\": {\"class_name\": \"__keras_tensor__\", "
                                               "\"config\": {\"keras_history\": [\"i\", 0, 0]}}}], "
                                               "\"kwargs\": {\"mask\": {\"j\": null}}}]}], "
                                               "\"input_layers\": [\"i\", 0, 0], "
                                               "\"output_layers\": [\"e\", 1, 0]}}");
    assert_reads(m, "e/j", "i");
    cornu_model_close(m);
}

static void a_model_within_is_frozen_with_its_layers(void **state)
{
    (void)state;
    bool trainable;
    cornu_model *m = make_model(NETWORK(BACKBONE HEAD) "compile: {optimizer: adam, loss: mse}\n");
    must(cornu_model_set_trainable(m, "backbone", false));
    assert_int_equal(model_trained_count(m), 2);
    assert_int_equal(m->variable_count - m->weight_count, 4);
    must(cornu_model_trainable(m, "backbone/stem", &trainable));
    assert_false(trainable);
    must(cornu_model_set_trainable(m, "backbone/stem/batch_normalization", true));
    assert_int_equal(model_trained_count(m), 4); /* the layers' own flags count, as in Keras */
    assert_int_equal(cornu_model_set_trainable(m, "backbone/stam", false), CORNU_NOT_FOUND);
    must_say("did you mean backbone/stem");
    cornu_model_close(m);
    m = make_model(
        NETWORK("    - Model: {name: b, trainable: false, layers: [{Conv2D: {filters: 2, "
                "kernel_size: 3}}, {Model: {name: c, layers: [ReLU]}}]}\n") "compile: {optimizer: "
                                                                            "adam, loss: mse}\n");
    assert_int_equal(model_trained_count(m), 0);
    static const char *const frozen[] = {"b", "b/conv2d", "b/c", "b/c/re_lu"};
    for (int i = 0; i < 4; i++) {
        must(cornu_model_trainable(m, frozen[i], &trainable));
        assert_false(trainable);
    }
    cornu_model_close(m);
}

static void a_copy_has_the_flags_of_models_within(void **state)
{
    (void)state;
    bool trainable;
    cornu_model *from = make_model(NETWORK(BACKBONE HEAD)),
                *to = make_model(NETWORK(BACKBONE HEAD));
    must(cornu_model_set_trainable(from, "backbone/stem", false));
    must(model_copy_trainable(to, from));
    must(cornu_model_trainable(to, "backbone/stem", &trainable));
    assert_false(trainable);
    must(cornu_model_trainable(to, "backbone", &trainable));
    assert_true(trainable);
    cornu_model_close(from);
    cornu_model_close(to);
}

static void models_within_are_made_by_the_interface(void **state)
{
    (void)state;
    cornu_model *m;
    must(cornu_model_new((const int64_t[]){4}, 1, &m));
    must(cornu_model_add(m, "Model", "{name: a, layers: [{Dense: {units: 4}}]}"));
    must(cornu_model_add(m, "Call", "{layer: a}"));
    const int nodes = m->node_count, weights = m->weight_count, links = m->link_count;
    /* A failure leaves nothing. */
    assert_int_equal(
        cornu_model_add(m, "Model",
                        "{name: b, layers: [{Dense: {units: 3}}, {Conv2D: {filters: 2, "
                        "kernel_size: 3}}]}"),
        CORNU_INVALID);
    must_say("b/conv2d (Conv2D): found input");
    assert_int_equal(m->node_count, nodes);
    assert_int_equal(m->weight_count, weights);
    assert_int_equal(m->link_count, links);
    assert_int_equal(m->submodel_count, 1);
    assert_int_equal(m->call_count, 2);
    assert_int_equal(m->within, -1);
    must(cornu_model_add(m, "Dense", "{units: 3, name: last}"));
    assert_int_equal(cornu_model_add(m, "Call", "{layer: a}"), CORNU_INVALID);
    must_say("a/input_layer (InputLayer): found an input of shape (None, 3); expected (None, 4)");
    assert_int_equal(m->node_count, nodes + 1);
    assert_int_equal(m->layers[1]->call_count, 2);
    assert_int_equal(m->submodels[0].call_count, 2);
    must(cornu_model_add(m, "Model",
                         "{name: both, inputs: [a, last], layers: [{Concatenate: {inputs: "
                         "[input_layer, input_layer_1]}}]}"));
    assert_int_equal(cornu_model_add(m, "Call", "{layer: both, inputs: a}"), CORNU_INVALID);
    must_say("both (Functional): found 1 inputs; expected 2");
    assert_int_equal(cornu_model_add(m, "Call", "{layer: both, inputs: [a, a]}"), CORNU_INVALID);
    must_say("both/input_layer_1 (InputLayer): found an input of shape (None, 4)");
    assert_int_equal(node_of(m, "both/input_layer")->layer->call_count, 1);
    must(cornu_model_add(m, "Dense", "{units: 2}"));
    assert_int_equal(m->output.dim[0], 2);
    cornu_model_close(m);
}

#define DEEP(name, inner) "{Model: {name: " name ", layers: [" inner "]}}"

static void wrong_models_within_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *says;
    } cases[] = {
        {VECTOR("    - Model: {name: a}\n"),
         "test.yaml:4: model.layers[0]: layers is missing; Model needs it"},
        {VECTOR("    - Model: {name: a, layers: []}\n"),
         "model.layers[0].Model.layers: found []; expected a list of at least one layer"},
        {VECTOR("    - Model: {name: a, units: 3, layers: [Flatten]}\n"),
         "Model.units: unknown option; Model takes name, trainable"},
        {VECTOR("    - Model: {name: a, layers: [{Dense: {units: 3}}, {Conv2D: {filters: 3, "
                "kernel_size: 3}}]}\n"),
         "model.layers[0].Model.layers[1]: a/conv2d (Conv2D): found input (3)"},
        {VECTOR("    - Model: {name: a, layers: [{Dense: {units: 3}}, {Call: {layer: a}}]}\n"),
         "layers[1].Call.layer: found a call of a within itself; expected one of a layer before"},
        {VECTOR("    - Model: {name: a, layers: [{Dense: {units: 3, name: d}}, {Dense: {units: 3, "
                "name: d}}]}\n"),
         "found layer name \"a/d\" twice; expected different names"},
        {VECTOR("    - Dense: {units: 3, name: a}\n    - Model: {name: a, layers: [Flatten]}\n"),
         "model.layers[1]: found layer name \"a\" twice"},
        {VECTOR("    - Model: {name: a, layers: [{Dense: {units: 3, name: d}}]}\n"
                "    - Dense: {units: 3, name: a}\n"),
         "model.layers[1]: found layer name \"a\" twice"},
        {VECTOR("    - Model: {name: a/b, layers: [Flatten]}\n"),
         "found layer name \"a/b\"; expected 1 to 200 characters without /"},
        {VECTOR("    - Dense: {units: 3, name: outside}\n"
                "    - Model: {name: a, layers: [{Dense: {units: 3, inputs: outside}}]}\n"),
         "layers[0].Dense.inputs: found no layer \"outside\" before this one"},
        {VECTOR("    - Model: {name: a, layers: [{Dense: {units: 3, name: d}}, {ReLU: {}}]}\n"
                "    - Dense: {units: 3, inputs: a/d}\n"),
         "layers[1].Dense.inputs: found no layer \"a/d\" before this one"},
        {VECTOR("    - Model: {name: a, layers: [{Dense: {units: 3}}], outputs: input_layer}\n"),
         "a/input_layer: found an input of the model as its output"},
        {VECTOR(
             "    - Model: {name: a, layers: [{Dense: {units: 3, name: d}}], outputs: [d, d]}\n"),
         "a/d: found this output twice"},
        {VECTOR(TOWERS "    - Dense: {units: 3, inputs: tower}\n"),
         "found the model tower, which has 2 outputs; expected one of them, such as tower/left"},
        {VECTOR(
             "    - Model: {name: a, inputs: input_layer, layers: [{InputLayer: {shape: [4]}}]}\n"),
         "found an InputLayer of a model within the model; expected none"},
        {VECTOR("    - Model: {name: optimizer, layers: [Flatten]}\n"),
         "layers[0]: found a model called optimizer; expected another name"},
        {VECTOR("    - Model: {name: a, inputs: {b: 3}, layers: [Flatten]}\n"),
         "Model.inputs.b: found 3; expected the name of a layer before this one"},
        {VECTOR("    - Model: {name: a, layers: [{Dense: {units: 3}}]}\n"
                "    - Call: {layer: a, inputs: [input_layer, input_layer]}\n"),
         "model.layers[1]: a (Sequential): found 2 inputs; expected 1"},
        {VECTOR("    - Model: {name: a, layers: [{Dense: {units: 3, name: b}}, {Dense: {units: 2, "
                "inputs: input_layer}}]}\n"),
         "a/b: found no layer that reads its output"},
        {VECTOR("    - Model: {name: tower, layers: [{Dense: {units: 3}}]}\n"
                "    - Dense: {units: 3, inputs: input_layer}\n"),
         "tower: found no layer that reads its output, which is not one of the model's outputs"},
        {"model: {layers: [{Model: {layers: [Flatten]}}]}\n",
         "model.layers[0]: the model has no input shape"},
        {VECTOR("    - " DEEP(
             "a",
             DEEP("b",
                  DEEP("c",
                       DEEP("d",
                            DEEP("e",
                                 DEEP("f", DEEP("g", DEEP("h", DEEP("i", "Flatten"))))))))) "\n"),
         "found a model within 9 others; expected models within each other at most 8 deep"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_refuse(cases[i].recipe, "test.yaml", cases[i].says);
}

static void wrong_models_within_keras_json_are_refused(void **state)
{
    (void)state;
#define LAYERS(layers)                                                            \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": " \
    "[{\"class_name\": "                                                          \
    "\"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"i\"}}, " layers "]}}"
#define INNER(class, layers, ends)                                                                \
    "{\"class_name\": \"" class "\", \"config\": {\"name\": \"e\", \"layers\": [" layers "]" ends \
                                "}}"
#define DENSE "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 4}}"
    static const struct {
        const char *json, *says;
    } cases[] = {
        {LAYERS(INNER("Sequential", IN("j", "[null, 5]") ", " DENSE, "")),
         "config.layers[1] (e, Sequential).config.layers[0] (j, InputLayer): e/j (InputLayer): "
         "found "
         "an input of shape (None, 4); expected (None, 5)"},
        {LAYERS(INNER("Sequential", DENSE ", " IN("j", "[null, 4]"), "")),
         "found an InputLayer after other layers; expected it first"},
        {LAYERS(INNER("Sequential", IN("j", "[null, 4]"), "")),
         "e/j: found an input of the model as its output"},
        {LAYERS(INNER("Functional",
                      IN("j", "[null, 4]") ", " IN(
                          "k", "[null, 4]") ", {\"class_name\": \"Add\", "
                                            "\"config\": {\"name\": \"s\"}, \"name\": \"s\", "
                                            "\"inbound_nodes\": [[[\"j\", "
                                            "0, 0, {}], [\"k\", 0, 0, {}]]]}",
                      ", \"input_layers\": [[\"j\", 0, 0], [\"k\", 0, 0]], \"output_layers\": "
                      "[[\"s\", 0, 0]]")),
         "found a call on 1 inputs; expected 2"},
        {LAYERS(INNER("Functional",
                      IN("j", "[null, 4]") ", " IN(
                          "k", "[null, 4]") ", {\"class_name\": \"Add\", "
                                            "\"config\": {\"name\": \"s\"}, \"name\": \"s\", "
                                            "\"inbound_nodes\": [[[\"j\", "
                                            "0, 0, {}], [\"k\", 0, 0, {}]]]}",
                      ", \"input_layers\": [[\"j\", 0, 0]], \"output_layers\": [[\"s\", 0, 0]]")),
         "k: found this InputLayer 0 times among the inputs; expected once"},
        {LAYERS("{\"class_name\": \"Functional\", \"module\": \"theirs\", \"config\": {}}"),
         "found the custom object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_refuse(cases[i].json, "bad.json", cases[i].says);
}

/* Keras writes training=False for every Dropout, and fit() overrules it, also where a caller gave
   it. */
static void a_call_with_training_false_trains(void **state)
{
    (void)state;
#define CALLED(class, options, arguments)                                                          \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": [" IN(             \
        "i", "[null, 4]") ", {\"class_name\": \"" class "\", \"config\": {\"name\": \"l\"" options \
                                                        "}, \"name\": \"l\", \"inbound_nodes\": "  \
                                                        "[{\"args\": [{\"class_name\": "           \
                                                        "\"__keras_tensor__\", \"config\": "       \
                                                        "{\"keras_history\": [\"i\", 0, 0]}}], "   \
                                                        "\"kwargs\": " arguments                   \
                                                        "}]}], \"input_layers\": [\"i\", 0, 0], "  \
                                                        "\"output_layers\": [\"l\", 0, 0]}}"
    static const char *const cases[] = {
        CALLED("BatchNormalization", "", "{\"training\": false}"),
        CALLED("Dropout", ", \"rate\": 0.5", "{\"training\": false}"),
        CALLED("Sequential",
               ", \"layers\": [" DENSE ", {\"class_name\": \"BatchNormalization\", \"config\": "
               "{\"name\": \"n\"}}]",
               "{\"training\": false}"),
        CALLED("BatchNormalization", "", "{\"training\": null, \"mask\": [null]}"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *m = NULL;
        must(cornu_model_parse(cases[i], "net.json", &m));
        cornu_model_close(m);
    }
}

/* Numbers pass through a model within as they are. */
static void the_range_and_the_activation_are_seen_through_models(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        NETWORK("    - Model: {name: a, layers: [{Rescaling: {scale: 0.5, name: scaled}}]}\n"
                "    - Flatten\n"
                "    - Dense: {units: 2, activation: softmax}\n"
                "    - Model: {name: b, layers: [{Reshape: {target_shape: [1, 2]}}]}\n"));
    assert_string_equal(model_rescaling(m)->name, "a/scaled");
    assert_int_equal(model_output_activation(m), ACTIVATION_SOFTMAX);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_called_as_a_layer),
        cmocka_unit_test(a_model_that_is_called_twice_has_its_weights_once),
        cmocka_unit_test(calls_of_a_model_within_repeat_those_within_it),
        cmocka_unit_test(several_outputs_of_a_call_have_names_of_their_own),
        cmocka_unit_test(the_inputs_of_a_model_within_have_names_of_their_own),
        cmocka_unit_test(a_call_has_another_name_than_the_layers_within),
        cmocka_unit_test(a_model_within_takes_any_size),
        cmocka_unit_test(models_within_models_survive_keras_json),
        cmocka_unit_test(calls_are_counted_as_keras_does),
        cmocka_unit_test(a_model_of_one_input_is_called_on_a_dictionary),
        cmocka_unit_test(a_model_within_is_frozen_with_its_layers),
        cmocka_unit_test(a_copy_has_the_flags_of_models_within),
        cmocka_unit_test(models_within_are_made_by_the_interface),
        cmocka_unit_test(wrong_models_within_are_refused_by_name),
        cmocka_unit_test(wrong_models_within_keras_json_are_refused),
        cmocka_unit_test(a_call_with_training_false_trains),
        cmocka_unit_test(the_range_and_the_activation_are_seen_through_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
