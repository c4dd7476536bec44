/* In doubles, as device/reference/batch_norm.c: bound by memory all the same. */
#include "device/cuda/plugin/kernels/batch_norm.h"
#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/strips.cuh"

static __device__ inline double or_else(const float *values, int64_t i, double missing)
{
    return values ? (double)values[i] : missing;
}

/* Both sums of the partial sums of this thread's column. */
static __device__ inline void total_of(const sum_strips &t, const strip_walk &w, const double *partials,
                                       int64_t count, double *shared, double *first, double *second)
{
    double a = 0, b = 0;
    for (int64_t i = (int)threadIdx.x / t.width; w.active && i < count; i += w.step) {
        a += partials[2 * i * t.columns + w.column];
        b += partials[(2 * i + 1) * t.columns + w.column];
    }
    *first = strip_sum(t, a, shared);
    *second = strip_sum(t, b, shared);
}

static __device__ inline void store_partials(const sum_strips &t, const strip_walk &w, double a,
                                          double b, double *shared, double *partials)
{
    a = strip_sum(t, a, shared);
    b = strip_sum(t, b, shared);
    if (!w.active || (int)threadIdx.x >= t.width)
        return;
    partials[2 * blockIdx.y * t.columns + w.column] = a;
    partials[(2 * blockIdx.y + 1) * t.columns + w.column] = b;
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_sums(batch_norm_sums_params p)
{
    __shared__ double shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    double sum = 0, squares = 0, start = w.active ? (double)p.x[w.column] : 0;
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        double x = (double)p.x[row * p.t.columns + w.column] - start;
        sum += x;
        squares += x * x;
    }
    store_partials(p.t, w, sum, squares, shared, p.partials);
}

static __device__ inline void normalize(const sum_strips &t, const strip_walk &w, const float *x,
                                        double mean, double scale, double beta, float *y)
{
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        int64_t at = row * t.columns + w.column;
        y[at] = (float)(((double)x[at] - mean) * scale + beta);
    }
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_forward(batch_norm_forward_params p)
{
    __shared__ double shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    double sum, squares, rows = (double)p.t.rows, momentum = (double)p.momentum;
    total_of(p.t, w, p.partials, p.partial_count, shared, &sum, &squares);
    if (!w.active)
        return;
    int64_t c = w.column;
    double shift = sum / rows, mean = (double)p.x[c] + shift;
    double variance = squares / rows - shift * shift;
    variance = variance < 0 ? 0 : variance;
    double inverse = 1 / sqrt(variance + (double)p.epsilon);
    if (blockIdx.y == 0 && (int)threadIdx.x < p.t.width) {
        p.mean[c] = (float)mean;
        p.inverse[c] = (float)inverse;
        p.moving_mean[c] = (float)((double)p.moving_mean[c] * momentum + mean * (1 - momentum));
        p.moving_variance[c] =
            (float)((double)p.moving_variance[c] * momentum + variance * (1 - momentum));
    }
    normalize(p.t, w, p.x, mean, inverse * or_else(p.gamma, c, 1), or_else(p.beta, c, 0), p.y);
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_inference(batch_norm_inference_params p)
{
    strip_walk w = walk_of(p.t);
    if (!w.active)
        return;
    int64_t c = w.column;
    double inverse = 1 / sqrt((double)p.moving_variance[c] + (double)p.epsilon);
    normalize(p.t, w, p.x, (double)p.moving_mean[c], inverse * or_else(p.gamma, c, 1),
              or_else(p.beta, c, 0), p.y);
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_backward_sums(batch_norm_backward_sums_params p)
{
    __shared__ double shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    double dbeta = 0, dgamma = 0, mean = 0, inverse = 0;
    if (w.active) {
        mean = (double)p.mean[w.column];
        inverse = (double)p.inverse[w.column];
    }
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        int64_t at = row * p.t.columns + w.column;
        double dy = (double)p.dy[at];
        dbeta += dy;
        dgamma += dy * ((double)p.x[at] - mean) * inverse;
    }
    store_partials(p.t, w, dbeta, dgamma, shared, p.partials);
}

/* dx = gamma inverse (dy - dbeta / rows - h dgamma / rows), h = (x - mean) inverse */
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_backward(batch_norm_backward_params p)
{
    __shared__ double shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    double dbeta, dgamma, rows = (double)p.t.rows;
    total_of(p.t, w, p.partials, p.partial_count, shared, &dbeta, &dgamma);
    if (!w.active)
        return;
    int64_t c = w.column;
    if (blockIdx.y == 0 && (int)threadIdx.x < p.t.width) {
        if (p.dgamma)
            p.dgamma[c] = (float)dgamma;
        if (p.dbeta)
            p.dbeta[c] = (float)dbeta;
    }
    double mean = (double)p.mean[c], inverse = (double)p.inverse[c];
    double scale = or_else(p.gamma, c, 1) * inverse;
    double from_beta = dbeta / rows, from_gamma = dgamma / rows * inverse;
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        int64_t at = row * p.t.columns + w.column;
        double centered = (double)p.x[at] - mean;
        p.dx[at] = (float)(scale * ((double)p.dy[at] - from_beta - centered * from_gamma));
    }
}
