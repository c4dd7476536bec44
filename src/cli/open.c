/* Opens models and data for the commands, and for train finds options without effect on them. */
#include "cli/train.h"
#include <cornu/exchange.h>
#include <cornu/images.h>
#include <cornu/model.h>
#include <cornu/tables.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcasecmp(text + length - tail, ending) == 0;
}

int open_data(const cornu_model *model, const char *what, bool download, const data_choice *files,
              progress *p, cornu_data **data)
{
    static const data_choice defaults;
    const data_choice *c = files ? files : &defaults;
    char beside[4096] = ".";
    const char *slash = c->beside ? strrchr(c->beside, '/') : NULL;
    if (slash)
        snprintf(beside, sizeof beside, "%.*s", (int)(slash - c->beside + 1), c->beside);
    cornu_data_options options = {.size = sizeof options,
                                  .folder = what,
                                  .allow_download = download,
                                  .brief = true,
                                  .fraction = c->fraction,
                                  .other_data = c->other_data,
                                  .ranks = c->ranks,
                                  .on_progress = progress_download,
                                  .should_stop = interrupt_asked,
                                  .on_notice = progress_notice,
                                  .user = p,
                                  .images =
                                      &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                              .strict = c->strict,
                                                              .whole = c->whole,
                                                              .background = c->background,
                                                              .workers = (int)c->workers,
                                                              .cache = c->cache,
                                                              .cache_folder = beside}};
    cornu_status status = cornu_data_open_for_model(model, &options, data);
    progress_break(p);
    return exit_status(status);
}

int adapt_model(cornu_model *model, const cornu_data *data, progress *p)
{
    char *told = NULL, line[1024];
    int status = exit_status(cornu_model_adapt(model, data, &told));
    if (told) {
        snprintf(line, sizeof line, "%.900s (--exact: as it was published)", told);
        progress_notice(p, line);
    }
    cornu_free(told);
    return status;
}

/* Percentage of the workers' total time. */
static double percent_of(double seconds, const cornu_data_loading *l)
{
    double all = l->decode_seconds + l->resize_seconds;
    return all > 0 ? 100 * seconds / all : 0;
}

void print_loading(const cornu_data *data, const cornu_progress *epoch)
{
    cornu_data_loading l = {.size = sizeof l};
    if (cornu_data_loading_get(data, &l) != CORNU_OK || l.files == 0)
        return;
    print("images: %lld decoded", (long long)l.decoded);
    if (l.decoded > 0)
        print(" (%.0f/s a worker: decode %.0f %%, resize %.0f %%)",
              (double)l.decoded / (l.decode_seconds + l.resize_seconds),
              percent_of(l.decode_seconds, &l), percent_of(l.resize_seconds, &l));
    if (l.cached > 0)
        print(", %lld from the cache", (long long)l.cached);
    if (l.skipped > 0)
        print(", %lld skipped", (long long)l.skipped);
    print("; steps waited %.2f s for them", l.wait_seconds);
    double seconds = epoch->seconds - epoch->resumed_seconds;
    if (epoch->gather_seconds > 0 && seconds > 0)
        print("; taking and changing samples %.1f %% of the last epoch",
              100 * epoch->gather_seconds / seconds);
    print("\n");
}

bool is_model_name(const char *path)
{
    return ends_with(path, ".safetensors") || ends_with(path, ".keras") || ends_with(path, ".h5") ||
           ends_with(path, ".hdf5");
}

bool is_onnx_name(const char *path)
{
    return ends_with(path, ".onnx");
}

int open_model_file(const command *c, const char *path, cornu_model **model)
{
    if (!is_model_name(path) && !is_onnx_name(path))
        return fail_usage(c,
                          "%s: found another name; expected a model file (.safetensors, .keras, "
                          ".h5, .onnx), as cornu train --save, Keras or others write it",
                          path);
    return exit_status(cornu_model_open(path, model));
}

/* ---- for train ------------------------------------------------------------------------------ */

/* Or a network by its name: both fit themselves to the data. */
static bool is_workload(const char *what)
{
    for (int i = 0; what && cornu_workload_name(i); i++)
        if (strcmp(what, cornu_workload_name(i)) == 0)
            return true;
    for (int i = 0; what && cornu_application_name(i); i++)
        if (strcmp(what, cornu_application_name(i)) == 0)
            return true;
    return false;
}

