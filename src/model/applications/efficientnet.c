/* EfficientNet (Tan and Le, 2019) and its version 2 (2021): keras.applications.efficientnet and
   efficientnet_v2. EfficientNet-Lite, for small machines, has no function in Keras. */
#include "model/applications/network.h"
#include <math.h>

typedef struct efficientnet {
    double width, depth, dropout;
    bool lite; /* relu6 in silu's place, no excitation, ends of one width */
} efficientnet;

/* Of VarianceScaling, as their authors draw them. */
#define CONV_KERNEL                                                                              \
    "{\"class_name\": \"VarianceScaling\", \"config\": {\"scale\": 2.0, \"mode\": \"fan_out\", " \
    "\"distribution\": \"truncated_normal\"}}"
#define DENSE_KERNEL                                                                     \
    "{\"class_name\": \"VarianceScaling\", \"config\": {\"scale\": 0.3333333333333333, " \
    "\"mode\": \"fan_out\", \"distribution\": \"uniform\"}}"
static const double drop_connect = 0.2;

static const struct {
    int64_t kernel;
    int repeats;
    int64_t out, times, strides;
} stages[] = {{3, 1, 16, 1, 1},  {3, 2, 24, 6, 2},  {5, 2, 40, 6, 2}, {3, 3, 80, 6, 2},
              {5, 3, 112, 6, 1}, {5, 4, 192, 6, 2}, {3, 1, 320, 6, 1}};
enum { STAGES = sizeof stages / sizeof *stages };

static tensor norm_activate(network *n, tensor x, const char *norm, const char *name)
{
    const efficientnet *v = n->of->variant;
    return v->lite ? net_relu(n, net_batch_norm(n, x, norm), 6, name)
                   : net_norm_activate(n, x, "silu", norm, name);
}

/* Each channel times a number of 0 to 1 that follows from the means of all. */
static tensor squeeze_excite(network *n, tensor x, int64_t in)
{
    tensor y = net_global_pool(n, x, false, false, "se_squeeze");
    y = net_reshape(n, y, 1, 1, x.channels, "se_reshape");
    y = CONV(n, y, "se_reduce", in / 4 > 1 ? in / 4 : 1, 1, .bias = true, .activation = "silu");
    y = CONV(n, y, "se_expand", x.channels, 1, .bias = true, .activation = "sigmoid");
    return net_multiply(n, x, y, "se_excite");
}

static tensor block(network *n, tensor x, int stage, int64_t filters, int64_t strides, double drop)
{
    const efficientnet *v = n->of->variant;
    const tensor in = x;
    const int64_t kernel = stages[stage].kernel, times = stages[stage].times;
    if (times > 1) {
        x = CONV(n, x, "expand_conv", times * x.channels, 1);
        x = norm_activate(n, x, "expand_bn", "expand_activation");
    }
    if (strides > 1)
        x = net_pad_for_strides(n, x, kernel, "dwconv_pad");
    x = DEPTHWISE(n, x, "dwconv", 1, kernel, .strides = strides, .valid = strides > 1);
    x = norm_activate(n, x, "bn", "activation");
    if (!v->lite)
        x = squeeze_excite(n, x, in.channels);
    x = net_batch_norm(n, CONV(n, x, "project_conv", filters, 1), "project_bn");
    if (strides > 1 || in.channels != filters)
        return x;
    if (drop > 0)
        x = net_dropout(n, x, drop, true, "drop");
    return net_add(n, x, in, "add");
}

static int repeats(const efficientnet *v, int stage)
{
    const bool is_end = stage == 0 || stage == STAGES - 1;
    return v->lite && is_end ? stages[stage].repeats : (int)ceil(v->depth * stages[stage].repeats);
}

static tensor features(network *n, tensor x)
{
    const efficientnet *v = n->of->variant;
    int all = 0, number = 0;
    for (int i = 0; i < STAGES; i++)
        all += repeats(v, i);
    for (int i = 0; i < STAGES; i++)
        for (int j = 0; j < repeats(v, i); j++, number++) {
            net_prefix(n, "block%d%c_", i + 1, 'a' + j);
            x = block(n, x, i, net_divisible((double)stages[i].out * v->width),
                      j == 0 ? stages[i].strides : 1, drop_connect * number / all);
        }
    net_prefix(n, "%s", "");
    return x;
}

static tensor pixels(network *n, tensor x)
{
    const efficientnet *v = n->of->variant;
    if (v->lite)
        return net_rescaling(n, x, "0.0078125", "-0.9921875", NULL);
    x = net_rescaling(n, x, "0.00392156862745098", NULL, NULL);
    x = net_normalization(n, x, NULL, NULL, NULL);
    if (n->o.weights == WEIGHTS_IMAGENET) /* their statistics lack a square root */
        x = net_rescaling(n, x, "[2.0896755615850437, 2.1128856368212916, 2.1081851067789197]",
                          NULL, NULL);
    return x;
}

