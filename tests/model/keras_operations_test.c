/* Keras's operations in configurations, as real Keras 3.15 writes them; and operations in recipes.
 */
#include "make_model.h"
#include "model/index_key.h"
#include "model/model.h"

#define TENSOR(layer, output)                                                                  \
    "{\"class_name\": \"__keras_tensor__\", \"config\": {\"shape\": [null, 4, 6], \"dtype\": " \
    "\"float32\", \"keras_history\": [\"" layer "\", 0, " #output "]}}"
#define SLICE(start, stop, step)                                                         \
    "{\"class_name\": \"__slice__\", \"config\": {\"start\": " start ", \"stop\": " stop \
    ", \"step\": " step "}}"
#define ALL SLICE("null", "null", "null")
#define X TENSOR("in", 0)
#define ARRAY "{\"class_name\": \"__numpy__\", \"config\": {\"dtype\": \"float32\", \"value\": "

/* A model of x [4][6], one operation on it, and a Dense layer on that. */
static void write_model(text *out, const char *module, const char *class_name, const char *options,
                        const char *args, const char *kwargs, int output)
{
    text_add(out,
             "{\"class_name\": \"Functional\", \"config\": {\"name\": \"f\", \"layers\": ["
             "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4, 6], "
             "\"name\": \"in\"}, \"name\": \"in\", \"inbound_nodes\": []}, "
             "{\"module\": \"%s\", \"class_name\": \"%s\", \"config\": {\"name\": \"it\"%s}, "
             "\"name\": \"it\", \"inbound_nodes\": [{\"args\": [%s], \"kwargs\": {%s}}]}, "
             "{\"class_name\": \"Dense\", \"config\": {\"units\": 1, \"name\": \"end\"}, \"name\": "
             "\"end\", \"inbound_nodes\": [{\"args\": [{\"class_name\": \"__keras_tensor__\", "
             "\"config\": {\"keras_history\": [\"it\", 0, %d]}}], \"kwargs\": {}}]}], "
             "\"input_layers\": [\"in\", 0, 0], \"output_layers\": [\"end\", 0, 0]}}",
             module, class_name, options, args, kwargs, output);
    assert_false(out->failed);
}

#define NUMPY "keras.src.ops.numpy"
#define NN "keras.src.ops.nn"

