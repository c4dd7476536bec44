#ifndef DEVICE_CUDA_PRODUCT_CUH
#define DEVICE_CUDA_PRODUCT_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/product.h"

/* Sums go over this many elements before they are added to the sums of sums: the rounding errors of
   a long sum stay those of a short one. */
#define PRODUCT_RUN 64

static __device__ inline float round_factor(float x, int rounding)
{
    union {
        float f;
        uint32_t u;
    } v;
    v.f = x;
    if (rounding == ROUND_NOTHING || (v.u & 0x7f800000u) == 0x7f800000u)
        return x;
    if (rounding == ROUND_TF32) /* to nearest, ties away from 0, as the hardware's conversion */
        v.u = (v.u + 0x1000u) & 0xffffe000u;
    else /* to nearest, ties to even */
        v.u = (v.u + 0x7fffu + (v.u >> 16 & 1u)) & 0xffff0000u;
    return v.f;
}

/* Linear, relu and leaky_relu; NaN stays NaN, which relu as a maximum would hide. */
static __device__ inline float bend(float x, float slope)
{
    return x < 0 ? slope == 0 ? 0.0f : slope * x : x;
}

/* Copies one operand to shared memory, DEPTH elements of k of T rows (C's columns for B) at a
   time, as [k][row] with T + 4 floats from one k to the next. `Operand` addresses the elements:
   Operand::origin for a row, Operand::walk for an advancing position along k, get(origin, walk)
   for the element. ALONG_K: neighbouring threads read neighbours along k, else neighbouring
   rows, whichever are adjacent in memory. */
template <int T, int DEPTH, bool ALONG_K, class Operand> struct tile_loader {
    enum {
        ITEMS = T * DEPTH / PRODUCT_THREADS,
        STEP = ALONG_K ? DEPTH : PRODUCT_THREADS / T /* along k, from item to item */
    };
    typename Operand::origin origins[ALONG_K ? ITEMS : 1];
    typename Operand::walk walk;
    int64_t k, end;
    float items[ITEMS];

    __device__ void begin(const Operand &o, int64_t row, int64_t from, int64_t to)
    {
        int t = (int)threadIdx.x;
        end = to;
        k = from + (ALONG_K ? t % DEPTH : t / T);
        o.start(walk, k);
#pragma unroll
        for (int i = 0; i < (ALONG_K ? ITEMS : 1); i++)
            o.find(origins[i], row + (ALONG_K ? t / DEPTH + i * (PRODUCT_THREADS / DEPTH) : t % T));
    }

    /* Load the next DEPTH elements into registers; 0 outside the operand. */
    __device__ void load(const Operand &o, int rounding)
    {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            float value = k < end ? o.get(origins[ALONG_K ? i : 0], walk) : 0.0f;
            items[i] = round_factor(value, rounding);
            if (!ALONG_K || i == ITEMS - 1) {
                k += STEP;
                o.advance(walk, STEP);
            }
        }
    }

    __device__ void store(float *shared) const
    {
        int t = (int)threadIdx.x;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            if (ALONG_K)
                shared[(t % DEPTH) * (T + 4) + t / DEPTH + i * (PRODUCT_THREADS / DEPTH)] =
                    items[i];
            else
                shared[(t / T + i * STEP) * (T + 4) + t % T] = items[i];
        }
    }
};

#define PRODUCT_SHARED (PRODUCT_DEPTH * (128 + 4 + 32 + 4))
#define PRODUCT_SHARED_32X32 (4 * PRODUCT_DEPTH * (32 + 4 + 32 + 4))

