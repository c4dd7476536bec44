/* DENSE_BACKWARD_WEIGHTS and DENSE_BACKWARD_DATA on weights in panels.

   First dy is packed: in panels for dW, transposed for dx; the bias gradient falls off.
   Where it is small each thread does so for itself: what another has written comes slowly. Then W
   is swept once, cut along its rows: a chunk has the whole depth of dx and the whole batch of dW,
   so that nothing is added up between chunks. Where the updates of kernel and bias follow and
   nothing else reads their gradients, the sweep ends in them: dW is never stored. Where x is an
   activation's output, and dx only on its way through that, it passes before it is stored. Where no
   dx is wanted, W is left to the next step's forward pass (dense_deferred.c). */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense/dense.h"
#include "device/cpu/elementwise/update.h"
#include <stdlib.h>
#include <string.h>

enum {
    PACKED_FLOATS = 16, /* a cache line: has the worker packed dy? */
    ROWS_MOST = 512, /* summed at once; more are added block by block, for the sake of precision */
    CHUNKS_MOST = 64,
    DEPTH_CHUNKS = 16, /* deep blocks read dy less often */
    CHUNKS_FEW = 8     /* smaller blocks where there would be fewer */
};
#define BLOCK_BYTES ((int64_t)256 << 10) /* of x and dx, in the second-level cache */
#define OWN_BYTES ((int64_t)128 << 10)   /* of packed dy, by each worker */

/* The operations that run as one: of a DENSE_BACKWARD, or one of its first two alone. */
typedef struct dense_backward {
    const op *weights, *data, *update_w, *update_b, *act; /* NULL: not there */
} dense_backward;

typedef struct backward_state {
    const dense_kernels *kernels;
    cpu_isa isa;
    dense_backward ops;
    dense_size size;
    int64_t row_blocks, block_rows, groups; /* of DENSE_LANES rows in a block */
    int64_t depth, blocks;                  /* of W */
    int64_t chunks, workers;
    int64_t panel_floats, dy_floats, dy_transposed_floats;
    int64_t x_floats;
    bool samples;                         /* x may have a unit */
    bool own;                             /* each worker packs dy for itself */
    int64_t shared_floats, worker_floats; /* of scratch memory */
    dense_deferred deferred;
} backward_state;

/* ---- preparation --------------------------------------------------------------------------- */

static void choose_blocking(backward_state *s)
{
    const dense_size *d = &s->size;
    s->row_blocks = cpu_divide_up(d->rows, ROWS_MOST);
    s->block_rows = cpu_divide_up(d->rows, s->row_blocks);
    s->groups = cpu_divide_up(s->block_rows, DENSE_LANES);
    int products = (s->ops.data != NULL) + (s->ops.weights != NULL);
    int64_t wanted = dense_chunks(d, products, DEPTH_CHUNKS);
    int64_t most = BLOCK_BYTES / (2 * s->block_rows * (int64_t)sizeof(float));
    const dense_kernels *k = s->kernels;
    int64_t even = wanted + (wanted > 1 && wanted % 2); /* blocks, where they are small */
    int64_t depth = cpu_least(cpu_divide_up(d->in, even), cpu_least(most, k->backward_depth));
    bool coarse = d->in >= CHUNKS_FEW * k->coarse_grain && depth >= 2 * k->coarse_grain;
    int64_t grain = coarse ? k->coarse_grain : k->grain;
    s->depth = cpu_divide_up(depth, grain) * grain;
    s->blocks = cpu_divide_up(d->in, s->depth);
    s->chunks = cpu_least(s->blocks, CHUNKS_MOST);
    s->x_floats = s->ops.weights ? k->wgrad_x_floats(s->block_rows, s->depth) : 0;
    int64_t dx_groups = s->ops.data ? s->groups + (s->ops.act != NULL) : 0;
    s->worker_floats = cpu_scratch_floats(s->x_floats + dx_groups * s->depth * DENSE_LANES);
    int64_t panels = s->row_blocks * d->panels;
    s->panel_floats = k->panel_floats(s->block_rows);
    s->dy_floats = s->ops.weights ? panels * s->panel_floats : 0;
    s->dy_transposed_floats = s->ops.data ? panels * s->groups * k->lanes_floats : 0;
    s->shared_floats = s->dy_floats + s->dy_transposed_floats;
    s->own = s->shared_floats * (int64_t)sizeof(float) <= OWN_BYTES;
    if (s->own) {
        s->worker_floats += PACKED_FLOATS + s->shared_floats;
        s->shared_floats = 0;
    }
}

