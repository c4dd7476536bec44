#include "make_model.h"

static cornu_model *new_model(void)
{
    cornu_model *m;
    const int64_t input[] = {6, 6, 2};
    must(cornu_model_new(input, 3, &m));
    return m;
}

static void a_model_is_built_layer_by_layer(void **state)
{
    (void)state;
    cornu_model *m = new_model();
    int64_t output[8];
    int rank;
    must(cornu_model_add(m, "Conv2D", "{filters: 3, kernel_size: 3, activation: relu}"));
    must(cornu_model_add(m, "Flatten", NULL));
    must(cornu_model_add(m, "Dense", "{\"units\": 5, \"activation\": \"softmax\"}"));
    must(cornu_model_compile(m, "{optimizer: adam, loss: categorical_crossentropy, metrics: "
                                "[accuracy]}"));
    must(cornu_model_output_shape(m, output, &rank));
    assert_int_equal(rank, 1);
    assert_int_equal(output[0], 5);
    must(cornu_model_input_shape(m, output, &rank));
    assert_int_equal(rank, 3);
    assert_int_equal(cornu_model_parameter_count(m), 57 + 245);
    assert_int_equal(cornu_model_add(m, "Flatten", NULL), CORNU_INVALID);
    must_say("compiled");
    cornu_model_close(m);
}

static void a_failed_call_leaves_the_model_as_it_was(void **state)
{
    (void)state;
    cornu_model *m = new_model();
    assert_int_equal(cornu_model_add(m, "Conv2D", "{filters: 3}"), CORNU_INVALID);
    must_say("Conv2D:1: kernel_size is missing");
    assert_int_equal(cornu_model_add(m, "Conv2D", "{filters: 3, kernel_size: 9}"), CORNU_INVALID);
    assert_int_equal(cornu_model_add(m, "Conv3D", "{}"), CORNU_INVALID);
    must_say("unknown layer \"Conv3D\", which Keras has and cornu has not; cornu has Activation");
    assert_int_equal(cornu_model_add(m, NULL, NULL), CORNU_INVALID);
    assert_int_equal(cornu_model_compile(m, "{optimizer: sgd, loss: mse}"), CORNU_INVALID);
    must_say("the model has no layers");
    assert_int_equal(m->layer_count, 1);
    assert_int_equal(m->variable_count, 0);
    cornu_model_close(m);
    const int64_t bad[] = {3, -1}, *none = NULL;
    assert_int_equal(cornu_model_new(bad, 2, &m), CORNU_INVALID);
    must_say("found -1");
    assert_int_equal(cornu_model_new(none, 2, &m), CORNU_INVALID);
    assert_int_equal(cornu_model_new(bad, 9, &m), CORNU_INVALID);
    assert_null(m);
    cornu_model_close(NULL);
}

static void weights_go_in_and_out(void **state)
{
    (void)state;
    cornu_model *m = new_model();
    float in[3] = {1, 2, 3}, out[3];
    must(cornu_model_add(m, "Conv2D", "{filters: 3, kernel_size: 1}"));
    assert_int_equal(cornu_model_get_weight(m, 1, out, 3), CORNU_INVALID);
    must_say("conv2d/bias: has no values yet");
    must(cornu_model_set_weight(m, 1, in, 3));
    must(cornu_model_get_weight(m, 1, out, 3));
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(cornu_model_set_weight(m, 1, in, 2), CORNU_INVALID);
    must_say("conv2d/bias: found 2 values; expected 3");
    assert_int_equal(cornu_model_get_weight(m, 2, out, 3), CORNU_NOT_FOUND);
    must(cornu_model_initialize(m, 9));
    must(cornu_model_get_weight(m, 1, out, 3));
    assert_float_equal(out[1], 0, 0);
    cornu_model_close(m);
}

