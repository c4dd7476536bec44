/* Layers that are frozen: their flag in recipes and in Keras's JSON, and what a compile makes of
 * it. */
#include "make_model.h"
#include <cornu/model.h>

#define LAYERS                                                 \
    "model:\n"                                                 \
    "  input: [4]\n"                                           \
    "  layers:\n"                                              \
    "    - Dense: {units: 3, trainable: false, name: first}\n" \
    "    - BatchNormalization: {name: norm}\n"                 \
    "    - Dense: {units: 2, name: last}\n"
#define ADAM "compile: {optimizer: adam, loss: mse}\n"

static int slots_of(const cornu_model *m, const char *weight)
{
    int count = 0;
    for (int i = m->weight_count; i < m->variable_count; i++)
        count += strcmp(m->variables[m->variables[i].of].name, weight) == 0;
    return count;
}

static bool trains(const cornu_model *m, const char *layer)
{
    bool trainable = false;
    must(cornu_model_trainable(m, layer, &trainable));
    return trainable;
}

static void set(cornu_model *m, const char *layer, bool trainable)
{
    must(cornu_model_set_trainable(m, layer, trainable));
}

static void a_frozen_layers_weights_have_no_slots(void **state)
{
    (void)state;
    cornu_model *m = make_model(LAYERS ADAM);
    assert_false(trains(m, "first"));
    assert_true(trains(m, "norm"));
    assert_int_equal(slots_of(m, "first/kernel") + slots_of(m, "first/bias"), 0);
    assert_int_equal(slots_of(m, "norm/gamma"), 2);
    assert_int_equal(slots_of(m, "norm/moving_mean"), 0);
    assert_int_equal(slots_of(m, "last/kernel"), 2);
    assert_false(model_variable(m, "first/kernel")->trainable);
    assert_true(model_variable(m, "norm/gamma")->trainable);
    assert_false(model_variable(m, "norm/moving_mean")->trainable);
    cornu_model_close(m);
}

static void keras_json_has_the_flags_both_ways(void **state)
{
    (void)state;
    cornu_model *m = make_model(LAYERS), *same;
    char *first, *second;
    set(m, "norm", false);
    must(cornu_model_config(m, &first));
    must(cornu_model_parse(first, "same.json", &same));
    must(cornu_model_config(same, &second));
    assert_string_equal(first, second);
    assert_false(trains(same, "first"));
    assert_false(trains(same, "norm"));
    assert_true(trains(same, "last"));
    cornu_free(first);
    cornu_free(second);
    cornu_model_close(m);
    cornu_model_close(same);
}

/* A layer's own flag is kept beside the model's, which outweighs it. */
static void a_model_sets_all_its_layers_and_outweighs_them(void **state)
{
    (void)state;
    cornu_model *m = make_model(LAYERS);
    set(m, NULL, false);
    assert_false(trains(m, "last"));
    set(m, "last", true);
    assert_true(trains(m, "last"));
    assert_false(model_variable(m, "last/kernel")->trainable);
    set(m, NULL, true);
    assert_true(trains(m, "first"));
    assert_true(model_variable(m, "first/kernel")->trainable);
    assert_false(model_variable(m, "norm/moving_mean")->trainable);
    cornu_model_close(m);
}

static const char functional[] =
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"f\", \"trainable\": false, "
    "\"layers\": [{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 2], "
    "\"name\": \"in\"}, \"name\": \"in\", \"inbound_nodes\": []}, {\"class_name\": \"Dense\", "
    "\"config\": {\"name\": \"d\", \"units\": 2, \"trainable\": true}, \"name\": \"d\", "
    "\"inbound_nodes\": [[[\"in\", 0, 0, {}]]]}], \"input_layers\": [[\"in\", 0, 0]], "
    "\"output_layers\": [[\"d\", 0, 0]]}}";

