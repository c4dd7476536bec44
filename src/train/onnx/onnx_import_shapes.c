/* Operators that rearrange, and normalizations. */
#include "train/onnx/onnx_import.h"
#include <stdio.h>
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
    memcpy(im->flat, s.dim, sizeof im->flat);
    if (im->order != ORDER_FLAT)
        im->order = moves ? ORDER_FLAT : ORDER_PLAIN;
    if (s.rank > 1)
        TRY(onnx_add_layer(im, "Flatten", "{}"));
    return onnx_done(im, 0);
}

cornu_status onnx_import_flatten(onnx_import *im)
{
    int64_t axis = onnx_int(node(im), "axis", 1);
    if (axis != 1)
        return onnx_import_fail(im, "axis: found %lld; expected 1", (long long)axis);
    return flatten(im);
}

/* The dimensions behind the batch that a Reshape asks for; -1 and 0 as they stand. */
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
    target->rank = (int)rank - 1;
    for (int i = 0; i < target->rank; i++) {
        target->dim[i] = onnx_integer_at(t, i + 1);
        bool kept = target->dim[i] == 0 && im->order != ORDER_FIRST && i < im->model->output.rank &&
                    onnx_int(node(im), "allowzero", 0) == 0;
        if (kept)
            target->dim[i] = im->model->output.dim[i];
        if (target->dim[i] < -1 || target->dim[i] == 0 || target->dim[i] > SHAPE_ELEMENTS_MAX ||
            (target->dim[i] < 0 && batch < 0) || batch < -1 || batch > 1)
            return onnx_import_fail(im,
                                    "found the shape's dimension %lld; expected the batch, then "
                                    "those of one sample",
                                    (long long)target->dim[i]);
    }
    return CORNU_OK;
}

cornu_status onnx_import_reshape(onnx_import *im)
{
    shape target = {.rank = 0};
    char list[160] = "";
    const shape s = im->model->output;
    TRY(read_target(im, &target));
    if (target.rank == 1 && (target.dim[0] < 0 || target.dim[0] == shape_elements(&s)))
        return flatten(im);
    bool one = s.rank == 3 && (s.dim[2] == 1 || s.dim[0] * s.dim[1] == 1);
    if (im->order == ORDER_FLAT || (im->order == ORDER_FIRST && !one))
        return onnx_import_fail(im, "found an image with its channels first; expected it to be "
                                    "flattened, or transposed before");
    for (int i = 0; i < target.rank; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%lld", i ? ", " : "",
                 (long long)target.dim[i]);
    TRY(onnx_add_layer(im, "Reshape", "{target_shape: [%s]}", list));
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

cornu_status onnx_import_pad(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__AttributeProto *mode = onnx_attribute(n, "mode");
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(n, 1));
    const int height = im->order == ORDER_FIRST ? 2 : 1;
    int64_t pad[8] = {0};
    window2d w = {.groups = 1};
    double value = 0;
    bool zeros = !*onnx_input_name(n, 2) || (onnx_is_number(im, n->input[2], &value) && value == 0);
    bool constant =
        !mode || (mode->has_s && mode->s.len == 8 && memcmp(mode->s.data, "constant", 8) == 0);
    bool fits = im->model->output.rank == 3 && onnx_integers(t) == 8 && zeros && constant;
    for (int i = 0; i < 8 && fits; i++) {
        pad[i] = onnx_integer_at(t, i);
        bool of_image = i % 4 == height || i % 4 == height + 1;
        fits = pad[i] >= 0 && pad[i] <= SIZE_MOST && (of_image || pad[i] == 0);
    }
    if (!fits)
        return onnx_import_fail(im, "found another padding; expected zeros around an image");
    for (int i = 0; i < 2; i++) {
        w.before[i] = pad[height + i];
        w.after[i] = pad[4 + height + i];
    }
    TRY(onnx_add_padding(im, &w, false));
    return onnx_done(im, 0);
}

/* ---- normalizations ----------------------------------------------------------------------- */

/* Weights from inputs 1 on. */
static cornu_status add_sources(onnx_import *im, int count)
{
    for (int i = 0; i < count; i++)
        TRY(onnx_add_source(im, i, onnx_constant_of(im, onnx_input_name(node(im), (size_t)i + 1)),
                            WEIGHT_SAME));
    return onnx_done(im, 0);
}

cornu_status onnx_import_batch_norm(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    bool rows = im->model->output.rank == 1;
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
