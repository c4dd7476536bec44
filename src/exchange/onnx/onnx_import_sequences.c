/* Sequences in the order that ONNX's recurrent operators have them, the steps before the batch, and
   the operators that bring them into this order, or back. cornu's own values keep theirs. */
#include "exchange/onnx/onnx_import.h"
#include <string.h>

/* The value has these axes now; where they are in cornu's order, it is like any other. */
static cornu_status settle(onnx_import *im, const char *axes)
{
    memmove(im->x.axes, axes, strlen(axes) + 1);
    im->x.order = ORDER_SEQUENCE;
    if (strcmp(axes, "bsu") != 0 && strcmp(axes, "bu") != 0)
        return onnx_done(im);
    if (im->x.reversed)
        return onnx_import_fail(im, "found the steps of a layer that goes backwards, in the "
                                    "input's order; expected them in reverse order, by a Slice, or "
                                    "direction bidirectional");
    im->x.order = ORDER_PLAIN;
    return onnx_done(im);
}

/* ---- Transpose ------------------------------------------------------------------------------ */

/* The batch and the steps of a sequence change places. */
static bool begins_sequence(const onnx_import *im)
{
    const Onnx__AttributeProto *perm = onnx_attribute(onnx_node_at(im), "perm");
    return im->x.order == ORDER_PLAIN && im->x.shape.rank == 2 && perm && perm->n_ints == 3 &&
           perm->ints[0] == 1 && perm->ints[1] == 0 && perm->ints[2] == 2;
}

bool onnx_transposes_sequence(const onnx_import *im)
{
    return im->x.order == ORDER_SEQUENCE || begins_sequence(im);
}

cornu_status onnx_transpose_sequence(onnx_import *im)
{
    int64_t perm[SHAPE_MAX];
    char axes[SHAPE_MAX + 1] = "";
    if (begins_sequence(im)) {
        im->x.reversed = false;
        im->x.directions = 1;
        return settle(im, "sbu");
    }
    const int rank = (int)strlen(im->x.axes);
    for (int i = 0; i < rank; i++)
        perm[i] = rank - 1 - i;
    TRY(onnx_ints(im, "perm", rank, 0, rank - 1, perm));
    for (int i = 0; i < rank; i++) {
        if (strchr(axes, im->x.axes[perm[i]]))
            return onnx_import_fail(im, "perm: found %lld twice; expected each dimension once",
                                    (long long)perm[i]);
        axes[i] = im->x.axes[perm[i]];
    }
    return settle(im, axes);
}

/* ---- the axis of directions ----------------------------------------------------------------- */

bool onnx_one_axis(const onnx_import *im, const Onnx__NodeProto *n, int rank, int64_t *axis)
{
    const Onnx__AttributeProto *listed = onnx_attribute(n, "axes");
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(n, 1));
    const int64_t count = listed ? (int64_t)listed->n_ints : onnx_integers(t);
    *axis = -1;
    if (count == 1)
        *axis = listed ? listed->ints[0] : onnx_integer_at(t, 0);
    *axis += *axis < 0 ? rank : 0;
    return count == 1 && *axis >= 0 && *axis < rank;
}

/* The one axis that the node names. */
static cornu_status read_axis(const onnx_import *im, int rank, int *out)
{
    int64_t axis;
    if (!onnx_one_axis(im, onnx_node_at(im), rank, &axis))
        return onnx_import_fail(im, "axes: found another number; expected one, that of directions");
    *out = (int)axis;
    return CORNU_OK;
}

cornu_status onnx_squeeze_sequence(onnx_import *im)
{
    char axes[SHAPE_MAX + 1];
    const int rank = (int)strlen(im->x.axes);
    int axis = 0;
    TRY(read_axis(im, rank, &axis));
    if (im->x.axes[axis] != AXIS_DIRECTIONS || im->x.directions != 1)
        return onnx_import_fail(
            im, "axes: found %d of a sequence; expected that of directions, of one", axis);
    memcpy(axes, im->x.axes, (size_t)axis);
    memcpy(axes + axis, im->x.axes + axis + 1, (size_t)(rank - axis));
    return settle(im, axes);
}

/* The recurrent operator's layer has merged its directions, if this is what alone reads them. */
cornu_status onnx_import_merged_directions(onnx_import *im)
{
    if (im->x.order != ORDER_SEQUENCE || im->x.directions != 1)
        return onnx_import_fail(im,
                                "found no steps of a recurrent operator's two directions, which "
                                "nothing else reads; expected them");
    if (onnx_int(onnx_node_at(im), "keepdims", 1) != 0)
        return onnx_import_fail(im, "keepdims: found 1; expected 0");
    return onnx_squeeze_sequence(im);
}

cornu_status onnx_import_unsqueeze(onnx_import *im)
{
    int axis = 0;
    TRY(read_axis(im, im->x.shape.rank + 2, &axis));
    if (axis != 0 || im->x.order != ORDER_PLAIN || im->x.shape.rank != 1)
        return onnx_import_fail(im,
                                "axes: found %d, and %d dimensions; expected 0 of a state (batch, "
                                "units) for a recurrent operator",
                                axis, im->x.shape.rank + 1);
    im->x.reversed = false;
    im->x.directions = 1;
    return settle(im, "dbu");
}

/* Directions and units become one dimension. */
cornu_status onnx_reshape_sequence(onnx_import *im)
{
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(onnx_node_at(im), 1));
    const int rank = (int)strlen(im->x.axes);
    const shape *s = &im->x.shape;
    char axes[SHAPE_MAX + 1] = "";
    bool fits = strcmp(im->x.axes + (rank > 2 ? rank - 2 : 0), "du") == 0 &&
                onnx_integers(t) == rank - 1 && onnx_int(onnx_node_at(im), "allowzero", 0) == 0;
    for (int i = 0; fits && i < rank - 1; i++) {
        const int64_t size = onnx_integer_at(t, i);
        const char axis = i < rank - 2 ? im->x.axes[i] : AXIS_UNITS;
        const int64_t own = axis == AXIS_BATCH   ? im->batch
                            : axis == AXIS_STEPS ? s->dim[0]
                                                 : s->dim[s->rank - 1];
        fits = size == -1 || (size == 0 && i < rank - 2) || (own > 0 && size == own);
        axes[i] = axis;
    }
    if (!fits)
        return onnx_import_fail(im, "found another shape of a recurrent operator's result; "
                                    "expected both directions beside each other");
    return settle(im, axes);
}
