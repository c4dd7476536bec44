/* The runs of a sweep: their command lines and their results. */
#include "bench/show.h"
#include "cli/train_sweep.h"
#include <cornu/parallel.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void sweep_tell_trial(const sweep *s, int trial, bool resumed, words *w)
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
static void show_trial(const sweep *s, int trial, char *text, size_t size)
{
    char name[TRIAL_NAME];
    trial_name(s->trials, trial, ' ', name);
    snprintf(text, size, "run %d of %d: %s", trial + 1, s->trials->count, name);
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
                 r->best, (long long)r->best_epoch, duration_clock(r->seconds, took));
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
    cornu_position p = {.epoch = 0};
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
void sweep_run(sweep *s)
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
