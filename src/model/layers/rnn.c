/* keras.layers.rnn: layers whose steps each read the state that the one before left, of cells; and
   layers around other ones: both directions, and each step by itself. */
#include "model/layers/layers.h"
#include <string.h>

extern const layer_kind layer_SimpleRNN, layer_SimpleRNNCell, layer_LSTM, layer_LSTMCell, layer_GRU,
    layer_GRUCell, layer_RNN, layer_StackedRNNCells;

/* The options of a recurrent layer of one kind, and of a cell, which has no directions; RNN's begin
   with them, too. */
typedef struct rnn_config {
    int64_t units;
    activation activation, recurrent_activation;
    bool use_bias, unit_forget_bias, reset_after, return_sequences, return_state, go_backwards;
    double dropout;
    initializer kernel_initializer, recurrent_initializer, bias_initializer;
    regularizer kernel_regularizer, recurrent_regularizer, bias_regularizer, activity_regularizer;
    constraint kernel_constraint, recurrent_constraint, bias_constraint;
} rnn_config;

typedef struct rnn_of_cell {
    rnn_config options; /* return_sequences, return_state and go_backwards */
    layer_list cell;
} rnn_of_cell;

typedef struct stacked_cells {
    layer_list cells;
} stacked_cells;

/* ---- cells --------------------------------------------------------------------------------- */

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
#define RNN_REGULARIZERS                                       \
    OPTION_REGULARIZER(rnn_config, kernel_regularizer),        \
        OPTION_REGULARIZER(rnn_config, recurrent_regularizer), \
        OPTION_REGULARIZER(rnn_config, bias_regularizer)
#define RNN_CONSTRAINTS                                                                            \
    OPTION_CONSTRAINT(rnn_config, kernel_constraint),                                              \
        OPTION_CONSTRAINT(rnn_config, recurrent_constraint),                                       \
        OPTION_CONSTRAINT(rnn_config, bias_constraint),                                            \
        OPTION(REAL, rnn_config, dropout, .fallback = "0.0", .maximum = 1, .flags = CONFIG_BELOW), \
        OPTION_NEUTRAL("recurrent_dropout", "0.0")
#define RNN_UNIT_FORGET OPTION(BOOL, rnn_config, unit_forget_bias, .fallback = "true")
#define RNN_RESET_AFTER OPTION(BOOL, rnn_config, reset_after, .fallback = "true")
/* Configurations of older versions have this, too. */
#define CELL_END \
    {.key = "implementation", .type = CONFIG_IGNORED, .flags = CONFIG_ALIAS}, OPTIONS_END

static const config_field simple_rnn_cell_fields[] = {
    RNN_FIRST,       RNN_INITIALIZERS,       RNN_REGULARIZERS,
    RNN_CONSTRAINTS, OPTION_IGNORED("seed"), CELL_END,
};

static const config_field lstm_cell_fields[] = {
    RNN_FIRST,        RNN_GATES,       RNN_INITIALIZERS,       RNN_UNIT_FORGET,
    RNN_REGULARIZERS, RNN_CONSTRAINTS, OPTION_IGNORED("seed"), CELL_END,
};

static const config_field gru_cell_fields[] = {
    RNN_FIRST,       RNN_GATES,       RNN_INITIALIZERS,       RNN_REGULARIZERS,
    RNN_CONSTRAINTS, RNN_RESET_AFTER, OPTION_IGNORED("seed"), CELL_END,
};

static const config_field stacked_rnn_cells_fields[] = {
    OPTION(LAYER, stacked_cells, cells, .flags = CONFIG_REQUIRED | CONFIG_SEVERAL),
    OPTIONS_END,
};

static recurrent_cell cell_of(const layer *l)
{
    const rnn_config *c = l->config;
    if (l->kind == &layer_SimpleRNN || l->kind == &layer_SimpleRNNCell)
        return CELL_SIMPLE;
    if (l->kind == &layer_LSTM || l->kind == &layer_LSTMCell)
        return CELL_LSTM;
    return c->reset_after ? CELL_GRU_AFTER : CELL_GRU_BEFORE;
}

