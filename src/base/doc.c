#include "base/doc.h"
#include "base/files.h"
#include "base/memory.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH_MAX = 64 };

typedef struct reader {
    yaml_parser_t parser;
    locale_t c_locale; /* numbers use a point whatever the program's locale says */
    const char *source;
    doc *root;
    doc *open[DEPTH_MAX]; /* lists and maps that are not yet closed */
    size_t capacity[DEPTH_MAX];
    int depth;
    char *key; /* a key that was read and waits for its value */
} reader;

static void node_free(doc *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->count; i++)
        node_free(d->items[i]);
    free(d->items);
    free(d->string);
    free((char *)(uintptr_t)d->key);
    free(d);
}

void doc_free(doc *d)
{
    if (d)
        free((char *)(uintptr_t)d->source);
    node_free(d);
}

/* ---- scalars ---------------------------------------------------------------------------- */

static bool one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Does `word` have the form of a number: [+-] digits [. digits] [e [+-] digits]? */
static bool is_number(const char *word, bool *whole)
{
    const char *at = word + (*word == '-' || *word == '+'), *digits = at;
    at = skip_digits(at);
    size_t count = (size_t)(at - digits);
    *whole = *at == 0;
    if (*at == '.') {
        const char *fraction = at + 1;
        at = skip_digits(fraction);
        count += (size_t)(at - fraction);
    }
    if (count > 0 && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1;
        exponent += *exponent == '-' || *exponent == '+';
        at = skip_digits(exponent);
        if (at == exponent)
            return false;
    }
    return count > 0 && *at == 0;
}

/* Words for values that are no finite number; `Infinity` and `NaN` are Python's JSON. */
static bool special_real(const char *word, double *value)
{
    static const char *const infinities[] = {".inf", ".Inf", ".INF", "Infinity", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", "NaN", NULL};
    bool negative = *word == '-';
    if (one_of(word + (*word == '-' || *word == '+'), infinities))
        *value = negative ? -INFINITY : INFINITY;
    else if (one_of(word, nans))
        *value = NAN;
    else
        return false;
    return true;
}

/* The type of a plain scalar: YAML 1.2's core schema, decimal numbers only. */
static void resolve(const reader *r, doc *d, const char *word)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    bool whole;
    d->type = DOC_STRING;
    if (one_of(word, nulls)) {
        d->type = DOC_NULL;
    } else if (one_of(word, trues) || one_of(word, falses)) {
        d->type = DOC_BOOL;
        d->boolean = one_of(word, trues);
    } else if (special_real(word, &d->real)) {
        d->type = DOC_REAL;
    } else if (is_number(word, &whole)) {
        d->real = strtod_l(word, NULL, r->c_locale);
        errno = 0;
        d->integer = whole ? strtoll(word, NULL, 10) : 0;
        d->type = whole && errno == 0 ? DOC_INT : DOC_REAL;
        if (d->type == DOC_REAL)
            d->integer = 0;
    }
}

/* ---- reading ---------------------------------------------------------------------------- */

static cornu_status fail_at(const reader *r, yaml_mark_t mark, const char *message)
{
    return status_fail(CORNU_INVALID, "%s:%zu:%zu: %s", r->source, mark.line + 1, mark.column + 1,
                       message);
}

/* Report the parser's error. For bytes that are not text it knows an offset instead of a line. */
static cornu_status fail_parser(const reader *r, const char *input, size_t size)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "cannot be read";
    if (p->error == YAML_MEMORY_ERROR || errno == ENOMEM)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory to read it", r->source);
    yaml_mark_t mark = p->problem_mark;
    if (p->error == YAML_READER_ERROR) {
        mark = (yaml_mark_t){0};
        for (size_t i = 0; i < p->problem_offset && i < size; i++) {
            mark.column = input[i] == '\n' ? 0 : mark.column + 1;
            mark.line += input[i] == '\n';
        }
    }
    if (p->context)
        return status_fail(CORNU_INVALID, "%s:%zu:%zu: %s (%s, line %zu)", r->source, mark.line + 1,
                           mark.column + 1, problem, p->context, p->context_mark.line + 1);
    return fail_at(r, mark, problem);
}

