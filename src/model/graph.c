/* The nodes of a model as a graph, and the order in which Keras lists the layers of one. */
#include "base/memory.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

/* ---- readers ---------------------------------------------------------------------------- */

/* Further outputs of the same call do not count. */
static int count_readers(const cornu_model *m, int number, int *last)
{
    int count = 0;
    for (int i = number + 1; i < m->node_count; i++)
        for (int k = 0; m->nodes[i].output == 0 && k < m->nodes[i].input_count; k++)
            if (m->nodes[i].inputs[k] == number) {
                count++;
                *last = i;
            }
    return count;
}

int model_only_reader(const cornu_model *m, int number)
{
    int reader = -1;
    return count_readers(m, number, &reader) == 1 ? reader : -1;
}

bool model_branches(const cornu_model *m)
{
    for (int i = 1; i < m->node_count; i++)
        if (m->nodes[i].call > 0 || m->nodes[i].output > 0 || m->nodes[i].input_count != 1 ||
            m->nodes[i].inputs[0] != i - 1)
            return true;
    return m->output_count > 1;
}

/* ---- limits ----------------------------------------------------------------------------- */

cornu_status model_check_open(const cornu_model *m, const doc *at)
{
    if (!m->compiled && !m->live)
        return CORNU_OK;
    return doc_fail(at,
                    "the model is %s; expected layers to be added, and outputs to be chosen, "
                    "before that",
                    m->live ? "in training" : "compiled");
}

cornu_status model_check_links(const cornu_model *m, const doc *at, int count)
{
    if (count <= MODEL_LINKS_MAX - m->link_count)
        return CORNU_OK;
    return doc_fail(at, "found more than %d inputs of layers in all; expected at most that many",
                    MODEL_LINKS_MAX);
}

/* ---- inputs and outputs ----------------------------------------------------------------- */

static bool is_output(const cornu_model *m, int number)
{
    for (int i = 0; i < m->output_count; i++)
        if (m->outputs[i].node == number)
            return true;
    return false;
}

/* Is it an InputLayer of the model, not of a submodel? */
static bool is_input(const cornu_model *m, int number)
{
    return m->nodes[number].input_count == 0;
}

/* Is it an output of the call of a submodel? */
static bool is_output_of(const cornu_model *m, int number, int call)
{
    for (int i = 0; call >= 0 && i < m->calls[call].output_count; i++)
        if (m->calls[call].outputs[i] == number)
            return true;
    return false;
}

/* Does a layer outside of this call of a submodel read the node, or is it an output there? */
static bool is_read_outside(const cornu_model *m, int number, int call)
{
    for (int i = number + 1; i < m->node_count; i++)
        for (int k = 0; k < m->nodes[i].input_count; k++)
            if (m->nodes[i].inputs[k] == number && !model_is_within(m, i, call))
                return true;
    return is_output(m, number) || is_output_of(m, number, m->calls[call].within);
}

/* `name` is that of a layer or of a call of a submodel. */
static cornu_status fail_unread(const cornu_model *m, const doc *at, const char *name)
{
    return doc_fail(at,
                    "%s: found no layer that reads its output, which is not one of the model's "
                    "outputs (%s%s); expected it among the `inputs` of a layer or the model's "
                    "`outputs`",
                    name, model_output_name(m, 0), m->output_count > 1 ? ", ..." : "");
}

/* A submodel may have outputs that nothing reads, but not those alone. */
static cornu_status check_call(const cornu_model *m, int call)
{
    const submodel_call *c = &m->calls[call];
    for (int i = 0; i < c->output_count; i++)
        if (is_read_outside(m, c->outputs[i], call))
            return CORNU_OK;
    return fail_unread(m, m->nodes[c->outputs[0]].layer->where, c->name);
}

/* Is an output of the call that is node number `number` read, or one of the model's or submodel's?
 */
static bool is_used(const cornu_model *m, int number)
{
    int reader;
    for (int i = number; i < number + model_outputs_of(m, number); i++)
        if (is_output(m, i) || is_output_of(m, i, m->nodes[i].within) ||
            count_readers(m, i, &reader) > 0)
            return true;
    return false;
}

cornu_status model_check_graph(const cornu_model *m)
{
    for (int i = 0; i < m->node_count; i++) {
        const model_node *n = &m->nodes[i];
        if (!layer_is_input(n->layer->kind) && n->output == 0 && !is_used(m, i))
            return fail_unread(m, n->layer->where, n->name);
    }
    for (int i = 0; i < m->call_count; i++)
        TRY(check_call(m, i));
    return CORNU_OK;
}

