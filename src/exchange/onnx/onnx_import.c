#include "exchange/onnx/onnx_import.h"
#include "base/files.h"
#include "base/memory.h"
#include "exchange/onnx.h"
#include "model/model.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages, which are checked before they are used ----------------------------------- */

/* The parsed messages take at most this multiple of the file's size (memory_unpacked_most): an
   empty message of two bytes takes a hundred. */
enum { UNPACKED_TIMES = 64 };

/* ---- the file ----------------------------------------------------------------------------- */

typedef struct allowance {
    size_t left;
    bool lacked; /* memory was refused by the system */
} allowance;

static void *allocate(void *user, size_t size)
{
    allowance *a = user;
    if (size > a->left)
        return NULL;
    a->left -= size;
    void *memory = malloc(size ? size : 1);
    a->lacked |= !memory;
    return memory;
}

static void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

cornu_status onnx_read(const char *path, Onnx__ModelProto **out, size_t *size)
{
    char *content;
    *out = NULL;
    TRY(file_read(path, INT32_MAX, &content, size));
    allowance most = {.left = (size_t)memory_unpacked_most(*size, UNPACKED_TIMES)};
    ProtobufCAllocator within = {.alloc = allocate, .free = release, .allocator_data = &most};
    *out = onnx__model_proto__unpack(&within, *size, (const uint8_t *)content);
    free(content);
    if (!*out && most.lacked)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its messages", path);
    if (!*out)
        return status_fail(
            CORNU_BAD_FILE,
            "%s: found no message of ONNX, or one that unpacks to more than %d times "
            "its size; expected an ONNX model",
            path, UNPACKED_TIMES);
    return CORNU_OK;
}

/* ---- nodes -------------------------------------------------------------------------------- */

const char *onnx_input_name(const Onnx__NodeProto *n, size_t i)
{
    return i < n->n_input ? n->input[i] : "";
}

bool onnx_domain_is_standard(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

const Onnx__AttributeProto *onnx_attribute(const Onnx__NodeProto *n, const char *name)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        if (n->attribute[i]->name && strcmp(n->attribute[i]->name, name) == 0)
            return n->attribute[i];
    return NULL;
}

/* An attribute without its value is 0: writers of protobuf's third syntax leave zeros out. */
int64_t onnx_int(const Onnx__NodeProto *n, const char *name, int64_t fallback)
{
    const Onnx__AttributeProto *a = onnx_attribute(n, name);
    return a ? a->i : fallback;
}

double onnx_real(const Onnx__NodeProto *n, const char *name, double fallback)
{
    const Onnx__AttributeProto *a = onnx_attribute(n, name);
    return a ? (double)a->f : fallback;
}

bool onnx_text_is(const Onnx__AttributeProto *a, const char *expected)
{
    size_t length = strlen(expected);
    return a && a->has_s && a->s.len == length && memcmp(a->s.data, expected, length) == 0;
}

cornu_status onnx_ints(const onnx_import *im, const char *name, int count, int64_t least,
                       int64_t most, int64_t *values)
{
    const Onnx__AttributeProto *a = onnx_attribute(im->nodes[im->at], name);
    if (!a)
        return CORNU_OK;
    if (a->n_ints != (size_t)count)
        return onnx_import_fail(im, "%s: found %zu numbers; expected %d", name, a->n_ints, count);
    for (int i = 0; i < count; i++) {
        if (a->ints[i] < least || a->ints[i] > most)
            return onnx_import_fail(im, "%s: found %lld; expected %lld to %lld", name,
                                    (long long)a->ints[i], (long long)least, (long long)most);
        values[i] = a->ints[i];
    }
    return CORNU_OK;
}

/* ---- tensors ------------------------------------------------------------------------------ */

const Onnx__TensorProto *onnx_constant_of(const onnx_import *im, const char *name)
{
    const Onnx__GraphProto *g = im->graph;
    if (!*name)
        return NULL;
    for (size_t i = 0; i < g->n_initializer; i++)
        if (g->initializer[i]->name && strcmp(g->initializer[i]->name, name) == 0)
            return g->initializer[i];
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        if (n->op_type && strcmp(n->op_type, "Constant") == 0 && n->n_output == 1 &&
            strcmp(n->output[0], name) == 0) {
            const Onnx__AttributeProto *a = onnx_attribute(n, "value");
            return a ? a->t : NULL;
        }
    }
    return NULL;
}

/* Elements of a tensor of this type whose data are in the file, whole; else -1. */
static int64_t elements_of(const Onnx__TensorProto *t, int type, size_t size, size_t listed)
{
    int64_t count = 1;
    if (!t || t->data_type != type || t->data_location != 0 || t->n_external_data > 0)
        return -1;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] < 0 || (t->dims[i] > 0 && count > SHAPE_ELEMENTS_MAX / t->dims[i]))
            return -1;
        count *= t->dims[i];
    }
    bool whole =
        t->has_raw_data ? t->raw_data.len == (size_t)count * size : listed == (size_t)count;
    return whole ? count : -1;
}

int64_t onnx_floats(const Onnx__TensorProto *t)
{
    return elements_of(t, 1, sizeof(float), t ? t->n_float_data : 0);
}

int64_t onnx_integers(const Onnx__TensorProto *t)
{
    return elements_of(t, 7, sizeof(int64_t), t ? t->n_int64_data : 0);
}

int64_t onnx_truths(const Onnx__TensorProto *t)
{
    return elements_of(t, 9, 1, t ? t->n_int32_data : 0);
}

