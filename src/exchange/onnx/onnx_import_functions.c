/* Operators that are a function of each element, without constants beside it: activations and
 * others. */
#include "exchange/onnx/onnx_import.h"
#include <math.h>
#include <string.h>

/* Those that one layer with fixed options computes. */
static const struct {
    const char *kind, *layer, *options;
} fixed[] = {
    {"Abs", "Absolute", "{}"},
    {"Exp", "Exp", "{}"},
    {"HardSwish", "Activation", "{activation: hard_silu}"},
    {"Log", "Log", "{}"},
    {"Mish", "Activation", "{activation: mish}"},
    {"Neg", "Rescaling", "{scale: -1}"},
    {"Reciprocal", "Reciprocal", "{}"},
    {"Relu", "Activation", "{activation: relu}"},
    {"Softplus", "Activation", "{activation: softplus}"},
    {"Softsign", "Activation", "{activation: softsign}"},
    {"Sqrt", "Sqrt", "{}"},
    {"Tanh", "Activation", "{activation: tanh}"},
};

/* Those whose attribute alpha is an option. */
static const struct {
    const char *kind, *layer, *option;
    double fallback;
} with_alpha[] = {
    {"Celu", "Celu", "alpha", 1},
    {"Elu", "ELU", "alpha", 1},
    {"LeakyRelu", "LeakyReLU", "negative_slope", 0.01},
    {"ThresholdedRelu", "ReLU", "threshold", 1},
};

static bool is_near(double found, double expected)
{
    return fabs(found - expected) < 1e-5;
}

static cornu_status add_gelu(onnx_import *im)
{
    const Onnx__AttributeProto *a = onnx_attribute(onnx_node_at(im), "approximate");
    const bool by_tanh = a && onnx_text_is(a, "tanh");
    if (a && !by_tanh && !onnx_text_is(a, "none"))
        return onnx_import_fail(im, "approximate: found another value; expected none or tanh");
    return by_tanh ? onnx_add_layer(im, "Gelu", "{approximate: true}")
                   : onnx_add_layer(im, "Activation", "{activation: gelu}");
}

/* slope x + offset, from 0 to 1 */
static cornu_status add_hard_sigmoid(onnx_import *im)
{
    const double slope = onnx_real(onnx_node_at(im), "alpha", 0.2);
    const double offset = onnx_real(onnx_node_at(im), "beta", 0.5);
    if (is_near(offset, 0.5) && (is_near(slope, 1.0 / 6) || is_near(slope, 0.5)))
        return onnx_add_layer(im, "Activation", "{activation: %s}",
                              slope < 0.3 ? "hard_sigmoid" : "sparse_sigmoid");
    TRY(onnx_add_layer(im, "Rescaling", "{scale: %.9g, offset: %.9g}", slope, offset));
    return onnx_add_layer(im, "Clip", "{x_min: 0, x_max: 1}");
}

static cornu_status add_selu(onnx_import *im)
{
    const double alpha = onnx_real(onnx_node_at(im), "alpha", 1.67326319217681884765625);
    const double gamma = onnx_real(onnx_node_at(im), "gamma", 1.05070102214813232421875);
    if (is_near(alpha, 1.67326324) && is_near(gamma, 1.05070099))
        return onnx_add_layer(im, "Activation", "{activation: selu}");
    TRY(onnx_add_layer(im, "ELU", "{alpha: %.9g}", alpha));
    return onnx_add_layer(im, "Rescaling", "{scale: %.9g}", gamma);
}

/* x - bias above lambd, x + bias below -lambd, else 0 */
static cornu_status add_shrink(onnx_import *im)
{
    const double threshold = onnx_real(onnx_node_at(im), "lambd", 0.5);
    const double bias = onnx_real(onnx_node_at(im), "bias", 0);
    const bool is_hard = bias >= 0 && bias <= 0;
    if (!is_hard && !is_near(bias, threshold))
        return onnx_import_fail(im, "bias: found %g; expected 0 or that of lambd, %g", bias,
                                threshold);
    return onnx_add_layer(im, is_hard ? "HardShrink" : "SoftShrink", "{threshold: %.9g}",
                          threshold);
}

static const struct {
    const char *kind;
    cornu_status (*add)(onnx_import *im);
} others[] = {
    {"Gelu", add_gelu},
    {"HardSigmoid", add_hard_sigmoid},
    {"Selu", add_selu},
    {"Shrink", add_shrink},
};

#define EACH(i, table)                   \
    size_t i = 0;                        \
    i < sizeof(table) / sizeof *(table); \
    i++

static cornu_status add_layers(onnx_import *im)
{
    const char *kind = onnx_node_at(im)->op_type;
    for (EACH(i, fixed))
        if (strcmp(kind, fixed[i].kind) == 0)
            return onnx_add_layer(im, fixed[i].layer, "%s", fixed[i].options);
    for (EACH(i, with_alpha))
        if (strcmp(kind, with_alpha[i].kind) == 0)
            return onnx_add_layer(im, with_alpha[i].layer, "{%s: %.9g}", with_alpha[i].option,
                                  onnx_real(onnx_node_at(im), "alpha", with_alpha[i].fallback));
    for (EACH(i, others))
        if (strcmp(kind, others[i].kind) == 0)
            return others[i].add(im);
    return onnx_import_fail(im, "found no layer for this operator; expected one");
}

cornu_status onnx_import_function(onnx_import *im)
{
    TRY(add_layers(im));
    return onnx_done(im);
}
