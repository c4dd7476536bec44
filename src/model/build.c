/* Layers added to a model: their options, names, shapes and weights. */
#include "model/build.h"
#include "base/memory.h"
#include "model/inner_layers.h"
#include "model/layers/layers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a layer in a model ------------------------------------------------------------------- */

bool model_level_is_functional(const cornu_model *m, int within)
{
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].within == within && layer_operation(m->nodes[i].layer))
            return true;
    return model_level_branches(m, within);
}

static bool name_is_taken(const cornu_model *m, const char *name)
{
    for (int i = 0; i < m->node_count; i++)
        if (strcmp(m->nodes[i].name, name) == 0)
            return true;
    for (int i = 0; i < m->call_count; i++)
        if (strcmp(m->calls[i].name, name) == 0)
            return true;
    return false;
}

/* "encoder/" of the submodel that is being built, "" outside of any, before `name`. */
static cornu_status full_name(const cornu_model *m, const char *name, char **out)
{
    if (m->within < 0)
        return memory_copy_string(name, out);
    return memory_format(out, "%s/%s", m->calls[m->within].name, name);
}

/* Keras's automatic names: conv2d, conv2d_1, ... */
cornu_status model_automatic_name(const cornu_model *m, const char *base, char **out)
{
    char *first;
    TRY(full_name(m, base, &first));
    cornu_status status = memory_copy_string(first, out);
    for (int i = 1; status == CORNU_OK && name_is_taken(m, *out); i++) {
        free(*out);
        status = memory_format(out, "%s_%d", first, i);
    }
    free(first);
    return status;
}

/* "dense/call_2"; a later number where a layer of the submodel is called so. */
cornu_status model_call_name(const cornu_model *m, const char *of, int number, char **out)
{
    cornu_status status = memory_format(out, "%s/call_%d", of, number);
    while (status == CORNU_OK && name_is_taken(m, *out)) {
        free(*out);
        status = memory_format(out, "%s/call_%d", of, ++number);
    }
    return status;
}

enum { LAYER_PATH_MAX = 400 };

