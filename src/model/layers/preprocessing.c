/* keras.layers.preprocessing */
#include "base/memory.h"
#include "model/layers/layers.h"
#include <math.h>
#include <stdlib.h>

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

/* Normalization: (x - mean) / deviation for each place along the axes that are kept; inverted, x
   deviation + mean. Mean and variance are options, or weights that adapt() has set. */
typedef struct normalization_config {
    int_list axis;
    number_array mean, variance;
    bool invert;
} normalization_config;

static const config_field normalization_fields[] = {
    OPTION(INTS, normalization_config, axis, .fallback = "-1", .flags = CONFIG_NULLABLE),
    OPTION(ARRAY, normalization_config, mean, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTION(ARRAY, normalization_config, variance, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTION(BOOL, normalization_config, invert, .fallback = "false"),
    OPTIONS_END,
};

/* Keras's epsilon: no deviation is less. */
static const double least_deviation = 1e-7;

/* kept[i]: dimension i, counted from 1, is one of the axes; the weights' shape. */
static cornu_status kept_axes(const int_list *axes, const shape *in, bool kept[SHAPE_MAX + 1],
                              shape *out)
{
    memset(kept, 0, (SHAPE_MAX + 1) * sizeof *kept);
    *out = (shape){.rank = 0};
    for (int i = 0, at; i < axes->count; i++) {
        TRY(layer_axis("axis", axes->value[i], in, &at));
        if (kept[at])
            return status_fail(CORNU_INVALID, "axis: found dimension %d twice", at);
        kept[at] = true;
    }
    for (int i = 1; i <= in->rank; i++)
        if (kept[i])
            out->dim[out->rank++] = in->dim[i - 1];
    return CORNU_OK;
}

/* The array's shape beside a sample: its axes are the last of those that are kept. */
static cornu_status array_beside(const char *key, const number_array *a, const shape *in,
                                 const bool *kept, shape *out)
{
    char found[128], shown[128];
    int left = a->shape.rank;
    *out = (shape){.rank = in->rank};
    bool fits = true;
    for (int i = in->rank; i >= 1; i--) {
        const int64_t size = kept[i] && left > 0 ? a->shape.dim[--left] : 1;
        fits = fits && (size == 1 || size == in->dim[i - 1]);
        out->dim[i - 1] = size;
    }
    if (fits && left == 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "%s: found shape %s for input %s; expected the sizes of axis",
                       key, shape_show(&a->shape, false, found), shape_show(in, true, shown));
}

static cornu_status normalization_declare(layer *l, layer_call *call)
{
    const normalization_config *c = l->config;
    const initializer zeros = {.kind = INITIALIZER_ZEROS}, ones = {.kind = INITIALIZER_ONES};
    bool kept[SHAPE_MAX + 1];
    shape s, beside;
    char mean[128], variance[128];
    call->out = call->in[0];
    TRY(kept_axes(&c->axis, &call->in[0], kept, &s));
    if (!c->mean.values != !c->variance.values)
        return status_fail(CORNU_INVALID, "found %s without %s; expected both or none",
                           c->mean.values ? "mean" : "variance",
                           c->mean.values ? "variance" : "mean");
    if (c->mean.values) {
        if (!shape_equal(&c->mean.shape, &c->variance.shape))
            return status_fail(CORNU_INVALID,
                               "found mean of shape %s and variance of shape %s; "
                               "expected equal shapes",
                               shape_show(&c->mean.shape, false, mean),
                               shape_show(&c->variance.shape, false, variance));
        return array_beside("mean", &c->mean, &call->in[0], kept, &beside);
    }
    const shape columns = {1, {shape_elements(&s)}};
    layer_weight_seen_as(call, "mean", s, columns, zeros, false);
    layer_weight_seen_as(call, "variance", s, columns, ones, false);
    layer_weight(call, "count", (shape){.rank = 0}, zeros, false); /* of old Keras: never read */
    return CORNU_OK;
}

/* x times `factor`, plus `offset`: one number each for each place of the arrays. */
static cornu_status emit_by_arrays(const normalization_config *c, step_builder *b, tensor_ref x,
                                   const shape *beside, tensor_ref *y)
{
    const int64_t count = shape_elements(&c->mean.shape);
    tensor_ref mean, deviation;
    float *deviations;
    TRY(memory_new((size_t)count, sizeof *deviations, "deviations", &deviations));
    for (int64_t i = 0; i < count; i++)
        deviations[i] = (float)fmax(sqrt((double)c->variance.values[i]), least_deviation);
    cornu_status status = emit_constant(b, beside, deviations, &deviation);
    free(deviations);
    TRY(status);
    TRY(emit_constant(b, beside, c->mean.values, &mean));
    if (c->invert) {
        TRY(emit_binary(b, BINARY_MULTIPLY, x, deviation, y));
        return emit_binary(b, BINARY_ADD, *y, mean, y);
    }
    TRY(emit_binary(b, BINARY_SUBTRACT, x, mean, y));
    return emit_binary(b, BINARY_DIVIDE, *y, deviation, y);
}

/* The same by the weights, along the columns of a matrix. An inverted layer multiplies with the
   variance over the deviation. */
static cornu_status emit_by_weights(const normalization_config *c, step_builder *b, tensor_ref x,
                                    tensor_ref *y)
{
    const tensor_ref mean = emit_weight(b, 0), variance = emit_weight(b, 1);
    const double epsilon = least_deviation * least_deviation;
    if (c->invert)
        return emit_standardized(b, x, variance, mean, NO_TENSOR, variance, epsilon, y);
    return emit_standardized(b, x, NO_TENSOR, NO_TENSOR, mean, variance, epsilon, y);
}

static cornu_status normalization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                       tensor_ref *y)
{
    const normalization_config *c = l->config;
    const shape in = emit_shape(b, x[0]);
    bool kept[SHAPE_MAX + 1];
    int order[SHAPE_MAX], back[SHAPE_MAX], count = 0;
    shape s, beside, moved = {.rank = in.rank};
    TRY(kept_axes(&c->axis, &in, kept, &s));
    if (c->mean.values) {
        TRY(array_beside("mean", &c->mean, &in, kept, &beside));
        return emit_by_arrays(c, b, x[0], &beside, y);
    }
    if (s.rank == 1 && kept[in.rank])
        return emit_by_weights(c, b, x[0], y);
    for (int of_kept = 0; of_kept < 2; of_kept++)
        for (int i = 1; i <= in.rank; i++)
            if (kept[i] == of_kept)
                order[count++] = i;
    for (int i = 0; i < in.rank; i++) {
        back[order[i] - 1] = i + 1;
        moved.dim[i] = in.dim[order[i] - 1];
    }
    const int64_t columns = shape_elements(&s);
    const shape matrix = {2, {shape_elements(&in) / columns, columns}};
    TRY(emit_transpose(b, x[0], order, y));
    TRY(emit_reshape(b, *y, &matrix, y));
    TRY(emit_by_weights(c, b, *y, y));
    TRY(emit_reshape(b, *y, &moved, y));
    return emit_transpose(b, *y, back, y);
}

static const char *const normalization_samples[] = {
    "7 | {}",
    "4,3,2 | {axis: [1, 3]}",
    "5,3 | {axis: null, invert: true}",
    "3,4 | {mean: [1, 2, 3, 4], variance: [4, 3, 2, 1]}",
    "2,3 | {axis: 1, mean: [0.5, 1.5], variance: [1, 2], invert: true}",
    NULL,
};

const layer_kind layer_Normalization = {
    .name = "Normalization",
    .base_name = "normalization",
    .config_size = sizeof(normalization_config),
    .fields = normalization_fields,
    .declare = normalization_declare,
    .emit = normalization_emit,
    .samples = normalization_samples,
    .range = LAYER_RESCALES,
};
