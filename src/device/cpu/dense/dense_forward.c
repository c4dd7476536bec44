/* DENSE_FORWARD on weights in panels: y = act(x W + b), x [rows][in], W [in][units].

   A task is a block of y, some rows by some panels of columns. Where there are too few such blocks
   a task is also one K-slice of `in`; it then writes partial sums, which are added in the slices'
   order afterwards (split-K reduction). The epilogue adds the bias and applies the activation.

                              units, in panels of 48 columns
              in              +------+------+------+------+
         +----+----+ slice 0  |  1   |  2   |      |      |
    rows |  x |    |     in   |  3   |  4   |      |      |
         +----+----+          +------+------+------+------+
                     slice 1  |      |      |      |      |
                              |      |      |      |      |
                              +------+------+------+------+
                              |<- a task  ->|<- another ->|

   A task reads its panels of W once, block by block: above, 1 2 3 4. A block of `depth` rows of a
   panel stays in the cache while all the task's rows of x pass over it; meanwhile the next block is
   prefetched.

   Blocks of rows and K-slices depend on sizes alone. The number of panels of a task also depends on
   the number of threads, which changes no sum. An update that the previous step deferred is applied
   to each block first (dense_deferred.c). */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense/dense.h"
#include <stdlib.h>

enum {
    TASKS_MOST = 32,    /* balances up to 16 threads */
    TASKS_A_THREAD = 4, /* enough to balance the threads */
    TASKS_SMALL_X = 12, /* the same with uint8 inputs: each task reads x again */
    ROW_SLICES = 4,     /* tasks of a block of rows in the split-K reduction */
    PANELS_LEAST = 6    /* of a task where x does not fit the second-level cache */
};
#define CACHED_X_BYTES ((int64_t)512 << 10) /* stays in the second-level cache */
#define SUM_BYTES ((int64_t)256 << 10)      /* as do a task's sums */

typedef struct forward_state {
    const dense_kernels *kernels;
    cpu_isa isa;
    dense_size size;
    int64_t row_blocks, panel_blocks, slices;
    int64_t sums_stride;         /* floats of one task's sums */
    int64_t depth, depth_blocks; /* of W */
    int64_t x_floats; /* of a block of x in the kernels' packed form; 0: they read x itself */
    bool samples;     /* x may be uint8 inputs with a scale */
    activation act;
} forward_state;

static void choose_blocking(forward_state *s, int64_t thread_count)
{
    const dense_size *d = &s->size;
    s->depth = dense_forward_depth(s->kernels, d->in);
    s->depth_blocks = cpu_divide_up(d->in, s->depth);
    int64_t wanted = dense_tasks(d, 1, TASKS_MOST);
    s->row_blocks = cpu_divide_up(d->rows, DENSE_ROWS_MOST);
    int64_t rows = cpu_divide_up(d->rows, s->row_blocks);
    int64_t most = cpu_most(SUM_BYTES / (rows * PANEL_COLUMNS * (int64_t)sizeof(float)), 1);
    if (rows * d->in * (int64_t)sizeof(float) > CACHED_X_BYTES)
        s->panel_blocks = cpu_least(wanted, cpu_divide_up(d->panels, PANELS_LEAST));
    else
        s->panel_blocks = cpu_least(wanted, d->panels);
    s->panel_blocks = cpu_most(s->panel_blocks, cpu_divide_up(d->panels, most));
    /* Slices cost the writing and reading of their sums: little compared with W while rows are
       fewer than the depth. */
    s->slices = cpu_least(wanted / (s->row_blocks * s->panel_blocks), d->in / (4 * rows));
    /* A small layer is halved along its depth. Then x is mostly in the cache of the core that wrote
       it, and W of the core that will write it; cache lines moving from core to core are the main
       cost of such layers. */
    const bool small = wanted > 1 && wanted < TASKS_MOST && d->panels > 1;
    if (small)
        s->slices = 2;
    s->slices = cpu_least(cpu_most(s->slices, s->kernels->pack_x ? 2 : 1), s->depth_blocks);
    /* Each task reads x again; where the sums do not depend on the number of tasks, this many
       suffice. */
    const int64_t enough = small ? 1 : s->samples ? TASKS_SMALL_X : TASKS_A_THREAD;
    if (small || s->slices == 1 || s->kernels->pack_x)
        s->panel_blocks =
            cpu_least(s->panel_blocks, cpu_most(cpu_divide_up(enough * thread_count, s->slices),
                                                cpu_divide_up(d->panels, most)));
    s->sums_stride = cpu_divide_up(d->panels, s->panel_blocks) * rows * PANEL_COLUMNS;
    if (s->kernels->pack_x)
        s->x_floats = s->kernels->x_floats(rows, s->depth);
}

