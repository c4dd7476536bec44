#include "model/config.h"
#include "base/memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ------------------------------------------------------------------------------- */

static const config_field *find_field(const config_field *fields, const char *key)
{
    for (const config_field *f = fields; f && f->key; f++)
        if (strcmp(f->key, key) == 0)
            return f;
    return NULL;
}

static bool is_listed(const config_field *f)
{
    return f->type < CONFIG_NEUTRAL && !(f->flags & CONFIG_ALIAS);
}

enum { LISTED_MAX = 64 };

static int listed_keys(const config_field *fields, const char **keys, int count)
{
    for (const config_field *f = fields; f && f->key && count < LISTED_MAX; f++)
        if (is_listed(f))
            keys[count++] = f->key;
    return count;
}

static cornu_status fail_key(const char *owner, const doc *at, const config_field *a,
                             const config_field *b)
{
    const char *keys[LISTED_MAX];
    int count = listed_keys(b, keys, listed_keys(a, keys, 0));
    if (count == 0)
        return doc_fail(at, "unknown option; %s takes none", owner);
    text known = {0};
    for (int i = 0; i < count; i++)
        text_add(&known, "%s%s", i ? ", " : "", keys[i]);
    int nearest = name_nearest(at->key, keys, count);
    bool named = nearest >= 0;
    cornu_status status = doc_fail(
        at, "unknown option; %s takes %s%s%s%s", owner, known.failed ? "others" : known.data,
        named ? " (did you mean " : "", named ? keys[nearest] : "", named ? "?)" : "");
    text_free(&known);
    return status;
}

cornu_status config_check_keys(const char *owner, const doc *map, const config_field *a,
                               const config_field *b)
{
    if (!map)
        return CORNU_OK;
    if (map->type != DOC_MAP) {
        char found[80];
        return doc_fail(map, "found %s; expected a map of options",
                        doc_show(map, found, sizeof found));
    }
    for (int i = 0; i < map->count; i++)
        if (!find_field(a, map->items[i]->key) && !find_field(b, map->items[i]->key))
            return fail_key(owner, map->items[i], a, b);
    return CORNU_OK;
}

/* ---- reading ---------------------------------------------------------------------------- */

static bool has_limits(const config_field *f)
{
    return f->minimum != 0 || f->maximum != 0 || (f->flags & (CONFIG_ABOVE | CONFIG_BELOW));
}

static bool within(const config_field *f, double value)
{
    if (!has_limits(f))
        return true;
    bool above = f->flags & CONFIG_ABOVE ? value > f->minimum : value >= f->minimum;
    bool below = f->flags & CONFIG_BELOW ? value < f->maximum : value <= f->maximum;
    return above && below;
}

enum { WANTED_SIZE = 160 };

/* "a number greater than 0 and at most 1 or null" */
static const char *wanted(const config_field *f, const char *kind, char *buffer)
{
    size_t used = (size_t)snprintf(buffer, WANTED_SIZE, "%s", kind);
    bool least = has_limits(f) && isfinite(f->minimum);
    bool most = has_limits(f) && isfinite(f->maximum);
    if (least && most && !(f->flags & (CONFIG_ABOVE | CONFIG_BELOW))) {
        used += (size_t)snprintf(buffer + used, WANTED_SIZE - used, " from %.10g to %.10g",
                                 f->minimum, f->maximum);
        least = most = false;
    }
    if (least)
        used +=
            (size_t)snprintf(buffer + used, WANTED_SIZE - used, " %s %.10g",
                             f->flags & CONFIG_ABOVE ? "greater than" : "of at least", f->minimum);
    if (most)
        used +=
            (size_t)snprintf(buffer + used, WANTED_SIZE - used, "%s %s %.10g", least ? " and" : "",
                             f->flags & CONFIG_BELOW ? "less than" : "at most", f->maximum);
    if (f->flags & CONFIG_NULLABLE)
        snprintf(buffer + used, WANTED_SIZE - used, " or null");
    return buffer;
}

static cornu_status fail_found(const doc *d, const char *expected)
{
    char found[80];
    return doc_fail(d, "found %s; expected %s", doc_show(d, found, sizeof found), expected);
}

