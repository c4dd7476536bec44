/* Queries on a document, and conversion to and from JSON. */
#include "base/doc.h"
#include "base/memory.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const doc *doc_get(const doc *map, const char *key)
{
    if (map && map->type == DOC_MAP)
        for (int i = 0; i < map->count; i++)
            if (strcmp(map->items[i]->key, key) == 0)
                return map->items[i];
    return NULL;
}

const char *doc_string(const doc *d)
{
    return d && d->type == DOC_STRING ? d->string : NULL;
}

const char *doc_type_name(doc_type type)
{
    static const char *const names[] = {"nothing",  "true or false", "a whole number", "a number",
                                        "a string", "a list",        "a map"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "an unknown type";
}

/* Add the class name where Keras's JSON has one: "[3] (dense_1, Dense)". */
static void add_class(text *t, const doc *at)
{
    const doc *class_name = doc_get(at, "class_name"), *name = doc_get(at, "name");
    if (!name)
        name = doc_get(doc_get(at, "config"), "name");
    if (!class_name || class_name->type != DOC_STRING)
        return;
    bool named = name && name->type == DOC_STRING;
    text_add(t, " (%.60s%s%.60s)", named ? name->string : "", named ? ", " : "",
             class_name->string);
}

/* "model.layers[3].pool_size" */
static void add_path(text *t, const doc *at)
{
    if (!at->parent)
        return;
    add_path(t, at->parent);
    if (at->key) {
        text_add(t, "%s%s", at->parent->parent ? "." : "", at->key);
        return;
    }
    text_add(t, "[%d]", at->index);
    add_class(t, at);
}

cornu_status doc_fail(const doc *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status_fail_v(CORNU_INVALID, format, arguments);
    va_end(arguments);
    if (!at)
        return CORNU_INVALID;
    text t = {0};
    if (at->parent) {
        add_path(&t, at);
        if (!t.failed)
            status_prefix(CORNU_INVALID, "%s", t.data);
        text_free(&t);
    }
    if (at->source && at->line > 0)
        return status_prefix(CORNU_INVALID, "%s:%d", at->source, at->line);
    if (at->source)
        return status_prefix(CORNU_INVALID, "%s", at->source);
    return CORNU_INVALID;
}

static cornu_status fail_found(const doc *d, const char *expected)
{
    char found[80];
    return doc_fail(d, "found %s; expected %s", doc_show(d, found, sizeof found), expected);
}

cornu_status doc_only_keys(const doc *map, const char *const *known)
{
    if (!map || map->type == DOC_NULL)
        return CORNU_OK;
    if (map->type != DOC_MAP)
        return fail_found(map, doc_type_name(DOC_MAP));
    for (int i = 0; i < map->count; i++) {
        const char *const *found = known;
        while (*found && strcmp(map->items[i]->key, *found) != 0)
            found++;
        if (*found)
            continue;
        text t = {0};
        for (const char *const *k = known; *k; k++)
            text_add(&t, "%s%s", k == known ? "" : ", ", *k);
        cornu_status status = doc_fail(map->items[i], "unknown key; expected %s",
                                       t.data && !t.failed ? t.data : "no keys here");
        text_free(&t);
        return status;
    }
    return CORNU_OK;
}

/* The value of an optional key; NULL where it is missing or null. `map` itself must be a map. */
static cornu_status optional(const doc *map, const char *key, const doc **out)
{
    *out = NULL;
    if (!map || map->type == DOC_NULL)
        return CORNU_OK;
    if (map->type != DOC_MAP)
        return fail_found(map, doc_type_name(DOC_MAP));
    const doc *d = doc_get(map, key);
    *out = d && d->type != DOC_NULL ? d : NULL;
    return CORNU_OK;
}

cornu_status doc_read_int(const doc *map, const char *key, int64_t minimum, int64_t maximum,
                          int64_t *value)
{
    const doc *d;
    char expected[96];
    TRY(optional(map, key, &d));
    if (!d)
        return CORNU_OK;
    if (d->type == DOC_INT && d->integer >= minimum && d->integer <= maximum) {
        *value = d->integer;
        return CORNU_OK;
    }
    if (maximum == INT64_MAX && minimum == INT64_MIN)
        return fail_found(d, doc_type_name(DOC_INT));
    if (maximum == INT64_MAX)
        snprintf(expected, sizeof expected, "a whole number of at least %jd", (intmax_t)minimum);
    else
        snprintf(expected, sizeof expected, "a whole number from %jd to %jd", (intmax_t)minimum,
                 (intmax_t)maximum);
    return fail_found(d, expected);
}

cornu_status doc_read_real(const doc *map, const char *key, double *value)
{
    const doc *d;
    TRY(optional(map, key, &d));
    if (d && d->type != DOC_INT && d->type != DOC_REAL)
        return fail_found(d, doc_type_name(DOC_REAL));
    if (d)
        *value = d->real;
    return CORNU_OK;
}

cornu_status doc_read_bool(const doc *map, const char *key, bool *value)
{
    const doc *d;
    TRY(optional(map, key, &d));
    if (d && d->type != DOC_BOOL)
        return fail_found(d, doc_type_name(DOC_BOOL));
    if (d)
        *value = d->boolean;
    return CORNU_OK;
}

cornu_status doc_read_string(const doc *map, const char *key, const char **value)
{
    const doc *d;
    TRY(optional(map, key, &d));
    if (d && d->type != DOC_STRING)
        return fail_found(d, doc_type_name(DOC_STRING));
    if (d)
        *value = d->string;
    return CORNU_OK;
}

/* ---- JSON ------------------------------------------------------------------------------- */

/* JSON has no infinite numbers: they become strings, spelt as Python spells them. */
static json_t *real_to_json(double value)
{
    if (isnan(value))
        return json_string("NaN");
    if (isinf(value))
        return json_string(value > 0 ? "Infinity" : "-Infinity");
    return json_real(value);
}

static json_t *items_to_json(const doc *d)
{
    bool list = d->type == DOC_LIST;
    json_t *out = list ? json_array() : json_object();
    for (int i = 0; out && i < d->count; i++) {
        json_t *item = doc_to_json(d->items[i]); /* takes the reference, also on failure */
        int error = list ? json_array_append_new(out, item)
                         : json_object_set_new(out, d->items[i]->key, item);
        if (error) {
            json_decref(out);
            out = NULL;
        }
    }
    return out;
}

/* NULL only where memory is short. */
json_t *doc_to_json(const doc *d)
{
    switch (d->type) {
    case DOC_NULL:
        return json_null();
    case DOC_BOOL:
        return json_boolean(d->boolean);
    case DOC_INT:
        return json_integer(d->integer);
    case DOC_REAL:
        return real_to_json(d->real);
    case DOC_STRING:
        return json_string(d->string);
    case DOC_LIST:
    case DOC_MAP:
        return items_to_json(d);
    }
    return NULL;
}

static void show(const doc *d, text *t, size_t size)
{
    if (t->length > size)
        return; /* the caller's text is full */
    switch (d->type) {
    case DOC_NULL:
        text_add(t, "null");
        return;
    case DOC_BOOL:
        text_add(t, d->boolean ? "true" : "false");
        return;
    case DOC_INT:
        text_add(t, "%jd", (intmax_t)d->integer);
        return;
    case DOC_REAL:
        text_add(t, "%g", d->real);
        return;
    case DOC_STRING:
        text_add(t, "\"%s\"", d->string);
        return;
    case DOC_LIST:
    case DOC_MAP:
        break;
    }
    text_add(t, d->type == DOC_LIST ? "[" : "{");
    for (int i = 0; i < d->count && t->length <= size; i++) {
        text_add(t, i ? ", " : "");
        if (d->type == DOC_MAP)
            text_add(t, "%s: ", d->items[i]->key);
        show(d->items[i], t, size);
    }
    text_add(t, d->type == DOC_LIST ? "]" : "}");
}

static json_t *load_once(const char *json, size_t length, size_t flags, json_error_t *error,
                         bool *lacks_memory)
{
    errno = 0;
    json_t *value = json_loadb(json, length, flags, error);
    bool said = !value && (json_error_code(error) == json_error_out_of_memory || !*error->text);
    *lacks_memory = said || errno == ENOMEM; /* jansson rarely reports it itself */
    return value;
}

/* Where its buffer cannot grow, jansson goes on without the byte, and the number that follows
   clears errno: the text then seems damaged, or says something else. So it is read twice, and what
   differs is not the text's. */
json_t *doc_json_load(const char *json, size_t length, size_t flags, json_error_t *error,
                      bool *lacks_memory)
{
    json_error_t again;
    bool lacks[2];
    json_t *value = load_once(json, length, flags, error, &lacks[0]);
    json_t *other = load_once(json, length, flags, &again, &lacks[1]);
    bool same =
        value ? other && json_equal(value, other) : !other && strcmp(error->text, again.text) == 0;
    same = same && error->position == again.position;
    json_decref(other);
    *lacks_memory = lacks[0] || lacks[1] || !same;
    if (!*lacks_memory)
        return value;
    json_decref(value);
    return NULL;
}

char *doc_show(const doc *d, char *out, size_t size)
{
    text t = {0};
    show(d, &t, size);
    const char *shown = t.data && !t.failed ? t.data : doc_type_name(d->type);
    if (size > 0 && strlen(shown) < size)
        snprintf(out, size, "%s", shown);
    else if (size > 4) {
        /* Truncate between characters, not inside one. */
        size_t length = size - 4;
        while (length > 0 && ((unsigned char)shown[length] & 0xC0) == 0x80)
            length--;
        snprintf(out, size, "%.*s...", (int)length, shown);
    } else if (size > 0) {
        *out = 0;
    }
    text_free(&t);
    return out;
}
