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
    regularizer beta_regularizer, gamma_regularizer;
    constraint beta_constraint, gamma_constraint;
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
    OPTION_REGULARIZER(batch_normalization_config, beta_regularizer),
    OPTION_REGULARIZER(batch_normalization_config, gamma_regularizer),
    OPTION_CONSTRAINT(batch_normalization_config, beta_constraint),
    OPTION_CONSTRAINT(batch_normalization_config, gamma_constraint),
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

/* The options of the factor gamma and the summand beta, without statistics. */
#define OPTIONS_AFFINE(config)                                                                     \
    OPTION(REAL, config, epsilon, .fallback = "0.001", .maximum = 1e9, .flags = CONFIG_ABOVE),     \
        OPTION(BOOL, config, center, .fallback = "true"),                                          \
        OPTION(BOOL, config, scale, .fallback = "true"),                                           \
        OPTION(INITIALIZER, config, beta_initializer, .fallback = "zeros"),                        \
        OPTION(INITIALIZER, config, gamma_initializer, .fallback = "ones"),                        \
        OPTION_REGULARIZER(config, beta_regularizer),                                              \
        OPTION_REGULARIZER(config, gamma_regularizer), OPTION_CONSTRAINT(config, beta_constraint), \
        OPTION_CONSTRAINT(config, gamma_constraint)

/* LayerNormalization over the last dimension: y = gamma (x - mean) / sqrt(variance + epsilon) +
   beta, with the mean and (biased) variance of each sample's own last dimension. */
typedef struct layer_normalization_config {
    int64_t axis;
    double epsilon;
    bool center, scale;
    initializer beta_initializer, gamma_initializer;
    regularizer beta_regularizer, gamma_regularizer;
    constraint beta_constraint, gamma_constraint;
} layer_normalization_config;

static const config_field layer_normalization_fields[] = {
    OPTION(AXIS, layer_normalization_config, axis, .fallback = "-1"),
    OPTIONS_AFFINE(layer_normalization_config),
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

/* ---- GroupNormalization ------------------------------------------------------------------- */

/* y = gamma (x - mean) / sqrt(variance + epsilon) + beta, with the mean and (biased) variance of
   each sample's own group of channels, over all of its places. */
typedef struct group_normalization_config {
    int64_t groups, axis;
    double epsilon;
    bool center, scale;
    initializer beta_initializer, gamma_initializer;
    regularizer beta_regularizer, gamma_regularizer;
    constraint beta_constraint, gamma_constraint;
} group_normalization_config;

static const config_field group_normalization_fields[] = {
    OPTION(INT, group_normalization_config, groups, .minimum = -1, .maximum = LAYER_SIZE_MAX,
           .fallback = "32"),
    OPTION(AXIS, group_normalization_config, axis, .fallback = "-1"),
    OPTIONS_AFFINE(group_normalization_config),
    OPTIONS_END,
};

/* The groups of the last dimension: -1 is one for each channel. */
static int64_t group_count(const group_normalization_config *c, const shape *in)
{
    return c->groups == -1 ? in->dim[in->rank - 1] : c->groups;
}

static void declare_channels(layer_call *call, const char *name, initializer start)
{
    const shape channels = {1, {call->out.dim[call->out.rank - 1]}};
    layer_weight_beside(call, name, channels, call->out.rank, start);
}

static cornu_status group_normalization_declare(layer *l, layer_call *call)
{
    const group_normalization_config *c = l->config;
    TRY(layer_wants_last_axis(call, c->axis));
    call->out = call->in[0];
    const int64_t channels = call->out.dim[call->out.rank - 1], groups = group_count(c, &call->out);
    if (groups < 1 || channels % groups != 0)
        return status_fail(CORNU_INVALID,
                           "found %lld groups for %lld channels; expected a divisor, or -1 for a "
                           "group of each channel",
                           (long long)c->groups, (long long)channels);
    if (c->scale)
        declare_channels(call, "gamma", c->gamma_initializer);
    if (c->center)
        declare_channels(call, "beta", c->beta_initializer);
    return CORNU_OK;
}

/* Each group as a row of its own, and back. */
static cornu_status normalized_groups(step_builder *b, tensor_ref x, int64_t groups, double epsilon,
                                      tensor_ref *y)
{
    const shape in = emit_shape(b, x);
    const int64_t channels = in.dim[in.rank - 1], places = shape_elements(&in) / channels;
    const shape parts = {3, {places, groups, channels / groups}};
    const shape rows = {2, {groups, places * channels / groups}};
    const shape ordered = {3, {groups, places, channels / groups}};
    static const int exchanged[3] = {2, 1, 3};
    TRY(emit_reshape(b, x, &parts, y));
    if (places > 1)
        TRY(emit_transpose(b, *y, exchanged, y));
    TRY(emit_reshape(b, *y, &rows, y));
    TRY(emit_operation(b, "layer_norm_forward", (const tensor_ref[]){*y, NO_TENSOR, NO_TENSOR}, 3,
                       (const double[EMIT_REALS]){epsilon}, y));
    TRY(emit_reshape(b, *y, places > 1 ? &ordered : &parts, y));
    if (places > 1)
        TRY(emit_transpose(b, *y, exchanged, y));
    return emit_reshape(b, *y, &in, y);
}

static cornu_status group_normalization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                             tensor_ref *y)
{
    const group_normalization_config *c = l->config;
    const shape in = emit_shape(b, x[0]);
    int next = 0;
    TRY(normalized_groups(b, x[0], group_count(c, &in), c->epsilon, y));
    if (c->scale)
        TRY(emit_binary(b, BINARY_MULTIPLY, *y, emit_weight(b, next++), y));
    return c->center ? emit_binary(b, BINARY_ADD, *y, emit_weight(b, next), y) : CORNU_OK;
}

