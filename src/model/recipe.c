/* Recipes: the sections around the model, and the built-in workloads'. */
#include "base/files.h"
#include "base/memory.h"
#include "model/applications/applications.h"
#include "model/config.h"
#include "model/model.h"
#include <cornu/options.h>
#include <cornu/tables.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- the whole document ----------------------------------------------------------------- */

static const config_field recipe_fields[] = {
    OPTION_ELSEWHERE("name"),
    OPTION_ELSEWHERE("description"),
    OPTION_ELSEWHERE("data"),
    OPTION_ELSEWHERE("model"),
    OPTION_ELSEWHERE("compile"),
    OPTION_ELSEWHERE("fit"),
    OPTIONS_END,
};

/* A model keeps these values of its fit section; training reads the rest when it starts. */
static const config_field fit_fields[] = {
    OPTION_AS("batch_size", INT, cornu_model, batch, .minimum = 1, .maximum = INT32_MAX),
    OPTION(INT, cornu_model, epochs, .minimum = 1, .maximum = INT32_MAX),
    OPTIONS_END,
};

#define FIT_OPTION(at, type, field, key, ...) key,
#define FIT_KEY(at, type, key, ...) #key,
static const char *const fit_keys[] = {CORNU_FIT_OPTIONS(FIT_OPTION, FIT_KEY, )};
enum { FIT_KEYS = sizeof fit_keys / sizeof *fit_keys };

static cornu_status check_fit_keys(const doc *fit)
{
    config_field known[FIT_KEYS + 1];
    int count = 0;
    for (int i = 0; i < FIT_KEYS; i++)
        if (fit_keys[i])
            known[count++] = (config_field)OPTION_ELSEWHERE(fit_keys[i]);
    known[count] = (config_field)OPTIONS_END;
    return config_check_keys("fit", fit, known, NULL);
}

/* An empty section counts as missing. */
static const doc *find_section(const doc *recipe, const char *key)
{
    const doc *d = doc_get(recipe, key);
    return d && d->type != DOC_NULL ? d : NULL;
}

static cornu_status read_fit(cornu_model *m, const doc *recipe)
{
    m->fit = find_section(recipe, "fit");
    TRY(check_fit_keys(m->fit));
    return config_read("fit", m->fit, m->fit, fit_fields, m);
}

static cornu_status read_name(cornu_model *m, const doc *recipe)
{
    const char *name = NULL, *description = NULL;
    TRY(doc_read_string(recipe, "name", &name));
    TRY(doc_read_string(recipe, "description", &description));
    return name ? model_rename(m, name) : CORNU_OK;
}

static cornu_status read_compile(cornu_model *m, const doc *recipe, const doc *section)
{
    const doc *compile = find_section(recipe, "compile");
    /* Keras's JSON of a compiled model has its own compile section. */
    const doc *inner = keras_config_is(section) ? doc_get(section, "compile_config") : NULL;
    if (!compile && inner && inner->type == DOC_MAP && inner->count > 0)
        return model_compile_keras(m, inner);
    return compile ? model_compile(m, compile) : CORNU_OK;
}

/* `file` is the document that the model section names, or NULL. */
static cornu_status recipe_read(const doc *recipe, const doc *file, cornu_model **out)
{
    cornu_status status;
    cornu_model *m = NULL;
    *out = NULL;
    if (recipe->type != DOC_MAP)
        return doc_fail_found(recipe, "a recipe: a map with data, model, compile and fit");
    const doc *section = keras_config_is(recipe) ? recipe : doc_get(recipe, "model");
    if (file)
        section = file;
    if (section != recipe)
        TRY(config_check_keys("a recipe", recipe, recipe_fields, NULL));
    if (!section)
        return doc_fail(recipe, "model is missing; a recipe needs it");
    TRY(model_read_section(section, &m));
    if (section != recipe) {
        m->data = find_section(recipe, "data");
        TRY_GOTO(read_name(m, recipe));
        TRY_GOTO(read_fit(m, recipe));
    }
    TRY_GOTO(read_compile(m, recipe, section));
    *out = m;
    m = NULL;
done:
    model_free(m);
    return status;
}

static cornu_status take_recipe(doc *recipe, const doc *file, cornu_model **out)
{
    cornu_status status = recipe_read(recipe, file, out);
    if (status == CORNU_OK)
        (*out)->recipe = recipe;
    else
        doc_free(recipe);
    return status;
}

cornu_status model_from_recipe(doc *recipe, cornu_model **out)
{
    return take_recipe(recipe, NULL, out);
}

cornu_status cornu_model_parse(const char *source, const char *name, cornu_model **model)
{
    doc *recipe;
    if (!model)
        return status_fail(CORNU_INVALID, "cornu_model_parse: found no place for the model");
    *model = NULL;
    if (!source)
        return status_fail(CORNU_INVALID, "cornu_model_parse: found no text; expected a recipe");
    TRY(doc_parse(source, strlen(source), name ? name : "recipe", &recipe));
    return model_from_recipe(recipe, model);
}