static bool get_int(const config_field *f, const doc *d, int64_t *out)
{
    if (d->type != DOC_INT || !within(f, (double)d->integer))
        return false;
    *out = d->integer;
    return true;
}

static cornu_status read_int(const config_field *f, const doc *d, void *out)
{
    char buffer[WANTED_SIZE];
    if (get_int(f, d, out))
        return CORNU_OK;
    return fail_found(d, wanted(f, "a whole number", buffer));
}

static bool get_pair(const config_field *f, const doc *d, int64_t out[2])
{
    if (get_int(f, d, &out[0])) {
        out[1] = out[0];
        return true;
    }
    return d->type == DOC_LIST && d->count == 2 && get_int(f, d->items[0], &out[0]) &&
           get_int(f, d->items[1], &out[1]);
}

static cornu_status read_pair(const config_field *f, const doc *d, void *out)
{
    char buffer[WANTED_SIZE];
    if (get_pair(f, d, out))
        return CORNU_OK;
    return fail_found(d, wanted(f, "one or two [height, width] whole numbers", buffer));
}

static cornu_status read_padding(const config_field *f, const doc *d, void *out)
{
    int64_t *sides = out, pair[2]; /* top, bottom, left, right */
    char buffer[WANTED_SIZE];
    if (get_pair(f, d, pair)) {
        sides[0] = sides[1] = pair[0];
        sides[2] = sides[3] = pair[1];
        return CORNU_OK;
    }
    if (d->type == DOC_LIST && d->count == 2 && d->items[0]->type == DOC_LIST &&
        d->items[1]->type == DOC_LIST && get_pair(f, d->items[0], sides) &&
        get_pair(f, d->items[1], sides + 2))
        return CORNU_OK;
    return fail_found(
        d,
        wanted(f, "N, [height, width] or [[top, bottom], [left, right]], whole numbers", buffer));
}

static cornu_status read_real(const config_field *f, const doc *d, void *out)
{
    double *value = out;
    char buffer[WANTED_SIZE];
    if ((d->type != DOC_REAL && d->type != DOC_INT) || !isfinite(d->real) || !within(f, d->real))
        return fail_found(d, wanted(f, "a number", buffer));
    *value = d->real;
    return CORNU_OK;
}

static cornu_status read_bool(const config_field *f, const doc *d, void *out)
{
    (void)f;
    if (d->type != DOC_BOOL)
        return fail_found(d, "true or false");
    *(bool *)out = d->boolean;
    return CORNU_OK;
}

/* The index of `word` in the `|`-separated list, or -1. */
static int choice_index(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0;; i++) {
        size_t item = strcspn(choices, "|");
        if (item == length && memcmp(choices, word, item) == 0)
            return i;
        if (choices[item] == 0)
            return -1;
        choices += item + 1;
    }
}

static cornu_status read_choice(const config_field *f, const doc *d, void *out)
{
    int index = d->type == DOC_STRING ? choice_index(f->choices, d->string) : -1;
    if (index < 0) {
        const char *first = f->choices, *second = strchr(first, '|');
        char expected[WANTED_SIZE];
        snprintf(expected, sizeof expected, "%.*s%s%s", (int)strcspn(first, "|"), first,
                 second ? " or " : "", second ? second + 1 : "");
        return fail_found(d, expected);
    }
    *(int *)out = index;
    return CORNU_OK;
}

static cornu_status fail_activation(const doc *d, const char *name)
{
    const char *names[ACTIVATION_COUNT];
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        names[i] = activation_name((activation_kind)i);
    return name_fail(d, "activation", name, names, ACTIVATION_COUNT);
}

/* An activation with its own slope, as Keras writes a layer used as an activation: {class_name:
   LeakyReLU, config: {negative_slope: 0.1}}. */
