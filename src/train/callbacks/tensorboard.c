/* Keras's TensorBoard: event files of training and validation in two folders, under the tags that
   Keras writes. */
#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "train/callbacks.h"
#include "train/evaluate.h"
#include "train/op_times.h"
#include <cornu/report.h>
#include <cornu/tables.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if CORNU_TENSORBOARD
#include "report/tensorboard/values.h"
#endif

typedef struct tensorboard {
    const doc *options;
    const char *log_dir;
    bool anywhere; /* the caller's own, not a recipe's */
    int64_t histogram_freq;
    int64_t update_freq; /* steps; 0: only epochs */
    bool skip_graph, steps_per_second;
    int64_t samples; /* pictures of them */
    bool matrix, settings;
    int64_t profile_first, profile_last; /* steps of the run, from 1; 0: none */
    op_profile own, *profile;            /* NULL: none */
    bool profiled;                       /* and it has been written */
    struct cornu_report *report;         /* report of each validation; NULL: not requested */
    struct event_file *run, *train, *validation; /* NULL: not there yet */
    int64_t before;                              /* steps taken before this run */
    int64_t first_step;                          /* first step of the epoch in this run */
    double epoch_began, step_began;              /* seconds */
} tensorboard;

static const char *const keys[] = {
    "log_dir",          "histogram_freq",         "write_graph",
    "write_images",     "write_steps_per_second", "update_freq",
    "profile_batch",    "embeddings_freq",        "embeddings_metadata",
    "samples", /* cornu's own, from here on */
    "confusion_matrix", "hyperparameters",        NULL};

#if CORNU_TENSORBOARD

enum { SAMPLES = 8, SAMPLES_MOST = 100 };
/* Steps that --tensorboard profiles: not the first one, which touches memory for the first time. */
enum { PROFILE_FIRST = 2, PROFILE_LAST = 11 };

/* ---- options ------------------------------------------------------------------------------ */

static cornu_status read_update_freq(tensorboard *t, const doc *options)
{
    const doc *d = doc_get(options, "update_freq");
    if (!d || d->type == DOC_NULL || (d->type == DOC_STRING && strcmp(d->string, "epoch") == 0))
        return CORNU_OK;
    t->update_freq = 1;
    if (d->type == DOC_STRING && strcmp(d->string, "batch") == 0)
        return CORNU_OK;
    if (d->type != DOC_INT)
        return doc_fail(d, "found %s; expected epoch, batch or a number of steps",
                        doc_type_name(d->type));
    return doc_read_int(options, "update_freq", 1, INT32_MAX, &t->update_freq);
}

/* A step, or the first and the last of several. */
static cornu_status read_profile_batch(tensorboard *t, const doc *options)
{
    char found[80];
    const doc *d = doc_get(options, "profile_batch");
    if (!d || d->type != DOC_LIST) {
        TRY(doc_read_int(options, "profile_batch", 0, INT32_MAX, &t->profile_first));
        t->profile_last = t->profile_first;
        return CORNU_OK;
    }
    if (d->count == 2 && d->items[0]->type == DOC_INT && d->items[1]->type == DOC_INT) {
        t->profile_first = d->items[0]->integer;
        t->profile_last = d->items[1]->integer;
        if (t->profile_first > 0 && t->profile_first <= t->profile_last &&
            t->profile_last <= INT32_MAX)
            return CORNU_OK;
    }
    return doc_fail(d, "found %s; expected a step, or the first and the last of several, from 1",
                    doc_show(d, found, sizeof found));
}

/* Keras's options that cornu has only at the value that changes nothing. */
static cornu_status read_missing(const doc *options)
{
    bool images = false;
    int64_t embeddings = 0;
    const doc *metadata = doc_get(options, "embeddings_metadata");
    TRY(doc_read_bool(options, "write_images", &images));
    if (images)
        return doc_fail(doc_get(options, "write_images"), "found true; expected false (weights are "
                                                          "shown as histograms)");
    TRY(doc_read_int(options, "embeddings_freq", 0, 0, &embeddings));
    if (metadata && metadata->type != DOC_NULL)
        return doc_fail(metadata, "found %s; expected null (there are no embeddings)",
                        doc_type_name(metadata->type));
    return CORNU_OK;
}

