#include "model/layers/layers.h"

/* Flatten: all dimensions of a sample in one. */
static const config_field fields[] = {
    OPTION_CHANNELS_LAST,
    OPTIONS_END,
};

static cornu_status flatten_declare(layer *l, weight_spec *weights, int *count)
{
    (void)weights;
    (void)count;
    l->out = (shape){1, {shape_elements(&l->in)}};
    return CORNU_OK;
}

static cornu_status flatten_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    return emit_reshape(b, x, &l->out, y);
}

static const char *const samples[] = {
    "3,4,2 | {}",
    "5 | {}",
    "1,1,7 | {}",
    NULL,
};

const layer_kind layer_Flatten = {
    .name = "Flatten",
    .base_name = "flatten",
    .fields = fields,
    .declare = flatten_declare,
    .emit = flatten_emit,
    .samples = samples,
    .range = LAYER_REARRANGES,
};
