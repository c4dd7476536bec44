/* Layers by their Keras names. */
#include "model/config.h"
#include "model/model.h"
#include <string.h>

#define ALIAS(name, layer) extern const layer_kind layer_##layer;
#include "model/layers/aliases.def"
#undef ALIAS

static const struct {
    const char *name;
    const layer_kind *kind;
} aliases[] = {
#define ALIAS(name, layer) {#name, &layer_##layer},
#include "model/layers/aliases.def"
#undef ALIAS
};

const layer_kind *layer_kind_find(const char *class_name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i].name, class_name) == 0)
            return aliases[i].kind;
    for (const layer_kind *const *k = layer_kinds; *k; k++)
        if (strcmp((*k)->name, class_name) == 0)
            return *k;
    return NULL;
}

static json_t *names_of(const layer_kind *kind)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (aliases[i].kind == kind)
            json_array_append_new(list, json_string(aliases[i].name));
    return list;
}

json_t *layer_table(void)
{
    json_t *list = json_array();
    for (const layer_kind *const *k = layer_kinds; *k; k++) {
        json_t *row = config_row((*k)->name, (*k)->base_name, config_describe((*k)->fields));
        if (row)
            json_object_set_new(row, "aliases", names_of(*k));
        json_array_append_new(list, row);
    }
    return list;
}
