/* keras.layers.convolutional */
#include "model/layers/layers.h"

/* Conv2D: y = act(x * W + b), cross-correlation; x [height][width][in],
   W [kernel height][kernel width][in / groups][filters], b [filters]. */
typedef struct conv2d_config {
    int64_t filters, kernel_size[2], strides[2], dilation_rate[2], groups;
    int padding;
    activation activation;
    bool use_bias;
    initializer kernel_initializer, bias_initializer;
} conv2d_config;

static const config_field conv2d_fields[] = {
    OPTION(INT, conv2d_config, filters, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(PAIR, conv2d_config, kernel_size, LAYER_SIZES, .flags = CONFIG_REQUIRED),
    OPTION(PAIR, conv2d_config, strides, LAYER_SIZES, .fallback = "1"),
    OPTION(CHOICE, conv2d_config, padding, .choices = LAYER_PADDINGS, .fallback = "valid"),
    OPTION_CHANNELS_LAST,
    OPTION(PAIR, conv2d_config, dilation_rate, LAYER_SIZES, .fallback = "1"),
    OPTION(INT, conv2d_config, groups, LAYER_SIZES, .fallback = "1"),
    OPTION(ACTIVATION, conv2d_config, activation, .fallback = "null"),
    OPTION(BOOL, conv2d_config, use_bias, .fallback = "true"),
    OPTION(INITIALIZER, conv2d_config, kernel_initializer, .fallback = "glorot_uniform"),
    OPTION(INITIALIZER, conv2d_config, bias_initializer, .fallback = "zeros"),
    OPTIONS_NO_REGULARIZERS,
    OPTIONS_NO_LORA(OPTION_TOLERATED),
    OPTIONS_END,
};

static window2d conv2d_window(const layer *l, const shape *in)
{
    const conv2d_config *c = l->config;
    window2d w = {.groups = c->groups};
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = c->kernel_size[i];
        w.stride[i] = c->strides[i];
        w.dilation[i] = c->dilation_rate[i];
    }
    window_pad(&w, c->padding == LAYER_SAME, in->dim[0], in->dim[1]);
    return w;
}

static cornu_status conv2d_check(const layer *l, const shape *in)
{
    const conv2d_config *c = l->config;
    if ((c->strides[0] > 1 || c->strides[1] > 1) &&
        (c->dilation_rate[0] > 1 || c->dilation_rate[1] > 1))
        return status_fail(CORNU_INVALID, "found strides and dilation_rate above 1; expected at "
                                          "most one of them above 1");
    if (in->dim[2] % c->groups != 0 || c->filters % c->groups != 0)
        return status_fail(CORNU_INVALID,
                           "found %lld groups for %lld input channels and %lld filters; expected "
                           "a divisor of both",
                           (long long)c->groups, (long long)in->dim[2], (long long)c->filters);
    return CORNU_OK;
}

static cornu_status conv2d_declare(layer *l, layer_call *call)
{
    const conv2d_config *c = l->config;
    const shape *in = &call->in[0];
    TRY(layer_wants_image(call));
    TRY(conv2d_check(l, in));
    window2d w = conv2d_window(l, in);
    TRY(layer_window_shape(call, &w, c->filters));
    shape kernel = {4, {w.kernel[0], w.kernel[1], in->dim[2] / c->groups, c->filters}};
    layer_weight(call, "kernel", kernel, c->kernel_initializer, true);
    if (c->use_bias)
        layer_weight(call, "bias", (shape){1, {c->filters}}, c->bias_initializer, true);
    return CORNU_OK;
}

static cornu_status conv2d_emit(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y)
{
    const conv2d_config *c = l->config;
    const shape in = emit_shape(b, x[0]);
    const window2d w = conv2d_window(l, &in);
    tensor_ref bias = c->use_bias ? emit_weight(b, 1) : NO_TENSOR, z;
    TRY(emit_conv2d(b, x[0], emit_weight(b, 0), bias, &w, &z));
    return layer_emit_activation(b, z, c->activation, y);
}

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

const layer_kind layer_Conv2D = {
    .name = "Conv2D",
    .base_name = "conv2d",
    .config_size = sizeof(conv2d_config),
    .fields = conv2d_fields,
    .declare = conv2d_declare,
    .emit = conv2d_emit,
    .samples = conv2d_samples,
};