/* One thread's 4 rows of 4 columns of a tile of TM rows. */
static __device__ inline void product_step(const float *a, const float *b, float (&sums)[4][4])
{
    float4 x = load4(a, 0), y = load4(b, 0);
    const float rows[4] = {x.x, x.y, x.z, x.w}, columns[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            sums[i][j] = fmaf(rows[i], columns[j], sums[i][j]);
}

static __device__ void product_write(const product_blocking &c, int64_t group, int64_t row,
                                     int64_t column, const float (&sums)[4][4])
{
    float *to = c.c + group * c.group_step + (int64_t)blockIdx.z * c.slice_step;
    for (int i = 0; i < 4 && row + i < c.m; i++) {
        for (int j = 0; j < 4 && column + j < c.n; j++) {
            float value = sums[i][j];
            if (c.bias)
                value += c.bias[group * c.n + column + j];
            to[(row + i) * c.stride + column + j] = bend(value, c.slope);
        }
    }
}

/* The shares' sums, added in their order into the first share's. */
template <int SHARES>
static __device__ void product_add_shares(int share, int thread, float *shared, float (&sums)[4][4])
{
    const int threads = PRODUCT_THREADS / SHARES;
    if (share > 0)
        for (int i = 0; i < 16; i++)
            shared[((share - 1) * 16 + i) * threads + thread] = sums[i / 4][i % 4];
    __syncthreads();
    if (share == 0)
        for (int other = 0; other < SHARES - 1; other++)
            for (int i = 0; i < 16; i++)
                sums[i / 4][i % 4] += shared[(other * 16 + i) * threads + thread];
}

/* This block's tile. `shared`: PRODUCT_SHARED floats (PRODUCT_SHARED_32X32 for that tile), at a
   multiple of 16 bytes. */
template <int TM, int TN, bool A_ALONG_K, bool B_ALONG_K, class A, class B>
static __device__ void product_tile_run(const product_blocking &c, int64_t group, const A &a,
                                        const B &b, float *shared)
{
    enum {
        TILE_THREADS = TM * TN / 16,
        SHARES = PRODUCT_THREADS / TILE_THREADS,
        DEPTH = PRODUCT_DEPTH * SHARES,
        RUN = PRODUCT_RUN * SHARES
    };
    tile_loader<TM, DEPTH, A_ALONG_K, A> a_loader;
    tile_loader<TN, DEPTH, B_ALONG_K, B> b_loader;
    float *a_shared = shared, *b_shared = shared + DEPTH * (TM + 4);
    int64_t row = (int64_t)blockIdx.x % c.tiles_m * TM, column = (int64_t)blockIdx.y * TN;
    int64_t from = (int64_t)blockIdx.z * c.slice_depth, to = least(from + c.slice_depth, c.k);
    int thread = (int)threadIdx.x % TILE_THREADS, share = (int)threadIdx.x / TILE_THREADS;
    int my_row = thread / (TN / 4) * 4, my_column = thread % (TN / 4) * 4;
    float sums[4][4] = {}, run[4][4] = {};
    a_loader.begin(a, row, from, to);
    b_loader.begin(b, column, from, to);
    a_loader.load(a, c.rounding);
    b_loader.load(b, c.rounding);
    for (int64_t k = from; k < to; k += DEPTH) {
        a_loader.store(a_shared);
        b_loader.store(b_shared);
        __syncthreads();
        if (k + DEPTH < to) { /* loaded while the ones in shared memory are multiplied */
            a_loader.load(a, c.rounding);
            b_loader.load(b, c.rounding);
        }
#pragma unroll
        for (int i = 0; i < PRODUCT_DEPTH; i++) {
            int at = share * PRODUCT_DEPTH + i;
            product_step(a_shared + at * (TM + 4) + my_row, b_shared + at * (TN + 4) + my_column,
                         run);
        }
        if ((k - from) % RUN == RUN - DEPTH || k + DEPTH >= to)
#pragma unroll
            for (int i = 0; i < 16; i++) {
                sums[i / 4][i % 4] += run[i / 4][i % 4];
                run[i / 4][i % 4] = 0;
            }
        __syncthreads();
    }
    if (SHARES > 1)
        product_add_shares<SHARES>(share, thread, shared, sums);
    if (share == 0)
        product_write(c, group, row + my_row, column + my_column, sums);
}

/* The group of this block. */
static __device__ inline int64_t product_group(const product_blocking &c)
{
    return (int64_t)blockIdx.x / c.tiles_m;
}

/* An operand that is a matrix: row * row_step + k * k_step. */
struct matrix_operand {
    const float *from;
    int64_t rows, row_step, k_step;
    typedef int64_t origin, walk;

    __device__ void find(origin &p, int64_t row) const
    {
        p = row < rows ? row * row_step : -1;
    }
    __device__ void start(walk &w, int64_t k) const
    {
        w = k * k_step;
    }
    __device__ void advance(walk &w, int step) const
    {
        w += step * k_step;
    }
    __device__ float get(const origin &p, const walk &w) const
    {
        return p < 0 ? 0.0f : from[p + w];
    }
};

static __device__ inline matrix_operand matrix(const float *from, int64_t rows, int64_t row_step,
                                               int64_t k_step)
{
    matrix_operand m;
    m.from = from;
    m.rows = rows;
    m.row_step = row_step;
    m.k_step = k_step;
    return m;
}

template <bool A_ALONG_K, bool B_ALONG_K>
static __device__ void product_run(const product_blocking &c, const matrix_operand &a,
                                   const matrix_operand &b, float *shared)
{
    if (c.tile == PRODUCT_64X64)
        product_tile_run<64, 64, A_ALONG_K, B_ALONG_K>(c, 0, a, b, shared);
    else if (c.tile == PRODUCT_128X32)
        product_tile_run<128, 32, A_ALONG_K, B_ALONG_K>(c, 0, a, b, shared);
    else
        product_tile_run<32, 128, A_ALONG_K, B_ALONG_K>(c, 0, a, b, shared);
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2)
    cornu_product_nn(product_nn_params p)
{
    alignas(16) __shared__ float shared[PRODUCT_SHARED];
    product_run<true, false>(p.blocking, matrix(p.a, p.blocking.m, p.a_stride, 1),
                             matrix(p.b, p.blocking.n, 1, p.b_stride), shared);
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2)
    cornu_product_nt(product_nt_params p)
{
    alignas(16) __shared__ float shared[PRODUCT_SHARED];
    product_run<true, true>(p.blocking, matrix(p.a, p.blocking.m, p.a_stride, 1),
                            matrix(p.b, p.blocking.n, p.b_stride, 1), shared);
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2)
    cornu_product_tn(product_tn_params p)
{
    alignas(16) __shared__ float shared[PRODUCT_SHARED];
    product_run<false, false>(p.blocking, matrix(p.a, p.blocking.m, 1, p.a_stride),
                              matrix(p.b, p.blocking.n, 1, p.b_stride), shared);
}

static __device__ inline float reduce_end(const reduce_slices_params &p, int64_t i, float sum)
{
    if (p.bias) {
        int64_t column;
        divide(i, p.columns, &column);
        sum += p.bias[column];
    }
    return bend(sum, p.slope);
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS)
    cornu_reduce_slices(reduce_slices_params p)
{
    for (EACH(i, p.count)) {
        float sum = p.partials[i];
        for (int slice = 1; slice < p.partial_count; slice++)
            sum += p.partials[slice * p.count + i];
        p.y[i] = reduce_end(p, i, sum);
    }
}

/* For few sums with many slices: the latencies of their reads overlap. */
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS)
    cornu_reduce_many_slices(reduce_many_slices_params p)
{
    __shared__ float sums[REDUCE_SHARES][REDUCE_LANES];
    int lane = (int)threadIdx.x % REDUCE_LANES, share = (int)threadIdx.x / REDUCE_LANES;
    int64_t i = (int64_t)blockIdx.x * REDUCE_LANES + lane;
    int each = (p.partial_count + REDUCE_SHARES - 1) / REDUCE_SHARES;
    int slice = share * each, end = slice + each < p.partial_count ? slice + each : p.partial_count;
    float sum = 0;
    if (i < p.count)
#pragma unroll 8
        for (; slice < end; slice++)
            sum += p.partials[slice * p.count + i];
    sums[share][lane] = sum;
    __syncthreads();
    if (share > 0 || i >= p.count)
        return;
    for (int other = 1; other < REDUCE_SHARES; other++)
        sum += sums[other][lane];
    p.y[i] = reduce_end(p, i, sum);
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS) cornu_widen_bf16(widen_bf16_params p)
{
    for (EACH(i, p.count)) {
        union {
            uint32_t u;
            float f;
        } v;
        v.u = (uint32_t)p.x[i] << 16;
        if (p.bias) {
            int64_t column;
            divide(i, p.columns, &column);
            v.f += p.bias[column];
        }
        p.y[i] = bend(v.f, p.slope);
    }
}

