/* cornu train --sweep: decides how many runs train at a time, starts them, and prints what
   concerns all. */
#include "base/memory.h"
#include "base/number.h"
#include "base/show.h"
#include "cli/train.h"
#include "cli/trials.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/model.h>
#include <cornu/parallel.h>
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sweep {
    progress progress; /* first member: the data's callbacks see only it */
    const train_options *options;
    const option *table; /* table of these options */
    trials *trials;
    trial_result *results; /* [trials->count]; this rank's own, and in the end all */
    trial_job *jobs;       /* [at_once] */
    cornu_ranks *ranks;    /* NULL: one process */
    int at_once;
    bool began;                 /* all ranks have come as far as their runs */
    int64_t threads;            /* threads of each run */
    bool keeps_pixels;          /* they come from files, and stay in memory */
    char temporary[TRIAL_PATH]; /* folder of tables of epochs; "": the folder of the model files */
} sweep;

/* ---- the runs ------------------------------------------------------------------------------- */

/* The runs of a sweep: their command lines and their results. */
/* ---- a run's command line --------------------------------------------------------------- */

/* How an option is passed to the runs; options not listed here are passed unchanged. */
typedef enum option_way {
    WAY_AS_IT_IS = 0,
    WAY_OWN,    /* it is the sweep's */
    WAY_FILE,   /* each run has a file of its own */
    WAY_FOLDER, /* or a folder within */
    WAY_FRESH   /* a model file that is resumed holds it */
} option_way;

static option_way way_of(const char *name)
{
    static const struct {
        const char *name;
        option_way way;
    } ways[] = {{"sweep", WAY_OWN},
                {"jobs", WAY_OWN},
                {"threads", WAY_OWN},
                {"quiet", WAY_OWN},
                {"save", WAY_OWN},
                {"resume", WAY_OWN},
                {"log", WAY_OWN},
                {"html", WAY_FILE},
                {"output", WAY_FOLDER},
                {"tensorboard", WAY_FOLDER},
                {"init", WAY_FRESH},
                {"names", WAY_FRESH},
                {"classes", WAY_FRESH},
                {"seed", WAY_FRESH},
                {"learning-rate", WAY_FRESH}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, name) == 0)
            return ways[i].way;
    return WAY_AS_IT_IS;
}

typedef struct telling {
    const sweep *sweep;
    words *words;
    int trial;
    bool resumed;
} telling;

