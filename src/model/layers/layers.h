/* Functions and options shared by the layers. */
#ifndef MODEL_LAYERS_LAYERS_H
#define MODEL_LAYERS_LAYERS_H

#include "model/config.h"
#include "model/model.h"

/* Layers of signals see them as images of height 1. */
/* The image that an image or a signal is; and a signal of this image, if `in` is one. */
shape layer_image_of(const shape *in);
shape layer_shaped_like(const shape *in, const shape *image);
cornu_status layer_as_image(step_builder *b, tensor_ref x, tensor_ref *y);
/* Set the output, (height, width, channels) of a window over an image `in`; fails where it does not
   fit. */
cornu_status layer_window_shape(layer_call *call, const window2d *w, const shape *in,
                                int64_t channels);
/* Fail unless `axis` is the last dimension. */
cornu_status layer_wants_last_axis(const layer_call *call, int64_t axis);
/* The dimension, from 1, that Keras's axis means in an input of this shape: the batch is axis 0,
   and negative ones count from the end. `key` names the option in messages. */
cornu_status layer_axis(const char *key, int64_t axis, const shape *s, int *out);
/* Fail unless the layer is called on two inputs. */
cornu_status layer_wants_two(const layer_call *call);
/* Fail: the inputs and the arrays in the place of others are not `count`. */
cornu_status layer_fail_operands(const layer_call *call, int count);
/* reduced[i]: dimension i is one of Keras's axes. */
cornu_status layer_reduced_axes(const int_list *axes, const shape *in, bool reduced[SHAPE_MAX]);
/* The mean, or the largest element, over these axes, which stay as dimensions of 1; *count: the
   number of elements that it is of. */
cornu_status layer_reduce(step_builder *b, tensor_ref x, const int_list *axes, bool largest,
                          int64_t *count, tensor_ref *y);
/* Does the layer reduce over all samples together, which only losses may do? */
bool layer_reduces_batch(const layer *l);
/* x / max(|x|, 1e-7) of each row of x [rows][n], as keras.utils.normalize */
cornu_status layer_normalize_rows(step_builder *b, tensor_ref x, tensor_ref *y);
/* 1 beside the diagonal of a matrix of n rows, and 0 on it. */
cornu_status layer_beside_diagonal(step_builder *b, int64_t n, tensor_ref *y);
/* Each element of x `times` times along `axis`, one copy after the other. */
cornu_status layer_repeat(step_builder *b, tensor_ref x, int axis, int64_t times, tensor_ref *y);
/* The array's numbers as a constant beside x. */
cornu_status layer_emit_array(step_builder *b, const number_array *a, tensor_ref x, tensor_ref *y);
/* size x factor where both are sizes of a dimension; else 0, which is no size. */
int64_t layer_enlarged(int64_t size, int64_t factor);
/* Declare a weight. */
void layer_weight(layer_call *call, const char *name, shape s, initializer start, bool trainable);
/* The same, of a weight that plans see in another shape: as an operand beside the layer's input, or
   as an image's kernel. */
void layer_weight_seen_as(layer_call *call, const char *name, shape s, shape seen_as,
                          initializer start, bool trainable);
/* The same as an operand beside a tensor of this rank: with 1 for the dimensions that it lacks. */
void layer_weight_beside(layer_call *call, const char *name, shape s, int rank, initializer start);
/* The penalty on what each call of the layer gives; NULL: there is none. */
const regularizer *layer_activity(const layer *l);
/* Append the activation, unless it is linear. */
cornu_status layer_emit_activation(step_builder *b, tensor_ref x, activation a, tensor_ref *y);
/* y = max(x, number), and y = min(x, number). */
cornu_status layer_emit_at_least(step_builder *b, tensor_ref x, double number, tensor_ref *y);
cornu_status layer_emit_at_most(step_builder *b, tensor_ref x, double number, tensor_ref *y);
/* 1 where x compares so with the number, and 0. */
cornu_status layer_emit_compared(step_builder *b, binary_kind kind, tensor_ref x, double number,
                                 tensor_ref *y);
