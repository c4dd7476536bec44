/* keras.layers.activations */
#include "model/layers/layers.h"

/* Activation: y = act(x). */
typedef struct activation_config {
    activation activation;
} activation_config;

static const config_field activation_fields[] = {
    OPTION(ACTIVATION, activation_config, activation, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status activation_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                    tensor_ref *y)
{
    const activation_config *c = l->config;
    return layer_emit_activation(b, x[0], c->activation, y);
}

static const char *const activation_samples[] = {
#define ACTIVATION(id, name, ...) "3,3,5 | {activation: " name "}",
#define ELEMENT_FUNCTION(...)
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
    .fields = activation_fields,
    .declare = layer_same_shape,
    .emit = activation_emit,
    .samples = activation_samples,
};

/* ReLU: y = max(x, 0). Keras's variants (a ceiling, a slope, a threshold) are refused. */
static const config_field relu_fields[] = {
    OPTION_NEUTRAL("max_value", "null"),
    OPTION_NEUTRAL("negative_slope", "0.0|0|null"),
    OPTION_NEUTRAL("threshold", "0.0|0|null"),
    OPTIONS_END,
};

static cornu_status relu_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    (void)l;
    return emit_activation(b, x[0], (activation){.kind = ACTIVATION_RELU}, y);
}

static const char *const relu_samples[] = {"7 | {}", "3,4,2 | {}", NULL};

const layer_kind layer_ReLU = {
    .name = "ReLU",
    .base_name = "re_lu",
    .fields = relu_fields,
    .declare = layer_same_shape,
    .emit = relu_emit,
    .samples = relu_samples,
};

/* LeakyReLU: y = x where x >= 0, else negative_slope x. */
typedef struct leaky_relu_config {
    double negative_slope;
} leaky_relu_config;

static const config_field leaky_relu_fields[] = {
    OPTION(REAL, leaky_relu_config, negative_slope, .fallback = "0.3", .maximum = 1e9),
    OPTION_AS("alpha", REAL, leaky_relu_config, negative_slope, .maximum = 1e9,
              .flags = CONFIG_ALIAS),
    OPTIONS_END,
};

static cornu_status leaky_relu_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                    tensor_ref *y)
{
    const leaky_relu_config *c = l->config;
    activation a = {.kind = ACTIVATION_LEAKY_RELU, .alpha = (float)c->negative_slope};
    return emit_activation(b, x[0], a, y);
}

static const char *const leaky_relu_samples[] = {"7 | {}", "3,4,2 | {negative_slope: 0.1}", NULL};

const layer_kind layer_LeakyReLU = {
    .name = "LeakyReLU",
    .base_name = "leaky_re_lu",
    .config_size = sizeof(leaky_relu_config),
    .fields = leaky_relu_fields,
    .declare = layer_same_shape,
    .emit = leaky_relu_emit,
    .samples = leaky_relu_samples,
};

/* ELU: y = x where x > 0, else alpha (exp(x) - 1). */
typedef struct elu_config {
    double alpha;
} elu_config;

static const config_field elu_fields[] = {
    OPTION(REAL, elu_config, alpha, .fallback = "1.0", .maximum = 1e9),
    OPTIONS_END,
};

static cornu_status elu_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const elu_config *c = l->config;
    activation a = {.kind = ACTIVATION_ELU, .alpha = (float)c->alpha};
    return emit_activation(b, x[0], a, y);
}

static const char *const elu_samples[] = {"7 | {}", "3,4,2 | {alpha: 0.5}", NULL};

const layer_kind layer_ELU = {
    .name = "ELU",
    .base_name = "elu",
    .config_size = sizeof(elu_config),
    .fields = elu_fields,
    .declare = layer_same_shape,
    .emit = elu_emit,
    .samples = elu_samples,
};

/* Softmax over the last dimension: y = exp(x) / sum(exp(x)). */
typedef struct softmax_config {
    int64_t axis;
} softmax_config;

static const config_field softmax_fields[] = {
    OPTION(AXIS, softmax_config, axis, .fallback = "-1"),
    OPTIONS_END,
};

static cornu_status softmax_declare(layer *l, layer_call *call)
{
    softmax_config *c = l->config;
    TRY(layer_wants_last_axis(call, c->axis));
    return layer_same_shape(l, call);
}

static cornu_status softmax_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    (void)l;
    return emit_activation(b, x[0], (activation){.kind = ACTIVATION_SOFTMAX}, y);
}

static const char *const softmax_samples[] = {"6 | {}", "2,3,5 | {}", NULL};

const layer_kind layer_Softmax = {
    .name = "Softmax",
    .base_name = "softmax",
    .config_size = sizeof(softmax_config),
    .fields = softmax_fields,
    .declare = softmax_declare,
    .emit = softmax_emit,
    .samples = softmax_samples,
};
