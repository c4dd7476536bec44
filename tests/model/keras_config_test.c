#include "make_model.h"
#include "model/model.h"
#include <cornu/tables.h>
#include <stdio.h>

/* The output of Keras 3.15 for Sequential([Input((5,)), Dense(3, "relu"), Dropout(.5), Dense(2)]),
   compiled with SGD and a loss by name; shortened by defaults only. */
#define POLICY                                                                         \
    "{\"module\": \"keras\", \"class_name\": \"DTypePolicy\", \"config\": {\"name\": " \
    "\"float32\"}, \"registered_name\": null}"
#define INITIALIZERS                                                                           \
    "\"kernel_initializer\": {\"module\": \"keras.initializers\", \"class_name\": "            \
    "\"GlorotUniform\", \"config\": {\"seed\": null, \"input_axes\": null, \"output_axes\": "  \
    "null}, \"registered_name\": null}, \"bias_initializer\": {\"module\": "                   \
    "\"keras.initializers\", \"class_name\": \"Zeros\", \"config\": {}, \"registered_name\": " \
    "null}, \"kernel_regularizer\": null, \"bias_regularizer\": null, \"kernel_constraint\": " \
    "null, \"bias_constraint\": null, \"quantization_config\": null"
#define DENSE3(name, units, activation, extra)                                                 \
    "{\"module\": \"keras.layers\", \"class_name\": \"Dense\", \"config\": {\"name\": \"" name \
    "\", \"trainable\": true, \"dtype\": " POLICY ", \"units\": " #units                       \
    ", \"activation\": \"" activation "\", \"use_bias\": true, " INITIALIZERS                  \
    "}, \"registered_name\": null, \"build_config\": {\"input_shape\": [null, 5]}" extra "}"
#define INPUT3(extra)                                                                             \
    "{\"module\": \"keras.layers\", \"class_name\": \"InputLayer\", \"config\": "                 \
    "{\"batch_shape\": [null, 5], \"dtype\": \"float32\", \"sparse\": false, \"ragged\": false, " \
    "\"name\": \"in\", \"optional\": false}, \"registered_name\": null" extra "}"

static const char sequential3[] =
    "{\"module\": \"keras\", \"class_name\": \"Sequential\", \"config\": {\"name\": \"mine\", "
    "\"trainable\": true, \"dtype\": " POLICY ", \"layers\": [" INPUT3("") ", " DENSE3(
        "d", 3, "relu",
        "") ", {\"module\": \"keras.layers\", \"class_name\": \"Dropout\", "
            "\"config\": {\"name\": \"drop\", \"trainable\": true, \"dtype\": " POLICY
            ", \"rate\": 0.5, \"seed\": null, \"noise_shape\": null}, \"registered_name\": "
            "null}, " DENSE3(
                "e", 2, "linear",
                "") "], \"build_input_shape\": [null, 5]}, \"registered_name\": "
                    "null, \"build_config\": {\"input_shape\": [null, 5]}, \"compile_config\": "
                    "{\"optimizer\": "
                    "{\"module\": \"keras.optimizers\", \"class_name\": \"SGD\", \"config\": "
                    "{\"name\": \"SGD\", "
                    "\"learning_rate\": 0.25, \"weight_decay\": null, \"clipnorm\": null, "
                    "\"global_clipnorm\": "
                    "null, \"clipvalue\": null, \"use_ema\": false, \"ema_momentum\": 0.99, "
                    "\"ema_overwrite_frequency\": null, \"loss_scale_factor\": null, "
                    "\"gradient_accumulation_steps\": null, \"momentum\": 0.5, \"nesterov\": "
                    "false}, "
                    "\"registered_name\": null}, \"loss\": \"mean_squared_error\", "
                    "\"loss_weights\": null, "
                    "\"metrics\": null, \"weighted_metrics\": null, \"run_eagerly\": true, "
                    "\"steps_per_execution\": 1, \"jit_compile\": false}}";

static void a_sequential_of_keras_3_is_read(void **state)
{
    (void)state;
    cornu_model *m = make_model(sequential3);
    assert_string_equal(m->name, "mine");
    assert_int_equal(m->layer_count, 4);
    assert_int_equal(cornu_model_parameter_count(m), 26);
    assert_string_equal(m->variables[2].name, "e/kernel");
    assert_false(m->functional);
    assert_true(m->compiled);
    assert_float_equal(m->optimizer.momentum, 0.5, 0);
    assert_float_equal(schedule_at(&m->optimizer.learning_rate, 0), 0.25, 0);
    cornu_model_close(m);
}