/* Put a new node where it belongs: the root, the open list, or the open map under the key. */
static cornu_status add_node(reader *r, yaml_mark_t mark, doc **out)
{
    doc *d;
    TRY(memory_new(1, sizeof *d, r->source, &d));
    d->source = r->source;
    d->line = (int)mark.line + 1;
    if (r->depth == 0) {
        r->root = d;
    } else {
        doc *parent = r->open[r->depth - 1];
        size_t *capacity = &r->capacity[r->depth - 1];
        cornu_status status =
            memory_grow(&parent->items, capacity, (size_t)parent->count + 1, sizeof(doc *));
        if (status != CORNU_OK) {
            free(d);
            return status;
        }
        d->parent = parent;
        d->index = parent->count;
        d->key = r->key;
        r->key = NULL;
        parent->items[parent->count++] = d;
    }
    *out = d;
    return CORNU_OK;
}

static bool key_is_due(const reader *r)
{
    return r->depth > 0 && r->open[r->depth - 1]->type == DOC_MAP && !r->key;
}

static cornu_status read_scalar(reader *r, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (event->data.scalar.anchor || event->data.scalar.tag)
        return fail_at(r, event->start_mark, "anchors (&) and tags (!) are not supported");
    if (strlen(value) != length)
        return fail_at(r, event->start_mark, "found a zero byte in a string; expected text");
    if (key_is_due(r))
        return memory_copy_string(value, &r->key);
    doc *d;
    TRY(add_node(r, event->start_mark, &d));
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        resolve(r, d, value);
    else
        d->type = DOC_STRING;
    return d->type == DOC_STRING ? memory_copy_string(value, &d->string) : CORNU_OK;
}

static cornu_status open_node(reader *r, const yaml_event_t *event, doc_type type, bool decorated)
{
    if (decorated)
        return fail_at(r, event->start_mark, "anchors (&) and tags (!) are not supported");
    if (key_is_due(r))
        return fail_at(r, event->start_mark, "found a list or map as a key; expected a word");
    if (r->depth == DEPTH_MAX)
        return fail_at(r, event->start_mark, "found more than 64 levels; expected at most 64");
    doc *d = NULL;
    TRY(add_node(r, event->start_mark, &d));
    d->type = type;
    r->capacity[r->depth] = 0;
    r->open[r->depth++] = d;
    return CORNU_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const doc *x = *(doc *const *)a, *y = *(doc *const *)b;
    int order = strcmp(x->key, y->key);
    return order ? order : x->index - y->index;
}

static cornu_status close_node(reader *r)
{
    const doc *d = r->open[--r->depth];
    if (d->type != DOC_MAP || d->count < 2)
        return CORNU_OK;
    doc **sorted;
    TRY(memory_new((size_t)d->count, sizeof *sorted, r->source, &sorted));
    memcpy(sorted, d->items, (size_t)d->count * sizeof *sorted);
    qsort(sorted, (size_t)d->count, sizeof *sorted, compare_keys);
    cornu_status status = CORNU_OK;
    for (int i = 1; i < d->count && status == CORNU_OK; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            status = doc_fail(sorted[i], "this key stands twice in its map, first in line %d",
                              sorted[i - 1]->line);
    free(sorted);
    return status;
}

static cornu_status read_event(reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(r, event, DOC_LIST,
                         event->data.sequence_start.anchor || event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_node(r, event, DOC_MAP,
                         event->data.mapping_start.anchor || event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_node(r);
    case YAML_ALIAS_EVENT:
        return fail_at(r, event->start_mark, "aliases (*) are not supported");
    case YAML_DOCUMENT_START_EVENT:
        if (r->root)
            return fail_at(r, event->start_mark, "found a second document; expected one");
        return CORNU_OK;
    default:
        return CORNU_OK;
    }
}

static cornu_status read_events(reader *r, const char *input, size_t size)
{
    cornu_status status = CORNU_OK;
    for (bool more = true; more && status == CORNU_OK;) {
        yaml_event_t event;
        errno = 0;
        if (!yaml_parser_parse(&r->parser, &event))
            return fail_parser(r, input, size);
        more = event.type != YAML_STREAM_END_EVENT;
        status = read_event(r, &event);
        yaml_event_delete(&event);
    }
    if (status == CORNU_OK && !r->root) {
        doc *d;
        status = add_node(r, (yaml_mark_t){0}, &d);
    }
    return status;
}

/* Does a line begin at `at`? YAML ends lines with LF, CR, NEL, LS and PS, and a byte order mark may
   come first. */
static bool begins_line(const char *input, const char *at)
{
    static const char *const before[] = {"\n", "\r", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    size_t left = (size_t)(at - input);
    if (left == 0 || (left == 3 && !memcmp(input, "\xef\xbb\xbf", 3)))
        return true;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t length = strlen(before[i]);
        if (left >= length && !memcmp(at - length, before[i], length))
            return true;
    }
    return false;
}

/* Refuse directives (%TAG, %YAML): they say nothing that is not refused anyway, and libyaml
   compares each with all previous ones, in quadratic time. */
static cornu_status refuse_directives(const reader *r, const char *input, size_t size)
{
    const char *at = input, *end = input + size;
    for (; (at = memchr(at, '%', (size_t)(end - at))); at++)
        if (begins_line(input, at)) {
            yaml_mark_t mark = {0};
            for (const char *c = input; c < at; c++)
                mark.line += *c == '\n';
            return fail_at(r, mark,
                           "found a line that begins with %; directives are not supported");
        }
    return CORNU_OK;
}

cornu_status doc_parse(const char *input, size_t size, const char *source, doc **out)
{
    *out = NULL;
    if (size > DOC_BYTES_MAX)
        return status_fail(CORNU_INVALID, "%s: found %zu bytes; expected at most %d", source, size,
                           DOC_BYTES_MAX);
    reader r = {.source = source};
    TRY(refuse_directives(&r, input, size));
    char *name;
    TRY(memory_copy_string(source, &name));
    r.source = name;
    r.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!r.c_locale || !yaml_parser_initialize(&r.parser)) {
        if (r.c_locale)
            freelocale(r.c_locale);
        free(name);
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory to read it", source);
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)input, size);
    cornu_status status = read_events(&r, input, size);
    yaml_parser_delete(&r.parser);
    freelocale(r.c_locale);
    free(r.key);
    if (status != CORNU_OK) {
        node_free(r.root);
        free(name);
        return status;
    }
    *out = r.root;
    return CORNU_OK;
}

