/* keras.layers.convolutional: one and two dimensions are the same, as a signal, (steps, channels),
   is an image of height 1. */
#include "model/layers/layers.h"

/* The options of all these layers; each class has some of them. Those of one dimension stand at
   [1], and 0 at [0] means 1. */
typedef struct conv_config {
    int64_t filters, kernel_size[2], strides[2], dilation_rate[2], groups, depth_multiplier;
    int64_t output_padding[2]; /* -1: null */
    int padding;
    activation activation;
    bool use_bias;
    initializer kernel_initializer, depthwise_initializer, pointwise_initializer, bias_initializer;
    regularizer kernel_regularizer, depthwise_regularizer, pointwise_regularizer, bias_regularizer;
    regularizer activity_regularizer;
    constraint kernel_constraint, depthwise_constraint, pointwise_constraint, bias_constraint;
} conv_config;

#define OPTION_FILTERS OPTION(INT, conv_config, filters, LAYER_SIZES, .flags = CONFIG_REQUIRED)
#define OPTION_GROUPS OPTION(INT, conv_config, groups, LAYER_SIZES, .fallback = "1")
#define OPTION_MULTIPLIER OPTION(INT, conv_config, depth_multiplier, LAYER_SIZES, .fallback = "1")
#define OPTION_KERNEL_START \
    OPTION(INITIALIZER, conv_config, kernel_initializer, .fallback = "glorot_uniform")
#define OPTION_DEPTHWISE_START \
    OPTION(INITIALIZER, conv_config, depthwise_initializer, .fallback = "glorot_uniform")
#define OPTION_POINTWISE_START \
    OPTION(INITIALIZER, conv_config, pointwise_initializer, .fallback = "glorot_uniform")
/* Two dimensions. */
#define OPTION_KERNEL2D \
    OPTION(PAIR, conv_config, kernel_size, LAYER_SIZES, .flags = CONFIG_REQUIRED)
#define OPTION_STRIDES2D OPTION(PAIR, conv_config, strides, LAYER_SIZES, .fallback = "1")
#define OPTION_DILATION2D OPTION(PAIR, conv_config, dilation_rate, LAYER_SIZES, .fallback = "1")
#define OPTION_OUTPUT_PADDING2D                                                              \
    OPTION(PAIR, conv_config, output_padding, .maximum = LAYER_SIZE_MAX, .fallback = "null", \
           .flags = CONFIG_NULLABLE, .none = -1)
/* One. */
#define OPTION_KERNEL1D                                                        \
    OPTION_AS("kernel_size", SINGLE, conv_config, kernel_size[1], LAYER_SIZES, \
              .flags = CONFIG_REQUIRED)
#define OPTION_STRIDES1D \
    OPTION_AS("strides", SINGLE, conv_config, strides[1], LAYER_SIZES, .fallback = "1")
#define OPTION_DILATION1D \
    OPTION_AS("dilation_rate", SINGLE, conv_config, dilation_rate[1], LAYER_SIZES, .fallback = "1")
#define OPTION_OUTPUT_PADDING1D                                                                    \
    OPTION_AS("output_padding", SINGLE, conv_config, output_padding[1], .maximum = LAYER_SIZE_MAX, \
              .fallback = "null", .flags = CONFIG_NULLABLE, .none = -1)

/* Keys of tf.keras 2, whose classes had those of Conv2D. */
#define OPTION_NO_GROUPS OPTION_TOLERATED("groups", "1")
#define OPTIONS_NO_KERNEL                                                         \
    {.key = "kernel_initializer", .type = CONFIG_IGNORED, .flags = CONFIG_ALIAS}, \
        OPTION_TOLERATED("kernel_regularizer", "null"),                           \
        OPTION_TOLERATED("kernel_constraint", "null")

#define OPTION_PADDING(names) \
    OPTION(CHOICE, conv_config, padding, .choices = (names), .fallback = "valid")
