/* LSTM, GRU and RNN: recurrent layers, of both directions within a Bidirectional. */
#include "exchange/onnx/onnx_import.h"
#include "exchange/onnx/onnx_recurrent.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DIRECTIONS_MOST = 2, FUNCTIONS_MOST = 3, STATES_MOST = 2 };
enum { INPUT_W = 1, INPUT_R, INPUT_B, INPUT_LENGTHS, INPUT_H, INPUT_C, INPUT_P };
enum { OUTPUT_ALL, OUTPUT_H, OUTPUT_C };

typedef struct recurrent_node {
    recurrent_cell cell;
    int directions;
    bool reverse;   /* the only direction goes backwards */
    bool last_axis; /* layout 1: the batch comes first */
    int64_t units, inputs;
    const Onnx__TensorProto *w, *r, *b; /* b: NULL for none */
    activation act, gate;
    bool reads[ONNX_RECURRENT_MOST]; /* outputs that are read */
    int states;                      /* h, and an LSTM's c */
    const char *merged; /* how both directions of all steps become one; NULL: they do not */
} recurrent_node;

/* ---- activations -------------------------------------------------------------------------- */

/* The numbers of a list of reals from *at on. */
static float next_real(const Onnx__AttributeProto *list, size_t *at, float fallback)
{
    return list && *at < list->n_floats ? list->floats[(*at)++] : fallback;
}

static bool is_near(float found, double expected)
{
    return fabs((double)found - expected) < 1e-5;
}

/* Where the attribute is absent: Sigmoid for gates, else Tanh. */
static cornu_status read_activation(const onnx_import *im, size_t number, bool is_gate,
                                    size_t at[2], activation *out)
{
    const Onnx__NodeProto *node = onnx_node_at(im);
    const Onnx__AttributeProto *listed = onnx_attribute(node, "activations");
    char name[24] = "";
    const ProtobufCBinaryData *text = listed ? &listed->strings[number] : NULL;
    if (text && text->len < sizeof name)
        memcpy(name, text->data, text->len);
    const onnx_recurrent_activation *row =
        onnx_recurrent_activation_of(ACTIVATION_LINEAR, text      ? name
                                                        : is_gate ? "Sigmoid"
                                                                  : "Tanh");
    if (!row)
        return onnx_import_fail(im,
                                "activations: found %s; expected Tanh, Sigmoid, HardSigmoid, Relu, "
                                "LeakyRelu, Elu or Affine",
                                *name ? name : "another name");
    float alpha = 0, beta = 0;
    if (row->numbers > 0)
        alpha = next_real(onnx_attribute(node, "activation_alpha"), &at[0], row->alpha);
    if (row->numbers > 1)
        beta = next_real(onnx_attribute(node, "activation_beta"), &at[1], row->beta);
    const bool hard = row->kind == ACTIVATION_HARD_SIGMOID;
    if (row->numbers > 1 && (!is_near(alpha, hard ? 1.0 / 6 : 1) || !is_near(beta, hard ? 0.5 : 0)))
        return onnx_import_fail(im, "%s: found alpha %g and beta %g; expected %s", row->name,
                                (double)alpha, (double)beta, hard ? "1/6 and 0.5" : "1 and 0");
    *out = (activation){.kind = row->kind, .alpha = row->numbers == 1 ? alpha : 0};
    return isfinite(alpha) ? CORNU_OK
                           : onnx_import_fail(im, "activation_alpha: expected finite numbers");
}

static bool same_activation(activation a, activation b)
{
    return a.kind == b.kind && a.alpha <= b.alpha && a.alpha >= b.alpha;
}

/* All directions have the same, and an LSTM's cell has one for both of its uses. */
static cornu_status read_activations(const onnx_import *im, recurrent_node *n)
{
    const Onnx__AttributeProto *listed = onnx_attribute(onnx_node_at(im), "activations");
    const size_t each = (size_t)onnx_recurrent_activations(n->cell);
    const size_t count = each * (size_t)n->directions;
    size_t at[2] = {0, 0};
    if (listed && listed->n_strings != count)
        return onnx_import_fail(im, "activations: found %zu; expected %zu", listed->n_strings,
                                count);
    for (size_t i = 0; i < count; i++) {
        const bool is_gate = each > 1 && i % each == 0;
        activation a, *first = is_gate ? &n->gate : &n->act;
        TRY(read_activation(im, i, is_gate, at, &a));
        if (i < (each > 1 ? 2 : 1))
            *first = a;
        else if (!same_activation(*first, a))
            return onnx_import_fail(im, "activations: found different ones; expected the same for "
                                        "both directions, and for an LSTM's c and h");
    }
    return CORNU_OK;
}

/* ---- the node ----------------------------------------------------------------------------- */

