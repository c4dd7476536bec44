/* Calls of layers as Keras's configuration. */
#include "model/applications/network.h"
#include "model/model.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const config_field application_fields[] = {
    OPTION_INCLUDE_TOP, OPTION_WEIGHTS, OPTION_INPUT_SHAPE,
    OPTION_POOLING,     OPTION_CLASSES, OPTION_CLASSIFIER_ACTIVATION,
    OPTION_NAME,        OPTIONS_END,
};

/* ---- names and failures ----------------------------------------------------------------- */

const char *net_name(network *n, const char *format, ...)
{
    va_list arguments;
    char *name = n->names[n->next_name];
    n->next_name = (n->next_name + 1) % NETWORK_NAMES;
    va_start(arguments, format);
    vsnprintf(name, NETWORK_NAME_SIZE, format, arguments);
    va_end(arguments);
    return name;
}

void net_prefix(network *n, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(n->prefix, sizeof n->prefix, format, arguments);
    va_end(arguments);
}

static void fail_memory(network *n)
{
    if (n->status == CORNU_OK)
        n->status =
            status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its layers", n->of->name);
}

void net_refuse(network *n, const char *option, const char *format, ...)
{
    if (n->status != CORNU_OK)
        return;
    va_list arguments;
    va_start(arguments, format);
    n->status = status_prefix(status_fail_v(CORNU_INVALID, format, arguments), "%s: %s",
                              n->of->name, option);
    va_end(arguments);
}

/* How many layers of this stem had no name before. */
static int count_stem(network *n, const char *stem)
{
    int i = 0;
    while (i < NETWORK_COUNTERS - 1 && n->counters[i].stem && n->counters[i].stem != stem)
        i++;
    n->counters[i].stem = stem;
    return n->counters[i].count++;
}

static void name_automatically(network *n, const char *stem, tensor *out)
{
    const int number = count_stem(n, stem);
    if (number == 0)
        snprintf(out->name, sizeof out->name, "%s", stem);
    else
        snprintf(out->name, sizeof out->name, "%s_%d", stem, number);
    if (json_array_append_new(n->automatic, json_string(out->name)) != 0)
        fail_memory(n);
}

int64_t net_divisible(double filters)
{
    int64_t number = (int64_t)(filters + 4) / 8 * 8;
    number = number < 8 ? 8 : number;
    return (double)number < 0.9 * filters ? number + 8 : number;
}

/* ---- any layer -------------------------------------------------------------------------- */

/* [[["a", 0, 0, {}], ["b", 0, 0, {}]]]: one call on these outputs. */
static json_t *call_on(const tensor *in, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_pack("[s, i, i, {}]", in[i].name, 0, 0));
    return count > 0 ? json_pack("[o]", list) : list;
}

/* Append a layer, of which `out` gets the name; takes `config`. */
static tensor append(network *n, const char *class_name, const char *name, json_t *config,
                     const tensor *in, int count, tensor out)
{
    if (n->status != CORNU_OK) {
        json_decref(config);
        return out;
    }
    if (name)
        snprintf(out.name, sizeof out.name, "%.31s%.31s", n->prefix, name);
    else
        name_automatically(n, layer_kind_find(class_name)->base_name, &out);
    json_t *entry = json_pack("{s:s, s:s, s:o, s:o}", "class_name", class_name, "name", out.name,
                              "config", config, "inbound_nodes", call_on(in, count));
    if (!entry || json_object_set_new(config, "name", json_string(out.name)) != 0)
        fail_memory(n);
    if (json_array_append_new(n->layers, entry) != 0)
        fail_memory(n);
    return out;
}

static tensor append_one(network *n, const char *class_name, const char *name, json_t *config,
                         tensor in, tensor out)
{
    return append(n, class_name, name, config, &in, 1, out);
}

static json_t *size_or_null(int64_t size)
{
    return size > 0 ? json_integer(size) : json_null();
}

