/* ResNet (He et al., 2015), and V2 with activations before convolutions (2016):
   keras.applications.resnet and resnet_v2. */
#include "model/applications/network.h"

typedef struct resnet {
    int blocks[4]; /* of each stage */
} resnet;

static tensor bottleneck(network *n, tensor x, int64_t filters, int64_t strides, bool projects)
{
    tensor shortcut = x;
    if (projects) {
        shortcut =
            CONV(n, x, "0_conv", 4 * filters, 1, .strides = strides, .bias = true, .valid = true);
        shortcut = net_batch_norm(n, shortcut, "0_bn");
    }
    x = CONV(n, x, "1_conv", filters, 1, .strides = strides, .bias = true, .valid = true);
    x = net_norm_activate(n, x, "relu", "1_bn", "1_relu");
    x = CONV(n, x, "2_conv", filters, 3, .bias = true);
    x = net_norm_activate(n, x, "relu", "2_bn", "2_relu");
    x = CONV(n, x, "3_conv", 4 * filters, 1, .bias = true, .valid = true);
    x = net_batch_norm(n, x, "3_bn");
    return net_activate(n, net_add(n, shortcut, x, "add"), "relu", "out");
}

static void set_norm(network *n)
{
    net_set_norm(n, 3, 0.99, 1.001e-5);
}

static void describe(network *n)
{
    const resnet *v = n->of->variant;
    set_norm(n);
    tensor x = net_zero_pad(n, net_input(n), 3, 3, "conv1_pad");
    x = CONV(n, x, "conv1_conv", 64, 7, .strides = 2, .bias = true, .valid = true);
    x = net_norm_activate(n, x, "relu", "conv1_bn", "conv1_relu");
    x = net_zero_pad(n, x, 1, 1, "pool1_pad");
    x = POOL(n, x, "pool1_pool", 3, 2);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < v->blocks[stage]; i++) {
            net_prefix(n, "conv%d_block%d_", stage + 2, i + 1);
            x = bottleneck(n, x, 64 << stage, i == 0 && stage > 0 ? 2 : 1, i == 0);
        }
    net_prefix(n, "%s", "");
    net_output(n, net_classify(n, x, "avg_pool", "max_pool"));
}

static tensor bottleneck_v2(network *n, tensor x, int64_t filters, int64_t strides, bool projects)
{
    tensor y = net_norm_activate(n, x, "relu", "preact_bn", "preact_relu");
    if (projects)
        x = CONV(n, y, "0_conv", 4 * filters, 1, .strides = strides, .bias = true, .valid = true);
    else if (strides > 1)
        x = POOL(n, x, NULL, 1, strides);
    y = CONV(n, y, "1_conv", filters, 1, .valid = true);
    y = net_norm_activate(n, y, "relu", "1_bn", "1_relu");
    y = net_zero_pad(n, y, 1, 1, "2_pad");
    y = CONV(n, y, "2_conv", filters, 3, .strides = strides, .valid = true);
    y = net_norm_activate(n, y, "relu", "2_bn", "2_relu");
    y = CONV(n, y, "3_conv", 4 * filters, 1, .bias = true, .valid = true);
    return net_add(n, x, y, "out");
}

/* A stage's last block has its strides. */
static void describe_v2(network *n)
{
    const resnet *v = n->of->variant;
    set_norm(n);
    tensor x = net_zero_pad(n, net_input(n), 3, 3, "conv1_pad");
    x = CONV(n, x, "conv1_conv", 64, 7, .strides = 2, .bias = true, .valid = true);
    x = net_zero_pad(n, x, 1, 1, "pool1_pad");
    x = POOL(n, x, "pool1_pool", 3, 2);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < v->blocks[stage]; i++) {
            net_prefix(n, "conv%d_block%d_", stage + 2, i + 1);
            x = bottleneck_v2(n, x, 64 << stage, i == v->blocks[stage] - 1 && stage < 3 ? 2 : 1,
                              i == 0);
        }
    net_prefix(n, "%s", "");
    x = net_norm_activate(n, x, "relu", "post_bn", "post_relu");
    net_output(n, net_classify(n, x, "avg_pool", "max_pool"));
}

/* ---- those that Keras has not ----------------------------------------------------------- */

/* With torchvision's paddings and normalizations. */
static tensor basic_block(network *n, tensor x, int64_t filters, int64_t strides)
{
    tensor shortcut = x;
    if (strides > 1 || x.channels != filters) {
        shortcut = CONV(n, x, "0_conv", filters, 1, .strides = strides, .valid = true);
        shortcut = net_batch_norm(n, shortcut, "0_bn");
    }
    if (strides > 1)
        x = net_zero_pad(n, x, 1, 1, "1_pad");
    x = CONV(n, x, "1_conv", filters, 3, .strides = strides, .valid = strides > 1);
    x = net_norm_activate(n, x, "relu", "1_bn", "1_relu");
    x = net_batch_norm(n, CONV(n, x, "2_conv", filters, 3), "2_bn");
    return net_activate(n, net_add(n, shortcut, x, "add"), "relu", "out");
}

