/* keras.ops: operations that Keras has, and no layer for. Each is named as its class there. */
#include "base/memory.h"
#include "model/layers/layers.h"
#include <stdlib.h>

static cornu_status keeps_no_axis(const shape *in)
{
    char shown[128];
    return status_fail(CORNU_INVALID,
                       "found an output of one number for input %s; expected at least one axis "
                       "besides the batch",
                       shape_show(in, true, shown));
}

/* ---- parts and orders ---------------------------------------------------------------------- */

/* GetItem: y = x[key]. */
typedef struct get_item_config {
    index_key key;
} get_item_config;

static const config_field get_item_fields[] = {
    OPTION(KEY, get_item_config, key, .flags = CONFIG_REQUIRED | CONFIG_ARGUMENT),
    OPTIONS_END,
};

static cornu_status get_item_declare(layer *l, layer_call *call)
{
    const get_item_config *c = l->config;
    index_run runs[SHAPE_MAX];
    TRY(index_key_apply(&c->key, &call->in[0], runs, &call->out));
    return call->out.rank > 0 ? CORNU_OK : keeps_no_axis(&call->in[0]);
}

static cornu_status get_item_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                  tensor_ref *y)
{
    const get_item_config *c = l->config;
    const shape in = emit_shape(b, x[0]), out = emit_output(b);
    index_run runs[SHAPE_MAX];
    shape selected;
    TRY(index_key_apply(&c->key, &in, runs, &selected));
    *y = x[0];
    for (int i = 0; i < in.rank; i++)
        if (runs[i].count < in.dim[i])
            TRY(emit_slice(b, *y, i + 1, runs[i].begin, runs[i].step, runs[i].count, y));
    return emit_reshape(b, *y, &out, y);
}

static const char *const get_item_samples[] = {
    "6 | {key: ':, 1:-1'}",
    "5,4,3 | {key: ':, ::2, ..., 0'}",
    "4,5,2 | {key: '..., -1, 1:'}",
    "3,4 | {key: ':, None, 2'}",
    NULL,
};

const layer_kind layer_GetItem = {
    .name = "GetItem",
    .base_name = "get_item",
    .operation = OPS_NUMPY,
    .config_size = sizeof(get_item_config),
    .fields = get_item_fields,
    .declare = get_item_declare,
    .emit = get_item_emit,
    .samples = get_item_samples,
    .range = LAYER_REARRANGES,
};

/* Transpose: axis i of y is axis axes[i] of x; the batch, axis 0, stays the first. */
typedef struct transpose_config {
    int_list axes;
} transpose_config;

static const config_field transpose_fields[] = {
    OPTION(INTS, transpose_config, axes, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status transpose_order(const int_list *axes, const shape *in, int order[SHAPE_MAX])
{
    char shown[128];
    bool seen[SHAPE_MAX + 1] = {false};
    bool fits = !axes->one && axes->count == in->rank + 1;
    for (int i = 0; fits && i < axes->count; i++) {
        const int64_t n = axes->count, given = axes->value[i];
        const int64_t axis = given < 0 ? given + n : given;
        fits = axis >= 0 && axis < n && !seen[axis] && (axis == 0) == (i == 0);
        if (fits)
            seen[axis] = true;
        if (fits && i > 0)
            order[i - 1] = (int)axis;
    }
    if (fits)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "found axes that do not fit input %s; expected each of 0 to %d once, 0 "
                       "(the batch) first",
                       shape_show(in, true, shown), in->rank);
}

static cornu_status transpose_declare(layer *l, layer_call *call)
{
    const transpose_config *c = l->config;
    int order[SHAPE_MAX];
    TRY(transpose_order(&c->axes, &call->in[0], order));
    call->out = call->in[0];
    for (int i = 0; i < call->out.rank; i++)
        call->out.dim[i] = call->in[0].dim[order[i] - 1];
    return CORNU_OK;
}

static cornu_status transpose_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                   tensor_ref *y)
{
    const transpose_config *c = l->config;
    const shape in = emit_shape(b, x[0]);
    int order[SHAPE_MAX];
    TRY(transpose_order(&c->axes, &in, order));
    return emit_transpose(b, x[0], order, y);
}

static const char *const transpose_samples[] = {
    "3,4 | {axes: [0, 2, 1]}",
    "3,4,2 | {axes: [0, -1, 1, 2]}",
    "2,3,4 | {axes: [0, 1, 2, 3]}",
    NULL,
};

const layer_kind layer_Transpose = {
    .name = "Transpose",
    .base_name = "transpose",
    .operation = OPS_NUMPY,
    .config_size = sizeof(transpose_config),
    .fields = transpose_fields,
    .declare = transpose_declare,
    .emit = transpose_emit,
    .samples = transpose_samples,
    .range = LAYER_REARRANGES,
};

