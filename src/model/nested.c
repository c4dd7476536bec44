/* The entries of a list of layers: layers, models within the model, and further calls of both. */
#include "base/memory.h"
#include "model/applications/applications.h"
#include "model/build.h"
#include "model/config.h"
#include "model/submodels.h"
#include <stdlib.h>
#include <string.h>

/* ---- further calls ----------------------------------------------------------------------- */

typedef struct call_options {
    const char *layer, *name;
} call_options;

static const config_field call_fields[] = {
    OPTION(STRING, call_options, layer, .flags = CONFIG_REQUIRED),
    OPTION(STRING, call_options, name, .flags = 0),
    OPTION_ELSEWHERE("inputs"),
    OPTIONS_END,
};

static cornu_status append_call(cornu_model *m, const doc *at, const doc *options)
{
    cornu_status status;
    call_options c = {NULL, NULL};
    int *inputs = NULL, count, inner;
    layer *l = NULL;
    TRY(config_check_keys("Call", options, call_fields, NULL));
    TRY(config_read("Call", at, options, call_fields, &c));
    TRY(model_find_layer(m, doc_get(options, "layer"), c.layer, &l, &inner));
    TRY_GOTO(model_read_inputs(m, at, c.layer, options, &inputs, &count));
    TRY_GOTO(l ? model_call_again(m, l, at, c.name, inputs, count)
               : submodel_call_again(m, inner, at, c.name, inputs, count));
done:
    free(inputs);
    return status;
}

/* ---- models within the model ------------------------------------------------------------- */

typedef struct model_options {
    const char *name;
    bool trainable;
} model_options;

static const config_field model_fields[] = {
    OPTION(STRING, model_options, name, .flags = 0),
    OPTION(BOOL, model_options, trainable, .fallback = "true"),
    OPTION_ELSEWHERE("inputs"),
    OPTION_ELSEWHERE("layers"),
    OPTION_ELSEWHERE("outputs"),
    OPTIONS_END,
};

/* The inputs of a model within the model, and its InputLayers' names; NULL: as Keras's. */
typedef struct model_inputs {
    int *nodes;
    int count;
    const char *names[MODEL_ENDS_MAX];
    bool named;
} model_inputs;

/* {own: outer, other: outer_2}: the names of its inputs, and of what they read. */
static cornu_status read_named(const cornu_model *m, const doc *map, const char *reader,
                               model_inputs *in)
{
    if (map->count == 0 || map->count > MODEL_ENDS_MAX)
        return doc_fail(map, "found %d inputs; expected 1 to %d", map->count, MODEL_ENDS_MAX);
    TRY(memory_new((size_t)map->count, sizeof *in->nodes, "inputs", &in->nodes));
    for (int i = 0; i < map->count; i++) {
        int *one, count;
        if (!doc_string(map->items[i]))
            return doc_fail_found(map->items[i], "the name of a layer before this one");
        TRY(model_find_nodes(m, map->items[i], reader, &one, &count));
        in->nodes[in->count++] = one[0];
        in->names[i] = map->items[i]->key;
        free(one);
    }
    in->named = true;
    return CORNU_OK;
}

static cornu_status read_model_inputs(const cornu_model *m, const doc *at, const doc *options,
                                      const char *reader, model_inputs *in)
{
    const doc *names = doc_get(options, "inputs");
    if (m->node_count == 0)
        return doc_fail(at, "the model has no input shape; expected `input: [28, 28, 1]` beside "
                            "`layers`, or an InputLayer");
    if (names && names->type == DOC_MAP)
        return read_named(m, names, reader, in);
    return model_read_inputs(m, at, reader, options, &in->nodes, &in->count);
}

/* Freeze the layers and submodels appended since `mark`. */
static void freeze(cornu_model *m, const model_mark *mark)
{
    for (int i = mark->variables; i < m->variable_count; i++)
        m->variables[i].trainable = false;
    for (int i = mark->layers; i < m->layer_count; i++)
        m->layers[i]->trainable = false;
    for (int i = mark->submodels; i < m->submodel_count; i++)
        m->submodels[i].trainable = false;
}

static cornu_status append_item(cornu_model *m, const char *class_name, const doc *at,
                                const doc *options);

static cornu_status append_layers(cornu_model *m, const doc *layers)
{
    for (int i = 0; i < layers->count; i++) {
        const char *name;
        const doc *options, *item = layers->items[i];
        TRY(name_split(item, "a layer", &name, &options));
        if (strcmp(name, "InputLayer") == 0)
            return doc_fail(item, "found an InputLayer of a model within the model; expected none, "
                                  "as its `inputs` say what it reads: NAMES, or {OWN_NAME: NAME}");
        TRY(append_item(m, name, item, options));
    }
    return CORNU_OK;
}

