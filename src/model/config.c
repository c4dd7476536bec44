/* Options: their reader and writer; and initializers, regularizers and constraints, which are
   options that have options. */
#include "model/config.h"
#include "base/memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    return doc_fail_found(d, wanted(f, "a whole number", buffer));
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
    return doc_fail_found(d, wanted(f, "one or two [height, width] whole numbers", buffer));
}

static cornu_status read_single(const config_field *f, const doc *d, void *out)
{
    char buffer[WANTED_SIZE];
    if (get_int(f, d->type == DOC_LIST && d->count == 1 ? d->items[0] : d, out))
        return CORNU_OK;
    return doc_fail_found(d, wanted(f, "a whole number", buffer));
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
    return doc_fail_found(
        d,
        wanted(f, "N, [height, width] or [[top, bottom], [left, right]], whole numbers", buffer));
}

static cornu_status read_real(const config_field *f, const doc *d, void *out)
{
    double *value = out;
    char buffer[WANTED_SIZE];
    if ((d->type != DOC_REAL && d->type != DOC_INT) || !isfinite(d->real) || !within(f, d->real))
        return doc_fail_found(d, wanted(f, "a number", buffer));
    *value = d->real;
    return CORNU_OK;
}

static cornu_status read_bool(const config_field *f, const doc *d, void *out)
{
    (void)f;
    if (d->type != DOC_BOOL)
        return doc_fail_found(d, "true or false");
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
        char expected[WANTED_SIZE] = "";
        size_t used = 0;
        for (const char *at = f->choices; *at && used < sizeof expected;) {
            const size_t length = strcspn(at, "|");
            const char *between = at == f->choices ? "" : at[length] ? ", " : " or ";
            used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%.*s", between,
                                     (int)length, at);
            at += length + (at[length] != '\0');
        }
        return doc_fail_found(d, expected);
    }
    *(int *)out = index;
    return CORNU_OK;
}

/* Functions of Keras's module that no layer can apply to its output. */
static const struct {
    const char *name, *why;
} not_of_layers[] = {
    {"glu", "one that keeps the shape (the operation Glu is a layer of its own)"},
    {"threshold", "one without numbers of its own (the operation Threshold is a layer of its own)"},
};

static cornu_status fail_activation(const doc *d, const char *name)
{
    for (size_t i = 0; i < sizeof not_of_layers / sizeof *not_of_layers; i++)
        if (strcmp(name, not_of_layers[i].name) == 0)
            return doc_fail_found(d, not_of_layers[i].why);
    const char *names[ACTIVATION_COUNT];
    int count = 0;
    activation unused;
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        if (activation_find(activation_name((activation_kind)i), &unused))
            names[count++] = activation_name((activation_kind)i);
    return name_fail(d, "activation", name, names, count);
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
        int64_t *dim = &out->dim[out->rank++];
        if ((f->flags & CONFIG_OPEN) && d->items[i]->type == DOC_NULL)
            *dim = 0;
        else if (!get_int(f, d->items[i], dim))
            return doc_fail_found(d->items[i], wanted(f, "a whole number", buffer));
    }
    return CORNU_OK;
}

static cornu_status read_shape(const config_field *f, const doc *d, void *out)
{
    if (d->type != DOC_LIST)
        return doc_fail_found(d, "a list of whole numbers, such as [28, 28, 1]");
    return read_dimensions(f, d, 0, out);
}

static cornu_status read_batch_shape(const config_field *f, const doc *d, void *out)
{
    /* Keras's batch size in the shape is ignored: cornu's comes from the fit section. */
    if (d->type != DOC_LIST || d->count < 1 ||
        (d->items[0]->type != DOC_NULL && d->items[0]->type != DOC_INT))
        return doc_fail_found(d, "a list that starts with null, such as [null, 28, 28, 1]");
    return read_dimensions(f, d, 1, out);
}

static cornu_status read_axis(const config_field *f, const doc *d, void *out)
{
    bool wrapped = d->type == DOC_LIST && d->count == 1;
    return read_int(f, wrapped ? d->items[0] : d, out);
}

static cornu_status read_axes(const config_field *f, const doc *d, void *out)
{
    return get_pair(f, d, out) ? CORNU_OK
                               : doc_fail_found(d, "one or two whole numbers, such as 1 or [1, 2]");
}

