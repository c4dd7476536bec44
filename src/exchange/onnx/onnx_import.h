/* An ONNX graph as a model: what the files of this folder share that read one. Its nodes that the
   output depends on are walked in the file's order; each becomes a layer on the results of nodes
   before it, or joins one.

   Files of others may hold anything: what is read from the messages is checked before it is used,
   and no tensor is copied before a layer of its size wants it. */
#ifndef EXCHANGE_ONNX_ONNX_IMPORT_H
#define EXCHANGE_ONNX_ONNX_IMPORT_H

#include "exchange/weight_order.h"
#include "format/onnx/onnx.pb-c.h"
#include "model/model.h"

/* The order of a result's elements, compared with cornu's. */
typedef enum value_order {
    ORDER_PLAIN,
    ORDER_FIRST,   /* an image, channels first; cornu's are channels last */
    ORDER_FLAT,    /* such an image flattened: the weights after it are rearranged */
    ORDER_SWAPPED, /* a matrix whose two dimensions were exchanged: for a product */
    ORDER_SEQUENCE /* a sequence as recurrent operators have it: onnx_value.axes */
} value_order;

/* The axes of ORDER_SEQUENCE in the file. cornu has (batch, steps, units) or, without the steps,
   (batch, units); both directions are beside each other among the units. */
enum { AXIS_BATCH = 'b', AXIS_STEPS = 's', AXIS_DIRECTIONS = 'd', AXIS_UNITS = 'u' };

/* A result of the graph, as the model has it. */
typedef struct onnx_value {
    const char *name;
    int node;      /* of the model, that computes it */
    shape shape;   /* without the batch and the steps beside it, in cornu's order */
    int64_t steps; /* the file's batch is one of samples and so many steps of each, which in cornu's
                      are the first dimension: layers compute each step; 0: it is of samples */
    value_order order;
    int64_t flat[3];          /* ORDER_FLAT: the image's height, width and channels */
    char axes[SHAPE_MAX + 1]; /* ORDER_SEQUENCE: "sdbu" */
    int directions;           /* of ORDER_SEQUENCE, where it has their axis */
    bool reversed;            /* the last step comes first, in cornu but not in the file */
} onnx_value;

/* A node of the graph that is no constant; further outputs of recurrent operators are steps of
   their own after it. */
typedef struct onnx_step {
    const Onnx__NodeProto *node;
    size_t output;       /* its number of the node's */
    const int *from;     /* [node->n_input] the step that makes this input, or one of those below */
    int readers, reader; /* how many inputs and outputs are its result; the last step of those */
    bool needed;         /* an output of the graph depends on it */
    bool joined;         /* it has become part of the layer of a step before */
    onnx_value value;    /* its result, once it is a layer */
} onnx_step;
/* Outputs of a recurrent operator: all steps' states, the last state and, of an LSTM, the last c.
 */
enum { ONNX_RECURRENT_MOST = 3 };
/* A constant, or no earlier node's result; and the graph's inputs: the first, and those after it
   count downwards. */
enum { ONNX_OTHER = -1, ONNX_INPUT = -2 };

/* The source of the values of one of the model's variables. */
typedef struct weight_source {
    const layer *layer;
    int number; /* of the layer's weights */
    const Onnx__TensorProto *tensor;
    weight_order order;
    int64_t summand; /* so many numbers further is what is added; 0: nothing */
} weight_source;

typedef struct onnx_import {
    const char *path;
    const Onnx__GraphProto *graph;
    int64_t opset;    /* which version of the operators the nodes mean */
    int64_t batch;    /* the inputs', where it is fixed; else 0 */
    onnx_step *steps; /* in order */
    int *froms;       /* their `from` */
    int step_count;
    int at, last;                /* the current step, and the last one that joined its layer */
    int outputs[MODEL_ENDS_MAX]; /* the step that makes each of the graph's, or an input */
    int output_count;
    cornu_model *model;
    onnx_value inputs[MODEL_ENDS_MAX]; /* the graph's */
    int input_count;
    onnx_value x; /* the current step's first input, then its layers' output so far */
    weight_source *sources;
    size_t source_count, source_capacity;
    int64_t room; /* floats that weights may still take: a constant may be read by many nodes */
} onnx_import;