static void each_operation_is_one_layer_of_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *module, *class_name, *options, *args, *kwargs, *kind, *shape;
    } cases[] = {
        {NUMPY, "GetItem", "", X ", [" ALL ", " SLICE("1", "3", "null") "]", "", "GetItem",
         "(2, 6)"},
        {NUMPY, "GetItem", "", X ", [{\"class_name\": \"__ellipsis__\", \"config\": {}}, -1]", "",
         "GetItem", "(4)"},
        {NUMPY, "GetItem", "", X ", [" ALL ", null, " SLICE("-3", "null", "2") "]", "", "GetItem",
         "(1, 2, 6)"},
        {NUMPY, "GetItem", "", X, "\"key\": [" ALL ", 0]", "GetItem", "(6)"},
        {NUMPY, "GetItem", "", X ", " ALL, "", "GetItem", "(4, 6)"},
        {NUMPY, "Transpose", ", \"axes\": [0, 2, 1]", X, "", "Transpose", "(6, 4)"},
        {NUMPY, "Swapaxes", ", \"axis1\": -1, \"axis2\": 1", X, "", "Transpose", "(6, 4)"},
        {NUMPY, "Moveaxis", ", \"source\": 1, \"destination\": 2", X, "", "Transpose", "(6, 4)"},
        {NUMPY, "Mean", ", \"axis\": 1, \"keepdims\": false", X, "", "Mean", "(6)"},
        {NUMPY, "Sum", ", \"axis\": [1, 2], \"keepdims\": true", X, "", "Sum", "(1, 1)"},
        {NUMPY, "Max", ", \"axis\": -1, \"keepdims\": false, \"initial\": null", X, "", "Max",
         "(4)"},
        {NUMPY, "Min", ", \"axis\": 1, \"keepdims\": true, \"initial\": null", X, "", "Min",
         "(1, 6)"},
        {NUMPY, "Add", "", X ", " X, "", "Add", "(4, 6)"},
        {NUMPY, "Add", "", "1, " X, "", "Rescaling", "(4, 6)"},
        {NUMPY, "Subtract", "", X, "\"x2\": 0.5", "Rescaling", "(4, 6)"},
        {NUMPY, "Multiply", "", X ", 2", "", "Rescaling", "(4, 6)"},
        {NUMPY, "TrueDivide", "", X ", 4", "", "Rescaling", "(4, 6)"},
        {NUMPY, "Divide", "",
         X ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": [[2.0]], \"dtype\": "
           "\"float32\"}}",
         "", "Divide", "(4, 6)"},
        {NUMPY, "TrueDivide", "", "3, " X, "", "TrueDivide", "(4, 6)"},
        {NUMPY, "Subtract", "", ARRAY "[[1, 2, 3, 4, 5, 6]]}}, " X, "", "Subtract", "(4, 6)"},
        {NUMPY, "Greater", "", X ", 0.5", "", "Greater", "(4, 6)"},
        {NUMPY, "NotEqual", "", X ", " ARRAY "[[1], [2], [3], [4]]}}", "", "NotEqual", "(4, 6)"},
        {NUMPY, "Matmul", "", ARRAY "[[1, 2, 3, 4]]}}, " X, "", "Matmul", "(1, 6)"},
        {NUMPY, "Where", "", ARRAY "[true, false, true, true, false, true]}}, " X ", 0", "",
         "Where", "(4, 6)"},
        {NUMPY, "Where", "", X, "\"x1\": 2, \"x2\": 3", "Where", "(4, 6)"},
        {NUMPY, "Maximum", "", X ", 0.5", "", "Maximum", "(4, 6)"},
        {NUMPY, "Minimum", "", "0.5, " X, "", "Minimum", "(4, 6)"},
        {NUMPY, "Negative", "", X, "", "Rescaling", "(4, 6)"},
        {NUMPY, "Absolute", "", X, "", "Absolute", "(4, 6)"},
        {NUMPY, "Square", "", X, "", "Square", "(4, 6)"},
        {NUMPY, "Power", "", X ", 2", "", "Square", "(4, 6)"},
        {NUMPY, "Power", "", X ", 0.5", "", "Sqrt", "(4, 6)"},
        {NUMPY, "Power", "", X ", -0.5", "", "Rsqrt", "(4, 6)"},
        {NUMPY, "Power", "", X ", -1", "", "Reciprocal", "(4, 6)"},
        {NUMPY, "Divide", "", X ", " X, "", "Divide", "(4, 6)"},
        {NUMPY, "TrueDivide", "", X ", " X, "", "TrueDivide", "(4, 6)"},
        {NUMPY, "TrueDivide", "", "1, " X, "", "Reciprocal", "(4, 6)"},
        {NUMPY, "Exp", "", X, "", "Exp", "(4, 6)"},
        {NUMPY, "Log", "", X, "", "Log", "(4, 6)"},
        {NUMPY, "Sqrt", "", X, "", "Sqrt", "(4, 6)"},
        {NUMPY, "Reciprocal", "", X, "", "Reciprocal", "(4, 6)"},
        {"keras.src.ops.math", "Rsqrt", "", X, "", "Rsqrt", "(4, 6)"},
        {NUMPY, "Clip", ", \"x_min\": -1, \"x_max\": 1", X, "", "Clip", "(4, 6)"},
        {NUMPY, "Concatenate", ", \"axis\": 1", "[" X ", " X "]", "", "Concatenate", "(8, 6)"},
        {NUMPY, "Stack", ", \"axis\": -1", "[" X ", " X "]", "", "Stack", "(4, 6, 2)"},
        {NUMPY, "Reshape", ", \"newshape\": [-1, 3, 8]", X, "", "Reshape", "(3, 8)"},
        {NUMPY, "ExpandDims", ", \"axis\": 1", X, "", "Reshape", "(1, 4, 6)"},
        {NUMPY, "ExpandDims", ", \"axis\": -1", X, "", "Reshape", "(4, 6, 1)"},
        {NUMPY, "Take", ", \"axis\": 2", X ", -1", "", "GetItem", "(4)"},
        {NUMPY, "Pad", ", \"pad_width\": [[0, 0], [1, 2], [0, 0]], \"mode\": \"constant\"", X,
         "\"constant_values\": null", "Pad", "(7, 6)"},
        {NUMPY, "Tanh", "", X, "", "Activation", "(4, 6)"},
        {NN, "Relu", "", X, "", "Activation", "(4, 6)"},
        {NN, "Gelu", ", \"approximate\": false", X, "", "Gelu", "(4, 6)"},
        {NN, "Celu", ", \"alpha\": 0.5", X, "", "Celu", "(4, 6)"},
        {NN, "Glu", ", \"axis\": 1", X, "", "Glu", "(2, 6)"},
        {NN, "HardShrink", ", \"threshold\": 0.25", X, "", "HardShrink", "(4, 6)"},
        {NN, "HardSilu", "", X, "", "Activation", "(4, 6)"},
        {NN, "Relu6", "", X, "", "Activation", "(4, 6)"},
        {NN, "SparseSigmoid", "", X, "", "Activation", "(4, 6)"},
        {NN, "Squareplus", ", \"b\": 2", X, "", "Squareplus", "(4, 6)"},
        {NN, "Threshold", ", \"threshold\": 0.5, \"default_value\": -1", X, "", "Threshold",
         "(4, 6)"},
        {NN, "LogSoftmax", ", \"axis\": 1", X, "", "LogSoftmax", "(4, 6)"},
        {NN, "Softmax", ", \"axis\": -1", X, "", "Softmax", "(4, 6)"},
        {NN, "Sparsemax", ", \"axis\": -1", X, "", "Sparsemax", "(4, 6)"},
        {NN, "LeakyRelu", ", \"negative_slope\": 0.3", X, "", "LeakyReLU", "(4, 6)"},
        {NN, "Elu", ", \"alpha\": 0.5", X, "", "ELU", "(4, 6)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        char *first, *second, shown[128];
        write_model(&t, cases[i].module, cases[i].class_name, cases[i].options, cases[i].args,
                    cases[i].kwargs, 0);
        cornu_model *m = make_model(t.data), *again;
        const model_node *n = node_of(m, "it");
        assert_int_equal(m->layer_count, 3);
        assert_string_equal(n->layer->kind->name, cases[i].kind);
        assert_string_equal(shape_show(&n->out, false, shown), cases[i].shape);
        must(cornu_model_config(m, &first));
        must(cornu_model_parse(first, "again.json", &again));
        assert_true(n->layer->of_operator && node_of(again, "it")->layer->of_operator);
        assert_false(node_of(again, "end")->layer->of_operator);
        must(cornu_model_config(again, &second));
        assert_string_equal(first, second);
        cornu_free(first);
        cornu_free(second);
        cornu_model_close(again);
        cornu_model_close(m);
        text_free(&t);
    }
}

