/* 3x3 and 5x5 convolutions of stride 1 by Winograd's F(4x4, 3x3) and F(4x4, 5x5);
   kernels/winograd_tiles.h holds the mathematics.
   Forward and backward-data (the same with the weights turned): a chunk is a block of tiles, small
   enough for its places to stay in the second-level cache while they are transformed, multiplied
   by the weights and transformed back. Backward-weights: a chunk takes a fixed part of all tiles
   and adds their products up block by block; the parts are added in their order.
   Behind a pool, both backward passes read what the pool gives back from its gradient and codes. */
#include "device/cpu/winograd.h"
#include "base/memory.h"
#include "device/cpu/isa.h"
#include "device/cpu/kernels/small_gemm.h"
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(small_gemm_kernels, cpu_small_gemm);
CPU_ISA_TABLE(winograd_kernels, cpu_winograd);
CPU_ISA_TABLE(winograd_kernels, cpu_winograd_5x5);

enum {
    STEP = WINOGRAD_STEP,
    LEAST_CHANNELS = 16,
    CACHE = 1 << 20, /* bytes of a core's second-level cache */
    CACHE_1 = 32 << 10,
    LINE_FLOATS = 16, /* of a cache line */
    WEIGHT_ROWS = 8,  /* a chunk of the weights' transforms */
    PART_TILES = 200, /* for dw: as many tiles cost 30 times as much as adding a part up */
    FEW_TILES = 20,
    PARTS_MOST = 16,
    PARTS_BYTES = 64 << 20
};

struct winograd_state {
    const winograd_kernels *k;
    const small_gemm_kernels *gemm;
    winograd_image in, out; /* x and y; dy and dx; for dw x and dy */
    int64_t tiles, block;   /* of the batch; of a block */
    int64_t depth, columns; /* of the products: channels of in; of out, in whole vectors */
    winograd_places u;      /* transformed weights; for dw: sums of products, of part 0 */
    winograd_places v, z;   /* of a worker: transforms of in; products, for dw transforms of out */
    int64_t workers, worker_floats; /* floats of a worker's v and z */
    int places;                     /* products */
    int64_t groups;      /* for dw: as many as pairs of rows where those are done alone, else 1 */
    int64_t parts, part; /* for dw; tiles of a part */
    int64_t u_part;      /* floats from a part's u to the next one's */
    /* Where they begin in the scratch memory, behind u, in floats: workers' v and z; for db, sums
       [parts][columns]; zeros as wide as an image. */
    int64_t blocks_at, sums_at, zeros_at;
};

static int64_t round_up(int64_t a, int64_t b)
{
    return cpu_divide_up(a, b) * b;
}

/* From place to place: an odd number of cache lines, so that the lines of one tile's channels
   fall into different sets of the caches. */
static int64_t place_stride(int64_t floats)
{
    return (cpu_divide_up(floats, LINE_FLOATS) | 1) * LINE_FLOATS;
}

/* ---- what is accepted ------------------------------------------------------------------- */

/* x (or dx) and y (or dy). */
static void images_of(const plan *p, const op *o, const tensor **x, const tensor **y)
{
    bool data = o->kind == OP_CONV2D_BACKWARD_DATA;
    *x = data ? OP_OUT(p, o, 0) : OP_IN(p, o, 0);
    *y = o->kind == OP_CONV2D_FORWARD ? OP_OUT(p, o, 0) : OP_IN(p, o, data ? 0 : 1);
}

static int64_t tiles_of(const tensor *out)
{
    const int64_t *dim = out->shape.dim;
    return dim[0] * cpu_divide_up(dim[1], STEP) * cpu_divide_up(dim[2], STEP);
}

/* One a place. */
static int products_of(const op *o)
{
    int size = STEP + (int)o->a.conv.w.kernel[0] - 1;
    return size * size;
}

/* Is it faster than a direct convolution? Measured: a tile costs as much as 6.4 of its 16 pixels
   (for 5x5: 3.8) do directly, and the transforms of the weights as much as 24 (50) tiles. */
static bool pays(const tensor *out, int64_t taps)
{
    const int64_t *dim = out->shape.dim;
    int64_t tile = taps == 3 ? 64 : 38, weights = taps == 3 ? 24 : 50;
    return 10 * dim[0] * dim[1] * dim[2] >= tile * (tiles_of(out) + weights);
}

