/* The operators: each node becomes a layer, or joins one. */
#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZE_MOST = 1 << 20 };

static const Onnx__NodeProto *node(const onnx_import *im)
{
    return onnx_node_at(im);
}

/* ---- the model so far --------------------------------------------------------------------- */

static bool keeps_rank(const onnx_import *im, const Onnx__TensorProto *t)
{
    return t->n_dims <= (size_t)im->x.shape.rank + 1;
}

/* True if this constant of floats has `count` numbers for the last dimension of the current
   value, and does not change its shape. */
static bool onnx_is_row(const onnx_import *im, const Onnx__TensorProto *t, int64_t count)
{
    return onnx_floats(t) == count && t->n_dims >= 1 && t->dims[t->n_dims - 1] == count &&
           keeps_rank(im, t);
}

/* True if the constant is a single float that does not change the shape of the current value;
 *value gets it. */
static bool onnx_is_number(const onnx_import *im, const char *name, double *value)
{
    const Onnx__TensorProto *t = onnx_constant_of(im, name);
    if (onnx_floats(t) != 1 || !keeps_rank(im, t))
        return false;
    *value = (double)onnx_float_at(t, 0);
    return isfinite(*value);
}

static bool onnx_is_near(const onnx_import *im, const char *name, double value)
{
    double found;
    return onnx_is_number(im, name, &found) && fabs(found - value) < 1e-6;
}

/* ---- element by element ------------------------------------------------------------------- */

static cornu_status add_activation(onnx_import *im, const char *name)
{
    TRY(onnx_add_layer(im, "Activation", "{activation: %s}", name));
    return onnx_done(im);
}

/* A sigmoid, or x sigmoid(x). */
static cornu_status import_sigmoid(onnx_import *im)
{
    const char *other = "";
    const int product = onnx_reader(im, im->at, "Mul", &other);
    const bool silu = product >= 0 && strcmp(other, im->x.name) == 0;
    if (silu)
        onnx_join(im, product);
    return add_activation(im, silu ? "silu" : "sigmoid");
}

/* x to the power of a constant for which there is a layer. */
static cornu_status import_power(onnx_import *im)
{
    static const struct {
        double exponent;
        const char *layer;
    } layers[] = {{2, "Square"}, {0.5, "Sqrt"}, {-0.5, "Rsqrt"}, {-1, "Reciprocal"}};
    double exponent = 0;
    const bool number = onnx_is_number(im, onnx_input_name(node(im), 1), &exponent);
    for (size_t i = 0; number && i < sizeof layers / sizeof *layers; i++)
        if (exponent == layers[i].exponent) {
            TRY(onnx_add_layer(im, layers[i].layer, "{}"));
            return onnx_done(im);
        }
    return onnx_import_fail(im,
                            "found %s%g as the exponent; expected the number 2, 0.5, -0.5 or -1",
                            number ? "" : "no number, ", exponent);
}

/* Over all dimensions from `axis` on, as if they were one. */
static cornu_status add_flattened_softmax(onnx_import *im, int64_t axis, const char *name)
{
    const shape s = im->x.shape;
    shape rows = {.rank = (int)axis};
    memcpy(rows.dim, s.dim, (size_t)(axis - 1) * sizeof *rows.dim);
    rows.dim[axis - 1] = -1;
    TRY(onnx_add_reshape(im, &rows));
    TRY(onnx_add_layer(im, "Activation", "{activation: %s}", name));
    TRY(onnx_add_reshape(im, &s));
    return onnx_done(im);
}

