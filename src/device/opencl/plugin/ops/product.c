#include "device/opencl/plugin/ops/product.h"
#include <math.h>

enum {
    SLICE_LEAST =
        128, /* minimum depth of a slice: below, adding the slices costs more than they save */
    SLICE_MOST = 1024, /* above, rounding errors of a sum grow too large */
    SLICES_MOST = 128, /* maximum for reduce_slices */
    GPU_SLICE_MOST = 2048,
    MANY_SLICES = 8, /* from here on by reduce_many_slices; not on CPUs */
    MANY_SLICES_MOST = 1024,
    STRIP_BYTES = 128 << 10,
    STRIPS_MOST = 8,
    SIZE_MOST = 1 << 30 /* rows, columns, depth: kernels count in int */
};
#define SLICES_BYTES ((int64_t)64 << 20)

/* Its rows and columns, and the rows of a work-item. */
typedef struct product_tile {
    int64_t m, n, item_m;
} product_tile;

static product_tile tile_of(const gpu *g, const product *q)
{
    const opencl_blocking *b = &opencl_of(g)->blocking;
    const int64_t m = b->gemm_m, n = b->gemm_n, item_m = b->item_m;
    switch (q->shape) {
    case PRODUCT_WIDE:
        return (product_tile){m / 2, n * 2, item_m};
    case PRODUCT_TALL:
        return (product_tile){m * 2, n / 2, item_m};
    case PRODUCT_NARROW:
        return (product_tile){m, n / 2, item_m};
    case PRODUCT_FLAT:
        return (product_tile){m / 2, n, item_m};
    case PRODUCT_SMALL:
        return (product_tile){m / 2, n / 2, q->size.k_groups > 1 ? item_m : item_m / 2};
    default:
        return (product_tile){m, n, item_m};
    }
}