static cornu_status read_numbers(const config_field *f, const doc *d, void *out)
{
    number_list *list = out;
    const bool one = (f->flags & CONFIG_LONE) && d->type != DOC_LIST,
               whole = f->flags & CONFIG_WHOLE;
    if ((d->type != DOC_LIST && !one) || d->count > NUMBER_LIST_MAX)
        return doc_fail_found(d, one ? "a number, or a list of at most 33"
                                     : "a list of at most 33 numbers");
    *list = (number_list){.count = one ? 1 : d->count, .one = one};
    for (int i = 0; i < list->count; i++) {
        const doc *item = one ? d : d->items[i];
        TRY(read_real(f, item, &list->value[i]));
        if (whole && item->type != DOC_INT)
            return doc_fail_found(item, "a whole number");
    }
    return CORNU_OK;
}

static cornu_status read_interval(const config_field *f, const doc *d, void *out)
{
    double *ends = out;
    if (d->type != DOC_LIST || d->count != 2)
        return doc_fail_found(d, "a list of two numbers, such as [0, 255]");
    for (int i = 0; i < 2; i++)
        TRY(read_real(f, d->items[i], &ends[i]));
    return CORNU_OK;
}

static cornu_status read_range(const config_field *f, const doc *d, void *out)
{
    real_range *range = out;
    char buffer[WANTED_SIZE];
    range->count = d->type == DOC_LIST ? 2 : 1;
    if (range->count == 1)
        return read_real(f, d, &range->value[0]);
    if (d->count != 2)
        return doc_fail_found(d, wanted(f, "a number or two", buffer));
    return read_interval(f, d, range->value);
}

static cornu_status read_ints(const config_field *f, const doc *d, void *out)
{
    int_list *list = out;
    char buffer[WANTED_SIZE];
    bool fits = d->type != DOC_LIST || d->count <= SHAPE_MAX;
    *list = (int_list){.count = d->type == DOC_LIST ? d->count : 1, .one = d->type != DOC_LIST};
    for (int i = 0; fits && i < list->count; i++)
        fits = get_int(f, list->one ? d : d->items[i], &list->value[i]);
    if (fits)
        return CORNU_OK;
    return doc_fail_found(d, wanted(f, "a whole number or a list of at most 5", buffer));
}

static cornu_status read_widths(const config_field *f, const doc *d, void *out)
{
    width_list *list = out;
    char buffer[WANTED_SIZE];
    *list = (width_list){.count = 0};
    if (get_pair(f, d, list->value[0]))
        return CORNU_OK;
    bool fits = d->type == DOC_LIST && d->count >= 1 && d->count <= SHAPE_MAX;
    for (int i = 0; fits && i < d->count; i++)
        fits = get_pair(f, d->items[i], list->value[i]);
    list->count = d->count;
    if (fits)
        return CORNU_OK;
    return doc_fail_found(
        d, wanted(f, "N, [before, after], or a list of such pairs, whole numbers", buffer));
}

static cornu_status read_key(const config_field *f, const doc *d, void *out)
{
    (void)f;
    return index_key_read(d, out);
}

static cornu_status read_array(const config_field *f, const doc *d, void *out)
{
    (void)f;
    return number_array_read(d, out);
}

static cornu_status read_string(const config_field *f, const doc *d, void *out)
{
    (void)f;
    if (d->type != DOC_STRING)
        return doc_fail_found(d, "a string");
    *(const char **)out = d->string;
    return CORNU_OK;
}

static cornu_status read_initializer(const config_field *f, const doc *d, void *out)
{
    (void)f;
    return initializer_read(d, out);
}

static cornu_status read_regularizer(const config_field *f, const doc *d, void *out)
{
    (void)f;
    return regularizer_read(d, out);
}

