/* Recurrent layers as ONNX's LSTM, GRU and RNN. In a plan such a layer is a product for all its
   steps, the recurrence, and rows of its output; one node has all of these and, of a Bidirectional
   that concatenates, or adds or multiplies the states of all steps, both directions. */
#include "exchange/onnx/onnx_export.h"
#include "exchange/onnx/onnx_recurrent.h"

/* ---- what a node has of the plan ---------------------------------------------------------- */

static bool reads(const op *o, tensor_ref t)
{
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (o->in[i] == t)
            return true;
    return false;
}

/* The operation that makes the tensor. */
static const op *maker_of(const plan *p, tensor_ref t)
{
    for (int i = 0; t != NO_TENSOR && i < p->op_count; i++)
        if (p->ops[i].out[0] == t)
            return &p->ops[i];
    return NULL;
}

static const op *reader_of(const plan *p, op_kind kind, int input, tensor_ref t)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == kind && p->ops[i].in[input] == t)
            return &p->ops[i];
    return NULL;
}

/* Is it the product for all steps of a recurrent layer? */
static bool is_product(const plan *p, const op *o)
{
    return o->kind == OP_DENSE_FORWARD && reader_of(p, OP_RECURRENT_FORWARD, 0, o->out[0]);
}

/* Is it a row of a recurrent layer's bias? */
static bool is_bias(const plan *p, const op *o)
{
    if (o->kind != OP_SLICE || p->tensors[o->in[0]].role == TENSOR_BUFFER)
        return false;
    const op *dense = reader_of(p, OP_DENSE_FORWARD, 2, o->out[0]);
    return reader_of(p, OP_RECURRENT_FORWARD, 2, o->out[0]) || (dense && is_product(p, dense));
}

/* The tensor (batch, units) that this slice of all steps' states is, if those are the states after
   the last step. */
static tensor_ref last_state(const plan *p, const op *slice)
{
    const op *o = slice->kind == OP_SLICE ? maker_of(p, slice->in[0]) : NULL;
    tensor_ref found = NO_TENSOR;
    if (!o || o->kind != OP_RECURRENT_FORWARD)
        return NO_TENSOR;
    const int64_t last = o->a.recurrent.to_last ? 0 : p->tensors[o->out[0]].shape.dim[1] - 1;
    if (slice->a.slice.axis != 1 || slice->a.slice.begin != last ||
        p->tensors[slice->out[0]].shape.dim[1] != 1 || slice->out[0] == p->output)
        return NO_TENSOR;
    for (int i = 0; i < p->op_count; i++)
        if (reads(&p->ops[i], slice->out[0]))
            return NO_TENSOR;
    for (tensor_ref t = 0; t < p->tensor_count; t++)
        if (p->tensors[t].alias == slice->out[0]) {
            if (found != NO_TENSOR || p->tensors[t].shape.rank != 2)
                return NO_TENSOR;
            found = t;
        }
    return found;
}

/* Is the state of each step read, not only that after the last one? */
static bool needs_all(const plan *p, tensor_ref h)
{
    bool needed = h == p->output;
    for (tensor_ref t = 0; t < p->tensor_count; t++)
        needed |= p->tensors[t].alias == h;
    for (int i = 0; i < p->op_count && !needed; i++)
        needed = reads(&p->ops[i], h) && last_state(p, &p->ops[i]) == NO_TENSOR;
    return needed;
}

/* Is it the sum or the product of two tensors of one shape? */
static bool is_merge(const plan *p, const op *o)
{
    return (o->kind == OP_ADD ||
            (o->kind == OP_BINARY_FORWARD && o->a.binary.kind == BINARY_MULTIPLY)) &&
           o->in[0] != o->in[1] &&
           shape_equal(&p->tensors[o->in[0]].shape, &p->tensors[o->in[1]].shape);
}

/* The operation that merges this tensor with another one. */
static const op *merge_reading(const plan *p, tensor_ref t)
{
    for (int i = 0; i < p->op_count; i++)
        if (is_merge(p, &p->ops[i]) && (p->ops[i].in[0] == t || p->ops[i].in[1] == t))
            return &p->ops[i];
    return NULL;
}