static void it_is_also_read_as_a_model_section_beside_another_compile(void **state)
{
    (void)state;
    text t = {0};
    text_add(&t, "{\"model\": %s, \"compile\": {\"optimizer\": \"adam\", \"loss\": \"mse\"}}",
             sequential3);
    cornu_model *m = make_model(t.data);
    assert_int_equal(m->optimizer.id, OPTIMIZER_ADAM);
    cornu_model_close(m);
    text_free(&t);
}

#define FROM3(name)                                                                         \
    ", \"inbound_nodes\": [{\"args\": [{\"class_name\": \"__keras_tensor__\", \"config\": " \
    "{\"shape\": [null, 5], \"dtype\": \"float32\", \"keras_history\": [\"" name            \
    "\", 0, 0]}}], \"kwargs\": {\"mask\": null}}]"
#define FUNCTIONAL3(layers, last)                                                                \
    "{\"module\": \"keras.src.models.functional\", \"class_name\": \"Functional\", \"config\": " \
    "{\"name\": \"f\", \"trainable\": true, \"layers\": [" layers                                \
    "], \"input_layers\": [\"in\", 0, 0], \"output_layers\": [\"" last                           \
    "\", 0, 0]}, \"registered_name\": \"Functional\", \"build_config\": {\"input_shape\": null}}"

static void a_functional_chain_is_read_in_any_order(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        FUNCTIONAL3(DENSE3("last", 2, "softmax", ", \"name\": \"last\"" FROM3("first")) ", " DENSE3(
                        "first", 3, "relu",
                        ", \"name\": \"first\"" FROM3(
                            "in")) ", " INPUT3(", \"name\": \"in\", \"inbound_nodes\": []"),
                    "last"));
    assert_true(m->functional);
    assert_int_equal(m->layer_count, 3);
    assert_string_equal(m->layers[1]->name, "first");
    assert_string_equal(m->layers[2]->name, "last");
    char *first, *second;
    cornu_model *same;
    must(cornu_model_config(m, &first));
    must(cornu_model_parse(first, "same.json", &same));
    must(cornu_model_config(same, &second));
    assert_string_equal(first, second);
    assert_true(same->functional);
    cornu_free(first);
    cornu_free(second);
    cornu_model_close(m);
    cornu_model_close(same);
}

/* In the order of their sorted keys, which name them until others are chosen. */
static void dictionaries_name_inputs_and_outputs(void **state)
{
    (void)state;
    cornu_model *m =
        make_model("{\"class_name\": \"Functional\", \"config\": {\"name\": \"f\", \"layers\": "
                   "[" INPUT3(", \"name\": \"in\", \"inbound_nodes\": []") ", " DENSE3(
                       "u", 2, "relu",
                       ", \"name\": \"u\"" FROM3(
                           "in")) ", " DENSE3("v", 3, "relu",
                                              ", \"name\": \"v\"" FROM3(
                                                  "in")) "], \"input_layers\": {\"x\": [\"in\", 0, "
                                                         "0]}, "
                                                         "\"output_layers\": {\"zz\": [\"u\", 0, "
                                                         "0], \"yy\": [\"v\", 0, 0]}}}");
    char *config;
    assert_string_equal(model_input_name(m, 0), "x");
    assert_string_equal(model_output_name(m, 0), "yy");
    assert_string_equal(model_output_name(m, 1), "zz");
    assert_int_equal(model_output_shape(m, 0)->dim[0], 3);
    must(cornu_model_config(m, &config));
    assert_non_null(strstr(config, "\"input_layers\": {\"x\": [\"in\", 0, 0]}"));
    assert_non_null(strstr(config, "\"yy\": [\"v\", 0, 0]"));
    cornu_free(config);
    must(cornu_model_name_outputs(m, "v"));
    assert_string_equal(model_output_name(m, 0), "v");
    assert_string_equal(model_input_name(m, 0), "x"); /* the inputs stay as they were */
    must(cornu_model_add(m, "InputLayer", "{shape: [2], name: more}"));
    assert_string_equal(model_input_name(m, 0), "in");
    cornu_model_close(m);
}

