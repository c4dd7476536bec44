/* Keras's EarlyStopping: end the run when the monitored value has not improved for `patience`
 * epochs. */
#include "exchange/checkpoint.h"
#include "train/callbacks.h"
#include <string.h>

typedef struct early_stopping {
    monitor monitor;
    int64_t patience, start_from_epoch;
    double baseline;
    bool has_baseline, restore_best_weights;
    /* state */
    bool has_best, has_weights, stopped;
    double best;
    int64_t wait, best_epoch;
} early_stopping;

static const char *const keys[] = {"monitor",          "mode",     "min_delta",
                                   "patience",         "baseline", "restore_best_weights",
                                   "start_from_epoch", NULL};

static cornu_status read(void *self, const doc *options)
{
    early_stopping *e = self;
    TRY(monitor_read(&e->monitor, options));
    TRY(doc_read_int(options, "patience", 0, INT32_MAX, &e->patience));
    TRY(doc_read_int(options, "start_from_epoch", 0, INT32_MAX, &e->start_from_epoch));
    TRY(doc_read_bool(options, "restore_best_weights", &e->restore_best_weights));
    const doc *baseline = doc_get(options, "baseline");
    e->has_baseline = baseline && baseline->type != DOC_NULL;
    return doc_read_real(options, "baseline", &e->baseline);
}

static cornu_status on_fit_begin(void *self, fit_state *f)
{
    early_stopping *e = self;
    TRY(monitor_find(&e->monitor, "early_stopping", f));
    if (!e->stopped)
        return CORNU_OK;
    if (f->more_epochs) {
        e->stopped = false; /* the user wants it to go on */
        e->wait = 0;
        return CORNU_OK;
    }
    fit_notice(f, "early_stopping has ended this run; more epochs than before would let it go on");
    f->stop = true;
    return CORNU_OK;
}

static cornu_status keep_weights(early_stopping *e, fit_state *f)
{
    cornu_model *m = f->model;
    e->best_epoch = f->epoch;
    if (!e->restore_best_weights)
        return CORNU_OK;
    TRY(fit_pull(f));
    TRY(model_start_best_weights(m));
    for (int i = 0; i < m->weight_count; i++)
        memcpy(m->training.best_weights[i], m->variables[i].value,
               (size_t)m->variables[i].count * sizeof(float));
    e->has_weights = true;
    return CORNU_OK;
}

static cornu_status on_epoch_end(void *self, fit_state *f)
{
    early_stopping *e = self;
    double value = monitor_value(&e->monitor, f);
    if (f->epoch < e->start_from_epoch || !monitor_known(&e->monitor, f))
        return CORNU_OK;
    if (e->restore_best_weights && !e->has_weights)
        TRY(keep_weights(e, f));
    e->wait++;
    if (!e->has_best || monitor_improves(&e->monitor, value, e->best)) {
        e->has_best = true;
        e->best = value;
        TRY(keep_weights(e, f));
        if (!e->has_baseline || monitor_improves(&e->monitor, value, e->baseline))
            e->wait = 0;
        return CORNU_OK;
    }
    if (e->wait >= e->patience && f->epoch > 0) {
        e->stopped = true;
        f->stop = true;
        fit_notice(f, "Epoch %jd: early stopping; the best %s was %.6g in epoch %jd",
                   (intmax_t)(f->epoch + 1), e->monitor.name, e->best,
                   (intmax_t)(e->best_epoch + 1));
    }
    return CORNU_OK;
}

static cornu_status on_fit_end(void *self, fit_state *f)
{
    early_stopping *e = self;
    cornu_model *m = f->model;
    if (!e->restore_best_weights || !e->has_weights || !m->training.best_weights)
        return CORNU_OK;
    TRY(fit_pull(f));
    device *d = session_device(f->session);
    f->changed = true;
    for (int i = 0; i < m->weight_count; i++) {
        variable *v = &m->variables[i];
        memcpy(v->value, m->training.best_weights[i], (size_t)v->count * sizeof(float));
        TRY(d->ops->write_variable(d, i, v->value, v->count));
    }
    return CORNU_OK;
}

static json_t *save(const void *self)
{
    const early_stopping *e = self;
    return json_pack("{s:b, s:b, s:b, s:o, s:I, s:I}", "has_best", e->has_best, "has_weights",
                     e->has_weights, "stopped", e->stopped, "best", exact_to_json(e->best), "wait",
                     (json_int_t)e->wait, "best_epoch", (json_int_t)e->best_epoch);
}

static bool restore(void *self, const json_t *state)
{
    early_stopping *e = self;
    const json_t *has_best = json_object_get(state, "has_best");
    const json_t *has_weights = json_object_get(state, "has_weights");
    const json_t *stopped = json_object_get(state, "stopped");
    e->has_best = json_is_true(has_best);
    e->has_weights = json_is_true(has_weights);
    e->stopped = json_is_true(stopped);
    return exact_from_json(json_object_get(state, "best"), &e->best) &&
           count_from_json(json_object_get(state, "wait"), &e->wait) &&
           count_from_json(json_object_get(state, "best_epoch"), &e->best_epoch) &&
           json_is_boolean(has_best) && json_is_boolean(has_weights) && json_is_boolean(stopped);
}

const callback_kind callback_early_stopping = {.size = sizeof(early_stopping),
                                               .keys = keys,
                                               .read = read,
                                               .on_fit_begin = on_fit_begin,
                                               .on_epoch_end = on_epoch_end,
                                               .on_fit_end = on_fit_end,
                                               .save = save,
                                               .restore = restore};