#define OPTIONS_ACTIVATION_BIAS                                      \
    OPTION(ACTIVATION, conv_config, activation, .fallback = "null"), \
        OPTION(BOOL, conv_config, use_bias, .fallback = "true")
#define OPTION_BIAS_START OPTION(INITIALIZER, conv_config, bias_initializer, .fallback = "zeros")
enum { CAUSAL = LAYER_SAME + 1 };

/* ---- windows and shapes ------------------------------------------------------------------ */

static int64_t or_one(int64_t value)
{
    return value == 0 ? 1 : value;
}

/* The window over an image of this size. */
static window2d conv_window(const conv_config *c, int64_t groups, const int64_t size[2])
{
    window2d w = {.groups = groups};
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = or_one(c->kernel_size[i]);
        w.stride[i] = or_one(c->strides[i]);
        w.dilation[i] = or_one(c->dilation_rate[i]);
    }
    window_pad(&w, c->padding == LAYER_SAME, size[0], size[1]);
    if (c->padding == CAUSAL)
        w.before[1] = w.dilation[1] * (w.kernel[1] - 1);
    return w;
}

static cornu_status check_strides(const conv_config *c)
{
    for (int i = 0; i < 4; i++)
        if (c->strides[i % 2] > 1 && c->dilation_rate[i / 2] > 1)
            return status_fail(CORNU_INVALID, "found strides and dilation_rate above 1; expected "
                                              "at most one of them above 1");
    return CORNU_OK;
}

/* Declare the output of a window with these channels. */
static cornu_status declare_output(layer_call *call, const window2d *w, int64_t channels)
{
    const shape image = layer_image_of(&call->in[0]);
    TRY(layer_window_shape(call, w, &image, channels));
    call->out = layer_shaped_like(&call->in[0], &call->out);
    return CORNU_OK;
}

/* A kernel, [height][width][a][b] or, of a signal, [width][a][b] in Keras; the plan sees
   [height][width][seen_a][seen_b]. */
static void declare_kernel(layer_call *call, const char *name, const window2d *w, int64_t a,
                           int64_t b, int64_t seen_a, int64_t seen_b, initializer start)
{
    const shape whole = {4, {w->kernel[0], w->kernel[1], a, b}};
    const shape line = {3, {w->kernel[1], a, b}};
    const shape seen = {4, {w->kernel[0], w->kernel[1], seen_a, seen_b}};
    layer_weight_seen_as(call, name, call->in[0].rank == 3 ? whole : line, seen, start, true);
}

static void declare_bias(layer_call *call, const conv_config *c, int64_t channels)
{
    if (c->use_bias)
        layer_weight(call, "bias", (shape){1, {channels}}, c->bias_initializer, true);
}

/* The activation, then the declared shape: so it can be fused into the operation before it. */
static cornu_status activated(step_builder *b, tensor_ref x, activation a, tensor_ref *y)
{
    const shape out = emit_output(b);
    TRY(layer_emit_activation(b, x, a, y));
    return emit_reshape(b, *y, &out, y);
}

/* ---- Conv1D, Conv2D ----------------------------------------------------------------------- */

/* y = act(x * W + b), cross-correlation; x [height][width][in],
   W [kernel height][kernel width][in / groups][filters], b [filters]. */

static cornu_status check_groups(const conv_config *c, int64_t channels)
{
    if (channels % c->groups == 0 && c->filters % c->groups == 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "found %lld groups for %lld input channels and %lld filters; expected a "
                       "divisor of both",
                       (long long)c->groups, (long long)channels, (long long)c->filters);
}

static cornu_status conv_declare(layer *l, layer_call *call)
{
    const conv_config *c = l->config;
    const shape in = layer_image_of(&call->in[0]);
    TRY(check_strides(c));
    TRY(check_groups(c, in.dim[2]));
    const window2d w = conv_window(c, c->groups, in.dim);
    TRY(declare_output(call, &w, c->filters));
    const int64_t channels = in.dim[2] / c->groups;
    declare_kernel(call, "kernel", &w, channels, c->filters, channels, c->filters,
                   c->kernel_initializer);
    declare_bias(call, c, c->filters);
    return CORNU_OK;
}

