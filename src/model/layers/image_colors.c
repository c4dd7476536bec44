/* keras.layers.preprocessing.image_preprocessing: other values of the pixels, most of them at
   random in training, each sample by its own random numbers. */
#include "base/memory.h"
#include "model/layers/layers.h"
#include <math.h>
#include <stdlib.h>

/* ---- options ----------------------------------------------------------------------------- */

typedef struct colors_config {
    real_range factor;
    double value_range[2];
} colors_config;

#define OPTION_VALUE_RANGE(config) OPTION(INTERVAL, config, value_range, .fallback = "[0, 255]")
#define OPTION_FACTOR(least, most)                                            \
    OPTION(RANGE, colors_config, factor, .minimum = least, .maximum = (most), \
           .flags = CONFIG_REQUIRED)
#define OPTION_CHANCE \
    OPTION(RANGE, colors_config, factor, .minimum = 0, .maximum = 1, .fallback = "1.0")
/* Keras's order of what has no effect. */
#define OPTIONS_FORMAT_AND_SEED \
    OPTION_CHANNELS_LAST, OPTION_IGNORED("seed"), OPTION_NO_BOXES, OPTIONS_END
#define OPTIONS_SEED_AND_FORMAT \
    OPTION_IGNORED("seed"), OPTION_CHANNELS_LAST, OPTION_NO_BOXES, OPTIONS_END

/* The range from the lower end to the upper one, however it is written. */
static recoloring recoloring_of(recolor_kind kind, const double range[2])
{
    return (recoloring){.kind = kind,
                        .low = (float)fmin(range[0], range[1]),
                        .high = (float)fmax(range[0], range[1])};
}

static drawing drawing_of(draw_kind kind, const real_range *factor, double least)
{
    drawing d = {.kind = kind};
    layer_draw_factor(&d, 0, factor, least, 0, 1);
    return d;
}

/* A number drawn for each image. */
static cornu_status emit_number(step_builder *b, const drawing *d, tensor_ref *y)
{
    TRY(emit_draw(b, d, y));
    return emit_reshape(b, *y, &(shape){3, {1, 1, 1}}, y);
}

static cornu_status emit_clipped(step_builder *b, tensor_ref x, const double range[2],
                                 tensor_ref *y)
{
    TRY(layer_emit_at_least(b, x, fmin(range[0], range[1]), y));
    return layer_emit_at_most(b, *y, fmax(range[0], range[1]), y);
}

/* x + share (other - x). */
static cornu_status emit_towards(step_builder *b, tensor_ref x, tensor_ref other, tensor_ref share,
                                 tensor_ref *y)
{
    TRY(emit_binary(b, BINARY_SUBTRACT, other, x, y));
    TRY(emit_binary(b, BINARY_MULTIPLY, *y, share, y));
    return emit_binary(b, BINARY_ADD, x, *y, y);
}

static cornu_status emit_recolored(step_builder *b, tensor_ref x, const drawing *d,
                                   const recoloring *r, tensor_ref *y)
{
    tensor_ref numbers;
    *y = x;
    if (!emit_draws(b))
        return CORNU_OK;
    TRY(emit_draw(b, d, &numbers));
    return emit_recolor(b, x, numbers, r, y);
}

/* Red, green and blue; or, of layers that know gray, one channel. */
static cornu_status check_colors(const layer_call *call, bool also_gray)
{
    const int64_t channels = call->in[0].dim[2];
    char found[128];
    if (channels == COLORS || (also_gray && channels == 1))
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found input %s; expected 3 channels%s",
                       shape_show(&call->in[0], true, found), also_gray ? ", or 1" : "");
}

static cornu_status declare_colors(layer *l, layer_call *call)
{
    TRY(check_colors(call, false));
    return layer_same_shape(l, call);
}

static cornu_status declare_colors_or_gray(layer *l, layer_call *call)
{
    TRY(check_colors(call, true));
    return layer_same_shape(l, call);
}

#define COLORS_LAYER(class_name, base, declares) \
    const layer_kind layer_##class_name = {      \
        .name = #class_name,                     \
        .base_name = #base,                      \
        .config_size = sizeof(base##_config),    \
        .fields = base##_fields,                 \
        .rank = LAYER_IMAGE,                     \
        .declare = declares,                     \
        .emit = base##_emit,                     \
        .samples = base##_samples,               \
        .range = LAYER_REARRANGES,               \
        .changes_images = true,                  \
    }

