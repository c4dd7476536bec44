/* keras.ops: functions of each element of one tensor, and GLU. */
#include "model/layers/layers.h"

static const config_field no_fields[] = {
    OPTIONS_END,
};

/* Some functions take any number, others only those above 0, which a sigmoid before them makes. */
static const char *const samples[] = {"7 | {}", "3,4,2 | {}", NULL};
#define SIGMOID "{Activation: {activation: sigmoid}}, "
static const char *const positive_samples[] = {
    "7 | " SIGMOID "| {}",
    "3,4,2 | " SIGMOID "| {}",
    NULL,
};

/* A function of each element, ELEMENT_FUNCTION in activations.def. */
#define ELEMENTWISE(class_name, name_of_it, kind_, samples_, module_)                           \
    static cornu_status name_of_it##_emit(const layer *l, step_builder *b, const tensor_ref *x, \
                                          tensor_ref *y)                                        \
    {                                                                                           \
        (void)l;                                                                                \
        return emit_activation(b, x[0], (activation){.kind = kind_}, y);                        \
    }                                                                                           \
    const layer_kind layer_##class_name = {                                                     \
        .name = #class_name,                                                                    \
        .base_name = #name_of_it,                                                               \
        .fields = no_fields,                                                                    \
        .declare = layer_same_shape,                                                            \
        .emit = name_of_it##_emit,                                                              \
        .samples = samples_,                                                                    \
        .operation = module_,                                                                   \
    }

ELEMENTWISE(Absolute, absolute, ACTIVATION_ABSOLUTE, samples, OPS_NUMPY);
ELEMENTWISE(Exp, exp, ACTIVATION_EXP, samples, OPS_NUMPY);
ELEMENTWISE(Log, log, ACTIVATION_LOG, positive_samples, OPS_NUMPY);
ELEMENTWISE(Reciprocal, reciprocal, ACTIVATION_RECIPROCAL, positive_samples, OPS_NUMPY);
ELEMENTWISE(Rsqrt, rsqrt, ACTIVATION_RSQRT, positive_samples, OPS_MATH);
ELEMENTWISE(Sqrt, sqrt, ACTIVATION_SQRT, positive_samples, OPS_NUMPY);
ELEMENTWISE(Square, square, ACTIVATION_SQUARE, samples, OPS_NUMPY);

/* ---- with a number ------------------------------------------------------------------------- */

typedef struct number_config {
    double number;
} number_config;

/* An activation with a number of its own, which is the option `key`. */
#define WITH_NUMBER(class_name, name_of_it, kind_, key, fallback_, flags_, other_sample)        \
    static const config_field name_of_it##_fields[] = {                                         \
        OPTION_AS(key, REAL, number_config, number, .fallback = fallback_, .maximum = 1e9,      \
                  .flags = flags_),                                                             \
        OPTIONS_END,                                                                            \
    };                                                                                          \
    static cornu_status name_of_it##_emit(const layer *l, step_builder *b, const tensor_ref *x, \
                                          tensor_ref *y)                                        \
    {                                                                                           \
        const number_config *c = l->config;                                                     \
        return emit_activation(b, x[0], (activation){kind_, (float)c->number}, y);              \
    }                                                                                           \
    static const char *const name_of_it##_samples[] = {"8 | {}", other_sample, NULL};           \
    const layer_kind layer_##class_name = {                                                     \
        .name = #class_name,                                                                    \
        .base_name = #name_of_it,                                                               \
        .operation = OPS_NN,                                                                    \
        .config_size = sizeof(number_config),                                                   \
        .fields = name_of_it##_fields,                                                          \
        .declare = layer_same_shape,                                                            \
        .emit = name_of_it##_emit,                                                              \
        .samples = name_of_it##_samples,                                                        \
    }

WITH_NUMBER(Celu, celu, ACTIVATION_CELU, "alpha", "1.0", CONFIG_ABOVE, "3,4,2 | {alpha: 0.5}");
WITH_NUMBER(HardShrink, hard_shrink, ACTIVATION_HARD_SHRINK, "threshold", "0.5", 0,
            "3,4,2 | {threshold: 0.25}");
WITH_NUMBER(SoftShrink, soft_shrink, ACTIVATION_SOFT_SHRINK, "threshold", "0.5", 0,
            "3,4,2 | {threshold: 0.25}");
WITH_NUMBER(Squareplus, squareplus, ACTIVATION_SQUAREPLUS, "b", "4", 0, "3,4,2 | {b: 0.5}");

