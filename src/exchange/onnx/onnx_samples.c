/* The preprocessing of pixels (device/rules/samples.h) as nodes. */
#include "data/data.h"
#include "exchange/onnx/onnx_export.h"
#include <string.h>

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
