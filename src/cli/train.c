#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct train_options {
    const char *what; /* recipe, workload; NULL with resume alone */
    const char *data, *init, *save, *resume, *log, *output;
    int64_t epochs, batch, steps, seed;
    device_choice on;
    data_choice files;
    bool log_steps, quiet;
} train_options;

static bool should_stop(void *user)
{
    (void)user;
    return interrupt_asked();
}

static bool parse(int argc, char **argv, train_options *o, int *status)
{
    const option options[] = {
        {"data", "DIR", "folder of the data set, or one that holds it", OPTION_TEXT, &o->data, 0,
         0},
        DEVICE_OPTIONS(o->on),
        {"epochs", "N", "epochs in all", OPTION_INT, &o->epochs, 1, INT32_MAX},
        {"batch", "N", "samples of a step", OPTION_INT, &o->batch, 1, INT32_MAX},
        {"steps", "N", "steps of an epoch", OPTION_INT, &o->steps, 1, INT32_MAX},
        {"seed", "N", "same seed, same bits", OPTION_INT, &o->seed, 1, INT64_MAX},
        {"init", "FILE", "start from these weights (.npz or .safetensors)", OPTION_TEXT, &o->init,
         0, 0},
        {"save", "FILE", "write the model here: at the end, each epoch, on Ctrl-C", OPTION_TEXT,
         &o->save, 0, 0},
        {"resume", "FILE", "go on where this model file stopped", OPTION_TEXT, &o->resume, 0, 0},
        {"log", "FILE", "write a CSV row an epoch", OPTION_TEXT, &o->log, 0, 0},
        {"log-steps", NULL, "write a row a step instead", OPTION_FLAG, &o->log_steps, 0, 0},
        {"output", "DIR", "folder for the files that the recipe itself names", OPTION_TEXT,
         &o->output, 0, 0},
        FOLDER_OPTIONS(o->files),
        {"quiet", NULL, "print nothing but errors", OPTION_FLAG, &o->quiet, 0, 0},
        {.name = NULL}};
    operands found;
    if (!options_parse(&command_train, options, argc, argv, 0, 1, "one RECIPE or WORKLOAD", &found,
                       status))
        return false;
    o->what = found.item[0];
    if (!o->what && !o->resume)
        *status = fail_usage(&command_train, "found nothing; expected a RECIPE or WORKLOAD");
    else if (o->init && o->resume)
        *status = fail_usage(&command_train, "found --init and --resume; expected one of them");
    else if (o->seed && o->resume)
        *status = fail_usage(&command_train, "found --seed and --resume; expected one of them, as "
                                             "the model file holds its seed");
    else if (o->log_steps && !o->log)
        *status = fail_usage(&command_train, "found --log-steps alone; expected --log FILE, too");
    else
        return device_is_there(&o->on, status) && can_write(o->save, status) &&
               can_write(o->log, status);
    return false;
}

/* Does the recipe describe the network of the model file? */
static int check_same_network(const cornu_model *model, const train_options *o)
{
    cornu_model *recipe = NULL;
    char *a = NULL, *b = NULL;
    int status = report(cornu_model_open(o->what, &recipe));
    if (status == STATUS_OK)
        status = report(cornu_model_config(model, &a));
    if (status == STATUS_OK)
        status = report(cornu_model_config(recipe, &b));
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
    int status = report(cornu_model_open(o->resume ? o->resume : o->what, model));
    if (status == STATUS_OK && o->resume && o->what)
        status = check_same_network(*model, o);
    if (status == STATUS_OK && o->init)
        status = report(cornu_model_load_weights(*model, o->init));
    return status;
}

/* ---- Ctrl-C ----------------------------------------------------------------------------- */

/* A file in this folder that does not exist yet: NAME.safetensors, NAME-2.safetensors, ... */
static void free_name(const char *what, char *path, size_t size)
{
    const char *slash = strrchr(what, '/');
    const char *name = slash ? slash + 1 : what;
    const char *dot = strrchr(name, '.');
    int length = (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name));
    snprintf(path, size, "%.*s.safetensors", length, name);
    for (int i = 2; access(path, F_OK) == 0 && i < 10000; i++)
        snprintf(path, size, "%.*s-%d.safetensors", length, name, i);
}

static void print_option(const char *name, const char *value)
{
    if (!value)
        return;
    print_to(stderr, " --%s", name);
    print_word(stderr, value);
}