static cornu_status conv_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const conv_config *c = l->config;
    TRY(layer_as_image(b, x[0], y));
    const shape in = emit_shape(b, *y);
    const window2d w = conv_window(c, c->groups, in.dim);
    TRY(emit_conv2d(b, *y, emit_weight(b, 0), emit_weight(b, 1), &w, y));
    return activated(b, *y, c->activation, y);
}

static const config_field conv1d_fields[] = {
    OPTION_FILTERS,
    OPTION_KERNEL1D,
    OPTION_STRIDES1D,
    OPTION_PADDING("valid|same|causal"),
    OPTION_CHANNELS_LAST,
    OPTION_DILATION1D,
    OPTION_GROUPS,
    OPTIONS_ACTIVATION_BIAS,
    OPTION_KERNEL_START,
    OPTION_BIAS_START,
    OPTIONS_REGULARIZERS(conv_config),
    OPTIONS_NO_LORA(OPTION_TOLERATED),
    OPTIONS_END,
};

static const config_field conv2d_fields[] = {
    OPTION_FILTERS,
    OPTION_KERNEL2D,
    OPTION_STRIDES2D,
    OPTION_PADDING(LAYER_PADDINGS),
    OPTION_CHANNELS_LAST,
    OPTION_DILATION2D,
    OPTION_GROUPS,
    OPTIONS_ACTIVATION_BIAS,
    OPTION_KERNEL_START,
    OPTION_BIAS_START,
    OPTIONS_REGULARIZERS(conv_config),
    OPTIONS_NO_LORA(OPTION_TOLERATED),
    OPTIONS_END,
};

static const char *const conv1d_samples[] = {
    "9,3 | {filters: 4, kernel_size: 3}",
    "10,2 | {filters: 3, kernel_size: 3, padding: same, strides: 2, activation: relu}",
    "11,2 | {filters: 3, kernel_size: 2, padding: causal, dilation_rate: 3, use_bias: false}",
    "8,4 | {filters: 6, kernel_size: 3, groups: 2, padding: causal, strides: 2}",
    NULL,
};

static const char *const conv2d_samples[] = {
    "5,5,1 | {filters: 2, kernel_size: 3}",
    "6,7,3 | {filters: 4, kernel_size: 3, padding: same, activation: relu}",
    "7,5,2 | {filters: 3, kernel_size: [3, 2], strides: 2}",
    "8,9,2 | {filters: 3, kernel_size: 5, strides: [2, 3], padding: same, use_bias: false}",
    "9,8,2 | {filters: 3, kernel_size: 3, dilation_rate: 2}",
    "9,8,2 | {filters: 4, kernel_size: 3, dilation_rate: [2, 3], padding: same}",
    "6,6,4 | {filters: 6, kernel_size: 3, groups: 2, padding: same}",
    "5,6,3 | {filters: 3, kernel_size: 2, groups: 3, strides: 2, padding: same}",
    "4,4,5 | {filters: 7, kernel_size: 1, activation: tanh}",
    "7,7,3 | {filters: 5, kernel_size: [1, 4], padding: same, activation: sigmoid}",
    "10,10,16 | {filters: 17, kernel_size: 3, padding: same, activation: gelu}",
    "3,3,2 | {filters: 4, kernel_size: 3, activation: softmax}",
    NULL,
};

const layer_kind layer_Conv1D = {
    .name = "Conv1D",
    .base_name = "conv1d",
    .config_size = sizeof(conv_config),
    .fields = conv1d_fields,
    .rank = LAYER_SIGNAL,
    .declare = conv_declare,
    .emit = conv_emit,
    .samples = conv1d_samples,
};