static void describe(network *n)
{
    const efficientnet *v = n->of->variant;
    n->initializer = CONV_KERNEL;
    net_set_norm(n, 3, 0.99, 1e-3);
    tensor x = net_pad_for_strides(n, pixels(n, net_input(n)), 3, "stem_conv_pad");
    x = CONV(n, x, "stem_conv", v->lite ? 32 : net_divisible(32 * v->width), 3, .strides = 2,
             .valid = true);
    x = features(n, norm_activate(n, x, "stem_bn", "stem_activation"));
    x = CONV(n, x, "top_conv", v->lite ? 1280 : net_divisible(1280 * v->width), 1);
    x = norm_activate(n, x, "top_bn", "top_activation");
    if (!n->o.include_top) {
        net_output(n, net_pool_features(n, x, "avg_pool", "max_pool"));
        return;
    }
    x = net_global_pool(n, x, false, false, "avg_pool");
    x = net_dropout(n, x, v->dropout, false, "top_dropout");
    net_output(n, net_predictions(n, x, DENSE_KERNEL, NULL));
}

/* ---- version 2 ------------------------------------------------------------------------- */

typedef struct stage {
    int64_t kernel;
    int repeats;
    int64_t in, out, times;
    bool excites; /* else one convolution in the place of an expansion and one of each channel */
    int64_t strides;
} stage;

typedef struct efficientnet_v2 {
    double width, depth;
    const stage *stages;
} efficientnet_v2;

#define ZERO_BIAS "{\"class_name\": \"Constant\", \"config\": {\"value\": 0.0}}"
enum { STAGES_V2 = 6 };
static const stage stages_b[STAGES_V2] = {
    {3, 1, 32, 16, 1, false, 1}, {3, 2, 16, 32, 4, false, 2}, {3, 2, 32, 48, 4, false, 2},
    {3, 3, 48, 96, 4, true, 2},  {3, 5, 96, 112, 6, true, 1}, {3, 8, 112, 192, 6, true, 2}};
static const stage stages_s[STAGES_V2] = {
    {3, 2, 24, 24, 1, false, 1}, {3, 4, 24, 48, 4, false, 2},  {3, 4, 48, 64, 4, false, 2},
    {3, 6, 64, 128, 4, true, 2}, {3, 9, 128, 160, 6, true, 1}, {3, 15, 160, 256, 6, true, 2}};

static int64_t widened(const efficientnet_v2 *v, int64_t filters)
{
    const int64_t number = (int64_t)((double)filters * v->width + 4) / 8 * 8;
    return number < 8 ? 8 : number;
}

static tensor excited(network *n, tensor x, const stage *s, int64_t strides)
{
    const int64_t in = x.channels;
    x = CONV(n, x, "expand_conv", s->times * in, 1);
    x = net_norm_activate(n, x, "silu", "expand_bn", "expand_activation");
    x = DEPTHWISE(n, x, "dwconv2", 1, s->kernel, .strides = strides);
    x = net_norm_activate(n, x, "silu", "bn", "activation");
    return squeeze_excite(n, x, in);
}

static tensor fused(network *n, tensor x, const stage *s, int64_t strides)
{
    if (s->times == 1)
        return x;
    x = CONV(n, x, "expand_conv", s->times * x.channels, s->kernel, .strides = strides);
    return net_norm_activate(n, x, "silu", "expand_bn", "expand_activation");
}

static tensor block_v2(network *n, tensor x, const stage *s, int64_t filters, int64_t strides,
                       double drop)
{
    const tensor in = x;
    const bool is_one = !s->excites && s->times == 1;
    x = s->excites ? excited(n, x, s, strides) : fused(n, x, s, strides);
    x = CONV(n, x, "project_conv", filters, is_one ? s->kernel : 1,
             .strides = is_one ? strides : 1);
    x = net_batch_norm(n, x, "project_bn");
    if (is_one)
        x = net_activate(n, x, "silu", "project_activation");
    if (strides > 1 || in.channels != filters)
        return x;
    if (drop > 0)
        x = net_dropout(n, x, drop, true, "drop");
    return net_add(n, x, in, "add");
}

static int repeats_v2(const efficientnet_v2 *v, int i)
{
    return (int)ceil(v->depth * v->stages[i].repeats);
}

static tensor features_v2(network *n, tensor x)
{
    const efficientnet_v2 *v = n->of->variant;
    int all = 0, number = 0;
    for (int i = 0; i < STAGES_V2; i++)
        all += repeats_v2(v, i);
    for (int i = 0; i < STAGES_V2; i++)
        for (int j = 0; j < repeats_v2(v, i); j++, number++) {
            const stage *s = &v->stages[i];
            net_prefix(n, "block%d%c_", i + 1, 'a' + j);
            x = block_v2(n, x, s, widened(v, s->out), j == 0 ? s->strides : 1,
                         drop_connect * number / all);
        }
    net_prefix(n, "%s", "");
    return x;
}