/* Before opset 13 the input is flattened from the axis on, which is 1 unless it is given. */
static cornu_status import_softmax(onnx_import *im)
{
    const bool is_log = strcmp(node(im)->op_type, "LogSoftmax") == 0;
    const char *name = is_log ? "log_softmax" : "softmax";
    const bool flattens = im->opset < 13;
    const int64_t rank = im->x.shape.rank + 1;
    const int64_t last = im->x.order == ORDER_FIRST && !flattens ? 1 : rank - 1;
    int64_t axis = onnx_int(node(im), "axis", flattens ? 1 : -1);
    axis += axis < 0 ? rank : 0;
    const bool some = axis > 0 && axis < rank - 1 && (im->x.order != ORDER_FIRST || axis == 1);
    if (flattens && some)
        return add_flattened_softmax(im, axis, name);
    if (!flattens && im->x.order == ORDER_PLAIN && axis > 0 && axis < last) {
        TRY(onnx_add_layer(im, is_log ? "LogSoftmax" : "Softmax", "{axis: %lld}", (long long)axis));
        return onnx_done(im);
    }
    if (axis != last || (flattens && im->x.order == ORDER_FIRST))
        return onnx_import_fail(im,
                                "axis: found %lld, of opset %lld; expected that of the channels",
                                (long long)axis, (long long)im->opset);
    return add_activation(im, name);
}

enum { GELU_REST = 4 };

/* True if this is the first of the five steps of x (1 + erf(x / sqrt 2)) / 2; rest: the others. */
static bool begins_gelu(const onnx_import *im, const char *factor, int rest[GELU_REST])
{
    static const char *const kinds[GELU_REST] = {"Erf", "Add", "Mul", "Mul"};
    const char *other[GELU_REST] = {""}, *x = im->x.name;
    const bool divides = strcmp(node(im)->op_type, "Div") == 0;
    if (!onnx_is_near(im, factor, divides ? 1.41421356 : 0.70710678))
        return false;
    for (int i = 0; i < GELU_REST; i++) {
        rest[i] = onnx_reader(im, i > 0 ? rest[i - 1] : im->at, kinds[i], &other[i]);
        if (rest[i] < 0)
            return false;
    }
    const bool early = onnx_is_near(im, other[2], 0.5) && strcmp(other[3], x) == 0;
    const bool late = strcmp(other[2], x) == 0 && onnx_is_near(im, other[3], 0.5);
    return onnx_is_near(im, other[1], 1) && (early || late);
}

static cornu_status add_gelu(onnx_import *im, const int rest[GELU_REST])
{
    for (int i = 0; i < GELU_REST; i++)
        onnx_join(im, rest[i]);
    return add_activation(im, "gelu");
}

/* Arithmetic with a constant number becomes a Rescaling; by what is computed, after Reciprocal. */
static cornu_status import_arithmetic(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const char *kind = n->op_type;
    const bool second = onnx_is_computed(im, 0);
    const char *other = onnx_input_name(n, second ? 1 : 0);
    double value, scale = 1, offset = 0;
    int gelu[GELU_REST];
    if (onnx_is_computed(im, 0) && onnx_is_computed(im, 1))
        return onnx_import_merge(im);
    if (second && (*kind == 'M' || *kind == 'D') && begins_gelu(im, other, gelu))
        return add_gelu(im, gelu);
    if (!onnx_is_number(im, other, &value) || (*kind == 'D' && second && value == 0))
        return onnx_import_pair(im);
    if (*kind == 'M' || *kind == 'D')
        scale = *kind == 'D' && second ? 1 / value : value;
    else
        offset = *kind == 'S' && second ? -value : value;
    if (*kind == 'S' && !second)
        scale = -1;
    if (*kind == 'D' && !second)
        TRY(onnx_add_layer(im, "Reciprocal", "{}"));
    if (scale != 1 || offset != 0 || *kind != 'D')
        TRY(onnx_add_layer(im, "Rescaling", "{scale: %.9g, offset: %.9g}", scale, offset));
    return onnx_done(im);
}

/* Is this an operator on one result and one input that no node makes? */
static bool is_with_constant(const onnx_import *im)
{
    return node(im)->n_input == 2 && onnx_is_computed(im, 0) != onnx_is_computed(im, 1);
}

/* Several inputs, of which one of two may be a constant. */
static cornu_status import_operands(onnx_import *im)
{
    return is_with_constant(im) ? onnx_import_pair(im) : onnx_import_merge(im);
}

/* An operator without effect in prediction. */
static cornu_status import_nothing(onnx_import *im)
{
    return onnx_done(im);
}

