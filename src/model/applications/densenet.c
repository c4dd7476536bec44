/* DenseNet (Huang et al., 2016): keras.applications.densenet. */
#include "model/applications/network.h"

typedef struct densenet {
    int blocks[4]; /* of each stage */
} densenet;

enum { GROWTH = 32 };

/* What the block adds stands after what it read. */
static tensor dense_block(network *n, tensor x)
{
    tensor y = net_norm_activate(n, x, "relu", "0_bn", "0_relu");
    y = CONV(n, y, "1_conv", 4 * GROWTH, 1, .valid = true);
    y = net_norm_activate(n, y, "relu", "1_bn", "1_relu");
    y = CONV(n, y, "2_conv", GROWTH, 3);
    return net_concatenate(n, (tensor[]){x, y}, 2, "concat");
}

/* Half of the channels, half of the height and width. */
static tensor transition(network *n, tensor x)
{
    x = net_norm_activate(n, x, "relu", "bn", "relu");
    x = CONV(n, x, "conv", x.channels / 2, 1, .valid = true);
    return POOL(n, x, "pool", 2, 2, .average = true);
}

static void describe(network *n)
{
    const densenet *v = n->of->variant;
    net_set_norm(n, 3, 0.99, 1.001e-5);
    tensor x = net_zero_pad(n, net_input(n), 3, 3, NULL);
    x = CONV(n, x, "conv1_conv", 64, 7, .strides = 2, .valid = true);
    x = net_norm_activate(n, x, "relu", "conv1_bn", "conv1_relu");
    x = POOL(n, net_zero_pad(n, x, 1, 1, NULL), "pool1", 3, 2);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < v->blocks[stage]; i++) {
            net_prefix(n, "conv%d_block%d_", stage + 2, i + 1);
            x = dense_block(n, x);
        }
        net_prefix(n, "pool%d_", stage + 2);
        if (stage < 3)
            x = transition(n, x);
    }
    net_prefix(n, "%s", "");
    x = net_norm_activate(n, x, "relu", "bn", "relu");
    net_output(n, net_classify(n, x, "avg_pool", "max_pool"));
}

#define DENSENET(id, title, own, ...)                                                           \
    {                                                                                           \
        .name = (id), .keras = (title), .module = "densenet", .model_name = (own),              \
        .preprocessing = "torch", .weights = "densenet/" own KERAS_KERNELS, .no_top = "_notop", \
        .size = 224, .minimum = 32, .fields = application_fields, .describe = describe,         \
        .variant = &(const densenet)                                                            \
        {                                                                                       \
            {                                                                                   \
                __VA_ARGS__                                                                     \
            }                                                                                   \
        }                                                                                       \
    }

const application applications_densenet[] = {
    DENSENET("densenet-121", "DenseNet121", "densenet121", 6, 12, 24, 16),
    DENSENET("densenet-169", "DenseNet169", "densenet169", 6, 12, 32, 32),
    DENSENET("densenet-201", "DenseNet201", "densenet201", 6, 12, 48, 32),
    {.name = NULL},
};
