/* The table of callbacks, and the list of a fit section. */
#include "base/memory.h"
#include "model/config.h"
#include "train/callbacks.h"
#include <jansson.h>
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

/* NAME, or {NAME: {options}}; NULL: neither. */
static const char *read_name(const doc *item, const doc **options)
{
    *options = item->type == DOC_MAP && item->count == 1 ? item->items[0] : NULL;
    return *options ? (*options)->key : doc_string(item);
}

static cornu_status read_entry(const doc *item, callback_entry *e)
{
    char found[80];
    const doc *options;
    const char *name = read_name(item, &options);
    if (!name)
        return doc_fail(item, "found %s; expected the name of a callback, or NAME: {options}",
                        doc_show(item, found, sizeof found));
    const callback_row *row = find_row(name);
    if (!row)
        return fail_name(options ? options : item, name);
    e->name = row->name;
    e->kind = row->kind;
    if (options && options->type == DOC_NULL)
        options = NULL;
    TRY(doc_only_keys(options, e->kind->keys));
    TRY(memory_new(1, e->kind->size, "callback", &e->self));
    return e->kind->read ? e->kind->read(e->self, options) : CORNU_OK;
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

const char *callbacks_find(const doc *list, const char *name)
{
    for (int i = 0; list && i < list->count; i++) {
        const doc *options;
        const char *found = read_name(list->items[i], &options);
        const callback_row *row = found ? find_row(found) : NULL;
        if (row && strcmp(row->name, name) == 0)
            return found;
    }
    return NULL;
}

cornu_status callbacks_check(const doc *list)
{
    callbacks *c;
    TRY(callbacks_open(list, &c));
    callbacks_close(c);
    return CORNU_OK;
}

json_t *callback_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < ROWS; i++) {
        json_t *options = json_array();
        for (const char *const *key = rows[i].kind->keys; *key; key++)
            json_array_append_new(options, json_pack("{s:s}", "name", *key));
        json_array_append_new(list, config_row(rows[i].class_name, rows[i].name, options));
    }
    return list;
}