static cornu_status import_dropout(onnx_import *im)
{
    const char *trains = onnx_input_name(node(im), 2);
    const Onnx__TensorProto *t = onnx_constant_of(im, trains);
    if (*trains && (onnx_truths(t) != 1 || onnx_truth_at(t, 0)))
        return onnx_import_fail(im, "training_mode: found true, or no constant; expected false");
    return onnx_done(im);
}

/* Whole numbers, with which step `gather` takes rows of a constant. */
static cornu_status import_rows(onnx_import *im, int gather, const char *table)
{
    const Onnx__TensorProto *w = onnx_constant_of(im, table);
    if (onnx_floats(w) < 1 || w->n_dims != 2 || im->x.order != ORDER_PLAIN ||
        onnx_int(im->steps[gather].node, "axis", 0) != 0)
        return onnx_import_fail(im,
                                "found a Gather after it; expected one of the rows (axis 0) of a "
                                "matrix of floats in the file, by numbers in their own order");
    onnx_join(im, gather);
    TRY(onnx_add_layer(im, "Embedding", "{input_dim: %lld, output_dim: %lld}",
                       (long long)w->dims[0], (long long)w->dims[1]));
    TRY(onnx_add_source(im, 0, w, WEIGHT_SAME));
    return onnx_done(im);
}

static cornu_status import_cast(onnx_import *im)
{
    int64_t to = onnx_int(node(im), "to", 0);
    const char *table = "";
    const int gather = onnx_reader(im, im->at, "Gather", &table);
    if ((to == ONNX_INT32 || to == ONNX_INT64) && gather >= 0)
        return import_rows(im, gather, table);
    if (to == ONNX_TRUTH)
        TRY(onnx_add_layer(im, "NotEqual", "{x2: 0}"));
    else if (to != ONNX_NUMBER)
        return onnx_import_fail(im, "to: found type %lld; expected 1, float, or 9, truth values",
                                (long long)to);
    return onnx_done(im);
}

/* ---- products ----------------------------------------------------------------------------- */

static cornu_status add_dense(onnx_import *im, const Onnx__TensorProto *w, bool transposed,
                              const char *bias)
{
    if (onnx_floats(w) < 1 || w->n_dims != 2)
        return onnx_import_fail(im, "found no matrix of floats in the file; expected one");
    int64_t units = w->dims[transposed ? 0 : 1];
    TRY(onnx_add_layer(im, "Dense", "{units: %lld, use_bias: %s}", (long long)units,
                       *bias ? "true" : "false"));
    TRY(onnx_add_source(im, 0, w, transposed ? WEIGHT_TRANSPOSED : WEIGHT_SAME));
    im->x.order = ORDER_PLAIN; /* the bias' too */
    if (*bias)
        TRY(onnx_add_source(im, 1, onnx_constant_of(im, bias), WEIGHT_SAME));
    return onnx_done(im);
}

static cornu_status import_gemm(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    double alpha = onnx_real(n, "alpha", 1), beta = onnx_real(n, "beta", 1);
    if (alpha != 1 || beta != 1 || onnx_int(n, "transA", 0) != 0 || im->x.shape.rank != 1)
        return onnx_import_fail(im,
                                "found alpha %g, beta %g, transA %lld and %d dimensions; "
                                "expected 1, 1, 0 and (batch, inputs)",
                                alpha, beta, (long long)onnx_int(n, "transA", 0),
                                im->x.shape.rank + 1);
    const Onnx__TensorProto *w = onnx_constant_of(im, onnx_input_name(n, 1));
    const char *bias = onnx_input_name(n, 2);
    const bool transposed = onnx_int(n, "transB", 0) != 0;
    if (*bias && onnx_floats(w) > 0 && w->n_dims == 2 &&
        !onnx_is_row(im, onnx_constant_of(im, bias), w->dims[transposed ? 0 : 1]))
        return onnx_import_fail(im, "C: found no constant of %lld floats in a row; expected one",
                                (long long)w->dims[transposed ? 0 : 1]);
    return add_dense(im, w, transposed, bias);
}