/* ---- RandomContrast, RandomBrightness -------------------------------------------------------- */

/* RandomContrast: (x - mean) factor + mean with each channel's mean; the factor is drawn from 1 -
   low to 1 + high, which for a single number is 1 to 1 + factor, as in Keras. */
typedef colors_config random_contrast_config;
static const config_field random_contrast_fields[] = {
    OPTION(RANGE, colors_config, factor, .minimum = 0, .maximum = 1, .flags = CONFIG_REQUIRED),
    OPTION_VALUE_RANGE(colors_config),
    OPTION_IGNORED("seed"),
    OPTION_TOLERATED("data_format", "\"channels_last\"|null"),
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status emit_contrast(step_builder *b, tensor_ref x, const real_range *range,
                                  const double value_range[2], tensor_ref *y)
{
    const int_list sides = {.count = 2, .value = {1, 2}};
    drawing d = {.kind = DRAW_NUMBER};
    double ends[2];
    int64_t count;
    tensor_ref mean, factor;
    layer_range_ends(range, 0, ends);
    d.low[0] = (float)(1 - ends[0]);
    d.high[0] = (float)(1 + ends[1]);
    TRY(emit_number(b, &d, &factor));
    TRY(layer_reduce(b, x, &sides, false, &count, &mean));
    TRY(emit_binary(b, BINARY_SUBTRACT, x, mean, y));
    TRY(emit_binary(b, BINARY_MULTIPLY, *y, factor, y));
    TRY(emit_binary(b, BINARY_ADD, *y, mean, y));
    return emit_clipped(b, *y, value_range, y);
}

static cornu_status random_contrast_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                         tensor_ref *y)
{
    const colors_config *c = l->config;
    *y = x[0];
    return emit_draws(b) ? emit_contrast(b, x[0], &c->factor, c->value_range, y) : CORNU_OK;
}

static const char *const random_contrast_samples[] = {
    "6,5,2 | {factor: 0.5, value_range: [-90, 90]}",
    "4,4,3 | {factor: [0.2, 0.8], value_range: [-90, 90]}",
    NULL,
};

COLORS_LAYER(RandomContrast, random_contrast, layer_same_shape);

/* RandomBrightness: x plus a fraction of the range of values. */
typedef colors_config random_brightness_config;
static const config_field random_brightness_fields[] = {
    OPTION(RANGE, colors_config, factor, .minimum = -1, .maximum = 1, .flags = CONFIG_REQUIRED),
    OPTION_VALUE_RANGE(colors_config),
    OPTION_IGNORED("seed"),
    OPTION_TOLERATED("data_format", "\"channels_last\"|null"),
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status emit_brightness(step_builder *b, tensor_ref x, const real_range *range,
                                    const double value_range[2], tensor_ref *y)
{
    drawing d = {.kind = DRAW_NUMBER};
    tensor_ref delta;
    layer_draw_factor(&d, 0, range, -1, 0, fabs(value_range[1] - value_range[0]));
    TRY(emit_number(b, &d, &delta));
    TRY(emit_binary(b, BINARY_ADD, x, delta, y));
    return emit_clipped(b, *y, value_range, y);
}

static cornu_status random_brightness_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                           tensor_ref *y)
{
    const colors_config *c = l->config;
    *y = x[0];
    return emit_draws(b) ? emit_brightness(b, x[0], &c->factor, c->value_range, y) : CORNU_OK;
}

static const char *const random_brightness_samples[] = {
    "6,5,2 | {factor: 0.5, value_range: [-90, 90]}",
    "4,4,3 | {factor: [-0.1, 0.3], value_range: [90, -90]}",
    NULL,
};

COLORS_LAYER(RandomBrightness, random_brightness, layer_same_shape);

/* ---- each channel for itself ----------------------------------------------------------------- */

/* RandomInvert: the upper end of the range less x, with a probability that is drawn, too. */
typedef colors_config random_invert_config;