static cornu_status read_constraint(const config_field *f, const doc *d, void *out)
{
    (void)f;
    return constraint_read(d, out);
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
        status = doc_fail_found(d, expected);
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
    return doc_fail_found(d, "\"float32\" (cornu does not support other types)");
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
    [CONFIG_SINGLE] = read_single,
    [CONFIG_AXES] = read_axes,
    [CONFIG_REAL] = read_real,
    [CONFIG_BOOL] = read_bool,
    [CONFIG_CHOICE] = read_choice,
    [CONFIG_ACTIVATION] = read_activation,
    [CONFIG_INITIALIZER] = read_initializer,
    [CONFIG_REGULARIZER] = read_regularizer,
    [CONFIG_CONSTRAINT] = read_constraint,
    [CONFIG_SHAPE] = read_shape,
    [CONFIG_BATCH_SHAPE] = read_batch_shape,
    [CONFIG_PADDING] = read_padding,
    [CONFIG_AXIS] = read_axis,
    [CONFIG_NUMBERS] = read_numbers,
    [CONFIG_RANGE] = read_range,
    [CONFIG_INTERVAL] = read_interval,
    [CONFIG_INTS] = read_ints,
    [CONFIG_WIDTHS] = read_widths,
    [CONFIG_KEY] = read_key,
    [CONFIG_ARRAY] = read_array,
    [CONFIG_STRING] = read_string,
    [CONFIG_WORD] = config_read_word,
    [CONFIG_PATTERNS] = config_read_patterns,
    [CONFIG_ELSEWHERE] = read_ignored,
    [CONFIG_LAYER] = read_ignored,
    [CONFIG_NEUTRAL] = read_neutral,
    [CONFIG_DTYPE] = read_dtype,
    [CONFIG_IGNORED] = read_ignored,
};