/* The configuration of Keras's .h5 files has no modules. */
static void operations_of_old_files_are_found_by_their_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *class_name, *options, *args, *kwargs, *kind;
    } cases[] = {
        {"GetItem", "", X ", [" ALL ", 0]", "", "GetItem"},
        {"Multiply", "", X ", 2", "", "Rescaling"},
        {"Subtract", "", "2, " X, "", "Rescaling"},
        {"Negative", "", X, "", "Rescaling"},
        {"Mean", ", \"axis\": 1, \"keepdims\": false", X, "", "Mean"},
        {"Add", "", X ", " X, "", "Add"},
        {"Pad", ", \"pad_width\": [[0, 0], [1, 0], [0, 0]]", X, "\"constant_values\": null", "Pad"},
        {"Reshape", ", \"newshape\": [-1, 24]", X, "", "Reshape"},
        {"Reshape", ", \"target_shape\": [24]", X, "", "Reshape"},
        {"Add", ", \"trainable\": true", "[" X ", " X "]", "", "Add"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0}, bare = {0};
        write_model(&t, "@", cases[i].class_name, cases[i].options, cases[i].args, cases[i].kwargs,
                    0);
        const char *module = strstr(t.data, "\"module\": \"@\", ");
        text_add(&bare, "%.*s%s", (int)(module - t.data), t.data,
                 module + strlen("\"module\": \"@\", "));
        cornu_model *m = make_model(bare.data);
        assert_string_equal(node_of(m, "it")->layer->kind->name, cases[i].kind);
        cornu_model_close(m);
        text_free(&t);
        text_free(&bare);
    }
}