static bool is_cell(const layer *l)
{
    return l->kind == &layer_SimpleRNNCell || l->kind == &layer_LSTMCell ||
           l->kind == &layer_GRUCell;
}

/* A step's gradient is computed from what the step gave; activations that are operations of their
   own are not in the kernels of these layers, but for one that old networks have. */
static cornu_status check_activation(const char *key, activation a)
{
    const bool known = a.kind == ACTIVATION_HARD_SIGMOID ||
                       (activation_from_output(a.kind) && !activation_is_alone(a.kind) &&
                        !activation_is_of_rows(a.kind));
    if (known)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: found %s; expected tanh, sigmoid, hard_sigmoid, relu, leaky_relu, elu "
                       "or linear",
                       key, activation_name(a.kind));
}

/* The product with the state has a bias of its own in a GRU that is reset after it. */
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

/* Declare the weights of a cell of so many features. */
static cornu_status declare_weights(const layer *l, layer_call *call, int64_t features)
{
    const rnn_config *c = l->config;
    const recurrent_cell cell = cell_of(l);
    const int64_t columns = layer_enlarged(c->units, recurrent_gates(cell));
    TRY(check_activation("activation", c->activation));
    if (cell != CELL_SIMPLE)
        TRY(check_activation("recurrent_activation", c->recurrent_activation));
    layer_weight(call, "kernel", (shape){2, {features, columns}}, c->kernel_initializer, true);
    layer_weight(call, "recurrent_kernel", (shape){2, {c->units, columns}},
                 c->recurrent_initializer, true);
    if (c->use_bias)
        declare_bias(l, call, columns);
    return CORNU_OK;
}

/* A cell reads the features of one step. */
static cornu_status cell_declare(layer *l, layer_call *call)
{
    const rnn_config *c = l->config;
    if (!l->around || (l->around->kind != &layer_RNN && l->around->kind != &layer_StackedRNNCells))
        return status_fail(CORNU_INVALID,
                           "found a cell by itself; expected it within RNN: {RNN: "
                           "{cell: {%s: {units: %lld}}}}",
                           l->kind->name, (long long)c->units);
    call->out = (shape){1, {c->units}};
    return declare_weights(l, call, call->in[0].dim[0]);
}

static cornu_status stacked_declare(layer *l, layer_call *call)
{
    const stacked_cells *s = l->config;
    shape features = call->in[0];
    if (!l->around || l->around->kind != &layer_RNN)
        return status_fail(CORNU_INVALID, "found cells by themselves; expected them within RNN: "
                                          "{RNN: {cell: {StackedRNNCells: {cells: [...]}}}}");
    for (int i = 0; i < s->cells.count; i++) {
        if (!is_cell(s->cells.item[i]))
            return status_fail(CORNU_INVALID,
                               "cells: found %s; expected SimpleRNNCell, LSTMCell or GRUCell",
                               s->cells.item[i]->kind->name);
        TRY(layer_declare_inner(s->cells.item[i], call, &features, &features));
    }
    call->out = features;
    return CORNU_OK;
}

/* x with one mask of a sample's features for all of its steps, as Keras drops them. */
static cornu_status dropped(step_builder *b, tensor_ref x, double rate, tensor_ref *y)
{
    const bool together[SHAPE_MAX] = {true};
    tensor_ref mask;
    TRY(emit_dropout_mask(b, x, rate, together, &mask));
    *y = x;
    return mask == NO_TENSOR ? CORNU_OK : emit_binary(b, BINARY_MULTIPLY, x, mask, y);
}

/* The order of steps: of those of x, and of those of y. */
typedef struct step_order {
    bool from_last, to_last;
} step_order;

/* All steps of one cell. first: its states, NULL: zeros; *c: an LSTM's after the last step, where c
   is not NULL. */
