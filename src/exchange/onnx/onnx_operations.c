#include "exchange/onnx/onnx_export.h"
#include <math.h>

/* ---- activations ------------------------------------------------------------------------ */

typedef struct place {
    const char *x, *y;
    float alpha;
    int axis; /* of the channels */
} place;

static void export_linear(onnx_export *e, const place *p)
{
    onnx_apply(e, "Identity", p->x, NULL, p->y);
}

static void export_relu(onnx_export *e, const place *p)
{
    onnx_apply(e, "Relu", p->x, NULL, p->y);
}

static void export_leaky_relu(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "LeakyRelu", p->x, NULL, p->y);
    onnx_node_real(e->graph, n, "alpha", p->alpha);
}

static void export_elu(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "Elu", p->x, NULL, p->y);
    onnx_node_real(e->graph, n, "alpha", p->alpha);
}

/* x (1 + erf(x / sqrt 2)) / 2: opset 17 has no Gelu yet. */
static void export_gelu(onnx_export *e, const place *p)
{
    const char *scaled = onnx_name(e, p->y, "scaled"), *erf = onnx_name(e, p->y, "erf");
    const char *above = onnx_name(e, p->y, "erf_1"), *twice = onnx_name(e, p->y, "twice");
    onnx_apply(e, "Mul", p->x,
               onnx_constant(e, onnx_name(e, p->y, "sqrt_half"), 0, 0.70710678118654752440f),
               scaled);
    onnx_apply(e, "Erf", scaled, NULL, erf);
    onnx_apply(e, "Add", erf, onnx_constant(e, onnx_name(e, p->y, "one"), 0, 1), above);
    onnx_apply(e, "Mul", p->x, above, twice);
    onnx_apply(e, "Mul", twice, onnx_constant(e, onnx_name(e, p->y, "half"), 0, 0.5f), p->y);
}

static void export_sigmoid(onnx_export *e, const place *p)
{
    onnx_apply(e, "Sigmoid", p->x, NULL, p->y);
}

static void export_tanh(onnx_export *e, const place *p)
{
    onnx_apply(e, "Tanh", p->x, NULL, p->y);
}

static void export_silu(onnx_export *e, const place *p)
{
    const char *sigmoid = onnx_name(e, p->y, "sigmoid");
    onnx_apply(e, "Sigmoid", p->x, NULL, sigmoid);
    onnx_apply(e, "Mul", p->x, sigmoid, p->y);
}

static void export_softmax(onnx_export *e, const place *p)
{
    onnx_node *n = onnx_apply(e, "Softmax", p->x, NULL, p->y);
    onnx_node_int(e->graph, n, "axis", p->axis);
}

typedef void activation_function(onnx_export *e, const place *p);

static activation_function *const activation_functions[ACTIVATION_COUNT] = {
#define ACTIVATION(id, name, other, rule, ...) [ACTIVATION_##id] = export_##rule,
#define ACTIVATION_OF_ROWS(id, name, other, rule, ...) [ACTIVATION_##id] = export_##rule,
#include "model/activations.def"
};

void onnx_add_activation(onnx_export *e, activation a, const char *x, const char *y, bool first,
                         int rank)
{
    activation_functions[a.kind](
        e, &(place){.x = x, .y = y, .alpha = a.alpha, .axis = first ? 1 : rank - 1});
}

/* ---- operations ------------------------------------------------------------------------- */

static const tensor *tensor_of(const onnx_export *e, tensor_ref t)
{
    return &e->plan->tensors[t];
}

/* y = KIND(x) in whichever order x is. */
static onnx_node *apply_either(onnx_export *e, const char *kind, const op *o)
{
    bool first;
    const char *x = onnx_either(e, o->in[0], &first);
    return onnx_apply(e, kind, x, NULL, onnx_result(e, o->out[0], first));
}

/* ---- products ----------------------------------------------------------------------------- */

static void export_dense(onnx_export *e, const op *o)
{
    const char *x = onnx_plain(e, o->in[0]), *w = onnx_plain(e, o->in[1]);
    const char *b = onnx_plain(e, o->in[2]), *y = onnx_result(e, o->out[0], false);
    if (tensor_of(e, o->in[0])->shape.rank == 2) {
        onnx_graph_node(e->graph, "Gemm", (const char *const[]){x, w, b}, 3, y);
        return;
    }
    const char *product = b ? onnx_name(e, y, "product") : y;
    onnx_apply(e, "MatMul", x, w, product);
    if (b)
        onnx_apply(e, "Add", product, b, y);
}