bool winograd_accepts(const plan *p, const op *o, const char **why)
{
    const window2d *w = &o->a.conv.w;
    const tensor *x, *y;
    images_of(p, o, &x, &y);
    const tensor *out = o->kind == OP_CONV2D_BACKWARD_DATA ? x : y;
    if (p->exact_convolution)
        *why = "exact convolution is asked for";
    else if (w->kernel[0] != w->kernel[1] || (w->kernel[0] != 3 && w->kernel[0] != 5))
        *why = "neither 3x3 nor 5x5";
    else if (w->stride[0] != 1 || w->stride[1] != 1 || w->dilation[0] != 1 || w->dilation[1] != 1)
        *why = "strided or dilated";
    else if (w->groups != 1)
        *why = "in groups";
    else if (w->before[0] >= w->kernel[0] || w->before[1] >= w->kernel[1])
        *why = "padded by more than the kernel reaches";
    else if (x->shape.dim[3] < LEAST_CHANNELS || y->shape.dim[3] < LEAST_CHANNELS)
        *why = "fewer than 16 channels";
    else if (!pays(out, w->kernel[0]))
        *why = "too few pixels for its tiles";
    else
        return true;
    return false;
}

double winograd_flops(const plan *p, const op *o)
{
    const tensor *x, *y;
    images_of(p, o, &x, &y);
    const tensor *out = o->kind == OP_CONV2D_BACKWARD_DATA ? x : y;
    return 2.0 * products_of(o) * (double)(tiles_of(out) * x->shape.dim[3] * y->shape.dim[3]);
}

/* ---- prepare ---------------------------------------------------------------------------- */

static winograd_image image_of(const tensor *t)
{
    return (winograd_image){
        .height = t->shape.dim[1], .width = t->shape.dim[2], .channels = t->shape.dim[3]};
}

static void set_images(winograd_state *s, const plan *p, const op *o)
{
    const window2d *w = &o->a.conv.w;
    const tensor *x, *y;
    bool data = o->kind == OP_CONV2D_BACKWARD_DATA;
    images_of(p, o, &x, &y);
    s->in = image_of(data ? y : x);
    s->out = image_of(data ? x : y);
    s->out.tiles[0] = s->in.tiles[0] = cpu_divide_up(s->out.height, STEP);
    s->out.tiles[1] = s->in.tiles[1] = cpu_divide_up(s->out.width, STEP);
    for (int i = 0; i < 2; i++)
        s->in.before[i] = data ? w->kernel[i] - 1 - w->before[i] : w->before[i];
    s->tiles = x->shape.dim[0] * s->in.tiles[0] * s->in.tiles[1];
    s->depth = s->in.channels;
    s->columns = round_up(s->out.channels, s->k->vector);
}

/* Tiles of a block whose places take `tile_bytes` a tile: at most `bytes`, and such that the blocks
   are of about one size, a multiple of `share` in number. Each block reads all `weights`: where
   they are large, it is better that blocks do not fit than that there are many. */
static int64_t block_tiles(int64_t tiles, int64_t bytes, int64_t tile_bytes, int64_t weights,
                           int64_t share)
{
    const int64_t least = weights > 4 * CACHE ? 64 : 12, most = 64;
    int64_t fits = bytes / tile_bytes;
    fits = fits < least ? least : cpu_least(fits, most);
    int64_t size = cpu_divide_up(tiles, round_up(cpu_divide_up(tiles, fits), share));
    return round_up(size < least && least <= tiles ? least : size, 2);
}

/* Sizes of forward and backward-data. */
static void lay_out(winograd_state *s)
{
    int64_t row = round_up(s->depth, s->k->vector), most = cpu_most(row, s->columns);
    int64_t weights = s->places * s->depth * s->columns * 4, left = CACHE - weights;
    int64_t bytes = (left > CACHE / 3 ? left : CACHE) / 5 * 3;
    s->block = block_tiles(s->tiles, bytes, s->places * most * 4, weights, 4);
    s->v = (winograd_places){.stride = place_stride(s->block * most), .row = row};
    s->z = (winograd_places){.stride = s->v.stride, .row = s->columns};
    s->worker_floats = (s->places + 1) * s->v.stride;
    s->parts = 1;
}

/* Sizes of backward-weights. Pairs of rows of places are done alone where all sums do not stay in
   the cache, and where blocks would have few tiles, which are the depth of the products. */
