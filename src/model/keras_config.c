/* Keras's to_json(), read in the forms of Keras 3 and of tf.keras 2: Sequential and Functional, and
   models within them. keras_config_write.c writes it. */
#include "base/memory.h"
#include "model/build.h"
#include "model/config.h"
#include "model/keras_operations.h"
#include "model/submodels.h"
#include <stdlib.h>
#include <string.h>

bool keras_config_is(const doc *section)
{
    return doc_get(section, "class_name") && doc_get(section, "config");
}

/* ---- reading one layer ------------------------------------------------------------------ */

typedef struct keras_layer {
    const doc *at, *options;
    const char *class_name;
    /* Functional: */
    const char *name; /* by which others refer to it */
    int first_call, call_count;
    layer *layer;      /* in the model; NULL: none yet, or a submodel */
    int submodel;      /* -1: none yet, or a layer */
    int given;         /* the node that an InputLayer of a submodel reads; -1: none */
    bool is_operation; /* in Keras's form: of keras.ops, and no layer */
    bool of_operator;  /* a layer in an operation's place: see layer */
} keras_layer;

static bool is_sequential(const char *class_name)
{
    return strcmp(class_name, "Sequential") == 0;
}

static bool is_functional(const char *class_name)
{
    return strcmp(class_name, "Functional") == 0 || strcmp(class_name, "Model") == 0;
}

static bool is_model(const keras_layer *l)
{
    return is_sequential(l->class_name) || is_functional(l->class_name);
}

static bool is_input(const keras_layer *l)
{
    return strcmp(l->class_name, "InputLayer") == 0;
}

static cornu_status read_layer(const doc *at, keras_layer *out)
{
    static const char *const keys[] = {
        "module",          "class_name",   "config",           "name",           "inbound_nodes",
        "registered_name", "build_config", "shared_object_id", "compile_config", NULL};
    if (at->type != DOC_MAP)
        return doc_fail_found(at, "a layer: {class_name: ..., config: {...}}");
    const doc *class_name = doc_get(at, "class_name");
    if (!class_name || class_name->type != DOC_STRING)
        return doc_fail(at, "class_name is missing; a layer needs it");
    TRY(name_refuse_custom(at));
    TRY(doc_only_keys(at, keys));
    *out = (keras_layer){.at = at,
                         .class_name = class_name->string,
                         .options = doc_get(at, "config"),
                         .submodel = -1,
                         .given = -1,
                         .is_operation = keras_operation_is(at),
                         .of_operator = doc_string(doc_get(at, "registered_name")) != NULL};
    return CORNU_OK;
}

/* ---- reading Functional models ---------------------------------------------------------- */

static const doc *first_item(const doc *d)
{
    return d && d->type == DOC_LIST && d->count > 0 ? d->items[0] : NULL;
}

/* An output of a call: ["dense", 0, 0]. */
typedef struct keras_tensor {
    const char *layer;
    int64_t call, output;
} keras_tensor;

/* Read ["dense", 0, 0]. */
static cornu_status read_tensor(const doc *d, keras_tensor *out)
{
    const char *name = doc_string(first_item(d));
    if (!name || d->count < 3 || d->items[1]->type != DOC_INT || d->items[2]->type != DOC_INT)
        return doc_fail(d, "found no tensor; expected a layer's output: [NAME, CALL, 0]");
    *out = (keras_tensor){name, d->items[1]->integer, d->items[2]->integer};
    return CORNU_OK;
}

/* null or false, or a list or map of nulls, as the masks of several inputs. */
static bool is_off(const doc *d)
{
    const bool several = d->type == DOC_LIST || d->type == DOC_MAP;
    for (int i = 0; several && i < d->count; i++)
        if (d->items[i]->type != DOC_NULL)
            return false;
    return several || d->type == DOC_NULL || (d->type == DOC_BOOL && !d->boolean);
}

static bool is_keyword(const layer_kind *kind, const char *key)
{
    for (const config_field *f = kind ? kind->fields : NULL; f && f->key; f++)
        if (f->flags & CONFIG_KEYWORD && strcmp(f->key, key) == 0)
            return true;
    return false;
}

/* The first states of a recurrent layer, which are inputs of the call. */
static bool is_state(const layer_kind *kind, const char *key)
{
    return kind && kind->reads_states && strcmp(key, "initial_state") == 0;
}

/* Arguments of a call besides its input: the layer's options among them, or those without effect.
   Keras writes `training: false` for every Dropout; its fit() overrules it, also where a caller
   gave it. */