static cornu_status import_matmul(onnx_import *im)
{
    if (onnx_is_computed(im, 0) && onnx_is_computed(im, 1))
        return onnx_import_product(im);
    const Onnx__TensorProto *w = onnx_constant_of(im, onnx_input_name(node(im), 1));
    if (im->x.order == ORDER_FIRST)
        return onnx_import_fail(im, "found an image with its channels first; expected another "
                                    "order");
    const size_t input = onnx_is_computed(im, 0) ? 0 : 1;
    TRY(onnx_put_in_order(im, im->steps[im->at].from[input]));
    im->x = *onnx_value_of(im, input);
    if (input == 1 || (onnx_floats(w) > 0 && w->n_dims != 2))
        return onnx_import_pair(im);
    int sum = -1;
    const char *bias =
        onnx_floats(w) > 0 && w->n_dims == 2 ? onnx_added_bias(im, w->dims[1], 1, &sum) : "";
    if (*bias)
        onnx_join(im, sum);
    return add_dense(im, w, false, bias);
}

/* ---- means -------------------------------------------------------------------------------- */

/* A mean over height and width. */
static cornu_status import_mean(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__AttributeProto *listed = onnx_attribute(n, "axes");
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(n, 1));
    int64_t axes[2] = {0}, rank = im->x.shape.rank + 1;
    bool given = listed ? listed->n_ints == 2 : onnx_integers(t) == 2;
    for (int i = 0; i < 2 && given; i++) {
        axes[i] = listed ? listed->ints[i] : onnx_integer_at(t, i);
        axes[i] += axes[i] < 0 ? rank : 0;
    }
    int64_t first = im->x.order == ORDER_FIRST ? 2 : 1;
    if (rank != 4 || axes[0] != first || axes[1] != first + 1)
        return onnx_import_fail(im, "found axes %lld, %lld; expected an image's height and width",
                                (long long)axes[0], (long long)axes[1]);
    bool keep = onnx_int(n, "keepdims", 1) != 0;
    TRY(onnx_add_layer(im, "GlobalAveragePooling2D", "{keepdims: %s}", keep ? "true" : "false"));
    im->x.order = keep ? im->x.order : ORDER_PLAIN;
    return onnx_done(im);
}

/* ---- shapes, padding, normalization ------------------------------------------------------- */

/* ---- shapes ------------------------------------------------------------------------------- */

static cornu_status flatten(onnx_import *im)
{
    const shape s = im->x.shape;
    bool moves = im->x.order == ORDER_FIRST && s.dim[2] > 1 && s.dim[0] * s.dim[1] > 1;
    if (im->x.order == ORDER_FLAT) /* flattening again changes nothing */
        return onnx_done(im);
    memcpy(im->x.flat, s.dim, sizeof im->x.flat);
    im->x.order = moves ? ORDER_FLAT : ORDER_PLAIN;
    if (s.rank > 1)
        TRY(onnx_add_layer(im, "Flatten", "{}"));
    return onnx_done(im);
}

static cornu_status import_flatten(onnx_import *im)
{
    int64_t axis = onnx_int(node(im), "axis", 1);
    if (axis != 1 && axis != -im->x.shape.rank)
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
            target->dim[i] == 0 && im->x.order != ORDER_FIRST && i < im->x.shape.rank && !zeros;
        if (kept)
            target->dim[i] = im->x.shape.dim[i];
        if (target->dim[i] < -1 || target->dim[i] == 0 || target->dim[i] > SHAPE_ELEMENTS_MAX ||
            (target->dim[i] < 0 && batch < 0) || !keeps)
            return onnx_import_fail(im,
                                    "found the shape's dimension %lld, and %lld for the batch; "
                                    "expected the batch, then those of one sample",
                                    (long long)target->dim[i], (long long)batch);
    }
    return CORNU_OK;
}

/* Is `longer` these steps of `s`? */
static bool is_of_steps(const shape *longer, int64_t steps, const shape *s)
{
    return longer->rank == s->rank + 1 && longer->dim[0] == steps &&
           memcmp(longer->dim + 1, s->dim, (size_t)s->rank * sizeof *s->dim) == 0;
}

/* True where the batch and the steps of its samples become one dimension, or two again: the model's
   value stays as it is. */
