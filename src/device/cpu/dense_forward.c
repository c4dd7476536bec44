/* DENSE_FORWARD on weights in panels: y = act(x W + b).

   The work is cut into blocks of rows, groups of panels and, where those are too few, parts of the
   depth, whose sums are added in their order afterwards. Within a chunk W goes by in blocks of
   DENSE_DEPTH rows by one panel, which all rows of x then find in the first-level cache; the update
   that the step before has left to do comes first (dense_late.c). */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense.h"
#include <stdlib.h>

enum {
    CHUNKS_MOST = 32, /* balances up to 16 threads */
    ROW_SLICES = 4,   /* of a block of rows when parts are added */
    PANELS_LEAST = 6  /* of a chunk where x has to come from beyond the second-level cache */
};
#define CACHED_X_BYTES ((int64_t)512 << 10) /* stays in the second-level cache */
#define SUM_BYTES ((int64_t)256 << 10)      /* so does what a chunk adds up */

CPU_ISA_TABLE(dense_kernels, cpu_dense);

typedef struct forward_state {
    const dense_kernels *kernels;
    dense_size size;
    int64_t row_blocks, groups, parts;
    int64_t sums_stride; /* floats of one chunk's sums */
    activation act;
} forward_state;

static void choose_cut(forward_state *s)
{
    const dense_size *d = &s->size;
    int64_t wanted = dense_chunks(d, 1, CHUNKS_MOST);
    s->row_blocks = cpu_divide_up(d->rows, DENSE_ROWS_MOST);
    int64_t rows = cpu_divide_up(d->rows, s->row_blocks);
    int64_t most = SUM_BYTES / (rows * PANEL_COLUMNS * (int64_t)sizeof(float));
    if (rows * d->in * (int64_t)sizeof(float) > CACHED_X_BYTES)
        s->groups = cpu_least(wanted, cpu_divide_up(d->panels, PANELS_LEAST));
    else
        s->groups = cpu_least(wanted, d->panels);
    s->groups = cpu_most(s->groups, cpu_divide_up(d->panels, cpu_most(most, 1)));
    /* Parts cost the writing and reading of their sums: little beside W while rows are fewer than
       the depth. */
    s->parts = cpu_least(wanted / (s->row_blocks * s->groups), d->in / (4 * rows));
    s->parts = cpu_most(cpu_least(s->parts, cpu_divide_up(d->in, DENSE_DEPTH)), 1);
    s->sums_stride = cpu_divide_up(d->panels, s->groups) * rows * PANEL_COLUMNS;
}

static int64_t chunk_count(const forward_state *s)
{
    return s->row_blocks * s->groups * s->parts;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    forward_state *s = NULL;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    s->kernels = cpu_dense[isa];
    s->size = dense_size_of(OP_IN(p, o, 0), OP_IN(p, o, 1));
    s->act = o->a.dense.act;
    choose_cut(s);
    cpu_need_scratch(scratch_bytes,
                     (s->parts > 1 ? chunk_count(s) : threads_count(pool)) * s->sums_stride);
    *state = s;
    return CORNU_OK;
}

typedef struct forward_run {
    const forward_state *s;
    const float *x, *w, *bias;
    float *y;
    const dense_late *late; /* first update W by it; NULL: nothing to update */
    float *sums;            /* parts > 1: [chunks][sums_stride]; else [threads][sums_stride] */
} forward_run;

/* What a chunk covers. */
typedef struct cut {
    int64_t row, rows, panel, panels, k, depth;
} cut;

static cut cut_of(const forward_state *s, int64_t block, int64_t group, int64_t part)
{
    cut c;
    const dense_size *d = &s->size;
    threads_part(d->rows, s->row_blocks, block, 1, &c.row, &c.rows);
    threads_part(d->panels, s->groups, group, 1, &c.panel, &c.panels);
    threads_part(d->in, s->parts, part, DENSE_DEPTH, &c.k, &c.depth);
    c.rows -= c.row;
    c.panels -= c.panel;
    c.depth -= c.k;
    return c;
}