static cornu_status read_direction(const onnx_import *im, recurrent_node *n)
{
    const Onnx__AttributeProto *a = onnx_attribute(onnx_node_at(im), "direction");
    n->directions = onnx_text_is(a, "bidirectional") ? 2 : 1;
    n->reverse = onnx_text_is(a, "reverse");
    if (!a || n->directions == 2 || n->reverse || onnx_text_is(a, "forward"))
        return CORNU_OK;
    return onnx_import_fail(im, "direction: found another; expected forward, reverse or "
                                "bidirectional");
}

/* Refuse what ONNX has, and no layer of cornu. */
static cornu_status refuse_options(const onnx_import *im)
{
    const Onnx__NodeProto *node = onnx_node_at(im);
    if (onnx_attribute(node, "clip"))
        return onnx_import_fail(im, "clip: found %g; expected none", onnx_real(node, "clip", 0));
    if (onnx_int(node, "input_forget", 0) != 0)
        return onnx_import_fail(im, "input_forget: found 1; expected 0");
    if (*onnx_input_name(node, INPUT_LENGTHS))
        return onnx_import_fail(im, "sequence_lens: found one; expected none, for sequences of "
                                    "all steps");
    if (*onnx_input_name(node, INPUT_P))
        return onnx_import_fail(im, "P: found weights for peepholes; expected none");
    return CORNU_OK;
}

/* A constant of floats (directions, rows, columns), or without columns where they are 0. */
static cornu_status read_weight(const onnx_import *im, const recurrent_node *n, size_t input,
                                int64_t rows, int64_t columns, const Onnx__TensorProto **out)
{
    static const char *const names[] = {"X", "W", "R", "B"};
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(onnx_node_at(im), input));
    const size_t rank = columns > 0 ? 3 : 2;
    if (onnx_floats(t) < 1 || t->n_dims != rank || t->dims[0] != n->directions ||
        t->dims[1] != rows || (columns > 0 && t->dims[2] != columns))
        return onnx_import_fail(im,
                                "%s: found no constant of floats (%d, %lld%s); expected one in the "
                                "file",
                                names[input], n->directions, (long long)rows,
                                input == INPUT_W   ? ", inputs"
                                : input == INPUT_R ? ", units"
                                                   : "");
    *out = t;
    return CORNU_OK;
}

static cornu_status read_weights(const onnx_import *im, recurrent_node *n)
{
    const Onnx__NodeProto *node = onnx_node_at(im);
    const int64_t gates = recurrent_gates(n->cell);
    const Onnx__TensorProto *r = onnx_constant_of(im, onnx_input_name(node, INPUT_R));
    n->units = onnx_floats(r) > 0 && r->n_dims == 3 ? r->dims[2] : 0;
    n->units = onnx_int(node, "hidden_size", n->units);
    n->inputs = im->x.shape.dim[1];
    if (n->units < 1 || n->units > SHAPE_ELEMENTS_MAX / gates)
        return onnx_import_fail(im, "hidden_size: found %lld; expected 1 or more",
                                (long long)n->units);
    TRY(read_weight(im, n, INPUT_W, gates * n->units, n->inputs, &n->w));
    TRY(read_weight(im, n, INPUT_R, gates * n->units, n->units, &n->r));
    if (*onnx_input_name(node, INPUT_B))
        TRY(read_weight(im, n, INPUT_B, 2 * gates * n->units, 0, &n->b));
    return CORNU_OK;
}

static cornu_status read_input(const onnx_import *im, recurrent_node *n)
{
    const onnx_value *x = &im->x;
    n->last_axis = onnx_int(onnx_node_at(im), "layout", 0) != 0;
    const bool fits = n->last_axis ? x->order == ORDER_PLAIN && x->shape.rank == 2
                                   : x->order == ORDER_SEQUENCE && strcmp(x->axes, "sbu") == 0;
    if (fits && !n->last_axis && x->reversed && n->directions == 2)
        return onnx_import_fail(im, "found the steps of a layer that goes backwards; expected them "
                                    "in reverse order, by a Slice, before both directions");
    if (fits)
        return CORNU_OK;
    return onnx_import_fail(im, "found an input that is no sequence (%s); expected one%s",
                            n->last_axis ? "batch, steps, features" : "steps, batch, features",
                            n->last_axis ? "" : ", by a Transpose of (batch, steps, features)");
}

/* Both directions of each step are added or multiplied by the operator that alone reads them. */
static const char *merge_of(const onnx_import *im, const recurrent_node *n)
{
    static const char *const kinds[][2] = {{"ReduceSum", "sum"}, {"ReduceProd", "mul"}};
    const char *other;
    int64_t axis;
    for (int i = 0; n->directions == 2 && n->reads[OUTPUT_ALL] && i < 2; i++) {
        const int reader = onnx_reader(im, im->at, kinds[i][0], &other);
        if (reader >= 0 && onnx_one_axis(im, im->steps[reader].node, 4, &axis) &&
            axis == (n->last_axis ? 2 : 1))
            return kinds[i][1];
    }
    return NULL;
}