tensor net_input(network *n)
{
    const shape *s = &n->o.input_shape;
    tensor out = {s->dim[0], s->dim[1], s->dim[2], ""};
    out = append(n, "InputLayer", NULL,
                 json_pack("{s:[n, o, o, o]}", "batch_shape", size_or_null(out.height),
                           size_or_null(out.width), size_or_null(out.channels)),
                 NULL, 0, out);
    snprintf(n->input, sizeof n->input, "%s", out.name);
    return out;
}

/* ---- convolutions ----------------------------------------------------------------------- */

/* Of an output; 0 where the input's size is not known. */
static int64_t size_after(int64_t size, int64_t kernel, int64_t strides, bool valid)
{
    const int64_t most = valid ? size - kernel + 1 : size;
    return size == 0 ? 0 : most < 1 ? -1 : (most + strides - 1) / strides;
}

static void window(network *n, tensor *x, int64_t height, int64_t width, int64_t strides,
                   bool valid)
{
    x->height = size_after(x->height, height, strides, valid);
    x->width = size_after(x->width, width, strides, valid);
    if (x->height < 0 || x->width < 0)
        net_refuse(n, "input_shape",
                   "found [%lld, %lld, %lld], which leaves nothing for a window of %lldx%lld; "
                   "expected larger images",
                   (long long)n->o.input_shape.dim[0], (long long)n->o.input_shape.dim[1],
                   (long long)n->o.input_shape.dim[2], (long long)height, (long long)width);
}

/* Keras's options of all convolutions. */
static json_t *conv_config(conv_options *o)
{
    o->strides = o->strides ? o->strides : 1;
    o->kernel_width = o->kernel_width ? o->kernel_width : o->kernel;
    json_t *config = json_pack("{s:[I, I], s:[I, I], s:s, s:b}", "kernel_size",
                               (json_int_t)o->kernel, (json_int_t)o->kernel_width, "strides",
                               (json_int_t)o->strides, (json_int_t)o->strides, "padding",
                               o->valid ? "valid" : "same", "use_bias", (int)o->bias);
    if (o->activation)
        json_object_set_new(config, "activation", json_string(o->activation));
    return config;
}

static void set_text(json_t *config, const char *key, const char *json)
{
    if (json)
        json_object_set_new(config, key, json_loads(json, JSON_DECODE_ANY, NULL));
}

tensor net_conv2d(network *n, tensor x, conv_options o)
{
    json_t *config = conv_config(&o);
    json_object_set_new(config, "filters", json_integer(o.filters));
    set_text(config, "kernel_initializer", n->initializer);
    tensor out = x;
    out.channels = o.filters;
    window(n, &out, o.kernel, o.kernel_width, o.strides, o.valid);
    return append_one(n, "Conv2D", o.name, config, x, out);
}

tensor net_depthwise_conv2d(network *n, tensor x, conv_options o)
{
    json_t *config = conv_config(&o);
    const int64_t each = o.filters ? o.filters : 1;
    json_object_set_new(config, "depth_multiplier", json_integer(each));
    set_text(config, "depthwise_initializer", n->initializer);
    tensor out = x;
    out.channels *= each;
    window(n, &out, o.kernel, o.kernel_width, o.strides, o.valid);
    return append_one(n, "DepthwiseConv2D", o.name, config, x, out);
}

tensor net_separable_conv2d(network *n, tensor x, conv_options o)
{
    json_t *config = conv_config(&o);
    json_object_set_new(config, "filters", json_integer(o.filters));
    tensor out = x;
    out.channels = o.filters;
    window(n, &out, o.kernel, o.kernel_width, o.strides, o.valid);
    return append_one(n, "SeparableConv2D", o.name, config, x, out);
}

/* ---- elements --------------------------------------------------------------------------- */

void net_set_norm(network *n, int64_t axis, double momentum, double epsilon)
{
    n->norm.axis = axis;
    n->norm.momentum = momentum;
    n->norm.epsilon = epsilon;
}

