/* A row is done by `lanes` threads side by side; each function returns this thread's part of the
   row's value, which the block then adds. The rules are those of model/losses.c and
   model/metrics.c, in their order. */
#include "device/cuda/plugin/kernels/activation.cuh"
#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/rows.h"
#include "device/cuda/plugin/kernels/step.cuh"

/* One row for one thread of its group. Groups without a row have n = 0. */
typedef struct row_view {
    const float *output, *target;
    float *gradient, *activated;
    int64_t n;
    int lane, lanes;
    float rows; /* gradients are divided by it: the loss is the mean */
} row_view;

#define EACH_COLUMN(i, r) \
    int64_t i = (r).lane; \
    i < (r).n;            \
    i += (r).lanes

static __device__ inline void put_gradient(const row_view &r, int64_t i, double value)
{
    r.gradient[i] = (float)value / r.rows;
}

/* ---- losses on outputs ---------------------------------------------------------------------- */

/* Keras's epsilon, and 1 - epsilon, as 32-bit floats. */
static __device__ inline double clip(double x)
{
    const double low = (double)1e-7f, high = (double)(float)(1.0 - 1e-7);
    return x < low ? low : x > high ? high : x;
}

static __device__ inline bool passes(double x)
{
    return x >= (double)1e-7f && x <= (double)(float)(1.0 - 1e-7);
}

static __device__ double categorical_crossentropy(const row_view &r)
{
    double sum = 0, value = 0, mean = 0;
    for (EACH_COLUMN(i, r))
        sum += (double)r.output[i];
    sum = lanes_sum(sum, r.lanes);
    for (EACH_COLUMN(i, r)) {
        double p = (double)r.output[i] / sum;
        value -= (double)r.target[i] * log(clip(p));
        if (passes(p))
            mean -= (double)r.target[i];
    }
    mean = lanes_sum(mean, r.lanes);
    if (!r.gradient)
        return value;
    for (EACH_COLUMN(i, r)) {
        double p = (double)r.output[i] / sum;
        double g = passes(p) ? -(double)r.target[i] / p : 0.0;
        put_gradient(r, i, (g - mean) / sum);
    }
    return value;
}

/* The class of a row, or -1: outside 0..n-1 a class number has no value. */
static __device__ inline int64_t class_of(const row_view &r)
{
    if (r.n == 0 || !(r.target[0] >= 0.0f && r.target[0] < (float)r.n))
        return -1;
    return (int64_t)r.target[0];
}

static __device__ double no_loss(const row_view &r)
{
    if (r.gradient)
        for (EACH_COLUMN(i, r))
            r.gradient[i] = NAN;
    return r.n > 0 ? (double)NAN : 0.0;
}

static __device__ double sparse_categorical_crossentropy(const row_view &r)
{
    int64_t t = class_of(r);
    double sum = 0;
    for (EACH_COLUMN(i, r))
        sum += clip((double)r.output[i]);
    sum = lanes_sum(sum, r.lanes);
    if (t < 0)
        return no_loss(r);
    double c = clip((double)r.output[t]);
    if (r.gradient)
        for (EACH_COLUMN(i, r))
            put_gradient(r, i,
                         passes((double)r.output[i]) ? 1.0 / sum - (i == t ? 1.0 / c : 0.0) : 0.0);
    return r.lane == 0 ? log(sum) - log(c) : 0.0;
}

static __device__ double binary_crossentropy(const row_view &r)
{
    double value = 0, n = (double)r.n;
    for (EACH_COLUMN(i, r)) {
        double t = (double)r.target[i], c = clip((double)r.output[i]);
        value -= t * log(c) + (1.0 - t) * log(1.0 - c);
        if (r.gradient)
            put_gradient(r, i,
                         passes((double)r.output[i]) ? ((1.0 - t) / (1.0 - c) - t / c) / n : 0.0);
    }
    return r.n > 0 ? value / n : 0.0;
}

static __device__ double mean_squared_error(const row_view &r)
{
    double value = 0, n = (double)r.n;
    for (EACH_COLUMN(i, r)) {
        double difference = (double)r.output[i] - (double)r.target[i];
        value += difference * difference;
        if (r.gradient)
            put_gradient(r, i, 2.0 * difference / n);
    }
    return r.n > 0 ? value / n : 0.0;
}

