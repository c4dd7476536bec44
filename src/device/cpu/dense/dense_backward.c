/* DENSE_BACKWARD_WEIGHTS and DENSE_BACKWARD_DATA on weights in panels: dW = x' dy, dx = dy W',
   alone, or as the group DENSE_BACKWARD with the updates and the activation's gradient.

   First dy is packed, in panels for dW, transposed for dx; its columns' sums are the bias's
   gradient. Where dy is small each worker packs it for itself: data written by another core arrive
   slowly. Then W is swept once:

                units, in panels of 48 columns
               +------+------+------+------+
        task 0 |  1   |  2   |  3   |  4   |  For each block, `depth` rows of a panel of W:
               +------+------+------+------+    dgrad  dx' [depth][rows] += W dy'
    in         |  5   |  6   |  7   |  8   |    wgrad  dW [depth][48] = x' dy, then the update
               +------+------+------+------+  while the next one is prefetched.
        task 1 |      |      |      |      |
               +------+------+------+------+

   Each element of dx and of dW is summed by one task alone. Where the updates of kernel and bias
   follow and nothing else reads their gradients, dW is never stored. dx is multiplied by the
   derivative of the activation that made x, if that is in the group, before it is stored. Where no
   dx is needed, the update of W may be deferred to the next step's forward pass
   (dense_deferred.c). */
#include "base/memory.h"
#include "device/cpu/dense/dense.h"
#include <stdlib.h>
#include <string.h>

enum { DENSE_PACKED_FLOATS = 16 }; /* one cache line, a flag: has the worker packed dy? */

/* The operations that run as one: those of a DENSE_BACKWARD, or one of its first two alone. */
typedef struct dense_backward {
    const op *weights, *data, *update_w, *update_b, *act; /* NULL: absent */
} dense_backward;

typedef struct dense_backward_state {
    const dense_kernels *kernels;
    cpu_isa isa;
    dense_backward ops;
    dense_size size;
    int64_t row_blocks, block_rows, lane_groups; /* groups of DENSE_LANES rows in a block */
    int64_t depth, blocks;                       /* of W */
    int64_t tasks, workers;
    int64_t panel_floats, dy_floats, dy_transposed_floats;
    int64_t x_floats;
    bool samples;                         /* x may be uint8 inputs with a scale */
    bool own;                             /* each worker packs dy for itself */
    int64_t shared_floats, worker_floats; /* of scratch memory */
    dense_deferred deferred;
} dense_backward_state;

typedef struct dense_backward_run {
    const dense_backward_state *s;
    const float *x, *dy;
    dense_u8 bytes;          /* in place of x, if it has a scale */
    float *w, *dw, *db, *dx; /* dw NULL: update w */
    cpu_update_step update_w, update_b;
    bool simple; /* w -= learning rate * dW: no optimizer rule is needed */
    /* Scratch memory. For dW, dy as [row_blocks][panels][panel_floats]; for dx, dy transposed as
       [row_blocks][panels][lane_groups][lanes_floats]. Then each worker's memory: with `own` a flag
       whether its dy is packed, and dy itself; x, dx and dy as in `sweep_block`. */
    float *panels, *transposed, *workers;
} dense_backward_run;

enum {
    TASKS_MOST = 64,
    DEPTH_TASKS = 16, /* deep blocks read dy less often */
    TASKS_FEW = 8     /* below this number of tasks, blocks become smaller */
};
#define BLOCK_BYTES ((int64_t)256 << 10) /* for x and dx, in the second-level cache */
#define OWN_BYTES ((int64_t)128 << 10)   /* of packed dy, for each worker to pack its own */

/* ---- preparation --------------------------------------------------------------------------- */

