/* Operators with windows over images: convolutions and pools. */
#include "exchange/onnx/onnx_import.h"
#include <stdio.h>
#include <string.h>

enum { SIZE_MOST = 1 << 20 };

static const Onnx__NodeProto *node(const onnx_import *im)
{
    return onnx_node_at(im);
}

/* ---- windows ------------------------------------------------------------------------------ */

/* Kernel, strides, dilations and padding of the current node. *same: the padding is Keras's
   "same"; else the caller adds a padding layer. */
static cornu_status read_window(const onnx_import *im, window2d *w, bool *same)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__AttributeProto *automatic = onnx_attribute(n, "auto_pad");
    const shape *s = &im->x.shape;
    int64_t pads[4] = {0};
    *same = false;
    TRY(onnx_ints(im, "kernel_shape", 2, 1, SIZE_MOST, w->kernel));
    TRY(onnx_ints(im, "strides", 2, 1, SIZE_MOST, w->stride));
    TRY(onnx_ints(im, "dilations", 2, 1, SIZE_MOST, w->dilation));
    TRY(onnx_ints(im, "pads", 4, 0, SIZE_MOST, pads));
    window2d keras = *w;
    window_pad(&keras, true, s->dim[0], s->dim[1]);
    const bool none = (pads[0] | pads[1] | pads[2] | pads[3]) == 0;
    const bool valid = onnx_text_is(automatic, "VALID");
    if (!none && (valid || onnx_text_is(automatic, "SAME_UPPER")))
        return onnx_import_fail(im, "pads: found them beside auto_pad; expected one of the two");
    if (onnx_text_is(automatic, "SAME_UPPER")) {
        *same = true;
        *w = keras;
        return CORNU_OK;
    }
    if (automatic && automatic->has_s && !valid && !onnx_text_is(automatic, "NOTSET"))
        return onnx_import_fail(im, "auto_pad: found %.*s; expected SAME_UPPER, VALID or NOTSET",
                                (int)(automatic->s.len < 32 ? automatic->s.len : 32),
                                (const char *)automatic->s.data);
    for (int i = 0; i < 2; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[2 + i];
    }
    *same = !none && memcmp(w->before, keras.before, sizeof w->before) == 0 &&
            memcmp(w->after, keras.after, sizeof w->after) == 0;
    return CORNU_OK;
}

/* ---- convolutions -------------------------------------------------------------------------- */

/* A convolution's constants: its kernel, and its bias, which may be the input of an Add that
   follows. */
typedef struct convolution {
    const Onnx__TensorProto *kernel, *bias; /* bias: NULL for none */
    window2d w;
    bool same;
    int sum; /* the step that adds the bias; -1: it is the node's own */
} convolution;

/* `filters`: the kernel's dimension of outputs. */
static cornu_status read_bias(const onnx_import *im, int64_t filters, convolution *c)
{
    const char *name = onnx_input_name(node(im), 2);
    const bool within = *name != 0;
    c->sum = -1;
    name = within ? name : onnx_added_bias(im, filters, 3, &c->sum);
    c->bias = onnx_constant_of(im, name);
    if (!c->bias && *name)
        return onnx_import_fail(im, "found a bias that is computed; expected a constant");
    if (c->bias && within && c->bias->n_dims != 1)
        return onnx_import_fail(im, "found a bias of %zu dimensions; expected 1", c->bias->n_dims);
    c->sum = c->bias && !within ? c->sum : -1;
    return CORNU_OK;
}