static const char *const group_normalization_samples[] = {
    "4,3,6 | {groups: 2}",
    "3,4 | {groups: -1, scale: false}",
    "6 | {groups: 3, center: false, epsilon: 0.01}",
    "2,2,4 | {groups: 1}",
    NULL,
};

const layer_kind layer_GroupNormalization = {
    .name = "GroupNormalization",
    .base_name = "group_normalization",
    .config_size = sizeof(group_normalization_config),
    .fields = group_normalization_fields,
    .declare = group_normalization_declare,
    .emit = group_normalization_emit,
    .samples = group_normalization_samples,
};

/* ---- RMSNormalization ---------------------------------------------------------------------- */

/* Over the last dimension: y = scale x / sqrt(mean of x^2 + epsilon). */
typedef struct rms_normalization_config {
    int64_t axis;
    double epsilon;
} rms_normalization_config;

static const config_field rms_normalization_fields[] = {
    OPTION(AXIS, rms_normalization_config, axis, .fallback = "-1"),
    OPTION(REAL, rms_normalization_config, epsilon, .fallback = "0.000001", .maximum = 1e9,
           .flags = CONFIG_ABOVE),
    OPTIONS_END,
};

static cornu_status rms_normalization_declare(layer *l, layer_call *call)
{
    const rms_normalization_config *c = l->config;
    TRY(layer_wants_last_axis(call, c->axis));
    call->out = call->in[0];
    declare_channels(call, "scale", (initializer){.kind = INITIALIZER_ONES});
    return CORNU_OK;
}

/* *y = the mean of x^2 over these axes, times the number of elements where it is a sum. */
static cornu_status squares(step_builder *b, tensor_ref x, const int_list *axes, bool sum,
                            tensor_ref *y)
{
    int64_t count;
    TRY(emit_activation(b, x, (activation){.kind = ACTIVATION_SQUARE}, y));
    TRY(layer_reduce(b, *y, axes, false, &count, y));
    return sum ? emit_scale(b, *y, (double)count, 0, y) : CORNU_OK;
}

static cornu_status rms_normalization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                           tensor_ref *y)
{
    const rms_normalization_config *c = l->config;
    static const int_list last = {.count = 1, .value = {-1}};
    TRY(squares(b, x[0], &last, false, y));
    TRY(emit_scale(b, *y, 1, c->epsilon, y));
    TRY(emit_activation(b, *y, (activation){.kind = ACTIVATION_RSQRT}, y));
    TRY(emit_binary(b, BINARY_MULTIPLY, x[0], *y, y));
    return emit_binary(b, BINARY_MULTIPLY, *y, emit_weight(b, 0), y);
}

static const char *const rms_normalization_samples[] = {
    "5 | {}",
    "4,3,6 | {epsilon: 0.01}",
    NULL,
};

const layer_kind layer_RMSNormalization = {
    .name = "RMSNormalization",
    .base_name = "rms_normalization",
    .config_size = sizeof(rms_normalization_config),
    .fields = rms_normalization_fields,
    .declare = rms_normalization_declare,
    .emit = rms_normalization_emit,
    .samples = rms_normalization_samples,
};

/* ---- UnitNormalization --------------------------------------------------------------------- */

/* y = x / max(norm of x over the axes, 1e-12). */
typedef struct unit_normalization_config {
    int_list axis;
} unit_normalization_config;

static const config_field unit_normalization_fields[] = {
    OPTION(INTS, unit_normalization_config, axis, .fallback = "-1"),
    OPTIONS_END,
};

static cornu_status unit_normalization_declare(layer *l, layer_call *call)
{
    const unit_normalization_config *c = l->config;
    bool reduced[SHAPE_MAX];
    call->out = call->in[0];
    return layer_reduced_axes(&c->axis, &call->in[0], reduced);
}

static cornu_status unit_normalization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                            tensor_ref *y)
{
    const unit_normalization_config *c = l->config;
    TRY(squares(b, x[0], &c->axis, true, y));
    TRY(emit_activation(b, *y, (activation){ACTIVATION_INVERSE_NORM, 1e-12f}, y));
    return emit_binary(b, BINARY_MULTIPLY, x[0], *y, y);
}

static const char *const unit_normalization_samples[] = {
    "5 | {}",
    "4,3,2 | {axis: [1, 2]}",
    "3,4 | {axis: 1}",
    NULL,
};

const layer_kind layer_UnitNormalization = {
    .name = "UnitNormalization",
    .base_name = "unit_normalization",
    .config_size = sizeof(unit_normalization_config),
    .fields = unit_normalization_fields,
    .declare = unit_normalization_declare,
    .emit = unit_normalization_emit,
    .samples = unit_normalization_samples,
};