static const config_field random_invert_fields[] = {
    OPTION_CHANCE,
    OPTION_VALUE_RANGE(colors_config),
    OPTIONS_SEED_AND_FORMAT,
};

static cornu_status random_invert_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                       tensor_ref *y)
{
    const colors_config *c = l->config;
    const drawing d = drawing_of(DRAW_CHANCE, &c->factor, 0);
    const recoloring r = {.kind = RECOLOR_INVERT, .high = (float)c->value_range[1]};
    return emit_recolored(b, x[0], &d, &r, y);
}

static const char *const random_invert_samples[] = {
    "6,5,2 | {value_range: [-1, 1]}",
    "4,4,3 | {factor: [0.2, 0.8], value_range: [0, 1]}",
    NULL,
};
COLORS_LAYER(RandomInvert, random_invert, layer_same_shape);

/* RandomPosterization: the first bits alone, of 8. */
typedef colors_config random_posterization_config;

static const config_field random_posterization_fields[] = {
    OPTION_FACTOR(1, 8),
    OPTION_VALUE_RANGE(colors_config),
    OPTIONS_FORMAT_AND_SEED,
};

static cornu_status random_posterization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                              tensor_ref *y)
{
    const colors_config *c = l->config;
    const drawing d = drawing_of(DRAW_WHOLE, &c->factor, 1);
    const recoloring r = recoloring_of(RECOLOR_POSTERIZE, c->value_range);
    return emit_recolored(b, x[0], &d, &r, y);
}

static const char *const random_posterization_samples[] = {
    "6,5,2 | {factor: [1, 1], value_range: [-900, 900]}",
    "3,2,3 | {factor: 1, value_range: [900, -900]}",
    NULL,
};
COLORS_LAYER(RandomPosterization, random_posterization, layer_same_shape);

/* Solarization: x plus a number, of the range 0 to 255, and inverted from a threshold on. As in
   Keras, lower ends that are given are not times 255. */
typedef struct solarization_config {
    real_range addition_factor, threshold_factor;
    double value_range[2];
} solarization_config;

static const config_field solarization_fields[] = {
    OPTION(RANGE, solarization_config, addition_factor, .minimum = 0, .maximum = 1,
           .fallback = "0.0"),
    OPTION(RANGE, solarization_config, threshold_factor, .minimum = 0, .maximum = 1,
           .fallback = "0.0"),
    OPTION_VALUE_RANGE(solarization_config),
    OPTION_IGNORED("seed"),
    OPTION_TOLERATED("data_format", "\"channels_last\"|null"),
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status solarization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                      tensor_ref *y)
{
    const solarization_config *c = l->config;
    const real_range *const factors[2] = {&c->addition_factor, &c->threshold_factor};
    const recoloring r = recoloring_of(RECOLOR_SOLARIZE, c->value_range);
    drawing d = {.kind = DRAW_PAIR};
    for (int i = 0; i < 2; i++) {
        double ends[2];
        layer_range_ends(factors[i], 0, ends);
        d.low[i] = (float)ends[0];
        d.high[i] = (float)(ends[1] * 255);
    }
    return emit_recolored(b, x[0], &d, &r, y);
}

static const char *const solarization_samples[] = {
    "6,5,2 | {addition_factor: 0.1, value_range: [-90, 90]}",
    "4,4,3 | {value_range: [-900, 900], threshold_factor: [0.9, 1]}",
    NULL,
};
COLORS_LAYER(Solarization, solarization, layer_same_shape);

/* ---- red, green and blue --------------------------------------------------------------------- */

/* RandomGrayscale: with probability `factor`. */
typedef struct random_grayscale_config {
    double factor;
} random_grayscale_config;

static const config_field random_grayscale_fields[] = {
    OPTION(REAL, random_grayscale_config, factor, .minimum = 0, .maximum = 1, .fallback = "0.5"),
    OPTIONS_FORMAT_AND_SEED,
};

static cornu_status random_grayscale_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                          tensor_ref *y)
{
    const random_grayscale_config *c = l->config;
    const drawing d = {.kind = DRAW_CHANCE, .low = {(float)c->factor}, .high = {(float)c->factor}};
    const recoloring r = {.kind = RECOLOR_GRAYSCALE};
    *y = x[0];
    if (emit_shape(b, x[0]).dim[2] == 1)
        return CORNU_OK;
    return emit_recolored(b, x[0], &d, &r, y);
}