/* ---- losses on logits ----------------------------------------------------------------------- */

static __device__ inline void put_activated(const row_view &r, int64_t i, int activation,
                                            double probability)
{
    if (r.activated)
        r.activated[i] = activation == GPU_ACTIVATION_SOFTMAX
                             ? (float)probability
                             : activate(activation, 0, r.output[i]);
}

/* L = sum(t (logsumexp(z) - z)); the gradient is softmax(z) - t. A sparse target is the class
   whose t is 1. */
static __device__ double crossentropy_logits(const row_view &r, int activation, bool sparse)
{
    softmax_sums s = softmax_sums_of(r.output, r.n, r.lane, r.lanes);
    int64_t t = sparse ? class_of(r) : -1;
    double value = 0, logarithm = log(s.sum);
    for (EACH_COLUMN(i, r)) {
        double probability = softmax_at(&s, r.output[i]);
        double target = sparse ? (double)(i == t) : (double)r.target[i];
        if (!sparse || i == t)
            value += target * (logarithm - ((double)r.output[i] - (double)s.largest));
        put_activated(r, i, activation, probability);
        if (r.gradient)
            put_gradient(r, i, probability - target);
    }
    return sparse && t < 0 ? no_loss(r) : value;
}

/* L = mean(max(z, 0) - z t + log(1 + exp(-|z|))); gradient (sigmoid(z) - t) / n. */
static __device__ double binary_crossentropy_logits(const row_view &r, int activation)
{
    double value = 0, n = (double)r.n;
    for (EACH_COLUMN(i, r)) {
        double t = (double)r.target[i], z = (double)r.output[i], e = exp(-fabs(z));
        value += fmax(z, 0.0) - z * t + log1p(e);
        put_activated(r, i, activation, 0);
        if (r.gradient)
            put_gradient(r, i, ((z >= 0 ? 1.0 : e) / (1.0 + e) - t) / n);
    }
    return r.n > 0 ? value / n : 0.0;
}

static __device__ double loss_of(const row_view &r, const rows_params &p)
{
    switch (p.loss) {
    case GPU_LOSS_CATEGORICAL_CROSSENTROPY:
        return p.logits ? crossentropy_logits(r, p.activation, false) : categorical_crossentropy(r);
    case GPU_LOSS_SPARSE_CATEGORICAL_CROSSENTROPY:
        return p.logits ? crossentropy_logits(r, p.activation, true)
                        : sparse_categorical_crossentropy(r);
    case GPU_LOSS_BINARY_CROSSENTROPY:
        return p.logits ? binary_crossentropy_logits(r, p.activation) : binary_crossentropy(r);
    default:
        return mean_squared_error(r);
    }
}

/* ---- metrics -------------------------------------------------------------------------------- */

/* The first of the largest, for all threads of the group. A NaN at the start stays the largest, as
   nothing compares greater; elsewhere it never is. */
static __device__ int64_t first_largest(const float *x, const row_view &r)
{
    int64_t best = 0;
    float most = r.n > 0 ? x[0] : 0;
    for (EACH_COLUMN(i, r))
        if (x[i] > most) {
            most = x[i];
            best = i;
        }
    for (int offset = r.lanes / 2; offset > 0; offset /= 2) {
        float other = __shfl_xor_sync(ALL_LANES, most, offset);
        int64_t place = __shfl_xor_sync(ALL_LANES, best, offset);
        if (other > most || (other == most && place < best)) {
            most = other;
            best = place;
        }
    }
    return best;
}

/* tf.math.in_top_k: fewer than k outputs are greater than the class's; none where one is not
   finite. */
static __device__ double in_top_k(const row_view &r, int64_t number, int64_t k)
{
    double greater = 0, broken = 0;
    bool valid = number >= 0 && number < r.n;
    float own = valid ? r.output[number] : 0;
    for (EACH_COLUMN(i, r)) {
        broken += !isfinite(r.output[i]);
        greater += r.output[i] > own;
    }
    greater = lanes_sum(greater, r.lanes);
    broken = lanes_sum(broken, r.lanes);
    return valid && broken == 0 && greater < (double)k && r.lane == 0 ? 1.0 : 0.0;
}

