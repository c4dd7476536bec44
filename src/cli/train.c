#include "cli/train.h"
#include "base/clock.h"
#include <cornu/parallel.h>
#include <cornu/report.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Only the first of several processes prints and writes; the others decode pictures again whose
   pixels do not fit into their memory. */
static bool leave_to_speaker(train_options *o)
{
    if (is_speaker() || o->sweep.count > 0)
        return true;
    o->fit.save = o->fit.log = o->fit.tensorboard = o->html = NULL;
    o->fit.log_steps = o->plot = false;
    o->quiet = true;
    if (!o->files.cache || strcmp(o->files.cache, "off") != 0)
        o->files.cache = "memory";
    return true;
}

enum { TABLE_MOST = 40 };

static void make_table(train_options *o, option table[TABLE_MOST])
{
    const option options[] = {
        DATA_OPTION(o->data),
        WHERE_OPTIONS(o->fit.where) /* where to run */
        FIT_OPTIONS(o->fit)         /* how to train */
        {"exact", NULL, "a workload as it was published, whatever classes --data has", OPTION_FLAG,
         &o->exact, 0, 0},
        {"learning-rate", "R", "in place of the recipe's", OPTION_REAL, &o->learning_rate, 0, 0},
        {"fraction", "F", "of the data: so large a share, as 0.1, the same of each class",
         OPTION_REAL, &o->fraction, 0, 0},
        {"classes", "new", "a model file learns the data's classes in place of its own",
         OPTION_TEXT, &o->classes, 0, 0},
        {"init", "FILE", "start from these weights (.safetensors, .npz, .keras, .h5, .onnx)",
         OPTION_TEXT, &o->init, 0, 0},
        {"skip", "LAYER", "of --init: leave this layer out, whose weights do not fit", OPTION_LIST,
         &o->skip, 0, 0},
        {"names", "torch", "they are a state_dict of PyTorch's", OPTION_TEXT, &o->names, 0, 0},
        {"freeze", "LAYER", "do not train this layer, as its trainable: false", OPTION_LIST,
         &o->freeze, 0, 0},
        FILE_OPTIONS(o->fit) /* what is written */
        {"no-save", NULL, "write no model; else a new file here, at the end or on Ctrl-C",
         OPTION_FLAG, &o->no_save, 0, 0},
        {"max-time", "T", "finish the current step and stop after 90s, 10m, 1h30m", OPTION_TIME,
         &o->max_time, 0, 0},
        {"resume", "FILE", "go on where this model file stopped", OPTION_TEXT, &o->resume, 0, 0},
        {"html", "FILE", "write a page with curves at the end", OPTION_TEXT, &o->html, 0, 0},
        {"plot", NULL, "draw curves in the terminal, below the last epoch", OPTION_FLAG, &o->plot,
         0, 0},
        FOLDER_OPTIONS(o->files),
        {"sweep", "KEY=LIST", "a run for each of these: seed=1..8, learning_rate=0.1,0.01, ...",
         OPTION_LIST, &o->sweep, 0, 0},
        {"jobs", "N", "of a sweep: runs at a time (a core each)", OPTION_INT, &o->jobs, 1, 1024},
        {"quiet", NULL, "print nothing but errors", OPTION_FLAG, &o->quiet, 0, 0},
        {.name = NULL}};
    _Static_assert(sizeof options / sizeof *options <= TABLE_MOST, "expected room for all");
    memcpy(table, options, sizeof options);
}