static cornu_status emit_cell(const layer *l, step_builder *b, tensor_ref x, step_order order,
                              const tensor_ref *first, tensor_ref *y, tensor_ref *c_last)
{
    const rnn_config *c = l->config;
    const recurrence r = {.cell = cell_of(l),
                          .act = c->activation,
                          .gate = c->recurrent_activation,
                          .from_last = order.from_last,
                          .to_last = order.to_last};
    tensor_ref bias = c->use_bias ? emit_weight(b, 2) : NO_TENSOR, of_state = NO_TENSOR, z;
    if (c->use_bias && r.cell == CELL_GRU_AFTER) {
        TRY(emit_weight_row(b, bias, 1, &of_state));
        TRY(emit_weight_row(b, bias, 0, &bias));
    }
    TRY(dropped(b, x, c->dropout, &z));
    TRY(emit_dense(b, z, emit_weight(b, 0), bias, &z));
    return emit_recurrent(b, z, emit_weight(b, 1), of_state, &r, first, y,
                          r.cell == CELL_LSTM ? c_last : NULL);
}

/* Stacked cells compute what stacked layers do: the first reads the steps in their order, the last
   one writes them. */
static cornu_status emit_cells(const layer *l, step_builder *b, tensor_ref x, step_order order,
                               const tensor_ref *first, tensor_ref *y, tensor_ref *c_last)
{
    if (l->kind != &layer_StackedRNNCells)
        return emit_cell(l, b, x, order, first, y, c_last);
    const stacked_cells *s = l->config;
    cornu_status status = CORNU_OK;
    *y = x;
    for (int i = 0; status == CORNU_OK && i < s->cells.count; i++) {
        const step_order own = {order.from_last && i == 0,
                                order.to_last && i == s->cells.count - 1};
        emit_frame f = {.times = 1};
        layer_enter(b, s->cells.item[i], &f);
        status = emit_cell(s->cells.item[i], b, *y, own, NULL, y, NULL);
        emit_leave(b);
    }
    return status;
}

/* ---- recurrent layers ---------------------------------------------------------------------- */

#define RNN_STEPS                                                    \
    OPTION(BOOL, rnn_config, return_sequences, .fallback = "false"), \
        OPTION(BOOL, rnn_config, return_state, .fallback = "false"), \
        OPTION(BOOL, rnn_config, go_backwards, .fallback = "false"), \
        OPTION_NEUTRAL("stateful", "false"), OPTION_NEUTRAL("unroll", "false|true")
#define RNN_CUDNN OPTION_NEUTRAL("use_cudnn", "\"auto\"|true|false")
#define RNN_ACTIVITY OPTION_REGULARIZER(rnn_config, activity_regularizer)
/* Keras's SimpleRNN takes the option, and does nothing with it. */
#define RNN_NO_ACTIVITY OPTION_NEUTRAL("activity_regularizer", "null")
/* Configurations of this and of older versions may have these. */
#define RNN_END                                             \
    OPTION_TOLERATED("zero_output_for_mask", "false|true"), \
        OPTION_TOLERATED("time_major", "false"), CELL_END

static const config_field simple_rnn_fields[] = {
    RNN_FIRST,       RNN_INITIALIZERS, RNN_REGULARIZERS,       RNN_NO_ACTIVITY,
    RNN_CONSTRAINTS, RNN_STEPS,        OPTION_IGNORED("seed"), RNN_END,
};

static const config_field lstm_fields[] = {
    RNN_FIRST,        RNN_GATES,    RNN_INITIALIZERS, RNN_UNIT_FORGET,
    RNN_REGULARIZERS, RNN_ACTIVITY, RNN_CONSTRAINTS,  OPTION_IGNORED("seed"),
    RNN_STEPS,        RNN_CUDNN,    RNN_END,
};

static const config_field gru_fields[] = {
    RNN_FIRST,
    RNN_GATES,
    RNN_INITIALIZERS,
    RNN_REGULARIZERS,
    RNN_ACTIVITY,
    RNN_CONSTRAINTS,
    OPTION_IGNORED("seed"),
    RNN_STEPS,
    RNN_RESET_AFTER,
    RNN_CUDNN,
    RNN_END,
};

static const config_field rnn_fields[] = {
    OPTION(LAYER, rnn_of_cell, cell, .flags = CONFIG_REQUIRED),
    RNN_STEPS,
    OPTION_NEUTRAL("zero_output_for_mask", "false|true"),
    OPTION_TOLERATED("time_major", "false"),
    OPTIONS_END,
};

static bool is_recurrent(const layer *l)
{
    return l->kind == &layer_SimpleRNN || l->kind == &layer_LSTM || l->kind == &layer_GRU ||
           l->kind == &layer_RNN;
}

