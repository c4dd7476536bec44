/* keras.layers.preprocessing.image_preprocessing: what training changes at random, each sample by
   its own random numbers, and evaluation and prediction leave alone. */
#include "model/layers/layers.h"
#include <math.h>

/* ---- options ----------------------------------------------------------------------------- */

void layer_range_ends(const real_range *r, double least, double ends[2])
{
    const double one = fabs(r->value[0]);
    if (r->count == 1) {
        ends[0] = fmax(-one, least);
        ends[1] = one;
        return;
    }
    ends[0] = fmin(r->value[0], r->value[1]);
    ends[1] = fmax(r->value[0], r->value[1]);
}

void layer_draw_factor(drawing *d, int number, const real_range *factor, double least,
                       double offset, double scale)
{
    double ends[2];
    layer_range_ends(factor, least, ends);
    d->low[number] = (float)((offset + ends[0]) * scale);
    d->high[number] = (float)((offset + ends[1]) * scale);
}

static drawing drawing_of(draw_kind kind, const shape *image)
{
    return (drawing){.kind = kind, .size = {(float)image->dim[0], (float)image->dim[1]}};
}

/* The order of border_kind. */
#define FILL_MODES "reflect|constant|wrap|nearest"

typedef struct fill_config {
    int fill_mode, interpolation;
    double fill_value;
} fill_config;

#define OPTION_FILL_MODE(config)                                                  \
    OPTION_AS("fill_mode", CHOICE, config, fill.fill_mode, .fallback = "reflect", \
              .choices = FILL_MODES)
#define OPTION_INTERPOLATION(config)                                                       \
    OPTION_AS("interpolation", CHOICE, config, fill.interpolation, .fallback = "bilinear", \
              .choices = LAYER_INTERPOLATIONS)
#define OPTION_FILL_VALUE(config) \
    OPTION_AS("fill_value", REAL, config, fill.fill_value, .fallback = "0.0")

/* ---- moved pixels ------------------------------------------------------------------------ */

/* x, its pixels moved as drawn for each sample. */
static cornu_status emit_moved(step_builder *b, tensor_ref x, const drawing *d,
                               const fill_config *fill, tensor_ref *y)
{
    const shape s = emit_shape(b, x);
    const resampling how = {.border = fill->fill_mode,
                            .nearest = fill->interpolation == LAYER_NEAREST,
                            .value = (float)fill->fill_value};
    tensor_ref map;
    *y = x;
    if (!emit_draws(b))
        return CORNU_OK;
    TRY(emit_draw(b, d, &map));
    return emit_resample(b, x, map, s.dim, &how, y);
}

/* RandomFlip: one random number decides both ways, as in Keras. */
typedef struct random_flip_config {
    int mode;
} random_flip_config;

enum { FLIP_BOTH, FLIP_HORIZONTAL, FLIP_VERTICAL };

static const config_field random_flip_fields[] = {
    OPTION(CHOICE, random_flip_config, mode, .fallback = "horizontal_and_vertical",
           .choices = "horizontal_and_vertical|horizontal|vertical"),
    OPTION_IGNORED("seed"),
    OPTION_CHANNELS_LAST,
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status random_flip_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                     tensor_ref *y)
{
    const random_flip_config *c = l->config;
    const fill_config fill = {.interpolation = LAYER_NEAREST};
    const shape s = emit_shape(b, x[0]);
    drawing d = drawing_of(DRAW_FLIP, &s);
    d.low[0] = c->mode != FLIP_HORIZONTAL;
    d.low[1] = c->mode != FLIP_VERTICAL;
    return emit_moved(b, x[0], &d, &fill, y);
}

static const char *const random_flip_samples[] = {
    "5,4,3 | {}",
    "3,6,1 | {mode: horizontal}",
    "4,4,2 | {mode: vertical}",
    NULL,
};

const layer_kind layer_RandomFlip = {
    .name = "RandomFlip",
    .base_name = "random_flip",
    .config_size = sizeof(random_flip_config),
    .fields = random_flip_fields,
    .rank = LAYER_IMAGE,
    .declare = layer_same_shape,
    .emit = random_flip_emit,
    .samples = random_flip_samples,
    .range = LAYER_REARRANGES,
    .changes_images = true,
};

/* RandomRotation: around the image's centre; the factor is in full turns. */
typedef struct random_rotation_config {
    real_range factor;
    fill_config fill;
} random_rotation_config;

static const config_field random_rotation_fields[] = {
    OPTION(RANGE, random_rotation_config, factor, .minimum = -1, .maximum = 1,
           .flags = CONFIG_REQUIRED),
    OPTION_FILL_MODE(random_rotation_config),
    OPTION_INTERPOLATION(random_rotation_config),
    OPTION_IGNORED("seed"),
    OPTION_FILL_VALUE(random_rotation_config),
    OPTION_CHANNELS_LAST,
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status random_rotation_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                         tensor_ref *y)
{
    const random_rotation_config *c = l->config;
    const shape s = emit_shape(b, x[0]);
    drawing d = drawing_of(DRAW_ROTATION, &s);
    layer_draw_factor(&d, 0, &c->factor, -1, 0, 1);
    return emit_moved(b, x[0], &d, &c->fill, y);
}

