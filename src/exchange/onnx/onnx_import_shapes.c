/* Operators that rearrange, and normalizations. */
#include "exchange/onnx/onnx_import.h"
#include <string.h>

enum { SIZE_MOST = 1 << 20 };

static const Onnx__NodeProto *node(const onnx_import *im)
{
    return im->nodes[im->at];
}

/* ---- shapes ------------------------------------------------------------------------------- */

static cornu_status flatten(onnx_import *im)
{
    const shape s = im->model->output;
    bool moves = im->order == ORDER_FIRST && s.dim[2] > 1 && s.dim[0] * s.dim[1] > 1;
    if (im->order == ORDER_FLAT) /* flattening again changes nothing */
        return onnx_done(im, 0);
    memcpy(im->flat, s.dim, sizeof im->flat);
    im->order = moves ? ORDER_FLAT : ORDER_PLAIN;
    if (s.rank > 1)
        TRY(onnx_add_layer(im, "Flatten", "{}"));
    return onnx_done(im, 0);
}

cornu_status onnx_import_flatten(onnx_import *im)
{
    int64_t axis = onnx_int(node(im), "axis", 1);
    if (axis != 1 && axis != -im->model->output.rank)
        return onnx_import_fail(im, "axis: found %lld; expected 1", (long long)axis);
    return flatten(im);
}

/* The dimensions after the batch that a Reshape requests; -1 and 0 are kept as they are. */
static cornu_status read_target(const onnx_import *im, shape *target)
{
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(node(im), 1));
    int64_t rank = onnx_integers(t);
    if (rank < 2 || rank > SHAPE_MAX)
        return onnx_import_fail(im,
                                "found a shape of %lld dimensions; expected a constant of 2 to "
                                "%d",
                                (long long)rank, SHAPE_MAX);
    int64_t batch = onnx_integer_at(t, 0);
    bool zeros = onnx_int(node(im), "allowzero", 0) != 0;
    bool keeps = batch == -1 || (batch == 0 && !zeros) || (batch > 0 && batch == im->batch);
    target->rank = (int)rank - 1;
    for (int i = 0; i < target->rank; i++) {
        target->dim[i] = onnx_integer_at(t, i + 1);
        bool kept =
            target->dim[i] == 0 && im->order != ORDER_FIRST && i < im->model->output.rank && !zeros;
        if (kept)
            target->dim[i] = im->model->output.dim[i];
        if (target->dim[i] < -1 || target->dim[i] == 0 || target->dim[i] > SHAPE_ELEMENTS_MAX ||
            (target->dim[i] < 0 && batch < 0) || !keeps)
            return onnx_import_fail(im,
                                    "found the shape's dimension %lld, and %lld for the batch; "
                                    "expected the batch, then those of one sample",
                                    (long long)target->dim[i], (long long)batch);
    }
    return CORNU_OK;
}

cornu_status onnx_import_reshape(onnx_import *im)
{
    shape target = {.rank = 0};
    const shape s = im->model->output;
    TRY(read_target(im, &target));
    if (target.rank == 1 && (target.dim[0] < 0 || target.dim[0] == shape_elements(&s)))
        return flatten(im);
    bool one = s.rank == 3 && (s.dim[2] == 1 || s.dim[0] * s.dim[1] == 1);
    if (im->order == ORDER_FLAT || (im->order == ORDER_FIRST && !one))
        return onnx_import_fail(im, "found an image with its channels first; expected it to be "
                                    "flattened, or transposed before");
    TRY(onnx_add_reshape(im, &target));
    im->order = ORDER_PLAIN;
    return onnx_done(im, 0);
}

/* An image of one pixel loses its height and width. */
cornu_status onnx_import_squeeze(onnx_import *im)
{
    const shape *s = &im->model->output;
    if (s->rank != 3 || s->dim[0] != 1 || s->dim[1] != 1)
        return onnx_import_fail(im, "found no image of one pixel; expected one");
    const Onnx__AttributeProto *listed = onnx_attribute(node(im), "axes");
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(node(im), 1));
    int64_t count = listed ? (int64_t)listed->n_ints : onnx_integers(t);
    int64_t first = im->order == ORDER_FIRST ? 2 : 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = listed ? listed->ints[i] : onnx_integer_at(t, i);
        axis += axis < 0 ? 4 : 0;
        count = axis == first + i ? count : -1;
    }
    if (count != 2)
        return onnx_import_fail(im, "axes: expected those of height and width");
    return flatten(im);
}

cornu_status onnx_import_transpose(onnx_import *im)
{
    static const int64_t last[4] = {0, 2, 3, 1}, first[4] = {0, 3, 1, 2};
    int64_t perm[4] = {0};
    TRY(onnx_ints(im, "perm", 4, 0, 3, perm));
    if (im->order == ORDER_FIRST && memcmp(perm, last, sizeof perm) == 0)
        im->order = ORDER_PLAIN;
    else if (im->order == ORDER_PLAIN && im->model->output.rank == 3 &&
             memcmp(perm, first, sizeof perm) == 0)
        im->order = ORDER_FIRST;
    else
        return onnx_import_fail(im,
                                "perm: found %lld, %lld, %lld, %lld; expected an image's "
                                "channels to go first, or back",
                                (long long)perm[0], (long long)perm[1], (long long)perm[2],
                                (long long)perm[3]);
    return onnx_done(im, 0);
}

/* ---- padding ------------------------------------------------------------------------------ */