static dense_size size_of(const plan *p, const op *o)
{
    return o->kind == OP_DENSE_BACKWARD_DATA ? dense_size_of(OP_OUT(p, o, 0), OP_IN(p, o, 1))
                                             : dense_size_of(OP_IN(p, o, 0), OP_OUT(p, o, 0));
}

static bool fused_accepts(const plan *p, const op *o, const char **why)
{
    *why = "more than 512 rows";
    return size_of(p, o).rows <= ROWS_MOST;
}

static bool defers(const plan *p, const op_group *g)
{
    const op *weights = group_op(p, g, ROLE_WGRAD);
    const dense_size d = size_of(p, weights);
    return dense_worth_deferring(&d);
}

static cornu_status prepare(const plan *p, const op *o, group_kind group, bool tiles, threads *pool,
                            void **state, size_t *scratch_bytes)
{
    const op_group *g = plan_group(p, o, group);
    backward_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    *state = s;
    TRY(cpu_isa_choose(&s->isa));
    s->kernels = dense_kernels_of(s->isa, tiles);
    s->ops =
        (dense_backward){.weights = o->kind == OP_DENSE_BACKWARD_WEIGHTS ? o : NULL,
                         .data = o->kind == OP_DENSE_BACKWARD_DATA ? o : group_op(p, g, ROLE_DGRAD),
                         .update_w = group_op(p, g, ROLE_UPDATE_KERNEL),
                         .update_b = group_op(p, g, ROLE_UPDATE_BIAS),
                         .act = group_op(p, g, ROLE_ACTIVATION)};
    s->size = size_of(p, o);
    s->samples = s->ops.weights && s->kernels->pack_u8 && dense_reads_samples(p, o->in[0]);
    choose_blocking(s);
    s->workers = threads_count(pool);
    cpu_need_scratch(scratch_bytes, s->shared_floats + s->workers * s->worker_floats);
    if (g && g->absorber >= 0 && defers(p, g))
        TRY(dense_deferred_new(s->kernels, &s->size, &s->deferred));
    return CORNU_OK;
}

static cornu_status panels_prepare(const plan *p, const op *o, threads *pool, void **state,
                                   size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_NONE, false, pool, state, scratch_bytes);
}

static cornu_status panels_prepare_fused(const plan *p, const op *o, threads *pool, void **state,
                                         size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_DENSE_BACKWARD, false, pool, state, scratch_bytes);
}

static bool tiles_accepts(const plan *p, const op *o, const char **why)
{
    dense_size d = size_of(p, o);
    return dense_takes_amx(&d, why);
}

static bool tiles_accepts_fused(const plan *p, const op *o, const char **why)
{
    return tiles_accepts(p, o, why) && fused_accepts(p, o, why);
}

static cornu_status tiles_prepare(const plan *p, const op *o, threads *pool, void **state,
                                  size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_NONE, true, pool, state, scratch_bytes);
}

static cornu_status tiles_prepare_fused(const plan *p, const op *o, threads *pool, void **state,
                                        size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_DENSE_BACKWARD, true, pool, state, scratch_bytes);
}

static void release(void *state)
{
    backward_state *s = state;
    if (s)
        memory_free_aligned(s->deferred.x);
    free(s);
}

/* ---- running ------------------------------------------------------------------------------- */

typedef struct backward_run {
    const backward_state *s;
    const float *x, *dy;
    dense_u8 bytes;          /* with a unit in place of x */
    float *w, *dw, *db, *dx; /* dw NULL: update */
    cpu_update_step update_w, update_b;
    bool simple; /* w -= learning rate * dW: needs no rule */
    /* Scratch memory. With dW dy: [row_blocks][panels][panel_floats]; with dx it transposed:
       [row_blocks][panels][groups][lanes_floats]. What each worker needs: with `own` whether its dy
       is packed, and that; x, dx and dy as in `place`. */
    float *panels, *transposed, *workers;
} backward_run;