static cornu_status declare_cells(layer *l, layer_call *call, int64_t features, int64_t *units)
{
    const rnn_of_cell *r = l->config;
    const shape step = {1, {features}};
    shape out;
    if (l->kind == &layer_RNN) {
        layer *cell = r->cell.item[0];
        if (!is_cell(cell) && cell->kind != &layer_StackedRNNCells)
            return status_fail(CORNU_INVALID,
                               "cell: found %s; expected SimpleRNNCell, LSTMCell, GRUCell or "
                               "StackedRNNCells",
                               cell->kind->name);
        TRY(layer_declare_inner(cell, call, &step, &out));
        *units = out.dim[0];
        return CORNU_OK;
    }
    TRY(declare_weights(l, call, features));
    for (int i = 0; i < call->weight_count; i++)
        call->weights[i].part = "cell";
    *units = ((const rnn_config *)l->config)->units;
    return CORNU_OK;
}

/* h, and an LSTM's c. */
enum { STATES_MOST = 2 };

/* The number of a recurrent layer's states; 0: its cells are stacked, and each has its own. */
static int state_count(const layer *l)
{
    const layer *cell = l->kind == &layer_RNN ? ((const rnn_of_cell *)l->config)->cell.item[0] : l;
    if (cell->kind == &layer_StackedRNNCells)
        return 0;
    return cell_of(cell) == CELL_LSTM ? 2 : 1;
}

/* The inputs after the first are the states of this many units, which are `states`. */
static cornu_status check_states(const layer_call *call, const int64_t *units, int states)
{
    char found[128];
    if (call->inputs > 1 && states == 0)
        return status_fail(CORNU_UNSUPPORTED,
                           "found initial_state of StackedRNNCells; expected it of one cell");
    if (call->inputs != 1 && call->inputs != 1 + states)
        return status_fail(CORNU_INVALID, "found initial_state of %d tensor%s; expected %d",
                           call->inputs - 1, PLURAL(call->inputs - 1, "", "s"), states);
    for (int i = 1; i < call->inputs; i++)
        if (call->in[i].rank != 1 || call->in[i].dim[0] != units[i - 1])
            return status_fail(CORNU_INVALID, "found initial_state of shape %s; expected (%lld)",
                               shape_show(&call->in[i], false, found), (long long)units[i - 1]);
    return CORNU_OK;
}

static cornu_status rnn_declare(layer *l, layer_call *call)
{
    const rnn_config *c = l->config;
    const shape *in = &call->in[0];
    int64_t units = 0;
    TRY(declare_cells(l, call, in->dim[1], &units));
    call->out = c->return_sequences ? (shape){2, {in->dim[0], units}} : (shape){1, {units}};
    const int states = state_count(l);
    TRY(check_states(call, (const int64_t[STATES_MOST]){units, units}, states));
    if (c->return_state && layer_activity(l))
        return status_fail(CORNU_UNSUPPORTED,
                           "activity_regularizer: found one with return_state: true, whose states "
                           "Keras would penalize, too; expected return_state: false, or null");
    if (c->return_state && states == 0)
        return status_fail(CORNU_UNSUPPORTED, "return_state: found true of StackedRNNCells; "
                                              "expected false, or one cell");
    for (int i = 0; c->return_state && i < states; i++)
        call->more[call->more_count++] = (shape){1, {units}};
    return CORNU_OK;
}

/* The row of all steps at this place. */
static cornu_status emit_row(step_builder *b, tensor_ref all, int64_t place, tensor_ref *y)
{
    const shape s = emit_shape(b, all), row = {1, {s.dim[1]}};
    TRY(emit_slice(b, all, 1, place, 1, 1, y));
    return emit_reshape(b, *y, &row, y);
}

/* `to_last`: where all steps are returned, the first one comes last. first: the states before the
   first step, NULL: zeros. y: the output and, where they are returned, the states after the last.
 */
