/* The verbs with which a layer describes its forward pass. The step room implements them
   (step/verbs.c) and derives the backward pass and the updates. */
#ifndef MODEL_EMIT_H
#define MODEL_EMIT_H

#include "base/status.h"
#include "model/drawing.h"
#include "model/kinds.h"
#include "model/shape.h"

typedef struct step_builder step_builder;
typedef int tensor_ref; /* a tensor of the plan under construction */
#define NO_TENSOR (-1)

typedef struct activation {
    activation_kind kind;
    float alpha; /* leaky_relu: slope below 0; elu: alpha; relu6: the limit; relu: unused */
} activation;

/* The gates of a cell, what its steps keep for the backward pass, and the products with the weights
   of the state. */
static inline int recurrent_gates(recurrent_cell c)
{
    return c == CELL_SIMPLE ? 1 : c == CELL_LSTM ? 4 : 3;
}
static inline int recurrent_kept(recurrent_cell c)
{
    return c == CELL_SIMPLE ? 0 : c == CELL_LSTM ? 5 : 4;
}
static inline int recurrent_products(recurrent_cell c)
{
    return c == CELL_GRU_BEFORE ? 2 : 1;
}

typedef struct recurrence {
    recurrent_cell cell;
    activation act, gate; /* of the cell, and of its gates */
    bool from_last;       /* the first step is the sequence's last */
    bool to_last;         /* the first step's output comes last */
} recurrence;

/* How many numbers of a drawing a sample has. */
static inline int drawing_numbers(int kind)
{
    return kind == DRAW_PAIR ? 2 : kind == DRAW_BOX ? 4 : kind < DRAW_PAIR ? 1 : MAP_NUMBERS;
}

/* Keras's name of an activation, and the kind that a name means (false where it is unknown), with
   the row's default alpha. */
const char *activation_name(activation_kind kind);
bool activation_find(const char *name, activation *out);
/* May its derivative be computed from its output alone? (So that it can be fused.) */
bool activation_from_output(activation_kind kind);
/* Is it an operation of its own, which is not fused? */
bool activation_is_alone(activation_kind kind);
/* Does it need whole rows of the last dimension, as a softmax does? */
static inline bool activation_is_of_rows(activation_kind kind)
{
    static const bool of_rows[ACTIVATION_COUNT] = {
#define ACTIVATION(...)
#define ACTIVATION_OF_ROWS(id, ...) [ACTIVATION_##id] = true,
#include "model/activations.def"
    };
    return of_rows[kind];
}
/* Is it a function that is no activation of Keras's? */
bool activation_is_function(activation_kind kind);

/* keras.ops' name of an operation of two tensors, and of how many of them it has a gradient: of
   both, the first alone, or none. */
const char *binary_name(binary_kind kind);
int binary_gradients(binary_kind kind);

/* Shape of a tensor without the batch dimension. */
shape emit_shape(const step_builder *b, tensor_ref x);
/* The number of inputs of the call. */
int emit_inputs(const step_builder *b);
/* The output's shape, as the layer has declared it for this call. */
shape emit_output(const step_builder *b);
/* Does the step train? */
bool emit_training(const step_builder *b);
/* Between these one sample is described, whatever the batch. */
void emit_one_begin(step_builder *b);
void emit_one_end(step_builder *b);
/* Keras's shape of the layer's weight. */
const shape *emit_weight_shape(step_builder *b, int index);
/* The layer's weight `index` (counted from 0 within the layer). */
tensor_ref emit_weight(step_builder *b, int index);

/* A layer within the one that is described: what the verbs tell it. It lives until emit_leave. */
typedef struct emit_frame {
    int first_weight, weight_count; /* its weights are those of the layer around it from here on */
    shape out;                      /* of the call */
    int own_weight;  /* so many of its weights come before one of the layer around it; 0: all do */
    int64_t times;   /* so many of its samples are one of the layer around it; 0: one */
    uint32_t number; /* among the layers within the call */
    const struct emit_frame *around;
} emit_frame;
void emit_enter(step_builder *b, emit_frame *f);
void emit_leave(step_builder *b);

/* A tensor of these numbers, of shape `s` for every sample: for emit_binary, or the matrix z of
   emit_matmul. */
cornu_status emit_constant(step_builder *b, const shape *s, const float *values, tensor_ref *y);

/* Each verb appends its operation for the current layer and returns its output in *y. bias:
   NO_TENSOR for none. */
cornu_status emit_dense(step_builder *b, tensor_ref x, tensor_ref kernel, tensor_ref bias,
                        tensor_ref *y); /* over the last dimension */
cornu_status emit_conv2d(step_builder *b, tensor_ref x, tensor_ref kernel, tensor_ref bias,
                         const window2d *w, tensor_ref *y); /* kernel [kh][kw][in/groups][out] */
/* The gradient of a convolution over an image of this size with respect to it; kernel
   [kh][kw][filters][in]. */
cornu_status emit_conv2d_transpose(step_builder *b, tensor_ref x, tensor_ref kernel,
                                   const int64_t size[2], const window2d *w, tensor_ref *y);
cornu_status emit_max_pool(step_builder *b, tensor_ref x, const window2d *w, tensor_ref *y);
cornu_status emit_average_pool(step_builder *b, tensor_ref x, const window2d *w, tensor_ref *y);
cornu_status emit_reshape(step_builder *b, tensor_ref x, const shape *s, tensor_ref *y);
cornu_status emit_activation(step_builder *b, tensor_ref x, activation a, tensor_ref *y);
cornu_status emit_dropout(step_builder *b, tensor_ref x, double rate, tensor_ref *y);
/* In training 0 or 1 / (1 - rate) for x, drawn as Dropout's; one for all elements along dimension
   i + 1 if together[i]. *mask: NO_TENSOR where nothing is dropped. */
