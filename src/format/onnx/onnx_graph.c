#include "format/onnx/onnx_graph.h"
#include "base/memory.h"
#include "format/onnx/onnx.pb-c.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Messages are allocated by malloc, one by one, as if they had been parsed: protobuf-c's own
   function releases them. */
struct onnx_graph {
    Onnx__ModelProto *model;
    cornu_status status; /* of the first failure */
    bool *borrowed;      /* [initializer]: does its data belong to the caller? */
    size_t borrowed_capacity;
};

struct onnx_node {
    Onnx__NodeProto message; /* the only member */
};

static bool goes_on(onnx_graph *g, cornu_status status)
{
    if (g->status == CORNU_OK)
        g->status = status;
    return g->status == CORNU_OK;
}

/* ---- messages ----------------------------------------------------------------------------- */

static void *new_message(onnx_graph *g, const ProtobufCMessageDescriptor *kind)
{
    ProtobufCMessage *made = NULL;
    if (goes_on(g, memory_new(1, kind->sizeof_message, "ONNX", &made)))
        protobuf_c_message_init(kind, made);
    return made;
}

/* Make room for one more pointer in a repeated field. */
static void **append_place(onnx_graph *g, void *list, size_t *count)
{
    void **items;
    size_t capacity = *count;
    if (!goes_on(g, memory_grow(list, &capacity, *count + 1, sizeof *items)))
        return NULL;
    memcpy(&items, list, sizeof items);
    return &items[(*count)++];
}

/* Append a new message to a repeated field. */
static void *append(onnx_graph *g, void *list, size_t *count,
                    const ProtobufCMessageDescriptor *kind)
{
    void *made = new_message(g, kind);
    void **place = made ? append_place(g, list, count) : NULL;
    if (!place) {
        free(made);
        return NULL;
    }
    return *place = made;
}

static char *copy(onnx_graph *g, const char *from)
{
    char *made = NULL;
    goes_on(g, memory_copy_string(from, &made));
    return made;
}

static void append_text(onnx_graph *g, char ***list, size_t *count, const char *value)
{
    char *made = copy(g, value);
    void **place = made ? append_place(g, list, count) : NULL;
    if (place)
        *place = made;
    else
        free(made);
}

/* ---- the model ---------------------------------------------------------------------------- */

static void describe(onnx_graph *g, const char *name)
{
    Onnx__ModelProto *m = g->model;
    m->has_ir_version = true;
    m->ir_version = ONNX_IR_VERSION;
    m->producer_name = copy(g, "cornu");
    m->producer_version = copy(g, cornu_version());
    m->graph = new_message(g, &onnx__graph_proto__descriptor);
    if (m->graph)
        m->graph->name = copy(g, name);
    Onnx__OperatorSetIdProto *operators =
        append(g, &m->opset_import, &m->n_opset_import, &onnx__operator_set_id_proto__descriptor);
    if (operators) {
        operators->has_version = true;
        operators->version = ONNX_OPSET;
        operators->domain = copy(g, "");
    }
}

cornu_status onnx_graph_new(const char *name, onnx_graph **out)
{
    *out = NULL;
    onnx_graph *g;
    TRY(memory_new(1, sizeof *g, "ONNX", &g));
    g->model = new_message(g, &onnx__model_proto__descriptor);
    if (g->model)
        describe(g, name);
    if (g->status != CORNU_OK) {
        cornu_status status = g->status;
        onnx_graph_free(g);
        return status;
    }
    *out = g;
    return CORNU_OK;
}

void onnx_graph_free(onnx_graph *g)
{
    if (!g)
        return;
    Onnx__GraphProto *graph = g->model ? g->model->graph : NULL;
    for (size_t i = 0; graph && i < graph->n_initializer; i++)
        if (g->borrowed[i])
            graph->initializer[i]->raw_data = (ProtobufCBinaryData){0};
    if (g->model)
        onnx__model_proto__free_unpacked(g->model, NULL);
    free(g->borrowed);
    free(g);
}

void onnx_graph_metadata(onnx_graph *g, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *entry =
        append(g, &g->model->metadata_props, &g->model->n_metadata_props,
               &onnx__string_string_entry_proto__descriptor);
    if (!entry)
        return;
    entry->key = copy(g, key);
    entry->value = copy(g, value);
}

