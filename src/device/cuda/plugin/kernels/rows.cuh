/* Losses and metrics over rows, by the rules of device/rules: each thread of a row has a partial
   sum of its value, which the block then adds. */
#include "device/cuda/plugin/kernels/rows.h"
#include "device/cuda/plugin/kernels/rules.cuh"
#include "device/cuda/plugin/kernels/step.cuh"

#include "device/rules/losses.h"
#include "device/rules/metrics.h"

static __device__ row_number loss_of(const row_view *r, int loss, bool logits)
{
    switch (loss) {
#define LOSS(id, name, class_name, other_name, targets, options, rule) \
    case LOSS_##id:                                                    \
        return loss_##rule(r);
#define LOSS_WITH_LOGITS(id, name, class_name, other_name, targets, options, rule, ...) \
    case LOSS_##id:                                                                     \
        return logits ? loss_##rule##_logits(r) : loss_##rule(r);
#include "model/losses.def"
    }
    return NAN;
}

/* The view of the row is the metric's own: without a gradient. */
static __device__ row_metric metric_of(row_view *r, const rows_metric &m)
{
    r->gradient = r->activated = (float *)0;
    for (int i = 0; i < ROW_REALS; i++)
        r->reals[i] = m.reals[i];
    if (m.loss >= 0)
        return (double)loss_of(r, m.loss, m.logits);
    switch (m.sum) {
#define SUM(id, rule) \
    case SUM_##id:    \
        return metric_##rule(r, m.k);
#include "model/metrics.def"
    }
    return NAN;
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
    r.activation = p.activation;
    r.n = there ? p.n : 0;
    r.lanes = p.lanes;
    r.lane = (int)threadIdx.x & (p.lanes - 1);
    for (int i = 0; i < ROW_REALS; i++)
        r.reals[i] = p.reals[i];
    r.rows = (float)p.rows;
    r.weight = p.weight && there ? p.factor * p.weight[row * p.batch / p.rows] : p.factor;
    return r;
}

static __device__ inline double weight_of(const rows_params &p, const rows_metric &m, int64_t row)
{
    return m.weight && row < p.rows ? (double)m.weight[row * p.batch / p.rows] : 1;
}

static __device__ inline sum2 sum2_of_double(double a)
{
    float high = (float)a;
    return sum2_make(high, (float)(a - (double)high));
}

/* This block's sum of the loss (metric -1) or of a metric, for every thread. */
static __device__ sum2 sum_rows(const rows_params &p, int metric, sum2 *shared)
{
    int64_t groups = blockDim.x / (unsigned)p.lanes, group = threadIdx.x / (unsigned)p.lanes;
    sum2 sum = sum2_of(0);
    for (int64_t first = blockIdx.x * groups; first < p.rows; first += gridDim.x * groups) {
        row_view r = view_of(p, first + group, metric < 0 ? p.output : p.judged);
        if (metric < 0) {
            const float counts = r.weight;
            r.weight *= p.share; /* the gradient's */
            sum = sum2_plus(sum, counts * loss_of(&r, p.loss, p.logits));
        } else
            sum = sum2_add(sum, sum2_of_double(weight_of(p, p.metrics[metric], first + group) *
                                               metric_of(&r, p.metrics[metric])));
    }
    return block_sum(sum2_settled(sum), shared);
}

/* Called by one thread: adds `sum` over all rows to the results. */
static __device__ inline void add_result(const rows_params &p, int metric, sum2 of_rows)
{
    double sum = (double)of_rows.x + (double)of_rows.y;
    double rows = (double)p.rows, batch = (double)p.batch;
    if (metric < 0) {
        const double before = p.further ? p.results->last_loss : 0;
        const double loss = sum / rows, term = loss * (double)p.share;
        p.results->last_loss = before + term;
        p.results->loss += term * batch;
        if (p.own >= 0)
            p.results->metrics[p.own] += loss * batch;
    } else {
        const rows_metric &m = p.metrics[metric];
        p.results->metrics[m.slot] += m.whole ? sum : sum * batch / rows;
    }
}

extern "C" __global__ void __launch_bounds__(ROWS_THREADS) cornu_rows(rows_params p)
{
    __shared__ sum2 shared[WARP];
    for (int metric = p.loss < 0 ? 0 : -1; metric < p.metric_count; metric++) {
        sum2 sum = sum_rows(p, metric, shared);
        if (threadIdx.x != 0)
            continue;
        if (p.partials)
            p.partials[blockIdx.x * (unsigned)(1 + p.metric_count) + (unsigned)(1 + metric)] = sum;
        else
            add_result(p, metric, sum);
    }
    if (p.position && threadIdx.x == 0)
        count_step(p.position, p.results, p.batch, p.loss >= 0);
}

extern "C" __global__ void __launch_bounds__(ROWS_THREADS) cornu_rows_reduce(rows_reduce_params p)
{
    __shared__ sum2 shared[WARP];
    for (int metric = p.r.loss < 0 ? 0 : -1; metric < p.r.metric_count; metric++) {
        sum2 sum = sum2_of(0);
        for (int64_t i = threadIdx.x; i < p.partial_count; i += blockDim.x)
            sum = sum2_add(sum, p.r.partials[i * (1 + p.r.metric_count) + 1 + metric]);
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0)
            add_result(p.r, metric, sum);
    }
}