static cornu_status emit_steps(const layer *l, step_builder *b, tensor_ref x, bool to_last,
                               const tensor_ref *first, tensor_ref *y)
{
    const rnn_config *c = l->config;
    const step_order order = {c->go_backwards, to_last && c->return_sequences};
    const tensor_ref begin[STATES_MOST] = {first ? first[0] : NO_TENSOR,
                                           first && state_count(l) == 2 ? first[1] : NO_TENSOR};
    tensor_ref *c_last = c->return_state ? &y[2] : NULL;
    if (l->kind == &layer_RNN) {
        const layer *cell = ((const rnn_of_cell *)l->config)->cell.item[0];
        emit_frame f = {.times = 1};
        layer_enter(b, cell, &f);
        cornu_status status = emit_cells(cell, b, x, order, begin, y, c_last);
        emit_leave(b);
        TRY(status);
    } else {
        TRY(emit_cell(l, b, x, order, begin, y, c_last));
    }
    if (c->return_sequences && !c->return_state)
        return CORNU_OK;
    tensor_ref h;
    TRY(emit_row(b, *y, order.to_last ? 0 : emit_shape(b, *y).dim[0] - 1, &h));
    if (c->return_state)
        y[1] = h;
    if (!c->return_sequences)
        *y = h;
    return CORNU_OK;
}

static cornu_status rnn_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    return emit_steps(l, b, x[0], false, emit_inputs(b) > 1 ? x + 1 : NULL, y);
}

static const char *const simple_rnn_samples[] = {
    "4,3 | {units: 5}",
    "3,2 | {units: 17, return_sequences: true}",
    "3,5 | {units: 4, go_backwards: true, return_sequences: true, use_bias: false}",
    "2,3 | {units: 3, activation: relu, bias_initializer: ones}",
    "3,2 | {SimpleRNN: {units: 4, return_state: true, name: first}}, | {units: 4, "
    "inputs: [input_layer, first/output_2]}",
    NULL,
};

static const char *const lstm_samples[] = {
    "4,3 | {units: 5}",
    "3,2 | {units: 17, return_sequences: true, unit_forget_bias: false}",
    "3,5 | {units: 4, go_backwards: true, return_sequences: true, use_bias: false}",
    "2,3 | {units: 3, activation: elu, recurrent_activation: hard_sigmoid}",
    "3,2 | {LSTM: {units: 4, return_sequences: true, return_state: true, name: first}}, | {units: "
    "4, "
    "return_sequences: true, inputs: [first, first/output_2, first/output_3]}",
    "3,2 | {LSTM: {units: 2, return_state: true, name: first}}, | {units: 2, go_backwards: true, "
    "inputs: [input_layer, first/output_3, first/output_3]}",
    NULL,
};

static const char *const gru_samples[] = {
    "4,3 | {units: 5}",
    "3,2 | {units: 17, return_sequences: true, reset_after: false}",
    "3,5 | {units: 4, go_backwards: true, return_sequences: true, use_bias: false}",
    "2,3 | {units: 3, reset_after: false, go_backwards: true, recurrent_activation: hard_sigmoid}",
    "3,2 | {GRU: {units: 4, return_state: true, reset_after: false, name: first}}, | {units: 4, "
    "inputs: [input_layer, first/output_2]}",
    "3,2 | {GRU: {units: 4, return_state: true, go_backwards: true, name: first}}, | {units: 4, "
    "reset_after: false, inputs: [input_layer, first/output_2]}",
    NULL,
};

static const char *const rnn_samples[] = {
    "4,3 | {cell: {LSTMCell: {units: 5}}}",
    "3,2 | {cell: {SimpleRNNCell: {units: 3}}, return_sequences: true, go_backwards: true}",
    "3,2 | {cell: {StackedRNNCells: {cells: [{GRUCell: {units: 3}}, {LSTMCell: {units: 2}}]}}, "
    "go_backwards: true}",
    NULL,
};

static const char *const no_samples[] = {NULL}; /* cells stand within RNN alone */

#define RECURRENT(class_name, base, names, size) \
    const layer_kind layer_##class_name = {      \
        .name = #class_name,                     \
        .base_name = base,                       \
        .config_size = sizeof(size),             \
        .fields = names##_fields,                \
        .rank = LAYER_SIGNAL,                    \
        .reads_states = true,                    \
        .declare = rnn_declare,                  \
        .emit = rnn_emit,                        \
        .samples = names##_samples,              \
    }

