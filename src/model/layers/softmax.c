#include "model/layers/layers.h"

/* Softmax over the last dimension: y = exp(x) / sum(exp(x)). */
typedef struct softmax_config {
    int64_t axis;
} softmax_config;

static const config_field fields[] = {
    OPTION(AXIS, softmax_config, axis, .fallback = "-1"),
    OPTIONS_END,
};

static cornu_status softmax_declare(layer *l, weight_spec *weights, int *count)
{
    softmax_config *c = l->config;
    /* Keras counts the batch as dimension 0. */
    if (c->axis != -1 && c->axis != l->in.rank)
        return status_fail(CORNU_INVALID, "found axis %lld; expected -1 (the last dimension)",
                           (long long)c->axis);
    c->axis = -1;
    return layer_same_shape(l, weights, count);
}

static cornu_status softmax_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    (void)l;
    return emit_activation(b, x, (activation){.kind = ACTIVATION_SOFTMAX}, y);
}

static const char *const samples[] = {"6 | {}", "2,3,5 | {}", NULL};

const layer_kind layer_Softmax = {
    .name = "Softmax",
    .base_name = "softmax",
    .config_size = sizeof(softmax_config),
    .fields = fields,
    .declare = softmax_declare,
    .emit = softmax_emit,
    .samples = samples,
};
