/* keras.ops.where: one of two operands, by a third. */
#include "base/memory.h"
#include "model/layers/layers.h"
#include <stdlib.h>

/* Where: y = x1 where the condition is not 0, else x2. Each is an input or an array. */
enum { CONDITION, X1, X2, OPERANDS };
typedef struct where_config {
    number_array condition, x1, x2;
} where_config;

static const config_field where_fields[] = {
    LAYER_ARRAY(where_config, condition),
    LAYER_ARRAY(where_config, x1),
    LAYER_ARRAY(where_config, x2),
    OPTIONS_END,
};

/* The arrays; NULL where an operand is an input. Returns how many there are. */
static int arrays_of(const layer *l, const number_array *arrays[OPERANDS])
{
    const where_config *c = l->config;
    const number_array *all[OPERANDS] = {&c->condition, &c->x1, &c->x2};
    int count = 0;
    for (int i = 0; i < OPERANDS; i++) {
        arrays[i] = all[i]->values ? all[i] : NULL;
        count += arrays[i] != NULL;
    }
    return count;
}

static cornu_status where_declare(layer *l, layer_call *call)
{
    const number_array *arrays[OPERANDS];
    char first[128], second[128];
    int next = 0;
    if (arrays_of(l, arrays) + call->inputs != OPERANDS)
        return layer_fail_operands(call, OPERANDS);
    call->out = (shape){.rank = call->in[0].rank};
    for (int i = 0; i < call->out.rank; i++)
        call->out.dim[i] = 1;
    for (int i = 0; i < OPERANDS; i++) {
        shape s;
        if (arrays[i])
            TRY(number_array_beside(arrays[i], &call->in[0], &s));
        else
            s = call->in[next++];
        const shape before = call->out;
        if (s.rank != before.rank || !shape_broadcast(&s, &call->out))
            return status_fail(CORNU_INVALID,
                               "found operands of shapes %s and %s; expected equal numbers of "
                               "axes, and equal dimensions, or 1 where they differ",
                               shape_show(&before, false, first), shape_show(&s, false, second));
    }
    return CORNU_OK;
}

static int64_t count_of(const number_array *a)
{
    return shape_elements(&a->shape);
}

static bool is_zero(const number_array *a)
{
    for (int64_t i = 0; a && i < count_of(a); i++)
        if (a->values[i] < 0 || a->values[i] > 0)
            return false;
    return a != NULL;
}

/* 1 where the condition is 0, and 0 elsewhere; the caller frees it. */
static cornu_status opposite(const number_array *condition, number_array *out)
{
    const int64_t count = count_of(condition);
    *out = (number_array){.shape = condition->shape};
    TRY(memory_new((size_t)count, sizeof *out->values, "condition", &out->values));
    for (int64_t i = 0; i < count; i++)
        out->values[i] = !(condition->values[i] < 0 || condition->values[i] > 0);
    return CORNU_OK;
}

/* The place in an array of this shape that stands at place `i` of `whole`. */
static int64_t place_in(const shape *s, const shape *whole, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = whole->rank - 1; d >= 0; d--) {
        if (s->dim[d] > 1)
            at += i % whole->dim[d] * step;
        step *= s->dim[d];
        i /= whole->dim[d];
    }
    return at;
}

/* Both are arrays: what is left of `a` by `condition` is one, too. */
static cornu_status kept_array(step_builder *b, const number_array *a,
                               const number_array *condition, const shape *x, tensor_ref *y)
{
    shape of_a, of_condition;
    float *values;
    TRY(number_array_beside(a, x, &of_a));
    TRY(number_array_beside(condition, x, &of_condition));
    shape whole = of_a;
    shape_broadcast(&of_condition, &whole);
    const int64_t count = shape_elements(&whole);
    if (count > MODEL_NUMBERS_MAX)
        return status_fail(CORNU_UNSUPPORTED,
                           "found a condition and an operand, both arrays, that are %lld numbers "
                           "beside each other; expected at most %d",
                           (long long)count, MODEL_NUMBERS_MAX);
    TRY(memory_new((size_t)count, sizeof *values, "array", &values));
    for (int64_t i = 0; i < count; i++) {
        const float c = condition->values[place_in(&of_condition, &whole, i)];
        values[i] = c < 0 || c > 0 ? a->values[place_in(&of_a, &whole, i)] : 0;
    }
    cornu_status status = emit_constant(b, &whole, values, y);
    free(values);
    return status;
}

