#include "model/submodels.h"
#include "base/memory.h"
#include "model/build.h"
#include <stdlib.h>
#include <string.h>

/* ---- finding ---------------------------------------------------------------------------- */

int submodel_call_number(const cornu_model *m, int number_of, int number)
{
    for (int i = 0; i < m->call_count; i++)
        if (m->calls[i].submodel == number_of && m->calls[i].number == number)
            return i;
    return -1;
}

int submodel_level(const cornu_model *m, int number)
{
    return number < 0 ? -1 : submodel_call_number(m, number, 0);
}

bool submodel_is_functional(const cornu_model *m, int number)
{
    return number < 0 ? m->functional : m->submodels[number].functional;
}

int submodel_find(const cornu_model *m, const char *name)
{
    for (int i = 0; i < m->submodel_count; i++)
        if (strcmp(m->submodels[i].name, name) == 0)
            return i;
    return -1;
}

/* The submodel of `owner` in which the layer is; -1: the layer is owner's own. */
static int between(const cornu_model *m, const layer *l, int owner)
{
    int found = -1;
    for (int s = l->owner; s >= 0 && s != owner; s = m->submodels[s].owner)
        found = s;
    return found;
}

bool submodel_is_in(const cornu_model *m, int number, int around)
{
    while (number >= 0 && number != around)
        number = m->submodels[number].owner;
    return number == around;
}

bool model_next_member(const cornu_model *m, int owner, model_member *at)
{
    int i = at->end;
    while (i < m->layer_count && !submodel_is_in(m, m->layers[i]->owner, owner))
        i++;
    if (i >= m->layer_count)
        return false;
    const int s = between(m, m->layers[i], owner);
    *at = (model_member){
        .layer = s < 0 ? m->layers[i] : NULL, .submodel = s, .first = i, .end = i + 1};
    while (s >= 0 && at->end < m->layer_count && submodel_is_in(m, m->layers[at->end]->owner, s))
        at->end++;
    return true;
}

const char *model_member_name(const cornu_model *m, const model_member *of)
{
    return model_own_name(of->layer ? of->layer->name : m->submodels[of->submodel].name);
}

const char *model_member_class(const cornu_model *m, const model_member *of)
{
    if (of->layer)
        return of->layer->kind->name;
    return m->submodels[of->submodel].functional ? "Functional" : "Sequential";
}

model_source model_source_of(const cornu_model *m, int node, int within)
{
    const int call = model_call_at(m, node, within);
    if (call < 0)
        return (model_source){model_own_name(m->nodes[node].layer->name), -1, m->nodes[node].call,
                              m->nodes[node].output};
    const submodel_call *c = &m->calls[call];
    int output = 0;
    while (output < c->output_count - 1 && c->outputs[output] != node)
        output++;
    return (model_source){model_own_name(m->submodels[c->submodel].name), c->submodel, c->number,
                          output};
}

int model_member_call(const cornu_model *m, const model_member *of, int call)
{
    const int owner = of->layer ? of->layer->owner : m->submodels[of->submodel].owner;
    const int found =
        of->layer ? model_call(m, of->layer, call) : submodel_call_number(m, of->submodel, call);
    if (found < 0)
        return -1;
    const int within = of->layer ? m->nodes[found].within : m->calls[found].within;
    return within == submodel_level(m, owner) ? found : -1;
}

int model_member_input_count(const cornu_model *m, const model_member *of, int call)
{
    if (!of->layer)
        return m->calls[call].input_count;
    return layer_is_input(of->layer->kind) ? 0 : m->nodes[call].input_count;
}

int model_member_input(const cornu_model *m, const model_member *of, int call, int k)
{
    return of->layer ? m->nodes[call].inputs[k] : m->nodes[m->calls[call].inputs[k]].inputs[0];
}

/* ---- making ----------------------------------------------------------------------------- */

static cornu_status check_depth(const cornu_model *m, const doc *at)
{
    int depth = 1;
    for (int c = m->within; c >= 0; c = m->calls[c].within)
        depth++;
    if (depth > SUBMODEL_DEPTH_MAX)
        return doc_fail(at,
                        "found a model within %d others; expected models within each other at most "
                        "%d deep",
                        depth, SUBMODEL_DEPTH_MAX);
    return CORNU_OK;
}

/* The names of its weights begin with its own: one that files have for other tensors cannot be. */
static cornu_status check_name(const submodel *s, const doc *at)
{
    static const char *const kept[] = {"optimizer", "callbacks"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcmp(s->name, kept[i]) == 0)
            return doc_fail(at,
                            "found a model called %s; expected another name: files keep the state "
                            "of training under this one",
                            s->name);
    return CORNU_OK;
}