tensor net_batch_norm(network *n, tensor x, const char *name)
{
    return append_one(n, "BatchNormalization", name,
                      json_pack("{s:I, s:f, s:f, s:b}", "axis", (json_int_t)n->norm.axis,
                                "momentum", n->norm.momentum, "epsilon", n->norm.epsilon, "scale",
                                (int)!n->norm.unscaled),
                      x, x);
}

tensor net_activate(network *n, tensor x, const char *function, const char *name)
{
    return append_one(n, "Activation", name, json_pack("{s:s}", "activation", function), x, x);
}

tensor net_norm_activate(network *n, tensor x, const char *function, const char *norm,
                         const char *name)
{
    return net_activate(n, net_batch_norm(n, x, norm), function, name);
}

tensor net_relu(network *n, tensor x, double most, const char *name)
{
    return append_one(n, "ReLU", name,
                      most > 0 ? json_pack("{s:f}", "max_value", most) : json_object(), x, x);
}

tensor net_add(network *n, tensor a, tensor b, const char *name)
{
    return append(n, "Add", name, json_object(), (tensor[]){a, b}, 2, a);
}

tensor net_multiply(network *n, tensor a, tensor b, const char *name)
{
    return append(n, "Multiply", name, json_object(), (tensor[]){a, b}, 2, a);
}

tensor net_concatenate(network *n, const tensor *x, int count, const char *name)
{
    tensor out = x[0];
    for (int i = 1; i < count; i++)
        out.channels += x[i].channels;
    return append(n, "Concatenate", name, json_pack("{s:i}", "axis", 3), x, count, out);
}

tensor net_dropout(network *n, tensor x, double rate, bool whole, const char *name)
{
    json_t *config = json_pack("{s:f}", "rate", rate);
    if (whole)
        json_object_set_new(config, "noise_shape", json_pack("[n, i, i, i]", 1, 1, 1));
    return append_one(n, "Dropout", name, config, x, x);
}

tensor net_rescaling(network *n, tensor x, const char *scale, const char *offset, const char *name)
{
    json_t *config = json_object();
    set_text(config, "scale", scale);
    set_text(config, "offset", offset);
    return append_one(n, "Rescaling", name, config, x, x);
}

tensor net_normalization(network *n, tensor x, const char *mean, const char *variance,
                         const char *name)
{
    json_t *config = json_pack("{s:[i]}", "axis", 3);
    set_text(config, "mean", mean);
    set_text(config, "variance", variance);
    return append_one(n, "Normalization", name, config, x, x);
}

tensor net_with_number(network *n, tensor x, const char *operation, double number)
{
    tensor out = x;
    if (n->status != CORNU_OK)
        return out;
    name_automatically(n, layer_kind_find(operation)->base_name, &out);
    json_t *read = json_pack("{s:s, s:{s:[s, i, i]}}", "class_name", "__keras_tensor__", "config",
                             "keras_history", x.name, 0, 0);
    json_t *entry =
        json_pack("{s:s, s:s, s:s, s:{s:s}, s:[{s:[o, f], s:{}}]}", "module", "keras.src.ops.numpy",
                  "class_name", operation, "name", out.name, "config", "name", out.name,
                  "inbound_nodes", "args", read, number, "kwargs");
    if (json_array_append_new(n->layers, entry) != 0)
        fail_memory(n);
    return out;
}

/* ---- windows ---------------------------------------------------------------------------- */

static tensor pad(network *n, tensor x, const int64_t amounts[4], const char *name)
{
    tensor out = x;
    out.height += x.height > 0 ? amounts[0] + amounts[1] : 0;
    out.width += x.width > 0 ? amounts[2] + amounts[3] : 0;
    return append_one(n, "ZeroPadding2D", name,
                      json_pack("{s:[[I, I], [I, I]]}", "padding", (json_int_t)amounts[0],
                                (json_int_t)amounts[1], (json_int_t)amounts[2],
                                (json_int_t)amounts[3]),
                      x, out);
}

tensor net_zero_pad(network *n, tensor x, int64_t before, int64_t after, const char *name)
{
    return pad(n, x, (int64_t[4]){before, after, before, after}, name);
}

