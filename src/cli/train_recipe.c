/* The command line's options beside the recipe: those that replace something in it, and those that
   change nothing with it. */
#include "cli/train.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* NAME, or {NAME: {options}}. */
static const char *name_of_callback(json_t *entry)
{
    return json_is_object(entry) ? json_object_iter_key(json_object_iter(entry))
                                 : json_string_value(entry);
}

/* The first of the recipe's callbacks that is called so, in cornu's or Keras's way; NULL: none. */
static const char *find_callback(json_t *fit, const char *const *names)
{
    json_t *callbacks = json_object_get(fit, "callbacks");
    for (size_t i = 0; i < json_array_size(callbacks); i++) {
        const char *name = name_of_callback(json_array_get(callbacks, i));
        for (int k = 0; name && names[k]; k++)
            if (strcmp(name, names[k]) == 0)
                return name;
    }
    return NULL;
}

static int open_fit_section(const cornu_model *model, json_t **fit)
{
    char *text = NULL;
    int status = report(cornu_model_fit_config(model, &text));
    *fit = status == STATUS_OK ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    cornu_free(text);
    return status;
}

/* ---- the learning rate ------------------------------------------------------------------ */

/* A callback that sets the rate at each epoch would leave nothing of another one. */
static int check_callbacks(const cornu_model *model)
{
    static const char *const names[] = {"learning_rate_schedule", "LearningRateScheduler", NULL};
    json_t *fit;
    int status = open_fit_section(model, &fit);
    const char *found = find_callback(fit, names);
    if (found)
        status = fail(STATUS_FAILURE,
                      "learning_rate: found the callback %s in the recipe, which sets it at each "
                      "epoch; expected none beside --learning-rate: change the callback's "
                      "schedule, or take it out of the recipe",
                      found);
    json_decref(fit);
    return status;
}

static json_t *optimizer_options(json_t *compile)
{
    return json_object_get(json_object_get(compile, "optimizer"), "config");
}

/* The optimizer's own rate is replaced, so that the model file holds this one. */
int train_set_learning_rate(cornu_model *model, double rate)
{
    char *text = NULL;
    int status = check_callbacks(model);
    if (status == STATUS_OK)
        status = report(cornu_model_compile_config(model, &text));
    json_t *compile = status == STATUS_OK ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    json_t *options = optimizer_options(compile);
    cornu_free(text);
    if (status == STATUS_OK && !json_is_number(json_object_get(options, "learning_rate")))
        status = fail(STATUS_FAILURE,
                      "learning_rate: found %s in the recipe; expected a number "
                      "that --learning-rate replaces",
                      options ? "a schedule" : "no optimizer");
    if (status == STATUS_OK && json_object_set_new(options, "learning_rate", json_real(rate)) != 0)
        status = fail(STATUS_FAILURE, "learning_rate: not enough memory");
    char *changed = status == STATUS_OK ? json_dumps(compile, JSON_REAL_PRECISION(17)) : NULL;
    if (status == STATUS_OK)
        status = report(cornu_model_compile(model, changed));
    free(changed);
    json_decref(compile);
    return status;
}

/* ---- what changes nothing --------------------------------------------------------------- */

static void say_unused(progress *p, const char *name, const char *why)
{
    char line[256];
    snprintf(line, sizeof line, "--%s changes nothing: %s", name, why);
    progress_notice(p, line);
}

static void check_output(const cornu_model *model, progress *p)
{
    static const char *const names[] = {"checkpoint",  "ModelCheckpoint", "csv_logger", "CSVLogger",
                                        "tensorboard", "TensorBoard",     NULL};
    json_t *fit;
    if (open_fit_section(model, &fit) == STATUS_OK && !find_callback(fit, names))
        say_unused(p, "output", "the recipe itself names no files");
    json_decref(fit);
}

void train_say_unused(const train_options *o, const cornu_model *model, const cornu_data *data,
                      progress *p)
{
    cornu_data_loading l = {.files = 0};
    bool pictures = cornu_data_loading_get(data, &l) == CORNU_OK && l.files > 0;
    const char *of_pictures = o->files.cache     ? "cache"
                              : o->files.workers ? "workers"
                              : o->files.strict  ? "strict"
                                                 : NULL;
    if (of_pictures && !pictures)
        say_unused(p, of_pictures, "the data are no folder of images");
    if (o->plot && !p->terminal)
        say_unused(p, "plot", "standard output is no terminal; --html FILE writes the curves");
    if (o->fit.output)
        check_output(model, p);
}
