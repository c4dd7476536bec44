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
#define ACTIVATION_ALONE(id, name, ...) "2,3,4 | {activation: " name "}",
#define ELEMENT_FUNCTION(...)
#define ACTIVATION_OF_ROWS(id, name, ...) \
    ACTIVATION(id, name)                  \
    "4 | {activation: " name "}",
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

/* ReLU: y = x above the threshold, at most max_value, and negative_slope (x - threshold) below. */
typedef struct relu_config {
    double max_value, negative_slope, threshold;
} relu_config;

static const config_field relu_fields[] = {
    OPTION(REAL, relu_config, max_value, .fallback = "null", .maximum = 1e9, .none = -1,
           .flags = CONFIG_NULLABLE),
    OPTION(REAL, relu_config, negative_slope, .fallback = "0.0", .maximum = 1e9),
    OPTION(REAL, relu_config, threshold, .fallback = "0.0", .maximum = 1e9),
    OPTIONS_END,
};

/* Add -slope relu(threshold - x) to y, for what is at most the threshold. */
static cornu_status add_below(step_builder *b, const relu_config *c, tensor_ref x, tensor_ref *y)
{
    tensor_ref below;
    TRY(emit_scale(b, x, -1, c->threshold, &below));
    TRY(emit_activation(b, below, (activation){.kind = ACTIVATION_RELU}, &below));
    TRY(emit_scale(b, below, -c->negative_slope, 0, &below));
    return emit_binary(b, BINARY_ADD, *y, below, y);
}

static cornu_status relu_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const relu_config *c = l->config;
    const bool limited = c->max_value >= 0, sloped = c->negative_slope > 0;
    activation a = {.kind = ACTIVATION_RELU};
    if (sloped && !limited && c->threshold <= 0) {
        a = (activation){ACTIVATION_LEAKY_RELU, (float)c->negative_slope};
        return emit_activation(b, x[0], a, y);
    }
    *y = x[0];
    if (c->threshold > 0)
        TRY(layer_emit_above(b, x[0], c->threshold, y));
    if (limited)
        a = (activation){ACTIVATION_RELU6, (float)c->max_value};
    if (limited || c->threshold <= 0)
        TRY(emit_activation(b, *y, a, y));
    return sloped ? add_below(b, c, x[0], y) : CORNU_OK;
}

static const char *const relu_samples[] = {
    "7 | {}",
    "3,4,2 | {}",
    "7 | {max_value: 0.4}",
    "7 | {negative_slope: 0.3}",
    "7 | {threshold: 0.2}",
    "3,4,2 | {max_value: 0.4, negative_slope: 0.3}",
    "3,4,2 | {max_value: 0.4, negative_slope: 0.3, threshold: 0.25}",
    NULL,
};

const layer_kind layer_ReLU = {
    .name = "ReLU",
    .base_name = "re_lu",
    .config_size = sizeof(relu_config),
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

/* PReLU: y = x where x > 0, else alpha x, with a weight alpha for each element of a sample, or one
   for all along the shared axes. */
typedef struct prelu_config {
    initializer alpha_initializer;
    regularizer alpha_regularizer;
    constraint alpha_constraint;
    int_list shared_axes;
} prelu_config;

static const config_field prelu_fields[] = {
    OPTION(INITIALIZER, prelu_config, alpha_initializer, .fallback = "Zeros"),
    OPTION_REGULARIZER(prelu_config, alpha_regularizer),
    OPTION_CONSTRAINT(prelu_config, alpha_constraint),
    OPTION(INTS, prelu_config, shared_axes, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTIONS_END,
};

static cornu_status prelu_declare(layer *l, layer_call *call)
{
    prelu_config *c = l->config;
    shape alpha = call->in[0];
    char shown[128];
    c->shared_axes.one = false; /* as Keras writes it */
    for (int i = 0; i < c->shared_axes.count; i++) {
        const int64_t axis = c->shared_axes.value[i];
        if (axis < 1 || axis > alpha.rank)
            return status_fail(CORNU_INVALID,
                               "shared_axes: found %lld for input %s; expected 1 to %d",
                               (long long)axis, shape_show(&call->in[0], true, shown), alpha.rank);
        alpha.dim[axis - 1] = 1;
    }
    layer_weight_beside(call, "alpha", alpha, alpha.rank, c->alpha_initializer);
    return layer_same_shape(l, call);
}

static cornu_status prelu_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    (void)l;
    return emit_binary(b, BINARY_PRELU, x[0], emit_weight(b, 0), y);
}

static const char *const prelu_samples[] = {
    "7 | {}",
    "3,4,2 | {alpha_initializer: {constant: 0.25}}",
    "3,4,2 | {shared_axes: [1, 2]}",
    "3,4 | {shared_axes: 2}",
    NULL,
};

const layer_kind layer_PReLU = {
    .name = "PReLU",
    .base_name = "p_re_lu",
    .config_size = sizeof(prelu_config),
    .fields = prelu_fields,
    .declare = prelu_declare,
    .emit = prelu_emit,
    .samples = prelu_samples,
};

/* Softmax over an axis, or over several as if they were one: y = exp(x) / sum(exp(x)). */
typedef struct softmax_config {
    int_list axis;
} softmax_config;

static const config_field softmax_fields[] = {
    OPTION(INTS, softmax_config, axis, .fallback = "-1"),
    OPTIONS_END,
};

/* An order of dimensions, from 1, that has those of the axes last; *kept: the number of others. */
static cornu_status softmax_order(const softmax_config *c, const shape *in, int order[SHAPE_MAX],
                                  int *kept)
{
    bool along[SHAPE_MAX] = {false};
    char shown[128];
    int count = 0;
    for (int i = 0; i < c->axis.count; i++) {
        int axis = 0;
        TRY(layer_axis("axis", c->axis.value[i], in, &axis));
        if (along[axis - 1])
            return status_fail(CORNU_INVALID, "found axis %d of input %s twice; expected each once",
                               axis, shape_show(in, true, shown));
        along[axis - 1] = true;
    }
    *kept = in->rank - c->axis.count;
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < in->rank; i++)
            if (along[i] == last)
                order[count++] = i + 1;
    if (c->axis.count > 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found no axis for input %s; expected at least one",
                       shape_show(in, true, shown));
}

