/* Operators on several results, which become merging layers. */
#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MOST = 1000 };

/* ---- the inputs --------------------------------------------------------------------------- */

static cornu_status check_computed(const onnx_import *im)
{
    const Onnx__NodeProto *n = onnx_node_at(im);
    if (n->n_input > INPUTS_MOST)
        return onnx_import_fail(im, "found %zu inputs; expected at most %d", n->n_input,
                                INPUTS_MOST);
    for (size_t i = 0; i < n->n_input; i++)
        TRY(onnx_want_computed(im, i));
    return CORNU_OK;
}

static const char *order_name(const onnx_value *v)
{
    static const char *const names[] = {
        [ORDER_PLAIN] = "the file's",
        [ORDER_FIRST] = "of an image, channels first",
        [ORDER_FLAT] = "of an image that was flattened channels first",
        [ORDER_SWAPPED] = "of a matrix whose dimensions were exchanged",
        [ORDER_SEQUENCE] = "of a sequence whose steps come first",
    };
    return names[v->order];
}

/* Do the elements of both stand in the same order, so that equal places belong together? */
static bool same_order(const onnx_value *a, const onnx_value *b)
{
    return a->order == b->order &&
           (a->order != ORDER_FLAT || memcmp(a->flat, b->flat, sizeof a->flat) == 0);
}

cornu_status onnx_check_orders(const onnx_import *im)
{
    const onnx_value *first = NULL;
    for (size_t i = 0; i < onnx_node_at(im)->n_input; i++) {
        if (!onnx_is_computed(im, i))
            continue;
        const onnx_value *v = onnx_value_of(im, i);
        first = first ? first : v;
        if (v->shape.rank != first->shape.rank)
            return onnx_import_fail(im,
                                    "found inputs of %d and %d dimensions, %.200s and %.200s; "
                                    "expected as many",
                                    first->shape.rank + 1, v->shape.rank + 1, first->name, v->name);
        if (!same_order(first, v))
            return onnx_import_fail(im,
                                    "found two orders of elements: of %.200s %s, of %.200s %s; "
                                    "expected one",
                                    first->name, order_name(first), v->name, order_name(v));
    }
    return CORNU_OK;
}

/* ---- the layers --------------------------------------------------------------------------- */

/* Append a layer on all inputs, with this axis if it is not 0. */
static cornu_status add_merge(onnx_import *im, const char *kind, int axis)
{
    const int count = (int)onnx_node_at(im)->n_input;
    int *nodes;
    cornu_status status;
    TRY(memory_new((size_t)count, sizeof *nodes, "ONNX", &nodes));
    for (int i = 0; i < count; i++)
        nodes[i] = onnx_value_of(im, (size_t)i)->node;
    if (axis > 0)
        status = onnx_add_layer_on(im, nodes, count, kind, "{axis: %d}", axis);
    else
        status = onnx_add_layer_on(im, nodes, count, kind, "{}");
    free(nodes);
    return status == CORNU_OK ? onnx_done(im) : status;
}

const char *onnx_layer_of(const onnx_import *im)
{
    static const char *const layers[][2] = {
        {"Div", "Divide"},
        {"GreaterOrEqual", "GreaterEqual"},
        {"LessOrEqual", "LessEqual"},
        {"MatMul", "Matmul"},
        {"Max", "Maximum"},
        {"Mean", "Average"},
        {"Min", "Minimum"},
        {"Mul", "Multiply"},
        {"Sub", "Subtract"},
        {"Sum", "Add"},
    };
    const char *kind = onnx_node_at(im)->op_type;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strcmp(kind, layers[i][0]) == 0)
            return layers[i][1];
    return kind;
}

cornu_status onnx_import_merge(onnx_import *im)
{
    TRY(check_computed(im));
    if (onnx_node_at(im)->n_input == 1)
        return onnx_done(im);
    TRY(onnx_check_orders(im));
    return add_merge(im, onnx_layer_of(im), 0);
}

cornu_status onnx_import_concat(onnx_import *im)
{
    const Onnx__NodeProto *n = onnx_node_at(im);
    const int64_t rank = im->x.shape.rank + 1, given = onnx_int(n, "axis", 1);
    const int64_t axis = given < 0 ? given + rank : given;
    TRY(check_computed(im));
    TRY(onnx_check_orders(im));
    if (axis < 1 || axis >= rank || !onnx_attribute(n, "axis"))
        return onnx_import_fail(im,
                                "axis: found %lld of %lld dimensions; expected one behind the "
                                "batch",
                                (long long)given, (long long)rank);
    if (im->x.order == ORDER_FLAT)
        return onnx_import_fail(im, "found images flattened channels first; expected them to be "
                                    "concatenated before, or transposed");
    if (n->n_input == 1)
        return onnx_done(im);
    return add_merge(im, "Concatenate", onnx_axis_of(im, axis));
}

/* ---- products ----------------------------------------------------------------------------- */

/* The axis of a factor of a product of matrices, as Dot has it, along which products are added. */
static int summed_axis(const onnx_value *v, bool is_first)
{
    return (v->order == ORDER_SWAPPED) == is_first ? 1 : 2;
}

/* A stack of matrices of the model in the file's order: an image's channels go first. */
static cornu_status add_in_order(onnx_import *im, size_t input, int *out)
{
    im->x = *onnx_value_of(im, input);
    if (im->x.order == ORDER_FIRST)
        TRY(onnx_add_layer(im, "Permute", "{dims: [3, 1, 2]}"));
    *out = im->x.node;
    return CORNU_OK;
}

/* Products of the matrices in the last two dimensions, one for each place in those before. */
static cornu_status add_products(onnx_import *im)
{
    int nodes[2];
    for (size_t i = 0; i < 2; i++)
        TRY(add_in_order(im, i, &nodes[i]));
    TRY(onnx_add_layer_on(im, nodes, 2, "Matmul", "{}"));
    im->x.order = ORDER_PLAIN;
    return onnx_done(im);
}

static bool is_stack(const onnx_value *v)
{
    return v->shape.rank > 2 && (v->order == ORDER_PLAIN || v->order == ORDER_FIRST);
}

cornu_status onnx_import_product(onnx_import *im)
{
    int nodes[2], axes[2];
    const int rank = onnx_value_of(im, 0)->shape.rank;
    if (onnx_value_of(im, 1)->shape.rank == rank && is_stack(onnx_value_of(im, 0)) &&
        is_stack(onnx_value_of(im, 1)))
        return add_products(im);
    for (int i = 0; i < 2; i++) {
        const onnx_value *v = onnx_value_of(im, (size_t)i);
        if (v->shape.rank != 2 || (v->order != ORDER_PLAIN && v->order != ORDER_SWAPPED))
            return onnx_import_fail(im,
                                    "found %.200s of %d dimensions, in the order %s; expected a "
                                    "product of two results that are matrices (batch, rows, "
                                    "columns), or of one and a constant",
                                    v->name, v->shape.rank + 1, order_name(v));
        nodes[i] = v->node;
        axes[i] = summed_axis(v, i == 0);
    }
    TRY(onnx_add_layer_on(im, nodes, 2, "Dot", "{axes: [%d, %d]}", axes[0], axes[1]));
    im->x.order = ORDER_PLAIN;
    return onnx_done(im);
}