static void outputs_of_a_split_are_parts(void **state)
{
    (void)state;
    static const struct {
        const char *class_name, *options, *shape;
        int output;
    } cases[] = {
        {"Split", ", \"indices_or_sections\": 3, \"axis\": 2", "(4, 2)", 2},
        {"Split", ", \"indices_or_sections\": [1, 3], \"axis\": 1", "(2, 6)", 1},
        {"Split", ", \"indices_or_sections\": [1, 3], \"axis\": 1", "(1, 6)", 2},
        {"Unstack", ", \"num\": null, \"axis\": 1", "(6)", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        char shown[128], name[32];
        snprintf(name, sizeof name, "it_output_%d", cases[i].output);
        write_model(&t, NUMPY, cases[i].class_name, cases[i].options, X, "", cases[i].output);
        cornu_model *m = make_model(t.data);
        assert_int_equal(m->layer_count, 3);
        assert_string_equal(shape_show(&node_of(m, name)->out, false, shown), cases[i].shape);
        cornu_model_close(m);
        text_free(&t);
    }
}

static void must_have(const char *config, const char *part)
{
    if (!strstr(config, part))
        fail_msg("%s lacks %s", config, part);
}

/* Keras's Sequential has no operations, so a line of them is a Functional. */
static void operations_are_written_as_keras_has_them(void **state)
{
    (void)state;
    char *config;
    cornu_model *m = make_model("model:\n  input: [4, 6]\n  layers:\n"
                                "    - GetItem: {key: ':, 1:, ..., 0'}\n"
                                "    - Maximum: {x2: 0.5, inputs: get_item}\n"
                                "    - Pad: {pad_width: [[0, 0], [1, 0]]}\n"
                                "    - Transpose: {axes: [0, 1]}\n");
    assert_true(m->functional);
    must(cornu_model_config(m, &config));
    must_have(config, "{\"module\": \"keras.src.ops.numpy\", \"class_name\": \"GetItem\", "
                      "\"config\": {\"name\": \"get_item\"}, \"registered_name\": \"GetItem\"");
    must_have(
        config,
        "[\"input_layer\", 0, 0]}}, [" ALL ", " SLICE(
            "1", "null",
            "null") ", "
                    "{\"class_name\": \"__ellipsis__\", \"config\": {}}, 0]], \"kwargs\": {}}]");
    must_have(config, "\"config\": {\"name\": \"maximum\"}, \"registered_name\": \"Maximum\"");
    must_have(config, "[\"get_item\", 0, 0]}}, 0.5], \"kwargs\": {}}]");
    must_have(config, "{\"name\": \"pad\", \"pad_width\": [[0, 0], [1, 0]], \"mode\": "
                      "\"constant\"}");
    must_have(config, "[\"maximum\", 0, 0]}}, 0.0], \"kwargs\": {}}]");
    must_have(config, "{\"name\": \"transpose\", \"axes\": [0, 1]}");
    cornu_free(config);
    cornu_model_close(m);
    m = make_model("model:\n  input: [4, 6]\n  layers:\n"
                   "    - Transpose: {axes: [0, 2, 1]}\n"
                   "    - Matmul: {inputs: [input_layer, transpose]}\n"
                   "    - Stack: {axis: 1, inputs: [matmul, matmul]}\n");
    must(cornu_model_config(m, &config));
    must_have(config, "\"inbound_nodes\": [{\"args\": [{\"class_name\": \"__keras_tensor__\", "
                      "\"config\": {\"shape\": [null, 4, 6], \"dtype\": \"float32\", "
                      "\"keras_history\": [\"input_layer\", 0, 0]}}, {");
    must_have(config, "\"inbound_nodes\": [{\"args\": [[{");
    cornu_free(config);
    cornu_model_close(m);
}

static void what_cannot_be_read_is_refused_by_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *class_name, *options, *args, *kwargs;
        int output;
        const char *message;
    } cases[] = {
        {"Where", "", X ", 1", "", 0,
         "it (Where): found 1 input beside its arrays; expected 3 operands in all"},
        {"Subtract", "", ARRAY "[[1, 2], [3]]}}, " X, "", 0,
         "expected a finite number, or lists of equal lengths of them"},
        {"Subtract", "", ARRAY "[]}}, " X, "", 0, "found an empty list; expected numbers"},
        {"Add", "", X ", " ARRAY "[[1e39, 2]]}}", "", 0,
         "expected a finite number, or lists of equal lengths of them"},
        {"Add", "", X ", " ARRAY "[[[[[[1]]]]]]}}", "", 0, "expected at most 5 axes"},
        {"Add", "", X ", " ARRAY "[[[1]], [[2]]]}}", "", 0,
         "found an array of shape (2, 1, 1) beside a tensor of shape (None, 4, 6)"},
        {"Matmul", "", X ", " ARRAY "[1, 2, 3, 4, 5, 6]}}", "", 0,
         "found an array of shape (6); expected two axes"},
        {"Matmul", "", X ", " ARRAY "[[1], [2]]}}", "", 0,
         "found operands of shapes (None, 4, 6) and (2, 1)"},
        {"Einsum", "", X, "", 0, "it: found Keras's operation Einsum; cornu has Absolute, Add"},
        {"Add", "", "1, 2", "", 0, "it (Add): found a call without tensors"},
        {"Add", "", X ", " X ", 1", "", 0, "it (Add): found 3 arguments; expected x1 x2"},
        {"Add", "", X ", 1", "\"x2\": 1", 0, "it (Add): found this argument twice"},
        {"Add", "", X ", 1", "\"x3\": 1", 0, "it (Add): found this argument; expected x1 x2"},
        {"Add", ", \"axis\": 1", X ", 1", "", 0, "it (Add): unknown option; expected none"},
        {"Multiply", "", X ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": [1, 2]}}", "",
         0, "it (Multiply): found an input and an array of shapes (4, 6) and (1, 2)"},
        {"Multiply", "", X ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": [[[[1]]]]}}",
         "", 0,
         "it (Multiply): found an array of shape (1, 1, 1, 1) beside a tensor of shape (None, 4, "
         "6)"},
        {"Multiply", "", X ", \"two\"", "", 0, "it (Multiply): found \"two\"; expected one number"},
        {"Divide", "", X ", 0", "", 0, "it (Divide): found 0; expected another divisor"},
        {"Power", "", X ", 3", "", 0, "it (Power): found 3; expected 2"},
        {"Concatenate", ", \"axis\": 1", "[" X ", 1]", "", 0,
         "it (Concatenate)|expected a list of tensors alone"},
        {"Reshape", ", \"newshape\": [4, 6]", X, "", 0,
         "it (Reshape): expected newshape|-1 (the batch) first"},
        {"Squeeze", ", \"axis\": 1", X, "", 0, "it (Squeeze): found axis 1 of length 4"},
        {"ExpandDims", ", \"axis\": 0", X, "", 0, "it (ExpandDims): found axis 0|(0 is the batch)"},
        {"Split", ", \"indices_or_sections\": 4, \"axis\": 2", X, "", 0,
         "it (Split): expected indices_or_sections to divide the 6 elements"},
        {"Split", ", \"indices_or_sections\": 2, \"axis\": 2", X, "", 2,
         "more parts than output 2"},
        {"Split", ", \"indices_or_sections\": [3, 2], \"axis\": 2", X, "", 0, "a rising list"},
        {"Split", ", \"indices_or_sections\": 2, \"axis\": 2", X, "", -1,
         "found output -1 of it; expected 0 to 999"},
        {"Unstack", ", \"axis\": 2", X, "", 6, "it_output_6 (GetItem): found index 6 along axis 2"},
        {"Mean", ", \"axis\": [1, 1]", X, "", 0,
         "it (Mean): found axis 1 of input (None, 4, 6) twice"},
        {"Mean", ", \"axis\": [1, 2]", X, "", 0, "it (Mean): found an output of one number"},
        {"Max", ", \"axis\": 1, \"initial\": 0", X, "", 0,
         "config.initial: found 0; expected null"},
        {"Transpose", ", \"axes\": [1, 0, 2]", X, "", 0,
         "it (Transpose): found axes that do not fit input (None, 4, 6)|(the batch) first"},
        {"Transpose", ", \"axes\": [0, 1, 1]", X, "", 0, "expected each of 0 to 2 once"},
        {"Clip", ", \"x_min\": 1, \"x_max\": 0", X, "", 0, "it (Clip): found x_min 1 and x_max 0"},
        {"GetItem", "", X, "", 0, "key is missing; GetItem needs it"},
        {"GetItem", "", X ", [0]", "", 0, "it (GetItem): found a key that selects samples"},
        {"GetItem", "", X ", [" SLICE("1", "null", "null") "]", "", 0, "selects samples"},
        {"GetItem", "", X ", [" ALL ", 4]", "", 0,
         "it (GetItem): found index 4 along axis 1; expected -4 to 3"},
        {"GetItem", "", X ", [" ALL ", " SLICE("null", "null", "-1") "]", "", 0,
         "found a slice of step -1 along axis 1; expected a step of at least 1"},
        {"GetItem", "", X ", [" ALL ", " SLICE("3", "-1", "null") "]", "", 0,
         "found a slice from 3 to 3 of the 4 elements along axis 1; expected at least one"},
        {"GetItem", "", X ", [" ALL ", 0, 0, 0]", "", 0,
         "found a key for 4 axes for input (None, 4, 6); expected at most 3"},
        {"GetItem", "", X ", [" ALL ", 0, 0]", "", 0,
         "it (GetItem): found an output of one number"},
        {"GetItem", "", X ", [null, " ALL "]", "", 0, "found a new axis before the batch"},
        {"GetItem", "", X ", [" ALL ", true]", "", 0,
         "found true; expected a slice, a whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        write_model(&t, NUMPY, cases[i].class_name, cases[i].options, cases[i].args,
                    cases[i].kwargs, cases[i].output);
        must_refuse(t.data, "k.json", cases[i].message);
        text_free(&t);
    }
}