RECURRENT(SimpleRNN, "simple_rnn", simple_rnn, rnn_config);
RECURRENT(LSTM, "lstm", lstm, rnn_config);
RECURRENT(GRU, "gru", gru, rnn_config);
RECURRENT(RNN, "rnn", rnn, rnn_of_cell);

#define CELL(class_name, names, size, declares) \
    const layer_kind layer_##class_name = {     \
        .name = #class_name,                    \
        .base_name = #names,                    \
        .config_size = sizeof(size),            \
        .fields = names##_fields,               \
        .declare = declares,                    \
        .samples = no_samples,                  \
    }

CELL(SimpleRNNCell, simple_rnn_cell, rnn_config, cell_declare);
CELL(LSTMCell, lstm_cell, rnn_config, cell_declare);
CELL(GRUCell, gru_cell, rnn_config, cell_declare);
CELL(StackedRNNCells, stacked_rnn_cells, stacked_cells, stacked_declare);

/* ---- Bidirectional ------------------------------------------------------------------------- */

typedef struct bidirectional_config {
    layer_list layer, backward_layer;
    int merge_mode;
} bidirectional_config;

enum { MERGE_CONCAT, MERGE_SUM, MERGE_MUL, MERGE_AVE, MERGE_NONE };

static const config_field bidirectional_fields[] = {
    OPTION(LAYER, bidirectional_config, layer, .flags = CONFIG_REQUIRED, .prefix = "forward_",
           .place = "forward_layer"),
    OPTION(CHOICE, bidirectional_config, merge_mode, .fallback = "concat",
           .choices = "concat|sum|mul|ave", .none = MERGE_NONE, .flags = CONFIG_NULLABLE),
    OPTION_NEUTRAL("weights", "null"),
    OPTION(LAYER, bidirectional_config, backward_layer, .fallback = "null",
           .flags = CONFIG_NULLABLE | CONFIG_COPIES, .prefix = "backward_"),
    OPTIONS_END,
};

static cornu_status check_directions(const layer *forward, const layer *backward)
{
    const rnn_config *f = forward->config, *r = backward->config;
    if (f->go_backwards == r->go_backwards)
        return status_fail(
            CORNU_INVALID,
            "found layer and backward_layer with go_backwards: %s; expected one with "
            "false, and one with true",
            f->go_backwards ? "true" : "false");
    if (f->return_sequences != r->return_sequences)
        return status_fail(CORNU_INVALID, "found layer and backward_layer with different "
                                          "return_sequences; expected the same");
    if (f->return_state != r->return_state)
        return status_fail(CORNU_INVALID, "found layer and backward_layer with different "
                                          "return_state; expected the same");
    return CORNU_OK;
}

/* The states of both directions, those of the forward layer first, as Keras has them. */
static cornu_status declare_states(const bidirectional_config *c, layer_call *call,
                                   const int64_t units[2])
{
    const layer *both[2] = {c->layer.item[0], c->backward_layer.item[0]};
    int64_t sizes[2 * STATES_MOST];
    int count = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < state_count(both[k]); i++)
            sizes[count++] = units[k];
    TRY(check_states(call, sizes, count));
    for (int i = 0; ((const rnn_config *)both[0]->config)->return_state && i < count; i++)
        call->more[call->more_count++] = (shape){1, {sizes[i]}};
    return CORNU_OK;
}