void model_find_before(const cornu_model *m, bool *needed)
{
    for (int i = m->node_count - 1; i >= 0; i--)
        for (int k = 0; needed[i] && k < m->nodes[i].input_count; k++)
            needed[m->nodes[i].inputs[k]] = true;
}

/* The shape of several rows, one after another. */
static void join_shape(shape *row, const shape *s)
{
    const int64_t before = row->rank > 0 ? row->dim[0] : 0;
    *row = (shape){1, {before + shape_elements(s)}};
}

void model_set_shapes(cornu_model *m)
{
    m->input = m->output = (shape){0};
    for (int i = 0; i < m->input_count; i++)
        join_shape(&m->input, model_input_shape(m, i));
    for (int i = 0; i < m->output_count; i++)
        join_shape(&m->output, model_output_shape(m, i));
    if (m->input_count == 1)
        m->input = *model_input_shape(m, 0);
    if (m->output_count == 1)
        m->output = *model_output_shape(m, 0);
}

cornu_status model_check_row(const cornu_model *m, const doc *at, const int *nodes, int count)
{
    int64_t row = 0;
    for (int i = 0; i < count; i++)
        row += shape_elements(&m->nodes[nodes[i]].out);
    if (row <= SHAPE_ELEMENTS_MAX)
        return CORNU_OK;
    return doc_fail(at, "found outputs of %lld numbers in all; expected at most 2^40",
                    (long long)row);
}

static cornu_status check_output(const cornu_model *m, const doc *at, const int *nodes, int i)
{
    const model_node *n = &m->nodes[nodes[i]];
    if (layer_is_input(n->layer->kind))
        return doc_fail(at,
                        "%s: found an input of the model as its output; expected the output of a "
                        "layer that computes",
                        n->name);
    for (int k = 0; k < i; k++)
        if (nodes[k] == nodes[i])
            return doc_fail(at, "%s: found this output twice; expected different outputs", n->name);
    return CORNU_OK;
}

cornu_status model_check_outputs(const cornu_model *m, const doc *at, const int *nodes, int count)
{
    if (count < 1 || count > MODEL_ENDS_MAX)
        return doc_fail(at, "found %d outputs; expected 1 to %d", count, MODEL_ENDS_MAX);
    for (int i = 0; i < count; i++)
        TRY(check_output(m, at, nodes, i));
    return CORNU_OK;
}

cornu_status model_choose_outputs(cornu_model *m, const doc *at, const int *nodes, int count)
{
    TRY(model_check_open(m, at));
    TRY(model_check_outputs(m, at, nodes, count));
    TRY(model_check_row(m, at, nodes, count));
    model_forget_output_keys(m);
    for (int i = 0; i < count; i++)
        m->outputs[i] = (model_output){.node = nodes[i], .weight = 1};
    m->output_count = count;
    m->outputs_chosen = true;
    m->functional |= model_branches(m);
    model_set_shapes(m);
    return CORNU_OK;
}

cornu_status model_order_inputs(cornu_model *m, const doc *at, const int *nodes, int count)
{
    for (int i = 0; i < m->input_count; i++) {
        int found = 0;
        for (int k = 0; k < count; k++)
            found += nodes[k] == m->inputs[i];
        if (found != 1)
            return doc_fail(at,
                            "%s: found this InputLayer %d times among the inputs; expected once",
                            model_input_name(m, i), found);
    }
    for (int k = 0; k < count; k++)
        if (!is_input(m, nodes[k]))
            return doc_fail(at, "%s: found a layer that is no InputLayer; expected those alone",
                            m->nodes[nodes[k]].layer->name);
    memcpy(m->inputs, nodes, (size_t)count * sizeof *nodes);
    model_set_shapes(m);
    return CORNU_OK;
}

/* ---- levels ----------------------------------------------------------------------------- */

/* A level is the model itself, or a call of a submodel: the calls of layers and of submodels that
   stand there side by side. Node number i is vertex i of a level, call number i of a submodel
   vertex node_count + i. */

int model_call_at(const cornu_model *m, int number, int within)
{
    int call = -1;
    for (int c = m->nodes[number].within; c >= 0 && c != within; c = m->calls[c].within)
        call = c;
    return call;
}

