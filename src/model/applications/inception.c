/* Inception V3 (Szegedy et al., 2015): keras.applications.inception_v3. */
#include "model/applications/network.h"

/* A convolution, its normalization and relu; Keras has no names for them. */
typedef struct unit {
    int64_t filters, height, width, strides;
    bool valid;
} unit;
#define UNIT(n, x, ...) convolution(n, x, (unit){__VA_ARGS__})

static tensor convolution(network *n, tensor x, unit u)
{
    x = CONV(n, x, NULL, u.filters, u.height, .kernel_width = u.width, .strides = u.strides,
             .valid = u.valid);
    return net_norm_activate(n, x, "relu", NULL, NULL);
}

static tensor square(network *n, tensor x, int64_t filters, int64_t side)
{
    return UNIT(n, x, filters, side, side, 1, false);
}

/* Without padding. */
static tensor reducing(network *n, tensor x, int64_t filters, int64_t strides)
{
    return UNIT(n, x, filters, 3, 3, strides, true);
}

static tensor pooled(network *n, tensor x, int64_t filters)
{
    return square(n, POOL(n, x, NULL, 3, 1, .average = true, .same = true), filters, 1);
}

static tensor stem(network *n, tensor x)
{
    x = reducing(n, reducing(n, x, 32, 2), 32, 1);
    x = POOL(n, square(n, x, 64, 3), NULL, 3, 2);
    x = UNIT(n, x, 80, 1, 1, 1, true);
    return POOL(n, reducing(n, x, 192, 1), NULL, 3, 2);
}

static tensor mixed_5x5(network *n, tensor x, int64_t last, int number)
{
    tensor b[4];
    b[0] = square(n, x, 64, 1);
    b[1] = square(n, square(n, x, 48, 1), 64, 5);
    b[2] = square(n, square(n, square(n, x, 64, 1), 96, 3), 96, 3);
    b[3] = pooled(n, x, last);
    return net_concatenate(n, b, 4, net_name(n, "mixed%d", number));
}

static tensor mixed_7x7(network *n, tensor x, int64_t f, int number)
{
    tensor b[4];
    b[0] = square(n, x, 192, 1);
    b[1] = UNIT(n, square(n, x, f, 1), f, 1, 7, 1, false);
    b[1] = UNIT(n, b[1], 192, 7, 1, 1, false);
    b[2] = UNIT(n, square(n, x, f, 1), f, 7, 1, 1, false);
    b[2] = UNIT(n, b[2], f, 1, 7, 1, false);
    b[2] = UNIT(n, b[2], f, 7, 1, 1, false);
    b[2] = UNIT(n, b[2], 192, 1, 7, 1, false);
    b[3] = pooled(n, x, 192);
    return net_concatenate(n, b, 4, net_name(n, "mixed%d", number));
}

static tensor forked(network *n, tensor x, const char *name)
{
    tensor b[2];
    b[0] = UNIT(n, x, 384, 1, 3, 1, false);
    b[1] = UNIT(n, x, 384, 3, 1, 1, false);
    return net_concatenate(n, b, 2, name);
}

static tensor mixed_3x3(network *n, tensor x, int number)
{
    tensor b[4];
    b[0] = square(n, x, 320, 1);
    b[1] = forked(n, square(n, x, 384, 1), net_name(n, "mixed9_%d", number - 9));
    b[2] = forked(n, square(n, square(n, x, 448, 1), 384, 3), NULL);
    b[3] = pooled(n, x, 192);
    return net_concatenate(n, b, 4, net_name(n, "mixed%d", number));
}

static tensor reduced_3(network *n, tensor x)
{
    tensor b[3];
    b[0] = reducing(n, x, 384, 2);
    b[1] = reducing(n, square(n, square(n, x, 64, 1), 96, 3), 96, 2);
    b[2] = POOL(n, x, NULL, 3, 2);
    return net_concatenate(n, b, 3, "mixed3");
}

static tensor reduced_8(network *n, tensor x)
{
    tensor b[3];
    b[0] = reducing(n, square(n, x, 192, 1), 320, 2);
    b[1] = UNIT(n, square(n, x, 192, 1), 192, 1, 7, 1, false);
    b[1] = reducing(n, UNIT(n, b[1], 192, 7, 1, 1, false), 192, 2);
    b[2] = POOL(n, x, NULL, 3, 2);
    return net_concatenate(n, b, 3, "mixed8");
}

static void describe(network *n)
{
    static const int64_t filters_7x7[] = {128, 160, 160, 192};
    net_set_norm(n, 3, 0.99, 1e-3);
    n->norm.unscaled = true;
    tensor x = stem(n, net_input(n));
    for (int i = 0; i < 3; i++)
        x = mixed_5x5(n, x, i == 0 ? 32 : 64, i);
    x = reduced_3(n, x);
    for (int i = 0; i < 4; i++)
        x = mixed_7x7(n, x, filters_7x7[i], 4 + i);
    x = reduced_8(n, x);
    for (int i = 9; i <= 10; i++)
        x = mixed_3x3(n, x, i);
    net_output(n, net_classify(n, x, NULL, NULL));
}

const application applications_inception[] = {
    {.name = "inception-v3",
     .keras = "InceptionV3",
     .module = "inception_v3",
     .model_name = "inception_v3",
     .preprocessing = "tf",
     .weights = "inception_v3/inception_v3" KERAS_KERNELS,
     .no_top = "_notop",
     .size = 299,
     .minimum = 75,
     .fields = application_fields,
     .describe = describe},
    {.name = NULL},
};
