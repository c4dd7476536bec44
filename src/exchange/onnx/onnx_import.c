/* An ONNX graph as a network of layers. */
#include "exchange/onnx/onnx_import.h"
#include "base/files.h"
#include "base/memory.h"
#include "exchange/onnx.h"
#include "model/model.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Constants are searched by name among all; a network of 1000 layers stays below these limits. */
enum { NODES_MOST = 5000, CONSTANTS_MOST = 5000, OPSET_LEAST = 7, OPSET_MOST = 25 };
/* All weights are at most this multiple of the file's size (memory_unpacked_most). */
enum { WEIGHTS_TIMES = 4 };

/* ---- what the graph is -------------------------------------------------------------------- */

static cornu_status check_constants(const Onnx__GraphProto *g, const char *path)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__TensorProto *t = g->initializer[i];
        if (t->data_location != 0 || t->n_external_data > 0)
            return status_fail(CORNU_UNSUPPORTED,
                               "%s: %.200s: found a constant whose data are in another file; "
                               "expected them in this one",
                               path, t->name ? t->name : "");
    }
    return CORNU_OK;
}

/* *opset: the version of ONNX's own operators, which the meaning of some depends on. */
static cornu_status check_opset(const Onnx__ModelProto *m, const char *path, int64_t *opset)
{
    *opset = 0;
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *o = m->opset_import[i];
        if (onnx_domain_is_standard(o->domain) && *opset != 0)
            return status_fail(CORNU_UNSUPPORTED, "%s: found two opsets; expected one", path);
        if (onnx_domain_is_standard(o->domain))
            *opset = o->version;
        if (onnx_domain_is_standard(o->domain) &&
            (o->version < OPSET_LEAST || o->version > OPSET_MOST))
            return status_fail(CORNU_UNSUPPORTED, "%s: found opset %lld; expected %d to %d", path,
                               (long long)o->version, OPSET_LEAST, OPSET_MOST);
    }
    if (*opset == 0)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found no opset, the version of ONNX's operators; expected one of "
                           "%d to %d",
                           path, OPSET_LEAST, OPSET_MOST);
    return CORNU_OK;
}

static cornu_status check_model(const Onnx__ModelProto *m, const char *path, int64_t *opset)
{
    if (!m->graph || m->n_functions > 0 || m->graph->n_sparse_initializer > 0)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found %s; expected one graph of ONNX's own operators", path,
                           !m->graph ? "no graph" : "functions or sparse constants");
    TRY(check_opset(m, path, opset));
    if (m->graph->n_node > NODES_MOST || m->graph->n_initializer > CONSTANTS_MOST)
        return status_fail(
            CORNU_UNSUPPORTED, "%s: found %zu nodes and %zu constants; expected at most %d and %d",
            path, m->graph->n_node, m->graph->n_initializer, NODES_MOST, CONSTANTS_MOST);
    return check_constants(m->graph, path);
}

/* The inputs that are no constants (older files list those, too), and the outputs. */
static cornu_status find_ends(onnx_import *im, const Onnx__ValueInfoProto **inputs)
{
    const Onnx__GraphProto *g = im->graph;
    size_t count = 0;
    bool fits = g->n_input <= CONSTANTS_MOST && g->n_output >= 1 && g->n_output <= MODEL_ENDS_MAX;
    for (size_t i = 0; fits && i < g->n_input; i++) {
        if (!g->input[i]->name || onnx_constant_of(im, g->input[i]->name))
            continue;
        if (count < MODEL_ENDS_MAX) {
            inputs[count] = g->input[i];
            im->inputs[count].name = g->input[i]->name;
        }
        count++;
    }
    for (size_t i = 0; fits && i < g->n_output; i++)
        fits = g->output[i]->name != NULL;
    if (!fits || count < 1 || count > MODEL_ENDS_MAX)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found %zu inputs and %zu outputs; expected 1 to %d of each, with "
                           "names",
                           im->path, fits ? count : g->n_input, g->n_output, MODEL_ENDS_MAX);
    im->input_count = (int)count;
    im->output_count = (int)g->n_output;
    for (int i = 0; i < im->input_count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(im->inputs[i].name, im->inputs[k].name) == 0)
                return status_fail(CORNU_UNSUPPORTED,
                                   "%s: found the input %.200s twice; expected different names",
                                   im->path, im->inputs[i].name);
    return CORNU_OK;
}

/* Does the step change the order of an image's dimensions? */
static bool reorders(const char *kind)
{
    return strcmp(kind, "Transpose") == 0 || strcmp(kind, "Reshape") == 0 ||
           strcmp(kind, "Flatten") == 0;
}