/* The kernel [height][width][in][out] as [out][in][height][width]. */
static const char *add_kernel(onnx_export *e, tensor_ref kernel)
{
    const tensor *k = tensor_of(e, kernel);
    const int64_t *d = k->shape.dim, dims[4] = {d[3], d[2], d[0], d[1]}, pixels = d[0] * d[1];
    const float *from = e->plan->model->variables[k->variable].value;
    float *to = onnx_graph_new_tensor(e->graph, k->name, ONNX_FLOAT, dims, 4);
    for (int64_t out = 0; to && out < d[3]; out++)
        for (int64_t in = 0; in < d[2]; in++)
            for (int64_t i = 0; i < pixels; i++)
                *to++ = from[(i * d[2] + in) * d[3] + out];
    return k->name;
}

static void add_window(onnx_export *e, onnx_node *n, const window2d *w)
{
    const int64_t pads[4] = {w->before[0], w->before[1], w->after[0], w->after[1]};
    onnx_node_ints(e->graph, n, "kernel_shape", w->kernel, 2);
    onnx_node_ints(e->graph, n, "strides", w->stride, 2);
    onnx_node_ints(e->graph, n, "pads", pads, 4);
}

static void export_conv2d(onnx_export *e, const op *o)
{
    const window2d *w = &o->a.conv.w;
    const char *inputs[] = {onnx_channels_first(e, o->in[0]), add_kernel(e, o->in[1]),
                            onnx_plain(e, o->in[2])};
    onnx_node *n = onnx_graph_node(e->graph, "Conv", inputs, 3, onnx_result(e, o->out[0], true));
    add_window(e, n, w);
    onnx_node_ints(e->graph, n, "dilations", w->dilation, 2);
    onnx_node_int(e->graph, n, "group", w->groups);
}

/* ---- pools -------------------------------------------------------------------------------- */

static onnx_node *add_pool(onnx_export *e, const char *kind, const op *o)
{
    const char *x = onnx_channels_first(e, o->in[0]);
    return onnx_apply(e, kind, x, NULL, onnx_result(e, o->out[0], true));
}

static void export_max_pool(onnx_export *e, const op *o)
{
    add_window(e, add_pool(e, "MaxPool", o), &o->a.window);
}

/* The padding does not count for the average, as is ONNX's default. */
static void export_average_pool(onnx_export *e, const op *o)
{
    const int64_t *in = tensor_of(e, o->in[0])->shape.dim;
    const window2d *w = &o->a.window;
    bool all = w->kernel[0] == in[1] && w->kernel[1] == in[2] && w->before[0] + w->before[1] == 0 &&
               w->after[0] + w->after[1] == 0;
    if (all)
        add_pool(e, "GlobalAveragePool", o);
    else
        add_window(e, add_pool(e, "AveragePool", o), w);
}

static void export_pad(onnx_export *e, const op *o)
{
    bool first;
    const char *x = onnx_either(e, o->in[0], &first);
    const char *y = onnx_result(e, o->out[0], first), *pads = onnx_name(e, y, "pads");
    const int height = first ? 2 : 1, width = height + 1;
    int64_t *pad = onnx_graph_new_tensor(e->graph, pads, ONNX_INT64, &(int64_t){8}, 1);
    if (pad) {
        pad[height] = o->a.pad.before[0];
        pad[width] = o->a.pad.before[1];
        pad[4 + height] = o->a.pad.after[0];
        pad[4 + width] = o->a.pad.after[1];
    }
    onnx_apply(e, "Pad", x, pads, y);
}

/* ---- element by element, and by channel --------------------------------------------------- */

static void export_activation(onnx_export *e, const op *o)
{
    bool first;
    const char *x = onnx_either(e, o->in[0], &first);
    onnx_add_activation(e, o->a.act, x, onnx_result(e, o->out[0], first), first,
                        tensor_of(e, o->in[0])->shape.rank);
}

static void export_scale(onnx_export *e, const op *o)
{
    bool first, scales = o->a.scale.scale != 1, moves = o->a.scale.offset != 0;
    if (!scales && !moves) {
        apply_either(e, "Identity", o);
        return;
    }
    const char *x = onnx_either(e, o->in[0], &first), *y = onnx_result(e, o->out[0], first);
    const char *scaled = !scales ? x : moves ? onnx_name(e, y, "scaled") : y;
    if (scales)
        onnx_apply(e, "Mul", x, onnx_constant(e, onnx_name(e, y, "factor"), 0, o->a.scale.scale),
                   scaled);
    if (moves)
        onnx_apply(e, "Add", scaled,
                   onnx_constant(e, onnx_name(e, y, "offset"), 0, o->a.scale.offset), y);
}

/* gamma, or ones; beta, or zeros. */
static const char *weight_or(onnx_export *e, tensor_ref t, const char *name, int64_t channels,
                             float value)
{
    return t != NO_TENSOR ? onnx_plain(e, t) : onnx_constant(e, name, channels, value);
}

