#include "model/layers/layers.h"

/* GlobalAveragePooling2D: the mean over height and width, per channel. */
typedef struct global_pool_config {
    bool keepdims;
} global_pool_config;

static const config_field fields[] = {
    OPTION_CHANNELS_LAST,
    OPTION(BOOL, global_pool_config, keepdims, .fallback = "false"),
    OPTIONS_END,
};

static cornu_status global_declare(layer *l, weight_spec *weights, int *count)
{
    const global_pool_config *c = l->config;
    (void)weights;
    (void)count;
    TRY(layer_wants_image(l));
    int64_t channels = l->in.dim[2];
    l->out = c->keepdims ? (shape){3, {1, 1, channels}} : (shape){1, {channels}};
    return CORNU_OK;
}

static cornu_status global_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    const int64_t height = l->in.dim[0], width = l->in.dim[1];
    const window2d whole = {
        .kernel = {height, width}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    tensor_ref z;
    TRY(emit_average_pool(b, x, &whole, &z));
    return emit_reshape(b, z, &l->out, y);
}

static const char *const samples[] = {
    "4,4,3 | {}",
    "5,3,2 | {keepdims: true}",
    "1,7,17 | {}",
    NULL,
};

const layer_kind layer_GlobalAveragePooling2D = {
    .name = "GlobalAveragePooling2D",
    .base_name = "global_average_pooling2d",
    .config_size = sizeof(global_pool_config),
    .fields = fields,
    .declare = global_declare,
    .emit = global_emit,
    .samples = samples,
};