/* ---- Gelu ---------------------------------------------------------------------------------- */

/* Gelu: y = x P(x), P the normal distribution function; approximate: by tanh. */
typedef struct gelu_config {
    bool approximate;
} gelu_config;

static const config_field gelu_fields[] = {
    OPTION(BOOL, gelu_config, approximate, .fallback = "true"),
    OPTIONS_END,
};

static cornu_status gelu_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const gelu_config *c = l->config;
    const activation_kind kind = c->approximate ? ACTIVATION_GELU_TANH : ACTIVATION_GELU;
    return emit_activation(b, x[0], (activation){.kind = kind}, y);
}

static const char *const gelu_samples[] = {"7 | {}", "3,4,2 | {approximate: false}", NULL};

const layer_kind layer_Gelu = {
    .name = "Gelu",
    .base_name = "gelu",
    .operation = OPS_NN,
    .config_size = sizeof(gelu_config),
    .fields = gelu_fields,
    .declare = layer_same_shape,
    .emit = gelu_emit,
    .samples = gelu_samples,
};

/* ---- Threshold ----------------------------------------------------------------------------- */

/* Threshold: y = x above the threshold, else default_value. */
typedef struct threshold_config {
    double threshold, default_value;
} threshold_config;

static const config_field threshold_fields[] = {
    OPTION(REAL, threshold_config, threshold, .flags = CONFIG_REQUIRED),
    OPTION(REAL, threshold_config, default_value, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status threshold_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                   tensor_ref *y)
{
    const threshold_config *c = l->config;
    tensor_ref others;
    TRY(layer_emit_above(b, x[0], c->threshold, y));
    if (c->default_value >= 0 && c->default_value <= 0)
        return CORNU_OK;
    TRY(layer_emit_compared(b, BINARY_LESS_EQUAL, x[0], c->threshold, &others));
    TRY(emit_scale(b, others, c->default_value, 0, &others));
    return emit_binary(b, BINARY_ADD, *y, others, y);
}

static const char *const threshold_samples[] = {
    "7 | {threshold: 0.2, default_value: 0}",
    "3,4,2 | {threshold: -0.25, default_value: -2.5}",
    NULL,
};

const layer_kind layer_Threshold = {
    .name = "Threshold",
    .base_name = "threshold",
    .operation = OPS_NN,
    .config_size = sizeof(threshold_config),
    .fields = threshold_fields,
    .declare = layer_same_shape,
    .emit = threshold_emit,
    .samples = threshold_samples,
};

/* ---- Glu ----------------------------------------------------------------------------------- */

/* Glu: y = x1 sigmoid(x2), the halves of x along an axis. */
typedef struct glu_config {
    int64_t axis;
} glu_config;

static const config_field glu_fields[] = {
    OPTION(INT, glu_config, axis, .fallback = "-1"),
    OPTIONS_END,
};

static cornu_status glu_declare(layer *l, layer_call *call)
{
    const glu_config *c = l->config;
    char shown[128];
    int axis = 0;
    TRY(layer_axis("axis", c->axis, &call->in[0], &axis));
    call->out = call->in[0];
    if (call->out.dim[axis - 1] % 2 != 0)
        return status_fail(
            CORNU_INVALID, "found %lld elements along axis %d of input %s; expected an even number",
            (long long)call->out.dim[axis - 1], axis, shape_show(&call->in[0], true, shown));
    call->out.dim[axis - 1] /= 2;
    return CORNU_OK;
}

static cornu_status glu_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const glu_config *c = l->config;
    const shape in = emit_shape(b, x[0]);
    tensor_ref gate;
    int axis = 0;
    TRY(layer_axis("axis", c->axis, &in, &axis));
    const int64_t half = in.dim[axis - 1] / 2;
    TRY(emit_slice(b, x[0], axis, 0, 1, half, y));
    TRY(emit_slice(b, x[0], axis, half, 1, half, &gate));
    TRY(emit_activation(b, gate, (activation){.kind = ACTIVATION_SIGMOID}, &gate));
    return emit_binary(b, BINARY_MULTIPLY, *y, gate, y);
}

static const char *const glu_samples[] = {"6 | {}", "4,3,2 | {}", "4,3,2 | {axis: 1}", NULL};

const layer_kind layer_Glu = {
    .name = "Glu",
    .base_name = "glu",
    .operation = OPS_NN,
    .config_size = sizeof(glu_config),
    .fields = glu_fields,
    .declare = glu_declare,
    .emit = glu_emit,
    .samples = glu_samples,
};
