/* keras.layers.preprocessing.image_preprocessing: images of another size, in training as in
   prediction. */
#include "model/layers/layers.h"

/* The row or column of x, or of one with `padding` before and after it, from which one of `out`
   comes: at the same part of a side of `size`, as TensorFlow's half_pixel_centers. */
static void map_side(float *map, int64_t size, int64_t padding, int64_t out, bool nearest)
{
    const double scale = (double)size / (double)out;
    /* A pixel between two is the second one's; no other is so near to it. */
    const double tie = nearest ? 0.25 / (double)out : 0;
    map[0] = (float)scale;
    map[1] = (float)(scale / 2 - 0.5 - (double)padding + tie);
}

static cornu_status emit_by_map(step_builder *b, tensor_ref x, const float rows[2],
                                const float columns[2], const int64_t size[2],
                                const resampling *how, tensor_ref *y)
{
    const shape numbers = {1, {MAP_NUMBERS}};
    const float values[MAP_NUMBERS] = {columns[0], 0, columns[1], 0, rows[0], rows[1]};
    tensor_ref map;
    TRY(emit_constant(b, &numbers, values, &map));
    return emit_resample(b, x, map, size, how, y);
}

cornu_status layer_emit_window(step_builder *b, tensor_ref x, const image_window *w,
                               const int64_t size[2], bool nearest, tensor_ref *y)
{
    const shape s = emit_shape(b, x);
    const resampling how = {.border = BORDER_NEAREST, .nearest = nearest};
    float sides[2][2];
    *y = x;
    for (int i = 0; i < 2; i++) {
        if (w->size[i] != s.dim[i])
            TRY(emit_slice(b, *y, 1 + i, w->begin[i], 1, w->size[i], y));
        map_side(sides[i], w->size[i], 0, size[i], nearest);
    }
    if (w->size[0] == size[0] && w->size[1] == size[1])
        return CORNU_OK;
    return emit_by_map(b, *y, sides[0], sides[1], size, &how, y);
}

/* x's side `axis` alone, as if `padding` pixels of `value` stood before it and after it. */
static cornu_status emit_padded_side(step_builder *b, tensor_ref x, int axis, int64_t padding,
                                     int64_t out, const resampling *how, tensor_ref *y)
{
    const shape s = emit_shape(b, x);
    const resampling edge = {padding > 0 ? BORDER_CONSTANT : BORDER_NEAREST, how->nearest,
                             how->value};
    float sides[2][2] = {{1, 0}, {1, 0}};
    int64_t size[2] = {s.dim[0], s.dim[1]};
    size[axis] = out;
    map_side(sides[axis], s.dim[axis] + 2 * padding, padding, out, how->nearest);
    return emit_by_map(b, x, sides[0], sides[1], size, &edge, y);
}

/* side / of_side x other, without its fraction. */
static int64_t in_proportion(int64_t other, int64_t side, int64_t of_side)
{
    return (int64_t)((double)other * (double)side / (double)of_side);
}

image_window layer_window_of_aspect(const shape *in, const int64_t size[2])
{
    image_window w;
    for (int i = 0; i < 2; i++) {
        const int64_t side = in_proportion(in->dim[1 - i], size[i], size[1 - i]);
        w.size[i] = side < in->dim[i] ? side : in->dim[i];
        w.size[i] = w.size[i] < 1 ? 1 : w.size[i];
        w.begin[i] = (in->dim[i] - w.size[i]) / 2;
    }
    return w;
}

/* ---- Resizing ---------------------------------------------------------------------------- */

typedef struct resizing_config {
    int64_t height, width;
    int interpolation;
    bool crop_to_aspect_ratio, pad_to_aspect_ratio;
    double fill_value;
} resizing_config;

