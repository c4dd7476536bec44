/* 3x3 and 5x5 convolutions of stride 1 by Winograd's F(4x4, 3x3) and F(4x4, 5x5); winograd.h has a
   drawing. This file has the acceptance test, the functions that all passes share, the forward
   pass, and the inputs' gradient where it is computed alone. With AMX and weights that are not too
   large, these two multiply by AMX (small_gemm_kernels_amx.c); dw, whose products are summed over
   tiles of the image, does not.

   A task is a block of tiles, small enough for its positions to stay in the second-level cache
   while they are transformed, multiplied by the weights and transformed back. With AMX, blocks are
   larger if enough of them remain for all threads: an output is computed in the same way in a block
   of any size. */
#include "device/cpu/winograd/winograd.h"
#include "base/memory.h"
#include "device/cpu/isa.h"
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(small_gemm_kernels, cpu_small_gemm);
CPU_ISA_TABLE(winograd_kernels, cpu_winograd);
CPU_ISA_TABLE(winograd_kernels, cpu_winograd_5x5);

enum {
    STEP = WINOGRAD_STEP,
    CACHE = WINOGRAD_CACHE,
    LEAST_CHANNELS = 16,
    CACHE_1 = 32 << 10,
    LINE_FLOATS = 16, /* of a cache line */
    BAD_STRIDE = 128, /* floats */
    WEIGHT_ROWS = 8,  /* of a task that transforms weights; twice as many with AMX */
    PACKED_ROWS = SMALL_GEMM_PACKED_ROWS,
    PACKED_STEP = 32,
    BLOCK_LEAST = 12, /* tiles */
    BLOCK_MOST = 64,
    AMX_BLOCK = 32,        /* tiles, or BLOCK_MOST */
    AMX_LEAST = 256,       /* tiles of the batch: fewer give too few blocks */
    AMX_CACHE = 3 << 19,   /* of the second-level cache, which has 2 MB on processors with AMX */
    AMX_WEIGHTS = 1 << 20, /* bytes: products wait for memory beyond */
    BLOCKS_A_THREAD = 4
};

/* ---- acceptance ------------------------------------------------------------------------- */

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

/* One product per position. */
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

static int64_t round_up(int64_t a, int64_t b)
{
    return cpu_divide_up(a, b) * b;
}

int64_t winograd_row(const winograd_state *s, int64_t channels)
{
    return round_up(channels, s->k->vector);
}

/* Positions are an odd number of cache lines apart, so that the lines of one tile's channels fall
   into different cache sets. */
winograd_positions winograd_positions_of(const winograd_state *s, int64_t rows, int64_t channels,
                                         bool streamed)
{
    int64_t row = winograd_row(s, channels);
    if (streamed && row % BAD_STRIDE == 0)
        row += LINE_FLOATS;
    return (winograd_positions){
        .stride = (cpu_divide_up(rows * row, LINE_FLOATS) | 1) * LINE_FLOATS, .row = row};
}

void winograd_choose_weights(winograd_state *s, int64_t rows, int64_t channels)
{
    s->u = winograd_positions_of(s, rows, channels, true);
    if (s->isa != CPU_ISA_WITH_AMX || s->weights || s->tiles < AMX_LEAST)
        return;
    int64_t floats = SMALL_GEMM_AMX->floats(rows, winograd_row(s, channels));
    if (s->positions * floats * 4 > AMX_WEIGHTS)
        return;
    s->amx = SMALL_GEMM_AMX;
    s->u.stride = (cpu_divide_up(floats, LINE_FLOATS) | 1) * LINE_FLOATS;
}

int64_t winograd_block_most(int64_t bytes, int64_t tile_bytes, int64_t weights)
{
    const int64_t least = weights > 4 * CACHE ? BLOCK_MOST : BLOCK_LEAST;
    return cpu_most(cpu_least(bytes / tile_bytes, BLOCK_MOST), least);
}

int64_t winograd_block(int64_t tiles, int64_t most, int64_t multiple)
{
    int64_t size = cpu_divide_up(tiles, round_up(cpu_divide_up(tiles, most), multiple));
    return round_up(cpu_most(size, cpu_least(tiles, BLOCK_LEAST)), 2);
}