/* A model of x [4][6] and this layer "it", with these inputs. */
#define MODEL_OF(inputs, ...)                                                                      \
    "{\"class_name\": \"Functional\", \"config\": {\"layers\": [{\"class_name\": \"InputLayer\", " \
    "\"config\": {\"batch_shape\": [null, 4, 6]}, \"name\": \"in\", \"inbound_nodes\": []}, "      \
    "{\"name\": \"it\", " __VA_ARGS__ "}], \"input_layers\": " inputs                              \
    ", \"output_layers\": [\"it\", 0, 0]}}"

/* In the form of .h5 files, where the arguments tell what it is. */
static void arguments_that_are_no_map_are_refused(void **state)
{
    (void)state;
    must_refuse(MODEL_OF("[\"in\", 0, 0]",
                         "\"class_name\": \"Add\", \"config\": {}, "
                         "\"inbound_nodes\": [{\"args\": [" X ", " X "], \"kwargs\": [1]}]"),
                "k.json", "kwargs: found [1]; expected a map of call arguments");
}

/* Also one that nothing else reads. */
static void an_output_of_an_operation_is_no_input_of_the_model(void **state)
{
    (void)state;
    must_refuse(MODEL_OF("[[\"in\", 0, 0], [\"it\", 0, 1]]",
                         "\"module\": \"keras.src.ops.numpy\", \"class_name\": \"Split\", "
                         "\"config\": {\"indices_or_sections\": 2, \"axis\": 1}, "
                         "\"inbound_nodes\": [{\"args\": [" X "], \"kwargs\": {}}]"),
                "k.json", "it_output_1: found a layer that is no InputLayer");
}

