/* The table of layers; and layers added to a model: their options, names, shapes and weights. */
#include "base/memory.h"
#include "model/config.h"
#include "model/model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table -------------------------------------------------------------------------- */

#define LAYER(name, other_name) extern const layer_kind layer_##name;
#include "model/layers/layers.def"

const layer_kind *const layer_kinds[] = {
#define LAYER(name, other_name) &layer_##name,
#include "model/layers/layers.def"
    NULL,
};

static const char *const other_names[] = {
#define LAYER(name, other_name) other_name,
#include "model/layers/layers.def"
};

const layer_kind *layer_kind_find(const char *class_name)
{
    for (int i = 0; layer_kinds[i]; i++)
        if (strcmp(layer_kinds[i]->name, class_name) == 0 ||
            (other_names[i] && strcmp(other_names[i], class_name) == 0))
            return layer_kinds[i];
    return NULL;
}

json_t *layer_table(void)
{
    json_t *list = json_array();
    for (int i = 0; layer_kinds[i]; i++) {
        const layer_kind *k = layer_kinds[i];
        json_t *row = config_row(k->name, k->base_name, config_describe(k->fields));
        if (row) {
            json_object_set_new(row, "aliases",
                                other_names[i] ? json_pack("[s]", other_names[i]) : json_array());
            json_object_set_new(row, "merges", json_boolean(k->merges));
        }
        json_array_append_new(list, row);
    }
    return list;
}

/* ---- a layer in a model ------------------------------------------------------------------- */

void layer_free(layer *l)
{
    if (!l)
        return;
    free(l->name);
    free(l->config);
    free(l);
}

/* Options of every layer, besides its own. */
typedef struct layer_common {
    const char *name;
    bool trainable;
    shape input_shape;
} layer_common;

#define SIZES .minimum = 1, .maximum = 1e9, .flags = CONFIG_ALIAS

static const config_field common_fields[] = {
    OPTION(STRING, layer_common, name, .flags = 0),
    OPTION_ELSEWHERE("inputs"),
    OPTION(BOOL, layer_common, trainable, .fallback = "true"),
    OPTION_DTYPE,
    OPTION_AS("batch_input_shape", BATCH_SHAPE, layer_common, input_shape, SIZES),
    OPTION_AS("input_shape", SHAPE, layer_common, input_shape, SIZES),
    OPTIONS_END,
};

static bool name_is_taken(const cornu_model *m, const char *name)
{
    for (int i = 0; i < m->node_count; i++)
        if (strcmp(m->nodes[i].name, name) == 0)
            return true;
    return false;
}

/* Keras's automatic names: conv2d, conv2d_1, ... */
static cornu_status automatic_name(const cornu_model *m, const char *base, char **out)
{
    TRY(memory_copy_string(base, out));
    for (int i = 1; name_is_taken(m, *out); i++) {
        free(*out);
        TRY(memory_format(out, "%s_%d", base, i));
    }
    return CORNU_OK;
}

enum { LAYER_NAME_MAX = 200 };

static cornu_status chosen_name(const cornu_model *m, const char *name, const doc *at, char **out)
{
    size_t length = strlen(name);
    *out = NULL;
    if (length == 0 || length > LAYER_NAME_MAX || strchr(name, '/'))
        return doc_fail(at, "found layer name \"%.60s\"; expected 1 to %d characters without /",
                        name, LAYER_NAME_MAX);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ')
            return doc_fail(at, "found a control character in a layer name; expected text");
    if (name_is_taken(m, name))
        return doc_fail(at, "found layer name \"%s\" twice; expected different names", name);
    return memory_copy_string(name, out);
}

static cornu_status check_shapes(const layer_call *call)
{
    char found[128];
    for (int i = 0; i < call->weight_count; i++)
        if (shape_elements(&call->weights[i].shape) < 0)
            return status_fail(
                CORNU_INVALID, "%s of shape %s is too large; expected at most 2^40 elements",
                call->weights[i].name, shape_show(&call->weights[i].shape, false, found));
    if (call->out.rank < 1 || call->out.rank > SHAPE_MAX - 1)
        return status_fail(CORNU_INVALID, "found %d output dimensions; expected 1 to %d",
                           call->out.rank, SHAPE_MAX - 1);
    if (shape_elements(&call->out) < 1)
        return status_fail(CORNU_INVALID,
                           "output %s is too large or empty; expected 1 to 2^40 elements",
                           shape_show(&call->out, false, found));
    return CORNU_OK;
}