/* Read the file that the model section names; *file stays NULL where it names none. */
static cornu_status read_model_file(const doc *recipe, doc **file)
{
    const doc *section = doc_get(recipe, "model");
    char *path = NULL;
    if (keras_config_is(recipe) || !section || section->type != DOC_STRING ||
        application_is(section->string))
        return CORNU_OK;
    const char *name = section->string;
    if (!path_has_ending(name, ".json") && !path_has_ending(name, ".yaml") &&
        !path_has_ending(name, ".yml"))
        return doc_fail_found(section,
                              "a map with input and layers, Keras's to_json(), or the name of "
                              "a .json or .yaml file that holds one, or of a network, such as "
                              "mobilenet-v2");
    TRY(path_beside(name, section->source, &path));
    cornu_status status = doc_read(path, file);
    free(path);
    if (status != CORNU_OK)
        status_prefix(status, "%s:%d: model", section->source, section->line);
    return status;
}

cornu_status model_from_recipe_file(doc *recipe, cornu_model **out)
{
    doc *file = NULL;
    *out = NULL;
    cornu_status status = read_model_file(recipe, &file);
    if (status != CORNU_OK) {
        doc_free(recipe);
        return status;
    }
    status = take_recipe(recipe, file, out);
    if (status == CORNU_OK && file)
        model_forget_places(*out, 0);
    doc_free(file);
    return status;
}

/* ---- the built-in workloads ------------------------------------------------------------- */

const char *recipe_text(const char *name)
{
    for (const embedded_recipe *r = embedded_recipes; r->name; r++)
        if (strcmp(r->name, name) == 0)
            return r->text;
    return NULL;
}

const char *cornu_workload_name(int index)
{
    for (int i = 0; embedded_recipes[i].name; i++)
        if (i == index)
            return embedded_recipes[i].name;
    return NULL;
}

cornu_status cornu_workload_recipe(const char *name, char **yaml)
{
    if (!name || !yaml)
        return status_fail(CORNU_INVALID, "cornu_workload_recipe: found NULL; expected a "
                                          "workload's name and a place for its recipe");
    *yaml = NULL;
    const char *recipe = recipe_text(name);
    if (!recipe)
        return status_fail(CORNU_NOT_FOUND, "%.200s: found no workload of this name", name);
    return memory_copy_string(recipe, yaml);
}

/* The options of the last layer that has units: {units: 8, activation: softmax}; or NULL. */
static json_t *last_units(json_t *recipe)
{
    json_t *layers = json_object_get(json_object_get(recipe, "model"), "layers");
    for (size_t i = json_array_size(layers); i > 0; i--) {
        json_t *item = json_array_get(layers, i - 1); /* "Flatten", or {Dense: {units: 8}} */
        json_t *options = json_object_iter_value(json_object_iter(item));
        if (json_object_get(options, "units"))
            return options;
    }
    return NULL;
}

/* The recipe of the workload with another number of units: text, which the caller frees. */
static cornu_status change_units(const cornu_model *m, int64_t units, char **out)
{
    doc *d = NULL;
    const char *recipe = recipe_text(m->source);
    if (application_is(m->source))
        return application_recipe(m->source, units, out);
    if (!recipe)
        return status_fail(CORNU_INTERNAL, "%s: found no recipe of this name", m->source);
    TRY(doc_parse(recipe, strlen(recipe), m->source, &d));
    json_t *changed = doc_to_json(d);
    doc_free(d);
    json_t *options = last_units(changed);
    bool done = options && json_object_set_new(options, "units", json_integer(units)) == 0;
    *out = done ? json_dumps(changed, JSON_REAL_PRECISION(17)) : NULL;
    json_decref(changed);
    return *out ? CORNU_OK
                : status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its recipe",
                              m->source);
}

/* Rebuild a built-in workload (m->published) for `classes` classes: the last layer with units gets
   as many. CORNU_INVALID for other models, and for a model that already has weights. */
static cornu_status model_set_outputs(cornu_model *m, int64_t classes)
{
    char *recipe = NULL;
    cornu_model *made = NULL;
    if (!m->published || m->initialized)
        return status_fail(CORNU_INVALID, "%s: found %s; expected a built-in workload as it is",
                           m->source, m->published ? "weights" : "a model of your own");
    TRY(change_units(m, classes, &recipe));
    cornu_status status = cornu_model_parse(recipe, m->source, &made);
    free(recipe);
    TRY(status);
    status = model_copy_trainable(made, m);
    if (status != CORNU_OK) {
        model_free(made);
        return status;
    }
    made->published = true;
    if (m->own_data) {
        made->data = made->own_data = m->own_data;
        m->own_data = NULL;
    }
    cornu_model old = *m;
    *m = *made;
    *made = old;
    model_free(made);
    return CORNU_OK;
}

cornu_status cornu_model_set_outputs(cornu_model *model, int64_t classes)
{
    if (!model)
        return status_fail(CORNU_INVALID, "cornu_model_set_outputs: found no model; expected one");
    if (classes < 1 || classes > INT32_MAX)
        return status_fail(CORNU_INVALID, "classes: found %lld; expected at least 1",
                           (long long)classes);
    return model_tells_classes(model, classes) ? CORNU_OK : model_set_outputs(model, classes);
}
