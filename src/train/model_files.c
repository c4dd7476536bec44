/* cornu_model_open: a model by its workload's name or its file's path. */
#include "base/files.h"
#include "base/memory.h"
#include "exchange/checkpoint.h"
#include "exchange/onnx.h"
#include "model/applications/applications.h"
#include "model/config.h"
#include "model/model.h"
#include "train/callbacks.h"
#include "train/fit_spec.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ---------------------------------------------------------------------------- */

static cornu_status fail_unknown(const char *what)
{
    text t = {0};
    const char *names[128];
    int count = 0;
    for (const embedded_recipe *r = embedded_recipes; r->name; r++) {
        text_add(&t, "%s%s", t.length ? ", " : "", r->name);
        if (count < (int)(sizeof names / sizeof *names))
            names[count++] = r->name;
    }
    for (int i = 0; count < (int)(sizeof names / sizeof *names) && application_name(i); i++)
        names[count++] = application_name(i);
    int nearest = name_nearest(what, names, count);
    bool named = nearest >= 0;
    cornu_status status =
        status_fail(CORNU_NOT_FOUND,
                    "%.200s: found neither a workload nor a file of this name%s%s%s; expected one "
                    "of %s, a network such as mobilenet-v2, or the "
                    "path of a recipe (.yaml, .yml, .json) or model file (" CHECKPOINT_ENDINGS ")",
                    what, named ? " (did you mean " : "", named ? names[nearest] : "",
                    named ? "?)" : "", t.data ? t.data : "");
    text_free(&t);
    return status;
}

/* This room checks the fit section, so that its mistakes are found when the recipe is read, not
   when training starts. */
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

static cornu_status open_application(const char *name, cornu_model **model)
{
    char *recipe = NULL;
    TRY(application_recipe(name, 0, &recipe));
    cornu_status status = cornu_model_parse(recipe, name, model);
    free(recipe);
    if (status == CORNU_OK)
        (*model)->published = true;
    return status;
}

static cornu_status open_any(const char *what, cornu_model **model)
{
    const char *recipe = recipe_text(what);
    if (recipe) {
        TRY(cornu_model_parse(recipe, what, model));
        (*model)->published = true;
        return CORNU_OK;
    }
    if (application_is(what))
        return open_application(what, model);
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