/* They stand in files' names of tensors, and in logs. */
static void names_of_ends_are_checked(void **state)
{
    (void)state;
    char longest[201], too_long[202];
    memset(longest, 'k', 200);
    memset(too_long, 'k', 201);
    longest[200] = too_long[201] = 0;
    const char *const keys[] = {longest, "a b", too_long, "", "a/b", "a\\nb"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (int ends = 0; ends < 2; ends++) {
            cornu_model *m;
            char json[4096];
            snprintf(json, sizeof json,
                     "{\"class_name\": \"Functional\", \"config\": {\"name\": \"f\", \"layers\": "
                     "[" INPUT3(", \"name\": \"in\", \"inbound_nodes\": []") ", " DENSE3(
                         "u", 2, "relu",
                         ", \"name\": \"u\"" FROM3(
                             "in")) "], \"input_layers\": {\"%s\": [\"in\", 0, 0]}, "
                                    "\"output_layers\": {\"%s\": [\"u\", 0, 0]}}}",
                     ends ? "x" : keys[i], ends ? keys[i] : "y");
            const cornu_status status = cornu_model_parse(json, "bad.json", &m);
            assert_int_equal(status, i < 2 ? CORNU_OK : CORNU_INVALID);
            if (status != CORNU_OK)
                must_say(i == 5 ? "found a control character in the key; expected text"
                                : "found key \"|\"; expected 1 to 200 characters without /");
            cornu_model_close(m);
        }
}

static void networks_that_do_not_hold_together_are_refused(void **state)
{
    (void)state;
#define OTHER                                                                              \
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 5], \"name\": " \
    "\"other\"}, \"name\": \"other\", \"inbound_nodes\": []}"
    static const struct {
        const char *json, *says;
    } cases[] = {
        {FUNCTIONAL3(INPUT3(", \"name\": \"in\", \"inbound_nodes\": []") ", " DENSE3(
                         "a", 2, "relu",
                         ", \"name\": \"a\"" FROM3(
                             "in")) ", " DENSE3("b", 2, "relu", ", \"name\": \"b\"" FROM3("in")),
                     "a"),
         "b: found no layer that reads its output, which is not one of the model's outputs (a)"},
        {FUNCTIONAL3(INPUT3(", \"name\": \"in\", \"inbound_nodes\": []") ", " DENSE3(
                         "a", 2, "relu", ", \"name\": \"a\"" FROM3("nobody")),
                     "a"),
         "(a, Dense).inbound_nodes[0].args[0] (__keras_tensor__): found no layer \"nobody\" "
         "in this model; there are in, a"},
        {FUNCTIONAL3(INPUT3(", \"name\": \"in\", \"inbound_nodes\": []") ", " DENSE3(
                         "a", 2, "relu",
                         ", \"name\": \"a\", \"inbound_nodes\": [{\"args\": [[1, 2]], \"kwargs\": "
                         "{}}]"),
                     "a"),
         "args[0][0]: found no tensor"},
        {FUNCTIONAL3(INPUT3(", \"name\": \"in\", \"inbound_nodes\": []") ", " OTHER ", " DENSE3(
                         "a", 2, "relu", ", \"name\": \"a\"" FROM3("other")),
                     "a"),
         "other: found this InputLayer 0 times among the inputs; expected once"},
        {"{\"class_name\": \"Subclassed\", \"config\": {}}", "found class_name \"Subclassed\""},
        {"{\"class_name\": \"Sequential\", \"config\": {\"layers\": []}}", "found no layers"},
        {"{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
         "\"Dense\", \"config\": {\"units\": 3}}]}}",
         "no input shape"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *m;
        assert_int_equal(cornu_model_parse(cases[i].json, "bad.json", &m), CORNU_INVALID);
        must_say(cases[i].says);
    }
}

/* tf.keras 2: the input's shape is in the first layer, numbers and functions are written
   differently. */
static void models_of_tf_keras_2_are_read(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"sequential\", \"layers\": ["
        "{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"conv2d\", \"trainable\": true, "
        "\"batch_input_shape\": [null, 8, 8, 3], \"dtype\": \"float32\", \"filters\": 4, "
        "\"kernel_size\": [3, 3], \"strides\": [1, 1], \"padding\": \"valid\", \"data_format\": "
        "\"channels_last\", \"dilation_rate\": [1, 1], \"groups\": 1, \"activation\": \"relu\", "
        "\"use_bias\": true, \"kernel_initializer\": {\"class_name\": \"GlorotUniform\", "
        "\"config\": {\"seed\": null}}, \"bias_initializer\": {\"class_name\": \"Zeros\", "
        "\"config\": {}}, \"kernel_regularizer\": null, \"bias_regularizer\": null, "
        "\"activity_regularizer\": null, \"kernel_constraint\": null, \"bias_constraint\": null}}, "
        "{\"class_name\": \"BatchNormalization\", \"config\": {\"axis\": [3]}}, "
        "{\"class_name\": \"LeakyReLU\", \"config\": {\"alpha\": 0.1}}, "
        "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"flatten\"}}, "
        "{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 2}}]}, "
        "\"keras_version\": \"2.11.0\", \"backend\": \"tensorflow\"}",
        "{\"class_name\": \"Functional\", \"config\": {\"name\": \"model\", \"layers\": ["
        "{\"class_name\": \"InputLayer\", \"config\": {\"batch_input_shape\": [null, 8, 8, 3], "
        "\"dtype\": \"float32\", \"sparse\": false, \"ragged\": false, \"name\": \"input_1\"}, "
        "\"name\": \"input_1\", \"inbound_nodes\": []}, "
        "{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 4, "
        "\"kernel_size\": [3, 3]}, \"name\": \"c\", \"inbound_nodes\": [[[\"input_1\", 0, 0, "
        "{}]]]}, {\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\"}, \"name\": "
        "\"b\", \"inbound_nodes\": [[[\"c\", 0, 0, {}]]]}, "
        "{\"class_name\": \"LeakyReLU\", \"config\": {\"name\": \"l\", \"alpha\": 0.1}, \"name\": "
        "\"l\", \"inbound_nodes\": [[[\"b\", 0, 0, {}]]]}, "
        "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"f\"}, \"name\": \"f\", "
        "\"inbound_nodes\": [[[\"l\", 0, 0, {}]]]}, "
        "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2}, \"name\": "
        "\"d\", \"inbound_nodes\": [[[\"f\", 0, 0, {}]]]}], \"input_layers\": [[\"input_1\", 0, "
        "0]], \"output_layers\": [[\"d\", 0, 0]]}}",
    };
    for (int i = 0; i < 2; i++) {
        cornu_model *m = make_model(forms[i]);
        char found[128];
        assert_int_equal(m->layer_count, 6);
        assert_int_equal(cornu_model_parameter_count(m), 112 + 16 + 290);
        assert_string_equal(shape_show(&m->input, false, found), "(8, 8, 3)");
        cornu_model_close(m);
    }
}