/* The tensor that all of the layer's output is a part of, and nothing else reads that; NO_TENSOR:
   there is none. *is_last: the output is the state after the last step. */
static tensor_ref whole_of(const plan *p, const op *o, bool *is_last)
{
    const tensor_ref h = o->out[0];
    tensor_ref part = h;
    int readers = 0;
    *is_last = !needs_all(p, h);
    if (o->out[2] != NO_TENSOR || o->in[3] != NO_TENSOR)
        return NO_TENSOR;
    for (int i = 0; i < p->op_count; i++)
        if (reads(&p->ops[i], h)) {
            part = *is_last ? last_state(p, &p->ops[i]) : h;
            readers++;
        }
    const op *insert = readers == 1 ? reader_of(p, OP_INSERT, 0, part) : NULL;
    const op *merge = readers == 1 && !*is_last ? merge_reading(p, part) : NULL;
    const bool of_outputs = insert && insert->out[0] == p->output && p->model->output_count > 1;
    if (insert && (of_outputs || insert->a.slice.axis != p->tensors[part].shape.rank - 1))
        return NO_TENSOR;
    if (!insert && !merge)
        return NO_TENSOR;
    readers = part == p->output;
    for (tensor_ref t = 0; t < p->tensor_count; t++)
        readers += p->tensors[t].alias == part;
    for (int i = 0; i < p->op_count; i++)
        readers += reads(&p->ops[i], part);
    return readers == 1 ? (insert ? insert : merge)->out[0] : NO_TENSOR;
}

/* A node of the graph. */
typedef struct recurrent_node {
    const op *op[2]; /* of each direction */
    int directions;
    bool is_last;     /* of two: their output is the state after the last step */
    tensor_ref whole; /* of two: what they give */
    const op *merge;  /* of two: it makes that of them; NULL: they are beside each other */
} recurrent_node;

static bool same_activation(activation a, activation b)
{
    return a.kind == b.kind && a.alpha <= b.alpha && a.alpha >= b.alpha;
}

/* Are these the directions of one node, the first forward and the second backward? */
static bool is_pair(const plan *p, const op *a, const op *b, bool is_last)
{
    const recurrence *f = &a->a.recurrent, *r = &b->a.recurrent;
    const op *x = maker_of(p, a->in[0]), *y = maker_of(p, b->in[0]);
    return f->cell == r->cell && same_activation(f->act, r->act) &&
           same_activation(f->gate, r->gate) && !f->from_last && !f->to_last && r->from_last &&
           r->to_last != is_last &&
           shape_equal(&p->tensors[a->out[0]].shape, &p->tensors[b->out[0]].shape) && x && y &&
           x->in[0] == y->in[0] && (x->in[2] == NO_TENSOR) == (y->in[2] == NO_TENSOR);
}

/* The node that has this operation. */
static recurrent_node node_of(const plan *p, const op *o)
{
    recurrent_node n = {.op = {o}, .directions = 1};
    const op *pair[2] = {NULL, NULL};
    int inserts = 0;
    bool is_last;
    n.whole = whole_of(p, o, &n.is_last);
    if (n.whole == NO_TENSOR)
        return n;
    for (int i = 0; i < p->op_count; i++) {
        inserts += p->ops[i].kind == OP_INSERT && p->ops[i].out[0] == n.whole;
        if (p->ops[i].kind == OP_RECURRENT_FORWARD &&
            whole_of(p, &p->ops[i], &is_last) == n.whole && is_last == n.is_last) {
            pair[0] = pair[1];
            pair[1] = &p->ops[i];
        }
    }
    const op *merge = inserts == 0 ? maker_of(p, n.whole) : NULL;
    if ((inserts != 2 && !merge) || !pair[0] || !is_pair(p, pair[0], pair[1], n.is_last))
        return n;
    n.merge = merge;
    n.directions = 2;
    n.op[0] = pair[0];
    n.op[1] = pair[1];
    return n;
}