static cornu_status read_convolution(const onnx_import *im, const char *kernel, convolution *c)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__TensorProto *k = onnx_constant_of(im, onnx_input_name(n, 1));
    *c = (convolution){
        .kernel = k,
        .w = {.stride = {1, 1}, .dilation = {1, 1}, .groups = onnx_int(n, "group", 1)}};
    TRY(onnx_want_image(im));
    if (onnx_floats(k) < 1 || k->n_dims != 4 || c->w.groups < 1 || c->w.groups > SIZE_MOST)
        return onnx_import_fail(im,
                                "found no kernel of floats (%s, height, width) in the file; "
                                "expected one",
                                kernel);
    for (int i = 0; i < 2; i++)
        c->w.kernel[i] = k->dims[2 + i];
    TRY(read_window(im, &c->w, &c->same));
    if (c->w.kernel[0] != k->dims[2] || c->w.kernel[1] != k->dims[3])
        return onnx_import_fail(im,
                                "kernel_shape: found %lld, %lld; expected %lld, %lld as the kernel",
                                (long long)c->w.kernel[0], (long long)c->w.kernel[1],
                                (long long)k->dims[2], (long long)k->dims[3]);
    return CORNU_OK;
}

/* The layer's options that both kinds have, after its filters. */
static char *window_options(const window2d *w, bool bias, char *out, size_t size)
{
    snprintf(out, size,
             "kernel_size: [%lld, %lld], strides: [%lld, %lld], dilation_rate: [%lld, %lld], "
             "use_bias: %s",
             (long long)w->kernel[0], (long long)w->kernel[1], (long long)w->stride[0],
             (long long)w->stride[1], (long long)w->dilation[0], (long long)w->dilation[1],
             bias ? "true" : "false");
    return out;
}

static cornu_status add_weights(onnx_import *im, const convolution *c)
{
    TRY(onnx_add_source(im, 0, c->kernel, WEIGHT_KERNEL));
    if (c->bias)
        TRY(onnx_add_source(im, 1, c->bias, WEIGHT_SAME));
    if (c->sum >= 0)
        onnx_join(im, c->sum);
    return CORNU_OK;
}

cornu_status onnx_import_conv(onnx_import *im)
{
    convolution c;
    char options[200];
    TRY(read_convolution(im, "out, in / group", &c));
    TRY(onnx_add_padding(im, &c.w, c.same));
    TRY(read_bias(im, c.kernel->dims[0], &c));
    TRY(onnx_add_layer(im, "Conv2D", "{filters: %lld, %s, padding: %s, groups: %lld}",
                       (long long)c.kernel->dims[0],
                       window_options(&c.w, c.bias != NULL, options, sizeof options),
                       c.same ? "same" : "valid", (long long)c.w.groups));
    TRY(add_weights(im, &c));
    return onnx_done(im);
}

/* Read how many rows and columns are added at the output's end. */
static cornu_status read_added(const onnx_import *im, const convolution *c, int64_t added[2])
{
    const bool automatic = onnx_text_is(onnx_attribute(node(im), "auto_pad"), "SAME_UPPER");
    added[0] = added[1] = 0;
    if (c->w.groups != 1 || automatic || onnx_attribute(node(im), "output_shape"))
        return onnx_import_fail(im, "found %s; expected one group, pads and output_padding",
                                c->w.groups != 1 ? "several groups"
                                : automatic      ? "auto_pad SAME_UPPER"
                                                 : "output_shape");
    TRY(onnx_ints(im, "output_padding", 2, 0, SIZE_MOST, added));
    for (int i = 0; i < 2; i++)
        if (added[i] >= c->w.stride[i])
            return onnx_import_fail(im,
                                    "output_padding: found %lld; expected less than %lld, the "
                                    "stride",
                                    (long long)added[i], (long long)c->w.stride[i]);
    return CORNU_OK;
}

/* Is the padding Keras's "same": an output that is stride times as large? */
static bool is_same(const shape *in, const window2d *w, const int64_t added[2])
{
    window2d keras = *w;
    window_pad(&keras, true, in->dim[0] * w->stride[0], in->dim[1] * w->stride[1]);
    bool same = memcmp(&keras, w, sizeof keras) == 0;
    for (int i = 0; i < 2; i++)
        same = same && w->dilation[i] * (w->kernel[i] - 1) + 1 + added[i] ==
                           w->stride[i] + w->before[i] + w->after[i];
    return same;
}

