/* Activations and other functions of each element, as nodes of an exported graph. */
#include "exchange/onnx/onnx_export.h"

typedef struct place {
    const char *x, *y;
    float alpha;
    int axis; /* of the channels */
} place;

/* Functions that are one operator without attributes. */
#define EXPORT_AS(rule, kind)                                 \
    static void export_##rule(onnx_export *e, const place *p) \
    {                                                         \
        onnx_apply(e, kind, p->x, NULL, p->y);                \
    }
EXPORT_AS(absolute, "Abs")
EXPORT_AS(exponential, "Exp")
EXPORT_AS(hard_silu, "HardSwish")
EXPORT_AS(linear, "Identity")
EXPORT_AS(log, "Log")
EXPORT_AS(reciprocal, "Reciprocal")
EXPORT_AS(relu, "Relu")
EXPORT_AS(selu, "Selu")
EXPORT_AS(sigmoid, "Sigmoid")
EXPORT_AS(softplus, "Softplus")
EXPORT_AS(softsign, "Softsign")
EXPORT_AS(sqrt, "Sqrt")
EXPORT_AS(tanh, "Tanh")

/* Those that are one operator with an attribute. */
#define EXPORT_WITH_ALPHA(rule, kind, attribute)              \
    static void export_##rule(onnx_export *e, const place *p) \
    {                                                         \
        onnx_node *n = onnx_apply(e, kind, p->x, NULL, p->y); \
        onnx_node_real(e->graph, n, attribute, p->alpha);     \
    }
EXPORT_WITH_ALPHA(celu, "Celu", "alpha")
EXPORT_WITH_ALPHA(elu, "Elu", "alpha")
EXPORT_WITH_ALPHA(hard_shrink, "Shrink", "lambd")
EXPORT_WITH_ALPHA(leaky_relu, "LeakyRelu", "alpha")

static void export_soft_shrink(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "Shrink", p->x, NULL, p->y);
    onnx_node_real(e->graph, n, "lambd", p->alpha);
    onnx_node_real(e->graph, n, "bias", p->alpha);
}

/* slope x + 1 / 2 from 0 to 1 */
static void add_hard_sigmoid(onnx_export *e, const place *p, float slope)
{
    onnx_node *n = onnx_apply(e, "HardSigmoid", p->x, NULL, p->y);
    onnx_node_real(e->graph, n, "alpha", slope);
    onnx_node_real(e->graph, n, "beta", 0.5f);
}

static void export_hard_sigmoid(onnx_export *e, const place *p)
{
    add_hard_sigmoid(e, p, 1 / 6.0f);
}

static void export_sparse_sigmoid(onnx_export *e, const place *p)
{
    add_hard_sigmoid(e, p, 0.5f);
}

/* A number beside what is computed, in a node whose output is `name` of y. */
static const char *with_number(onnx_export *e, const place *p, const char *kind, const char *x,
                               const char *number_name, float number, const char *name)
{
    const char *y = name ? onnx_name(e, p->y, name) : p->y;
    onnx_apply(e, kind, x, onnx_constant(e, onnx_name(e, p->y, number_name), 0, number), y);
    return y;
}

/* The output, called `name` of y, of an operator on x. */
static const char *part(onnx_export *e, const place *p, const char *kind, const char *x,
                        const char *other, const char *name)
{
    const char *y = onnx_name(e, p->y, name);
    onnx_apply(e, kind, x, other, y);
    return y;
}

/* From `least` to `most`. */
static const char *limited(onnx_export *e, const place *p, float least, float most,
                           const char *name)
{
    const char *y = name ? onnx_name(e, p->y, name) : p->y;
    const char *const inputs[] = {p->x, onnx_constant(e, onnx_name(e, p->y, "least"), 0, least),
                                  onnx_constant(e, onnx_name(e, p->y, "most"), 0, most)};
    onnx_graph_node(e->graph, "Clip", inputs, 3, y);
    return y;
}

static void export_hard_tanh(onnx_export *e, const place *p)
{
    limited(e, p, -1, 1, NULL);
}

static void export_relu6(onnx_export *e, const place *p)
{
    limited(e, p, 0, p->alpha, NULL);
}

