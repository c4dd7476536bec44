/* An ONNX graph as a model: what the files of this folder share that read one. A graph is walked
   node by node as a chain; each node becomes a layer, or joins one.

   Files of others may hold anything: what is read from the messages is checked before it is used,
   and no tensor is copied before a layer of its size wants it. */
#ifndef EXCHANGE_ONNX_ONNX_IMPORT_H
#define EXCHANGE_ONNX_ONNX_IMPORT_H

#include "exchange/weight_order.h"
#include "format/onnx/onnx.pb-c.h"
#include "model/model.h"

/* The order of the current value's elements, compared with cornu's. */
typedef enum value_order {
    ORDER_PLAIN,
    ORDER_FIRST, /* an image, channels first; cornu's are channels last */
    ORDER_FLAT   /* such an image flattened: the weights after it are rearranged */
} value_order;

/* The source of the values of one of the model's variables. */
typedef struct weight_source {
    int variable;
    const Onnx__TensorProto *tensor;
    weight_order order;
} weight_source;

typedef struct onnx_import {
    const char *path;
    const Onnx__GraphProto *graph;
    int64_t opset;                 /* which version of the operators the nodes mean */
    int64_t batch;                 /* the input's, where it is fixed; else 0 */
    const Onnx__NodeProto **nodes; /* nodes that are not constants, in order */
    size_t node_count, at;         /* and the current node */
    cornu_model *model;
    const char *value; /* current value: the last node's output */
    value_order order;
    int64_t flat[3];
    weight_source *sources;
    size_t source_count, source_capacity;
    int64_t room; /* floats that weights may still take: a constant may be read by many nodes */
} onnx_import;

/* Append the layer for the current node, and move `value` and `at` after the nodes that it uses. */
cornu_status onnx_import_node(onnx_import *im);
/* CORNU_UNSUPPORTED: "PATH: NODE (OPERATOR): ..." */
cornu_status onnx_import_fail(const onnx_import *im, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the layer of the current node (onnx_import_nodes.c) ---- */

/* Append a layer whose options are YAML made only of cornu's numbers and words. */
cornu_status onnx_add_layer(onnx_import *im, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The current node and `ahead` nodes after it have become layers. */
cornu_status onnx_done(onnx_import *im, size_t ahead);

/* ---- messages (onnx_import_messages.c) ---- */

/* *size: the file's, in bytes. */
cornu_status onnx_read(const char *path, Onnx__ModelProto **out, size_t *size);
const Onnx__AttributeProto *onnx_attribute(const Onnx__NodeProto *n, const char *name);
int64_t onnx_int(const Onnx__NodeProto *n, const char *name, int64_t fallback);
double onnx_real(const Onnx__NodeProto *n, const char *name, double fallback);
/* Exactly `count` numbers from `least` to `most`; values[] stay where the node does not say. */
cornu_status onnx_ints(const onnx_import *im, const char *name, int count, int64_t least,
                       int64_t most, int64_t *values);
/* An attribute of text: its length, and whether it is this. */
bool onnx_text_is(const Onnx__AttributeProto *a, const char *expected);
/* The constant with this name; NULL if there is none. */
const Onnx__TensorProto *onnx_constant_of(const onnx_import *im, const char *name);
/* Elements of a tensor of floats (or 64-bit integers) whose data are whole; -1: it is none. */
int64_t onnx_floats(const Onnx__TensorProto *t);
int64_t onnx_integers(const Onnx__TensorProto *t);
int64_t onnx_truths(const Onnx__TensorProto *t);
float onnx_float_at(const Onnx__TensorProto *t, int64_t i);
int64_t onnx_integer_at(const Onnx__TensorProto *t, int64_t i);
bool onnx_truth_at(const Onnx__TensorProto *t, int64_t i);
/* Input number `i` of the node; "" if it has none. */
const char *onnx_input_name(const Onnx__NodeProto *n, size_t i);
/* True if this is the domain of ONNX's standard operators. */
bool onnx_domain_is_standard(const char *domain);

#endif
