/* keras.layers.core: the input, and the layer whose units see all values. */
#include "model/layers/layers.h"

/* InputLayer: the shape of one sample. That of a submodel passes on what the submodel is called on,
   and may leave sizes open. */
typedef struct input_config {
    shape shape;
} input_config;

static const config_field input_fields[] = {
    OPTION_AS("batch_shape", BATCH_SHAPE, input_config, shape, LAYER_SIZES, .flags = CONFIG_OPEN),
    OPTION_AS("shape", SHAPE, input_config, shape, LAYER_SIZES,
              .flags = CONFIG_OPEN | CONFIG_ALIAS),
    OPTION_AS("batch_input_shape", BATCH_SHAPE, input_config, shape, LAYER_SIZES,
              .flags = CONFIG_OPEN | CONFIG_ALIAS),
    OPTION_NEUTRAL("sparse", "false"),
    OPTION_NEUTRAL("ragged", "false"),
    OPTION_NEUTRAL("optional", "false"),
    OPTIONS_END,
};

static cornu_status input_declare(layer *l, layer_call *call)
{
    const input_config *c = l->config;
    if (c->shape.rank == 0)
        return status_fail(CORNU_INVALID,
                           "found no shape; expected batch_shape, such as [null, 28, 28, 1]");
    char found[128], expected[128];
    if (call->inputs > 0 && !shape_fits(&c->shape, &call->in[0]))
        return status_fail(CORNU_INVALID, "found an input of shape %s; expected %s",
                           shape_show(&call->in[0], true, found),
                           shape_show(&c->shape, true, expected));
    call->out = call->inputs > 0 ? call->in[0] : c->shape;
    if (call->inputs == 0 && shape_elements(&c->shape) == 0)
        return status_fail(CORNU_INVALID,
                           "found the shape %s of a sample; expected numbers alone: only a model "
                           "within the model takes any size",
                           shape_show(&c->shape, true, found));
    return CORNU_OK;
}

static cornu_status passed_on(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    (void)l;
    (void)b;
    *y = x[0];
    return CORNU_OK;
}

const layer_kind layer_InputLayer = {
    .name = "InputLayer",
    .base_name = "input_layer",
    .config_size = sizeof(input_config),
    .fields = input_fields,
    .declare = input_declare,
    .emit = passed_on,
    .range = LAYER_REARRANGES,
    .samples =
        (const char *const[]){
            NULL}, /* the sample input shapes of other layers make an InputLayer */
};

/* Dense: y = act(x W + b) over the last dimension; x [..., in], W [in][units], b [units]. */
typedef struct dense_config {
    int64_t units;
    activation activation;
    bool use_bias;
    initializer kernel_initializer, bias_initializer;
    regularizer kernel_regularizer, bias_regularizer, activity_regularizer;
    constraint kernel_constraint, bias_constraint;
} dense_config;

static const config_field dense_fields[] = {
    OPTION(INT, dense_config, units, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(ACTIVATION, dense_config, activation, .fallback = "null"),
    OPTION(BOOL, dense_config, use_bias, .fallback = "true"),
    OPTION(INITIALIZER, dense_config, kernel_initializer, .fallback = "glorot_uniform"),
    OPTION(INITIALIZER, dense_config, bias_initializer, .fallback = "zeros"),
    OPTIONS_REGULARIZERS(dense_config),
    OPTIONS_NO_LORA(OPTION_NEUTRAL),
    OPTIONS_END,
};

static cornu_status dense_declare(layer *l, layer_call *call)
{
    const dense_config *c = l->config;
    const int last = call->in[0].rank - 1;
    call->out = call->in[0];
    call->out.dim[last] = c->units;
    layer_weight(call, "kernel", (shape){2, {call->in[0].dim[last], c->units}},
                 c->kernel_initializer, true);
    if (c->use_bias)
        layer_weight(call, "bias", (shape){1, {c->units}}, c->bias_initializer, true);
    return CORNU_OK;
}

static cornu_status dense_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const dense_config *c = l->config;
    tensor_ref bias = c->use_bias ? emit_weight(b, 1) : NO_TENSOR, z;
    TRY(emit_dense(b, x[0], emit_weight(b, 0), bias, &z));
    return layer_emit_activation(b, z, c->activation, y);
}