static bool parse(const option *table, int argc, char **argv, train_options *o, int *status)
{
    operands found;
    bool sweeps; /* a sweep checks its runs' options itself */
    if (!options_parse(&command_train, table, argc, argv, 0, 1, "one RECIPE or WORKLOAD", &found,
                       status))
        return false;
    o->what = found.item[0];
    sweeps = o->sweep.count > 0;
    if (!o->what && !o->resume)
        *status = fail_usage(&command_train, "found nothing; expected a RECIPE or WORKLOAD");
    else if (!sweeps && o->init && o->resume)
        *status = fail_usage(&command_train, "found --init and --resume; expected one of them");
    else if (!sweeps && o->resume && (o->fit.seed || o->learning_rate.text))
        *status = fail_usage(&command_train,
                             "found --%s and --resume; expected one of them, as the model file "
                             "holds its %s",
                             o->fit.seed ? "seed" : "learning-rate",
                             o->fit.seed ? "seed" : "learning rate");
    else if (o->classes && strcmp(o->classes, "new") != 0)
        *status = fail_usage(&command_train, "--classes: found \"%s\"; expected new", o->classes);
    else if (!sweeps && o->classes && o->resume)
        *status =
            fail_usage(&command_train, "found --classes and --resume; expected one of them, as "
                                       "the model file holds its classes");
    else if (!sweeps && o->jobs)
        *status = fail_usage(&command_train, "found --jobs alone; expected --sweep, too");
    else if (!sweeps && o->plot && o->quiet)
        *status = fail_usage(&command_train, "found --plot and --quiet; expected one of them");
    else if (o->no_save && (o->fit.save || o->resume))
        *status = fail_usage(&command_train, "found --no-save and --%s; expected one of them",
                             o->fit.save ? "save" : "resume");
    else if (o->fraction.value > 1)
        *status = fail_usage(&command_train, "--fraction: found \"%s\"; expected at most 1",
                             o->fraction.text);
    else if (o->skip.count && !o->init)
        *status = fail_usage(&command_train, "found --skip alone; expected --init FILE, too");
    else if (!sweeps && o->freeze.count && o->resume)
        *status = fail_usage(&command_train, "found --freeze and --resume; expected one of them, "
                                             "as the model file holds its frozen layers");
    else if (o->names && !o->init)
        *status = fail_usage(&command_train, "found --names alone; expected --init FILE, too");
    else if (o->fit.log_steps && !o->fit.log)
        *status = fail_usage(&command_train, "found --log-steps alone; expected --log FILE, too");
    else
        return device_is_there(o->fit.where.device, o->fit.where.precision, status) &&
               leave_to_speaker(o) && can_write(o->fit.save, status) &&
               can_write(o->fit.log, status) && can_write(o->html, status);
    return false;
}

/* One run of the command. */
typedef struct training {
    progress progress; /* first member: the data callbacks see only it */
    const train_options *options;
    const option *table; /* as given */
    cornu_model *model;
    cornu_progress last; /* epoch */
    int64_t epochs;      /* ended in this run */
    int64_t step, steps; /* done in the current epoch, of `steps`; see interrupt_hold */
    char path[4096];     /* path of the model file; "": none */
    bool own_name;       /* chosen by default */
    bool saved;          /* it holds this run's work */
    double began;
    cornu_ranks *ranks; /* NULL: one process */
} training;

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

/* Another run may have taken the name meanwhile. */
static void renew_name(training *t)
{
    if (t->own_name && !t->saved)
        free_name(t->options->what, t->path, sizeof t->path);
}

/* Choose the model file, for the end and for Ctrl-C; print a default choice. */
static void choose_path(training *t)
{
    const train_options *o = t->options;
    const char *path = o->fit.save ? o->fit.save : o->resume;
    char line[sizeof t->path + 128];
    snprintf(t->path, sizeof t->path, "%s", path ? path : "");
    if (path || !is_speaker())
        return;
    if (o->no_save) {
        progress_notice(&t->progress, "not saved: found --no-save (--save FILE writes the model)");
        return;
    }
    if (access(".", W_OK | X_OK) != 0) {
        snprintf(line, sizeof line, "not saved: this folder: %s (--save FILE: elsewhere)",
                 strerror(errno));
        progress_notice(&t->progress, line);
        return;
    }
    t->own_name = true;
    renew_name(t);
    snprintf(line, sizeof line,
             "the model will be saved as %s at the end, or when stopped (--save FILE, --no-save)",
             t->path);
    progress_notice(&t->progress, line);
}

/* True if a resumed run must not repeat the option: the model file has its value, or it only
   mattered at the beginning. */
