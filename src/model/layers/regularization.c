/* keras.layers.regularization */
#include "model/layers/layers.h"
#include <math.h>

/* The options of all layers that drop elements in training. noise_shape: the batch first, where 0
   is null; a dimension of 1 drops all elements along it together. */
typedef struct dropout_config {
    double rate;
    shape noise_shape;
} dropout_config;

#define OPTION_RATE                                                \
    OPTION(REAL, dropout_config, rate, .minimum = 0, .maximum = 1, \
           .flags = CONFIG_REQUIRED | CONFIG_BELOW)
#define OPTION_NOISE_SHAPE                                                      \
    OPTION(SHAPE, dropout_config, noise_shape, LAYER_SIZES, .fallback = "null", \
           .flags = CONFIG_NULLABLE | CONFIG_OPEN)

static const config_field dropout_fields[] = {
    OPTION_RATE,
    OPTION_NOISE_SHAPE,
    OPTION_IGNORED("seed"),
    OPTIONS_END,
};

static const config_field spatial_dropout1d_fields[] = {
    OPTION_RATE,
    OPTION_IGNORED("seed"),
    OPTIONS_END,
};

static const config_field spatial_dropout2d_fields[] = {
    OPTION_RATE,
    OPTION_CHANNELS_LAST,
    OPTION_IGNORED("seed"),
    OPTIONS_END,
};

/* noise_shape has null or the input's size in each dimension, or 1, but null for the batch. */
static cornu_status dropout_declare(layer *l, layer_call *call)
{
    const dropout_config *c = l->config;
    const shape *in = &call->in[0], *noise = &c->noise_shape;
    char found[128];
    bool fits = noise->rank == 0 || (noise->rank == in->rank + 1 && noise->dim[0] == 0);
    for (int i = 1; fits && i < noise->rank; i++)
        fits = noise->dim[i] <= 1 || noise->dim[i] == in->dim[i - 1];
    if (!fits)
        return status_fail(
            CORNU_INVALID,
            "noise_shape: found one that does not fit an input of shape %s; expected "
            "null for the batch, then for each dimension null, its size or 1",
            shape_show(in, true, found));
    return layer_same_shape(l, call);
}

/* together[i]: elements along dimension i + 1 are dropped together. Is there such a dimension? */
static bool find_together(const dropout_config *c, bool together[SHAPE_MAX])
{
    bool any = false;
    for (int i = 1; i < c->noise_shape.rank; i++)
        any |= together[i - 1] = c->noise_shape.dim[i] == 1;
    return any;
}

static cornu_status drop_together(const dropout_config *c, step_builder *b, tensor_ref x,
                                  const bool together[SHAPE_MAX], tensor_ref *y)
{
    tensor_ref mask;
    TRY(emit_dropout_mask(b, x, c->rate, together, &mask));
    *y = x;
    return mask == NO_TENSOR ? CORNU_OK : emit_binary(b, BINARY_MULTIPLY, x, mask, y);
}

/* Dropout: in training each element is 0 with probability rate, else x / (1 - rate); else y = x. */
static cornu_status dropout_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    const dropout_config *c = l->config;
    bool together[SHAPE_MAX] = {false};
    if (find_together(c, together))
        return drop_together(c, b, x[0], together, y);
    if (c->rate > 0)
        return emit_dropout(b, x[0], c->rate, y);
    *y = x[0];
    return CORNU_OK;
}

static const char *const dropout_samples[] = {
    "11 | {rate: 0.5}",
    "4,3,2 | {rate: 0.2}",
    "7 | {rate: 0}",
    "4,3,2 | {rate: 0.4, noise_shape: [null, 1, 3, null]}",
    NULL,
};

const layer_kind layer_Dropout = {
    .name = "Dropout",
    .base_name = "dropout",
    .config_size = sizeof(dropout_config),
    .fields = dropout_fields,
    .declare = dropout_declare,
    .emit = dropout_emit,
    .samples = dropout_samples,
};

/* ---- SpatialDropout1D, SpatialDropout2D ---------------------------------------------------- */

/* A channel of a sample is dropped as a whole. */
static cornu_status spatial_dropout_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                         tensor_ref *y)
{
    bool together[SHAPE_MAX] = {false};
    for (int i = 0; i < emit_shape(b, x[0]).rank - 1; i++)
        together[i] = true;
    return drop_together(l->config, b, x[0], together, y);
}

static const char *const spatial_dropout1d_samples[] = {
    "5,4 | {rate: 0.5}",
    "3,2 | {rate: 0}",
    NULL,
};

static const char *const spatial_dropout2d_samples[] = {
    "4,3,5 | {rate: 0.4}",
    "2,2,3 | {rate: 0}",
    NULL,
};

const layer_kind layer_SpatialDropout1D = {
    .name = "SpatialDropout1D",
    .base_name = "spatial_dropout1d",
    .config_size = sizeof(dropout_config),
    .fields = spatial_dropout1d_fields,
    .rank = LAYER_SIGNAL,
    .without_trainable = true,
    .declare = layer_same_shape,
    .emit = spatial_dropout_emit,
    .samples = spatial_dropout1d_samples,
};

const layer_kind layer_SpatialDropout2D = {
    .name = "SpatialDropout2D",
    .base_name = "spatial_dropout2d",
    .config_size = sizeof(dropout_config),
    .fields = spatial_dropout2d_fields,
    .rank = LAYER_IMAGE,
    .without_trainable = true,
    .declare = layer_same_shape,
    .emit = spatial_dropout_emit,
    .samples = spatial_dropout2d_samples,
};

