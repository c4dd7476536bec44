#include "../../examples/resnet20.h"
#include "make_model.h"
#include "model/model.h"
#include <cornu/tables.h>

static const struct {
    const char *name;
    int64_t parameters, batch, epochs;
    int outputs;
} workloads[] = {
    {"cifar10-cnn", 1337002, 100, 10, 10},   {"cifar10-mlp", 12230010, 32, 10, 10},
    {"cifar100-mlp", 1730404, 32, 100, 100}, {"mnist-cnn-2", 3274634, 50, 17, 10},
    {"mnist-cnn-4", 3287530, 50, 17, 10},    {"photos-cnn", 42520584, 32, 5, 8},
    {"photos-cnn-256", 42620616, 32, 5, 8},  {"photos-cnn-ready", 42520584, 32, 5, 8},
};
enum { COUNT = sizeof workloads / sizeof *workloads };

static void each_workload_has_the_published_parameters(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        cornu_model *m = make_model(recipe_text(workloads[i].name));
        int64_t output[8];
        int rank;
        assert_int_equal(cornu_model_parameter_count(m), workloads[i].parameters);
        assert_int_equal(m->batch, workloads[i].batch);
        assert_int_equal(m->epochs, workloads[i].epochs);
        assert_true(m->compiled);
        assert_string_equal(m->name, workloads[i].name);
        must(cornu_model_output_shape(m, output, &rank));
        assert_int_equal(rank, 1);
        assert_int_equal(output[0], workloads[i].outputs);
        cornu_model_close(m);
    }
}

/* Keras's configuration from its layers on, without the model's name. The caller frees *json. */
static const char *layers_of(const cornu_model *m, char **json)
{
    must(cornu_model_config(m, json));
    const char *layers = strstr(*json, "\"layers\"");
    assert_non_null(layers);
    return layers;
}

static void the_residual_network_of_the_c_program_is_the_recipes(void **state)
{
    (void)state;
    cornu_model *built = NULL, *read = NULL;
    must(resnet20_build(&built));
    must(cornu_model_open(SOURCE_FOLDER "/examples/resnet20.yaml", &read));
    char *a, *b;
    assert_string_equal(layers_of(built, &a), layers_of(read, &b));
    cornu_free(a);
    cornu_free(b);
    cornu_model_close(built);
    cornu_model_close(read);
}

/* Existing weights would be lost. */
static void only_a_workload_without_weights_takes_another_number_of_classes(void **state)
{
    (void)state;
    cornu_model *own = make_model(recipe_text("cifar100-mlp")), *m = NULL;
    char *yaml = NULL;
    int64_t output[8];
    int rank;
    assert_int_equal(cornu_model_set_outputs(own, 3), CORNU_INVALID);
    assert_string_equal(
        cornu_last_error(),
        "test.yaml: found a model of your own; expected a built-in workload as it is");
    cornu_model_close(own);
    must(cornu_model_open("cifar100-mlp", &m));
    must(cornu_model_set_outputs(m, 3));
    must(cornu_model_output_shape(m, output, &rank));
    assert_int_equal(output[0], 3);
    assert_int_equal(m->batch, 32);
    assert_int_equal(cornu_model_set_outputs(m, 0), CORNU_INVALID);
    must(cornu_model_initialize(m, 1));
    must(cornu_model_set_outputs(m, 3));
    assert_int_equal(cornu_model_set_outputs(m, 4), CORNU_INVALID);
    cornu_model_close(m);
    must(cornu_workload_recipe("cifar100-mlp", &yaml));
    assert_string_equal(yaml, recipe_text("cifar100-mlp"));
    cornu_free(yaml);
    assert_int_equal(cornu_workload_recipe("cifar100", &yaml), CORNU_NOT_FOUND);
}

static void the_workloads_are_listed_and_no_others(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        bool found = false;
        for (int j = 0; cornu_workload_name(j); j++)
            found = found || strcmp(cornu_workload_name(j), workloads[i].name) == 0;
        assert_true(found);
    }
    assert_null(cornu_workload_name(COUNT));
    assert_null(cornu_workload_name(-1));
    assert_null(recipe_text("cifar10"));
}

static void a_workload_names_its_data(void **state)
{
    (void)state;
    cornu_model *mnist = make_model(recipe_text("mnist-cnn-2"));
    cornu_model *photos = make_model(recipe_text("photos-cnn"));
    assert_string_equal(cornu_model_data_name(mnist), "mnist");
    assert_null(cornu_model_data_name(photos));
    assert_non_null(doc_get(photos->data, "augment"));
    cornu_model_close(mnist);
    cornu_model_close(photos);
}

static void weights_have_keras_names_and_shapes(void **state)
{
    (void)state;
    static const char *const names[] = {"conv2d/kernel",  "conv2d/bias",  "conv2d_1/kernel",
                                        "conv2d_1/bias",  "dense/kernel", "dense/bias",
                                        "dense_1/kernel", "dense_1/bias"};
    cornu_model *m = make_model(recipe_text("mnist-cnn-2"));
    cornu_weight_info info = {.size = sizeof info};
    assert_int_equal(cornu_model_weight_count(m), 8);
    for (int i = 0; i < 8; i++) {
        must(cornu_model_weight_info(m, i, &info));
        assert_string_equal(info.name, names[i]);
        assert_true(info.trainable);
    }
    must(cornu_model_weight_info(m, 2, &info));
    assert_int_equal(info.rank, 4);
    const int64_t kernel[] = {5, 5, 32, 64};
    assert_memory_equal(info.shape, kernel, sizeof kernel);
    assert_int_equal(info.count, 51200);
    assert_int_equal(cornu_model_slot_count(m), 16);
    must(cornu_model_weight_info(m, 9, &info));
    assert_string_equal(info.name, "optimizer/velocity/conv2d/kernel");
    assert_int_equal(cornu_model_weight_info(m, 24, &info), CORNU_NOT_FOUND);
    assert_int_equal(m->variable_count, 24); /* and two slots of adam for each */
    assert_non_null(model_variable(m, "optimizer/velocity/dense_1/bias"));
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_workload_has_the_published_parameters),
        cmocka_unit_test(the_residual_network_of_the_c_program_is_the_recipes),
        cmocka_unit_test(only_a_workload_without_weights_takes_another_number_of_classes),
        cmocka_unit_test(the_workloads_are_listed_and_no_others),
        cmocka_unit_test(a_workload_names_its_data),
        cmocka_unit_test(weights_have_keras_names_and_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