static void every_workload_survives_keras_json(void **state)
{
    (void)state;
    for (int i = 0; cornu_workload_name(i); i++) {
        cornu_model *m = make_model(recipe_text(cornu_workload_name(i))), *same;
        char *first, *second;
        must(cornu_model_config(m, &first));
        must(cornu_model_parse(first, "same.json", &same));
        must(cornu_model_config(same, &second));
        assert_string_equal(first, second);
        assert_int_equal(m->variable_count, same->variable_count);
        for (int v = 0; v < m->variable_count; v++)
            assert_string_equal(m->variables[v].name, same->variables[v].name);
        cornu_free(first);
        cornu_free(second);
        cornu_model_close(m);
        cornu_model_close(same);
    }
}

static void an_activation_keeps_its_slope(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        "model: {input: [4], layers: [Dense: {units: 2, activation: {class_name: LeakyReLU, "
        "config: {negative_slope: 0.1, name: x, trainable: true}, module: keras.layers, "
        "registered_name: null}}]}\n");
    char *json;
    must(cornu_model_config(m, &json));
    assert_non_null(strstr(json, "\"class_name\": \"LeakyReLU\", \"config\": "
                                 "{\"negative_slope\": 0.1}"));
    cornu_free(json);
    cornu_model_close(m);
}

static void an_activation_may_go_by_its_other_name(void **state)
{
    (void)state;
    cornu_model *m =
        make_model("model: {input: [4], layers: [Dense: {units: 2, activation: swish}]}\n");
    char *json;
    assert_int_equal(model_output_activation(m), ACTIVATION_SILU);
    must(cornu_model_config(m, &json));
    assert_non_null(strstr(json, "\"activation\": \"silu\""));
    cornu_free(json);
    cornu_model_close(m);
}

/* One layer of a Sequential as Keras 3 writes it. */
static cornu_status parse_with(const char *layer, cornu_model **m)
{
    text t = {0};
    text_add(&t,
             "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": [" INPUT3(
                 "") ", %s]}}",
             layer);
    cornu_status status = cornu_model_parse(t.data, "net.json", m);
    text_free(&t);
    return status;
}

