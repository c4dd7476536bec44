/* DENSE_FORWARD on weights in panels: y = act(x W + b).

   The work is cut into blocks of rows, groups of panels and, where those are too few, K-slices,
   whose partial sums are added in their order afterwards (split-K reduction). Blocks and slices
   depend on sizes alone; how many panels are in a group depends on the number of threads, too,
   which changes no sum. Within a chunk W goes by in blocks of `depth` rows by one panel, which all
   rows of x then find in the cache; an update that the step before has deferred comes first
   (dense_deferred.c). */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense/dense.h"
#include <stdlib.h>

enum {
    CHUNKS_MOST = 32,    /* balances up to 16 threads */
    CHUNKS_A_THREAD = 4, /* enough to balance them */
    CHUNKS_SMALL_X = 12, /* the same where x goes in one slice: each reads it anew */
    ROW_SLICES = 4,      /* of a block of rows when slices are added */
    PANELS_LEAST = 6     /* of a chunk where x has to come from beyond the second-level cache */
};
#define CACHED_X_BYTES ((int64_t)512 << 10) /* stays in the second-level cache */
#define SUM_BYTES ((int64_t)256 << 10)      /* so does what a chunk adds up */

CPU_ISA_TABLE(dense_kernels, cpu_dense);

const dense_kernels *dense_kernels_of(cpu_isa isa, bool tiles)
{
    return tiles ? DENSE_AMX : cpu_dense[isa];
}

/* Tiles take 32 rows of a batch at once, whether they are there or not. Fewer than 25, more than
   32, or a layer for which laying out x and dy is not little beside the products, are faster with
   vectors. */
bool dense_takes_amx(const dense_size *d, const char **why)
{
    enum { ROWS_LEAST = 25, ROWS_MOST = 32, SIDE_LEAST = 384, IN_MOST = 8192 };
    if (cpu_isa_or_base() != CPU_ISA_WITH_AMX)
        *why = "no AMX";
    else if (d->rows < ROWS_LEAST || d->rows > ROWS_MOST)
        *why = "not 25 to 32 samples";
    else if (d->in < SIDE_LEAST || d->in > IN_MOST || d->units < SIDE_LEAST)
        *why = "not 384 units, 384 to 8192 inputs";
    else
        return true;
    return false;
}

bool dense_reads_samples(const plan *p, tensor_ref x)
{
    const op *gather = NULL;
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
            if (plan_root(p, p->ops[i].out[k]) != plan_root(p, x))
                continue;
            if (p->ops[i].kind != OP_GATHER)
                return false;
            gather = &p->ops[i];
        }
    if (!gather || augmentation_any(&gather->a.gather.augment))
        return false;
    const standardization *st = &gather->a.gather.standardize;
    return !st->samplewise_center && !st->featurewise_center;
}

dense_u8 dense_u8_of(const op_run *o)
{
    const float least = 0x1p-64f; /* far from where floats end or lose precision */
    const sample_block *s = o->input->samples;
    if (s->x_type != SAMPLE_U8 || !(s->x_scale >= least && s->x_scale <= 1 / least))
        return (dense_u8){0};
    return (dense_u8){s->x_scale, s->x, o->input->index, shape_elements(&s->x_shape)};
}

bool dense_needs_no_x(const op_run *o)
{
    const plan *p = o->plan;
    if (!o->kernels || dense_u8_of(o).unit == 0 || !dense_reads_samples(p, o->op->out[0]))
        return false;
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_INPUTS_MAX; k++) {
            const kernel *by = o->kernels[i];
            bool takes = by == &cpu_dense_forward_amx || by == &cpu_dense_backward_amx ||
                         by == &cpu_dense_backward_weights_amx;
            if (plan_root(p, p->ops[i].in[k]) == o->op->out[0] && (k > 0 || !takes))
                return false;
        }
    return true;
}

