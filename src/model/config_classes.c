/* Options that have options: initializers, regularizers and constraints, each chosen by a class of
   Keras's. */
#include "model/config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
