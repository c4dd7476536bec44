/* Networks that branch, as recipes and Keras's configurations describe them. */
#include "make_model.h"

/* A block whose shortcut has a convolution of its own. */
#define BLOCK                                                                  \
    "    - Conv2D: {filters: 4, kernel_size: 3, padding: same, name: stem}\n"  \
    "    - BatchNormalization: {name: norm}\n"                                 \
    "    - Conv2D: {filters: 4, kernel_size: 3, padding: same, name: inner}\n" \
    "    - Conv2D: {filters: 4, kernel_size: 1, name: shortcut, inputs: stem}\n"

static void a_layer_reads_those_that_it_names(void **state)
{
    (void)state;
    cornu_model *m = make_model(NETWORK(BLOCK "    - Add: {inputs: [inner, shortcut]}\n"
                                              "    - Flatten\n"));
    const model_node *sum = node_of(m, "add");
    assert_int_equal(sum->input_count, 2);
    assert_string_equal(m->nodes[sum->inputs[0]].layer->name, "inner");
    assert_string_equal(m->nodes[sum->inputs[1]].layer->name, "shortcut");
    const model_node *shortcut = node_of(m, "shortcut");
    assert_string_equal(m->nodes[shortcut->inputs[0]].layer->name, "stem");
    assert_true(m->functional);
    assert_int_equal(m->output.dim[0], 6 * 6 * 4);
    cornu_model_close(m);
    m = make_model(NETWORK("    - Flatten\n    - Dense: {units: 2, inputs: [flatten]}\n"));
    assert_false(m->functional);
    cornu_model_close(m);
}