static const char *const random_rotation_samples[] = {
    "6,5,2 | {factor: 0.2}",
    "4,7,1 | {factor: [-0.1, 0.3], fill_mode: constant, fill_value: 0.5}",
    "5,5,3 | {factor: 0.5, fill_mode: nearest, interpolation: nearest}",
    NULL,
};

const layer_kind layer_RandomRotation = {
    .name = "RandomRotation",
    .base_name = "random_rotation",
    .config_size = sizeof(random_rotation_config),
    .fields = random_rotation_fields,
    .rank = LAYER_IMAGE,
    .declare = layer_same_shape,
    .emit = random_rotation_emit,
    .samples = random_rotation_samples,
    .range = LAYER_REARRANGES,
    .changes_images = true,
};

/* RandomZoom and RandomTranslation: factors of the height and of the width. */
typedef struct two_factors_config {
    real_range height_factor, width_factor;
    fill_config fill;
} two_factors_config;

#define OPTIONS_OF_TWO_FACTORS                                                               \
    OPTION_FILL_MODE(two_factors_config), OPTION_INTERPOLATION(two_factors_config),          \
        OPTION_IGNORED("seed"), OPTION_FILL_VALUE(two_factors_config), OPTION_CHANNELS_LAST, \
        OPTION_NO_BOXES, OPTIONS_END

/* RandomZoom: an image that is 1 + factor times as large is shrunk into the frame. Without
   width_factor both sides are zoomed alike. */
static const config_field random_zoom_fields[] = {
    OPTION(RANGE, two_factors_config, height_factor, .minimum = -1, .maximum = 1,
           .flags = CONFIG_REQUIRED | CONFIG_ABOVE),
    OPTION(RANGE, two_factors_config, width_factor, .minimum = -1, .maximum = 1, .fallback = "null",
           .flags = CONFIG_NULLABLE | CONFIG_ABOVE),
    OPTIONS_OF_TWO_FACTORS,
};

static cornu_status random_zoom_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                     tensor_ref *y)
{
    const two_factors_config *c = l->config;
    const shape s = emit_shape(b, x[0]);
    drawing d = drawing_of(DRAW_ZOOM, &s);
    d.one = c->width_factor.count == 0;
    layer_draw_factor(&d, 0, &c->height_factor, -1, 1, 1);
    layer_draw_factor(&d, 1, d.one ? &c->height_factor : &c->width_factor, -1, 1, 1);
    return emit_moved(b, x[0], &d, &c->fill, y);
}

static const char *const random_zoom_samples[] = {
    "6,5,2 | {height_factor: 0.2}",
    "4,7,1 | {height_factor: [-0.3, -0.1], width_factor: 0.4, fill_mode: wrap}",
    "5,5,3 | {height_factor: 0.4, width_factor: [0.1, 0.2], fill_mode: constant}",
    NULL,
};

const layer_kind layer_RandomZoom = {
    .name = "RandomZoom",
    .base_name = "random_zoom",
    .config_size = sizeof(two_factors_config),
    .fields = random_zoom_fields,
    .rank = LAYER_IMAGE,
    .declare = layer_same_shape,
    .emit = random_zoom_emit,
    .samples = random_zoom_samples,
    .range = LAYER_REARRANGES,
    .changes_images = true,
};

/* RandomTranslation: by fractions of the sides, downwards and to the right. */
static const config_field random_translation_fields[] = {
    OPTION(RANGE, two_factors_config, height_factor, .minimum = -1, .maximum = 1,
           .flags = CONFIG_REQUIRED),
    OPTION(RANGE, two_factors_config, width_factor, .minimum = -1, .maximum = 1,
           .flags = CONFIG_REQUIRED),
    OPTIONS_OF_TWO_FACTORS,
};

static cornu_status random_translation_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                            tensor_ref *y)
{
    const two_factors_config *c = l->config;
    const shape s = emit_shape(b, x[0]);
    drawing d = drawing_of(DRAW_TRANSLATION, &s);
    layer_draw_factor(&d, 0, &c->height_factor, -1, 0, (double)s.dim[0]);
    layer_draw_factor(&d, 1, &c->width_factor, -1, 0, (double)s.dim[1]);
    return emit_moved(b, x[0], &d, &c->fill, y);
}

static const char *const random_translation_samples[] = {
    "6,5,2 | {height_factor: 0.2, width_factor: 0.3}",
    "4,7,1 | {height_factor: [0.1, 0.4], width_factor: [-0.2, 0], fill_mode: constant}",
    "5,5,3 | {height_factor: 0.7, width_factor: 0, fill_mode: nearest, interpolation: nearest}",
    NULL,
};

