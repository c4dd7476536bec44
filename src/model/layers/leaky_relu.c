#include "model/layers/layers.h"

/* LeakyReLU: y = x where x >= 0, else negative_slope x. */
typedef struct leaky_relu_config {
    double negative_slope;
} leaky_relu_config;

static const config_field fields[] = {
    OPTION(REAL, leaky_relu_config, negative_slope, .fallback = "0.3", .maximum = 1e9),
    OPTION_AS("alpha", REAL, leaky_relu_config, negative_slope, .maximum = 1e9,
              .flags = CONFIG_ALIAS),
    OPTIONS_END,
};

static cornu_status leaky_relu_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    const leaky_relu_config *c = l->config;
    activation a = {.kind = ACTIVATION_LEAKY_RELU, .alpha = (float)c->negative_slope};
    return emit_activation(b, x, a, y);
}

static const char *const samples[] = {"7 | {}", "3,4,2 | {negative_slope: 0.1}", NULL};

const layer_kind layer_LeakyReLU = {
    .name = "LeakyReLU",
    .base_name = "leaky_re_lu",
    .config_size = sizeof(leaky_relu_config),
    .fields = fields,
    .declare = layer_same_shape,
    .emit = leaky_relu_emit,
    .samples = samples,
};