static void folder_of_trial(const sweep *s, int trial, const char *folder, char own[TRIAL_PATH])
{
    char name[TRIAL_NAME];
    trial_name(s->trials, trial, '-', name);
    snprintf(own, TRIAL_PATH, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
}

static void tell_option(void *user, const option *o, const char *value)
{
    const telling *t = user;
    char own[TRIAL_PATH];
    switch (way_of(o->name)) {
    case WAY_OWN:
        return;
    case WAY_FILE:
        trial_path(t->sweep->trials, t->trial, value, NULL, own);
        value = own;
        break;
    case WAY_FOLDER:
        folder_of_trial(t->sweep, t->trial, value, own);
        value = own;
        break;
    case WAY_FRESH:
        if (t->resumed)
            return;
        break;
    case WAY_AS_IT_IS:
        break;
    }
    words_add_option(t->words, o->name, value);
}

static void tell_values(const telling *t)
{
    const trials *all = t->sweep->trials;
    for (int i = 0; i < all->lists; i++) {
        const char *name = all->list[i].key->option;
        if (!t->resumed || way_of(name) != WAY_FRESH)
            words_add_option(t->words, name, trial_value(all, t->trial, i));
    }
}

/* The path of its model file; NULL: it is not saved. */
static const char *model_path(const sweep *s, int trial, char own[TRIAL_PATH])
{
    const char *path = s->options->fit.save ? s->options->fit.save : s->options->resume;
    if (path)
        trial_path(s->trials, trial, path, NULL, own);
    return path ? own : NULL;
}

static void log_path(const sweep *s, int trial, char own[TRIAL_PATH])
{
    const train_options *o = s->options;
    char name[TRIAL_NAME];
    if (o->fit.log) {
        trial_path(s->trials, trial, o->fit.log, NULL, own);
    } else if (*s->temporary) {
        trial_name(s->trials, trial, '-', name);
        snprintf(own, TRIAL_PATH, "%.*s/%s.csv", TRIAL_PATH - TRIAL_NAME - 8, s->temporary, name);
    } else {
        trial_path(s->trials, trial, o->fit.save ? o->fit.save : o->resume, ".csv", own);
    }
}

/* The command that trains a run by itself; `resumed`: the command that continues it. */
static void sweep_tell_trial(const sweep *s, int trial, bool resumed, words *w)
{
    const train_options *o = s->options;
    const telling t = {.sweep = s, .words = w, .trial = trial, .resumed = resumed};
    char path[TRIAL_PATH];
    words_add(w, "cornu");
    words_add(w, "train");
    words_add(w, o->what);
    options_each(s->table, tell_option, (void *)(size_t)&t);
    tell_values(&t);
    if (model_path(s, trial, path))
        words_add_option(w, resumed ? "resume" : "save", path);
}

static bool saves(const sweep *s)
{
    return s->options->fit.save || s->options->resume;
}

/* Add the options that only a run of a sweep needs. The files of its recipe must differ from
   those of the other runs. */
static void tell_run(const sweep *s, int trial, bool resumed, words *w)
{
    char path[TRIAL_PATH], threads[32];
    sweep_tell_trial(s, trial, resumed, w);
    log_path(s, trial, path);
    snprintf(threads, sizeof threads, "%lld", (long long)s->threads);
    words_add_option(w, "log", path);
    words_add_option(w, "threads", threads);
    words_add_option(w, "quiet", NULL);
    if (!saves(s) && !s->options->no_save)
        words_add_option(w, "no-save", NULL);
    if (s->keeps_pixels && s->at_once > 1 && !s->options->files.cache)
        words_add_option(w, "cache", "memory"); /* only one process may own the cache file */
    folder_of_trial(s, trial, NULL, path);
    if (!s->options->fit.output && access(".", W_OK) == 0)
        words_add_option(w, "output", path);
}

/* ---- runs ------------------------------------------------------------------------------- */

/* "run 3 of 16: seed=1 learning_rate=0.1" */
static void show_trial(const sweep *s, int trial, char *string, size_t size)
{
    char name[TRIAL_NAME];
    trial_name(s->trials, trial, ' ', name);
    snprintf(string, size, "run %d of %d: %s", trial + 1, s->trials->count, name);
}

/* Print a line about the run's end; failures are printed even with --quiet. */
static void say_end(const sweep *s, int trial)
{
    char line[TRIAL_NAME + TRIAL_WHY + 128], took[24];
    const trial_result *r = &s->results[trial];
    show_trial(s, trial, line, sizeof line);
    size_t length = strlen(line), room = sizeof line - length;
    progress_status(NULL);
    if (r->state == TRIAL_FAILED && s->options->quiet)
        (void)fail(STATUS_FAILURE, "%s: %s", line, r->why);
    if (s->options->quiet)
        return;
    if (r->state == TRIAL_FAILED)
        snprintf(line + length, room, ": failed: %s", r->why);
    else if (r->state == TRIAL_STOPPED)
        snprintf(line + length, room, ": stopped in epoch %lld", (long long)r->epochs + 1);
    else
        snprintf(line + length, room, ": %s%s %.4f in epoch %lld, %s",
                 r->earlier ? "done before, " : "", trial_validates(r) ? "val_loss" : "loss",
                 r->best, (long long)r->best_epoch, number_seconds(r->seconds, took));
    wrap_print_from(line, 0, 4, stdout);
    fflush(stdout);
}

static void fail_trial(trial_result *r, const char *why)
{
    r->state = TRIAL_FAILED;
    snprintf(r->why, sizeof r->why, "%s", why);
}

static void read_log(const sweep *s, int trial)
{
    char path[TRIAL_PATH], why[TRIAL_WHY];
    trial_result *r = &s->results[trial];
    log_path(s, trial, path);
    if (!trial_read_log(path, r) && r->state == TRIAL_DONE) {
        snprintf(why, sizeof why, "%.400s: not found; expected the run's table of epochs", path);
        fail_trial(r, why);
    }
    if (*s->temporary && !s->options->fit.log)
        unlink(path);
}

/* True if the model file has all epochs. */
static bool is_done(const sweep *s, int trial, const char *path)
{
    cornu_model *model = NULL;
    cornu_position p = {.size = sizeof p, .epoch = 0};
    trial_result *r = &s->results[trial];
    int64_t wanted = s->options->fit.epochs;
    for (int i = 0; i < s->trials->lists; i++)
        if (strcmp(s->trials->list[i].key->option, "epochs") == 0)
            wanted = strtoll(trial_value(s->trials, trial, i), NULL, 10);
    if (cornu_model_open(path, &model) != CORNU_OK) {
        fail_trial(r, cornu_last_error());
        return true;
    }
    (void)cornu_model_position(model, &p);
    cornu_model_close(model);
    if (p.epoch < (wanted ? wanted : p.epochs) || p.epoch == 0)
        return false;
    r->state = TRIAL_DONE;
    r->earlier = true;
    read_log(s, trial);
    return true;
}

static void start(sweep *s, trial_job *job, int trial)
{
    char path[TRIAL_PATH];
    words w = {.count = 0};
    bool resumed = s->options->resume && access(model_path(s, trial, path), F_OK) == 0;
    if (resumed && is_done(s, trial, path)) {
        say_end(s, trial);
        return;
    }
    tell_run(s, trial, resumed, &w);
    trial_start(job, trial, &w);
    words_free(&w);
}

static void finish(sweep *s, trial_job *job)
{
    int trial = job->trial;
    char folder[TRIAL_PATH];
    if (!trial_ended(job, interrupt_asked(NULL), &s->results[trial]))
        return;
    read_log(s, trial);
    folder_of_trial(s, trial, s->options->fit.output, folder);
    (void)rmdir(folder); /* succeeds if the recipe has written no files */
    say_end(s, trial);
}

static int running(const sweep *s)
{
    int count = 0;
    for (int i = 0; i < s->at_once; i++)
        count += s->jobs[i].pid != 0;
    return count;
}

static void show_status(const sweep *s, int next)
{
    char line[80];
    snprintf(line, sizeof line, "%d of %d runs under way", running(s), s->trials->count);
    if (!s->options->quiet && is_speaker() && next >= 0 && !interrupt_asked(NULL))
        progress_status(line);
}

/* Run this rank's trials, every count-th one. An interrupt kills runs that are not saved, as there
   is nothing to finish. */
static void sweep_run(sweep *s)
{
    bool told = false;
    int next = cornu_ranks_number(s->ranks), step = cornu_ranks_count(s->ranks);
    while (running(s) > 0 || (next < s->trials->count && !interrupt_asked(NULL))) {
        for (int i = 0; i < s->at_once; i++)
            while (s->jobs[i].pid == 0 && next < s->trials->count && !interrupt_asked(NULL)) {
                start(s, &s->jobs[i], next);
                next += step;
            }
        bool asked = interrupt_asked(NULL);
        for (int i = 0; i < s->at_once && asked && !told; i++)
            trial_signal(&s->jobs[i], saves(s) ? SIGTERM : SIGKILL);
        told = asked;
        show_status(s, next);
        trials_wait(s->jobs, s->at_once);
        for (int i = 0; i < s->at_once; i++)
            if (s->jobs[i].pid != 0)
                finish(s, &s->jobs[i]);
    }
    progress_status(NULL);
}

/* ---- how many at a time ----------------------------------------------------------------- */

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A model that cannot be planned will fail by itself. */
static int64_t bytes_with_batch(const sweep *s, const cornu_model *model, int64_t batch)
{
    int64_t bytes = 0;
    cornu_fit_options fit = s->options->fit;
    fit.batch = batch;
    return cornu_fit_memory(model, &fit, &bytes) == CORNU_OK ? bytes : 0;
}

/* Bytes for the largest batch, which is at most the number of samples. */
static int64_t training_bytes(const sweep *s, const cornu_model *model, const cornu_data *data)
{
    cornu_data_info info = {.size = sizeof info, .count = {0}};
    (void)cornu_data_info_get(data, &info);
    int64_t samples = most(info.count[CORNU_TRAIN], 1);
    int64_t bytes = bytes_with_batch(s, model, least(s->options->fit.batch, samples));
    for (int i = 0; i < s->trials->lists; i++) {
        const trial_list *l = &s->trials->list[i];
        for (int k = 0; strcmp(l->key->option, "batch") == 0 && k < l->count; k++) {
            int64_t batch = least(strtoll(l->value[k], NULL, 10), samples);
            bytes = most(bytes, bytes_with_batch(s, model, batch));
        }
    }
    return bytes;
}

static int64_t data_bytes(const cornu_data *data)
{
    cornu_data_info info = {.size = sizeof info};
    cornu_data_values values = {.size = sizeof values};
    int64_t all = 0;
    if (cornu_data_info_get(data, &info) != CORNU_OK)
        return 0;
    for (int split = 0; split < 2; split++) {
        int64_t bytes = info.count[split];
        for (int i = 0; i < info.rank; i++)
            bytes *= info.shape[i];
        bool known = cornu_data_values_get(data, (cornu_split)split, &values) == CORNU_OK;
        all += known && !values.bytes ? bytes * (int64_t)sizeof(float) : bytes;
    }
    return all;
}

/* The processor, whatever device trains. */
static cornu_device_info processor(void)
{
    cornu_device_info info = {.size = sizeof info, .threads = 1};
    for (int i = 0; cornu_device_info_get(i, &info) && strcmp(info.name, "cpu") != 0; i++)
        ;
    return info;
}

/* A tenth of the memory is left free; each run's process takes some, too. */
static int64_t runs_that_fit(int64_t bytes, int64_t free_bytes)
{
    const int64_t process = 50000000;
    return free_bytes > 0 ? most(free_bytes / 10 * 9 / (bytes + process), 1) : INT32_MAX;
}

static bool is_gpu(const char *device)
{
    return device && strcmp(device, "cpu") != 0 && strcmp(device, "reference") != 0;
}

/* `beside` ranks share the cores and the memory. A GPU has one run at a time unless --jobs says
   otherwise. */
static void plan_jobs(sweep *s, int64_t bytes, int beside)
{
    const train_options *o = s->options;
    char each[16], left[16];
    cornu_device_info cpu = processor();
    int64_t cores = most(cpu.threads / beside, 1);
    int count = cornu_ranks_count(s->ranks), rank = cornu_ranks_number(s->ranks);
    int64_t own = (s->trials->count - rank + count - 1) / count;
    int64_t wanted = o->jobs                       ? o->jobs
                     : is_gpu(o->fit.where.device) ? 1
                                                   : most(cores / most(o->fit.where.threads, 1), 1);
    int64_t jobs = most(least(wanted, own), 1);
    int64_t fit = runs_that_fit(bytes, cpu.memory_free_bytes / beside);
    s->at_once = (int)least(jobs, fit);
    s->threads = o->fit.where.threads ? o->fit.where.threads : most(cores / s->at_once, 1);
    if (fit < jobs && !o->quiet)
        print("memory for %d of %d runs at a time: each may need %s, and %s is free\n", s->at_once,
              (int)jobs, memory_human((double)bytes, each),
              memory_human((double)cpu.memory_free_bytes / beside, left));
}

/* ---- several processes ------------------------------------------------------------------ */

/* The ranks exchange this before they begin. */
typedef struct place {
    char host[64];
    cpu_set_t cores;
    char version[16];
    uint64_t command; /* a digest of what to do */
} place;

/* FNV-1a */
static uint64_t add_text(uint64_t digest, const char *more)
{
    for (; *more; more++)
        digest = (digest ^ (unsigned char)*more) * 1099511628211u;
    return (digest ^ 0xff) * 1099511628211u;
}

static place own_place(const sweep *s)
{
    place p = {.command = 14695981039346656037u};
    (void)gethostname(p.host, sizeof p.host - 1);
    (void)sched_getaffinity(0, sizeof p.cores, &p.cores);
    snprintf(p.version, sizeof p.version, "%s", cornu_version());
    p.command = add_text(p.command, s->options->what);
    for (int i = 0; i < s->options->sweep.count; i++)
        p.command = add_text(p.command, s->options->sweep.item[i]);
    return p;
}

static int fail_other(int rank)
{
    return is_speaker() ? fail(STATUS_FAILURE,
                               "sweep: found another version, recipe or --sweep on rank %d; "
                               "expected that of rank 0",
                               rank)
                        : STATUS_FAILURE;
}

/* How many have this rank's machine and cores, with itself. */
static int meet_ranks(const sweep *s, int *beside)
{
    int count = cornu_ranks_count(s->ranks);
    place own = own_place(s), *all = calloc((size_t)count, sizeof *all);
    int status = all ? exit_status(cornu_ranks_share(s->ranks, &own, all, sizeof own))
                     : fail(STATUS_FAILURE, "sweep: not enough memory");
    *beside = 0;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        *beside += strcmp(all[i].host, own.host) == 0 && CPU_EQUAL(&all[i].cores, &own.cores);
        if (all[i].command != all[0].command || strcmp(all[i].version, all[0].version) != 0)
            status = fail_other(i);
    }
    free(all);
    return status;
}