static cornu_status check_arguments(const layer_kind *kind, const doc *arguments)
{
    static const char *const names[] = {"mask",
                                        "training",
                                        "use_causal_mask",
                                        "return_attention_scores",
                                        "attention_mask",
                                        "query_mask",
                                        "value_mask",
                                        "key_mask",
                                        "key"};
    if (!arguments || arguments->type == DOC_NULL)
        return CORNU_OK;
    if (arguments->type != DOC_MAP)
        return doc_fail_found(arguments, "a map of call arguments");
    for (int i = 0; i < arguments->count; i++) {
        const doc *a = arguments->items[i];
        bool known = is_keyword(kind, a->key) || is_state(kind, a->key);
        if (known)
            continue;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            known |= strcmp(a->key, names[k]) == 0;
        if (!known || !is_off(a))
            return doc_fail(a, "cornu does not support this call argument");
    }
    return CORNU_OK;
}

static bool is_map_of_tensors(const doc *d)
{
    return d->type == DOC_MAP && d->count > 0 && d->items[0]->type == DOC_MAP;
}

/* The tensors that a call reads. Keras 3: {args: [TENSOR], kwargs: {}}, {args: [[TENSOR, ...]]}
   of merging layers, or {args: [{INPUT: TENSOR, ...}]} of a model, with TENSOR {class_name:
   __keras_tensor__, config: {keras_history: [NAME, 0, 0]}}; tf.keras 2: [[NAME, 0, 0, {}], ...]. */
static cornu_status read_node(const layer_kind *kind, const doc *node, const doc **tensors)
{
    const doc *list = node;
    if (node->type == DOC_MAP) {
        list = doc_get(node, "args");
        if (list && list->type == DOC_LIST && list->count == 1 &&
            (list->items[0]->type == DOC_LIST || is_map_of_tensors(list->items[0])))
            list = list->items[0];
        TRY(check_arguments(kind, doc_get(node, "kwargs")));
    }
    if (!list || (list->type != DOC_LIST && !is_map_of_tensors(list)) || list->count == 0)
        return doc_fail(node, "found a call without tensors; expected the outputs of layers");
    for (int i = 0; i < list->count; i++) {
        const doc *tensor = list->items[i];
        if (tensor->type == DOC_LIST && tensor->count > 3)
            TRY(check_arguments(kind, tensor->items[3]));
    }
    *tensors = list;
    return CORNU_OK;
}

/* Read a tensor of a call, in either form. */
static cornu_status read_source(const doc *tensor, keras_tensor *out)
{
    const doc *history =
        tensor->type == DOC_MAP ? doc_get(doc_get(tensor, "config"), "keras_history") : tensor;
    return read_tensor(history ? history : tensor, out);
}

/* An input of a call: an output of another call. */
typedef struct keras_link {
    const doc *at;
    int call;       /* its number among all calls */
    int64_t output; /* its number among those of the call */
} keras_link;

/* A call of a layer, of an operation, or of a model. */
typedef struct keras_call {
    const keras_layer *of;
    const doc *at;    /* its place; NULL: that of an InputLayer */
    const doc *named; /* the map of its inputs; NULL: they have no names */
    int first_link, inputs;
    int made;   /* in the model: a node or, of a model, a call; -1: none yet */
    int *parts; /* of an operation of several outputs: the node of each; PART_UNREAD, PART_READ */
    int part_count;
} keras_call;
enum { PART_READ = -1, PART_UNREAD = -2 };

/* All layers of a Functional model, and all calls of them. */
typedef struct keras_layers {
    keras_layer *list;
    keras_call *calls;
    keras_link *links; /* the inputs of all calls, one call after another */
    size_t link_capacity;
    int count, call_count, link_count;
    bool old; /* in the form of tf.keras 2 */
} keras_layers;

static cornu_status add_link(keras_layers *layers, keras_call *c, const doc *at)
{
    if (layers->link_count >= MODEL_LINKS_MAX)
        return doc_fail(at,
                        "found more than %d inputs of layers in all; expected at most that many",
                        MODEL_LINKS_MAX);
    TRY(memory_grow(&layers->links, &layers->link_capacity, (size_t)layers->link_count + 1,
                    sizeof *layers->links));
    layers->links[layers->link_count++] = (keras_link){.at = at};
    c->inputs++;
    return CORNU_OK;
}