/* The image, divided into the tiles of `out`. */
static winograd_image image_of(const tensor *t, const tensor *out)
{
    return (winograd_image){
        .height = t->shape.dim[1],
        .width = t->shape.dim[2],
        .channels = t->shape.dim[3],
        .tiles = {cpu_divide_up(out->shape.dim[1], STEP), cpu_divide_up(out->shape.dim[2], STEP)}};
}

cornu_status winograd_new(const plan *p, const op *o, bool rotated, threads *pool,
                          winograd_state **state)
{
    const window2d *w = &o->a.conv.w;
    winograd_state *s = NULL;
    const tensor *x, *y;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    s->isa = isa;
    s->k = w->kernel[0] == 3 ? cpu_winograd[isa] : cpu_winograd_5x5[isa];
    s->gemm = cpu_small_gemm[isa];
    images_of(p, o, &x, &y);
    const tensor *in = rotated ? y : x, *out = rotated ? x : y;
    s->x = image_of(in, out);
    s->y = image_of(out, out);
    for (int i = 0; i < 2; i++)
        s->x.before[i] = rotated ? w->kernel[i] - 1 - w->before[i] : w->before[i];
    s->rotated = rotated;
    s->tiles = tiles_of(out);
    s->positions = products_of(o);
    s->workers = threads_count(pool);
    *state = s;
    return CORNU_OK;
}

static int64_t zeros_of(const winograd_state *s)
{
    return s->x.width * s->x.channels;
}

void winograd_plan_scratch(winograd_state *s, size_t *scratch_bytes)
{
    s->u_at = s->ranges * s->positions * s->dw.stride;
    s->blocks_at = s->u_at + s->positions * s->u.stride;
    s->sums_at = s->blocks_at + s->workers * s->worker_floats;
    s->zeros_at = s->sums_at + cpu_scratch_floats(s->ranges * s->y.channels);
    cpu_need_scratch(scratch_bytes, s->zeros_at + zeros_of(s));
}

int64_t winograd_single_block_most(const winograd_state *s)
{
    int64_t most = winograd_row(s, cpu_most(s->x.channels, s->y.channels));
    int64_t weights = s->positions * s->u.stride * 4, left = CACHE - weights;
    if (s->amx) {
        bool fit = s->positions * most * 4 * BLOCK_MOST <= (AMX_CACHE - weights) / 5 * 3;
        bool enough = s->tiles >= s->workers * BLOCKS_A_THREAD * BLOCK_MOST;
        return fit && enough ? BLOCK_MOST : AMX_BLOCK;
    }
    int64_t bytes = (left > CACHE / 3 ? left : CACHE) / 5 * 3;
    return winograd_block_most(bytes, s->positions * most * 4, weights);
}

int64_t winograd_single_block(const winograd_state *s, int64_t tiles, int64_t most,
                              int64_t multiple)
{
    return s->amx ? most / AMX_BLOCK * AMX_BLOCK : winograd_block(tiles, most, multiple);
}

/* With AMX a worker's positions also have room for rows of weights that are to be packed. */
void winograd_plan_single(winograd_state *s)
{
    int64_t most = cpu_most(s->x.channels, s->y.channels);
    s->v = s->z = winograd_positions_of(s, s->block, most, false);
    s->v.row = winograd_row(s, s->x.channels);
    s->z.row = winograd_row(s, s->y.channels);
    s->worker_floats = (s->positions + 1) * s->v.stride;
}

cornu_status winograd_prepare_forward(const plan *p, const op *o, threads *pool, void **state,
                                      size_t *scratch_bytes)
{
    winograd_state *s;
    TRY(winograd_new(p, o, o->kind == OP_CONV2D_BACKWARD_DATA, pool, &s));
    *state = s;
    winograd_choose_weights(s, s->x.channels, s->y.channels);
    s->block = winograd_single_block(s, s->tiles, winograd_single_block_most(s), 4);
    winograd_plan_single(s);
    winograd_plan_scratch(s, scratch_bytes);
    return CORNU_OK;
}

/* ---- shared by all passes --------------------------------------------------------------- */

winograd_run winograd_begin(const winograd_state *s, const op_run *o)
{
    float *scratch = o->scratch, *zeros = scratch + s->zeros_at;
    winograd_run r = {.s = s,
                      .x = s->x,
                      .y = s->y,
                      .u = s->u,
                      .dw = s->dw,
                      .blocks = scratch + s->blocks_at,
                      .sums = scratch + s->sums_at};
    memset(zeros, 0, (size_t)zeros_of(s) * sizeof *zeros);
    r.x.zeros = zeros;
    r.dw.data = scratch;
    r.u.data = scratch + s->u_at;
    return r;
}

