/* keras.ops: functions of each element of one tensor. */
#include "model/layers/layers.h"

static const config_field no_fields[] = {
    OPTIONS_END,
};

/* Of any numbers; and of those above 0, which a sigmoid before the layer makes. */
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
