/* The model section of a recipe: the short form, a network by its name, or Keras's configuration.
 */
#include "model/applications/applications.h"
#include "model/config.h"
#include "model/model.h"
#include <stddef.h>

typedef struct short_form {
    shape input;
    const char *name;
} short_form;

static const config_field short_fields[] = {
    OPTION(SHAPE, short_form, input, .minimum = 1, .maximum = 1e9, .flags = CONFIG_NULLABLE),
    OPTION_ELSEWHERE("inputs"),
    OPTION_ELSEWHERE("layers"),
    OPTION_ELSEWHERE("outputs"),
    OPTION(STRING, short_form, name, .flags = CONFIG_NULLABLE),
    OPTIONS_END,
};

static cornu_status add_layers(cornu_model *m, const doc *layers)
{
    for (int i = 0; i < layers->count; i++) {
        const char *name;
        const doc *options, *item = layers->items[i];
        TRY(name_split(item, "a layer", &name, &options));
        TRY(model_add_layer(m, name, item, options));
    }
    return CORNU_OK;
}

/* {wide: [10], deep: [28, 28, 1]}: InputLayers of these names. */
static cornu_status add_inputs(cornu_model *m, const doc *inputs)
{
    if (inputs->type != DOC_MAP || inputs->count == 0)
        return doc_fail_found(inputs, "a map of inputs, such as {wide: [10], deep: [28, 28, 1]}");
    for (int i = 0; i < inputs->count; i++) {
        const doc *of = inputs->items[i];
        const config_field one[] = {
            OPTION_AS(of->key, SHAPE, short_form, input, .minimum = 1, .maximum = 1e9),
            OPTIONS_END,
        };
        short_form form = {0};
        TRY(config_read("inputs", inputs, inputs, one, &form));
        if (form.input.rank == 0)
            return doc_fail_found(of, "at least one dimension");
        TRY(model_add_input(m, of, of->key, &form.input));
    }
    return CORNU_OK;
}

static cornu_status add_input(cornu_model *m, const doc *section, const shape *input)
{
    const doc *one = doc_get(section, "input"), *several = doc_get(section, "inputs");
    if (one && several)
        return doc_fail(several, "found input and inputs; expected one of them");
    if (several)
        return add_inputs(m, several);
    if (input->rank > 0)
        return model_add_input(m, one, NULL, input);
    if (one && one->type != DOC_NULL)
        return doc_fail_found(one, "at least one dimension");
    return CORNU_OK;
}

static cornu_status model_from_short(const doc *section, cornu_model **out)
{
    cornu_status status;
    cornu_model *m = NULL;
    short_form form = {0};
    TRY(config_check_keys("model", section, short_fields, NULL));
    TRY(config_read("model", section, section, short_fields, &form));
    const doc *layers = doc_get(section, "layers");
    if (!layers)
        return doc_fail(section, "layers is missing; a model needs it");
    if (layers->type != DOC_LIST || layers->count == 0)
        return doc_fail_found(layers, "a list of at least one layer");
    TRY_GOTO(model_new(form.name ? form.name : "sequential", section->source, &m));
    TRY_GOTO(add_input(m, section, &form.input));
    TRY_GOTO(add_layers(m, layers));
    if (doc_get(section, "outputs"))
        TRY_GOTO(model_name_outputs(m, doc_get(section, "outputs")));
    *out = m;
    m = NULL;
done:
    model_free(m);
    return status;
}

/* mobilenet-v2, or {mobilenet-v2: {classes: 10}}, or Keras's form of the latter. */
static bool names_application(const doc *section)
{
    if (section->type == DOC_STRING)
        return application_is(section->string);
    if (section->type != DOC_MAP)
        return false;
    const char *class_name = doc_string(doc_get(section, "class_name"));
    return class_name ? application_is(class_name)
                      : section->count == 1 && application_is(section->items[0]->key);
}

static cornu_status model_from_application(const doc *section, cornu_model **out)
{
    const char *name;
    const doc *options;
    json_t *config = NULL;
    doc *d = NULL;
    TRY(name_split(section, "a network", &name, &options));
    TRY(application_config(name, section, options, false, &config));
    cornu_status status = doc_from_json(config, section, name, &d);
    json_decref(config);
    TRY(status);
    status = model_from_keras(d, out);
    if (status == CORNU_OK)
        model_forget_places(*out, 0);
    doc_free(d);
    return status;
}

cornu_status model_read_section(const doc *section, cornu_model **out)
{
    *out = NULL;
    if (!section)
        return status_fail(CORNU_INVALID, "found no model; expected a map");
    const bool is_application = names_application(section);
    if (section->type != DOC_MAP && !is_application) {
        if (section->type == DOC_STRING)
            return doc_fail_found(section,
                                  "a map with input and layers, or Keras's to_json(), or a "
                                  "network's name, such as mobilenet-v2, or, in a recipe that "
                                  "is a file, the name of a .json or .yaml file");
        return doc_fail_found(section, "a map with input and layers, or Keras's to_json()");
    }
    if (is_application)
        TRY(model_from_application(section, out));
    else if (!keras_config_is(section))
        TRY(model_from_short(section, out));
    else
        TRY(model_from_keras(section, out));
    cornu_status status = model_check_graph(*out);
    if (status == CORNU_OK)
        status = model_settle(*out);
    if ((*out)->layer_count < 2)
        status =
            doc_fail(section, "the model has no layers besides its input; expected at least one");
    if (status == CORNU_OK)
        return CORNU_OK;
    model_free(*out);
    *out = NULL;
    return status;
}

cornu_status model_from_section(const doc *section, cornu_model **out)
{
    TRY(model_read_section(section, out));
    model_forget_places(*out, 0);
    return CORNU_OK;
}
