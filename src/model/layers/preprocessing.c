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

/* ---- CategoryEncoding, Discretization ------------------------------------------------------ */

/* Numbers in both layers' choices of output_mode; "binary" is another name of multi_hot. */
enum { ENCODE_MULTI_HOT, ENCODE_ONE_HOT, ENCODE_COUNT, ENCODE_OTHER };

static cornu_status encoded_shape(int mode, const shape *in, int64_t depth, shape *out)
{
    char shown[128];
    *out = (shape){.rank = 0};
    for (int i = mode == ENCODE_ONE_HOT ? 0 : 1; i < in->rank; i++)
        out->dim[out->rank++] = in->dim[i];
    if (mode == ENCODE_ONE_HOT && in->dim[in->rank - 1] == 1)
        out->rank--;
    if (out->rank >= SHAPE_MAX - 1)
        return status_fail(CORNU_INVALID, "found input %s; expected one axis less",
                           shape_show(in, true, shown));
    out->dim[out->rank++] = depth;
    return CORNU_OK;
}

/* A constant of the numbers begin, begin + step, ... */
static cornu_status emit_series(step_builder *b, const shape *s, float begin, float step,
                                tensor_ref *y)
{
    const int64_t count = shape_elements(s);
    float *values;
    TRY(memory_new((size_t)count, sizeof *values, "numbers", &values));
    for (int64_t i = 0; i < count; i++)
        values[i] = begin + step * (float)i;
    cornu_status status = emit_constant(b, s, values, y);
    free(values);
    return status;
}

/* The sums of the last dimension. Of zeros and ones they are exact, as means are not. */
static cornu_status emit_sums(step_builder *b, tensor_ref x, float factor, tensor_ref *y)
{
    const shape in = emit_shape(b, x), column = {2, {in.dim[in.rank - 1], 1}};
    tensor_ref factors;
    TRY(emit_series(b, &column, factor, 0, &factors));
    return emit_matmul(b, x, false, factors, false, y);
}

/* 1 at the place that a number of x names. */
static cornu_status emit_one_hot(step_builder *b, tensor_ref x, int64_t depth, tensor_ref *y)
{
    const shape in = emit_shape(b, x), out = emit_output(b);
    const shape column = {2, {shape_elements(&in), 1}}, row = {2, {1, depth}};
    tensor_ref places;
    TRY(emit_series(b, &row, 0, 1, &places));
    TRY(emit_reshape(b, x, &column, y));
    TRY(emit_binary(b, BINARY_EQUAL, *y, places, y));
    return emit_reshape(b, *y, &out, y);
}

/* How many numbers along the first axis, which Keras counts over, name each place. */
static cornu_status emit_counts(step_builder *b, tensor_ref x, int64_t depth, tensor_ref *y)
{
    const shape in = emit_shape(b, x);
    const int64_t count = in.dim[0];
    const shape rows = {3, {shape_elements(&in) / count, 1, count}}, column = {3, {1, depth, 1}};
    int order[SHAPE_MAX];
    tensor_ref places;
    for (int i = 0; i < in.rank; i++)
        order[i] = i + 1 < in.rank ? i + 2 : 1;
    TRY(emit_series(b, &column, 0, 1, &places));
    TRY(emit_transpose(b, x, order, y));
    TRY(emit_reshape(b, *y, &rows, y));
    TRY(emit_binary(b, BINARY_EQUAL, *y, places, y));
    return emit_sums(b, *y, 1, y);
}

static cornu_status emit_encoded(step_builder *b, int mode, tensor_ref x, int64_t depth,
                                 tensor_ref *y)
{
    const shape out = emit_output(b);
    if (mode == ENCODE_ONE_HOT)
        return emit_one_hot(b, x, depth, y);
    TRY(emit_counts(b, x, depth, y));
    if (mode != ENCODE_COUNT)
        TRY(layer_emit_compared(b, BINARY_GREATER, *y, 0, y));
    return emit_reshape(b, *y, &out, y);
}

/* CategoryEncoding: numbers of categories as rows of zeros and ones. */
typedef struct category_config {
    int64_t num_tokens; /* 0: null */
    int output_mode;
} category_config;

enum { CATEGORIES_MAX = 1000000 }; /* they are a constant of the plan */

static const config_field category_fields[] = {
    OPTION(INT, category_config, num_tokens, .fallback = "null", .minimum = 1,
           .maximum = CATEGORIES_MAX, .flags = CONFIG_NULLABLE),
    OPTION(CHOICE, category_config, output_mode, .fallback = "multi_hot",
           .choices = "multi_hot|one_hot|count|binary"),
    OPTION_NEUTRAL("sparse", "false"),
    OPTIONS_END,
};

static cornu_status category_declare(layer *l, layer_call *call)
{
    const category_config *c = l->config;
    char shown[128];
    if (c->num_tokens == 0)
        return status_fail(CORNU_INVALID,
                           "num_tokens: found null; expected the number of categories, from 1");
    /* There Keras's layer gives another shape than it says. */
    if (c->output_mode != ENCODE_ONE_HOT && call->in[0].rank > 1)
        return status_fail(CORNU_INVALID,
                           "found input %s; expected (categories), or output_mode one_hot",
                           shape_show(&call->in[0], true, shown));
    return encoded_shape(c->output_mode, &call->in[0], c->num_tokens, &call->out);
}

static cornu_status category_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                  tensor_ref *y)
{
    const category_config *c = l->config;
    return emit_encoded(b, c->output_mode, x[0], c->num_tokens, y);
}

