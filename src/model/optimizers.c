#include "model/compile.h"
#include "model/config.h"
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- learning rates --------------------------------------------------------------------- */

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

/* From initial to end by (1 - step / decay_steps)^power; with cycle, decay_steps is the first of
   its multiples that is not before the step. */
static double polynomial_at(const schedule *s, double step)
{
    double steps = s->decay_steps;
    if (s->cycle)
        steps *= step == 0 ? 1 : ceil(step / s->decay_steps);
    double left = 1 - fmin(step, steps) / steps;
    return (s->initial - s->end) * pow(left, s->power) + s->end;
}

/* Loshchilov & Hutter 2016: SGDR. The number of restarts in floats, as Keras has it: where a period
   ends, a rounding decides between its last value and the next one's first. */
static double cosine_restarts_at(const schedule *s, double step)
{
    float periods = (float)step / (float)s->decay_steps, t_mul = (float)s->t_mul, restarts, within;
    if (s->t_mul == 1) {
        restarts = floorf(periods);
        within = periods - restarts;
    } else {
        restarts = floorf(logf(1 - periods * (1 - t_mul)) / logf(t_mul));
        float length = powf(t_mul, restarts);
        within = (periods - (1 - length) / (1 - t_mul)) / length;
    }
    const double pi = 3.14159265358979323846;
    double share = 0.5 * pow(s->m_mul, (double)restarts) * (1 + cos(pi * (double)within));
    return s->initial * ((1 - s->alpha) * share + s->alpha);
}

/* ---- their options ---------------------------------------------------------------------- */

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

static const config_field polynomial_fields[] = {
    RATE("initial_learning_rate", s.initial),
    STEPS("decay_steps", s.decay_steps),
    OPTION_AS("end_learning_rate", REAL, schedule_config, s.end, .fallback = "0.0001",
              .maximum = INFINITY),
    OPTION_AS("power", REAL, schedule_config, s.power, .fallback = "1.0", .maximum = INFINITY),
    OPTION_AS("cycle", BOOL, schedule_config, s.cycle, .fallback = "false"),
    OPTION_IGNORED("name"),
    OPTIONS_END,
};

static const config_field cosine_restarts_fields[] = {
    RATE("initial_learning_rate", s.initial),
    STEPS("first_decay_steps", s.decay_steps),
    OPTION_AS("t_mul", REAL, schedule_config, s.t_mul, .fallback = "2.0", .minimum = 1,
              .maximum = INFINITY),
    OPTION_AS("m_mul", REAL, schedule_config, s.m_mul, .fallback = "1.0", .maximum = INFINITY),
    OPTION_AS("alpha", REAL, schedule_config, s.alpha, .fallback = "0.0"),
    OPTION_IGNORED("name"),
    OPTIONS_END,
};

static const struct {
    const char *class_name, *name;
    double (*at)(const schedule *s, double step);
    const config_field *fields;
} schedule_rows[] = {
#define SCHEDULE(id, class_name, name) {class_name, #name, name##_at, name##_fields},
#include "model/optimizers.def"
};

double schedule_at(const schedule *s, int64_t iteration)
{
    return schedule_rows[s->id].at(s, (double)iteration);
}

/* ---- reading and writing learning rates ------------------------------------------------- */

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
        names[i] = schedule_rows[i].name;
        if (strcmp(schedule_rows[i].name, name) == 0 ||
            strcmp(schedule_rows[i].class_name, name) == 0)
            id = i;
    }
    if (id < 0)
        return name_fail(d, "schedule", name, names, SCHEDULE_COUNT);
    schedule_config c = {.s = {.id = (schedule_id)id, .warmup_target = -1}};
    TRY(config_check_keys(schedule_rows[id].name, options, schedule_rows[id].fields, NULL));
    TRY(config_read(schedule_rows[id].name, d, options, schedule_rows[id].fields, &c));
    if (id == SCHEDULE_STEP)
        TRY(take_steps(options, &c));
    *out = c.s;
    return CORNU_OK;
}

static json_t *schedule_to_json(const schedule *s)
{
    if (s->id == SCHEDULE_CONSTANT)
        return json_real(s->initial);
    schedule_config c = {.s = *s};
    c.boundaries.count = s->boundary_count;
    c.values.count = s->boundary_count + 1;
    memcpy(c.boundaries.value, s->boundaries, sizeof s->boundaries);
    memcpy(c.values.value, s->values, sizeof s->values);
    json_t *config = json_object();
    if (!config || config_write(schedule_rows[s->id].fields, &c, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.optimizers.schedules", schedule_rows[s->id].class_name,
                               config);
}

json_t *schedule_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < SCHEDULE_COUNT; i++)
        json_array_append_new(list, config_row(schedule_rows[i].class_name, schedule_rows[i].name,
                                               config_describe(schedule_rows[i].fields)));
    return list;
}