/* -softplus(-x) */
static void export_log_sigmoid(onnx_export *e, const place *p)
{
    const char *opposite = part(e, p, "Neg", p->x, NULL, "opposite");
    onnx_apply(e, "Neg", part(e, p, "Softplus", opposite, NULL, "softplus"), NULL, p->y);
}

/* x tanh(softplus(x)): opset 17 has no Mish yet. */
static void export_mish(onnx_export *e, const place *p)
{
    const char *softplus = part(e, p, "Softplus", p->x, NULL, "softplus");
    onnx_apply(e, "Mul", p->x, part(e, p, "Tanh", softplus, NULL, "tanh"), p->y);
}

/* ((limited + 1) / 2)^2 + relu(x - 1) with x limited to -1 and 1 */
static void export_sparse_plus(onnx_export *e, const place *p)
{
    const char *twice =
        with_number(e, p, "Add", limited(e, p, -1, 1, "limited"), "one", 1, "twice");
    const char *root = with_number(e, p, "Mul", twice, "half", 0.5f, "root");
    const char *rest = with_number(e, p, "Sub", p->x, "other_one", 1, "rest");
    onnx_apply(e, "Add", part(e, p, "Mul", root, root, "square"),
               part(e, p, "Relu", rest, NULL, "relu"), p->y);
}

/* (x + sqrt(x x + alpha)) / 2 */
static void export_squareplus(onnx_export *e, const place *p)
{
    const char *square = part(e, p, "Mul", p->x, p->x, "square");
    const char *sum = with_number(e, p, "Add", square, "alpha", p->alpha, "sum");
    const char *root = part(e, p, "Sqrt", sum, NULL, "root");
    with_number(e, p, "Mul", part(e, p, "Add", p->x, root, "twice"), "half", 0.5f, NULL);
}

static void export_tanh_shrink(onnx_export *e, const place *p)
{
    onnx_apply(e, "Sub", p->x, part(e, p, "Tanh", p->x, NULL, "tanh"), p->y);
}

/* x (1 + erf(x / sqrt 2)) / 2: opset 17 has no Gelu yet. */
static void export_gelu(onnx_export *e, const place *p)
{
    const char *scaled =
        with_number(e, p, "Mul", p->x, "sqrt_half", 0.70710678118654752440f, "scaled");
    const char *erf = part(e, p, "Erf", scaled, NULL, "erf");
    const char *above = with_number(e, p, "Add", erf, "one", 1, "erf_1");
    with_number(e, p, "Mul", part(e, p, "Mul", p->x, above, "twice"), "half", 0.5f, NULL);
}

/* x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)) */
static void export_gelu_tanh(onnx_export *e, const place *p)
{
    const char *square = part(e, p, "Mul", p->x, p->x, "square");
    const char *scaled = with_number(e, p, "Mul", square, "cube_factor", 0.044715f, "scaled");
    const char *above = with_number(e, p, "Add", scaled, "one", 1, "above");
    const char *product = part(e, p, "Mul", p->x, above, "product");
    const char *twice = with_number(e, p, "Mul", product, "factor", 1.5957691216057308f, "twice");
    onnx_apply(e, "Mul", p->x, part(e, p, "Sigmoid", twice, NULL, "sigmoid"), p->y);
}

static void export_silu(onnx_export *e, const place *p)
{
    onnx_apply(e, "Mul", p->x, part(e, p, "Sigmoid", p->x, NULL, "sigmoid"), p->y);
}

static void export_at_least(onnx_export *e, const place *p)
{
    with_number(e, p, "Max", p->x, "least", p->alpha, NULL);
}

static void export_at_most(onnx_export *e, const place *p)
{
    with_number(e, p, "Min", p->x, "most", p->alpha, NULL);
}

static void export_rsqrt(onnx_export *e, const place *p)
{
    onnx_apply(e, "Reciprocal", part(e, p, "Sqrt", p->x, NULL, "root"), NULL, p->y);
}

static void export_square(onnx_export *e, const place *p)
{
    onnx_apply(e, "Mul", p->x, p->x, p->y);
}

