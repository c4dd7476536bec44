/* Operators that take parts of a result, limit it, or put its dimensions in another order. */
#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Slice ---------------------------------------------------------------------------------- */

/* A list of a Slice: an attribute before opset 10, else a constant input. */
typedef struct attribute_list {
    const Onnx__AttributeProto *attribute;
    const Onnx__TensorProto *tensor;
    int64_t count; /* -1: it is not there */
} attribute_list;

static cornu_status read_list(const onnx_import *im, const char *key, size_t input,
                              attribute_list *out)
{
    const Onnx__NodeProto *n = onnx_node_at(im);
    const char *name = im->opset < 10 ? "" : onnx_input_name(n, input);
    *out =
        (attribute_list){.attribute = im->opset < 10 ? onnx_attribute(n, key) : NULL, .count = -1};
    if (out->attribute)
        out->count = (int64_t)out->attribute->n_ints;
    if (!*name)
        return CORNU_OK;
    out->tensor = onnx_constant_of(im, name);
    out->count = onnx_integers(out->tensor);
    if (out->count >= 0)
        return CORNU_OK;
    return onnx_import_fail(im, "%s: found no constant of 64-bit integers; expected one", key);
}

static int64_t number_at(const attribute_list *l, int64_t i)
{
    return l->attribute ? l->attribute->ints[i] : onnx_integer_at(l->tensor, i);
}

/* The parts of a Slice, by cornu's axes. */
typedef struct slice_part {
    bool given;
    int64_t begin, end, step;
} slice_part;

static cornu_status read_parts(const onnx_import *im, slice_part parts[SHAPE_MAX])
{
    attribute_list starts, ends, axes, steps;
    TRY(read_list(im, "starts", 1, &starts));
    TRY(read_list(im, "ends", 2, &ends));
    TRY(read_list(im, "axes", 3, &axes));
    TRY(read_list(im, "steps", 4, &steps));
    const int64_t count = starts.count;
    if (count < 0 || ends.count != count || (axes.count >= 0 && axes.count != count) ||
        (steps.count >= 0 && steps.count != count))
        return onnx_import_fail(im,
                                "found %lld starts, %lld ends, %lld axes and %lld steps; expected "
                                "as many of each that is there",
                                (long long)count, (long long)ends.count, (long long)axes.count,
                                (long long)steps.count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t given = axes.count < 0 ? i : number_at(&axes, i);
        const int axis = onnx_axis_of(im, given);
        if (axis < 1 || parts[axis].given)
            return onnx_import_fail(im,
                                    "axes: found %lld; expected each dimension after the batch "
                                    "once at most",
                                    (long long)given);
        parts[axis] = (slice_part){.given = true,
                                   .begin = number_at(&starts, i),
                                   .end = number_at(&ends, i),
                                   .step = steps.count < 0 ? 1 : number_at(&steps, i)};
    }
    return CORNU_OK;
}

/* A sequence whose steps are put in reverse order. */
static cornu_status slice_sequence(onnx_import *im)
{
    static const char *const keys[] = {"starts", "ends", "axes", "steps"};
    const char *steps_axis = strchr(im->x.axes, AXIS_STEPS);
    const int64_t steps = im->x.shape.rank == 2 ? im->x.shape.dim[0] : 0;
    int64_t given[4] = {0};
    bool fits = steps_axis != NULL;
    for (size_t i = 0; i < 4; i++) {
        attribute_list l;
        TRY(read_list(im, keys[i], i + 1, &l));
        fits = fits && l.count == 1;
        given[i] = fits ? number_at(&l, 0) : 0;
    }
    if (!fits || given[2] != steps_axis - im->x.axes || given[3] != -1 ||
        (given[0] != -1 && given[0] < steps - 1) || given[1] >= -steps)
        return onnx_import_fail(im, "found a slice of a sequence whose steps come first; expected "
                                    "all of its steps in reverse order, or a Transpose before, "
                                    "for the batch to come first");
    im->x.reversed = !im->x.reversed;
    return onnx_done(im);
}