const layer_kind layer_Conv2D = {
    .name = "Conv2D",
    .base_name = "conv2d",
    .config_size = sizeof(conv_config),
    .fields = conv2d_fields,
    .rank = LAYER_IMAGE,
    .declare = conv_declare,
    .emit = conv_emit,
    .samples = conv2d_samples,
};

/* ---- DepthwiseConv1D, DepthwiseConv2D ------------------------------------------------------ */

/* Each channel has depth_multiplier filters of its own: W [kernel height][kernel width][in]
   [depth_multiplier], which is the kernel of a convolution with a group for each channel. */

static cornu_status depthwise_declare(layer *l, layer_call *call)
{
    const conv_config *c = l->config;
    const shape in = layer_image_of(&call->in[0]);
    const int64_t channels = in.dim[2];
    const int64_t filters = layer_enlarged(channels, c->depth_multiplier);
    TRY(check_strides(c));
    const window2d w = conv_window(c, channels, in.dim);
    TRY(declare_output(call, &w, filters));
    declare_kernel(call, "kernel", &w, channels, c->depth_multiplier, 1, filters,
                   c->depthwise_initializer);
    call->weights[0].options = "depthwise";
    declare_bias(call, c, filters);
    return CORNU_OK;
}

static cornu_status depthwise_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                   tensor_ref *y)
{
    const conv_config *c = l->config;
    TRY(layer_as_image(b, x[0], y));
    const shape in = emit_shape(b, *y);
    const window2d w = conv_window(c, in.dim[2], in.dim);
    TRY(emit_conv2d(b, *y, emit_weight(b, 0), emit_weight(b, 1), &w, y));
    return activated(b, *y, c->activation, y);
}

#define OPTIONS_DEPTHWISE_REGULARIZERS                         \
    OPTION_REGULARIZER(conv_config, depthwise_regularizer),    \
        OPTION_REGULARIZER(conv_config, bias_regularizer),     \
        OPTION_REGULARIZER(conv_config, activity_regularizer), \
        OPTION_CONSTRAINT(conv_config, depthwise_constraint),  \
        OPTION_CONSTRAINT(conv_config, bias_constraint)

static const config_field depthwise_conv1d_fields[] = {
    OPTION_KERNEL1D,
    OPTION_STRIDES1D,
    OPTION_PADDING(LAYER_PADDINGS),
    OPTION_MULTIPLIER,
    OPTION_CHANNELS_LAST,
    OPTION_DILATION1D,
    OPTIONS_ACTIVATION_BIAS,
    OPTION_DEPTHWISE_START,
    OPTION_BIAS_START,
    OPTIONS_DEPTHWISE_REGULARIZERS,
    OPTION_NO_GROUPS,
    OPTIONS_END,
};

static const config_field depthwise_conv2d_fields[] = {
    OPTION_KERNEL2D,
    OPTION_STRIDES2D,
    OPTION_PADDING(LAYER_PADDINGS),
    OPTION_MULTIPLIER,
    OPTION_CHANNELS_LAST,
    OPTION_DILATION2D,
    OPTIONS_ACTIVATION_BIAS,
    OPTION_DEPTHWISE_START,
    OPTION_BIAS_START,
    OPTIONS_DEPTHWISE_REGULARIZERS,
    OPTION_NO_GROUPS,
    OPTIONS_END,
};

static const char *const depthwise_conv1d_samples[] = {
    "9,3 | {kernel_size: 3}",
    "10,2 | {kernel_size: 4, padding: same, strides: 2, depth_multiplier: 2, activation: relu}",
    NULL,
};

static const char *const depthwise_conv2d_samples[] = {
    "5,6,3 | {kernel_size: 3}",
    "7,6,4 | {kernel_size: [3, 2], strides: 2, padding: same, depth_multiplier: 2}",
    "8,8,2 | {kernel_size: 3, dilation_rate: 2, use_bias: false, activation: tanh}",
    NULL,
};

