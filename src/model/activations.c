#include "model/model.h"
#include <string.h>

static const struct {
    const char *name, *other_name;
    float alpha;
    bool from_output;
} rows[] = {
#define ACTIVATION(id, name, other_name, rule, alpha, from_output) \
    {name, other_name, alpha, from_output},
#define ACTIVATION_OF_ROWS(...) ACTIVATION(__VA_ARGS__)
#include "model/activations.def"
};

const char *activation_name(activation_kind kind)
{
    return rows[kind].name;
}

bool activation_find(const char *name, activation *out)
{
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0 ||
            (rows[i].other_name && strcmp(rows[i].other_name, name) == 0)) {
            *out = (activation){.kind = (activation_kind)i, .alpha = rows[i].alpha};
            return true;
        }
    return false;
}

bool activation_from_output(activation_kind kind)
{
    return rows[kind].from_output;
}

json_t *activation_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s?}", "name", rows[i].name, "other_name", rows[i].other_name));
    return list;
}
