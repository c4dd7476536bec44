/* Layers by Keras's names. */
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