static void lay_out_weights(winograd_state *s)
{
    int64_t row = round_up(s->depth, s->k->vector), sums = s->depth * s->columns * 4;
    int64_t all = CACHE / 5 * 2 / (s->places * (row + s->columns) * 4);
    bool alone = s->places * sums > CACHE / 3 * 2 || all < FEW_TILES;
    s->groups = alone ? s->k->size / 2 : 1;
    int64_t places = s->places / s->groups, least = s->groups == 1 ? 4 : 2;
    s->parts = cpu_least(s->tiles / PART_TILES, PARTS_BYTES / (s->places * sums));
    s->parts = cpu_most(cpu_least(s->parts, PARTS_MOST), least);
    s->part = cpu_divide_up(s->tiles, s->parts);
    s->parts = cpu_divide_up(s->tiles, s->part);
    s->block = block_tiles(s->part, s->groups == 1 ? CACHE / 5 * 2 : CACHE / 5 * 3,
                           places * (row + s->columns) * 4, s->places * sums, 1);
    s->v = (winograd_places){.stride = place_stride(s->block * row), .row = row};
    s->z = (winograd_places){.stride = place_stride(s->block * s->columns),
                             .panel = s->gemm->panel,
                             .panel_stride = s->block * s->gemm->panel};
    s->worker_floats = places * (s->v.stride + s->z.stride);
}

static int64_t zeros_of(const winograd_state *s)
{
    return cpu_most(s->in.width * s->in.channels, s->out.width * s->out.channels);
}

static void lay_out_scratch(winograd_state *s, size_t *scratch_bytes)
{
    s->u = (winograd_places){.stride = place_stride(s->depth * s->columns),
                             .row = s->columns,
                             .panel = s->gemm->panel,
                             .panel_stride = s->depth * s->gemm->panel};
    s->u_part = s->places * s->u.stride;
    s->blocks_at = s->parts * s->u_part;
    s->sums_at = s->blocks_at + s->workers * s->worker_floats;
    s->zeros_at = s->sums_at + cpu_scratch_floats(s->parts * s->columns);
    cpu_need_scratch(scratch_bytes, s->zeros_at + zeros_of(s));
}

cornu_status winograd_prepare(const plan *p, const op *o, threads *pool, void **state,
                              size_t *scratch_bytes)
{
    winograd_state *s = NULL;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    s->k = o->a.conv.w.kernel[0] == 3 ? cpu_winograd[isa] : cpu_winograd_5x5[isa];
    s->places = products_of(o);
    s->gemm = cpu_small_gemm[isa];
    set_images(s, p, o);
    if (o->kind == OP_CONV2D_BACKWARD_WEIGHTS)
        lay_out_weights(s);
    else
        lay_out(s);
    s->workers = threads_count(pool);
    lay_out_scratch(s, scratch_bytes);
    *state = s;
    return CORNU_OK;
}

/* ---- forward and backward-data ---------------------------------------------------------- */

typedef struct winograd_run {
    const winograd_state *s;
    winograd_image in, out; /* the state's, with zeros */
    winograd_places u;      /* in scratch memory; */
    float *blocks, *sums;   /* there, too */
    winograd_pixels x, dy;
    const float *w;
    winograd_output to;
    float *dw;
    bool turned;
} winograd_run;

static winograd_run begin_run(const winograd_state *s, const op_run *o)
{
    float *scratch = o->scratch, *zeros = scratch + s->zeros_at;
    winograd_run r = {.s = s,
                      .in = s->in,
                      .out = s->out,
                      .u = s->u,
                      .blocks = scratch + s->blocks_at,
                      .sums = scratch + s->sums_at};
    memset(zeros, 0, (size_t)zeros_of(s) * sizeof *zeros);
    r.in.zeros = r.out.zeros = zeros;
    r.u.data = scratch;
    return r;
}

/* The rows of pixels, or of windows, of tiles begin to end - 1, without those that their neighbours
   share. */
static small_gemm_lines lines_of(const winograd_image *g, const winograd_pixels *x, int64_t begin,
                                 int64_t end)
{
    const int size = x->codes ? 2 : 1;
    int64_t height = g->height / size, step = STEP / size;
    int64_t first = begin / g->tiles[1], last = (end - 1) / g->tiles[1];
    int64_t row = first / g->tiles[0] * height + first % g->tiles[0] * step;
    int64_t below = last % g->tiles[0] * step + step;
    int64_t stop = last / g->tiles[0] * height + cpu_least(below, height);
    int64_t floats = g->width / size * g->channels;
    return (small_gemm_lines){x->x + row * floats,
                              cpu_divide_up((stop - row) * floats, LINE_FLOATS)};
}

static small_gemm_lines lines_at(const float *from, int64_t floats)
{
    return (small_gemm_lines){from, cpu_divide_up(floats, LINE_FLOATS)};
}

static small_gemm_lines part_of(const small_gemm_lines *l, int64_t part, int64_t parts)
{
    int64_t begin = l->count * part / parts;
    return (small_gemm_lines){l->from + begin * LINE_FLOATS, l->count * (part + 1) / parts - begin};
}

