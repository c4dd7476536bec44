/* How a family describes its networks: calls of layers, which write down Keras's configuration.

   The first failure is kept in network.status, and calls after it do nothing; so a description
   needs no checks. Tensors carry the shape of a sample where its size is known (else it is 0), for
   whatever depends on it: padding, names. */
#ifndef MODEL_APPLICATIONS_NETWORK_H
#define MODEL_APPLICATIONS_NETWORK_H

#include "model/config.h"

enum { NETWORK_NAME_SIZE = 64, NETWORK_COUNTERS = 24, NETWORK_NAMES = 16 };

/* The output of a layer. */
typedef struct tensor {
    int64_t height, width, channels;
    char name[NETWORK_NAME_SIZE]; /* of the layer */
} tensor;

/* Keras's arguments of a network's function; a family's table says which of them it takes. */
typedef struct application_options {
    const char *name;  /* NULL: the network's own */
    shape input_shape; /* rank 0: the network's own */
    int64_t classes, depth_multiplier;
    activation classifier_activation;
    double alpha, dropout_rate;
    int pooling; /* POOLING_... */
    int weights; /* WEIGHTS_... */
    bool include_top, include_preprocessing, minimalistic;
} application_options;

enum { POOLING_NONE = -1, POOLING_AVG, POOLING_MAX };
enum { WEIGHTS_NONE = -1, WEIGHTS_IMAGENET };

typedef struct network network;

/* One network. */
typedef struct application {
    const char *name;          /* in recipes: "mobilenet-v2" */
    const char *keras;         /* Keras's function: "MobileNetV2"; others are named alike */
    const char *module;        /* its module of keras.applications: "mobilenet_v2" */
    const char *model_name;    /* what the model is called; NULL: the family says */
    const char *preprocessing; /* what preprocess_input does: "tf", "caffe", "torch" or "none" */
    /* Keras's file of ImageNet's weights, in its folder, without ".h5", and what is added to the
       name of a network without its top; NULL: the family says, or there is none */
    const char *weights, *no_top;
    int64_t size, minimum; /* side of its images: usual, and least */
    const int64_t *sizes;  /* other sides for which there are weights, 0-ended; or NULL */
    bool open;             /* also with its top the size of images may be open */
    const config_field *fields;
    void (*describe)(network *n);
    const void *variant; /* the family's numbers */
} application;

/* What a family's table of options is made of, in the order of Keras's arguments. */
#define OPTION_INCLUDE_TOP OPTION(BOOL, application_options, include_top, .fallback = "true")
#define OPTION_WEIGHTS                                                                      \
    OPTION(CHOICE, application_options, weights, .choices = "imagenet", .fallback = "null", \
           .flags = CONFIG_NULLABLE, .none = WEIGHTS_NONE)
#define OPTION_INPUT_SHAPE                                                            \
    OPTION(SHAPE, application_options, input_shape, .fallback = "null", .minimum = 1, \
           .maximum = 1e6, .flags = CONFIG_NULLABLE | CONFIG_OPEN)
#define OPTION_POOLING                                                                     \
    OPTION(CHOICE, application_options, pooling, .choices = "avg|max", .fallback = "null", \
           .flags = CONFIG_NULLABLE, .none = POOLING_NONE)
#define OPTION_CLASSES \
    OPTION(INT, application_options, classes, .fallback = "1000", .minimum = 1, .maximum = 1e9)
#define OPTION_CLASSIFIER_ACTIVATION \
    OPTION(ACTIVATION, application_options, classifier_activation, .fallback = "softmax")
#define OPTION_ALPHA                                                                          \
    OPTION(REAL, application_options, alpha, .fallback = "1.0", .minimum = 0, .maximum = 100, \
           .flags = CONFIG_ABOVE)
#define OPTION_INCLUDE_PREPROCESSING \
    OPTION(BOOL, application_options, include_preprocessing, .fallback = "true")
#define OPTION_NAME \
    OPTION(STRING, application_options, name, .fallback = "null", .flags = CONFIG_NULLABLE)
/* Those of most families, in their order. */
extern const config_field application_fields[];

/* How most of Keras's files of weights are called. */
#define KERAS_KERNELS "_weights_tf_dim_ordering_tf_kernels"

/* The networks of each family; the last row's name is NULL. */
extern const application applications_vgg[], applications_resnet[], applications_inception[],
    applications_densenet[], applications_mobilenet[], applications_mobilenet_v3[],
    applications_efficientnet[], applications_xception[];

struct network {
    const application *of;
    application_options o;
    json_t *layers, *automatic; /* lists */
    cornu_status status;
    const char *initializer; /* of kernels of convolutions: JSON; NULL: Keras's */
    /* net_set_norm, and besides: */
    struct {
        int64_t axis;
        double momentum, epsilon;
        bool unscaled; /* no gamma */
    } norm;
    char names[NETWORK_NAMES][NETWORK_NAME_SIZE]; /* of net_name, in turns */
    int next_name;
    char prefix[NETWORK_NAME_SIZE]; /* put before the names that follow */
    /* Layers without a name of their own are counted by Keras's stem. */
    struct {
        const char *stem;
        int count;
    } counters[NETWORK_COUNTERS];
    char model_name[NETWORK_NAME_SIZE];  /* set by a family without application.model_name */
    char weights[2 * NETWORK_NAME_SIZE]; /* the same for application.weights; "": none */
    char input[NETWORK_NAME_SIZE], output[NETWORK_NAME_SIZE]; /* layers */
};

