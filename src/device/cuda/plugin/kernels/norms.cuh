/* Normalization over the last dimension. */
#ifndef DEVICE_CUDA_PLUGIN_KERNELS_NORMS_CUH
#define DEVICE_CUDA_PLUGIN_KERNELS_NORMS_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/norms.h"
#include "device/cuda/plugin/kernels/sums.cuh"

/* ---- batch normalization ----------------------------------------------------------------- */

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
        if (p.moving_mean) {
            p.moving_mean[c] = p.moving_mean[c] * p.momentum + mean.x * (1 - p.momentum);
            p.moving_variance[c] = p.moving_variance[c] * p.momentum + variance * (1 - p.momentum);
        }
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
    normalize(p.t, w, p.x, sum2_of(or_else(p.moving_mean, c, 0)), inverse * or_else(p.gamma, c, 1),
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

/* ---- layer normalization ----------------------------------------------------------------- */

/* Sum over the lanes of a row, for all of them; `shared`: one for each warp. Every thread of the
   block must call it. */
static __device__ inline sum2 norm_sum(sum2 value, int lanes, sum2 *shared)
{
    if (lanes <= WARP)
        return lanes_sum(value, lanes);
    int warp = (int)threadIdx.x / WARP, warps = lanes / WARP, first = warp / warps * warps;
    value = lanes_sum(value, WARP);
    __syncthreads(); /* shared may still be read from the call before */
    if (threadIdx.x % WARP == 0)
        shared[warp] = value;
    __syncthreads();
    sum2 sum = shared[first];
    for (int i = 1; i < warps; i++)
        sum = sum2_add(sum, shared[first + i]);
    return sum;
}

/* This thread's row of round `first`, and its elements [begin, end) in steps of the lanes; none
   where the row does not exist. */
typedef struct norm_row {
    int64_t row, begin, end;
    int lane;
    bool there;
} norm_row;

static __device__ inline norm_row row_of(int64_t first, int64_t rows, int64_t n, int lanes)
{
    norm_row w;
    w.row = first + (int)threadIdx.x / lanes;
    w.lane = (int)threadIdx.x & (lanes - 1);
    w.there = w.row < rows;
    w.begin = w.row * n;
    w.end = w.there ? w.begin + n : 0;
    return w;
}

/* All threads of a block make the same number of rounds, as they wait for each other. */
#define NORM_ROUNDS(first, p)                                         \
    int64_t first = (int64_t)blockIdx.x * (NORM_THREADS / (p).lanes); \
    first < (p).rows;                                                 \
    first += (int64_t)gridDim.x * (NORM_THREADS / (p).lanes)

extern "C" __global__ void __launch_bounds__(NORM_THREADS)
    cornu_layer_norm_forward(layer_norm_forward_params p)
{
    __shared__ sum2 shared[NORM_THREADS / WARP];
    for (NORM_ROUNDS(first, p)) {
        norm_row w = row_of(first, p.rows, p.n, p.lanes);
        sum2 sum = sum2_of(0), squares = sum2_of(0);
        for (int64_t i = w.begin + w.lane; i < w.end; i += p.lanes)
            sum = sum2_plus(sum, p.x[i]);
        sum2 mean = sum2_times(norm_sum(sum2_settled(sum), p.lanes, shared), p.share);
        for (int64_t i = w.begin + w.lane; i < w.end; i += p.lanes) {
            float d = (p.x[i] - mean.x) - mean.y;
            squares = sum2_plus(squares, d * d);
        }
        squares = norm_sum(sum2_settled(squares), p.lanes, shared);
        float inverse = 1 / sqrtf(sum2_value(sum2_times(squares, p.share)) + p.epsilon);
        for (int64_t c = w.lane, i = w.begin + c; i < w.end; i += p.lanes, c += p.lanes)
            p.y[i] = ((p.x[i] - mean.x) - mean.y) * inverse * or_else(p.gamma, c, 1) +
                     or_else(p.beta, c, 0);
        if (w.lane == 0 && w.there && p.mean)
            p.mean[w.row] = mean.x;
        if (w.lane == 0 && w.there && p.inverse)
            p.inverse[w.row] = inverse;
    }
}

/* With h = (x - mean) inverse and g = dy gamma: dx = inverse (g - mean of g - h mean of g h) */
extern "C" __global__ void __launch_bounds__(NORM_THREADS)
    cornu_layer_norm_backward(layer_norm_backward_params p)
{
    __shared__ sum2 shared[NORM_THREADS / WARP];
    for (NORM_ROUNDS(first, p)) {
        norm_row w = row_of(first, p.rows, p.n, p.lanes);
        float mean = w.there ? p.mean[w.row] : 0, inverse = w.there ? p.inverse[w.row] : 0;
        sum2 sum = sum2_of(0), product = sum2_of(0);
        for (int64_t c = w.lane, i = w.begin + c; i < w.end; i += p.lanes, c += p.lanes) {
            float g = p.dy[i] * or_else(p.gamma, c, 1);
            sum = sum2_plus(sum, g);
            product = sum2_plus(product, g * ((p.x[i] - mean) * inverse));
        }
        sum = sum2_times(norm_sum(sum2_settled(sum), p.lanes, shared), p.share);
        product = sum2_times(norm_sum(sum2_settled(product), p.lanes, shared), p.share);
        for (int64_t c = w.lane, i = w.begin + c; i < w.end; i += p.lanes, c += p.lanes) {
            float g = p.dy[i] * or_else(p.gamma, c, 1), h = (p.x[i] - mean) * inverse;
            p.dx[i] = inverse * ((g - sum2_value(sum)) - h * sum2_value(product));
        }
    }
}

/* ---- gamma's and beta's gradients ----------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_layer_norm_sums(layer_norm_sums_params p)
{
    __shared__ sum2 shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    sum2 dbeta = sum2_of(0), dgamma = sum2_of(0);
    for (int64_t row = w.begin; row < w.end; row += w.step) {
        int64_t at = row * p.t.columns + w.column;
        float dy = p.dy[at];
        dbeta = sum2_plus(dbeta, dy);
        dgamma = sum2_plus(dgamma, dy * ((p.x[at] - p.mean[row]) * p.inverse[row]));
    }
    store_partials(p.t, w, dbeta, dgamma, shared, p.partials);
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    cornu_layer_norm_gradients(layer_norm_gradients_params p)
{
    __shared__ sum2 shared[SUM_THREADS];
    strip_walk w = walk_of(p.t);
    sum2 dbeta, dgamma;
    total_of(p.t, w, p.partials, p.t.rows, shared, &dbeta, &dgamma);
    if (!w.active || (int)threadIdx.x >= p.t.width)
        return;
    if (p.dgamma)
        p.dgamma[w.column] = sum2_value(dgamma);
    if (p.dbeta)
        p.dbeta[w.column] = sum2_value(dbeta);
}

#endif