/* Exchange the results, so that every rank has those of all runs. */
static int gather_results(sweep *s)
{
    int ranks = cornu_ranks_count(s->ranks), runs = s->trials->count;
    trial_result *all = calloc((size_t)ranks * (size_t)runs, sizeof *all);
    int status =
        all ? exit_status(cornu_ranks_share(s->ranks, s->results, all, (size_t)runs * sizeof *all))
            : fail(STATUS_FAILURE, "sweep: not enough memory");
    for (int i = 0; i < runs && status == STATUS_OK; i++)
        s->results[i] = all[i % ranks * runs + i];
    free(all);
    return status;
}

static void say_what_follows(void *user, char *line, size_t size)
{
    const sweep *s = user;
    if (s->options->fit.save || s->options->resume)
        snprintf(line, size,
                 "stopping: each run finishes its step and is saved, press Ctrl-C "
                 "again to stop without saving");
    else
        snprintf(line, size, "stopping: without --save nothing is kept");
}

/* ---- beginning -------------------------------------------------------------------------- */

/* The option that is also in a list; NULL: none. */
typedef struct overlap {
    const trials *trials;
    const char *option;
} overlap;

static void check_given(void *user, const option *o, const char *value)
{
    overlap *both = user;
    (void)value;
    for (int i = 0; i < both->trials->lists; i++)
        if (strcmp(both->trials->list[i].key->option, o->name) == 0)
            both->option = o->name;
}

