/* Keras's to_json(), both ways: Sequential and Functional. It reads the form of Keras 3 and of
   tf.keras 2; it writes that of Keras 3. */
#include "base/memory.h"
#include "model/config.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

bool keras_config_is(const doc *section)
{
    return doc_get(section, "class_name") && doc_get(section, "config");
}

static cornu_status fail_found(const doc *d, const char *expected)
{
    char found[80];
    return doc_fail(d, "found %s; expected %s", doc_show(d, found, sizeof found), expected);
}

/* ---- reading one layer ------------------------------------------------------------------ */

typedef struct keras_layer {
    const doc *at, *options;
    const char *class_name;
    /* Functional: */
    const char *name; /* by which others refer to it */
    int first_call, call_count;
    layer *layer; /* in the model; NULL: none yet */
} keras_layer;

static cornu_status read_layer(const doc *at, keras_layer *out)
{
    static const char *const keys[] = {"module",       "class_name",       "config",
                                       "name",         "inbound_nodes",    "registered_name",
                                       "build_config", "shared_object_id", NULL};
    if (at->type != DOC_MAP)
        return fail_found(at, "a layer: {class_name: ..., config: {...}}");
    const doc *class_name = doc_get(at, "class_name");
    if (!class_name || class_name->type != DOC_STRING)
        return doc_fail(at, "class_name is missing; a layer needs it");
    TRY(name_refuse_custom(at));
    TRY(model_refuse_nested(at, class_name->string));
    TRY(doc_only_keys(at, keys));
    *out =
        (keras_layer){.at = at, .class_name = class_name->string, .options = doc_get(at, "config")};
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
    int64_t call;
} keras_tensor;

/* Read ["dense", 0, 0]. */
static cornu_status read_tensor(const doc *d, keras_tensor *out)
{
    const char *name = doc_string(first_item(d));
    if (!name || d->count < 3 || d->items[1]->type != DOC_INT || d->items[2]->type != DOC_INT)
        return doc_fail(d, "found no tensor; expected a layer's output: [NAME, CALL, 0]");
    if (d->items[2]->integer != 0)
        return doc_fail(d, "found output %lld of %s; expected 0, its only one",
                        (long long)d->items[2]->integer, name);
    *out = (keras_tensor){name, d->items[1]->integer};
    return CORNU_OK;
}

/* Arguments of a call besides its input: only those without effect are accepted. */
static cornu_status check_arguments(const doc *arguments)
{
    if (!arguments || arguments->type == DOC_NULL)
        return CORNU_OK;
    if (arguments->type != DOC_MAP)
        return fail_found(arguments, "a map of call arguments");
    for (int i = 0; i < arguments->count; i++) {
        const doc *a = arguments->items[i];
        bool off = a->type == DOC_NULL || (a->type == DOC_BOOL && !a->boolean);
        if ((strcmp(a->key, "mask") != 0 && strcmp(a->key, "training") != 0) || !off)
            return doc_fail(a, "cornu does not support this call argument");
    }
    return CORNU_OK;
}

/* The tensors that a call reads. Keras 3: {args: [TENSOR], kwargs: {}}, or {args: [[TENSOR, ...]]}
   of merging layers, with TENSOR {class_name: __keras_tensor__, config: {keras_history: [NAME, 0,
   0]}}; tf.keras 2: [[NAME, 0, 0, {}], ...]. */