static void rows_of(const backward_state *s, int64_t block, int64_t *row, int64_t *rows)
{
    int64_t end;
    cpu_task_range(s->size.rows, s->block_rows, block, row, &end);
    *rows = end - *row;
}

static float *panel_of(const backward_run *r, int64_t block, int64_t panel)
{
    const backward_state *s = r->s;
    return r->panels + (block * s->size.panels + panel) * s->panel_floats;
}

static float *transposed_of(const backward_run *r, int64_t block, int64_t panel, int64_t group)
{
    const backward_state *s = r->s;
    int64_t place = (block * s->size.panels + panel) * s->groups + group;
    return r->transposed + place * s->kernels->lanes_floats;
}

/* Rows of the batch in a group, and the lanes that they take. */
static int64_t group_of(int64_t rows, int64_t group, int64_t *lanes)
{
    int64_t left = cpu_least(rows - group * DENSE_LANES, DENSE_LANES);
    *lanes = left > DENSE_LANES / 2 ? DENSE_LANES : DENSE_LANES / 2;
    return left;
}

static void transpose_dy(const backward_run *r, int64_t block, int64_t panel, const float *dy,
                         int64_t rows)
{
    const backward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t width = dense_width(d, panel), lanes;
    for (int64_t group = 0; group * DENSE_LANES < rows; group++) {
        int64_t count = group_of(rows, group, &lanes);
        s->kernels->pack_lanes(dy + group * DENSE_LANES * d->units, d->units, count, width, lanes,
                               transposed_of(r, block, panel, group));
    }
}

/* One panel's columns of dy, and with `bias` its gradient's. */
static void lay_panel(const backward_run *r, int64_t panel, bool bias)
{
    const backward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t column = panel * PANEL_COLUMNS, width = dense_width(d, panel), row, rows;
    float sums[PANEL_COLUMNS], total[PANEL_COLUMNS] = {0};
    for (int64_t block = 0; block < s->row_blocks; block++) {
        rows_of(s, block, &row, &rows);
        const float *dy = r->dy + row * d->units + column;
        if (s->ops.data)
            transpose_dy(r, block, panel, dy, rows);
        if (!s->ops.weights)
            continue;
        s->kernels->pack_dy(dy, d->units, rows, width, dense_factor(&r->bytes),
                            panel_of(r, block, panel), sums);
        for (int64_t n = 0; n < width; n++)
            total[n] += sums[n];
    }
    if (bias && s->ops.update_b)
        cpu_update_range(&r->update_b, total, column, width);
    else if (bias && r->db)
        memcpy(r->db + column, total, (size_t)width * sizeof *total);
}

static void pack_panel(void *context, int64_t panel, int worker)
{
    (void)worker;
    lay_panel(context, panel, true);
}

static float *worker_scratch(const backward_run *r, int worker)
{
    return r->workers + worker * r->s->worker_floats;
}

/* The worker's own dy, which its first chunk packs; the bias's gradient is chunk 0's. Returns
   the scratch memory behind it. */
static float *own_dy(backward_run *r, int worker, int64_t chunk)
{
    const backward_state *s = r->s;
    bool *packed = (bool *)worker_scratch(r, worker);
    r->panels = worker_scratch(r, worker) + PACKED_FLOATS;
    r->transposed = r->panels + s->dy_floats;
    for (int64_t i = 0; (!*packed || chunk == 0) && i < s->size.panels; i++)
        lay_panel(r, i, chunk == 0);
    *packed = true;
    return r->transposed + s->dy_transposed_floats;
}

/* A chunk's place in the sweep: rows k...k + depth - 1 of W, one block of the batch. */
typedef struct place {
    int64_t k, depth, next_k; /* next_k 0: this is the last */
    int64_t block, row, rows;
    /* Scratch: x_floats; [groups][depth][DENSE_LANES]; [DENSE_LANES][depth], before an activation.
     */
    float *x, *dx, *dy;
} place;

/* Floats from the panel's rows to what the chunk takes next; 0: nothing. */
static int64_t prefetch_distance(const dense_size *d, const place *c, int64_t panel)
{
    int64_t here = dense_offset(d, panel, c->k);
    if (panel + 1 < d->panels)
        return dense_offset(d, panel + 1, c->k) - here;
    return c->next_k > 0 ? dense_offset(d, 0, c->next_k) - here : 0;
}

