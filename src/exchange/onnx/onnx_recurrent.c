#include "exchange/onnx/onnx_recurrent.h"
#include <string.h>

static const onnx_recurrent_activation rows[] = {
    {ACTIVATION_ELU, "Elu", 1, 1, 0},
    {ACTIVATION_HARD_SIGMOID, "HardSigmoid", 2, 0.2f, 0.5f},
    {ACTIVATION_LEAKY_RELU, "LeakyRelu", 1, 0.01f, 0},
    {ACTIVATION_LINEAR, "Affine", 2, 1, 0},
    {ACTIVATION_RELU, "Relu", 0, 0, 0},
    {ACTIVATION_SIGMOID, "Sigmoid", 0, 0, 0},
    {ACTIVATION_TANH, "Tanh", 0, 0, 0},
};

const onnx_recurrent_activation *onnx_recurrent_activation_of(activation_kind kind,
                                                              const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (name ? strcmp(rows[i].name, name) == 0 : rows[i].kind == kind)
            return &rows[i];
    return NULL;
}