const layer_kind layer_DepthwiseConv1D = {
    .name = "DepthwiseConv1D",
    .base_name = "depthwise_conv1d",
    .config_size = sizeof(conv_config),
    .fields = depthwise_conv1d_fields,
    .rank = LAYER_SIGNAL,
    .declare = depthwise_declare,
    .emit = depthwise_emit,
    .samples = depthwise_conv1d_samples,
};

const layer_kind layer_DepthwiseConv2D = {
    .name = "DepthwiseConv2D",
    .base_name = "depthwise_conv2d",
    .config_size = sizeof(conv_config),
    .fields = depthwise_conv2d_fields,
    .rank = LAYER_IMAGE,
    .declare = depthwise_declare,
    .emit = depthwise_emit,
    .samples = depthwise_conv2d_samples,
};

/* ---- SeparableConv1D, SeparableConv2D ------------------------------------------------------ */

/* A depthwise convolution without bias, then one of 1 x 1. */

static const window2d pointwise = {
    .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};

static cornu_status separable_declare(layer *l, layer_call *call)
{
    const conv_config *c = l->config;
    const shape in = layer_image_of(&call->in[0]);
    const int64_t channels = in.dim[2];
    const int64_t between = layer_enlarged(channels, c->depth_multiplier);
    TRY(check_strides(c));
    const window2d w = conv_window(c, channels, in.dim);
    TRY(declare_output(call, &w, c->filters));
    declare_kernel(call, "depthwise_kernel", &w, channels, c->depth_multiplier, 1, between,
                   c->depthwise_initializer);
    declare_kernel(call, "pointwise_kernel", &pointwise, between, c->filters, between, c->filters,
                   c->pointwise_initializer);
    declare_bias(call, c, c->filters);
    return CORNU_OK;
}

static cornu_status separable_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                   tensor_ref *y)
{
    const conv_config *c = l->config;
    TRY(layer_as_image(b, x[0], y));
    const shape in = emit_shape(b, *y);
    const window2d w = conv_window(c, in.dim[2], in.dim);
    TRY(emit_conv2d(b, *y, emit_weight(b, 0), NO_TENSOR, &w, y));
    TRY(emit_conv2d(b, *y, emit_weight(b, 1), emit_weight(b, 2), &pointwise, y));
    return activated(b, *y, c->activation, y);
}

#define OPTIONS_SEPARABLE_REGULARIZERS                          \
    OPTION_REGULARIZER(conv_config, depthwise_regularizer),     \
        OPTION_REGULARIZER(conv_config, pointwise_regularizer), \
        OPTION_REGULARIZER(conv_config, bias_regularizer),      \
        OPTION_REGULARIZER(conv_config, activity_regularizer),  \
        OPTION_CONSTRAINT(conv_config, depthwise_constraint),   \
        OPTION_CONSTRAINT(conv_config, pointwise_constraint),   \
        OPTION_CONSTRAINT(conv_config, bias_constraint)

static const config_field separable_conv1d_fields[] = {
    OPTION_FILTERS,
    OPTION_KERNEL1D,
    OPTION_STRIDES1D,
    OPTION_PADDING(LAYER_PADDINGS),
    OPTION_CHANNELS_LAST,
    OPTION_DILATION1D,
    OPTION_MULTIPLIER,
    OPTIONS_ACTIVATION_BIAS,
    OPTION_DEPTHWISE_START,
    OPTION_POINTWISE_START,
    OPTION_BIAS_START,
    OPTIONS_SEPARABLE_REGULARIZERS,
    OPTIONS_NO_KERNEL,
    OPTION_NO_GROUPS,
    OPTIONS_END,
};

static const config_field separable_conv2d_fields[] = {
    OPTION_FILTERS,
    OPTION_KERNEL2D,
    OPTION_STRIDES2D,
    OPTION_PADDING(LAYER_PADDINGS),
    OPTION_CHANNELS_LAST,
    OPTION_DILATION2D,
    OPTION_MULTIPLIER,
    OPTIONS_ACTIVATION_BIAS,
    OPTION_DEPTHWISE_START,
    OPTION_POINTWISE_START,
    OPTION_BIAS_START,
    OPTIONS_SEPARABLE_REGULARIZERS,
    OPTIONS_NO_KERNEL,
    OPTION_NO_GROUPS,
    OPTIONS_END,
};