static cornu_status add_weights(cornu_model *m, const layer *l, const layer_call *call)
{
    for (int i = 0; i < call->weight_count; i++) {
        const weight_spec *w = &call->weights[i];
        const variable v = {
            .shape = w->shape,
            .count = shape_elements(&w->shape),
            .statistic = !w->trainable,
            .trainable = w->trainable && l->trainable && m->trainable,
            .of = -1,
            .initializer = w->initializer,
        };
        char *name = NULL;
        TRY(memory_format(&name, "%s/%s", l->name, w->name));
        TRY(model_add_variable(m, name, &v));
    }
    m->weight_count = m->variable_count;
    return CORNU_OK;
}

/* Read a layer without its place in a model: kind, options, name. */
static cornu_status layer_read(const cornu_model *m, const layer_kind *kind, const doc *at,
                               const doc *options, layer *l, layer_common *common)
{
    l->kind = kind;
    l->where = at;
    TRY(memory_new(1, kind->config_size ? kind->config_size : 1, kind->name, &l->config));
    TRY(config_check_keys(kind->name, options, kind->fields, common_fields));
    TRY(config_read(kind->name, at, options, common_fields, common));
    TRY(config_read(kind->name, at, options, kind->fields, l->config));
    l->trainable = common->trainable;
    if (common->name)
        return chosen_name(m, common->name, at, &l->name);
    return automatic_name(m, kind->base_name, &l->name);
}

static bool is_input(const layer_kind *kind)
{
    return strcmp(kind->name, "InputLayer") == 0;
}

/* Before its first layer, a model gets its InputLayer; `said` is the shape that the layer gives. */
static cornu_status start_input(cornu_model *m, const layer_kind *kind, const doc *at,
                                const shape *said)
{
    if (is_input(kind) && m->input_count >= MODEL_ENDS_MAX)
        return doc_fail(at, "found more than %d inputs; expected at most that many",
                        MODEL_ENDS_MAX);
    if (is_input(kind))
        return CORNU_OK;
    if (m->layer_count == 0 && said->rank == 0)
        return doc_fail(at, "the model has no input shape; expected `input: [28, 28, 1]` beside "
                            "`layers`, or an InputLayer");
    return m->layer_count == 0 ? model_add_input(m, at, NULL, said) : CORNU_OK;
}

static cornu_status check_input_shape(const cornu_model *m, const doc *at, const shape *said,
                                      const int *inputs, int count)
{
    char found[128], expected[128];
    if (said->rank == 0 || count == 0 || shape_equal(said, &m->nodes[inputs[0]].out))
        return CORNU_OK;
    return doc_fail(at, "found input shape %s; expected that of the layer before, %s",
                    shape_show(said, false, found),
                    shape_show(&m->nodes[inputs[0]].out, false, expected));
}

/* The last node, a call of `l`, has come: an input, or the model's output. */
static void add_end(cornu_model *m, const layer *l)
{
    model_forget_keys(m);
    if (is_input(l->kind))
        m->inputs[m->input_count++] = m->node_count - 1;
    if (!m->outputs_chosen) {
        m->output_count = 1;
        m->outputs[0] = (model_output){.node = m->node_count - 1, .weight = 1};
    }
    model_set_shapes(m);
}

/* Append a node: a call of `l` on the outputs of these nodes. */
static cornu_status add_node(cornu_model *m, layer *l, const char *name, const int *inputs,
                             int count, const shape *out)
{
    size_t capacity = (size_t)m->node_count;
    model_node n = {.layer = l, .call = l->call_count, .input_count = count, .out = *out};
    TRY(memory_grow(&m->nodes, &capacity, capacity + 1, sizeof *m->nodes));
    TRY(memory_copy_string(name, &n.name));
    cornu_status status = memory_new((size_t)count + 1, sizeof *n.inputs, l->name, &n.inputs);
    if (status != CORNU_OK) {
        free(n.name);
        return status;
    }
    memcpy(n.inputs, inputs, (size_t)count * sizeof *inputs);
    m->last = m->node_count;
    m->nodes[m->node_count++] = n;
    m->link_count += count;
    l->call_count++;
    add_end(m, l);
    m->functional |= model_branches(m);
    return CORNU_OK;
}

