/* Keras's ModelCheckpoint: saves the model file (or only the weights) every epoch, every
   `period` epochs (Keras 2), every few steps, or with save_best_only when the model is the best
   so far. The name may contain {epoch}, {batch} and the logged values, which are formatted as by
   Python's str.format. */
#include "exchange/checkpoint.h"
#include "base/files.h"
#include "base/memory.h"
#include "exchange/keras/keras.h"
#include "format/hdf5/hdf5.h"
#include "format/tensor_file.h"
#include "train/callbacks.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct checkpoint {
    monitor monitor;
    const doc *at;    /* in the recipe, which outlives the run */
    const char *name; /* with its fields */
    bool save_best_only, save_weights_only;
    int64_t save_freq; /* steps; 0: each epoch */
    int64_t period;    /* epochs, where save_freq is 0 */
    int64_t verbose;
    char *written; /* the last file, which is known to be ours */
    /* state */
    bool has_best;
    double best;
    int64_t seen;  /* since a file was due: steps, or epochs where save_freq is 0 */
    int64_t epoch; /* completed epochs of the run when `seen` was counted; -1: not yet */
} checkpoint;

static const char *const keys[] = {"filepath",
                                   "path",
                                   "monitor",
                                   "mode",
                                   "verbose",
                                   "save_best_only",
                                   "save_weights_only",
                                   "save_freq",
                                   "period",
                                   "initial_value_threshold",
                                   NULL};

/* ---- options ---------------------------------------------------------------------------- */

static cornu_status read_name(checkpoint *c, const doc *options)
{
    const doc *path = doc_get(options, "path"), *filepath = doc_get(options, "filepath");
    if (path && filepath)
        return doc_fail(path, "found path and filepath; expected one of them");
    TRY(doc_read_string(options, path ? "path" : "filepath", &c->name));
    if (!c->name)
        return doc_fail(options,
                        "checkpoint: found no path; expected filepath: FILE.safetensors, such as "
                        "\"{epoch:02d}-{val_loss:.2f}.safetensors\"");
    c->at = path ? path : filepath;
    return CORNU_OK;
}

static cornu_status read_save_freq(checkpoint *c, const doc *options)
{
    const doc *d = doc_get(options, "save_freq");
    if (!d || d->type == DOC_NULL || (d->type == DOC_STRING && strcmp(d->string, "epoch") == 0))
        return CORNU_OK;
    if (d->type != DOC_INT)
        return doc_fail(d, "found %s; expected epoch or a number of steps", doc_type_name(d->type));
    return doc_read_int(options, "save_freq", 1, INT32_MAX, &c->save_freq);
}

static cornu_status read_period(checkpoint *c, const doc *options)
{
    const doc *d = doc_get(options, "period");
    c->period = 1;
    c->epoch = -1;
    TRY(doc_read_int(options, "period", 1, INT32_MAX, &c->period));
    if (d && d->type != DOC_NULL && c->save_freq > 0)
        return doc_fail(d, "found it beside a save_freq of %jd steps; expected one of the two",
                        (intmax_t)c->save_freq);
    return CORNU_OK;
}

static cornu_status read_options(void *self, const doc *options)
{
    checkpoint *c = self;
    const doc *threshold = doc_get(options, "initial_value_threshold");
    TRY(monitor_read(&c->monitor, options));
    TRY(read_name(c, options));
    TRY(read_save_freq(c, options));
    TRY(read_period(c, options));
    TRY(doc_read_bool(options, "save_best_only", &c->save_best_only));
    TRY(doc_read_bool(options, "save_weights_only", &c->save_weights_only));
    TRY(doc_read_int(options, "verbose", 0, 1, &c->verbose));
    c->has_best = threshold && threshold->type != DOC_NULL;
    return doc_read_real(options, "initial_value_threshold", &c->best);
}

/* ---- the name --------------------------------------------------------------------------- */

/* The file's name: after an epoch it may have all logged values, within an epoch `batch` and the
   values that steps have. */