/* ---- options of optimizers -------------------------------------------------------------- */

/* Greater than 0 where given; 0 means none. */
#define POSITIVE_OR_NONE(field)                                                                 \
    OPTION(REAL, optimizer, field, .fallback = "null", .flags = CONFIG_NULLABLE | CONFIG_ABOVE, \
           .maximum = INFINITY)
/* A decay rate of a running mean: 0 <= x < 1. */
#define SHARE(field, usual) \
    OPTION(REAL, optimizer, field, .fallback = usual, .maximum = 1, .flags = CONFIG_BELOW)

#define SWITCH(field) OPTION(BOOL, optimizer, field, .fallback = "false")
#define WEIGHT_DECAY(usual, extra) \
    OPTION(REAL, optimizer, weight_decay, .fallback = usual, .maximum = INFINITY, .flags = extra)
#define STRENGTH(field) OPTION(REAL, optimizer, field, .fallback = "0.0", .maximum = INFINITY)
#define EPSILON OPTION(REAL, optimizer, epsilon, .fallback = "1e-7", .maximum = INFINITY)
#define COEFFICIENT(field, usual) \
    OPTION(REAL, optimizer, field, .fallback = usual, .minimum = -INFINITY, .maximum = INFINITY)
/* A number of steps; 0 means none. */
#define COUNT_OR_NONE(field, least)                                                               \
    OPTION(INT, optimizer, field, .fallback = "null", .flags = CONFIG_NULLABLE, .minimum = least, \
           .maximum = INT32_MAX)
/* Keys of every Keras optimizer. */
#define COMMON                                                                                    \
    POSITIVE_OR_NONE(clipnorm), POSITIVE_OR_NONE(clipvalue), POSITIVE_OR_NONE(global_clipnorm),   \
        SWITCH(use_ema), OPTION(REAL, optimizer, ema_momentum, .fallback = "0.99", .maximum = 1), \
        COUNT_OR_NONE(ema_overwrite_frequency, 1), POSITIVE_OR_NONE(loss_scale_factor),           \
        COUNT_OR_NONE(gradient_accumulation_steps, 2), OPTION_IGNORED("name"),                    \
        OPTION_IGNORED("jit_compile"), OPTION_IGNORED("is_legacy_optimizer")

#define OPTIMIZER(id, class_name, name, rule, rate, slots, ...) \
    static const config_field id##_fields[] = {__VA_ARGS__, OPTIONS_END};
#include "model/optimizers.def"

/* ---- optimizers ------------------------------------------------------------------------- */

typedef struct optimizer_kind {
    const char *class_name, *name;
    double learning_rate; /* the default */
    const config_field *fields;
} optimizer_kind;

static const optimizer_kind optimizer_kinds[] = {
#define OPTIMIZER(id, class_name, name, rule, rate, ...) {class_name, name, rate, id##_fields},
#include "model/optimizers.def"
};

/* Keras's files have the averages first, then the sums, then the row's own slots. */
enum { TURN_AVERAGES, TURN_SUMS, TURN_ROW };
_Static_assert(TURN_ROW + OPTIMIZER_SLOTS_MAX <= OPTIMIZER_SLOTS_ALL, "as many turns as slots");

void optimizer_slots(const optimizer *o, optimizer_slot slots[OPTIMIZER_SLOTS_ALL])
{
    memset(slots, 0, OPTIMIZER_SLOTS_ALL * sizeof *slots);
    slots[OPTIMIZER_AVERAGE] =
        (optimizer_slot){.name = "average", .needed = o->use_ema, .turn = TURN_AVERAGES};
    slots[OPTIMIZER_ACCUMULATOR] = (optimizer_slot){.name = "gradient_accumulator",
                                                    .needed = o->gradient_accumulation_steps > 0,
                                                    .turn = TURN_SUMS};
    switch (o->id) {
#define SLOTS(...)  \
    {               \
        __VA_ARGS__ \
    }
#define SLOT(name, needed, initial, turn)                \
    {                                                    \
        name, needed, initial, TURN_ROW + turn, false, 0 \
    }
#define MEANS(name, axis)                    \
    {                                        \
        name, true, 0, TURN_ROW, false, axis \
    }
#define OF_VECTORS(name)                 \
    {                                    \
        name, true, 0, TURN_ROW, true, 0 \
    }
#define OPTIMIZER(id, class_name, name, rule, rate, slots_, ...)              \
    case OPTIMIZER_##id: {                                                    \
        const optimizer_slot row[] = slots_;                                  \
        _Static_assert(sizeof row <= OPTIMIZER_SLOTS_MAX * sizeof *row, #id); \
        memcpy(slots, row, sizeof row);                                       \
        break;                                                                \
    }
#include "model/optimizers.def"
    case OPTIMIZER_COUNT:
        break;
    }
}