static const config_field resizing_fields[] = {
    OPTION(INT, resizing_config, height, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(INT, resizing_config, width, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(CHOICE, resizing_config, interpolation, .fallback = "bilinear",
           .choices = LAYER_INTERPOLATIONS),
    OPTION(BOOL, resizing_config, crop_to_aspect_ratio, .fallback = "false"),
    OPTION(BOOL, resizing_config, pad_to_aspect_ratio, .fallback = "false"),
    OPTION_NEUTRAL("fill_mode", "\"constant\""),
    OPTION(REAL, resizing_config, fill_value, .fallback = "0.0"),
    OPTION_NEUTRAL("antialias", "false"),
    OPTION_CHANNELS_LAST,
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status resizing_declare(layer *l, layer_call *call)
{
    const resizing_config *c = l->config;
    call->out = (shape){3, {c->height, c->width, call->in[0].dim[2]}};
    if (c->crop_to_aspect_ratio && c->pad_to_aspect_ratio)
        return status_fail(CORNU_INVALID, "found crop_to_aspect_ratio and pad_to_aspect_ratio; "
                                          "expected one of the two");
    return CORNU_OK;
}

static cornu_status resizing_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                  tensor_ref *y)
{
    const resizing_config *c = l->config;
    const shape in = emit_shape(b, x[0]);
    const int64_t size[2] = {c->height, c->width};
    const bool nearest = c->interpolation == LAYER_NEAREST;
    const resampling how = {.nearest = nearest, .value = (float)c->fill_value};
    image_window w = {.size = {in.dim[0], in.dim[1]}};
    int64_t padding[2];
    if (c->crop_to_aspect_ratio)
        w = layer_window_of_aspect(&in, size);
    for (int i = 0; i < 2; i++) {
        const int64_t side = in_proportion(in.dim[1 - i], size[i], size[1 - i]);
        padding[i] = side > in.dim[i] ? (side - in.dim[i]) / 2 : 0;
    }
    if (!c->pad_to_aspect_ratio || (padding[0] == 0 && padding[1] == 0))
        return layer_emit_window(b, x[0], &w, size, nearest, y);
    /* Side by side: what is beyond the border is `value` along one, the last pixel along the other.
     */
    TRY(emit_padded_side(b, x[0], 0, padding[0], size[0], &how, y));
    return emit_padded_side(b, *y, 1, padding[1], size[1], &how, y);
}

static const char *const resizing_samples[] = {
    "6,5,2 | {height: 4, width: 7}",
    "4,6,1 | {height: 3, width: 3, interpolation: nearest}",
    "3,7,2 | {height: 4, width: 4, crop_to_aspect_ratio: true}",
    "3,7,2 | {height: 5, width: 4, pad_to_aspect_ratio: true, fill_value: 0.5}",
    NULL,
};

const layer_kind layer_Resizing = {
    .name = "Resizing",
    .base_name = "resizing",
    .config_size = sizeof(resizing_config),
    .fields = resizing_fields,
    .rank = LAYER_IMAGE,
    .declare = resizing_declare,
    .emit = resizing_emit,
    .samples = resizing_samples,
    .range = LAYER_REARRANGES,
};

/* ---- CenterCrop -------------------------------------------------------------------------- */

typedef struct center_crop_config {
    int64_t height, width;
} center_crop_config;

static const config_field center_crop_fields[] = {
    OPTION(INT, center_crop_config, height, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(INT, center_crop_config, width, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION_CHANNELS_LAST,
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status center_crop_declare(layer *l, layer_call *call)
{
    const center_crop_config *c = l->config;
    call->out = (shape){3, {c->height, c->width, call->in[0].dim[2]}};
    return CORNU_OK;
}

/* The middle of an image that is larger; any other is resized from the largest window of the aspect
   ratio, as in Keras. */
static cornu_status center_crop_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                     tensor_ref *y)
{
    const center_crop_config *c = l->config;
    const shape in = emit_shape(b, x[0]);
    const int64_t size[2] = {c->height, c->width};
    image_window w = {.begin = {(in.dim[0] - size[0]) / 2, (in.dim[1] - size[1]) / 2},
                      .size = {size[0], size[1]}};
    if (in.dim[0] < size[0] || in.dim[1] < size[1])
        w = layer_window_of_aspect(&in, size);
    return layer_emit_window(b, x[0], &w, size, false, y);
}

static const char *const center_crop_samples[] = {
    "7,6,2 | {height: 4, width: 3}",
    "5,4,1 | {height: 5, width: 2}",
    "4,6,3 | {height: 6, width: 3}",
    NULL,
};

const layer_kind layer_CenterCrop = {
    .name = "CenterCrop",
    .base_name = "center_crop",
    .config_size = sizeof(center_crop_config),
    .fields = center_crop_fields,
    .rank = LAYER_IMAGE,
    .declare = center_crop_declare,
    .emit = center_crop_emit,
    .samples = center_crop_samples,
    .range = LAYER_REARRANGES,
};