/* Bias and activation for `rows` rows from `first` on of one block of rows and group of panels. */
static void finish(const forward_run *r, const cut *c, const float *sums, int64_t part_stride,
                   int64_t first, int64_t rows)
{
    const forward_state *s = r->s;
    const dense_size *d = &s->size;
    for (int64_t i = 0; i < c->panels; i++) {
        int64_t column = (c->panel + i) * PANEL_COLUMNS;
        dense_finish f = {.parts = sums + (i * c->rows + first) * PANEL_COLUMNS,
                          .part_count = s->parts,
                          .part_stride = part_stride,
                          .bias = r->bias ? r->bias + column : NULL,
                          .rows = rows,
                          .width = dense_width(d, c->panel + i),
                          .relu = s->act.kind == ACTIVATION_RELU,
                          .y = r->y + (c->row + first) * d->units + column,
                          .y_stride = d->units};
        s->kernels->finish(&f);
        for (int64_t k = 0; !f.relu && s->act.kind != ACTIVATION_LINEAR && k < rows; k++)
            cpu_activate(s->act, f.y + k * d->units, f.y + k * d->units, f.width);
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

static void multiply(void *context, int64_t chunk, int worker)
{
    const forward_run *r = context;
    const forward_state *s = r->s;
    const dense_size *d = &s->size;
    int64_t part = chunk % s->parts, place = chunk / s->parts;
    cut c = cut_of(s, place / s->groups, place % s->groups, part);
    float *sums = r->sums + (s->parts > 1 ? chunk : worker) * s->sums_stride;
    for (int64_t k = c.k; k < c.k + c.depth; k += DENSE_DEPTH)
        for (int64_t i = 0; i < c.panels; i++) {
            dense_product p = {.x = r->x + c.row * d->in + k,
                               .x_stride = d->in,
                               .rows = c.rows,
                               .depth = cpu_least(DENSE_DEPTH, c.k + c.depth - k),
                               .width = dense_width(d, c.panel + i),
                               .w = r->w + dense_offset(d, c.panel + i, k),
                               .sum = sums + i * c.rows * PANEL_COLUMNS,
                               .add = k > c.k};
            p.ahead = next_block(r, &c, i, k, p.depth);
            if (r->late)
                dense_late_update(r->late, c.panel + i, k, p.depth, p.ahead - p.w, false);
            s->kernels->multiply(&p);
        }
    if (s->parts == 1)
        finish(r, &c, sums, 0, 0, c.rows);
}

static void add_parts(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const forward_run *r = context;
    const forward_state *s = r->s;
    int64_t place = chunk / ROW_SLICES, begin, end;
    cut c = cut_of(s, place / s->groups, place % s->groups, 0);
    threads_part(c.rows, ROW_SLICES, chunk % ROW_SLICES, 1, &begin, &end);
    finish(r, &c, r->sums + place * s->parts * s->sums_stride, s->sums_stride, begin, end - begin);
}

static cornu_status run(const op_run *o)
{
    const forward_state *s = o->state;
    forward_run r = {.s = s,
                     .x = o->in[0],
                     .w = o->in[1],
                     .bias = o->in[2],
                     .y = o->out[0],
                     .late = o->late ? dense_late_of(o->late) : NULL,
                     .sums = o->scratch};
    threads_run(o->pool, chunk_count(s), multiply, &r);
    if (s->parts > 1)
        threads_run(o->pool, s->row_blocks * s->groups * ROW_SLICES, add_parts, &r);
    return CORNU_OK;
}

const kernel cpu_dense_forward = {.name = "panels",
                                  .prepare = prepare,
                                  .release = free,
                                  .run = run,
                                  .panels = true,
                                  .takes = &cpu_dense_backward_weights};