cornu_status model_chosen_name(const cornu_model *m, const char *name, const doc *at, char **out)
{
    *out = NULL;
    TRY(name_check(at, "layer name", name));
    TRY(full_name(m, name, out));
    cornu_status status = CORNU_OK;
    if (strlen(*out) > LAYER_PATH_MAX)
        status = doc_fail(at,
                          "found a layer name of %zu characters with those of the models around "
                          "it; expected at most %d",
                          strlen(*out), LAYER_PATH_MAX);
    else if (name_is_taken(m, *out))
        status = doc_fail(at, "found layer name \"%s\" twice; expected different names", *out);
    if (status != CORNU_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

static cornu_status check_shapes(const layer_call *call)
{
    char found[128];
    for (int i = 0; i < call->weight_count; i++) {
        const weight_spec *w = &call->weights[i];
        if (shape_elements(&w->shape) < 0)
            return status_fail(CORNU_INVALID,
                               "%s of shape %s is too large; expected at most 2^40 elements",
                               w->name, shape_show(&w->shape, false, found));
        TRY(initializer_check(&w->initializer, w->name, &w->shape));
    }
    if (call->out.rank < 1 || call->out.rank > SHAPE_MAX - 1)
        return status_fail(CORNU_INVALID, "found %d output dimensions; expected 1 to %d",
                           call->out.rank, SHAPE_MAX - 1);
    if (shape_elements(&call->out) < 1)
        return status_fail(CORNU_INVALID,
                           "output %s is too large or empty; expected 1 to 2^40 elements",
                           shape_show(&call->out, false, found));
    return CORNU_OK;
}

/* The layer's option WEIGHT_suffix of this weight; NULL: it has none. */
static const void *weight_option(const layer *l, const weight_spec *w, const char *suffix)
{
    if (w->of)
        l = w->of;
    const char *name = w->options ? w->options : w->name;
    size_t length = strlen(name), end = strlen("_kernel");
    if (length > end && strcmp(name + length - end, "_kernel") == 0)
        length -= end;
    for (const config_field *f = l->kind->fields; f->key; f++)
        if (f->type < CONFIG_NEUTRAL && strncmp(f->key, name, length) == 0 &&
            strcmp(f->key + length, suffix) == 0)
            return (const char *)l->config + f->offset;
    return NULL;
}

static cornu_status put_before(char **path, const char *name)
{
    char *longer;
    TRY(*path ? memory_format(&longer, "%s/%s", name, *path) : memory_copy_string(name, &longer));
    free(*path);
    *path = longer;
    return CORNU_OK;
}

/* The name of a weight: "lstm/kernel", of an inner layer "bidirectional/forward_lstm/kernel"; and
   the object of Keras's layer that has it, which may be none. */
static cornu_status name_weight(const layer *l, const weight_spec *w, char **name, char **part)
{
    cornu_status status = memory_copy_string(w->name, name);
    *part = NULL;
    if (status == CORNU_OK && w->part)
        status = memory_copy_string(w->part, part);
    for (const layer *at = w->of ? w->of : l; status == CORNU_OK && at; at = at->around) {
        status = put_before(name, at->name);
        if (status == CORNU_OK && at->place)
            status = put_before(part, at->place);
    }
    return status;
}

static cornu_status add_weight(cornu_model *m, const layer *l, const weight_spec *w, variable *v)
{
    char *name = NULL;
    cornu_status status = name_weight(l, w, &name, &v->part);
    if (status != CORNU_OK) {
        free(name);
        free(v->part);
        return status;
    }
    return model_add_variable(m, name, v);
}

/* A penalty on pairs of samples would not be one of each sample. */
static cornu_status check_activity(const layer *l)
{
    const regularizer *r = layer_activity(l);
    return r && r->kind == REGULARIZER_ORTHOGONAL
               ? status_fail(
                     CORNU_INVALID,
                     "activity_regularizer: found orthogonal_regularizer, which compares the "
                     "samples of a batch; expected l1, l2 or l1_l2")
               : CORNU_OK;
}

static cornu_status add_weights(cornu_model *m, const layer *l, const layer_call *call)
{
    TRY(check_activity(l));
    for (int i = 0; i < call->weight_count; i++) {
        const weight_spec *w = &call->weights[i];
        const regularizer *penalty = weight_option(l, w, "_regularizer");
        const constraint *limit = weight_option(l, w, "_constraint");
        int64_t extents[3];
        if (limit && limit->kind != CONSTRAINT_NONE)
            TRY(constraint_extents(limit, w->name, &w->shape, extents));
        if (penalty && penalty->kind == REGULARIZER_ORTHOGONAL)
            TRY(orthogonal_check(penalty, w->name, &w->shape));
        variable v = {
            .shape = w->shape,
            .plan_shape = w->seen_as,
            .count = shape_elements(&w->shape),
            .statistic = !w->trainable,
            .trainable = w->trainable && l->trainable && m->trainable,
            .of = -1,
            .initializer = w->initializer,
            .regularizer = penalty ? *penalty : (regularizer){.kind = REGULARIZER_NONE},
            .ones_at = w->ones_at,
            .ones = w->ones,
            .constraint = limit ? *limit : (constraint){.kind = CONSTRAINT_NONE},
        };
        TRY(add_weight(m, l, w, &v));
    }
    m->weight_count = m->variable_count;
    return CORNU_OK;
}

/* Fail where the layer would bring too many numbers into the model's files. */
static cornu_status check_numbers(const cornu_model *m, const layer *l)
{
    int64_t count = layer_numbers(l);
    for (int i = 0; count > 0 && i < m->layer_count; i++)
        count += layer_numbers(m->layers[i]);
    if (count <= MODEL_NUMBERS_MAX)
        return CORNU_OK;
    return doc_fail(l->where,
                    "found %lld numbers in the arrays of this layer and those before it; expected "
                    "at most %d",
                    (long long)count, MODEL_NUMBERS_MAX);
}

/* Read a layer without its place in a model: kind, options, name. */
static cornu_status layer_read(const cornu_model *m, const layer_kind *kind, const doc *at,
                               const char *name, const doc *options, layer *l, layer_common *common)
{
    l->kind = kind;
    l->where = at;
    l->owner = model_owner(m);
    TRY(layer_read_options(l, at, options, common));
    TRY(check_numbers(m, l));
    if (common->name)
        name = common->name;
    if (name)
        return model_chosen_name(m, name, at, &l->name);
    return model_automatic_name(m, kind->base_name, &l->name);
}

/* Before its first layer, a model gets its InputLayer; `said` is the shape that the layer gives. */
static cornu_status start_input(cornu_model *m, const layer_kind *kind, const doc *at,
                                const shape *said)
{
    if (layer_is_input(kind) && m->within < 0 && m->input_count >= MODEL_ENDS_MAX)
        return doc_fail(at, "found more than %d inputs; expected at most that many",
                        MODEL_ENDS_MAX);
    if (layer_is_input(kind))
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
    if (said->rank == 0 || count == 0 || shape_fits(said, &m->nodes[inputs[0]].out))
        return CORNU_OK;
    return doc_fail(at, "found input shape %s; expected that of the layer before, %s",
                    shape_show(said, false, found),
                    shape_show(&m->nodes[inputs[0]].out, false, expected));
}

void model_take_end(cornu_model *m, const int *nodes, int count)
{
    model_forget_output_keys(m);
    for (int i = 0; !m->outputs_chosen && i < count; i++)
        m->outputs[i] = (model_output){.node = nodes[i], .weight = 1};
    if (!m->outputs_chosen)
        m->output_count = count;
    m->functional |= model_level_is_functional(m, -1);
    model_set_shapes(m);
}

/* The last node, a call of `l`, has come: an input, or the model's output. */
static void add_end(cornu_model *m, const layer *l)
{
    const int last = m->last;
    if (m->within >= 0)
        return;
    if (layer_is_input(l->kind)) {
        model_forget_input_keys(m);
        m->inputs[m->input_count++] = last;
    }
    model_take_end(m, &last, 1);
}

/* Append a node: a call of `l` on the outputs of these nodes, or its output number `output`. */
static cornu_status append_node(cornu_model *m, const layer *l, const char *name, const int *inputs,
                                int count, const shape *out, int output)
{
    size_t capacity = (size_t)m->node_count;
    model_node n = {.layer = l,
                    .call = l->call_count,
                    .output = output,
                    .input_count = count,
                    .within = m->within,
                    .out = *out};
    TRY(memory_grow(&m->nodes, &capacity, capacity + 1, sizeof *m->nodes));
    TRY(memory_copy_string(name, &n.name));
    cornu_status status = memory_new((size_t)count + 1, sizeof *n.inputs, l->name, &n.inputs);
    if (status != CORNU_OK) {
        free(n.name);
        return status;
    }
    for (int i = 0; i < count; i++)
        n.inputs[i] = inputs[i];
    m->nodes[m->node_count++] = n;
    m->link_count += count;
    return CORNU_OK;
}

/* The further outputs of the call that is the last node: "lstm/output_2", ... */
static cornu_status add_outputs(cornu_model *m, const layer *l, const layer_call *call)
{
    const int of = m->node_count - 1;
    if (call->more_count > MODEL_LAYERS_MAX - m->node_count)
        return doc_fail(l->where,
                        "found more than %d layers and outputs; expected at most that many",
                        MODEL_LAYERS_MAX);
    for (int i = 0; i < call->more_count; i++) {
        char *name;
        TRY(memory_format(&name, "%s/output_%d", m->nodes[of].name, i + 2));
        cornu_status status = append_node(m, l, name, &of, 1, &call->more[i], i + 1);
        free(name);
        TRY(status);
    }
    return CORNU_OK;
}

/* Append a call of `l` on the outputs of these nodes. */
static cornu_status add_node(cornu_model *m, layer *l, const char *name, const int *inputs,
                             int count, const layer_call *call)
{
    const int before = m->node_count, links = m->link_count;
    TRY(append_node(m, l, name, inputs, count, &call->out, 0));
    cornu_status status = add_outputs(m, l, call);
    if (status != CORNU_OK) {
        while (m->node_count > before)
            model_node_free(&m->nodes[--m->node_count]);
        m->link_count = links;
        return status;
    }
    m->last = before;
    l->call_count++;
    add_end(m, l);
    return CORNU_OK;
}

static cornu_status check_input_count(const layer *l, int count)
{
    const bool of_model = layer_is_input(l->kind) && l->owner < 0;
    const bool several = l->kind->merges || l->kind->reads_states;
    if (of_model ? count == 0 : several ? count >= 1 : count == 1)
        return CORNU_OK;
    if (of_model)
        return status_fail(CORNU_INVALID, "found %d input%s; expected none: samples are its input",
                           count, PLURAL(count, "", "s"));
    return status_fail(CORNU_INVALID, "found %d input%s; expected one%s", count,
                       PLURAL(count, "", "s"), l->kind->merges ? " or more" : "");
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
        status = layer_check_rank(l->kind, call);
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
    if (!layer_is_input(l->kind) || l->owner >= 0 || m->input_count == 0 ||
        shape_elements(&m->input) <= SHAPE_ELEMENTS_MAX - shape_elements(added))
        return CORNU_OK;
    return doc_fail(l->where,
                    "found inputs of more than 2^40 numbers in all; expected at most that many");
}

/* Append the layer and its call on the outputs of these nodes. */
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
        status = add_node(m, l, l->name, inputs, count, &call);
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

cornu_status model_check_room(const cornu_model *m, const doc *at)
{
    TRY(model_check_open(m, at));
    if (m->node_count >= MODEL_LAYERS_MAX)
        return doc_fail(at, "found more than %d layers; expected at most that many",
                        MODEL_LAYERS_MAX);
    return CORNU_OK;
}

cornu_status model_repeat(cornu_model *m, layer *l, const doc *at, const char *name,
                          const int *inputs, int count)
{
    layer_call call = {.inputs = count};
    TRY(model_check_room(m, at));
    TRY(declare(m, l, at, inputs, &call));
    TRY(check_weights(m, l, &call, at));
    return add_node(m, l, name, inputs, count, &call);
}

cornu_status model_call_again(cornu_model *m, layer *l, const doc *at, const char *name,
                              const int *inputs, int count)
{
    char *own = NULL;
    if (layer_is_input(l->kind))
        return doc_fail(at, "%s: found a second call of the input; expected one of a layer",
                        l->name);
    if (layer_operation(l))
        return doc_fail(at,
                        "%s: found a second call of the operation %s; expected another %s, as "
                        "operations have no weights to share",
                        l->name, l->kind->name, l->kind->name);
    TRY(name ? model_chosen_name(m, name, at, &own)
             : model_call_name(m, l->name, l->call_count + 1, &own));
    cornu_status status = model_repeat(m, l, at, own, inputs, count);
    free(own);
    return status;
}

/* ---- layers by name ---------------------------------------------------------------------- */

/* The name of a node or call as it is said within the submodel that is being built. */
static const char *local_name(const cornu_model *m, const char *name)
{
    return m->within < 0 ? name : name + strlen(m->calls[m->within].name) + 1;
}

/* Can what is appended now read this node: does it stand there, or is it an output of a submodel's
   call that stands there? */
static bool is_readable(const cornu_model *m, int number)
{
    if (!model_is_within(m, number, m->within))
        return false;
    const int call = model_call_at(m, number, m->within);
    for (int i = 0; call >= 0 && i < m->calls[call].output_count; i++)
        if (m->calls[call].outputs[i] == number)
            return true;
    return call < 0;
}

/* The same of a call of a submodel. */
static bool is_readable_call(const cornu_model *m, int call)
{
    const submodel_call *c = &m->calls[call];
    return c->within == m->within || (c->output_count == 1 && is_readable(m, c->outputs[0]));
}

/* `before`: " before this one (add)", where the layer called "add" names its inputs; else "". */
static cornu_status fail_name(const cornu_model *m, const doc *at, const char *name,
                              const char *before)
{
    const char *names[2 * MODEL_LAYERS_MAX];
    int count = 0;
    for (int i = 0; i < m->node_count; i++)
        if (is_readable(m, i))
            names[count++] = local_name(m, m->nodes[i].name);
    for (int i = 0; i < m->call_count; i++)
        if (is_readable_call(m, i))
            names[count++] = local_name(m, m->calls[i].name);
    return name_fail_layer(at, name, before, names, count);
}

/* Does a submodel that is being built have this name? */
static bool is_around(const cornu_model *m, const char *name)
{
    for (int c = m->within; c >= 0; c = m->calls[c].within)
        if (strcmp(model_own_name(m->calls[c].name), name) == 0)
            return true;
    return false;
}

static cornu_status find_layer(const cornu_model *m, const char *full, layer **l, int *inner)
{
    *l = NULL;
    *inner = -1;
    for (int i = 0; i < m->layer_count; i++)
        if (m->layers[i]->owner == model_owner(m) && strcmp(m->layers[i]->name, full) == 0)
            *l = m->layers[i];
    for (int i = 0; i < m->submodel_count; i++)
        if (m->submodels[i].owner == model_owner(m) && strcmp(m->submodels[i].name, full) == 0)
            *inner = i;
    return *l || *inner >= 0 ? CORNU_OK : CORNU_NOT_FOUND;
}

cornu_status model_find_layer(const cornu_model *m, const doc *at, const char *name, layer **l,
                              int *inner)
{
    char *full;
    TRY(full_name(m, name, &full));
    cornu_status status = find_layer(m, full, l, inner);
    free(full);
    if (status == CORNU_OK)
        return CORNU_OK;
    if (is_around(m, name))
        return doc_fail(at,
                        "found a call of %s within itself; expected one of a layer before this "
                        "one",
                        name);
    return fail_name(m, at, name, " before this one");
}

/* The only output of a submodel's call. */
static cornu_status only_output(const cornu_model *m, const doc *at, int call, int *out)
{
    const submodel_call *c = &m->calls[call];
    if (c->output_count != 1)
        return doc_fail(
            at, "found the model %s, which has %d outputs; expected one of them, such as %s",
            c->name, c->output_count, local_name(m, m->nodes[c->outputs[0]].name));
    *out = c->outputs[0];
    return CORNU_OK;
}

static cornu_status find_node(const cornu_model *m, const doc *at, const char *before, int *out)
{
    const char *name = doc_string(at);
    if (!name)
        return doc_fail_found(at, *before ? "the name of a layer before this one"
                                          : "the name of a layer");
    for (int i = 0; i < m->node_count; i++)
        if (is_readable(m, i) && strcmp(local_name(m, m->nodes[i].name), name) == 0) {
            *out = i;
            return CORNU_OK;
        }
    for (int i = 0; i < m->call_count; i++)
        if (is_readable_call(m, i) && strcmp(local_name(m, m->calls[i].name), name) == 0)
            return only_output(m, at, i, out);
    return fail_name(m, at, name, before);
}

/* The node that was added last, or the output of the submodel. */
static cornu_status last_node(const cornu_model *m, const doc *at, int *out)
{
    *out = m->last;
    const int call = model_call_at(m, *out, m->within);
    return call < 0 ? CORNU_OK : only_output(m, at, call, out);
}

static cornu_status find_nodes(const cornu_model *m, const doc *const *names, int count,
                               const char *reader, int *nodes)
{
    char before[NAME_LENGTH_MAX + 32] = "";
    if (reader)
        snprintf(before, sizeof before, " before this one%s%.*s%s", *reader ? " (" : "",
                 NAME_LENGTH_MAX, reader, *reader ? ")" : "");
    for (int i = 0; i < count; i++)
        TRY(find_node(m, names[i], before, &nodes[i]));
    return CORNU_OK;
}

cornu_status model_find_nodes(const cornu_model *m, const doc *names, const char *reader,
                              int **nodes, int *count)
{
    const bool one = doc_string(names) != NULL;
    if (!one && (names->type != DOC_LIST || names->count == 0))
        return doc_fail_found(names, reader ? "a list of names of layers before this one"
                                            : "a list of names of layers");
    *count = one ? 1 : names->count;
    if (reader)
        TRY(model_check_links(m, names, *count));
    else if (*count > MODEL_ENDS_MAX)
        return doc_fail(names, "found %d outputs; expected 1 to %d", *count, MODEL_ENDS_MAX);
    TRY(memory_new((size_t)*count, sizeof **nodes, "inputs", nodes));
    cornu_status status =
        find_nodes(m, one ? &names : (const doc *const *)names->items, *count, reader, *nodes);
    if (status != CORNU_OK) {
        free(*nodes);
        *nodes = NULL;
    }
    return status;
}

cornu_status model_read_inputs(const cornu_model *m, const doc *at, const char *reader,
                               const doc *options, int **nodes, int *count)
{
    const doc *names = doc_get(options, "inputs");
    *nodes = NULL;
    *count = 0;
    if (names)
        return model_find_nodes(m, names, reader, nodes, count);
    TRY(memory_new(1, sizeof **nodes, "inputs", nodes));
    if (m->node_count == 0)
        return CORNU_OK;
    *count = 1;
    cornu_status status = last_node(m, at, *nodes);
    if (status != CORNU_OK) {
        free(*nodes);
        *nodes = NULL;
    }
    return status;
}

cornu_status model_name_outputs(cornu_model *m, const doc *names)
{
    int *nodes, count = 0;
    TRY(model_find_nodes(m, names, NULL, &nodes, &count));
    cornu_status status = model_choose_outputs(m, names, nodes, count);
    free(nodes);
    return status;
}

/* As in Keras, a merging layer may have one input, but says so: as a layer of a chain it would do
   nothing. */
static cornu_status check_named(const layer *l, const doc *options)
{
    if (!l->kind->merges || doc_get(options, "inputs") || layer_numbers(l) > 0)
        return CORNU_OK;
    return doc_fail(l->where,
                    "%s (%s): found no `inputs`; expected names of layers before this one, such as "
                    "`inputs: [first, second]`",
                    l->name, l->kind->name);
}

/* ---- appending --------------------------------------------------------------------------- */

/* Append a layer, and a call of it on the outputs of these nodes; NULL: those that the options
   name. `name` is the layer's where the options give none; NULL: as Keras calls it. */
static cornu_status append(cornu_model *m, const char *class_name, const doc *at, const char *name,
                           const doc *options, const int *inputs, int count)
{
    cornu_status status;
    layer *l = NULL;
    int *named = NULL;
    layer_common common = {0};
    const layer_kind *kind = layer_kind_find(class_name);
    if (!kind)
        return layer_kind_fail(at, class_name);
    TRY(model_check_room(m, at));
    TRY_GOTO(memory_new(1, sizeof *l, kind->name, &l));
    TRY_GOTO(layer_read(m, kind, at, name, options, l, &common));
    TRY_GOTO(start_input(m, kind, at, &common.input_shape));
    if (!inputs)
        TRY_GOTO(check_named(l, options));
    const bool is_start = layer_is_input(kind) && m->within < 0 && !doc_get(options, "inputs");
    if (!inputs && !is_start)
        TRY_GOTO(model_read_inputs(m, at, model_own_name(l->name), options, &named, &count));
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
    return append(m, class_name, at, NULL, options, NULL, 0);
}

cornu_status model_append_on(cornu_model *m, const char *class_name, const doc *at,
                             const doc *options, const int *inputs, int count)
{
    return append(m, class_name, at, NULL, options, inputs, count);
}

cornu_status model_add_input_on(cornu_model *m, const doc *at, const char *name, const shape *input,
                                const int *nodes, int count)
{
    char option[160];
    doc *options = NULL;
    cornu_status status;
    size_t used = (size_t)snprintf(option, sizeof option, "{shape: [");
    for (int i = 0; i < input->rank; i++)
        used +=
            (size_t)(input->dim[i] == 0
                         ? snprintf(option + used, sizeof option - used, "%snull", i ? ", " : "")
                         : snprintf(option + used, sizeof option - used, "%s%lld", i ? ", " : "",
                                    (long long)input->dim[i]));
    used += (size_t)snprintf(option + used, sizeof option - used, "]}");
    TRY_GOTO(doc_parse(option, used, "input", &options));
    TRY_GOTO(append(m, "InputLayer", at, name, options, nodes, count));
done:
    doc_free(options);
    return status;
}

cornu_status model_add_input(cornu_model *m, const doc *at, const char *name, const shape *input)
{
    return model_add_input_on(m, at, name, input, NULL, 0);
}
