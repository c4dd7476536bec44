/* The run of the backward pass of dense layers: dy is packed, then W is swept block by block
   (dense_backward.c has the drawing). */
#include "device/cpu/dense/dense_backward.h"
#include <string.h>

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

void dense_backward_pack_dy(const op_run *o, dense_backward_run *r)
{
    threads_run(o->pool, r->s->size.panels, pack_panel, r);
}

cornu_status dense_backward_bias(const op_run *o, dense_backward_run *r)
{
    r->panels = o->scratch;
    dense_backward_pack_dy(o, r);
    return CORNU_OK;
}

cornu_status dense_backward_sweep(const op_run *o, dense_backward_run *r)
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