static void set_shape(const gpu *g, product_shape of, product *q)
{
    q->shape = of;
    const product_tile t = tile_of(g, q);
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

/* Choose enough slices of k to give every compute unit work. */
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

static double rounds_of(const gpu *g, const product *q, int64_t groups)
{
    return ceil((double)(groups * q->size.batch) / opencl_of(g)->compute_units);
}

/* The cost of a group with `depth` of k and a number of other groups on its compute unit: all
   its instructions, or the latency of memory at each tile of k. docs/opencl-gpus.md. */
static double group_cost(const gpu *g, const product *q, double depth, double rounds)
{
    const double lanes = 128;     /* multiply-adds of a compute unit in a clock */
    const double latency = 76800; /* in 600 clocks */
    const double resident = 384;  /* work-items on a compute unit at once */
    const double copying = 7;     /* instructions that bring a number of a tile to its place */
    const double ends = 16;       /* cost of a tile's begin and end, in steps of k */
    const opencl_blocking *b = &opencl_of(g)->blocking;
    const product_tile t = tile_of(g, q);
    const double area = (double)(t.m * t.n), k_groups = (double)q->size.k_groups;
    const double items = area / (double)(t.item_m * b->item_n) * k_groups;
    const double around = (double)(t.m + t.n), item = (double)(t.item_m + b->item_n);
    /* Local memory gives a number in the time of four multiply-adds. */
    const double step = fmax(area + copying * around, 4 * (items / k_groups * item + around));
    const double busy = step * (depth + ends);
    const double alone = busy * fmax(1, lanes / items) + depth / (b->gemm_k * k_groups) * latency;
    return fmax(busy, alone / fmin(rounds, fmax(1, floor(resident / items))));
}

/* Its tiles one after the other, and what adding slices up takes. */
static double cost_of(const gpu *g, const product *q)
{
    const double whole = rounds_of(g, q, q->whole);
    const double sliced = rounds_of(g, q, product_sliced(q) * q->slices), all = whole + sliced;
    double cost = 0;
    if (whole > 0)
        cost += whole * group_cost(g, q, (double)q->size.k, all);
    if (sliced > 0) {
        cost += sliced * group_cost(g, q, (double)q->slice_depth, all);
        cost += product_launch_cost(g, 8.0 * (double)(q->slices * product_partials(q)));
    }
    return cost;
}

/* Keep the better one. */
static void compare(const gpu *g, product *q, int64_t whole, product *best)
{
    q->whole = whole;
    q->first = whole / q->tiles_n * tile_of(g, q).m;
    q->cost = cost_of(g, q);
    if (q->cost < best->cost)
        *best = *q;
}

/* A wide B would be read from memory again for each few rows of tiles. Where C is much larger than
   A, strips of B's columns follow each other, as a batch: each stays in the smallest GPU's cache.
 */
static void divide_columns(product_size *s)
{
    if (s->batch > 1 || s->b_column == 0)
        return;
    int64_t strips = product_divide_up(s->k * s->n * (int64_t)sizeof(float), STRIP_BYTES);
    while (strips < STRIPS_MOST && s->n % (4 * strips) != 0)
        strips++;
    if (strips < 2 || strips > STRIPS_MOST || s->n % (4 * strips) != 0 || 4 * strips * s->k > s->n)
        return;
    s->batch = strips;
    s->n = s->c_step = s->n / strips;
    s->b_step = s->n * s->b_column;
    s->a_step = 0;
}

/* Choose the shape and the slices with the minimum cost: slices of all tiles or, after as many
   whole tiles as keep all compute units equally busy, of the remaining ones. */
static void choose_least(const gpu *g, product *q)
{
    const int64_t k = q->size.k, fit = SLICES_BYTES / 4 / q->size.count;
    const int64_t least = least_slices(q, GPU_SLICE_MOST, MANY_SLICES_MOST);
    divide_columns(&q->size);
    product best = *q;
    best.cost = INFINITY;
    for (int s = PRODUCT_SQUARE; s <= PRODUCT_SMALL; s++)
        for (int64_t slices = least; slices <= MANY_SLICES_MOST; slices++) {
            if (slices > least && (slices > k / SLICE_LEAST || slices > fit))
                break;
            set_shape(g, (product_shape)s, q);
            set_slices(g, slices, q);
            const int64_t tiles = q->tiles_m * q->tiles_n;
            const int64_t alike = tiles / opencl_of(g)->compute_units * opencl_of(g)->compute_units;
            compare(g, q, q->slices > 1 || q->size.rest > 0 ? 0 : tiles, &best);
            if (q->slices > 1 && least == 1 && q->size.rest == 0 && q->size.batch == 1)
                compare(g, q, alike / q->tiles_n * q->tiles_n, &best);
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
        out->whole = out->slices > 1 ? 0 : out->tiles_m * out->tiles_n;
    } else {
        choose_least(g, out);
    }
    out->scratch_bytes = (size_t)(out->slices * product_partials(out)) * sizeof(float);
    return CORNU_OK;
}

opencl_grid product_grid(const gpu *g, const product *q)
{
    const product_tile t = tile_of(g, q);
    return (opencl_grid){
        .groups = {(size_t)(q->whole + product_sliced(q) * q->slices), (size_t)q->size.batch, 1},
        .items = {(size_t)(t.n / opencl_of(g)->blocking.item_n), (size_t)(t.m / t.item_m),
                  (size_t)q->size.k_groups}};
}

cornu_status product_reduce(gpu *g, const product *q, const product_result *result,
                            gpu_address scratch)
{
    const int64_t count = product_partials(q);
    if (count == 0)
        return CORNU_OK;
    const bool many = q->slices >= MANY_SLICES && !opencl_of(g)->is_cpu;
    const int64_t numbers = many ? REDUCE_NUMBERS : WORK_ITEMS;
    const opencl_grid grid = opencl_line(product_divide_up(count, numbers));
    const gpu_address c = result->c + (gpu_address)(q->first * q->size.c_stride) * sizeof(float);
    return OPENCL_LAUNCH(g, many ? OPENCL_reduce_many_slices : OPENCL_reduce_slices, grid,
                         A_ADDRESS(scratch), A_ADDRESS(result->bias), A_ADDRESS(c), A_INT(count),
                         A_INT(q->size.c_stride), A_INT(q->slices), A_INT(result->act.kind),
                         A_FLOAT(result->act.alpha), A_INT(count - q->size.rest),
                         A_ADDRESS(result->rest));
}

cornu_status product_plain(gpu *g, opencl_function square, const product *q,
                           const product_matrices *from, const product_result *result,
                           gpu_address scratch)
{
    TRY(OPENCL_LAUNCH(g, product_function(q, square), product_grid(g, q),
                      A_PRODUCT(q, from->a, from->b, result, scratch), A_INT(from->a_stride),
                      A_INT(from->b_stride)));
    return product_reduce(g, q, result, scratch);
}