/* Stack: the inputs, which have one shape, along a new axis. */
typedef struct stack_config {
    int64_t axis;
} stack_config;

static const config_field stack_fields[] = {
    OPTION(INT, stack_config, axis, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

/* One input's shape with the new axis, which is dimension *axis from 1. */
static cornu_status stack_shape(const layer *l, const shape *in, int *axis, shape *out)
{
    const stack_config *c = l->config;
    shape with = {.rank = in->rank + 1};
    char shown[128];
    if (with.rank > SHAPE_MAX - 1)
        return status_fail(CORNU_INVALID, "found inputs %s; expected at most %d axes",
                           shape_show(in, true, shown), SHAPE_MAX - 1);
    TRY(layer_axis("axis", c->axis, &with, axis));
    for (int i = 0, from = 0; i < with.rank; i++)
        with.dim[i] = i == *axis - 1 ? 1 : in->dim[from++];
    *out = with;
    return CORNU_OK;
}

static cornu_status stack_declare(layer *l, layer_call *call)
{
    char first[128], other[128];
    int axis = 0;
    TRY(stack_shape(l, &call->in[0], &axis, &call->out));
    call->out.dim[axis - 1] = call->inputs;
    for (int i = 1; i < call->inputs; i++)
        if (!shape_equal(&call->in[0], &call->in[i]))
            return status_fail(CORNU_INVALID, "found inputs %s and %s; expected equal shapes",
                               shape_show(&call->in[0], true, first),
                               shape_show(&call->in[i], true, other));
    return CORNU_OK;
}

static cornu_status stack_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const shape in = emit_shape(b, x[0]);
    const int inputs = emit_inputs(b);
    shape with;
    tensor_ref *parts;
    cornu_status status;
    int axis = 0;
    TRY(stack_shape(l, &in, &axis, &with));
    TRY(memory_new((size_t)inputs, sizeof *parts, "inputs", &parts));
    for (int i = 0; i < inputs; i++)
        TRY_GOTO(emit_reshape(b, x[i], &with, &parts[i]));
    status = emit_concatenate(b, parts, inputs, axis, y);
done:
    free(parts);
    return status;
}

static const char *const stack_samples[] = {
    "5 | {axis: 1, inputs: [a, b, a]}",
    "4,3 | {axis: -1, inputs: [b, a]}",
    "4,3,2 | {axis: 2, inputs: [a, b]}",
    NULL,
};

const layer_kind layer_Stack = {
    .name = "Stack",
    .base_name = "stack",
    .operation = OPS_NUMPY,
    .config_size = sizeof(stack_config),
    .fields = stack_fields,
    .declare = stack_declare,
    .emit = stack_emit,
    .samples = stack_samples,
    .merges = true,
};

/* ---- reductions ---------------------------------------------------------------------------- */

/* Mean, Sum, Max, Min: over axes of each sample; axis null: over all numbers of all samples, in
   losses alone, where each sample has the same number then. */
typedef struct reduction_config {
    int_list axis;
    bool keepdims;
} reduction_config;

static const config_field reduction_fields[] = {
    OPTION(INTS, reduction_config, axis, .flags = CONFIG_REQUIRED | CONFIG_NULLABLE),
    OPTION(BOOL, reduction_config, keepdims, .fallback = "false"),
    OPTIONS_END,
};

static const config_field extreme_fields[] = {
    OPTION(INTS, reduction_config, axis, .flags = CONFIG_REQUIRED | CONFIG_NULLABLE),
    OPTION(BOOL, reduction_config, keepdims, .fallback = "false"),
    OPTION_NEUTRAL("initial", "null"),
    OPTIONS_END,
};

bool layer_reduces_batch(const layer *l)
{
    const bool reduces = l->kind->fields == reduction_fields || l->kind->fields == extreme_fields;
    return reduces && ((const reduction_config *)l->config)->axis.count < 0;
}

static cornu_status reduction_declare(layer *l, layer_call *call)
{
    const reduction_config *c = l->config;
    const shape *in = &call->in[0];
    bool reduced[SHAPE_MAX];
    call->out = (shape){1, {1}};
    if (c->axis.count < 0)
        return CORNU_OK;
    TRY(layer_reduced_axes(&c->axis, in, reduced));
    call->out = (shape){.rank = 0};
    for (int i = 0; i < in->rank; i++)
        if (!reduced[i] || c->keepdims)
            call->out.dim[call->out.rank++] = reduced[i] ? 1 : in->dim[i];
    return call->out.rank > 0 ? CORNU_OK : keeps_no_axis(in);
}

/* The mean, or the largest element; *count: the number of elements that it is of. */
static cornu_status reduce(const layer *l, step_builder *b, tensor_ref x, bool largest,
                           int64_t *count, tensor_ref *y)
{
    const reduction_config *c = l->config;
    const shape out = emit_output(b);
    if (c->axis.count < 0)
        return emit_reduce_batch(b, x, largest, count, y);
    TRY(layer_reduce(b, x, &c->axis, largest, count, y));
    return emit_reshape(b, *y, &out, y);
}

static cornu_status mean_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    int64_t count;
    return reduce(l, b, x[0], false, &count, y);
}

