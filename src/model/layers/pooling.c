/* keras.layers.pooling: one and two dimensions are the same, as a signal, (steps, channels), is an
   image of height 1. */
#include "base/memory.h"
#include "model/layers/layers.h"
#include <stdlib.h>

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

/* ---- so many windows ------------------------------------------------------------------------ */

/* The options of one dimension stand at [1]. */
typedef struct adaptive_config {
    int64_t output_size[2];
} adaptive_config;

static const config_field adaptive1d_fields[] = {
    OPTION_AS("output_size", SINGLE, adaptive_config, output_size[1], LAYER_SIZES,
              .flags = CONFIG_REQUIRED),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static const config_field adaptive2d_fields[] = {
    OPTION(PAIR, adaptive_config, output_size, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static cornu_status adaptive_declare(layer *l, layer_call *call)
{
    const adaptive_config *c = l->config;
    shape out = layer_image_of(&call->in[0]);
    for (int i = 0; i < 2; i++)
        out.dim[i] = c->output_size[i] == 0 ? 1 : c->output_size[i];
    call->out = layer_shaped_like(&call->in[0], &out);
    return CORNU_OK;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* One dimension, of n elements, becomes `out`: window i is of elements floor(i n / out) to
   ceil((i + 1) n / out) - 1. Every `period` windows they repeat, `step` elements further. */
typedef struct adaptation {
    int64_t n, out, repeats, period, step;
} adaptation;

static adaptation adaptation_of(int64_t n, int64_t out)
{
    const int64_t repeats = common_divisor(n, out);
    return (adaptation){n, out, repeats, out / repeats, n / repeats};
}

/* Window i of the period and its repetitions, by one pool; *y has an axis of 1 behind theirs. */
static cornu_status pool_repeated(step_builder *b, tensor_ref x, int axis, const adaptation *a,
                                  int64_t i, pool_verb *verb, tensor_ref *y)
{
    const int64_t begin = i * a->step / a->period;
    const int64_t size = ((i + 1) * a->step + a->period - 1) / a->period - begin;
    const int64_t count = (a->repeats - 1) * a->step + size;
    window2d w = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    w.kernel[axis] = size;
    w.stride[axis] = a->step;
    *y = x;
    if (count < a->n)
        TRY(emit_slice(b, x, axis + 1, begin, 1, count, y));
    TRY(verb(b, *y, &w, y));
    const shape pooled = emit_shape(b, *y);
    shape apart = {.rank = 4};
    for (int k = 0; k < 4; k++)
        apart.dim[k] = k <= axis ? pooled.dim[k] : k == axis + 1 ? 1 : pooled.dim[k - 1];
    return emit_reshape(b, *y, &apart, y);
}

/* Rows (axis 0) or columns (1) of an image. */
static cornu_status adapt(step_builder *b, tensor_ref x, int axis, int64_t out, pool_verb *verb,
                          tensor_ref *y)
{
    shape s = emit_shape(b, x);
    const adaptation a = adaptation_of(s.dim[axis], out);
    tensor_ref *parts;
    cornu_status status = CORNU_OK;
    TRY(memory_new((size_t)a.period, sizeof *parts, "plan", &parts));
    for (int64_t i = 0; i < a.period; i++)
        TRY_GOTO(pool_repeated(b, x, axis, &a, i, verb, &parts[i]));
    s.dim[axis] = out;
    TRY_GOTO(emit_concatenate(b, parts, (int)a.period, axis + 2, y));
    status = emit_reshape(b, *y, &s, y);
done:
    free(parts);
    return status;
}

static cornu_status adaptive_pool(step_builder *b, tensor_ref x, pool_verb *verb, tensor_ref *y)
{
    const shape out = emit_output(b), size = layer_image_of(&out);
    TRY(layer_as_image(b, x, y));
    const shape in = emit_shape(b, *y);
    const adaptation rows = adaptation_of(in.dim[0], size.dim[0]),
                     columns = adaptation_of(in.dim[1], size.dim[1]);
    if (rows.period == 1 && columns.period == 1) { /* one pool of both */
        const window2d w = {.kernel = {rows.step, columns.step},
                            .stride = {rows.step, columns.step},
                            .dilation = {1, 1},
                            .groups = 1};
        TRY(verb(b, *y, &w, y));
    } else {
        TRY(adapt(b, *y, 0, size.dim[0], verb, y));
        TRY(adapt(b, *y, 1, size.dim[1], verb, y));
    }
    return emit_reshape(b, *y, &out, y);
}

static cornu_status adaptive_max_pooling_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                              tensor_ref *y)
{
    (void)l;
    return adaptive_pool(b, x[0], emit_max_pool, y);
}

static cornu_status adaptive_average_pooling_emit(const layer *l, step_builder *b,
                                                  const tensor_ref *x, tensor_ref *y)
{
    (void)l;
    return adaptive_pool(b, x[0], emit_average_pool, y);
}

static const char *const adaptive1d_samples[] = {
    "6,3 | {output_size: 2}",
    "5,2 | {output_size: 3}",
    NULL,
};

static const char *const adaptive2d_samples[] = {
    "6,4,3 | {output_size: 2}",
    "7,4,2 | {output_size: [3, 2]}",
    "6,5,2 | {output_size: [4, 7]}",
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
POOLING(AdaptiveMaxPooling1D, "adaptive_max_pooling1d", LAYER_SIGNAL, adaptive, adaptive1d,
        adaptive_max);
POOLING(AdaptiveMaxPooling2D, "adaptive_max_pooling2d", LAYER_IMAGE, adaptive, adaptive2d,
        adaptive_max);
POOLING(AdaptiveAveragePooling1D, "adaptive_average_pooling1d", LAYER_SIGNAL, adaptive, adaptive1d,
        adaptive_average);
POOLING(AdaptiveAveragePooling2D, "adaptive_average_pooling2d", LAYER_IMAGE, adaptive, adaptive2d,
        adaptive_average);
