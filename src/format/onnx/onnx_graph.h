/* An ONNX model under construction, and its file: nodes, tensors and what is known of them, in
   ONNX's own terms. Names are copied. Only memory can run out here: such an error sticks, so that
   nodes are added freely and onnx_graph_write tells. */
#ifndef FORMAT_ONNX_ONNX_GRAPH_H
#define FORMAT_ONNX_ONNX_GRAPH_H

#include "base/files.h"

/* The operators that nodes are of, and the file's version to go with them. */
enum { ONNX_OPSET = 17, ONNX_IR_VERSION = 8 };

typedef enum onnx_type { ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT64 = 7 } onnx_type; /* ONNX's */

typedef struct onnx_graph onnx_graph;
typedef struct onnx_node onnx_node;

/* A model of one graph called `name`. */
cornu_status onnx_graph_new(const char *name, onnx_graph **out);
void onnx_graph_free(onnx_graph *g);

/* What goes in and comes out: [batch][dim], the batch of any size. */
void onnx_graph_input(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                      int rank);
void onnx_graph_output(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                       int rank);
void onnx_graph_metadata(onnx_graph *g, const char *key, const char *value);

/* Append a node of one output; a NULL input is one that is left out. The result, NULL where memory
   is short, is for the functions below, which take that too. */
onnx_node *onnx_graph_node(onnx_graph *g, const char *kind, const char *const *inputs, int count,
                           const char *output);
void onnx_node_int(onnx_graph *g, onnx_node *n, const char *name, int64_t value);
void onnx_node_ints(onnx_graph *g, onnx_node *n, const char *name, const int64_t *values,
                    int count);
void onnx_node_real(onnx_graph *g, onnx_node *n, const char *name, float value);

/* Append a constant tensor. The first's elements are the caller's and stay until the file is
   written; the second's are zeros to be filled in, NULL where memory is short. */
void onnx_graph_tensor(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                       int rank, const void *data);
void *onnx_graph_new_tensor(onnx_graph *g, const char *name, onnx_type type, const int64_t *dim,
                            int rank);

/* Write the model, atomically. CORNU_UNSUPPORTED where it is larger than protobuf's 2 GB. */
cornu_status onnx_graph_write(onnx_graph *g, const char *path);

#endif