static const char *const random_grayscale_samples[] = {
    "6,5,3 | {}",
    "4,4,1 | {factor: 1}",
    NULL,
};
COLORS_LAYER(RandomGrayscale, random_grayscale, declare_colors_or_gray);

/* RandomColorDegeneration: a part of the way to gray. */
typedef colors_config random_color_degeneration_config;

static const config_field random_color_degeneration_fields[] = {
    OPTION_FACTOR(-1, 1),
    OPTION_VALUE_RANGE(colors_config),
    OPTIONS_FORMAT_AND_SEED,
};

static cornu_status random_color_degeneration_emit(const layer *l, step_builder *b,
                                                   const tensor_ref *x, tensor_ref *y)
{
    const colors_config *c = l->config;
    const drawing d = drawing_of(DRAW_NUMBER, &c->factor, -1);
    const recoloring r = recoloring_of(RECOLOR_DEGENERATE, c->value_range);
    *y = x[0];
    if (emit_shape(b, x[0]).dim[2] == 1) /* is gray */
        return emit_draws(b) ? emit_clipped(b, x[0], c->value_range, y) : CORNU_OK;
    return emit_recolored(b, x[0], &d, &r, y);
}

static const char *const random_color_degeneration_samples[] = {
    "6,5,3 | {factor: 0.5, value_range: [-90, 90]}",
    "4,4,1 | {factor: [0.2, 0.8], value_range: [-90, 90]}",
    NULL,
};
COLORS_LAYER(RandomColorDegeneration, random_color_degeneration, declare_colors_or_gray);

/* RandomSaturation: the saturation times factor / (1 - factor), within the range of values, as
   Keras has it. */
typedef colors_config random_saturation_config;

static const config_field random_saturation_fields[] = {
    OPTION_FACTOR(-1, 1),
    OPTION_VALUE_RANGE(colors_config),
    OPTIONS_FORMAT_AND_SEED,
};

static cornu_status emit_saturation(step_builder *b, tensor_ref x, const real_range *range,
                                    const double value_range[2], tensor_ref *y)
{
    const drawing d = drawing_of(DRAW_NUMBER, range, -1);
    const recoloring r = recoloring_of(RECOLOR_SATURATE, value_range);
    return emit_recolored(b, x, &d, &r, y);
}

static cornu_status random_saturation_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                           tensor_ref *y)
{
    const colors_config *c = l->config;
    return emit_saturation(b, x[0], &c->factor, c->value_range, y);
}

static const char *const random_saturation_samples[] = {
    "3,2,3 | {Rescaling: {scale: 0.1, offset: 1}}, | {factor: [0.2, 0.4]}",
    "2,3,3 | {Rescaling: {scale: 0.1, offset: 1}}, | {factor: [0.3, 0.3], value_range: [0, 1]}",
    NULL,
};
COLORS_LAYER(RandomSaturation, random_saturation, declare_colors);

/* RandomHue: plus or less up to half a turn times factor. */
typedef colors_config random_hue_config;

static const config_field random_hue_fields[] = {
    OPTION_FACTOR(0, 1),
    OPTION_VALUE_RANGE(colors_config),
    OPTIONS_FORMAT_AND_SEED,
};

static cornu_status emit_hue(step_builder *b, tensor_ref x, const real_range *range,
                             const double value_range[2], tensor_ref *y)
{
    const drawing d = drawing_of(DRAW_SIGNED, range, 0);
    const recoloring r = {
        .kind = RECOLOR_HUE, .low = (float)value_range[0], .high = (float)value_range[1]};
    return emit_recolored(b, x, &d, &r, y);
}

static cornu_status random_hue_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                    tensor_ref *y)
{
    const colors_config *c = l->config;
    return emit_hue(b, x[0], &c->factor, c->value_range, y);
}