/* Does the step need images with their channels first? */
static bool wants_channels_first(const char *kind)
{
    static const char *const kinds[] = {
        "Conv",          "ConvTranspose",     "MaxPool", "AveragePool", "GlobalAveragePool",
        "GlobalMaxPool", "BatchNormalization"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kind, kinds[k]) == 0)
            return true;
    return false;
}

/* *out: are the images of this input channels first? A step needs this order, and none between the
   input and it changes it. */
static cornu_status find_order(const onnx_import *im, int input, bool *out)
{
    bool *as_input; /* of each step: its result has the input's order */
    TRY(memory_new((size_t)im->step_count + 1, sizeof *as_input, "ONNX", &as_input));
    *out = false;
    for (int i = 0; i < im->step_count && !*out; i++) {
        const onnx_step *s = &im->steps[i];
        const char *kind = s->node->op_type ? s->node->op_type : "";
        for (size_t k = 0; k < s->node->n_input && s->needed; k++)
            as_input[i] |=
                s->from[k] == ONNX_INPUT - input || (s->from[k] >= 0 && as_input[s->from[k]]);
        *out = as_input[i] && wants_channels_first(kind);
        as_input[i] &= !reorders(kind);
    }
    free(as_input);
    return CORNU_OK;
}

/* The shape of one sample in cornu's order, and which order the file has. */
static cornu_status read_input(onnx_import *im, const Onnx__ValueInfoProto *input, int number,
                               shape *out)
{
    const Onnx__TypeProto__Tensor *t = input->type ? input->type->tensor_type : NULL;
    const Onnx__TensorShapeProto *s = t ? t->shape : NULL;
    int64_t dim[SHAPE_MAX];
    int rank = s && s->n_dim >= 2 && s->n_dim <= SHAPE_MAX ? (int)s->n_dim - 1 : 0;
    bool fits = rank > 0 && (t->elem_type == 1 || t->elem_type == 2);
    for (int i = 0; i < rank && fits; i++) {
        dim[i] = s->dim[i + 1]->has_dim_value ? s->dim[i + 1]->dim_value : 0;
        fits = dim[i] > 0 && dim[i] <= SHAPE_ELEMENTS_MAX;
    }
    if (!fits)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: input %s: found no shape (batch, ...) of 1 to %d fixed dimensions "
                           "behind the batch, of floats or bytes; expected one",
                           im->path, input->name, SHAPE_MAX - 1);
    bool first;
    TRY(find_order(im, number, &first));
    if (rank == 3 && first) {
        const int64_t turned[3] = {dim[1], dim[2], dim[0]};
        memcpy(dim, turned, sizeof turned);
        im->inputs[number].order = ORDER_FIRST;
    }
    const int64_t batch = s->dim[0]->has_dim_value ? s->dim[0]->dim_value : 0;
    im->batch = number == 0 || batch == im->batch ? batch : 0;
    *out = (shape){.rank = rank};
    memcpy(out->dim, dim, (size_t)rank * sizeof *dim);
    return CORNU_OK;
}

/* Several inputs keep their names, as callers tell them apart by these. */
static cornu_status add_input(onnx_import *im, const Onnx__ValueInfoProto *input, int number)
{
    shape s;
    TRY(read_input(im, input, number, &s));
    const char *name = im->input_count > 1 ? input->name : NULL;
    cornu_status status = model_add_input(im->model, NULL, name, &s);
    if (status != CORNU_OK)
        return status_prefix(status, "%s: input %.200s", im->path, input->name);
    im->inputs[number].node = im->model->node_count - 1;
    im->inputs[number].shape = *model_input_shape(im->model, number);
    return CORNU_OK;
}

static cornu_status make_model(onnx_import *im, const Onnx__ValueInfoProto **inputs)
{
    TRY(model_new("sequential", NULL, &im->model));
    for (int i = 0; i < im->input_count; i++)
        TRY(add_input(im, inputs[i], i));
    return CORNU_OK;
}

/* ---- weights ------------------------------------------------------------------------------ */

static cornu_status fill_weights(const onnx_import *im)
{
    TRY(model_initialize(im->model, 1));
    for (size_t i = 0; i < im->source_count; i++) {
        const weight_source *s = &im->sources[i];
        const variable *v = &im->model->variables[s->layer->first_variable + s->number];
        for (int64_t j = 0; j < v->count; j++) {
            const int64_t at = weight_order_index(&s->order, &v->plan_shape, j);
            v->value[j] = onnx_float_at(s->tensor, at);
            if (s->summand > 0)
                v->value[j] += onnx_float_at(s->tensor, at + s->summand);
        }
    }
    return CORNU_OK;
}

/* ---- metadata ----------------------------------------------------------------------------- */

