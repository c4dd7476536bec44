/* cornu_model_open, _save, _load_weights: models by name and path. */
#include "base/files.h"
#include "base/memory.h"
#include "format/hdf5/hdf5.h"
#include "format/tensor_file.h"
#include "model/names.h"
#include "model/recipes.h"
#include "train/callbacks.h"
#include "train/checkpoint.h"
#include "train/export.h"
#include "train/keras/keras.h"
#include "train/session.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ---------------------------------------------------------------------------- */

static cornu_status fail_unknown(const char *what)
{
    text t = {0};
    const char *names[64];
    int count = 0;
    for (const embedded_recipe *r = embedded_recipes; r->name; r++) {
        text_add(&t, "%s%s", t.length ? ", " : "", r->name);
        if (count < (int)(sizeof names / sizeof *names))
            names[count++] = r->name;
    }
    int nearest = name_nearest(what, names, count);
    bool named = nearest >= 0;
    cornu_status status =
        status_fail(CORNU_NOT_FOUND,
                    "%.200s: found neither a workload nor a file of this name%s%s%s; expected one "
                    "of %s, or the "
                    "path of a recipe (.yaml, .yml, .json) or model file (" CHECKPOINT_ENDINGS ")",
                    what, named ? " (did you mean " : "", named ? names[nearest] : "",
                    named ? "?)" : "", t.data ? t.data : "");
    text_free(&t);
    return status;
}

/* The fit section is this room's: its mistakes are found when the recipe is read, not when training
   starts. */
static cornu_status check_fit(const cornu_model *model)
{
    fit_spec spec;
    TRY(fit_spec_read(model->fit, &spec));
    return callbacks_check(spec.callbacks);
}

static cornu_status open_recipe(const char *path, cornu_model **model)
{
    doc *recipe;
    TRY(doc_read(path, &recipe));
    return model_from_recipe_file(recipe, model);
}

static cornu_status open_any(const char *what, cornu_model **model)
{
    const char *recipe = recipe_text(what);
    if (recipe)
        return cornu_model_parse(recipe, what, model);
    if (checkpoint_path_is(what))
        return checkpoint_read(what, model);
    if (path_has_ending(what, ".onnx"))
        return import_onnx(what, model);
    if (path_has_ending(what, ".yaml") || path_has_ending(what, ".yml") ||
        path_has_ending(what, ".json"))
        return open_recipe(what, model);
    if (folder_exists(what))
        return status_fail(CORNU_INVALID,
                           "%s: found a folder; expected a workload, a recipe (.yaml, "
                           ".yml, .json) or a model file (" CHECKPOINT_ENDINGS ")",
                           what);
    if (!file_exists(what) && access(what, F_OK) == 0)
        return status_fail(CORNU_INVALID,
                           "%s: found a pipe or device; expected a recipe (.yaml, .yml, .json) or "
                           "a model file (" CHECKPOINT_ENDINGS ") as a regular file",
                           what);
    if (file_exists(what))
        return status_fail(CORNU_INVALID,
                           "%s: found a file of another kind; expected a recipe "
                           "(.yaml, .yml, .json) or a model file (" CHECKPOINT_ENDINGS ")",
                           what);
    return fail_unknown(what);
}

cornu_status cornu_model_open(const char *what, cornu_model **model)
{
    if (!what || !model)
        return status_fail(CORNU_INVALID, "cornu_model_open: found NULL; expected a name and a "
                                          "place for the model");
    *model = NULL;
    cornu_status status = open_any(what, model);
    if (status == CORNU_OK)
        status = check_fit(*model);
    if (status != CORNU_OK) {
        cornu_model_close(*model);
        *model = NULL;
    }
    return status;
}

/* ---- saving ----------------------------------------------------------------------------- */

bool checkpoint_path_is(const char *path)
{
    return path_has_ending(path, ".safetensors") || keras_path_is(path);
}

cornu_status checkpoint_check(const char *path, const char *option)
{
    if (!checkpoint_path_is(path))
        return status_fail(CORNU_INVALID,
                           "%s: found %s; expected a name that ends in " CHECKPOINT_ENDINGS, option,
                           path);
    if (keras_path_is(path))
        TRY(hdf5_check(path));
    return file_write_check(path);
}