bool train_adapts(const train_options *o)
{
    return o->data && !o->exact && is_workload(o->what);
}

/* A workload that was made to fit other data has another number of outputs than the published. */
static int open_as(const train_options *o, const cornu_model *model, cornu_model **recipe)
{
    int64_t shape[8];
    int rank = 0;
    int status = exit_status(cornu_model_open(o->what, recipe));
    if (status == STATUS_OK)
        status = exit_status(cornu_model_output_shape(model, shape, &rank));
    if (status == STATUS_OK && is_workload(o->what) && !o->exact && rank == 1)
        status = exit_status(cornu_model_set_outputs(*recipe, shape[0]));
    return status;
}

/* Check that the recipe describes the network of the model file. */
static int check_same_network(const cornu_model *model, const train_options *o)
{
    cornu_model *recipe = NULL;
    char *a = NULL, *b = NULL;
    int status = open_as(o, model, &recipe);
    if (status == STATUS_OK)
        status = exit_status(cornu_model_config(model, &a));
    if (status == STATUS_OK)
        status = exit_status(cornu_model_config(recipe, &b));
    if (status == STATUS_OK && strcmp(a, b) != 0)
        status = fail(STATUS_FAILURE,
                      "%s: holds another network than %s; leave out %s to go on "
                      "with the file's own",
                      o->resume, o->what, o->what);
    cornu_free(a);
    cornu_free(b);
    cornu_model_close(recipe);
    return status;
}

static int open_model(const train_options *o, cornu_model **model)
{
    int status = exit_status(cornu_model_open(o->resume ? o->resume : o->what, model));
    return status == STATUS_OK && o->resume && o->what ? check_same_network(*model, o) : status;
}

int train_prepare(const train_options *o, cornu_model *model)
{
    const char *skip[sizeof o->skip.item / sizeof *o->skip.item + 1] = {NULL};
    const cornu_weights_options weights = {.size = sizeof weights, .names = o->names, .skip = skip};
    int status = STATUS_OK;
    memcpy(skip, o->skip.item, sizeof o->skip.item);
    if (o->learning_rate.text)
        status = exit_status(cornu_model_change_learning_rate(model, o->learning_rate.value));
    if (status == STATUS_OK && o->classes)
        status = exit_status(cornu_model_set_class_names(model, NULL, 0));
    if (status == STATUS_OK && o->init)
        status = exit_status(cornu_model_load_weights_as(model, o->init, &weights));
    for (int i = 0; status == STATUS_OK && i < o->freeze.count; i++)
        status = exit_status(cornu_model_set_trainable(model, o->freeze.item[i], false));
    return status;
}

int train_open(const train_options *o, progress *p, cornu_model **model, cornu_data **data)
{
    bool adapts = !o->resume && train_adapts(o);
    data_choice files = o->files;
    files.other_data = adapts;
    int status = open_model(o, model);
    if (status == STATUS_OK && !adapts) /* errors of the options are printed first */
        status = train_prepare(o, *model);
    if (status == STATUS_OK)
        status = open_data(*model, o->data, true, &files, p, data);
    if (status == STATUS_OK && adapts)
        status = adapt_model(*model, *data, p);
    if (status == STATUS_OK && adapts)
        status = train_prepare(o, *model);
    return status;
}

/* ---- options that change nothing ---------------------------------------------------------- */

static void say_unused(progress *p, const char *name, const char *why)
{
    char line[256];
    snprintf(line, sizeof line, "--%s changes nothing: %s", name, why);
    progress_notice(p, line);
}

void train_say_unused(const train_options *o, const cornu_data *data, progress *p)
{
    cornu_data_loading l = {.size = sizeof l, .files = 0};
    bool pictures = cornu_data_loading_get(data, &l) == CORNU_OK && l.files > 0;
    const char *of_pictures = o->files.cache     ? "cache"
                              : o->files.workers ? "workers"
                              : o->files.strict  ? "strict"
                                                 : NULL;
    if (of_pictures && !pictures)
        say_unused(p, of_pictures, "the data are no folder of images");
    if (o->plot && !p->terminal)
        say_unused(p, "plot", "standard output is no terminal; --html FILE writes the curves");
}