/* Where it is not, the whole output is computed, and cropped. */
cornu_status onnx_import_conv_transpose(onnx_import *im)
{
    convolution c;
    int64_t added[2];
    char options[200], padding[100] = "same";
    TRY(read_convolution(im, "in, out", &c));
    TRY(read_added(im, &c, added));
    TRY(read_bias(im, c.kernel->dims[1], &c));
    const bool same = is_same(&im->x.shape, &c.w, added);
    if (!same)
        snprintf(padding, sizeof padding, "valid, output_padding: [%lld, %lld]",
                 (long long)added[0], (long long)added[1]);
    TRY(onnx_add_layer(im, "Conv2DTranspose", "{filters: %lld, %s, padding: %s}",
                       (long long)c.kernel->dims[1],
                       window_options(&c.w, c.bias != NULL, options, sizeof options), padding));
    TRY(add_weights(im, &c));
    if (!same && (c.w.before[0] | c.w.before[1] | c.w.after[0] | c.w.after[1]) != 0)
        TRY(onnx_add_layer(im, "Cropping2D", "{cropping: [[%lld, %lld], [%lld, %lld]]}",
                           (long long)c.w.before[0], (long long)c.w.after[0],
                           (long long)c.w.before[1], (long long)c.w.after[1]));
    return onnx_done(im);
}

/* ---- pools -------------------------------------------------------------------------------- */

static cornu_status add_pool(onnx_import *im, const char *kind, const window2d *w, bool same)
{
    TRY(onnx_add_layer(im, kind, "{pool_size: [%lld, %lld], strides: [%lld, %lld], padding: %s}",
                       (long long)w->kernel[0], (long long)w->kernel[1], (long long)w->stride[0],
                       (long long)w->stride[1], same ? "same" : "valid"));
    return onnx_done(im);
}

cornu_status onnx_import_pool(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    bool largest = strcmp(n->op_type, "MaxPool") == 0, same;
    bool counts = onnx_int(n, "count_include_pad", 0) != 0;
    window2d w = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    TRY(onnx_want_image(im));
    TRY(read_window(im, &w, &same));
    const shape *s = &im->x.shape;
    for (int i = 0; i < 2; i++) {
        int64_t room = s->dim[i] + w.before[i] + w.after[i] - w.kernel[i];
        if (w.kernel[i] < 1 || room < 0 || w.dilation[i] != 1 ||
            (onnx_int(n, "ceil_mode", 0) != 0 && room % w.stride[i] != 0))
            return onnx_import_fail(im,
                                    "found a window of %lld with dilation %lld that does not "
                                    "fit, or is rounded up; expected one that does",
                                    (long long)w.kernel[i], (long long)w.dilation[i]);
    }
    bool padded = (w.before[0] | w.before[1] | w.after[0] | w.after[1]) != 0;
    if (padded && !same && (largest || !counts))
        return onnx_import_fail(im,
                                "pads: found %lld, %lld, %lld, %lld; expected none, or those of "
                                "Keras's \"same\"",
                                (long long)w.before[0], (long long)w.before[1],
                                (long long)w.after[0], (long long)w.after[1]);
    if (!largest && counts && padded) {
        TRY(onnx_add_padding(im, &w, false));
        same = false;
    }
    return add_pool(im, largest ? "MaxPooling2D" : "AveragePooling2D", &w, same);
}

cornu_status onnx_import_global_pool(onnx_import *im)
{
    TRY(onnx_want_image(im));
    const bool largest = strcmp(node(im)->op_type, "GlobalMaxPool") == 0;
    TRY(onnx_add_layer(im, largest ? "GlobalMaxPooling2D" : "GlobalAveragePooling2D",
                       "{keepdims: true}"));
    return onnx_done(im);
}
