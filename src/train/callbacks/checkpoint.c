/* Keras's ModelCheckpoint: the model file of the last epoch, or with save_best_only of the best. */
#include "train/checkpoint.h"
#include "train/callbacks.h"
#include "train/position.h"

typedef struct checkpoint {
    monitor monitor;
    const char *path; /* in the recipe, which outlives the run */
    bool save_best_only;
    /* state */
    bool has_best;
    double best;
} checkpoint;

static const char *const keys[] = {"path", "monitor", "mode", "save_best_only", NULL};

static cornu_status read(void *self, const doc *options)
{
    checkpoint *c = self;
    TRY(monitor_read(&c->monitor, options));
    TRY(doc_read_string(options, "path", &c->path));
    TRY(doc_read_bool(options, "save_best_only", &c->save_best_only));
    if (!c->path)
        return doc_fail(options, "checkpoint: found no path; expected path: FILE.safetensors");
    return CORNU_OK;
}

static cornu_status on_fit_begin(void *self, fit_state *f)
{
    checkpoint *c = self;
    if (c->save_best_only)
        TRY(monitor_find(&c->monitor, "checkpoint", f));
    return checkpoint_check(c->path, "checkpoint: path");
}

static cornu_status on_epoch_end(void *self, fit_state *f)
{
    checkpoint *c = self;
    if (c->save_best_only) {
        double value = monitor_value(&c->monitor, f);
        if (c->has_best && !monitor_improves(&c->monitor, value, c->best))
            return CORNU_OK;
        c->has_best = true;
        c->best = value;
    }
    TRY(fit_pull(f));
    TRY(callbacks_save(f->callbacks, f->model)); /* with this epoch's own */
    return checkpoint_write(f->model, f->session, c->path, &f->saving);
}

static json_t *save(const void *self)
{
    const checkpoint *c = self;
    return json_pack("{s:b, s:o}", "has_best", c->has_best, "best", exact_to_json(c->best));
}

static bool restore(void *self, const json_t *state)
{
    checkpoint *c = self;
    const json_t *has_best = json_object_get(state, "has_best");
    c->has_best = json_is_true(has_best);
    return json_is_boolean(has_best) && exact_from_json(json_object_get(state, "best"), &c->best);
}

const callback_kind callback_checkpoint = {.size = sizeof(checkpoint),
                                           .keys = keys,
                                           .read = read,
                                           .after_the_epoch = true,
                                           .on_fit_begin = on_fit_begin,
                                           .on_epoch_end = on_epoch_end,
                                           .save = save,
                                           .restore = restore};