static const char *const dense_samples[] = {
    "7 | {units: 5}",
    "3 | {units: 1, use_bias: false}",
    "17 | {units: 33, activation: relu}",
    "5 | {units: 4, activation: leaky_relu}",
    "5 | {units: 4, activation: elu}",
    "6 | {units: 7, activation: gelu}",
    "4 | {units: 3, activation: sigmoid}",
    "4 | {units: 3, activation: tanh, kernel_initializer: he_normal}",
    "9 | {units: 10, activation: softmax, bias_initializer: {constant: 0.1}}",
    "3,5 | {units: 4, activation: tanh}",
    NULL,
};

const layer_kind layer_Dense = {
    .name = "Dense",
    .base_name = "dense",
    .config_size = sizeof(dense_config),
    .fields = dense_fields,
    .declare = dense_declare,
    .emit = dense_emit,
    .samples = dense_samples,
};

/* Identity: y = x. */
static const config_field identity_fields[] = {
    OPTIONS_END,
};

static const char *const identity_samples[] = {
    "5 | {}",
    "2,3,4 | {}",
    NULL,
};

const layer_kind layer_Identity = {
    .name = "Identity",
    .base_name = "identity",
    .fields = identity_fields,
    .declare = layer_same_shape,
    .emit = passed_on,
    .samples = identity_samples,
    .range = LAYER_REARRANGES,
};

/* Embedding: y = the rows of a table, embeddings [input_dim][output_dim], that the numbers of x
   name. */
typedef struct embedding_config {
    int64_t input_dim, output_dim;
    initializer embeddings_initializer;
    regularizer embeddings_regularizer, activity_regularizer;
    constraint embeddings_constraint;
} embedding_config;

#define EMBEDDING_ROWS_MAX 16777216.0 /* 2^24: floats hold whole numbers up to there */

static const config_field embedding_fields[] = {
    OPTION(INT, embedding_config, input_dim, .minimum = 1, .maximum = EMBEDDING_ROWS_MAX,
           .flags = CONFIG_REQUIRED),
    OPTION(INT, embedding_config, output_dim, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(INITIALIZER, embedding_config, embeddings_initializer, .fallback = "uniform"),
    OPTION_REGULARIZER(embedding_config, embeddings_regularizer),
    OPTION_REGULARIZER(embedding_config, activity_regularizer),
    OPTION_CONSTRAINT(embedding_config, embeddings_constraint),
    OPTION_NEUTRAL("mask_zero", "false"),
    OPTION_NEUTRAL("weights", "null"),
    OPTIONS_NO_LORA(OPTION_NEUTRAL),
    {.key = "input_length", .type = CONFIG_IGNORED, .flags = CONFIG_ALIAS}, /* Keras 2's */
    OPTIONS_END,
};

static cornu_status embedding_declare(layer *l, layer_call *call)
{
    const embedding_config *c = l->config;
    char shown[128];
    if (call->in[0].rank + 2 > SHAPE_MAX)
        return status_fail(CORNU_INVALID,
                           "found an input of shape %s; expected at most %d "
                           "dimensions, as each number becomes a row",
                           shape_show(&call->in[0], true, shown), SHAPE_MAX - 1);
    call->out = call->in[0];
    call->out.dim[call->out.rank++] = c->output_dim;
    layer_weight(call, "embeddings", (shape){2, {c->input_dim, c->output_dim}},
                 c->embeddings_initializer, true);
    return CORNU_OK;
}

static cornu_status embedding_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                   tensor_ref *y)
{
    (void)l;
    return emit_embedding(b, x[0], emit_weight(b, 0), y);
}

static const char *const embedding_samples[] = {
    "5 | {input_dim: 3, output_dim: 4}",
    "3,2 | {input_dim: 10, output_dim: 17, embeddings_initializer: random_normal}",
    NULL,
};

const layer_kind layer_Embedding = {
    .name = "Embedding",
    .base_name = "embedding",
    .config_size = sizeof(embedding_config),
    .fields = embedding_fields,
    .declare = embedding_declare,
    .emit = embedding_emit,
    .samples = embedding_samples,
    .range = LAYER_RESCALES,
};