/* ---- AlphaDropout -------------------------------------------------------------------------- */

/* In training y = a (m x + (1 - m) alpha') + b, where m is 0 with probability rate and else 1,
   alpha' is what selu goes to, and a and b keep mean 0 and variance 1 (Klambauer et al. 2017). */
static cornu_status alpha_dropout_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                       tensor_ref *y)
{
    const dropout_config *c = l->config;
    const double end = -1.6732632423543772 * 1.0507009873554805;
    const double a = 1 / sqrt((1 - c->rate) * (1 + c->rate * end * end));
    bool together[SHAPE_MAX] = {false};
    tensor_ref mask, dropped;
    find_together(c, together);
    TRY(emit_dropout_mask(b, x[0], c->rate, together, &mask));
    *y = x[0];
    if (mask == NO_TENSOR)
        return CORNU_OK;
    /* The mask is 0 or 1 / (1 - rate). */
    TRY(emit_binary(b, BINARY_MULTIPLY, x[0], mask, y));
    TRY(emit_scale(b, *y, a * (1 - c->rate), 0, y));
    TRY(emit_scale(b, mask, -a * end * (1 - c->rate), a * end * (1 - c->rate), &dropped));
    return emit_binary(b, BINARY_ADD, *y, dropped, y);
}

static const char *const alpha_dropout_samples[] = {
    "11 | {rate: 0.5}",
    "4,3,2 | {rate: 0.3, noise_shape: [null, 1, 1, 2]}",
    "7 | {rate: 0}",
    NULL,
};

const layer_kind layer_AlphaDropout = {
    .name = "AlphaDropout",
    .base_name = "alpha_dropout",
    .config_size = sizeof(dropout_config),
    .fields = dropout_fields,
    .declare = dropout_declare,
    .emit = alpha_dropout_emit,
    .samples = alpha_dropout_samples,
};

/* ---- GaussianNoise, GaussianDropout -------------------------------------------------------- */

typedef struct gaussian_noise_config {
    double stddev;
} gaussian_noise_config;

static const config_field gaussian_noise_fields[] = {
    OPTION(REAL, gaussian_noise_config, stddev, .minimum = 0, .maximum = 1,
           .flags = CONFIG_REQUIRED),
    OPTION_IGNORED("seed"),
    OPTIONS_END,
};

/* GaussianNoise: in training y = x + normal numbers of mean 0. */
static cornu_status gaussian_noise_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                        tensor_ref *y)
{
    const gaussian_noise_config *c = l->config;
    tensor_ref noise;
    *y = x[0];
    if (!emit_draws(b) || !(c->stddev > 0))
        return CORNU_OK;
    TRY(emit_noise(b, x[0], 0, c->stddev, &noise));
    return emit_binary(b, BINARY_ADD, x[0], noise, y);
}

static const char *const gaussian_noise_samples[] = {
    "11 | {stddev: 0.5}",
    "4,3,2 | {stddev: 0.1}",
    "7 | {stddev: 0}",
    NULL,
};

const layer_kind layer_GaussianNoise = {
    .name = "GaussianNoise",
    .base_name = "gaussian_noise",
    .config_size = sizeof(gaussian_noise_config),
    .fields = gaussian_noise_fields,
    .declare = layer_same_shape,
    .emit = gaussian_noise_emit,
    .samples = gaussian_noise_samples,
};

static const config_field gaussian_dropout_fields[] = {
    OPTION_RATE,
    OPTION_IGNORED("seed"),
    OPTIONS_END,
};

/* GaussianDropout: in training y = x times normal numbers of mean 1, whose variance is that of
   Dropout's mask. */
static cornu_status gaussian_dropout_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                          tensor_ref *y)
{
    const dropout_config *c = l->config;
    tensor_ref noise;
    *y = x[0];
    if (!emit_draws(b) || !(c->rate > 0))
        return CORNU_OK;
    TRY(emit_noise(b, x[0], 1, sqrt(c->rate / (1 - c->rate)), &noise));
    return emit_binary(b, BINARY_MULTIPLY, x[0], noise, y);
}

static const char *const gaussian_dropout_samples[] = {
    "11 | {rate: 0.5}",
    "4,3,2 | {rate: 0.2}",
    "7 | {rate: 0}",
    NULL,
};

const layer_kind layer_GaussianDropout = {
    .name = "GaussianDropout",
    .base_name = "gaussian_dropout",
    .config_size = sizeof(dropout_config),
    .fields = gaussian_dropout_fields,
    .declare = layer_same_shape,
    .emit = gaussian_dropout_emit,
    .samples = gaussian_dropout_samples,
};

/* ActivityRegularization: passes x on, with a penalty on it. */
static const config_field activity_fields[] = {
    OPTION(REAL, regularizer, l1, .fallback = "0.0", .maximum = 1e9),
    OPTION(REAL, regularizer, l2, .fallback = "0.0", .maximum = 1e9),
    OPTIONS_END,
};

static cornu_status activity_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                  tensor_ref *y)
{
    (void)l, (void)b;
    *y = x[0];
    return CORNU_OK;
}

static const char *const activity_samples[] = {"5 | {}", "3,4 | {l1: 0.01, l2: 0.02}", NULL};

const layer_kind layer_ActivityRegularization = {
    .name = "ActivityRegularization",
    .base_name = "activity_regularization",
    .config_size = sizeof(regularizer),
    .fields = activity_fields,
    .penalizes = true,
    .declare = layer_same_shape,
    .emit = activity_emit,
    .samples = activity_samples,
};
