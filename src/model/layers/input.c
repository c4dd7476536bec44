#include "model/layers/layers.h"

/* InputLayer: the shape of one sample. */
typedef struct input_config {
    shape shape;
} input_config;

#define SIZES .minimum = 1, .maximum = LAYER_SIZE_MAX

static const config_field fields[] = {
    OPTION_AS("batch_shape", BATCH_SHAPE, input_config, shape, SIZES),
    OPTION_AS("shape", SHAPE, input_config, shape, SIZES, .flags = CONFIG_ALIAS),
    OPTION_AS("batch_input_shape", BATCH_SHAPE, input_config, shape, SIZES, .flags = CONFIG_ALIAS),
    OPTION_NEUTRAL("sparse", "false"),
    OPTION_NEUTRAL("ragged", "false"),
    OPTION_NEUTRAL("optional", "false"),
    OPTIONS_END,
};

static cornu_status input_declare(layer *l, weight_spec *weights, int *count)
{
    const input_config *c = l->config;
    if (c->shape.rank == 0)
        return status_fail(CORNU_INVALID,
                           "found no shape; expected batch_shape, such as [null, 28, 28, 1]");
    l->in = c->shape;
    return layer_same_shape(l, weights, count);
}

static cornu_status input_emit(const layer *l, step_builder *b, tensor_ref x, tensor_ref *y)
{
    (void)l;
    (void)b;
    *y = x;
    return CORNU_OK;
}

const layer_kind layer_InputLayer = {
    .name = "InputLayer",
    .base_name = "input_layer",
    .config_size = sizeof(input_config),
    .fields = fields,
    .declare = input_declare,
    .emit = input_emit,
    .samples =
        (const char *const[]){
            NULL}, /* the sample input shapes of other layers make an InputLayer */
};