static int64_t weight_rows(const winograd_state *s)
{
    return s->data ? s->y.channels : s->x.channels;
}

static void weights_into(const winograd_run *r, int64_t begin, int64_t end,
                         const winograd_positions *u)
{
    const winograd_state *s = r->s;
    int64_t in = s->x.channels, out = s->y.channels;
    if (s->rotated)
        s->k->transposed_weights(r->w, out, in, true, begin, end, u);
    else if (s->data)
        s->k->transposed_weights(r->w, in, out, false, begin, end, u);
    else
        s->k->weights(r->w, in, out, begin, end, u);
}

static void weights_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const winograd_run *r = context;
    int64_t begin, end;
    cpu_task_range(weight_rows(r->s), WEIGHT_ROWS, task, &begin, &end);
    weights_into(r, begin, end, &r->u);
}

/* The rows that pack_b takes in one call: two groups of eight out of 32. */
static void packed_weights_task(void *context, int64_t task, int worker)
{
    const winograd_run *r = context;
    const winograd_state *s = r->s;
    const int64_t rows = weight_rows(s),
                  columns = winograd_row(s, s->data ? s->x.channels : s->y.channels);
    const int64_t first = task / 2 * PACKED_STEP + task % 2 * WEIGHT_ROWS;
    float *here = r->blocks + worker * s->worker_floats;
    winograd_positions u = {.stride = PACKED_ROWS * r->u.row, .row = r->u.row};
    if (first + PACKED_STEP > rows)
        memset(here, 0, (size_t)(s->positions * u.stride) * sizeof *here);
    for (int64_t i = 0; i < 2; i++) {
        int64_t begin = first + i * PACKED_ROWS, end = cpu_least(begin + WEIGHT_ROWS, rows);
        u.data = here + (i * WEIGHT_ROWS - begin) * u.row;
        if (begin < end)
            weights_into(r, begin, end, &u);
    }
    for (int p = 0; p < s->positions; p++)
        s->amx->pack_b(here + p * u.stride, u.row, first, rows, columns,
                       r->u.data + p * r->u.stride);
}

void winograd_transform_weights(winograd_run *r, threads *pool)
{
    int64_t rows = weight_rows(r->s);
    if (r->s->amx)
        threads_run(pool, cpu_divide_up(rows, PACKED_STEP) * 2, packed_weights_task, r);
    else
        threads_run(pool, cpu_divide_up(rows, WEIGHT_ROWS), weights_task, r);
}

small_gemm_lines winograd_lines(const winograd_image *g, const float *x, int window, int64_t begin,
                                int64_t end)
{
    int64_t height = g->height / window, step = STEP / window;
    int64_t first = begin / g->tiles[1], last = (end - 1) / g->tiles[1];
    int64_t row = first / g->tiles[0] * height + first % g->tiles[0] * step;
    int64_t below = last % g->tiles[0] * step + step;
    int64_t stop = last / g->tiles[0] * height + cpu_least(below, height);
    int64_t floats = g->width / window * g->channels;
    return (small_gemm_lines){x + row * floats, cpu_divide_up((stop - row) * floats, LINE_FLOATS)};
}

small_gemm_lines winograd_lines_range(const small_gemm_lines *l, int64_t range, int64_t ranges)
{
    int64_t begin = l->count * range / ranges;
    return (small_gemm_lines){l->from + begin * LINE_FLOATS,
                              l->count * (range + 1) / ranges - begin};
}

void winograd_prefetch_next(small_gemm *g, int which, const float *from, int64_t floats)
{
    small_gemm_lines lines = {from, cpu_divide_up(floats, LINE_FLOATS)};
    if (floats * 4 <= CACHE_1 / 2)
        g->prefetch_l1[which] = lines;
    else if (g->prefetch_l2[0].count == 0)
        g->prefetch_l2[0] = lines;
}

void winograd_multiply_amx(const winograd_run *r, const winograd_positions *a,
                           const winograd_positions *c, int64_t tiles, int64_t depth,
                           const small_gemm_lines *prefetch)
{
    r->s->amx->multiply(&(small_gemm_batch){.first = {.a = a->data,
                                                      .a_stride = a->row,
                                                      .b = r->u.data,
                                                      .c = c->data,
                                                      .c_stride = c->row,
                                                      .rows = tiles,
                                                      .columns = c->row,
                                                      .depth = depth,
                                                      .prefetch_l2 = {*prefetch}},
                                            .count = r->s->positions,
                                            .a_step = a->stride,
                                            .b_step = r->u.stride,
                                            .c_step = c->stride});
}

