/* An exported graph under construction: what the files that write it share. Errors stick in
   `status`; after an error a name may be any text. */
#ifndef EXCHANGE_ONNX_ONNX_EXPORT_H
#define EXCHANGE_ONNX_ONNX_EXPORT_H

#include "format/onnx/onnx_graph.h"
#include "step/plan.h"

typedef struct onnx_value {
    const char *plain; /* name in cornu's layout; NULL: not made yet */
    const char *first; /* of rank 4, name with channels first; NULL: not made */
} onnx_value;

typedef struct onnx_export {
    onnx_graph *graph;
    const plan *plan;   /* PLAN_PREDICT, nothing fused */
    onnx_value *values; /* [plan->tensor_count] */
    char **names;       /* names that were made here */
    size_t name_count, name_capacity;
    cornu_status status;
} onnx_export;

#define ONNX_INPUT "input"
#define ONNX_OUTPUT "output"

/* ---- names and layouts (onnx_export_names.c) ---- */

/* "BASE/SUFFIX", for as long as the export lasts. */
const char *onnx_name(onnx_export *e, const char *base, const char *suffix);
/* y = KIND(a, b), b may be NULL. */
onnx_node *onnx_apply(onnx_export *e, const char *kind, const char *a, const char *b,
                      const char *y);
/* A new tensor of `count` numbers (0: a single one, without a dimension), all `value`. */
const char *onnx_constant(onnx_export *e, const char *name, int64_t count, float value);
/* A new tensor of one whole number, as operators have it for axes and places. */
const char *onnx_index(onnx_export *e, const char *name, int64_t value);
/* The name under which the caller makes `t` now. */
const char *onnx_result(onnx_export *e, tensor_ref t, bool first);
/* Dimension i of y is dimension order[i] of x. */
void onnx_transpose(onnx_export *e, const char *x, const char *y, const int *order, int rank);
/* The name of a buffer, weight or constant in cornu's layout; NULL for NO_TENSOR. */
const char *onnx_plain(onnx_export *e, tensor_ref t);
/* The same, channels first: [batch][channels][height][width]. */
const char *onnx_channels_first(onnx_export *e, tensor_ref t);
/* The place, channels first, of number `i` of a tensor [batch][height][width][channels] with one
   sample. */
static inline int64_t onnx_place_first(const shape *s, int64_t i)
{
    return i % s->dim[3] * s->dim[1] * s->dim[2] + i / s->dim[3];
}
/* The existing name; channels first if both exist. */
const char *onnx_either(onnx_export *e, tensor_ref t, bool *first);

/* ---- functions of each element (onnx_export_functions.c) ---- */

/* y = act(x); channels first or in cornu's layout. */
void onnx_add_activation(onnx_export *e, activation a, const char *x, const char *y, bool first,
                         int rank);

/* ---- images of another size (onnx_export_resize.c) ---- */

void onnx_add_resize(onnx_export *e, const op *o);

/* ---- recurrent layers (onnx_export_recurrent.c) ---- */

/* One node for a RECURRENT_FORWARD and those operations around it that are within the node. */
void onnx_add_recurrent(onnx_export *e, const op *o);
/* Is the operation part of such a node, and none of its own? */
bool onnx_is_within_recurrent(const plan *p, const op *o);

#endif