static void store_none(const config_field *f, void *out)
{
    if (f->type == CONFIG_REAL)
        *(double *)out = f->none;
    else if (f->type == CONFIG_INT || f->type == CONFIG_SINGLE)
        *(int64_t *)out = (int64_t)f->none;
    else if (f->type == CONFIG_PAIR)
        ((int64_t *)out)[0] = ((int64_t *)out)[1] = (int64_t)f->none;
    else if (f->type == CONFIG_SHAPE || f->type == CONFIG_BATCH_SHAPE)
        ((shape *)out)->rank = 0;
    else if (f->type == CONFIG_INTS)
        *(int_list *)out = (int_list){.count = -1};
    else if (f->type == CONFIG_RANGE)
        *(real_range *)out = (real_range){.count = 0};
    else if (f->type == CONFIG_NUMBERS)
        *(number_list *)out = (number_list){.count = -1};
    else if (f->type == CONFIG_CHOICE)
        *(int *)out = (int)f->none;
    else if (f->type == CONFIG_ARRAY)
        number_array_free(out);
    else if (f->type == CONFIG_STRING)
        *(const char **)out = NULL;
    else if (f->type == CONFIG_WORD)
        *(char *)out = 0;
    else if (f->type == CONFIG_REGULARIZER)
        *(regularizer *)out = (regularizer){.kind = REGULARIZER_NONE};
    else if (f->type == CONFIG_CONSTRAINT)
        *(constraint *)out = (constraint){.kind = CONSTRAINT_NONE};
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

void config_free(const config_field *fields, void *config)
{
    for (const config_field *f = fields; f->key && config; f++)
        if (f->type == CONFIG_ARRAY)
            number_array_free((void *)((char *)config + f->offset));
}

/* ---- writing ---------------------------------------------------------------------------- */

cornu_status config_set(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory to write it", key);
    return CORNU_OK;
}

json_t *config_keras_object(const char *module, const char *class_name, json_t *config)
{
    if (!config)
        return NULL;
    return json_pack("{s:s, s:s, s:o, s:n}", "module", module, "class_name", class_name, "config",
                     config, "registered_name");
}

static json_t *pair_to_json(const int64_t *pair)
{
    return json_pack("[I, I]", (json_int_t)pair[0], (json_int_t)pair[1]);
}

static json_t *shape_to_json(const shape *s, bool batch)
{
    json_t *list = json_array();
    if (batch)
        json_array_append_new(list, json_null());
    for (int i = 0; list && i < s->rank; i++)
        json_array_append_new(list, s->dim[i] == 0 ? json_null() : json_integer(s->dim[i]));
    return list;
}

static json_t *choice_to_json(const char *choices, int index)
{
    for (; index > 0; index--)
        choices += strcspn(choices, "|") + 1;
    return json_stringn(choices, strcspn(choices, "|"));
}

static json_t *activation_to_json(const activation *a)
{
    activation usual;
    activation_find(activation_name(a->kind), &usual);
    /* Bitwise: the row's own alpha was kept, or another one was given. */
    if (memcmp(&a->alpha, &usual.alpha, sizeof a->alpha) == 0)
        return json_string(activation_name(a->kind));
    char digits[32];
    double alpha = 0;
    /* The shortest decimal number that is this float: 0.1, not 0.100000001. */
    for (int i = 6; i <= 9; i++) {
        snprintf(digits, sizeof digits, "%.*g", i, (double)a->alpha);
        alpha = strtod(digits, NULL);
        float same = (float)alpha;
        if (memcmp(&same, &a->alpha, sizeof same) == 0)
            break;
    }
    bool leaky = a->kind == ACTIVATION_LEAKY_RELU;
    return config_keras_object("keras.layers", leaky ? "LeakyReLU" : "ELU",
                               json_pack("{s:f}", leaky ? "negative_slope" : "alpha", alpha));
}

static json_t *number_to_json(double value, bool whole)
{
    return whole ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *numbers_to_json(const number_list *list, bool whole)
{
    json_t *out = list->one ? number_to_json(list->value[0], whole) : json_array();
    for (int i = 0; out && !list->one && i < list->count; i++)
        json_array_append_new(out, number_to_json(list->value[i], whole));
    return out;
}

static json_t *interval_to_json(const double ends[2])
{
    return json_pack("[f, f]", ends[0], ends[1]);
}

static json_t *range_to_json(const real_range *range)
{
    return range->count == 1 ? json_real(range->value[0]) : interval_to_json(range->value);
}

static json_t *ints_to_json(const int_list *list)
{
    json_t *out = list->one ? json_integer(list->value[0]) : json_array();
    for (int i = 0; out && !list->one && i < list->count; i++)
        json_array_append_new(out, json_integer(list->value[i]));
    return out;
}

static json_t *widths_to_json(const width_list *list)
{
    if (list->count == 0)
        return pair_to_json(list->value[0]);
    json_t *out = json_array();
    for (int i = 0; out && i < list->count; i++)
        json_array_append_new(out, pair_to_json(list->value[i]));
    return out;
}

static bool is_none(const config_field *f, const void *value)
{
    if (!(f->flags & CONFIG_NULLABLE))
        return false;
    switch (f->type) {
    case CONFIG_REAL:
        return *(const double *)value <= f->none;
    case CONFIG_INT:
    case CONFIG_SINGLE:
    case CONFIG_PAIR:
        return *(const int64_t *)value == (int64_t)f->none;
    case CONFIG_SHAPE:
    case CONFIG_BATCH_SHAPE:
        return ((const shape *)value)->rank == 0;
    case CONFIG_INTS:
        return ((const int_list *)value)->count < 0;
    case CONFIG_RANGE:
        return ((const real_range *)value)->count == 0;
    case CONFIG_NUMBERS:
        return ((const number_list *)value)->count < 0;
    case CONFIG_CHOICE:
        return *(const int *)value == (int)f->none;
    case CONFIG_ARRAY:
        return !((const number_array *)value)->values;
    case CONFIG_STRING:
        return !*(const char *const *)value;
    case CONFIG_WORD:
        return !*(const char *)value;
    case CONFIG_REGULARIZER:
        return ((const regularizer *)value)->kind == REGULARIZER_NONE;
    case CONFIG_CONSTRAINT:
        return ((const constraint *)value)->kind == CONSTRAINT_NONE;
    default:
        return false;
    }
}

static json_t *value_to_json(const config_field *f, const void *value)
{
    if (is_none(f, value))
        return json_null();
    const int64_t *ints = value;
    switch (f->type) {
    case CONFIG_INT:
    case CONFIG_AXIS:
        return json_integer(ints[0]);
    case CONFIG_SINGLE:
        return json_pack("[I]", (json_int_t)ints[0]);
    case CONFIG_PAIR:
    case CONFIG_AXES:
        return pair_to_json(ints);
    case CONFIG_PADDING:
        return json_pack("[o, o]", pair_to_json(ints), pair_to_json(ints + 2));
    case CONFIG_REAL:
        return json_real(*(const double *)value);
    case CONFIG_BOOL:
        return json_boolean(*(const bool *)value);
    case CONFIG_CHOICE:
        return choice_to_json(f->choices, *(const int *)value);
    case CONFIG_ACTIVATION:
        return activation_to_json(value);
    case CONFIG_INITIALIZER:
        return initializer_to_json(value);
    case CONFIG_REGULARIZER:
        return regularizer_to_json(value);
    case CONFIG_CONSTRAINT:
        return constraint_to_json(value);
    case CONFIG_SHAPE:
    case CONFIG_BATCH_SHAPE:
        return shape_to_json(value, f->type == CONFIG_BATCH_SHAPE);
    case CONFIG_NUMBERS:
        return numbers_to_json(value, f->flags & CONFIG_WHOLE);
    case CONFIG_RANGE:
        return range_to_json(value);
    case CONFIG_INTERVAL:
        return interval_to_json(value);
    case CONFIG_INTS:
        return ints_to_json(value);
    case CONFIG_WIDTHS:
        return widths_to_json(value);
    case CONFIG_KEY:
        return index_key_to_json(value);
    case CONFIG_ARRAY:
        return f->flags & CONFIG_ARGUMENT ? number_array_to_json(value)
                                          : number_array_to_list(value);
    case CONFIG_STRING:
        return json_string(*(const char *const *)value);
    case CONFIG_WORD:
        return json_string(value);
    case CONFIG_PATTERNS:
        return patterns_to_json(value);
    default:
        return NULL;
    }
}

json_t *config_value(const config_field *f, const void *config)
{
    return value_to_json(f, (const char *)config + f->offset);
}

/* The absence of a regularizer or constraint goes without saying. */
static bool is_written(const config_field *f, const void *config)
{
    return f->type < CONFIG_ELSEWHERE &&
           !(f->flags & (CONFIG_ALIAS | CONFIG_ARGUMENT | CONFIG_KEYWORD)) &&
           !((f->type == CONFIG_REGULARIZER || f->type == CONFIG_CONSTRAINT) &&
             is_none(f, (const char *)config + f->offset));
}

bool config_has_value(const config_field *f, const void *config)
{
    return f->type < CONFIG_ELSEWHERE && !is_none(f, (const char *)config + f->offset);
}

cornu_status config_write(const config_field *fields, const void *config, json_t *object)
{
    for (const config_field *f = fields; f->key; f++)
        if (is_written(f, config))
            TRY(config_set(object, f->key, config_value(f, config)));
    return CORNU_OK;
}

/* ---- choosing a class --------------------------------------------------------------------- */

/* A row of initializers, or of what else is chosen so: a class of Keras's by one of its names. */
typedef struct config_class {
    const char *class_name, *other_name, *name;
    const config_field *fields;
} config_class;

/* Keras's shorter words for some initializers, which are no classes. */
static const struct {
    const char *word, *name;
} short_words[] = {
    {"normal", "random_normal"}, {"one", "ones"}, {"uniform", "random_uniform"}, {"zero", "zeros"}};

/* The number of the row that is called so; -1: none is. */
static int find_class(const config_class *rows, int count, const char *name)
{
    for (size_t i = 0; i < sizeof short_words / sizeof *short_words; i++)
        if (strcmp(short_words[i].word, name) == 0)
            name = short_words[i].name;
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i].class_name, name) == 0 || strcasecmp(rows[i].name, name) == 0 ||
            (rows[i].other_name && strcmp(rows[i].other_name, name) == 0))
            return i;
    return -1;
}