static cornu_status read_operation_call(keras_layers *layers, keras_call *c)
{
    operation_call o;
    const doc *tensor;
    TRY(keras_operation_read(c->of->at, c->of->name, c->at, &o));
    for (int i = 0; (tensor = keras_operation_tensor(&o, i)); i++)
        TRY(add_link(layers, c, tensor));
    return CORNU_OK;
}

/* Add the links that a tensor, or a list of some, stands for. */
static cornu_status add_links(keras_layers *layers, keras_call *c, const doc *at)
{
    const bool listed = at->type == DOC_LIST && at->count > 0 && at->items[0]->type != DOC_STRING;
    for (int i = 0; listed && i < at->count; i++)
        TRY(add_links(layers, c, at->items[i]));
    return listed ? CORNU_OK : add_link(layers, c, at);
}

/* The keyword arguments of a call in either form; NULL: none. */
static const doc *keywords_of(const doc *call)
{
    if (!call || call->type == DOC_MAP)
        return doc_get(call, "kwargs");
    const doc *first = first_item(call);
    return first && first->type == DOC_LIST && first->count > 3 ? first->items[3] : NULL;
}

static cornu_status read_layer_call(keras_layers *layers, keras_call *c)
{
    const doc *tensors = NULL;
    TRY(read_node(layer_kind_find(c->of->class_name), c->at, &tensors));
    if (tensors->type == DOC_MAP)
        c->named = tensors;
    for (int i = 0; i < tensors->count; i++)
        TRY(add_links(layers, c, tensors->items[i]));
    const doc *state = doc_get(keywords_of(c->at), "initial_state");
    return state && state->type != DOC_NULL ? add_links(layers, c, state) : CORNU_OK;
}

static cornu_status read_call(keras_layers *layers, const keras_layer *l, const doc *node)
{
    keras_call *c = &layers->calls[layers->call_count];
    if (layers->call_count >= MODEL_LAYERS_MAX)
        return doc_fail(node, "found more than %d calls of layers; expected at most that many",
                        MODEL_LAYERS_MAX);
    layers->call_count++;
    *c = (keras_call){.of = l, .at = node, .first_link = layers->link_count, .made = -1};
    return l->is_operation ? read_operation_call(layers, c) : read_layer_call(layers, c);
}

static cornu_status read_functional_layer(keras_layers *layers, const doc *at)
{
    keras_layer *l = &layers->list[layers->count];
    TRY(read_layer(at, l));
    const doc *nodes = doc_get(at, "inbound_nodes");
    l->name = doc_string(doc_get(at, "name"));
    if (!l->name)
        l->name = doc_string(doc_get(l->options, "name"));
    if (!l->name || !nodes || nodes->type != DOC_LIST)
        return doc_fail(at, "name or inbound_nodes is missing; a layer of a Functional model needs "
                            "both");
    if (nodes->count == 0 && !is_input(l))
        return doc_fail(nodes, "found a layer that is never called; expected at least one call");
    if (nodes->count > 0 && is_input(l))
        return doc_fail(nodes, "found a call of an InputLayer; expected none");
    if (nodes->count > 1 && l->is_operation)
        return doc_fail(nodes, "found %d calls of the operation %s; expected one", nodes->count,
                        l->name);
    l->first_call = layers->call_count;
    l->call_count = is_input(l) ? 1 : nodes->count;
    layers->old |= nodes->count > 0 && nodes->items[0]->type == DOC_LIST;
    if (is_input(l))
        layers->calls[layers->call_count++] = (keras_call){.of = l, .made = -1};
    for (int i = 0; i < nodes->count; i++)
        TRY(read_call(layers, l, nodes->items[i]));
    layers->count++;
    return CORNU_OK;
}

static cornu_status read_layers(keras_layers *layers, const doc *list)
{
    if (list->count > MODEL_LAYERS_MAX)
        return doc_fail(list, "found %d layers; expected at most %d", list->count,
                        MODEL_LAYERS_MAX);
    TRY(memory_new((size_t)list->count, sizeof *layers->list, "layers", &layers->list));
    /* More than the limit by the calls of InputLayers, which are counted when they are added. */
    TRY(memory_new((size_t)list->count + MODEL_LAYERS_MAX, sizeof *layers->calls, "layers",
                   &layers->calls));
    for (int i = 0; i < list->count; i++)
        TRY(read_functional_layer(layers, list->items[i]));
    return CORNU_OK;
}

static void layers_free(keras_layers *layers)
{
    for (int i = 0; i < layers->call_count; i++)
        free(layers->calls[i].parts);
    free(layers->list);
    free(layers->calls);
    free(layers->links);
}