cornu_status onnx_import_slice(onnx_import *im)
{
    slice_part parts[SHAPE_MAX] = {{false, 0, 0, 0}};
    text key = {0};
    if (im->x.order == ORDER_SEQUENCE)
        return slice_sequence(im);
    if (im->x.order == ORDER_FLAT)
        return onnx_import_fail(im, "found an image flattened channels first; expected it to be "
                                    "sliced before, or transposed");
    TRY(read_parts(im, parts));
    text_add(&key, "{key: ':");
    for (int i = 1; i <= im->x.shape.rank; i++)
        if (parts[i].given)
            text_add(&key, ",%lld:%lld:%lld", (long long)parts[i].begin, (long long)parts[i].end,
                     (long long)parts[i].step);
        else
            text_add(&key, ",:");
    text_add(&key, "'}");
    cornu_status status =
        key.failed ? status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory to read it", im->path)
                   : onnx_add_layer_of(im, &im->x.node, 1, "GetItem", key.data);
    text_free(&key);
    return status == CORNU_OK ? onnx_done(im) : status;
}

/* ---- Clip ----------------------------------------------------------------------------------- */

/* A limit: an attribute before opset 11, else an input of one number; NAN where there is none. */
static cornu_status read_limit(const onnx_import *im, const char *key, size_t input, double *out)
{
    const Onnx__NodeProto *n = onnx_node_at(im);
    const char *name = onnx_input_name(n, input);
    *out = im->opset < 11 ? onnx_real(n, key, NAN) : NAN;
    if (im->opset < 11 || !*name)
        return CORNU_OK;
    const Onnx__TensorProto *t = onnx_constant_of(im, name);
    if (onnx_floats(t) == 1)
        *out = (double)onnx_float_at(t, 0);
    if (isfinite(*out))
        return CORNU_OK;
    return onnx_import_fail(im, "%s: found no constant of one finite number; expected one", key);
}

cornu_status onnx_import_clip(onnx_import *im)
{
    double least, most;
    TRY(read_limit(im, "min", 1, &least));
    TRY(read_limit(im, "max", 2, &most));
    if (least >= 0 && least <= 0 && most >= 6 && most <= 6)
        TRY(onnx_add_layer(im, "Activation", "{activation: relu6}"));
    else if (isfinite(least) && isfinite(most))
        TRY(onnx_add_layer(im, "Clip", "{x_min: %.9g, x_max: %.9g}", least, most));
    else if (isfinite(least))
        TRY(onnx_add_layer(im, "Maximum", "{x2: %.9g}", least));
    else if (isfinite(most))
        TRY(onnx_add_layer(im, "Minimum", "{x2: %.9g}", most));
    return onnx_done(im);
}

/* ---- Transpose ------------------------------------------------------------------------------ */

/* An order of dimensions that is neither that of an image nor that of a matrix for a product. */
cornu_status onnx_import_order(onnx_import *im)
{
    const int rank = im->x.shape.rank + 1;
    const Onnx__AttributeProto *perm = onnx_attribute(onnx_node_at(im), "perm");
    int64_t axes[SHAPE_MAX];
    char list[SHAPE_MAX * 24] = "";
    if (im->x.order != ORDER_PLAIN || !perm)
        return onnx_import_fail(im,
                                "found %s; expected an image's channels to go first, or back, or "
                                "an order of dimensions in the file's order",
                                perm ? "an image with its channels first" : "no perm");
    TRY(onnx_ints(im, "perm", rank, 0, rank - 1, axes));
    for (int i = 0; i < rank; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%lld", i ? ", " : "",
                 (long long)axes[i]);
    TRY(onnx_add_layer(im, "Transpose", "{axes: [%s]}", list));
    return onnx_done(im);
}