/* An option that a single run can have, but several at a time cannot. */
static const char *lonely_option(const train_options *o)
{
    bool file = o->files.cache && strcmp(o->files.cache, "file") == 0;
    return o->plot ? "plot" : o->fit.log_steps ? "log-steps" : file ? "cache file" : NULL;
}

static int check_options(const sweep *s)
{
    const train_options *o = s->options;
    const char *lonely = lonely_option(o);
    overlap both = {.trials = s->trials};
    options_each(s->table, check_given, &both);
    if (!o->what)
        return fail_usage(s->trials->command, "found --sweep alone; expected a RECIPE or WORKLOAD");
    if (both.option)
        return fail_usage(s->trials->command, "found --%s and --sweep of it; expected one of them",
                          both.option);
    if (o->fit.save && o->resume)
        return fail_usage(s->trials->command, "found --save and --resume; expected one of them");
    if (lonely)
        return fail_usage(s->trials->command, "found --%s and --sweep; expected one of them",
                          lonely);
    return STATUS_OK;
}

/* The rate that the first run has; 0: the recipe's. */
static double first_rate(const sweep *s)
{
    for (int i = 0; i < s->trials->lists; i++)
        if (strcmp(s->trials->list[i].key->option, "learning-rate") == 0)
            return strtod(s->trials->list[i].value[0], NULL);
    return 0;
}

