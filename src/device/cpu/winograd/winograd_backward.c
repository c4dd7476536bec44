/* The gradients of Winograd's convolutions (winograd.h). A task is a range of the batch's tiles,
   which depends on sizes alone (with pair_tasks a range is one task per pair of rows of positions),
   and is computed block by block. For dw it has partial sums of its own, which are added in the
   ranges' order; for dx it consists of whole images, as their tiles overlap there. If weights and
   sums are small enough, one pass makes both from one transform of dy. With a pool, dy is the
   gradient that the pool passes back, by its codes.

     range 0                        range 1                        tiles of the batch
     +---------+---------+-------+  +---------+---------+-------+
     | block 0 | block 1 | ...   |  | block 0 | block 1 | ...   |
     +---------+---------+-------+  +---------+---------+-------+
       v' z added up over blocks      v' z                         [position][in][out] each
                    \_______________________/
                     G' (their sum) G = dw */
#include "device/cpu/winograd/winograd.h"
#include <stdlib.h>
#include <string.h>

enum {
    CACHE = WINOGRAD_CACHE,
    RANGE_TILES = 200, /* for dw: this many tiles cost 30 times as much as adding partial sums */
    FEW_TILES = 20,
    RANGES_MOST = 16,
    PARTIAL_BYTES = 64 << 20,
    RANGES_MULTIPLE = 4, /* the number of ranges is a multiple of this, for as many threads */
    DW_ROWS = 8          /* rows of a task of dw */
};

/* ---- prepare ---------------------------------------------------------------------------- */

bool winograd_one_pass(const plan *p, const op *weights, const op *data)
{
    const char *why;
    if (!winograd_accepts(p, weights, &why) || !winograd_accepts(p, data, &why))
        return false;
    const int64_t *dw = OP_OUT(p, weights, 0)->shape.dim;
    int64_t size = WINOGRAD_STEP + dw[0] - 1;
    return 2 * size * size * dw[2] * dw[3] * 4 <= CACHE / 5 * 3;
}

static void range_of(const winograd_state *s, int64_t range, int64_t *first, int64_t *last)
{
    int64_t grains = s->tiles / s->grain;
    *first = grains * range / s->ranges * s->grain;
    *last = grains * (range + 1) / s->ranges * s->grain;
}

/* At most `most` ranges, of whole images if dx is made. Returns the maximum number of tiles of a
   range. */
static int64_t choose_ranges(winograd_state *s, int64_t most)
{
    s->grain = s->data ? s->x.tiles[0] * s->x.tiles[1] : 1;
    s->ranges = cpu_least(most, s->tiles / s->grain);
    return cpu_divide_up(s->tiles / s->grain, s->ranges) * s->grain;
}

/* For dw. Pairs of rows of positions are computed separately if all sums do not stay in the cache,
   or if blocks would have few tiles, which are the depth of the products. */
static void choose_weights_blocking(winograd_state *s)
{
    int64_t x = winograd_row(s, s->x.channels), y = winograd_row(s, s->y.channels);
    int64_t tile = (x + y) * 4, sums = s->positions * s->x.channels * y * 4;
    bool alone = sums > CACHE / 3 * 2 || CACHE / 5 * 2 / (s->positions * tile) < FEW_TILES;
    s->pair_tasks = alone && !s->data ? s->k->size / 2 : 1;
    int64_t ranges =
        cpu_least(s->tiles / RANGE_TILES, cpu_least(RANGES_MOST, PARTIAL_BYTES / sums));
    int64_t range = choose_ranges(s, cpu_most(ranges, s->pair_tasks == 1 ? 4 : 2));
    int64_t bytes = s->pair_tasks == 1 ? CACHE / 5 * 2 : CACHE / 5 * 3;
    if (s->data)
        bytes = cpu_least(bytes, (CACHE - 2 * sums) / 4 * 3);
    int64_t fit = winograd_block_most(bytes, s->positions / s->pair_tasks * tile, sums);
    s->block = winograd_block(range, fit, 1);
    s->dw = winograd_positions_of(s, s->x.channels, s->y.channels, false);
    s->v = winograd_positions_of(s, s->block, s->x.channels, false);
    s->z = winograd_positions_of(s, s->block, s->y.channels, true);
    s->z_at = s->positions / s->pair_tasks * s->v.stride;
    s->worker_floats = s->z_at + s->positions / s->pair_tasks * s->z.stride;
}

/* For dx alone: a range is one block, or more if an image needs more. */
static void choose_data_blocking(winograd_state *s)
{
    int64_t fit = winograd_single_block_most(s);
    s->pair_tasks = 1;
    int64_t range = choose_ranges(s, cpu_divide_up(cpu_divide_up(s->tiles, fit), RANGES_MULTIPLE) *
                                         RANGES_MULTIPLE);
    s->block = winograd_single_block(s, range, fit + fit / 4, 1);
    winograd_plan_single(s);
    s->z_at = s->v.stride;
}

