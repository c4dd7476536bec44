#include "model/layers/layers.h"

/* LayerNormalization over the last dimension: y = gamma (x - mean) / sqrt(variance + epsilon) +
   beta, with the mean and (biased) variance of each sample's own last dimension. */
typedef struct layer_normalization_config {
    int64_t axis;
    double epsilon;
    bool center, scale;
    initializer beta_initializer, gamma_initializer;
} layer_normalization_config;

#define CONFIG layer_normalization_config

static const config_field fields[] = {
    OPTION(AXIS, CONFIG, axis, .fallback = "-1"),
    OPTION(REAL, CONFIG, epsilon, .fallback = "0.001", .maximum = 1e9, .flags = CONFIG_ABOVE),
    OPTION(BOOL, CONFIG, center, .fallback = "true"),
    OPTION(BOOL, CONFIG, scale, .fallback = "true"),
    OPTION(INITIALIZER, CONFIG, beta_initializer, .fallback = "zeros"),
    OPTION(INITIALIZER, CONFIG, gamma_initializer, .fallback = "ones"),
    OPTION_NEUTRAL("beta_regularizer", "null"),
    OPTION_NEUTRAL("gamma_regularizer", "null"),
    OPTION_NEUTRAL("beta_constraint", "null"),
    OPTION_NEUTRAL("gamma_constraint", "null"),
    OPTION_TOLERATED("rms_scaling", "false"),
    OPTIONS_END,
};

static cornu_status layer_normalization_declare(layer *l, weight_spec *weights, int *count)
{
    CONFIG *c = l->config;
    TRY(layer_wants_last_axis(l, &c->axis));
    l->out = l->in;
    shape columns = {1, {l->in.dim[l->in.rank - 1]}};
    if (c->scale)
        layer_weight(weights, count, "gamma", columns, c->gamma_initializer, true);
    if (c->center)
        layer_weight(weights, count, "beta", columns, c->beta_initializer, true);
    return CORNU_OK;
}

static cornu_status layer_normalization_emit(const layer *l, step_builder *b, tensor_ref x,
                                             tensor_ref *y)
{
    const CONFIG *c = l->config;
    int next = 0;
    tensor_ref gamma = c->scale ? emit_weight(b, next++) : NO_TENSOR;
    tensor_ref beta = c->center ? emit_weight(b, next) : NO_TENSOR;
    return emit_operation(b, "layer_norm_forward", (const tensor_ref[]){x, gamma, beta}, 3,
                          (const double[EMIT_REALS]){c->epsilon}, y);
}

static const char *const samples[] = {
    "5 | {}",
    "4,3,6 | {}",
    "3,3,2 | {scale: false}",
    "7 | {center: false, epsilon: 0.01}",
    "2,2,17 | {center: false, scale: false}",
    NULL,
};

const layer_kind layer_LayerNormalization = {
    .name = "LayerNormalization",
    .base_name = "layer_normalization",
    .config_size = sizeof(CONFIG),
    .fields = fields,
    .declare = layer_normalization_declare,
    .emit = layer_normalization_emit,
    .samples = samples,
};
