/* DENSE_UPDATE on weights in panels. As the backward pass does (dense_backward.c), it sweeps W
   block by block: dW [depth][48] of each shard, their sum, the update, while the next block with
   any of the ranges is prefetched. The whole dW is never stored. A shard's product uses the same
   microkernels and blocks of the batch as DENSE_BACKWARD_WEIGHTS of the shard alone, so that the
   bits are the same. */
#include "base/memory.h"
#include "device/cpu/dense/dense.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include <stdlib.h>

CPU_ISA_TABLE(element_kernels, cpu_element_kernels);

enum { TASKS_MOST = 64 };
#define X_BYTES ((int64_t)256 << 10) /* for x, packed, in the second-level cache */

/* The product of a shard. */
typedef struct shard_product {
    const dense_kernels *kernels;
    int64_t rows, row_blocks, block_rows;
    float share;   /* of the batch, the product's factor */
    int64_t dy, x; /* in scratch memory: [row_blocks][panels][panel_floats]; in the worker's:
                      [row_blocks][x_floats] */
    int64_t panel_floats, x_floats;
} shard_product;

typedef struct dense_update_state {
    cpu_isa isa;
    const element_kernels *elements;
    dense_size size; /* rows: of a batch */
    int64_t shards;
    shard_product *of; /* [shards] */
    const dense_kernels
        *begins; /* called by each thread first: any shard's, if its kernels need one */
    int levels;  /* of the tree */
    float scale; /* factor of the sum */
    int64_t depth, blocks, tasks;
    int64_t dy_floats, x_floats, sum_floats, worker_floats;
} dense_update_state;

/* ---- preparation --------------------------------------------------------------------------- */

static void plan_shard(dense_update_state *s, int64_t batch, int64_t i)
{
    const dense_size *d = &s->size;
    const char *why;
    dense_size own = *d;
    own.rows = plan_shard_begin(batch, s->shards, i + 1) - plan_shard_begin(batch, s->shards, i);
    shard_product *p = &s->of[i];
    p->kernels = dense_kernels_of(s->isa, dense_takes_amx(&own, &why));
    p->rows = own.rows;
    if (!s->begins || p->kernels->begin)
        s->begins = p->kernels;
    dense_row_blocks(own.rows, &p->row_blocks, &p->block_rows);
    p->share = plan_shard_scale(batch, s->shards, i);
    p->panel_floats = p->kernels->panel_floats(p->block_rows);
    p->dy = s->dy_floats;
    s->dy_floats += cpu_scratch_floats(p->row_blocks * d->panels * p->panel_floats);
}

/* A multiple of the grains of all shards' microkernels. */
static void choose_depth(dense_update_state *s)
{
    int64_t grain = 1, most = X_BYTES / (s->size.rows * (int64_t)sizeof(float));
    for (int64_t i = 0; i < s->shards; i++) {
        s->depth = cpu_most(s->depth, s->of[i].kernels->backward_depth);
        grain = cpu_most(grain, s->of[i].kernels->grain);
    }
    while (s->depth > most && s->depth % (2 * grain) == 0)
        s->depth /= 2;
    s->blocks = cpu_divide_up(s->size.in, s->depth);
    s->tasks = cpu_least(s->blocks, TASKS_MOST);
    for (int64_t i = 0; i < s->shards; i++) {
        shard_product *p = &s->of[i];
        p->x_floats = cpu_scratch_floats(p->kernels->wgrad_x_floats(p->block_rows, s->depth));
        p->x = s->x_floats;
        s->x_floats += p->row_blocks * p->x_floats;
    }
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    const shape *w = &OP_IN(p, o, 0)->shape;
    dense_update_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    *state = s;
    TRY(cpu_isa_choose(&s->isa));
    s->elements = cpu_element_kernels[s->isa];
    s->shards = OP_IN(p, o, 1)->shape.dim[0];
    s->scale = plan_sum_scale(p->batch, s->shards);
    while (INT64_C(1) << s->levels < s->shards)
        s->levels++;
    s->size = dense_size_from(p->batch, w->dim[0], w->dim[1]);
    TRY(memory_new((size_t)s->shards, sizeof *s->of, "dense layer", &s->of));
    for (int64_t i = 0; i < s->shards; i++)
        plan_shard(s, p->batch, i);
    choose_depth(s);
    s->sum_floats = cpu_scratch_floats(s->depth * PANEL_COLUMNS);
    s->worker_floats = s->x_floats + (s->levels + 1) * s->sum_floats;
    cpu_need_scratch(scratch_bytes, s->dy_floats + threads_count(pool) * s->worker_floats);
    return CORNU_OK;
}

