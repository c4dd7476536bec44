#include "model/schedules.h"
#include "model/config.h"
#include "model/names.h"
#include <math.h>
#include <string.h>

/* ---- values ----------------------------------------------------------------------------- */

static double constant_at(const schedule *s, double step)
{
    (void)step;
    return s->initial;
}

/* values[i] up to and including boundaries[i]. */
static double step_at(const schedule *s, double step)
{
    int i = 0;
    while (i < s->boundary_count && step > s->boundaries[i])
        i++;
    return s->values[i];
}

static double cosine_decay(double from, double alpha, double fraction)
{
    const double pi = 3.14159265358979323846;
    return from * ((1.0 - alpha) * 0.5 * (1.0 + cos(pi * fraction)) + alpha);
}

/* Loshchilov & Hutter 2016, preceded by Goyal et al.'s linear warm-up where warmup_target >= 0. */
static double cosine_at(const schedule *s, double step)
{
    if (s->warmup_target < 0)
        return cosine_decay(s->initial, s->alpha, fmin(step, s->decay_steps) / s->decay_steps);
    if (step < s->warmup_steps)
        return s->initial + (s->warmup_target - s->initial) * step / s->warmup_steps;
    double decayed = fmin(step - s->warmup_steps, s->decay_steps);
    return cosine_decay(s->warmup_target, s->alpha, decayed / s->decay_steps);
}

/* initial * rate^(step / decay_steps); staircase rounds the exponent down. */
static double exponential_at(const schedule *s, double step)
{
    double exponent = step / s->decay_steps;
    return s->initial * pow(s->decay_rate, s->staircase ? floor(exponent) : exponent);
}

/* initial / (1 + rate * step / decay_steps), the quotient rounded down with staircase. */
static double inverse_time_at(const schedule *s, double step)
{
    double periods = step / s->decay_steps;
    return s->initial / (1 + s->decay_rate * (s->staircase ? floor(periods) : periods));
}

/* ---- options ---------------------------------------------------------------------------- */

/* The values that the tables below fill in, by Keras's keys. */
typedef struct schedule_config {
    schedule s;
    number_list boundaries, values;
} schedule_config;

#define STEPS(key, field)                                                                 \
    OPTION_AS(key, REAL, schedule_config, field, .flags = CONFIG_REQUIRED | CONFIG_ABOVE, \
              .maximum = INFINITY)
#define RATE(key, field) \
    OPTION_AS(key, REAL, schedule_config, field, .flags = CONFIG_REQUIRED, .maximum = INFINITY)

static const config_field constant_fields[] = {
    RATE("learning_rate", s.initial),
    OPTIONS_END,
};

static const config_field step_fields[] = {
    OPTION(NUMBERS, schedule_config, boundaries, .flags = CONFIG_REQUIRED, .maximum = INFINITY),
    OPTION(NUMBERS, schedule_config, values, .flags = CONFIG_REQUIRED, .maximum = INFINITY),
    OPTION_IGNORED("name"),
    OPTIONS_END,
};

static const config_field cosine_fields[] = {
    RATE("initial_learning_rate", s.initial),
    STEPS("decay_steps", s.decay_steps),
    OPTION_AS("alpha", REAL, schedule_config, s.alpha, .fallback = "0.0"),
    OPTION_IGNORED("name"),
    OPTION_AS("warmup_target", REAL, schedule_config, s.warmup_target, .fallback = "null",
              .none = -1, .flags = CONFIG_NULLABLE, .maximum = INFINITY),
    OPTION_AS("warmup_steps", REAL, schedule_config, s.warmup_steps, .fallback = "0",
              .maximum = INFINITY),
    OPTIONS_END,
};

#define DECAY                                                                            \
    RATE("initial_learning_rate", s.initial), STEPS("decay_steps", s.decay_steps),       \
        RATE("decay_rate", s.decay_rate),                                                \
        OPTION_AS("staircase", BOOL, schedule_config, s.staircase, .fallback = "false"), \
        OPTION_IGNORED("name"), OPTIONS_END