/* x where it is greater than the number, and elsewhere 0. */
cornu_status layer_emit_above(step_builder *b, tensor_ref x, double number, tensor_ref *y);
/* Fail unless the input has the rank that the kind takes. */
cornu_status layer_check_rank(const layer_kind *kind, const layer_call *call);
/* Declare a call of an inner layer on an input: its weights come behind those of `call`. */
cornu_status layer_declare_inner(layer *inner, layer_call *call, const shape *in, shape *out);
/* The verbs describe the inner layer from now on, until emit_leave; *f says the rest of it. */
void layer_enter(step_builder *b, const layer *inner, emit_frame *f);
/* The rows and columns of an image that become the whole of another; and the largest of the aspect
   ratio of `size`, in the middle. */
typedef struct image_window {
    int64_t begin[2], size[2];
} image_window;
image_window layer_window_of_aspect(const shape *in, const int64_t size[2]);
/* The window of x, resized to `size` with bilinear interpolation, or the nearest pixels. */
cornu_status layer_emit_window(step_builder *b, tensor_ref x, const image_window *w,
                               const int64_t size[2], bool nearest, tensor_ref *y);
/* A factor's ends, in order: those of a pair, or as far below 0 as above it, but not below
   `least`. */
void layer_range_ends(const real_range *r, double least, double ends[2]);
/* Draw the number within a factor's ends, plus `offset`, times `scale`. */
void layer_draw_factor(drawing *d, int number, const real_range *factor, double least,
                       double offset, double scale);
/* `declare` of layers that do not change the shape. */
cornu_status layer_same_shape(layer *l, layer_call *call);

/* Numbers in LAYER_PADDINGS. */
enum { LAYER_VALID, LAYER_SAME };
#define LAYER_PADDINGS "valid|same"
/* Numbers in LAYER_INTERPOLATIONS. */
enum { LAYER_BILINEAR, LAYER_NEAREST };
#define LAYER_INTERPOLATIONS "bilinear|nearest"
#define LAYER_SIZE_MAX 1000000000.0
#define LAYER_SIZES .minimum = 1, .maximum = LAYER_SIZE_MAX

/* Keras's modules of operations: of those that NumPy has, of others, and of neural networks. */
#define OPS_NUMPY "keras.src.ops.numpy"
#define OPS_MATH "keras.src.ops.math"
#define OPS_NN "keras.src.ops.nn"

/* The option of an operand that is an array, where it is none of the inputs. */
#define LAYER_ARRAY(config, field) \
    OPTION(ARRAY, config, field, .flags = CONFIG_NULLABLE | CONFIG_ARGUMENT)

/* Keys that Keras writes; only the value without effect is accepted. */
#define OPTION_CHANNELS_LAST OPTION_NEUTRAL("data_format", "\"channels_last\"|null")
#define OPTION_NO_BOXES OPTION_TOLERATED("bounding_box_format", "null")
/* WEIGHT_regularizer and WEIGHT_constraint, which the weight finds by its name;
   activity_regularizer: layer_activity. */
#define OPTION_REGULARIZER(config, field) \
    OPTION(REGULARIZER, config, field, .fallback = "null", .flags = CONFIG_NULLABLE)
#define OPTION_CONSTRAINT(config, field) \
    OPTION(CONSTRAINT, config, field, .fallback = "null", .flags = CONFIG_NULLABLE)
#define OPTIONS_REGULARIZERS(config)                                                              \
    OPTION_REGULARIZER(config, kernel_regularizer), OPTION_REGULARIZER(config, bias_regularizer), \
        OPTION_REGULARIZER(config, activity_regularizer),                                         \
        OPTION_CONSTRAINT(config, kernel_constraint), OPTION_CONSTRAINT(config, bias_constraint)
/* Keras's keys of dense layers; convolutions once had them as well. */
#define OPTIONS_NO_LORA(KIND) \
    KIND("lora_rank", "null"), KIND("lora_alpha", "null"), KIND("quantization_config", "null")

#endif