cornu_status doc_read(const char *path, doc **out)
{
    char *input;
    size_t size;
    *out = NULL;
    TRY(file_read(path, DOC_BYTES_MAX, &input, &size));
    cornu_status status = doc_parse(input, size, path, out);
    free(input);
    return status;
}

/* ---- queries ---------------------------------------------------------------------------- */

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

cornu_status doc_fail_found(const doc *d, const char *expected)
{
    char found[80];
    return doc_fail(d, "found %s; expected %s", doc_show(d, found, sizeof found), expected);
}

cornu_status doc_only_keys(const doc *map, const char *const *known)
{
    if (!map || map->type == DOC_NULL)
        return CORNU_OK;
    if (map->type != DOC_MAP)
        return doc_fail_found(map, doc_type_name(DOC_MAP));
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
        return doc_fail_found(map, doc_type_name(DOC_MAP));
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
        return doc_fail_found(d, doc_type_name(DOC_INT));
    if (maximum == INT64_MAX)
        snprintf(expected, sizeof expected, "a whole number of at least %jd", (intmax_t)minimum);
    else
        snprintf(expected, sizeof expected, "a whole number from %jd to %jd", (intmax_t)minimum,
                 (intmax_t)maximum);
    return doc_fail_found(d, expected);
}

cornu_status doc_read_real(const doc *map, const char *key, double *value)
{
    const doc *d;
    TRY(optional(map, key, &d));
    if (d && d->type != DOC_INT && d->type != DOC_REAL)
        return doc_fail_found(d, doc_type_name(DOC_REAL));
    if (d)
        *value = d->real;
    return CORNU_OK;
}

cornu_status doc_read_bool(const doc *map, const char *key, bool *value)
{
    const doc *d;
    TRY(optional(map, key, &d));
    if (d && d->type != DOC_BOOL)
        return doc_fail_found(d, doc_type_name(DOC_BOOL));
    if (d)
        *value = d->boolean;
    return CORNU_OK;
}

cornu_status doc_read_string(const doc *map, const char *key, const char **value)
{
    const doc *d;
    TRY(optional(map, key, &d));
    if (d && d->type != DOC_STRING)
        return doc_fail_found(d, doc_type_name(DOC_STRING));
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

static void set_line(doc *d, int line)
{
    d->line = line;
    for (int i = 0; i < d->count; i++)
        set_line(d->items[i], line);
}

cornu_status doc_from_json(const json_t *value, const doc *parent, const char *key, doc **out)
{
    doc *d = NULL;
    char *name = NULL, *printed = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    cornu_status status = printed ? memory_copy_string(key, &name)
                                  : status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory", key);
    if (status == CORNU_OK)
        status = doc_parse(printed, strlen(printed), parent->source, &d);
    free(printed);
    if (status != CORNU_OK) {
        free(name);
        return status;
    }
    d->key = name;
    d->parent = parent;
    set_line(d, parent->line);
    *out = d;
    return CORNU_OK;
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