static bool stays_behind(const char *name)
{
    static const char *const names[] = {
        "shards", "gradient-dtype", "seed", "learning-rate", "classes", "init",  "skip",
        "freeze", "names",          "save", "no-save",       "resume",  "sweep", "jobs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void print_option(void *f, const option *o, const char *value)
{
    if (stays_behind(o->name))
        return;
    print_to(f, " --%s", o->name);
    if (value)
        print_word(f, value);
}

/* The answer to Ctrl-C; cornu_fit saves to this file when it is stopped. */
static void say_what_follows(void *user, char *line, size_t size)
{
    training *t = user;
    bool done = t->steps > 0 && t->step >= t->steps; /* the epoch's: validation, callbacks */
    renew_name(t);
    int length = snprintf(line, size, "%s step %lld, ", done ? "stopping after" : "finishing",
                          (long long)(done ? t->step : t->step + 1));
    if (*t->path)
        snprintf(line + length, size - (size_t)length,
                 "saving %s, press Ctrl-C again to stop without saving", t->path);
    else
        snprintf(line + length, size - (size_t)length,
                 "not saving, press Ctrl-C again to end at once");
}

static bool time_is_over(const training *t)
{
    const real_number *most = &t->options->max_time;
    return most->text && clock_seconds() - t->began >= most->value;
}

/* Called after each step. It does what the answer to Ctrl-C announced. */
static bool should_stop(void *user)
{
    training *t = user;
    cornu_position now = {.size = sizeof now, .step = 0};
    (void)cornu_model_position(t->model, &now);
    interrupt_hold();
    t->step = now.step;
    if (t->ranks && now.step < t->steps) /* they vote within a step: the next one is the last */
        t->step++;
    bool asked = interrupt_asked(NULL) || time_is_over(t);
    interrupt_release();
    return asked;
}

static void on_save(void *user, const cornu_saving *now)
{
    training *t = user;
    t->saved |= now->complete && strcmp(now->path, t->path) == 0;
    interrupt_saving(now);
}

/* "step 35 of epoch 2" */
static void print_position(FILE *f, const cornu_model *model)
{
    cornu_position p = {.size = sizeof p, .step = 0};
    (void)cornu_model_position(model, &p);
    if (p.step == 0 && p.epoch > 0)
        print_to(f, "epoch %lld", (long long)p.epoch);
    else
        print_to(f, "step %lld of epoch %lld", (long long)p.step, (long long)p.epoch + 1);
}

static void print_how_to_go_on(FILE *f, const training *t)
{
    const train_options *o = t->options;
    if (!interrupt_asked(NULL))
        print_to(f, "--max-time %s: ", o->max_time.text);
    print_to(f, "stopped after ");
    print_position(f, t->model);
    if (!t->saved) {
        print_to(f, ", not saved");
        return;
    }
    print_to(f, ", saved %s. Go on with: cornu train", t->path);
    if (o->what)
        print_word(f, o->what);
    options_each(t->table, print_option, f);
    print_to(f, " --resume");
    print_word(f, t->path);
}

/* Print what was saved, and how to continue: in one write, as the terminal may print "^C" at any
   time, and before the answer to another signal. */
static int finish_stopped(const training *t)
{
    char *line = NULL;
    size_t size;
    if (t->epochs == 0 && t->step == 0 && !t->saved)
        return fail(STATUS_INTERRUPTED, "stopped before the first step: nothing to save");
    FILE *f = open_memstream(&line, &size);
    if (f)
        print_how_to_go_on(f, t);
    bool whole = f && fclose(f) == 0;
    interrupt_hold();
    if (!whole)
        print_how_to_go_on(stderr, t);
    print_to(stderr, "%s\n", whole ? line : "");
    interrupt_release();
    free(line);
    return interrupt_asked(NULL) ? STATUS_INTERRUPTED : STATUS_OK;
}

/* At the end, if no file was given: save what is otherwise written each epoch. */
static cornu_status save_at_end(training *t)
{
    if (!t->own_name)
        return CORNU_OK;
    renew_name(t);
    return cornu_model_save(t->model, t->path);
}

/* ---- the command ------------------------------------------------------------------------ */

static void on_epoch(void *user, const cornu_progress *now)
{
    training *t = user;
    t->last = *now;
    t->epochs++;
    progress_epoch(&t->progress, now);
}

static void on_step(void *user, const cornu_progress *now)
{
    training *t = user;
    interrupt_hold();
    t->steps = now->steps;
    interrupt_release();
    progress_step(&t->progress, now);
}

/* Say how it ended. */
static int finish(training *t, const cornu_data *data, cornu_status status, double seconds)
{
    const train_options *o = t->options;
    bool began = t->steps > 0 || t->epochs > 0;
    if (!o->quiet && began)
        print_loading(data, &t->last);
    if (status == CORNU_STOPPED && !is_speaker())
        return interrupt_asked(NULL) || !o->max_time.text ? STATUS_INTERRUPTED : STATUS_OK;
    if (status == CORNU_STOPPED)
        return finish_stopped(t);
    if (status == CORNU_OK)
        status = save_at_end(t);
    if (status == CORNU_OK && *t->path && !o->quiet)
        print("saved %s\n", t->path);
    if (status == CORNU_OK && !o->quiet)
        print_total(t->epochs, seconds);
    return exit_status(status);
}

/* Write the page of the run, also if it was stopped or failed. */
static int write_page(const training *t, const cornu_data *data, const cornu_history *history)
{
    const char *path = t->options->html;
    if (!path || !history)
        return STATUS_OK;
    int status = exit_status(cornu_history_write_html(history, t->model, data, path));
    if (status == STATUS_OK && !t->options->quiet)
        print("HTML: %s\n", path);
    return status;
}

static int train(training *t, const cornu_data *data)
{
    /* Without --save a resumed run goes back into its own file. */
    const train_options *o = t->options;
    cornu_fit_options fit = o->fit;
    fit.save = o->fit.save ? o->fit.save : o->resume;
    fit.save_stopped = t->path;
    fit.ranks = t->ranks;
    fit.resume = o->resume != NULL;
    fit.on_step = on_step;
    fit.on_epoch = on_epoch;
    fit.on_notice = progress_notice;
    fit.on_save = on_save;
    fit.should_stop = should_stop;
    fit.user = t;
    double began = clock_seconds();
    (void)should_stop(t); /* where a resumed run begins */
    interrupt_set_plan(&(interrupt_plan){.say = say_what_follows, .user = t});
    cornu_history *history = NULL;
    cornu_status status = cornu_fit(t->model, data, &fit, &history);
    interrupt_set_plan(NULL);
    progress_break(&t->progress);
    double seconds = history ? cornu_history_seconds(history) : clock_seconds() - began;
    int ended = finish(t, data, status, seconds);
    int written = write_page(t, data, history);
    cornu_history_close(history);
    return ended != STATUS_OK ? ended : written;
}

static int run(int argc, char **argv)
{
    train_options o = {.fit.size = sizeof o.fit};
    option table[TABLE_MOST];
    training t = {.options = &o, .table = table, .began = clock_seconds()};
    plot curves = {.count = 0};
    int status;
    make_table(&o, table);
    if (!parse(table, argc, argv, &o, &status))
        return status;
    if (o.sweep.count > 0)
        return train_sweep(&command_train, &o, table);
    cornu_data *data = NULL;
    status = exit_status(cornu_ranks_open(&t.ranks));
    if (status != STATUS_OK)
        return status;
    speak_for(t.ranks);
    progress_open(&t.progress, o.quiet);
    t.progress.silent = !is_speaker();
    t.progress.plot = o.plot ? &curves : NULL;
    interrupt_watch(&t.progress);
    o.files.background = true;
    o.files.fraction = o.fraction.value;
    o.files.ranks = cornu_ranks_count(t.ranks) > 1 ? t.ranks : NULL;
    o.files.beside = o.fit.save ? o.fit.save : o.resume;
    status = train_open(&o, &t.progress, &t.model, &data);
    if (status == STATUS_OK) {
        train_say_unused(&o, data, &t.progress);
        choose_path(&t);
        status = train(&t, data);
    }
    cornu_data_close(data);
    cornu_model_close(t.model);
    speak_for(NULL);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED) /* unless they know */
        (void)cornu_ranks_end(t.ranks, CORNU_INVALID);
    cornu_ranks_close(t.ranks);
    return status;
}

const command command_train = {
    "train",
    "train a recipe or a built-in workload",
    "RECIPE|WORKLOAD [--data DIR|FILE|NAME] [--OPTION...]\n[RECIPE|WORKLOAD] --resume "
    "FILE.safetensors "
    "[--OPTION...]\nRECIPE|WORKLOAD --sweep KEY=LIST [--sweep KEY=LIST...] [--OPTION...]",
    "RECIPE may be a model file, too: its weights are trained on. The classes of a folder must "
    "then\n"
    "be its classes, by their names; --classes new takes others, as many as it has outputs.\n"
    "What an option does not say, the recipe does. --data names the folder of the recipe's data\n"
    "set (or of images, one folder a class) or a folder that holds it; an .npz file or the name "
    "of\n"
    "another set (cornu data list) is taken in its place. Without it the set is looked for in\n"
    "$CORNU_DATA, the usual caches and Debian's packages, then downloaded and checked.\n"
    "A workload whose --data has other classes than it was published for gets as many outputs as\n"
    "there are classes, and says so; --exact leaves it as it was published.\n"
    "The model goes to the file of --save; without it to a new file in this folder, which is "
    "named\n"
    "before the first epoch; with --resume alone to the file itself. Ctrl-C, SIGTERM and SIGHUP\n"
    "finish the step, save there and say how to go on; a second Ctrl-C ends at once, unless the\n"
    "file is being written: then a third. --max-time does the same, and exits with status 0.\n"
    "--sweep trains a run for each value of seed, learning_rate, batch, epochs, steps or shards,\n"
    "or for each combination where it is given several times: --sweep seed=1..8 --sweep\n"
    "learning_rate=0.1,0.01 is 16 runs. Each is a process of its own, as many at a time as there\n"
    "are cores (--jobs) and as fit into memory; mpirun spreads them over machines. Their values\n"
    "are in the names of their files: --save m.safetensors writes m-seed=1-learning_rate=0.1\n"
    ".safetensors and so on, beside each its table of epochs (.csv). At the end comes one table,\n"
    "the best first. The same with --resume in place of --save goes on with what is not done.\n",
    run,
    .alone = false};
