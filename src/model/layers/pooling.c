/* keras.layers.pooling */
#include "model/layers/layers.h"

/* MaxPooling2D and AveragePooling2D share their config, declaration and window. */
typedef struct pool_config {
    int64_t pool_size[2], strides[2]; /* strides 0: the same as pool_size */
    int padding;                      /* LAYER_VALID, LAYER_SAME */
} pool_config;

static const char *const pool_samples[] = {
    "6,6,3 | {pool_size: 2}",
    "7,5,2 | {pool_size: 3, strides: 2, padding: same}",
    "7,7,1 | {pool_size: 2}",
    "7,9,2 | {pool_size: [2, 3], strides: [1, 2]}",
    "5,5,4 | {pool_size: 2, padding: same}",
    "4,6,17 | {pool_size: [1, 2], strides: [2, 1], padding: same}",
    "3,3,2 | {pool_size: 3, strides: 1, padding: same}",
    NULL,
};

static const config_field pool_fields[] = {
    OPTION(PAIR, pool_config, pool_size, LAYER_SIZES, .fallback = "2"),
    OPTION(PAIR, pool_config, strides, LAYER_SIZES, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTION(CHOICE, pool_config, padding, .choices = LAYER_PADDINGS, .fallback = "valid"),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static window2d pool_window(const layer *l, const shape *in)
{
    const pool_config *c = l->config;
    window2d w = {.dilation = {1, 1}, .groups = 1};
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = c->pool_size[i];
        w.stride[i] = c->strides[0] == 0 ? c->pool_size[i] : c->strides[i];
    }
    window_pad(&w, c->padding == LAYER_SAME, in->dim[0], in->dim[1]);
    return w;
}

static cornu_status pool_declare(layer *l, layer_call *call)
{
    TRY(layer_wants_image(call));
    window2d w = pool_window(l, &call->in[0]);
    return layer_window_shape(call, &w, call->in[0].dim[2]);
}

/* MaxPooling2D: the largest value of each window; padding is never the maximum. */
static cornu_status max_pooling2d_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                       tensor_ref *y)
{
    const shape in = emit_shape(b, x[0]);
    const window2d w = pool_window(l, &in);
    return emit_max_pool(b, x[0], &w, y);
}

const layer_kind layer_MaxPooling2D = {
    .name = "MaxPooling2D",
    .base_name = "max_pooling2d",
    .config_size = sizeof(pool_config),
    .fields = pool_fields,
    .declare = pool_declare,
    .emit = max_pooling2d_emit,
    .samples = pool_samples,
};

/* AveragePooling2D: the mean over the elements of each window that lie inside the image. */
static cornu_status average_pooling2d_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                           tensor_ref *y)
{
    const shape in = emit_shape(b, x[0]);
    const window2d w = pool_window(l, &in);
    return emit_average_pool(b, x[0], &w, y);
}

const layer_kind layer_AveragePooling2D = {
    .name = "AveragePooling2D",
    .base_name = "average_pooling2d",
    .config_size = sizeof(pool_config),
    .fields = pool_fields,
    .declare = pool_declare,
    .emit = average_pooling2d_emit,
    .samples = pool_samples,
};

/* GlobalAveragePooling2D: the mean over height and width, per channel. */
typedef struct global_pooling2d_config {
    bool keepdims;
} global_pooling2d_config;

static const config_field global_average_pooling2d_fields[] = {
    OPTION_CHANNELS_LAST,
    OPTION(BOOL, global_pooling2d_config, keepdims, .fallback = "false"),
    OPTIONS_END,
};

static cornu_status global_average_pooling2d_declare(layer *l, layer_call *call)
{
    const global_pooling2d_config *c = l->config;
    TRY(layer_wants_image(call));
    int64_t channels = call->in[0].dim[2];
    call->out = c->keepdims ? (shape){3, {1, 1, channels}} : (shape){1, {channels}};
    return CORNU_OK;
}

static cornu_status global_average_pooling2d_emit(const layer *l, step_builder *b,
                                                  const tensor_ref *x, tensor_ref *y)
{
    const shape in = emit_shape(b, x[0]), out = emit_output(b);
    const window2d whole = {
        .kernel = {in.dim[0], in.dim[1]}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    tensor_ref z;
    (void)l;
    TRY(emit_average_pool(b, x[0], &whole, &z));
    return emit_reshape(b, z, &out, y);
}

static const char *const global_average_pooling2d_samples[] = {
    "4,4,3 | {}",
    "5,3,2 | {keepdims: true}",
    "1,7,17 | {}",
    NULL,
};

const layer_kind layer_GlobalAveragePooling2D = {
    .name = "GlobalAveragePooling2D",
    .base_name = "global_average_pooling2d",
    .config_size = sizeof(global_pooling2d_config),
    .fields = global_average_pooling2d_fields,
    .declare = global_average_pooling2d_declare,
    .emit = global_average_pooling2d_emit,
    .samples = global_average_pooling2d_samples,
};