/* Add a call, and make it the one that is built. Takes `name`. */
static cornu_status add_call(cornu_model *m, int of, char *name)
{
    size_t capacity = (size_t)m->call_count;
    const submodel_call c = {
        .name = name, .submodel = of, .number = m->submodels[of].call_count, .within = m->within};
    cornu_status status = memory_grow(&m->calls, &capacity, capacity + 1, sizeof *m->calls);
    if (status != CORNU_OK) {
        free(name);
        return status;
    }
    m->submodels[of].call_count++;
    m->calls[m->call_count] = c;
    m->within = m->call_count++;
    return CORNU_OK;
}

cornu_status submodel_begin(cornu_model *m, const char *name, const doc *at)
{
    size_t capacity = (size_t)m->submodel_count;
    submodel s = {.owner = model_owner(m), .trainable = true};
    char *same;
    TRY(model_check_room(m, at));
    TRY(check_depth(m, at));
    TRY(memory_grow(&m->submodels, &capacity, capacity + 1, sizeof *m->submodels));
    TRY(name ? model_chosen_name(m, name, at, &s.name) : model_automatic_name(m, "model", &s.name));
    cornu_status status = check_name(&s, at);
    if (status == CORNU_OK)
        status = memory_copy_string(s.name, &same);
    if (status != CORNU_OK) {
        free(s.name);
        return status;
    }
    m->submodels[m->submodel_count++] = s;
    return add_call(m, m->submodel_count - 1, same);
}

static cornu_status take_input(cornu_model *m, const doc *at, int node)
{
    submodel_call *c = &m->calls[m->within];
    if (c->input_count >= MODEL_ENDS_MAX)
        return doc_fail(at, "found more than %d inputs of %s; expected at most that many",
                        MODEL_ENDS_MAX, c->name);
    c->inputs[c->input_count++] = node;
    return CORNU_OK;
}

cornu_status submodel_add_inputs(cornu_model *m, const doc *at, const int *nodes, int count,
                                 const char *const *names)
{
    for (int i = 0; i < count; i++) {
        const shape input = m->nodes[nodes[i]].out;
        TRY(model_add_input_on(m, at, names ? names[i] : NULL, &input, &nodes[i], 1));
        TRY(take_input(m, at, m->node_count - 1));
    }
    return CORNU_OK;
}

cornu_status submodel_order_inputs(cornu_model *m, const doc *at, const int *nodes, int count)
{
    m->calls[m->within].input_count = 0;
    for (int i = 0; i < count; i++)
        TRY(take_input(m, at, nodes[i]));
    return CORNU_OK;
}

/* A call of a submodel has come: its outputs may be the model's. */
static cornu_status take_end(cornu_model *m, const doc *at, const submodel_call *c)
{
    if (m->within >= 0)
        return CORNU_OK;
    if (!m->outputs_chosen)
        TRY(model_check_row(m, at, c->outputs, c->output_count));
    model_take_end(m, c->outputs, c->output_count);
    return CORNU_OK;
}

cornu_status submodel_end(cornu_model *m, const doc *at, const int *outputs, int count,
                          bool functional)
{
    submodel_call *c = &m->calls[m->within];
    submodel *s = &m->submodels[c->submodel];
    TRY(model_check_outputs(m, at, outputs, count));
    memcpy(c->outputs, outputs, (size_t)count * sizeof *outputs);
    c->output_count = count;
    s->functional = functional || model_level_is_functional(m, m->within);
    m->within = c->within;
    return take_end(m, at, c);
}

/* ---- further calls ----------------------------------------------------------------------- */

/* A submodel's nodes while they are repeated. */
typedef struct repetition {
    int first;         /* the call that is repeated */
    const int *inputs; /* the new call's */
    int *nodes;        /* [node_count] of each node its copy */
    int *calls;        /* [call_count] of each call its copy; -1: none */
    size_t prefix;     /* bytes of the first call's name */
    const char *name;  /* the new call's */
} repetition;

/* Go to the copy of a call, which is made where there is none yet. */
static cornu_status enter(cornu_model *m, repetition *r, int call)
{
    char *name;
    if (r->calls[call] < 0) {
        TRY(enter(m, r, m->calls[call].within));
        TRY(memory_format(&name, "%s%s", r->name, m->calls[call].name + r->prefix));
        TRY(add_call(m, m->calls[call].submodel, name));
        r->calls[call] = m->within;
    }
    m->within = r->calls[call];
    return CORNU_OK;
}

/* The node that the copy of node `number` reads as its input `k`. */
static int read_by_copy(const cornu_model *m, const repetition *r, int number, int k)
{
    const submodel_call *c = &m->calls[r->first];
    for (int i = 0; i < c->input_count; i++)
        if (c->inputs[i] == number)
            return r->inputs[i];
    return r->nodes[m->nodes[number].inputs[k]];
}

