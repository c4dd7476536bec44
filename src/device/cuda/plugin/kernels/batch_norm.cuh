#include "device/cuda/plugin/kernels/batch_norm.h"
#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/strips.cuh"

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_sums(batch_norm_sums_params p)
{
    __shared__ sum2 shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    sum2 sum = sum2_of(0), squares = sum2_of(0);
    float start = w.active ? p.x[w.column] : 0;
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        float d = p.x[row * p.t.columns + w.column] - start;
        sum2 square = sum2_product(d, d);
        sum = sum2_plus(sum, d);
        squares = sum2_plus(squares, square.x);
        squares.y += square.y;
    }
    store_partials(p.t, w, sum, squares, shared, p.partials);
}

static __device__ inline void normalize(const sum_strips &t, const strip_walk &w, const float *x,
                                        sum2 mean, float scale, float beta, float *y)
{
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        int64_t at = row * t.columns + w.column;
        y[at] = ((x[at] - mean.x) - mean.y) * scale + beta;
    }
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_forward(batch_norm_forward_params p)
{
    __shared__ sum2 shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    sum2 sum, squares;
    total_of(p.t, w, p.partials, p.partial_count, shared, &sum, &squares);
    if (!w.active)
        return;
    int64_t c = w.column;
    sum2 shift = sum2_times(sum, p.share), mean = sum2_add(sum2_of(p.x[c]), shift);
    sum2 spread = sum2_add(sum2_times(squares, p.share), sum2_negative(sum2_times(shift, shift)));
    float variance = sum2_value(spread);
    variance = variance < 0 ? 0 : variance;
    float inverse = 1 / sqrtf(variance + p.epsilon);
    if (blockIdx.y == 0 && (int)threadIdx.x < p.t.width) {
        p.mean[c] = mean.x;
        p.inverse[c] = inverse;
        p.moving_mean[c] = p.moving_mean[c] * p.momentum + mean.x * (1 - p.momentum);
        p.moving_variance[c] = p.moving_variance[c] * p.momentum + variance * (1 - p.momentum);
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
    float inverse = 1 / sqrtf(p.moving_variance[c] + p.epsilon);
    normalize(p.t, w, p.x, sum2_of(p.moving_mean[c]), inverse * or_else(p.gamma, c, 1),
              or_else(p.beta, c, 0), p.y);
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_backward_sums(batch_norm_backward_sums_params p)
{
    __shared__ sum2 shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    sum2 dbeta = sum2_of(0), dgamma = sum2_of(0);
    float mean = w.active ? p.mean[w.column] : 0, inverse = w.active ? p.inverse[w.column] : 0;
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        int64_t at = row * p.t.columns + w.column;
        float dy = p.dy[at];
        dbeta = sum2_plus(dbeta, dy);
        dgamma = sum2_plus(dgamma, dy * ((p.x[at] - mean) * inverse));
    }
    store_partials(p.t, w, dbeta, dgamma, shared, p.partials);
}

/* dx = gamma inverse (dy - dbeta / rows - h dgamma / rows), h = (x - mean) inverse */
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_batch_norm_backward(batch_norm_backward_params p)
{
    __shared__ sum2 shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    sum2 dbeta, dgamma;
    total_of(p.t, w, p.partials, p.partial_count, shared, &dbeta, &dgamma);
    if (!w.active)
        return;
    int64_t c = w.column;
    if (blockIdx.y == 0 && (int)threadIdx.x < p.t.width) {
        if (p.dgamma)
            p.dgamma[c] = sum2_value(dgamma);
        if (p.dbeta)
            p.dbeta[c] = sum2_value(dbeta);
    }
    float mean = p.mean[c], inverse = p.inverse[c];
    float scale = or_else(p.gamma, c, 1) * inverse;
    float from_beta = sum2_value(sum2_times(dbeta, p.share));
    float from_gamma = sum2_value(sum2_times(dgamma, p.share)) * inverse;
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        int64_t at = row * p.t.columns + w.column;
        p.dx[at] = scale * ((p.dy[at] - from_beta) - (p.x[at] - mean) * from_gamma);
    }
}