static const char *const separable_conv1d_samples[] = {
    "9,3 | {filters: 4, kernel_size: 3}",
    "10,2 | {filters: 3, kernel_size: 4, padding: same, strides: 2, depth_multiplier: 2}",
    NULL,
};

static const char *const separable_conv2d_samples[] = {
    "5,6,3 | {filters: 4, kernel_size: 3, activation: tanh}",
    "7,6,4 | {filters: 3, kernel_size: [3, 2], strides: 2, padding: same, depth_multiplier: 2}",
    "8,8,2 | {filters: 5, kernel_size: 3, dilation_rate: 2, use_bias: false}",
    NULL,
};

const layer_kind layer_SeparableConv1D = {
    .name = "SeparableConv1D",
    .base_name = "separable_conv1d",
    .config_size = sizeof(conv_config),
    .fields = separable_conv1d_fields,
    .rank = LAYER_SIGNAL,
    .declare = separable_declare,
    .emit = separable_emit,
    .samples = separable_conv1d_samples,
};

const layer_kind layer_SeparableConv2D = {
    .name = "SeparableConv2D",
    .base_name = "separable_conv2d",
    .config_size = sizeof(conv_config),
    .fields = separable_conv2d_fields,
    .rank = LAYER_IMAGE,
    .declare = separable_declare,
    .emit = separable_emit,
    .samples = separable_conv2d_samples,
};

/* ---- Conv1DTranspose, Conv2DTranspose ------------------------------------------------------ */

/* The gradient of a convolution with respect to its input, as a layer: x is in the place of that
   convolution's output, W is [kernel height][kernel width][filters][in]. */

/* The output's size, as Keras computes it for TensorFlow. */
static int64_t transposed_size(const conv_config *c, int i, int64_t in)
{
    if (in > (int64_t)LAYER_SIZE_MAX)
        return 0;
    const int64_t stride = or_one(c->strides[i]);
    const int64_t extent = or_one(c->dilation_rate[i]) * (or_one(c->kernel_size[i]) - 1) + 1;
    const bool given = c->output_padding[1] >= 0;
    if (c->padding == LAYER_SAME)
        return given ? (in - 1) * stride + extent % 2 + c->output_padding[i] : in * stride;
    const int64_t gap = stride > extent ? stride - extent : 0;
    return (in - 1) * stride + extent + (given ? c->output_padding[i] : gap);
}

/* The window over the output, which leads from it to the input. */
static window2d transposed_window(const conv_config *c, const shape *in, int64_t size[2])
{
    for (int i = 0; i < 2; i++)
        size[i] = transposed_size(c, i, in->dim[i]);
    return conv_window(c, 1, size);
}

static cornu_status transpose_declare(layer *l, layer_call *call)
{
    const conv_config *c = l->config;
    const shape in = layer_image_of(&call->in[0]);
    int64_t size[2];
    TRY(check_strides(c));
    for (int i = 0; i < 2; i++)
        if (c->output_padding[1] >= 0 && c->output_padding[i] >= or_one(c->strides[i]))
            return status_fail(CORNU_INVALID,
                               "found output_padding %lld for strides of %lld; expected less",
                               (long long)c->output_padding[i], (long long)or_one(c->strides[i]));
    const window2d w = transposed_window(c, &in, size);
    for (int i = 0; i < 2; i++)
        if (size[i] < 1 || window_output(&w, i, size[i]) != in.dim[i])
            return status_fail(CORNU_INVALID,
                               "found an output of %lld for an input of %lld, which a "
                               "convolution would not make of it; expected another output_padding",
                               (long long)size[i], (long long)in.dim[i]);
    const shape out = {3, {size[0], size[1], c->filters}};
    call->out = layer_shaped_like(&call->in[0], &out);
    declare_kernel(call, "kernel", &w, c->filters, in.dim[2], c->filters, in.dim[2],
                   c->kernel_initializer);
    if (c->use_bias)
        layer_weight_beside(call, "bias", (shape){1, {c->filters}}, LAYER_IMAGE,
                            c->bias_initializer);
    return CORNU_OK;
}

