#include "make_model.h"

static cornu_model *with_layer(const char *input, const char *layer)
{
    char recipe[300];
    snprintf(recipe, sizeof recipe, "model: {input: [%s], layers: [%s]}\n", input, layer);
    return make_model(recipe);
}

/* The value of a layer's numeric option where none is given. */
static void options_that_are_not_given_have_kerass_values(void **state)
{
    (void)state;
    static const struct {
        const char *layer, *option;
        double value;
    } cases[] = {
        {"BatchNormalization", "momentum", 0.99},
        {"BatchNormalization", "epsilon", 0.001},
        {"LeakyReLU", "negative_slope", 0.3},
        {"ELU", "alpha", 1},
        {"Rescaling: {scale: 2}", "offset", 0},
        {"Conv2D: {filters: 2, kernel_size: 3}", "groups", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *m = with_layer("8, 8, 3", cases[i].layer);
        char *text;
        must(cornu_model_config(m, &text));
        json_t *json = json_loads(text, 0, NULL);
        const json_t *layers = json_object_get(json_object_get(json, "config"), "layers");
        const json_t *config = json_object_get(json_array_get(layers, 1), "config");
        const json_t *found = json_object_get(config, cases[i].option);
        assert_true(json_is_number(found));
        assert_true(json_number_value(found) == cases[i].value);
        json_decref(json);
        cornu_free(text);
        cornu_model_close(m);
    }
}

static void moving_statistics_are_no_trainable_weights(void **state)
{
    (void)state;
    static const char *const names[] = {"gamma", "beta", "moving_mean", "moving_variance"};
    cornu_model *m = with_layer("8, 8, 3", "BatchNormalization");
    assert_int_equal(m->weight_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_non_null(strstr(m->variables[i].name, names[i]));
        assert_int_equal(m->variables[i].trainable, i < 2);
    }
    cornu_model_close(m);
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *says;
    } cases[] = {
        {"model: {input: [8, 8, 3], layers: [Conv2D: {filters: 4, kernel_size: 3, groups: 3}]}\n",
         "3 groups for 3 input channels and 4 filters"},
        {"model: {input: [4], layers: [Dense: {units: 3}]}\n"
         "compile: {optimizer: {sgd: {clipnorm: 1, clipvalue: 1}}, loss: mse}\n",
         "found more than one of clipnorm, global_clipnorm and clipvalue"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *m;
        assert_int_equal(cornu_model_parse(cases[i].recipe, "test.yaml", &m), CORNU_INVALID);
        must_say(cases[i].says);
    }
}

static void compiling_again_begins_anew(void **state)
{
    (void)state;
    static const char sgd[] = "{optimizer: sgd, loss: mse}";
    cornu_model *m = with_layer("4", "Dense: {units: 3}");
    must(cornu_model_compile(m, sgd));
    m->training.position =
        (position){.seed = 7, .iterations = 5, .epoch = 1, .step = 2, .learning_rate_factor = 0.5};
    must(cornu_model_compile(m, sgd));
    assert_int_equal(m->training.position.seed, 7);
    assert_int_equal(m->training.position.iterations, 0);
    assert_int_equal(m->training.position.epoch + m->training.position.step, 0);
    assert_true(m->training.position.learning_rate_factor == 1);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_are_not_given_have_kerass_values),
        cmocka_unit_test(moving_statistics_are_no_trainable_weights),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(compiling_again_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