/* Prepare the model as in the first run; a resumed run uses the model of its file. */
static int prepare_first(const sweep *s, cornu_model *model)
{
    const train_options *o = s->options;
    double rate = first_rate(s);
    int status = o->resume ? STATUS_OK : train_prepare(o, model);
    return status == STATUS_OK && rate > 0
               ? exit_status(cornu_model_change_learning_rate(model, rate))
               : status;
}

static int open_first(sweep *s, cornu_model **model, cornu_data **data)
{
    const train_options *o = s->options;
    data_choice files = {.cache = "off",
                         .background = true,
                         .fraction = o->fraction.value,
                         .other_data = train_adapts(o)};
    int status = exit_status(cornu_model_open(o->what, model));
    if (status == STATUS_OK && !files.other_data)
        status = prepare_first(s, *model);
    if (status == STATUS_OK)
        status = open_data(*model, o->data, true, &files, &s->progress, data);
    if (status == STATUS_OK && files.other_data)
        status = adapt_model(*model, *data, &s->progress);
    if (status == STATUS_OK && files.other_data)
        status = prepare_first(s, *model);
    return status == STATUS_OK && !o->resume ? exit_status(cornu_fit_check(*model, *data)) : status;
}

/* Finds errors that concern all runs once, before any begins; downloads the data, and computes
   the memory of a run. */
