#include "model/compile.h"
#include "model/config.h"
#include <string.h>
#include <strings.h>

static const loss_kind kinds[] = {
#define KIND(name, class_name, other_name, targets, when, activation) \
    {name,                                                            \
     class_name,                                                      \
     other_name,                                                      \
     LOSS_TARGETS_##targets,                                          \
     LOSS_TARGETS_##targets == LOSS_TARGETS_CLASSES,                  \
     LOSS_LOGITS_##when,                                              \
     ACTIVATION_##activation},
#define LOSS(id, name, class_name, other_name, targets, ...) \
    KIND(name, class_name, other_name, targets, NEVER, LINEAR)
#define LOSS_WITH_LOGITS(id, name, class_name, other_name, targets, options, rule, activation, \
                         when)                                                                 \
    KIND(name, class_name, other_name, targets, when, activation)
#define LOSS_COMPOSED(id, name, class_name, targets, options) \
    KIND(name, class_name, NULL, targets, NEVER, LINEAR)
#include "model/losses.def"
};

const loss_kind *loss_kind_of(loss_id id)
{
    return &kinds[id];
}

void loss_reals(const loss *l, float *reals)
{
    for (int i = 0; i < ROW_REALS; i++)
        reals[i] = (float)l->reals[i];
    if (l->balanced)
        reals[2] = 1;
}

/* ---- options ------------------------------------------------------------------------------ */

/* Keras's keys, in its order; each class has some of them, and older files may have all. */
#define REDUCTION                                                      \
    OPTION(CHOICE, loss, reduction, .fallback = "sum_over_batch_size", \
           .choices = "sum_over_batch_size|sum|mean|auto")
#define OTHER_KEYS OPTION_IGNORED("name"), OPTION_DTYPE, OPTION_IGNORED("fn")
#define FROM_LOGITS OPTION(BOOL, loss, from_logits, .fallback = "false")
#define SMOOTHING OPTION(REAL, loss, label_smoothing, .fallback = "0.0", .minimum = 0, .maximum = 1)
#define LAST_AXIS OPTION_NEUTRAL("axis", "-1")
#define NUMBER(name, i, ...) OPTION_AS(name, REAL, loss, reals[i], .fallback = __VA_ARGS__)
#define NO_SMOOTHING OPTION_TOLERATED("label_smoothing", "0.0|0")
#define NO_IGNORED_CLASS OPTION_TOLERATED("ignore_class", "null")

static const config_field plain_fields[] = {REDUCTION, OTHER_KEYS, OPTIONS_END};
static const config_field values_fields[] = {
    REDUCTION,        OTHER_KEYS,  NO_SMOOTHING, OPTION_TOLERATED("axis", "-1"),
    NO_IGNORED_CLASS, OPTIONS_END,
};
static const config_field cosine_fields[] = {LAST_AXIS, REDUCTION, OTHER_KEYS, OPTIONS_END};
static const config_field huber_fields[] = {
    NUMBER("delta", 0, "1.0"),
    REDUCTION,
    OTHER_KEYS,
    OPTIONS_END,
};
static const config_field shares_fields[] = {
    FROM_LOGITS, SMOOTHING, LAST_AXIS, REDUCTION, OTHER_KEYS, NO_IGNORED_CLASS, OPTIONS_END,
};
static const config_field classes_fields[] = {
    FROM_LOGITS, OPTION_NEUTRAL("ignore_class", "null"),
    REDUCTION,   LAST_AXIS,
    OTHER_KEYS,  NO_SMOOTHING,
    OPTIONS_END,
};
#define ALPHA NUMBER("alpha", 0, "0.25")
#define GAMMA NUMBER("gamma", 1, "2.0")
static const config_field focal_fields[] = {
    ALPHA, GAMMA, FROM_LOGITS, SMOOTHING, LAST_AXIS, REDUCTION, OTHER_KEYS, OPTIONS_END,
};
static const config_field binary_focal_fields[] = {
    OPTION_AS("apply_class_balancing", BOOL, loss, balanced, .fallback = "false"),
    ALPHA,
    GAMMA,
    FROM_LOGITS,
    SMOOTHING,
    LAST_AXIS,
    REDUCTION,
    OTHER_KEYS,
    OPTIONS_END,
};
static const config_field generalized_fields[] = {
    NUMBER("q", 0, "0.5", .minimum = 0, .maximum = 1, .flags = CONFIG_ABOVE | CONFIG_BELOW),
    REDUCTION,
    OTHER_KEYS,
    OPTIONS_END,
};