static cornu_status fail_layer(const keras_layers *layers, const doc *at, const char *name)
{
    const char *names[MODEL_LAYERS_MAX];
    for (int i = 0; i < layers->count; i++)
        names[i] = layers->list[i].name;
    return name_fail_layer(at, name, " in this model", names, layers->count);
}

static keras_layer *find_layer(const keras_layers *layers, const char *name)
{
    for (int i = 0; i < layers->count; i++)
        if (strcmp(layers->list[i].name, name) == 0)
            return &layers->list[i];
    return NULL;
}

/* The number by which Keras knows the first call of a model: its own input and output count as call
   0 of a Functional among the outputs of the model around it, and everywhere in tf.keras 2. */
static int first_number(const keras_layers *layers, const keras_layer *l, bool is_end,
                        int64_t number)
{
    if (!is_model(l) || (l->call_count == 1 && number <= 0))
        return 0;
    return layers->old || (is_end && is_functional(l->class_name));
}

/* An output of an operation of several is read. */
static cornu_status note_part(keras_call *c, const keras_link *link)
{
    operation_call o;
    size_t capacity = (size_t)c->part_count;
    TRY(keras_operation_read(c->of->at, c->of->name, c->at, &o));
    if (!keras_operation_has_parts(&o))
        return CORNU_OK;
    if (link->output < 0 || link->output >= MODEL_LAYERS_MAX)
        return doc_fail(link->at, "found output %lld of %.80s; expected 0 to %d",
                        (long long)link->output, c->of->name, MODEL_LAYERS_MAX - 1);
    if (link->output >= c->part_count)
        TRY(memory_grow(&c->parts, &capacity, (size_t)link->output + 1, sizeof *c->parts));
    while (c->part_count <= link->output)
        c->parts[c->part_count++] = PART_UNREAD;
    if (c->parts[link->output] == PART_UNREAD)
        c->parts[link->output] = PART_READ;
    return CORNU_OK;
}

/* The call whose output `at` names, and which output. */
static cornu_status find_call(const keras_layers *layers, const doc *at, bool is_end,
                              keras_link *out)
{
    keras_tensor t = {NULL, 0, 0};
    TRY(read_source(at, &t));
    const keras_layer *l = find_layer(layers, t.layer);
    if (!l)
        return fail_layer(layers, at, t.layer);
    const int first = first_number(layers, l, is_end, t.call);
    if (t.call < first || t.call >= first + l->call_count)
        return doc_fail(at, "found call number %lld of %.80s; expected %d to %d", (long long)t.call,
                        t.layer, first, first + l->call_count - 1);
    *out = (keras_link){at, l->first_call + (int)t.call - first, t.output};
    return l->is_operation ? note_part(&layers->calls[out->call], out) : CORNU_OK;
}

/* The node that is the output of a call that is made. */
static cornu_status find_output(const cornu_model *m, const keras_layers *layers,
                                const keras_link *link, int *node)
{
    const keras_call *c = &layers->calls[link->call];
    const submodel_call *inner = is_model(c->of) ? &m->calls[c->made] : NULL;
    if (c->parts) { /* whose numbers note_part has checked */
        *node = c->parts[link->output];
        return CORNU_OK;
    }
    const int outputs = inner ? inner->output_count : model_outputs_of(m, c->made);
    if (link->output < 0 || link->output >= outputs)
        return doc_fail(link->at, "found output %lld of %.80s; expected %s%d%s",
                        (long long)link->output, c->of->name, outputs > 1 ? "0 to " : "",
                        outputs - 1, outputs > 1 ? "" : ", its only one");
    *node = inner ? inner->outputs[link->output] : c->made + (int)link->output;
    return CORNU_OK;
}

static cornu_status append_submodel(cornu_model *m, const doc *section, const int *inputs,
                                    int count, int *inner);

/* The layer's options, and among them those that the call says; *out is NULL where it says none. */
static cornu_status with_keywords(const keras_layer *l, const doc *call, doc **out)
{
    const layer_kind *kind = layer_kind_find(l->class_name);
    const doc *said = keywords_of(call);
    json_t *all = NULL;
    bool any = false, lost = false;
    *out = NULL;
    for (int i = 0; said && i < said->count; i++) {
        if (!is_keyword(kind, said->items[i]->key))
            continue;
        if (!any)
            all = l->options ? doc_to_json(l->options) : json_object();
        any = true;
        lost |= json_object_set_new(all, said->items[i]->key, doc_to_json(said->items[i])) != 0;
    }
    if (!any)
        return CORNU_OK;
    cornu_status status =
        lost ? status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory to read it", l->name)
             : doc_from_json(all, l->at, "config", out);
    json_decref(all);
    return status;
}