static void what_is_refused_is_named_with_its_layer(void **state)
{
    (void)state;
    static const struct {
        const char *layer, *says;
    } cases[] = {
        {"{\"module\": \"keras\", \"class_name\": \"Sequential\", \"config\": {\"name\": "
         "\"inner\", \"trainable\": true, \"layers\": []}, \"registered_name\": null, "
         "\"build_config\": {}, \"compile_config\": {\"loss\": \"mse\"}}",
         "net.json:1: config.layers[1] (inner, Sequential).config.layers: found no layers"},
        {"{\"class_name\": \"Functional\", \"config\": {\"name\": \"mobilenet\"}, "
         "\"compile_config\": {}}",
         "(mobilenet, Functional): found no layers; expected a list of at least one"},
        {"{\"class_name\": \"SimpleRNN\", \"config\": {\"name\": \"d\", \"units\": 2, "
         "\"activity_regularizer\": {\"class_name\": \"L2\"}}}",
         "config.layers[1] (d, SimpleRNN).config.activity_regularizer: found {class_name: \"L2\"}; "
         "expected null"},
        {"{\"class_name\": \"ConvLSTM2D\", \"config\": {\"name\": \"lstm\"}}",
         "config.layers[1] (lstm, ConvLSTM2D): unknown layer \"ConvLSTM2D\""},
        {"{\"module\": \"keras.layers\", \"class_name\": \"Lambda\", \"config\": {\"name\": "
         "\"double\", \"function\": {\"class_name\": \"__lambda__\", \"config\": {\"code\": "
         "\"4wEAAAA=\"}}}, \"registered_name\": null}",
         "(double, Lambda): found a Lambda layer, which holds code; cornu runs none from a file"},
        {"{\"module\": \"theirs\", \"class_name\": \"Dense\", \"config\": {\"name\": \"d\", "
         "\"units\": 2}, \"registered_name\": \"Theirs>Dense\"}",
         "(d, Dense): found the custom object Theirs>Dense of theirs; expected Keras's own"},
        {"{\"module\": \"keras.layers\", \"class_name\": \"Dense\", \"config\": {\"name\": \"d\", "
         "\"units\": 2}, \"registered_name\": \"Theirs>Dense\"}",
         "found the custom object Theirs>Dense of keras.layers"},
        {"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, \"activation\": "
         "{\"module\": \"builtins\", \"class_name\": \"function\", \"config\": \"wave\", "
         "\"registered_name\": \"function\"}}}",
         "unknown activation \"wave\""},
        {"{\"class_name\": \"RandomPerspective\", \"config\": {\"name\": \"hue\"}}",
         "config.layers[1] (hue, RandomPerspective): cornu has no layer RandomPerspective"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *m;
        assert_int_equal(parse_with(cases[i].layer, &m), CORNU_INVALID);
        must_say(cases[i].says);
        assert_null(strstr(cornu_last_error(), "unknown key"));
    }
}

/* Keras writes it so once it has saved the model as .h5. */
static void a_compile_config_without_optimizer_is_of_rmsprop(void **state)
{
    (void)state;
    cornu_model *m =
        make_model("{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": "
                   "[" INPUT3("") ", " DENSE3("d", 3, "relu", "") "]}, \"compile_config\": "
                                                                  "{\"loss\": \"mse\"}}");
    assert_true(m->compiled);
    assert_int_equal(m->optimizer.id, OPTIMIZER_RMSPROP);
    cornu_model_close(m);
}

static void a_call_of_no_tensors_names_its_layer(void **state)
{
    (void)state;
    cornu_model *m;
    assert_int_equal(
        cornu_model_parse(
            FUNCTIONAL3(
                INPUT3(", \"name\": \"in\", \"inbound_nodes\": []") ", {\"class_name\": \"Add\", "
                                                                    "\"config\": {\"name\": "
                                                                    "\"sum\"}, \"name\": "
                                                                    "\"sum\", "
                                                                    "\"inbound_nodes\": "
                                                                    "[{\"args\": [[{}, {}]], "
                                                                    "\"kwargs\": {}}]}",
                "sum"),
            "net.json", &m),
        CORNU_INVALID);
    must_say("config.layers[1] (sum, Add).inbound_nodes[0].args[0][0]: found no tensor|output");
}

/* Options that only choose Keras's random numbers, or the size of its batches. */
static void seeds_and_sizes_of_batches_are_taken(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
        "\"InputLayer\", \"config\": {\"batch_shape\": [64, 5]}}, {\"class_name\": \"Dropout\", "
        "\"config\": {\"rate\": 0.5, \"seed\": 7}}, {\"class_name\": \"Dense\", \"config\": "
        "{\"units\": 2, \"kernel_initializer\": {\"class_name\": \"HeNormal\", \"config\": "
        "{\"seed\": 7}}}}]}}");
    assert_int_equal(m->input.rank, 1);
    assert_int_equal(m->input.dim[0], 5);
    cornu_model_close(m);
}

