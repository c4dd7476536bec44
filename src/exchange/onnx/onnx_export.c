#include "exchange/onnx/onnx_export.h"
#include "base/memory.h"
#include "data/data.h"
#include "exchange/checkpoint.h"
#include "exchange/onnx.h"
#include <cornu/exchange.h>
#include <stdlib.h>
#include <string.h>

/* ---- names and layouts ------------------------------------------------------------------ */

static bool goes_on(onnx_export *e, cornu_status status)
{
    if (e->status == CORNU_OK)
        e->status = status;
    return e->status == CORNU_OK;
}

const char *onnx_name(onnx_export *e, const char *base, const char *suffix)
{
    char *name;
    if (!goes_on(e, memory_grow(&e->names, &e->name_capacity, e->name_count + 1, sizeof name)) ||
        !goes_on(e, memory_format(&name, "%s/%s", base, suffix)))
        return "";
    return e->names[e->name_count++] = name;
}

onnx_node *onnx_apply(onnx_export *e, const char *kind, const char *a, const char *b, const char *y)
{
    return onnx_graph_node(e->graph, kind, (const char *const[]){a, b}, 2, y);
}

const char *onnx_constant(onnx_export *e, const char *name, int64_t count, float value)
{
    float *to = onnx_graph_new_tensor(e->graph, name, ONNX_FLOAT, &count, count > 0);
    for (int64_t i = 0; to && i < (count > 0 ? count : 1); i++)
        to[i] = value;
    return name;
}

const char *onnx_result(onnx_export *e, tensor_ref t, bool first)
{
    onnx_value *v = &e->values[t];
    const char *name = e->plan->tensors[t].name;
    if (t == e->plan->output && !first)
        name = ONNX_OUTPUT;
    else if (first && v->plain)
        name = onnx_name(e, name, "nchw");
    else if (!first && v->first)
        name = onnx_name(e, name, "nhwc");
    *(first ? &v->first : &v->plain) = name;
    return name;
}

static void transpose(onnx_export *e, const char *x, const char *y, bool first)
{
    static const int64_t orders[2][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}};
    onnx_node *n = onnx_apply(e, "Transpose", x, NULL, y);
    onnx_node_ints(e->graph, n, "perm", orders[first], 4);
}

/* With one channel or one pixel both orders are the same. */
static bool order_is_one(const shape *s)
{
    return s->dim[3] == 1 || s->dim[1] * s->dim[2] == 1;
}

/* Make `t`, which is another shape of the tensor whose memory it is. */
static void reshape(onnx_export *e, tensor_ref t)
{
    const tensor *to = &e->plan->tensors[t];
    if (to->alias == NO_TENSOR) {
        goes_on(e, status_fail(CORNU_INTERNAL, "ONNX: found nothing that makes %s", to->name));
        return;
    }
    const onnx_value *from = &e->values[to->alias];
    bool first = from->first && !from->plain && order_is_one(&e->plan->tensors[to->alias].shape);
    const char *x = first ? from->first : onnx_plain(e, to->alias);
    const char *sizes = onnx_name(e, to->name, "shape");
    int64_t rank = to->shape.rank;
    int64_t *size = onnx_graph_new_tensor(e->graph, sizes, ONNX_INT64, &rank, 1);
    for (int i = 1; size && i < rank; i++) /* the first is 0: as it is in x, the batch */
        size[i] = to->shape.dim[i];
    onnx_apply(e, "Reshape", x, sizes, onnx_result(e, t, false));
}

static void add_weight(onnx_export *e, tensor_ref t)
{
    const tensor *w = &e->plan->tensors[t];
    onnx_graph_tensor(e->graph, w->name, ONNX_FLOAT, w->shape.dim, w->shape.rank,
                      e->plan->model->variables[w->variable].value);
    e->values[t].plain = w->name;
}

const char *onnx_plain(onnx_export *e, tensor_ref t)
{
    if (t == NO_TENSOR || e->status != CORNU_OK)
        return NULL;
    onnx_value *v = &e->values[t];
    if (v->plain)
        return v->plain;
    if (e->plan->tensors[t].role == TENSOR_VARIABLE)
        add_weight(e, t);
    else if (v->first)
        transpose(e, v->first, onnx_result(e, t, false), false);
    else
        reshape(e, t);
    return v->plain;
}

const char *onnx_channels_first(onnx_export *e, tensor_ref t)
{
    onnx_value *v = &e->values[t];
    if (v->first || e->status != CORNU_OK)
        return v->first;
    const char *x = onnx_plain(e, t);
    if (e->status == CORNU_OK)
        transpose(e, x, onnx_result(e, t, true), true);
    return v->first;
}

const char *onnx_either(onnx_export *e, tensor_ref t, bool *first)
{
    *first = e->values[t].first != NULL;
    return *first ? e->values[t].first : onnx_plain(e, t);
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

void onnx_add_input(onnx_export *e, bool preprocess)
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
    onnx_node_int(e->graph, onnx_apply(e, "Cast", ONNX_INPUT, NULL, x), "to", ONNX_FLOAT);
    onnx_apply(e, "Mul", x, onnx_constant(e, onnx_name(e, ONNX_INPUT, "scale"), 0, (float)scale),
               scaled);
    x = scaled;
    if (st.samplewise_center)
        x = add_samplewise(e, &st, x);
    if (st.featurewise_center)
        x = add_featurewise(e, &st, x);
    e->values[e->plan->input].plain = x;
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

static cornu_status build(onnx_export *e, const cornu_export_options *options)
{
    const plan *p = e->plan;
    const shape *out = &p->model->output;
    onnx_add_input(e, options->preprocess);
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind != OP_GATHER)
            onnx_add_operation(e, &p->ops[i]);
    const char *y = onnx_plain(e, p->output);
    TRY(e->status);
    if (strcmp(y, ONNX_OUTPUT) != 0) /* no operation at all */
        onnx_apply(e, "Identity", y, NULL, ONNX_OUTPUT);
    onnx_graph_output(e->graph, ONNX_OUTPUT, ONNX_FLOAT, out->dim, out->rank);
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