bool onnx_is_within_recurrent(const plan *p, const op *o)
{
    if (o->kind == OP_RECURRENT_FORWARD) { /* the node stands where the second direction does */
        const recurrent_node n = node_of(p, o);
        return n.directions == 2 && n.op[0] == o;
    }
    if (o->kind != OP_INSERT && !is_merge(p, o))
        return is_product(p, o) || is_bias(p, o) || last_state(p, o) != NO_TENSOR;
    for (int i = 0; i < p->op_count; i++) {
        const op *r = &p->ops[i];
        if (r->kind != OP_RECURRENT_FORWARD)
            continue;
        const recurrent_node n = node_of(p, r);
        if (n.directions == 2 && n.whole == o->out[0])
            return true;
    }
    return false;
}

/* ---- weights ------------------------------------------------------------------------------ */

/* A variable's values, or those of a row of one. */
static const float *values_of(const onnx_export *e, tensor_ref t)
{
    const tensor *w = t == NO_TENSOR ? NULL : &e->plan->tensors[t];
    if (!w)
        return NULL;
    if (w->role != TENSOR_BUFFER)
        return e->plan->model->variables[w->variable].value;
    const op *row = maker_of(e->plan, t);
    return values_of(e, row->in[0]) + row->a.slice.begin * w->shape.dim[1];
}

typedef struct cell_sizes {
    recurrent_cell cell;
    int64_t units, gates;
} cell_sizes;

static cell_sizes sizes_of(const onnx_export *e, const recurrent_node *n)
{
    const recurrent_cell cell = n->op[0]->a.recurrent.cell;
    return (cell_sizes){.cell = cell,
                        .units = e->plan->tensors[n->op[0]->out[0]].shape.dim[2],
                        .gates = recurrent_gates(cell)};
}

/* [rows][gates][units], NULL: zeros, as [ONNX's gates][units][rows]; returns its end. */
static float *add_gates(const cell_sizes *s, const float *from, int64_t rows, float *to)
{
    for (int k = 0; k < s->gates; k++)
        for (int64_t u = 0; u < s->units; u++)
            for (int64_t i = 0; i < rows; i++)
                *to++ = from ? from[(i * s->gates + onnx_gate(s->cell, k)) * s->units + u] : 0;
    return to;
}

/* The weights of a step's features (0) or of the state (1). */
static const char *add_kernels(onnx_export *e, const recurrent_node *n, const char *base, int which)
{
    const cell_sizes s = sizes_of(e, n);
    tensor_ref w[2] = {NO_TENSOR, NO_TENSOR};
    for (int i = 0; i < n->directions; i++)
        w[i] = which ? n->op[i]->in[1] : maker_of(e->plan, n->op[i]->in[0])->in[1];
    const int64_t rows = e->plan->tensors[w[0]].shape.dim[0];
    const char *name = onnx_name(e, base, which ? "R" : "W");
    float *to = onnx_graph_new_tensor(e->graph, name, ONNX_FLOAT,
                                      (const int64_t[]){n->directions, s.gates * s.units, rows}, 3);
    for (int i = 0; to && i < n->directions; i++)
        to = add_gates(&s, values_of(e, w[i]), rows, to);
    return name;
}

/* The bias of a step's features, then that of the state, which only a GRU has that is reset after
   its product. */
static const char *add_biases(onnx_export *e, const recurrent_node *n, const char *base)
{
    const cell_sizes s = sizes_of(e, n);
    if (maker_of(e->plan, n->op[0]->in[0])->in[2] == NO_TENSOR)
        return NULL;
    const char *name = onnx_name(e, base, "B");
    float *to = onnx_graph_new_tensor(e->graph, name, ONNX_FLOAT,
                                      (const int64_t[]){n->directions, 2 * s.gates * s.units}, 2);
    for (int i = 0; to && i < n->directions; i++) {
        to = add_gates(&s, values_of(e, maker_of(e->plan, n->op[i]->in[0])->in[2]), 1, to);
        to = add_gates(&s, values_of(e, n->op[i]->in[2]), 1, to);
    }
    return name;
}

/* ---- the node ----------------------------------------------------------------------------- */