static void must_keep_numbers(cornu_model *m, int count, const char *const *names)
{
    float in[64], out[64];
    cornu_weight_info info = {.size = sizeof info};
    assert_int_equal(cornu_model_weight_count(m), count);
    for (int i = 0; i < count; i++) {
        must(cornu_model_weight_info(m, i, &info));
        assert_string_equal(info.name, names[i]);
        for (int k = 0; k < info.count; k++)
            in[k] = (float)(i + k);
        must(cornu_model_set_weight(m, i, in, info.count));
        must(cornu_model_get_weight(m, i, out, info.count));
        assert_memory_equal(in, out, (size_t)info.count * sizeof *in);
        must(cornu_model_weight_info(m, i, &info));
        assert_string_equal(info.name, names[i]);
    }
}

/* Weights are in Keras's order from the moment when a layer is added, not only once they have
   values. */
static void weights_have_their_numbers_at_once(void **state)
{
    (void)state;
    cornu_model *m;
    static const char *const names[] = {"b/kernel", "b/bias", "a/kernel", "a/bias"};
    must(cornu_model_new((const int64_t[]){4}, 1, &m));
    must(cornu_model_add(m, "Dense", "{units: 8, name: a}"));
    must(cornu_model_add(m, "Dense", "{units: 2, name: b, inputs: input_layer}"));
    must(cornu_model_add(m, "Concatenate", "{inputs: [b, a]}"));
    must_keep_numbers(m, 4, names);
    cornu_model_close(m);
}

static void outputs_may_be_named_when_there_are_weights(void **state)
{
    (void)state;
    cornu_model *m;
    static const char *const before[] = {"b/kernel", "b/bias"};
    static const char *const after[] = {"b/kernel", "b/bias", "d/kernel", "d/bias",
                                        "c/kernel", "c/bias", "a/kernel", "a/bias"};
    must(cornu_model_new((const int64_t[]){4}, 1, &m));
    must(cornu_model_add(m, "Dense", "{units: 2, name: b}"));
    must_keep_numbers(m, 2, before);
    must(cornu_model_add(m, "Dense", "{units: 8, name: a}"));
    must(cornu_model_add(m, "Dense", "{units: 3, name: c, inputs: b}"));
    must(cornu_model_name_outputs(m, "[c, a]"));
    must(cornu_model_initialize(m, 3));
    must(cornu_model_add(m, "Dense", "{units: 5, name: d, inputs: b}"));
    must(cornu_model_initialize(m, 3));
    must(cornu_model_name_outputs(m, "[d, c, a]"));
    must_keep_numbers(m, 8, after);
    cornu_model_close(m);
}

/* Whatever the order of the layers is by then. */
static void a_layer_reads_the_one_that_was_added_last(void **state)
{
    (void)state;
    cornu_model *m;
    must(cornu_model_new((const int64_t[]){4}, 1, &m));
    must(cornu_model_add(m, "Dense", "{units: 3, name: a}"));
    must(cornu_model_add(m, "Dense", "{units: 2, name: b, inputs: input_layer}"));
    must(cornu_model_add(m, "Dense", "{units: 1, name: c}"));
    const model_node *c = &m->nodes[m->outputs[0].node];
    assert_string_equal(c->name, "c");
    assert_string_equal(m->nodes[c->inputs[0]].name, "b");
    assert_int_equal(cornu_model_compile(m, "{optimizer: sgd, loss: mse}"), CORNU_INVALID);
    must_say("a: found no layer that reads its output");
    must(cornu_model_name_outputs(m, "a")); /* from now on the last node */
    assert_string_equal(m->nodes[m->node_count - 1].name, "a");
    must(cornu_model_add(m, "Dense", "{units: 1, name: d}"));
    must(cornu_model_name_outputs(m, "[d, a]"));
    const model_node *d = &m->nodes[m->outputs[0].node];
    assert_string_equal(m->nodes[d->inputs[0]].name, "c");
    cornu_model_close(m);
}

