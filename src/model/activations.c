#include "model/emit.h"
#include <string.h>

static const struct {
    const char *name;
    bool from_output;
} rows[] = {
#define ACTIVATION(id, name, from_output) {name, from_output},
#include "model/activations.def"
#undef ACTIVATION
};

const char *activation_name(activation_kind kind)
{
    return rows[kind].name;
}

bool activation_find(const char *name, activation *out)
{
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0) {
            out->kind = (activation_kind)i;
            out->alpha = i == ACTIVATION_LEAKY_RELU ? 0.2f : i == ACTIVATION_ELU ? 1.0f : 0.0f;
            return true;
        }
    return false;
}

bool activation_from_output(activation_kind kind)
{
    return rows[kind].from_output;
}