static cornu_status make_name(const checkpoint *c, const fit_state *f, char **name)
{
    name_field fields[HISTORY_COLUMNS_MAX + 2] = {{"epoch", true, (double)(f->epoch + 1)}};
    int count = 1;
    if (c->save_freq > 0)
        fields[count++] = (name_field){"batch", true, (double)f->model->training.position.step};
    int logged = c->save_freq > 0 ? f->step_logs : f->logs.count;
    for (int i = 0; i < logged; i++)
        fields[count++] = (name_field){f->logs.name[i], false, f->logs.value[i]};
    cornu_status status = name_format(c->name, fields, count, name);
    return status == CORNU_INVALID ? doc_fail(c->at, "%s", cornu_last_error()) : status;
}

/* A file that is there must be one of these. */
static cornu_status check_old_file(const char *path)
{
    tensor_file *file;
    const char *format = NULL;
    if (tensor_file_open(path, &file) == CORNU_OK) {
        format = tensor_file_metadata(file, "format");
        if (!format) /* of Keras's files */
            format = tensor_file_metadata(file, "@cornu_format");
        bool ours = format && strncmp(format, "cornu ", 6) == 0;
        tensor_file_close(file);
        if (ours)
            return CORNU_OK;
    }
    return status_fail(CORNU_INVALID,
                       "%s: found a file that is no checkpoint of cornu; expected one, or none: a "
                       "recipe's own files replace nothing else",
                       path);
}

/* The path of a file in a caller's section: any path, and it may replace any file. */
static cornu_status prepare_own_path(const char *name, char **path)
{
    char *folder;
    TRY(memory_copy_string(name, &folder));
    folder[path_base(name) - name] = 0;
    cornu_status status = *folder ? folder_make(folder) : CORNU_OK;
    free(folder);
    TRY(status);
    TRY(file_write_check(name));
    return memory_copy_string(name, path);
}

/* Make the folder, check its contents, and set *path to the file. */
static cornu_status prepare_path(const checkpoint *c, const fit_state *f, const char *name,
                                 char **path)
{
    if (!f->confined)
        return prepare_own_path(name, path);
    int folder, file;
    TRY(beneath_open_folder(f->output, name, true, &folder));
    bool writable = faccessat(folder, ".", W_OK, 0) == 0;
    close(folder);
    TRY(beneath_open(f->output, name, O_RDONLY, &file));
    if (file >= 0)
        close(file);
    TRY(path_join(f->output ? f->output : "", name, path));
    cornu_status status = CORNU_OK;
    if (!writable)
        status = status_fail(CORNU_IO, "%s: cannot write: its folder is not writable", *path);
    else if (file >= 0 && !(c->written && strcmp(c->written, *path) == 0))
        status = check_old_file(*path);
    if (status != CORNU_OK) {
        free(*path);
        *path = NULL;
    }
    return status;
}

static cornu_status check_name(const checkpoint *c, const fit_state *f)
{
    char *name, *path = NULL;
    TRY(make_name(c, f, &name));
    cornu_status status = CORNU_OK;
    if (!checkpoint_path_is(name))
        status =
            doc_fail(c->at, "found %s; expected a name that ends in " CHECKPOINT_ENDINGS, name);
    if (status == CORNU_OK && keras_path_is(name))
        status = hdf5_check(name);
    if (status == CORNU_OK)
        status = prepare_path(c, f, name, &path);
    if (status == CORNU_INVALID)
        status = doc_fail(c->at, "%s", cornu_last_error());
    free(name);
    free(path);
    return status;
}

static cornu_status on_fit_begin(void *self, fit_state *f)
{
    checkpoint *c = self;
    c->verbose = f->mute ? 0 : c->verbose;
    if (!f->resumed)
        c->epoch = -1;
    if (c->save_best_only)
        TRY(monitor_find(&c->monitor, "checkpoint", f));
    if (c->save_best_only && c->save_freq > 0 && c->monitor.column >= f->step_logs)
        return status_fail(CORNU_INVALID,
                           "checkpoint: monitor: found %s with a save_freq of steps; expected loss "
                           "or a metric, which are known within an epoch",
                           c->monitor.name);
    return f->mute ? CORNU_OK : check_name(c, f);
}

/* ---- saving ----------------------------------------------------------------------------- */

static cornu_status write_file(checkpoint *c, fit_state *f, const char *path)
{
    TRY(fit_pull(f));
    TRY(callbacks_save(f->callbacks, f->model)); /* with this epoch's own */
    TRY(c->save_weights_only ? checkpoint_write_weights(f->model, path, &f->saving)
                             : checkpoint_write(f->model, path, &f->saving));
    if (c->verbose)
        fit_notice(f, "Epoch %jd: saved %s", (intmax_t)(f->epoch + 1), path);
    return CORNU_OK;
}