bool model_is_within(const cornu_model *m, int number, int within)
{
    int c = m->nodes[number].within;
    while (c >= 0 && c != within)
        c = m->calls[c].within;
    return c == within;
}

/* All outputs of a call are one vertex. */
static int vertex_of(const cornu_model *m, int number, int within)
{
    const int call = model_call_at(m, number, within);
    if (m->nodes[number].output > 0)
        number = m->nodes[number].inputs[0];
    return call < 0 ? number : m->node_count + call;
}

static bool is_call(const cornu_model *m, int vertex)
{
    return vertex >= m->node_count;
}

static const submodel_call *call_of(const cornu_model *m, int vertex)
{
    return &m->calls[vertex - m->node_count];
}

static int input_count(const cornu_model *m, int vertex)
{
    if (is_call(m, vertex))
        return call_of(m, vertex)->input_count;
    return layer_is_input(m->nodes[vertex].layer->kind) ? 0 : m->nodes[vertex].input_count;
}

static int input_of(const cornu_model *m, int vertex, int k, int within)
{
    if (is_call(m, vertex))
        return vertex_of(m, m->nodes[call_of(m, vertex)->inputs[k]].inputs[0], within);
    return vertex_of(m, m->nodes[vertex].inputs[k], within);
}

/* The vertices of the level, in the order in which they were made. Returns how many. */
static int list_vertices(const cornu_model *m, int within, int *vertices)
{
    int count = 0, last = -1;
    for (int i = 0; i < m->node_count; i++) {
        if (!model_is_within(m, i, within))
            continue;
        const int vertex = vertex_of(m, i, within);
        if (vertex != last)
            vertices[count++] = last = vertex;
    }
    return count;
}

bool model_level_branches(const cornu_model *m, int within)
{
    int before = -1;
    for (int i = 0; i < m->node_count; i++) {
        if (!model_is_within(m, i, within))
            continue;
        const int vertex = vertex_of(m, i, within);
        if (!is_call(m, vertex) && m->nodes[i].output > 0)
            return true;
        if (vertex == before)
            continue;
        const int number = is_call(m, vertex) ? call_of(m, vertex)->number : m->nodes[vertex].call;
        if (number > 0)
            return true;
        const int inputs = input_count(m, vertex);
        if (before < 0 ? inputs != 0 : inputs != 1 || input_of(m, vertex, 0, within) != before)
            return true;
        before = vertex;
    }
    return (within < 0 ? m->output_count : m->calls[within].output_count) > 1;
}

/* ---- the names of outputs ---------------------------------------------------------------- */

/* The call of a submodel that output number `output` comes from; -1: none. */
static int call_of_output(const cornu_model *m, int output)
{
    return model_call_at(m, m->outputs[output].node, -1);
}

const char *model_output_name(const cornu_model *m, int output)
{
    const int call = call_of_output(m, output);
    int count = 0;
    if (m->output_keys)
        return m->output_keys[output];
    for (int i = 0; call >= 0 && i < m->output_count; i++)
        count += call_of_output(m, i) == call;
    return count == 1 ? m->calls[call].name : m->nodes[m->outputs[output].node].name;
}

/* ---- Keras's order ---------------------------------------------------------------------- */

/* Keras lists the layers of a level by their depth, the longest way to an output; layers of one
   depth in the order in which a walk from the outputs to the inputs meets them. It runs calls by
   their depth, which for a call of a layer is at least that of the layer's later calls; calls
   of one depth in the order in which their depths become known (keras/src/ops/function.py,
   map_graph). What is within a submodel has the place of the submodel. */
typedef struct rank {
    int depth, turn; /* turn: in that order, from 1; 0: not yet; less: an input that is not read */
} rank;

typedef struct ranking {
    const cornu_model *m;
    int within;
    rank *members, *calls; /* of each vertex; members, layers and submodels, at their first calls */
    int *walked;           /* vertices, each after its inputs */
    bool *done;
    int member_turns, call_turns, count;
} ranking;

/* The vertex of the first call of what the vertex calls. */
static int first_vertex(const ranking *r, int vertex)
{
    const cornu_model *m = r->m;
    int first = vertex;
    if (is_call(m, vertex)) {
        const int s = call_of(m, vertex)->submodel;
        for (int i = 0; m->submodels[s].call_count > 1 && i < m->call_count; i++)
            if (m->calls[i].submodel == s && m->calls[i].within == r->within &&
                m->calls[i].number < call_of(m, first)->number)
                first = m->node_count + i;
        return first;
    }
    const layer *l = m->nodes[vertex].layer;
    for (int i = 0; l->call_count > 1 && i < m->node_count; i++)
        if (m->nodes[i].layer == l && m->nodes[i].within == r->within &&
            m->nodes[i].call < m->nodes[first].call)
            first = i;
    return first;
}

