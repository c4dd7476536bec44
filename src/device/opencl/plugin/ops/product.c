#include "device/opencl/plugin/ops/product.h"
#include <math.h>

enum {
    SLICE_LEAST = 128, /* of k: below, adding the slices up costs more than they save */
    SLICE_MOST = 1024, /* above, rounding errors of a sum grow too large */
    SLICES_MOST = 128, /* by reduce_slices */
    GPU_SLICE_MOST = 2048,
    MANY_SLICES = 8, /* from here on by reduce_many_slices; not on CPUs */
    MANY_SLICES_MOST = 1024,
    SIZE_MOST = 1 << 30 /* rows, columns, depth: kernels count in int */
};
#define SLICES_BYTES ((int64_t)64 << 20)

/* Its rows and columns, and the rows of a work-item. */
typedef struct product_tile {
    int64_t m, n, item_m;
} product_tile;

static product_tile tile_of(const gpu *g, product_shape of)
{
    const opencl_blocking *b = &opencl_of(g)->blocking;
    const int64_t m = b->gemm_m, n = b->gemm_n, item_m = b->item_m;
    switch (of) {
    case PRODUCT_WIDE:
        return (product_tile){m / 2, n * 2, item_m};
    case PRODUCT_TALL:
        return (product_tile){m * 2, n / 2, item_m};
    case PRODUCT_NARROW:
        return (product_tile){m, n / 2, item_m};
    case PRODUCT_SMALL:
        return (product_tile){m / 2, n / 2, item_m / 2};
    default:
        return (product_tile){m, n, item_m};
    }
}

static void set_shape(const gpu *g, product_shape of, product *q)
{
    const product_tile t = tile_of(g, of);
    q->shape = of;
    q->tiles_m = product_divide_up(q->size.m, t.m);
    q->tiles_n = product_divide_up(q->size.n, t.n);
}

static void set_slices(const gpu *g, int64_t slices, product *q)
{
    const int64_t k = q->size.k, step = opencl_of(g)->blocking.gemm_k;
    q->slice_depth = product_divide_up(product_divide_up(k, slices), step) * step;
    q->slices = product_divide_up(k, q->slice_depth);
}

