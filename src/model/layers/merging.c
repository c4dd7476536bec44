/* keras.layers.merging: several inputs become one. */
#include "model/layers/layers.h"
#include <math.h>

static const config_field no_fields[] = {
    OPTIONS_END,
};

/* ---- element by element ------------------------------------------------------------------- */

static cornu_status broadcast(const shape *x, const char *what, shape *out)
{
    char first[128], other[128];
    const shape before = *out;
    if (shape_broadcast(x, out))
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "found %s %s and %s; expected equal shapes, or dimensions of 1 where they "
                       "differ",
                       what, shape_show(&before, false, first), shape_show(x, false, other));
}

static cornu_status tensors_declare(layer *l, layer_call *call)
{
    (void)l;
    call->out = call->in[0];
    for (int i = 1; i < call->inputs; i++)
        TRY(broadcast(&call->in[i], "inputs", &call->out));
    return CORNU_OK;
}

/* With an array in the place of one of two inputs they are operations of keras.ops. */
typedef struct pair_config {
    number_array x1, x2;
} pair_config;

static const config_field pair_fields[] = {
    LAYER_ARRAY(pair_config, x1),
    LAYER_ARRAY(pair_config, x2),
    OPTIONS_END,
};

/* The array, and whether it is the first operand; NULL: there is none. */
static const number_array *array_of(const layer *l, bool *first)
{
    const pair_config *c = l->config;
    *first = c->x1.values != NULL;
    return *first ? &c->x1 : c->x2.values ? &c->x2 : NULL;
}

static cornu_status array_declare(const number_array *a, layer_call *call)
{
    shape s;
    TRY(number_array_beside(a, &call->in[0], &s));
    call->out = call->in[0];
    return broadcast(&s, "an input and an array of shapes", &call->out);
}

static cornu_status merging_declare(layer *l, layer_call *call)
{
    bool first;
    const number_array *a = array_of(l, &first);
    if (!a)
        return tensors_declare(l, call);
    if (call->inputs != 1 || (first && ((const pair_config *)l->config)->x2.values))
        return layer_fail_operands(call, 2);
    return array_declare(a, call);
}

/* x with dimensions of 1 after the batch, until it has this rank. */
static cornu_status with_rank(step_builder *b, tensor_ref x, int rank, tensor_ref *y)
{
    const shape s = emit_shape(b, x);
    shape wider = {.rank = rank};
    for (int i = 0; i < rank; i++)
        wider.dim[i] = i < rank - s.rank ? 1 : s.dim[i - (rank - s.rank)];
    return emit_reshape(b, x, &wider, y);
}

/* y = f(f(x[0], x[1]), x[2]) ... */
static cornu_status merge_tensors(step_builder *b, binary_kind f, const tensor_ref *x,
                                  tensor_ref *y)
{
    const int rank = emit_output(b).rank;
    TRY(with_rank(b, x[0], rank, y));
    for (int i = 1; i < emit_inputs(b); i++) {
        tensor_ref next;
        TRY(with_rank(b, x[i], rank, &next));
        TRY(emit_binary(b, f, *y, next, y));
    }
    return CORNU_OK;
}

static cornu_status merge(const layer *l, step_builder *b, binary_kind f, const tensor_ref *x,
                          tensor_ref *y)
{
    bool first;
    tensor_ref constant;
    const number_array *a = array_of(l, &first);
    if (!a)
        return merge_tensors(b, f, x, y);
    TRY(layer_emit_array(b, a, x[0], &constant));
    return emit_binary(b, f, first ? constant : x[0], first ? x[0] : constant, y);
}

/* Layers of the tests' models: see net_layer. */
static const char *const merging_samples[] = {
    "5 | {inputs: [a, b]}",
    "4,3,2 | {inputs: [b, a, input_layer]}",
    "3,3 | {inputs: [a, b, a, a]}",
    "3,4 | {x2: [1, -2, 0.5, 3]}",
    NULL,
};

/* The rows of layers that differ only in the operation, and in how many inputs they take. */
#define MERGING_AS(class_name, name_of_it, f, declare_, samples_, ...)                          \
    static cornu_status name_of_it##_emit(const layer *l, step_builder *b, const tensor_ref *x, \
                                          tensor_ref *y)                                        \
    {                                                                                           \
        return merge(l, b, f, x, y);                                                            \
    }                                                                                           \
    const layer_kind layer_##class_name = {.name = #class_name,                                 \
                                           .base_name = #name_of_it,                            \
                                           .config_size = sizeof(pair_config),                  \
                                           .fields = pair_fields,                               \
                                           .declare = declare_,                                 \
                                           .emit = name_of_it##_emit,                           \
                                           .samples = samples_,                                 \
                                           .merges = true,                                      \
                                           __VA_ARGS__}