static void weights_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const winograd_run *r = context;
    const winograd_state *s = r->s;
    int64_t begin, end;
    cpu_part(s->depth, WEIGHT_ROWS, chunk, &begin, &end);
    if (r->turned)
        s->k->turned_weights(r->w, s->out.channels, s->in.channels, begin, end, &r->u);
    else
        s->k->weights(r->w, s->in.channels, s->out.channels, begin, end, &r->u);
}

/* The operand of the product to come: where it is small, into the first-level cache. */
static void fetch_next(small_gemm *g, int which, const float *from, int64_t floats)
{
    if (floats * 4 <= CACHE_1 / 2)
        g->next[which] = lines_at(from, floats);
    else if (g->soon[0].count == 0)
        g->soon[0] = lines_at(from, floats);
}

/* Product p is written where transform p - 1 was, which is used up: transforms lie a place further
   on. */
static void block_chunk(void *context, int64_t chunk, int worker)
{
    const winograd_run *r = context;
    const winograd_state *s = r->s;
    winograd_places v = s->v, z = s->z;
    int64_t begin, end;
    cpu_part(s->tiles, s->block, chunk, &begin, &end);
    z.data = r->blocks + worker * s->worker_floats;
    v.data = z.data + v.stride;
    s->k->input(&r->in, WINOGRAD_ALL, &r->x, begin, end, &v);
    small_gemm_lines soon = {NULL, 0}; /* of the chunk that this worker is likely to take next */
    if ((chunk + s->workers) * s->block < s->tiles) {
        int64_t next = begin + s->workers * s->block;
        soon = lines_of(&r->in, &r->x, next, cpu_least(next + s->block, s->tiles));
    }
    for (int p = 0; p < s->places; p++) {
        small_gemm g = {.a = v.data + p * v.stride,
                        .a_stride = v.row,
                        .b = r->u.data + p * r->u.stride,
                        .b_panel = r->u.panel_stride,
                        .c = z.data + p * z.stride,
                        .c_stride = z.row,
                        .rows = end - begin,
                        .columns = s->columns,
                        .depth = s->depth,
                        .soon = {{NULL, 0}, part_of(&soon, p, s->places)}};
        if (p + 1 < s->places) {
            fetch_next(&g, 0, g.b + r->u.stride, s->depth * s->columns);
            fetch_next(&g, 1, g.a + v.stride, g.rows * v.row);
        }
        s->gemm->multiply(&g);
    }
    s->k->output(&r->out, &z, begin, end, &r->to);
}

static void run_blocks(threads *pool, winograd_run *r)
{
    const winograd_state *s = r->s;
    threads_run(pool, cpu_divide_up(s->depth, WEIGHT_ROWS), weights_chunk, r);
    threads_run(pool, cpu_divide_up(s->tiles, s->block), block_chunk, r);
}

void winograd_forward(const winograd_state *s, const op_run *o, const float *x, const float *w,
                      const winograd_output *y)
{
    winograd_run r = begin_run(s, o);
    r.x.x = x;
    r.w = w;
    r.to = *y;
    run_blocks(o->pool, &r);
}

void winograd_backward_data(const winograd_state *s, const op_run *o, winograd_pixels dy,
                            const float *w, float *dx)
{
    winograd_run r = begin_run(s, o);
    r.x = dy;
    r.w = w;
    r.to.y = dx;
    r.turned = true;
    run_blocks(o->pool, &r);
}

/* Activations that the transform does not know go over y afterwards. */
static void activate_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const op_run *o = context;
    int64_t begin, end;
    cpu_part(OP_OUT(o->plan, o->op, 0)->count, CPU_CHUNK, chunk, &begin, &end);
    cpu_activate(o->op->a.conv.act, o->out[0] + begin, o->out[0] + begin, end - begin);
}

static cornu_status run_forward(const op_run *o)
{
    activation act = o->op->a.conv.act;
    winograd_forward(
        o->state, o, o->in[0], o->in[1],
        &(winograd_output){.bias = o->in[2], .y = o->out[0], .relu = act.kind == ACTIVATION_RELU});
    op_run y = *o;
    if (act.kind != ACTIVATION_LINEAR && act.kind != ACTIVATION_RELU)
        threads_run(o->pool, cpu_divide_up(OP_OUT(o->plan, o->op, 0)->count, CPU_CHUNK),
                    activate_chunk, &y);
    return CORNU_OK;
}

