/* Activations as ONNX's operators: a function for each row of activations.def, by its rule's name.
 */
#include "exchange/onnx/onnx_export.h"

typedef struct place {
    const char *x, *y;
    float alpha;
    int axis; /* of the channels */
} place;

static void export_linear(onnx_export *e, const place *p)
{
    onnx_apply(e, "Identity", p->x, NULL, p->y);
}

static void export_relu(onnx_export *e, const place *p)
{
    onnx_apply(e, "Relu", p->x, NULL, p->y);
}

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

static void export_sigmoid(onnx_export *e, const place *p)
{
    onnx_apply(e, "Sigmoid", p->x, NULL, p->y);
}

static void export_tanh(onnx_export *e, const place *p)
{
    onnx_apply(e, "Tanh", p->x, NULL, p->y);
}

static void export_silu(onnx_export *e, const place *p)
{
    const char *sigmoid = onnx_name(e, p->y, "sigmoid");
    onnx_apply(e, "Sigmoid", p->x, NULL, sigmoid);
    onnx_apply(e, "Mul", p->x, sigmoid, p->y);
}

static void export_softmax(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "Softmax", p->x, NULL, p->y);
    onnx_node_int(e->graph, n, "axis", p->axis);
}

typedef void export_function(onnx_export *e, const place *p);

static export_function *const functions[ACTIVATION_COUNT] = {
#define ACTIVATION(id, name, other, rule, ...) [ACTIVATION_##id] = export_##rule,
#define ACTIVATION_OF_ROWS(id, name, other, rule, ...) [ACTIVATION_##id] = export_##rule,
#include "model/activations.def"
};

void onnx_add_activation(onnx_export *e, activation a, const char *x, const char *y, bool first,
                         int rank)
{
    functions[a.kind](e, &(place){.x = x, .y = y, .alpha = a.alpha, .axis = first ? 1 : rank - 1});
}
