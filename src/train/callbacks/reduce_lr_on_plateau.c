/* Keras's ReduceLROnPlateau: multiply the learning rate by `factor` when the monitored value has
   not improved for `patience` epochs. The optimizer's own schedule stays and is scaled. */
#include "exchange/checkpoint.h"
#include "train/callbacks.h"

typedef struct plateau {
    monitor monitor;
    double factor, min_lr;
    int64_t patience, cooldown;
    /* state */
    bool has_best;
    double best;
    int64_t wait, cooling;
} plateau;

static const char *const keys[] = {"monitor",  "mode",     "min_delta", "factor",
                                   "patience", "cooldown", "min_lr",    NULL};

static cornu_status read(void *self, const doc *options)
{
    plateau *p = self;
    p->monitor.min_delta = 1e-4;
    p->factor = 0.1;
    p->patience = 10;
    TRY(monitor_read(&p->monitor, options));
    TRY(doc_read_real(options, "factor", &p->factor));
    TRY(doc_read_real(options, "min_lr", &p->min_lr));
    TRY(doc_read_int(options, "patience", 0, INT32_MAX, &p->patience));
    TRY(doc_read_int(options, "cooldown", 0, INT32_MAX, &p->cooldown));
    if (!(p->factor > 0 && p->factor < 1))
        return doc_fail(doc_get(options, "factor"), "found %g; expected a number between 0 and 1",
                        p->factor);
    if (!(p->min_lr >= 0))
        return doc_fail(doc_get(options, "min_lr"), "found %g; expected a number of at least 0",
                        p->min_lr);
    return CORNU_OK;
}

static cornu_status on_fit_begin(void *self, fit_state *f)
{
    plateau *p = self;
    return monitor_find(&p->monitor, "reduce_lr_on_plateau", f);
}

/* Keras holds learning rates as float32 and compares with float32(min_lr). */
static bool reduce(const plateau *p, fit_state *f)
{
    double old = session_learning_rate(f->model);
    if (!((float)old > (float)p->min_lr))
        return false;
    double wanted = old * p->factor;
    wanted = wanted > p->min_lr ? wanted : p->min_lr;
    f->model->training.position.learning_rate_factor *= wanted / old;
    fit_notice(f, "Epoch %jd: reducing the learning rate to %.6g", (intmax_t)(f->epoch + 1),
               wanted);
    return true;
}

static cornu_status on_epoch_end(void *self, fit_state *f)
{
    plateau *p = self;
    double value = monitor_value(&p->monitor, f);
    if (!monitor_known(&p->monitor, f))
        return CORNU_OK;
    if (p->cooling > 0) {
        p->cooling--;
        p->wait = 0;
    }
    if (!p->has_best || monitor_improves(&p->monitor, value, p->best)) {
        p->has_best = true;
        p->best = value;
        p->wait = 0;
    } else if (p->cooling == 0) {
        p->wait++;
        if (p->wait >= p->patience && reduce(p, f)) {
            p->cooling = p->cooldown;
            p->wait = 0;
        }
    }
    return CORNU_OK;
}

static json_t *save(const void *self)
{
    const plateau *p = self;
    return json_pack("{s:b, s:o, s:I, s:I}", "has_best", p->has_best, "best",
                     exact_to_json(p->best), "wait", (json_int_t)p->wait, "cooling",
                     (json_int_t)p->cooling);
}

static bool restore(void *self, const json_t *state)
{
    plateau *p = self;
    const json_t *has_best = json_object_get(state, "has_best");
    p->has_best = json_is_true(has_best);
    return exact_from_json(json_object_get(state, "best"), &p->best) &&
           count_from_json(json_object_get(state, "wait"), &p->wait) &&
           count_from_json(json_object_get(state, "cooling"), &p->cooling) &&
           json_is_boolean(has_best);
}

const callback_kind callback_reduce_lr_on_plateau = {.size = sizeof(plateau),
                                                     .keys = keys,
                                                     .read = read,
                                                     .on_fit_begin = on_fit_begin,
                                                     .on_epoch_end = on_epoch_end,
                                                     .save = save,
                                                     .restore = restore};