static cornu_status read_classes(const onnx_import *im, const char *value)
{
    json_error_t error;
    bool lacks_memory;
    json_t *names =
        doc_json_load(value, strlen(value), JSON_REJECT_DUPLICATES, &error, &lacks_memory);
    if (lacks_memory)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: class_names: not enough memory", im->path);
    size_t count = json_array_size(names);
    const char **list = NULL;
    cornu_status status = CORNU_OK;
    if (count > 0 && model_tells_classes(im->model, (int64_t)count))
        status = memory_new(count, sizeof *list, "class names", &list);
    for (size_t i = 0; list && i < count; i++) {
        list[i] = json_string_value(json_array_get(names, i));
        count = list[i] ? count : 0;
    }
    if (status == CORNU_OK && (!list || count == 0))
        status = status_fail(CORNU_BAD_FILE,
                             "%s: class_names: found no list of names, one for each output; "
                             "expected one",
                             im->path);
    if (status == CORNU_OK)
        status = model_set_classes(im->model, (char *const *)(void *)list, (int)count);
    free(list);
    json_decref(names);
    return status;
}

/* Reads the metadata that cornu writes; others are ignored. */
static cornu_status read_metadata(const onnx_import *im, const Onnx__ModelProto *m)
{
    if (!m->producer_name || strcmp(m->producer_name, "cornu") != 0)
        return CORNU_OK;
    for (size_t i = 0; i < m->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *e = m->metadata_props[i];
        if (!e->key || !e->value)
            continue;
        if (strcmp(e->key, "class_names") == 0)
            TRY(read_classes(im, e->value));
        if (strcmp(e->key, "pixel_scale") != 0)
            continue;
        im->model->pixel_scale = strtof(e->value, NULL);
        if (!(im->model->pixel_scale > 0 && isfinite(im->model->pixel_scale)))
            return status_fail(CORNU_BAD_FILE, "%s: pixel_scale: found %.40s; expected more than 0",
                               im->path, e->value);
    }
    return CORNU_OK;
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* Is the node an input, or an output before this one? */
static bool is_end(const onnx_import *im, const int *nodes, int output, int node)
{
    for (int i = 0; i < im->input_count; i++)
        if (im->inputs[i].node == node)
            return true;
    for (int i = 0; i < output; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

/* Outputs that are inputs, or twice there, are those of layers that do nothing: a model's are
   layers, each another one. */
static cornu_status choose_outputs(onnx_import *im)
{
    int nodes[MODEL_ENDS_MAX];
    for (int i = 0; i < im->output_count; i++) {
        TRY(onnx_put_in_order(im, im->outputs[i]));
        im->x = *onnx_value_from(im, im->outputs[i]);
        if (im->x.order == ORDER_FLAT || im->x.order == ORDER_SEQUENCE || im->x.steps > 0)
            return status_fail(CORNU_UNSUPPORTED,
                               "%s: found the output %s, %s; expected rows, matrices or images",
                               im->path, im->graph->output[i]->name,
                               im->x.order == ORDER_FLAT ? "an image flattened channels first"
                               : im->x.steps > 0         ? "of steps beside the batch"
                                                         : "a sequence whose steps come first");
        if (is_end(im, nodes, i, im->x.node))
            TRY(onnx_add_layer(im, "Activation", "{activation: linear}"));
        nodes[i] = im->x.node;
    }
    if (im->output_count == 1 && nodes[0] == im->model->node_count - 1)
        return CORNU_OK;
    return model_choose_outputs(im->model, NULL, nodes, im->output_count);
}

static cornu_status walk(onnx_import *im, const Onnx__ModelProto *m)
{
    const Onnx__ValueInfoProto *inputs[MODEL_ENDS_MAX];
    TRY(find_ends(im, inputs));
    TRY(onnx_list_steps(im));
    TRY(make_model(im, inputs));
    for (im->at = 0; im->at < im->step_count; im->at++) {
        im->last = im->at;
        if (im->steps[im->at].needed && !im->steps[im->at].joined)
            TRY(onnx_import_node(im));
    }
    TRY(choose_outputs(im));
    TRY(model_check_graph(im->model));
    TRY(model_settle(im->model));
    TRY(fill_weights(im));
    return read_metadata(im, m);
}

cornu_status import_onnx(const char *path, cornu_model **out)
{
    Onnx__ModelProto *m;
    size_t size;
    *out = NULL;
    TRY(onnx_read(path, &m, &size));
    onnx_import im = {
        .path = path, .graph = m->graph, .room = memory_unpacked_most(size, WEIGHTS_TIMES) / 4};
    cornu_status status = check_model(m, path, &im.opset);
    if (status == CORNU_OK)
        status = walk(&im, m);
    if (status == CORNU_OK)
        status = model_set_source(im.model, path);
    free(im.steps);
    free(im.froms);
    free(im.sources);
    onnx__model_proto__free_unpacked(m, NULL);
    if (status != CORNU_OK) {
        cornu_model_close(im.model);
        return status;
    }
    *out = im.model;
    return CORNU_OK;
}