/* The number of the row that is chosen; `kind` it is, with its article. */
static cornu_status choose_class(const char *article, const char *kind, const config_class *rows,
                                 int count, const doc *d, int *number, const doc **options)
{
    const char *name, *names[INITIALIZER_COUNT + REGULARIZER_END + CONSTRAINT_END];
    char what[64];
    snprintf(what, sizeof what, "%s %s", article, kind);
    TRY(name_split(d, what, &name, options));
    *number = find_class(rows, count, name);
    for (int i = 0; i < count; i++)
        names[i] = rows[i].name;
    return *number < 0 ? name_fail(d, kind, name, names, count) : CORNU_OK;
}

static cornu_status read_class(const config_class *row, const doc *d, const doc *options, void *out)
{
    TRY(config_check_keys(row->name, options, row->fields, NULL));
    return config_read(row->name, d, options, row->fields, out);
}

static json_t *class_to_json(const char *module, const config_class *row, const void *config)
{
    json_t *written = json_object();
    if (!written || config_write(row->fields, config, written) != CORNU_OK) {
        json_decref(written);
        return NULL;
    }
    return config_keras_object(module, row->class_name, written);
}

static json_t *class_table(const config_class *rows, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        const char *other = rows[i].other_name;
        json_t *row = config_row(rows[i].class_name, rows[i].name, config_describe(rows[i].fields));
        if (row && other)
            json_object_set_new(row, "aliases", json_pack("[s]", other));
        json_array_append_new(list, row);
    }
    return list;
}