tensor net_pad_for_strides(network *n, tensor x, int64_t kernel, const char *name)
{
    const int64_t half = kernel / 2;
    return pad(n, x,
               (int64_t[4]){half - (x.height % 2 == 0), half, half - (x.width % 2 == 0), half},
               name);
}

tensor net_pool2d(network *n, tensor x, pool_options o)
{
    tensor out = x;
    window(n, &out, o.size, o.size, o.strides, !o.same);
    return append_one(n, o.average ? "AveragePooling2D" : "MaxPooling2D", o.name,
                      json_pack("{s:[I, I], s:[I, I], s:s}", "pool_size", (json_int_t)o.size,
                                (json_int_t)o.size, "strides", (json_int_t)o.strides,
                                (json_int_t)o.strides, "padding", o.same ? "same" : "valid"),
                      x, out);
}

tensor net_global_pool(network *n, tensor x, bool max, bool keepdims, const char *name)
{
    tensor out = x;
    out.height = out.width = 1;
    return append_one(n, max ? "GlobalMaxPooling2D" : "GlobalAveragePooling2D", name,
                      json_pack("{s:b}", "keepdims", (int)keepdims), x, out);
}

/* ---- vectors ---------------------------------------------------------------------------- */

tensor net_reshape(network *n, tensor x, int64_t height, int64_t width, int64_t channels,
                   const char *name)
{
    tensor out = x;
    out.height = height ? height : 1;
    out.width = width ? width : 1;
    out.channels = channels;
    json_t *to =
        height ? json_pack("[I, I, I]", (json_int_t)height, (json_int_t)width, (json_int_t)channels)
               : json_pack("[I]", (json_int_t)channels);
    return append_one(n, "Reshape", name, json_pack("{s:o}", "target_shape", to), x, out);
}

tensor net_flatten(network *n, tensor x, const char *name)
{
    tensor out = x;
    out.channels = x.height * x.width * x.channels;
    out.height = out.width = 1;
    return append_one(n, "Flatten", name, json_object(), x, out);
}

tensor net_dense(network *n, tensor x, int64_t units, const char *function, const char *name)
{
    tensor out = x;
    out.channels = units;
    return append_one(n, "Dense", name,
                      json_pack("{s:I, s:s}", "units", (json_int_t)units, "activation", function),
                      x, out);
}

/* The option as JSON (a new reference). */
static json_t *classifier_activation(const network *n)
{
    static const config_field field = OPTION_CLASSIFIER_ACTIVATION;
    return config_value(&field, &n->o);
}

tensor net_classifier_activation(network *n, tensor x, const char *name)
{
    return append_one(n, "Activation", name,
                      json_pack("{s:o}", "activation", classifier_activation(n)), x, x);
}

tensor net_predictions(network *n, tensor x, const char *kernel, const char *bias)
{
    tensor out = x;
    out.channels = n->o.classes;
    json_t *config = json_pack("{s:I, s:o}", "units", (json_int_t)n->o.classes, "activation",
                               classifier_activation(n));
    set_text(config, "kernel_initializer", kernel);
    set_text(config, "bias_initializer", bias);
    return append_one(n, "Dense", "predictions", config, x, out);
}

tensor net_pool_features(network *n, tensor x, const char *average, const char *max)
{
    if (n->o.pooling == POOLING_NONE)
        return x;
    const bool is_max = n->o.pooling == POOLING_MAX;
    return net_global_pool(n, x, is_max, false, is_max ? max : average);
}

tensor net_classify(network *n, tensor x, const char *average, const char *max)
{
    if (!n->o.include_top)
        return net_pool_features(n, x, average, max);
    x = net_global_pool(n, x, false, false, "avg_pool");
    return net_predictions(n, x, NULL, NULL);
}

/* ---- the end ---------------------------------------------------------------------------- */

void net_output(network *n, tensor x)
{
    snprintf(n->output, sizeof n->output, "%s", x.name);
}
