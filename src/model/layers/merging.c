/* keras.layers.merging: several inputs become one. */
#include "model/layers/layers.h"

static const config_field no_fields[] = {
    OPTIONS_END,
};

/* Inputs of one shape, which is the output's. */
static cornu_status merging_declare(layer *l, layer_call *call)
{
    char first[128], other[128];
    (void)l;
    for (int i = 1; i < call->inputs; i++)
        if (!shape_equal(&call->in[i], &call->in[0]))
            return status_fail(CORNU_INVALID, "found inputs %s and %s; expected equal shapes",
                               shape_show(&call->in[0], false, first),
                               shape_show(&call->in[i], false, other));
    call->out = call->in[0];
    return CORNU_OK;
}

/* y = (x[0] OPERATION x[1]) OPERATION x[2] ... */
static cornu_status emit_each(step_builder *b, const char *operation, const tensor_ref *x,
                              tensor_ref *y)
{
    const double none[EMIT_REALS] = {0};
    *y = x[0];
    for (int i = 1; i < emit_inputs(b); i++)
        TRY(emit_operation(b, operation, (const tensor_ref[]){*y, x[i]}, 2, none, y));
    return CORNU_OK;
}

/* Add: y = x[0] + x[1] + ... */
static cornu_status add_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    (void)l;
    return emit_each(b, "add", x, y);
}

/* Layers of the tests' models: see net_layer. */
static const char *const merging_samples[] = {
    "5 | {inputs: [a, b]}",
    "4,3,2 | {inputs: [b, a, input_layer]}",
    "3,3 | {inputs: [a, b, a, a]}",
    NULL,
};

const layer_kind layer_Add = {
    .name = "Add",
    .base_name = "add",
    .fields = no_fields,
    .declare = merging_declare,
    .emit = add_emit,
    .samples = merging_samples,
    .merges = true,
};

/* Average: y = (x[0] + x[1] + ...) / inputs */
static cornu_status average_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                 tensor_ref *y)
{
    tensor_ref sum;
    (void)l;
    TRY(emit_each(b, "add", x, &sum));
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