static void wrong_graphs_are_refused_with_the_layer(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *says;
    } cases[] = {
        {NETWORK("    - Add: {inputs: [input_layer, sum]}\n"),
         "test.yaml:4: model.layers[0].Add.inputs[1]: found no layer \"sum\" before this one "
         "(add); "
         "there is input_layer"},
        {NETWORK(BLOCK "    - Add: {inputs: [inner, shortcat]}\n"),
         "layers[4].Add.inputs[1]: found no layer \"shortcat\" before this one (add); "
         "did you mean shortcut?"},
        {NETWORK(BLOCK "    - ReLU\n    - ReLU\n    - ReLU\n    - ReLU\n"
                       "    - Add: {inputs: [other, inner]}\n"),
         "layers[8].Add.inputs[0]: found no layer \"other\" before this one (add); there are "
         "input_layer, stem, norm, inner, shortcut, re_lu, re_lu_1 and 2 others"},
        {NETWORK(BLOCK "    - Add: {inputs: [add, inner], name: add}\n"),
         "layers[4].Add.inputs[0]: found no layer \"add\" before this one"},
        {NETWORK(BLOCK "    - Add: {inputs: [inner, input_layer]}\n"),
         "layers[4]: add (Add): found inputs (6, 6, 4) and (6, 6, 3); expected equal shapes"},
        {NETWORK(BLOCK "    - Add\n"),
         "layers[4]: add (Add): found no `inputs`|such as `inputs: [first, second]`"},
        {NETWORK(BLOCK "    - Subtract: {inputs: [inner, shortcut, inner]}\n"),
         "layers[4]: subtract (Subtract): found 3 inputs; expected two"},
        {NETWORK(BLOCK "    - Maximum: {inputs: [inner, input_layer]}\n"),
         "maximum (Maximum): found inputs (6, 6, 4) and (6, 6, 3)|dimensions of 1"},
        {NETWORK(BLOCK "    - Dot: {inputs: [inner, shortcut, inner], axes: 1}\n"),
         "dot (Dot): found 3 inputs; expected two"},
        {NETWORK(BLOCK "    - Dot: {inputs: [inner, shortcut], axes: [3, 4]}\n"),
         "dot (Dot): found axes 4 for input (None, 6, 6, 4); expected 1 to 3, or -3 to -1"},
        {NETWORK(BLOCK "    - Dot: {inputs: [inner, shortcut], axes: [3, 1]}\n"),
         "with 4 elements along axis 3 and 6 along axis 1; expected equal numbers"},
        {NETWORK(BLOCK "    - Dot: {inputs: [inner, shortcut], axes: [1, 3]}\n"),
         "with 6 elements along axis 1 and 4 along axis 3; expected equal numbers"},
        {NETWORK(BLOCK "    - Dot: {inputs: [inner, shortcut], axes: [1, 2, 3]}\n"),
         "Dot.axes: found [1, 2, 3]; expected one or two whole numbers, such as 1 or [1, 2]"},
        {NETWORK(BLOCK "    - Dot: {inputs: [inner, shortcut]}\n"), "axes is missing|axes"},
        {NETWORK(BLOCK "    - Concatenate: {inputs: [inner, shortcut], axis: 0}\n"),
         "concatenate (Concatenate): found axis 0 for input (None, 6, 6, 4)|1 to 3, or -3 to -1"},
        {NETWORK(BLOCK "    - Concatenate: {inputs: [inner, shortcut], axis: -4}\n"),
         "concatenate (Concatenate): found axis -4 for input"},
        {NETWORK(BLOCK "    - Concatenate: {inputs: [inner, input_layer], axis: 1}\n"),
         "found inputs (None, 6, 6, 4) and (None, 6, 6, 3)|equal but for axis 1"},
        {NETWORK(BLOCK "    - Flatten: {inputs: [inner, shortcut]}\n"),
         "layers[4]: flatten (Flatten): found 2 inputs; expected one"},
        {NETWORK(BLOCK "    - Add: {inputs: [stem, shortcut]}\n"),
         "layers[2]: inner: found no layer that reads its output|model's outputs (add)"},
        {NETWORK(BLOCK "    - Add: {inputs: [inner, 3]}\n"),
         "layers[4].Add.inputs[1]: found 3; expected the name of a layer before this one"},
        {NETWORK(BLOCK "    - Add: {inputs: []}\n"),
         "layers[4].Add.inputs: found []; expected a list of names"},
        {NETWORK(BLOCK "    - Conv2D: {filters: 4, kernel_size: 1, name: stem}\n"),
         "found layer name \"stem\" twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_refuse(cases[i].recipe, "test.yaml", cases[i].says);
}

/* Keras numbers weights by its own order of the layers: by depth, then as a walk from the output
   meets them. Here it meets the shortcut first. */
static void layers_and_weights_are_in_kerass_order(void **state)
{
    (void)state;
    static const char *const names[] = {"input_layer", "stem", "norm",   "shortcut",
                                        "inner",       "add",  "flatten"};
    cornu_model *m = make_model(NETWORK(BLOCK "    - Add: {inputs: [shortcut, inner]}\n"
                                              "    - Flatten\n"));
    assert_int_equal(m->layer_count, 7);
    for (int i = 0, next = 0; i < 7; i++) {
        const layer *l = m->layers[i];
        assert_string_equal(l->name, names[i]);
        assert_int_equal(l->first_variable, next);
        for (int k = 0; k < l->weight_count; k++)
            assert_int_equal(strncmp(m->variables[next + k].name, l->name, strlen(l->name)), 0);
        next += l->weight_count;
    }
    assert_int_equal(m->weight_count, 2 + 4 + 2 + 2);
    cornu_model_close(m);
}

/* So that sums of gradients, masks of dropout and all files are the same. */
static void nodes_are_in_kerass_order_however_they_are_described(void **state)
{
    (void)state;
    static const char *const recipes[] = {
        VECTOR("    - Dense: {units: 4, name: a}\n    - Dropout: {rate: 0.5, name: d}\n"
               "    - Dense: {units: 4, name: b, inputs: input_layer}\n"
               "    - Add: {inputs: [b, d]}\n    - Dropout: {rate: 0.5, name: e}\n"),
        VECTOR("    - Dense: {units: 4, name: b}\n"
               "    - Dense: {units: 4, name: a, inputs: input_layer}\n"
               "    - Dropout: {rate: 0.5, name: d}\n"
               "    - Add: {inputs: [b, d]}\n    - Dropout: {rate: 0.5, name: e}\n")};
    static const char *const names[] = {"input_layer", "a", "b", "d", "add", "e"};
    for (int i = 0; i < 2; i++) {
        cornu_model *m = make_model(recipes[i]), *same;
        char *config;
        must(cornu_model_config(m, &config));
        must(cornu_model_parse(config, "same.json", &same));
        assert_int_equal(m->node_count, 6);
        for (int k = 0; k < 6; k++) {
            assert_string_equal(m->nodes[k].name, names[k]);
            assert_string_equal(same->nodes[k].name, names[k]);
            assert_ptr_equal(m->nodes[m->nodes[k].layer->node].layer, m->nodes[k].layer);
        }
        assert_string_equal(m->nodes[m->nodes[4].inputs[0]].name, "b");
        assert_int_equal(m->outputs[0].node, 5);
        cornu_free(config);
        cornu_model_close(m);
        cornu_model_close(same);
    }
}

static void a_network_that_branches_survives_keras_json(void **state)
{
    (void)state;
    cornu_model *m = make_model(NETWORK(BLOCK "    - Add: {inputs: [shortcut, inner, stem]}\n"
                                              "    - Flatten\n")),
                *same;
    char *first, *second;
    must(cornu_model_config(m, &first));
    assert_non_null(strstr(first, "\"class_name\": \"Functional\""));
    must(cornu_model_parse(first, "same.json", &same));
    must(cornu_model_config(same, &second));
    assert_string_equal(first, second);
    assert_int_equal(node_of(same, "add")->input_count, 3);
    cornu_free(first);
    cornu_free(second);
    cornu_model_close(m);
    cornu_model_close(same);
}

/* Its layers' order is Keras's, which need not be an order of the calls. */
static void keras_json_may_list_a_layer_before_its_inputs(void **state)
{
    (void)state;
#define CALL(name, from) "\"name\": \"" name "\", \"inbound_nodes\": [[[\"" from "\", 0, 0, {}]]]}"
    cornu_model *m = make_model(
        "{\"class_name\": \"Functional\", \"config\": {\"name\": \"model\", \"layers\": ["
        "{\"class_name\": \"InputLayer\", \"config\": {\"batch_input_shape\": [null, 5], \"name\": "
        "\"in\"}, \"name\": \"in\", \"inbound_nodes\": []}, "
        "{\"class_name\": \"ReLU\", \"config\": {\"name\": \"b\"}, " CALL(
            "b",
            "a") ", "
                 "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 5}, " CALL(
                     "a", "in") ", {\"class_name\": \"Add\", \"config\": {\"name\": \"sum\"}, "
                                "\"name\": \"sum\", "
                                "\"inbound_nodes\": [[[\"b\", 0, 0, {}], [\"in\", 0, 0, {}]]]}], "
                                "\"input_layers\": [[\"in\", 0, 0]], \"output_layers\": [[\"sum\", "
                                "0, 0]]}}");
    assert_int_equal(m->node_count, 4);
    assert_string_equal(m->nodes[2].layer->name, "b");
    assert_string_equal(m->nodes[m->nodes[2].inputs[0]].layer->name, "a");
    cornu_model_close(m);
}

/* ---- a layer that is called several times ------------------------------------------------ */

#define TWICE                                                   \
    "    - Dense: {units: 4, activation: relu, name: head}\n"   \
    "    - ReLU: {name: b, inputs: input_layer}\n"              \
    "    - Call: {layer: head, inputs: [b], name: head_of_b}\n" \
    "    - Call: {layer: head}\n"                               \
    "    - Add: {inputs: [head, head_of_b, head/call_3]}\n"

static void a_layer_is_called_again_with_its_weights(void **state)
{
    (void)state;
    cornu_model *m = make_model(VECTOR(TWICE));
    assert_int_equal(m->layer_count, 4);
    assert_int_equal(m->node_count, 6);
    assert_int_equal(m->weight_count, 2);
    assert_true(m->functional);
    static const char *const names[] = {"head", "head_of_b", "head/call_3"};
    const layer *head = node_of(m, "head")->layer;
    assert_int_equal(head->call_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(m->nodes[model_call(m, head, i)].name, names[i]);
        assert_int_equal(m->nodes[5].inputs[i], model_call(m, head, i));
    }
    assert_int_equal(model_call(m, head, 3), -1);
    cornu_model_close(m);
    m = make_model(VECTOR("    - Dense: {units: 4, name: a}\n    - Call: {layer: a}\n"));
    assert_true(m->functional); /* Keras's Sequential has no layer twice */
    cornu_model_close(m);
}

static void a_layer_can_be_called_again_by_the_interface(void **state)
{
    (void)state;
    cornu_model *m;
    must(cornu_model_new((const int64_t[]){4}, 1, &m));
    must(cornu_model_add(m, "Dense", "{units: 4, name: a}"));
    must(cornu_model_add(m, "Call", "{layer: a, name: b}"));
    assert_int_equal(cornu_model_add(m, "Call", "{layer: a, inputs: [c]}"), CORNU_INVALID);
    assert_int_equal(m->node_count, 3);
    assert_int_equal(cornu_model_weight_count(m), 2);
    cornu_model_close(m);
}

static void wrong_calls_are_refused_with_the_layer(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *says;
    } cases[] = {
        {VECTOR(TWICE "    - Call: {layer: haed}\n"),
         "layers[5].Call.layer: found no layer \"haed\" before this one; did you mean head?"},
        {VECTOR(TWICE "    - Call: {layer: head, inputs: [sum]}\n"),
         "layers[5].Call.inputs[0]: found no layer \"sum\" before this one"},
        {VECTOR(TWICE "    - Call: {layer: head, name: b}\n"),
         "layers[5]: found layer name \"b\" twice"},
        {VECTOR(TWICE "    - Dense: {units: 3, name: head_of_b}\n"),
         "layers[5]: found layer name \"head_of_b\" twice"},
        {VECTOR(TWICE "    - Call: {inputs: [b]}\n"), "layers[5]|layer is missing"},
        {VECTOR(TWICE "    - Call: {layer: head, units: 3}\n"), "unknown|units"},
        {VECTOR(TWICE "    - Call: {layer: input_layer}\n"),
         "layers[5]: input_layer: found a second call of the input"},
        {VECTOR(TWICE "    - Exp: {name: e}\n    - Call: {layer: e}\n"),
         "layers[6]: e: found a second call of the operation Exp; expected another Exp"},
        {VECTOR(TWICE
                "    - Reshape: {target_shape: [4, 1]}\n    - Divide: {inputs: [reshape, b]}\n"),
         "layers[6]: divide (Divide): found tensors of shapes (None, 4, 1) and (None, 4); expected "
         "equal numbers of axes"},
        {VECTOR(TWICE "    - Call: {layer: head, inputs: [b, head]}\n"),
         "layers[5]: head (Dense): found 2 inputs; expected one"},
        {VECTOR(TWICE "    - Dense: {units: 3}\n    - Call: {layer: head}\n"),
         "layers[6]: head (Dense): found an input for which its kernel would have shape (3, 4); "
         "expected (4, 4), as in its first call"},
        {VECTOR(
             "    - LayerNormalization: {axis: 1, name: s}\n    - Reshape: {target_shape: [2, 2]}\n"
             "    - Call: {layer: s}\n"),
         "s (LayerNormalization): found axis 1; expected -1 (the last dimension)"},
        {VECTOR(TWICE "    - Call: {layer: head, name: unread}\n"
                      "    - ReLU: {inputs: add}\n"),
         "unread: found no layer that reads its output"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_refuse(cases[i].recipe, "test.yaml", cases[i].says);
}

static void shared_layers_survive_keras_json(void **state)
{
    (void)state;
    cornu_model *m = make_model(VECTOR(TWICE)), *same;
    char *first, *second;
    must(cornu_model_config(m, &first));
    must(cornu_model_parse(first, "same.json", &same));
    must(cornu_model_config(same, &second));
    assert_string_equal(first, second);
    assert_int_equal(same->node_count, 6);
    assert_int_equal(same->weight_count, 2);
    cornu_free(first);
    cornu_free(second);
    cornu_model_close(m);
    cornu_model_close(same);
}

/* tf.keras 2's form. The second call is that whose output is the model's. */
#define SHARED_JSON(a_calls, output)                                                             \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"model\", \"layers\": ["           \
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_input_shape\": [null, 5], \"name\": " \
    "\"in\"}, \"name\": \"in\", \"inbound_nodes\": []}, "                                        \
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 5}, \"name\": \"a\", " \
    "\"inbound_nodes\": [" a_calls "]}, "                                                        \
    "{\"class_name\": \"ReLU\", \"config\": {\"name\": \"b\"}, \"name\": \"b\", "                \
    "\"inbound_nodes\": [[[\"a\", 0, 0, {}]]]}], "                                               \
    "\"input_layers\": [[\"in\", 0, 0]], \"output_layers\": [[" output "]]}}"
#define A_CALL(from, call) "[[\"" from "\", " call ", 0, {}]]"

static void a_shared_layer_of_tf_keras_2_is_read(void **state)
{
    (void)state;
    cornu_model *m =
        make_model(SHARED_JSON(A_CALL("in", "0") ", " A_CALL("b", "0"), "\"a\", 1, 0"));
    assert_int_equal(m->node_count, 4);
    assert_string_equal(m->nodes[3].name, "a/call_2");
    assert_string_equal(m->nodes[m->nodes[3].inputs[0]].name, "b");
    cornu_model_close(m);
}

static void wrong_calls_in_keras_json_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json, *says;
    } cases[] = {
        {SHARED_JSON(A_CALL("in", "0") ", " A_CALL("a", "1"), "\"a\", 1, 0"),
         "config.layers[1] (a, Dense): found a call of a on an output that depends on that call"},
        {SHARED_JSON(A_CALL("in", "0") ", " A_CALL("a", "2"), "\"a\", 1, 0"),
         "config.layers[1] (a, Dense)|found call number 2 of a; expected 0 to 1"},
        {SHARED_JSON(A_CALL("in", "0") ", " A_CALL("c", "0"), "\"a\", 1, 0"),
         "inbound_nodes[1][0]: found no layer \"c\" in this model; did you mean a?"},
        {SHARED_JSON(A_CALL("in", "0") ", " A_CALL("b", "0"), "\"a\", 0, 0"),
         "a/call_2: found no layer that reads its output"},
        {SHARED_JSON(A_CALL("in", "0") ", " A_CALL("b", "0"), "\"a\", 1, 1"),
         "config.output_layers[0]: found output 1 of a; expected 0, its only one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_refuse(cases[i].json, "bad.json", cases[i].says);
}

/* Which call changes moving statistics first? That with the longer way to the output, as in
   Keras; by the recipe it would be the other. */
static void calls_with_moving_statistics_are_in_kerass_order(void **state)
{
    (void)state;
    cornu_model *m = make_model(NETWORK("    - Conv2D: {filters: 3, kernel_size: 1, name: conv}\n"
                                        "    - BatchNormalization: {name: norm}\n"
                                        "    - ReLU: {inputs: input_layer, name: r}\n"
                                        "    - Call: {layer: conv, name: conv_r}\n"
                                        "    - Call: {layer: norm, name: norm_r}\n"
                                        "    - ReLU: {name: r2}\n"
                                        "    - Add: {inputs: [r2, norm]}\n"));
    static const char *const names[] = {"input_layer", "r",  "conv_r", "conv",
                                        "norm_r",      "r2", "norm",   "add"};
    assert_int_equal(m->node_count, 8);
    for (int i = 0; i < 8; i++) {
        assert_string_equal(m->nodes[i].name, names[i]);
        for (int k = 0; k < m->nodes[i].input_count; k++)
            assert_true(m->nodes[i].inputs[k] < i);
    }
    assert_string_equal(m->nodes[m->nodes[6].inputs[0]].name, "conv");
    assert_int_equal(node_of(m, "norm_r")->call, 1);
    assert_string_equal(m->nodes[node_of(m, "norm")->layer->node].name, "norm");
    cornu_model_close(m);
}

/* Networks of strangers must not take minutes. */
static void there_are_at_most_10000_links(void **state)
{
    (void)state;
    cornu_model *m;
    for (int last = 3; last < 5; last++) { /* 1, 9996, and 3 or 4 inputs */
        text t = {0};
        text_add(&t, VECTOR("    - ReLU: {name: a}\n    - Add: {inputs: [a"));
        for (int i = 1; i < 9996; i++)
            text_add(&t, ", a");
        text_add(&t, "]}\n    - Add: {inputs: [add%s]}\n", last == 3 ? ", a, a" : ", a, a, a");
        const cornu_status status = cornu_model_parse(t.data, "test.yaml", &m);
        assert_int_equal(status, last == 3 ? CORNU_OK : CORNU_INVALID);
        if (status != CORNU_OK)
            must_say("layers[2].Add.inputs: found more than 10000 inputs of layers in all");
        cornu_model_close(m);
        text_free(&t);
    }
}

static void rescaling_is_found_before_branches_alone(void **state)
{
    (void)state;
    cornu_model *m = make_model(NETWORK("    - Rescaling: {scale: 0.5, name: scaled}\n"
                                        "    - ReLU: {name: a}\n"
                                        "    - Add: {inputs: [a, scaled]}\n"));
    assert_string_equal(model_rescaling(m)->name, "scaled");
    cornu_model_close(m);
    m = make_model(NETWORK("    - Rescaling: {scale: 0.5, name: scaled}\n"
                           "    - Add: {inputs: [scaled, input_layer]}\n"));
    assert_null(model_rescaling(m));
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_reads_those_that_it_names),
        cmocka_unit_test(wrong_graphs_are_refused_with_the_layer),
        cmocka_unit_test(layers_and_weights_are_in_kerass_order),
        cmocka_unit_test(nodes_are_in_kerass_order_however_they_are_described),
        cmocka_unit_test(a_network_that_branches_survives_keras_json),
        cmocka_unit_test(keras_json_may_list_a_layer_before_its_inputs),
        cmocka_unit_test(a_layer_is_called_again_with_its_weights),
        cmocka_unit_test(a_layer_can_be_called_again_by_the_interface),
        cmocka_unit_test(wrong_calls_are_refused_with_the_layer),
        cmocka_unit_test(shared_layers_survive_keras_json),
        cmocka_unit_test(a_shared_layer_of_tf_keras_2_is_read),
        cmocka_unit_test(wrong_calls_in_keras_json_are_refused),
        cmocka_unit_test(calls_with_moving_statistics_are_in_kerass_order),
        cmocka_unit_test(there_are_at_most_10000_links),
        cmocka_unit_test(rescaling_is_found_before_branches_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
