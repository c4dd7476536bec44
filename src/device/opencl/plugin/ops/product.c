#include "device/opencl/plugin/ops/product.h"

enum {
    SLICE_LEAST = 128, /* of k: below, adding the slices up costs more than they save */
    SLICE_MOST = 1024, /* above, rounding errors of a sum grow too large */
    SLICES_MOST = 128,
    SIZE_MOST = 1 << 30 /* rows, columns, depth: kernels count in int */
};
#define SLICES_BYTES ((int64_t)64 << 20)

static void tile_of(const gpu *g, product_shape tile, int64_t *m, int64_t *n)
{
    const opencl_blocking *b = &opencl_of(g)->blocking;
    *m = tile == PRODUCT_SQUARE ? b->gemm_m : tile == PRODUCT_WIDE ? b->gemm_m / 2 : b->gemm_m * 2;
    *n = tile == PRODUCT_SQUARE ? b->gemm_n : tile == PRODUCT_WIDE ? b->gemm_n * 2 : b->gemm_n / 2;
}

/* The shape whose tiles reach least beyond the matrix. */
static void choose_shape(const gpu *g, product *q)
{
    int64_t best = INT64_MAX, m, n;
    for (int s = PRODUCT_SQUARE; s <= PRODUCT_TALL; s++) {
        tile_of(g, (product_shape)s, &m, &n);
        int64_t tiles_m = product_divide_up(q->size.m, m);
        int64_t tiles_n = product_divide_up(q->size.n, n);
        if (tiles_m * tiles_n >= best)
            continue;
        best = tiles_m * tiles_n;
        q->shape = (product_shape)s;
        q->tiles_m = tiles_m;
        q->tiles_n = tiles_n;
    }
}

/* As many slices of k as give every compute unit work. */
static void choose_slices(const gpu *g, product *q)
{
    const opencl_blocking *b = &opencl_of(g)->blocking;
    int64_t k = q->size.k, groups = q->tiles_m * q->tiles_n * q->size.batch;
    int64_t slices = b->split_groups / groups, fit = SLICES_BYTES / 4 / q->size.count;
    slices = slices < SLICES_MOST ? slices : SLICES_MOST;
    slices = slices < k / SLICE_LEAST ? slices : k / SLICE_LEAST;
    slices = slices < fit ? slices : fit;
    int64_t least = product_divide_up(k, SLICE_MOST);
    least = least < SLICES_MOST ? least : SLICES_MOST;
    if (slices < least)
        slices = q->size.count < SIZE_MOST ? least : 1;
    q->slice_depth = product_divide_up(product_divide_up(k, slices), b->gemm_k) * b->gemm_k;
    q->slices = product_divide_up(k, q->slice_depth);
    q->scratch_bytes = q->slices > 1 ? (size_t)(q->slices * q->size.count) * sizeof(float) : 0;
}

cornu_status product_choose(const gpu *g, const product_size *size, product *out)
{
    *out = (product){.size = *size};
    if (size->m > SIZE_MOST || size->n > SIZE_MOST || size->k > SIZE_MOST)
        return status_fail(CORNU_UNSUPPORTED,
                           "found a product of %lld by %lld by %lld; expected at most %d each",
                           (long long)size->m, (long long)size->n, (long long)size->k, SIZE_MOST);
    choose_shape(g, out);
    choose_slices(g, out);
    return CORNU_OK;
}

product_result product_target(const product *q, const product_result *result, gpu_address scratch)
{
    if (q->slices == 1)
        return *result;
    return (product_result){.c = scratch, .act = PRODUCT_LINEAR};
}

opencl_grid product_grid(const gpu *g, const product *q)
{
    const opencl_blocking *b = &opencl_of(g)->blocking;
    int64_t m, n;
    tile_of(g, q->shape, &m, &n);
    return (opencl_grid){
        .groups = {(size_t)(q->tiles_m * q->tiles_n), (size_t)q->size.batch, (size_t)q->slices},
        .items = {(size_t)(n / b->item_n), (size_t)(m / b->item_m), 1}};
}

cornu_status product_reduce(gpu *g, const product *q, const product_result *result,
                            gpu_address scratch)
{
    if (q->slices == 1)
        return CORNU_OK;
    const opencl_grid grid = {.groups = {(size_t)product_divide_up(q->size.count, WORK_ITEMS)},
                              .items = {WORK_ITEMS, 1, 1}};
    return OPENCL_LAUNCH(g, OPENCL_reduce_slices, grid, A_ADDRESS(scratch), A_ADDRESS(result->bias),
                         A_ADDRESS(result->c), A_INT(q->size.count), A_INT(q->size.c_stride),
                         A_INT(q->slices), A_INT(result->act.kind), A_FLOAT(result->act.alpha));
}

cornu_status product_plain(gpu *g, opencl_function square, const product *q,
                           const product_matrices *from, const product_result *result,
                           gpu_address scratch)
{
    product_result t = product_target(q, result, scratch);
    TRY(OPENCL_LAUNCH(g, product_function(q, square), product_grid(g, q),
                      A_PRODUCT(q, from->a, from->b, &t), A_INT(from->a_stride),
                      A_INT(from->b_stride)));
    return product_reduce(g, q, result, scratch);
}
