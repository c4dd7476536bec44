/* MobileNetV3 (Howard et al., 2019): keras.applications.MobileNetV3Small and MobileNetV3Large. */
#include "model/applications/network.h"
#include <stdio.h>

typedef struct block {
    double times; /* channels within the block for each that it reads */
    int64_t filters, kernel, strides;
    bool excites, swish; /* squeeze and excitation; else relu */
} block;

typedef struct mobilenet_v3 {
    const char *size;
    int64_t last;
    const block *blocks;
    int count;
} mobilenet_v3;

static tensor activated(network *n, tensor x, bool swish)
{
    return swish && !n->o.minimalistic ? net_activate(n, x, "hard_silu", NULL)
                                       : net_relu(n, x, 0, NULL);
}

static tensor hard_sigmoid(network *n, tensor x)
{
    x = net_with_number(n, x, "Add", 3);
    return net_with_number(n, net_relu(n, x, 6, NULL), "Multiply", 1.0 / 6);
}

static tensor squeeze_excite(network *n, tensor x)
{
    tensor y = net_global_pool(n, x, false, true, "squeeze_excite_avg_pool");
    y = CONV(n, y, "squeeze_excite_conv", net_divisible((double)x.channels / 4), 1, .bias = true);
    y = net_relu(n, y, 0, "squeeze_excite_relu");
    y = CONV(n, y, "squeeze_excite_conv_1", x.channels, 1, .bias = true);
    return net_multiply(n, x, hard_sigmoid(n, y), "squeeze_excite_mul");
}

static tensor inverted_block(network *n, tensor x, const block *b, bool first)
{
    const tensor in = x;
    const int64_t filters = net_divisible((double)b->filters * n->o.alpha);
    const int64_t kernel = n->o.minimalistic ? 3 : b->kernel;
    if (!first) {
        x = CONV(n, x, "expand", net_divisible((double)x.channels * b->times), 1);
        x = activated(n, net_batch_norm(n, x, "expand_bn"), b->swish);
    }
    if (b->strides > 1)
        x = net_pad_for_strides(n, x, kernel, "depthwise_pad");
    x = DEPTHWISE(n, x, "depthwise", 1, kernel, .strides = b->strides, .valid = b->strides > 1);
    x = activated(n, net_batch_norm(n, x, "depthwise_bn"), b->swish);
    if (b->excites && !n->o.minimalistic)
        x = squeeze_excite(n, x);
    x = net_batch_norm(n, CONV(n, x, "project", filters, 1), "project_bn");
    return b->strides == 1 && in.channels == filters ? net_add(n, in, x, "add") : x;
}

static tensor classify(network *n, tensor x)
{
    const mobilenet_v3 *v = n->of->variant;
    const double alpha = n->o.alpha;
    x = net_global_pool(n, x, false, true, NULL);
    x = CONV(n, x, "conv_2", alpha > 1 ? net_divisible((double)v->last * alpha) : v->last, 1,
             .bias = true);
    x = activated(n, x, true);
    if (n->o.dropout_rate > 0)
        x = net_dropout(n, x, n->o.dropout_rate, false, NULL);
    x = CONV(n, x, "logits", n->o.classes, 1, .bias = true);
    return net_classifier_activation(n, net_flatten(n, x, NULL), "predictions");
}