static cornu_status sum_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    int64_t count;
    TRY(reduce(l, b, x[0], false, &count, y));
    return emit_scale(b, *y, (double)count, 0, y);
}

static cornu_status max_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    int64_t count;
    return reduce(l, b, x[0], true, &count, y);
}

/* min(x) = -max(-x) */
static cornu_status min_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    int64_t count;
    TRY(emit_scale(b, x[0], -1, 0, y));
    TRY(reduce(l, b, *y, true, &count, y));
    return emit_scale(b, *y, -1, 0, y);
}

static const char *const reduction_samples[] = {
    "4,5 | {axis: 1}",
    "5 | {axis: -1, keepdims: true}",
    "3,4,2 | {axis: [1, 2]}",
    "3,4,2 | {axis: [1, -1]}",
    "3,2,2 | {axis: [3, 2, 1], keepdims: true}",
    NULL,
};

#define REDUCTION(class_name, name_of_it, own_fields) \
    const layer_kind layer_##class_name = {           \
        .name = #class_name,                          \
        .base_name = #name_of_it,                     \
        .operation = OPS_NUMPY,                       \
        .config_size = sizeof(reduction_config),      \
        .fields = own_fields,                         \
        .declare = reduction_declare,                 \
        .emit = name_of_it##_emit,                    \
        .samples = reduction_samples,                 \
    }

REDUCTION(Mean, mean, reduction_fields);
REDUCTION(Sum, sum, reduction_fields);
REDUCTION(Max, max, extreme_fields);
REDUCTION(Min, min, extreme_fields);

/* ---- element by element -------------------------------------------------------------------- */

/* Clip: y = x, at least x_min and at most x_max. */
typedef struct clip_config {
    double x_min, x_max;
} clip_config;