/* Fail where a further call says other options than the first. */
static cornu_status check_keywords(const keras_layer *l, const doc *call)
{
    const doc *said = keywords_of(call);
    for (const config_field *f = l->layer->kind->fields; f->key; f++) {
        if (!(f->flags & CONFIG_KEYWORD))
            continue;
        const doc *d = doc_get(said, f->key);
        json_t *own = config_value(f, l->layer->config), *other = d ? doc_to_json(d) : json_false();
        const bool same = json_equal(own, other);
        json_decref(own);
        json_decref(other);
        if (!same)
            return doc_fail(call,
                            "found a call of %s with another %s than the first; expected the "
                            "same in all its calls",
                            l->layer->name, f->key);
    }
    return CORNU_OK;
}

static cornu_status append_layer(cornu_model *m, const keras_layer *l, const doc *call,
                                 const int *nodes, int count)
{
    doc *options;
    TRY(with_keywords(l, call, &options));
    cornu_status status =
        model_append_on(m, l->class_name, l->at, options ? options : l->options, nodes, count);
    doc_free(options);
    return status;
}

/* Append a layer or a submodel, or call it again. */
static cornu_status append_on(cornu_model *m, keras_layer *l, const doc *call, const int *nodes,
                              int count)
{
    if (l->submodel >= 0)
        return submodel_call_again(m, l->submodel, l->at, NULL, nodes, count);
    if (l->layer) {
        TRY(check_keywords(l, call));
        return model_call_again(m, l->layer, l->at, NULL, nodes, count);
    }
    if (is_model(l))
        return append_submodel(m, l->at, nodes, count, &l->submodel);
    TRY(append_layer(m, l, call, nodes, count));
    l->layer = m->layers[m->layer_count - 1];
    l->layer->of_operator = l->of_operator;
    return CORNU_OK;
}

/* Append an operation, or each of its outputs that is read. */
static cornu_status append_operation(cornu_model *m, keras_layer *l, keras_call *c,
                                     const int *nodes)
{
    operation_call o;
    const int before = m->layer_count;
    TRY(keras_operation_read(l->at, l->name, c->at, &o));
    o.nodes = nodes;
    o.count = c->inputs;
    if (keras_operation_has_parts(&o) && c->part_count == 0)
        return doc_fail(l->at, "found no layer that reads an output of %s; expected at least one",
                        l->name);
    if (c->part_count == 0)
        TRY(keras_operation_append(m, &o));
    for (int i = 0; i < c->part_count; i++) {
        if (c->parts[i] == PART_UNREAD)
            continue;
        o.output = i;
        TRY(keras_operation_append(m, &o));
        c->parts[i] = m->node_count - 1;
    }
    for (int i = before; i < m->layer_count; i++)
        m->layers[i]->of_operator = true;
    l->layer = m->layers[m->layer_count - 1];
    return CORNU_OK;
}

/* Append the layer's next call if all its inputs are there. */
static cornu_status append_call(cornu_model *m, const keras_layers *layers, keras_layer *l,
                                keras_call *c)
{
    cornu_status status;
    const keras_link *from = layers->links + c->first_link;
    int *nodes;
    for (int i = 0; i < c->inputs; i++)
        if (layers->calls[from[i].call].made < 0)
            return CORNU_OK;
    TRY(memory_new((size_t)c->inputs + 1, sizeof *nodes, "layers", &nodes));
    nodes[0] = l->given;
    for (int i = 0; i < c->inputs; i++)
        TRY_GOTO(find_output(m, layers, &from[i], &nodes[i]));
    const int call = m->call_count;
    TRY_GOTO(l->is_operation ? append_operation(m, l, c, nodes)
                             : append_on(m, l, c->at, nodes, c->at ? c->inputs : l->given >= 0));
    c->made = is_model(l) ? call : m->last;
done:
    free(nodes);
    return status;
}

static int calls_done(const cornu_model *m, const keras_layer *l)
{
    if (l->submodel >= 0)
        return m->submodels[l->submodel].call_count;
    return l->layer ? l->layer->call_count : 0;
}