cornu_status winograd_prepare_backward(const plan *p, const op *weights, const op *data,
                                       threads *pool, void **state, size_t *scratch_bytes)
{
    winograd_state *s;
    TRY(winograd_new(p, weights ? weights : data, false, pool, &s));
    *state = s;
    s->weights = weights;
    s->data = data;
    if (data)
        winograd_choose_weights(s, s->y.channels, s->x.channels);
    if (weights)
        choose_weights_blocking(s);
    else
        choose_data_blocking(s);
    winograd_plan_scratch(s, scratch_bytes);
    return CORNU_OK;
}

/* ---- run -------------------------------------------------------------------------------- */

/* A block of tiles. */
typedef struct block {
    int64_t range, pair, tiles;
    winograd_positions v, z;
    small_gemm_lines prefetch[2]; /* x and dy of the next block */
    bool first;                   /* of its range */
} block;

/* dw (+)= v' z for position p, whose transforms are number `made`. */
static void multiply_weights(const winograd_run *r, const block *b, int p, int made)
{
    const winograd_state *s = r->s;
    int64_t positions = s->positions / s->pair_tasks;
    small_gemm g = {.a = b->v.data + made * b->v.stride,
                    .a_stride = b->v.row,
                    .b = b->z.data + made * b->z.stride,
                    .b_stride = b->z.row,
                    .c = r->dw.data + (b->range * s->positions + p) * r->dw.stride,
                    .c_stride = r->dw.row,
                    .rows = s->x.channels,
                    .columns = r->dw.row,
                    .depth = b->tiles};
    if (s->data) {
        winograd_prefetch_next(&g, 0, r->u.data + p * r->u.stride, s->y.channels * r->u.row);
        g.prefetch_l2[1] = winograd_lines_range(&b->prefetch[0], made, positions);
    } else {
        g.prefetch_l2[1] = winograd_lines_range(&b->prefetch[made % 2], made / 2, positions / 2);
        if (made + 1 < positions) {
            winograd_prefetch_next(&g, 0, g.b + b->z.stride, b->tiles * b->z.row);
            winograd_prefetch_next(&g, 1, g.a + b->v.stride, b->tiles * b->v.row);
        }
    }
    s->gemm->multiply_transposed(&g, !b->first);
}

/* The transform of dx: z u', in the memory of v, which is no longer needed. */
static void multiply_data(const winograd_run *r, const block *b, int p)
{
    const winograd_state *s = r->s;
    small_gemm g = {
        .a = b->z.data + p * b->z.stride,
        .a_stride = b->z.row,
        .b = r->u.data + p * r->u.stride,
        .b_stride = r->u.row,
        .c = b->v.data + p * b->v.stride,
        .c_stride = b->v.row,
        .rows = b->tiles,
        .columns = b->v.row,
        .depth = s->y.channels,
        .prefetch_l2 = {{NULL, 0}, winograd_lines_range(&b->prefetch[1], p, s->positions)}};
    if (p + 1 < s->positions) {
        if (s->weights)
            winograd_prefetch_next(&g, 0, g.c + b->v.stride, b->tiles * b->v.row);
        else
            winograd_prefetch_next(&g, 0, g.b + r->u.stride, s->y.channels * r->u.row);
        winograd_prefetch_next(&g, 1, g.a + b->z.stride, b->tiles * b->z.row);
    }
    s->gemm->multiply(&g);
}

static void run_block(const winograd_run *r, const block *b, int64_t begin, float *sums)
{
    const winograd_state *s = r->s;
    const int64_t end = begin + b->tiles;
    const int pair = s->pair_tasks == 1 ? WINOGRAD_ALL : (int)b->pair;
    if (s->weights)
        s->k->input(&r->x, pair, r->g.x, begin, end, &b->v);
    s->k->gradient(&r->y, pair, &r->g.dy, begin, end, &b->z, sums);
    if (s->amx)
        winograd_multiply_amx(r, &b->z, &b->v, b->tiles, s->y.channels, &b->prefetch[1]);
    for (int p = 0, made = 0; p < s->positions && !s->amx; p++) {
        if (pair != WINOGRAD_ALL && winograd_pair_of(p / s->k->size, s->k->size) != pair)
            continue;
        if (s->weights)
            multiply_weights(r, b, p, made);
        if (s->data)
            multiply_data(r, b, p);
        made++;
    }
    if (s->data)
        s->k->input_gradient(&r->x, &b->v, begin, end, r->g.dx);
}

