#include "model/optimizers.h"
#include "model/config.h"
#include "model/names.h"
#include "model/schedules.h"
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- options ---------------------------------------------------------------------------- */

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
#define EPSILON OPTION(REAL, optimizer, epsilon, .fallback = "1e-7", .maximum = INFINITY)
/* Keys of every Keras optimizer; its JSON always has the neutral ones. */
#define COMMON                                                                                  \
    POSITIVE_OR_NONE(clipnorm), POSITIVE_OR_NONE(clipvalue), POSITIVE_OR_NONE(global_clipnorm), \
        OPTION_NEUTRAL("use_ema", "false"), OPTION_IGNORED("ema_momentum"),                     \
        OPTION_NEUTRAL("ema_overwrite_frequency", "null"),                                      \
        OPTION_NEUTRAL("loss_scale_factor", "null"),                                            \
        OPTION_NEUTRAL("gradient_accumulation_steps", "null"), OPTION_IGNORED("name"),          \
        OPTION_IGNORED("jit_compile"), OPTION_IGNORED("is_legacy_optimizer"), OPTIONS_END

#define OPTIMIZER(id, class_name, name, rule, rate, slots, ...) \
    static const config_field id##_fields[] = {__VA_ARGS__, COMMON};
#include "model/optimizers.def"

/* ---- rows ------------------------------------------------------------------------------- */

typedef struct optimizer_kind {
    const char *class_name, *name;
    double learning_rate; /* the default */
    const config_field *fields;
} optimizer_kind;

static const optimizer_kind kinds[] = {
#define OPTIMIZER(id, class_name, name, rule, rate, ...) {class_name, name, rate, id##_fields},
#include "model/optimizers.def"
};

int optimizer_slots(const optimizer *o, optimizer_slot slots[OPTIMIZER_SLOTS_MAX])
{
    switch (o->id) {
#define SLOTS(...)  \
    {               \
        __VA_ARGS__ \
    }
#define SLOT(name, needed, initial, turn) \
    {                                     \
        name, needed, initial, turn       \
    }
#define OPTIMIZER(id, class_name, name, rule, rate, slots_, ...)              \
    case OPTIMIZER_##id: {                                                    \
        const optimizer_slot row[] = slots_;                                  \
        _Static_assert(sizeof row <= OPTIMIZER_SLOTS_MAX * sizeof *row, #id); \
        memcpy(slots, row, sizeof row);                                       \
        return (int)(sizeof row / sizeof *row);                               \
    }
#include "model/optimizers.def"
    case OPTIMIZER_COUNT:
        break;
    }
    return 0;
}

/* ---- reading and writing ---------------------------------------------------------------- */

static cornu_status find(const doc *d, const char *name, optimizer_id *id)
{
    const char *names[OPTIMIZER_COUNT];
    for (int i = 0; i < OPTIMIZER_COUNT; i++) {
        names[i] = kinds[i].name;
        if (strcasecmp(kinds[i].name, name) == 0) {
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
    TRY(find(d, name, &o.id));
    const char *owner = kinds[o.id].name;
    TRY(config_check_keys(owner, options, learning_rate, kinds[o.id].fields));
    TRY(config_read(owner, d, options, kinds[o.id].fields, &o));
    TRY(check_clipping(options, &o));
    const doc *rate = doc_get(options, "learning_rate");
    if (rate) {
        TRY(schedule_read(rate, &o.learning_rate));
    } else {
        o.learning_rate = (schedule){
            .id = SCHEDULE_CONSTANT, .initial = kinds[o.id].learning_rate, .warmup_target = -1};
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
    return kinds[o->id].name;
}

json_t *optimizer_to_json(const optimizer *o)
{
    json_t *config = json_object();
    if (!config ||
        config_set(config, "learning_rate", schedule_to_json(&o->learning_rate)) != CORNU_OK ||
        config_write(kinds[o->id].fields, o, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.optimizers", kinds[o->id].class_name, config);
}

json_t *optimizer_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < OPTIMIZER_COUNT; i++) {
        json_t *row =
            config_row(kinds[i].class_name, kinds[i].name, config_describe(kinds[i].fields));
        if (row)
            json_object_set_new(row, "learning_rate", json_real(kinds[i].learning_rate));
        json_array_append_new(list, row);
    }
    return list;
}