#define MERGING(class_name, name_of_it, f) \
    MERGING_AS(class_name, name_of_it, f, merging_declare, merging_samples, .operation = NULL)

MERGING(Add, add, BINARY_ADD);
MERGING(Multiply, multiply, BINARY_MULTIPLY);

/* Maximum and Minimum of a tensor and a number are functions of one tensor. */
static const double *number_of(const layer *l, double *number)
{
    bool first;
    const number_array *a = array_of(l, &first);
    if (!a || a->shape.rank > 0)
        return NULL;
    *number = (double)a->values[0];
    return number;
}

static cornu_status maximum_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    double number;
    if (number_of(l, &number))
        return layer_emit_at_least(b, x[0], number, y);
    return merge(l, b, BINARY_MAXIMUM, x, y);
}

static cornu_status minimum_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    double number;
    if (number_of(l, &number))
        return layer_emit_at_most(b, x[0], number, y);
    return merge(l, b, BINARY_MINIMUM, x, y);
}

static const char *const extreme_samples[] = {
    "5 | {inputs: [a, b]}",
    "4,3,2 | {inputs: [b, a, input_layer]}",
    "4,3 | {x1: [[0.2], [-0.3], [0], [0.1]]}",
    NULL,
};

#define EXTREME(class_name, name_of_it)     \
    const layer_kind layer_##class_name = { \
        .name = #class_name,                \
        .base_name = #name_of_it,           \
        .config_size = sizeof(pair_config), \
        .fields = pair_fields,              \
        .declare = merging_declare,         \
        .emit = name_of_it##_emit,          \
        .samples = extreme_samples,         \
        .merges = true,                     \
    }

EXTREME(Maximum, maximum);
EXTREME(Minimum, minimum);

static const char *const average_samples[] = {
    "5 | {inputs: [a, b]}",
    "4,3,2 | {inputs: [b, a, input_layer]}",
    "3,3 | {inputs: [a, b, a, a]}",
    NULL,
};

/* Average: y = (x[0] + x[1] + ...) / inputs */
static cornu_status average_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    tensor_ref sum;
    (void)l;
    TRY(merge_tensors(b, BINARY_ADD, x, &sum));
    return emit_scale(b, sum, 1.0 / emit_inputs(b), 0, y);
}

const layer_kind layer_Average = {
    .name = "Average",
    .base_name = "average",
    .fields = no_fields,
    .declare = tensors_declare,
    .emit = average_emit,
    .samples = average_samples,
    .merges = true,
};

/* ---- element by element, of two ----------------------------------------------------------- */

/* keras.ops puts batches beside each other: it has no other meaning for tensors of different ranks,
   as merging layers have. */
static cornu_status wants_one_rank(const layer_call *call)
{
    char first[128], second[128];
    const shape *x = &call->in[0], *z = &call->in[1];
    if (x->rank == z->rank)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "found tensors of shapes %s and %s; expected equal numbers of axes",
                       shape_show(x, true, first), shape_show(z, true, second));
}

static cornu_status pair_declare(layer *l, layer_call *call)
{
    bool first;
    if (array_of(l, &first))
        return merging_declare(l, call);
    TRY(layer_wants_two(call));
    if (l->kind->operation)
        TRY(wants_one_rank(call));
    return tensors_declare(l, call);
}

/* The divisor is b, which is above 0: see net_layer. */
static const char *const pair_samples[] = {
    "5 | {inputs: [a, b]}",
    "4,3,2 | {inputs: [a, b]}",
    "3,4 | {x2: [[1.5, -2, 0.5, 3]]}",
    NULL,
};

#define PAIR(class_name, name_of_it, f, ...) \
    MERGING_AS(class_name, name_of_it, f, pair_declare, pair_samples, __VA_ARGS__)

PAIR(Subtract, subtract, BINARY_SUBTRACT, .operation = NULL);
/* ops.divide, and x / y */
PAIR(Divide, divide, BINARY_DIVIDE, .operation = OPS_NUMPY, .unlisted = true);
PAIR(TrueDivide, true_divide, BINARY_DIVIDE, .operation = OPS_NUMPY, .unlisted = true);