static int open_once(sweep *s, int64_t *bytes)
{
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    cornu_data_loading loading = {.size = sizeof loading, .files = 0};
    int status = open_first(s, &model, &data);
    if (status == STATUS_OK) {
        (void)cornu_data_loading_get(data, &loading);
        s->keeps_pixels = loading.files > 0;
        *bytes = training_bytes(s, model, data) + data_bytes(data);
    }
    cornu_data_close(data);
    cornu_model_close(model);
    return status;
}

/* A temporary folder if no other folder gets the runs' tables of epochs. */
static int make_temporary(sweep *s)
{
    const train_options *o = s->options;
    const char *folder = getenv("TMPDIR");
    if (o->fit.save || o->resume || o->fit.log)
        return STATUS_OK;
    snprintf(s->temporary, sizeof s->temporary, "%.1000s/cornu-sweep-XXXXXX",
             folder && *folder ? folder : "/tmp");
    if (mkdtemp(s->temporary))
        return STATUS_OK;
    int status = fail(STATUS_FAILURE, "%s: cannot be made: %s", s->temporary, strerror(errno));
    *s->temporary = 0;
    return status;
}

static void say_beginning(const sweep *s)
{
    int ranks = cornu_ranks_count(s->ranks);
    char on[48] = "";
    if (s->options->quiet || !is_speaker())
        return;
    if (ranks > 1)
        snprintf(on, sizeof on, " on %d ranks, here", ranks);
    print("%d run%s of %s%s%s %d at a time with %lld %s%s\n", s->trials->count,
          s->trials->count == 1 ? "" : "s", s->options->what, on, ranks > 1 ? "" : ",", s->at_once,
          (long long)s->threads, s->threads == 1 ? "thread" : "threads",
          s->at_once == 1 ? "" : " each");
    if (!s->options->fit.save && !s->options->resume)
        print("not saved: models are written with --save FILE alone\n");
    fflush(stdout);
}

/* ---- the end ---------------------------------------------------------------------------- */

static int count_of(const sweep *s, trial_state state)
{
    int count = 0;
    for (int i = 0; i < s->trials->count; i++)
        count += s->results[i].state == state;
    return count;
}

static void say_best(const sweep *s, int best)
{
    words w = {.count = 0};
    bool validates = trial_validates(&s->results[best]);
    sweep_tell_trial(s, best, false, &w);
    print("\nsorted by the best %s of all epochs%s; the first one alone:\n",
          validates ? "val_loss" : "loss", validates ? "" : " (there is no validation)");
    words_print(stdout, &w);
    print("\n");
    words_free(&w);
}