static bool moves_steps(onnx_import *im, const shape *target)
{
    const shape s = im->x.shape;
    if (im->x.order != ORDER_PLAIN)
        return false;
    if (im->x.steps == 0 && s.rank > 1 && s.dim[0] > 1 && is_of_steps(&s, s.dim[0], target))
        im->x.steps = s.dim[0];
    else if (im->x.steps > 0 && is_of_steps(target, im->x.steps, &s))
        im->x.steps = 0;
    else
        return false;
    im->x.shape = *target;
    return true;
}

static cornu_status import_reshape(onnx_import *im)
{
    shape target = {.rank = 0};
    const shape s = im->x.shape;
    if (im->x.order == ORDER_SEQUENCE)
        return onnx_reshape_sequence(im);
    TRY(read_target(im, &target));
    if (moves_steps(im, &target))
        return onnx_done(im);
    if (target.rank == 1 && (target.dim[0] < 0 || target.dim[0] == shape_elements(&s)))
        return flatten(im);
    bool one = s.rank == 3 && (s.dim[2] == 1 || s.dim[0] * s.dim[1] == 1);
    if (im->x.order == ORDER_FLAT || (im->x.order == ORDER_FIRST && !one))
        return onnx_import_fail(im, "found an image with its channels first; expected it to be "
                                    "flattened, or transposed before");
    TRY(onnx_add_reshape(im, &target));
    im->x.order = ORDER_PLAIN;
    return onnx_done(im);
}

/* An image of one pixel loses its height and width. */
static cornu_status import_squeeze(onnx_import *im)
{
    const shape *s = &im->x.shape;
    if (im->x.order == ORDER_SEQUENCE)
        return onnx_squeeze_sequence(im);
    if (s->rank != 3 || s->dim[0] != 1 || s->dim[1] != 1)
        return onnx_import_fail(im, "found no image of one pixel; expected one");
    const Onnx__AttributeProto *listed = onnx_attribute(node(im), "axes");
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(node(im), 1));
    int64_t count = listed ? (int64_t)listed->n_ints : onnx_integers(t);
    int64_t first = im->x.order == ORDER_FIRST ? 2 : 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = listed ? listed->ints[i] : onnx_integer_at(t, i);
        axis += axis < 0 ? 4 : 0;
        count = axis == first + i ? count : -1;
    }
    if (count != 2)
        return onnx_import_fail(im, "axes: expected those of height and width");
    return flatten(im);
}

/* A matrix whose dimensions are exchanged is for a product, whose layer reads it as it was. */
static cornu_status import_swap(onnx_import *im)
{
    int64_t perm[3] = {0, 1, 2}; /* the axes of the two, the batch first */
    if (onnx_attribute(node(im), "perm"))
        TRY(onnx_ints(im, "perm", 3, 0, 2, perm));
    else
        perm[0] = 2;
    if (perm[0] != 0)
        return onnx_import_fail(im, "perm: found %lld first; expected 0, the batch",
                                (long long)perm[0]);
    if (perm[1] == 2 && perm[2] == 1)
        im->x.order = im->x.order == ORDER_SWAPPED ? ORDER_PLAIN : ORDER_SWAPPED;
    else if (perm[1] != 1 || perm[2] != 2)
        return onnx_import_fail(im, "perm: found 0, %lld, %lld; expected each dimension once",
                                (long long)perm[1], (long long)perm[2]);
    return onnx_done(im);
}