static void range_task(void *context, int64_t task, int worker)
{
    const winograd_run *r = context;
    const winograd_state *s = r->s;
    block b = {.range = task / s->pair_tasks, .pair = task % s->pair_tasks, .v = s->v, .z = s->z};
    float *sums = s->weights && b.pair == 0 ? r->sums + b.range * s->y.channels : NULL;
    const int window = r->g.dy.codes ? 2 : 1;
    int64_t first, last;
    b.v.data = r->blocks + worker * s->worker_floats;
    b.z.data = b.v.data + s->z_at;
    range_of(s, b.range, &first, &last);
    if (sums)
        memset(sums, 0, (size_t)s->y.channels * sizeof *sums);
    for (int64_t begin = first; begin < last; begin += s->block) {
        int64_t end = cpu_least(begin + s->block, last), next = cpu_least(end + s->block, last);
        b.tiles = end - begin;
        b.first = begin == first;
        memset(b.prefetch, 0, sizeof b.prefetch);
        if (end < last && s->weights)
            b.prefetch[0] = winograd_lines(&r->x, r->g.x, 1, end, next);
        if (end < last)
            b.prefetch[1] = winograd_lines(&r->y, r->g.dy.dy, window, end, next);
        run_block(r, &b, begin, sums);
    }
}

static void gradient_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const winograd_run *r = context;
    const winograd_state *s = r->s;
    int64_t begin, end;
    cpu_task_range(s->x.channels, DW_ROWS, task, &begin, &end);
    s->k->weights_gradient(&r->dw, s->ranges, s->positions * r->dw.stride, s->x.channels,
                           s->y.channels, begin, end, r->g.dw);
}

void winograd_backward(const winograd_state *s, const op_run *o, const winograd_gradients *g)
{
    winograd_run r = winograd_begin(s, o);
    r.g = *g;
    r.w = g->w;
    if (s->data)
        winograd_transform_weights(&r, o->pool);
    threads_run(o->pool, s->ranges * s->pair_tasks, range_task, &r);
    if (!s->weights)
        return;
    threads_run(o->pool, cpu_divide_up(s->x.channels, DW_ROWS), gradient_task, &r);
    if (g->db)
        cpu_sum_range(s->isa, r.sums, s->y.channels, s->ranges, s->y.channels, g->db);
}

/* ---- kernels ---------------------------------------------------------------------------- */

/* The CONV2D_BACKWARD_DATA after it, with which it runs in one pass. */
static const op *data_behind(const plan *p, const op *o)
{
    return group_op(p, plan_group(p, o, GROUP_CONV_BACKWARD), ROLE_DGRAD);
}

static bool both_accepts(const plan *p, const op *o, const char **why)
{
    if (!winograd_accepts(p, o, why))
        return false;
    *why = "one pass for both gradients is no gain";
    return winograd_one_pass(p, o, data_behind(p, o));
}

static double both_flops(const plan *p, const op *o)
{
    return winograd_flops(p, o) + winograd_flops(p, data_behind(p, o));
}

static cornu_status prepare_both(const plan *p, const op *o, threads *pool, void **state,
                                 size_t *scratch_bytes)
{
    return winograd_prepare_backward(p, o, data_behind(p, o), pool, state, scratch_bytes);
}

static cornu_status prepare_weights(const plan *p, const op *o, threads *pool, void **state,
                                    size_t *scratch_bytes)
{
    return winograd_prepare_backward(p, o, NULL, pool, state, scratch_bytes);
}

static cornu_status run_weights(const op_run *o)
{
    const op *data = group_op(o->plan, o->group, ROLE_DGRAD);
    winograd_backward(o->state, o,
                      &(winograd_gradients){.x = o->in[0],
                                            .w = data ? o->tensors[data->in[1]] : NULL,
                                            .dy = {o->in[1], NULL},
                                            .dw = o->out[0],
                                            .db = o->out[1],
                                            .dx = data ? o->tensors[data->out[0]] : NULL});
    return CORNU_OK;
}

const kernel cpu_winograd_backward_both = {.name = "winograd",
                                           .group = GROUP_CONV_BACKWARD,
                                           .accepts = both_accepts,
                                           .prepare = prepare_both,
                                           .release = free,
                                           .run = run_weights,
                                           .flops = both_flops,
                                           .tolerance = WINOGRAD_TOLERANCE};
const kernel cpu_winograd_backward_weights = {.name = "winograd",
                                              .accepts = winograd_accepts,
                                              .prepare = prepare_weights,
                                              .release = free,
                                              .run = run_weights,
                                              .flops = winograd_flops,
                                              .tolerance = WINOGRAD_TOLERANCE};