static cornu_status check_input_count(const layer *l, int count)
{
    if (is_input(l->kind) ? count == 0 : l->kind->merges ? count >= 1 : count == 1)
        return CORNU_OK;
    if (is_input(l->kind))
        return status_fail(CORNU_INVALID, "found %d input%s; expected none: samples are its input",
                           count, count == 1 ? "" : "s");
    return status_fail(CORNU_INVALID, "found %d input%s; expected one%s", count,
                       count == 1 ? "" : "s", l->kind->merges ? " or more" : "");
}

/* Compute the output and weights of a call on the outputs of these nodes. */
static cornu_status declare(const cornu_model *m, layer *l, const doc *at, const int *inputs,
                            layer_call *call)
{
    shape *in;
    TRY(model_check_links(m, at, call->inputs));
    TRY(memory_new((size_t)call->inputs, sizeof *in, l->name, &in));
    for (int i = 0; i < call->inputs; i++)
        in[i] = m->nodes[inputs[i]].out;
    call->in = in;
    cornu_status status = check_input_count(l, call->inputs);
    if (status == CORNU_OK)
        status = l->kind->declare(l, call);
    if (status == CORNU_OK)
        status = check_shapes(call);
    call->in = NULL;
    free(in);
    return status == CORNU_OK
               ? CORNU_OK
               : doc_fail(at, "%s (%s): %s", l->name, l->kind->name, cornu_last_error());
}

/* Fail where all inputs, one after another, would be too long a row. */
static cornu_status check_input_row(const cornu_model *m, const layer *l, const shape *added)
{
    if (!is_input(l->kind) || m->input_count == 0 ||
        shape_elements(&m->input) <= SHAPE_ELEMENTS_MAX - shape_elements(added))
        return CORNU_OK;
    return doc_fail(l->where,
                    "found inputs of more than 2^40 numbers in all; expected at most that many");
}

/* Put the layer and its call on the outputs of these nodes behind the last node. */
static cornu_status model_link(cornu_model *m, layer *l, const int *inputs, int count)
{
    layer_call call = {.inputs = count};
    TRY(declare(m, l, l->where, inputs, &call));
    TRY(check_input_row(m, l, &call.out));
    l->node = m->node_count;
    l->first_variable = m->variable_count;
    l->weight_count = call.weight_count;
    cornu_status status = add_weights(m, l, &call);
    if (status == CORNU_OK)
        status = add_node(m, l, l->name, inputs, count, &call.out);
    if (status != CORNU_OK) {
        model_truncate_variables(m, l->first_variable);
        m->weight_count = m->variable_count;
        return status;
    }
    m->layers[m->layer_count++] = l;
    m->initialized = false;
    return CORNU_OK;
}

/* ---- further calls of a layer ------------------------------------------------------------ */

int model_call(const cornu_model *m, const layer *l, int call)
{
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].layer == l && m->nodes[i].call == call)
            return i;
    return -1;
}

/* Fail where the call needs weights of other shapes than the layer has. */
static cornu_status check_weights(const cornu_model *m, const layer *l, const layer_call *call,
                                  const doc *at)
{
    char found[128], expected[128];
    for (int i = 0; i < call->weight_count; i++) {
        const shape *has = &m->variables[l->first_variable + i].shape;
        if (!shape_equal(&call->weights[i].shape, has))
            return doc_fail(at,
                            "%s (%s): found an input for which its %s would have shape %s; "
                            "expected %s, as in its first call",
                            l->name, l->kind->name, call->weights[i].name,
                            shape_show(&call->weights[i].shape, false, found),
                            shape_show(has, false, expected));
    }
    return CORNU_OK;
}

static cornu_status check_room(const cornu_model *m, const doc *at)
{
    TRY(model_check_open(m, at));
    if (m->node_count >= MODEL_LAYERS_MAX)
        return doc_fail(at, "found more than %d layers; expected at most that many",
                        MODEL_LAYERS_MAX);
    return CORNU_OK;
}

cornu_status model_call_again(cornu_model *m, layer *l, const doc *at, const char *name,
                              const int *inputs, int count)
{
    layer_call call = {.inputs = count};
    char *own = NULL;
    TRY(check_room(m, at));
    if (is_input(l->kind))
        return doc_fail(at, "%s: found a second call of the input; expected one of a layer",
                        l->name);
    TRY(declare(m, l, at, inputs, &call));
    TRY(check_weights(m, l, &call, at));
    TRY(name ? chosen_name(m, name, at, &own)
             : memory_format(&own, "%s/call_%d", l->name, l->call_count + 1));
    cornu_status status = add_node(m, l, own, inputs, count, &call.out);
    free(own);
    return status;
}