static const config_field clip_fields[] = {
    OPTION(REAL, clip_config, x_min, .flags = CONFIG_REQUIRED),
    OPTION(REAL, clip_config, x_max, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

static cornu_status clip_declare(layer *l, layer_call *call)
{
    const clip_config *c = l->config;
    if (c->x_min > c->x_max)
        return status_fail(CORNU_INVALID,
                           "found x_min %g and x_max %g; expected x_max to be at least x_min",
                           c->x_min, c->x_max);
    return layer_same_shape(l, call);
}

static cornu_status clip_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const clip_config *c = l->config;
    TRY(layer_emit_at_least(b, x[0], c->x_min, y));
    return layer_emit_at_most(b, *y, c->x_max, y);
}

static const char *const clip_samples[] = {
    "7 | {x_min: -0.6, x_max: 0.31}",
    "3,4,2 | {x_min: 0, x_max: 6}",
    NULL,
};

const layer_kind layer_Clip = {
    .name = "Clip",
    .base_name = "clip",
    .operation = OPS_NUMPY,
    .config_size = sizeof(clip_config),
    .fields = clip_fields,
    .declare = clip_declare,
    .emit = clip_emit,
    .samples = clip_samples,
};

/* ---- Matmul -------------------------------------------------------------------------------- */

/* Matmul: products of the matrices in the last two dimensions; one of two inputs may be an array,
   which is the same matrix for all. */
typedef struct matmul_config {
    number_array x1, x2;
} matmul_config;

static const config_field matmul_fields[] = {
    LAYER_ARRAY(matmul_config, x1),
    LAYER_ARRAY(matmul_config, x2),
    OPTIONS_END,
};

/* Arrays have no batch. */
static cornu_status fail_matrices(const shape *x, bool x_batch, const shape *z, bool z_batch)
{
    char first[128], second[128];
    return status_fail(CORNU_INVALID,
                       "found operands of shapes %s and %s; expected (batch, ..., rows, n) and "
                       "(batch, ..., n, columns), or an array of two axes as one of them",
                       shape_show(x, x_batch, first), shape_show(z, z_batch, second));
}

/* The array as a matrix beside x: its last two axes, if others have length 1. */
static cornu_status matrix_of(const number_array *a, const shape *x, shape *out)
{
    char shown[128];
    const int others = a->shape.rank - 2;
    bool fits = others >= 0 && a->shape.rank <= x->rank + 1;
    for (int i = 0; i < others; i++)
        fits = fits && a->shape.dim[i] == 1;
    if (!fits)
        return status_fail(CORNU_INVALID, "found an array of shape %s; expected two axes",
                           shape_show(&a->shape, false, shown));
    *out = (shape){2, {a->shape.dim[others], a->shape.dim[others + 1]}};
    return CORNU_OK;
}

static cornu_status matmul_with_array(const matmul_config *c, layer_call *call)
{
    const bool first = c->x1.values != NULL;
    const shape *x = &call->in[0];
    shape matrix;
    if (call->inputs != 1 || (first && c->x2.values))
        return layer_fail_operands(call, 2);
    TRY(matrix_of(first ? &c->x1 : &c->x2, x, &matrix));
    const int inner = x->rank - (first ? 2 : 1);
    if (inner < 0 || x->dim[inner] != matrix.dim[first ? 1 : 0])
        return fail_matrices(first ? &matrix : x, !first, first ? x : &matrix, first);
    call->out = *x;
    call->out.dim[inner] = matrix.dim[first ? 0 : 1];
    return CORNU_OK;
}

static cornu_status matmul_declare(layer *l, layer_call *call)
{
    const matmul_config *c = l->config;
    const shape *x = &call->in[0], *z = &call->in[1];
    if (c->x1.values || c->x2.values)
        return matmul_with_array(c, call);
    TRY(layer_wants_two(call));
    bool fits = x->rank == z->rank && x->rank >= 2 && x->dim[x->rank - 1] == z->dim[z->rank - 2];
    for (int i = 0; fits && i < x->rank - 2; i++)
        fits = x->dim[i] == z->dim[i];
    if (!fits)
        return fail_matrices(x, true, z, true);
    call->out = *x;
    call->out.dim[x->rank - 1] = z->dim[z->rank - 1];
    return CORNU_OK;
}

/* The last two dimensions in each other's place. */
static cornu_status swapped(step_builder *b, tensor_ref x, tensor_ref *y)
{
    const int rank = emit_shape(b, x).rank;
    int order[SHAPE_MAX];
    for (int i = 0; i < rank; i++)
        order[i] = i + 1;
    order[rank - 2] = rank;
    order[rank - 1] = rank - 1;
    return emit_transpose(b, x, order, y);
}

/* A x = (x' A')' */
static cornu_status array_times(step_builder *b, const number_array *a, tensor_ref x, tensor_ref *y)
{
    const shape beside = emit_shape(b, x);
    shape s = {0};
    TRY(matrix_of(a, &beside, &s));
    const int64_t rows = s.dim[0], columns = s.dim[1];
    const shape transposed = {2, {columns, rows}};
    tensor_ref constant;
    float *values;
    TRY(memory_new((size_t)(rows * columns), sizeof *values, "array", &values));
    for (int64_t i = 0; i < rows * columns; i++)
        values[i % columns * rows + i / columns] = a->values[i];
    cornu_status status = emit_constant(b, &transposed, values, &constant);
    free(values);
    TRY(status);
    TRY(swapped(b, x, y));
    TRY(emit_matmul(b, *y, false, constant, false, y));
    return swapped(b, *y, y);
}

static cornu_status matmul_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const matmul_config *c = l->config;
    const shape beside = emit_shape(b, x[0]);
    tensor_ref constant;
    shape matrix;
    if (c->x1.values)
        return array_times(b, &c->x1, x[0], y);
    if (!c->x2.values)
        return emit_matmul(b, x[0], false, x[1], false, y);
    TRY(matrix_of(&c->x2, &beside, &matrix));
    TRY(emit_constant(b, &matrix, c->x2.values, &constant));
    return emit_matmul(b, x[0], false, constant, false, y);
}

static const char *const matmul_samples[] = {
    "3,3 | {inputs: [a, b]}",
    "2,4,4 | {inputs: [b, a]}",
    "3,2 | {x2: [[1, -2, 0.5], [0.25, 3, -1]]}",
    "3,2 | {x1: [[1, -2, 0.5], [0.25, 3, -1]]}",
    "2 | {x2: [[1, -2, 0.5], [0.25, 3, -1]]}",
    NULL,
};

