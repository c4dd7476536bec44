/* Operators on results of which one may be a constant of several numbers, and those on truth
   values, which are 1 and 0 here. */
#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include "model/number_array.h"
#include <string.h>

/* ---- constants ------------------------------------------------------------------------------ */

/* A constant's axes in cornu's order. */
typedef struct constant_axes {
    int rank;
    int64_t size[SHAPE_MAX], step[SHAPE_MAX];
} constant_axes;

/* Where an axis of an image, channels first, is in cornu: the batch, the channels, ... */
static void images_axes(constant_axes *a)
{
    static const int from[4] = {0, 2, 3, 1};
    const constant_axes given = *a;
    for (int i = 0; i < 4; i++) {
        const int axis = from[i] - (4 - given.rank);
        a->size[i] = axis < 0 ? 1 : given.size[axis];
        a->step[i] = axis < 0 ? 0 : given.step[axis];
    }
    a->rank = 4;
}

static cornu_status axes_of(const onnx_import *im, const Onnx__TensorProto *t, constant_axes *out)
{
    const int most = im->x.shape.rank + 1;
    if (t->n_dims > (size_t)most || (im->x.order != ORDER_PLAIN && im->x.order != ORDER_FIRST))
        return onnx_import_fail(im,
                                "found a constant of %zu dimensions beside a result of %d%s; "
                                "expected no more, and elements in the file's order",
                                t->n_dims, most,
                                im->x.order == ORDER_FLAT ? ", an image that was flattened" : "");
    *out = (constant_axes){.rank = (int)t->n_dims};
    for (int64_t i = out->rank - 1, step = 1; i >= 0; step *= t->dims[i--]) {
        out->size[i] = t->dims[i];
        out->step[i] = step;
    }
    if (im->x.order == ORDER_FIRST)
        images_axes(out);
    return CORNU_OK;
}

static void add_numbers(text *out, const Onnx__TensorProto *t, const constant_axes *a, int axis,
                        int64_t at)
{
    if (axis == a->rank) {
        const double value = t->data_type == ONNX_TRUTH ? (double)onnx_truth_at(t, at)
                                                        : (double)onnx_float_at(t, at);
        text_add(out, "%.9g", value);
        return;
    }
    for (int64_t i = 0; i < a->size[axis]; i++) {
        text_add(out, i ? "," : "[");
        add_numbers(out, t, a, axis + 1, at + i * a->step[axis]);
    }
    text_add(out, "]");
}

/* Append the option KEY: the constant that is input number `input`. */
static cornu_status add_option(const onnx_import *im, size_t input, const char *key, text *out)
{
    const char *name = onnx_input_name(onnx_node_at(im), input);
    const Onnx__TensorProto *t = onnx_constant_of(im, name);
    const int64_t count = onnx_truths(t) >= 0 ? onnx_truths(t) : onnx_floats(t);
    constant_axes axes;
    if (count < 1 || count > NUMBER_ARRAY_MOST)
        return onnx_import_fail(im,
                                "found the input \"%.200s\", which is no result of a node before "
                                "and no constant of 1 to %d floats; expected one of them",
                                name, NUMBER_ARRAY_MOST);
    TRY(axes_of(im, t, &axes));
    text_add(out, "%s%s: ", out->length ? ", " : "{", key);
    add_numbers(out, t, &axes, 0, 0);
    return CORNU_OK;
}

/* ---- layers --------------------------------------------------------------------------------- */

enum { OPERANDS_MOST = 3 };

/* Append a layer whose operands have these names; those that are constants are its options. */
static cornu_status add_layer(onnx_import *im, const char *kind, const char *const *keys, int count)
{
    int nodes[OPERANDS_MOST], used = 0;
    text options = {0};
    cornu_status status = CORNU_OK;
    for (int i = 0; i < count && status == CORNU_OK; i++)
        if (onnx_is_computed(im, (size_t)i))
            nodes[used++] = onnx_value_of(im, (size_t)i)->node;
        else
            status = add_option(im, (size_t)i, keys[i], &options);
    text_add(&options, options.length ? "}" : "{}");
    if (status == CORNU_OK && options.failed)
        status = status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory to read it", im->path);
    if (status == CORNU_OK)
        status = onnx_add_layer_of(im, nodes, used, kind, options.data);
    text_free(&options);
    return status == CORNU_OK ? onnx_done(im) : status;
}

cornu_status onnx_import_pair(onnx_import *im)
{
    static const char *const keys[] = {"x1", "x2"};
    const Onnx__NodeProto *n = onnx_node_at(im);
    if (n->n_input != 2)
        return onnx_import_fail(im, "found %zu inputs; expected 2", n->n_input);
    TRY(onnx_check_orders(im));
    return add_layer(im, onnx_layer_of(im), keys, 2);
}

cornu_status onnx_import_where(onnx_import *im)
{
    static const char *const keys[] = {"condition", "x1", "x2"};
    const Onnx__NodeProto *n = onnx_node_at(im);
    if (n->n_input != OPERANDS_MOST)
        return onnx_import_fail(im, "found %zu inputs; expected 3", n->n_input);
    TRY(onnx_check_orders(im));
    return add_layer(im, "Where", keys, OPERANDS_MOST);
}

/* 1 where x is 0 */
cornu_status onnx_import_not(onnx_import *im)
{
    TRY(onnx_add_layer(im, "Equal", "{x2: 0}"));
    return onnx_done(im);
}