/* ---- layers by name ---------------------------------------------------------------------- */

static cornu_status fail_found(const doc *d, const char *expected)
{
    char found[80];
    return doc_fail(d, "found %s; expected %s", doc_show(d, found, sizeof found), expected);
}

/* `before`: " before this one (add)", where the layer called "add" names its inputs; else "". */
static cornu_status fail_name(const cornu_model *m, const doc *at, const char *name,
                              const char *before)
{
    const char *names[MODEL_LAYERS_MAX];
    for (int i = 0; i < m->node_count; i++)
        names[i] = m->nodes[i].name;
    return name_fail_layer(at, name, before, names, m->node_count);
}

static cornu_status find_layer(const cornu_model *m, const doc *at, const char *name, layer **out)
{
    for (int i = 0; i < m->layer_count; i++)
        if (strcmp(m->layers[i]->name, name) == 0) {
            *out = m->layers[i];
            return CORNU_OK;
        }
    return fail_name(m, at, name, " before this one");
}

static cornu_status find_node(const cornu_model *m, const doc *at, const char *before, int *out)
{
    const char *name = doc_string(at);
    if (!name)
        return fail_found(at,
                          *before ? "the name of a layer before this one" : "the name of a layer");
    for (int i = 0; i < m->node_count; i++)
        if (strcmp(m->nodes[i].name, name) == 0) {
            *out = i;
            return CORNU_OK;
        }
    return fail_name(m, at, name, before);
}

/* The nodes whose outputs a layer reads: those that its options name, or the one added last. The
   caller frees them. */
static cornu_status read_inputs(const cornu_model *m, const layer *l, const doc *options,
                                int **nodes, int *count)
{
    const doc *names = doc_get(options, "inputs");
    const int usual = m->node_count > 0 && !is_input(l->kind);
    char before[LAYER_NAME_MAX + 32];
    const bool one = doc_string(names) != NULL;
    if (names && !one && (names->type != DOC_LIST || names->count == 0))
        return fail_found(names, "a list of names of layers before this one");
    *count = one ? 1 : names ? names->count : usual;
    TRY(model_check_links(m, names, *count));
    TRY(memory_new((size_t)*count, sizeof **nodes, "inputs", nodes));
    snprintf(before, sizeof before, " before this one (%s)", l->name);
    for (int i = 0; names && i < *count; i++)
        TRY(find_node(m, one ? names : names->items[i], before, *nodes + i));
    if (!names && *count > 0)
        **nodes = m->last;
    return CORNU_OK;
}

cornu_status model_name_outputs(cornu_model *m, const doc *names)
{
    cornu_status status;
    const bool one = doc_string(names) != NULL;
    int *nodes = NULL;
    if (!one && (names->type != DOC_LIST || names->count == 0))
        return fail_found(names, "a list of names of layers");
    const int count = one ? 1 : names->count;
    TRY_GOTO(memory_new((size_t)count, sizeof *nodes, "outputs", &nodes));
    for (int i = 0; i < count; i++)
        TRY_GOTO(find_node(m, one ? names : names->items[i], "", &nodes[i]));
    TRY_GOTO(model_choose_outputs(m, names, nodes, count));
done:
    free(nodes);
    return status;
}

cornu_status model_refuse_nested(const doc *at, const char *class_name)
{
    static const char *const models[] = {"Sequential", "Functional", "Model"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(class_name, models[i]) == 0)
            return doc_fail(at,
                            "found a model (%s) as a layer; cornu has no models within models: "
                            "expected its layers in its place",
                            class_name);
    return CORNU_OK;
}

/* Refuse Keras's layers whose work cornu does elsewhere. */
static cornu_status refuse_elsewhere(const doc *at, const char *class_name)
{
    if (strncmp(class_name, "Random", 6) == 0)
        return doc_fail(at,
                        "cornu has no layer %s; random changes of the training samples are the "
                        "recipe's data.augment",
                        class_name);
    if (strcmp(class_name, "Normalization") == 0)
        return doc_fail(at, "cornu has no layer Normalization; expected Rescaling, or "
                            "featurewise_std_normalization in the recipe's data.augment");
    return CORNU_OK;
}