static void choose_blocking(dense_backward_state *s)
{
    const dense_size *d = &s->size;
    dense_row_blocks(d->rows, &s->row_blocks, &s->block_rows);
    s->lane_groups = cpu_divide_up(s->block_rows, DENSE_LANES);
    int products = (s->ops.data != NULL) + (s->ops.weights != NULL);
    int64_t wanted = dense_tasks(d, products, DEPTH_TASKS);
    int64_t most = BLOCK_BYTES / (2 * s->block_rows * (int64_t)sizeof(float));
    const dense_kernels *k = s->kernels;
    int64_t even = wanted + (wanted > 1 && wanted % 2); /* number of blocks, an even one */
    int64_t depth = cpu_least(cpu_divide_up(d->in, even), cpu_least(most, k->backward_depth));
    bool coarse = d->in >= TASKS_FEW * k->coarse_grain && depth >= 2 * k->coarse_grain;
    int64_t grain = coarse ? k->coarse_grain : k->grain;
    s->depth = cpu_divide_up(depth, grain) * grain;
    s->blocks = cpu_divide_up(d->in, s->depth);
    s->tasks = cpu_least(s->blocks, TASKS_MOST);
    s->x_floats = s->ops.weights ? k->wgrad_x_floats(s->block_rows, s->depth) : 0;
    int64_t dx_groups = s->ops.data ? s->lane_groups + (s->ops.act != NULL) : 0;
    s->worker_floats = cpu_scratch_floats(s->x_floats + dx_groups * s->depth * DENSE_LANES);
    int64_t panels = s->row_blocks * d->panels;
    s->panel_floats = k->panel_floats(s->block_rows);
    s->dy_floats = s->ops.weights ? panels * s->panel_floats : 0;
    s->dy_transposed_floats = s->ops.data ? panels * s->lane_groups * k->lanes_floats : 0;
    s->shared_floats = s->dy_floats + s->dy_transposed_floats;
    s->own = s->shared_floats * (int64_t)sizeof(float) <= OWN_BYTES;
    if (s->own) {
        s->worker_floats += DENSE_PACKED_FLOATS + s->shared_floats;
        s->shared_floats = 0;
    }
}

static dense_size size_of(const plan *p, const op *o)
{
    if (o->kind == OP_DENSE_BACKWARD_DATA)
        return dense_size_of(OP_OUT(p, o, 0), OP_IN(p, o, 1));
    int64_t rows, in, units;
    tensor_matrix(OP_IN(p, o, 0), &rows, &in);
    tensor_matrix(OP_IN(p, o, 1), &rows, &units);
    return dense_size_from(rows, in, units);
}

static bool fused_accepts(const plan *p, const op *o, const char **why)
{
    *why = "more than 512 rows";
    return size_of(p, o).rows <= DENSE_BLOCK_ROWS;
}

static bool defers(const plan *p, const op_group *g)
{
    const op *weights = group_op(p, g, ROLE_WGRAD);
    const dense_size d = size_of(p, weights);
    return dense_worth_deferring(&d);
}

static cornu_status prepare(const plan *p, const op *o, group_kind group, bool amx, threads *pool,
                            void **state, size_t *scratch_bytes)
{
    const op_group *g = plan_group(p, o, group);
    dense_backward_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    *state = s;
    TRY(cpu_isa_choose(&s->isa));
    s->kernels = dense_kernels_of(s->isa, amx);
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

static bool amx_accepts(const plan *p, const op *o, const char **why)
{
    dense_size d = size_of(p, o);
    return dense_takes_amx(&d, why);
}

static bool amx_accepts_fused(const plan *p, const op *o, const char **why)
{
    return amx_accepts(p, o, why) && fused_accepts(p, o, why);
}

static cornu_status amx_prepare(const plan *p, const op *o, threads *pool, void **state,
                                size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_NONE, true, pool, state, scratch_bytes);
}

static cornu_status amx_prepare_fused(const plan *p, const op *o, threads *pool, void **state,
                                      size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_DENSE_BACKWARD, true, pool, state, scratch_bytes);
}

static void release(void *state)
{
    dense_backward_state *s = state;
    if (s)
        memory_free_aligned(s->deferred.x);
    free(s);
}

/* ---- packing dy ---------------------------------------------------------------------------- */

static void rows_of(const dense_backward_state *s, int64_t block, int64_t *row, int64_t *rows)
{
    int64_t end;
    cpu_task_range(s->size.rows, s->block_rows, block, row, &end);
    *rows = end - *row;
}

static float *panel_of(const dense_backward_run *r, int64_t block, int64_t panel)
{
    const dense_backward_state *s = r->s;
    return r->panels + (block * s->size.panels + panel) * s->panel_floats;
}

static float *transposed_of(const dense_backward_run *r, int64_t block, int64_t panel,
                            int64_t lane_group)
{
    const dense_backward_state *s = r->s;
    int64_t at = (block * s->size.panels + panel) * s->lane_groups + lane_group;
    return r->transposed + at * s->kernels->lanes_floats;
}

/* Rows of the batch in a group of lanes; *lanes is the number of lanes that they occupy. */
static int64_t lanes_of(int64_t rows, int64_t lane_group, int64_t *lanes)
{
    int64_t left = cpu_least(rows - lane_group * DENSE_LANES, DENSE_LANES);
    *lanes = left > DENSE_LANES / 2 ? DENSE_LANES : DENSE_LANES / 2;
    return left;
}

static void transpose_dy(const dense_backward_run *r, int64_t block, int64_t panel, const float *dy,
                         int64_t rows)
{
    const dense_backward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t width = dense_width(d, panel), lanes;
    for (int64_t lane_group = 0; lane_group * DENSE_LANES < rows; lane_group++) {
        int64_t count = lanes_of(rows, lane_group, &lanes);
        s->kernels->pack_lanes(dy + lane_group * DENSE_LANES * d->units, d->units, count, width,
                               lanes, transposed_of(r, block, panel, lane_group));
    }
}