/* Append the layer's calls, in their order, as far as their inputs are there. */
static cornu_status append_when_ready(cornu_model *m, const keras_layers *layers, keras_layer *l)
{
    int before = -1;
    while (calls_done(m, l) < l->call_count && calls_done(m, l) > before) {
        before = calls_done(m, l);
        TRY(append_call(m, layers, l, &layers->calls[l->first_call + before]));
    }
    return CORNU_OK;
}

/* Append each layer when those before it are there, whatever the order of the list. */
static cornu_status append_layers(cornu_model *m, const keras_layers *layers)
{
    int before = -1;
    while (m->node_count > before) {
        before = m->node_count;
        for (int i = 0; i < layers->count; i++)
            TRY(append_when_ready(m, layers, &layers->list[i]));
    }
    for (int i = 0; i < layers->count; i++)
        if (calls_done(m, &layers->list[i]) < layers->list[i].call_count)
            return doc_fail(layers->list[i].at,
                            "found a call of %s on an output that depends on that call, or on such "
                            "a call; expected no cycles",
                            layers->list[i].name);
    return CORNU_OK;
}

/* ---- inputs and outputs ----------------------------------------------------------------- */

/* input_layers and output_layers: ["dense", 0, 0], a list of such, or a map, whose order is that of
   its sorted keys. */

typedef struct ends {
    const doc *tensor[MODEL_ENDS_MAX];
    int count;
    bool named; /* by their keys */
} ends;