static void print_number(const char *name, int64_t value)
{
    if (value)
        print_to(stderr, " --%s %lld", name, (long long)value);
}

/* Save where fit did not, and say how to go on. */
static int finish_interrupted(cornu_model *model, const train_options *o, const char *saved,
                              int64_t step)
{
    char path[4096];
    if (!saved) {
        free_name(o->what, path, sizeof path);
        if (cornu_model_save(model, path) != CORNU_OK)
            return report(CORNU_IO);
        saved = path;
    }
    print_to(stderr, "finishing step %lld %s saved %s. Go on with: cornu train", (long long)step,
             terminal_has_utf8() ? "…" : "...", saved);
    if (o->what)
        print_word(stderr, o->what);
    print_option("data", o->data);
    print_option("device", o->on.device);
    print_option("precision", o->on.precision);
    print_number("epochs", o->epochs);
    print_number("batch", o->batch);
    print_number("steps", o->steps);
    print_number("threads", o->on.threads);
    print_number("workers", o->files.workers);
    print_option("cache", o->files.cache);
    print_option("log", o->log);
    print_option("output", o->output);
    print_to(stderr, "%s%s%s%s", o->on.exact_convolution ? " --exact-conv" : "",
             o->log_steps ? " --log-steps" : "", o->files.strict ? " --strict" : "",
             o->quiet ? " --quiet" : "");
    print_option("resume", saved);
    print_to(stderr, "\n");
    return STATUS_INTERRUPTED;
}

/* ---- the command ------------------------------------------------------------------------ */

typedef struct training {
    progress progress; /* first member: the data callbacks see only it */
    int64_t step;
    cornu_progress last; /* epoch */
} training;

static void on_epoch(void *user, const cornu_progress *now)
{
    training *t = user;
    t->last = *now;
    progress_epoch(&t->progress, now);
}

static void note_step(void *user, const cornu_progress *now)
{
    training *t = user;
    t->step = now->step;
    progress_step(&t->progress, now);
}

static int train(const train_options *o, cornu_model *model, const cornu_data *data, training *t)
{
    /* Without --save a resumed run goes back into its own file. */
    const char *save = o->save ? o->save : o->resume;
    cornu_fit_options fit = {.device = o->on.device,
                             .precision = o->on.precision,
                             .exact_convolution = o->on.exact_convolution,
                             .threads = (int)o->on.threads,
                             .epochs = o->epochs,
                             .batch = o->batch,
                             .steps_per_epoch = o->steps,
                             .seed = (uint64_t)o->seed,
                             .save = save,
                             .log = o->log,
                             .log_steps = o->log_steps,
                             .output = o->output,
                             .resume = o->resume != NULL,
                             .on_step = note_step,
                             .on_epoch = on_epoch,
                             .on_notice = progress_notice,
                             .should_stop = should_stop,
                             .user = t};
    interrupt_watch();
    cornu_status status = cornu_fit(model, data, &fit, NULL);
    progress_break(&t->progress);
    if (!o->quiet)
        print_loading(data, &t->last);
    if (status == CORNU_STOPPED)
        return finish_interrupted(model, o, save, t->step);
    if (status == CORNU_OK && save && !o->quiet)
        print("saved %s\n", save);
    return report(status);
}

static int run(int argc, char **argv)
{
    train_options o = {0};
    training t = {.step = 0};
    int status;
    if (!parse(argc, argv, &o, &status))
        return status;
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    progress_open(&t.progress, o.quiet);
    o.files.background = true;
    o.files.beside = o.save ? o.save : o.resume;
    status = open_model(&o, &model);
    if (status == STATUS_OK)
        status = open_data(model, o.data, true, &o.files, &t.progress, &data);
    if (status == STATUS_OK)
        status = train(&o, model, data, &t);
    cornu_data_close(data);
    cornu_model_close(model);
    return status;
}

const command command_train = {
    "train", "train a recipe or a built-in workload",
    "RECIPE|WORKLOAD [--data DIR] [--OPTION...]\n[RECIPE|WORKLOAD] --resume FILE.safetensors "
    "[--OPTION...]",
    "What an option does not say, the recipe does. Data is looked for in --data, $CORNU_DATA,\n"
    "the usual caches and Debian's packages, then downloaded and checked.\n"
    "Ctrl-C finishes the step, saves (to --save, else to a new file in this folder) and says how\n"
    "to go on; a second one ends at once. With --resume alone the file itself is updated.\n",
    run};