static cornu_status end_model(cornu_model *m, const doc *at, const doc *options)
{
    const doc *names = doc_get(options, "outputs");
    int *nodes, count;
    TRY(names ? model_find_nodes(m, names, NULL, &nodes, &count)
              : model_read_inputs(m, at, "", NULL, &nodes, &count));
    cornu_status status = submodel_end(m, names ? names : at, nodes, count, false);
    free(nodes);
    return status;
}

static cornu_status append_model(cornu_model *m, const doc *at, const doc *options)
{
    cornu_status status;
    model_options o = {NULL, true};
    model_inputs in = {NULL};
    const model_mark before = model_mark_now(m);
    const doc *layers = doc_get(options, "layers");
    TRY(config_check_keys("Model", options, model_fields, NULL));
    TRY(config_read("Model", at, options, model_fields, &o));
    if (!layers)
        return doc_fail(at, "layers is missing; Model needs it");
    if (layers->type != DOC_LIST || layers->count == 0)
        return doc_fail_found(layers, "a list of at least one layer");
    TRY_GOTO(read_model_inputs(m, at, options, o.name ? o.name : "", &in));
    TRY_GOTO(submodel_begin(m, o.name, at));
    TRY_GOTO(submodel_add_inputs(m, at, in.nodes, in.count, in.named ? in.names : NULL));
    TRY_GOTO(append_layers(m, layers));
    TRY_GOTO(end_model(m, at, options));
    if (!o.trainable)
        freeze(m, &before);
done:
    free(in.nodes);
    return status;
}

/* ---- networks by name -------------------------------------------------------------------- */

/* The options besides those of a model within the model, with the shape of what it reads. */
static json_t *application_options(const cornu_model *m, const doc *options, int node)
{
    json_t *own = options ? doc_to_json(options) : json_object();
    const shape *in = &m->nodes[node].out;
    json_object_del(own, "inputs");
    json_object_del(own, "trainable");
    if (json_object_get(own, "input_shape") || in->rank != 3)
        return own;
    json_object_set_new(own, "input_shape",
                        json_pack("[I, I, I]", (json_int_t)in->dim[0], (json_int_t)in->dim[1],
                                  (json_int_t)in->dim[2]));
    return own;
}

/* Append Keras's configuration, which does not outlive this call. */
static cornu_status append_config(cornu_model *m, const char *name, const doc *at,
                                  const json_t *config, const model_inputs *in)
{
    doc *d = NULL;
    const int before = m->layer_count;
    TRY(doc_from_json(config, at, name, &d));
    cornu_status status = model_append_keras(m, d, in->nodes, in->count);
    model_forget_places(m, before);
    doc_free(d);
    return status;
}

static cornu_status append_application(cornu_model *m, const char *name, const doc *at,
                                       const doc *options)
{
    cornu_status status;
    model_inputs in = {NULL};
    json_t *own = NULL, *config = NULL;
    doc *own_doc = NULL;
    bool trainable = true;
    const doc nowhere = {.source = name};
    const model_mark before = model_mark_now(m);
    at = at ? at : &nowhere;
    TRY(doc_read_bool(options, "trainable", &trainable));
    TRY_GOTO(read_model_inputs(m, at, options, name, &in));
    own = application_options(m, options, in.nodes[0]);
    TRY_GOTO(doc_from_json(own, at, name, &own_doc));
    TRY_GOTO(application_config(name, at, own_doc, false, &config));
    TRY_GOTO(append_config(m, name, at, config, &in));
    if (!trainable)
        freeze(m, &before);
done:
    json_decref(config);
    json_decref(own);
    doc_free(own_doc);
    free(in.nodes);
    return status;
}

/* ---- all --------------------------------------------------------------------------------- */

static bool is_model(const char *class_name)
{
    static const char *const models[] = {"Model", "Sequential", "Functional"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(class_name, models[i]) == 0)
            return true;
    return false;
}

/* A model in Keras's form reads the output before it. */
static cornu_status append_keras(cornu_model *m, const doc *at)
{
    int *nodes, count;
    TRY(model_read_inputs(m, at, "", NULL, &nodes, &count));
    cornu_status status = model_append_keras(m, at, nodes, count);
    free(nodes);
    return status;
}

static cornu_status append_item(cornu_model *m, const char *class_name, const doc *at,
                                const doc *options)
{
    if (strcmp(class_name, "Call") == 0)
        return append_call(m, at, options);
    if (application_is(class_name))
        return append_application(m, class_name, at, options);
    if (!is_model(class_name))
        return model_append(m, class_name, at, options);
    return keras_config_is(at) ? append_keras(m, at) : append_model(m, at, options);
}

cornu_status model_add_layer(cornu_model *m, const char *class_name, const doc *at,
                             const doc *options)
{
    const model_mark mark = model_mark_now(m);
    TRY(model_check_room(m, at));
    cornu_status status = append_item(m, class_name, at, options);
    if (status != CORNU_OK)
        model_go_back(m, &mark);
    return status;
}