static cornu_status softmax_declare(layer *l, layer_call *call)
{
    int order[SHAPE_MAX], kept;
    TRY(softmax_order(l->config, &call->in[0], order, &kept));
    return layer_same_shape(l, call);
}

/* The dimension order[i] of x is dimension i + 1 of y, or the other way round. */
static cornu_status softmax_moved(step_builder *b, tensor_ref x, const int order[SHAPE_MAX],
                                  bool back, tensor_ref *y)
{
    const int rank = emit_shape(b, x).rank;
    int opposite[SHAPE_MAX];
    bool moves = false;
    for (int i = 0; i < rank; i++) {
        opposite[order[i] - 1] = i + 1;
        moves |= order[i] != i + 1;
    }
    *y = x;
    return moves ? emit_transpose(b, x, back ? opposite : order, y) : CORNU_OK;
}

/* An activation of rows along the axes. */
static cornu_status emit_along(const layer *l, step_builder *b, tensor_ref x, activation_kind kind,
                               tensor_ref *y)
{
    const shape in = emit_shape(b, x);
    int order[SHAPE_MAX], kept;
    TRY(softmax_order(l->config, &in, order, &kept));
    TRY(softmax_moved(b, x, order, false, y));
    const shape moved = emit_shape(b, *y);
    shape rows = {.rank = kept + 1, .dim = {1, 1, 1, 1, 1}};
    for (int i = 0; i < moved.rank; i++)
        rows.dim[i < kept ? i : kept] *= moved.dim[i];
    TRY(emit_reshape(b, *y, &rows, y));
    TRY(emit_activation(b, *y, (activation){.kind = kind}, y));
    TRY(emit_reshape(b, *y, &moved, y));
    return softmax_moved(b, *y, order, true, y);
}

static cornu_status softmax_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    return emit_along(l, b, x[0], ACTIVATION_SOFTMAX, y);
}

static const char *const softmax_samples[] = {
    "6 | {}",
    "2,3,5 | {}",
    "2,3,5 | {axis: 1}",
    "2,3,5 | {axis: [2, 3]}",
    "2,3,5 | {axis: [-1, 1]}",
    NULL,
};

const layer_kind layer_Softmax = {
    .name = "Softmax",
    .base_name = "softmax",
    .config_size = sizeof(softmax_config),
    .fields = softmax_fields,
    .declare = softmax_declare,
    .emit = softmax_emit,
    .samples = softmax_samples,
};

/* The operations of keras.ops that are other activations of rows, along one axis. */
#define ALONG_AXIS(class_name, name_of_it, kind_, samples_)                                     \
    static cornu_status name_of_it##_emit(const layer *l, step_builder *b, const tensor_ref *x, \
                                          tensor_ref *y)                                        \
    {                                                                                           \
        return emit_along(l, b, x[0], kind_, y);                                                \
    }                                                                                           \
    const layer_kind layer_##class_name = {                                                     \
        .name = #class_name,                                                                    \
        .base_name = #name_of_it,                                                               \
        .operation = OPS_NN,                                                                    \
        .config_size = sizeof(softmax_config),                                                  \
        .fields = softmax_fields,                                                               \
        .declare = softmax_declare,                                                             \
        .emit = name_of_it##_emit,                                                              \
        .samples = samples_,                                                                    \
    }

static const char *const log_softmax_samples[] = {"6 | {}", "2,3,5 | {axis: 1}", NULL};
ALONG_AXIS(LogSoftmax, log_softmax, ACTIVATION_LOG_SOFTMAX, log_softmax_samples);

/* The gradient jumps where a number enters the support, so the samples' numbers are close. */
#define NEAR "{Rescaling: {scale: 0.125}}, "
static const char *const sparsemax_samples[] = {"6 | " NEAR "| {}", "2,3,5 | " NEAR "| {axis: 1}",
                                                NULL};
ALONG_AXIS(Sparsemax, sparsemax, ACTIVATION_SPARSEMAX, sparsemax_samples);
