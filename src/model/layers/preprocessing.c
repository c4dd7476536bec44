/* keras.layers.preprocessing */
#include "model/layers/layers.h"

/* Rescaling: y = x scale + offset. */
typedef struct rescaling_config {
    double scale, offset;
} rescaling_config;

static const config_field rescaling_fields[] = {
    OPTION(REAL, rescaling_config, scale, .flags = CONFIG_REQUIRED),
    OPTION(REAL, rescaling_config, offset, .fallback = "0.0"),
    OPTIONS_END,
};

static cornu_status rescaling_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                   tensor_ref *y)
{
    const rescaling_config *c = l->config;
    return emit_scale(b, x[0], c->scale, c->offset, y);
}

static const char *const rescaling_samples[] = {
    "7 | {scale: 0.5}",
    "4,3,3 | {scale: 0.00784313725490196, offset: -1}",
    NULL,
};

const layer_kind layer_Rescaling = {
    .name = "Rescaling",
    .base_name = "rescaling",
    .config_size = sizeof(rescaling_config),
    .fields = rescaling_fields,
    .declare = layer_same_shape,
    .emit = rescaling_emit,
    .samples = rescaling_samples,
    .range = LAYER_RESCALES,
};