static cornu_status import_transpose(onnx_import *im)
{
    static const int64_t last[4] = {0, 2, 3, 1}, first[4] = {0, 3, 1, 2};
    int64_t perm[4] = {0};
    if (onnx_transposes_sequence(im))
        return onnx_transpose_sequence(im);
    if (im->x.shape.rank == 2)
        return import_swap(im);
    if (im->x.shape.rank != 3)
        return onnx_import_order(im);
    TRY(onnx_ints(im, "perm", 4, 0, 3, perm));
    if (im->x.order == ORDER_FIRST && memcmp(perm, last, sizeof perm) == 0)
        im->x.order = ORDER_PLAIN;
    else if (im->x.order == ORDER_PLAIN && memcmp(perm, first, sizeof perm) == 0)
        im->x.order = ORDER_FIRST;
    else
        return onnx_import_order(im);
    return onnx_done(im);
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

/* Is it one number that is put around an image? */
static bool pads_number(const onnx_import *im, double *value)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__AttributeProto *mode = onnx_attribute(n, "mode");
    const char *given = onnx_input_name(n, 2);
    *value = im->opset < 11 ? onnx_real(n, "value", 0) : 0;
    return (!mode || onnx_text_is(mode, "constant")) &&
           (!*given || onnx_is_number(im, given, value)) && isfinite(*value);
}

static cornu_status import_pad(onnx_import *im)
{
    const int height = im->x.order == ORDER_FIRST ? 2 : 1;
    window2d w = {.groups = 1};
    double value;
    padding p = read_padding(im);
    bool fits = pads_number(im, &value) && p.fits && im->x.shape.rank == IMAGE_RANK - 1;
    for (int i = 0; i < 2 * IMAGE_RANK && fits; i++) {
        int axis = i % IMAGE_RANK;
        bool of_image = axis == height || axis == height + 1;
        fits = p.pad[i] >= 0 && p.pad[i] <= SIZE_MOST && (of_image || p.pad[i] == 0);
    }
    if (!fits)
        return onnx_import_fail(im,
                                "found another padding; expected zeros around an image, or another "
                                "number");
    for (int i = 0; i < 2; i++) {
        w.before[i] = p.pad[height + i];
        w.after[i] = p.pad[IMAGE_RANK + height + i];
    }
    if (value == 0)
        TRY(onnx_add_padding(im, &w, false));
    else
        TRY(onnx_add_layer(im, "Pad",
                           "{pad_width: [[0, 0], [%lld, %lld], [%lld, %lld], [0, 0]], "
                           "constant_values: %.9g}",
                           (long long)w.before[0], (long long)w.after[0], (long long)w.before[1],
                           (long long)w.after[1], value));
    return onnx_done(im);
}

/* ---- normalizations ----------------------------------------------------------------------- */

/* Weights from inputs 1 on, one number for each of the layer's channels. */
static cornu_status add_sources(onnx_import *im, int count)
{
    const shape *s = &im->x.shape;
    for (int i = 0; i < count; i++) {
        const char *name = onnx_input_name(node(im), (size_t)i + 1);
        const Onnx__TensorProto *t = onnx_constant_of(im, name);
        if (!onnx_is_row(im, t, s->dim[s->rank - 1]))
            return onnx_import_fail(
                im, "%.200s: found no constant of %lld floats in a row; expected one", name,
                (long long)s->dim[s->rank - 1]);
        TRY(onnx_add_source(im, i, t, WEIGHT_SAME));
    }
    return onnx_done(im);
}

static cornu_status import_batch_norm(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    bool rows = im->x.shape.rank == 1;
    if (onnx_int(n, "spatial", 1) == 0)
        return onnx_import_fail(im, "spatial: found 0, a mean for each pixel; expected 1");
    if ((!rows && im->x.order != ORDER_FIRST) || onnx_int(n, "training_mode", 0) != 0)
        return onnx_import_fail(im,
                                "found training_mode %lld and %d dimensions; expected 0 and "
                                "rows, or images with their channels first",
                                (long long)onnx_int(n, "training_mode", 0), im->x.shape.rank + 1);
    TRY(onnx_add_layer(im, "BatchNormalization", "{epsilon: %.9g}", onnx_real(n, "epsilon", 1e-5)));
    return add_sources(im, 4);
}

static cornu_status import_layer_norm(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    int64_t axis = onnx_int(n, "axis", -1);
    bool center = *onnx_input_name(n, 2) != 0;
    if ((axis != -1 && axis != im->x.shape.rank) || im->x.order == ORDER_FIRST)
        return onnx_import_fail(im, "axis: found %lld; expected the last, of channels",
                                (long long)axis);
    TRY(onnx_add_layer(im, "LayerNormalization", "{epsilon: %.9g, center: %s}",
                       onnx_real(n, "epsilon", 1e-5), center ? "true" : "false"));
    return add_sources(im, center ? 2 : 1);
}