static void keras_other_names_of_layers_are_taken(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"Convolution2D", "Conv2D"},
                                           {"MaxPool2D", "MaxPooling2D"},
                                           {"AvgPool2D", "AveragePooling2D"},
                                           {"GlobalAvgPool2D", "GlobalAveragePooling2D"}};
    cornu_model *m = make_model("model: {input: [9, 9, 1], layers: [Convolution2D: {filters: 2, "
                                "kernel_size: 2}, MaxPool2D, AvgPool2D, GlobalAvgPool2D]}\n");
    char *json;
    must(cornu_model_config(m, &json));
    for (int i = 0; i < 4; i++) {
        assert_string_equal(m->layers[i + 1]->kind->name, names[i][1]);
        assert_null(strstr(json, names[i][0]));
    }
    assert_string_equal(m->layers[2]->name, "max_pooling2d");
    cornu_free(json);
    cornu_model_close(m);
}

/* As real Keras writes ops.divide(ops.exp(x), y); its Sequential has no operations. */
static void operations_are_written_as_keras_does(void **state)
{
    (void)state;
    cornu_model *m = make_model("model: {inputs: {x: [3], y: [3]}, layers: [Exp: {inputs: x}, "
                                "Divide: {inputs: [exp, y]}]}\n");
    char *json;
    must(cornu_model_config(m, &json));
    assert_non_null(strstr(json,
                           "{\"module\": \"keras.src.ops.numpy\", \"class_name\": \"Exp\", "
                           "\"config\": {\"name\": \"exp\"}, \"registered_name\": \"Exp\", "
                           "\"name\": \"exp\", \"inbound_nodes\": [{\"args\": [{\"class_name\""));
    const char *divide = strstr(json, "\"Divide\", \"config\": {\"name\": \"divide\"}");
    assert_non_null(divide);
    assert_non_null(strstr(divide, "\"inbound_nodes\": [{\"args\": [{\"class_name\""));
    cornu_free(json);
    cornu_model_close(m);
    m = make_model("model: {input: [3], layers: [Rsqrt]}\n");
    must(cornu_model_config(m, &json));
    assert_true(m->functional);
    assert_non_null(strstr(json, "\"class_name\": \"Functional\""));
    assert_non_null(strstr(json, "\"keras.src.ops.math\""));
    cornu_free(json);
    cornu_model_close(m);
    m = make_model("model: {input: [3], layers: [Model: {layers: [Sqrt]}, ReLU]}\n");
    assert_true(m->submodels[0].functional);
    assert_false(m->functional);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sequential_of_keras_3_is_read),
        cmocka_unit_test(it_is_also_read_as_a_model_section_beside_another_compile),
        cmocka_unit_test(a_functional_chain_is_read_in_any_order),
        cmocka_unit_test(dictionaries_name_inputs_and_outputs),
        cmocka_unit_test(names_of_ends_are_checked),
        cmocka_unit_test(networks_that_do_not_hold_together_are_refused),
        cmocka_unit_test(models_of_tf_keras_2_are_read),
        cmocka_unit_test(every_workload_survives_keras_json),
        cmocka_unit_test(an_activation_keeps_its_slope),
        cmocka_unit_test(an_activation_may_go_by_its_other_name),
        cmocka_unit_test(what_is_refused_is_named_with_its_layer),
        cmocka_unit_test(a_compile_config_without_optimizer_is_of_rmsprop),
        cmocka_unit_test(a_call_of_no_tensors_names_its_layer),
        cmocka_unit_test(seeds_and_sizes_of_batches_are_taken),
        cmocka_unit_test(keras_other_names_of_layers_are_taken),
        cmocka_unit_test(operations_are_written_as_keras_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
