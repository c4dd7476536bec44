/* ONNX's LSTM, GRU and RNN beside cornu's cells: what export and import share. */
#ifndef EXCHANGE_ONNX_ONNX_RECURRENT_H
#define EXCHANGE_ONNX_ONNX_RECURRENT_H

#include "model/emit.h"

/* The gate of cornu, which has Keras's order, that is ONNX's gate `k`. Both have those of a GRU in
   the order z, r, h; Keras has an LSTM's as i, f, c, o, and ONNX as i, o, f, c. */
static inline int onnx_gate(recurrent_cell cell, int k)
{
    static const int lstm[4] = {0, 3, 1, 2};
    return cell == CELL_LSTM ? lstm[k] : k;
}

/* The activations of an operator: of the gates, then of the cell, which an LSTM has twice. */
static inline int onnx_recurrent_activations(recurrent_cell cell)
{
    return cell == CELL_SIMPLE ? 1 : cell == CELL_LSTM ? 3 : 2;
}

/* The activations that ONNX has within these operators. */
typedef struct onnx_recurrent_activation {
    activation_kind kind;
    const char *name;
    int numbers;       /* 1: alpha; 2: beta, too */
    float alpha, beta; /* of ONNX, where a file does not say them */
} onnx_recurrent_activation;

/* The row of a kind, or of ONNX's name where that is not NULL; NULL: there is none. */
const onnx_recurrent_activation *onnx_recurrent_activation_of(activation_kind kind,
                                                              const char *name);

#endif
