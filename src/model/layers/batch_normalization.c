#include "model/layers/layers.h"

/* BatchNormalization over the last dimension: y = gamma (x - mean) / sqrt(variance + epsilon) +
   beta. Training uses the batch's mean and (biased) variance, inference the moving ones. */
typedef struct batch_normalization_config {
    int64_t axis;
    double momentum, epsilon;
    bool center, scale;
    initializer beta_initializer, gamma_initializer, moving_mean_initializer,
        moving_variance_initializer;
} batch_normalization_config;

#define CONFIG batch_normalization_config

static const config_field fields[] = {
    OPTION(AXIS, CONFIG, axis, .fallback = "-1"),
    OPTION(REAL, CONFIG, momentum, .fallback = "0.99", .maximum = 1),
    OPTION(REAL, CONFIG, epsilon, .fallback = "0.001", .maximum = 1e9, .flags = CONFIG_ABOVE),
    OPTION(BOOL, CONFIG, center, .fallback = "true"),
    OPTION(BOOL, CONFIG, scale, .fallback = "true"),
    OPTION(INITIALIZER, CONFIG, beta_initializer, .fallback = "zeros"),
    OPTION(INITIALIZER, CONFIG, gamma_initializer, .fallback = "ones"),
    OPTION(INITIALIZER, CONFIG, moving_mean_initializer, .fallback = "zeros"),
    OPTION(INITIALIZER, CONFIG, moving_variance_initializer, .fallback = "ones"),
    OPTION_NEUTRAL("beta_regularizer", "null"),
    OPTION_NEUTRAL("gamma_regularizer", "null"),
    OPTION_NEUTRAL("beta_constraint", "null"),
    OPTION_NEUTRAL("gamma_constraint", "null"),
    OPTION_NEUTRAL("renorm", "false"),
    OPTION_NEUTRAL("renorm_clipping", "null"),
    OPTION_NEUTRAL("synchronized", "false"),
    OPTION_IGNORED("renorm_momentum"),
    OPTIONS_END,
};

static cornu_status batch_normalization_declare(layer *l, weight_spec *weights, int *count)
{
    CONFIG *c = l->config;
    TRY(layer_wants_last_axis(l, &c->axis));
    l->out = l->in;
    shape channels = {1, {l->in.dim[l->in.rank - 1]}};
    if (c->scale)
        layer_weight(weights, count, "gamma", channels, c->gamma_initializer, true);
    if (c->center)
        layer_weight(weights, count, "beta", channels, c->beta_initializer, true);
    layer_weight(weights, count, "moving_mean", channels, c->moving_mean_initializer, false);
    layer_weight(weights, count, "moving_variance", channels, c->moving_variance_initializer,
                 false);
    return CORNU_OK;
}

static cornu_status batch_normalization_emit(const layer *l, step_builder *b, tensor_ref x,
                                             tensor_ref *y)
{
    const CONFIG *c = l->config;
    int next = 0;
    tensor_ref gamma = c->scale ? emit_weight(b, next++) : NO_TENSOR;
    tensor_ref beta = c->center ? emit_weight(b, next++) : NO_TENSOR;
    tensor_ref mean = emit_weight(b, next++), variance = emit_weight(b, next);
    return emit_batch_norm(b, x, gamma, beta, mean, variance, c->momentum, c->epsilon, y);
}

static const char *const samples[] = {
    "5 | {}",
    "4,3,6 | {}",
    "3,3,2 | {scale: false}",
    "7 | {center: false, epsilon: 0.01}",
    "2,2,17 | {center: false, scale: false, momentum: 0.9}",
    NULL,
};

const layer_kind layer_BatchNormalization = {
    .name = "BatchNormalization",
    .base_name = "batch_normalization",
    .config_size = sizeof(CONFIG),
    .fields = fields,
    .declare = batch_normalization_declare,
    .emit = batch_normalization_emit,
    .samples = samples,
};
