/* Names of tensors in an exported graph, and the two orders of an image. */
#include "base/memory.h"
#include "exchange/onnx/onnx_export.h"

static bool goes_on(onnx_export *e, cornu_status status)
{
    if (e->status == CORNU_OK)
        e->status = status;
    return e->status == CORNU_OK;
}

const char *onnx_name(onnx_export *e, const char *base, const char *suffix)
{
    char *name;
    if (!goes_on(e, memory_grow(&e->names, &e->name_capacity, e->name_count + 1, sizeof name)) ||
        !goes_on(e, memory_format(&name, "%s/%s", base, suffix)))
        return "";
    return e->names[e->name_count++] = name;
}

onnx_node *onnx_apply(onnx_export *e, const char *kind, const char *a, const char *b, const char *y)
{
    return onnx_graph_node(e->graph, kind, (const char *const[]){a, b}, 2, y);
}

const char *onnx_constant(onnx_export *e, const char *name, int64_t count, float value)
{
    float *to = onnx_graph_new_tensor(e->graph, name, ONNX_FLOAT, &count, count > 0);
    for (int64_t i = 0; to && i < (count > 0 ? count : 1); i++)
        to[i] = value;
    return name;
}

const char *onnx_index(onnx_export *e, const char *name, int64_t value)
{
    const int64_t one = 1;
    int64_t *values = onnx_graph_new_tensor(e->graph, name, ONNX_INT64, &one, 1);
    if (values)
        *values = value;
    return name;
}

const char *onnx_result(onnx_export *e, tensor_ref t, bool first)
{
    onnx_value *v = &e->values[t];
    const char *name = e->plan->tensors[t].name;
    if (t == e->plan->output && !first)
        name = ONNX_OUTPUT;
    else if (first && v->plain)
        name = onnx_name(e, name, "nchw");
    else if (!first && v->first)
        name = onnx_name(e, name, "nhwc");
    *(first ? &v->first : &v->plain) = name;
    return name;
}

void onnx_transpose(onnx_export *e, const char *x, const char *y, const int *order, int rank)
{
    int64_t perm[SHAPE_MAX];
    for (int i = 0; i < rank; i++)
        perm[i] = order[i];
    onnx_node *n = onnx_apply(e, "Transpose", x, NULL, y);
    onnx_node_ints(e->graph, n, "perm", perm, rank);
}

/* Move the channels of an image to be first, or back. */
static void move_channels(onnx_export *e, const char *x, const char *y, bool first)
{
    static const int orders[2][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}};
    onnx_transpose(e, x, y, orders[first], 4);
}

/* With one channel or one pixel both orders are the same. */
static bool order_is_one(const shape *s)
{
    return s->dim[3] == 1 || s->dim[1] * s->dim[2] == 1;
}

/* Make `t`, which is another shape of the tensor whose memory it is. */
static void reshape(onnx_export *e, tensor_ref t)
{
    const tensor *to = &e->plan->tensors[t];
    if (to->alias == NO_TENSOR) {
        goes_on(e, status_fail(CORNU_INTERNAL, "ONNX: found nothing that makes %s", to->name));
        return;
    }
    const onnx_value *from = &e->values[to->alias];
    bool first = from->first && !from->plain && order_is_one(&e->plan->tensors[to->alias].shape);
    const char *x = first ? from->first : onnx_plain(e, to->alias);
    const char *sizes = onnx_name(e, to->name, "shape");
    int64_t rank = to->shape.rank;
    int64_t *size = onnx_graph_new_tensor(e->graph, sizes, ONNX_INT64, &rank, 1);
    /* The first is 0: as it is in x, the batch; or -1, where steps are rows of a larger one. */
    if (size && to->shape.dim[0] != e->plan->tensors[to->alias].shape.dim[0])
        size[0] = -1;
    for (int i = 1; size && i < rank; i++)
        size[i] = to->shape.dim[i];
    onnx_apply(e, "Reshape", x, sizes, onnx_result(e, t, false));
}

/* The numbers of a constant, or of a weight. */
static const float *numbers(const onnx_export *e, const tensor *t)
{
    return t->values ? t->values : e->plan->model->variables[t->variable].value;
}

/* A weight, or a constant: that needs no axis for the batch, unless it is an image. */
static void add_numbers(onnx_export *e, tensor_ref t)
{
    const tensor *w = &e->plan->tensors[t];
    const int from = w->role == TENSOR_CONSTANT && w->shape.rank < 4;
    onnx_graph_tensor(e->graph, w->name, ONNX_FLOAT, w->shape.dim + from, w->shape.rank - from,
                      numbers(e, w));
    e->values[t].plain = w->name;
}

const char *onnx_plain(onnx_export *e, tensor_ref t)
{
    if (t == NO_TENSOR || e->status != CORNU_OK)
        return NULL;
    onnx_value *v = &e->values[t];
    if (v->plain)
        return v->plain;
    if (e->plan->tensors[t].role != TENSOR_BUFFER)
        add_numbers(e, t);
    else if (v->first)
        move_channels(e, v->first, onnx_result(e, t, false), false);
    else
        reshape(e, t);
    return v->plain;
}

/* The numbers, channels first. */
static const char *numbers_first(onnx_export *e, tensor_ref t)
{
    const tensor *c = &e->plan->tensors[t];
    const float *values = numbers(e, c);
    const int64_t *d = c->shape.dim, dims[4] = {d[0], d[3], d[1], d[2]};
    const char *name = onnx_result(e, t, true);
    float *to = onnx_graph_new_tensor(e->graph, name, ONNX_FLOAT, dims, 4);
    for (int64_t i = 0; to && i < c->count; i++)
        to[onnx_place_first(&c->shape, i)] = values[i];
    return name;
}

const char *onnx_channels_first(onnx_export *e, tensor_ref t)
{
    onnx_value *v = &e->values[t];
    if (v->first || e->status != CORNU_OK)
        return v->first;
    if (e->plan->tensors[t].role != TENSOR_BUFFER)
        return numbers_first(e, t);
    const char *x = onnx_plain(e, t);
    if (e->status == CORNU_OK)
        move_channels(e, x, onnx_result(e, t, true), true);
    return v->first;
}

const char *onnx_either(onnx_export *e, tensor_ref t, bool *first)
{
    *first = e->values[t].first != NULL;
    return *first ? e->values[t].first : onnx_plain(e, t);
}