static void a_sequential_has_no_operations(void **state)
{
    (void)state;
    must_refuse("{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
                "\"InputLayer\", \"config\": {\"batch_shape\": [null, 4]}}, {\"module\": "
                "\"keras.src.ops.numpy\", \"class_name\": \"Negative\", \"config\": {}}]}}",
                "k.json", "found Keras's operation Negative in a Sequential; expected layers");
}

/* As Python has them between brackets. */
static void keys_of_recipes_are_pythons(void **state)
{
    (void)state;
    static const struct {
        const char *key, *shape;
    } good[] = {
        {":", "(4, 5, 6)"},          {"...", "(4, 5, 6)"},
        {":, 1", "(5, 6)"},          {":,-1", "(5, 6)"},
        {":, 1:3", "(2, 5, 6)"},     {":, -3:-1, ::4", "(2, 2, 6)"},
        {"..., 0", "(4, 5)"},        {"..., None", "(4, 5, 6, 1)"},
        {":, None, 0, 0", "(1, 6)"}, {"::1, 2:99", "(2, 5, 6)"},
        {":, 1, ..., 2", "(5)"},     {"0:, : , :, 3:4:9", "(4, 5, 1)"},
    };
    static const char *const bad[] = {
        "", ":,", "1 2", "a", "::::", ":, 99999999999999999999", ":, ., 1", "None None"};
    char recipe[200], shown[128];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(recipe, sizeof recipe,
                 "model: {input: [4, 5, 6], layers: [{GetItem: {key: '%s'}}]}", good[i].key);
        cornu_model *m = make_model(recipe);
        assert_string_equal(shape_show(&m->output, false, shown), good[i].shape);
        cornu_model_close(m);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(recipe, sizeof recipe,
                 "model: {input: [4, 5, 6], layers: [{GetItem: {key: '%s'}}]}", bad[i]);
        must_refuse(recipe, "r.yaml", "key: found|expected what Python has between brackets");
    }
    must_refuse("model: {input: [4], layers: [{GetItem: {key: '..., ...'}}]}", "r.yaml",
                "found 2 ellipses; expected at most one");
}

