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
EXPORT_AS(exp, "Exp")
EXPORT_AS(linear, "Identity")
EXPORT_AS(log, "Log")
EXPORT_AS(reciprocal, "Reciprocal")
EXPORT_AS(relu, "Relu")
EXPORT_AS(sigmoid, "Sigmoid")
EXPORT_AS(sqrt, "Sqrt")
EXPORT_AS(tanh, "Tanh")

static void export_leaky_relu(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "LeakyRelu", p->x, NULL, p->y);
    onnx_node_real(e->graph, n, "alpha", p->alpha);
}

static void export_elu(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "Elu", p->x, NULL, p->y);
    onnx_node_real(e->graph, n, "alpha", p->alpha);
}

/* x (1 + erf(x / sqrt 2)) / 2: opset 17 has no Gelu yet. */
static void export_gelu(onnx_export *e, const place *p)
{
    const char *scaled = onnx_name(e, p->y, "scaled"), *erf = onnx_name(e, p->y, "erf");
    const char *above = onnx_name(e, p->y, "erf_1"), *twice = onnx_name(e, p->y, "twice");
    onnx_apply(e, "Mul", p->x,
               onnx_constant(e, onnx_name(e, p->y, "sqrt_half"), 0, 0.70710678118654752440f),
               scaled);
    onnx_apply(e, "Erf", scaled, NULL, erf);
    onnx_apply(e, "Add", erf, onnx_constant(e, onnx_name(e, p->y, "one"), 0, 1), above);
    onnx_apply(e, "Mul", p->x, above, twice);
    onnx_apply(e, "Mul", twice, onnx_constant(e, onnx_name(e, p->y, "half"), 0, 0.5f), p->y);
}

static void export_silu(onnx_export *e, const place *p)
{
    const char *sigmoid = onnx_name(e, p->y, "sigmoid");
    onnx_apply(e, "Sigmoid", p->x, NULL, sigmoid);
    onnx_apply(e, "Mul", p->x, sigmoid, p->y);
}

static void export_at_least(onnx_export *e, const place *p)
{
    onnx_apply(e, "Max", p->x, onnx_constant(e, onnx_name(e, p->y, "least"), 0, p->alpha), p->y);
}

static void export_at_most(onnx_export *e, const place *p)
{
    onnx_apply(e, "Min", p->x, onnx_constant(e, onnx_name(e, p->y, "most"), 0, p->alpha), p->y);
}

static void export_rsqrt(onnx_export *e, const place *p)
{
    const char *root = onnx_name(e, p->y, "root");
    onnx_apply(e, "Sqrt", p->x, NULL, root);
    onnx_apply(e, "Reciprocal", root, NULL, p->y);
}

static void export_square(onnx_export *e, const place *p)
{
    onnx_apply(e, "Mul", p->x, p->x, p->y);
}

/* 1 / max(sqrt(x), 1e-7) */
static void export_inverse_norm(onnx_export *e, const place *p)
{
    const char *root = onnx_name(e, p->y, "root"), *norm = onnx_name(e, p->y, "norm");
    onnx_apply(e, "Sqrt", p->x, NULL, root);
    onnx_apply(e, "Max", root, onnx_constant(e, onnx_name(e, p->y, "least"), 0, 1e-7f), norm);
    onnx_apply(e, "Reciprocal", norm, NULL, p->y);
}

static void export_softmax(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "Softmax", p->x, NULL, p->y);
    onnx_node_int(e->graph, n, "axis", p->axis);
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