static void walk(ranking *r, int vertex)
{
    rank *member = &r->members[first_vertex(r, vertex)];
    if (r->done[vertex])
        return;
    if (member->turn == 0)
        member->turn = ++r->member_turns;
    for (int k = 0; k < input_count(r->m, vertex); k++)
        walk(r, input_of(r->m, vertex, k, r->within));
    r->done[vertex] = true;
    r->walked[r->count++] = vertex;
}

static void set_depth(ranking *r, int vertex, int depth)
{
    rank *call = &r->calls[vertex];
    if (call->turn == 0)
        call->turn = ++r->call_turns;
    if (call->depth < depth)
        call->depth = depth;
}

static void find_depths(ranking *r)
{
    for (int i = r->count - 1; i >= 0; i--) {
        const int vertex = r->walked[i];
        rank *member = &r->members[first_vertex(r, vertex)];
        set_depth(r, vertex, member->depth);
        member->depth = r->calls[vertex].depth;
        for (int k = 0; k < input_count(r->m, vertex); k++)
            set_depth(r, input_of(r->m, vertex, k, r->within), member->depth + 1);
    }
}

/* Inputs from which no output is computed come first of all that has depth 0, in their order. */
static void place_unread_inputs(ranking *r)
{
    const cornu_model *m = r->m;
    const int *inputs = r->within < 0 ? m->inputs : m->calls[r->within].inputs;
    const int count = r->within < 0 ? m->input_count : m->calls[r->within].input_count;
    for (int i = 0; i < count; i++)
        if (!r->done[inputs[i]]) {
            r->members[inputs[i]].turn = r->calls[inputs[i]].turn = i - count;
            r->done[inputs[i]] = true;
        }
}

static void ranking_free(ranking *r)
{
    free(r->members);
    free(r->calls);
    free(r->walked);
    free(r->done);
}

static cornu_status ranking_make(const cornu_model *m, int within, ranking *r)
{
    cornu_status status;
    const size_t count = (size_t)m->node_count + (size_t)m->call_count;
    *r = (ranking){.m = m, .within = within};
    TRY_GOTO(memory_new(count, sizeof *r->members, "layers", &r->members));
    TRY_GOTO(memory_new(count, sizeof *r->calls, "layers", &r->calls));
    TRY_GOTO(memory_new(count, sizeof *r->walked, "layers", &r->walked));
    TRY_GOTO(memory_new(count, sizeof *r->done, "layers", &r->done));
    const int ends = within < 0 ? m->output_count : m->calls[within].output_count;
    for (int i = 0; i < ends; i++)
        walk(r,
             vertex_of(m, within < 0 ? m->outputs[i].node : m->calls[within].outputs[i], within));
    place_unread_inputs(r);
    for (int i = m->node_count - 1; i >= 0; i--) /* nodes that nothing reads yet count as outputs */
        if (model_is_within(m, i, within))
            walk(r, vertex_of(m, i, within));
    find_depths(r);
    return CORNU_OK;
done:
    ranking_free(r);
    return status;
}

/* One of the things that are sorted. */
typedef struct ranked {
    rank rank;
    int vertex;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rank.depth != y->rank.depth)
        return y->rank.depth - x->rank.depth;
    return x->rank.turn != y->rank.turn ? x->rank.turn - y->rank.turn : x->vertex - y->vertex;
}

/* The vertices of a level in Keras's order: all calls or, if `first`, only the first one of each
   layer and submodel, by the layers' order. The caller frees *out. */
static cornu_status sort_level(const cornu_model *m, int within, bool first, ranked **out,
                               int *count)
{
    ranking r;
    int *vertices = NULL;
    cornu_status status;
    *out = NULL;
    *count = 0;
    TRY(ranking_make(m, within, &r));
    const size_t most = (size_t)m->node_count + (size_t)m->call_count;
    TRY_GOTO(memory_new(most, sizeof *vertices, "layers", &vertices));
    TRY_GOTO(memory_new(most, sizeof **out, "layers", out));
    const int all = list_vertices(m, within, vertices);
    for (int i = 0; i < all; i++)
        if (!first || first_vertex(&r, vertices[i]) == vertices[i])
            (*out)[(*count)++] =
                (ranked){first ? r.members[vertices[i]] : r.calls[vertices[i]], vertices[i]};
    qsort(*out, (size_t)*count, sizeof **out, by_rank);
done:
    free(vertices);
    ranking_free(&r);
    return status;
}

