/* Options as Keras writes them: see config.h. */
#include "model/config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        json_array_append_new(list, json_integer(s->dim[i]));
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

static json_t *numbers_to_json(const number_list *list)
{
    json_t *out = json_array();
    for (int i = 0; out && i < list->count; i++)
        json_array_append_new(out, json_real(list->value[i]));
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
        return *(const int64_t *)value == (int64_t)f->none;
    case CONFIG_PAIR:
        return *(const int64_t *)value == 0;
    case CONFIG_SHAPE:
    case CONFIG_BATCH_SHAPE:
        return ((const shape *)value)->rank == 0;
    case CONFIG_STRING:
        return !*(const char *const *)value;
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
    case CONFIG_PAIR:
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
    case CONFIG_SHAPE:
    case CONFIG_BATCH_SHAPE:
        return shape_to_json(value, f->type == CONFIG_BATCH_SHAPE);
    case CONFIG_NUMBERS:
        return numbers_to_json(value);
    case CONFIG_STRING:
        return json_string(*(const char *const *)value);
    default:
        return NULL;
    }
}

cornu_status config_write(const config_field *fields, const void *config, json_t *object)
{
    for (const config_field *f = fields; f->key; f++)
        if (f->type < CONFIG_ELSEWHERE && !(f->flags & CONFIG_ALIAS))
            TRY(config_set(object, f->key, value_to_json(f, (const char *)config + f->offset)));
    return CORNU_OK;
}

/* ---- printing --------------------------------------------------------------------------- */

/* Do all reals survive being printed with `digits` significant digits? */
static bool prints_exactly(const json_t *value, int digits)
{
    char shown[40];
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_real(value)) {
        snprintf(shown, sizeof shown, "%.*g", digits, json_real_value(value));
        return !(strtod(shown, NULL) < json_real_value(value)) &&
               !(strtod(shown, NULL) > json_real_value(value));
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        (void)key;
        if (!prints_exactly(item, digits))
            return false;
    }
    json_array_foreach(value, i, item)
    {
        if (!prints_exactly(item, digits))
            return false;
    }
    return true;
}

cornu_status config_print(const json_t *value, char **out)
{
    size_t digits = 15;
    while (digits < 17 && !prints_exactly(value, (int)digits))
        digits++;
    *out = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
    return *out ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "not enough memory for JSON text");
}

/* ---- describing ------------------------------------------------------------------------- */

static const char *const type_names[] = {
    [CONFIG_INT] = "int",
    [CONFIG_PAIR] = "pair",
    [CONFIG_REAL] = "real",
    [CONFIG_BOOL] = "bool",
    [CONFIG_CHOICE] = "choice",
    [CONFIG_ACTIVATION] = "activation",
    [CONFIG_INITIALIZER] = "initializer",
    [CONFIG_SHAPE] = "shape",
    [CONFIG_BATCH_SHAPE] = "batch_shape",
    [CONFIG_PADDING] = "padding",
    [CONFIG_AXIS] = "axis",
    [CONFIG_NUMBERS] = "numbers",
    [CONFIG_STRING] = "string",
    [CONFIG_ELSEWHERE] = "elsewhere",
    [CONFIG_NEUTRAL] = "neutral",
    [CONFIG_DTYPE] = "dtype",
    [CONFIG_IGNORED] = "ignored",
};

/* The value of a JSON text; of other text, the text. */
static json_t *value_of(const char *text, size_t length)
{
    json_t *value = json_loadb(text, length, JSON_DECODE_ANY, NULL);
    return value ? value : json_stringn(text, length);
}

static json_t *choices_of(const char *choices)
{
    json_t *list = json_array();
    while (choices && list) {
        size_t length = strcspn(choices, "|");
        json_array_append_new(list, value_of(choices, length));
        choices = choices[length] ? choices + length + 1 : NULL;
    }
    return list;
}

/* The option that an alias respells: both have the same value. NULL where `f` is not an alias, or
   has no value. */
static const char *stands_for(const config_field *fields, const config_field *f)
{
    bool is_alias = f->flags & CONFIG_ALIAS && f->type < CONFIG_ELSEWHERE;
    for (const config_field *other = fields; is_alias && other->key; other++)
        if (other->offset == f->offset && other->type < CONFIG_ELSEWHERE &&
            !(other->flags & CONFIG_ALIAS))
            return other->key;
    return NULL;
}

static json_t *describe_field(const config_field *fields, const config_field *f)
{
    json_t *usual = f->fallback                 ? value_of(f->fallback, strlen(f->fallback))
                    : f->type == CONFIG_NEUTRAL ? value_of(f->choices, strcspn(f->choices, "|"))
                                                : json_null();
    return json_pack("{s:s, s:s, s:b, s:b, s:s?, s:o, s:o}", "name", f->key, "type",
                     type_names[f->type], "required", (f->flags & CONFIG_REQUIRED) != 0, "alias",
                     (f->flags & CONFIG_ALIAS) != 0, "stands_for", stands_for(fields, f), "default",
                     usual, "choices", choices_of(f->choices));
}

json_t *config_describe(const config_field *fields)
{
    json_t *list = json_array();
    for (const config_field *f = fields; list && f->key; f++)
        if (json_array_append_new(list, describe_field(fields, f)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

json_t *config_row(const char *class_name, const char *name, json_t *options)
{
    return json_pack("{s:s, s:s?, s:o}", "class_name", class_name, "name", name, "options",
                     options);
}
