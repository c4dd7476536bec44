/* MobileNet (Howard et al., 2017) and MobileNetV2 (Sandler et al., 2018):
   keras.applications.mobilenet and mobilenet_v2. */
#include "model/applications/network.h"
#include <stdio.h>

enum { RELU6 = 6 };

/* The side of the images that the weights were trained with: the network's, or the usual. */
static long long rows_of_weights(const network *n)
{
    const shape *s = &n->o.input_shape;
    for (const int64_t *size = n->of->sizes; *size; size++)
        if (s->dim[0] == *size && s->dim[1] == *size)
            return *size;
    return n->of->size;
}

/* "mobilenet_1.00_224" */
static void name_model(network *n, const char *stem)
{
    const long long rows = n->o.input_shape.dim[0];
    const char *side = rows > 0 ? net_name(n, "%lld", rows) : "None";
    snprintf(n->model_name, sizeof n->model_name, "%.24s_%.2f_%.16s", stem, n->o.alpha, side);
}

/* ImageNet's weights are there only for some widths: alphas[], 0-ended. */
static void check_alpha(network *n, const double *alphas, const char *expected)
{
    bool found = n->o.weights != WEIGHTS_IMAGENET;
    for (; *alphas > 0; alphas++)
        found |= n->o.alpha > *alphas - 1e-9 && n->o.alpha < *alphas + 1e-9;
    if (!found)
        net_refuse(n, "alpha", "found %g; expected %s with weights \"imagenet\"", n->o.alpha,
                   expected);
}

static tensor norm_relu6(network *n, tensor x, const char *norm, const char *name)
{
    return net_relu(n, net_batch_norm(n, x, norm), RELU6, name);
}

/* ---- MobileNet -------------------------------------------------------------------------- */

static int64_t narrowed(const network *n, int64_t filters)
{
    return (int64_t)((double)filters * n->o.alpha);
}

/* A convolution of each channel, then one of all channels of each pixel. */
static tensor separable_block(network *n, tensor x, int64_t filters, int64_t strides, int number)
{
    if (strides > 1)
        x = net_zero_pad(n, x, 0, 1, net_name(n, "conv_pad_%d", number));
    x = DEPTHWISE(n, x, net_name(n, "conv_dw_%d", number), n->o.depth_multiplier, 3,
                  .strides = strides, .valid = strides > 1);
    x = norm_relu6(n, x, net_name(n, "conv_dw_%d_bn", number),
                   net_name(n, "conv_dw_%d_relu", number));
    x = CONV(n, x, net_name(n, "conv_pw_%d", number), narrowed(n, filters), 1);
    return norm_relu6(n, x, net_name(n, "conv_pw_%d_bn", number),
                      net_name(n, "conv_pw_%d_relu", number));
}

static tensor classify_mobilenet(network *n, tensor x)
{
    x = net_global_pool(n, x, false, true, NULL);
    x = net_dropout(n, x, n->o.dropout_rate, false, "dropout");
    x = CONV(n, x, "conv_preds", n->o.classes, 1, .bias = true);
    x = net_reshape(n, x, 0, 0, n->o.classes, "reshape_2");
    return net_classifier_activation(n, x, "predictions");
}