/* Operators on one input, and a list of one axis. */
static void with_axis(onnx_export *e, const char *kind, const char *x, int64_t axis, const char *y)
{
    onnx_apply(e, kind, x, onnx_index(e, onnx_name(e, y, "axes"), axis), y);
}

static const char *initial(onnx_export *e, tensor_ref state, const char *base, const char *suffix)
{
    if (state == NO_TENSOR)
        return NULL;
    const char *name = onnx_name(e, base, suffix);
    with_axis(e, "Unsqueeze", onnx_plain(e, state), 0, name);
    return name;
}

enum { ACTIVATIONS_MOST = 6 };

static void add_activations(onnx_export *e, onnx_node *node, const recurrent_node *n)
{
    const recurrence *r = &n->op[0]->a.recurrent;
    const int count = onnx_recurrent_activations(r->cell);
    const char *names[ACTIVATIONS_MOST];
    float alphas[ACTIVATIONS_MOST], betas[ACTIVATIONS_MOST];
    int used[3] = {0};
    for (int i = 0; i < n->directions * count; i++) {
        const bool gate = count > 1 && i % count == 0;
        const activation a = gate ? r->gate : r->act;
        const onnx_recurrent_activation *row = onnx_recurrent_activation_of(a.kind, NULL);
        if (!row) {
            e->status = status_fail(CORNU_UNSUPPORTED,
                                    "%s: %s: found %s; expected tanh, sigmoid, hard_sigmoid, relu, "
                                    "leaky_relu, elu or linear, which ONNX has in recurrent layers",
                                    n->op[0]->name, gate ? "recurrent_activation" : "activation",
                                    activation_name(a.kind));
            return;
        }
        names[used[0]++] = row->name;
        const bool hard = a.kind == ACTIVATION_HARD_SIGMOID;
        if (row->numbers > 0)
            alphas[used[1]++] = hard ? 1 / 6.0f : a.kind == ACTIVATION_LINEAR ? 1 : a.alpha;
        if (row->numbers > 1)
            betas[used[2]++] = hard ? 0.5f : 0;
    }
    onnx_node_texts(e->graph, node, "activations", names, used[0]);
    if (used[1] > 0)
        onnx_node_reals(e->graph, node, "activation_alpha", alphas, used[1]);
    if (used[2] > 0)
        onnx_node_reals(e->graph, node, "activation_beta", betas, used[2]);
}

/* The outputs of a node, in its order. */
typedef struct node_outputs {
    const char *all, *h, *c;
} node_outputs;

static node_outputs add_node(onnx_export *e, const recurrent_node *n, const char *base)
{
    static const char *const kinds[] = {[CELL_SIMPLE] = "RNN",
                                        [CELL_LSTM] = "LSTM",
                                        [CELL_GRU_AFTER] = "GRU",
                                        [CELL_GRU_BEFORE] = "GRU"};
    static const int order[3] = {1, 0, 2};
    const op *o = n->op[0];
    const recurrence *r = &o->a.recurrent;
    const char *x = onnx_name(e, base, "x");
    const node_outputs y = {onnx_name(e, base, "steps"), onnx_name(e, base, "h"),
                            onnx_name(e, base, "c")};
    onnx_transpose(e, onnx_plain(e, maker_of(e->plan, o->in[0])->in[0]), x, order, 3);
    const char *const inputs[] = {x,
                                  add_kernels(e, n, base, 0),
                                  add_kernels(e, n, base, 1),
                                  add_biases(e, n, base),
                                  NULL,
                                  initial(e, o->in[3], base, "initial_h"),
                                  initial(e, o->in[4], base, "initial_c")};
    onnx_node *node = onnx_graph_node(e->graph, kinds[r->cell], inputs, 7, y.all);
    onnx_node_output(e->graph, node, y.h);
    if (r->cell == CELL_LSTM)
        onnx_node_output(e->graph, node, y.c);
    onnx_node_int(e->graph, node, "hidden_size", sizes_of(e, n).units);
    onnx_node_text(e->graph, node, "direction",
                   n->directions == 2 ? "bidirectional"
                   : r->from_last     ? "reverse"
                                      : "forward");
    if (r->cell == CELL_GRU_AFTER)
        onnx_node_int(e->graph, node, "linear_before_reset", 1);
    add_activations(e, node, n);
    return y;
}

