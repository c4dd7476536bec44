/* The built-in workloads: their recipes, and the change of their number of classes. */
#include "base/memory.h"
#include "model/internal.h"
#include "model/recipes.h"
#include <cornu/tables.h>
#include <stdlib.h>
#include <string.h>

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

/* The recipe of the workload with another number of units: JSON, which the caller frees. */
static cornu_status change_units(const cornu_model *m, int64_t units, char **out)
{
    doc *d = NULL;
    const char *recipe = recipe_text(m->source);
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

cornu_status model_set_outputs(cornu_model *m, int64_t classes)
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