static const char *const category_samples[] = {
    "4 | {Discretization: {bin_boundaries: [-0.7, 0.7]}}, | {num_tokens: 3}",
    "5 | {num_tokens: 2, output_mode: count}",
    "3,2 | {num_tokens: 4, output_mode: one_hot}",
    "2,1 | {num_tokens: 3, output_mode: one_hot}",
    NULL,
};

const layer_kind layer_CategoryEncoding = {
    .name = "CategoryEncoding",
    .base_name = "category_encoding",
    .config_size = sizeof(category_config),
    .fields = category_fields,
    .declare = category_declare,
    .emit = category_emit,
    .samples = category_samples,
    .range = LAYER_RESCALES,
};

/* Discretization: the number of the bin that x is in, or the same as rows of zeros and ones. The
   boundaries are options, which adapt() may have set. */
typedef struct discretization_config {
    number_array bin_boundaries;
    int64_t num_bins; /* 0: null */
    double epsilon;   /* of adapt() */
    int output_mode;  /* ENCODE_OTHER: the number itself */
} discretization_config;

static const config_field discretization_fields[] = {
    OPTION(ARRAY, discretization_config, bin_boundaries, .fallback = "null",
           .flags = CONFIG_NULLABLE),
    OPTION(INT, discretization_config, num_bins, .fallback = "null", .minimum = 2,
           .maximum = NUMBER_ARRAY_MOST, .flags = CONFIG_NULLABLE),
    OPTION(REAL, discretization_config, epsilon, .fallback = "0.01", .maximum = 1,
           .flags = CONFIG_ABOVE),
    OPTION(CHOICE, discretization_config, output_mode, .fallback = "int",
           .choices = "multi_hot|one_hot|count|int"),
    OPTION_NEUTRAL("sparse", "false"),
    OPTIONS_END,
};

static cornu_status check_boundaries(const number_array *a)
{
    char shown[128];
    if (a->shape.rank != 1)
        return status_fail(CORNU_INVALID,
                           "bin_boundaries: found an array of shape %s; expected a list of numbers",
                           shape_show(&a->shape, false, shown));
    for (int64_t i = 1; i < a->shape.dim[0]; i++)
        if (a->values[i] < a->values[i - 1])
            return status_fail(CORNU_INVALID,
                               "bin_boundaries: found %g after %g; expected ascending numbers",
                               (double)a->values[i], (double)a->values[i - 1]);
    return CORNU_OK;
}

/* Where there are no boundaries yet, num_bins says how many there will be. */
static int64_t bins_of(const discretization_config *c)
{
    return c->bin_boundaries.values ? c->bin_boundaries.shape.dim[0] + 1 : c->num_bins;
}

static cornu_status discretization_declare(layer *l, layer_call *call)
{
    const discretization_config *c = l->config;
    if (c->bin_boundaries.values)
        TRY(check_boundaries(&c->bin_boundaries));
    else if (c->num_bins == 0)
        return status_fail(CORNU_INVALID, "found neither bin_boundaries nor num_bins; expected "
                                          "one of them");
    if (c->output_mode == ENCODE_OTHER)
        return layer_same_shape(l, call);
    return encoded_shape(c->output_mode, &call->in[0], bins_of(c), &call->out);
}

/* All boundaries less those that are greater than the number: so what is no number is in the last
   bin, as in Keras. */
static cornu_status emit_bins(step_builder *b, tensor_ref x, const number_array *boundaries,
                              tensor_ref *y)
{
    const int64_t count = boundaries->shape.dim[0];
    const shape in = emit_shape(b, x), column = {2, {shape_elements(&in), 1}},
                row = {2, {1, count}};
    tensor_ref constants;
    TRY(emit_constant(b, &row, boundaries->values, &constants));
    TRY(emit_reshape(b, x, &column, y));
    TRY(emit_binary(b, BINARY_LESS, *y, constants, y));
    TRY(emit_sums(b, *y, -1, y));
    TRY(emit_scale(b, *y, 1, (double)count, y));
    return emit_reshape(b, *y, &in, y);
}

static cornu_status discretization_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                        tensor_ref *y)
{
    const discretization_config *c = l->config;
    if (!c->bin_boundaries.values)
        return status_fail(CORNU_INVALID, "bin_boundaries: found none; expected those that adapt() "
                                          "sets, or a list of numbers in the place of num_bins");
    TRY(emit_bins(b, x[0], &c->bin_boundaries, y));
    if (c->output_mode == ENCODE_OTHER)
        return CORNU_OK;
    return emit_encoded(b, c->output_mode, *y, bins_of(c), y);
}

static const char *const discretization_samples[] = {
    "7 | {bin_boundaries: [-0.43, 0, 1.25]}",
    "3,2 | {bin_boundaries: [0.1], num_bins: 2}",
    "4,3 | {bin_boundaries: [-1, 1], output_mode: one_hot}",
    "3,2,2 | {bin_boundaries: [-0.3, 0.3], output_mode: multi_hot}",
    "6 | {bin_boundaries: [-0.6, 0, 0, 0.6], output_mode: count}",
    NULL,
};

const layer_kind layer_Discretization = {
    .name = "Discretization",
    .base_name = "discretization",
    .config_size = sizeof(discretization_config),
    .fields = discretization_fields,
    .without_trainable = true,
    .declare = discretization_declare,
    .emit = discretization_emit,
    .samples = discretization_samples,
    .range = LAYER_RESCALES,
};