static cornu_status fail_unknown(const doc *at, const char *class_name)
{
    const char *names[MODEL_LAYERS_MAX];
    int count = 0;
    TRY(model_refuse_nested(at, class_name));
    TRY(refuse_elsewhere(at, class_name));
    for (const layer_kind *const *k = layer_kinds; *k; k++)
        names[count++] = (*k)->name;
    return name_fail(at, "layer", class_name, names, count);
}

/* As in Keras, a merging layer may have one input, but says so: as a layer of a chain it would do
   nothing. */
static cornu_status check_named(const layer *l, const doc *options)
{
    if (!l->kind->merges || doc_get(options, "inputs"))
        return CORNU_OK;
    return doc_fail(l->where,
                    "%s (%s): found no `inputs`; expected names of layers before this one, such as "
                    "`inputs: [first, second]`",
                    l->name, l->kind->name);
}

/* ---- appending --------------------------------------------------------------------------- */

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
    int *inputs = NULL, count;
    layer *l = NULL;
    TRY(config_check_keys("Call", options, call_fields, NULL));
    TRY(config_read("Call", at, options, call_fields, &c));
    TRY(find_layer(m, doc_get(options, "layer"), c.layer, &l));
    TRY_GOTO(read_inputs(m, l, options, &inputs, &count));
    TRY_GOTO(model_call_again(m, l, at, c.name, inputs, count));
done:
    free(inputs);
    return status;
}

/* Append a layer, and a call of it on the outputs of these nodes; NULL: those that the options
 * name.
 */
static cornu_status append(cornu_model *m, const char *class_name, const doc *at,
                           const doc *options, const int *inputs, int count)
{
    cornu_status status;
    layer *l = NULL;
    int *named = NULL;
    layer_common common = {0};
    const layer_kind *kind = layer_kind_find(class_name);
    if (!kind && strcmp(class_name, "Call") == 0)
        return append_call(m, at, options);
    if (!kind)
        return fail_unknown(at, class_name);
    TRY(check_room(m, at));
    TRY_GOTO(memory_new(1, sizeof *l, kind->name, &l));
    TRY_GOTO(layer_read(m, kind, at, options, l, &common));
    TRY_GOTO(start_input(m, kind, at, &common.input_shape));
    if (!inputs)
        TRY_GOTO(check_named(l, options));
    if (!inputs)
        TRY_GOTO(read_inputs(m, l, options, &named, &count));
    if (!inputs)
        inputs = named;
    TRY_GOTO(check_input_shape(m, at, &common.input_shape, inputs, count));
    TRY_GOTO(model_link(m, l, inputs, count));
    l = NULL;
done:
    free(named);
    layer_free(l);
    return status;
}

cornu_status model_append(cornu_model *m, const char *class_name, const doc *at, const doc *options)
{
    return append(m, class_name, at, options, NULL, 0);
}

cornu_status model_append_on(cornu_model *m, const char *class_name, const doc *at,
                             const doc *options, const int *inputs, int count)
{
    return append(m, class_name, at, options, inputs, count);
}

cornu_status model_add_input(cornu_model *m, const doc *at, const char *name, const shape *input)
{
    char option[160];
    layer *added;
    doc *options = NULL;
    cornu_status status;
    size_t used = (size_t)snprintf(option, sizeof option, "{shape: [");
    for (int i = 0; i < input->rank; i++)
        used += (size_t)snprintf(option + used, sizeof option - used, "%s%lld", i ? ", " : "",
                                 (long long)input->dim[i]);
    used += (size_t)snprintf(option + used, sizeof option - used, "]}");
    TRY_GOTO(doc_parse(option, used, "input", &options));
    TRY_GOTO(model_append(m, "InputLayer", at, options));
    added = m->layers[m->layer_count - 1];
    if (name && strcmp(name, added->name) != 0) {
        char *chosen, *same = NULL;
        TRY_GOTO(chosen_name(m, name, at, &chosen));
        free(added->name);
        added->name = chosen;
        TRY_GOTO(memory_copy_string(chosen, &same));
        free(m->nodes[added->node].name);
        m->nodes[added->node].name = same;
    }
done:
    doc_free(options);
    return status;
}

cornu_status model_add_layer(cornu_model *m, const char *class_name, const doc *options)
{
    const int before = m->layer_count;
    cornu_status status = model_append(m, class_name, options, options);
    for (int i = before; i < m->layer_count; i++)
        m->layers[i]->where = NULL; /* the document belongs to the caller and may be freed */
    return status;
}
