/* An ONNX model under construction, and its file: nodes, tensors and their shapes, in ONNX's own
   terms. Names are copied. The only possible failure is a lack of memory, which is kept: add nodes
   freely, and onnx_graph_write reports it. */
#ifndef FORMAT_ONNX_ONNX_GRAPH_H
#define FORMAT_ONNX_ONNX_GRAPH_H

#include "base/files.h"

/* The opset of the nodes, and the file version that belongs to it. */
enum { ONNX_OPSET = 17, ONNX_IR_VERSION = 8 };

typedef enum onnx_type {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT64 = 7,
    ONNX_BOOL = 9
} onnx_type; /* ONNX's */

typedef struct onnx_graph onnx_graph;
typedef struct onnx_node onnx_node;

/* A model of one graph called `name`. */
cornu_status onnx_graph_new(const char *name, onnx_graph **out);
void onnx_graph_free(onnx_graph *g);

/* Declare an input or output: [batch][dim], the batch of any size. */
void onnx_graph_input(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                      int rank);
void onnx_graph_output(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                       int rank);
void onnx_graph_metadata(onnx_graph *g, const char *key, const char *value);

/* Append a node with one output; a NULL input is an optional one that is absent. The result (NULL
   without memory) is for the functions below, which accept NULL. */
onnx_node *onnx_graph_node(onnx_graph *g, const char *kind, const char *const *inputs, int count,
                           const char *output);
/* Append a further output. */
void onnx_node_output(onnx_graph *g, onnx_node *n, const char *name);
void onnx_node_int(onnx_graph *g, onnx_node *n, const char *name, int64_t value);
void onnx_node_ints(onnx_graph *g, onnx_node *n, const char *name, const int64_t *values,
                    int count);
void onnx_node_real(onnx_graph *g, onnx_node *n, const char *name, float value);
void onnx_node_reals(onnx_graph *g, onnx_node *n, const char *name, const float *values, int count);
void onnx_node_text(onnx_graph *g, onnx_node *n, const char *name, const char *value);
void onnx_node_texts(onnx_graph *g, onnx_node *n, const char *name, const char *const *values,
                     int count);

/* Append a constant tensor. For the first function the elements are the caller's and must live
   until the file is written; the second returns zeros that the caller fills in, or NULL without
   memory. */
void onnx_graph_tensor(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                       int rank, const void *data);
void *onnx_graph_new_tensor(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                            int rank);

/* Write the model, atomically. CORNU_UNSUPPORTED where it is larger than protobuf's 2 GB. */
cornu_status onnx_graph_write(onnx_graph *g, const char *path);

#endif