/* A tile a block and turn, by way of shared memory, so that both sides are read and written in rows
   of 32 floats; a column more than the tile has keeps a column's reads off one bank. */
extern "C" __global__ void __launch_bounds__(TRANSPOSE_THREADS) cornu_transpose(transpose_params p)
{
    __shared__ float tile[TRANSPOSE_TILE][TRANSPOSE_TILE + 1];
    int64_t down = (p.rows + TRANSPOSE_TILE - 1) / TRANSPOSE_TILE;
    int64_t across = (p.columns + TRANSPOSE_TILE - 1) / TRANSPOSE_TILE;
    unsigned lane = threadIdx.x % TRANSPOSE_TILE, first = threadIdx.x / TRANSPOSE_TILE;
    for (int64_t i = blockIdx.x; i < p.matrices * down * across; i += gridDim.x) {
        int64_t in_matrix, left;
        int64_t base = divide(i, down * across, &in_matrix) * p.rows * p.columns;
        int64_t row = divide(in_matrix, across, &left) * TRANSPOSE_TILE;
        int64_t column = left * TRANSPOSE_TILE;
        for (unsigned k = first; k < TRANSPOSE_TILE; k += TRANSPOSE_THREADS / TRANSPOSE_TILE)
            if (row + k < p.rows && column + lane < p.columns)
                tile[k][lane] = p.x[base + (row + k) * p.columns + column + lane];
        __syncthreads();
        for (unsigned k = first; k < TRANSPOSE_TILE; k += TRANSPOSE_THREADS / TRANSPOSE_TILE)
            if (column + k < p.columns && row + lane < p.rows)
                p.y[base + (column + k) * p.rows + row + lane] = tile[lane][k];
        __syncthreads();
    }
}

#endif