static void describe_mobilenet(network *n)
{
    static const double alphas[] = {0.25, 0.5, 0.75, 1, 0};
    static const struct {
        int64_t filters, strides;
    } blocks[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                  {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    check_alpha(n, alphas, "0.25, 0.5, 0.75 or 1");
    if (n->o.weights == WEIGHTS_IMAGENET && n->o.depth_multiplier != 1)
        net_refuse(n, "depth_multiplier", "found %lld; expected 1 with weights \"imagenet\"",
                   (long long)n->o.depth_multiplier);
    name_model(n, "mobilenet");
    snprintf(n->weights, sizeof n->weights, "mobilenet/mobilenet_%s_%lld_tf",
             n->o.alpha > 0.9   ? "1_0"
             : n->o.alpha > 0.6 ? "7_5"
             : n->o.alpha > 0.3 ? "5_0"
                                : "2_5",
             rows_of_weights(n));
    net_set_norm(n, -1, 0.99, 1e-3);
    tensor x = CONV(n, net_input(n), "conv1", narrowed(n, 32), 3, .strides = 2);
    x = norm_relu6(n, x, "conv1_bn", "conv1_relu");
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        x = separable_block(n, x, blocks[i].filters, blocks[i].strides, (int)i + 1);
    net_output(n,
               n->o.include_top ? classify_mobilenet(n, x) : net_pool_features(n, x, NULL, NULL));
}

/* ---- MobileNetV2 ------------------------------------------------------------------------ */

/* Expansion, a convolution of each channel, projection. */
static tensor inverted_block(network *n, tensor x, int64_t filters, int64_t strides, int64_t times)
{
    const tensor in = x;
    if (times > 1) {
        x = CONV(n, x, "expand", times * x.channels, 1);
        x = norm_relu6(n, x, "expand_BN", "expand_relu");
    }
    if (strides > 1)
        x = net_pad_for_strides(n, x, 3, "pad");
    x = DEPTHWISE(n, x, "depthwise", 1, 3, .strides = strides, .valid = strides > 1);
    x = norm_relu6(n, x, "depthwise_BN", "depthwise_relu");
    x = CONV(n, x, "project", filters, 1);
    x = net_batch_norm(n, x, "project_BN");
    return in.channels == filters && strides == 1 ? net_add(n, in, x, "add") : x;
}

static void describe_mobilenet_v2(network *n)
{
    static const double alphas[] = {0.35, 0.5, 0.75, 1, 1.3, 1.4, 0};
    static const struct {
        int64_t times, filters;
        int repeats;
        int64_t strides;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    const double alpha = n->o.alpha;
    check_alpha(n, alphas, "0.35, 0.5, 0.75, 1, 1.3 or 1.4");
    name_model(n, "mobilenetv2");
    snprintf(n->weights, sizeof n->weights, "mobilenet_v2/mobilenet_v2" KERAS_KERNELS "_%s_%lld",
             alpha > 0.99 && alpha < 1.01 ? "1.0" : net_name(n, "%g", alpha), rows_of_weights(n));
    net_set_norm(n, -1, 0.999, 1e-3);
    tensor x = CONV(n, net_input(n), "Conv1", net_divisible(32 * alpha), 3, .strides = 2);
    x = norm_relu6(n, x, "bn_Conv1", "Conv1_relu");
    int block = 0;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        for (int j = 0; j < stages[i].repeats; j++, block++) {
            if (block)
                net_prefix(n, "block_%d_", block);
            else
                net_prefix(n, "expanded_conv_");
            x = inverted_block(n, x, net_divisible((double)stages[i].filters * alpha),
                               j == 0 ? stages[i].strides : 1, stages[i].times);
        }
    net_prefix(n, "%s", "");
    x = CONV(n, x, "Conv_1", alpha > 1 ? net_divisible(1280 * alpha) : 1280, 1, .valid = true);
    x = norm_relu6(n, x, "Conv_1_bn", "out_relu");
    net_output(n, n->o.include_top
                      ? net_predictions(n, net_global_pool(n, x, false, false, NULL), NULL, NULL)
                      : net_pool_features(n, x, NULL, NULL));
}

/* ---- the rows --------------------------------------------------------------------------- */

static const config_field mobilenet_fields[] = {
    OPTION_INPUT_SHAPE,
    OPTION_ALPHA,
    OPTION(INT, application_options, depth_multiplier, .fallback = "1", .minimum = 1,
           .maximum = 1000),
    OPTION_AS("dropout", REAL, application_options, dropout_rate, .fallback = "0.001", .minimum = 0,
              .maximum = 1, .flags = CONFIG_BELOW),
    OPTION_INCLUDE_TOP,
    OPTION_WEIGHTS,
    OPTION_POOLING,
    OPTION_CLASSES,
    OPTION_CLASSIFIER_ACTIVATION,
    OPTION_NAME,
    OPTIONS_END,
};

static const config_field mobilenet_v2_fields[] = {
    OPTION_INPUT_SHAPE, OPTION_ALPHA,   OPTION_INCLUDE_TOP,           OPTION_WEIGHTS,
    OPTION_POOLING,     OPTION_CLASSES, OPTION_CLASSIFIER_ACTIVATION, OPTION_NAME,
    OPTIONS_END,
};

const application applications_mobilenet[] = {
    {.name = "mobilenet",
     .keras = "MobileNet",
     .module = "mobilenet",
     .preprocessing = "tf",
     .no_top = "_no_top",
     .size = 224,
     .minimum = 32,
     .sizes = (const int64_t[]){192, 160, 128, 0},
     .fields = mobilenet_fields,
     .describe = describe_mobilenet},
    {.name = "mobilenet-v2",
     .keras = "MobileNetV2",
     .module = "mobilenet_v2",
     .preprocessing = "tf",
     .no_top = "_no_top",
     .size = 224,
     .minimum = 32,
     .sizes = (const int64_t[]){192, 160, 128, 96, 0},
     .fields = mobilenet_v2_fields,
     .describe = describe_mobilenet_v2},
    {.name = NULL},
};