static int64_t task_count(const forward_state *s)
{
    return s->row_blocks * s->panel_blocks * s->slices;
}

static int64_t packed_floats(const forward_state *s)
{
    return s->row_blocks * s->depth_blocks * s->x_floats;
}

static cornu_status prepare(const plan *p, const op *o, bool amx, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    forward_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    *state = s;
    TRY(cpu_isa_choose(&s->isa));
    s->size = dense_size_of(OP_IN(p, o, 0), OP_IN(p, o, 1));
    s->kernels = dense_kernels_of(s->isa, amx);
    s->samples = s->kernels->pack_u8 && dense_reads_samples(p, o->in[0]);
    s->act = o->a.dense.act;
    choose_blocking(s, threads_count(pool));
    cpu_need_scratch(scratch_bytes,
                     (s->slices > 1 ? task_count(s) : threads_count(pool)) * s->sums_stride +
                         packed_floats(s));
    return CORNU_OK;
}

typedef struct forward_run {
    const forward_state *s;
    const float *x, *w, *bias;
    dense_u8 bytes; /* in place of x, if it has a scale */
    float *y;
    const dense_deferred *deferred; /* applied to W first; NULL: none */
    float *sums;   /* slices > 1: [tasks][sums_stride]; else [threads][sums_stride] */
    float *packed; /* x for the kernels: [row_blocks][depth_blocks][x_floats] */
} forward_run;

/* The work of a task: rows by panels of y, from a K-slice. */
typedef struct task_block {
    int64_t row, rows, panel, panels, k, depth;
} task_block;

static task_block block_of(const forward_state *s, int64_t row_block, int64_t panel_block,
                           int64_t slice)
{
    task_block c;
    const dense_size *d = &s->size;
    threads_range(d->rows, s->row_blocks, row_block, 1, &c.row, &c.rows);
    threads_range(d->panels, s->panel_blocks, panel_block, 1, &c.panel, &c.panels);
    threads_range(d->in, s->slices, slice, s->depth, &c.k, &c.depth);
    c.rows -= c.row;
    c.panels -= c.panel;
    c.depth -= c.k;
    return c;
}

/* Apply bias and activation to `rows` rows from `first` on of a task's block of y. */
static void run_epilogue(const forward_run *r, const task_block *c, const float *sums,
                         int64_t slice_stride, int64_t first, int64_t rows)
{
    const forward_state *s = r->s;
    const dense_size *d = &s->size;
    for (int64_t i = 0; i < c->panels; i++) {
        int64_t column = (c->panel + i) * PANEL_COLUMNS;
        dense_epilogue f = {.slices = sums + (i * c->rows + first) * PANEL_COLUMNS,
                            .slice_count = s->slices,
                            .slice_stride = slice_stride,
                            .bias = r->bias ? r->bias + column : NULL,
                            .factor = dense_factor(&r->bytes),
                            .rows = rows,
                            .width = dense_width(d, c->panel + i),
                            .relu = s->act.kind == ACTIVATION_RELU,
                            .y = r->y + (c->row + first) * d->units + column,
                            .y_stride = d->units};
        s->kernels->epilogue(&f);
        for (int64_t k = 0; !f.relu && s->act.kind != ACTIVATION_LINEAR && k < rows; k++)
            cpu_activate(s->isa, s->act, f.y + k * d->units, f.y + k * d->units, f.width);
    }
}

/* The block of W after the one at k of the task's panel i: in the next panel, or in the first panel
   further down. */
static const float *next_block(const forward_run *r, const task_block *c, int64_t i, int64_t k,
                               int64_t depth)
{
    const dense_size *d = &r->s->size;
    if (i + 1 < c->panels)
        return r->w + dense_offset(d, c->panel + i + 1, k);
    if (k + depth < c->k + c->depth)
        return r->w + dense_offset(d, c->panel, k + depth);
    return r->w + dense_offset(d, c->panel + i, k);
}

static float *packed_x(const forward_run *r, int64_t row_block, int64_t depth_block)
{
    return r->packed + (row_block * r->s->depth_blocks + depth_block) * r->s->x_floats;
}

/* Pack a block of columns of x. */
static void pack_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const forward_run *r = context;
    const forward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t k, end, row, row_end;
    cpu_task_range(d->in, s->depth, block, &k, &end);
    for (int64_t b = 0; b < s->row_blocks; b++) {
        threads_range(d->rows, s->row_blocks, b, 1, &row, &row_end);
        if (r->bytes.scale != 0) {
            dense_u8 rows = r->bytes;
            rows.index += row;
            s->kernels->pack_u8(&rows, row_end - row, k, end - k, packed_x(r, b, block));
        } else {
            s->kernels->pack_x(r->x + row * d->in + k, d->in, row_end - row, end - k,
                               packed_x(r, b, block));
        }
    }
}