/* Slopes below 0: a constant that ends at the input's last dimension, and 1 where it is repeated.
   Of an image with its channels first, one for each channel. */
static cornu_status import_prelu(onnx_import *im)
{
    const char *name = onnx_input_name(node(im), 1);
    const Onnx__TensorProto *t = onnx_constant_of(im, name);
    const bool first = im->x.order == ORDER_FIRST;
    const shape *s = &im->x.shape;
    char axes[SHAPE_MAX * 4] = "";
    bool fits = onnx_floats(t) > 0 && keeps_rank(im, t) && (first || im->x.order == ORDER_PLAIN);
    for (int i = 0; fits && i < s->rank; i++) { /* in the file's order */
        const int from_end = s->rank - i, own = first ? (i == 0 ? s->rank : i) : i + 1;
        const int64_t n = from_end > (int)t->n_dims ? 1 : t->dims[(int)t->n_dims - from_end];
        fits = n == 1 || (n == s->dim[own - 1] && (!first || i == 0));
        if (n == 1)
            snprintf(axes + strlen(axes), sizeof axes - strlen(axes), "%s%d", *axes ? ", " : "",
                     own);
    }
    fits = fits && ((int)t->n_dims <= s->rank || t->dims[0] == 1);
    if (!fits)
        return onnx_import_fail(im,
                                "%.200s: found no constant of slopes for the input's %s; expected "
                                "one",
                                name, first ? "channels" : "elements");
    TRY(onnx_add_layer(im, "PReLU", "{shared_axes: [%s]}", axes));
    TRY(onnx_add_source(im, 0, t, WEIGHT_SAME));
    return onnx_done(im);
}

/* ---- the table ---------------------------------------------------------------------------- */

typedef struct operator_row {
    const char *name;
    cornu_status (*import)(onnx_import *im);
} operator_row;

static const operator_row operators[] = {
    {"Abs", onnx_import_function},
    {"Add", import_arithmetic},
    {"AveragePool", onnx_import_pool},
    {"BatchNormalization", import_batch_norm},
    {"Cast", import_cast},
    {"Celu", onnx_import_function},
    {"Clip", onnx_import_clip},
    {"Concat", onnx_import_concat},
    {"Conv", onnx_import_conv},
    {"ConvTranspose", onnx_import_conv_transpose},
    {"Div", import_arithmetic},
    {"Dropout", import_dropout},
    {"Elu", onnx_import_function},
    {"Equal", onnx_import_pair},
    {"Exp", onnx_import_function},
    {"Flatten", import_flatten},
    {"GRU", onnx_import_recurrent},
    {"Gelu", onnx_import_function},
    {"Gemm", import_gemm},
    {"GlobalAveragePool", onnx_import_global_pool},
    {"GlobalMaxPool", onnx_import_global_pool},
    {"Greater", onnx_import_pair},
    {"GreaterOrEqual", onnx_import_pair},
    {"HardSigmoid", onnx_import_function},
    {"HardSwish", onnx_import_function},
    {"Identity", import_nothing},
    {"LSTM", onnx_import_recurrent},
    {"LayerNormalization", import_layer_norm},
    {"LeakyRelu", onnx_import_function},
    {"Less", onnx_import_pair},
    {"LessOrEqual", onnx_import_pair},
    {"Log", onnx_import_function},
    {"LogSoftmax", import_softmax},
    {"MatMul", import_matmul},
    {"Max", import_operands},
    {"MaxPool", onnx_import_pool},
    {"Mean", onnx_import_merge},
    {"Min", import_operands},
    {"Mish", onnx_import_function},
    {"Mul", import_arithmetic},
    {"Neg", onnx_import_function},
    {"Not", onnx_import_not},
    {"PRelu", import_prelu},
    {"Pad", import_pad},
    {"Pow", import_power},
    {"RNN", onnx_import_recurrent},
    {"Reciprocal", onnx_import_function},
    {"ReduceMean", import_mean},
    {"ReduceProd", onnx_import_merged_directions},
    {"ReduceSum", onnx_import_merged_directions},
    {"Relu", onnx_import_function},
    {"Reshape", import_reshape},
    {"Resize", onnx_import_resize},
    {"Selu", onnx_import_function},
    {"Shrink", onnx_import_function},
    {"Sigmoid", import_sigmoid},
    {"Slice", onnx_import_slice},
    {"Softmax", import_softmax},
    {"Softplus", onnx_import_function},
    {"Softsign", onnx_import_function},
    {"Sqrt", onnx_import_function},
    {"Squeeze", import_squeeze},
    {"Sub", import_arithmetic},
    {"Sum", import_operands},
    {"Tanh", onnx_import_function},
    {"ThresholdedRelu", onnx_import_function},
    {"Transpose", import_transpose},
    {"Unsqueeze", onnx_import_unsqueeze},
    {"Where", onnx_import_where},
};
enum { OPERATORS = sizeof operators / sizeof *operators };