const layer_kind layer_RandomTranslation = {
    .name = "RandomTranslation",
    .base_name = "random_translation",
    .config_size = sizeof(two_factors_config),
    .fields = random_translation_fields,
    .rank = LAYER_IMAGE,
    .declare = layer_same_shape,
    .emit = random_translation_emit,
    .samples = random_translation_samples,
    .range = LAYER_REARRANGES,
    .changes_images = true,
};

/* RandomShear: columns by x_factor of the row, rows by y_factor of the column, both one way or both
   the other. */
typedef struct random_shear_config {
    real_range x_factor, y_factor;
    fill_config fill;
} random_shear_config;

static const config_field random_shear_fields[] = {
    OPTION(RANGE, random_shear_config, x_factor, .minimum = 0, .maximum = 1, .fallback = "0.0"),
    OPTION(RANGE, random_shear_config, y_factor, .minimum = 0, .maximum = 1, .fallback = "0.0"),
    OPTION_INTERPOLATION(random_shear_config),
    OPTION_FILL_MODE(random_shear_config),
    OPTION_FILL_VALUE(random_shear_config),
    OPTION_CHANNELS_LAST,
    OPTION_IGNORED("seed"),
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status random_shear_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                      tensor_ref *y)
{
    const random_shear_config *c = l->config;
    const shape s = emit_shape(b, x[0]);
    drawing d = drawing_of(DRAW_SHEAR, &s);
    layer_draw_factor(&d, 0, &c->y_factor, -1, 0, 1);
    layer_draw_factor(&d, 1, &c->x_factor, -1, 0, 1);
    return emit_moved(b, x[0], &d, &c->fill, y);
}

static const char *const random_shear_samples[] = {
    "6,5,2 | {x_factor: 0.2, y_factor: 0.3}",
    "4,7,1 | {x_factor: [0.1, 0.4], fill_mode: constant, fill_value: 0.5}",
    "5,5,3 | {y_factor: 0.7, fill_mode: nearest, interpolation: nearest}",
    NULL,
};

const layer_kind layer_RandomShear = {
    .name = "RandomShear",
    .base_name = "random_shear",
    .config_size = sizeof(random_shear_config),
    .fields = random_shear_fields,
    .rank = LAYER_IMAGE,
    .declare = layer_same_shape,
    .emit = random_shear_emit,
    .samples = random_shear_samples,
    .range = LAYER_REARRANGES,
    .changes_images = true,
};

/* ---- cropped ----------------------------------------------------------------------------- */

/* RandomCrop: in training a place drawn for the batch, where both sides are larger. */
typedef struct random_crop_config {
    int64_t height, width;
} random_crop_config;

static const config_field random_crop_fields[] = {
    OPTION(INT, random_crop_config, height, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(INT, random_crop_config, width, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION_IGNORED("seed"),
    OPTION_CHANNELS_LAST,
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status random_crop_declare(layer *l, layer_call *call)
{
    const random_crop_config *c = l->config;
    call->out = (shape){3, {c->height, c->width, call->in[0].dim[2]}};
    return CORNU_OK;
}

static cornu_status random_crop_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                     tensor_ref *y)
{
    const random_crop_config *c = l->config;
    const int64_t size[2] = {c->height, c->width};
    const shape in = emit_shape(b, x[0]);
    const resampling how = {.border = BORDER_NEAREST, .nearest = true};
    image_window w = layer_window_of_aspect(&in, size);
    tensor_ref map;
    drawing d = {.kind = DRAW_CROP};
    if (!emit_draws(b))
        return layer_emit_window(b, x[0], &w, size, false, y);
    if (in.dim[0] > size[0] && in.dim[1] > size[1]) {
        for (int i = 0; i < 2; i++)
            d.high[i] = (float)(in.dim[i] - size[i] + 1);
        TRY(emit_draw(b, &d, &map));
        return emit_resample(b, x[0], map, size, &how, y);
    }
    for (int i = 0; i < 2; i++) { /* as Keras slices what is not larger */
        const int64_t left = in.dim[i] - w.begin[i];
        w.size[i] = size[i] < left ? size[i] : left;
    }
    return layer_emit_window(b, x[0], &w, size, false, y);
}

/* In prediction these are slices: an image that is resampled has no operator in ONNX files. */
static const char *const random_crop_samples[] = {
    "5,4,1 | {height: 5, width: 2}",
    "4,6,3 | {height: 2, width: 6}",
    NULL,
};

const layer_kind layer_RandomCrop = {
    .name = "RandomCrop",
    .base_name = "random_crop",
    .config_size = sizeof(random_crop_config),
    .fields = random_crop_fields,
    .rank = LAYER_IMAGE,
    .declare = random_crop_declare,
    .emit = random_crop_emit,
    .samples = random_crop_samples,
    .range = LAYER_REARRANGES,
    .changes_images = true,
};