/* ---- inputs and outputs ------------------------------------------------------------------- */

/* dim NULL: the batch. */
static void append_dimension(onnx_graph *g, Onnx__TensorShapeProto *shape, const int64_t *dim)
{
    Onnx__TensorShapeProto__Dimension *d =
        append(g, &shape->dim, &shape->n_dim, &onnx__tensor_shape_proto__dimension__descriptor);
    if (!d)
        return;
    if (dim) {
        d->has_dim_value = true;
        d->dim_value = *dim;
    } else {
        d->dim_param = copy(g, "batch");
    }
}

static void describe_value(onnx_graph *g, Onnx__ValueInfoProto *v, const char *name, onnx_type type,
                           const int64_t *dim, int rank)
{
    if (!v)
        return;
    v->name = copy(g, name);
    v->type = new_message(g, &onnx__type_proto__descriptor);
    Onnx__TypeProto__Tensor *tensor =
        v->type ? new_message(g, &onnx__type_proto__tensor__descriptor) : NULL;
    if (!tensor)
        return;
    v->type->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = (int32_t)type;
    tensor->shape = new_message(g, &onnx__tensor_shape_proto__descriptor);
    if (!tensor->shape)
        return;
    append_dimension(g, tensor->shape, NULL);
    for (int i = 0; i < rank; i++)
        append_dimension(g, tensor->shape, &dim[i]);
}

void onnx_graph_input(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim, int rank)
{
    Onnx__GraphProto *graph = g->model->graph;
    describe_value(g,
                   append(g, &graph->input, &graph->n_input, &onnx__value_info_proto__descriptor),
                   name, type, dim, rank);
}

void onnx_graph_output(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                       int rank)
{
    Onnx__GraphProto *graph = g->model->graph;
    describe_value(g,
                   append(g, &graph->output, &graph->n_output, &onnx__value_info_proto__descriptor),
                   name, type, dim, rank);
}

/* ---- nodes -------------------------------------------------------------------------------- */

onnx_node *onnx_graph_node(onnx_graph *g, const char *kind, const char *const *inputs, int count,
                           const char *output)
{
    Onnx__GraphProto *graph = g->model->graph;
    while (count > 0 && !inputs[count - 1])
        count--;
    Onnx__NodeProto *n = append(g, &graph->node, &graph->n_node, &onnx__node_proto__descriptor);
    if (!n)
        return NULL;
    n->name = copy(g, output);
    n->op_type = copy(g, kind);
    for (int i = 0; i < count; i++)
        append_text(g, &n->input, &n->n_input, inputs[i] ? inputs[i] : "");
    append_text(g, &n->output, &n->n_output, output);
    return (onnx_node *)n;
}

void onnx_node_output(onnx_graph *g, onnx_node *n, const char *name)
{
    if (n)
        append_text(g, &n->message.output, &n->message.n_output, name);
}

static Onnx__AttributeProto *attribute(onnx_graph *g, onnx_node *n, const char *name,
                                       Onnx__AttributeProto__AttributeType type)
{
    if (!n)
        return NULL;
    Onnx__NodeProto *node = &n->message;
    Onnx__AttributeProto *a =
        append(g, &node->attribute, &node->n_attribute, &onnx__attribute_proto__descriptor);
    if (!a)
        return NULL;
    a->name = copy(g, name);
    a->has_type = true;
    a->type = type;
    return a;
}

