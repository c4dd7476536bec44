/* DENSE_UPDATE: the shards' products, row by row of W, added in the tree of train/shards.h. */
#include "base/memory.h"
#include "device/reference/reference.h"
#include <stdlib.h>

typedef struct update_run {
    const op_run *r;
    optimizer_constants constants;
    dense_sizes size;
    int64_t shards;
    double *sums; /* [units] */
    float *rows;  /* [levels + 1][units] */
} update_run;

/* Row i of the product of one shard; zeros for a shard without samples. */
static void multiply(const update_run *u, int64_t shard, int64_t i, float *to)
{
    const op_run *r = u->r;
    int64_t batch = r->plan->batch, begin = plan_shard_begin(batch, u->shards, shard);
    const float *factors = r->in[1] + shard * OP_IN(r->plan, r->op, 1)->shape.dim[1];
    dense_sizes s = u->size;
    s.rows = plan_shard_begin(batch, u->shards, shard + 1) - begin;
    float share = plan_shard_scale(batch, u->shards, shard);
    reference_dense_gradient(factors + r->op->a.update.x, factors + r->op->a.update.dy, &s, i,
                             u->sums);
    for (int64_t k = 0; k < s.units; k++) {
        to[k] = (float)u->sums[k];
        to[k] *= share;
    }
}

/* The sum over `count` shards, a power of two, into the first of the rows. */
static void add_up(const update_run *u, int64_t shard, int64_t count, int64_t i, float *rows)
{
    if (count == 1) {
        multiply(u, shard, i, rows);
        return;
    }
    float *right = rows + u->size.units;
    add_up(u, shard, count / 2, i, rows);
    add_up(u, shard + count / 2, count / 2, i, right);
    for (int64_t k = 0; k < u->size.units; k++)
        rows[k] += right[k];
}

/* Update elements first to end - 1, which are in row i. */
static void update_row(const update_run *u, int64_t i, int64_t first, int64_t end)
{
    float scale = plan_sum_scale(u->r->plan->batch, u->shards);
    add_up(u, 0, u->shards, i, u->rows);
    for (int64_t k = first; k < end; k++)
        reference_update_element(u->r, &u->constants, k, u->rows[k - i * u->size.units] * scale);
}

static void update_range_of(const update_run *u, const update_span *range)
{
    int64_t units = u->size.units, end = range->first + range->count;
    for (int64_t at = range->first, next; at < end; at = next) {
        int64_t row_end = (at / units + 1) * units;
        next = row_end < end ? row_end : end;
        update_row(u, at / units, at, next);
    }
}

cornu_status reference_dense_update(const op_run *r)
{
    const shape *w = &OP_IN(r->plan, r->op, 0)->shape;
    update_run u = {.r = r,
                    .constants = host_optimizer_step(r, r->op),
                    .size = {.in = w->dim[0], .units = w->dim[1]},
                    .shards = OP_IN(r->plan, r->op, 1)->shape.dim[0]};
    size_t levels = 1;
    while ((int64_t)1 << (levels - 1) < u.shards)
        levels++;
    TRY(memory_new((size_t)u.size.units, sizeof *u.sums, "dense", &u.sums));
    cornu_status status =
        memory_new(levels * (size_t)u.size.units, sizeof *u.rows, "dense", &u.rows);
    for (int i = 0; i < r->op->a.update.range_count && status == CORNU_OK; i++)
        update_range_of(&u, &r->op->a.update.ranges[i]);
    free(u.rows);
    free(u.sums);
    return status;
}
