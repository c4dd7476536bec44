/* keras.layers.rnn: layers whose steps each read the state that the one before left. */
#include "model/layers/layers.h"

typedef struct rnn_config {
    int64_t units;
    activation activation, recurrent_activation;
    bool use_bias, unit_forget_bias, reset_after, return_sequences, go_backwards;
    double dropout;
    initializer kernel_initializer, recurrent_initializer, bias_initializer;
} rnn_config;

/* The options that all have, in Keras's order: units, activation; what only some have; the rest. */
#define RNN_FIRST                                                          \
    OPTION(INT, rnn_config, units, LAYER_SIZES, .flags = CONFIG_REQUIRED), \
        OPTION(ACTIVATION, rnn_config, activation, .fallback = "tanh")
#define RNN_GATES OPTION(ACTIVATION, rnn_config, recurrent_activation, .fallback = "sigmoid")
#define RNN_INITIALIZERS                                                                   \
    OPTION(BOOL, rnn_config, use_bias, .fallback = "true"),                                \
        OPTION(INITIALIZER, rnn_config, kernel_initializer, .fallback = "glorot_uniform"), \
        OPTION(INITIALIZER, rnn_config, recurrent_initializer, .fallback = "orthogonal"),  \
        OPTION(INITIALIZER, rnn_config, bias_initializer, .fallback = "zeros")
#define RNN_NEUTRAL                                                                                \
    OPTION_NEUTRAL("kernel_regularizer", "null"), OPTION_NEUTRAL("recurrent_regularizer", "null"), \
        OPTION_NEUTRAL("bias_regularizer", "null"),                                                \
        OPTION_NEUTRAL("activity_regularizer", "null"),                                            \
        OPTION_NEUTRAL("kernel_constraint", "null"),                                               \
        OPTION_NEUTRAL("recurrent_constraint", "null"), OPTION_NEUTRAL("bias_constraint", "null"), \
        OPTION(REAL, rnn_config, dropout, .fallback = "0.0", .maximum = 1, .flags = CONFIG_BELOW), \
        OPTION_NEUTRAL("recurrent_dropout", "0.0")
#define RNN_LAST                                                     \
    OPTION(BOOL, rnn_config, return_sequences, .fallback = "false"), \
        OPTION_NEUTRAL("return_state", "false"),                     \
        OPTION(BOOL, rnn_config, go_backwards, .fallback = "false"), \
        OPTION_NEUTRAL("stateful", "false"), OPTION_NEUTRAL("unroll", "false|true")
#define RNN_CUDNN OPTION_NEUTRAL("use_cudnn", "\"auto\"|true|false")
/* Of configurations, of this and older versions. */
#define RNN_END                                                                                 \
    OPTION_TOLERATED("zero_output_for_mask", "false"), OPTION_TOLERATED("time_major", "false"), \
        {.key = "implementation", .type = CONFIG_IGNORED, .flags = CONFIG_ALIAS}, OPTIONS_END

static const config_field simple_rnn_fields[] = {
    RNN_FIRST, RNN_INITIALIZERS, RNN_NEUTRAL, RNN_LAST, OPTION_IGNORED("seed"), RNN_END,
};

static const config_field lstm_fields[] = {
    RNN_FIRST,        RNN_GATES,
    RNN_INITIALIZERS, OPTION(BOOL, rnn_config, unit_forget_bias, .fallback = "true"),
    RNN_NEUTRAL,      OPTION_IGNORED("seed"),
    RNN_LAST,         RNN_CUDNN,
    RNN_END,
};

static const config_field gru_fields[] = {
    RNN_FIRST,
    RNN_GATES,
    RNN_INITIALIZERS,
    RNN_NEUTRAL,
    OPTION_IGNORED("seed"),
    RNN_LAST,
    OPTION(BOOL, rnn_config, reset_after, .fallback = "true"),
    RNN_CUDNN,
    RNN_END,
};

static recurrent_cell cell_of(const layer *l)
{
    const rnn_config *c = l->config;
    if (l->kind->fields == simple_rnn_fields)
        return CELL_SIMPLE;
    if (l->kind->fields == lstm_fields)
        return CELL_LSTM;
    return c->reset_after ? CELL_GRU_AFTER : CELL_GRU_BEFORE;
}

/* A step's gradient is computed from what the step gave; activations that are operations of their
   own are not in the kernels of these layers, but for one that old networks have. */
static cornu_status check_activation(const char *key, activation a)
{
    const bool known = a.kind == ACTIVATION_HARD_SIGMOID ||
                       (activation_from_output(a.kind) && !activation_is_alone(a.kind) &&
                        a.kind != ACTIVATION_SOFTMAX);
    if (known)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: found %s; expected tanh, sigmoid, hard_sigmoid, relu, leaky_relu, elu "
                       "or linear",
                       key, activation_name(a.kind));
}