/* Append the layer of the current step, and set the results of the steps that became part of it. */
cornu_status onnx_import_node(onnx_import *im);
/* CORNU_UNSUPPORTED: "PATH: NODE (OPERATOR): ..." */
cornu_status onnx_import_fail(const onnx_import *im, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the graph's steps (onnx_import_steps.c) ---- */

/* List the steps, and what each reads; the inputs have their names. */
cornu_status onnx_list_steps(onnx_import *im);
const Onnx__NodeProto *onnx_node_at(const onnx_import *im);
/* Is this input of the current step the result of one before, or the graph's input? */
bool onnx_is_computed(const onnx_import *im, size_t input);
/* Fail where it is neither. */
cornu_status onnx_want_computed(const onnx_import *im, size_t input);
/* The value of such an input; and of a step, or an input of the graph. */
const onnx_value *onnx_value_of(const onnx_import *im, size_t input);
const onnx_value *onnx_value_from(const onnx_import *im, int from);
/* A matrix whose dimensions were exchanged becomes one in cornu's order, by a layer. */
cornu_status onnx_put_in_order(onnx_import *im, int from);
/* x is the output of this node of the model. */
void onnx_take_node(onnx_import *im, int node);
/* cornu's axis, the batch is 0, of one of the file's, which may count from the end, in x; -1: x has
   none. */
int onnx_axis_of(const onnx_import *im, int64_t axis);
/* The step that alone reads the result of step `of`, if it is an operator `kind` with that among
   its first two inputs; *other: the name of the other one, or "". Else -1. */
int onnx_reader(const onnx_import *im, int of, const char *kind, const char **other);
/* That step has become part of the current layer. */
void onnx_join(onnx_import *im, int step);
/* x is the result of the current step and of those that joined it. */
cornu_status onnx_done(onnx_import *im);

/* ONNX's types of tensors. */
enum { ONNX_NUMBER = 1, ONNX_INT32 = 6, ONNX_INT64 = 7, ONNX_TRUTH = 9 };

/* Append a layer on x, whose options are YAML made only of cornu's numbers and words; x becomes its
   output. */
cornu_status onnx_add_layer(onnx_import *im, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same on the outputs of these nodes of the model. */
cornu_status onnx_add_layer_on(onnx_import *im, const int *nodes, int count, const char *kind,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same with YAML of any length. */
cornu_status onnx_add_layer_of(onnx_import *im, const int *nodes, int count, const char *kind,
                               const char *options);

/* ---- layers with weights (onnx_import_layers.c) ---- */

/* Weight `number` of the layer that was added last comes from this tensor. */
cornu_status onnx_add_source(onnx_import *im, int number, const Onnx__TensorProto *t,
                             weight_form form);
/* The same, whose caller has checked the tensor's size. */
cornu_status onnx_add_part(onnx_import *im, int number, const Onnx__TensorProto *t,
                           const weight_order *order, int64_t summand);
cornu_status onnx_want_image(const onnx_import *im);
cornu_status onnx_add_reshape(onnx_import *im, const shape *target);
/* Zeros around the image, where the window's padding is no "same". */
cornu_status onnx_add_padding(onnx_import *im, const window2d *w, bool same);
/* The name of a bias that is added to the current node's result, with its channel dimension
   `from_end` from the end, or ""; *sum: the step that adds it. */
const char *onnx_added_bias(const onnx_import *im, int64_t units, size_t from_end, int *sum);

/* ---- windows over images (onnx_import_windows.c) ---- */

cornu_status onnx_import_conv(onnx_import *im);
cornu_status onnx_import_conv_transpose(onnx_import *im);
cornu_status onnx_import_pool(onnx_import *im);
cornu_status onnx_import_global_pool(onnx_import *im);

/* ---- images of another size (onnx_import_resize.c) ---- */

cornu_status onnx_import_resize(onnx_import *im);

/* ---- constants as operands (onnx_import_arrays.c) ---- */

/* Arithmetic, or a comparison, of two inputs of which one may be a constant of several numbers. */
cornu_status onnx_import_pair(onnx_import *im);
cornu_status onnx_import_where(onnx_import *im);
cornu_status onnx_import_not(onnx_import *im);

/* ---- parts and orders (onnx_import_parts.c) ---- */

cornu_status onnx_import_slice(onnx_import *im);
cornu_status onnx_import_clip(onnx_import *im);
/* A Transpose that becomes a layer. */
cornu_status onnx_import_order(onnx_import *im);

/* ---- recurrent operators, and sequences as they have them (onnx_import_recurrent.c, _sequences.c)
 * ---- */

cornu_status onnx_import_recurrent(onnx_import *im);
/* A Transpose whose result or input is ORDER_SEQUENCE; false: it is none. */
bool onnx_transposes_sequence(const onnx_import *im);
cornu_status onnx_transpose_sequence(onnx_import *im);
/* Operators on ORDER_SEQUENCE. */
cornu_status onnx_squeeze_sequence(onnx_import *im);
cornu_status onnx_import_merged_directions(onnx_import *im);
/* Does the node name one axis of `rank`? *axis: that, counted from the first one. */
bool onnx_one_axis(const onnx_import *im, const Onnx__NodeProto *n, int rank, int64_t *axis);
cornu_status onnx_reshape_sequence(onnx_import *im);
/* Unsqueeze, which is read only before the states of a recurrent operator. */
cornu_status onnx_import_unsqueeze(onnx_import *im);

/* ---- functions of each element (onnx_import_functions.c) ---- */

/* An operator without constants beside its input: an activation, Abs, Neg, ... */
cornu_status onnx_import_function(onnx_import *im);

/* ---- several inputs become one (onnx_import_merges.c) ---- */

/* The layer's name of the current operator, where ONNX has another one. */
const char *onnx_layer_of(const onnx_import *im);
/* Fail unless the elements of all inputs that are results stand in one order. */
cornu_status onnx_check_orders(const onnx_import *im);

/* An operator on results of steps before: Add, Sum, Max, ... */
cornu_status onnx_import_merge(onnx_import *im);
cornu_status onnx_import_concat(onnx_import *im);
/* MatMul of two results, whose first is x: a Dot, or Matmul of stacks of matrices. */
cornu_status onnx_import_product(onnx_import *im);

/* ---- messages (onnx_import_messages.c) ---- */

/* *size: the file's, in bytes. */
cornu_status onnx_read(const char *path, Onnx__ModelProto **out, size_t *size);
const Onnx__AttributeProto *onnx_attribute(const Onnx__NodeProto *n, const char *name);
int64_t onnx_int(const Onnx__NodeProto *n, const char *name, int64_t fallback);
double onnx_real(const Onnx__NodeProto *n, const char *name, double fallback);
/* Exactly `count` numbers from `least` to `most`; values[] stay where the node does not say. */
cornu_status onnx_ints(const onnx_import *im, const char *name, int count, int64_t least,
                       int64_t most, int64_t *values);
/* Is the attribute, which may be NULL, this text? */
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