/* An operand of the call: a tensor, or an array beside `x`. */
typedef struct operand {
    tensor_ref tensor;
    const number_array *array;
} operand;

static cornu_status as_tensor(step_builder *b, const operand *o, tensor_ref x, tensor_ref *y)
{
    *y = o->tensor;
    return o->array ? layer_emit_array(b, o->array, x, y) : CORNU_OK;
}

/* a where the condition is not 0, else 0 */
static cornu_status kept(step_builder *b, const operand *a, const operand *condition, tensor_ref x,
                         tensor_ref *y)
{
    const shape s = emit_shape(b, x);
    tensor_ref of_a, of_condition;
    if (a->array && condition->array)
        return kept_array(b, a->array, condition->array, &s, y);
    TRY(as_tensor(b, a, x, &of_a));
    TRY(as_tensor(b, condition, x, &of_condition));
    return emit_binary(b, BINARY_KEEP, of_a, of_condition, y);
}

/* The condition's opposite: a tensor, or an array in *made, which the caller frees. */
static cornu_status negated(step_builder *b, const operand *condition, number_array *made,
                            operand *out)
{
    float zero = 0;
    const number_array number = {.values = &zero};
    tensor_ref of_zero;
    *out = (operand){.array = made};
    if (condition->array)
        return opposite(condition->array, made);
    out->array = NULL;
    TRY(layer_emit_array(b, &number, condition->tensor, &of_zero));
    return emit_binary(b, BINARY_EQUAL, condition->tensor, of_zero, &out->tensor);
}

/* One of the two parts of the result: the operand x1 by the condition, or x2 by its opposite. */
static cornu_status part_of(step_builder *b, const operand o[OPERANDS], int which, tensor_ref x,
                            tensor_ref *y)
{
    number_array made = {.values = NULL};
    operand condition = o[CONDITION];
    cornu_status status = CORNU_OK;
    if (which == X2)
        status = negated(b, &o[CONDITION], &made, &condition);
    if (status == CORNU_OK)
        status = kept(b, &o[which], &condition, x, y);
    number_array_free(&made);
    return status;
}

/* The sum of both parts; one of zeros is left out where the other one has the output's shape. */
static cornu_status where_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const shape out = emit_output(b);
    const number_array *arrays[OPERANDS];
    operand o[OPERANDS];
    tensor_ref first, second;
    int next = 0;
    arrays_of(l, arrays);
    for (int i = 0; i < OPERANDS; i++)
        o[i] = (operand){.tensor = arrays[i] ? NO_TENSOR : x[next++], .array = arrays[i]};
    const int zeros = is_zero(o[X2].array) ? X2 : is_zero(o[X1].array) ? X1 : OPERANDS;
    const int begin = zeros == X1 ? X2 : X1;
    TRY(part_of(b, o, begin, x[0], &first));
    const shape s = emit_shape(b, first);
    *y = first;
    if (zeros < OPERANDS && shape_equal(&s, &out))
        return CORNU_OK;
    TRY(part_of(b, o, begin == X1 ? X2 : X1, x[0], &second));
    return emit_binary(b, BINARY_ADD, first, second, y);
}

static const char *const where_samples[] = {
    "4,3 | {condition: [true, false, true], inputs: [a, b]}",
    "4,3 | {condition: [[1], [0], [0], [1]], x2: 0}",
    "4,1 | {condition: [[1], [0], [0], [1]], x2: [[0, 0, 0]]}",
    "4,3 | {condition: [0, 1, 1], x1: [[2], [3], [-1], [0.5]]}",
    "5 | {x2: -1, inputs: [a, b]}",
    "4,3 | {x1: [1, 2, 3], x2: [[0.5], [1], [0], [-1]]}",
    NULL,
};

const layer_kind layer_Where = {
    .name = "Where",
    .base_name = "where",
    .operation = OPS_NUMPY,
    .config_size = sizeof(where_config),
    .fields = where_fields,
    .declare = where_declare,
    .emit = where_emit,
    .samples = where_samples,
    .merges = true,
    .unlisted = true,
};