enum { IMAGE_RANK = 4 };

/* The amounts of a Pad in the form of ONNX since opset 11: before each dimension, then after
   each. */
typedef struct padding {
    int64_t pad[2 * IMAGE_RANK];
    bool fits;
} padding;

/* Which dimension pair number i of `count` pads; -1: none. */
static int64_t padded_axis(const onnx_import *im, int64_t i)
{
    const char *name = onnx_input_name(node(im), 3);
    if (!*name)
        return i;
    int64_t axis = onnx_integer_at(onnx_constant_of(im, name), i);
    axis += axis < 0 ? IMAGE_RANK : 0;
    return axis >= 0 && axis < IMAGE_RANK ? axis : -1;
}

/* Before opset 11 pads and value are attributes, since 18 there may be axes. */
static padding read_padding(const onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const bool early = im->opset < 11;
    const Onnx__AttributeProto *listed = onnx_attribute(n, "pads");
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(n, 1));
    const char *axes = onnx_input_name(n, 3);
    const int64_t count = early ? (listed ? (int64_t)listed->n_ints : -1) : onnx_integers(t);
    const int64_t pairs = *axes ? onnx_integers(onnx_constant_of(im, axes)) : IMAGE_RANK;
    padding p = {.fits = pairs >= 0 && pairs <= IMAGE_RANK && count == 2 * pairs};
    bool seen[IMAGE_RANK] = {false};
    for (int64_t i = 0; i < pairs && p.fits; i++) {
        int64_t axis = padded_axis(im, i);
        p.fits = axis >= 0 && !seen[axis];
        for (int64_t side = 0; side < 2 && p.fits; side++) {
            int64_t at = side * pairs + i;
            seen[axis] = true;
            p.pad[side * IMAGE_RANK + axis] = early ? listed->ints[at] : onnx_integer_at(t, at);
        }
    }
    return p;
}

static bool pads_zeros(const onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__AttributeProto *mode = onnx_attribute(n, "mode");
    const char *given = onnx_input_name(n, 2);
    double value = im->opset < 11 ? onnx_real(n, "value", 0) : 0;
    return (!mode || onnx_text_is(mode, "constant")) &&
           (!*given || onnx_is_number(im, given, &value)) && value == 0;
}

cornu_status onnx_import_pad(onnx_import *im)
{
    const int height = im->order == ORDER_FIRST ? 2 : 1;
    window2d w = {.groups = 1};
    padding p = read_padding(im);
    bool fits = p.fits && im->model->output.rank == IMAGE_RANK - 1 && pads_zeros(im);
    for (int i = 0; i < 2 * IMAGE_RANK && fits; i++) {
        int axis = i % IMAGE_RANK;
        bool of_image = axis == height || axis == height + 1;
        fits = p.pad[i] >= 0 && p.pad[i] <= SIZE_MOST && (of_image || p.pad[i] == 0);
    }
    if (!fits)
        return onnx_import_fail(im, "found another padding; expected zeros around an image");
    for (int i = 0; i < 2; i++) {
        w.before[i] = p.pad[height + i];
        w.after[i] = p.pad[IMAGE_RANK + height + i];
    }
    TRY(onnx_add_padding(im, &w, false));
    return onnx_done(im, 0);
}

/* ---- normalizations ----------------------------------------------------------------------- */

/* Weights from inputs 1 on, one number for each of the layer's channels. */
static cornu_status add_sources(onnx_import *im, int count)
{
    const shape *s = &im->model->output;
    for (int i = 0; i < count; i++) {
        const char *name = onnx_input_name(node(im), (size_t)i + 1);
        const Onnx__TensorProto *t = onnx_constant_of(im, name);
        if (!onnx_is_row(im, t, s->dim[s->rank - 1]))
            return onnx_import_fail(
                im, "%.200s: found no constant of %lld floats in a row; expected one", name,
                (long long)s->dim[s->rank - 1]);
        TRY(onnx_add_source(im, i, t, WEIGHT_SAME));
    }
    return onnx_done(im, 0);
}

cornu_status onnx_import_batch_norm(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    bool rows = im->model->output.rank == 1;
    if (onnx_int(n, "spatial", 1) == 0)
        return onnx_import_fail(im, "spatial: found 0, a mean for each pixel; expected 1");
    if ((!rows && im->order != ORDER_FIRST) || onnx_int(n, "training_mode", 0) != 0)
        return onnx_import_fail(im,
                                "found training_mode %lld and %d dimensions; expected 0 and "
                                "rows, or images with their channels first",
                                (long long)onnx_int(n, "training_mode", 0),
                                im->model->output.rank + 1);
    TRY(onnx_add_layer(im, "BatchNormalization", "{epsilon: %.9g}", onnx_real(n, "epsilon", 1e-5)));
    return add_sources(im, 4);
}

cornu_status onnx_import_layer_norm(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    int64_t axis = onnx_int(n, "axis", -1);
    bool center = *onnx_input_name(n, 2) != 0;
    if ((axis != -1 && axis != im->model->output.rank) || im->order == ORDER_FIRST)
        return onnx_import_fail(im, "axis: found %lld; expected the last, of channels",
                                (long long)axis);
    TRY(onnx_add_layer(im, "LayerNormalization", "{epsilon: %.9g, center: %s}",
                       onnx_real(n, "epsilon", 1e-5), center ? "true" : "false"));
    return add_sources(im, center ? 2 : 1);
}
