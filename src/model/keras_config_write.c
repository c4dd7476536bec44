/* Keras's to_json(), written in the form of Keras 3: Sequential and Functional, and models within
   them. keras_config.c reads it. */
#include "model/inner_layers.h"
#include "model/submodels.h"
#include <string.h>

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

/* A tensor as a call's argument. */
static json_t *argument(const cornu_model *m, int node, int within)
{
    const model_source from = model_source_of(m, node, within);
    return json_pack("{s:s, s:{s:o, s:s, s:[s, i, i]}}", "class_name", "__keras_tensor__", "config",
                     "shape", batch_shape(&m->nodes[node].out), "dtype", "float32", "keras_history",
                     from.name, from.call, from.output);
}

/* The list with the value at this place, as `appended`. */
static json_t *inserted(json_t *list, size_t place, json_t *value)
{
    if (json_array_insert_new(list, place, value) == 0)
        return list;
    json_decref(list);
    return NULL;
}

/* The call of an operation on these arguments, which it takes, and those that are no tensors. An
   array is an operand: its row's number is its place; others come after the tensors. */
static json_t *operation_arguments(const layer *l, json_t *all)
{
    const config_field *fields = l->kind->fields;
    for (const config_field *f = fields; all && f->key; f++) {
        if (!(f->flags & CONFIG_ARGUMENT))
            continue;
        if (f->type != CONFIG_ARRAY)
            all = appended(all, config_value(f, l->config));
        else if (config_has_value(f, l->config))
            all = inserted(all, (size_t)(f - fields), config_value(f, l->config));
    }
    return json_pack("{s:o, s:{}}", "args", all, "kwargs");
}

/* The keyword arguments of a call: what is not as usual. */
static json_t *keywords(const layer_kind *kind, const layer *l)
{
    json_t *all = json_object();
    for (const config_field *f = kind ? kind->fields : NULL; all && f && f->key; f++) {
        json_t *value = f->flags & CONFIG_KEYWORD ? config_value(f, l->config) : NULL;
        if (json_is_false(value))
            json_decref(value);
        else if (value && json_object_set_new(all, f->key, value) != 0)
            return json_decref(all), NULL;
    }
    return all;
}

/* The arguments of a recurrent layer that begins with states: the tensors after the first are the
   states. `tensors` is taken. */
static json_t *state_arguments(const layer_kind *kind, const layer *l, json_t *tensors)
{
    json_t *first = json_incref(json_array_get(tensors, 0)), *more = keywords(kind, l);
    json_array_remove(tensors, 0);
    if (!more || json_object_set_new(more, "initial_state", tensors) != 0) {
        json_decref(first);
        json_decref(more);
        return NULL;
    }
    return json_pack("{s:[o], s:o}", "args", first, "kwargs", more);
}

/* The arguments of a call, at the first call of its owner, `within`. */
static json_t *call_arguments(const cornu_model *m, const model_member *of, int call, int within)
{
    json_t *tensors = json_array();
    const int count = model_member_input_count(m, of, call);
    const layer_kind *kind = of->layer ? of->layer->kind : NULL;
    const char *operation = of->layer ? layer_operation(of->layer) : NULL;
    const bool merges = kind && kind->merges && !kind->unlisted;
    const bool listed = operation ? kind->operation && merges : kind ? merges : count > 1;
    for (int i = 0; i < count; i++)
        tensors = appended(tensors, argument(m, model_member_input(m, of, call, i), within));
    if (kind && kind->reads_states && count > 1)
        return state_arguments(kind, of->layer, tensors);
    if (operation)
        return operation_arguments(of->layer, listed ? appended(json_array(), tensors) : tensors);
    return json_pack(listed ? "{s:[o], s:o}" : "{s:o, s:o}", "args", tensors, "kwargs",
                     keywords(kind, of->layer));
}

/* The inbound_nodes of a layer of a Functional model. */
static json_t *inbound_nodes(const cornu_model *m, const model_member *of, int within)
{
    json_t *list = json_array();
    for (int i = 0, call; (call = model_member_call(m, of, i)) >= 0; i++)
        if (model_member_input_count(m, of, call) > 0)
            list = appended(list, call_arguments(m, of, call, within));
    return list;
}

/* Keras's operations have a registered name, its layers none: so a layer in the place of an
   operation has one, too. */