static tensor basic_stages(network *n, tensor x, int64_t filters, int first)
{
    const resnet *v = n->of->variant;
    for (int stage = 0; stage < 4 && v->blocks[stage] > 0; stage++)
        for (int i = 0; i < v->blocks[stage]; i++) {
            net_prefix(n, "conv%d_block%d_", stage + first, i + 1);
            x = basic_block(n, x, filters << stage, i == 0 && stage > 0 ? 2 : 1);
        }
    net_prefix(n, "%s", "");
    return x;
}

static void set_basic_norm(network *n)
{
    net_set_norm(n, -1, 0.9, 1e-5);
    n->initializer = "\"he_normal\"";
}

static void describe_basic(network *n)
{
    set_basic_norm(n);
    tensor x = net_zero_pad(n, net_input(n), 3, 3, "conv1_pad");
    x = CONV(n, x, "conv1_conv", 64, 7, .strides = 2, .valid = true);
    x = net_norm_activate(n, x, "relu", "conv1_bn", "conv1_relu");
    x = POOL(n, net_zero_pad(n, x, 1, 1, "pool1_pad"), "pool1_pool", 3, 2);
    net_output(n, net_classify(n, basic_stages(n, x, 64, 2), "avg_pool", "max_pool"));
}

/* For CIFAR's images, as in section 4.2 of the paper, with projections where filters double. */
static void describe_cifar(network *n)
{
    set_basic_norm(n);
    tensor x = CONV(n, net_input(n), "conv1_conv", 16, 3);
    x = net_norm_activate(n, x, "relu", "conv1_bn", "conv1_relu");
    net_output(n, net_classify(n, basic_stages(n, x, 16, 2), "avg_pool", "max_pool"));
}

static const config_field cifar_fields[] = {
    OPTION_INCLUDE_TOP,
    OPTION_WEIGHTS,
    OPTION_INPUT_SHAPE,
    OPTION_POOLING,
    OPTION(INT, application_options, classes, .fallback = "10", .minimum = 1, .maximum = 1e9),
    OPTION_CLASSIFIER_ACTIVATION,
    OPTION_NAME,
    OPTIONS_END,
};

/* ---- the rows --------------------------------------------------------------------------- */

#define BASIC(id, title, own, pixels, side, least, of_fields, function, ...)               \
    {                                                                                      \
        .name = (id), .keras = (title), .model_name = (own), .preprocessing = (pixels),    \
        .size = (side), .minimum = (least), .fields = (of_fields), .describe = (function), \
        .variant = &(const resnet)                                                         \
        {                                                                                  \
            {                                                                              \
                __VA_ARGS__                                                                \
            }                                                                              \
        }                                                                                  \
    }
#define RESNET(id, title, group, own, pixels, function, ...)                                   \
    {                                                                                          \
        .name = (id), .keras = (title), .module = (group), .model_name = (own),                \
        .preprocessing = (pixels), .weights = "resnet/" own KERAS_KERNELS, .no_top = "_notop", \
        .size = 224, .minimum = 32, .fields = application_fields, .describe = (function),      \
        .variant = &(const resnet)                                                             \
        {                                                                                      \
            {                                                                                  \
                __VA_ARGS__                                                                    \
            }                                                                                  \
        }                                                                                      \
    }
#define V1(id, title, own, ...) RESNET(id, title, "resnet", own, "caffe", describe, __VA_ARGS__)
#define V2(id, title, own, ...) RESNET(id, title, "resnet_v2", own, "tf", describe_v2, __VA_ARGS__)

const application applications_resnet[] = {
    V1("resnet-50", "ResNet50", "resnet50", 3, 4, 6, 3),
    V1("resnet-101", "ResNet101", "resnet101", 3, 4, 23, 3),
    V1("resnet-152", "ResNet152", "resnet152", 3, 8, 36, 3),
    V2("resnet-50-v2", "ResNet50V2", "resnet50v2", 3, 4, 6, 3),
    V2("resnet-101-v2", "ResNet101V2", "resnet101v2", 3, 4, 23, 3),
    V2("resnet-152-v2", "ResNet152V2", "resnet152v2", 3, 8, 36, 3),
    BASIC("resnet-18", "ResNet18", "resnet18", "torch", 224, 32, application_fields, describe_basic,
          2, 2, 2, 2),
    BASIC("resnet-34", "ResNet34", "resnet34", "torch", 224, 32, application_fields, describe_basic,
          3, 4, 6, 3),
    BASIC("resnet-20", "ResNet20", "resnet20", "tf", 32, 8, cifar_fields, describe_cifar, 3, 3, 3),
    BASIC("resnet-56", "ResNet56", "resnet56", "tf", 32, 8, cifar_fields, describe_cifar, 9, 9, 9),
    {.name = NULL},
};