static cornu_status read_activation_layer(const doc *d, const char *name, const doc *options,
                                          activation *out)
{
    const char *key = out->kind == ACTIVATION_LEAKY_RELU ? "negative_slope" : "alpha";
    static const char *const plain[] = {"name", "trainable", "dtype", NULL};
    const char *const known[] = {key, plain[0], plain[1], plain[2], NULL};
    double alpha = out->alpha;
    if (out->kind != ACTIVATION_LEAKY_RELU && out->kind != ACTIVATION_ELU)
        return doc_fail(d, "%s takes no options", name);
    TRY(doc_only_keys(options, known));
    TRY(doc_read_real(options, key, &alpha));
    out->alpha = (float)alpha;
    if (!isfinite(out->alpha))
        return doc_fail(d, "found %s %g; expected a finite number", key, alpha);
    return CORNU_OK;
}

static cornu_status read_activation(const config_field *f, const doc *d, void *out)
{
    (void)f;
    activation *a = out;
    const char *name;
    const doc *options, *function;
    if (d->type == DOC_NULL) {
        *a = (activation){.kind = ACTIVATION_LINEAR};
        return CORNU_OK;
    }
    /* Keras writes a function as {class_name: function, config: relu}. */
    if (d->type == DOC_MAP && (function = doc_get(d, "class_name")) &&
        function->type == DOC_STRING && strcmp(function->string, "function") == 0)
        return read_activation(f, doc_get(d, "config") ? doc_get(d, "config") : function, out);
    TRY(name_split(d, "an activation", &name, &options));
    const char *short_name = name;
    if (strcmp(name, "LeakyReLU") == 0)
        short_name = "leaky_relu";
    else if (strcmp(name, "ELU") == 0)
        short_name = "elu";
    if (!activation_find(short_name, a))
        return fail_activation(d, name);
    if (short_name != name && a->kind == ACTIVATION_LEAKY_RELU)
        a->alpha = 0.3f; /* the layer's own default */
    return options && options->count ? read_activation_layer(d, name, options, a) : CORNU_OK;
}

static cornu_status read_dimensions(const config_field *f, const doc *d, int first, shape *out)
{
    char buffer[WANTED_SIZE];
    out->rank = 0;
    for (int i = first; i < d->count; i++) {
        if (out->rank == SHAPE_MAX - 1)
            return doc_fail(d, "found %d dimensions; expected at most %d", d->count - first,
                            SHAPE_MAX - 1);
        if (!get_int(f, d->items[i], &out->dim[out->rank++]))
            return fail_found(d->items[i], wanted(f, "a whole number", buffer));
    }
    return CORNU_OK;
}

static cornu_status read_shape(const config_field *f, const doc *d, void *out)
{
    if (d->type != DOC_LIST)
        return fail_found(d, "a list of whole numbers, such as [28, 28, 1]");
    return read_dimensions(f, d, 0, out);
}

static cornu_status read_batch_shape(const config_field *f, const doc *d, void *out)
{
    /* Keras's batch size in the shape is ignored: cornu's comes from the fit section. */
    if (d->type != DOC_LIST || d->count < 1 ||
        (d->items[0]->type != DOC_NULL && d->items[0]->type != DOC_INT))
        return fail_found(d, "a list that starts with null, such as [null, 28, 28, 1]");
    return read_dimensions(f, d, 1, out);
}

static cornu_status read_axis(const config_field *f, const doc *d, void *out)
{
    bool wrapped = d->type == DOC_LIST && d->count == 1;
    return read_int(f, wrapped ? d->items[0] : d, out);
}

static cornu_status read_numbers(const config_field *f, const doc *d, void *out)
{
    number_list *list = out;
    if (d->type != DOC_LIST || d->count > CONFIG_NUMBERS_MAX)
        return fail_found(d, "a list of at most 33 numbers");
    list->count = d->count;
    for (int i = 0; i < d->count; i++)
        TRY(read_real(f, d->items[i], &list->value[i]));
    return CORNU_OK;
}

static cornu_status read_string(const config_field *f, const doc *d, void *out)
{
    (void)f;
    if (d->type != DOC_STRING)
        return fail_found(d, "a string");
    *(const char **)out = d->string;
    return CORNU_OK;
}