static void run_task(void *context, int64_t task, int worker)
{
    const forward_run *r = context;
    const forward_state *s = r->s;
    const dense_size *d = &s->size;
    const int64_t outputs = s->row_blocks * s->panel_blocks; /* a thread stays in one slice of x */
    int64_t slice = task / outputs, output = task % outputs, row_block = output / s->panel_blocks;
    task_block c = block_of(s, row_block, output % s->panel_blocks, slice);
    dense_begin(s->kernels);
    float *sums = r->sums + (s->slices > 1 ? output * s->slices + slice : worker) * s->sums_stride;
    const int64_t most = s->depth;
    for (int64_t k = c.k; k < c.k + c.depth; k += most)
        for (int64_t i = 0; i < c.panels; i++) {
            dense_fprop p = {.x = s->x_floats > 0 ? packed_x(r, row_block, k / most)
                                                  : r->x + c.row * d->in + k,
                             .scale = r->bytes.scale,
                             .x_stride = d->in,
                             .rows = c.rows,
                             .depth = cpu_least(most, c.k + c.depth - k),
                             .width = dense_width(d, c.panel + i),
                             .w = r->w + dense_offset(d, c.panel + i, k),
                             .sum = sums + i * c.rows * PANEL_COLUMNS,
                             .add = k > c.k};
            p.prefetch = next_block(r, &c, i, k, p.depth);
            if (r->deferred)
                dense_deferred_update(r->deferred, c.panel + i, k, p.depth, p.prefetch - p.w,
                                      false);
            s->kernels->fprop(&p);
        }
    dense_end(s->kernels);
    if (s->slices == 1)
        run_epilogue(r, &c, sums, 0, 0, c.rows);
}

static void reduce_slices(void *context, int64_t task, int worker)
{
    (void)worker;
    const forward_run *r = context;
    const forward_state *s = r->s;
    int64_t output = task / ROW_SLICES, begin, end;
    task_block c = block_of(s, output / s->panel_blocks, output % s->panel_blocks, 0);
    threads_range(c.rows, ROW_SLICES, task % ROW_SLICES, 1, &begin, &end);
    run_epilogue(r, &c, r->sums + output * s->slices * s->sums_stride, s->sums_stride, begin,
                 end - begin);
}

static cornu_status run(const op_run *o)
{
    const forward_state *s = o->state;
    forward_run r = {.s = s,
                     .x = o->in[0],
                     .bytes = s->samples ? dense_u8_of(o) : (dense_u8){0},
                     .w = o->in[1],
                     .bias = o->in[2],
                     .y = o->out[0],
                     .deferred = o->absorbed ? dense_deferred_of(o->absorbed) : NULL,
                     .sums = o->scratch};
    if (s->x_floats > 0) {
        r.packed = r.sums;
        r.sums += packed_floats(s);
        threads_run(o->pool, s->depth_blocks, pack_block, &r);
    }
    threads_run(o->pool, task_count(s), run_task, &r);
    if (s->slices > 1)
        threads_run(o->pool, s->row_blocks * s->panel_blocks * ROW_SLICES, reduce_slices, &r);
    return CORNU_OK;
}

static cornu_status panels_prepare(const plan *p, const op *o, threads *pool, void **state,
                                   size_t *scratch_bytes)
{
    return prepare(p, o, false, pool, state, scratch_bytes);
}

static bool amx_accepts(const plan *p, const op *o, const char **why)
{
    dense_size d = dense_size_of(OP_IN(p, o, 0), OP_IN(p, o, 1));
    return dense_takes_amx(&d, why);
}

static cornu_status amx_prepare(const plan *p, const op *o, threads *pool, void **state,
                                size_t *scratch_bytes)
{
    return prepare(p, o, true, pool, state, scratch_bytes);
}

const kernel cpu_dense_forward = {.name = "panels",
                                  .prepare = panels_prepare,
                                  .release = free,
                                  .run = run,
                                  .panels = true,
                                  .absorbs = &cpu_dense_backward};
const kernel cpu_dense_forward_amx = {.name = "tiles",
                                      .accepts = amx_accepts,
                                      .prepare = amx_prepare,
                                      .release = free,
                                      .run = run,
                                      .panels = true,
                                      .absorbs = &cpu_dense_backward_amx};
