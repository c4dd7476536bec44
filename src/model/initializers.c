#include "model/initializers.h"
#include "model/config.h"
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- values ----------------------------------------------------------------------------- */

void initializer_fans(const shape *s, double *fan_in, double *fan_out)
{
    if (s->rank < 2) {
        *fan_in = *fan_out = s->rank == 1 ? (double)s->dim[0] : 1.0;
        return;
    }
    double receptive_field = 1;
    for (int i = 0; i < s->rank - 2; i++)
        receptive_field *= (double)s->dim[i];
    *fan_in = receptive_field * (double)s->dim[s->rank - 2];
    *fan_out = receptive_field * (double)s->dim[s->rank - 1];
}

static void fill_value(const shape *s, float *values, float value)
{
    int64_t count = shape_elements(s);
    for (int64_t i = 0; i < count; i++)
        values[i] = value;
}

/* Uniform in +- sqrt(3 scale / fan): a variance of scale / fan. */
static void fill_uniform(const shape *s, random_stream *r, float *values, double scale, double fan)
{
    int64_t count = shape_elements(s);
    float limit = (float)sqrt(3.0 * scale / fmax(1.0, fan));
    for (int64_t i = 0; i < count; i++)
        values[i] = (2.0f * random_uniform(r) - 1.0f) * limit;
}

/* Normal, drawn again beyond two standard deviations. The constant is the standard deviation of a
   standard normal distribution truncated there, so that the result's variance is scale / fan (Keras
   does the same). */
static void fill_normal(const shape *s, random_stream *r, float *values, double scale, double fan)
{
    int64_t count = shape_elements(s);
    float deviation = (float)(sqrt(scale / fmax(1.0, fan)) / 0.87962566103423978);
    for (int64_t i = 0; i < count; i++) {
        float x = random_normal(r);
        while (!(fabsf(x) <= 2.0f))
            x = random_normal(r);
        values[i] = x * deviation;
    }
}

typedef void fill_function(const initializer *i, const shape *s, random_stream *r, float *values);

/* Untouched memory reads as zeros and takes no space until it is written: an optimizer's slots stay
   untouched on the host. */
static void fill_zeros(const initializer *i, const shape *s, random_stream *r, float *values)
{
    (void)i;
    (void)r;
    int64_t count = shape_elements(s);
    for (int64_t k = 0; k < count; k++)
        if (values[k] != 0 || signbit(values[k]))
            values[k] = 0;
}

static void fill_ones(const initializer *i, const shape *s, random_stream *r, float *values)
{
    (void)i;
    (void)r;
    fill_value(s, values, 1.0f);
}

static void fill_constant(const initializer *i, const shape *s, random_stream *r, float *values)
{
    (void)r;
    fill_value(s, values, (float)i->value);
}

/* Glorot & Bengio 2010: variance 2 / (fan in + fan out). */
static void fill_glorot_uniform(const initializer *i, const shape *s, random_stream *r,
                                float *values)
{
    double in, out;
    (void)i;
    initializer_fans(s, &in, &out);
    fill_uniform(s, r, values, 1.0, (in + out) / 2.0);
}

static void fill_glorot_normal(const initializer *i, const shape *s, random_stream *r,
                               float *values)
{
    double in, out;
    (void)i;
    initializer_fans(s, &in, &out);
    fill_normal(s, r, values, 1.0, (in + out) / 2.0);
}

/* He et al. 2015: variance 2 / fan in. */
static void fill_he_uniform(const initializer *i, const shape *s, random_stream *r, float *values)
{
    double in, out;
    (void)i;
    initializer_fans(s, &in, &out);
    fill_uniform(s, r, values, 2.0, in);
}

static void fill_he_normal(const initializer *i, const shape *s, random_stream *r, float *values)
{
    double in, out;
    (void)i;
    initializer_fans(s, &in, &out);
    fill_normal(s, r, values, 2.0, in);
}

static fill_function *const fill_functions[] = {
#define INITIALIZER(id, class_name, name, function) function,
#include "model/initializers.def"
#undef INITIALIZER
};

void initializer_fill(const initializer *i, const shape *s, random_stream *r, float *values)
{
    fill_functions[i->kind](i, s, r, values);
}

/* ---- as recipes and Keras name them ----------------------------------------------------- */

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

static bool find_initializer(const char *name, initializer_kind *kind)
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
        find_initializer(d->items[0]->key, &out->kind) && out->kind == INITIALIZER_CONSTANT) {
        const config_field one[] = {
            OPTION_AS(d->items[0]->key, REAL, initializer, value, .flags = 0),
            OPTIONS_END,
        };
        return config_read("constant", d, d, one, out);
    }
    TRY(name_split(d, "an initializer", &name, &options));
    if (!find_initializer(name, &out->kind)) {
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
