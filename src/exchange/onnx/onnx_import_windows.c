/* Products, convolutions and pools. */
#include "exchange/onnx/onnx_import.h"
#include <string.h>

enum { SIZE_MOST = 1 << 20 };

static const Onnx__NodeProto *node(const onnx_import *im)
{
    return im->nodes[im->at];
}

/* ---- windows ------------------------------------------------------------------------------ */

/* Kernel, strides, dilations and padding of the current node. *same: the padding is Keras's
   "same"; else the caller adds a padding layer. */
static cornu_status read_window(const onnx_import *im, window2d *w, bool *same)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__AttributeProto *automatic = onnx_attribute(n, "auto_pad");
    const shape *s = &im->model->output;
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

/* ---- products ----------------------------------------------------------------------------- */

/* The name of a bias that is added after the current node, with its channel dimension `from_end`
   from the end, or "". */
static const char *added_bias(const onnx_import *im, int64_t units, size_t from_end)
{
    const char *other = "";
    if (!onnx_next_is(im, 1, "Add", node(im)->output[0], &other))
        return "";
    const Onnx__TensorProto *t = onnx_constant_of(im, other);
    bool fits = onnx_floats(t) == units && t->n_dims >= from_end &&
                t->n_dims <= (size_t)im->model->output.rank + 1 &&
                t->dims[t->n_dims - from_end] == units;
    return fits ? other : "";
}

cornu_status onnx_import_conv(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__TensorProto *k = onnx_constant_of(im, onnx_input_name(n, 1));
    window2d w = {.stride = {1, 1}, .dilation = {1, 1}, .groups = onnx_int(n, "group", 1)};
    bool same;
    TRY(onnx_want_image(im));
    if (onnx_floats(k) < 1 || k->n_dims != 4 || w.groups < 1 || w.groups > SIZE_MOST)
        return onnx_import_fail(im, "found no kernel of floats (out, in / group, height, width) in "
                                    "the file; expected one");
    for (int i = 0; i < 2; i++)
        w.kernel[i] = k->dims[2 + i];
    TRY(read_window(im, &w, &same));
    if (w.kernel[0] != k->dims[2] || w.kernel[1] != k->dims[3])
        return onnx_import_fail(im,
                                "kernel_shape: found %lld, %lld; expected %lld, %lld as the kernel",
                                (long long)w.kernel[0], (long long)w.kernel[1],
                                (long long)k->dims[2], (long long)k->dims[3]);
    TRY(onnx_add_padding(im, &w, same));
    const char *bias = onnx_input_name(n, 2);
    size_t ahead = *bias ? 0 : 1;
    bias = *bias ? bias : added_bias(im, k->dims[0], 3);
    const Onnx__TensorProto *b = onnx_constant_of(im, bias);
    if (!b && *bias)
        return onnx_import_fail(im, "found a bias that is computed; expected a constant");
    if (b && ahead == 0 && b->n_dims != 1)
        return onnx_import_fail(im, "found a bias of %zu dimensions; expected 1", b->n_dims);
    TRY(onnx_add_layer(
        im, "Conv2D",
        "{filters: %lld, kernel_size: [%lld, %lld], strides: [%lld, %lld], padding: %s, "
        "dilation_rate: [%lld, %lld], groups: %lld, use_bias: %s}",
        (long long)k->dims[0], (long long)w.kernel[0], (long long)w.kernel[1],
        (long long)w.stride[0], (long long)w.stride[1], same ? "same" : "valid",
        (long long)w.dilation[0], (long long)w.dilation[1], (long long)w.groups,
        b ? "true" : "false"));
    TRY(onnx_add_source(im, 0, k, WEIGHT_KERNEL));
    if (b)
        TRY(onnx_add_source(im, 1, b, WEIGHT_SAME));
    return onnx_done(im, b ? ahead : 0);
}

static cornu_status add_dense(onnx_import *im, const Onnx__TensorProto *w, bool transposed,
                              const char *bias, size_t ahead)
{
    if (onnx_floats(w) < 1 || w->n_dims != 2)
        return onnx_import_fail(im, "found no matrix of floats in the file; expected one");
    int64_t units = w->dims[transposed ? 0 : 1];
    TRY(onnx_add_layer(im, "Dense", "{units: %lld, use_bias: %s}", (long long)units,
                       *bias ? "true" : "false"));
    TRY(onnx_add_source(im, 0, w, transposed ? WEIGHT_TRANSPOSED : WEIGHT_SAME));
    im->order = ORDER_PLAIN; /* the bias' too */
    if (*bias)
        TRY(onnx_add_source(im, 1, onnx_constant_of(im, bias), WEIGHT_SAME));
    return onnx_done(im, ahead);
}