static cornu_status run_data(const op_run *o)
{
    winograd_backward_data(o->state, o, (winograd_pixels){o->in[0], NULL}, o->in[1], o->out[0]);
    return CORNU_OK;
}

/* ---- backward-weights ------------------------------------------------------------------- */

/* u (+)= v' z for the places of a pair's rows. */
static void multiply_group(const winograd_state *s, int pair, const winograd_places *v,
                           const winograd_places *z, int64_t depth, const small_gemm_lines soon[2],
                           float *u, bool add)
{
    int64_t places = s->places / s->groups, made = 0;
    for (int p = 0; p < s->places; p++) {
        if (pair != WINOGRAD_ALL && winograd_pair_of(p / s->k->size, s->k->size) != pair)
            continue;
        small_gemm g = {.a = v->data + made * v->stride,
                        .a_stride = v->row,
                        .b = z->data + made * z->stride,
                        .b_panel = z->panel_stride,
                        .c = u + p * s->u.stride,
                        .c_stride = s->columns,
                        .rows = s->depth,
                        .columns = s->columns,
                        .depth = depth,
                        .soon = {{NULL, 0}, part_of(&soon[made % 2], made / 2, places / 2)}};
        if (made + 1 < places) {
            fetch_next(&g, 0, g.b + z->stride, depth * s->columns);
            fetch_next(&g, 1, g.a + v->stride, depth * v->row);
        }
        s->gemm->multiply_transposed(&g, add);
        made++;
    }
}

static void part_chunk(void *context, int64_t chunk, int worker)
{
    const winograd_run *r = context;
    const winograd_state *s = r->s;
    int64_t part = chunk / s->groups, group = chunk % s->groups, first, last;
    int pair = s->groups == 1 ? WINOGRAD_ALL : (int)group;
    winograd_places v = s->v, z = s->z;
    float *u = r->u.data + part * s->u_part, *sums = r->sums + part * s->columns;
    v.data = r->blocks + worker * s->worker_floats;
    z.data = v.data + s->places / s->groups * v.stride;
    cpu_part(s->tiles, s->part, part, &first, &last);
    if (group == 0)
        memset(sums, 0, (size_t)s->columns * sizeof *sums);
    for (int64_t begin = first; begin < last; begin += s->block) {
        int64_t end = cpu_least(begin + s->block, last), next_end = cpu_least(end + s->block, last);
        small_gemm_lines soon[2] = {{NULL, 0}, {NULL, 0}};
        if (end < last) {
            soon[0] = lines_of(&r->in, &r->x, end, next_end);
            soon[1] = lines_of(&r->out, &r->dy, end, next_end);
        }
        s->k->input(&r->in, pair, &r->x, begin, end, &v);
        s->k->gradient(&r->out, pair, &r->dy, begin, end, &z, group == 0 ? sums : NULL);
        multiply_group(s, pair, &v, &z, end - begin, soon, u, begin > first);
    }
}

static void gradient_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const winograd_run *r = context;
    const winograd_state *s = r->s;
    int64_t begin, end;
    cpu_part(s->depth, WEIGHT_ROWS, chunk, &begin, &end);
    s->k->weights_gradient(&r->u, s->parts, s->u_part, s->in.channels, s->out.channels, begin, end,
                           r->dw);
}

void winograd_backward_weights(const winograd_state *s, const op_run *o, const float *x,
                               winograd_pixels dy, float *dw, float *db)
{
    winograd_run r = begin_run(s, o);
    r.x.x = x;
    r.dy = dy;
    r.dw = dw;
    threads_run(o->pool, s->parts * s->groups, part_chunk, &r);
    threads_run(o->pool, cpu_divide_up(s->depth, WEIGHT_ROWS), gradient_chunk, &r);
    if (db)
        cpu_sum_range(r.sums, s->out.channels, s->parts, s->columns, db);
}

static cornu_status run_weights(const op_run *o)
{
    winograd_backward_weights(o->state, o, o->in[0], (winograd_pixels){o->in[1], NULL}, o->out[0],
                              o->out[1]);
    return CORNU_OK;
}

#define WINOGRAD(run_)                                                                         \
    {                                                                                          \
        .name = "winograd", .accepts = winograd_accepts, .prepare = winograd_prepare,          \
        .release = free, .run = run_, .flops = winograd_flops, .tolerance = WINOGRAD_TOLERANCE \
    }
const kernel cpu_winograd_forward = WINOGRAD(run_forward);
const kernel cpu_winograd_backward_data = WINOGRAD(run_data);
const kernel cpu_winograd_backward_weights = WINOGRAD(run_weights);
