#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the layer of the current node ------------------------------------------------------ */

static const Onnx__NodeProto *node(const onnx_import *im)
{
    return im->nodes[im->at];
}

/* ---- the model so far --------------------------------------------------------------------- */

cornu_status onnx_add_layer(onnx_import *im, const char *kind, const char *format, ...)
{
    char text_of[512];
    doc *options;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text_of, sizeof text_of, format, arguments);
    va_end(arguments);
    TRY(doc_parse(text_of, strlen(text_of), im->path, &options));
    cornu_status status = model_add_layer(im->model, kind, options);
    doc_free(options);
    return status == CORNU_OK ? status : onnx_import_fail(im, "%s", cornu_last_error());
}

/* Weight `number` of the layer that was added last comes from this tensor. */
cornu_status onnx_add_source(onnx_import *im, int number, const Onnx__TensorProto *t,
                             weight_form form)
{
    const cornu_model *m = im->model;
    const layer *l = m->layers[m->layer_count - 1];
    int index = l->first_variable + number;
    if (number >= l->weight_count || m->variables[index].count != onnx_floats(t))
        return onnx_import_fail(im,
                                "found a constant of %lld floats; expected %lld, in the file "
                                "itself, for %s",
                                (long long)onnx_floats(t),
                                number < l->weight_count ? (long long)m->variables[index].count : 0,
                                number < l->weight_count ? m->variables[index].name : l->name);
    im->room -= onnx_floats(t);
    if (im->room < 0)
        return onnx_import_fail(im, "found constants that are read so often that the weights would "
                                    "be more than four times the file; expected fewer");
    TRY(memory_grow(&im->sources, &im->source_capacity, im->source_count + 1, sizeof *im->sources));
    weight_source *s = &im->sources[im->source_count++];
    *s = (weight_source){.variable = index, .tensor = t, .order.form = form};
    if (im->order == ORDER_FLAT)
        memcpy(s->order.flat, im->flat, sizeof s->order.flat);
    return CORNU_OK;
}

const Onnx__NodeProto *onnx_next_is(const onnx_import *im, size_t ahead, const char *kind,
                                    const char *reads, const char **other)
{
    if (im->at + ahead >= im->node_count)
        return NULL;
    const Onnx__NodeProto *n = im->nodes[im->at + ahead];
    if (!n->op_type || strcmp(n->op_type, kind) != 0 || n->n_output < 1)
        return NULL;
    for (size_t i = 0; i < n->n_input && i < 2; i++)
        if (strcmp(n->input[i], reads) == 0) {
            *other = onnx_input_name(n, 1 - i);
            return n;
        }
    return NULL;
}

cornu_status onnx_done(onnx_import *im, size_t ahead)
{
    im->at += ahead;
    im->value = node(im)->output[0];
    return CORNU_OK;
}

cornu_status onnx_want_image(const onnx_import *im)
{
    if (im->order == ORDER_FIRST)
        return CORNU_OK;
    return onnx_import_fail(im, "found an input that is no image (batch, channels, height, width); "
                                "expected one");
}

static bool keeps_rank(const onnx_import *im, const Onnx__TensorProto *t)
{
    return t->n_dims <= (size_t)im->model->output.rank + 1;
}

bool onnx_is_row(const onnx_import *im, const Onnx__TensorProto *t, int64_t count)
{
    return onnx_floats(t) == count && t->n_dims >= 1 && t->dims[t->n_dims - 1] == count &&
           keeps_rank(im, t);
}

bool onnx_is_number(const onnx_import *im, const char *name, double *value)
{
    const Onnx__TensorProto *t = onnx_constant_of(im, name);
    if (onnx_floats(t) != 1 || !keeps_rank(im, t))
        return false;
    *value = (double)onnx_float_at(t, 0);
    return isfinite(*value);
}

bool onnx_is_near(const onnx_import *im, const char *name, double value)
{
    double found;
    return onnx_is_number(im, name, &found) && fabs(found - value) < 1e-6;
}

cornu_status onnx_add_reshape(onnx_import *im, const shape *target)
{
    char list[160] = "";
    for (int i = 0; i < target->rank; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%lld", i ? ", " : "",
                 (long long)target->dim[i]);
    return onnx_add_layer(im, "Reshape", "{target_shape: [%s]}", list);
}

/* Zeros around the image, where the window's padding is no "same". */
cornu_status onnx_add_padding(onnx_import *im, const window2d *w, bool same)
{
    if (same || (w->before[0] | w->before[1] | w->after[0] | w->after[1]) == 0)
        return CORNU_OK;
    return onnx_add_layer(im, "ZeroPadding2D", "{padding: [[%lld, %lld], [%lld, %lld]]}",
                          (long long)w->before[0], (long long)w->after[0], (long long)w->before[1],
                          (long long)w->after[1]);
}

