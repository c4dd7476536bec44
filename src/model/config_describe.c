/* Tables of options as JSON. */
#include "model/config.h"
#include <string.h>
static const char *const type_names[] = {
    [CONFIG_INT] = "int",
    [CONFIG_PAIR] = "pair",
    [CONFIG_SINGLE] = "single",
    [CONFIG_AXES] = "axes",
    [CONFIG_REAL] = "real",
    [CONFIG_BOOL] = "bool",
    [CONFIG_CHOICE] = "choice",
    [CONFIG_ACTIVATION] = "activation",
    [CONFIG_INITIALIZER] = "initializer",
    [CONFIG_REGULARIZER] = "regularizer",
    [CONFIG_CONSTRAINT] = "constraint",
    [CONFIG_SHAPE] = "shape",
    [CONFIG_BATCH_SHAPE] = "batch_shape",
    [CONFIG_PADDING] = "padding",
    [CONFIG_AXIS] = "axis",
    [CONFIG_NUMBERS] = "numbers",
    [CONFIG_RANGE] = "range",
    [CONFIG_INTERVAL] = "interval",
    [CONFIG_INTS] = "ints",
    [CONFIG_WIDTHS] = "widths",
    [CONFIG_KEY] = "key",
    [CONFIG_ARRAY] = "array",
    [CONFIG_STRING] = "string",
    [CONFIG_WORD] = "string",
    [CONFIG_PATTERNS] = "patterns",
    [CONFIG_ELSEWHERE] = "elsewhere",
    [CONFIG_LAYER] = "layer",
    [CONFIG_NEUTRAL] = "neutral",
    [CONFIG_DTYPE] = "dtype",
    [CONFIG_IGNORED] = "ignored",
};

/* The value of a JSON text; of other text, the text. */
static json_t *value_of(const char *json, size_t length)
{
    json_t *value = json_loadb(json, length, JSON_DECODE_ANY, NULL);
    return value ? value : json_stringn(json, length);
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
    return json_pack("{s:s, s:s, s:b, s:b, s:b, s:s?, s:o, s:o}", "name", f->key, "type",
                     type_names[f->type], "required", (f->flags & CONFIG_REQUIRED) != 0, "alias",
                     (f->flags & CONFIG_ALIAS) != 0, "argument",
                     (f->flags & (CONFIG_ARGUMENT | CONFIG_KEYWORD)) != 0, "stands_for",
                     stands_for(fields, f), "default", usual, "choices", choices_of(f->choices));
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
