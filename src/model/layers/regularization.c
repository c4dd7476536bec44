/* keras.layers.regularization */
#include "model/layers/layers.h"

/* Dropout: in training each element is 0 with probability rate, else x / (1 - rate); else y = x. */
typedef struct dropout_config {
    double rate;
} dropout_config;

static const config_field dropout_fields[] = {
    OPTION(REAL, dropout_config, rate, .minimum = 0, .maximum = 1,
           .flags = CONFIG_REQUIRED | CONFIG_BELOW),
    OPTION_NEUTRAL("noise_shape", "null"),
    OPTION_IGNORED("seed"),
    OPTIONS_END,
};

static cornu_status dropout_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    const dropout_config *c = l->config;
    if (c->rate > 0)
        return emit_dropout(b, x[0], c->rate, y);
    *y = x[0];
    return CORNU_OK;
}

static const char *const dropout_samples[] = {
    "11 | {rate: 0.5}",
    "4,3,2 | {rate: 0.2}",
    "7 | {rate: 0}",
    NULL,
};

const layer_kind layer_Dropout = {
    .name = "Dropout",
    .base_name = "dropout",
    .config_size = sizeof(dropout_config),
    .fields = dropout_fields,
    .declare = layer_same_shape,
    .emit = dropout_emit,
    .samples = dropout_samples,
};
