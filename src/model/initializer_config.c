/* Initializers as recipes and Keras name them. */
#include "model/config.h"
#include "model/initializers.h"
#include "model/names.h"
#include <string.h>
#include <strings.h>

static const struct {
    const char *class_name, *name;
} rows[] = {
#define INITIALIZER(id, class_name, name, function) {class_name, name},
#include "model/initializers.def"
#undef INITIALIZER
};

static const config_field constant_fields[] = {
    OPTION_AS("value", REAL, initializer, value, .fallback = "0.0"),
    OPTION_DTYPE,
    OPTIONS_END,
};

/* Keras's keys of the random initializers. All numbers here come from the model's seed; an
   initializer's own seed only selects among equally random draws in Keras. */
static const config_field other_fields[] = {
    OPTION_IGNORED("seed"),
    OPTION_NEUTRAL("input_axes", "null"),
    OPTION_NEUTRAL("output_axes", "null"),
    OPTION_DTYPE,
    OPTIONS_END,
};

static const config_field no_fields[] = {
    OPTION_DTYPE,
    OPTION_TOLERATED("seed", "null"),
    OPTIONS_END,
};

static const config_field *fields_of(initializer_kind kind)
{
    bool plain = kind == INITIALIZER_ZEROS || kind == INITIALIZER_ONES;
    return kind == INITIALIZER_CONSTANT ? constant_fields : plain ? no_fields : other_fields;
}

static bool find(const char *name, initializer_kind *kind)
{
    for (int i = 0; i < INITIALIZER_COUNT; i++)
        if (strcmp(rows[i].class_name, name) == 0 || strcasecmp(rows[i].name, name) == 0) {
            *kind = (initializer_kind)i;
            return true;
        }
    return false;
}

cornu_status initializer_read(const doc *d, initializer *out)
{
    const char *name;
    const doc *options;
    /* {constant: 0.1}: the single option without its name. */
    if (d && d->type == DOC_MAP && d->count == 1 &&
        (d->items[0]->type == DOC_REAL || d->items[0]->type == DOC_INT) &&
        find(d->items[0]->key, &out->kind) && out->kind == INITIALIZER_CONSTANT) {
        const config_field one[] = {
            OPTION_AS(d->items[0]->key, REAL, initializer, value, .flags = 0),
            OPTIONS_END,
        };
        return config_read("constant", d, d, one, out);
    }
    TRY(name_split(d, "an initializer", &name, &options));
    if (!find(name, &out->kind)) {
        const char *names[INITIALIZER_COUNT];
        for (int i = 0; i < INITIALIZER_COUNT; i++)
            names[i] = rows[i].name;
        return name_fail(d, "initializer", name, names, INITIALIZER_COUNT);
    }
    out->value = 0;
    const config_field *fields = fields_of(out->kind);
    TRY(config_check_keys(rows[out->kind].name, options, fields, NULL));
    return config_read(rows[out->kind].name, d, options, fields, out);
}

json_t *initializer_to_json(const initializer *i)
{
    json_t *config = json_object();
    if (!config || config_write(fields_of(i->kind), i, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.initializers", rows[i->kind].class_name, config);
}

json_t *initializer_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < INITIALIZER_COUNT; i++)
        json_array_append_new(list, config_row(rows[i].class_name, rows[i].name,
                                               config_describe(fields_of((initializer_kind)i))));
    return list;
}
