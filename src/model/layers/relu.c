#include "model/layers/layers.h"

/* ReLU: y = max(x, 0). Keras's variants (a ceiling, a slope, a threshold) are refused. */
static const config_field fields[] = {
    OPTION_NEUTRAL("max_value", "null"),
    OPTION_NEUTRAL("negative_slope", "0.0|0|null"),
    OPTION_NEUTRAL("threshold", "0.0|0|null"),
    OPTIONS_END,
};

static cornu_status relu_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    (void)l;
    return emit_activation(b, x, (activation){.kind = ACTIVATION_RELU}, y);
}

static const char *const samples[] = {"7 | {}", "3,4,2 | {}", NULL};

const layer_kind layer_ReLU = {
    .name = "ReLU",
    .base_name = "re_lu",
    .fields = fields,
    .declare = layer_same_shape,
    .emit = relu_emit,
    .samples = samples,
};
