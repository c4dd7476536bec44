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
