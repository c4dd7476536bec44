#include "parallel/distribution.h"
#include "base/memory.h"
#include <cornu/parallel.h>
#include <stdlib.h>
#include <string.h>

/* ---- users' options ---------------------------------------------------------------------- */

cornu_status shards_check_count(int64_t count)
{
    if (count < 1 || count > CORNU_SHARDS_MAX || (count & (count - 1)) != 0)
        return status_fail(CORNU_INVALID, "shards: found %jd; expected a power of two, 1 to %d",
                           (intmax_t)count, CORNU_SHARDS_MAX);
    return CORNU_OK;
}

cornu_status shards_check(int64_t count, int64_t batch, const cornu_ranks *ranks)
{
    int all = cornu_ranks_count(ranks);
    TRY(shards_check_count(count));
    if (count < all)
        return status_fail(CORNU_INVALID,
                           "shards: found %jd, and %d ranks; expected at least one for each",
                           (intmax_t)count, all);
    if (count <= batch)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "shards: found %jd, and batches of %jd; expected at least a sample for each",
                       (intmax_t)count, (intmax_t)batch);
}

cornu_status gradient_dtype_find(const char *name, bool *bf16)
{
    *bf16 = name && strcmp(name, "bf16") == 0;
    if (*bf16 || !name || strcmp(name, "fp32") == 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "gradient_dtype: found %.40s; expected fp32 or bf16", name);
}

const char *gradient_dtype_name(bool bf16)
{
    return bf16 ? "bf16" : "fp32";
}

/* ---- the block --------------------------------------------------------------------------- */

enum { ALIGNMENT = 16 }; /* floats: each part begins with a cache line */

static bool writes(const plan *p, int number)
{
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_OUTPUTS_MAX && !op_is_of_step(p->ops[i].kind); k++)
            if (p->ops[i].out[k] == number)
                return true;
    return false;
}