static cornu_status read_options(void *self, const doc *options)
{
    tensorboard *t = self;
    bool graph = true;
    t->options = options;
    t->log_dir = "logs";
    TRY(doc_read_string(options, "log_dir", &t->log_dir));
    TRY(doc_read_int(options, "histogram_freq", 0, INT32_MAX, &t->histogram_freq));
    TRY(doc_read_bool(options, "write_graph", &graph));
    TRY(doc_read_bool(options, "write_steps_per_second", &t->steps_per_second));
    TRY(doc_read_int(options, "samples", 0, SAMPLES_MOST, &t->samples));
    TRY(doc_read_bool(options, "confusion_matrix", &t->matrix));
    TRY(doc_read_bool(options, "hyperparameters", &t->settings));
    t->skip_graph = !graph;
    TRY(read_update_freq(t, options));
    TRY(read_profile_batch(t, options));
    return read_missing(options);
}

/* ---- files -------------------------------------------------------------------------------- */

/* Make the folder log_dir/NAME (log_dir itself: "") and open it. */
static cornu_status open_folder(const tensorboard *t, const fit_state *f, const char *shown,
                                int *folder)
{
    if (f->confined && !t->anywhere) {
        char *within;
        TRY(memory_format(&within, "%s/x", shown));
        cornu_status status = beneath_open_folder(f->output, within, true, folder);
        free(within);
        return status;
    }
    TRY(folder_make(shown));
    *folder = open(shown, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *folder < 0 ? file_fail(shown, "open", errno) : CORNU_OK;
}

static cornu_status open_file(const tensorboard *t, const fit_state *f, const char *name,
                              event_file **out)
{
    char *shown;
    int folder;
    if (*out)
        return CORNU_OK;
    TRY(*name ? path_join(t->log_dir, name, &shown) : memory_copy_string(t->log_dir, &shown));
    cornu_status status = open_folder(t, f, shown, &folder);
    if (status == CORNU_OK) {
        status = event_file_open(folder, shown, out);
        close(folder);
    }
    free(shown);
    return status;
}

/* With --tensorboard: choose what this run can show. */
static void choose(tensorboard *t, const fit_state *f)
{
    const evaluation *v = f->validation;
    t->samples = tensorboard_has_pictures(f->data) ? SAMPLES : 0;
    t->matrix = v && v->data->block[v->split].y_type == SAMPLE_I32 &&
                report_check(f->model, v->data) == CORNU_OK;
    t->settings = true;
    if (!f->sharded) {
        int64_t done = f->model->training.position.iterations - t->before;
        t->profile_first = done + PROFILE_FIRST;
        t->profile_last = done + PROFILE_LAST;
    }
}

/* For a recipe or a program: refuse requests that this run cannot fulfil. */
static cornu_status check(const tensorboard *t, const fit_state *f)
{
    if (t->samples > 0 && !tensorboard_has_pictures(f->data))
        return doc_fail(t->options, "samples: found data that are no pictures; expected 0");
    if (t->profile_first > 0 && f->sharded)
        return doc_fail(t->options, "profile_batch: found a run of shards; expected 0");
    if (t->matrix && !f->validation)
        return doc_fail(t->options, "confusion_matrix: found a run without validation; expected "
                                    "false, or validation data");
    if (t->matrix && report_check(f->model, f->validation->data) != CORNU_OK)
        return doc_fail(t->options, "confusion_matrix: %s", cornu_last_error());
    return CORNU_OK;
}

/* A step is profiled once: a second callback uses the profile of the first. */
static void begin_profile(tensorboard *t, fit_state *f)
{
    if (t->profile_first == 0)
        return;
    if (!f->profile) {
        t->own = (op_profile){.first = t->before + t->profile_first - 1,
                              .last = t->before + t->profile_last - 1};
        f->profile = &t->own;
    }
    t->profile = f->profile;
}

static cornu_status on_fit_begin(void *self, fit_state *f)
{
    tensorboard *t = self;
    t->before = f->resumed ? 0 : f->model->training.position.iterations;
    if (f->confined && !t->anywhere && beneath_check(t->log_dir) != CORNU_OK)
        return doc_fail(t->options, "log_dir: %s", cornu_last_error());
    if (t->anywhere)
        choose(t, f);
    else
        TRY(check(t, f));
    begin_profile(t, f);
    if (t->matrix) {
        evaluation *v = f->validation;
        TRY(report_open(f->model, v->data, v->split, 0, &t->report));
        v->report = t->report;
    }
    return CORNU_OK;
}

static cornu_status write_network(const tensorboard *t, const fit_state *f)
{
    char *json;
    if (t->skip_graph)
        return CORNU_OK;
    TRY(cornu_model_config(f->model, &json));
    cornu_status status = event_file_network(t->train, json);
    cornu_free(json);
    return status;
}

/* TensorBoard expects hyperparameters in a separate run, in the folder above the runs that they
   belong to. */
static cornu_status begin_files(tensorboard *t, const fit_state *f)
{
    TRY(open_file(t, f, "train", &t->train));
    TRY(write_network(t, f));
    if (t->samples > 0)
        TRY(tensorboard_add_samples(t->train, f->data, f->model->training.position.train_samples,
                                    t->samples));
    if (!t->settings)
        return CORNU_OK;
    TRY(open_file(t, f, "", &t->run));
    return tensorboard_add_settings(t->run, f->model);
}

static cornu_status on_epoch_begin(void *self, fit_state *f)
{
    tensorboard *t = self;
    t->epoch_began = t->step_began = clock_seconds();
    t->first_step = f->model->training.position.step;
    if (t->report)
        report_reset(t->report);
    return t->train ? CORNU_OK : begin_files(t, f);
}

/* ---- values ------------------------------------------------------------------------------- */

/* "PREFIX_NAMESUFFIX" */
static cornu_status add_scalar(event_file *file, const char *prefix, const char *name,
                               const char *suffix, int64_t step, double value)
{
    char *tag;
    TRY(memory_format(&tag, "%s_%s%s", prefix, name, suffix));
    cornu_status status = event_file_scalar(file, tag, step, value);
    free(tag);
    return status;
}

static bool wants_steps(const void *self)
{
    const tensorboard *t = self;
    return t->update_freq > 0;
}

static cornu_status on_step_end(void *self, fit_state *f)
{
    tensorboard *t = self;
    int64_t step = f->model->training.position.iterations - t->before;
    double began = t->step_began;
    t->step_began = clock_seconds();
    if (t->update_freq == 0 || step % t->update_freq != 0)
        return CORNU_OK;
    if (t->steps_per_second)
        TRY(event_file_scalar(t->train, "batch_steps_per_second", step,
                              1 / (t->step_began - began)));
    for (int i = 0; i < f->step_logs; i++)
        TRY(add_scalar(t->train, "batch", f->logs.name[i], "", step, f->logs.value[i]));
    return CORNU_OK;
}

/* Histograms of the weights after the epoch. */
static cornu_status add_histograms(const tensorboard *t, fit_state *f)
{
    const char *model = f->model->name ? f->model->name : "model";
    TRY(fit_pull(f));
    for (int i = 0; i < f->model->weight_count; i++) {
        const variable *v = &f->model->variables[i];
        char *tag;
        TRY(memory_format(&tag, "%s/%s/histogram", model, v->name)); /* Keras's path */
        cornu_status status = event_file_histogram(t->train, tag, f->epoch, v->value, v->count);
        free(tag);
        TRY(status);
    }
    return CORNU_OK;
}

/* One of the logs, "val_loss" among the validation's. */
static cornu_status add_log(tensorboard *t, fit_state *f, const char *name, double value)
{
    if (strncmp(name, "val_", 4) != 0)
        return add_scalar(t->train, "epoch", name, "", f->epoch, value);
    if (f->not_validated)
        return CORNU_OK;
    TRY(open_file(t, f, "validation", &t->validation));
    TRY(add_scalar(t->validation, "evaluation", name + 4, "_vs_iterations",
                   f->model->training.position.iterations, value));
    return add_scalar(t->validation, "epoch", name + 4, "", f->epoch, value);
}

static cornu_status write_profile(const tensorboard *t, session *s, kernel_choice *choices,
                                  double *seconds)
{
    const op_profile *p = t->profile;
    device *d = session_device(s);
    const device_id id = session_device_id(s);
    cornu_device_info info = {.size = sizeof info};
    id.ops->describe(id.number, &info);
    TRY(op_profile_times(p, s, seconds));
    TRY(d->ops->choices(d, p->ready->prepared, choices));
    return tensorboard_add_operations(
        t->train,
        &(measured_step){
            .device = info.name, .plan = p->ready->plan, .choices = choices, .seconds = seconds},
        p->at + 1 - t->before);
}

/* Write the profile when its steps are done, or (`ended`) when no more follow. */
static cornu_status add_profile(tensorboard *t, const fit_state *f, bool ended)
{
    const op_profile *p = t->profile;
    if (!p || t->profiled || p->steps == 0 ||
        (!ended && f->model->training.position.iterations <= p->last))
        return CORNU_OK;
    t->profiled = true;
    kernel_choice *choices = NULL;
    double *seconds = NULL;
    size_t count = (size_t)p->ready->plan->op_count + 1;
    cornu_status status;
    TRY_GOTO(memory_new(count, sizeof *choices, "kernels", &choices));
    TRY_GOTO(memory_new(count, sizeof *seconds, "times", &seconds));
    status = write_profile(t, f->session, choices, seconds);
done:
    free(choices);
    free(seconds);
    return status;
}

static cornu_status on_epoch_end(void *self, fit_state *f)
{
    tensorboard *t = self;
    double steps = (double)(f->model->training.position.step - t->first_step);
    for (int i = 0; i + 1 < f->logs.count; i++) /* the last is the learning rate of the last step */
        TRY(add_log(t, f, f->logs.name[i], f->logs.value[i]));
    TRY(event_file_scalar(t->train, "epoch_learning_rate", f->epoch,
                          session_learning_rate(f->model)));
    if (t->steps_per_second)
        TRY(event_file_scalar(t->train, "epoch_steps_per_second", f->epoch,
                              steps / (clock_seconds() - t->epoch_began)));
    if (t->histogram_freq > 0 && f->epoch % t->histogram_freq == 0)
        TRY(add_histograms(t, f));
    if (t->report && t->report->samples > 0)
        TRY(tensorboard_add_matrix(t->validation, t->report, f->epoch));
    return add_profile(t, f, false);
}

static cornu_status on_fit_end(void *self, fit_state *f)
{
    tensorboard *t = self;
    TRY(add_profile(t, f, true));
    return t->run ? event_file_end(t->run) : CORNU_OK;
}

static cornu_status sync_files(void *self)
{
    const tensorboard *t = self;
    TRY(event_file_sync(t->run));
    TRY(event_file_sync(t->train));
    return event_file_sync(t->validation);
}

static void close_files(void *self)
{
    tensorboard *t = self;
    cornu_report_close(t->report);
    op_profile_free(&t->own);
    event_file_close(t->run);
    event_file_close(t->train);
    event_file_close(t->validation);
}

const callback_kind callback_tensorboard = {.size = sizeof(tensorboard),
                                            .keys = keys,
                                            .writes = true,
                                            .read = read_options,
                                            .wants_steps = wants_steps,
                                            .on_fit_begin = on_fit_begin,
                                            .on_epoch_begin = on_epoch_begin,
                                            .on_step_end = on_step_end,
                                            .on_epoch_end = on_epoch_end,
                                            .on_fit_end = on_fit_end,
                                            .sync = sync_files,
                                            .close = close_files};

cornu_status callbacks_add_tensorboard(callbacks *c, const char *log_dir)
{
    callback_entry *e = &c->entries[c->count];
    tensorboard *t;
    TRY(memory_new(1, sizeof *t, "callback", &t));
    t->log_dir = log_dir;
    t->anywhere = true;
    *e = (callback_entry){.name = "tensorboard", .kind = &callback_tensorboard, .self = t};
    c->count++;
    c->unsaved = 1;
    return CORNU_OK;
}

#else

static cornu_status fail_absent(void)
{
    return status_fail(CORNU_UNSUPPORTED,
                       "tensorboard: found a cornu that was built without it "
                       "(CORNU_TENSORBOARD=OFF); expected one with it, which needs protobuf-c");
}

static cornu_status read_options(void *self, const doc *options)
{
    (void)self, (void)options;
    return fail_absent();
}

const callback_kind callback_tensorboard = {
    .size = sizeof(tensorboard), .keys = keys, .read = read_options};

cornu_status callbacks_add_tensorboard(callbacks *c, const char *log_dir)
{
    (void)c, (void)log_dir;
    return fail_absent();
}

#endif