static void release(void *state)
{
    dense_update_state *s = state;
    if (s)
        free(s->of);
    free(s);
}

/* ---- running ------------------------------------------------------------------------------- */

typedef struct dense_update_run {
    const dense_update_state *s;
    const op_attributes *a;
    const float *factors;
    int64_t floats; /* of one shard's factors */
    cpu_update_step update;
    float *dy, *workers;
} dense_update_run;

/* A block of W: rows k...k + depth - 1 of a panel. */
typedef struct update_block {
    int64_t panel, k, depth, at, count; /* its elements: at...at + count - 1 */
    const update_span *range;           /* the first range with elements of it; NULL: none */
} update_block;

static void pack_dy(void *context, int64_t task, int worker)
{
    const dense_update_run *r = context;
    const dense_size *d = &r->s->size;
    const int64_t shard = task / d->panels, panel = task % d->panels;
    const shard_product *p = &r->s->of[shard];
    const float *dy = r->factors + shard * r->floats + r->a->update.dy + panel * PANEL_COLUMNS;
    float sums[PANEL_COLUMNS];
    (void)worker;
    for (int64_t block = 0; block < p->row_blocks; block++) {
        int64_t row, end;
        cpu_task_range(p->rows, p->block_rows, block, &row, &end);
        p->kernels->pack_dy(dy + row * d->units, d->units, end - row, dense_width(d, panel), 1,
                            r->dy + p->dy + (block * d->panels + panel) * p->panel_floats, sums);
    }
}

static void pack_x(const dense_update_run *r, int64_t k, int64_t depth, float *to)
{
    const int64_t in = r->s->size.in;
    for (int64_t i = 0; i < r->s->shards; i++) {
        const shard_product *p = &r->s->of[i];
        const float *x = r->factors + i * r->floats + r->a->update.x + k;
        for (int64_t block = 0; block < p->row_blocks; block++) {
            int64_t row, end;
            cpu_task_range(p->rows, p->block_rows, block, &row, &end);
            p->kernels->pack_wgrad_x(x + row * in, in, end - row, depth,
                                     to + p->x + block * p->x_floats);
        }
    }
}

/* Ranges are in ascending order. */
static update_block block_of(const dense_update_run *r, int64_t panel, int64_t k)
{
    const dense_update_state *s = r->s;
    const update_span *ranges = r->a->update.ranges;
    int low = 0, high = r->a->update.range_count;
    update_block b = {.panel = panel, .k = k, .depth = cpu_least(s->depth, s->size.in - k)};
    b.at = dense_offset(&s->size, panel, k);
    b.count = b.depth * dense_width(&s->size, panel);
    while (low < high) { /* ranges before `low` end before the block */
        int middle = (low + high) / 2;
        if (ranges[middle].first + ranges[middle].count <= b.at)
            low = middle + 1;
        else
            high = middle;
    }
    bool has = low < r->a->update.range_count && ranges[low].first < b.at + b.count;
    b.range = has ? &ranges[low] : NULL;
    return b;
}

/* The first block from this one on that has elements of a range, before row `end` of W; else
   false. */
static bool find_block(const dense_update_run *r, int64_t panel, int64_t k, int64_t end,
                       update_block *out)
{
    for (; k < end; k += r->s->depth, panel = 0)
        for (; panel < r->s->size.panels; panel++) {
            *out = block_of(r, panel, k);
            if (out->range)
                return true;
        }
    return false;
}