/* The sum or the product of both directions of each step. */
static void merge_directions(onnx_export *e, const recurrent_node *n, const char *all)
{
    static const int order[3] = {1, 0, 2};
    const int64_t directions = 1;
    const char *name = onnx_result(e, n->whole, false), *merged = onnx_name(e, name, "merged");
    onnx_node *node;
    if (n->merge->kind == OP_ADD) {
        node =
            onnx_apply(e, "ReduceSum", all, onnx_index(e, onnx_name(e, merged, "axes"), 1), merged);
    } else {
        node = onnx_apply(e, "ReduceProd", all, NULL, merged);
        onnx_node_ints(e->graph, node, "axes", &directions, 1);
    }
    onnx_node_int(e->graph, node, "keepdims", 0);
    onnx_transpose(e, merged, name, order, 3);
}

/* Both directions of each step, or of the last ones, beside each other. */
static void join_directions(onnx_export *e, const recurrent_node *n, const node_outputs *y)
{
    static const int steps[4] = {2, 0, 1, 3}, last[3] = {1, 0, 2};
    const shape *s = &e->plan->tensors[n->whole].shape;
    const int64_t rank = s->rank;
    const char *name = onnx_result(e, n->whole, false), *ordered = onnx_name(e, name, "ordered");
    const char *sizes = onnx_name(e, name, "shape");
    int64_t *size = onnx_graph_new_tensor(e->graph, sizes, ONNX_INT64, &rank, 1);
    for (int i = 1; size && i < rank; i++)
        size[i] = s->dim[i];
    if (n->is_last)
        onnx_transpose(e, y->h, ordered, last, 3);
    else
        onnx_transpose(e, y->all, ordered, steps, 4);
    onnx_apply(e, "Reshape", ordered, sizes, name);
}

/* The state of each step, in the plan's order of steps. */
static void add_all(onnx_export *e, const op *o, const char *all)
{
    static const int order[3] = {1, 0, 2};
    const recurrence *r = &o->a.recurrent;
    const char *y = onnx_result(e, o->out[0], false), *one = onnx_name(e, y, "one_direction");
    if (r->from_last != r->to_last) {
        const char *reversed = onnx_name(e, y, "reversed");
        const int64_t steps = e->plan->tensors[o->out[0]].shape.dim[1];
        const char *const inputs[] = {all, onnx_index(e, onnx_name(e, y, "starts"), -1),
                                      onnx_index(e, onnx_name(e, y, "ends"), -steps - 1),
                                      onnx_index(e, onnx_name(e, y, "axes"), 0),
                                      onnx_index(e, onnx_name(e, y, "by"), -1)};
        onnx_graph_node(e->graph, "Slice", inputs, 5, reversed);
        all = reversed;
    }
    with_axis(e, "Squeeze", all, 1, one);
    onnx_transpose(e, one, y, order, 3);
}

void onnx_add_recurrent(onnx_export *e, const op *o)
{
    const plan *p = e->plan;
    const recurrent_node n = node_of(p, o);
    const tensor_ref h = o->out[0];
    const node_outputs y = add_node(e, &n, p->tensors[n.directions == 2 ? n.whole : h].name);
    if (n.directions == 2) {
        if (n.merge)
            merge_directions(e, &n, y.all);
        else
            join_directions(e, &n, &y);
        return;
    }
    if (needs_all(p, h))
        add_all(e, o, y.all);
    for (int i = 0; i < p->op_count; i++) {
        const tensor_ref last = p->ops[i].kind == OP_SLICE && p->ops[i].in[0] == h
                                    ? last_state(p, &p->ops[i])
                                    : NO_TENSOR;
        if (last != NO_TENSOR)
            with_axis(e, "Squeeze", y.h, 0, onnx_result(e, last, false));
    }
    if (o->out[2] != NO_TENSOR)
        with_axis(e, "Squeeze", y.c, 0, onnx_result(e, o->out[2], false));
}
