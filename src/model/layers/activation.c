#include "model/layers/layers.h"

/* Activation: y = act(x). */
typedef struct activation_config {
    activation activation;
} activation_config;

static const config_field fields[] = {
    OPTION(ACTIVATION, activation_config, activation, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status activation_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    const activation_config *c = l->config;
    return layer_emit_activation(b, x, c->activation, y);
}

static const char *const samples[] = {
#define ACTIVATION(id, name, ...) "3,3,5 | {activation: " name "}",
#define ACTIVATION_OF_ROWS(id, name, ...) \
    ACTIVATION(id, name)                  \
    "6 | {activation: " name "}",
#include "model/activations.def"
    NULL,
};

const layer_kind layer_Activation = {
    .name = "Activation",
    .base_name = "activation",
    .config_size = sizeof(activation_config),
    .fields = fields,
    .declare = layer_same_shape,
    .emit = activation_emit,
    .samples = samples,
};
