/* Networks by their names: src/model/applications. */
#include "make_model.h"
#include <cornu/tables.h>

/* As Keras 3.15's functions give them, with their usual arguments. Those that Keras has not: as
   published for PyTorch, with moving statistics. MobileNetV3's operations (x + 3, times 1/6) count
   as layers. */
static const struct {
    const char *name;
    int64_t parameters;
    int layers;
} published[] = {
    {"vgg-16", 138357544, 23},
    {"vgg-19", 143667240, 26},
    {"resnet-50", 25636712, 177},
    {"resnet-101", 44707176, 347},
    {"resnet-152", 60419944, 517},
    {"resnet-50-v2", 25613800, 192},
    {"resnet-101-v2", 44675560, 379},
    {"inception-v3", 23851784, 313},
    {"densenet-121", 8062504, 429},
    {"densenet-169", 14307880, 597},
    {"mobilenet", 4253864, 91},
    {"mobilenet-v2", 3538984, 156},
    {"mobilenet-v3-small", 2554968, 182},
    {"mobilenet-v3-large", 5507432, 210},
    {"efficientnet-b0", 5330571, 240},
    {"efficientnet-b3", 12320535, 387},
    {"efficientnet-v2-b0", 7200312, 273},
    {"efficientnet-v2-b1", 8212124, 337},
    {"efficientnet-v2-b3", 14467622, 412},
    {"efficientnet-v2-s", 21612360, 516},
    {"xception", 22910480, 134},
    {"resnet-18", 11699112, 74},
    {"resnet-34", 21814696, 130},
    {"resnet-20", 274042, 75},
    {"resnet-56", 860026, 201},
    {"efficientnet-lite0", 4694024, 159},
};
enum { COUNT = sizeof published / sizeof *published };

static void each_network_has_the_published_layers_and_parameters(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        char recipe[80];
        snprintf(recipe, sizeof recipe, "model: %s", published[i].name);
        cornu_model *m = make_model(recipe);
        if (cornu_model_parameter_count(m) != published[i].parameters ||
            m->layer_count != published[i].layers)
            fail_msg("%s: found %d layers, %lld parameters", published[i].name, m->layer_count,
                     (long long)cornu_model_parameter_count(m));
        cornu_model_close(m);
    }
}

/* At a small size, with and without what is optional. */
static void every_network_of_the_table_can_be_made(void **state)
{
    (void)state;
    static const char *const options[] = {"classes: 3", "include_top: false, pooling: max"};
    for (int i = 0; cornu_application_name(i); i++)
        for (size_t j = 0; j < sizeof options / sizeof *options; j++) {
            char recipe[200];
            snprintf(recipe, sizeof recipe, "model: {%s: {input_shape: [96, 96, 3], %s}}",
                     cornu_application_name(i), options[j]);
            cornu_model *m = make_model(recipe);
            assert_int_equal(m->output.rank, 1);
            const int64_t outputs = m->output.dim[0];
            assert_true(j == 0 ? outputs == 3 : outputs != 1000 && outputs != 10);
            cornu_model_close(m);
        }
}

static void a_network_has_two_spellings_and_kerass_form(void **state)
{
    (void)state;
    char *a = NULL, *b = NULL;
    cornu_model *m = make_model("model: {mobilenet-v2: {alpha: 0.35, classes: 8}}");
    cornu_model *k =
        make_model("model: {class_name: MobileNetV2, config: {alpha: 0.35, classes: 8}}");
    must(cornu_model_config(m, &a));
    must(cornu_model_config(k, &b));
    assert_string_equal(a, b);
    assert_string_equal(m->name, "mobilenetv2_0.35_224");
    cornu_free(a);
    cornu_free(b);
    cornu_model_close(m);
    cornu_model_close(k);
}

/* Its input's shape is that of what it reads, and `trainable` freezes it. */
static void a_network_may_be_part_of_another(void **state)
{
    (void)state;
    cornu_model *m = make_model("model:\n"
                                "  input: [64, 48, 3]\n"
                                "  layers:\n"
                                "    - Rescaling: {scale: 0.5}\n"
                                "    - mobilenet-v2: {include_top: false, pooling: avg, alpha: "
                                "0.35, trainable: false, name: base}\n"
                                "    - Dense: {units: 2}\n");
    int64_t trained = 0;
    for (int i = 0; i < m->weight_count; i++)
        trained += m->variables[i].trainable ? m->variables[i].count : 0;
    assert_int_equal(trained, 1280 * 2 + 2);
    assert_int_equal(m->submodel_count, 1);
    assert_string_equal(m->submodels[0].name, "base");
    cornu_model_close(m);
}