static cornu_status read_node(const doc *node, const doc **tensors)
{
    const doc *list = node;
    if (node->type == DOC_MAP) {
        list = doc_get(node, "args");
        if (list && list->type == DOC_LIST && list->count == 1 && list->items[0]->type == DOC_LIST)
            list = list->items[0];
        TRY(check_arguments(doc_get(node, "kwargs")));
    }
    if (!list || list->type != DOC_LIST || list->count == 0)
        return doc_fail(node, "found a call without tensors; expected the outputs of layers");
    for (int i = 0; i < list->count; i++) {
        const doc *tensor = list->items[i];
        if (tensor->type == DOC_LIST && tensor->count > 3)
            TRY(check_arguments(tensor->items[3]));
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

/* A call of a layer. */
typedef struct keras_call {
    const doc *tensors; /* what it reads, a list; NULL: nothing */
    int *from;          /* [tensors->count] the numbers of the calls that make it */
    int node;           /* in the model; -1: none yet */
} keras_call;

/* All layers of a Functional model, and all calls of them. */
typedef struct keras_layers {
    keras_layer *list;
    keras_call *calls;
    int *links; /* the `from` of all calls */
    int count, call_count, link_count;
} keras_layers;

static cornu_status read_call(keras_layers *layers, const doc *node)
{
    keras_call *c = &layers->calls[layers->call_count];
    if (layers->call_count >= MODEL_LAYERS_MAX)
        return doc_fail(node, "found more than %d calls of layers; expected at most that many",
                        MODEL_LAYERS_MAX);
    *c = (keras_call){.node = -1};
    TRY(read_node(node, &c->tensors));
    if (c->tensors->count > MODEL_LINKS_MAX - layers->link_count)
        return doc_fail(node,
                        "found more than %d inputs of layers in all; expected at most that many",
                        MODEL_LINKS_MAX);
    layers->call_count++;
    layers->link_count += c->tensors->count;
    return CORNU_OK;
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
    const bool is_input = strcmp(l->class_name, "InputLayer") == 0;
    if (nodes->count == 0 && !is_input)
        return doc_fail(nodes, "found a layer that is never called; expected at least one call");
    if (nodes->count > 0 && is_input)
        return doc_fail(nodes, "found a call of an InputLayer; expected none");
    l->first_call = layers->call_count;
    l->call_count = is_input ? 1 : nodes->count;
    if (is_input)
        layers->calls[layers->call_count++] = (keras_call){.node = -1};
    for (int i = 0; i < nodes->count; i++)
        TRY(read_call(layers, nodes->items[i]));
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

static cornu_status fail_layer(const keras_layers *layers, const doc *at, const char *name)
{
    const char *names[MODEL_LAYERS_MAX];
    for (int i = 0; i < layers->count; i++)
        names[i] = layers->list[i].name;
    return name_fail_layer(at, name, " in this model", names, layers->count);
}

static const keras_layer *find_layer(const keras_layers *layers, const char *name)
{
    for (int i = 0; i < layers->count; i++)
        if (strcmp(layers->list[i].name, name) == 0)
            return &layers->list[i];
    return NULL;
}

/* The number of the call whose output `at` names. */
static cornu_status find_call(const keras_layers *layers, const doc *at, int *call)
{
    keras_tensor t = {NULL, 0};
    TRY(read_source(at, &t));
    const keras_layer *l = find_layer(layers, t.layer);
    if (!l)
        return fail_layer(layers, at, t.layer);
    if (t.call < 0 || t.call >= l->call_count)
        return doc_fail(at, "found call number %lld of %.80s; expected 0 to %d", (long long)t.call,
                        t.layer, l->call_count - 1);
    *call = l->first_call + (int)t.call;
    return CORNU_OK;
}

/* Find what each call reads. */
static cornu_status link_calls(keras_layers *layers)
{
    TRY(memory_new((size_t)layers->link_count + 1, sizeof *layers->links, "layers",
                   &layers->links));
    int *next = layers->links;
    for (int i = 0; i < layers->call_count; i++) {
        keras_call *c = &layers->calls[i];
        c->from = next;
        for (int k = 0; c->tensors && k < c->tensors->count; k++)
            TRY(find_call(layers, c->tensors->items[k], next++));
    }
    return CORNU_OK;
}

/* Append the layer's next call if all its inputs are there. */
static cornu_status append_call(cornu_model *m, const keras_layers *layers, keras_layer *l,
                                keras_call *c)
{
    const int inputs = c->tensors ? c->tensors->count : 0;
    int *nodes;
    for (int i = 0; i < inputs; i++)
        if (layers->calls[c->from[i]].node < 0)
            return CORNU_OK;
    TRY(memory_new((size_t)inputs, sizeof *nodes, "layers", &nodes));
    for (int i = 0; i < inputs; i++)
        nodes[i] = layers->calls[c->from[i]].node;
    const bool again = l->layer != NULL;
    cornu_status status = again
                              ? model_call_again(m, l->layer, l->at, NULL, nodes, inputs)
                              : model_append_on(m, l->class_name, l->at, l->options, nodes, inputs);
    free(nodes);
    TRY(status);
    c->node = m->node_count - 1;
    if (!again)
        l->layer = m->layers[m->layer_count - 1];
    return CORNU_OK;
}

static int calls_done(const keras_layer *l)
{
    return l->layer ? l->layer->call_count : 0;
}

/* Append the layer's calls, in their order, as far as their inputs are there. */
static cornu_status append_when_ready(cornu_model *m, const keras_layers *layers, keras_layer *l)
{
    int before = -1;
    while (calls_done(l) < l->call_count && calls_done(l) > before) {
        before = calls_done(l);
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
        if (calls_done(&layers->list[i]) < layers->list[i].call_count)
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
            return fail_found(d->items[i], "a tensor: [LAYER, 0, 0]");
    memcpy(out->tensor, d->items, (size_t)d->count * sizeof *out->tensor);
    out->count = d->count;
    out->named = d->type == DOC_MAP;
    if (out->named)
        qsort(out->tensor, (size_t)d->count, sizeof *out->tensor, by_key);
    return CORNU_OK;
}

static cornu_status find_ends(const keras_layers *layers, const ends *e, int *nodes)
{
    for (int i = 0; i < e->count; i++) {
        int call = 0;
        TRY(find_call(layers, e->tensor[i], &call));
        nodes[i] = layers->calls[call].node;
    }
    return CORNU_OK;
}

static cornu_status choose_ends(cornu_model *m, const doc *config, const keras_layers *layers)
{
    ends in, out;
    int nodes[MODEL_ENDS_MAX];
    TRY(read_ends(config, "input_layers", &in));
    TRY(find_ends(layers, &in, nodes));
    TRY(model_order_inputs(m, doc_get(config, "input_layers"), nodes, in.count));
    TRY(read_ends(config, "output_layers", &out));
    TRY(find_ends(layers, &out, nodes));
    TRY(model_choose_outputs(m, doc_get(config, "output_layers"), nodes, out.count));
    if (in.named)
        TRY(model_set_input_keys(m, in.tensor, in.count));
    return out.named ? model_set_output_keys(m, out.tensor, out.count) : CORNU_OK;
}

/* ---- reading models --------------------------------------------------------------------- */

static cornu_status append_functional(cornu_model *m, const doc *config, const doc *list)
{
    cornu_status status;
    keras_layers layers = {.count = 0};
    TRY_GOTO(read_layers(&layers, list));
    TRY_GOTO(link_calls(&layers));
    TRY_GOTO(append_layers(m, &layers));
    TRY_GOTO(choose_ends(m, config, &layers));
done:
    free(layers.list);
    free(layers.calls);
    free(layers.links);
    return status;
}

static cornu_status append_sequential(cornu_model *m, const doc *list)
{
    for (int i = 0; i < list->count; i++) {
        keras_layer l;
        TRY(read_layer(list->items[i], &l));
        TRY(model_append(m, l.class_name, l.at, l.options));
    }
    return CORNU_OK;
}

typedef struct model_options {
    bool trainable; /* the model's own flag, beside those of its layers */
} model_options;

static cornu_status check_keys(const doc *section, const doc *config, model_options *out)
{
    static const char *const outer[] = {
        "module",         "class_name",    "config",  "registered_name",  "build_config",
        "compile_config", "keras_version", "backend", "shared_object_id", NULL};
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
    if (config->type != DOC_MAP)
        return CORNU_OK;
    TRY(doc_only_keys(config, inner));
    return config_read("model", config, config, values, out);
}

cornu_status model_from_keras(const doc *section, cornu_model **out)
{
    cornu_status status;
    cornu_model *m = NULL;
    model_options options;
    const doc *config = doc_get(section, "config");
    const char *class_name = doc_string(doc_get(section, "class_name")), *name;
    TRY(check_keys(section, config, &options));
    /* Old Keras wrote a Sequential's layers as the config itself. */
    const doc *list = config->type == DOC_LIST ? config : doc_get(config, "layers");
    bool sequential = class_name && strcmp(class_name, "Sequential") == 0;
    bool functional =
        class_name && (strcmp(class_name, "Functional") == 0 || strcmp(class_name, "Model") == 0);
    if (!sequential && !functional)
        return doc_fail(section, "found class_name \"%s\"; expected Sequential or Functional",
                        class_name ? class_name : "");
    if (!list || list->type != DOC_LIST || list->count == 0)
        return doc_fail(list ? list : section, "found no layers; expected a list of at least one");
    name = doc_string(doc_get(config, "name"));
    TRY_GOTO(model_new(name ? name : "sequential", section->source, &m));
    m->functional = functional;
    m->trainable = options.trainable || sequential; /* Keras reads only a Functional's */
    TRY_GOTO(functional ? append_functional(m, config, list) : append_sequential(m, list));
    *out = m;
    m = NULL;
done:
    model_free(m);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* The list with the value at its end; NULL, and neither is left, where memory is short. */
static json_t *appended(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *batch_shape(const shape *s)
{
    json_t *list = appended(json_array(), json_null());
    for (int i = 0; i < s->rank; i++)
        list = appended(list, json_integer(s->dim[i]));
    return list;
}

/* The arguments of a call. */
static json_t *call_arguments(const cornu_model *m, const model_node *n)
{
    json_t *tensors = json_array();
    for (int i = 0; i < n->input_count; i++) {
        const model_node *from = &m->nodes[n->inputs[i]];
        tensors = appended(tensors, json_pack("{s:s, s:{s:o, s:s, s:[s, i, i]}}", "class_name",
                                              "__keras_tensor__", "config", "shape",
                                              batch_shape(&from->out), "dtype", "float32",
                                              "keras_history", from->layer->name, from->call, 0));
    }
    return json_pack(n->layer->kind->merges ? "{s:[o], s:{}}" : "{s:o, s:{}}", "args", tensors,
                     "kwargs");
}

/* The inbound_nodes of a layer of a Functional model. */
static json_t *inbound_nodes(const cornu_model *m, const layer *l)
{
    json_t *list = json_array();
    for (int i = 0; i < l->call_count; i++) {
        const model_node *n = &m->nodes[model_call(m, l, i)];
        if (n->input_count > 0)
            list = appended(list, call_arguments(m, n));
    }
    return list;
}

static json_t *layer_to_json(const cornu_model *m, const layer *l)
{
    json_t *config = json_pack("{s:s, s:s}", "name", l->name, "dtype", "float32");
    bool is_input = l->kind == layer_kind_find("InputLayer");
    if (!config ||
        (!is_input && config_set(config, "trainable", json_boolean(l->trainable)) != CORNU_OK) ||
        config_write(l->kind->fields, l->config, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    json_t *out = config_keras_object("keras.layers", l->kind->name, config);
    if (!out || !m->functional)
        return out;
    if (config_set(out, "name", json_string(l->name)) != CORNU_OK ||
        config_set(out, "inbound_nodes", inbound_nodes(m, l)) != CORNU_OK) {
        json_decref(out);
        return NULL;
    }
    return out;
}

static json_t *layers_to_json(const cornu_model *m)
{
    json_t *list = json_array();
    for (int i = 0; list && i < m->layer_count; i++)
        list = appended(list, layer_to_json(m, m->layers[i]));
    return list;
}

/* The only item of a list, or the list. Takes it. */
static json_t *one_or_all(json_t *list)
{
    if (json_array_size(list) != 1)
        return list;
    json_t *one = json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}

static json_t *input_shapes(const cornu_model *m)
{
    json_t *list = json_array();
    for (int i = 0; i < m->input_count; i++)
        list = appended(list, batch_shape(model_input_shape(m, i)));
    return one_or_all(list);
}

/* The output of a node, as Keras refers to it. */
static json_t *tensor_to_json(const model_node *n)
{
    return json_pack("[s, i, i]", n->layer->name, n->call, 0);
}

/* Inputs or outputs of the model: by their keys, or in a list. */
static json_t *ends_to_json(const cornu_model *m, char *const *keys, const int *nodes, int count)
{
    json_t *all = keys ? json_object() : json_array();
    for (int i = 0; i < count; i++) {
        json_t *tensor = tensor_to_json(&m->nodes[nodes[i]]);
        if (!keys)
            all = appended(all, tensor);
        else if (json_object_set_new(all, keys[i], tensor) != 0) {
            json_decref(all);
            all = NULL;
        }
    }
    return keys ? all : one_or_all(all);
}

static json_t *inputs_to_json(const cornu_model *m)
{
    return ends_to_json(m, m->input_keys, m->inputs, m->input_count);
}

static json_t *outputs_to_json(const cornu_model *m)
{
    int nodes[MODEL_ENDS_MAX];
    for (int i = 0; i < m->output_count; i++)
        nodes[i] = m->outputs[i].node;
    return ends_to_json(m, m->output_keys, nodes, m->output_count);
}

static bool set_ends(const cornu_model *m, json_t *config)
{
    if (!m->functional)
        return config_set(config, "dtype", json_string("float32")) == CORNU_OK &&
               config_set(config, "build_input_shape", input_shapes(m)) == CORNU_OK;
    return config_set(config, "input_layers", inputs_to_json(m)) == CORNU_OK &&
           config_set(config, "output_layers", outputs_to_json(m)) == CORNU_OK;
}

json_t *model_to_keras(const cornu_model *m)
{
    json_t *config = json_pack("{s:s, s:b}", "name", m->name, "trainable", m->trainable), *out;
    if (!config || m->layer_count == 0 ||
        config_set(config, "layers", layers_to_json(m)) != CORNU_OK || !set_ends(m, config)) {
        json_decref(config);
        return NULL;
    }
    out = config_keras_object(m->functional ? "keras.src.models.functional" : "keras",
                              m->functional ? "Functional" : "Sequential", config);
    if (!out)
        return NULL;
    json_t *build = json_pack("{s:o}", "input_shape", input_shapes(m));
    json_t *compile = m->compiled ? model_compile_to_json(m) : json_object();
    bool complete = config_set(out, "build_config", build) == CORNU_OK;
    if (m->functional)
        complete =
            config_set(out, "registered_name", json_string("Functional")) == CORNU_OK && complete;
    complete = config_set(out, "compile_config", compile) == CORNU_OK && complete;
    if (complete)
        return out;
    json_decref(out);
    return NULL;
}