static const config_field circle_fields[] = {
    NUMBER("gamma", 0, "80.0"),
    NUMBER("margin", 1, "0.4"),
    OPTION(BOOL, loss, remove_diagonal, .fallback = "true"),
    REDUCTION,
    OTHER_KEYS,
    OPTIONS_END,
};

#define AXIS OPTION(INTS, loss, axis, .fallback = "null", .flags = CONFIG_NULLABLE)
static const config_field dice_fields[] = {
    REDUCTION, OPTION_IGNORED("name"), AXIS, OPTION_DTYPE, OPTION_IGNORED("fn"), OPTIONS_END,
};
static const config_field tversky_fields[] = {
    NUMBER("alpha", 0, "0.5"),
    NUMBER("beta", 1, "0.5"),
    REDUCTION,
    OPTION_IGNORED("name"),
    AXIS,
    OPTION_DTYPE,
    OPTION_IGNORED("fn"),
    OPTIONS_END,
};

static const config_field *fields_of(loss_id id)
{
    static const config_field *const fields[LOSS_KINDS] = {
#define LOSS(id, name, class_name, other_name, targets, options, rule) \
    [LOSS_##id] = options##_fields,
#define LOSS_COMPOSED(id, name, class_name, targets, options) [LOSS_##id] = options##_fields,
#include "model/losses.def"
    };
    return fields[id];
}

/* ---- names, reading and writing ----------------------------------------------------------- */

bool loss_find(const char *name, loss_id *id)
{
    for (int i = 0; i < LOSS_KINDS; i++)
        if (i != LOSS_VALUES &&
            (strcmp(kinds[i].class_name, name) == 0 || strcmp(kinds[i].name, name) == 0 ||
             (kinds[i].other_name && strcasecmp(kinds[i].other_name, name) == 0))) {
            *id = (loss_id)i;
            return true;
        }
    return false;
}

cornu_status loss_read(const doc *d, loss *out)
{
    const char *name;
    const doc *options;
    TRY(name_split(d, "a loss", &name, &options));
    if (!loss_find(name, &out->id)) {
        const char *names[LOSS_KINDS];
        int count = 0;
        for (int i = 0; i < LOSS_KINDS; i++)
            if (i != LOSS_VALUES)
                names[count++] = kinds[i].name;
        return name_fail(d, "loss", name, names, count);
    }
    *out = (loss){.id = out->id};
    const config_field *fields = fields_of(out->id);
    TRY(config_check_keys(kinds[out->id].name, options, fields, NULL));
    TRY(config_read(kinds[out->id].name, d, options, fields, out));
    if (out->reduction == LOSS_REDUCTION_AUTO)
        out->reduction = LOSS_REDUCTION_SUM_OVER_BATCH_SIZE;
    return CORNU_OK;
}

json_t *loss_to_json(const loss *l)
{
    json_t *config = json_object();
    if (!config || config_write(fields_of(l->id), l, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.losses", kinds[l->id].class_name, config);
}

json_t *loss_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < LOSS_KINDS; i++) {
        if (i == LOSS_VALUES)
            continue;
        json_t *row =
            config_row(kinds[i].class_name, kinds[i].name, config_describe(fields_of((loss_id)i)));
        if (row && kinds[i].other_name)
            json_object_set_new(row, "other_name", json_string(kinds[i].other_name));
        if (row)
            json_object_set_new(row, "sparse", json_boolean(kinds[i].sparse));
        json_array_append_new(list, row);
    }
    return list;
}