static cornu_status bidirectional_declare(layer *l, layer_call *call)
{
    char shown[2][128];
    const bidirectional_config *c = l->config;
    layer *forward = c->layer.item[0], *backward = c->backward_layer.item[0];
    shape first, second;
    if (!is_recurrent(forward) || !is_recurrent(backward))
        return status_fail(CORNU_INVALID, "found %s; expected SimpleRNN, LSTM, GRU or RNN",
                           (is_recurrent(forward) ? backward : forward)->kind->name);
    if (c->backward_layer.derived)
        ((rnn_config *)backward->config)->go_backwards = true;
    TRY(check_directions(forward, backward));
    if (strcmp(forward->name, backward->name) == 0)
        return status_fail(CORNU_INVALID, "found two layers called %s; expected different names",
                           forward->name);
    TRY(layer_declare_inner(forward, call, call->in, &first));
    TRY(layer_declare_inner(backward, call, call->in, &second));
    call->out = first;
    if (c->merge_mode == MERGE_NONE)
        call->more[call->more_count++] = second;
    TRY(declare_states(c, call,
                       (const int64_t[2]){first.dim[first.rank - 1], second.dim[second.rank - 1]}));
    if (c->merge_mode == MERGE_CONCAT) {
        call->out.dim[first.rank - 1] += second.dim[first.rank - 1];
        return CORNU_OK;
    }
    if (c->merge_mode == MERGE_NONE || shape_equal(&first, &second))
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "found outputs %s and %s of both layers; expected the same shape, or "
                       "merge_mode: concat or null",
                       shape_show(&first, false, shown[0]), shape_show(&second, false, shown[1]));
}

static cornu_status emit_direction(const layer *inner, step_builder *b, tensor_ref x, bool to_last,
                                   const tensor_ref *first, tensor_ref *y)
{
    emit_frame f = {.times = 1};
    layer_enter(b, inner, &f);
    cornu_status status = emit_steps(inner, b, x, to_last, first, y);
    emit_leave(b);
    return status;
}

static cornu_status bidirectional_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                       tensor_ref *y)
{
    const bidirectional_config *c = l->config;
    const layer *layers[2] = {c->layer.item[0], c->backward_layer.item[0]};
    const tensor_ref *first = emit_inputs(b) > 1 ? x + 1 : NULL;
    tensor_ref both[2], *state = y + (c->merge_mode == MERGE_NONE ? 2 : 1);
    for (int k = 0; k < 2; k++) {
        tensor_ref made[1 + STATES_MOST];
        const int states = state_count(layers[k]);
        TRY(emit_direction(layers[k], b, x[0], k == 1, first, made));
        both[k] = made[0];
        for (int i = 0; ((const rnn_config *)layers[k]->config)->return_state && i < states; i++)
            *state++ = made[1 + i];
        if (first)
            first += states;
    }
    if (c->merge_mode == MERGE_NONE) {
        y[0] = both[0];
        y[1] = both[1];
        return CORNU_OK;
    }
    if (c->merge_mode == MERGE_CONCAT)
        return emit_concatenate(b, both, 2, emit_shape(b, both[0]).rank, y);
    TRY(emit_binary(b, c->merge_mode == MERGE_MUL ? BINARY_MULTIPLY : BINARY_ADD, both[0], both[1],
                    y));
    return c->merge_mode == MERGE_AVE ? emit_scale(b, *y, 0.5, 0, y) : CORNU_OK;
}

static const char *const bidirectional_samples[] = {
    "4,3 | {layer: {LSTM: {units: 3}}}",
    "3,2 | {layer: {GRU: {units: 3, return_sequences: true}}, merge_mode: mul}",
    "3,2 | {layer: {SimpleRNN: {units: 3, return_sequences: true}}, merge_mode: ave}",
    "3,2 | {layer: {LSTM: {units: 3, go_backwards: true}}, backward_layer: {GRU: {units: 3}}, "
    "merge_mode: sum}",
    "3,2 | {Bidirectional: {layer: {LSTM: {units: 2, return_sequences: true, return_state: true}}, "
    "name: first}}, | {layer: {LSTM: {units: 2}}, inputs: [first, first/output_4, "
    "first/output_5, first/output_2, first/output_3]}",
    "3,2 | {Bidirectional: {layer: {GRU: {units: 2, return_sequences: true}}, merge_mode: null, "
    "name: first}}, {Subtract: {name: both, inputs: [first, first/output_2]}}, | {layer: "
    "{SimpleRNN: {units: 2}}, inputs: [both]}",
    NULL,
};

const layer_kind layer_Bidirectional = {
    .name = "Bidirectional",
    .base_name = "bidirectional",
    .config_size = sizeof(bidirectional_config),
    .fields = bidirectional_fields,
    .rank = LAYER_SIGNAL,
    .reads_states = true,
    .declare = bidirectional_declare,
    .emit = bidirectional_emit,
    .samples = bidirectional_samples,
};

/* ---- TimeDistributed ----------------------------------------------------------------------- */