/* ---- element by element ------------------------------------------------------------------- */

static cornu_status add_activation(onnx_import *im, const char *name, size_t ahead)
{
    TRY(onnx_add_layer(im, "Activation", "{activation: %s}", name));
    return onnx_done(im, ahead);
}

static cornu_status import_relu(onnx_import *im)
{
    return add_activation(im, "relu", 0);
}

static cornu_status import_tanh(onnx_import *im)
{
    return add_activation(im, "tanh", 0);
}

/* A sigmoid, or x sigmoid(x). */
static cornu_status import_sigmoid(onnx_import *im)
{
    const char *other = "";
    bool silu =
        onnx_next_is(im, 1, "Mul", node(im)->output[0], &other) && strcmp(other, im->value) == 0;
    return add_activation(im, silu ? "silu" : "sigmoid", silu ? 1 : 0);
}

static cornu_status import_leaky_relu(onnx_import *im)
{
    TRY(onnx_add_layer(im, "LeakyReLU", "{negative_slope: %.9g}",
                       onnx_real(node(im), "alpha", 0.01)));
    return onnx_done(im, 0);
}

static cornu_status import_elu(onnx_import *im)
{
    TRY(onnx_add_layer(im, "ELU", "{alpha: %.9g}", onnx_real(node(im), "alpha", 1)));
    return onnx_done(im, 0);
}

static cornu_status import_gelu(onnx_import *im)
{
    const Onnx__AttributeProto *a = onnx_attribute(node(im), "approximate");
    if (a && !onnx_text_is(a, "none"))
        return onnx_import_fail(im, "approximate: found tanh; expected none");
    return add_activation(im, "gelu", 0);
}

/* Over all dimensions from `axis` on, as if they were one. */
static cornu_status add_flattened_softmax(onnx_import *im, int64_t axis)
{
    const shape s = im->model->output;
    shape rows = {.rank = (int)axis};
    memcpy(rows.dim, s.dim, (size_t)(axis - 1) * sizeof *rows.dim);
    rows.dim[axis - 1] = -1;
    TRY(onnx_add_reshape(im, &rows));
    TRY(onnx_add_layer(im, "Activation", "{activation: softmax}"));
    TRY(onnx_add_reshape(im, &s));
    return onnx_done(im, 0);
}

/* Before opset 13 the input is flattened from the axis on, which is 1 unless it is given. */
static cornu_status import_softmax(onnx_import *im)
{
    const bool flattens = im->opset < 13;
    const int64_t rank = im->model->output.rank + 1;
    const int64_t last = im->order == ORDER_FIRST && !flattens ? 1 : rank - 1;
    int64_t axis = onnx_int(node(im), "axis", flattens ? 1 : -1);
    axis += axis < 0 ? rank : 0;
    const bool some = axis > 0 && axis < rank - 1 && (im->order != ORDER_FIRST || axis == 1);
    if (flattens && some)
        return add_flattened_softmax(im, axis);
    if (axis != last || (flattens && im->order == ORDER_FIRST))
        return onnx_import_fail(im,
                                "axis: found %lld, of opset %lld; expected that of the channels",
                                (long long)axis, (long long)im->opset);
    return add_activation(im, "softmax", 0);
}

/* True if this is the first of the five nodes of x (1 + erf(x / sqrt 2)) / 2. */
static bool begins_gelu(const onnx_import *im, const char *factor)
{
    const Onnx__NodeProto *n = node(im), *erf, *sum, *product, *half;
    const char *other = "", *x = im->value;
    bool divides = strcmp(n->op_type, "Div") == 0;
    if (!onnx_is_near(im, factor, divides ? 1.41421356 : 0.70710678) ||
        !(erf = onnx_next_is(im, 1, "Erf", n->output[0], &other)) ||
        !(sum = onnx_next_is(im, 2, "Add", erf->output[0], &other)) ||
        !onnx_is_near(im, other, 1) ||
        !(product = onnx_next_is(im, 3, "Mul", sum->output[0], &other)))
        return false;
    bool early = onnx_is_near(im, other, 0.5), of_x = strcmp(other, x) == 0;
    if (!(early || of_x) || !(half = onnx_next_is(im, 4, "Mul", product->output[0], &other)))
        return false;
    return early ? strcmp(other, x) == 0 : onnx_is_near(im, other, 0.5);
}

