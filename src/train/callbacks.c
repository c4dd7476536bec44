#include "train/callbacks.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct callback_row {
    const char *name, *class_name;
    const callback_kind *kind;
} callback_row;

static const callback_row rows[] = {
#define CALLBACK(name, class_name, row) {name, class_name, &row},
#include "train/callbacks.def"
#undef CALLBACK
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct entry {
    const callback_row *row;
    void *self;
} entry;

struct callbacks {
    entry *entries;
    int count;
};

cornu_status fit_pull(fit_state *f)
{
    if (!f->pulled)
        TRY(session_pull(f->session, 0, f->model->weight_count));
    f->pulled = true;
    return CORNU_OK;
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
    f->on_notice(f->user, line);
}

/* ---- reading ---------------------------------------------------------------------------- */

static const callback_row *find_row(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(name, rows[i].name) == 0 || strcmp(name, rows[i].class_name) == 0)
            return &rows[i];
    return NULL;
}

static cornu_status fail_name(const doc *at, const char *found)
{
    text t = {0};
    for (int i = 0; i < ROWS; i++)
        text_add(&t, "%s%s", i ? ", " : "", rows[i].name);
    cornu_status status = doc_fail(at, "found callback %s; expected one of %s", found,
                                   t.data ? t.data : "the table's");
    text_free(&t);
    return status;
}

/* NAME, or {NAME: {options}}. */
static cornu_status read_entry(const doc *item, entry *e)
{
    char found[80];
    const char *name = item->type == DOC_STRING ? item->string : NULL;
    const doc *options = NULL;
    if (item->type == DOC_MAP && item->count == 1) {
        options = item->items[0];
        name = options->key;
    }
    if (!name)
        return doc_fail(item, "found %s; expected the name of a callback, or NAME: {options}",
                        doc_show(item, found, sizeof found));
    e->row = find_row(name);
    if (!e->row)
        return fail_name(options ? options : item, name);
    if (options && options->type == DOC_NULL)
        options = NULL;
    const callback_kind *kind = e->row->kind;
    TRY(doc_only_keys(options, kind->keys));
    TRY(memory_new(1, kind->size, "callback", &e->self));
    cornu_status status = kind->read ? kind->read(e->self, options) : CORNU_OK;
    /* A callback's own messages name the option; here is where it stands. */
    return status;
}

cornu_status callbacks_open(const doc *list, callbacks **out)
{
    *out = NULL;
    callbacks *c;
    int count = list ? list->count : 0;
    TRY(memory_new(1, sizeof *c, "callbacks", &c));
    cornu_status status =
        memory_new((size_t)count + 1, sizeof *c->entries, "callbacks", &c->entries);
    for (int i = 0; status == CORNU_OK && i < count; i++) {
        c->count++;
        status = read_entry(list->items[i], &c->entries[i]);
    }
    if (status != CORNU_OK) {
        callbacks_close(c);
        return status;
    }
    *out = c;
    return CORNU_OK;
}

void callbacks_close(callbacks *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        if (e->self && e->row->kind->close)
            e->row->kind->close(e->self);
        free(e->self);
    }
    free(c->entries);
    free(c);
}

cornu_status callbacks_check(const doc *list)
{
    callbacks *c;
    TRY(callbacks_open(list, &c));
    callbacks_close(c);
    return CORNU_OK;
}

/* ---- running ---------------------------------------------------------------------------- */

bool callbacks_every_step(const callbacks *c)
{
    for (int i = 0; i < c->count; i++) {
        const callback_kind *kind = c->entries[i].row->kind;
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
        callback_function *function = function_of(c->entries[i].row->kind, event);
        if (function)
            TRY(function(c->entries[i].self, f));
    }
    return CORNU_OK;
}

cornu_status callbacks_save(const callbacks *c, cornu_model *model)
{
    json_t *list = json_array();
    for (int i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        cornu_status status = e->row->kind->sync ? e->row->kind->sync(e->self) : CORNU_OK;
        if (status != CORNU_OK) {
            json_decref(list);
            return status;
        }
        json_t *state = e->row->kind->save ? e->row->kind->save(e->self) : json_object();
        json_t *item = json_pack("{s:s, s:o}", "name", e->row->name, "state", state);
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
    if (json_array_size(list) != (size_t)c->count)
        return status_fail(CORNU_BAD_FILE,
                           "callbacks: found the state of %zu in the model file; expected %d as in "
                           "its recipe",
                           json_array_size(list), c->count);
    for (int i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        const json_t *item = json_array_get(list, (size_t)i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (!name || strcmp(name, e->row->name) != 0)
            return status_fail(
                CORNU_BAD_FILE,
                "callbacks[%d]: found the state of %s in the model file; expected %s", i,
                name ? name : "none", e->row->name);
        const json_t *state = json_object_get(item, "state");
        if (e->row->kind->restore && !e->row->kind->restore(e->self, state))
            return status_fail(CORNU_BAD_FILE,
                               "callbacks[%d]: found a damaged state of %s in the model file", i,
                               name);
    }
    return CORNU_OK;
}