static void sweep_data(const backward_run *r, const place *c, int64_t panel)
{
    const backward_state *s = r->s;
    const dense_size *d = &s->size;
    const float *w = r->w + dense_offset(d, panel, c->k);
    for (int64_t group = 0; group * DENSE_LANES < c->rows; group++) {
        dense_dgrad data = {.w = w,
                            .depth = c->depth,
                            .width = dense_width(d, panel),
                            .dy = transposed_of(r, c->block, panel, group),
                            .dx = c->dx + group * s->depth * DENSE_LANES,
                            .add = panel > 0,
                            .prefetch = group == 0 ? w + prefetch_distance(d, c, panel) : w};
        group_of(c->rows, group, &data.lanes);
        s->kernels->dgrad(&data);
    }
}

static void sweep_gradient(const backward_run *r, const place *c, int64_t panel)
{
    const backward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t at = dense_offset(d, panel, c->k), distance = prefetch_distance(d, c, panel);
    int streams = 0;
    dense_wgrad g = {.rows = c->rows,
                     .depth = c->depth,
                     .width = dense_width(d, panel),
                     .x = c->x,
                     .dy = panel_of(r, c->block, panel),
                     .unit = r->bytes.unit,
                     .dw = r->dw ? r->dw + at : NULL,
                     .add = c->block > 0,
                     .w = r->w ? r->w + at : NULL,
                     .rate = r->update_w.constants.learning_rate,
                     .update = r->simple ? NULL : r->update_w.rule,
                     .constants = &r->update_w.constants};
    if (!r->dw && distance && !s->ops.data) /* else dgrad has prefetched it */
        g.prefetch[streams++] = g.w + distance;
    dense_give_slots(&g, &r->update_w, at, distance, streams);
    s->kernels->wgrad(&g);
}

static void finish_data(const backward_run *r, const place *c, int64_t group)
{
    const backward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t lanes, rows = group_of(c->rows, group, &lanes);
    int64_t at = (c->row + group * DENSE_LANES) * d->in + c->k;
    const float *from = c->dx + group * s->depth * DENSE_LANES;
    if (!s->ops.act) {
        s->kernels->transpose(from, lanes, c->depth, rows, r->dx + at, d->in);
        return;
    }
    /* In place, what is read of x would wait for what was written to dx, 4096 bytes apart. */
    s->kernels->transpose(from, lanes, c->depth, rows, c->dy, c->depth);
    for (int64_t i = 0; i < rows; i++, at += d->in)
        cpu_activate_back(s->isa, s->ops.act->a.act, r->x + at, c->dy + i * c->depth, r->dx + at,
                          c->depth);
}

static void sweep(const backward_run *r, const place *c)
{
    const backward_state *s = r->s;
    const dense_size *d = &s->size;
    if (s->ops.weights && r->bytes.unit != 0) {
        dense_u8 rows = r->bytes;
        rows.index += c->row;
        s->kernels->pack_wgrad_u8(&rows, c->rows, c->k, c->depth, c->x);
    } else if (s->ops.weights) {
        s->kernels->pack_wgrad_x(r->x + c->row * d->in + c->k, d->in, c->rows, c->depth, c->x);
    }
    for (int64_t panel = 0; panel < d->panels; panel++) {
        if (r->dx)
            sweep_data(r, c, panel);
        if (s->ops.weights)
            sweep_gradient(r, c, panel);
    }
    for (int64_t group = 0; r->dx && group * DENSE_LANES < c->rows; group++)
        finish_data(r, c, group);
}

static void sweep_chunk(void *context, int64_t chunk, int worker)
{
    backward_run r = *(const backward_run *)context;
    const backward_state *s = r.s;
    int64_t first, end;
    place c = {.x = s->own ? own_dy(&r, worker, chunk) : worker_scratch(&r, worker)};
    c.dx = c.x + s->x_floats;
    c.dy = c.dx + s->groups * s->depth * DENSE_LANES;
    /* behind the chunk, the one that this worker is likely to take next */
    int64_t next = 0, next_end;
    if (chunk + 1 < s->chunks)
        threads_range(s->blocks, s->chunks, chunk + 1, 1, &next, &next_end);
    threads_range(s->blocks, s->chunks, chunk, 1, &first, &end);
    dense_begin(s->kernels);
    for (int64_t i = first; i < end; i++) {
        c.k = i * s->depth;
        c.depth = cpu_least(s->depth, s->size.in - c.k);
        c.next_k = (i + 1 < end ? i + 1 : next) * s->depth;
        for (c.block = 0; c.block < s->row_blocks; c.block++) {
            rows_of(s, c.block, &c.row, &c.rows);
            sweep(&r, &c);
        }
    }
    dense_end(s->kernels);
}