/* ---- the order of layers ------------------------------------------------------------------ */

/* Add the nodes of a level, and of the calls of submodels in it, to order[*count]: all of them or,
   if `first`, those of first calls alone, by the layers' order. */
static cornu_status order_level(const cornu_model *m, int within, bool first, int *order,
                                int *count)
{
    ranked *sorted;
    int vertices;
    cornu_status status = sort_level(m, within, first, &sorted, &vertices);
    for (int i = 0; status == CORNU_OK && i < vertices; i++) {
        const int vertex = sorted[i].vertex;
        if (is_call(m, vertex))
            status = order_level(m, vertex - m->node_count, first, order, count);
        else
            for (int k = 0; k < (first ? 1 : model_outputs_of(m, vertex)); k++)
                order[(*count)++] = vertex + k;
    }
    free(sorted);
    return status;
}

/* Give the layers this order, and their variables with them. */
static cornu_status reorder_layers(cornu_model *m)
{
    cornu_status status;
    int *order = NULL;
    variable *variables = NULL;
    int next = 0, count = 0;
    TRY_GOTO(memory_new((size_t)m->layer_count, sizeof *order, "layers", &order));
    TRY_GOTO(memory_new((size_t)m->weight_count, sizeof *variables, "layers", &variables));
    TRY_GOTO(order_level(m, -1, true, order, &count));
    if (m->weight_count > 0)
        memcpy(variables, m->variables, (size_t)m->weight_count * sizeof *variables);
    for (int i = 0; i < m->layer_count; i++) {
        layer *l = m->layers[i] = (layer *)(uintptr_t)m->nodes[order[i]].layer;
        if (l->weight_count > 0)
            memcpy(m->variables + next, variables + l->first_variable,
                   (size_t)l->weight_count * sizeof *variables);
        l->first_variable = next;
        next += l->weight_count;
    }
done:
    free(order);
    free(variables);
    return status;
}

/* ---- the order of nodes ------------------------------------------------------------------- */

static void renumber(int *nodes, int count, const int *to)
{
    for (int i = 0; i < count; i++)
        nodes[i] = to[nodes[i]];
}

/* Move the nodes to their places in `order`; `nodes` is a copy of them as they are. */
static void move_nodes(cornu_model *m, const int *order, const model_node *nodes, int *to)
{
    for (int i = 0; i < m->node_count; i++)
        to[order[i]] = i;
    for (int i = 0; i < m->node_count; i++) {
        m->nodes[i] = nodes[order[i]];
        renumber(m->nodes[i].inputs, m->nodes[i].input_count, to);
    }
    for (int i = 0; i < m->layer_count; i++)
        m->layers[i]->node = to[m->layers[i]->node];
    renumber(m->inputs, m->input_count, to);
    for (int i = 0; i < m->output_count; i++)
        m->outputs[i].node = to[m->outputs[i].node];
    m->last = to[m->last];
    for (int i = 0; i < m->call_count; i++) {
        renumber(m->calls[i].inputs, m->calls[i].input_count, to);
        renumber(m->calls[i].outputs, m->calls[i].output_count, to);
    }
}

static cornu_status reorder_nodes(cornu_model *m)
{
    cornu_status status;
    const size_t count = (size_t)m->node_count;
    int *order = NULL, *to = NULL, found = 0;
    model_node *nodes = NULL;
    TRY_GOTO(memory_new(count, sizeof *order, "layers", &order));
    TRY_GOTO(memory_new(count, sizeof *nodes, "layers", &nodes));
    TRY_GOTO(memory_new(count, sizeof *to, "layers", &to));
    TRY_GOTO(order_level(m, -1, false, order, &found));
    memcpy(nodes, m->nodes, count * sizeof *nodes);
    move_nodes(m, order, nodes, to);
done:
    free(order);
    free(nodes);
    free(to);
    return status;
}

cornu_status model_settle(cornu_model *m)
{
    TRY(reorder_layers(m));
    training_state_forget_callbacks(&m->training); /* the best weights have the old order */
    TRY(reorder_nodes(m));
    return CORNU_OK;
}