/* 1 where it is true, and 0 */
#define COMPARISON(class_name, name_of_it, f) \
    PAIR(class_name, name_of_it, f, .operation = OPS_NUMPY, .unlisted = true)

COMPARISON(Greater, greater, BINARY_GREATER);
COMPARISON(GreaterEqual, greater_equal, BINARY_GREATER_EQUAL);
COMPARISON(Less, less, BINARY_LESS);
COMPARISON(LessEqual, less_equal, BINARY_LESS_EQUAL);
COMPARISON(Equal, equal, BINARY_EQUAL);
COMPARISON(NotEqual, not_equal, BINARY_NOT_EQUAL);

/* ---- Concatenate -------------------------------------------------------------------------- */

typedef struct concatenate_config {
    int64_t axis;
} concatenate_config;

static const config_field concatenate_fields[] = {
    OPTION(INT, concatenate_config, axis, .fallback = "-1"),
    OPTIONS_END,
};

static cornu_status concatenate_declare(layer *l, layer_call *call)
{
    const concatenate_config *c = l->config;
    char first[128], other[128];
    int axis = 0;
    call->out = call->in[0];
    TRY(layer_axis("axis", c->axis, &call->out, &axis));
    int64_t *sum = &call->out.dim[axis - 1];
    for (int i = 1; i < call->inputs; i++) {
        shape s = call->in[i];
        const int64_t n = s.rank >= axis ? s.dim[axis - 1] : 0;
        if (s.rank >= axis)
            s.dim[axis - 1] = *sum;
        if (!shape_equal(&s, &call->out))
            return status_fail(CORNU_INVALID,
                               "found inputs %s and %s; expected shapes that are equal but for "
                               "axis %d",
                               shape_show(&call->in[0], true, first),
                               shape_show(&call->in[i], true, other), axis);
        *sum = n > SHAPE_ELEMENTS_MAX - *sum ? SHAPE_ELEMENTS_MAX + 1 : *sum + n;
    }
    return CORNU_OK;
}

static cornu_status concatenate_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                     tensor_ref *y)
{
    const concatenate_config *c = l->config;
    const shape s = emit_shape(b, x[0]);
    int axis = 0;
    TRY(layer_axis("axis", c->axis, &s, &axis));
    return emit_concatenate(b, x, emit_inputs(b), axis, y);
}

static const char *const concatenate_samples[] = {
    "5 | {inputs: [a, b, a]}",
    "4,3,2 | {inputs: [b, a, input_layer]}",
    "4,3,2 | {axis: 1, inputs: [a, b]}",
    "3,4,8 | {axis: -2, inputs: [a, b, b]}",
    NULL,
};

const layer_kind layer_Concatenate = {
    .name = "Concatenate",
    .base_name = "concatenate",
    .config_size = sizeof(concatenate_config),
    .fields = concatenate_fields,
    .declare = concatenate_declare,
    .emit = concatenate_emit,
    .samples = concatenate_samples,
    .merges = true,
};

/* ---- Dot ---------------------------------------------------------------------------------- */

/* Dot: sums of products along one axis of each input; with `normalize`, of vectors of length 1. */
typedef struct dot_config {
    int64_t axes[2];
    bool normalize;
} dot_config;

static const config_field dot_fields[] = {
    OPTION(AXES, dot_config, axes, .flags = CONFIG_REQUIRED),
    OPTION(BOOL, dot_config, normalize, .fallback = "false"),
    OPTIONS_END,
};

/* Append the dimensions of s but `axis`. */
static void append_others(const shape *s, int axis, shape *out)
{
    for (int i = 1; i <= s->rank; i++) {
        if (i != axis && out->rank < SHAPE_MAX)
            out->dim[out->rank] = s->dim[i - 1];
        out->rank += i != axis;
    }
}

static cornu_status dot_declare(layer *l, layer_call *call)
{
    const dot_config *c = l->config;
    char first[128], second[128];
    int axes[2] = {0};
    TRY(layer_wants_two(call));
    for (int i = 0; i < 2; i++)
        TRY(layer_axis("axes", c->axes[i], &call->in[i], &axes[i]));
    const int64_t x = call->in[0].dim[axes[0] - 1], z = call->in[1].dim[axes[1] - 1];
    if (x != z)
        return status_fail(CORNU_INVALID,
                           "found inputs %s and %s with %lld elements along axis %d and %lld along "
                           "axis %d; expected equal numbers",
                           shape_show(&call->in[0], true, first),
                           shape_show(&call->in[1], true, second), (long long)x, axes[0],
                           (long long)z, axes[1]);
    call->out = (shape){.rank = 0};
    for (int i = 0; i < 2; i++)
        append_others(&call->in[i], axes[i], &call->out);
    if (call->out.rank == 0)
        call->out = (shape){1, {1}};
    return CORNU_OK;
}

