#include "model/compile.h"
#include "model/config.h"
#include <string.h>
#include <strings.h>

static const loss_kind kinds[] = {
#define KIND(name, class_name, other_name, targets, has_logits) \
    {name,                                                      \
     class_name,                                                \
     other_name,                                                \
     LOSS_TARGETS_##targets,                                    \
     LOSS_TARGETS_##targets == LOSS_TARGETS_CLASSES,            \
     has_logits},
#define LOSS(id, name, class_name, other_name, targets, rule) \
    KIND(name, class_name, other_name, targets, false)
#define LOSS_WITH_LOGITS(id, name, class_name, other_name, targets, rule) \
    KIND(name, class_name, other_name, targets, true)
#include "model/losses.def"
};

const loss_kind *loss_kind_of(loss_id id)
{
    return &kinds[id];
}

/* Keras's keys, in its order; each class has some of them, and older files may have all. */
#define REDUCTION OPTION_NEUTRAL("reduction", "\"sum_over_batch_size\"|\"auto\"|\"mean\"")
#define OTHER_KEYS OPTION_IGNORED("name"), OPTION_DTYPE, OPTION_IGNORED("fn")
#define FROM_LOGITS OPTION_AS("from_logits", BOOL, loss, from_logits, .fallback = "false")

static const config_field values_fields[] = {
    REDUCTION,
    OTHER_KEYS,
    OPTION_TOLERATED("label_smoothing", "0.0|0"),
    OPTION_TOLERATED("axis", "-1"),
    OPTION_TOLERATED("ignore_class", "null"),
    OPTIONS_END,
};
static const config_field shares_fields[] = {
    FROM_LOGITS,
    OPTION_NEUTRAL("label_smoothing", "0.0|0"),
    OPTION_NEUTRAL("axis", "-1"),
    REDUCTION,
    OTHER_KEYS,
    OPTION_TOLERATED("ignore_class", "null"),
    OPTIONS_END,
};
static const config_field classes_fields[] = {
    FROM_LOGITS, OPTION_NEUTRAL("ignore_class", "null"),
    REDUCTION,   OPTION_NEUTRAL("axis", "-1"),
    OTHER_KEYS,  OPTION_TOLERATED("label_smoothing", "0.0|0"),
    OPTIONS_END,
};
static const config_field *const fields_of_targets[] = {
    [LOSS_TARGETS_CLASSES] = classes_fields,
    [LOSS_TARGETS_SHARES] = shares_fields,
    [LOSS_TARGETS_VALUES] = values_fields,
};

static const config_field *fields_of(loss_id id)
{
    return fields_of_targets[kinds[id].targets];
}

bool loss_find(const char *name, loss_id *id)
{
    for (int i = 0; i < LOSS_COUNT; i++)
        if (strcmp(kinds[i].class_name, name) == 0 || strcmp(kinds[i].name, name) == 0 ||
            (kinds[i].other_name && strcasecmp(kinds[i].other_name, name) == 0)) {
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
        const char *names[LOSS_COUNT];
        for (int i = 0; i < LOSS_COUNT; i++)
            names[i] = kinds[i].name;
        return name_fail(d, "loss", name, names, LOSS_COUNT);
    }
    out->from_logits = false;
    const config_field *fields = fields_of(out->id);
    TRY(config_check_keys(kinds[out->id].name, options, fields, NULL));
    return config_read(kinds[out->id].name, d, options, fields, out);
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
    for (int i = 0; i < LOSS_COUNT; i++) {
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