/* ---- initializers ------------------------------------------------------------------------- */

static const config_field constant_initializer[] = {
    OPTION_AS("value", REAL, initializer, value, .fallback = "0.0"),
    OPTION_DTYPE,
    OPTIONS_END,
};

static const config_field plain_initializer[] = {
    OPTION_DTYPE,
    OPTION_TOLERATED("seed", "null"),
    OPTIONS_END,
};

/* Keras's keys of the random initializers. All numbers here come from the model's seed; an
   initializer's own seed only selects among equally random draws in Keras. */
#define RANDOM_INITIALIZER OPTION_IGNORED("seed"), OPTION_DTYPE, OPTIONS_END
#define SCALED_INITIALIZER                                        \
    OPTION_IGNORED("seed"), OPTION_NEUTRAL("input_axes", "null"), \
        OPTION_NEUTRAL("output_axes", "null"), OPTION_DTYPE, OPTIONS_END
#define GAIN OPTION(REAL, initializer, gain, .fallback = "1.0")

static const config_field scaled_initializer[] = {SCALED_INITIALIZER};

static const config_field variance_scaling_initializer[] = {
    OPTION(REAL, initializer, scale, .fallback = "1.0", .flags = CONFIG_ABOVE, .maximum = INFINITY),
    OPTION(CHOICE, initializer, mode, .choices = "fan_in|fan_out|fan_avg", .fallback = "fan_in"),
    OPTION(CHOICE, initializer, distribution,
           .choices = "truncated_normal|uniform|untruncated_normal|normal",
           .fallback = "truncated_normal"),
    SCALED_INITIALIZER,
};

static const config_field normal_initializer[] = {
    OPTION(REAL, initializer, mean, .fallback = "0.0"),
    OPTION(REAL, initializer, stddev, .fallback = "0.05", .maximum = INFINITY),
    RANDOM_INITIALIZER,
};

static const config_field uniform_initializer[] = {
    OPTION(REAL, initializer, minval, .fallback = "-0.05"),
    OPTION(REAL, initializer, maxval, .fallback = "0.05"),
    RANDOM_INITIALIZER,
};

static const config_field gain_initializer[] = {GAIN, OPTION_DTYPE, OPTIONS_END};
static const config_field orthogonal_initializer[] = {GAIN, RANDOM_INITIALIZER};