/* Of a GRU that is reset after its product with the state, that product has one of its own. */
static void declare_bias(const layer *l, layer_call *call, int64_t columns)
{
    const rnn_config *c = l->config;
    const bool two = cell_of(l) == CELL_GRU_AFTER;
    layer_weight(call, "bias", two ? (shape){2, {2, columns}} : (shape){1, {columns}},
                 c->bias_initializer, true);
    if (cell_of(l) == CELL_LSTM && c->unit_forget_bias) {
        weight_spec *bias = &call->weights[call->weight_count - 1];
        bias->ones_at = bias->ones = c->units;
    }
}

static cornu_status rnn_declare(layer *l, layer_call *call)
{
    const rnn_config *c = l->config;
    const recurrent_cell cell = cell_of(l);
    const shape *in = &call->in[0];
    const int64_t columns = layer_enlarged(c->units, recurrent_gates(cell));
    TRY(check_activation("activation", c->activation));
    if (cell != CELL_SIMPLE)
        TRY(check_activation("recurrent_activation", c->recurrent_activation));
    call->out = c->return_sequences ? (shape){2, {in->dim[0], c->units}} : (shape){1, {c->units}};
    layer_weight(call, "kernel", (shape){2, {in->dim[1], columns}}, c->kernel_initializer, true);
    layer_weight(call, "recurrent_kernel", (shape){2, {c->units, columns}},
                 c->recurrent_initializer, true);
    if (c->use_bias)
        declare_bias(l, call, columns);
    for (int i = 0; i < call->weight_count; i++)
        call->weights[i].part = "cell";
    return CORNU_OK;
}

/* x with one mask of a sample's features for all of its steps, as Keras drops them. */
static cornu_status dropped(step_builder *b, tensor_ref x, double rate, tensor_ref *y)
{
    tensor_ref ones, mask;
    *y = x;
    if (!(rate > 0))
        return CORNU_OK;
    TRY(emit_slice(b, x, 1, 0, 1, 1, &ones));
    TRY(emit_scale(b, ones, 0, 1, &ones));
    TRY(emit_dropout(b, ones, rate, &mask));
    return mask == ones ? CORNU_OK : emit_binary(b, BINARY_MULTIPLY, x, mask, y);
}

static cornu_status rnn_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const rnn_config *c = l->config;
    const recurrence r = {.cell = cell_of(l),
                          .act = c->activation,
                          .gate = c->recurrent_activation,
                          .from_last = c->go_backwards};
    tensor_ref bias = c->use_bias ? emit_weight(b, 2) : NO_TENSOR, of_state = NO_TENSOR, z;
    if (c->use_bias && r.cell == CELL_GRU_AFTER) {
        TRY(emit_weight_row(b, bias, 1, &of_state));
        TRY(emit_weight_row(b, bias, 0, &bias));
    }
    TRY(dropped(b, x[0], c->dropout, &z));
    TRY(emit_dense(b, z, emit_weight(b, 0), bias, &z));
    TRY(emit_recurrent(b, z, emit_weight(b, 1), of_state, &r, y));
    if (c->return_sequences)
        return CORNU_OK;
    const shape all = emit_shape(b, *y), last = {1, {c->units}};
    TRY(emit_slice(b, *y, 1, all.dim[0] - 1, 1, 1, y));
    return emit_reshape(b, *y, &last, y);
}

static const char *const rnn_samples[] = {
    "4,3 | {units: 5}",
    "3,2 | {units: 17, return_sequences: true}",
    "3,5 | {units: 4, go_backwards: true, return_sequences: true, use_bias: false}",
    "2,3 | {units: 3, activation: relu, bias_initializer: ones}",
    NULL,
};

static const char *const lstm_samples[] = {
    "4,3 | {units: 5}",
    "3,2 | {units: 17, return_sequences: true, unit_forget_bias: false}",
    "3,5 | {units: 4, go_backwards: true, return_sequences: true, use_bias: false}",
    "2,3 | {units: 3, activation: elu, recurrent_activation: hard_sigmoid}",
    NULL,
};

static const char *const gru_samples[] = {
    "4,3 | {units: 5}",
    "3,2 | {units: 17, return_sequences: true, reset_after: false}",
    "3,5 | {units: 4, go_backwards: true, return_sequences: true, use_bias: false}",
    "2,3 | {units: 3, reset_after: false, go_backwards: true, recurrent_activation: hard_sigmoid}",
    NULL,
};

#define RECURRENT(class_name, base, names, table) \
    const layer_kind layer_##class_name = {       \
        .name = #class_name,                      \
        .base_name = base,                        \
        .config_size = sizeof(rnn_config),        \
        .fields = names##_fields,                 \
        .rank = LAYER_SIGNAL,                     \
        .declare = rnn_declare,                   \
        .emit = rnn_emit,                         \
        .samples = table##_samples,               \
    }

RECURRENT(SimpleRNN, "simple_rnn", simple_rnn, rnn);
RECURRENT(LSTM, "lstm", lstm, lstm);
RECURRENT(GRU, "gru", gru, gru);