static cornu_status transpose_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                   tensor_ref *y)
{
    const conv_config *c = l->config;
    TRY(layer_as_image(b, x[0], y));
    const shape in = emit_shape(b, *y);
    int64_t size[2];
    const window2d w = transposed_window(c, &in, size);
    TRY(emit_conv2d_transpose(b, *y, emit_weight(b, 0), size, &w, y));
    if (c->use_bias)
        TRY(emit_binary(b, BINARY_ADD, *y, emit_weight(b, 1), y));
    return activated(b, *y, c->activation, y);
}

static const config_field conv1d_transpose_fields[] = {
    OPTION_FILTERS,
    OPTION_KERNEL1D,
    OPTION_STRIDES1D,
    OPTION_PADDING(LAYER_PADDINGS),
    OPTION_OUTPUT_PADDING1D,
    OPTION_CHANNELS_LAST,
    OPTION_DILATION1D,
    OPTIONS_ACTIVATION_BIAS,
    OPTION_KERNEL_START,
    OPTION_BIAS_START,
    OPTIONS_REGULARIZERS(conv_config),
    OPTION_NO_GROUPS,
    OPTIONS_END,
};

static const config_field conv2d_transpose_fields[] = {
    OPTION_FILTERS,
    OPTION_KERNEL2D,
    OPTION_STRIDES2D,
    OPTION_PADDING(LAYER_PADDINGS),
    OPTION_OUTPUT_PADDING2D,
    OPTION_CHANNELS_LAST,
    OPTION_DILATION2D,
    OPTIONS_ACTIVATION_BIAS,
    OPTION_KERNEL_START,
    OPTION_BIAS_START,
    OPTIONS_REGULARIZERS(conv_config),
    OPTION_NO_GROUPS,
    OPTIONS_END,
};

static const char *const conv1d_transpose_samples[] = {
    "5,3 | {filters: 4, kernel_size: 3, strides: 2}",
    "6,2 | {filters: 3, kernel_size: 4, padding: same, strides: 3, activation: relu}",
    "6,2 | {filters: 3, kernel_size: 3, dilation_rate: 2, use_bias: false}",
    NULL,
};

static const char *const conv2d_transpose_samples[] = {
    "4,5,3 | {filters: 4, kernel_size: 3}",
    "3,4,2 | {filters: 3, kernel_size: 3, strides: 2, padding: same, activation: relu}",
    "4,3,2 | {filters: 3, kernel_size: 3, strides: 2, padding: same, output_padding: 0}",
    "3,3,2 | {filters: 2, kernel_size: [1, 2], strides: [2, 3], use_bias: false}",
    "4,4,3 | {filters: 2, kernel_size: 3, dilation_rate: 2, padding: same, activation: tanh}",
    NULL,
};

const layer_kind layer_Conv1DTranspose = {
    .name = "Conv1DTranspose",
    .base_name = "conv1d_transpose",
    .config_size = sizeof(conv_config),
    .fields = conv1d_transpose_fields,
    .rank = LAYER_SIGNAL,
    .declare = transpose_declare,
    .emit = transpose_emit,
    .samples = conv1d_transpose_samples,
};

const layer_kind layer_Conv2DTranspose = {
    .name = "Conv2DTranspose",
    .base_name = "conv2d_transpose",
    .config_size = sizeof(conv_config),
    .fields = conv2d_transpose_fields,
    .rank = LAYER_IMAGE,
    .declare = transpose_declare,
    .emit = transpose_emit,
    .samples = conv2d_transpose_samples,
};