static cornu_status fail_arithmetic(const onnx_import *im, const char *other, bool turned)
{
    if (!onnx_constant_of(im, other))
        return onnx_import_fail(im,
                                "found two inputs that are computed, %.200s and %.200s: a branch; "
                                "expected one, and a number: cornu's networks are chains of layers",
                                im->value, other);
    return onnx_import_fail(im, turned
                                    ? "found a number minus, or by, what is computed; expected "
                                      "the number behind it"
                                    : "found a constant of several numbers or of more dimensions "
                                      "than the input, or a division by 0; expected one number");
}

/* Arithmetic with a constant number becomes a Rescaling. */
static cornu_status import_arithmetic(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const char *kind = n->op_type;
    bool second = strcmp(onnx_input_name(n, 0), im->value) == 0;
    const char *other = onnx_input_name(n, second ? 1 : 0);
    double value, scale = 1, offset = 0;
    bool turned = !second && (*kind == 'D' || *kind == 'S'); /* constant / x, constant - x */
    if (second && (*kind == 'M' || *kind == 'D') && begins_gelu(im, other))
        return add_activation(im, "gelu", 4);
    if (!onnx_is_number(im, other, &value) || turned || (*kind == 'D' && value == 0))
        return fail_arithmetic(im, other, turned);
    if (*kind == 'M' || *kind == 'D')
        scale = *kind == 'M' ? value : 1 / value;
    else
        offset = *kind == 'A' ? value : -value;
    TRY(onnx_add_layer(im, "Rescaling", "{scale: %.9g, offset: %.9g}", scale, offset));
    return onnx_done(im, 0);
}

/* An operator without effect in prediction. */
static cornu_status import_nothing(onnx_import *im)
{
    return onnx_done(im, 0);
}

static cornu_status import_dropout(onnx_import *im)
{
    const char *trains = onnx_input_name(node(im), 2);
    const Onnx__TensorProto *t = onnx_constant_of(im, trains);
    if (*trains && (onnx_truths(t) != 1 || onnx_truth_at(t, 0)))
        return onnx_import_fail(im, "training_mode: found true, or no constant; expected false");
    return onnx_done(im, 0);
}

static cornu_status import_cast(onnx_import *im)
{
    int64_t to = onnx_int(node(im), "to", 0);
    return to == 1 ? onnx_done(im, 0)
                   : onnx_import_fail(im, "to: found type %lld; expected 1, float", (long long)to);
}

/* ---- the table ---------------------------------------------------------------------------- */

typedef struct operator_row {
    const char *name;
    cornu_status (*import)(onnx_import *im);
} operator_row;

static const operator_row operators[] = {
    {"Add", import_arithmetic},
    {"AveragePool", onnx_import_pool},
    {"BatchNormalization", onnx_import_batch_norm},
    {"Cast", import_cast},
    {"Conv", onnx_import_conv},
    {"Div", import_arithmetic},
    {"Dropout", import_dropout},
    {"Elu", import_elu},
    {"Flatten", onnx_import_flatten},
    {"Gelu", import_gelu},
    {"Gemm", onnx_import_gemm},
    {"GlobalAveragePool", onnx_import_global_pool},
    {"Identity", import_nothing},
    {"LayerNormalization", onnx_import_layer_norm},
    {"LeakyRelu", import_leaky_relu},
    {"MatMul", onnx_import_matmul},
    {"MaxPool", onnx_import_pool},
    {"Mul", import_arithmetic},
    {"Pad", onnx_import_pad},
    {"ReduceMean", onnx_import_mean},
    {"Relu", import_relu},
    {"Reshape", onnx_import_reshape},
    {"Sigmoid", import_sigmoid},
    {"Softmax", import_softmax},
    {"Squeeze", onnx_import_squeeze},
    {"Sub", import_arithmetic},
    {"Tanh", import_tanh},
    {"Transpose", onnx_import_transpose},
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

cornu_status onnx_import_node(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const operator_row *row = NULL;
    for (int i = 0; i < OPERATORS && onnx_domain_is_standard(n->domain) && n->op_type; i++)
        if (strcmp(n->op_type, operators[i].name) == 0)
            row = &operators[i];
    if (!row)
        return fail_operator(im);
    bool either = row->import == import_arithmetic && strcmp(onnx_input_name(n, 1), im->value) == 0;
    if (n->n_output < 1 || (!either && strcmp(onnx_input_name(n, 0), im->value) != 0))
        return onnx_import_fail(
            im,
            "found the input %.200s, which the node before does not make; expected "
            "%.200s: cornu's networks are chains of layers, without branches",
            onnx_input_name(n, 0), im->value);
    return row->import(im);
}