static void describe(network *n)
{
    const mobilenet_v3 *v = n->of->variant;
    const double alpha = n->o.alpha;
    const bool is_1 = alpha > 0.99 && alpha<1.01, is_75 = alpha> 0.749 && alpha < 0.751;
    if (n->o.weights == WEIGHTS_IMAGENET && !is_1 && (n->o.minimalistic || !is_75))
        net_refuse(n, "alpha", "found %g; expected %s with weights \"imagenet\"", alpha,
                   n->o.minimalistic ? "1 where minimalistic is true" : "0.75 or 1");
    snprintf(n->weights, sizeof n->weights, "mobilenet_v3/weights_mobilenet_v3_%s%s_224_%s_float",
             v->size, n->o.minimalistic ? "_minimalistic" : "",
             is_1 ? "1.0" : net_name(n, "%g", alpha));
    net_set_norm(n, -1, 0.999, 1e-3);
    tensor x = net_input(n);
    if (n->o.include_preprocessing)
        x = net_rescaling(n, x, "0.00784313725490196", "-1.0", NULL);
    x = CONV(n, x, "conv", 16, 3, .strides = 2);
    x = activated(n, net_batch_norm(n, x, "conv_bn"), true);
    for (int i = 0; i < v->count; i++) {
        net_prefix(n, "expanded_conv_%s%s", i ? net_name(n, "%d", i) : "", i ? "_" : "");
        x = inverted_block(n, x, &v->blocks[i], i == 0);
    }
    net_prefix(n, "%s", "");
    x = CONV(n, x, "conv_1", net_divisible((double)x.channels * 6), 1);
    x = activated(n, net_batch_norm(n, x, "conv_1_bn"), true);
    net_output(n,
               n->o.include_top ? classify(n, x) : net_pool_features(n, x, "avg_pool", "max_pool"));
}

static const block small[] = {{1, 16, 3, 2, true, false},
                              {72.0 / 16, 24, 3, 2, false, false},
                              {88.0 / 24, 24, 3, 1, false, false},
                              {4, 40, 5, 2, true, true},
                              {6, 40, 5, 1, true, true},
                              {6, 40, 5, 1, true, true},
                              {3, 48, 5, 1, true, true},
                              {3, 48, 5, 1, true, true},
                              {6, 96, 5, 2, true, true},
                              {6, 96, 5, 1, true, true},
                              {6, 96, 5, 1, true, true}};

static const block large[] = {
    {1, 16, 3, 1, false, false},  {4, 24, 3, 2, false, false},  {3, 24, 3, 1, false, false},
    {3, 40, 5, 2, true, false},   {3, 40, 5, 1, true, false},   {3, 40, 5, 1, true, false},
    {6, 80, 3, 2, false, true},   {2.5, 80, 3, 1, false, true}, {2.3, 80, 3, 1, false, true},
    {2.3, 80, 3, 1, false, true}, {6, 112, 3, 1, true, true},   {6, 112, 3, 1, true, true},
    {6, 160, 5, 2, true, true},   {6, 160, 5, 1, true, true},   {6, 160, 5, 1, true, true}};

static const config_field fields[] = {
    OPTION_INPUT_SHAPE,
    OPTION_ALPHA,
    OPTION(BOOL, application_options, minimalistic, .fallback = "false"),
    OPTION_INCLUDE_TOP,
    OPTION_WEIGHTS,
    OPTION_CLASSES,
    OPTION_POOLING,
    OPTION(REAL, application_options, dropout_rate, .fallback = "0.2", .minimum = 0, .maximum = 1,
           .flags = CONFIG_BELOW),
    OPTION_CLASSIFIER_ACTIVATION,
    OPTION_INCLUDE_PREPROCESSING,
    OPTION_NAME,
    OPTIONS_END,
};

#define V3(id, title, of_blocks, end)                                                       \
    {                                                                                       \
        .name = "mobilenet-v3-" id, .keras = "MobileNetV3" title, .module = "mobilenet_v3", \
        .model_name = "MobileNetV3" title, .preprocessing = "none", .no_top = "_no_top_v2", \
        .size = 224, .minimum = 32, .open = true, .fields = fields, .describe = describe,   \
        .variant = &(const mobilenet_v3)                                                    \
        {                                                                                   \
            id, end, of_blocks, sizeof of_blocks / sizeof *of_blocks                        \
        }                                                                                   \
    }

const application applications_mobilenet_v3[] = {
    V3("small", "Small", small, 1024),
    V3("large", "Large", large, 1280),
    {.name = NULL},
};