static void add_part(shard_layout *l, const cornu_model *m, int number, bool gradient)
{
    int64_t count = m->variables[number].count;
    l->parts[l->count++] =
        (shard_part){.variable = number, .gradient = gradient, .count = count, .at = l->values};
    l->values += (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* A plan's first tensors are the model's variables. */
static cornu_status find_layout(shard_layout *l, const plan *p)
{
    const cornu_model *m = p->model;
    if (l->parts)
        return CORNU_OK;
    TRY(memory_new((size_t)m->weight_count, sizeof *l->parts, "shards", &l->parts));
    for (int made = 1; made <= p->op_count; made++)
        for (int i = 0; i < m->weight_count; i++)
            if (p->gradients[i] != NO_TENSOR && plan_operations_to(p, p->gradients[i]) == made)
                add_part(l, m, i, true);
    l->gradients = l->count;
    l->gradient_values = l->values;
    for (int i = 0; i < m->weight_count; i++)
        if (writes(p, i))
            add_part(l, m, i, false);
    return CORNU_OK;
}

void distribution_free(distribution *d)
{
    free(d->layout.parts);
    d->layout = (shard_layout){.parts = NULL};
}

/* Norms need the sums of all gradients on every rank. */
static bool scatters(const distribution *d, const cornu_model *m)
{
    return d->divides && !optimizer_clips_by_norm(&m->optimizer);
}

ranks_numbers distribution_sums(const distribution *d, const cornu_model *m)
{
    const shard_layout *l = &d->layout;
    return (ranks_numbers){.count = l->values,
                           .rounded = d->bf16 ? l->gradient_values : 0,
                           .divided = scatters(d, m) ? l->gradient_values : 0};
}

ranks_numbers distribution_weights(const distribution *d)
{
    return (ranks_numbers){.count = d->layout.values, .divided = d->layout.gradient_values};
}

/* ---- the pass ---------------------------------------------------------------------------- */

/* The number of operations before the optimizer's. */
static int operations_before_updates(const plan *p)
{
    int count = 0;
    while (count < p->op_count && !op_is_of_step(p->ops[count].kind))
        count++;
    return count;
}

/* Updates need the sums over all ranks. */
static cornu_status move_updates_to_the_end(plan *p)
{
    op *updates;
    int update_count = 0, kept = 0;
    TRY(memory_new((size_t)p->op_count, sizeof *updates, "plan", &updates));
    for (int i = 0; i < p->op_count; i++)
        if (op_is_of_step(p->ops[i].kind))
            updates[update_count++] = p->ops[i];
        else
            p->ops[kept++] = p->ops[i];
    memcpy(p->ops + kept, updates, (size_t)update_count * sizeof *updates);
    free(updates);
    return CORNU_OK;
}

static cornu_status insert_sums(const distribution *d, plan *p)
{
    const cornu_model *m = p->model;
    int end = operations_before_updates(p);
    for (int i = 0; i < d->layout.count; i++) {
        const shard_part *s = &d->layout.parts[i];
        bool scattered = s->gradient && scatters(d, m);
        int made = s->gradient ? plan_operations_to(p, p->gradients[s->variable]) : end;
        const collective c = {.kind = scattered ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE,
                              .after = made,
                              .at = s->at,
                              .count = s->count,
                              .bf16 = d->bf16 && s->gradient};
        TRY(plan_add_collective(p, &c, m->variables[s->variable].name));
    }
    return CORNU_OK;
}

/* Append this rank's updates of the block's numbers begin to end - 1. */
static cornu_status add_slices(const distribution *d, plan *p, const op *updates, int update_count,
                               int64_t begin, int64_t end)
{
    for (int i = 0; i < d->layout.gradients; i++) {
        const shard_part *s = &d->layout.parts[i];
        int64_t from = begin > s->at ? begin : s->at,
                to = end < s->at + s->count ? end : s->at + s->count;
        for (int k = 0; k < update_count && from < to; k++)
            if (updates[k].out[0] == s->variable) {
                op o = updates[k];
                o.a.update.before = from - s->at;
                o.a.update.after = s->at + s->count - to;
                TRY(plan_add_op(p, &o));
            }
    }
    return CORNU_OK;
}

/* The all-gather of a bucket, named for the first of its variables. */
static cornu_status insert_gather(const distribution *d, plan *p, int64_t begin, int64_t end)
{
    const collective c = {
        .kind = COLLECTIVE_ALL_GATHER, .after = p->op_count, .at = begin, .count = end - begin};
    const shard_part *s = d->layout.parts;
    while (s->at + s->count <= begin && s + 1 < d->layout.parts + d->layout.gradients)
        s++;
    return plan_add_collective(p, &c, p->model->variables[s->variable].name);
}

/* Replace updates[] by those of this rank's slices, bucket by bucket. */
static cornu_status add_buckets(const distribution *d, plan *p, const op *updates, int update_count)
{
    const ranks_numbers n = distribution_weights(d);
    int count = ranks_parts(d->rank, d->ranks, &n, NULL);
    int64_t bucket = 0;
    ranks_part *parts;
    TRY(memory_new((size_t)count + 1, sizeof *parts, "updates", &parts));
    ranks_parts(d->rank, d->ranks, &n, parts);
    cornu_status status = CORNU_OK;
    for (int i = 0; i < count && status == CORNU_OK; bucket = parts[i++].bucket_end) {
        status = add_slices(d, p, updates, update_count, parts[i].begin, parts[i].end);
        if (status == CORNU_OK)
            status = insert_gather(d, p, bucket, parts[i].bucket_end);
    }
    free(parts);
    return status;
}

static cornu_status divide_updates(const distribution *d, plan *p)
{
    int first = 0;
    while (first < p->op_count && p->ops[first].kind != OP_UPDATE)
        first++;
    int count = p->op_count - first;
    op *updates;
    TRY(memory_new((size_t)count + 1, sizeof *updates, "updates", &updates));
    if (count > 0)
        memcpy(updates, p->ops + first, (size_t)count * sizeof *updates);
    p->op_count = first;
    cornu_status status = add_buckets(d, p, updates, count);
    for (int i = 0; i < count; i++)
        free(updates[i].name);
    free(updates);
    return status;
}

cornu_status distribute(distribution *d, plan *p)
{
    if (p->mode != PLAN_TRAIN)
        return CORNU_OK;
    if (p->scope == SCOPE_STEP)
        TRY(move_updates_to_the_end(p));
    if (p->scope != SCOPE_UPDATES) {
        TRY(find_layout(&d->layout, p));
        TRY(insert_sums(d, p));
    }
    if (p->scope != SCOPE_GRADIENTS && d->divides)
        TRY(divide_updates(d, p));
    return plan_finish(p);
}
