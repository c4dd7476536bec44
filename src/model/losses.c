#include "model/losses.h"
#include "model/config.h"
#include "model/names.h"
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

#define KERAS_KEYS                                                                \
    OPTION_IGNORED("name"), OPTION_DTYPE, OPTION_IGNORED("fn"),                   \
        OPTION_NEUTRAL("reduction", "\"sum_over_batch_size\"|\"auto\"|\"mean\""), \
        OPTION_NEUTRAL("label_smoothing", "0.0|0"), OPTION_NEUTRAL("axis", "-1"), \
        OPTION_NEUTRAL("ignore_class", "null")

static const config_field plain_fields[] = {KERAS_KEYS, OPTIONS_END};
static const config_field logits_fields[] = {
    OPTION_AS("from_logits", BOOL, loss, from_logits, .fallback = "false"),
    KERAS_KEYS,
    OPTIONS_END,
};

static const config_field *fields_of(loss_id id)
{
    return kinds[id].has_logits ? logits_fields : plain_fields;
}

static bool find(const char *name, loss_id *id)
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
    if (!find(name, &out->id)) {
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
