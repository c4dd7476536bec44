/* The table of activations, by name. */
#include "model/model.h"
#include <string.h>

static const struct {
    const char *name, *other_name;
    float alpha;
    bool from_output, is_alone, is_function;
} activation_rows[] = {
#define ACTIVATION(id, name, other_name, rule, alpha, from_output) \
    {name, other_name, alpha, from_output, false, false},
#define ACTIVATION_OF_ROWS(...) ACTIVATION(__VA_ARGS__)
#define ACTIVATION_ALONE(id, name, other_name, rule, alpha, from_output) \
    {name, other_name, alpha, from_output, true, false},
#define ELEMENT_FUNCTION(id, name, other_name, rule, alpha, from_output) \
    {name, other_name, alpha, from_output, true, true},
#include "model/activations.def"
};

const char *activation_name(activation_kind kind)
{
    return activation_rows[kind].name;
}

bool activation_find(const char *name, activation *out)
{
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        if (!activation_rows[i].is_function &&
            (strcmp(activation_rows[i].name, name) == 0 ||
             (activation_rows[i].other_name && strcmp(activation_rows[i].other_name, name) == 0))) {
            *out = (activation){.kind = (activation_kind)i, .alpha = activation_rows[i].alpha};
            return true;
        }
    return false;
}

bool activation_from_output(activation_kind kind)
{
    return activation_rows[kind].from_output;
}

bool activation_is_alone(activation_kind kind)
{
    return activation_rows[kind].is_alone;
}

bool activation_is_function(activation_kind kind)
{
    return activation_rows[kind].is_function;
}

json_t *activation_table(void)
{
    json_t *list = json_array();
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        if (!activation_rows[i].is_function)
            json_array_append_new(list, json_pack("{s:s, s:s?}", "name", activation_rows[i].name,
                                                  "other_name", activation_rows[i].other_name));
    return list;
}