static cornu_status repeat_node(cornu_model *m, repetition *r, const doc *at, int number)
{
    cornu_status status;
    const int count = m->nodes[number].input_count;
    int *inputs = NULL;
    char *name = NULL;
    TRY(enter(m, r, m->nodes[number].within));
    TRY_GOTO(memory_new((size_t)count + 1, sizeof *inputs, "layers", &inputs));
    for (int k = 0; k < count; k++)
        inputs[k] = read_by_copy(m, r, number, k);
    TRY_GOTO(memory_format(&name, "%s%s", r->name, m->nodes[number].name + r->prefix));
    TRY_GOTO(model_repeat(m, (layer *)(uintptr_t)m->nodes[number].layer, at, name, inputs, count));
    r->nodes[number] = m->last;
    for (int k = 1; k < model_outputs_of(m, number); k++)
        r->nodes[number + k] = m->last + k;
done:
    free(inputs);
    free(name);
    return status;
}

static void copy_ends(cornu_model *m, const repetition *r, int calls)
{
    for (int i = 0; i < calls; i++) {
        const submodel_call *from = &m->calls[i];
        if (r->calls[i] < 0)
            continue;
        submodel_call *to = &m->calls[r->calls[i]];
        to->input_count = from->input_count;
        to->output_count = from->output_count;
        for (int k = 0; k < from->input_count; k++)
            to->inputs[k] = r->nodes[from->inputs[k]];
        for (int k = 0; k < from->output_count; k++)
            to->outputs[k] = r->nodes[from->outputs[k]];
    }
}

static cornu_status repeat(cornu_model *m, repetition *r, const doc *at)
{
    const int nodes = m->node_count, calls = m->call_count, within = m->within;
    cornu_status status;
    TRY_GOTO(memory_new((size_t)nodes, sizeof *r->nodes, "layers", &r->nodes));
    TRY_GOTO(memory_new((size_t)calls, sizeof *r->calls, "layers", &r->calls));
    for (int i = 0; i < calls; i++)
        r->calls[i] = -1;
    r->calls[r->first] = within;
    for (int i = 0; i < nodes; i++)
        if (m->nodes[i].output == 0 && model_is_within(m, i, r->first))
            TRY_GOTO(repeat_node(m, r, at, i));
    copy_ends(m, r, calls);
    m->within = m->calls[within].within;
done:
    free(r->nodes);
    free(r->calls);
    return status;
}

cornu_status submodel_call_again(cornu_model *m, int number, const doc *at, const char *name,
                                 const int *inputs, int count)
{
    const submodel *s = &m->submodels[number];
    const int first = submodel_call_number(m, number, 0);
    char *own = NULL;
    if (m->calls[first].input_count != count)
        return doc_fail(at, "%s (%s): found %d inputs; expected %d", s->name,
                        s->functional ? "Functional" : "Sequential", count,
                        m->calls[first].input_count);
    TRY(name ? model_chosen_name(m, name, at, &own)
             : model_call_name(m, s->name, s->call_count + 1, &own));
    TRY(add_call(m, number, own));
    const int call = m->within;
    repetition r = {.first = first,
                    .inputs = inputs,
                    .prefix = strlen(m->calls[first].name),
                    .name = m->calls[call].name};
    TRY(repeat(m, &r, at));
    return take_end(m, at, &m->calls[call]);
}

/* ---- undoing ----------------------------------------------------------------------------- */

model_mark model_mark_now(const cornu_model *m)
{
    model_mark mark = {
        .layers = m->layer_count,
        .nodes = m->node_count,
        .last = m->last,
        .links = m->link_count,
        .variables = m->variable_count,
        .submodels = m->submodel_count,
        .calls = m->call_count,
        .within = m->within,
        .inputs = m->input_count,
        .outputs = m->output_count,
        .functional = m->functional,
        .initialized = m->initialized,
    };
    memcpy(mark.output, m->outputs, sizeof mark.output);
    return mark;
}

void model_go_back(cornu_model *m, const model_mark *mark)
{
    while (m->node_count > mark->nodes) {
        model_node *n = &m->nodes[--m->node_count];
        if (n->output == 0)
            ((layer *)(uintptr_t)n->layer)->call_count--;
        model_node_free(n);
    }
    while (m->call_count > mark->calls) {
        submodel_call *c = &m->calls[--m->call_count];
        m->submodels[c->submodel].call_count--;
        free(c->name);
    }
    while (m->layer_count > mark->layers)
        layer_free(m->layers[--m->layer_count]);
    while (m->submodel_count > mark->submodels)
        free(m->submodels[--m->submodel_count].name);
    model_truncate_variables(m, mark->variables);
    m->weight_count = m->variable_count;
    m->last = mark->last;
    m->link_count = mark->links;
    m->within = mark->within;
    m->input_count = mark->inputs;
    m->output_count = mark->outputs;
    memcpy(m->outputs, mark->output, sizeof mark->output);
    m->functional = mark->functional;
    m->initialized = mark->initialized;
    model_set_shapes(m);
}
