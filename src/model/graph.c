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
        if (m->nodes[i].input_count != 1 || m->nodes[i].inputs[0] != i - 1)
            return true;
    return false;
}

cornu_status model_check_graph(const cornu_model *m)
{
    int reader;
    for (int i = 0; i < m->node_count - 1; i++)
        if (count_readers(m, i, &reader) == 0)
            return doc_fail(m->nodes[i].layer->where,
                            "%s: found no layer that reads its output; expected it among the "
                            "`inputs` of one, as only the last layer, %s, is the model's output",
                            m->nodes[i].layer->name, m->nodes[m->node_count - 1].layer->name);
    return CORNU_OK;
}

/* ---- Keras's order ---------------------------------------------------------------------- */

/* Keras lists layers by their depth, the longest way to the output; layers of one depth in the
   order in which a walk from the output to the inputs meets them (keras/src/ops/function.py,
   map_graph). */
typedef struct rank {
    layer *layer;
    int depth, turn; /* turn: in that walk */
} rank;

static void walk(const cornu_model *m, int number, rank *ranks, int *turn)
{
    if (ranks[number].turn > 0)
        return;
    ranks[number].turn = ++*turn;
    for (int k = 0; k < m->nodes[number].input_count; k++)
        walk(m, m->nodes[number].inputs[k], ranks, turn);
}

static void find_depths(const cornu_model *m, rank *ranks)
{
    for (int i = m->node_count - 1; i >= 0; i--)
        for (int k = 0; k < m->nodes[i].input_count; k++) {
            int *depth = &ranks[m->nodes[i].inputs[k]].depth;
            if (*depth <= ranks[i].depth)
                *depth = ranks[i].depth + 1;
        }
}

static int by_rank(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    return x->depth != y->depth ? y->depth - x->depth : x->turn - y->turn;
}

/* Put the layers, with their variables, in the order of the ranks. */
static void reorder(cornu_model *m, const rank *ranks, variable *variables)
{
    int next = 0;
    for (int i = 0; i < m->layer_count; i++) {
        layer *l = m->layers[i] = ranks[i].layer;
        memcpy(variables + next, m->variables + l->first_variable,
               (size_t)l->weight_count * sizeof *variables);
        l->first_variable = next;
        next += l->weight_count;
    }
    memcpy(m->variables, variables, (size_t)next * sizeof *variables);
}

cornu_status model_settle(cornu_model *m)
{
    cornu_status status;
    rank *ranks = NULL;
    variable *variables = NULL;
    int turn = 0;
    if (m->settled)
        return CORNU_OK;
    TRY_GOTO(memory_new((size_t)m->node_count, sizeof *ranks, "layers", &ranks));
    TRY_GOTO(memory_new((size_t)m->weight_count, sizeof *variables, "layers", &variables));
    for (int i = 0; i < m->layer_count; i++)
        ranks[m->layers[i]->node].layer = m->layers[i];
    walk(m, m->node_count - 1, ranks, &turn);
    find_depths(m, ranks);
    qsort(ranks, (size_t)m->node_count, sizeof *ranks, by_rank);
    reorder(m, ranks, variables);
    m->settled = true;
done:
    free(ranks);
    free(variables);
    return status;
}