/* As Keras reads them: Sequential.from_config does not look at the model's own flag. */
static void a_models_own_flag_counts_in_functional_json_alone(void **state)
{
    (void)state;
    cornu_model *m = make_model(functional);
    assert_false(trains(m, NULL));
    assert_true(trains(m, "d"));
    assert_false(model_variable(m, "d/kernel")->trainable);
    cornu_model_close(m);
    m = make_model("{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"trainable\": "
                   "false, \"layers\": [{\"class_name\": \"Dense\", \"config\": {\"units\": 2, "
                   "\"batch_input_shape\": [null, 3], \"name\": \"d\", \"trainable\": true}}]}}");
    assert_true(trains(m, NULL));
    assert_true(model_variable(m, "d/kernel")->trainable);
    cornu_model_close(m);
}

/* Before any training the flag counts at once, and what stays trainable keeps its state. */
static void slots_come_and_go_with_the_flag(void **state)
{
    (void)state;
    cornu_model *m = make_model(LAYERS ADAM);
    must(cornu_model_initialize(m, 1));
    model_variable(m, "optimizer/momentum/last/kernel")->value[1] = 5;
    set(m, "norm", false);
    set(m, "first", true);
    assert_int_equal(slots_of(m, "norm/gamma"), 0);
    assert_int_equal(slots_of(m, "first/kernel"), 2);
    assert_true(model_variable(m, "optimizer/momentum/last/kernel")->value[1] == 5);
    assert_true(model_variable(m, "optimizer/momentum/first/kernel")->value[0] == 0);
    cornu_model_close(m);
}

static void after_training_the_next_compile_counts(void **state)
{
    (void)state;
    cornu_model *m = make_model(LAYERS ADAM);
    must(cornu_model_initialize(m, 1));
    m->has_trained = true;
    set(m, "last", false);
    assert_false(model_variable(m, "last/kernel")->trainable);
    assert_int_equal(slots_of(m, "last/kernel"), 2);
    assert_true(model_trainable_waits(m));
    must(cornu_model_compile(m, "{optimizer: adam, loss: mse}"));
    assert_int_equal(slots_of(m, "last/kernel"), 0);
    assert_false(model_trainable_waits(m));
    cornu_model_close(m);
}

static void a_workload_for_other_classes_keeps_the_flags(void **state)
{
    (void)state;
    cornu_model *m;
    must(cornu_model_open("mnist-cnn-2", &m));
    set(m, "conv2d", false);
    must(cornu_model_set_outputs(m, 4));
    assert_false(trains(m, "conv2d"));
    assert_true(trains(m, "dense"));
    assert_int_equal(slots_of(m, "conv2d/kernel"), 0);
    assert_false(model_variable(m, "conv2d/kernel")->trained);
    cornu_model_close(m);
}

static void an_unknown_layer_is_refused_with_the_nearest(void **state)
{
    (void)state;
    bool trainable;
    cornu_model *m = make_model(LAYERS);
    assert_int_equal(cornu_model_set_trainable(m, "lasd", false), CORNU_NOT_FOUND);
    must_say("found no layer \"lasd\"|did you mean last");
    assert_int_equal(cornu_model_trainable(m, "nothing of the kind", &trainable), CORNU_NOT_FOUND);
    must_say("found no layer \"nothing of the kind\"");
    assert_int_equal(cornu_model_set_trainable(NULL, NULL, false), CORNU_INVALID);
    assert_int_equal(cornu_model_trainable(m, "last", NULL), CORNU_INVALID);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_layers_weights_have_no_slots),
        cmocka_unit_test(keras_json_has_the_flags_both_ways),
        cmocka_unit_test(a_model_sets_all_its_layers_and_outweighs_them),
        cmocka_unit_test(a_models_own_flag_counts_in_functional_json_alone),
        cmocka_unit_test(slots_come_and_go_with_the_flag),
        cmocka_unit_test(after_training_the_next_compile_counts),
        cmocka_unit_test(a_workload_for_other_classes_keeps_the_flags),
        cmocka_unit_test(an_unknown_layer_is_refused_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
