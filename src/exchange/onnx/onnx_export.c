/* Export of a model's prediction plan as an ONNX graph.

   cornu's images are NHWC, also at the graph's input and output; ONNX's convolutions and pools
   require NCHW. A tensor can have a name in either order, which is made on request: so nothing is
   transposed between two convolutions. */
#include "exchange/onnx/onnx_export.h"
#include "base/memory.h"
#include "data/data.h"
#include "exchange/checkpoint.h"
#include "exchange/onnx.h"
#include <cornu/exchange.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The kernel [height][width][in][out] as [out][in][height][width], once if its layer is called
   several times. */
static const char *add_kernel(onnx_export *e, tensor_ref kernel)
{
    if (e->values[kernel].first)
        return e->values[kernel].first;
    const tensor *k = tensor_of(e, kernel);
    const int64_t *d = k->shape.dim, dims[4] = {d[3], d[2], d[0], d[1]}, pixels = d[0] * d[1];
    const float *from = e->plan->model->variables[k->variable].value;
    float *to = onnx_graph_new_tensor(e->graph, k->name, ONNX_FLOAT, dims, 4);
    for (int64_t out = 0; to && out < d[3]; out++)
        for (int64_t in = 0; in < d[2]; in++)
            for (int64_t i = 0; i < pixels; i++)
                *to++ = from[(i * d[2] + in) * d[3] + out];
    e->values[kernel].first = k->name;
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

/* Its padding says what of the whole output is left out, and how much is added at the end. */
static void export_conv2d_transpose(onnx_export *e, const op *o)
{
    const window2d *w = &o->a.conv.w;
    const int64_t *in = tensor_of(e, o->in[0])->shape.dim + 1;
    const int64_t *out = tensor_of(e, o->out[0])->shape.dim + 1;
    int64_t added[2];
    onnx_node *n = onnx_apply(e, "ConvTranspose", onnx_channels_first(e, o->in[0]),
                              add_kernel(e, o->in[1]), onnx_result(e, o->out[0], true));
    for (int i = 0; i < 2; i++)
        added[i] = out[i] + w->before[i] + w->after[i] - (in[i] - 1) * w->stride[i] -
                   w->dilation[i] * (w->kernel[i] - 1) - 1;
    add_window(e, n, w);
    onnx_node_ints(e->graph, n, "dilations", w->dilation, 2);
    onnx_node_ints(e->graph, n, "output_padding", added, 2);
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

static const char *factor(onnx_export *e, const op *o, int which)
{
    static const char *const names[2] = {"first", "second"};
    const int rank = tensor_of(e, o->in[which])->shape.rank;
    const char *x = onnx_plain(e, o->in[which]);
    int order[SHAPE_MAX];
    if (!o->a.matmul.transposed[which])
        return x;
    for (int i = 0; i < rank; i++)
        order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    const char *y = onnx_name(e, onnx_result(e, o->out[0], false), names[which]);
    onnx_transpose(e, x, y, order, rank);
    return y;
}

static void export_matmul(onnx_export *e, const op *o)
{
    const char *a = factor(e, o, 0), *b = factor(e, o, 1);
    onnx_apply(e, "MatMul", a, b, onnx_result(e, o->out[0], false));
}

static void export_transpose(onnx_export *e, const op *o)
{
    onnx_transpose(e, onnx_plain(e, o->in[0]), onnx_result(e, o->out[0], false), o->a.order,
                   tensor_of(e, o->out[0])->shape.rank);
}

/* An operation of two tensors; names in the order of dimensions that a has. */
typedef struct pair {
    const char *a, *b, *y;
} pair;

static pair pair_of(onnx_export *e, const op *o)
{
    pair p;
    bool first;
    p.a = onnx_either(e, o->in[0], &first);
    p.b = first ? onnx_channels_first(e, o->in[1]) : onnx_plain(e, o->in[1]);
    p.y = onnx_result(e, o->out[0], first);
    return p;
}

static void export_add(onnx_export *e, const op *o)
{
    const pair p = pair_of(e, o);
    onnx_apply(e, "Add", p.a, p.b, p.y);
}

static void cast(onnx_export *e, const char *x, onnx_type to, const char *y)
{
    onnx_node_int(e->graph, onnx_apply(e, "Cast", x, NULL, y), "to", to);
}

/* Write the constant as truth values, true where it is not 0, under this name. */
static void add_truths(onnx_export *e, const tensor *t, bool first, const char *name)
{
    const int64_t *d = t->shape.dim, images[4] = {d[0], d[3], d[1], d[2]};
    bool *to = onnx_graph_new_tensor(e->graph, name, ONNX_BOOL, first ? images : d, t->shape.rank);
    for (int64_t i = 0; to && i < t->count; i++)
        to[first ? onnx_place_first(&t->shape, i) : i] = t->values[i] < 0 || t->values[i] > 0;
}

/* a where b is not 0 */
static void export_keep(onnx_export *e, const op *o)
{
    bool first;
    const tensor *condition = tensor_of(e, o->in[1]);
    const char *a = onnx_either(e, o->in[0], &first);
    const char *y = onnx_result(e, o->out[0], first), *is_kept = onnx_name(e, y, "condition");
    const char *zero = onnx_constant(e, onnx_name(e, y, "zero"), 0, 0);
    if (condition->role == TENSOR_CONSTANT)
        add_truths(e, condition, first, is_kept);
    else
        cast(e, first ? onnx_channels_first(e, o->in[1]) : onnx_plain(e, o->in[1]), ONNX_BOOL,
             is_kept);
    onnx_graph_node(e->graph, "Where", (const char *const[]){is_kept, a, zero}, 3, y);
}

/* ONNX's comparisons give truth values. */
static void export_comparison(onnx_export *e, const char *kind, bool negated, const pair *p)
{
    const char *is_true = onnx_name(e, p->y, "true"), *is_false = onnx_name(e, p->y, "false");
    onnx_apply(e, kind, p->a, p->b, is_true);
    if (negated)
        onnx_apply(e, "Not", is_true, NULL, is_false);
    cast(e, negated ? is_false : is_true, ONNX_FLOAT, p->y);
}

static void export_binary(onnx_export *e, const op *o)
{
    static const struct {
        const char *onnx;
        int gradients;
    } rows[BINARY_COUNT] = {
#define BINARY(id, name, rule, gradients, reads, onnx) [BINARY_##id] = {onnx, gradients},
#include "model/binaries.def"
    };
    const binary_kind kind = o->a.binary.kind;
    if (kind == BINARY_KEEP) {
        export_keep(e, o);
        return;
    }
    const pair p = pair_of(e, o);
    if (rows[kind].gradients == 0)
        export_comparison(e, rows[kind].onnx, kind == BINARY_NOT_EQUAL, &p);
    else
        onnx_apply(e, rows[kind].onnx, p.a, p.b, p.y);
}

/* A dimension's number where channels are first. */
static int64_t axis_of(int axis, bool first)
{
    static const int firsts[4] = {0, 2, 3, 1};
    return first ? firsts[axis] : axis;
}

static void export_slice(onnx_export *e, const op *o)
{
    bool first;
    const char *x = onnx_either(e, o->in[0], &first), *y = onnx_result(e, o->out[0], first);
    const int axis = o->a.slice.axis;
    const int64_t begin = o->a.slice.begin, step = o->a.slice.step;
    const int64_t end = begin + (tensor_of(e, o->out[0])->shape.dim[axis] - 1) * step + 1;
    const char *inputs[] = {x, onnx_index(e, onnx_name(e, y, "starts"), begin),
                            onnx_index(e, onnx_name(e, y, "ends"), end),
                            onnx_index(e, onnx_name(e, y, "axes"), axis_of(axis, first)),
                            onnx_index(e, onnx_name(e, y, "steps"), step)};
    onnx_graph_node(e->graph, "Slice", inputs, 5, y);
}

/* All operations that write a tensor are one node, which stands where the last of them does. */
static void export_concatenate(onnx_export *e, const op *o)
{
    const plan *p = e->plan;
    int count = 0, left = 0;
    bool first = false;
    for (int i = 0; i < p->op_count; i++) {
        if (p->ops[i].kind != OP_INSERT || p->ops[i].out[0] != o->out[0])
            continue;
        count++;
        left += &p->ops[i] > o;
    }
    const char **inputs;
    if (left > 0 || e->status != CORNU_OK)
        return;
    e->status = memory_new((size_t)count, sizeof *inputs, "names", &inputs);
    for (int i = 0, k = 0; e->status == CORNU_OK && i < p->op_count; i++) {
        const op *part = &p->ops[i];
        if (part->kind != OP_INSERT || part->out[0] != o->out[0])
            continue;
        if (k == 0)
            inputs[k++] = onnx_either(e, part->in[0], &first);
        else
            inputs[k++] = first ? onnx_channels_first(e, part->in[0]) : onnx_plain(e, part->in[0]);
    }
    if (e->status == CORNU_OK) {
        onnx_node *n =
            onnx_graph_node(e->graph, "Concat", inputs, count, onnx_result(e, o->out[0], first));
        onnx_node_int(e->graph, n, "axis", axis_of(o->a.slice.axis, first));
    }
    free(inputs);
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
    int64_t channels = tensor_of(e, o->in[4])->count;
    const char *x = first ? onnx_channels_first(e, o->in[0]) : onnx_plain(e, o->in[0]);
    const char *y = onnx_result(e, o->out[0], first);
    const char *inputs[] = {x, weight_or(e, o->in[1], onnx_name(e, y, "ones"), channels, 1),
                            weight_or(e, o->in[2], onnx_name(e, y, "zeros"), channels, 0),
                            weight_or(e, o->in[3], onnx_name(e, y, "means"), channels, 0),
                            onnx_plain(e, o->in[4])};
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
    int64_t channels = tensor_of(e, o->in[4])->count;
    const char *x = onnx_plain(e, o->in[0]), *y = onnx_result(e, o->out[0], false);
    const char *factors = onnx_name(e, y, "factors"), *summands = onnx_name(e, y, "summands");
    const char *scaled = onnx_name(e, y, "scaled");
    float *factor = onnx_graph_new_tensor(e->graph, factors, ONNX_FLOAT, &channels, 1);
    float *summand = onnx_graph_new_tensor(e->graph, summands, ONNX_FLOAT, &channels, 1);
    for (int64_t c = 0; factor && summand && c < channels; c++) {
        double by = (gamma ? (double)gamma[c] : 1) /
                    sqrt((double)variance[c] + (double)o->a.batch_norm.epsilon);
        factor[c] = (float)by;
        summand[c] = (float)((beta ? (double)beta[c] : 0) - (mean ? (double)mean[c] : 0) * by);
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

/* Whole numbers name the rows, as in cornu: from the end where they are negative. */
static void export_embedding(onnx_export *e, const op *o)
{
    const char *x = onnx_plain(e, o->in[0]), *y = onnx_result(e, o->out[0], false);
    const char *numbers = onnx_name(e, y, "numbers");
    cast(e, x, ONNX_INT64, numbers);
    onnx_apply(e, "Gather", onnx_plain(e, o->in[1]), numbers, y);
}

/* ---- the table of operations
 * ---------------------------------------------------------------------------- */

typedef void export_function(onnx_export *e, const op *o);

/* Operations that a prediction has. (Samples come in by onnx_add_input.) */
static export_function *const functions[OP_COUNT] = {
    [OP_DENSE_FORWARD] = export_dense,
    [OP_CONV2D_FORWARD] = export_conv2d,
    [OP_CONV2D_BACKWARD_DATA] = export_conv2d_transpose,
    [OP_MAX_POOL_FORWARD] = export_max_pool,
    [OP_AVERAGE_POOL_FORWARD] = export_average_pool,
    [OP_ACTIVATION_FORWARD] = export_activation,
    [OP_BATCH_NORM_INFERENCE] = export_batch_norm,
    [OP_LAYER_NORM_FORWARD] = export_layer_norm,
    [OP_SCALE] = export_scale,
    [OP_ADD] = export_add,
    [OP_BINARY_FORWARD] = export_binary,
    [OP_SLICE] = export_slice,
    [OP_INSERT] = export_concatenate,
    [OP_MATMUL] = export_matmul,
    [OP_TRANSPOSE] = export_transpose,
    [OP_EMBEDDING_FORWARD] = export_embedding,
    [OP_PAD] = export_pad,
    [OP_RESAMPLE_FORWARD] = onnx_add_resize,
    [OP_RECURRENT_FORWARD] = onnx_add_recurrent,
};

/* Append the nodes of one operation of the forward pass. */
static void onnx_add_operation(onnx_export *e, const op *o)
{
    if (e->status != CORNU_OK || onnx_is_within_recurrent(e->plan, o))
        return;
    if (functions[o->kind])
        functions[o->kind](e, o);
    else
        e->status = status_fail(CORNU_UNSUPPORTED,
                                "%s: found the operation %s; expected one that is known in ONNX",
                                o->name, op_infos[o->kind].name);
}

/* ---- the graph's input ------------------------------------------------------------------ */

/* mean of x over all but the batch */
static void add_mean(onnx_export *e, const char *x, const char *y)
{
    static const int64_t axes[SHAPE_MAX] = {1, 2, 3, 4};
    onnx_node *n = onnx_apply(e, "ReduceMean", x, NULL, y);
    onnx_node_ints(e->graph, n, "axes", axes, e->plan->model->input.rank);
}

/* Standardize by the sample's mean and deviation. */
static const char *add_samplewise(onnx_export *e, const standardization *s, const char *x)
{
    const char *mean = onnx_name(e, x, "mean"), *centered = onnx_name(e, x, "centered");
    add_mean(e, x, mean);
    onnx_apply(e, "Sub", x, mean, centered);
    if (!s->samplewise_std)
        return centered;
    const char *squares = onnx_name(e, x, "squares"), *variance = onnx_name(e, x, "variance");
    const char *deviation = onnx_name(e, x, "deviation"), *divisor = onnx_name(e, x, "divisor");
    const char *divided = onnx_name(e, x, "divided");
    onnx_apply(e, "Mul", centered, centered, squares);
    add_mean(e, squares, variance);
    onnx_apply(e, "Sqrt", variance, NULL, deviation);
    onnx_apply(e, "Add", deviation, onnx_constant(e, onnx_name(e, x, "least"), 0, 1e-6f), divisor);
    onnx_apply(e, "Div", centered, divisor, divided);
    return divided;
}

/* Standardize by the mean and deviation of the training samples per channel, the last dimension. */
static const char *add_featurewise(onnx_export *e, const standardization *s, const char *x)
{
    const int64_t channels = s->channels;
    const char *means = onnx_name(e, x, "means"), *centered = onnx_name(e, x, "less_means");
    float *mean = onnx_graph_new_tensor(e->graph, means, ONNX_FLOAT, &channels, 1);
    if (mean)
        memcpy(mean, s->mean, (size_t)channels * sizeof *mean);
    onnx_apply(e, "Sub", x, means, centered);
    if (!s->featurewise_std)
        return centered;
    const char *divisors = onnx_name(e, x, "divisors"), *divided = onnx_name(e, x, "by_deviations");
    float *divisor = onnx_graph_new_tensor(e->graph, divisors, ONNX_FLOAT, &channels, 1);
    for (int64_t c = 0; divisor && c < channels; c++)
        divisor[c] = s->std[c] + 1e-6f;
    onnx_apply(e, "Div", centered, divisors, divided);
    return divided;
}

static cornu_status read_samples(const onnx_export *e, double *scale, standardization *s)
{
    const cornu_model *m = e->plan->model;
    data_spec spec;
    TRY(data_spec_read(m->data, &spec));
    TRY(data_standardization(m, s));
    *scale = spec.scale > 0 ? spec.scale : (double)model_pixel_scale(m);
    if (s->featurewise_center && s->channels == 0)
        return status_fail(CORNU_INVALID,
                           "preprocess: found featurewise_center, and no mean of training samples "
                           "yet; expected a model that was trained");
    return CORNU_OK;
}

/* The graph's one input: what the network sees, or with `preprocess` uint8 pixels and all that
   becomes of them before that. */
static void add_one_input(onnx_export *e, bool preprocess)
{
    const shape *s = &e->plan->model->input;
    onnx_graph_input(e->graph, ONNX_INPUT, preprocess ? ONNX_UINT8 : ONNX_FLOAT, s->dim, s->rank);
    e->values[e->plan->input].plain = ONNX_INPUT;
    double scale;
    standardization st;
    if (!preprocess || e->status != CORNU_OK)
        return;
    e->status = read_samples(e, &scale, &st);
    if (e->status != CORNU_OK)
        return;
    const char *x = onnx_name(e, ONNX_INPUT, "float"), *scaled = onnx_name(e, ONNX_INPUT, "scaled");
    cast(e, ONNX_INPUT, ONNX_FLOAT, x);
    onnx_apply(e, "Mul", x, onnx_constant(e, onnx_name(e, ONNX_INPUT, "scale"), 0, (float)scale),
               scaled);
    x = scaled;
    if (st.samplewise_center)
        x = add_samplewise(e, &st, x);
    if (st.featurewise_center)
        x = add_featurewise(e, &st, x);
    e->values[e->plan->input].plain = x;
}

/* Does the operation take one of several inputs out of the rows of samples? */
static bool takes_input(const plan *p, const op *o)
{
    return p->model->input_count > 1 && o->kind == OP_SLICE && o->in[0] == p->input;
}

/* Does it put one of several outputs into the rows of predictions? */
static bool gives_output(const plan *p, const op *o)
{
    return p->model->output_count > 1 && o->kind == OP_INSERT && o->out[0] == p->output;
}

/* Is the name one of several inputs'? */
static bool names_input(const cornu_model *m, const char *name)
{
    for (int i = 0; m->input_count > 1 && i < m->input_count; i++)
        if (strcmp(model_input_name(m, i), name) == 0)
            return true;
    return false;
}

/* Does a value of the graph have this name? The row of several inputs, or outputs, is none. */
static bool is_taken(const plan *p, const char *name)
{
    const cornu_model *m = p->model;
    if (m->output_count == 1 && strcmp(name, ONNX_OUTPUT) == 0)
        return true;
    for (tensor_ref t = 0; t < p->tensor_count; t++) {
        const bool row =
            (t == p->input && m->input_count > 1) || (t == p->output && m->output_count > 1);
        if (!row && strcmp(p->tensors[t].name, name) == 0)
            return true;
    }
    return false;
}

/* The name of one of several inputs or outputs: its own, unless another value has that. Keys of
   inputs may be keys of outputs, too: the inputs keep them, by which callers give arrays. */
static const char *end_name(onnx_export *e, const char *name, bool is_output)
{
    const bool taken = is_taken(e->plan, name) || (is_output && names_input(e->plan->model, name));
    return taken ? onnx_name(e, name, "value") : name;
}

/* The slice that takes the input which begins at this number of a row; NULL: nothing reads it. */
static const op *slice_of(const plan *p, int64_t begin)
{
    for (int i = 0; i < p->op_count; i++)
        if (takes_input(p, &p->ops[i]) && p->ops[i].a.slice.begin == begin)
            return &p->ops[i];
    return NULL;
}

/* Several inputs have their layers' names. A slice of the rows is such an input, and so is the same
   in the input's own shape. */
static void add_input(onnx_export *e, const op *slice, int input)
{
    const cornu_model *m = e->plan->model;
    const shape *s = model_input_shape(m, input);
    const char *name = end_name(e, model_input_name(m, input), false);
    onnx_graph_input(e->graph, name, ONNX_FLOAT, s->dim, s->rank);
    if (!slice)
        return;
    const tensor_ref row = slice->out[0];
    e->values[row].plain = name;
    if (s->rank > 1)
        e->values[row + 1].plain = name;
}

static void add_inputs(onnx_export *e, bool preprocess)
{
    const plan *p = e->plan;
    int64_t begin = 0;
    if (p->model->input_count == 1) {
        add_one_input(e, preprocess);
        return;
    }
    for (int i = 0; i < p->model->input_count; i++) {
        add_input(e, slice_of(p, begin), i);
        begin += shape_elements(model_input_shape(p->model, i));
    }
}

/* ---- the graph -------------------------------------------------------------------------- */

/* Programs that use the file read the names of classes and the scale of pixels from the
   metadata. */
static cornu_status add_metadata(onnx_export *e, const cornu_export_options *options)
{
    const cornu_model *m = e->plan->model;
    data_spec spec;
    shape picture;
    char number[32];
    TRY(data_spec_read(m->data, &spec));
    if (!options->preprocess && shape_picture(&m->input, &picture)) {
        snprintf(number, sizeof number, "%.9g",
                 spec.scale > 0 ? spec.scale : (double)model_pixel_scale(m));
        onnx_graph_metadata(e->graph, "pixel_scale", number);
    }
    if (!m->class_names)
        return CORNU_OK;
    json_t *names = checkpoint_class_names(m);
    char *listed = json_dumps(names, JSON_COMPACT);
    json_decref(names);
    if (!listed)
        return status_fail(CORNU_OUT_OF_MEMORY, "ONNX: not enough memory for the names of classes");
    onnx_graph_metadata(e->graph, "class_names", listed);
    free(listed);
    return CORNU_OK;
}

/* An output, which the plan has as a row, in its own shape and under its name. */
static void add_output(onnx_export *e, const op *insert, int output)
{
    const cornu_model *m = e->plan->model;
    const shape *s = model_output_shape(m, output);
    const char *name = end_name(e, model_output_name(m, output), true);
    const tensor_ref row = insert->in[0], whole = tensor_of(e, row)->alias;
    const int64_t rank = s->rank + 1;
    shape full = {.rank = s->rank + 1, .dim = {e->plan->batch}};
    memcpy(full.dim + 1, s->dim, sizeof full.dim - sizeof *full.dim);
    onnx_graph_output(e->graph, name, ONNX_FLOAT, s->dim, s->rank);
    if (s->rank == 1 || (whole != NO_TENSOR && shape_equal(&tensor_of(e, whole)->shape, &full))) {
        onnx_apply(e, "Identity", onnx_plain(e, s->rank == 1 ? row : whole), NULL, name);
        return;
    }
    const char *sizes = onnx_name(e, name, "shape");
    int64_t *size = onnx_graph_new_tensor(e->graph, sizes, ONNX_INT64, &rank, 1);
    for (int i = 1; size && i < rank; i++)
        size[i] = full.dim[i];
    onnx_apply(e, "Reshape", onnx_plain(e, row), sizes, name);
}

static void add_outputs(onnx_export *e)
{
    const plan *p = e->plan;
    const shape *out = &p->model->output;
    int output = 0;
    for (int i = 0; i < p->op_count; i++)
        if (gives_output(p, &p->ops[i]))
            add_output(e, &p->ops[i], output++);
    if (p->model->output_count > 1)
        return;
    const char *y = onnx_plain(e, p->output);
    if (e->status == CORNU_OK && strcmp(y, ONNX_OUTPUT) != 0) /* no operation at all */
        onnx_apply(e, "Identity", y, NULL, ONNX_OUTPUT);
    onnx_graph_output(e->graph, ONNX_OUTPUT, ONNX_FLOAT, out->dim, out->rank);
}

static cornu_status build(onnx_export *e, const cornu_export_options *options)
{
    const plan *p = e->plan;
    if (p->model->input_count > 1 && options->preprocess)
        return status_fail(CORNU_UNSUPPORTED,
                           "ONNX: preprocess: found a model of %d inputs; expected one",
                           p->model->input_count);
    add_inputs(e, options->preprocess);
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        if (o->kind != OP_GATHER && !takes_input(p, o) && !gives_output(p, o))
            onnx_add_operation(e, o);
    }
    add_outputs(e);
    TRY(e->status);
    return add_metadata(e, options);
}

static void free_export(onnx_export *e)
{
    onnx_graph_free(e->graph);
    for (size_t i = 0; i < e->name_count; i++)
        free(e->names[i]);
    free(e->names);
    free(e->values);
}

static cornu_status export_plan(const plan *p, const cornu_export_options *options,
                                const char *path)
{
    onnx_export e = {.plan = p};
    cornu_status status;
    TRY_GOTO(memory_new((size_t)p->tensor_count + 1, sizeof *e.values, "ONNX", &e.values));
    TRY_GOTO(onnx_graph_new(p->model->name ? p->model->name : "model", &e.graph));
    TRY_GOTO(build(&e, options));
    status = onnx_graph_write(e.graph, path);
done:
    free_export(&e);
    return status;
}

cornu_status export_onnx(const cornu_model *model, const char *path,
                         const cornu_export_options *options)
{
    plan *p;
    TRY(plan_build(model, &(plan_options){.mode = PLAN_PREDICT, .batch = 1, .no_fusion = true},
                   &p));
    cornu_status status = export_plan(p, options, path);
    plan_free(p);
    return status;
}