/* ---- reading and writing optimizers ----------------------------------------------------- */

static cornu_status find_optimizer(const doc *d, const char *name, optimizer_id *id)
{
    const char *names[OPTIMIZER_COUNT];
    for (int i = 0; i < OPTIMIZER_COUNT; i++) {
        names[i] = optimizer_kinds[i].name;
        if (strcasecmp(optimizer_kinds[i].name, name) == 0) {
            *id = (optimizer_id)i;
            return CORNU_OK;
        }
    }
    return name_fail(d, "optimizer", name, names, OPTIMIZER_COUNT);
}

static cornu_status check_clipping(const doc *d, const optimizer *o)
{
    if ((o->clipnorm > 0) + (o->global_clipnorm > 0) + (o->clipvalue > 0) <= 1)
        return CORNU_OK;
    return doc_fail(d, "found more than one of clipnorm, global_clipnorm and clipvalue; "
                       "expected at most one");
}

/* The decay of Keras 2's optimizers: the rate divided by 1 + decay * iterations. */
static cornu_status take_decay(const doc *options, schedule *rate)
{
    const doc *d = doc_get(options, "decay");
    double decay = 0;
    if (!d || d->type == DOC_NULL)
        return CORNU_OK;
    TRY(doc_read_real(options, "decay", &decay));
    if (!isfinite(decay) || decay < 0)
        return doc_fail(d, "found %g; expected a number of at least 0", decay);
    if (decay == 0)
        return CORNU_OK;
    if (rate->id != SCHEDULE_CONSTANT)
        return doc_fail(d, "found %g beside a schedule as learning_rate; expected one of the two",
                        decay);
    *rate = (schedule){.id = SCHEDULE_INVERSE_TIME,
                       .initial = rate->initial,
                       .decay_steps = 1,
                       .decay_rate = decay,
                       .warmup_target = -1};
    return CORNU_OK;
}

cornu_status optimizer_read(const doc *d, optimizer *out)
{
    /* These are read apart: a rate may be a schedule, and Keras 2's decay makes one of it. */
    static const config_field learning_rate[] = {
        OPTION_ELSEWHERE("learning_rate"),
        OPTION_TOLERATED("decay", NULL),
        OPTIONS_END,
    };
    const char *name;
    const doc *options;
    optimizer o = {0};
    TRY(name_split(d, "an optimizer", &name, &options));
    TRY(find_optimizer(d, name, &o.id));
    const char *owner = optimizer_kinds[o.id].name;
    TRY(config_check_keys(owner, options, learning_rate, optimizer_kinds[o.id].fields));
    TRY(config_read(owner, d, options, optimizer_kinds[o.id].fields, &o));
    TRY(check_clipping(options, &o));
    const doc *rate = doc_get(options, "learning_rate");
    if (rate) {
        TRY(schedule_read(rate, &o.learning_rate));
    } else {
        o.learning_rate = (schedule){.id = SCHEDULE_CONSTANT,
                                     .initial = optimizer_kinds[o.id].learning_rate,
                                     .warmup_target = -1};
    }
    TRY(take_decay(options, &o.learning_rate));
    *out = o;
    return CORNU_OK;
}

bool optimizer_clips_by_norm(const optimizer *o)
{
    return o->clipnorm > 0 || o->global_clipnorm > 0;
}

const char *optimizer_name(const optimizer *o)
{
    return optimizer_kinds[o->id].name;
}

json_t *optimizer_to_json(const optimizer *o)
{
    json_t *config = json_object();
    if (!config ||
        config_set(config, "learning_rate", schedule_to_json(&o->learning_rate)) != CORNU_OK ||
        config_write(optimizer_kinds[o->id].fields, o, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.optimizers", optimizer_kinds[o->id].class_name, config);
}

json_t *optimizer_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < OPTIMIZER_COUNT; i++) {
        json_t *row = config_row(optimizer_kinds[i].class_name, optimizer_kinds[i].name,
                                 config_describe(optimizer_kinds[i].fields));
        if (row)
            json_object_set_new(row, "learning_rate", json_real(optimizer_kinds[i].learning_rate));
        json_array_append_new(list, row);
    }
    return list;
}