/* ---- forward ---------------------------------------------------------------------------- */

static void block_task(void *context, int64_t task, int worker)
{
    const winograd_run *r = context;
    const winograd_state *s = r->s;
    winograd_positions v = s->v, z = s->z;
    int64_t begin, end;
    cpu_task_range(s->tiles, s->block, task, &begin, &end);
    z.data = r->blocks + worker * s->worker_floats;
    v.data = z.data + v.stride;
    s->k->input(&r->x, WINOGRAD_ALL, r->from, begin, end, &v);
    small_gemm_lines prefetch = {NULL,
                                 0}; /* of the block that this worker will probably take next */
    if (end < s->tiles)
        prefetch = winograd_lines(&r->x, r->from, 1, end, cpu_least(end + s->block, s->tiles));
    if (s->amx)
        winograd_multiply_amx(r, &v, &z, end - begin, s->x.channels, &prefetch);
    for (int p = 0; p < s->positions && !s->amx; p++) {
        small_gemm g = {
            .a = v.data + p * v.stride,
            .a_stride = v.row,
            .b = r->u.data + p * r->u.stride,
            .b_stride = r->u.row,
            .c = z.data + p * z.stride,
            .c_stride = z.row,
            .rows = end - begin,
            .columns = z.row,
            .depth = s->x.channels,
            .prefetch_l2 = {{NULL, 0}, winograd_lines_range(&prefetch, p, s->positions)}};
        if (p + 1 < s->positions) {
            winograd_prefetch_next(&g, 0, g.b + r->u.stride, s->x.channels * r->u.row);
            winograd_prefetch_next(&g, 1, g.a + v.stride, g.rows * v.row);
        }
        s->gemm->multiply(&g);
    }
    s->k->output(&r->y, &z, begin, end, &r->to);
}

void winograd_forward(const winograd_state *s, const op_run *o, const float *x, const float *w,
                      const winograd_output *y)
{
    winograd_run r = winograd_begin(s, o);
    r.from = x;
    r.w = w;
    r.to = *y;
    winograd_transform_weights(&r, o->pool);
    threads_run(o->pool, cpu_divide_up(s->tiles, s->block), block_task, &r);
}

/* Activations that the transform does not apply are applied to y afterwards. */
static void activate_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const op_run *o = context;
    const winograd_state *s = o->state;
    int64_t begin, end;
    cpu_task_range(OP_OUT(o->plan, o->op, 0)->count, CPU_TASK, task, &begin, &end);
    float *y = o->out[0] + begin;
    cpu_activate(s->isa, o->op->a.conv.act, y, y, end - begin);
}

static cornu_status run_forward(const op_run *o)
{
    activation act = o->op->a.conv.act;
    winograd_forward(
        o->state, o, o->in[0], o->in[1],
        &(winograd_output){.bias = o->in[2], .y = o->out[0], .relu = act.kind == ACTIVATION_RELU});
    op_run y = *o;
    if (act.kind != ACTIVATION_LINEAR && act.kind != ACTIVATION_RELU)
        threads_run(o->pool, cpu_divide_up(OP_OUT(o->plan, o->op, 0)->count, CPU_TASK),
                    activate_task, &y);
    return CORNU_OK;
}

static cornu_status run_data(const op_run *o)
{
    winograd_forward(o->state, o, o->in[0], o->in[1], &(winograd_output){.y = o->out[0]});
    return CORNU_OK;
}

const kernel cpu_winograd_forward = {.name = "winograd",
                                     .accepts = winograd_accepts,
                                     .prepare = winograd_prepare_forward,
                                     .release = free,
                                     .run = run_forward,
                                     .flops = winograd_flops,
                                     .tolerance = WINOGRAD_TOLERANCE};
const kernel cpu_winograd_backward_data = {.name = "winograd",
                                           .accepts = winograd_accepts,
                                           .prepare = winograd_prepare_forward,
                                           .release = free,
                                           .run = run_data,
                                           .flops = winograd_flops,
                                           .tolerance = WINOGRAD_TOLERANCE};