float onnx_float_at(const Onnx__TensorProto *t, int64_t i)
{
    float value;
    if (!t->has_raw_data)
        return t->float_data[i];
    memcpy(&value, t->raw_data.data + (size_t)i * sizeof value, sizeof value);
    return value;
}

int64_t onnx_integer_at(const Onnx__TensorProto *t, int64_t i)
{
    int64_t value;
    if (!t->has_raw_data)
        return t->int64_data[i];
    memcpy(&value, t->raw_data.data + (size_t)i * sizeof value, sizeof value);
    return value;
}

bool onnx_truth_at(const Onnx__TensorProto *t, int64_t i)
{
    return t->has_raw_data ? t->raw_data.data[i] != 0 : t->int32_data[i] != 0;
}

/* ---- the graph as a chain of layers ----------------------------------------------------- */

/* Each name is searched among all; a chain of 1000 layers stays below these limits. */
enum { NODES_MOST = 5000, CONSTANTS_MOST = 5000, OPSET_LEAST = 7, OPSET_MOST = 25 };
/* All weights are at most this multiple of the file's size (memory_unpacked_most). */
enum { WEIGHTS_TIMES = 4 };

cornu_status onnx_import_fail(const onnx_import *im, const char *format, ...)
{
    char why[900];
    const Onnx__NodeProto *n = im->at < im->node_count ? im->nodes[im->at] : NULL;
    const char *name = n && n->name && *n->name ? n->name
                       : n && n->n_output > 0   ? n->output[0]
                                                : "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return status_fail(CORNU_UNSUPPORTED, "%s: %.200s (%.100s): %s", im->path, name,
                       n && n->op_type ? n->op_type : "none", why);
}

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

static cornu_status list_nodes(onnx_import *im)
{
    const Onnx__GraphProto *g = im->graph;
    TRY(memory_new(g->n_node + 1, sizeof *im->nodes, "ONNX", &im->nodes));
    for (size_t i = 0; i < g->n_node; i++)
        if (!g->node[i]->op_type || strcmp(g->node[i]->op_type, "Constant") != 0)
            im->nodes[im->node_count++] = g->node[i];
    return CORNU_OK;
}

/* The one input that is no constant (older files list those, too). */
static cornu_status find_input(const onnx_import *im, const Onnx__ValueInfoProto **out)
{
    const Onnx__GraphProto *g = im->graph;
    *out = NULL;
    size_t count = 0;
    for (size_t i = 0; i < g->n_input && g->n_input <= CONSTANTS_MOST; i++)
        if (g->input[i]->name && !onnx_constant_of(im, g->input[i]->name)) {
            *out = g->input[i];
            count++;
        }
    if (count != 1 || g->n_output != 1 || !g->output[0]->name)
        return status_fail(
            CORNU_UNSUPPORTED,
            "%s: found %zu inputs and %zu outputs; expected one of each: cornu's networks "
            "are chains of layers",
            im->path, count, g->n_output);
    return CORNU_OK;
}

/* True if the input images are channels first: a node needs this order, and none before it has
   transposed them. */
static bool comes_channels_first(const onnx_import *im)
{
    static const char *const kinds[] = {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool",
                                        "BatchNormalization"};
    for (size_t i = 0; i < im->node_count; i++) {
        const char *kind = im->nodes[i]->op_type ? im->nodes[i]->op_type : "";
        if (strcmp(kind, "Transpose") == 0 || strcmp(kind, "Reshape") == 0 ||
            strcmp(kind, "Flatten") == 0)
            return false;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (strcmp(kind, kinds[k]) == 0)
                return true;
    }
    return false;
}

static cornu_status make_model(onnx_import *im, const Onnx__ValueInfoProto *input)
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
    if (rank == 3 && comes_channels_first(im)) {
        const int64_t turned[3] = {dim[1], dim[2], dim[0]};
        memcpy(dim, turned, sizeof turned);
        im->order = ORDER_FIRST;
    }
    im->value = input->name;
    im->batch = s->dim[0]->has_dim_value ? s->dim[0]->dim_value : 0;
    return cornu_model_new(dim, rank, &im->model);
}

/* ---- weights ------------------------------------------------------------------------------ */

static cornu_status fill_weights(const onnx_import *im)
{
    TRY(model_initialize(im->model, 1));
    for (size_t i = 0; i < im->source_count; i++) {
        const weight_source *s = &im->sources[i];
        const variable *v = &im->model->variables[s->variable];
        for (int64_t j = 0; j < v->count; j++)
            v->value[j] = onnx_float_at(s->tensor, weight_order_index(&s->order, &v->shape, j));
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

static cornu_status walk(onnx_import *im, const Onnx__ModelProto *m)
{
    const Onnx__ValueInfoProto *input;
    TRY(list_nodes(im));
    TRY(find_input(im, &input));
    TRY(make_model(im, input));
    for (; im->at < im->node_count; im->at++)
        TRY(onnx_import_node(im));
    if (strcmp(im->value, im->graph->output[0]->name) != 0 || im->order == ORDER_FLAT)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found the output %s and the last result %s%s; expected the same, "
                           "of rows or an image",
                           im->path, im->graph->output[0]->name, im->value,
                           im->order == ORDER_FLAT ? ", an image flattened channels first" : "");
    if (im->model->layer_count == 1) /* an input without layers is not a network */
        TRY(onnx_add_layer(im, "Activation", "{activation: linear}"));
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
    free(im.nodes);
    free(im.sources);
    onnx__model_proto__free_unpacked(m, NULL);
    if (status != CORNU_OK) {
        cornu_model_close(im.model);
        return status;
    }
    *out = im.model;
    return CORNU_OK;
}
