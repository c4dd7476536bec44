/* keras.layers.merging: several inputs become one. */
#include "model/layers/layers.h"

static const config_field no_fields[] = {
    OPTIONS_END,
};

/* ---- element by element ------------------------------------------------------------------- */

/* The shape of x and *out element by element. As in Keras, shapes of different ranks end at the
   same dimension, and a dimension of 1 repeats its elements. */
static bool broadcast(const shape *x, shape *out)
{
    const shape *longer = x->rank > out->rank ? x : out, *shorter = longer == x ? out : x;
    const int more = longer->rank - shorter->rank;
    shape s = *longer;
    for (int i = 0; i < shorter->rank; i++) {
        const int64_t a = longer->dim[more + i], b = shorter->dim[i];
        if (a != b && a != 1 && b != 1)
            return false;
        s.dim[more + i] = a == 1 ? b : a;
    }
    *out = s;
    return true;
}

static cornu_status merging_declare(layer *l, layer_call *call)
{
    char first[128], other[128];
    (void)l;
    call->out = call->in[0];
    for (int i = 1; i < call->inputs; i++)
        if (!broadcast(&call->in[i], &call->out))
            return status_fail(CORNU_INVALID,
                               "found inputs %s and %s; expected equal shapes, or dimensions of 1 "
                               "where they differ",
                               shape_show(&call->out, false, first),
                               shape_show(&call->in[i], false, other));
    return CORNU_OK;
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
static cornu_status merge(step_builder *b, binary_kind f, const tensor_ref *x, tensor_ref *y)
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

/* Layers of the tests' models: see net_layer. */
static const char *const merging_samples[] = {
    "5 | {inputs: [a, b]}",
    "4,3,2 | {inputs: [b, a, input_layer]}",
    "3,3 | {inputs: [a, b, a, a]}",
    NULL,
};

/* The rows of layers that differ only in the operation. */
#define MERGING(class_name, name_of_it, f)                                                      \
    static cornu_status name_of_it##_emit(const layer *l, step_builder *b, const tensor_ref *x, \
                                          tensor_ref *y)                                        \
    {                                                                                           \
        (void)l;                                                                                \
        return merge(b, f, x, y);                                                               \
    }                                                                                           \
    const layer_kind layer_##class_name = {                                                     \
        .name = #class_name,                                                                    \
        .base_name = #name_of_it,                                                               \
        .fields = no_fields,                                                                    \
        .declare = merging_declare,                                                             \
        .emit = name_of_it##_emit,                                                              \
        .samples = merging_samples,                                                             \
        .merges = true,                                                                         \
    }

MERGING(Add, add, BINARY_ADD);
MERGING(Multiply, multiply, BINARY_MULTIPLY);
MERGING(Maximum, maximum, BINARY_MAXIMUM);
MERGING(Minimum, minimum, BINARY_MINIMUM);

/* Average: y = (x[0] + x[1] + ...) / inputs */
static cornu_status average_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    tensor_ref sum;
    (void)l;
    TRY(merge(b, BINARY_ADD, x, &sum));
    return emit_scale(b, sum, 1.0 / emit_inputs(b), 0, y);
}

const layer_kind layer_Average = {
    .name = "Average",
    .base_name = "average",
    .fields = no_fields,
    .declare = merging_declare,
    .emit = average_emit,
    .samples = merging_samples,
    .merges = true,
};

static cornu_status wants_two(const layer_call *call)
{
    if (call->inputs == 2)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "found %d input%s; expected two", call->inputs,
                       call->inputs == 1 ? "" : "s");
}

/* Subtract: y = x[0] - x[1] */
static cornu_status subtract_declare(layer *l, layer_call *call)
{
    TRY(wants_two(call));
    return merging_declare(l, call);
}

static cornu_status subtract_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                  tensor_ref *y)
{
    (void)l;
    return merge(b, BINARY_SUBTRACT, x, y);
}

static const char *const subtract_samples[] = {
    "5 | {inputs: [a, b]}",
    "4,3,2 | {inputs: [b, a]}",
    NULL,
};

const layer_kind layer_Subtract = {
    .name = "Subtract",
    .base_name = "subtract",
    .fields = no_fields,
    .declare = subtract_declare,
    .emit = subtract_emit,
    .samples = subtract_samples,
    .merges = true,
};

/* ---- Concatenate -------------------------------------------------------------------------- */

/* The dimension that Keras's axis means, where the batch is dimension 0. */
static cornu_status read_axis(const char *key, int64_t axis, const shape *s, int *out)
{
    char shown[128];
    const int64_t last = s->rank;
    if (axis == 0 || axis < -last || axis > last)
        return status_fail(CORNU_INVALID,
                           "found %s %lld for input %s; expected 1 to %d, or -%d to -1 (0 is the "
                           "batch)",
                           key, (long long)axis, shape_show(s, true, shown), s->rank, s->rank);
    *out = (int)(axis < 0 ? axis + last + 1 : axis);
    return CORNU_OK;
}

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
    TRY(read_axis("axis", c->axis, &call->out, &axis));
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
    TRY(read_axis("axis", c->axis, &s, &axis));
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