static const config_field exponential_fields[] = {DECAY};
static const config_field inverse_time_fields[] = {DECAY};

static const struct {
    const char *class_name, *name;
    double (*at)(const schedule *s, double step);
    const config_field *fields;
} rows[] = {
#define SCHEDULE(id, class_name, name) {class_name, #name, name##_at, name##_fields},
#include "model/schedules.def"
#undef SCHEDULE
};

double schedule_at(const schedule *s, int64_t iteration)
{
    return rows[s->id].at(s, (double)iteration);
}

/* ---- reading and writing ---------------------------------------------------------------- */

static cornu_status take_steps(const doc *at, schedule_config *c)
{
    if (c->values.count != c->boundaries.count + 1)
        return doc_fail(at, "found %d %s for %d %s; expected one value more", c->values.count,
                        PLURAL(c->values.count, "value", "values"), c->boundaries.count,
                        PLURAL(c->boundaries.count, "boundary", "boundaries"));
    for (int i = 1; i < c->boundaries.count; i++)
        if (c->boundaries.value[i] <= c->boundaries.value[i - 1])
            return doc_fail(at, "found boundary %g after %g; expected rising boundaries",
                            c->boundaries.value[i], c->boundaries.value[i - 1]);
    c->s.boundary_count = c->boundaries.count;
    for (int i = 0; i < c->boundaries.count; i++)
        c->s.boundaries[i] = c->boundaries.value[i];
    for (int i = 0; i < c->values.count; i++)
        c->s.values[i] = c->values.value[i];
    return CORNU_OK;
}

static cornu_status read_number(const doc *d, schedule *out)
{
    if (!isfinite(d->real) || d->real < 0)
        return doc_fail(d, "found %g; expected a learning rate of at least 0", d->real);
    *out = (schedule){.id = SCHEDULE_CONSTANT, .initial = d->real, .warmup_target = -1};
    return CORNU_OK;
}

cornu_status schedule_read(const doc *d, schedule *out)
{
    const char *name, *names[SCHEDULE_COUNT];
    const doc *options;
    if (d && (d->type == DOC_REAL || d->type == DOC_INT))
        return read_number(d, out);
    TRY(name_split(d, "a number or a schedule", &name, &options));
    int id = -1;
    for (int i = 0; i < SCHEDULE_COUNT; i++) {
        names[i] = rows[i].name;
        if (strcmp(rows[i].name, name) == 0 || strcmp(rows[i].class_name, name) == 0)
            id = i;
    }
    if (id < 0)
        return name_fail(d, "schedule", name, names, SCHEDULE_COUNT);
    schedule_config c = {.s = {.id = (schedule_id)id, .warmup_target = -1}};
    TRY(config_check_keys(rows[id].name, options, rows[id].fields, NULL));
    TRY(config_read(rows[id].name, d, options, rows[id].fields, &c));
    if (id == SCHEDULE_STEP)
        TRY(take_steps(options, &c));
    *out = c.s;
    return CORNU_OK;
}

json_t *schedule_to_json(const schedule *s)
{
    if (s->id == SCHEDULE_CONSTANT)
        return json_real(s->initial);
    schedule_config c = {.s = *s};
    c.boundaries.count = s->boundary_count;
    c.values.count = s->boundary_count + 1;
    memcpy(c.boundaries.value, s->boundaries, sizeof s->boundaries);
    memcpy(c.values.value, s->values, sizeof s->values);
    json_t *config = json_object();
    if (!config || config_write(rows[s->id].fields, &c, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.optimizers.schedules", rows[s->id].class_name, config);
}

json_t *schedule_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < SCHEDULE_COUNT; i++)
        json_array_append_new(
            list, config_row(rows[i].class_name, rows[i].name, config_describe(rows[i].fields)));
    return list;
}