void onnx_node_int(onnx_graph *g, onnx_node *n, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = attribute(g, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (!a)
        return;
    a->has_i = true;
    a->i = value;
}

void onnx_node_real(onnx_graph *g, onnx_node *n, const char *name, float value)
{
    Onnx__AttributeProto *a = attribute(g, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    if (!a)
        return;
    a->has_f = true;
    a->f = value;
}

void onnx_node_ints(onnx_graph *g, onnx_node *n, const char *name, const int64_t *values, int count)
{
    Onnx__AttributeProto *a = attribute(g, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    if (!a || !goes_on(g, memory_new((size_t)count, sizeof *a->ints, "ONNX", &a->ints)))
        return;
    memcpy(a->ints, values, (size_t)count * sizeof *values);
    a->n_ints = (size_t)count;
}

void onnx_node_reals(onnx_graph *g, onnx_node *n, const char *name, const float *values, int count)
{
    Onnx__AttributeProto *a = attribute(g, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    if (!a || !goes_on(g, memory_new((size_t)count, sizeof *a->floats, "ONNX", &a->floats)))
        return;
    memcpy(a->floats, values, (size_t)count * sizeof *values);
    a->n_floats = (size_t)count;
}

static void copy_bytes(onnx_graph *g, const char *from, ProtobufCBinaryData *to)
{
    to->data = (uint8_t *)copy(g, from);
    to->len = to->data ? strlen(from) : 0;
}

void onnx_node_text(onnx_graph *g, onnx_node *n, const char *name, const char *value)
{
    Onnx__AttributeProto *a = attribute(g, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    if (!a)
        return;
    a->has_s = true;
    copy_bytes(g, value, &a->s);
}

void onnx_node_texts(onnx_graph *g, onnx_node *n, const char *name, const char *const *values,
                     int count)
{
    Onnx__AttributeProto *a = attribute(g, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
    if (!a || !goes_on(g, memory_new((size_t)count, sizeof *a->strings, "ONNX", &a->strings)))
        return;
    for (int i = 0; i < count; i++)
        copy_bytes(g, values[i], &a->strings[a->n_strings++]);
}

/* ---- tensors ------------------------------------------------------------------------------ */

static size_t type_size(onnx_type type)
{
    return type == ONNX_INT64 ? sizeof(int64_t) : type == ONNX_FLOAT ? sizeof(float) : 1;
}

static Onnx__TensorProto *tensor(onnx_graph *g, const char *name, onnx_type type,
                                 const int64_t *dim, int rank, bool borrowed)
{
    Onnx__GraphProto *graph = g->model->graph;
    size_t number = graph->n_initializer;
    if (!goes_on(g,
                 memory_grow(&g->borrowed, &g->borrowed_capacity, number + 1, sizeof *g->borrowed)))
        return NULL;
    g->borrowed[number] = borrowed;
    Onnx__TensorProto *t =
        append(g, &graph->initializer, &graph->n_initializer, &onnx__tensor_proto__descriptor);
    if (!t)
        return NULL;
    t->name = copy(g, name);
    t->has_data_type = t->has_raw_data = true;
    t->data_type = (int32_t)type;
    t->raw_data.len = type_size(type);
    if (rank > 0 && goes_on(g, memory_new((size_t)rank, sizeof *t->dims, "ONNX", &t->dims)))
        t->n_dims = (size_t)rank;
    for (size_t i = 0; i < t->n_dims; i++) {
        t->dims[i] = dim[i];
        t->raw_data.len *= (size_t)dim[i];
    }
    return t;
}

void onnx_graph_tensor(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                       int rank, const void *data)
{
    Onnx__TensorProto *t = tensor(g, name, type, dim, rank, true);
    if (t) /* it is only read, and removed again before the messages are released */
        t->raw_data.data = (uint8_t *)(uintptr_t)data;
}

void *onnx_graph_new_tensor(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                            int rank)
{
    Onnx__TensorProto *t = tensor(g, name, type, dim, rank, false);
    if (!t || !goes_on(g, memory_new(t->raw_data.len, 1, name, &t->raw_data.data)))
        return NULL;
    return t->raw_data.data;
}

/* ---- the file ----------------------------------------------------------------------------- */

typedef struct to_file {
    ProtobufCBuffer base;
    file_write *file;
    cornu_status status;
} to_file;

static void append_bytes(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
    to_file *to = (to_file *)buffer;
    if (to->status == CORNU_OK && size > 0)
        to->status = file_write_bytes(to->file, data, size);
}

cornu_status onnx_graph_write(onnx_graph *g, const char *path)
{
    char shown[16];
    TRY(g->status);
    size_t size = onnx__model_proto__get_packed_size(g->model);
    if (size > INT32_MAX)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found a model of %s; expected at most 2.1 GB, which is all that an "
                           "ONNX file with its weights inside may hold",
                           path, memory_human((double)size, shown));
    file_write w;
    TRY(file_write_open(path, &w));
    to_file to = {.base = {.append = append_bytes}, .file = &w};
    onnx__model_proto__pack_to_buffer(g->model, &to.base);
    if (to.status == CORNU_OK)
        return file_write_commit(&w);
    file_write_abandon(&w);
    return to.status;
}
