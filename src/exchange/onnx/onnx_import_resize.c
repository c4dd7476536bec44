/* Resize: an image of another size. */
#include "exchange/onnx/onnx_import.h"
#include <math.h>

enum { IMAGE_RANK = 4, SIDE_MOST = 1 << 20 };
enum { INPUT_SCALES = 2, INPUT_SIZES };

/* The size of the file's axis after Resize; 0: it is not known, or no whole number. */
static int64_t size_of(const onnx_import *im, int axis, int64_t size)
{
    const Onnx__NodeProto *n = onnx_node_at(im);
    const Onnx__TensorProto *scales = onnx_constant_of(im, onnx_input_name(n, INPUT_SCALES));
    const Onnx__TensorProto *sizes = onnx_constant_of(im, onnx_input_name(n, INPUT_SIZES));
    if (onnx_integers(sizes) == IMAGE_RANK)
        return onnx_integer_at(sizes, axis);
    if (onnx_floats(scales) != IMAGE_RANK)
        return 0;
    const double out = (double)onnx_float_at(scales, axis) * (double)size;
    if (!(out > 0.5 && out < SIDE_MOST) || fabs(out - round(out)) > 1e-4)
        return 0;
    return (int64_t)round(out);
}

/* The image's height and width after Resize. */
static cornu_status read_sizes(const onnx_import *im, int64_t out[2])
{
    const int first = im->x.order == ORDER_FIRST ? 2 : 1;
    const int channels = im->x.order == ORDER_FIRST ? 1 : 3;
    const shape *s = &im->x.shape;
    bool fits = s->rank == IMAGE_RANK - 1 &&
                (im->x.order == ORDER_FIRST || im->x.order == ORDER_PLAIN) &&
                size_of(im, channels, s->dim[2]) == s->dim[2];
    for (int i = 0; fits && i < 2; i++) {
        out[i] = size_of(im, first + i, s->dim[i]);
        fits = out[i] > 0 && out[i] <= SIDE_MOST;
    }
    if (fits)
        return CORNU_OK;
    return onnx_import_fail(im, "found no constant of scales or sizes (batch, channels, height, "
                                "width) that changes an image's height and width to whole numbers; "
                                "expected one");
}

/* Does a pixel of the output stand between two of the input? */
static bool has_ties(int64_t in, int64_t out)
{
    for (int64_t i = 0; i < out; i++)
        if ((2 * i + 1) * in % (2 * out) == 0)
            return true;
    return false;
}

/* Are the pixels those of the middle of a half-open interval, as Keras has them? */
static bool is_nearest(const onnx_import *im, const int64_t out[2])
{
    const Onnx__NodeProto *n = onnx_node_at(im);
    const Onnx__AttributeProto *where = onnx_attribute(n, "coordinate_transformation_mode");
    const Onnx__AttributeProto *mode = onnx_attribute(n, "nearest_mode");
    const bool half = !where || onnx_text_is(where, "half_pixel");
    const bool down = !mode || onnx_text_is(mode, "round_prefer_floor");
    const bool up = onnx_text_is(mode, "round_prefer_ceil");
    bool fits = true;
    for (int i = 0; i < 2; i++) {
        const int64_t in = im->x.shape.dim[i];
        if (onnx_text_is(where, "asymmetric"))
            fits = fits && onnx_text_is(mode, "floor") && out[i] % in == 0;
        else
            fits = fits && half && (up || (down && !has_ties(in, out[i])));
    }
    return fits;
}

cornu_status onnx_import_resize(onnx_import *im)
{
    static const char *const none[] = {"antialias", "axes", "exclude_outside",
                                       "keep_aspect_ratio_policy"};
    const Onnx__NodeProto *n = onnx_node_at(im);
    const Onnx__AttributeProto *mode = onnx_attribute(n, "mode");
    const Onnx__AttributeProto *where = onnx_attribute(n, "coordinate_transformation_mode");
    const bool nearest = !mode || onnx_text_is(mode, "nearest");
    int64_t out[2] = {0, 0};
    if (im->opset < 11)
        return onnx_import_fail(im, "found Resize of opset %lld; expected 11 or later",
                                (long long)im->opset);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const Onnx__AttributeProto *a = onnx_attribute(n, none[i]);
        if (a && (a->has_s ? !onnx_text_is(a, "stretch") : a->i != 0 || a->n_ints > 0))
            return onnx_import_fail(im, "found %s; expected none", none[i]);
    }
    TRY(read_sizes(im, out));
    const bool half = !where || onnx_text_is(where, "half_pixel") ||
                      (onnx_text_is(where, "pytorch_half_pixel") && out[0] > 1 && out[1] > 1);
    if (nearest ? !is_nearest(im, out) : !onnx_text_is(mode, "linear") || !half)
        return onnx_import_fail(im, "found another mode, coordinate_transformation_mode or "
                                    "nearest_mode; expected linear or nearest, half_pixel and "
                                    "round_prefer_ceil");
    TRY(onnx_add_layer(im, "Resizing", "{height: %lld, width: %lld, interpolation: %s}",
                       (long long)out[0], (long long)out[1], nearest ? "nearest" : "bilinear"));
    return onnx_done(im);
}