typedef struct time_distributed_config {
    layer_list layer;
} time_distributed_config;

static const config_field time_distributed_fields[] = {
    OPTION(LAYER, time_distributed_config, layer, .flags = CONFIG_REQUIRED),
    OPTIONS_END,
};

/* All steps of all samples are computed together. So nothing can stand within whose steps depend on
   each other: statistics of a batch, and one draw for a sample. */
static cornu_status check_steps(const layer *inner)
{
    const layer *rnn = inner->kind == &layer_Bidirectional
                           ? ((const bidirectional_config *)inner->config)->layer.item[0]
                           : inner;
    if (is_recurrent(rnn) && ((const rnn_config *)rnn->config)->return_state)
        return status_fail(CORNU_UNSUPPORTED,
                           "found return_state: true of %s; expected false, for one output",
                           rnn->kind->name);
    if (rnn != inner && ((const bidirectional_config *)inner->config)->merge_mode == MERGE_NONE)
        return status_fail(CORNU_UNSUPPORTED, "found merge_mode: null of Bidirectional; expected "
                                              "concat, sum, mul or ave, for one output");
    /* Gaussian noise is drawn for samples, of which a step is none. */
    if (strcmp(inner->kind->name, "BatchNormalization") != 0 && !inner->kind->changes_images &&
        !inner->kind->changes_weights && strncmp(inner->kind->name, "Gaussian", 8) != 0)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "found %s; expected a layer that computes a step from that step alone",
                       inner->kind->name);
}

static cornu_status time_distributed_declare(layer *l, layer_call *call)
{
    char found[128];
    const time_distributed_config *c = l->config;
    const shape *in = &call->in[0];
    shape step = {.rank = in->rank - 1}, out;
    if (in->rank < 2)
        return status_fail(CORNU_INVALID,
                           "found input %s; expected (steps, ...) of 2 dimensions "
                           "or more",
                           shape_show(in, false, found));
    memcpy(step.dim, in->dim + 1, (size_t)step.rank * sizeof *step.dim);
    TRY(check_steps(c->layer.item[0]));
    TRY(layer_declare_inner(c->layer.item[0], call, &step, &out));
    call->out = (shape){.rank = out.rank + 1, .dim = {in->dim[0]}};
    if (out.rank < SHAPE_MAX)
        memcpy(call->out.dim + 1, out.dim, (size_t)out.rank * sizeof *out.dim);
    return CORNU_OK;
}

static cornu_status time_distributed_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                          tensor_ref *y)
{
    const layer *inner = ((const time_distributed_config *)l->config)->layer.item[0];
    const shape in = emit_shape(b, x[0]), out = emit_output(b);
    shape step = {.rank = in.rank - 1};
    emit_frame f = {.times = in.dim[0], .out = {.rank = out.rank - 1}};
    memcpy(step.dim, in.dim + 1, (size_t)step.rank * sizeof *step.dim);
    memcpy(f.out.dim, out.dim + 1, (size_t)f.out.rank * sizeof *out.dim);
    layer_enter(b, inner, &f);
    cornu_status status = emit_reshape(b, x[0], &step, y);
    if (status == CORNU_OK)
        status = inner->kind->emit(inner, b, &(tensor_ref){*y}, y);
    emit_leave(b);
    return status == CORNU_OK ? emit_reshape(b, *y, &out, y) : status;
}

static const char *const time_distributed_samples[] = {
    "3,4 | {layer: {Dense: {units: 2, activation: tanh}}}",
    "2,5,4,2 | {layer: {Conv2D: {filters: 3, kernel_size: 2, activation: elu}}}",
    "2,4,4,2 | {layer: {MaxPooling2D: {}}}",
    "2,3,2 | {layer: Flatten}",
    "2,3,2 | {layer: {Bidirectional: {layer: {LSTM: {units: 2}}}}}",
    NULL,
};

const layer_kind layer_TimeDistributed = {
    .name = "TimeDistributed",
    .base_name = "time_distributed",
    .config_size = sizeof(time_distributed_config),
    .fields = time_distributed_fields,
    .declare = time_distributed_declare,
    .emit = time_distributed_emit,
    .samples = time_distributed_samples,
};