static cornu_status read_initializer(const config_field *f, const doc *d, void *out)
{
    (void)f;
    return initializer_read(d, out);
}

static cornu_status read_neutral(const config_field *f, const doc *d, void *out)
{
    (void)out;
    cornu_status status = CORNU_OK;
    json_t *value = doc_to_json(d);
    char *shown = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (!shown) {
        status = status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory to read it", f->key);
    } else if (choice_index(f->choices, shown) < 0) {
        char expected[WANTED_SIZE];
        snprintf(expected, sizeof expected, "%.*s (cornu does not support other values)",
                 (int)strcspn(f->choices, "|"), f->choices);
        status = fail_found(d, expected);
    }
    free(shown);
    json_decref(value);
    return status;
}

static cornu_status read_dtype(const config_field *f, const doc *d, void *out)
{
    (void)f;
    (void)out;
    const doc *name = d;
    if (d->type == DOC_MAP)
        name = doc_get(doc_get(d, "config"), "name");
    if (d->type == DOC_NULL ||
        (name && name->type == DOC_STRING && strcmp(name->string, "float32") == 0))
        return CORNU_OK;
    return fail_found(d, "\"float32\" (cornu does not support other types)");
}

static cornu_status read_ignored(const config_field *f, const doc *d, void *out)
{
    (void)f;
    (void)d;
    (void)out;
    return CORNU_OK;
}

typedef cornu_status field_reader(const config_field *f, const doc *d, void *out);

static field_reader *const readers[] = {
    [CONFIG_INT] = read_int,
    [CONFIG_PAIR] = read_pair,
    [CONFIG_REAL] = read_real,
    [CONFIG_BOOL] = read_bool,
    [CONFIG_CHOICE] = read_choice,
    [CONFIG_ACTIVATION] = read_activation,
    [CONFIG_INITIALIZER] = read_initializer,
    [CONFIG_SHAPE] = read_shape,
    [CONFIG_BATCH_SHAPE] = read_batch_shape,
    [CONFIG_PADDING] = read_padding,
    [CONFIG_AXIS] = read_axis,
    [CONFIG_NUMBERS] = read_numbers,
    [CONFIG_STRING] = read_string,
    [CONFIG_ELSEWHERE] = read_ignored,
    [CONFIG_NEUTRAL] = read_neutral,
    [CONFIG_DTYPE] = read_dtype,
    [CONFIG_IGNORED] = read_ignored,
};

static void store_none(const config_field *f, void *out)
{
    if (f->type == CONFIG_REAL)
        *(double *)out = f->none;
    else if (f->type == CONFIG_INT)
        *(int64_t *)out = (int64_t)f->none;
    else if (f->type == CONFIG_PAIR)
        memset(out, 0, 2 * sizeof(int64_t));
    else if (f->type == CONFIG_SHAPE || f->type == CONFIG_BATCH_SHAPE)
        ((shape *)out)->rank = 0;
    else if (f->type == CONFIG_STRING)
        *(const char **)out = NULL;
}

static cornu_status read_value(const config_field *f, const doc *d, void *out)
{
    if (d->type == DOC_NULL && (f->flags & CONFIG_NULLABLE)) {
        store_none(f, out);
        return CORNU_OK;
    }
    return readers[f->type](f, d, out);
}

static cornu_status read_fallback(const char *owner, const config_field *f, void *out)
{
    doc *d = NULL;
    TRY(doc_parse(f->fallback, strlen(f->fallback), owner, &d));
    cornu_status status = read_value(f, d, out);
    doc_free(d);
    return status;
}

cornu_status config_read(const char *owner, const doc *at, const doc *map,
                         const config_field *fields, void *out)
{
    for (const config_field *f = fields; f->key; f++) {
        const doc *d = doc_get(map, f->key);
        void *value = (char *)out + f->offset;
        if (d)
            TRY(read_value(f, d, value));
        else if (f->flags & CONFIG_REQUIRED)
            return doc_fail(map ? map : at, "%s is missing; %s needs it", f->key, owner);
        else if (f->fallback)
            TRY(read_fallback(owner, f, value));
    }
    return CORNU_OK;
}