static cornu_status read_node(onnx_import *im, recurrent_node *n)
{
    const Onnx__NodeProto *node = onnx_node_at(im);
    n->cell = *node->op_type == 'R'                           ? CELL_SIMPLE
              : *node->op_type == 'L'                         ? CELL_LSTM
              : onnx_int(node, "linear_before_reset", 0) != 0 ? CELL_GRU_AFTER
                                                              : CELL_GRU_BEFORE;
    n->states = n->cell == CELL_LSTM ? 2 : 1;
    TRY(refuse_options(im));
    TRY(read_direction(im, n));
    TRY(read_input(im, n));
    TRY(read_weights(im, n));
    TRY(read_activations(im, n));
    for (int i = 0; i < ONNX_RECURRENT_MOST; i++) {
        const int step = im->at + i;
        n->reads[i] = step < im->step_count && im->steps[step].output == (size_t)i &&
                      im->steps[step].node == node && im->steps[step].readers > 0;
    }
    n->merged = merge_of(im, n);
    return CORNU_OK;
}

/* ---- states before the first step --------------------------------------------------------- */

static bool is_zeros(const Onnx__TensorProto *t)
{
    const int64_t count = onnx_floats(t);
    for (int64_t i = 0; i < count; i++)
        if (onnx_float_at(t, i) < 0 || onnx_float_at(t, i) > 0)
            return false;
    return count > 0;
}

/* The nodes that the layer reads; *count: 1, and as many as there are states. */
static cornu_status read_states(const onnx_import *im, const recurrent_node *n,
                                int nodes[1 + STATES_MOST], int *count)
{
    static const char *const names[] = {"initial_h", "initial_c"};
    nodes[0] = im->x.node;
    *count = 1;
    for (int i = 0; i < n->states; i++) {
        const size_t input = (size_t)(INPUT_H + i);
        const char *name = onnx_input_name(onnx_node_at(im), input);
        if (!*name || is_zeros(onnx_constant_of(im, name)))
            continue;
        const onnx_value *v = onnx_is_computed(im, input) ? onnx_value_of(im, input) : NULL;
        const bool fits = v && n->directions == 1 && !n->last_axis && v->order == ORDER_SEQUENCE &&
                          strcmp(v->axes, "dbu") == 0 && v->directions == 1;
        if (!fits || *count != 1 + i)
            return onnx_import_fail(im,
                                    "%s: found one that cannot be read; expected none, zeros, or, "
                                    "of one direction and for all states, the result of Unsqueeze "
                                    "or another's last state",
                                    names[i]);
        nodes[(*count)++] = v->node;
    }
    if (*count != 1 && *count != 1 + n->states)
        return onnx_import_fail(im, "initial_h: found it without initial_c; expected both");
    return CORNU_OK;
}

/* ---- the layer ---------------------------------------------------------------------------- */

static const char *activation_text(activation a, char *out, size_t size)
{
    if (a.kind == ACTIVATION_LEAKY_RELU || a.kind == ACTIVATION_ELU)
        snprintf(out, size, "{%s: %.9g}}",
                 a.kind == ACTIVATION_ELU ? "ELU: {alpha" : "LeakyReLU: {negative_slope",
                 (double)a.alpha);
    else
        snprintf(out, size, "%s", activation_name(a.kind));
    return out;
}

static const char *true_or_false(bool value)
{
    return value ? "true" : "false";
}

/* Are all states after the last step outputs of the layer? */
static bool returns_state(const recurrent_node *n)
{
    return n->reads[OUTPUT_C] || (n->reads[OUTPUT_ALL] && n->reads[OUTPUT_H]);
}

static cornu_status add_layer(onnx_import *im, const recurrent_node *n)
{
    static const char *const kinds[] = {"SimpleRNN", "LSTM", "GRU", "GRU"};
    char options[400], act[64], gate[120] = "", reset[32] = "";
    int nodes[1 + STATES_MOST], count;
    const bool backwards = n->directions == 1 && n->reverse != (!n->last_axis && im->x.reversed);
    TRY(read_states(im, n, nodes, &count));
    if (n->cell != CELL_SIMPLE)
        snprintf(gate, sizeof gate, "recurrent_activation: %s, ",
                 activation_text(n->gate, act, sizeof act));
    if (n->cell >= CELL_GRU_AFTER)
        snprintf(reset, sizeof reset, "reset_after: %s, ",
                 true_or_false(n->cell == CELL_GRU_AFTER));
    snprintf(options, sizeof options,
             "{units: %lld, activation: %s, %s%suse_bias: %s, go_backwards: %s, "
             "return_sequences: %s, return_state: %s}",
             (long long)n->units, activation_text(n->act, act, sizeof act), gate, reset,
             true_or_false(n->b != NULL), true_or_false(backwards),
             true_or_false(n->reads[OUTPUT_ALL]), true_or_false(returns_state(n)));
    if (n->directions == 1)
        return onnx_add_layer_on(im, nodes, count, kinds[n->cell], "%s", options);
    return onnx_add_layer_on(im, nodes, count, "Bidirectional", "{layer: {%s: %s}, merge_mode: %s}",
                             kinds[n->cell], options, n->merged ? n->merged : "concat");
}