static cornu_status run_all(const op_run *o, backward_run *r)
{
    const backward_state *s = r->s;
    r->panels = o->scratch;
    r->transposed = r->panels + s->dy_floats;
    r->workers = r->panels + s->shared_floats;
    for (int i = 0; s->own && i < s->workers; i++)
        *(bool *)worker_scratch(r, i) = false;
    if (!s->own)
        threads_run(o->pool, s->size.panels, pack_panel, r);
    threads_run(o->pool, s->chunks, sweep_chunk, r);
    return CORNU_OK;
}

static cornu_status weights_run(const op_run *o)
{
    backward_state *s = o->state;
    backward_run r = {.s = s,
                      .x = o->in[0],
                      .bytes = s->samples ? dense_u8_of(o) : (dense_u8){0},
                      .dy = o->in[1],
                      .dw = o->out[0],
                      .db = o->out[1]};
    if (s->ops.update_w) {
        r.update_w = cpu_update_begin(o, s->ops.update_w, s->isa);
        r.simple = s->ops.update_w->a.update.optimizer.id == OPTIMIZER_SGD &&
                   r.update_w.constants.plain && !r.update_w.slot[0];
        r.w = r.update_w.w;
        r.dw = NULL;
    }
    if (s->ops.update_b)
        r.update_b = cpu_update_begin(o, s->ops.update_b, s->isa);
    if (s->ops.data)
        r.dx = o->tensors[(s->ops.act ? s->ops.act : s->ops.data)->out[0]];
    if (!o->deferred)
        return run_all(o, &r);
    r.panels = s->deferred.dy;
    threads_run(o->pool, s->size.panels, pack_panel, &r);
    dense_deferred_keep(&s->deferred, r.x, &r.bytes, &r.update_w, r.simple, o->pool);
    return CORNU_OK;
}

const dense_deferred *dense_deferred_of(const void *state)
{
    const backward_state *s = state;
    return &s->deferred;
}

static void flush(void *state, threads *pool)
{
    backward_state *s = state;
    dense_deferred_flush(&s->deferred, pool);
}

static cornu_status data_run(const op_run *o)
{
    /* Only the update writes W, and here is none. */
    backward_run r = {
        .s = o->state, .dy = o->in[0], .w = (float *)(uintptr_t)o->in[1], .dx = o->out[0]};
    return run_all(o, &r);
}

const kernel cpu_dense_backward_weights = {.name = "panels",
                                           .prepare = panels_prepare,
                                           .release = release,
                                           .run = weights_run,
                                           .panels = true};
const kernel cpu_dense_backward_weights_amx = {.name = "tiles",
                                               .accepts = tiles_accepts,
                                               .prepare = tiles_prepare,
                                               .release = release,
                                               .run = weights_run,
                                               .panels = true};
const kernel cpu_dense_backward = {.name = "panels",
                                   .group = GROUP_DENSE_BACKWARD,
                                   .accepts = fused_accepts,
                                   .prepare = panels_prepare_fused,
                                   .release = release,
                                   .run = weights_run,
                                   .defers = defers,
                                   .flush = flush,
                                   .panels = true};
const kernel cpu_dense_backward_amx = {.name = "tiles",
                                       .group = GROUP_DENSE_BACKWARD,
                                       .accepts = tiles_accepts_fused,
                                       .prepare = tiles_prepare_fused,
                                       .release = release,
                                       .run = weights_run,
                                       .defers = defers,
                                       .flush = flush,
                                       .panels = true};
const kernel cpu_dense_backward_data = {
    .name = "panels", .prepare = panels_prepare, .release = free, .run = data_run, .panels = true};
const kernel cpu_dense_backward_data_amx = {.name = "tiles",
                                            .accepts = tiles_accepts,
                                            .prepare = tiles_prepare,
                                            .release = free,
                                            .run = data_run,
                                            .panels = true};