/* For images with channels first, and for rows. */
static void add_batch_norm(onnx_export *e, const op *o, bool first)
{
    int64_t channels = tensor_of(e, o->in[3])->count;
    const char *x = first ? onnx_channels_first(e, o->in[0]) : onnx_plain(e, o->in[0]);
    const char *y = onnx_result(e, o->out[0], first);
    const char *inputs[] = {x, weight_or(e, o->in[1], onnx_name(e, y, "ones"), channels, 1),
                            weight_or(e, o->in[2], onnx_name(e, y, "zeros"), channels, 0),
                            onnx_plain(e, o->in[3]), onnx_plain(e, o->in[4])};
    onnx_node *n = onnx_graph_node(e->graph, "BatchNormalization", inputs, 5, y);
    onnx_node_real(e->graph, n, "epsilon", o->a.batch_norm.epsilon);
}

static const float *values_of(const onnx_export *e, tensor_ref t)
{
    return t == NO_TENSOR ? NULL : e->plan->model->variables[tensor_of(e, t)->variable].value;
}

/* For any other rank, whose channels stay the last dimension: y = x factor + summand. */
static void add_channel_scale(onnx_export *e, const op *o)
{
    const float *gamma = values_of(e, o->in[1]), *beta = values_of(e, o->in[2]);
    const float *mean = values_of(e, o->in[3]), *variance = values_of(e, o->in[4]);
    int64_t channels = tensor_of(e, o->in[3])->count;
    const char *x = onnx_plain(e, o->in[0]), *y = onnx_result(e, o->out[0], false);
    const char *factors = onnx_name(e, y, "factors"), *summands = onnx_name(e, y, "summands");
    const char *scaled = onnx_name(e, y, "scaled");
    float *factor = onnx_graph_new_tensor(e->graph, factors, ONNX_FLOAT, &channels, 1);
    float *summand = onnx_graph_new_tensor(e->graph, summands, ONNX_FLOAT, &channels, 1);
    for (int64_t c = 0; factor && summand && c < channels; c++) {
        double by = (gamma ? (double)gamma[c] : 1) /
                    sqrt((double)variance[c] + (double)o->a.batch_norm.epsilon);
        factor[c] = (float)by;
        summand[c] = (float)((beta ? (double)beta[c] : 0) - (double)mean[c] * by);
    }
    onnx_apply(e, "Mul", x, factors, scaled);
    onnx_apply(e, "Add", scaled, summands, y);
}

static void export_batch_norm(onnx_export *e, const op *o)
{
    int rank = tensor_of(e, o->in[0])->shape.rank;
    if (rank == 4 || rank == 2)
        add_batch_norm(e, o, rank == 4);
    else
        add_channel_scale(e, o);
}

static void export_layer_norm(onnx_export *e, const op *o)
{
    const shape *s = &tensor_of(e, o->in[0])->shape;
    const char *x = onnx_plain(e, o->in[0]), *y = onnx_result(e, o->out[0], false);
    const char *inputs[] = {x,
                            weight_or(e, o->in[1], onnx_name(e, y, "ones"), s->dim[s->rank - 1], 1),
                            onnx_plain(e, o->in[2])};
    onnx_node *n = onnx_graph_node(e->graph, "LayerNormalization", inputs, 3, y);
    onnx_node_int(e->graph, n, "axis", -1);
    onnx_node_real(e->graph, n, "epsilon", o->a.reals[0]);
}

/* ---- the table ---------------------------------------------------------------------------- */

typedef void export_function(onnx_export *e, const op *o);

/* Operations that a prediction has. (Samples come in by onnx_add_input.) */
static export_function *const functions[OP_COUNT] = {
    [OP_DENSE_FORWARD] = export_dense,
    [OP_CONV2D_FORWARD] = export_conv2d,
    [OP_MAX_POOL_FORWARD] = export_max_pool,
    [OP_AVERAGE_POOL_FORWARD] = export_average_pool,
    [OP_ACTIVATION_FORWARD] = export_activation,
    [OP_BATCH_NORM_INFERENCE] = export_batch_norm,
    [OP_LAYER_NORM_FORWARD] = export_layer_norm,
    [OP_SCALE] = export_scale,
    [OP_PAD] = export_pad,
};

void onnx_add_operation(onnx_export *e, const op *o)
{
    if (e->status != CORNU_OK)
        return;
    if (functions[o->kind])
        functions[o->kind](e, o);
    else
        e->status = status_fail(CORNU_UNSUPPORTED,
                                "%s: found the operation %s; expected one that is known in ONNX",
                                o->name, op_infos[o->kind].name);
}