cornu_status onnx_import_gemm(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    double alpha = onnx_real(n, "alpha", 1), beta = onnx_real(n, "beta", 1);
    if (alpha != 1 || beta != 1 || onnx_int(n, "transA", 0) != 0 || im->model->output.rank != 1)
        return onnx_import_fail(im,
                                "found alpha %g, beta %g, transA %lld and %d dimensions; "
                                "expected 1, 1, 0 and (batch, inputs)",
                                alpha, beta, (long long)onnx_int(n, "transA", 0),
                                im->model->output.rank + 1);
    const Onnx__TensorProto *w = onnx_constant_of(im, onnx_input_name(n, 1));
    const char *bias = onnx_input_name(n, 2);
    const bool transposed = onnx_int(n, "transB", 0) != 0;
    if (*bias && onnx_floats(w) > 0 && w->n_dims == 2 &&
        !onnx_is_row(im, onnx_constant_of(im, bias), w->dims[transposed ? 0 : 1]))
        return onnx_import_fail(im, "C: found no constant of %lld floats in a row; expected one",
                                (long long)w->dims[transposed ? 0 : 1]);
    return add_dense(im, w, transposed, bias, 0);
}

cornu_status onnx_import_matmul(onnx_import *im)
{
    const Onnx__TensorProto *w = onnx_constant_of(im, onnx_input_name(node(im), 1));
    if (im->order == ORDER_FIRST)
        return onnx_import_fail(im, "found an image with its channels first; expected another");
    const char *bias = onnx_floats(w) > 0 && w->n_dims == 2 ? added_bias(im, w->dims[1], 1) : "";
    return add_dense(im, w, false, bias, *bias ? 1 : 0);
}

/* ---- pools -------------------------------------------------------------------------------- */

static cornu_status add_pool(onnx_import *im, const char *kind, const window2d *w, bool same)
{
    TRY(onnx_add_layer(im, kind, "{pool_size: [%lld, %lld], strides: [%lld, %lld], padding: %s}",
                       (long long)w->kernel[0], (long long)w->kernel[1], (long long)w->stride[0],
                       (long long)w->stride[1], same ? "same" : "valid"));
    return onnx_done(im, 0);
}

cornu_status onnx_import_pool(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    bool largest = strcmp(n->op_type, "MaxPool") == 0, same;
    bool counts = onnx_int(n, "count_include_pad", 0) != 0;
    window2d w = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    TRY(onnx_want_image(im));
    TRY(read_window(im, &w, &same));
    const shape *s = &im->model->output;
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
    TRY(onnx_add_layer(im, "GlobalAveragePooling2D", "{keepdims: true}"));
    return onnx_done(im, 0);
}

/* A mean over height and width. */
cornu_status onnx_import_mean(onnx_import *im)
{
    const Onnx__NodeProto *n = node(im);
    const Onnx__AttributeProto *listed = onnx_attribute(n, "axes");
    const Onnx__TensorProto *t = onnx_constant_of(im, onnx_input_name(n, 1));
    int64_t axes[2] = {0}, rank = im->model->output.rank + 1;
    bool given = listed ? listed->n_ints == 2 : onnx_integers(t) == 2;
    for (int i = 0; i < 2 && given; i++) {
        axes[i] = listed ? listed->ints[i] : onnx_integer_at(t, i);
        axes[i] += axes[i] < 0 ? rank : 0;
    }
    int64_t first = im->order == ORDER_FIRST ? 2 : 1;
    if (rank != 4 || axes[0] != first || axes[1] != first + 1)
        return onnx_import_fail(im, "found axes %lld, %lld; expected an image's height and width",
                                (long long)axes[0], (long long)axes[1]);
    bool keep = onnx_int(n, "keepdims", 1) != 0;
    TRY(onnx_add_layer(im, "GlobalAveragePooling2D", "{keepdims: %s}", keep ? "true" : "false"));
    im->order = keep ? im->order : ORDER_PLAIN;
    return onnx_done(im, 0);
}
