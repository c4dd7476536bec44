/* A run's callbacks at work, and what they remember in a model. */
#include "train/callbacks.h"
#include <string.h>

static bool is_mute(const callbacks *c, const callback_kind *kind)
{
    return c->mute && kind->writes;
}

bool callbacks_every_step(const callbacks *c)
{
    for (int i = 0; i < c->count; i++) {
        const callback_kind *kind = c->entries[i].kind;
        if (is_mute(c, kind))
            continue;
        if (kind->every_step || (kind->wants_steps && kind->wants_steps(c->entries[i].self)))
            return true;
    }
    return false;
}

typedef cornu_status callback_function(void *self, fit_state *f);

static callback_function *function_of(const callback_kind *kind, callback_event event)
{
    switch (event) {
    case CALLBACK_FIT_BEGIN:
        return kind->on_fit_begin;
    case CALLBACK_EPOCH_BEGIN:
        return kind->on_epoch_begin;
    case CALLBACK_STEP_END:
        return kind->on_step_end;
    case CALLBACK_EPOCH_END:
        return kind->after_the_epoch ? NULL : kind->on_epoch_end;
    case CALLBACK_AFTER_EPOCH:
        return kind->after_the_epoch ? kind->on_epoch_end : NULL;
    case CALLBACK_FIT_END:
        return kind->on_fit_end;
    }
    return NULL;
}

cornu_status callbacks_run(callbacks *c, callback_event event, fit_state *f)
{
    for (int i = 0; i < c->count; i++) {
        callback_function *function = function_of(c->entries[i].kind, event);
        if (function && !is_mute(c, c->entries[i].kind))
            TRY(function(c->entries[i].self, f));
    }
    return CORNU_OK;
}

cornu_status callbacks_save(const callbacks *c, cornu_model *model)
{
    json_t *list = json_array();
    for (int i = 0; i < c->count; i++) {
        const callback_entry *e = &c->entries[i];
        cornu_status status =
            e->kind->sync && !is_mute(c, e->kind) ? e->kind->sync(e->self) : CORNU_OK;
        if (status == CORNU_OK && i >= c->count - c->unsaved)
            continue;
        if (status != CORNU_OK) {
            json_decref(list);
            return status;
        }
        json_t *state = e->kind->save ? e->kind->save(e->self) : json_object();
        json_t *item = json_pack("{s:s, s:o}", "name", e->name, "state", state);
        if (!item || json_array_append_new(list, item) != 0) {
            json_decref(list);
            return status_fail(CORNU_OUT_OF_MEMORY, "callbacks: cannot keep their state");
        }
    }
    json_decref(model->training.callback_state);
    model->training.callback_state = list;
    return CORNU_OK;
}

cornu_status callbacks_restore(callbacks *c, const cornu_model *model)
{
    const json_t *list = model->training.callback_state;
    int count = c->count - c->unsaved;
    if (json_array_size(list) != (size_t)count)
        return status_fail(CORNU_BAD_FILE,
                           "callbacks: found the state of %zu in the model file; expected %d as in "
                           "its recipe",
                           json_array_size(list), count);
    for (int i = 0; i < count; i++) {
        const callback_entry *e = &c->entries[i];
        const json_t *item = json_array_get(list, (size_t)i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (!name || strcmp(name, e->name) != 0)
            return status_fail(
                CORNU_BAD_FILE,
                "callbacks[%d]: found the state of %s in the model file; expected %s", i,
                name ? name : "none", e->name);
        const json_t *state = json_object_get(item, "state");
        if (e->kind->restore && !e->kind->restore(e->self, state))
            return status_fail(CORNU_BAD_FILE,
                               "callbacks[%d]: found a damaged state of %s in the model file", i,
                               name);
    }
    return CORNU_OK;
}