static void a_model_in_training_keeps_its_layers(void **state)
{
    (void)state;
    const live_weights device = {0};
    cornu_model *m = new_model();
    must(cornu_model_add(m, "Flatten", "{name: a}"));
    m->live = &device;
    assert_int_equal(cornu_model_add(m, "Dense", "{units: 3}"), CORNU_INVALID);
    must_say("in training");
    assert_int_equal(cornu_model_name_outputs(m, "a"), CORNU_INVALID);
    must_say("in training");
    assert_int_equal(cornu_model_initialize(m, 1), CORNU_INVALID);
    assert_int_equal(cornu_model_compile(m, "{optimizer: sgd, loss: mse}"), CORNU_INVALID);
    must_say("in training");
    m->live = NULL;
    must(cornu_model_compile(m, "{optimizer: sgd, loss: mse}"));
    cornu_model_close(m);
}

static void rows_are_joined_and_split(void **state)
{
    (void)state;
    const float a[] = {1, 2, 3, 4}, b[] = {5, 6};
    const float *const arrays[] = {a, b}, *const holes[] = {a, NULL};
    const int64_t sizes[] = {2, 1}, huge[] = {2, (int64_t)1 << 40};
    float rows[6], back[2], *const parts[] = {NULL, back};
    must(cornu_rows_join(arrays, sizes, 2, 2, rows));
    assert_memory_equal(rows, ((const float[]){1, 2, 5, 3, 4, 6}), sizeof rows);
    must(cornu_rows_split(rows, sizes, 2, 2, parts));
    assert_memory_equal(back, b, sizeof b);
    assert_int_equal(cornu_rows_join(holes, sizes, 2, 2, rows), CORNU_INVALID);
    must_say("found NULL as array 1 of 2; expected 1 numbers for each of 2 rows");
    assert_int_equal(cornu_rows_join(arrays, huge, 2, 2, rows), CORNU_INVALID);
    must_say("found size 1099511627776 of array 1");
    assert_int_equal(cornu_rows_split(NULL, sizes, 2, 2, parts), CORNU_INVALID);
    assert_int_equal(cornu_rows_join(arrays, sizes, 0, 2, rows), CORNU_INVALID);
    must_say("0 arrays");
}

static void class_names_are_copied(void **state)
{
    (void)state;
    char cat[] = "cat", dog[] = "dog", *names[] = {cat, dog};
    cornu_model *m = new_model();
    must(model_set_classes(m, names, 2));
    cat[0] = 'r';
    assert_int_equal(cornu_model_class_count(m), 2);
    assert_string_equal(cornu_model_class_name(m, 0), "cat");
    assert_null(cornu_model_class_name(m, 2));
    must(model_set_classes(m, NULL, 0));
    assert_int_equal(cornu_model_class_count(m), 0);
    cornu_model_close(m);
}

static void a_recipe_keeps_its_sections(void **state)
{
    (void)state;
    cornu_model *m = make_model("name: n\ndata: {file: a.npz}\n"
                                "model: {input: [3], layers: [Dense: {units: 2}]}\n"
                                "fit: {batch_size: 7, epochs: 3, shuffle: false}\n");
    assert_string_equal(m->name, "n");
    assert_string_equal(m->source, "test.yaml");
    assert_string_equal(cornu_model_data_name(m), "a.npz");
    assert_int_equal(m->batch, 7);
    assert_int_equal(m->epochs, 3);
    assert_non_null(doc_get(m->fit, "shuffle"));
    assert_false(m->compiled);
    assert_int_equal(m->layers[1]->where->line, 3);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_built_layer_by_layer),
        cmocka_unit_test(a_failed_call_leaves_the_model_as_it_was),
        cmocka_unit_test(weights_go_in_and_out),
        cmocka_unit_test(weights_have_their_numbers_at_once),
        cmocka_unit_test(outputs_may_be_named_when_there_are_weights),
        cmocka_unit_test(a_layer_reads_the_one_that_was_added_last),
        cmocka_unit_test(a_model_in_training_keeps_its_layers),
        cmocka_unit_test(rows_are_joined_and_split),
        cmocka_unit_test(class_names_are_copied),
        cmocka_unit_test(a_recipe_keeps_its_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