/* The fewest slices of at most `depth`, at most `most`; 1 where they would be too large. */
static int64_t least_slices(const product *q, int64_t depth, int64_t most)
{
    int64_t least = product_divide_up(q->size.k, depth);
    return q->size.count >= SIZE_MOST ? 1 : least < most ? least : most;
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

/* The shape whose tiles reach least beyond the matrix. */
static void choose_shape(const gpu *g, product *q)
{
    product best = *q;
    int64_t fewest = INT64_MAX;
    for (int s = PRODUCT_SQUARE; s <= PRODUCT_TALL; s++) {
        set_shape(g, (product_shape)s, q);
        if (q->tiles_m * q->tiles_n >= fewest)
            continue;
        fewest = q->tiles_m * q->tiles_n;
        best = *q;
    }
    *q = best;
}

/* As many slices of k as give every compute unit work. */
static void choose_slices(const gpu *g, product *q)
{
    int64_t k = q->size.k, groups = q->tiles_m * q->tiles_n * q->size.batch;
    int64_t slices = opencl_of(g)->blocking.split_groups / groups;
    int64_t fit = SLICES_BYTES / 4 / q->size.count,
            least = least_slices(q, SLICE_MOST, SLICES_MOST);
    slices = slices < SLICES_MOST ? slices : SLICES_MOST;
    slices = slices < k / SLICE_LEAST ? slices : k / SLICE_LEAST;
    slices = slices < fit ? slices : fit;
    set_slices(g, slices < least ? least : slices, q);
}

/* ---- GPUs ---------------------------------------------------------------------------------- */

double product_launch_cost(const gpu *g, double bytes)
{
    const double launch = 300000; /* some 2 us */
    const double balance = 12;    /* multiply-adds in the time of a byte, of the device */
    return launch + balance * bytes / opencl_of(g)->compute_units;
}

/* Its tiles one after the other, what a tile is copied by, and what adding slices up takes. */
static double cost_of(const gpu *g, const product *q)
{
    const double copying = 7;     /* instructions that bring a number of a tile to its place */
    const double ends = 16;       /* what a tile begins and ends with, in steps of k */
    const double hidden_by = 256; /* work-items that hide the latency of memory */
    const opencl *d = opencl_of(g);
    const product_tile t = tile_of(g, q->shape);
    const double area = (double)(t.m * t.n), items = area / (double)(t.item_m * d->blocking.item_n);
    const double groups = (double)(q->tiles_m * q->tiles_n * q->size.batch * q->slices);
    const double rounds = ceil(groups / d->compute_units), there = rounds * items;
    double cost = rounds * (area + copying * (double)(t.m + t.n)) * ((double)q->slice_depth + ends);
    if (there < hidden_by)
        cost *= hidden_by / there;
    if (q->slices > 1 || q->size.rest > 0)
        cost += product_launch_cost(g, 8.0 * (double)(q->slices * q->size.count));
    return cost;
}

/* The shape and the slices of the least cost. */
static void choose_least(const gpu *g, product *q)
{
    const int64_t k = q->size.k, fit = SLICES_BYTES / 4 / q->size.count;
    const int64_t least = least_slices(q, GPU_SLICE_MOST, MANY_SLICES_MOST);
    product best = *q;
    best.cost = INFINITY;
    for (int s = PRODUCT_SQUARE; s <= PRODUCT_SMALL; s++)
        for (int64_t slices = least; slices <= MANY_SLICES_MOST; slices++) {
            if (slices > least && (slices > k / SLICE_LEAST || slices > fit))
                break;
            set_shape(g, (product_shape)s, q);
            set_slices(g, slices, q);
            q->cost = cost_of(g, q);
            if (q->cost < best.cost)
                best = *q;
        }
    *q = best;
}

/* ---- product.h ----------------------------------------------------------------------------- */

cornu_status product_choose(const gpu *g, const product_size *size, product *out)
{
    *out = (product){.size = *size};
    if (size->m > SIZE_MOST || size->n > SIZE_MOST || size->k > SIZE_MOST)
        return status_fail(CORNU_UNSUPPORTED,
                           "found a product of %lld by %lld by %lld; expected at most %d each",
                           (long long)size->m, (long long)size->n, (long long)size->k, SIZE_MOST);
    if (opencl_of(g)->is_cpu) {
        choose_shape(g, out);
        choose_slices(g, out);
    } else {
        choose_least(g, out);
    }
    out->apart = out->slices > 1 || size->rest > 0;
    if (out->apart)
        out->scratch_bytes = (size_t)(out->slices * size->count) * sizeof(float);
    return CORNU_OK;
}

product_result product_target(const product *q, const product_result *result, gpu_address scratch)
{
    if (!q->apart)
        return *result;
    return (product_result){.c = scratch, .act = PRODUCT_LINEAR};
}

opencl_grid product_grid(const gpu *g, const product *q)
{
    const product_tile t = tile_of(g, q->shape);
    return (opencl_grid){
        .groups = {(size_t)(q->tiles_m * q->tiles_n), (size_t)q->size.batch, (size_t)q->slices},
        .items = {(size_t)(t.n / opencl_of(g)->blocking.item_n), (size_t)(t.m / t.item_m), 1}};
}

cornu_status product_reduce(gpu *g, const product *q, const product_result *result,
                            gpu_address scratch)
{
    if (!q->apart)
        return CORNU_OK;
    const bool many = q->slices >= MANY_SLICES && !opencl_of(g)->is_cpu;
    const int64_t numbers = many ? REDUCE_NUMBERS : WORK_ITEMS;
    const opencl_grid grid = opencl_line((size_t)product_divide_up(q->size.count, numbers));
    return OPENCL_LAUNCH(g, many ? OPENCL_reduce_many_slices : OPENCL_reduce_slices, grid,
                         A_ADDRESS(scratch), A_ADDRESS(result->bias), A_ADDRESS(result->c),
                         A_INT(q->size.count), A_INT(q->size.c_stride), A_INT(q->slices),
                         A_INT(result->act.kind), A_FLOAT(result->act.alpha),
                         A_INT(q->size.count - q->size.rest), A_ADDRESS(result->rest));
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
