#include "train/callbacks.h"
#include "base/memory.h"
#include "train/shards.h"
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool callbacks_have(const callbacks *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->entries[i].name, name) == 0)
            return true;
    return false;
}

bool callbacks_write_files(const callbacks *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->entries[i].kind->writes || c->entries[i].kind->after_the_epoch)
            return true;
    return false;
}

void callbacks_close(callbacks *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++) {
        const callback_entry *e = &c->entries[i];
        if (e->self && e->kind->close)
            e->kind->close(e->self);
        free(e->self);
    }
    free(c->entries);
    free(c);
}

/* ---- at work ----------------------------------------------------------------------------- */

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
    case CALLBACK_EVALUATION_BEGIN:
        return kind->on_evaluation_begin;
    case CALLBACK_EVALUATION_END:
        return kind->on_evaluation_end;
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

/* A new list of each callback's state; NULL without memory. */
static json_t *states_of(const callbacks *c)
{
    json_t *list = json_array();
    for (int i = 0; list && i < c->count - c->unsaved; i++) {
        const callback_entry *e = &c->entries[i];
        json_t *state = e->kind->save ? e->kind->save(e->self) : json_object();
        json_t *item = json_pack("{s:s, s:o}", "name", e->name, "state", state);
        if (!item || json_array_append_new(list, item) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

cornu_status callbacks_save(const callbacks *c, cornu_model *model)
{
    for (int i = 0; i < c->count; i++) {
        const callback_entry *e = &c->entries[i];
        if (e->kind->sync && !is_mute(c, e->kind))
            TRY(e->kind->sync(e->self));
    }
    json_t *list = states_of(c);
    if (!list)
        return status_fail(CORNU_OUT_OF_MEMORY, "callbacks: cannot keep their state");
    json_decref(model->training.callback_state);
    model->training.callback_state = list;
    return CORNU_OK;
}

cornu_status callbacks_to_text(const callbacks *c, char **states)
{
    json_t *list = states_of(c);
    *states = list ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    return *states ? CORNU_OK
                   : status_fail(CORNU_OUT_OF_MEMORY, "callbacks: cannot keep their state");
}

/* `where` the list was found, for messages. */
static cornu_status restore(callbacks *c, const json_t *list, const char *where)
{
    int count = c->count - c->unsaved;
    if (json_array_size(list) != (size_t)count)
        return status_fail(CORNU_BAD_FILE,
                           "callbacks: found the state of %zu in %s; expected %d as in its recipe",
                           json_array_size(list), where, count);
    for (int i = 0; i < count; i++) {
        const callback_entry *e = &c->entries[i];
        const json_t *item = json_array_get(list, (size_t)i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (!name || strcmp(name, e->name) != 0)
            return status_fail(CORNU_BAD_FILE,
                               "callbacks[%d]: found the state of %s in %s; expected %s", i,
                               name ? name : "none", where, e->name);
        const json_t *state = json_object_get(item, "state");
        if (e->kind->restore && !e->kind->restore(e->self, state))
            return status_fail(CORNU_BAD_FILE, "callbacks[%d]: found a damaged state of %s in %s",
                               i, name, where);
    }
    return CORNU_OK;
}

cornu_status callbacks_restore(callbacks *c, const cornu_model *model)
{
    return restore(c, model->training.callback_state, "the model file");
}

/* Callbacks that start afresh keep their current state. */
static cornu_status fill_gaps(const callbacks *c, json_t *list)
{
    json_t *now = states_of(c);
    cornu_status status =
        now ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "callbacks: cannot keep their state");
    for (size_t i = 0; status == CORNU_OK && i < json_array_size(list); i++)
        if (json_is_null(json_array_get(list, i)) && i < json_array_size(now))
            json_array_set(list, i, json_array_get(now, i));
    json_decref(now);
    return status;
}

cornu_status callbacks_from_text(callbacks *c, const char *states)
{
    json_error_t error;
    bool lacks_memory;
    json_t *list = doc_json_load(states, strlen(states), 0, &error, &lacks_memory);
    if (lacks_memory)
        return status_fail(CORNU_OUT_OF_MEMORY, "callbacks: not enough memory for their state");
    if (!json_is_array(list)) {
        json_decref(list);
        return status_fail(CORNU_INVALID,
                           "callback_state: found no list of states; expected the text of "
                           "cornu_history_callbacks");
    }
    cornu_status status = fill_gaps(c, list);
    if (status == CORNU_OK)
        status = restore(c, list, "callback_state");
    json_decref(list);
    return status;
}

/* ---- for the callbacks: the run ---------------------------------------------------------- */

cornu_status fit_pull(fit_state *f)
{
    if (!f->pulled)
        TRY(session_pull(f->session, 0, f->model->weight_count));
    f->pulled = true;
    return CORNU_OK;
}

cornu_status fit_gather(fit_state *f)
{
    return f->shards ? shards_gather(f->shards) : CORNU_OK;
}

void fit_notice(const fit_state *f, const char *format, ...)
{
    if (!f->on_notice)
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    printable_v(line, sizeof line, format, arguments);
    va_end(arguments);
    if (f->held)
        text_add(f->held, "%s\n", line);
    else
        f->on_notice(f->user, line);
}

/* ---- for the callbacks: a value to watch ------------------------------------------------- */

cornu_status monitor_read(monitor *m, const doc *options)
{
    const char *mode = "auto";
    m->name = "val_loss";
    TRY(doc_read_string(options, "monitor", &m->name));
    TRY(doc_read_string(options, "mode", &mode));
    TRY(doc_read_real(options, "min_delta", &m->min_delta));
    m->min_delta = fabs(m->min_delta);
    if (!isfinite(m->min_delta))
        return doc_fail(doc_get(options, "min_delta"), "found %g; expected a finite number",
                        m->min_delta);
    if (strcmp(mode, "min") == 0)
        m->direction = -1;
    else if (strcmp(mode, "max") == 0)
        m->direction = 1;
    else if (strcmp(mode, "auto") != 0)
        return doc_fail(doc_get(options, "mode"), "found \"%s\"; expected auto, min or max", mode);
    return CORNU_OK;
}

/* The loss, or a metric that is one: all others are better when they are more. Of one that the
   caller computes Keras knows as little as its name tells. */
static cornu_status find_direction(const char *callback, const char *name, const cornu_model *m,
                                   int *direction)
{
    const char *bare = strncmp(name, "val_", 4) == 0 ? name + 4 : name;
    *direction = strstr(name, "loss") ? -1 : 1;
    for (int i = 0; i < m->metric_count; i++) {
        const metric *found = &m->metrics[i];
        if (strcmp(metric_name(found), bare) != 0)
            continue;
        *direction = metric_less_is_better(found) ? -1 : 1;
        if (!found->called)
            return CORNU_OK;
        if (strcmp(callback, "early_stopping") == 0)
            return status_fail(
                CORNU_INVALID,
                "%s: mode: found auto for %s, which the caller computes; expected min "
                "or max",
                callback, name);
        *direction = strstr(name, "acc") ? 1 : -1;
    }
    return CORNU_OK;
}

cornu_status monitor_find(monitor *m, const char *callback, const fit_state *f)
{
    const fit_logs *logs = &f->logs;
    text t = {0};
    for (int i = 0; i < logs->count; i++) {
        text_add(&t, "%s%s", i ? ", " : "", logs->name[i]);
        if (strcmp(m->name, logs->name[i]) != 0)
            continue;
        m->column = i;
        text_free(&t);
        return m->direction ? CORNU_OK : find_direction(callback, m->name, f->model, &m->direction);
    }
    cornu_status status = status_fail(
        CORNU_INVALID, "%s: monitor: found %s; expected one of %s%s", callback, m->name,
        t.data ? t.data : "", strncmp(m->name, "val_", 4) ? "" : " (val_ values need validation)");
    text_free(&t);
    return status;
}

double monitor_value(const monitor *m, const fit_state *f)
{
    return f->logs.value[m->column];
}

bool monitor_known(const monitor *m, const fit_state *f)
{
    return !f->not_validated || strncmp(m->name, "val_", 4) != 0;
}

bool monitor_improves(const monitor *m, double value, double reference)
{
    return m->direction < 0 ? value + m->min_delta < reference : value - m->min_delta > reference;
}