static cornu_status fail_operator(const onnx_import *im)
{
    text t = {0};
    for (int i = 0; i < OPERATORS; i++)
        text_add(&t, "%s%s", i ? ", " : "", operators[i].name);
    cornu_status status = onnx_import_fail(im,
                                           "found an operator that is not in cornu; expected "
                                           "one of %s",
                                           t.data ? t.data : "the table's");
    text_free(&t);
    return status;
}

/* Can the operator read a sequence in the order that recurrent ones have? */
static bool reads_sequences(const operator_row *row)
{
    return row->import == onnx_import_recurrent || row->import == import_transpose ||
           row->import == import_squeeze || row->import == import_reshape ||
           row->import == onnx_import_merged_directions || row->import == onnx_import_slice ||
           row->import == onnx_import_function || row->import == import_nothing ||
           row->import == import_dropout;
}

/* Steps beside the batch are of one input: layers on several compute no step alone. */
static cornu_status check_steps(const onnx_import *im)
{
    int computed = 0;
    bool steps = false;
    for (size_t i = 0; i < node(im)->n_input; i++)
        if (onnx_is_computed(im, i)) {
            computed++;
            steps |= onnx_value_of(im, i)->steps > 0;
        }
    if (!steps || computed == 1)
        return CORNU_OK;
    return onnx_import_fail(im, "found several inputs, of which one has steps beside its batch; "
                                "expected one input");
}

/* x is the first input or, where that may be a constant, the first that is none. */
static cornu_status choose_input(onnx_import *im, const operator_row *row)
{
    const bool any = row->import == import_arithmetic || row->import == import_operands ||
                     row->import == onnx_import_pair || row->import == onnx_import_where ||
                     row->import == import_matmul;
    size_t input = 0;
    while (any && input + 1 < node(im)->n_input && !onnx_is_computed(im, input))
        input++;
    const bool swaps = row->import == import_transpose || row->import == import_matmul ||
                       row->import == import_nothing;
    TRY(onnx_want_computed(im, input));
    for (size_t i = 0; i < node(im)->n_input && !swaps; i++)
        if (onnx_is_computed(im, i))
            TRY(onnx_put_in_order(im, im->steps[im->at].from[i]));
    TRY(check_steps(im));
    for (size_t i = 0; i < node(im)->n_input; i++)
        if (onnx_is_computed(im, i) && onnx_value_of(im, i)->order == ORDER_SEQUENCE &&
            !reads_sequences(row))
            return onnx_import_fail(im, "found a sequence whose steps come first, as recurrent "
                                        "operators have it; expected a Transpose before, for the "
                                        "batch to come first");
    im->x = *onnx_value_of(im, input);
    return CORNU_OK;
}

cornu_status onnx_import_node(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const operator_row *row = NULL;
    for (int i = 0; i < OPERATORS && onnx_domain_is_standard(n->domain) && n->op_type; i++)
        if (strcmp(n->op_type, operators[i].name) == 0)
            row = &operators[i];
    if (!row)
        return fail_operator(im);
    TRY(choose_input(im, row));
    return row->import(im);
}