/* x with `axis` as its last dimension. */
static cornu_status with_axis_last(step_builder *b, tensor_ref x, int axis, tensor_ref *y)
{
    const int rank = emit_shape(b, x).rank;
    int order[SHAPE_MAX], count = 0;
    for (int i = 1; i <= rank; i++)
        if (i != axis)
            order[count++] = i;
    order[count] = axis;
    return emit_transpose(b, x, order, y);
}

cornu_status layer_normalize_rows(step_builder *b, tensor_ref x, tensor_ref *y)
{
    const shape s = emit_shape(b, x), vectors = {3, {s.dim[0], 1, s.dim[1]}};
    tensor_ref squares, factor;
    TRY(emit_reshape(b, x, &vectors, y));
    TRY(emit_matmul(b, *y, false, *y, true, &squares));
    TRY(emit_activation(b, squares, (activation){ACTIVATION_INVERSE_NORM, 1e-7f}, &factor));
    TRY(emit_binary(b, BINARY_MULTIPLY, *y, factor, y));
    return emit_reshape(b, *y, &s, y);
}

cornu_status layer_beside_diagonal(step_builder *b, int64_t n, tensor_ref *y)
{
    const shape down = {2, {n, 1}}, along = {2, {1, n}};
    tensor_ref row = NO_TENSOR, column = NO_TENSOR;
    float *numbers;
    cornu_status status = CORNU_OK;
    TRY(memory_new((size_t)n, sizeof *numbers, "plan", &numbers));
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (float)i;
    TRY_GOTO(emit_constant(b, &down, numbers, &row));
    TRY_GOTO(emit_constant(b, &along, numbers, &column));
    TRY_GOTO(emit_binary(b, BINARY_NOT_EQUAL, row, column, y));
done:
    free(numbers);
    return status;
}

/* x as a matrix of `axis` and the product of the other dimensions. The axis is its columns or, if
   it is the first one, its rows. */
static cornu_status as_matrix(step_builder *b, tensor_ref x, int axis, bool normalize,
                              bool *axis_first, tensor_ref *y)
{
    const shape s = emit_shape(b, x);
    const int64_t n = s.dim[axis - 1], others = shape_elements(&s) / n;
    *axis_first = axis == 1 && s.rank > 1 && !normalize;
    const shape matrix = *axis_first ? (shape){2, {n, others}} : (shape){2, {others, n}};
    *y = x;
    if (!*axis_first)
        TRY(with_axis_last(b, x, axis, y));
    TRY(emit_reshape(b, *y, &matrix, y));
    return normalize ? layer_normalize_rows(b, *y, y) : CORNU_OK;
}

static cornu_status dot_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const dot_config *c = l->config;
    const shape out = emit_output(b);
    tensor_ref matrix[2];
    bool axis_first[2];
    for (int i = 0; i < 2; i++) {
        const shape s = emit_shape(b, x[i]);
        int axis = 0;
        TRY(layer_axis("axes", c->axes[i], &s, &axis));
        TRY(as_matrix(b, x[i], axis, c->normalize, &axis_first[i], &matrix[i]));
    }
    TRY(emit_matmul(b, matrix[0], axis_first[0], matrix[1], !axis_first[1], y));
    return emit_reshape(b, *y, &out, y);
}

static const char *const dot_samples[] = {
    "6 | {axes: 1, inputs: [a, b]}",
    "6 | {axes: -1, normalize: true, inputs: [b, a]}",
    "3,4 | {axes: [1, 1], inputs: [a, b]}",
    "4,4 | {axes: [2, 1], inputs: [a, b]}",
    "4,4 | {axes: [1, 2], normalize: true, inputs: [a, b]}",
    "2,3,2 | {axes: 2, inputs: [a, b]}",
    NULL,
};

const layer_kind layer_Dot = {
    .name = "Dot",
    .base_name = "dot",
    .config_size = sizeof(dot_config),
    .fields = dot_fields,
    .declare = dot_declare,
    .emit = dot_emit,
    .samples = dot_samples,
    .merges = true,
};