static __device__ double binary_accuracy(const row_view &r)
{
    double hits = 0;
    for (EACH_COLUMN(i, r)) {
        float predicted = r.output[i] > 0.5f ? 1.0f : 0.0f;
        hits += !(predicted < r.target[i]) && !(predicted > r.target[i]);
    }
    hits = lanes_sum(hits, r.lanes); /* whole numbers: one division, as the rule has it */
    return r.n > 0 && r.lane == 0 ? hits / (double)r.n : 0.0;
}

static __device__ double metric_of(const row_view &r, const rows_metric &m)
{
    int64_t label = 0;
    bool one_hot =
        m.id == GPU_METRIC_CATEGORICAL_ACCURACY || m.id == GPU_METRIC_TOP_K_CATEGORICAL_ACCURACY;
    if (m.id == GPU_METRIC_BINARY_ACCURACY)
        return binary_accuracy(r);
    if (one_hot)
        label = first_largest(r.target, r);
    else if (r.n > 0)
        label = (int64_t)r.target[0];
    if (m.id == GPU_METRIC_TOP_K_CATEGORICAL_ACCURACY ||
        m.id == GPU_METRIC_SPARSE_TOP_K_CATEGORICAL_ACCURACY)
        return in_top_k(r, label, m.k);
    bool hit = first_largest(r.output, r) == label;
    return hit && r.n > 0 && r.lane == 0 ? 1.0 : 0.0;
}

/* ---- the launch ----------------------------------------------------------------------------- */

static __device__ inline row_view view_of(const rows_params &p, int64_t row, const float *output)
{
    row_view r;
    bool there = row < p.rows;
    r.output = output + row * p.n;
    r.target = p.target + row * p.targets;
    r.gradient = p.gradient ? p.gradient + row * p.n : (float *)0;
    r.activated = p.activated ? p.activated + row * p.n : (float *)0;
    r.n = there ? p.n : 0;
    r.lanes = p.lanes;
    r.lane = (int)threadIdx.x & (p.lanes - 1);
    r.rows = (float)p.rows;
    return r;
}

/* This block's sum of the loss (metric -1) or of a metric, for every thread. */
static __device__ double sum_rows(const rows_params &p, int metric, double *shared)
{
    int64_t groups = blockDim.x / (unsigned)p.lanes, group = threadIdx.x / (unsigned)p.lanes;
    double sum = 0;
    for (int64_t first = blockIdx.x * groups; first < p.rows; first += gridDim.x * groups) {
        if (metric < 0)
            sum += loss_of(view_of(p, first + group, p.output), p);
        else
            sum += metric_of(view_of(p, first + group, p.judged), p.metrics[metric]);
    }
    return block_sum(sum, shared);
}

/* By one thread: `sum` over all rows into the results. */
static __device__ inline void add_result(const rows_params &p, int metric, double sum)
{
    double rows = (double)p.rows, batch = (double)p.batch;
    if (metric < 0) {
        p.results->last_loss = sum / rows;
        p.results->loss += p.results->last_loss * batch;
    } else {
        p.results->metrics[p.metrics[metric].slot] += sum * batch / rows;
    }
}

extern "C" __global__ void __launch_bounds__(ROWS_THREADS) cornu_rows(rows_params p)
{
    __shared__ double shared[WARP];
    for (int metric = p.loss < 0 ? 0 : -1; metric < p.metric_count; metric++) {
        double sum = sum_rows(p, metric, shared);
        if (threadIdx.x != 0)
            continue;
        if (p.parts)
            p.parts[blockIdx.x * (unsigned)(1 + p.metric_count) + (unsigned)(1 + metric)] = sum;
        else
            add_result(p, metric, sum);
    }
    if (p.position && threadIdx.x == 0)
        count_step(p.position, p.results, p.batch, p.loss >= 0);
}

extern "C" __global__ void __launch_bounds__(ROWS_THREADS) cornu_rows_finish(rows_finish_params p)
{
    __shared__ double shared[WARP];
    for (int metric = p.r.loss < 0 ? 0 : -1; metric < p.r.metric_count; metric++) {
        double sum = 0;
        for (int64_t i = threadIdx.x; i < p.part_count; i += blockDim.x)
            sum += p.r.parts[i * (1 + p.r.metric_count) + 1 + metric];
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0)
            add_result(p.r, metric, sum);
    }
}