static void tell_again(void *user, const option *o, const char *value)
{
    bool saves = strcmp(o->name, "save") == 0;
    words_add_option(user, saves ? "resume" : o->name, value);
}

static int say_how_to_go_on(const sweep *s)
{
    words w = {.count = 0};
    int done = count_of(s, TRIAL_DONE), all = s->trials->count;
    if (!s->options->fit.save && !s->options->resume)
        return fail(STATUS_INTERRUPTED,
                    "stopped: %d of %d runs are done; without --save nothing is "
                    "left to go on with",
                    done, all);
    words_add(&w, "cornu");
    words_add(&w, "train");
    words_add(&w, s->options->what);
    options_each(s->table, tell_again, &w);
    print_to(stderr, "stopped: %d of %d runs are done. Go on with:", done, all);
    words_print(stderr, &w);
    print_to(stderr, "\n");
    words_free(&w);
    return STATUS_INTERRUPTED;
}

/* Said by one for all. */
static int end(const sweep *s)
{
    int order[TRIALS_MOST];
    int failed = count_of(s, TRIAL_FAILED);
    bool stopped = count_of(s, TRIAL_STOPPED) + count_of(s, TRIAL_WAITING) > 0;
    bool shows = is_speaker() && !s->options->quiet;
    if (shows && count_of(s, TRIAL_DONE) + failed > 0)
        trials_print(s->trials, s->results, order);
    if (shows && count_of(s, TRIAL_DONE) > 0)
        say_best(s, order[0]);
    fflush(stdout);
    if (stopped)
        return is_speaker() ? say_how_to_go_on(s) : STATUS_INTERRUPTED;
    return failed ? STATUS_FAILURE : STATUS_OK;
}

/* ---- the command ------------------------------------------------------------------------ */

static int run_together(sweep *s)
{
    int64_t bytes = 0;
    int beside = 1;
    int status = meet_ranks(s, &beside);
    if (status == STATUS_OK)
        status = open_once(s, &bytes);
    if (status == STATUS_OK)
        status = make_temporary(s);
    if (status != STATUS_OK)
        return status;
    plan_jobs(s, bytes, beside);
    s->jobs = calloc((size_t)s->at_once, sizeof *s->jobs);
    if (!s->jobs)
        return fail(STATUS_FAILURE, "sweep: not enough memory");
    s->began = true;
    say_beginning(s);
    interrupt_set_plan(&(interrupt_plan){.say = say_what_follows, .user = s});
    sweep_run(s);
    interrupt_set_plan(NULL);
    status = gather_results(s);
    return status == STATUS_OK ? end(s) : status;
}

static int run_sweep(sweep *s)
{
    int status = exit_status(cornu_ranks_open(&s->ranks));
    if (status != STATUS_OK)
        return status;
    speak_for(s->ranks);
    progress_open(&s->progress, s->options->quiet);
    s->progress.silent = !is_speaker();
    interrupt_watch(&s->progress);
    status = run_together(s);
    interrupt_forget();
    if (*s->temporary)
        (void)rmdir(s->temporary);
    speak_for(NULL);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED && !s->began) /* unless they know */
        (void)cornu_ranks_end(s->ranks, CORNU_INVALID);
    cornu_ranks_close(s->ranks);
    free(s->jobs);
    return status;
}

int train_sweep(const command *c, const train_options *options, const option *table)
{
    sweep s = {.options = options, .table = table, .trials = malloc(sizeof *s.trials)};
    int status = s.trials ? trials_parse(s.trials, c, &options->sweep)
                          : fail(STATUS_FAILURE, "sweep: not enough memory");
    if (status == STATUS_OK)
        status = check_options(&s);
    s.results = status == STATUS_OK ? calloc((size_t)s.trials->count, sizeof *s.results) : NULL;
    if (status == STATUS_OK)
        status = s.results ? run_sweep(&s) : fail(STATUS_FAILURE, "sweep: not enough memory");
    free(s.results);
    free(s.trials);
    return status;
}