static const char *const random_hue_samples[] = {
    "3,2,3 | {Rescaling: {scale: 0.1, offset: 1}}, | {factor: [0.2, 0.4], value_range: [0, 3]}",
    "2,2,3 | {Rescaling: {scale: 0.1, offset: 1}}, | {factor: [0.3, 0.3], value_range: [-1, 4]}",
    NULL,
};
COLORS_LAYER(RandomHue, random_hue, declare_colors);

/* RandomColorJitter: brightness, contrast, saturation and hue, those that have a factor. */
typedef struct random_color_jitter_config {
    double value_range[2];
    real_range brightness_factor, contrast_factor, saturation_factor, hue_factor;
} random_color_jitter_config;

#define OPTION_JITTER(field, least)                                                  \
    OPTION(RANGE, random_color_jitter_config, field, .minimum = least, .maximum = 1, \
           .fallback = "null", .flags = CONFIG_NULLABLE)

static const config_field random_color_jitter_fields[] = {
    OPTION_VALUE_RANGE(random_color_jitter_config),
    OPTION_JITTER(brightness_factor, -1),
    OPTION_JITTER(contrast_factor, 0),
    OPTION_JITTER(saturation_factor, -1),
    OPTION_JITTER(hue_factor, 0),
    OPTIONS_SEED_AND_FORMAT,
};

static cornu_status random_color_jitter_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                             tensor_ref *y)
{
    const random_color_jitter_config *c = l->config;
    *y = x[0];
    if (!emit_draws(b))
        return CORNU_OK;
    if (c->brightness_factor.count)
        TRY(emit_brightness(b, *y, &c->brightness_factor, c->value_range, y));
    if (c->contrast_factor.count)
        TRY(emit_contrast(b, *y, &c->contrast_factor, c->value_range, y));
    if (c->saturation_factor.count)
        TRY(emit_saturation(b, *y, &c->saturation_factor, c->value_range, y));
    if (c->hue_factor.count)
        TRY(emit_hue(b, *y, &c->hue_factor, c->value_range, y));
    return CORNU_OK;
}

static const char *const random_color_jitter_samples[] = {
    "3,2,3 | {Rescaling: {scale: 0.1, offset: 1}}, | {value_range: [0, 9], brightness_factor: "
    "0.1, contrast_factor: 0.2, saturation_factor: [0.4, 0.4], hue_factor: [0.2, 0.4]}",
    "2,2,3 | {}",
    NULL,
};
COLORS_LAYER(RandomColorJitter, random_color_jitter, declare_colors);

/* ---- what is around a pixel, or in the whole image ------------------------------------------- */

/* RandomSharpness: away from the mean of a pixel, which counts five times, and its neighbours. */
typedef colors_config random_sharpness_config;

static const config_field random_sharpness_fields[] = {
    OPTION_FACTOR(0, 1),
    OPTION_VALUE_RANGE(colors_config),
    OPTIONS_FORMAT_AND_SEED,
};

/* Beyond the border are zeros. */
static cornu_status emit_smoothed(step_builder *b, tensor_ref x, tensor_ref *y)
{
    const int64_t one[2] = {1, 1};
    const window2d w = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    tensor_ref own;
    TRY(emit_pad(b, x, one, one, y));
    TRY(emit_average_pool(b, *y, &w, y));
    TRY(emit_scale(b, *y, 9.0 / 13, 0, y));
    TRY(emit_scale(b, x, 4.0 / 13, 0, &own));
    return emit_binary(b, BINARY_ADD, *y, own, y);
}

static cornu_status random_sharpness_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                          tensor_ref *y)
{
    const colors_config *c = l->config;
    drawing d = {.kind = DRAW_NUMBER};
    double ends[2];
    tensor_ref share, smoothed;
    *y = x[0];
    if (!emit_draws(b))
        return CORNU_OK;
    layer_range_ends(&c->factor, 0, ends);
    d.low[0] = (float)(1 - 2 * ends[0]);
    d.high[0] = (float)(1 - 2 * ends[1]);
    TRY(emit_number(b, &d, &share));
    TRY(emit_smoothed(b, x[0], &smoothed));
    TRY(emit_towards(b, x[0], smoothed, share, y));
    return emit_clipped(b, *y, c->value_range, y);
}

