/* Xception (Chollet, 2016): keras.applications.xception. */
#include "model/applications/network.h"

static tensor norm_relu(network *n, tensor x, const char *stem)
{
    x = net_batch_norm(n, x, net_name(n, "%s_bn", stem));
    return net_activate(n, x, "relu", net_name(n, "%s_act", stem));
}

/* relu, a separable convolution and its normalization. */
static tensor relu_separable(network *n, tensor x, int64_t filters, int number, bool activates)
{
    if (activates)
        x = net_activate(n, x, "relu", net_name(n, "sepconv%d_act", number));
    x = SEPARABLE(n, x, net_name(n, "sepconv%d", number), filters, 3);
    return net_batch_norm(n, x, net_name(n, "sepconv%d_bn", number));
}

/* Half of the height and width; Keras has no names for what goes around. */
static tensor reducing_block(network *n, tensor x, int64_t first, int64_t filters, bool activates)
{
    tensor around = CONV(n, x, NULL, filters, 1, .strides = 2);
    around = net_batch_norm(n, around, NULL);
    x = relu_separable(n, x, first, 1, activates);
    x = relu_separable(n, x, filters, 2, true);
    x = POOL(n, x, "pool", 3, 2, .same = true);
    return net_add(n, x, around, NULL);
}

static tensor middle_block(network *n, tensor x)
{
    tensor y = x;
    for (int i = 1; i <= 3; i++)
        y = relu_separable(n, y, 728, i, true);
    return net_add(n, y, x, NULL);
}

static void describe(network *n)
{
    net_set_norm(n, -1, 0.99, 1e-3);
    tensor x = CONV(n, net_input(n), "block1_conv1", 32, 3, .strides = 2, .valid = true);
    x = norm_relu(n, x, "block1_conv1");
    x = CONV(n, x, "block1_conv2", 64, 3, .valid = true);
    x = norm_relu(n, x, "block1_conv2");
    for (int block = 2; block <= 13; block++) {
        static const int64_t filters[] = {128, 256, 728};
        net_prefix(n, "block%d_", block);
        if (block <= 4)
            x = reducing_block(n, x, filters[block - 2], filters[block - 2], block > 2);
        else if (block < 13)
            x = middle_block(n, x);
        else
            x = reducing_block(n, x, 728, 1024, true);
    }
    net_prefix(n, "block14_");
    x = norm_relu(n, SEPARABLE(n, x, "sepconv1", 1536, 3), "sepconv1");
    x = norm_relu(n, SEPARABLE(n, x, "sepconv2", 2048, 3), "sepconv2");
    net_prefix(n, "%s", "");
    net_output(n, net_classify(n, x, NULL, NULL));
}

const application applications_xception[] = {
    {.name = "xception",
     .keras = "Xception",
     .module = "xception",
     .model_name = "xception",
     .preprocessing = "tf",
     .weights = "xception/xception" KERAS_KERNELS,
     .no_top = "_notop",
     .size = 299,
     .minimum = 71,
     .fields = application_fields,
     .describe = describe},
    {.name = NULL},
};
