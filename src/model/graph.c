/* The nodes of a model as a graph, and the order in which Keras lists the layers of one. */
#include "base/memory.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

/* ---- readers ---------------------------------------------------------------------------- */

static int count_readers(const cornu_model *m, int number, int *last)
{
    int count = 0;
    for (int i = number + 1; i < m->node_count; i++)
        for (int k = 0; k < m->nodes[i].input_count; k++)
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
        if (m->nodes[i].call > 0 || m->nodes[i].input_count != 1 || m->nodes[i].inputs[0] != i - 1)
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

static bool is_input(const cornu_model *m, int number)
{
    return m->nodes[number].input_count == 0;
}

cornu_status model_check_graph(const cornu_model *m)
{
    int reader;
    for (int i = 0; i < m->node_count; i++)
        if (!is_output(m, i) && count_readers(m, i, &reader) == 0)
            return doc_fail(m->nodes[i].layer->where,
                            "%s: found no layer that reads its output, which is not one of the "
                            "model's outputs (%s%s); expected it among the `inputs` of a layer or "
                            "the model's `outputs`",
                            m->nodes[i].name, model_output_name(m, 0),
                            m->output_count > 1 ? ", ..." : "");
    return CORNU_OK;
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

/* Fail where the row of these nodes' outputs would be too long. */
static cornu_status check_row(const cornu_model *m, const doc *at, const int *nodes, int count,
                              const char *what)
{
    int64_t row = 0;
    for (int i = 0; i < count; i++)
        row += shape_elements(&m->nodes[nodes[i]].out);
    if (row <= SHAPE_ELEMENTS_MAX)
        return CORNU_OK;
    return doc_fail(at, "found %s of %lld numbers in all; expected at most 2^40", what,
                    (long long)row);
}

static cornu_status check_output(const cornu_model *m, const doc *at, const int *nodes, int i)
{
    const char *name = m->nodes[nodes[i]].name;
    if (is_input(m, nodes[i]))
        return doc_fail(at,
                        "%s: found an input of the model as its output; expected the output of a "
                        "layer that computes",
                        name);
    for (int k = 0; k < i; k++)
        if (nodes[k] == nodes[i])
            return doc_fail(at, "%s: found this output twice; expected different outputs", name);
    return CORNU_OK;
}

cornu_status model_choose_outputs(cornu_model *m, const doc *at, const int *nodes, int count)
{
    TRY(model_check_open(m, at));
    if (count < 1 || count > MODEL_ENDS_MAX)
        return doc_fail(at, "found %d outputs; expected 1 to %d", count, MODEL_ENDS_MAX);
    for (int i = 0; i < count; i++)
        TRY(check_output(m, at, nodes, i));
    TRY(check_row(m, at, nodes, count, "outputs"));
    model_forget_keys(m);
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

/* ---- Keras's order ---------------------------------------------------------------------- */

/* Keras lists layers by their depth, the longest way to an output; layers of one depth in the
   order in which a walk from the outputs to the inputs meets them. It runs calls by their depth,
   which for a call of a layer is at least that of the layer's calls behind it; calls of one depth
   in the order in which their depths become known (keras/src/ops/function.py, map_graph). */
typedef struct rank {
    int depth, turn; /* turn: in that order, from 1; 0: not yet */
} rank;

typedef struct ranking {
    rank *layers, *nodes; /* [node_count]: layers at their first calls */
    int *walked;          /* [node_count]: numbers of nodes, each after its inputs */
    bool *done;           /* [node_count] */
    int layer_turns, node_turns, count;
} ranking;

static void walk(const cornu_model *m, int number, ranking *r)
{
    const model_node *n = &m->nodes[number];
    rank *of_layer = &r->layers[n->layer->node];
    if (r->done[number])
        return;
    if (of_layer->turn == 0)
        of_layer->turn = ++r->layer_turns;
    for (int k = 0; k < n->input_count; k++)
        walk(m, n->inputs[k], r);
    r->done[number] = true;
    r->walked[r->count++] = number;
}

static void set_depth(ranking *r, int number, int depth)
{
    rank *n = &r->nodes[number];
    if (n->turn == 0)
        n->turn = ++r->node_turns;
    if (n->depth < depth)
        n->depth = depth;
}

static void find_depths(const cornu_model *m, ranking *r)
{
    for (int i = r->count - 1; i >= 0; i--) {
        const model_node *n = &m->nodes[r->walked[i]];
        rank *of_layer = &r->layers[n->layer->node];
        set_depth(r, r->walked[i], of_layer->depth);
        of_layer->depth = r->nodes[r->walked[i]].depth;
        for (int k = 0; k < n->input_count; k++)
            set_depth(r, n->inputs[k], of_layer->depth + 1);
    }
}

static void ranking_free(ranking *r)
{
    free(r->layers);
    free(r->nodes);
    free(r->walked);
    free(r->done);
}

static cornu_status ranking_make(const cornu_model *m, ranking *r)
{
    cornu_status status;
    const size_t count = (size_t)m->node_count;
    *r = (ranking){.count = 0};
    TRY_GOTO(memory_new(count, sizeof *r->layers, "layers", &r->layers));
    TRY_GOTO(memory_new(count, sizeof *r->nodes, "layers", &r->nodes));
    TRY_GOTO(memory_new(count, sizeof *r->walked, "layers", &r->walked));
    TRY_GOTO(memory_new(count, sizeof *r->done, "layers", &r->done));
    for (int i = 0; i < m->output_count; i++)
        walk(m, m->outputs[i].node, r);
    for (int i = m->node_count - 1; i >= 0;
         i--) /* what nothing reads yet, as if it were an output */
        walk(m, i, r);
    find_depths(m, r);
    return CORNU_OK;
done:
    ranking_free(r);
    return status;
}

/* One of the things that are sorted, and its place before. */
typedef struct ranked {
    rank rank;
    int from;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const rank *x = &((const ranked *)a)->rank, *y = &((const ranked *)b)->rank;
    return x->depth != y->depth ? y->depth - x->depth : x->turn - y->turn;
}

/* Put the layers, with their variables, in the order of their ranks. */
static cornu_status reorder_layers(cornu_model *m, const ranking *r)
{
    cornu_status status;
    ranked *order = NULL;
    layer **layers = NULL;
    variable *variables = NULL;
    int next = 0;
    TRY_GOTO(memory_new((size_t)m->layer_count, sizeof *order, "layers", &order));
    TRY_GOTO(memory_new((size_t)m->layer_count, sizeof *layers, "layers", &layers));
    TRY_GOTO(memory_new((size_t)m->weight_count, sizeof *variables, "layers", &variables));
    memcpy(layers, m->layers, (size_t)m->layer_count * sizeof *layers);
    if (m->weight_count > 0)
        memcpy(variables, m->variables, (size_t)m->weight_count * sizeof *variables);
    for (int i = 0; i < m->layer_count; i++)
        order[i] = (ranked){r->layers[layers[i]->node], i};
    qsort(order, (size_t)m->layer_count, sizeof *order, by_rank);
    for (int i = 0; i < m->layer_count; i++) {
        layer *l = m->layers[i] = layers[order[i].from];
        if (l->weight_count > 0)
            memcpy(m->variables + next, variables + l->first_variable,
                   (size_t)l->weight_count * sizeof *variables);
        l->first_variable = next;
        next += l->weight_count;
    }
done:
    free(order);
    free(layers);
    free(variables);
    return status;
}

/* Move the nodes to their places in `order`; `nodes` is a copy of them as they are. */
static void move_nodes(cornu_model *m, const ranked *order, const model_node *nodes, int *to)
{
    for (int i = 0; i < m->node_count; i++)
        to[order[i].from] = i;
    for (int i = 0; i < m->node_count; i++) {
        m->nodes[i] = nodes[order[i].from];
        for (int k = 0; k < m->nodes[i].input_count; k++)
            m->nodes[i].inputs[k] = to[m->nodes[i].inputs[k]];
    }
    for (int i = 0; i < m->layer_count; i++)
        m->layers[i]->node = to[m->layers[i]->node];
    for (int i = 0; i < m->input_count; i++)
        m->inputs[i] = to[m->inputs[i]];
    for (int i = 0; i < m->output_count; i++)
        m->outputs[i].node = to[m->outputs[i].node];
    m->last = to[m->last];
}

static cornu_status reorder_nodes(cornu_model *m, const ranking *r)
{
    cornu_status status;
    const size_t count = (size_t)m->node_count;
    ranked *order = NULL;
    model_node *nodes = NULL;
    int *to = NULL;
    TRY_GOTO(memory_new(count, sizeof *order, "layers", &order));
    TRY_GOTO(memory_new(count, sizeof *nodes, "layers", &nodes));
    TRY_GOTO(memory_new(count, sizeof *to, "layers", &to));
    memcpy(nodes, m->nodes, count * sizeof *nodes);
    for (int i = 0; i < m->node_count; i++)
        order[i] = (ranked){r->nodes[i], i};
    qsort(order, count, sizeof *order, by_rank);
    move_nodes(m, order, nodes, to);
done:
    free(order);
    free(nodes);
    free(to);
    return status;
}

cornu_status model_settle(cornu_model *m)
{
    ranking r;
    TRY(ranking_make(m, &r));
    training_state_forget_callbacks(&m->training); /* the best weights have the old order */
    cornu_status status = reorder_layers(m, &r);
    if (status == CORNU_OK)
        status = reorder_nodes(m, &r);
    ranking_free(&r);
    return status;
}