static const char *const random_sharpness_samples[] = {
    "6,5,2 | {factor: 0.5, value_range: [-90, 90]}",
    "4,4,3 | {factor: [0.2, 0.8], value_range: [-90, 90]}",
    NULL,
};
COLORS_LAYER(RandomSharpness, random_sharpness, layer_same_shape);

/* AutoContrast: each channel's smallest and largest numbers become the ends of the range. */
typedef struct auto_contrast_config {
    double value_range[2];
} auto_contrast_config;

static const config_field auto_contrast_fields[] = {
    OPTION_VALUE_RANGE(auto_contrast_config),
    OPTION_TOLERATED("data_format", "\"channels_last\"|null"),
    OPTION_NO_BOXES,
    OPTIONS_END,
};

static cornu_status auto_contrast_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                       tensor_ref *y)
{
    const auto_contrast_config *c = l->config;
    const int_list sides = {.count = 2, .value = {1, 2}};
    const double low = fmin(c->value_range[0], c->value_range[1]);
    const double high = fmax(c->value_range[0], c->value_range[1]);
    int64_t count;
    tensor_ref least, range, is_flat, flat, is_not_flat;
    TRY(emit_scale(b, x[0], -1, 0, &least));
    TRY(layer_reduce(b, least, &sides, true, &count, &least));
    TRY(layer_reduce(b, x[0], &sides, true, &count, &range));
    TRY(emit_binary(b, BINARY_ADD, range, least, &range)); /* `least` is negated */
    TRY(layer_emit_compared(b, BINARY_EQUAL, range, 0, &is_flat));
    TRY(emit_scale(b, is_flat, -1, 1, &is_not_flat));
    TRY(emit_binary(b, BINARY_ADD, range, is_flat, &range));
    TRY(emit_binary(b, BINARY_ADD, x[0], least, y));
    TRY(emit_binary(b, BINARY_DIVIDE, *y, range, y));
    TRY(emit_scale(b, *y, high - low, low, y));
    TRY(emit_binary(b, BINARY_KEEP, *y, is_not_flat, y)); /* a channel of one number stays */
    TRY(emit_binary(b, BINARY_KEEP, x[0], is_flat, &flat));
    return emit_binary(b, BINARY_ADD, *y, flat, y);
}

static const char *const auto_contrast_samples[] = {
    "3,2,2 | {}",
    "2,3,1 | {value_range: [-1, 1]}",
    NULL,
};

const layer_kind layer_AutoContrast = {
    .name = "AutoContrast",
    .base_name = "auto_contrast",
    .config_size = sizeof(auto_contrast_config),
    .fields = auto_contrast_fields,
    .rank = LAYER_IMAGE,
    .declare = layer_same_shape,
    .emit = auto_contrast_emit,
    .samples = auto_contrast_samples,
    .range = LAYER_RESCALES,
};

/* ---- RandomErasing --------------------------------------------------------------------------- */

/* RandomErasing: a box whose sides are the square roots of numbers in `scale`, of the image's; with
   a probability that is drawn, too. */
typedef struct random_erasing_config {
    real_range factor, scale;
    number_list fill_value; /* null: normal numbers times the upper end of the range */
    double value_range[2];
} random_erasing_config;

static const config_field random_erasing_fields[] = {
    OPTION(RANGE, random_erasing_config, factor, .minimum = 0, .maximum = 1, .fallback = "1.0"),
    OPTION(RANGE, random_erasing_config, scale, .minimum = 0, .maximum = 1,
           .fallback = "[0.02, 0.33]"),
    OPTION(NUMBERS, random_erasing_config, fill_value, .fallback = "null",
           .flags = CONFIG_NULLABLE | CONFIG_LONE),
    OPTION_VALUE_RANGE(random_erasing_config),
    OPTIONS_SEED_AND_FORMAT,
};

static cornu_status random_erasing_declare(layer *l, layer_call *call)
{
    const random_erasing_config *c = l->config;
    const int count = c->fill_value.count;
    if (count < 0 || count == 1 || count == call->in[0].dim[2])
        return layer_same_shape(l, call);
    return status_fail(
        CORNU_INVALID,
        "fill_value: found %d numbers; expected one, or one for each of %jd channels", count,
        (intmax_t)call->in[0].dim[2]);
}