static json_t *layer_to_json(const layer *l)
{
    const char *operation = layer_operation(l);
    json_t *config = json_pack("{s:s}", "name", model_own_name(l->name));
    if (!config ||
        (!operation && config_set(config, "dtype", json_string("float32")) != CORNU_OK) ||
        (!layer_is_input(l->kind) && !operation && !l->kind->without_trainable &&
         config_set(config, "trainable", json_boolean(l->trainable)) != CORNU_OK) ||
        layer_write_options(l, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    json_t *out =
        config_keras_object(operation ? operation : "keras.layers", l->kind->name, config);
    if (!out || !(operation || l->of_operator) ||
        config_set(out, "registered_name", json_string(l->kind->name)) == CORNU_OK)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *level_to_json(const cornu_model *m, int owner);

static json_t *member_to_json(const cornu_model *m, const model_member *of, int owner)
{
    json_t *out = of->layer ? layer_to_json(of->layer) : level_to_json(m, of->submodel);
    if (!out || !submodel_is_functional(m, owner))
        return out;
    if (config_set(out, "name", json_string(model_member_name(m, of))) != CORNU_OK ||
        config_set(out, "inbound_nodes", inbound_nodes(m, of, submodel_level(m, owner))) !=
            CORNU_OK) {
        json_decref(out);
        return NULL;
    }
    return out;
}

static json_t *layers_to_json(const cornu_model *m, int owner)
{
    json_t *list = json_array();
    for (model_member at = {.end = 0}; list && model_next_member(m, owner, &at);)
        list = appended(list, member_to_json(m, &at, owner));
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

/* Inputs and outputs of the model, or of a submodel. */
typedef struct level_ends {
    int inputs[MODEL_ENDS_MAX], outputs[MODEL_ENDS_MAX], input_count, output_count, within;
} level_ends;

static level_ends ends_of(const cornu_model *m, int owner)
{
    level_ends e = {.within = submodel_level(m, owner)};
    const submodel_call *c = e.within < 0 ? NULL : &m->calls[e.within];
    e.input_count = c ? c->input_count : m->input_count;
    e.output_count = c ? c->output_count : m->output_count;
    memcpy(e.inputs, c ? c->inputs : m->inputs, sizeof e.inputs);
    for (int i = 0; i < e.output_count; i++)
        e.outputs[i] = c ? c->outputs[i] : m->outputs[i].node;
    return e;
}

static json_t *input_shapes(const cornu_model *m, int owner)
{
    const level_ends e = ends_of(m, owner);
    json_t *list = json_array();
    for (int i = 0; i < e.input_count; i++)
        list = appended(list, batch_shape(&m->nodes[e.inputs[i]].out));
    return one_or_all(list);
}

static json_t *no_tensors(char *const *keys)
{
    return keys ? json_object() : json_array();
}

/* The tensors and one more: by its key, or at the end of the list. NULL where memory is short. */
static json_t *with_tensor(json_t *all, char *const *keys, int i, json_t *tensor)
{
    if (!keys)
        return appended(all, tensor);
    if (json_object_set_new(all, keys[i], tensor) == 0)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *inputs_to_json(const cornu_model *m, const level_ends *e)
{
    char *const *keys = e->within < 0 ? m->input_keys : NULL;
    json_t *all = no_tensors(keys);
    for (int i = 0; i < e->input_count; i++) {
        const char *name = model_own_name(m->nodes[e->inputs[i]].name);
        all = with_tensor(all, keys, i, json_pack("[s, i, i]", name, 0, 0));
    }
    return keys ? all : one_or_all(all);
}

/* Keras counts a Functional's own input and output as its call 0 there. */
static json_t *outputs_to_json(const cornu_model *m, const level_ends *e)
{
    char *const *keys = e->within < 0 ? m->output_keys : NULL;
    json_t *all = no_tensors(keys);
    for (int i = 0; i < e->output_count; i++) {
        const model_source from = model_source_of(m, e->outputs[i], e->within);
        const int first = from.submodel >= 0 && m->submodels[from.submodel].functional;
        all = with_tensor(all, keys, i,
                          json_pack("[s, i, i]", from.name, first + from.call, from.output));
    }
    return keys ? all : one_or_all(all);
}

static bool set_ends(const cornu_model *m, int owner, json_t *config)
{
    const level_ends e = ends_of(m, owner);
    if (!submodel_is_functional(m, owner))
        return config_set(config, "dtype", json_string("float32")) == CORNU_OK &&
               config_set(config, "build_input_shape", input_shapes(m, owner)) == CORNU_OK;
    return config_set(config, "input_layers", inputs_to_json(m, &e)) == CORNU_OK &&
           config_set(config, "output_layers", outputs_to_json(m, &e)) == CORNU_OK;
}

/* The model, or a submodel, without what only the whole has. */
static json_t *level_to_json(const cornu_model *m, int owner)
{
    const bool functional = submodel_is_functional(m, owner);
    const char *name = owner < 0 ? m->name : model_own_name(m->submodels[owner].name);
    const bool trainable = owner < 0 ? m->trainable : m->submodels[owner].trainable;
    json_t *config = json_pack("{s:s, s:b}", "name", name, "trainable", trainable);
    if (!config || config_set(config, "layers", layers_to_json(m, owner)) != CORNU_OK ||
        !set_ends(m, owner, config)) {
        json_decref(config);
        return NULL;
    }
    json_t *out = config_keras_object(functional ? "keras.src.models.functional" : "keras",
                                      functional ? "Functional" : "Sequential", config);
    if (!out)
        return NULL;
    json_t *build = json_pack("{s:o}", "input_shape", input_shapes(m, owner));
    bool complete = config_set(out, "build_config", build) == CORNU_OK;
    if (functional)
        complete =
            config_set(out, "registered_name", json_string("Functional")) == CORNU_OK && complete;
    if (complete)
        return out;
    json_decref(out);
    return NULL;
}

json_t *model_to_keras(const cornu_model *m)
{
    json_t *out = m->layer_count > 0 ? level_to_json(m, -1) : NULL;
    json_t *compile = m->compiled ? model_compile_to_json(m) : json_object();
    if (!out) {
        json_decref(compile);
        return NULL;
    }
    json_object_del(compile, "exclude_from_weight_decay"); /* Keras's files do not have it */
    if (config_set(out, "compile_config", compile) == CORNU_OK)
        return out;
    json_decref(out);
    return NULL;
}
