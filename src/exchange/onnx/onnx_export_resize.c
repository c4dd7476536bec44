/* RESAMPLE_FORWARD by a constant map, of Resizing, UpSampling2D and CenterCrop, as ONNX's Resize.
 */
#include "exchange/onnx/onnx_export.h"
#include <math.h>

/* A side of an image: pixels before it becomes another size, and those that then stand around it.
 */
typedef struct resized_side {
    int64_t in, out, padding;
} resized_side;

/* The factor of ONNX's coordinates, for which floor(factor x in) is out. */
static float factor_of(const resized_side *s)
{
    const int64_t in = s->in + 2 * s->padding;
    float factor = (float)((double)s->out / (double)in);
    while ((double)factor * (double)in < (double)s->out)
        factor = nextafterf(factor, INFINITY);
    return factor;
}

/* Does a pixel of the output stand between two of the input, so that a rounding would decide? */
static bool has_ties(const resized_side *s)
{
    const int64_t in = s->in + 2 * s->padding;
    for (int64_t i = 0; i < s->out; i++)
        if ((2 * i + 1) * in % (2 * s->out) == 0)
            return true;
    return false;
}

static bool is_exact(const resized_side *s)
{
    return (double)factor_of(s) * (double)(s->in + 2 * s->padding) <= (double)s->out;
}

/* Rows, or columns, by their numbers. */
static const char *add_gather(onnx_export *e, const char *x, const resized_side *s, int axis,
                              const char *y)
{
    const int64_t in = s->in + 2 * s->padding;
    const char *numbers = onnx_name(e, y, axis == 2 ? "rows" : "columns");
    int64_t *to = onnx_graph_new_tensor(e->graph, numbers, ONNX_INT64, &s->out, 1);
    for (int64_t i = 0; to && i < s->out; i++)
        to[i] = (2 * i + 1) * in / (2 * s->out);
    onnx_node_int(e->graph, onnx_apply(e, "Gather", x, numbers, y), "axis", axis);
    return y;
}

/* Pixels of this value around x. */
static const char *add_border(onnx_export *e, const char *x, const resized_side sides[2],
                              float value, const char *y)
{
    if (sides[0].padding + sides[1].padding == 0)
        return x;
    const char *padded = onnx_name(e, y, "padded"), *pads = onnx_name(e, y, "pads");
    const char *const inputs[] = {x, pads, onnx_constant(e, onnx_name(e, y, "border"), 0, value)};
    int64_t *pad = onnx_graph_new_tensor(e->graph, pads, ONNX_INT64, &(int64_t){8}, 1);
    for (int i = 0; pad && i < 2; i++)
        pad[2 + i] = pad[6 + i] = sides[i].padding;
    onnx_graph_node(e->graph, "Pad", inputs, 3, padded);
    return padded;
}

static void add_resize(onnx_export *e, const char *x, const resized_side sides[2], bool nearest,
                       const char *y)
{
    const char *scales = onnx_name(e, y, "scales");
    const char *const inputs[] = {x, NULL, scales};
    float *scale = onnx_graph_new_tensor(e->graph, scales, ONNX_FLOAT, &(int64_t){4}, 1);
    for (int i = 0; scale && i < 4; i++)
        scale[i] = i < 2 ? 1 : factor_of(&sides[i - 2]);
    onnx_node *n = onnx_graph_node(e->graph, "Resize", inputs, 3, y);
    onnx_node_text(e->graph, n, "mode", nearest ? "nearest" : "linear");
    onnx_node_text(e->graph, n, "coordinate_transformation_mode", "half_pixel");
    if (nearest)
        onnx_node_text(e->graph, n, "nearest_mode", "round_prefer_ceil");
}

/* The map has, for columns and for rows, the input's pixels for one of the output. */
void onnx_add_resize(onnx_export *e, const op *o)
{
    const tensor *t = e->plan->tensors, *map = &t[o->in[1]];
    const resampling *r = &o->a.resample;
    resized_side sides[2];
    if (map->role != TENSOR_CONSTANT) {
        e->status = status_fail(CORNU_UNSUPPORTED,
                                "%s: found an image whose pixels move at random; expected one of "
                                "another size",
                                o->name);
        return;
    }
    for (int i = 0; i < 2; i++) {
        resized_side *s = &sides[i];
        *s = (resized_side){.in = t[o->in[0]].shape.dim[1 + i],
                            .out = t[o->out[0]].shape.dim[1 + i]};
        s->padding = (llround((double)map->values[i == 0 ? 4 : 0] * (double)s->out) - s->in) / 2;
    }
    const char *x = onnx_channels_first(e, o->in[0]), *y = onnx_result(e, o->out[0], true);
    x = add_border(e, x, sides, r->value, y);
    bool by_numbers = false;
    for (int i = 0; r->nearest && i < 2; i++)
        by_numbers |= has_ties(&sides[i]) && !is_exact(&sides[i]);
    if (!by_numbers) {
        add_resize(e, x, sides, r->nearest, y);
        return;
    }
    x = add_gather(e, x, &sides[0], 2, onnx_name(e, y, "of_rows"));
    add_gather(e, x, &sides[1], 3, y);
}