/* One panel's columns of dy, and with `bias` their sums, the bias's gradient. */
static void pack_dy_panel(const dense_backward_run *r, int64_t panel, bool bias)
{
    const dense_backward_state *s = r->s;
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
    pack_dy_panel(context, panel, true);
}

static float *worker_scratch(const dense_backward_run *r, int worker)
{
    return r->workers + worker * r->s->worker_floats;
}

/* The worker's own dy, which its first task packs; task 0 also makes the bias's gradient. Returns
   the scratch memory after it. */
static float *own_dy(dense_backward_run *r, int worker, int64_t task)
{
    const dense_backward_state *s = r->s;
    bool *packed = (bool *)worker_scratch(r, worker);
    r->panels = worker_scratch(r, worker) + DENSE_PACKED_FLOATS;
    r->transposed = r->panels + s->dy_floats;
    for (int64_t i = 0; (!*packed || task == 0) && i < s->size.panels; i++)
        pack_dy_panel(r, i, task == 0);
    *packed = true;
    return r->transposed + s->dy_transposed_floats;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

/* The position of a task: rows k...k + depth - 1 of W, one block of the batch. */
typedef struct sweep_block {
    int64_t k, depth, next_k; /* next_k 0: this block is the last */
    int64_t block, row, rows;
    /* Scratch: x_floats; [lane_groups][depth][DENSE_LANES]; [DENSE_LANES][depth], for the gradient
       of an activation. */
    float *x, *dx, *dy;
} sweep_block;

/* Floats from the panel's current rows to the task's next block; 0: there is none. */
static int64_t prefetch_distance(const dense_size *d, const sweep_block *c, int64_t panel)
{
    int64_t here = dense_offset(d, panel, c->k);
    if (panel + 1 < d->panels)
        return dense_offset(d, panel + 1, c->k) - here;
    return c->next_k > 0 ? dense_offset(d, 0, c->next_k) - here : 0;
}

static void dgrad_panel(const dense_backward_run *r, const sweep_block *c, int64_t panel)
{
    const dense_backward_state *s = r->s;
    const dense_size *d = &s->size;
    const float *w = r->w + dense_offset(d, panel, c->k);
    for (int64_t lane_group = 0; lane_group * DENSE_LANES < c->rows; lane_group++) {
        dense_dgrad g = {.w = w,
                         .depth = c->depth,
                         .width = dense_width(d, panel),
                         .dy = transposed_of(r, c->block, panel, lane_group),
                         .dx = c->dx + lane_group * s->depth * DENSE_LANES,
                         .add = panel > 0,
                         .prefetch = lane_group == 0 ? w + prefetch_distance(d, c, panel) : w};
        lanes_of(c->rows, lane_group, &g.lanes);
        s->kernels->dgrad(&g);
    }
}

static void wgrad_panel(const dense_backward_run *r, const sweep_block *c, int64_t panel)
{
    const dense_backward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t at = dense_offset(d, panel, c->k), distance = prefetch_distance(d, c, panel);
    int streams = 0;
    dense_wgrad g = {.rows = c->rows,
                     .depth = c->depth,
                     .width = dense_width(d, panel),
                     .x = c->x,
                     .dy = panel_of(r, c->block, panel),
                     .scale = r->bytes.scale,
                     .dw = r->dw ? r->dw + at : NULL,
                     .add = c->block > 0,
                     .w = r->w ? r->w + at : NULL,
                     .rate = r->update_w.constants.learning_rate,
                     .update = r->simple ? NULL : r->update_w.rule,
                     .constants = &r->update_w.constants};
    if (distance && (r->dw || !s->ops.data)) /* otherwise dgrad has prefetched it */
        g.prefetch[streams++] = (r->dw ? g.dw : g.w) + distance;
    dense_give_slots(&g, &r->update_w, at, distance, streams);
    s->kernels->wgrad(&g);
}

static void dgrad_epilogue(const dense_backward_run *r, const sweep_block *c, int64_t lane_group)
{
    const dense_backward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t lanes, rows = lanes_of(c->rows, lane_group, &lanes);
    int64_t at = (c->row + lane_group * DENSE_LANES) * d->in + c->k;
    const float *from = c->dx + lane_group * s->depth * DENSE_LANES;
    if (!s->ops.act) {
        s->kernels->transpose(from, lanes, c->depth, rows, r->dx + at, d->in);
        return;
    }
    /* In place, reads of x would wait for writes to dx that are 4096 bytes apart. */
    s->kernels->transpose(from, lanes, c->depth, rows, c->dy, c->depth);
    for (int64_t i = 0; i < rows; i++, at += d->in)
        cpu_activate_back(s->isa, s->ops.act->a.act, r->x + at, c->dy + i * c->depth, r->dx + at,
                          c->depth);
}

static void sweep(const dense_backward_run *r, const sweep_block *c)
{
    const dense_backward_state *s = r->s;
    const dense_size *d = &s->size;
    if (s->ops.weights && r->bytes.scale != 0) {
        dense_u8 rows = r->bytes;
        rows.index += c->row;
        s->kernels->pack_wgrad_u8(&rows, c->rows, c->k, c->depth, c->x);
    } else if (s->ops.weights) {
        s->kernels->pack_wgrad_x(r->x + c->row * d->in + c->k, d->in, c->rows, c->depth, c->x);
    }
    for (int64_t panel = 0; panel < d->panels; panel++) {
        if (r->dx)
            dgrad_panel(r, c, panel);
        if (s->ops.weights)
            wgrad_panel(r, c, panel);
    }
    for (int64_t lane_group = 0; r->dx && lane_group * DENSE_LANES < c->rows; lane_group++)
        dgrad_epilogue(r, c, lane_group);
}

static void sweep_task(void *context, int64_t task, int worker)
{
    dense_backward_run r = *(const dense_backward_run *)context;
    const dense_backward_state *s = r.s;
    int64_t first, end;
    sweep_block c = {.x = s->own ? own_dy(&r, worker, task) : worker_scratch(&r, worker)};
    c.dx = c.x + s->x_floats;
    c.dy = c.dx + s->lane_groups * s->depth * DENSE_LANES;
    /* after the task, the task that this worker will probably take next */
    int64_t next = 0, next_end;
    if (task + 1 < s->tasks)
        threads_range(s->blocks, s->tasks, task + 1, 1, &next, &next_end);
    threads_range(s->blocks, s->tasks, task, 1, &first, &end);
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

static void dense_backward_pack_dy(const op_run *o, dense_backward_run *r)
{
    threads_run(o->pool, r->s->size.panels, pack_panel, r);
}

static cornu_status dense_backward_sweep(const op_run *o, dense_backward_run *r)
{
    const dense_backward_state *s = r->s;
    r->panels = o->scratch;
    r->transposed = r->panels + s->dy_floats;
    r->workers = r->panels + s->shared_floats;
    for (int i = 0; s->own && i < s->workers; i++)
        *(bool *)worker_scratch(r, i) = false;
    if (!s->own)
        dense_backward_pack_dy(o, r);
    threads_run(o->pool, s->tasks, sweep_task, r);
    return CORNU_OK;
}

/* ---- running ------------------------------------------------------------------------------- */

static cornu_status weights_run(const op_run *o)
{
    dense_backward_state *s = o->state;
    dense_backward_run r = {.s = s,
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
        return dense_backward_sweep(o, &r);
    r.panels = s->deferred.dy;
    dense_backward_pack_dy(o, &r);
    dense_deferred_keep(&s->deferred, r.x, &r.bytes, &r.update_w, r.simple, o->pool);
    return CORNU_OK;
}

const dense_deferred *dense_deferred_of(const void *state)
{
    const dense_backward_state *s = state;
    return &s->deferred;
}

static void flush(void *state, threads *pool)
{
    dense_backward_state *s = state;
    dense_deferred_flush(&s->deferred, pool);
}

static cornu_status data_run(const op_run *o)
{
    /* Only the update writes W, and there is none here. */
    dense_backward_run r = {
        .s = o->state, .dy = o->in[0], .w = (float *)(uintptr_t)o->in[1], .dx = o->out[0]};
    return dense_backward_sweep(o, &r);
}

const kernel cpu_dense_backward_weights = {.name = "panels",
                                           .prepare = panels_prepare,
                                           .release = release,
                                           .run = weights_run,
                                           .panels = true};
const kernel cpu_dense_backward_weights_amx = {.name = "tiles",
                                               .accepts = amx_accepts,
                                               .prepare = amx_prepare,
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
                                       .accepts = amx_accepts_fused,
                                       .prepare = amx_prepare_fused,
                                       .release = release,
                                       .run = weights_run,
                                       .defers = defers,
                                       .flush = flush,
                                       .panels = true};
const kernel cpu_dense_backward_data = {
    .name = "panels", .prepare = panels_prepare, .release = free, .run = data_run, .panels = true};
const kernel cpu_dense_backward_data_amx = {.name = "tiles",
                                            .accepts = amx_accepts,
                                            .prepare = amx_prepare,
                                            .release = free,
                                            .run = data_run,
                                            .panels = true};