static const config_class initializer_rows[] = {
#define INITIALIZER(id, class_name, other_name, name, function, options) \
    {class_name, other_name, name, options##_initializer},
#include "model/initializers.def"
};

cornu_status initializer_read(const doc *d, initializer *out)
{
    const doc *options;
    int number;
    /* {constant: 0.1}: the single option without its name. */
    if (d && d->type == DOC_MAP && d->count == 1 &&
        (d->items[0]->type == DOC_REAL || d->items[0]->type == DOC_INT) &&
        find_class(initializer_rows, INITIALIZER_COUNT, d->items[0]->key) == INITIALIZER_CONSTANT) {
        const config_field one[] = {
            OPTION_AS(d->items[0]->key, REAL, initializer, value, .flags = 0),
            OPTIONS_END,
        };
        out->kind = INITIALIZER_CONSTANT;
        return config_read("constant", d, d, one, out);
    }
    TRY(choose_class("an", "initializer", initializer_rows, INITIALIZER_COUNT, d, &number,
                     &options));
    *out = (initializer){.kind = (initializer_kind)number};
    TRY(read_class(&initializer_rows[number], d, options, out));
    if (out->distribution == DISTRIBUTION_NORMAL) /* Keras writes its other name */
        out->distribution = DISTRIBUTION_TRUNCATED;
    return CORNU_OK;
}

json_t *initializer_to_json(const initializer *i)
{
    return class_to_json("keras.initializers", &initializer_rows[i->kind], i);
}

json_t *initializer_table(void)
{
    return class_table(initializer_rows, INITIALIZER_COUNT);
}

/* ---- regularizers ------------------------------------------------------------------------- */

#define PENALTY(field, usual) \
    OPTION(REAL, regularizer, field, .fallback = usual, .maximum = INFINITY)

static const config_field l1_regularizer[] = {PENALTY(l1, "0.01"), OPTIONS_END};
static const config_field l2_regularizer[] = {PENALTY(l2, "0.01"), OPTIONS_END};
static const config_field l1_l2_regularizer[] = {PENALTY(l1, "0.0"), PENALTY(l2, "0.0"),
                                                 OPTIONS_END};
static const config_field orthogonal_regularizer[] = {
    PENALTY(factor, "0.01"),
    OPTION(CHOICE, regularizer, mode, .choices = "rows|columns", .fallback = "rows"), OPTIONS_END};

static const config_class regularizer_rows[] = {
#define REGULARIZER(id, class_name, other_name, name, options) \
    {class_name, other_name, name, options##_regularizer},
#include "model/regularizers.def"
};
enum { REGULARIZERS = REGULARIZER_END - 1 };

cornu_status regularizer_read(const doc *d, regularizer *out)
{
    const doc *options;
    int number;
    TRY(choose_class("a", "regularizer", regularizer_rows, REGULARIZERS, d, &number, &options));
    *out = (regularizer){.kind = (regularizer_kind)(number + 1)};
    TRY(read_class(&regularizer_rows[number], d, options, out));
    if (d->type == DOC_STRING && strcmp(d->string, "l1_l2") == 0) /* tf.keras 2's function */
        out->l1 = out->l2 = 0.01;
    return CORNU_OK;
}

json_t *regularizer_to_json(const regularizer *r)
{
    return class_to_json("keras.regularizers", &regularizer_rows[r->kind - 1], r);
}

json_t *regularizer_table(void)
{
    return class_table(regularizer_rows, REGULARIZERS);
}

/* ---- constraints -------------------------------------------------------------------------- */

#define NORM_AXIS \
    OPTION(INTS, constraint, axis, .fallback = "0", .minimum = -SHAPE_MAX, .maximum = SHAPE_MAX)
#define NORM(field, usual) OPTION(REAL, constraint, field, .fallback = usual, .maximum = INFINITY)

static const config_field max_norm_constraint[] = {NORM(max_value, "2"), NORM_AXIS, OPTIONS_END};
static const config_field min_max_norm_constraint[] = {
    NORM(min_value, "0.0"), NORM(max_value, "1.0"),
    OPTION(REAL, constraint, rate, .fallback = "1.0", .maximum = 1), NORM_AXIS, OPTIONS_END};
static const config_field non_neg_constraint[] = {OPTIONS_END};
static const config_field unit_norm_constraint[] = {NORM_AXIS, OPTIONS_END};

static const config_class constraint_rows[] = {
#define CONSTRAINT(id, class_name, name, options) {class_name, NULL, name, options##_constraint},
#include "model/constraints.def"
};
enum { CONSTRAINTS = CONSTRAINT_END - 1 };

cornu_status constraint_read(const doc *d, constraint *out)
{
    const doc *options;
    int number;
    TRY(choose_class("a", "constraint", constraint_rows, CONSTRAINTS, d, &number, &options));
    *out = (constraint){.kind = (constraint_kind)(number + 1), .rate = 1};
    if (out->kind == CONSTRAINT_UNIT_NORM)
        out->min_value = out->max_value = 1;
    return read_class(&constraint_rows[number], d, options, out);
}

json_t *constraint_to_json(const constraint *c)
{
    return class_to_json("keras.constraints", &constraint_rows[c->kind - 1], c);
}

json_t *constraint_table(void)
{
    return class_table(constraint_rows, CONSTRAINTS);
}