typedef struct forward_state {
    const dense_kernels *kernels;
    cpu_isa isa;
    dense_size size;
    int64_t row_blocks, groups, slices;
    int64_t sums_stride;         /* floats of one chunk's sums */
    int64_t depth, depth_blocks; /* of W */
    int64_t x_floats;            /* of a block of x as kernels read it; 0: they read x itself */
    bool samples;                /* x may have a unit */
    activation act;
} forward_state;

static void choose_blocking(forward_state *s, int64_t thread_count)
{
    const dense_size *d = &s->size;
    s->depth = dense_forward_depth(s->kernels, d->in);
    s->depth_blocks = cpu_divide_up(d->in, s->depth);
    int64_t wanted = dense_chunks(d, 1, CHUNKS_MOST);
    s->row_blocks = cpu_divide_up(d->rows, DENSE_ROWS_MOST);
    int64_t rows = cpu_divide_up(d->rows, s->row_blocks);
    int64_t most = cpu_most(SUM_BYTES / (rows * PANEL_COLUMNS * (int64_t)sizeof(float)), 1);
    if (rows * d->in * (int64_t)sizeof(float) > CACHED_X_BYTES)
        s->groups = cpu_least(wanted, cpu_divide_up(d->panels, PANELS_LEAST));
    else
        s->groups = cpu_least(wanted, d->panels);
    s->groups = cpu_most(s->groups, cpu_divide_up(d->panels, most));
    /* Slices cost the writing and reading of their sums: little beside W while rows are fewer than
       the depth. */
    s->slices = cpu_least(wanted / (s->row_blocks * s->groups), d->in / (4 * rows));
    /* A small layer is halved along its depth: x then mostly is where it was written, and W where
       it will be, and lines that go from core to core are what such layers take their time for. */
    const bool small = wanted > 1 && wanted < CHUNKS_MOST && d->panels > 1;
    if (small)
        s->slices = 2;
    s->slices = cpu_least(cpu_most(s->slices, s->kernels->pack_x ? 2 : 1), s->depth_blocks);
    /* x comes to each chunk anew; where sums do not depend on it, so many will do. */
    const int64_t enough = small ? 1 : s->samples ? CHUNKS_SMALL_X : CHUNKS_A_THREAD;
    if (small || s->slices == 1 || s->kernels->pack_x)
        s->groups = cpu_least(s->groups, cpu_most(cpu_divide_up(enough * thread_count, s->slices),
                                                  cpu_divide_up(d->panels, most)));
    s->sums_stride = cpu_divide_up(d->panels, s->groups) * rows * PANEL_COLUMNS;
    if (s->kernels->pack_x)
        s->x_floats = s->kernels->x_floats(rows, s->depth);
}

static int64_t chunk_count(const forward_state *s)
{
    return s->row_blocks * s->groups * s->slices;
}

static int64_t packed_floats(const forward_state *s)
{
    return s->row_blocks * s->depth_blocks * s->x_floats;
}

static cornu_status prepare(const plan *p, const op *o, bool tiles, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    forward_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    *state = s;
    TRY(cpu_isa_choose(&s->isa));
    s->size = dense_size_of(OP_IN(p, o, 0), OP_IN(p, o, 1));
    s->kernels = dense_kernels_of(s->isa, tiles);
    s->samples = s->kernels->pack_u8 && dense_reads_samples(p, o->in[0]);
    s->act = o->a.dense.act;
    choose_blocking(s, threads_count(pool));
    cpu_need_scratch(scratch_bytes,
                     (s->slices > 1 ? chunk_count(s) : threads_count(pool)) * s->sums_stride +
                         packed_floats(s));
    return CORNU_OK;
}

typedef struct forward_run {
    const forward_state *s;
    const float *x, *w, *bias;
    dense_u8 bytes; /* with a unit in place of x */
    float *y;
    const dense_deferred *deferred; /* first update W by it; NULL: nothing to update */
    float *sums;   /* slices > 1: [chunks][sums_stride]; else [threads][sums_stride] */
    float *packed; /* x for the kernels: [row_blocks][depth_blocks][x_floats] */
} forward_run;