static void refuses(const char *model, const char *parts)
{
    char recipe[200];
    cornu_model *m = NULL;
    snprintf(recipe, sizeof recipe, "model: %s", model);
    if (cornu_model_parse(recipe, "test.yaml", &m) == CORNU_OK)
        fail_msg("%s was accepted", model);
    must_say(parts);
}

static void bad_options_are_refused_by_name(void **state)
{
    (void)state;
    refuses("{resnet-50: {input_shape: [16, 64, 3]}}",
            "resnet-50|input_shape: found [16, 64, 3]|at least 32x32");
    refuses("{resnet-50: {input_shape: [64, 64]}}", "input_shape|found 2 dimensions|three");
    refuses("{resnet-50: {input_shape: [null, 64, 3]}}", "input_shape|open|include_top");
    refuses("{resnet-50: {pooling: min}}", "pooling|\"min\"|avg or max");
    refuses("{resnet-50: {alpha: 1}}", "alpha|resnet-50|include_top");
    refuses("{mobilenet-v2: {alpha: 0}}", "alpha|0");
    refuses("{resnet-50: {weights: imagenet, classes: 10}}", "classes: found 10|1000");
    refuses("{resnet-50: {weights: imagenet, input_shape: [64, 64, 3]}}",
            "input_shape: found [64, 64, 3]|[224, 224, 3]");
    refuses("{resnet-50: {weights: imagenet, include_top: false, input_shape: [64, 64, 1]}}",
            "input_shape: found 1 channels|3");
    refuses("{resnet-50: {weights: imagenet, classifier_activation: relu}}",
            "classifier_activation|softmax");
    refuses("{mobilenet-v2: {weights: imagenet, alpha: 0.4}}", "alpha: found 0.4|0.35");
    refuses("{mobilenet: {weights: imagenet, depth_multiplier: 2}}", "depth_multiplier|2|1");
    refuses("{mobilenet-v3-small: {weights: imagenet, minimalistic: true, alpha: 0.75}}",
            "alpha: found 0.75|minimalistic");
    refuses("{resnet-18: {weights: imagenet}}", "weights|expected null");
    refuses("{resnet-50: {weights: imagenet}}", "weights: found imagenet|expected null|--init");
    refuses("mobilenet-v9", "mobilenet-v9|mobilenet-v2");
}

static void c_gets_kerass_configuration_with_addresses(void **state)
{
    (void)state;
    char *json = NULL;
    must(cornu_application_config("MobileNetV2", "{alpha: 0.5, include_top: false}", &json));
    assert_non_null(strstr(json, "\"automatic\": [\"input_layer\"]"));
    assert_non_null(strstr(json, "keras-applications/mobilenet_v2/mobilenet_v2_weights_tf_dim_"
                                 "ordering_tf_kernels_0.5_224_no_top.h5"));
    cornu_free(json);
    assert_int_equal(cornu_application_config("nothing", NULL, &json), CORNU_INVALID);
    must_say("nothing|resnet-50");
    assert_int_equal(cornu_application_config("vgg-16", "[1]", &json), CORNU_INVALID);
    must_say("a map of options");
}

/* `cornu train mobilenet-v2` with the caller's data. */
static void a_named_network_gets_as_many_outputs_as_there_are_classes(void **state)
{
    (void)state;
    cornu_model *m = NULL;
    must(cornu_model_open("mobilenet-v2", &m));
    assert_true(m->compiled);
    must(cornu_model_set_outputs(m, 8));
    assert_int_equal(m->output.dim[0], 8);
    assert_true(m->compiled);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_network_has_the_published_layers_and_parameters),
        cmocka_unit_test(every_network_of_the_table_can_be_made),
        cmocka_unit_test(a_network_has_two_spellings_and_kerass_form),
        cmocka_unit_test(a_network_may_be_part_of_another),
        cmocka_unit_test(bad_options_are_refused_by_name),
        cmocka_unit_test(c_gets_kerass_configuration_with_addresses),
        cmocka_unit_test(a_named_network_gets_as_many_outputs_as_there_are_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