cornu_status cornu_model_save(const cornu_model *model, const char *path)
{
    if (!model || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_model_save: found NULL; expected a model and a path");
    if (!checkpoint_path_is(path))
        return status_fail(CORNU_INVALID,
                           "%s: expected a name that ends in " CHECKPOINT_ENDINGS
                           ", by which it is opened again",
                           path);
    const live_weights *live = model->live;
    if (live)
        TRY(live->pull(live->context, 0, model->weight_count));
    return checkpoint_write(model, live ? live->context : NULL, path, NULL);
}

/* ---- weights ---------------------------------------------------------------------------- */

static cornu_status check_weight(const tensor_file *f, const variable *v, const file_tensor *t)
{
    char expected[128], found[128];
    if (!t)
        return status_fail(CORNU_BAD_FILE, "%s: found no %s; expected one of shape %s", f->path,
                           v->name, shape_show(&v->shape, false, expected));
    shape s = {.rank = t->rank <= SHAPE_MAX ? t->rank : 0};
    memcpy(s.dim, t->shape, (size_t)s.rank * sizeof *s.dim);
    if (t->rank > SHAPE_MAX || !shape_equal(&s, &v->shape))
        return status_fail(CORNU_BAD_FILE, "%s: %s: found shape %s%s; expected %s", f->path,
                           v->name, shape_show(&s, false, found),
                           t->rank > SHAPE_MAX ? " and more" : "",
                           shape_show(&v->shape, false, expected));
    if (t->type != ELEMENT_F32 && t->type != ELEMENT_F64)
        return status_fail(CORNU_BAD_FILE, "%s: %s: found %s; expected float32 or float64", f->path,
                           v->name, element_name(t->type));
    return CORNU_OK;
}

static bool is_state(const char *name)
{
    return strncmp(name, "optimizer/", 10) == 0 || strncmp(name, "callbacks/", 10) == 0;
}

/* All is checked before the first weight changes. */
static cornu_status check_weights(const tensor_file *f, const cornu_model *m)
{
    for (int i = 0; i < m->weight_count; i++)
        TRY(check_weight(f, &m->variables[i], tensor_file_find(f, m->variables[i].name)));
    for (int i = 0; i < f->count; i++)
        if (!is_state(f->tensors[i].name) && !model_variable(m, f->tensors[i].name))
            return status_fail(CORNU_BAD_FILE,
                               "%s: found %s; expected only weights of the model, "
                               "such as %s",
                               f->path, f->tensors[i].name,
                               m->weight_count ? m->variables[0].name : "none");
    return CORNU_OK;
}

static cornu_status copy_weight(variable *v, const file_tensor *t)
{
    double *values;
    if (t->type == ELEMENT_F32)
        return tensor_read(t, v->value);
    TRY(memory_new((size_t)v->count, sizeof *values, t->name, &values));
    cornu_status status = tensor_read(t, values);
    for (int64_t i = 0; status == CORNU_OK && i < v->count; i++)
        v->value[i] = (float)values[i];
    free(values);
    return status;
}

/* The optimizer's state stays where it is, as that of other files. */
static cornu_status name_as_keras(tensor_file *f, const cornu_model *model)
{
    TRY(keras_read_metadata(f));
    return keras_read_weight_names(f, model);
}

cornu_status cornu_model_load_weights(cornu_model *model, const char *path)
{
    if (!model || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_model_load_weights: found NULL; expected a model and a path");
    tensor_file *f;
    TRY(tensor_file_open(path, &f));
    cornu_status status = keras_path_is(path) ? name_as_keras(f, model) : CORNU_OK;
    if (status == CORNU_OK)
        status = check_weights(f, model);
    if (status == CORNU_OK && !model->initialized)
        status = model_initialize(
            model, model->training.position.seed ? model->training.position.seed : 1);
    for (int i = 0; status == CORNU_OK && i < model->weight_count; i++)
        status = copy_weight(&model->variables[i], tensor_file_find(f, model->variables[i].name));
    tensor_file_close(f);
    return status;
}