static bool is_due(checkpoint *c, const fit_state *f)
{
    if (!c->save_best_only)
        return true;
    if (!monitor_known(&c->monitor, f))
        return false;
    double value = monitor_value(&c->monitor, f);
    bool better = !c->has_best || monitor_improves(&c->monitor, value, c->best);
    if (c->verbose && better && c->has_best)
        fit_notice(f, "Epoch %jd: %s improved from %.5f to %.5f", (intmax_t)(f->epoch + 1),
                   c->monitor.name, c->best, value);
    else if (c->verbose && !better)
        fit_notice(f, "Epoch %jd: %s did not improve from %.5f", (intmax_t)(f->epoch + 1),
                   c->monitor.name, c->best);
    if (better) {
        c->has_best = true;
        c->best = value;
    }
    return better;
}

static cornu_status save_now(checkpoint *c, fit_state *f)
{
    char *name, *path;
    if (!is_due(c, f))
        return CORNU_OK;
    if (!c->save_weights_only)
        TRY(fit_gather(f));
    if (f->mute)
        return CORNU_OK;
    TRY(make_name(c, f, &name));
    cornu_status status = prepare_path(c, f, name, &path);
    free(name);
    TRY(status);
    status = write_file(c, f, path);
    free(c->written);
    c->written = path;
    return status;
}

/* Training may continue from another checkpoint's file of the same epoch, written before this
   one's end. */
static cornu_status on_epoch_begin(void *self, fit_state *f)
{
    checkpoint *c = self;
    if (c->save_freq == 0 && c->epoch >= 0)
        c->seen = (c->seen + f->epoch - c->epoch) % c->period;
    c->epoch = f->epoch;
    return CORNU_OK;
}

/* As in Keras 2, a period ends after an epoch with a file due, whether or not the value is
   better. */
static cornu_status on_epoch_end(void *self, fit_state *f)
{
    checkpoint *c = self;
    if (c->save_freq > 0)
        return CORNU_OK;
    c->epoch = f->epoch + 1;
    if (++c->seen < c->period)
        return CORNU_OK;
    c->seen = 0;
    return save_now(c, f);
}

static bool wants_steps(const void *self)
{
    const checkpoint *c = self;
    return c->save_freq > 0;
}

/* Steps are counted over epochs. */
static cornu_status on_step_end(void *self, fit_state *f)
{
    checkpoint *c = self;
    if (c->save_freq == 0 || ++c->seen < c->save_freq)
        return CORNU_OK;
    c->seen = 0;
    return save_now(c, f);
}

static json_t *save(const void *self)
{
    const checkpoint *c = self;
    json_t *state = json_pack("{s:b, s:o, s:I}", "has_best", c->has_best, "best",
                              exact_to_json(c->best), "seen", (json_int_t)c->seen);
    if (state && c->epoch >= 0 &&
        json_object_set_new(state, "epoch", json_integer((json_int_t)c->epoch)) != 0) {
        json_decref(state);
        return NULL;
    }
    return state;
}

/* Model files of before save_freq have no "seen", those of before period no "epoch". */
static bool restore(void *self, const json_t *state)
{
    checkpoint *c = self;
    const json_t *has_best = json_object_get(state, "has_best");
    const json_t *seen = json_object_get(state, "seen"), *epoch = json_object_get(state, "epoch");
    c->has_best = json_is_true(has_best);
    return json_is_boolean(has_best) && exact_from_json(json_object_get(state, "best"), &c->best) &&
           (!seen || count_from_json(seen, &c->seen)) &&
           (!epoch || count_from_json(epoch, &c->epoch));
}

static void close_checkpoint(void *self)
{
    checkpoint *c = self;
    free(c->written);
}

const callback_kind callback_checkpoint = {.size = sizeof(checkpoint),
                                           .keys = keys,
                                           .read = read_options,
                                           .wants_steps = wants_steps,
                                           .after_the_epoch = true,
                                           .on_fit_begin = on_fit_begin,
                                           .on_epoch_begin = on_epoch_begin,
                                           .on_step_end = on_step_end,
                                           .on_epoch_end = on_epoch_end,
                                           .save = save,
                                           .restore = restore,
                                           .close = close_checkpoint};