const layer_kind layer_Matmul = {
    .name = "Matmul",
    .base_name = "matmul",
    .operation = OPS_NUMPY,
    .config_size = sizeof(matmul_config),
    .fields = matmul_fields,
    .declare = matmul_declare,
    .emit = matmul_emit,
    .samples = matmul_samples,
    .merges = true,
    .unlisted = true,
};

/* ---- Pad ----------------------------------------------------------------------------------- */

/* Pad: a constant before and after each axis. */
typedef struct pad_config {
    width_list pad_width;
    int mode;
    double constant_values;
} pad_config;

static const config_field pad_fields[] = {
    OPTION(WIDTHS, pad_config, pad_width, .maximum = 1e6, .flags = CONFIG_REQUIRED),
    OPTION(CHOICE, pad_config, mode, .choices = "constant", .fallback = "constant"),
    OPTION(REAL, pad_config, constant_values, .fallback = "0.0", .flags = CONFIG_ARGUMENT),
    OPTIONS_END,
};

static const int64_t *pad_width(const pad_config *c, int axis)
{
    return c->pad_width.value[c->pad_width.count == 0 ? 0 : axis];
}

static cornu_status pad_declare(layer *l, layer_call *call)
{
    const pad_config *c = l->config;
    const int count = c->pad_width.count;
    const int64_t *batch = pad_width(c, 0);
    char shown[128];
    call->out = call->in[0];
    if ((count != 0 && count != call->out.rank + 1) || batch[0] != 0 || batch[1] != 0)
        return status_fail(CORNU_INVALID,
                           "found a pad_width that does not fit input %s; expected [before, after] "
                           "of %d axes, [0, 0] of the batch first",
                           shape_show(&call->in[0], true, shown), call->out.rank + 1);
    for (int i = 0; i < call->out.rank; i++)
        call->out.dim[i] += pad_width(c, i + 1)[0] + pad_width(c, i + 1)[1];
    return CORNU_OK;
}

/* Zeros around one dimension. */
static cornu_status padded(step_builder *b, tensor_ref x, int dimension, const int64_t *width,
                           tensor_ref *y)
{
    const int64_t before[2] = {0, width[0]}, after[2] = {0, width[1]};
    shape out = emit_shape(b, x), image = {3, {1, 1, 1}};
    for (int i = 0; i < out.rank; i++)
        image.dim[i < dimension ? 0 : i == dimension ? 1 : 2] *= out.dim[i];
    out.dim[dimension] += width[0] + width[1];
    TRY(emit_reshape(b, x, &image, y));
    TRY(emit_pad(b, *y, before, after, y));
    return emit_reshape(b, *y, &out, y);
}

/* Add the number where zeros are around one dimension of x. */
static cornu_status with_number(step_builder *b, double number, int dimension, const int64_t *width,
                                tensor_ref x, tensor_ref *y)
{
    const shape out = emit_shape(b, x);
    const int64_t count = out.dim[dimension];
    shape s = {.rank = out.rank};
    tensor_ref constant;
    float *values;
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i == dimension ? count : 1;
    TRY(memory_new((size_t)count, sizeof *values, "padding", &values));
    for (int64_t i = 0; i < count; i++)
        values[i] = i < width[0] || i >= count - width[1] ? (float)number : 0;
    cornu_status status = emit_constant(b, &s, values, &constant);
    free(values);
    return status == CORNU_OK ? emit_binary(b, BINARY_ADD, x, constant, y) : status;
}

static cornu_status pad_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const pad_config *c = l->config;
    const bool has_number = c->constant_values < 0 || c->constant_values > 0;
    const int rank = emit_shape(b, x[0]).rank;
    *y = x[0];
    for (int i = 0; i < rank; i++) {
        const int64_t *width = pad_width(c, i + 1);
        if (width[0] == 0 && width[1] == 0)
            continue;
        TRY(padded(b, *y, i, width, y));
        if (has_number)
            TRY(with_number(b, c->constant_values, i, width, *y, y));
    }
    return CORNU_OK;
}

static const char *const pad_samples[] = {
    "5 | {pad_width: [[0, 0], [1, 2]]}",
    "3,4 | {pad_width: [[0, 0], [2, 0], [0, 1]]}",
    "3,2,2 | {pad_width: [[0, 0], [1, 1], [0, 3], [2, 1]]}",
    "3,4 | {pad_width: [[0, 0], [2, 0], [0, 1]], constant_values: -1.5}",
    NULL,
};

const layer_kind layer_Pad = {
    .name = "Pad",
    .base_name = "pad",
    .operation = OPS_NUMPY,
    .config_size = sizeof(pad_config),
    .fields = pad_fields,
    .declare = pad_declare,
    .emit = pad_emit,
    .samples = pad_samples,
    .range = LAYER_REARRANGES,
};