/* 1 from place begin[i] to end[i] of a side of `size` pixels, and else 0; `box` has them from
   number `at` on. */
static cornu_status emit_between(step_builder *b, tensor_ref box, int at, const shape *side,
                                 tensor_ref *y)
{
    const shape one = {3, {1, 1, 1}};
    const int64_t size = shape_elements(side);
    tensor_ref places, begin, end;
    float *values;
    TRY(memory_new((size_t)size, sizeof *values, "places", &values));
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)i;
    cornu_status status = emit_constant(b, side, values, &places);
    free(values);
    TRY(status);
    TRY(emit_slice(b, box, 1, at, 1, 1, &begin));
    TRY(emit_slice(b, box, 1, at + 1, 1, 1, &end));
    TRY(emit_reshape(b, begin, &one, &begin));
    TRY(emit_reshape(b, end, &one, &end));
    TRY(emit_binary(b, BINARY_LESS_EQUAL, begin, places, y));
    TRY(emit_binary(b, BINARY_GREATER, end, places, &end));
    return emit_binary(b, BINARY_MULTIPLY, *y, end, y);
}

/* 1 within the box of a sample, and else 0; a box that is not erased has no pixels. */
static cornu_status emit_box(const random_erasing_config *c, step_builder *b, const shape *image,
                             tensor_ref *y)
{
    const shape down = {3, {image->dim[0], 1, 1}}, across = {3, {1, image->dim[1], 1}};
    const drawing chance = drawing_of(DRAW_CHANCE, &c->factor, 0);
    drawing d = drawing_of(DRAW_BOX, &c->scale, 0);
    tensor_ref box, is_erased, columns;
    for (int i = 0; i < 2; i++)
        d.size[i] = (float)image->dim[i];
    d.low[1] = d.low[0];
    d.high[1] = d.high[0];
    TRY(emit_draw(b, &d, &box));
    TRY(emit_draw(b, &chance, &is_erased));
    TRY(emit_binary(b, BINARY_MULTIPLY, box, is_erased, &box));
    TRY(emit_between(b, box, 0, &down, y));
    TRY(emit_between(b, box, 2, &across, &columns));
    return emit_binary(b, BINARY_MULTIPLY, *y, columns, y);
}

/* Fill the box: `mask` times the numbers. */
static cornu_status emit_fill(const random_erasing_config *c, step_builder *b, tensor_ref x,
                              tensor_ref mask, tensor_ref *y)
{
    const double low = c->value_range[0], high = c->value_range[1];
    const number_list *fill = &c->fill_value;
    const shape channels = {3, {1, 1, fill->count}};
    float values[NUMBER_LIST_MAX];
    tensor_ref numbers;
    if (fill->count < 0) {
        TRY(emit_noise(b, x, 0, high, &numbers));
        TRY(emit_clipped(b, numbers, c->value_range, &numbers));
        return emit_binary(b, BINARY_MULTIPLY, numbers, mask, y);
    }
    for (int i = 0; i < fill->count; i++)
        values[i] = (float)fmin(fmax(fill->value[i], low), high);
    TRY(emit_constant(b, &channels, values, &numbers));
    return emit_binary(b, BINARY_MULTIPLY, mask, numbers, y);
}

static cornu_status random_erasing_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                        tensor_ref *y)
{
    const random_erasing_config *c = l->config;
    const shape s = emit_shape(b, x[0]);
    tensor_ref mask, outside, fill;
    *y = x[0];
    if (!emit_draws(b))
        return CORNU_OK;
    TRY(emit_box(c, b, &s, &mask));
    TRY(emit_scale(b, mask, -1, 1, &outside));
    TRY(emit_fill(c, b, x[0], mask, &fill));
    TRY(emit_binary(b, BINARY_KEEP, x[0], outside, y));
    return emit_binary(b, BINARY_ADD, *y, fill, y);
}

static const char *const random_erasing_samples[] = {
    "6,5,2 | {scale: 0.3}",
    "4,7,3 | {factor: [0.5, 0.9], fill_value: [1, 2, 3]}",
    "5,4,1 | {fill_value: 0.5, value_range: [-1, 1]}",
    NULL,
};
COLORS_LAYER(RandomErasing, random_erasing, random_erasing_declare);