/* The small ones by ImageNet's statistics, others to -1 to 1. */
static tensor pixels_v2(network *n, tensor x)
{
    const efficientnet_v2 *v = n->of->variant;
    if (!n->o.include_preprocessing)
        return x;
    if (v->stages != stages_b || x.channels != 3)
        return net_rescaling(n, x, "0.0078125", "-1.0", NULL);
    x = net_rescaling(n, x, "0.00392156862745098", NULL, NULL);
    return net_normalization(n, x, "[0.485, 0.456, 0.406]",
                             "[0.052441, 0.050176000000000005, 0.050625]", NULL);
}

static void describe_v2(network *n)
{
    const efficientnet_v2 *v = n->of->variant;
    n->initializer = CONV_KERNEL;
    net_set_norm(n, 3, 0.9, 1e-3);
    tensor x = pixels_v2(n, net_input(n));
    x = CONV(n, x, "stem_conv", widened(v, v->stages[0].in), 3, .strides = 2);
    x = features_v2(n, net_norm_activate(n, x, "silu", "stem_bn", "stem_activation"));
    x = CONV(n, x, "top_conv", widened(v, 1280), 1);
    x = net_norm_activate(n, x, "silu", "top_bn", "top_activation");
    if (!n->o.include_top) {
        net_output(n, net_pool_features(n, x, "avg_pool", "max_pool"));
        return;
    }
    x = net_global_pool(n, x, false, false, "avg_pool");
    x = net_dropout(n, x, 0.2, false, "top_dropout");
    net_output(n, net_predictions(n, x, DENSE_KERNEL, ZERO_BIAS));
}

static const config_field fields_v2[] = {
    OPTION_INCLUDE_TOP,
    OPTION_WEIGHTS,
    OPTION_INPUT_SHAPE,
    OPTION_POOLING,
    OPTION_CLASSES,
    OPTION_CLASSIFIER_ACTIVATION,
    OPTION_INCLUDE_PREPROCESSING,
    OPTION_NAME,
    OPTIONS_END,
};

#define V2(id, title, own, side, ...)                                                             \
    {                                                                                             \
        .name = "efficientnet-v2-" id, .keras = "EfficientNetV2" title,                           \
        .module = "efficientnet_v2", .model_name = "efficientnetv2-" id, .preprocessing = "none", \
        .weights = "efficientnet_v2/efficientnetv2-" id, .no_top = "_notop", .size = (side),      \
        .minimum = 32, .fields = fields_v2, .describe = describe_v2,                              \
        .variant = &(const efficientnet_v2)                                                       \
        {                                                                                         \
            __VA_ARGS__                                                                           \
        }                                                                                         \
    }

#define B(number, side, ...)                                                                      \
    {                                                                                             \
        .name = "efficientnet-b" #number, .keras = "EfficientNetB" #number,                       \
        .module = "efficientnet", .model_name = "efficientnetb" #number, .preprocessing = "none", \
        .weights = "efficientnetb" #number, .no_top = "_notop", .size = (side), .minimum = 32,    \
        .fields = application_fields, .describe = describe, .variant = &(const efficientnet)      \
        {                                                                                         \
            __VA_ARGS__, .lite = false                                                            \
        }                                                                                         \
    }

#define LITE(number, side, ...)                                                             \
    {                                                                                       \
        .name = "efficientnet-lite" #number, .keras = "EfficientNetLite" #number,           \
        .model_name = "efficientnet-lite" #number, .preprocessing = "none", .size = (side), \
        .minimum = 32, .fields = application_fields, .describe = describe,                  \
        .variant = &(const efficientnet)                                                    \
        {                                                                                   \
            __VA_ARGS__, .lite = true                                                       \
        }                                                                                   \
    }

const application applications_efficientnet[] = {
    B(0, 224, 1, 1, 0.2),
    B(1, 240, 1, 1.1, 0.2),
    B(2, 260, 1.1, 1.2, 0.3),
    B(3, 300, 1.2, 1.4, 0.3),
    B(4, 380, 1.4, 1.8, 0.4),
    B(5, 456, 1.6, 2.2, 0.4),
    B(6, 528, 1.8, 2.6, 0.5),
    B(7, 600, 2, 3.1, 0.5),
    V2("b0", "B0", "b0", 224, 1, 1, stages_b),
    V2("b1", "B1", "b1", 240, 1, 1.1, stages_b),
    V2("b2", "B2", "b2", 260, 1.1, 1.2, stages_b),
    V2("b3", "B3", "b3", 300, 1.2, 1.4, stages_b),
    V2("s", "S", "s", 384, 1, 1, stages_s),
    LITE(0, 224, 1, 1, 0.2),
    LITE(1, 240, 1, 1.1, 0.2),
    LITE(2, 260, 1.1, 1.2, 0.3),
    LITE(3, 280, 1.2, 1.4, 0.3),
    LITE(4, 300, 1.4, 1.8, 0.3),
    {.name = NULL},
};
