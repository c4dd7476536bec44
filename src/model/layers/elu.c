#include "model/layers/layers.h"

/* ELU: y = x where x > 0, else alpha (exp(x) - 1). */
typedef struct elu_config {
    double alpha;
} elu_config;

static const config_field fields[] = {
    OPTION(REAL, elu_config, alpha, .fallback = "1.0", .maximum = 1e9),
    OPTIONS_END,
};

static cornu_status elu_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    const elu_config *c = l->config;
    activation a = {.kind = ACTIVATION_ELU, .alpha = (float)c->alpha};
    return emit_activation(b, x, a, y);
}

static const char *const samples[] = {"7 | {}", "3,4,2 | {alpha: 0.5}", NULL};

const layer_kind layer_ELU = {
    .name = "ELU",
    .base_name = "elu",
    .config_size = sizeof(elu_config),
    .fields = fields,
    .declare = layer_same_shape,
    .emit = elu_emit,
    .samples = samples,
};
