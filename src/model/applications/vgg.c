/* VGG (Simonyan and Zisserman, 2014): keras.applications.vgg16 and vgg19. */
#include "model/applications/network.h"

typedef struct vgg {
    int convolutions[5]; /* of each block */
} vgg;

static void describe(network *n)
{
    const vgg *v = n->of->variant;
    static const int64_t filters[] = {64, 128, 256, 512, 512};
    tensor x = net_input(n);
    for (int block = 0; block < 5; block++) {
        net_prefix(n, "block%d_", block + 1);
        for (int i = 0; i < v->convolutions[block]; i++)
            x = CONV(n, x, net_name(n, "conv%d", i + 1), filters[block], 3, .bias = true,
                     .activation = "relu");
        x = POOL(n, x, "pool", 2, 2);
    }
    net_prefix(n, "%s", "");
    if (n->o.include_top) {
        x = net_flatten(n, x, "flatten");
        x = net_dense(n, x, 4096, "relu", "fc1");
        x = net_dense(n, x, 4096, "relu", "fc2");
        x = net_predictions(n, x, NULL, NULL);
    } else
        x = net_pool_features(n, x, NULL, NULL);
    net_output(n, x);
}

#define VGG(id, title, own, ...)                                                            \
    {                                                                                       \
        .name = (id), .keras = (title), .module = (own), .model_name = (own),               \
        .preprocessing = "caffe", .weights = own "/" own KERAS_KERNELS, .no_top = "_notop", \
        .size = 224, .minimum = 32, .fields = application_fields, .describe = describe,     \
        .variant = &(const vgg)                                                             \
        {                                                                                   \
            {                                                                               \
                __VA_ARGS__                                                                 \
            }                                                                               \
        }                                                                                   \
    }

const application applications_vgg[] = {
    VGG("vgg-16", "VGG16", "vgg16", 2, 2, 3, 3, 3),
    VGG("vgg-19", "VGG19", "vgg19", 2, 2, 4, 4, 4),
    {.name = NULL},
};
