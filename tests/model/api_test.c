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
        cmocka_unit_test(class_names_are_copied),
        cmocka_unit_test(a_recipe_keeps_its_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