/* ---- weights ------------------------------------------------------------------------------ */

/* The order of a direction's weights, which begin at number `begin`: cornu's gates in the file's.
 */
static weight_order order_of(const recurrent_node *n, int64_t begin, int64_t inputs)
{
    weight_order o = {.form = WEIGHT_GATES,
                      .begin = begin,
                      .inputs = inputs,
                      .units = n->units,
                      .gate_count = recurrent_gates(n->cell)};
    for (int k = 0; k < o.gate_count; k++)
        o.gates[onnx_gate(n->cell, k)] = k;
    return o;
}

/* The biases of features and of the state are added, but for a GRU that has both. */
static cornu_status add_bias(onnx_import *im, const recurrent_node *n, int direction, int number)
{
    const int64_t each = recurrent_gates(n->cell) * n->units;
    weight_order o = order_of(n, 2 * each * direction, 1);
    if (n->cell != CELL_GRU_AFTER)
        return onnx_add_part(im, number, n->b, &o, each);
    for (int k = 0; k < 2 * o.gate_count; k++)
        o.gates[k] = k;
    o.gate_count *= 2;
    return onnx_add_part(im, number, n->b, &o, 0);
}

static cornu_status add_weights(onnx_import *im, const recurrent_node *n)
{
    const int64_t rows = recurrent_gates(n->cell) * n->units;
    int number = 0;
    for (int i = 0; i < n->directions; i++) {
        const weight_order w = order_of(n, i * rows * n->inputs, n->inputs);
        const weight_order r = order_of(n, i * rows * n->units, n->units);
        TRY(onnx_add_part(im, number++, n->w, &w, 0));
        TRY(onnx_add_part(im, number++, n->r, &r, 0));
        if (n->b)
            TRY(add_bias(im, n, i, number++));
    }
    return CORNU_OK;
}

/* ---- results ------------------------------------------------------------------------------ */

/* A result of the node: that of a node of the model, with these axes. */
static void set_result(onnx_import *im, const recurrent_node *n, int output, int node,
                       const char *axes)
{
    onnx_step *s = &im->steps[im->at + output];
    onnx_take_node(im, node);
    s->value = (onnx_value){.name = s->node->output[output],
                            .node = node,
                            .shape = im->x.shape,
                            .steps = im->x.steps,
                            .order = ORDER_SEQUENCE,
                            .directions = output == OUTPUT_ALL && n->merged ? 1 : n->directions,
                            .reversed = output == OUTPUT_ALL && n->directions == 1 && n->reverse};
    snprintf(s->value.axes, sizeof s->value.axes, "%s", axes);
}

/* The state number `state` after the last step, of both directions beside each other. */
static cornu_status state_node(onnx_import *im, const recurrent_node *n, int first, int state,
                               int *out)
{
    const int nodes[DIRECTIONS_MOST] = {first + 1 + state, first + 1 + n->states + state};
    *out = nodes[0];
    if (n->directions == 1)
        return CORNU_OK;
    TRY(onnx_add_layer_on(im, nodes, n->directions, "Concatenate", "{}"));
    *out = im->x.node;
    return CORNU_OK;
}

static cornu_status set_results(onnx_import *im, const recurrent_node *n)
{
    const int first = im->x.node;
    const bool all = n->reads[OUTPUT_ALL], states = returns_state(n);
    int node = first;
    if (all)
        set_result(im, n, OUTPUT_ALL, first, n->last_axis ? "bsdu" : "sdbu");
    if (n->reads[OUTPUT_H]) {
        if (states)
            TRY(state_node(im, n, first, 0, &node));
        set_result(im, n, OUTPUT_H, node, n->last_axis ? "bdu" : "dbu");
    }
    if (n->reads[OUTPUT_C]) {
        TRY(state_node(im, n, first, 1, &node));
        set_result(im, n, OUTPUT_C, node, n->last_axis ? "bdu" : "dbu");
    }
    return CORNU_OK;
}

cornu_status onnx_import_recurrent(onnx_import *im)
{
    recurrent_node n = {.directions = 1};
    TRY(read_node(im, &n));
    TRY(add_layer(im, &n));
    TRY(add_weights(im, &n));
    return set_results(im, &n);
}