cornu_status emit_dropout_mask(step_builder *b, tensor_ref x, double rate,
                               const bool together[SHAPE_MAX], tensor_ref *mask);
/* Does the layer draw random numbers, as in training? Else what only training changes passes x on.
 */
bool emit_draws(const step_builder *b);
/* Numbers drawn for each sample: (drawing_numbers(d->kind)). */
cornu_status emit_draw(step_builder *b, const drawing *d, tensor_ref *y);
/* Normal numbers drawn for each element of x. */
cornu_status emit_noise(step_builder *b, tensor_ref x, double mean, double deviation,
                        tensor_ref *y);
/* An image of this size, whose pixels come from where the map says: drawn, or a constant. */
cornu_status emit_resample(step_builder *b, tensor_ref x, tensor_ref map, const int64_t size[2],
                           const resampling *r, tensor_ref *y);
/* The image with other colours, by numbers drawn for each sample. */
cornu_status emit_recolor(step_builder *b, tensor_ref x, tensor_ref numbers, const recoloring *r,
                          tensor_ref *y);
/* Over the last dimension; gamma and beta may be NO_TENSOR. Training updates the moving statistics:
   moving = moving * momentum + batch * (1 - momentum). */
cornu_status emit_batch_norm(step_builder *b, tensor_ref x, tensor_ref gamma, tensor_ref beta,
                             tensor_ref moving_mean, tensor_ref moving_variance, double momentum,
                             double epsilon, tensor_ref *y);
/* The same by statistics that training leaves alone, of which the mean may be NO_TENSOR. */
cornu_status emit_standardized(step_builder *b, tensor_ref x, tensor_ref gamma, tensor_ref beta,
                               tensor_ref mean, tensor_ref variance, double epsilon, tensor_ref *y);
/* Any operation of step/ops.def by its name, "layer_norm_forward". Its inputs are in the row's
   order, the first is x; `reals` are the operation's attributes. y has the shape of x. */
enum { EMIT_REALS = 4 };
cornu_status emit_operation(step_builder *b, const char *name, const tensor_ref *inputs, int count,
                            const double reals[EMIT_REALS], tensor_ref *y);
/* y = f(x, z), element by element. Both have the same rank; where a dimension of one of them is 1,
   its elements are repeated. z may be a weight, whose first dimension is 1. */
cornu_status emit_binary(step_builder *b, binary_kind kind, tensor_ref x, tensor_ref z,
                         tensor_ref *y);
/* The `count` tensors of x, equal in all dimensions but `axis` (0: the batch), one after the other.
 */
cornu_status emit_concatenate(step_builder *b, const tensor_ref *x, int count, int axis,
                              tensor_ref *y);
/* `count` elements along `axis` (not the batch): begin, begin + step, ... */
cornu_status emit_slice(step_builder *b, tensor_ref x, int axis, int64_t begin, int64_t step,
                        int64_t count, tensor_ref *y);
/* y = x z of the last two dimensions, for each index of the others, which are equal; transpose_x: x
   holds rows and columns the other way round. A constant z is one matrix, for all indices; x is not
   transposed then. */
cornu_status emit_matmul(step_builder *b, tensor_ref x, bool transpose_x, tensor_ref z,
                         bool transpose_z, tensor_ref *y);
/* Dimension i + 1 of y is dimension order[i] of x (1: the first after the batch). */
cornu_status emit_transpose(step_builder *b, tensor_ref x, const int *order, tensor_ref *y);
/* y: for each sample the mean, or the largest, of all numbers of all samples of the batch; *count:
   how many there are. Only losses may ask for it: in a prediction no sample depends on others. */
cornu_status emit_reduce_batch(step_builder *b, tensor_ref x, bool largest, int64_t *count,
                               tensor_ref *y);
/* All samples as one, of a dimension more, in a loss: what follows is described of one sample,
   until emit_batch_apart has a sample of shape `s` for each again. */
cornu_status emit_batch_as_one(step_builder *b, tensor_ref x, tensor_ref *y);
cornu_status emit_batch_apart(step_builder *b, tensor_ref x, const shape *s, tensor_ref *y);
/* The backward pass ends at x, which was just described. */
void emit_stop_gradient(step_builder *b, tensor_ref x);
/* y[..., columns] = the rows of `table`, a weight [rows][columns], that the numbers of x name. */
cornu_status emit_embedding(step_builder *b, tensor_ref x, tensor_ref table, tensor_ref *y);
/* y = the states after all steps of z (steps, gates x units); u: weights (units, gates x units);
   bias: of CELL_GRU_AFTER, or NO_TENSOR; first: h and an LSTM's c before the first step (units),
   NULL or NO_TENSOR: zeros; *c: an LSTM's after the last step (c may be NULL). */
cornu_status emit_recurrent(step_builder *b, tensor_ref z, tensor_ref u, tensor_ref bias,
                            const recurrence *r, const tensor_ref first[2], tensor_ref *y,
                            tensor_ref *c);
/* A weight as one sample of this shape, where one sample is described. */
cornu_status emit_whole_weight(step_builder *b, tensor_ref weight, const shape *s, tensor_ref *y);
/* The weight is x from here on: what comes after reads it so. */
cornu_status emit_assign(step_builder *b, tensor_ref weight, tensor_ref x);
/* Row `row` of a weight (rows, columns), as a bias. */
cornu_status emit_weight_row(step_builder *b, tensor_ref weight, int64_t row, tensor_ref *y);
cornu_status emit_scale(step_builder *b, tensor_ref x, double scale, double offset, tensor_ref *y);
cornu_status emit_pad(step_builder *b, tensor_ref x, const int64_t before[2],
                      const int64_t after[2], tensor_ref *y); /* zeros around height and width */

#endif