static int by_key(const void *a, const void *b)
{
    const doc *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static bool is_tensor(const doc *d)
{
    return d->type == DOC_LIST && d->count > 0 && d->items[0]->type == DOC_STRING;
}

static cornu_status read_ends(const doc *config, const char *key, ends *out)
{
    const doc *d = doc_get(config, key);
    *out = (ends){0};
    if (!d || (d->type != DOC_LIST && d->type != DOC_MAP) || d->count == 0)
        return doc_fail(d ? d : config, "found no %s; expected the names of layers", key);
    if (is_tensor(d)) {
        *out = (ends){.tensor = {d}, .count = 1};
        return CORNU_OK;
    }
    if (d->count > MODEL_ENDS_MAX)
        return doc_fail(d, "found %d tensors; expected at most %d", d->count, MODEL_ENDS_MAX);
    for (int i = 0; i < d->count; i++)
        if (!is_tensor(d->items[i]))
            return doc_fail_found(d->items[i], "a tensor: [LAYER, 0, 0]");
    memcpy(out->tensor, d->items, (size_t)d->count * sizeof *out->tensor);
    out->count = d->count;
    out->named = d->type == DOC_MAP;
    if (out->named)
        qsort(out->tensor, (size_t)d->count, sizeof *out->tensor, by_key);
    return CORNU_OK;
}

/* Find input number `i` of a call on a map: a model may be called on one, by the names of its
   inputs, which are `own`. */
static cornu_status find_named(const keras_layer *l, const doc *map, const ends *own, int i,
                               const doc **at)
{
    const char *name = own->named ? own->tensor[i]->key : doc_string(first_item(own->tensor[i]));
    *at = doc_get(map, name);
    if (!*at)
        return doc_fail(map, "found no input %.80s of %.80s; expected all its inputs", name,
                        l->name);
    return CORNU_OK;
}

/* Find what a call reads. */
static cornu_status link_call(const keras_layers *layers, const keras_call *c)
{
    ends own = {.count = 0};
    if (c->named)
        TRY(read_ends(c->of->options, "input_layers", &own));
    if (c->named && own.count != c->inputs)
        return doc_fail(c->named, "found %d inputs of %s; expected %d", c->inputs, c->of->name,
                        own.count);
    for (int i = 0; i < c->inputs; i++) {
        keras_link *link = &layers->links[c->first_link + i];
        const doc *at = link->at;
        if (c->named)
            TRY(find_named(c->of, c->named, &own, i, &at));
        TRY(find_call(layers, at, false, link));
    }
    return CORNU_OK;
}

/* Find the model's inputs or outputs. */
static cornu_status link_ends(const keras_layers *layers, const doc *config, const char *key)
{
    ends e;
    keras_link link;
    TRY(read_ends(config, key, &e));
    for (int i = 0; i < e.count; i++)
        TRY(find_call(layers, e.tensor[i], true, &link));
    return CORNU_OK;
}

/* Find what all calls read, and the model's ends, so that all outputs of operations that are read
   are known before the operations are appended. */
static cornu_status link_calls(const keras_layers *layers, const doc *config)
{
    for (int i = 0; i < layers->call_count; i++)
        TRY(link_call(layers, &layers->calls[i]));
    TRY(link_ends(layers, config, "input_layers"));
    return link_ends(layers, config, "output_layers");
}

static cornu_status find_ends(const cornu_model *m, const keras_layers *layers, const ends *e,
                              int *nodes)
{
    for (int i = 0; i < e->count; i++) {
        keras_link link = {.call = 0};
        TRY(find_call(layers, e->tensor[i], true, &link));
        TRY(find_output(m, layers, &link, &nodes[i]));
    }
    return CORNU_OK;
}

/* Inputs and outputs of the model or, in a submodel, of that, which ends so. */
static cornu_status choose_ends(cornu_model *m, const doc *config, const keras_layers *layers)
{
    ends in, out;
    int nodes[MODEL_ENDS_MAX];
    const doc *at = doc_get(config, "input_layers");
    const bool inner = m->within >= 0;
    TRY(read_ends(config, "input_layers", &in));
    TRY(find_ends(m, layers, &in, nodes));
    TRY(inner ? submodel_order_inputs(m, at, nodes, in.count)
              : model_order_inputs(m, at, nodes, in.count));
    at = doc_get(config, "output_layers");
    TRY(read_ends(config, "output_layers", &out));
    TRY(find_ends(m, layers, &out, nodes));
    if (inner)
        return submodel_end(m, at, nodes, out.count, true);
    TRY(model_choose_outputs(m, at, nodes, out.count));
    if (in.named)
        TRY(model_set_input_keys(m, in.tensor, in.count));
    return out.named ? model_set_output_keys(m, out.tensor, out.count) : CORNU_OK;
}

/* Tell the InputLayers of a submodel which nodes it is called on. */
static cornu_status give_inputs(const doc *at, const doc *config, const keras_layers *layers,
                                const int *inputs, int count)
{
    ends e;
    TRY(read_ends(config, "input_layers", &e));
    if (e.count != count)
        return doc_fail(at, "found a call on %d inputs; expected %d", count, e.count);
    for (int i = 0; i < e.count; i++) {
        const char *name = doc_string(first_item(e.tensor[i]));
        keras_layer *l = name ? find_layer(layers, name) : NULL;
        if (!l || !is_input(l) || l->given >= 0)
            return doc_fail(e.tensor[i], "found no InputLayer %s%s; expected each once",
                            name ? name : "", l && l->given >= 0 ? " that is left" : "");
        l->given = inputs[i];
    }
    for (int i = 0; i < layers->count; i++)
        if (is_input(&layers->list[i]) && layers->list[i].given < 0)
            return doc_fail(layers->list[i].at,
                            "%s: found this InputLayer 0 times among the inputs; expected once",
                            layers->list[i].name);
    return CORNU_OK;
}

/* ---- reading models --------------------------------------------------------------------- */

/* `inputs`: the nodes on which a submodel is called; NULL: the model itself. */
static cornu_status append_functional(cornu_model *m, const doc *config, const doc *list,
                                      const int *inputs, int count)
{
    cornu_status status;
    keras_layers layers = {.count = 0};
    TRY_GOTO(read_layers(&layers, list));
    TRY_GOTO(link_calls(&layers, config));
    if (inputs)
        TRY_GOTO(give_inputs(list, config, &layers, inputs, count));
    TRY_GOTO(append_layers(m, &layers));
    TRY_GOTO(choose_ends(m, config, &layers));
done:
    layers_free(&layers);
    return status;
}

/* Append a layer, or a model, that reads the output before it. */
static cornu_status append_next(cornu_model *m, keras_layer *l)
{
    int *nodes, count;
    if (!is_model(l) && m->within < 0)
        return model_append(m, l->class_name, l->at, l->options);
    TRY(model_read_inputs(m, l->at, "", NULL, &nodes, &count));
    cornu_status status = append_on(m, l, NULL, nodes, count);
    free(nodes);
    return status;
}

/* Begin a Sequential that is a submodel with its InputLayer, which is made where there is none. */
static cornu_status append_first(cornu_model *m, keras_layer *l, const int *inputs, int count,
                                 bool *taken)
{
    if (count != 1)
        return doc_fail(l->at, "found a call of a Sequential on %d inputs; expected one", count);
    *taken = is_input(l);
    if (!*taken)
        return submodel_add_inputs(m, l->at, inputs, count, NULL);
    TRY(append_on(m, l, NULL, inputs, count));
    const int node = m->last;
    return submodel_order_inputs(m, l->at, &node, 1);
}

static cornu_status append_sequential(cornu_model *m, const doc *list, const int *inputs, int count)
{
    int *last;
    for (int i = 0; i < list->count; i++) {
        keras_layer l;
        bool taken = false;
        TRY(read_layer(list->items[i], &l));
        if (inputs && i == 0)
            TRY(append_first(m, &l, inputs, count, &taken));
        if (l.is_operation)
            return doc_fail(l.at, "found Keras's operation %s in a Sequential; expected layers",
                            l.class_name);
        if (inputs && i > 0 && is_input(&l))
            return doc_fail(l.at, "found an InputLayer after other layers; expected it first");
        if (!taken)
            TRY(append_next(m, &l));
    }
    if (!inputs)
        return CORNU_OK;
    TRY(model_read_inputs(m, list, "", NULL, &last, &count));
    cornu_status status = submodel_end(m, list, last, count, false);
    free(last);
    return status;
}

typedef struct model_options {
    bool trainable; /* the model's own flag, beside those of its layers */
} model_options;

/* The section of a model, or of one within it. */
typedef struct keras_model {
    const doc *config, *layers;
    const char *name; /* or NULL */
    bool functional, trainable;
} keras_model;

static cornu_status check_keys(const doc *section, const doc *config, model_options *out)
{
    static const char *const outer[] = {
        "module",           "class_name",     "config",        "registered_name",
        "build_config",     "compile_config", "keras_version", "backend",
        "shared_object_id", "name",           "inbound_nodes", NULL};
    static const char *const inner[] = {
        "name",          "trainable",         "dtype", "layers", "input_layers",
        "output_layers", "build_input_shape", NULL};
    static const config_field values[] = {
        OPTION(BOOL, model_options, trainable, .fallback = "true"),
        OPTION_DTYPE,
        OPTIONS_END,
    };
    *out = (model_options){.trainable = true};
    TRY(doc_only_keys(section, outer));
    if (!config || config->type != DOC_MAP)
        return CORNU_OK;
    TRY(doc_only_keys(config, inner));
    return config_read("model", config, config, values, out);
}

static cornu_status read_model(const doc *section, keras_model *out)
{
    model_options options;
    const doc *config = doc_get(section, "config");
    const char *class_name = doc_string(doc_get(section, "class_name"));
    TRY(check_keys(section, config, &options));
    /* Old Keras wrote a Sequential's layers as the config itself. */
    const doc *list = config && config->type == DOC_LIST ? config : doc_get(config, "layers");
    const bool sequential = class_name && is_sequential(class_name);
    if (!sequential && !(class_name && is_functional(class_name)))
        return doc_fail(section, "found class_name \"%s\"; expected Sequential or Functional",
                        class_name ? class_name : "");
    if (!list || list->type != DOC_LIST || list->count == 0)
        return doc_fail(list ? list : section, "found no layers; expected a list of at least one");
    *out = (keras_model){
        .config = config,
        .layers = list,
        .name = doc_string(doc_get(config, "name")),
        .functional = !sequential,
        .trainable = options.trainable || sequential, /* Keras reads only a Functional's */
    };
    return CORNU_OK;
}

cornu_status model_from_keras(const doc *section, cornu_model **out)
{
    cornu_status status;
    cornu_model *m = NULL;
    keras_model k;
    TRY(read_model(section, &k));
    TRY_GOTO(model_new(k.name ? k.name : "sequential", section->source, &m));
    m->functional = k.functional;
    m->trainable = k.trainable;
    TRY_GOTO(k.functional ? append_functional(m, k.config, k.layers, NULL, 0)
                          : append_sequential(m, k.layers, NULL, 0));
    *out = m;
    m = NULL;
done:
    model_free(m);
    return status;
}

static cornu_status append_submodel(cornu_model *m, const doc *section, const int *inputs,
                                    int count, int *inner)
{
    keras_model k;
    if (count == 0)
        return doc_fail(section, "the model has no input shape; expected an InputLayer before its "
                                 "first layer, which is a model");
    TRY(read_model(section, &k));
    TRY(submodel_begin(m, k.name, section));
    *inner = m->submodel_count - 1;
    m->submodels[*inner].trainable = k.trainable;
    return k.functional ? append_functional(m, k.config, k.layers, inputs, count)
                        : append_sequential(m, k.layers, inputs, count);
}

cornu_status model_append_keras(cornu_model *m, const doc *section, const int *inputs, int count)
{
    int inner;
    return append_submodel(m, section, inputs, count, &inner);
}
