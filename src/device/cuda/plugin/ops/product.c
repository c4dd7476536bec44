#include "device/cuda/plugin/ops/product.h"

enum {
    BLOCKS_WANTED = 264, /* two for each multiprocessor of the largest GPUs of today */
    SLICE_LEAST =
        128, /* minimum depth of a slice: below, reducing the slices costs more than they save */
    SLICES_MANY = 32, /* from here on each sum of them is made by several threads */
    SUM_PER_THREAD = 2,
    FEW = 32 /* rows or columns of a flat tile */
};
#define SLICES_BYTES ((size_t)64 << 20)
#define GRID_MOST 65535 /* along y and z */

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

bool product_slope(activation act, float *slope)
{
    *slope = act.kind == ACTIVATION_RELU ? 0 : act.kind == ACTIVATION_LEAKY_RELU ? act.alpha : 1;
    return act.kind == ACTIVATION_LINEAR || act.kind == ACTIVATION_RELU ||
           act.kind == ACTIVATION_LEAKY_RELU;
}

static const struct {
    int64_t rows, columns;
} tile_sizes[] = {[PRODUCT_64X64] = {64, 64},
                  [PRODUCT_128X32] = {128, 32},
                  [PRODUCT_32X128] = {32, 128},
                  [PRODUCT_32X32] = {32, 32}};

/* Elements that the tiles of a product cover, including those outside it. */
static int64_t covered(int64_t m, int64_t n, product_tile tile)
{
    int64_t rows = tile_sizes[tile].rows, columns = tile_sizes[tile].columns;
    return divide_up(m, rows) * rows * divide_up(n, columns) * columns;
}

/* The smallest tile reads more for each product, which must be half of them to be worth it. */
static product_tile choose_tile(int64_t m, int64_t n, unsigned tiles)
{
    product_tile tile = PRODUCT_64X64;
    if (m <= FEW && tiles & 1u << PRODUCT_32X128)
        tile = PRODUCT_32X128;
    else if (n <= FEW && tiles & 1u << PRODUCT_128X32)
        tile = PRODUCT_128X32;
    if (tiles & 1u << PRODUCT_32X32 && 2 * covered(m, n, PRODUCT_32X32) <= covered(m, n, tile))
        tile = PRODUCT_32X32;
    return tile;
}

/* Choose enough slices of k to fill the GPU. */
static void choose_slices(product *q, int64_t blocks)
{
    int64_t k = q->blocking.k, slices = BLOCKS_WANTED / blocks;
    int64_t most = (int64_t)(SLICES_BYTES / sizeof(float)) / q->count;
    slices = slices < k / SLICE_LEAST ? slices : k / SLICE_LEAST;
    slices = slices < most ? slices : most;
    if (slices < 1)
        slices = 1;
    q->blocking.slice_depth = divide_up(divide_up(k, slices), PRODUCT_DEPTH) * PRODUCT_DEPTH;
    q->slices = divide_up(k, q->blocking.slice_depth);
    if (q->slices > 1)
        q->scratch_bytes = (size_t)(q->slices * q->count) * sizeof(float);
}

cornu_status product_choose(const gpu *g, int64_t m, int64_t n, int64_t k, int64_t groups,
                            unsigned tiles, int64_t stride, int64_t group_step, product *out)
{
    static const product_rounding rounding[] = {[PRECISION_FP32] = ROUND_NOTHING,
                                                [PRECISION_TF32] = ROUND_TF32,
                                                [PRECISION_BF16] = ROUND_BF16};
    product_tile tile = choose_tile(m, n, tiles);
    int64_t rows = tile_sizes[tile].rows, columns = tile_sizes[tile].columns;
    *out = (product){.blocking = {.m = m,
                                  .n = n,
                                  .k = k,
                                  .tiles_m = divide_up(m, rows),
                                  .stride = stride,
                                  .group_step = group_step,
                                  .tile = tile,
                                  .rounding = rounding[g->precision]},
                     .tiles_n = divide_up(n, columns),
                     .groups = groups,
                     .count = groups * m * n,
                     .columns = stride};
    int64_t blocks = out->blocking.tiles_m * groups;
    if (blocks > INT32_MAX || out->tiles_n > GRID_MOST)
        return status_fail(
            CORNU_UNSUPPORTED,
            "found a product of %lld by %lld elements; expected at most %lld columns",
            (long long)(m * groups), (long long)n, (long long)(GRID_MOST * columns));
    choose_slices(out, blocks * out->tiles_n);
    return CORNU_OK;
}

static cornu_status reduce_slices(gpu *g, const product *q, gpu_address partials, gpu_address bias,
                                  gpu_address c, float slope)
{
    const reduce_slices_params p = {.partials = device_floats(partials),
                                    .bias = device_floats(bias),
                                    .y = (float *)(uintptr_t)c,
                                    .count = q->count,
                                    .columns = q->columns,
                                    .partial_count = (int32_t)q->slices,
                                    .slope = slope};
    bool many = q->slices >= SLICES_MANY;
    const cuda_grid grid = {
        .x = (unsigned)gpu_blocks(q->count, many ? REDUCE_LANES : PRODUCT_THREADS * SUM_PER_THREAD,
                                  0),
        .threads = PRODUCT_THREADS};
    return cuda_launch(g, many ? CUDA_reduce_many_slices : CUDA_reduce_slices, grid, &p);
}

cornu_status product_enqueue(gpu *g, cuda_function kernel, const product *q,
                             product_blocking *params, gpu_address scratch, gpu_address bias,
                             gpu_address c, activation act)
{
    const cuda_grid grid = {.x = (unsigned)(q->blocking.tiles_m * q->groups),
                            .y = (unsigned)q->tiles_n,
                            .z = (unsigned)q->slices,
                            .threads = PRODUCT_THREADS};
    float slope;
    bool in_epilogue = product_slope(act, &slope), sliced = q->slices > 1;
    *params = q->blocking;
    params->c = (float *)(uintptr_t)(sliced ? scratch : c);
    params->slice_step = sliced ? q->count : 0;
    params->bias = sliced ? NULL : device_floats(bias);
    params->slope = sliced ? 1 : slope;
    TRY(cuda_launch(g, kernel, grid, params));
    if (sliced)
        TRY(reduce_slices(g, q, scratch, bias, c, slope));
    return in_epilogue ? CORNU_OK
                       : cuda_bias_activation(g, c, 0, c, q->count / q->columns, q->columns, act);
}
