#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/dense_update.h"
#include "device/cuda/plugin/kernels/product.cuh"
#include "device/cuda/plugin/kernels/update.cuh"

static_assert(2 * DENSE_UPDATE_DEPTH == DENSE_UPDATE_TILE, "both strips fill the tile's memory");

/* DENSE_UPDATE_DEPTH rows of DENSE_UPDATE_TILE columns of a matrix [rows][width]; 0 outside. */
static __device__ inline void load_strip(const float *from, int64_t rows, int64_t width,
                                         int64_t row, int64_t column, int rounding, float *to)
{
    const int packs = DENSE_UPDATE_TILE / 4;
    for (int i = (int)threadIdx.x; i < DENSE_UPDATE_DEPTH * packs; i += DENSE_UPDATE_THREADS) {
        int64_t r = row + i / packs, c = column + i % packs * 4;
        const float *at = from + r * width + c;
        float4 v = {0, 0, 0, 0};
        if (r < rows && c < width) {
            if (width % 4 == 0) {
                v = load4(at, 0);
            } else {
                v.x = at[0];
                v.y = c + 1 < width ? at[1] : 0;
                v.z = c + 2 < width ? at[2] : 0;
                v.w = c + 3 < width ? at[3] : 0;
            }
        }
        v.x = round_factor(v.x, rounding);
        v.y = round_factor(v.y, rounding);
        v.z = round_factor(v.z, rounding);
        v.w = round_factor(v.w, rounding);
        store4(to, i * 4, v);
    }
}

/* A tile of dW into `shared`, which holds the strips of x and dy before: 4 x 4 sums a thread. */
static __device__ inline void sum_tile(const dense_update_layer &l, const dense_update_tile &t,
                                       int rounding, float *shared)
{
    float *x = shared, *dy = shared + DENSE_UPDATE_DEPTH * DENSE_UPDATE_TILE;
    float sums[4][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    int i = (int)threadIdx.x / 16 * 4, j = (int)threadIdx.x % 16 * 4;
    for (int row = 0; row < l.rows; row += DENSE_UPDATE_DEPTH) {
        __syncthreads();
        load_strip(l.x, l.rows, l.in, row, t.in, rounding, x);
        load_strip(l.dy, l.rows, l.units, row, t.unit, rounding, dy);
        __syncthreads();
        int depth = l.rows - row < DENSE_UPDATE_DEPTH ? l.rows - row : DENSE_UPDATE_DEPTH;
        for (int k = 0; k < depth; k++)
            product_step(x + k * DENSE_UPDATE_TILE + i, dy + k * DENSE_UPDATE_TILE + j, sums);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float4 four = {sums[k][0], sums[k][1], sums[k][2], sums[k][3]};
        store4(shared, (i + k) * DENSE_UPDATE_TILE + j, four);
    }
    __syncthreads();
}

/* The bias' gradient is the columns' sums of dy, each by four threads; then its own step. */
template <typename rule>
static __device__ inline void update_bias(const dense_update_layer &l, const dense_update_tile &t,
                                          const optimizer_constants &f, sum2 *shared)
{
    int column = (int)threadIdx.x % DENSE_UPDATE_TILE, lane = (int)threadIdx.x / DENSE_UPDATE_TILE;
    const int lanes = DENSE_UPDATE_THREADS / DENSE_UPDATE_TILE;
    int64_t unit = t.unit + column;
    sum2 sum = sum2_of(0);
    for (int64_t row = lane; unit < l.units && row < l.rows; row += lanes)
        sum = sum2_plus(sum, l.dy[row * l.units + unit]);
    sum = sum2_settled(sum);
    __syncthreads(); /* shared was the tile's */
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (lane > 0 || unit >= l.units)
        return;
    for (int k = 1; k < lanes; k++)
        sum = sum2_add(sum, shared[k * DENSE_UPDATE_TILE + column]);
    step1<rule>(f, l.bias, l.bias_slot, unit, sum2_value(sum));
}

template <typename rule>
static __device__ inline void update_tile(const dense_update_params &p, float *shared)
{
    const dense_update_tile t = p.tiles[blockIdx.x];
    const dense_update_layer l = p.layers[t.layer];
    const int packs = DENSE_UPDATE_TILE / 4;
    sum_tile(l, t, p.rounding, shared);
    const optimizer_constants f = constants_of(p.update, 0); /* not before: registers are short there */
    for (int i = (int)threadIdx.x; i < DENSE_UPDATE_TILE * packs; i += DENSE_UPDATE_THREADS) {
        int in = t.in + i / packs, unit = t.unit + i % packs * 4;
        int64_t at = (int64_t)in * l.units + unit;
        if (in >= l.in || unit >= l.units)
            continue;
        if (l.units % 4 == 0)
            step4<rule>(f, l.w, l.slot, at, load4(shared, i * 4));
        else
            for (int j = 0; j < 4 && unit + j < l.units; j++)
                step1<rule>(f, l.w, l.slot, at + j, shared[i * 4 + j]);
    }
    if (l.bias && t.in == 0)
        update_bias<rule>(l, t, f, (sum2 *)(void *)shared);
}

template <typename rule> static __device__ inline void dense_update(const dense_update_params &p)
{
    alignas(16) __shared__ float shared[DENSE_UPDATE_TILE * DENSE_UPDATE_TILE];
    if (blockIdx.x < (unsigned)p.tile_count)
        update_tile<rule>(p, shared);
    else
        update_one<rule>(p.update, blockIdx.x - (unsigned)p.tile_count);
}

#define OPTIMIZER(id, ...)                                              \
    extern "C" __global__ void __launch_bounds__(DENSE_UPDATE_THREADS, 3) \
        cornu_dense_update_##id(dense_update_##id##_params p)           \
    {                                                                   \
        dense_update<rule_of_##id>(p);                                  \
    }
#include "model/optimizers.def"