/* A name of printf's arguments, which lasts for the next NETWORK_NAMES calls. */
const char *net_name(network *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Let the names that follow begin so: printf's arguments; "": with nothing. */
void net_prefix(network *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A number of filters as a multiple of 8 that is at most a tenth less. */
int64_t net_divisible(double filters);
/* Fail, naming the option. */
void net_refuse(network *n, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- layers ------------------------------------------------------------------------------

   `name` NULL: as Keras numbers them. Sizes are squares. */

tensor net_input(network *n);

typedef struct conv_options {
    int begin; /* the macros set it, so that what follows may be said in order */
    const char *name;
    int64_t filters; /* of a depthwise convolution: channels for each one */
    int64_t kernel;
    int64_t kernel_width; /* 0: a square */
    int64_t strides;      /* 0: 1 */
    bool valid;           /* padding; else "same" */
    bool bias;
    const char *activation; /* NULL: none */
} conv_options;
#define CONV(n, x, ...) net_conv2d(n, x, (conv_options){.begin = 0, __VA_ARGS__})
#define DEPTHWISE(n, x, ...) net_depthwise_conv2d(n, x, (conv_options){.begin = 0, __VA_ARGS__})
#define SEPARABLE(n, x, ...) net_separable_conv2d(n, x, (conv_options){.begin = 0, __VA_ARGS__})
tensor net_conv2d(network *n, tensor x, conv_options o);
tensor net_depthwise_conv2d(network *n, tensor x, conv_options o);
tensor net_separable_conv2d(network *n, tensor x, conv_options o);

/* What the batch normalizations that follow have in common. */
void net_set_norm(network *n, int64_t axis, double momentum, double epsilon);
tensor net_batch_norm(network *n, tensor x, const char *name);
/* The layer Activation. */
tensor net_activate(network *n, tensor x, const char *function, const char *name);
/* Both; the names are those of the normalization and of the activation. */
tensor net_norm_activate(network *n, tensor x, const char *function, const char *norm,
                         const char *name);
/* The same of the option classifier_activation. */
tensor net_classifier_activation(network *n, tensor x, const char *name);
/* The layer ReLU; `most` 0: without a largest value. */
tensor net_relu(network *n, tensor x, double most, const char *name);

tensor net_add(network *n, tensor a, tensor b, const char *name);
tensor net_multiply(network *n, tensor a, tensor b, const char *name);
tensor net_concatenate(network *n, const tensor *x, int count, const char *name);

tensor net_zero_pad(network *n, tensor x, int64_t before, int64_t after, const char *name);
/* Before a convolution "valid" with strides 2: as much as "same" pads, but never more before. */
tensor net_pad_for_strides(network *n, tensor x, int64_t kernel, const char *name);
typedef struct pool_options {
    int begin;
    const char *name;
    int64_t size, strides;
    bool average, same;
} pool_options;
#define POOL(n, x, ...) net_pool2d(n, x, (pool_options){.begin = 0, __VA_ARGS__})
tensor net_pool2d(network *n, tensor x, pool_options o);
tensor net_global_pool(network *n, tensor x, bool max, bool keepdims, const char *name);

tensor net_reshape(network *n, tensor x, int64_t height, int64_t width, int64_t channels,
                   const char *name);
tensor net_flatten(network *n, tensor x, const char *name);
/* `whole`: all of a sample or nothing. */
tensor net_dropout(network *n, tensor x, double rate, bool whole, const char *name);
tensor net_dense(network *n, tensor x, int64_t units, const char *function, const char *name);
/* Dense "predictions" of the options classes and classifier_activation; `kernel` and
   `bias` are their initializers, JSON; NULL: Keras's. */
tensor net_predictions(network *n, tensor x, const char *kernel, const char *bias);
/* A layer of keras.ops: "Add" or "Multiply", of a tensor and a number. */
tensor net_with_number(network *n, tensor x, const char *operation, double number);
/* The layer Rescaling by numbers; `offset` NULL: none. JSON. */
tensor net_rescaling(network *n, tensor x, const char *scale, const char *offset, const char *name);
/* The layer Normalization of pixels; NULL: Keras's 0 and 1, as weights. JSON. */
tensor net_normalization(network *n, tensor x, const char *mean, const char *variance,
                         const char *name);

/* The option pooling, of a network without its top: layers of these names. */
tensor net_pool_features(network *n, tensor x, const char *average, const char *max);
/* GlobalAveragePooling2D "avg_pool" and predictions; or, without the top, `pooling` by layers of
   these names. */
tensor net_classify(network *n, tensor x, const char *average, const char *max);

/* The network ends with this output. */
void net_output(network *n, tensor x);

#endif