/* So no device multiplies with a step that is too long for its numbers. */
static void one_element_has_the_step_1(void **state)
{
    (void)state;
    static const char text_of[] = "':, 1::9223372036854775807'";
    const shape in = {2, {4, 6}};
    index_key key;
    index_run runs[SHAPE_MAX];
    shape out;
    doc *d;
    must(doc_parse(text_of, sizeof text_of - 1, "key", &d));
    must(index_key_read(d, &key));
    must(index_key_apply(&key, &in, runs, &out));
    assert_int_equal(runs[0].begin, 1);
    assert_int_equal(runs[0].step, 1);
    assert_int_equal(runs[0].count, 1);
    doc_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_is_one_layer_of_its_name),
        cmocka_unit_test(operations_of_old_files_are_found_by_their_arguments),
        cmocka_unit_test(outputs_of_a_split_are_parts),
        cmocka_unit_test(operations_are_written_as_keras_has_them),
        cmocka_unit_test(what_cannot_be_read_is_refused_by_its_name),
        cmocka_unit_test(arguments_that_are_no_map_are_refused),
        cmocka_unit_test(an_output_of_an_operation_is_no_input_of_the_model),
        cmocka_unit_test(a_sequential_has_no_operations),
        cmocka_unit_test(keys_of_recipes_are_pythons),
        cmocka_unit_test(one_element_has_the_step_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
