/* The table of layers. */
#include "model/config.h"
#include "model/model.h"
#include <string.h>

#define LAYER(name, other_name) extern const layer_kind layer_##name;
#include "model/layers/layers.def"

const layer_kind *const layer_kinds[] = {
#define LAYER(name, other_name) &layer_##name,
#include "model/layers/layers.def"
    NULL,
};

static const char *const other_names[] = {
#define LAYER(name, other_name) other_name,
#include "model/layers/layers.def"
};

const layer_kind *layer_kind_find(const char *class_name)
{
    for (int i = 0; layer_kinds[i]; i++)
        if (strcmp(layer_kinds[i]->name, class_name) == 0 ||
            (other_names[i] && strcmp(other_names[i], class_name) == 0))
            return layer_kinds[i];
    return NULL;
}

const char *layer_operation(const layer *l)
{
    if (l->kind->operation)
        return l->kind->operation;
    for (const config_field *f = l->kind->fields; f->key; f++)
        if (f->flags & CONFIG_ARGUMENT && config_has_value(f, l->config))
            return "keras.src.ops.numpy";
    return NULL;
}

/* Refuse Keras's layers whose work cornu does elsewhere. */
static cornu_status refuse_elsewhere(const doc *at, const char *class_name)
{
    if (strncmp(class_name, "Random", 6) == 0)
        return doc_fail(at,
                        "cornu has no layer %s; random changes of the training samples are the "
                        "recipe's data.augment",
                        class_name);
    return CORNU_OK;
}

cornu_status layer_kind_fail(const doc *at, const char *class_name)
{
    const char *names[MODEL_LAYERS_MAX];
    int count = 0;
    TRY(refuse_elsewhere(at, class_name));
    for (const layer_kind *const *k = layer_kinds; *k; k++)
        names[count++] = (*k)->name;
    return name_fail(at, "layer", class_name, names, count);
}

json_t *layer_table(void)
{
    json_t *list = json_array();
    for (int i = 0; layer_kinds[i]; i++) {
        const layer_kind *k = layer_kinds[i];
        json_t *row = config_row(k->name, k->base_name, config_describe(k->fields));
        if (row) {
            json_object_set_new(row, "aliases",
                                other_names[i] ? json_pack("[s]", other_names[i]) : json_array());
            json_object_set_new(row, "merges", json_boolean(k->merges));
            json_object_set_new(row, "reads_states", json_boolean(k->reads_states));
            json_object_set_new(row, "unlisted", json_boolean(k->unlisted));
            json_object_set_new(row, "operation",
                                k->operation ? json_string(k->operation) : json_null());
        }
        json_array_append_new(list, row);
    }
    return list;
}