/* What a chunk covers. */
typedef struct cut {
    int64_t row, rows, panel, panels, k, depth;
} cut;

static cut cut_of(const forward_state *s, int64_t block, int64_t group, int64_t slice)
{
    cut c;
    const dense_size *d = &s->size;
    threads_range(d->rows, s->row_blocks, block, 1, &c.row, &c.rows);
    threads_range(d->panels, s->groups, group, 1, &c.panel, &c.panels);
    threads_range(d->in, s->slices, slice, s->depth, &c.k, &c.depth);
    c.rows -= c.row;
    c.panels -= c.panel;
    c.depth -= c.k;
    return c;
}

/* Bias and activation for `rows` rows from `first` on of one block of rows and group of panels. */
static void run_epilogue(const forward_run *r, const cut *c, const float *sums,
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

/* The block of W behind the one at k of the group's panel i: of the next panel, or of the first one
   further down. */
static const float *next_block(const forward_run *r, const cut *c, int64_t i, int64_t k,
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

/* A block of columns of x. */
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
        if (r->bytes.unit != 0) {
            dense_u8 rows = r->bytes;
            rows.index += row;
            s->kernels->pack_u8(&rows, row_end - row, k, end - k, packed_x(r, b, block));
        } else {
            s->kernels->pack_x(r->x + row * d->in + k, d->in, row_end - row, end - k,
                               packed_x(r, b, block));
        }
    }
}

static void run_chunk(void *context, int64_t chunk, int worker)
{
    const forward_run *r = context;
    const forward_state *s = r->s;
    const dense_size *d = &s->size;
    const int64_t places = s->row_blocks * s->groups; /* a thread stays at a slice of x */
    int64_t slice = chunk / places, place = chunk % places, block = place / s->groups;
    cut c = cut_of(s, block, place % s->groups, slice);
    dense_begin(s->kernels);
    float *sums = r->sums + (s->slices > 1 ? place * s->slices + slice : worker) * s->sums_stride;
    const int64_t most = s->depth;
    for (int64_t k = c.k; k < c.k + c.depth; k += most)
        for (int64_t i = 0; i < c.panels; i++) {
            dense_fprop p = {.x = s->x_floats > 0 ? packed_x(r, block, k / most)
                                                  : r->x + c.row * d->in + k,
                             .unit = r->bytes.unit,
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

static void reduce_slices(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const forward_run *r = context;
    const forward_state *s = r->s;
    int64_t place = chunk / ROW_SLICES, begin, end;
    cut c = cut_of(s, place / s->groups, place % s->groups, 0);
    threads_range(c.rows, ROW_SLICES, chunk % ROW_SLICES, 1, &begin, &end);
    run_epilogue(r, &c, r->sums + place * s->slices * s->sums_stride, s->sums_stride, begin,
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
    threads_run(o->pool, chunk_count(s), run_chunk, &r);
    if (s->slices > 1)
        threads_run(o->pool, s->row_blocks * s->groups * ROW_SLICES, reduce_slices, &r);
    return CORNU_OK;
}

static cornu_status panels_prepare(const plan *p, const op *o, threads *pool, void **state,
                                   size_t *scratch_bytes)
{
    return prepare(p, o, false, pool, state, scratch_bytes);
}

static bool tiles_accepts(const plan *p, const op *o, const char **why)
{
    dense_size d = dense_size_of(OP_IN(p, o, 0), OP_IN(p, o, 1));
    return dense_takes_amx(&d, why);
}

static cornu_status tiles_prepare(const plan *p, const op *o, threads *pool, void **state,
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
                                      .accepts = tiles_accepts,
                                      .prepare = tiles_prepare,
                                      .release = free,
                                      .run = run,
                                      .panels = true,
                                      .absorbs = &cpu_dense_backward_amx};
