/* keras.layers.normalization */
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

static const config_field batch_normalization_fields[] = {
    OPTION(AXIS, batch_normalization_config, axis, .fallback = "-1"),
    OPTION(REAL, batch_normalization_config, momentum, .fallback = "0.99", .maximum = 1),
    OPTION(REAL, batch_normalization_config, epsilon, .fallback = "0.001", .maximum = 1e9,
           .flags = CONFIG_ABOVE),
    OPTION(BOOL, batch_normalization_config, center, .fallback = "true"),
    OPTION(BOOL, batch_normalization_config, scale, .fallback = "true"),
    OPTION(INITIALIZER, batch_normalization_config, beta_initializer, .fallback = "zeros"),
    OPTION(INITIALIZER, batch_normalization_config, gamma_initializer, .fallback = "ones"),
    OPTION(INITIALIZER, batch_normalization_config, moving_mean_initializer, .fallback = "zeros"),
    OPTION(INITIALIZER, batch_normalization_config, moving_variance_initializer,
           .fallback = "ones"),
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

static cornu_status batch_normalization_declare(layer *l, layer_call *call)
{
    batch_normalization_config *c = l->config;
    TRY(layer_wants_last_axis(call, c->axis));
    call->out = call->in[0];
    shape channels = {1, {call->out.dim[call->out.rank - 1]}};
    if (c->scale)
        layer_weight(call, "gamma", channels, c->gamma_initializer, true);
    if (c->center)
        layer_weight(call, "beta", channels, c->beta_initializer, true);
    layer_weight(call, "moving_mean", channels, c->moving_mean_initializer, false);
    layer_weight(call, "moving_variance", channels, c->moving_variance_initializer, false);
    return CORNU_OK;
}

static cornu_status batch_normalization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                             tensor_ref *y)
{
    const batch_normalization_config *c = l->config;
    int next = 0;
    tensor_ref gamma = c->scale ? emit_weight(b, next++) : NO_TENSOR;
    tensor_ref beta = c->center ? emit_weight(b, next++) : NO_TENSOR;
    tensor_ref mean = emit_weight(b, next++), variance = emit_weight(b, next);
    return emit_batch_norm(b, x[0], gamma, beta, mean, variance, c->momentum, c->epsilon, y);
}

static const char *const batch_normalization_samples[] = {
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
    .config_size = sizeof(batch_normalization_config),
    .fields = batch_normalization_fields,
    .declare = batch_normalization_declare,
    .emit = batch_normalization_emit,
    .samples = batch_normalization_samples,
};

/* LayerNormalization over the last dimension: y = gamma (x - mean) / sqrt(variance + epsilon) +
   beta, with the mean and (biased) variance of each sample's own last dimension. */
typedef struct layer_normalization_config {
    int64_t axis;
    double epsilon;
    bool center, scale;
    initializer beta_initializer, gamma_initializer;
} layer_normalization_config;

static const config_field layer_normalization_fields[] = {
    OPTION(AXIS, layer_normalization_config, axis, .fallback = "-1"),
    OPTION(REAL, layer_normalization_config, epsilon, .fallback = "0.001", .maximum = 1e9,
           .flags = CONFIG_ABOVE),
    OPTION(BOOL, layer_normalization_config, center, .fallback = "true"),
    OPTION(BOOL, layer_normalization_config, scale, .fallback = "true"),
    OPTION(INITIALIZER, layer_normalization_config, beta_initializer, .fallback = "zeros"),
    OPTION(INITIALIZER, layer_normalization_config, gamma_initializer, .fallback = "ones"),
    OPTION_NEUTRAL("beta_regularizer", "null"),
    OPTION_NEUTRAL("gamma_regularizer", "null"),
    OPTION_NEUTRAL("beta_constraint", "null"),
    OPTION_NEUTRAL("gamma_constraint", "null"),
    OPTION_TOLERATED("rms_scaling", "false"),
    OPTIONS_END,
};

static cornu_status layer_normalization_declare(layer *l, layer_call *call)
{
    layer_normalization_config *c = l->config;
    TRY(layer_wants_last_axis(call, c->axis));
    call->out = call->in[0];
    shape columns = {1, {call->out.dim[call->out.rank - 1]}};
    if (c->scale)
        layer_weight(call, "gamma", columns, c->gamma_initializer, true);
    if (c->center)
        layer_weight(call, "beta", columns, c->beta_initializer, true);
    return CORNU_OK;
}

static cornu_status layer_normalization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                             tensor_ref *y)
{
    const layer_normalization_config *c = l->config;
    int next = 0;
    tensor_ref gamma = c->scale ? emit_weight(b, next++) : NO_TENSOR;
    tensor_ref beta = c->center ? emit_weight(b, next) : NO_TENSOR;
    return emit_operation(b, "layer_norm_forward", (const tensor_ref[]){x[0], gamma, beta}, 3,
                          (const double[EMIT_REALS]){c->epsilon}, y);
}

static const char *const layer_normalization_samples[] = {
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
    .config_size = sizeof(layer_normalization_config),
    .fields = layer_normalization_fields,
    .declare = layer_normalization_declare,
    .emit = layer_normalization_emit,
    .samples = layer_normalization_samples,
};