/* One shard's dW of a block; `next`, if not NULL, is prefetched. */
static void multiply(const dense_update_run *r, const shard_product *p, const update_block *b,
                     const update_block *next, const float *x, float *to)
{
    const dense_size *d = &r->s->size;
    for (int64_t block = 0; block < p->row_blocks; block++) {
        int64_t row, end;
        cpu_task_range(p->rows, p->block_rows, block, &row, &end);
        dense_wgrad g = {.rows = end - row,
                         .depth = b->depth,
                         .width = dense_width(d, b->panel),
                         .x = x + p->x + block * p->x_floats,
                         .dy = r->dy + p->dy + (block * d->panels + b->panel) * p->panel_floats,
                         .dw = to,
                         .add = block > 0};
        if (next && block == 0) {
            g.prefetch[0] = r->update.w + next->at;
            dense_give_slots(&g, &r->update, b->at, next->at - b->at, 1);
        }
        p->kernels->wgrad(&g);
    }
    if (p->row_blocks == 0)
        for (int64_t i = 0; i < b->count; i++)
            to[i] = 0;
    if (p->share != 1) /* -0: adding it changes no number */
        r->s->elements->scale(to, to, b->count, p->share, -0.0f);
}

/* Add in the tree of train/shards.h; the sum replaces the first number. sums [levels + 1] are
   consecutive: partial sums that wait for their right neighbour. */
static const float *add_up(const dense_update_run *r, const update_block *b,
                           const update_block *next, const float *x, float *sums)
{
    const dense_update_state *s = r->s;
    int waiting = 0;
    for (int64_t i = 0; i < s->shards; i++) {
        float *leaf = sums + waiting++ * s->sum_floats;
        multiply(r, &s->of[i], b, i == 0 ? next : NULL, x, leaf);
        for (int level = 0; i >> level & 1; level++, waiting--) {
            leaf -= s->sum_floats;
            s->elements->add(leaf + s->sum_floats, leaf, b->count);
        }
    }
    if (s->scale != 1)
        s->elements->scale(sums, sums, b->count, s->scale, -0.0f);
    return sums;
}

static void update_block_of(const dense_update_run *r, const update_block *b, const float *g)
{
    const update_span *range = b->range, *end = r->a->update.ranges + r->a->update.range_count;
    for (; range < end && range->first < b->at + b->count; range++) {
        int64_t first = cpu_most(range->first, b->at),
                last = cpu_least(range->first + range->count, b->at + b->count);
        cpu_update_range(&r->update, g + first - b->at, first, last - first);
    }
}

static void sweep_task(void *context, int64_t task, int worker)
{
    const dense_update_run *r = context;
    const dense_update_state *s = r->s;
    float *x = r->workers + worker * s->worker_floats;
    int64_t first, end, packed = -1;
    update_block b, next;
    threads_range(s->blocks, s->tasks, task, 1, &first, &end);
    end *= s->depth;
    end = cpu_least(end, s->size.in);
    dense_begin(s->begins);
    bool more = find_block(r, 0, first * s->depth, end, &b);
    while (more) {
        if (b.k != packed)
            pack_x(r, b.k, b.depth, x);
        packed = b.k;
        more = find_block(r, b.panel + 1, b.k, end, &next);
        update_block_of(r, &b, add_up(r, &b, more ? &next : NULL, x, x + s->x_floats));
        b = next;
    }
    dense_end(s->begins);
}

static cornu_status run(const op_run *o)
{
    const dense_update_state *s = o->state;
    dense_update_run r = {.s = s,
                          .a = &o->op->a,
                          .factors = o->in[1],
                          .floats = OP_IN(o->plan, o->op, 1)->shape.dim[1],
                          .update = cpu_update_begin(o, o->op, s->isa),
                          .dy = o->scratch};
    r.workers = r.dy + s->dy_floats;
    threads_run(o->pool, s->shards * s->size.panels, pack_dy, &r);
    threads_run(o->pool, s->tasks, sweep_task, &r);
    return CORNU_OK;
}

const kernel cpu_dense_update = {
    .name = "panels", .prepare = prepare, .release = release, .run = run, .panels = true};
