/* keras.layers.pooling: one and two dimensions are the same, as a signal, (steps, channels), is an
   image of height 1. */
#include "model/layers/layers.h"

/* ---- windows ----------------------------------------------------------------------------- */

/* The options of one dimension stand at [1], and 0 at [0] means 1. */
typedef struct pool_config {
    int64_t pool_size[2], strides[2]; /* strides 0: the same as pool_size */
    int padding;                      /* LAYER_VALID, LAYER_SAME */
} pool_config;

static const char *const pool2d_samples[] = {
    "6,6,3 | {pool_size: 2}",
    "7,5,2 | {pool_size: 3, strides: 2, padding: same}",
    "7,7,1 | {pool_size: 2}",
    "7,9,2 | {pool_size: [2, 3], strides: [1, 2]}",
    "5,5,4 | {pool_size: 2, padding: same}",
    "4,6,17 | {pool_size: [1, 2], strides: [2, 1], padding: same}",
    "3,3,2 | {pool_size: 3, strides: 1, padding: same}",
    NULL,
};

static const char *const pool1d_samples[] = {
    "6,3 | {}",
    "7,2 | {pool_size: 3, strides: 2, padding: same}",
    "9,1 | {pool_size: 3, strides: 1}",
    NULL,
};

#define OPTIONS_PADDING                                                                   \
    OPTION(CHOICE, pool_config, padding, .choices = LAYER_PADDINGS, .fallback = "valid"), \
        OPTION_CHANNELS_LAST, OPTIONS_END

static const config_field pool1d_fields[] = {
    OPTION_AS("pool_size", SINGLE, pool_config, pool_size[1], LAYER_SIZES, .fallback = "2"),
    OPTION_AS("strides", SINGLE, pool_config, strides[1], LAYER_SIZES, .fallback = "null",
              .flags = CONFIG_NULLABLE),
    OPTIONS_PADDING,
};

static const config_field pool2d_fields[] = {
    OPTION(PAIR, pool_config, pool_size, LAYER_SIZES, .fallback = "2"),
    OPTION(PAIR, pool_config, strides, LAYER_SIZES, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTIONS_PADDING,
};

static window2d pool_window(const layer *l, const shape *image)
{
    const pool_config *c = l->config;
    window2d w = {.dilation = {1, 1}, .groups = 1};
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = c->pool_size[i] == 0 ? 1 : c->pool_size[i];
        w.stride[i] = c->strides[i] == 0 ? w.kernel[i] : c->strides[i];
    }
    window_pad(&w, c->padding == LAYER_SAME, image->dim[0], image->dim[1]);
    return w;
}

static cornu_status pool_declare(layer *l, layer_call *call)
{
    const shape in = layer_image_of(&call->in[0]);
    const window2d w = pool_window(l, &in);
    TRY(layer_window_shape(call, &w, &in, in.dim[2]));
    call->out = layer_shaped_like(&call->in[0], &call->out);
    return CORNU_OK;
}

typedef cornu_status pool_verb(step_builder *b, tensor_ref x, const window2d *w, tensor_ref *y);

static cornu_status pool(const layer *l, step_builder *b, tensor_ref x, pool_verb *verb,
                         tensor_ref *y)
{
    const shape out = emit_output(b);
    TRY(layer_as_image(b, x, y));
    const shape in = emit_shape(b, *y);
    const window2d w = pool_window(l, &in);
    TRY(verb(b, *y, &w, y));
    return emit_reshape(b, *y, &out, y);
}

/* The largest value of each window; padding is never the maximum. */
static cornu_status max_pooling_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                     tensor_ref *y)
{
    return pool(l, b, x[0], emit_max_pool, y);
}

/* The mean over the elements of each window that lie inside the image. */
static cornu_status average_pooling_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                         tensor_ref *y)
{
    return pool(l, b, x[0], emit_average_pool, y);
}

/* ---- whole images ------------------------------------------------------------------------ */

typedef struct global_config {
    bool keepdims;
} global_config;

static const config_field global2d_fields[] = {
    OPTION_CHANNELS_LAST,
    OPTION(BOOL, global_config, keepdims, .fallback = "false"),
    OPTIONS_END,
};

/* GlobalAveragePooling1D has them, too. */
#define global1d_fields global2d_fields

static cornu_status global_declare(layer *l, layer_call *call)
{
    const global_config *c = l->config;
    const shape in = layer_image_of(&call->in[0]), one = {3, {1, 1, in.dim[2]}};
    call->out = c->keepdims ? layer_shaped_like(&call->in[0], &one) : (shape){1, {in.dim[2]}};
    return CORNU_OK;
}

static cornu_status pool_whole(step_builder *b, tensor_ref x, pool_verb *verb, tensor_ref *y)
{
    const shape out = emit_output(b);
    TRY(layer_as_image(b, x, y));
    const shape in = emit_shape(b, *y);
    const window2d whole = {
        .kernel = {in.dim[0], in.dim[1]}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    TRY(verb(b, *y, &whole, y));
    return emit_reshape(b, *y, &out, y);
}

static cornu_status global_max_pooling_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                            tensor_ref *y)
{
    (void)l;
    return pool_whole(b, x[0], emit_max_pool, y);
}

static cornu_status global_average_pooling_emit(const layer *l, step_builder *b,
                                                const tensor_ref *x, tensor_ref *y)
{
    (void)l;
    return pool_whole(b, x[0], emit_average_pool, y);
}

static const char *const global1d_samples[] = {
    "5,3 | {}",
    "4,2 | {keepdims: true}",
    NULL,
};

static const char *const global2d_samples[] = {
    "4,4,3 | {}",
    "5,3,2 | {keepdims: true}",
    "1,7,17 | {}",
    NULL,
};

/* ---- the rows ---------------------------------------------------------------------------- */

#define POOLING(class_name, stem, dimensions, family, options, emits) \
    const layer_kind layer_##class_name = {                           \
        .name = #class_name,                                          \
        .base_name = (stem),                                          \
        .config_size = sizeof(family##_config),                       \
        .fields = options##_fields,                                   \
        .rank = (dimensions),                                         \
        .declare = family##_declare,                                  \
        .emit = emits##_pooling_emit,                                 \
        .samples = options##_samples,                                 \
    }

POOLING(MaxPooling1D, "max_pooling1d", LAYER_SIGNAL, pool, pool1d, max);
POOLING(MaxPooling2D, "max_pooling2d", LAYER_IMAGE, pool, pool2d, max);
POOLING(AveragePooling1D, "average_pooling1d", LAYER_SIGNAL, pool, pool1d, average);
POOLING(AveragePooling2D, "average_pooling2d", LAYER_IMAGE, pool, pool2d, average);
POOLING(GlobalMaxPooling1D, "global_max_pooling1d", LAYER_SIGNAL, global, global1d, global_max);
POOLING(GlobalMaxPooling2D, "global_max_pooling2d", LAYER_IMAGE, global, global2d, global_max);
POOLING(GlobalAveragePooling1D, "global_average_pooling1d", LAYER_SIGNAL, global, global1d,
        global_average);
POOLING(GlobalAveragePooling2D, "global_average_pooling2d", LAYER_IMAGE, global, global2d,
        global_average);