/* 1 / max(sqrt(x), 1e-7) */
static void export_inverse_norm(onnx_export *e, const place *p)
{
    const char *root = part(e, p, "Sqrt", p->x, NULL, "root");
    const char *norm = with_number(e, p, "Max", root, "least", 1e-7f, "norm");
    onnx_apply(e, "Reciprocal", norm, NULL, p->y);
}

/* ---- of rows ------------------------------------------------------------------------------- */

static void export_softmax(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "Softmax", p->x, NULL, p->y);
    onnx_node_int(e->graph, n, "axis", p->axis);
}

static void export_log_softmax(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "LogSoftmax", p->x, NULL, p->y);
    onnx_node_int(e->graph, n, "axis", p->axis);
}

/* The output of an operator whose second input says an axis; keeps: where this stays as one of 1.
 */
static const char *along(onnx_export *e, const place *p, const char *kind, const char *x, int axis,
                         bool keeps, const char *name)
{
    const char *y = onnx_name(e, p->y, name);
    onnx_node *n = onnx_apply(e, kind, x, onnx_index(e, onnx_name(e, y, "axes"), axis), y);
    if (!keeps)
        onnx_node_int(e->graph, n, "keepdims", 0);
    return y;
}

/* Compare all pairs: *excess is the sum of what the others exceed an element by, *before the number
   of those that do, equal ones as half. */
static void add_pairs(onnx_export *e, const place *p, const char **excess, const char **before)
{
    const char *own = along(e, p, "Unsqueeze", p->x, p->axis + 1, true, "own");
    const char *others = along(e, p, "Unsqueeze", p->x, p->axis, true, "others");
    const char *above = part(e, p, "Sub", others, own, "above");
    const char *over = part(e, p, "Relu", above, NULL, "over");
    const char *sign = part(e, p, "Sign", above, NULL, "sign");
    const char *twice = with_number(e, p, "Add", sign, "sign_one", 1, "twice");
    const char *counts = with_number(e, p, "Mul", twice, "half", 0.5f, "counts");
    *excess = along(e, p, "ReduceSum", over, p->axis + 1, false, "excess");
    *before = along(e, p, "ReduceSum", counts, p->axis + 1, false, "before");
}

/* No operator: the rule of device/rules/row_activations.h. */
static void export_sparsemax(onnx_export *e, const place *p)
{
    const char *excess, *before, *support = onnx_name(e, p->y, "support");
    add_pairs(e, p, &excess, &before);
    const char *is_in = with_number(e, p, "Less", excess, "one", 1, "is_in");
    onnx_node_int(e->graph, onnx_apply(e, "Cast", is_in, NULL, support), "to", ONNX_FLOAT);
    const char *size = along(e, p, "ReduceSum", support, p->axis, true, "size");
    const char *own = with_number(e, p, "Add", size, "own_half", 0.5f, "size_and_half");
    const char *kept = part(e, p, "Mul", support, p->x, "kept");
    const char *weighted =
        part(e, p, "Mul", kept, part(e, p, "Sub", own, before, "weight"), "weighted");
    const char *sum = along(e, p, "ReduceSum", weighted, p->axis, true, "sum");
    const char *beyond = with_number(e, p, "Sub", sum, "sum_one", 1, "beyond");
    const char *limit = part(e, p, "Div", beyond, size, "limit");
    onnx_apply(e, "Relu", part(e, p, "Sub", p->x, limit, "rest"), NULL, p->y);
}

typedef void activation_function(onnx_export *e, const place *p);

static activation_function *const activation_functions[ACTIVATION_COUNT] = {
#define ACTIVATION(id, name, other, rule, ...) [ACTIVATION_##id] = export_##rule,
#define ACTIVATION_OF_ROWS(id, name, other, rule, ...) [ACTIVATION_##id] = export_##rule,
#include "model/activations.def"
};

/* y = act(x); channels first or in cornu's layout. */
void onnx_add_activation(onnx_export *e, activation a, const char *x, const char *y, bool first,
                         int rank)
{
    activation_functions[a.kind](
        e, &(place){.x = x, .y = y, .alpha = a.alpha, .axis = first ? 1 : rank - 1});
}
